"""An export as markdown, for people: nothing in a session changes how the rest of it reads."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from tau.sessions.export_parts import (
    Beyond,
    Copies,
    Section,
    Writer,
    beyond_line,
    blocks_of,
    bytes_of,
    copies_line,
    events_beyond_line,
    json_text,
    pretty,
    visible,
)
from tau.sessions.records import Damage, StoredMessage, origin_of

_HTML = re.compile(r"^( {0,3})<(?=[!?/]|[A-Za-z][A-Za-z0-9-]*[\s/>]|[A-Za-z][A-Za-z0-9-]*$)")
_RUN = re.compile("`{3,}")


class MarkdownForm:
    """Writes metadata, every message with its time, tool calls and results, events and damage.

    What people and the model wrote stands as it is; everything else is in fences longer than any within.
    """

    def __init__(self, writer: Writer, sessions: Collection[str]) -> None:
        self._writer = writer
        self._begun = False

    def session(self, section: Section) -> int:
        """Write a session under its own heading."""
        write = self._writer.write
        if self._begun:
            write("\n---\n\n")
        self._begun = True
        self._head(section)
        for item in section:
            if isinstance(item, Damage):
                write(
                    f"\n## {item.index} · lost\n\nThis message cannot be read: "
                    f"{_code(item.part)}, {_line(item.reason)}.\n"
                )
            elif isinstance(item, Copies):
                write(f"\n*{_line(copies_line(item))}*\n")
            elif isinstance(item, Beyond):
                write(f"\n*{beyond_line(item)}*\n")
            else:
                self._message(section, item)
        events = section.events()
        if events:
            write("\n## Agent events\n\n")
            write(_fence("\n".join(json_text(event) for event in events), "json") + "\n")
        if section.events_beyond:
            write(f"\n*{events_beyond_line(section.events_beyond)}*\n")
        damage = section.check()
        if damage:
            write("\n## Damage\n\n")
            for part in damage:
                recovered = "; its content was had from elsewhere" if part.recovered else ""
                write(f"- {_code(part.part)}: {_line(part.reason)}{recovered}\n")
        write(f"\n---\n\n{section.closing()}\n")
        return len(events)

    def end(self) -> None:
        """The last session's closing line is the document's."""

    def _head(self, section: Section) -> None:
        write, summary = self._writer.write, section.summary
        title = summary.text("title") or f"Session {summary.session_id}"
        write(f"# {_line(title)}\n\n")
        write(f"- session: {_code(summary.session_id)}\n")
        for link in section.links:
            where = "" if link.included else " (not in this export)"
            write(f"- {link.phrase}: {_code(link.session_id)}{where}\n")
        write(f"- created: {_code(summary.created_at)}\n- updated: {_code(summary.updated_at)}\n")
        write(f"- messages: {section.total}\n")
        for key, value in summary.meta.items():
            write(f"- {_line(key)}: {_code(str(value))}\n")

    def _message(self, section: Section, stored: StoredMessage) -> None:
        who = _line(str(stored.message.get("role", "unknown")))
        sums_up = section.is_summary(stored)
        if sums_up and not stored.index:
            who = f"Summary of session {_line(section.summarized)}"
        marks = [str(stored.index), who, _line(stored.created_at)]
        if sums_up and stored.index:
            marks.append("reply to the summary")
        if stored.redacted:
            marks.append("redacted")
        if origin := origin_of(stored.message):
            marks.append(f"first recorded as {origin[1]} of {_line(origin[0])}")
        self._writer.write(f"\n## {' · '.join(marks)}\n")
        for block in _blocks(stored.message):
            self._writer.write(f"\n{block}\n")


def _line(text: str) -> str:
    """Text within a line of markdown's own: one line, nothing that reads as markup at its place."""
    return re.sub(r"([\\`*_\[\]<>#|])", r"\\\1", " ".join(visible(text).split()))


def _code(text: str) -> str:
    shown = " ".join(visible(text).split())
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    ticks = "`" * (longest + 1)
    space = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{ticks}{space}{shown}{space}{ticks}" if shown else "(empty)"


def _fence(text: str, language: str = "") -> str:
    shown = visible(text)
    ticks = "`" * max(3, 1 + max((len(run) for run in _RUN.findall(shown)), default=0))
    return f"{ticks}{language}\n{shown}\n{ticks}"


def _blocks(message: Mapping[str, Any]) -> Iterator[str]:
    for kind, value in blocks_of(message):
        yield _block(kind, value) if kind else _fence(json_text(value), "json")


def _block(kind: str, value: object) -> str:
    if kind == "text" and isinstance(value, str):
        return _prose(value)
    if kind == "reasoningContent" and isinstance(value, Mapping):
        inner = value.get("reasoningText")
        if isinstance(inner, Mapping) and isinstance(inner.get("text"), str):
            return f"Reasoning:\n\n{_fence(inner['text'])}"
    if kind == "toolUse" and isinstance(value, Mapping):
        name, use_id = _code(str(value.get("name", ""))), _code(str(value.get("toolUseId", "")))
        return f"Tool call {name} ({use_id}):\n\n{_fence(pretty(value.get('input')), 'json')}"
    if kind == "toolResult" and isinstance(value, Mapping):
        status, use_id = _line(str(value.get("status", ""))), _code(str(value.get("toolUseId", "")))
        results = value.get("content")
        shown = (
            [_result(item) for item in results]
            if isinstance(results, list)
            else [_fence(json_text(results), "json")]
        )
        return "\n\n".join([f"Tool result ({use_id}, {status}):", *shown])
    if kind == "image" and (image := _image(value)):
        return image
    return f"{_code(kind)}:\n\n{_fence(pretty(value), 'json')}"


def _image(value: object) -> str:
    """What stands for an image; empty where it is none."""
    source = value.get("source") if isinstance(value, Mapping) else None
    data = bytes_of(source.get("bytes")) if isinstance(source, Mapping) else None
    if data is None or not isinstance(value, Mapping):
        return ""
    form = _line(str(value.get("format", "")))
    return f"*{form} picture ({len(data):,} bytes), which an export as HTML shows*"


def _result(item: object) -> str:
    if isinstance(item, Mapping) and set(item) == {"image"} and (image := _image(item["image"])):
        return image
    if isinstance(item, Mapping) and set(item) == {"text"} and isinstance(item["text"], str):
        return _fence(item["text"])
    return _fence(pretty(item), "json")


def _prose(text: str) -> str:
    """What was said; open fences are closed and HTML is escaped, so that nothing swallows what follows."""
    lines: list[str] = []
    open_fence = ""
    for line in visible(text).split("\n"):
        found = re.match(r" {0,3}(`{3,}|~{3,})(.*)$", line)
        lines.append(line if found or open_fence else _HTML.sub(r"\1\\<", line))
        if not found:
            continue
        marks, rest = found[1], found[2]
        if not open_fence:
            if marks[0] == "~" or "`" not in rest:
                open_fence = marks
        elif marks[0] == open_fence[0] and len(marks) >= len(open_fence) and not rest.strip():
            open_fence = ""
    return "\n".join([*lines, open_fence] if open_fence else lines)
