"""How much of a long conversation is pruned, and how often that saves a summary.

    python -m benchmarks.prune

A conversation of 120 turns is held with the real tools on a copy of this repository's own files: whole files
are read, searches are wide, files are edited, and builds and tests print logs. The first table says what it
consists of. The second one says, for a declared window and a kind of window, how often the conversation had
reached its compaction point before a model call, how often cutting long results of earlier turns was enough
there, so that no model wrote a summary, and how many summaries there are where nothing is ever cut. What is
left over is a running turn that is too long by itself. Tokens are estimated, as tau does without the count of
a provider. The same files give the same conversation; its summaries keep nothing. Nothing has a bar.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import math
import random
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast
from unittest.mock import patch

from strands import Agent

from benchmarks.facts import SUMMARY
from tau.agent.window_base import Window
from tau.agent.window_cuts import pruned, size
from tau.config.settings import (
    AgentSettings,
    ApprovalSettings,
    CompactionSettings,
    ContextSettings,
    ModelSettings,
    Places,
    SessionsSettings,
    Settings,
)
from tau.conversation import Conversation, compacting
from tau.conversation.state import OpenRequest
from tau.events import Compacted, Notice, ToolUseEnded, TurnEnd
from tau.sessions.file import open_store
from tau.sessions.records import Message
from tau.sessions.store import StoreContext

ROOT = Path(__file__).resolve().parent.parent
COPIED = ("tau", "tests", "docs")
TURNS = 120

KINDS = {"look": 0.3, "change": 0.35, "build": 0.2, "talk": 0.15}
"""The share of turns that read and search, that edit and test, that build and search, and that only talk."""

READS = (1, 1, 2, 2, 3, 4)
"""Whole files that a turn reads which looks around."""

PERSON_CHARS, MODEL_CHARS, LOG_CHARS = (30, 1_200), (150, 3_000), (1_500, 60_000)
"""Of a message, of a reply, and of a log: each order of magnitude within them is as likely as any other."""

WIDE = ("import ", "raise ", "return ", "async def ", "Path", "session_id", "settings")
"""What one search in four looks for; the others look for a word that stands somewhere in the code."""

NEVER = 10**9
"""Characters that no result has: nothing is cut."""

SOLVED = compacting.pruned(0, 0).partition("(")[0]
"""How the person is told that cutting was enough."""

Kind = Literal["sliding", "summarize"]

RUNS: tuple[tuple[int, Kind], ...] = ((200_000, "sliding"), (200_000, "summarize"), (32_000, "sliding"))


@dataclass
class Script:
    """A conversation: what the person says in each turn, and every answer of the model."""

    said: list[str] = field(default_factory=list)
    steps: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Fillings:
    """What happened whenever the conversation had reached its compaction point.

    Attributes:
        before: Characters of the request each time, before anything was done.
        after: The same after pruning.
        solved: How often that was enough.
        summaries: How often a summary followed.
        fullest: Tokens after the turn that left the most.
    """

    before: list[int] = field(default_factory=list)
    after: list[int] = field(default_factory=list)
    solved: int = 0
    summaries: int = 0
    fullest: int = 0


class Writer:
    """Writes the script of a conversation on a folder of files, the same one for the same files.

    Args:
        place: The folder, with `COPIED` in it; logs are written beside them.
    """

    def __init__(self, place: Path) -> None:
        self._place = place
        self._random = random.Random(0)
        self._code = sorted(path for path in place.rglob("*.py") if path.stat().st_size > 400)
        self._prose = "\n".join(path.read_text() for path in sorted(place.rglob("*.md")))
        self._lines = [line for path in self._code for line in path.read_text().splitlines() if line.strip()]
        self._edited: set[tuple[Path, str]] = set()
        (place / "logs").mkdir()

    def script(self) -> Script:
        """A conversation of `TURNS` turns."""
        turns: dict[str, Callable[[], list[dict[str, Any]]]] = {
            "look": self._look,
            "change": self._change,
            "build": self._build,
            "talk": list,
        }
        made = Script()
        for kind in self._random.choices(list(KINDS), list(KINDS.values()), k=TURNS):
            made.said.append(self._text(*PERSON_CHARS))
            made.steps += turns[kind]()
            made.steps.append({"text": self._text(*MODEL_CHARS)})
        return made

    def _look(self) -> list[dict[str, Any]]:
        files = self._random.choices(self._code, k=self._random.choice(READS))
        return [self._search(), *map(self._read, files)]

    def _change(self) -> list[dict[str, Any]]:
        path = self._random.choice(self._code)
        edits = [self._edit(path) for _ in range(self._random.choice((1, 1, 2)))]
        return [self._read(path), *filter(None, edits), self._log()]

    def _build(self) -> list[dict[str, Any]]:
        return [self._log(), self._search(), self._read(self._random.choice(self._code)), self._log()]

    def _read(self, path: Path) -> dict[str, Any]:
        return self._call("read_file", path=str(path.relative_to(self._place)))

    def _search(self) -> dict[str, Any]:
        return self._call("search_files", pattern=re.escape(self._pattern()))

    def _pattern(self) -> str:
        if self._random.random() < 0.25:
            return self._random.choice(WIDE)
        words: list[str] = re.findall(r"[a-z_]{6,}", self._random.choice(self._lines))
        return self._random.choice(words or WIDE)

    def _edit(self, path: Path) -> dict[str, Any] | None:
        text = path.read_text()
        lines = [line for line in text.splitlines() if len(line) > 30 and text.count(line) == 1]
        free = [line for line in lines if (path, line) not in self._edited]
        if not free:
            return None
        line = self._random.choice(free)
        self._edited.add((path, line))
        indent = line[: len(line) - len(line.lstrip())]
        new = f"{indent}# {self._text(20, 60).strip()}\n{line}"
        return self._call(
            "edit_file", path=str(path.relative_to(self._place)), edits=[{"old": line, "new": new}]
        )

    def _log(self) -> dict[str, Any]:
        """A command that prints a log of tests that pass, and of a few that fail."""
        chars = self._chars(*LOG_CHARS)
        lines, length, number = ["=" * 30 + " test session starts " + "=" * 30], 0, 0
        while length < chars:
            number += 1
            path = self._random.choice(self._code).relative_to(self._place)
            line = f"{path}::test_{number:04} PASSED [{min(99, 100 * length // chars):3}%]"
            if self._random.random() < 0.05:
                at = self._random.randrange(len(self._lines) - 12)
                source = "\n".join(f"    {text}" for text in self._lines[at : at + 12])
                line = (
                    f"{path}::test_{number:04} FAILED\n{source}\nE   AssertionError: assert {number} == {at}"
                )
            lines.append(line)
            length += len(line) + 1
        log = self._place / "logs" / f"{len(list((self._place / 'logs').iterdir())):03}.txt"
        log.write_text("\n".join(lines))
        return self._call("shell", command=f"cat {log.relative_to(self._place)}")

    def _call(self, name: str, **given: Any) -> dict[str, Any]:
        text = self._text(40, 200)
        return {"text": text, "tools": [{"name": name, "input": given}]}

    def _text(self, least: int, most: int) -> str:
        chars = self._chars(least, most)
        at = self._random.randrange(len(self._prose) - chars)
        return " ".join(self._prose[at : at + chars].split()).lstrip("/!") or "And now?"

    def _chars(self, least: int, most: int) -> int:
        return int(math.exp(self._random.uniform(math.log(least), math.log(most))))


@contextmanager
def watched() -> Iterator[Fillings]:
    """Note the size of a request before and after each pruning at the compaction point."""
    seen = Fillings()
    prune = Window.prune_before

    def noting(self: Window, agent: Agent, end: int) -> bool:
        seen.before.append(size(cast("list[Message]", agent.messages)))
        freed = prune(self, agent, end)
        seen.after.append(size(cast("list[Message]", agent.messages)))
        return freed

    with patch.object(Window, "prune_before", noting):
        yield seen


async def held(
    place: Path,
    script: Script,
    *,
    kind: Kind,
    window: int | None,
    limit: int = ContextSettings().prune_result_chars,
) -> tuple[Fillings, list[Message]]:
    """Hold the conversation on a copy of the files.

    Args:
        place: Has the files; everything else is beside them.
        script: What is said.
        kind: Of the window.
        window: Tokens of the declared one, or None.
        limit: Characters from which on a result is cut.

    Returns:
        What happened at the compaction point, and the messages recorded in the last session.
    """
    work = place / "work"
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(place / "files", work)
    steps = place / "steps.json"
    steps.write_text(json.dumps(script.steps))
    side = place / "side.json"
    side.write_text(json.dumps([{"text": SUMMARY}]))
    settings = Settings(
        places=Places(data=place / "data", state=place / "state", config=place / "config"),
        directory=work,
        sessions=SessionsSettings(backend="file"),
        models={
            "default": ModelSettings(
                provider="scripted", script=str(steps), side_script=str(side), context_window=window
            )
        },
        agent=AgentSettings(context=kind),
        approvals=ApprovalSettings(allow=["shell", "edit_file"]),
        compaction=CompactionSettings(keep_turns=3),
        context=ContextSettings(prune_result_chars=limit),
    )
    conversation = Conversation.start(settings, OpenRequest(channel="terminal"))
    try:
        with watched() as seen:
            for text in script.said:
                async for event in conversation.send(text):
                    seen.summaries += isinstance(event, Compacted)
                    seen.solved += isinstance(event, Notice) and event.text.startswith(SOLVED)
                    assert not isinstance(event, ToolUseEnded) or event.status == "success", event
                    assert not isinstance(event, TurnEnd) or event.stop_reason == "end_turn", event
                seen.fullest = max(seen.fullest, conversation.state.context_tokens or 0)
    finally:
        await conversation.close()
    return seen, recorded(place, conversation.state.session_id)


def recorded(place: Path, session_id: str) -> list[Message]:
    store = open_store(StoreContext(data_dir=place / "data", state_dir=place / "state"))
    try:
        with store.read(session_id) as reader:
            return [stored.message for stored in reader.messages()]
    finally:
        store.close()


def describe(messages: list[Message]) -> None:
    """Print what the conversation consists of, and what pruning all of it would leave."""
    limit = ContextSettings().prune_result_chars
    names = {
        block["toolUse"]["toolUseId"]: block["toolUse"]["name"]
        for message in messages
        for block in message["content"]
        if "toolUse" in block
    }
    sizes: dict[str, list[int]] = {}
    for message in messages:
        for block in message["content"]:
            if "text" in block:
                who = "person" if message["role"] == "user" else "model"
                sizes.setdefault(f"texts of the {who}", []).append(len(block["text"]))
            elif "toolResult" in block:
                name = names[block["toolResult"]["toolUseId"]]
                sizes.setdefault(f"results of {name}", []).append(size([{"content": [block]}]))
    print("| part | count | median | largest | over the limit | characters |\n|---|---|---|---|---|---|")
    for part, of_part in sorted(sizes.items()):
        row = sorted(of_part)
        long = sum(each > limit for each in row) if part.startswith("results") else 0
        print(f"| {part} | {len(row)} | {row[len(row) // 2]:,} | {row[-1]:,} | {long} | {sum(row):,} |")
    before, after = size(messages), size([pruned(each, limit) or each for each in messages])
    print(
        f"\nThe whole conversation: {len(messages)} messages, {before:,} characters; with every result over"
        f" {limit:,} cut {after:,}: {share(before - after, before)} are pruned away.\n"
    )


def share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "-"


async def report(place: Path) -> None:
    files = place / "files"
    files.mkdir()
    for name in COPIED:
        shutil.copytree(ROOT / name, files / name, ignore=shutil.ignore_patterns("__pycache__", "*.svg"))
    script = Writer(files).script()
    _, messages = await held(place, script, kind="summarize", window=None)
    describe(messages)
    print("| window | kind | fullest | filled | pruning was enough | summaries | without cuts | cut away |")
    print("|---|---|---|---|---|---|---|---|")
    for window, kind in RUNS:
        seen, _ = await held(place, script, kind=kind, window=window)
        never, _ = await held(place, script, kind=kind, window=window, limit=NEVER)
        filled = len(seen.before)
        before, after = sum(seen.before) // max(filled, 1), sum(seen.after) // max(filled, 1)
        cells = (
            f"{window:,}",
            kind,
            f"{seen.fullest:,}",
            str(filled),
            f"{seen.solved} ({share(seen.solved, filled)})",
            str(seen.summaries),
            str(never.summaries),
            f"{before:,} → {after:,}, {share(before - after, before)}",
        )
        print(f"| {' | '.join(cells)} |", flush=True)


def main() -> int:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter).parse_args()
    logging.disable(logging.ERROR)
    place = Path(tempfile.mkdtemp(prefix="tau-prune-"))
    try:
        asyncio.run(report(place))
    finally:
        shutil.rmtree(place)
    return 0


if __name__ == "__main__":
    sys.exit(main())
