"""Puts the questions of a turn to the person at the terminal, on stderr, one after the other."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import TYPE_CHECKING

from tau.calls import asks_to
from tau.diff_reader import Diff, DiffKind, parse
from tau.display import one_line, spelled_out, visible
from tau.line.output import write_lines

if TYPE_CHECKING:
    from tau.conversation import Conversation
    from tau.events import ApprovalAsked, Decision
    from tau.line.person import Terminal

_SIGNS: dict[DiffKind, tuple[str, str]] = {"added": ("+", "green"), "removed": ("-", "red")}
_TARGET = 120
"""Characters that the first line has of an argument that stands whole below it."""


class Questions:
    """The open questions of one turn.

    Args:
        conversation: Takes the answers.
        terminal: Where the person is.
    """

    def __init__(self, conversation: Conversation, terminal: Terminal) -> None:
        self._conversation = conversation
        self._terminal = terminal
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._one_at_a_time = asyncio.Lock()

    def ask(self, asked: ApprovalAsked) -> None:
        """Put a question, after those that are open."""
        self._asking[asked.approval_id] = asyncio.create_task(self._ask(asked))

    def close(self, approval_id: str) -> None:
        """A question needs no answer any more."""
        if (task := self._asking.pop(approval_id, None)) is not None:
            task.cancel()

    def close_all(self) -> None:
        """No question needs an answer any more."""
        for approval_id in list(self._asking):
            self.close(approval_id)

    async def _ask(self, asked: ApprovalAsked) -> None:
        async with self._one_at_a_time:
            write_lines(question_lines(asked), fold=True)
            decision: Decision = "no"
            reason = ""
            with suppress(EOFError, OSError):  # nobody can answer any more
                decision, reason = await self._answer(asked)
        await self._conversation.answer(asked.approval_id, decision, reason)

    async def _answer(self, asked: ApprovalAsked) -> tuple[Decision, str]:
        """Ask until the answer is one: the decision, and why not."""
        keys = (
            "y once · a always · n no · r no, because…" if asked.offers else "y once · n no · r no, because…"
        )
        letters = "y, a, n or r? " if asked.offers else "y, n or r? "
        line = await self._terminal.answer(f"{keys}: ")
        while True:
            word, _, rest = line.strip().partition(" ")
            match word.lower():
                case "y" | "yes" if not rest:
                    return "yes", ""
                case "a" | "always" if asked.offers and not rest:
                    return "always", ""
                case "n" | "no" if not rest:
                    return "no", ""
                case "r":
                    reason = rest or await self._terminal.answer("why not? ", at_once=True)
                    return "no", reason.strip()
            line = await self._terminal.answer(letters, at_once=True)


def question_lines(asked: ApprovalAsked) -> list[tuple[str, str]]:
    """What would happen, whole, as lines and their colours; nothing in them can steer a terminal.

    Lines of a value are indented and names are not, so that no value can look like another argument.
    """
    diff = parse(asked.preview) if asked.preview else None
    asks = asks_to(asked.tool, asked.arguments, creates=diff is not None and diff.creates)
    # What is not in the lines below stands whole in the first one.
    target = _flat(asks.target) if diff is not None else one_line(_flat(asks.target), _TARGET)
    about = " ".join(filter(None, [asks.verb, target, asks.where]))
    lines = [(f"{one_line(asked.tool, 60)} asks to {about}", "bold")]
    if diff is None:
        lines += [(f"  {line}", "") for line in spelled_out(asked.preview).split("\n") if asked.preview]
        lines += _call_lines(asked)
    else:
        lines += [(f"  {line}", "") for line in spelled_out(diff.before).split("\n") if diff.before]
        lines += _diff_lines(diff)
    lines += [(f"! {one_line(phrase, 2_000)}", "yellow") for phrase in asked.unclear]
    if asked.offers:
        lines.append(("always would allow in this session:", ""))
        lines += [(f"  {_flat(offer)}", "") for offer in asked.offers]
    return lines


def _call_lines(asked: ApprovalAsked) -> list[tuple[str, str]]:
    lines: list[tuple[str, str]] = []
    for name, value in asked.arguments.items():
        is_text = isinstance(value, str)
        shown = spelled_out(value) if is_text else visible(json.dumps(value, ensure_ascii=False, default=str))
        first, *rest = shown.split("\n")
        if asked.tool == "shell" and name == "command":
            lines.append((f"$ {first}", ""))
        elif rest:
            lines.append((f"{_flat(str(name))}:", ""))
            rest = [first, *rest]
        else:
            lines.append((f"{_flat(str(name))}: {first}", ""))
        lines += [(f"  {line}", "") for line in rest]
    return lines


def _diff_lines(diff: Diff) -> list[tuple[str, str]]:
    lines: list[tuple[str, str]] = []
    for line in diff.lines:
        text = spelled_out(line.text)
        if line.kind == "file":
            if diff.files > 1:
                lines.append((f"  {text}", "bold"))
        elif line.kind == "hunk":
            lines.append((f"  {text}", "cyan"))
        elif line.kind == "note":
            lines.append((f"    ({text})", ""))
        else:
            sign, colour = _SIGNS.get(line.kind, (" ", ""))
            lines.append((f"  {sign} {text}", colour))
    return [*lines, *((f"  {line}", "") for line in spelled_out(diff.after).split("\n") if diff.after)]


def _flat(text: str) -> str:
    return spelled_out(text).replace("\n", "\\n")
