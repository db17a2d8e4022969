"""Messages as plain text for a model: all that was said, the calls of tools and their results."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Literal

from tau.masking import mask_content
from tau.sessions.lineage import Messages, Original
from tau.sessions.records import Message

Kind = Literal["text", "reasoning", "call", "result", "other"]

Place = tuple[str, int]
"""A session and the index of a message in it."""


@dataclass(frozen=True, slots=True)
class Part:
    """One block of a message.

    Attributes:
        kind: What it is.
        text: Its words.
        use_id: Of the call that it makes or answers; else empty.
        tool: The tool it calls; else empty.
    """

    kind: Kind
    text: str
    use_id: str = ""
    tool: str = ""


def speaker(message: Message) -> str:
    """Who speaks: ``user``, ``assistant``, or ``tool`` for the results of calls."""
    content = message.get("content")
    blocks = content if isinstance(content, list) else ()
    if any(isinstance(block, dict) and "toolResult" in block for block in blocks):
        return "tool"
    return str(message.get("role", "unknown"))


def parts(message: Message) -> Iterator[Part]:
    """The blocks of a message in order, whatever shape it has; binary content is named, not shown."""
    content = message.get("content")
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict):
            yield _part(block)


def whole_text(message: Message) -> str:
    """All parts of a message, one below the other."""
    return "\n".join(part.text for part in parts(message) if part.text)


class Said:
    """The texts of messages as a search reads them: without reasoning and without earlier searches.

    Args:
        messages: All that is searched.
        without_tool: The calls of this tool and their results are left out.
        without: Messages that are left out.
    """

    def __init__(self, messages: Messages, *, without_tool: str, without: Collection[Place]) -> None:
        self._messages = messages
        self._tool = without_tool
        self._without = without
        self._left_out: dict[Place, frozenset[str]] = {}

    def __iter__(self) -> Iterator[tuple[Original, str]]:
        """Every message with its text."""
        session_id, calls = "", set[str]()
        with closing(iter(self._messages)) as messages:
            for original in messages:
                if original.session_id != session_id:
                    session_id, calls = original.session_id, set()
                place = session_id, original.stored.index
                if place in self._without:
                    continue
                blocks = list(parts(original.stored.message))
                for part in blocks:
                    if part.kind == "call":  # ids may come again, of another tool
                        (calls.add if part.tool == self._tool else calls.discard)(part.use_id)
                left_out = {part.use_id for part in blocks} & calls if calls else calls
                if left_out:
                    self._left_out[place] = frozenset(left_out)
                yield original, _text(blocks, left_out)

    def at(self, places: Sequence[Place]) -> Iterator[tuple[Original, str]]:
        """Some messages that were met before, in any order; their secrets are masked before they are cut."""
        sessions: dict[str, list[int]] = {}
        for session_id, index in places:
            sessions.setdefault(session_id, []).append(index)
        for session_id, indexes in sessions.items():
            for original in self._messages.at(session_id, indexes):
                left_out = self._left_out.get((session_id, original.stored.index), frozenset())
                yield original, mask_content(_text(parts(original.stored.message), left_out))


def _text(blocks: Iterable[Part], left_out: Collection[str]) -> str:
    return "\n".join(
        [part.text for part in blocks if part.kind != "reasoning" and part.use_id not in left_out]
    )


def _part(block: dict[str, Any]) -> Part:
    if "text" in block:
        return Part("text", str(block["text"]))
    use = block.get("toolUse")
    if isinstance(use, dict):
        tool = str(use.get("name", ""))
        return Part("call", _call(tool, use.get("input")), str(use.get("toolUseId", "")), tool)
    result = block.get("toolResult")
    if isinstance(result, dict):
        content = result.get("content")
        content = content if isinstance(content, list) else []
        words = [_part(item).text for item in content if isinstance(item, dict)]
        text = "\n".join([f"[result: {result.get('status', 'success')}]", *words])
        return Part("result", text, str(result.get("toolUseId", "")))
    reasoning = block.get("reasoningContent")
    if isinstance(reasoning, dict):
        inner = reasoning.get("reasoningText")
        thought = inner.get("text") if isinstance(inner, dict) else None
        return Part("reasoning", f"[reasoning]\n{thought}" if thought else "")
    if "json" in block:
        return Part("other", _json(block["json"]))
    kind = next(iter(block), "")
    return Part("other", f"[{kind}]" if kind and kind != "cachePoint" else "")


def _call(tool: str, given: object) -> str:
    """A call with its arguments, a line each; texts as they are, so that they are found and can be copied."""
    lines = [f"[calls {tool}]"]
    if isinstance(given, dict):
        lines += [
            f"{name}: {value if isinstance(value, str) else _json(value)}" for name, value in given.items()
        ]
    elif given is not None:
        lines.append(_json(given))
    return "\n".join(lines)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
