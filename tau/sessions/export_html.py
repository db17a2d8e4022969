"""An export as one HTML file, for people: no script, nothing from elsewhere, everything in it escaped."""

from __future__ import annotations

import base64
import re
from collections.abc import Collection, Iterator, Mapping
from html import escape
from typing import Any

from tau.sessions.export_html_style import STYLE
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

_IMAGES = {"png": "image/png", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"}
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)$")
_HUNK = re.compile(r"^@@ ", re.MULTILINE)
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_SUMMARY_CHARACTERS = 120


class HtmlForm:
    """Writes a page that reads in light and dark; see `tau.sessions.export_parts.Form`."""

    def __init__(self, writer: Writer, sessions: Collection[str]) -> None:
        self._writer = writer
        self._sessions = list(sessions)
        self._begun = False

    def session(self, section: Section) -> int:
        """Write a session in a section of its own."""
        write = self._writer.write
        if not self._begun:
            self._begin(section)
        self._head(section)
        for item in section:
            if isinstance(item, Damage):
                said = f"Message {item.index} cannot be read: {item.part}, {item.reason}."
                write(f'<p class="note lost">{_text(said)}</p>\n')
            elif isinstance(item, Copies):
                write(f'<p class="note">{_text(copies_line(item))}</p>\n')
            elif isinstance(item, Beyond):
                write(f'<p class="note">{_text(beyond_line(item))}</p>\n')
            else:
                self._message(section, item)
        events = section.events()
        if events:
            lines = "\n".join(json_text(event) for event in events)
            write(_folded("Agent events", f"{len(events)}", _pre(lines)) + "\n")
        if section.events_beyond:
            write(f'<p class="note">{_text(events_beyond_line(section.events_beyond))}</p>\n')
        for part in section.check():
            recovered = "; its content was had from elsewhere" if part.recovered else ""
            write(f'<p class="note lost">{_text(f"{part.part}: {part.reason}{recovered}.")}</p>\n')
        write(f'<p class="note">{_text(section.closing())}</p>\n</section>\n')
        return len(events)

    def end(self) -> None:
        """Close the page."""
        self._writer.write("</main>\n</body>\n</html>\n")

    def _begin(self, section: Section) -> None:
        self._begun = True
        write = self._writer.write
        write('<!DOCTYPE html>\n<html lang="">\n<head>\n<meta charset="utf-8">\n')
        write(f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">\n')
        write('<meta name="viewport" content="width=device-width, initial-scale=1">\n')
        write('<meta name="color-scheme" content="light dark">\n')
        write(f"<title>{_text(_title(section))}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n")
        if len(self._sessions) > 1:
            write("<nav>\n<ol>\n")
            for session_id in self._sessions:
                write(f"<li>{self._link(session_id)}</li>\n")
            write("</ol>\n</nav>\n")

    def _link(self, session_id: str) -> str:
        if session_id not in self._sessions:
            return _text(f"{session_id} (not in this export)")
        return f'<a href="#s{self._sessions.index(session_id)}">{_text(session_id)}</a>'

    def _head(self, section: Section) -> None:
        write, summary = self._writer.write, section.summary
        place = self._sessions.index(summary.session_id)
        write(f'<section id="s{place}">\n<h1>{_text(_title(section))}</h1>\n<dl>\n')
        rows = [("session", _text(summary.session_id))]
        rows += [(link.phrase, self._link(link.session_id)) for link in section.links]
        rows += [
            ("created", _text(summary.created_at)),
            ("updated", _text(summary.updated_at)),
            ("messages", str(section.total)),
        ]
        for key, shown in rows:
            write(f"<dt>{_text(key)}</dt><dd>{shown}</dd>\n")
        write("</dl>\n")
        about = "".join(
            f"<dt>{_text(key)}</dt><dd>{_text(str(value))}</dd>\n" for key, value in summary.meta.items()
        )
        write(_folded("Metadata", "", f"<dl>\n{about}</dl>") + "\n")

    def _message(self, section: Section, stored: StoredMessage) -> None:
        kind, who = _speaker(stored.message)
        facts = [str(stored.index), stored.created_at[:19].replace("T", " ")]
        if section.is_summary(stored):
            kind, who = "summary", who if stored.index else f"Summary of session {section.summarized}"
        if stored.redacted:
            facts.append("redacted")
        if origin := origin_of(stored.message):
            facts.append(f"first recorded as {origin[1]} of {origin[0]}")
        write = self._writer.write
        write(f'<article class="{kind}">\n<h2>{_text(who)} <small>{_text(" · ".join(facts))}</small></h2>\n')
        for block in _blocks(stored.message):
            write(f"{block}\n")
        write("</article>\n")


def _title(section: Section) -> str:
    summary = section.summary
    return summary.text("title") or f"Session {summary.session_id}"


def _speaker(message: Mapping[str, Any]) -> tuple[str, str]:
    """The class of a message, and who is named over it."""
    role, content = message.get("role"), message.get("content")
    blocks = content if isinstance(content, list) else []
    if blocks and all(isinstance(block, Mapping) and "toolResult" in block for block in blocks):
        return "results", "Tool results"
    if role == "user":
        return "user", "You"
    if role == "assistant":
        return "assistant", "tau"
    return "other", str(role if role is not None else "unknown")


def _text(text: str) -> str:
    return escape(visible(text))


def _pre(text: str) -> str:
    return f"<pre><code>{_lines(text)}</code></pre>"


def _lines(text: str, *, diff: bool = False) -> str:
    """Escaped lines; those of a diff are marked as what comes and goes."""
    shown = visible(text)
    if not diff and _HUNK.search(shown) is None:
        return escape(shown)
    lines: list[str] = []
    changes = diff
    for line in shown.split("\n"):
        changes = changes or line.startswith("@@ ")
        kind = _DIFF.get(line[:1], "") if changes and not line.startswith(("+++ ", "--- ")) else ""
        lines.append(f'<span class="{kind}">{escape(line)}</span>' if kind else escape(line))
    return "\n".join(lines)


_DIFF = {"+": "add", "-": "del", "@": "hunk"}


def _folded(what: str, about: str, inner: str, *, kind: str = "") -> str:
    mark = f' class="{kind}"' if kind else ""
    return (
        f"<details{mark}><summary><b>{_text(what)}</b> <span>{_text(about)}</span></summary>\n"
        f"{inner}</details>"
    )


def _blocks(message: Mapping[str, Any]) -> Iterator[str]:
    for kind, value in blocks_of(message):
        yield _block(kind, value) if kind else _pre(pretty(value))


def _block(kind: str, value: object) -> str:
    if kind == "text" and isinstance(value, str):
        return _prose(value)
    if kind == "reasoningContent" and isinstance(value, Mapping):
        inner = value.get("reasoningText")
        if isinstance(inner, Mapping) and isinstance(inner.get("text"), str):
            return _folded("Reasoning", "", _prose(inner["text"]), kind="reasoning")
    if kind == "toolUse" and isinstance(value, Mapping):
        given, use_id = value.get("input"), str(value.get("toolUseId", ""))
        inner = f'<p class="id">{_text(use_id)}</p>\n{_arguments(given)}'
        return _folded(str(value.get("name", "")), _in_short(given), inner, kind="call")
    if kind == "toolResult" and isinstance(value, Mapping):
        return _tool_result(value)
    if kind == "image" and isinstance(value, Mapping) and (image := _image(value)):
        return image
    return f'<p class="id">{_text(kind)}</p>\n{_pre(pretty(value))}'


def _arguments(given: object) -> str:
    """The arguments of a call: texts as they are, anything else as JSON."""
    if not isinstance(given, Mapping):
        return _pre(pretty(given))
    return "".join(
        f'<p class="key">{_text(str(key))}</p>\n{_pre(value if isinstance(value, str) else pretty(value))}\n'
        for key, value in given.items()
    )


def _in_short(given: object) -> str:
    if isinstance(given, Mapping):
        given = " ".join(str(value) for value in given.values() if isinstance(value, str | int | float))
    flat = " ".join(str(given)[: 4 * _SUMMARY_CHARACTERS].split())
    return flat if len(flat) <= _SUMMARY_CHARACTERS else flat[: _SUMMARY_CHARACTERS - 1] + "…"


def _tool_result(value: Mapping[str, Any]) -> str:
    status, results = str(value.get("status", "")), value.get("content")
    shown = [f'<p class="id">{_text(str(value.get("toolUseId", "")))}</p>']
    first = ""
    for item in results if isinstance(results, list) else [results]:
        if isinstance(item, Mapping) and set(item) == {"text"} and isinstance(item["text"], str):
            first = first or item["text"]
            shown.append(_pre(item["text"]))
        elif isinstance(item, Mapping) and isinstance(item.get("image"), Mapping):
            shown.append(_image(item["image"]) or _pre(pretty(item)))
        else:
            shown.append(_pre(pretty(item)))
    kind = "call" if status == "success" else "call failed"
    return _folded(status or "result", _in_short(first), "\n".join(shown), kind=kind)


def _image(value: Mapping[str, Any]) -> str:
    """An image of a known type as a part of the page; empty when it is none."""
    source, form = value.get("source"), str(value.get("format", ""))
    data = bytes_of(source.get("bytes")) if isinstance(source, Mapping) else None
    if data is None or form not in _IMAGES:
        return ""
    encoded = base64.b64encode(data).decode()
    return f'<img alt="{form}, {len(data)} bytes" src="data:{_IMAGES[form]};base64,{encoded}">'


def _prose(text: str) -> str:
    """What was said, as it was written; what stands in fences is set as code, with its fences."""
    parts: list[str] = []
    plain: list[str] = []
    code: list[str] = []
    fence = language = ""

    def end_plain() -> None:
        if plain:
            said = escape("\n".join(plain))
            parts.append(f'<div class="text">{said}</div>')
            plain.clear()

    def end_code(closing: str = "") -> None:
        inner = _lines("\n".join(code[1:]), diff=language == "diff")
        last = f'\n<span class="fence">{escape(closing)}</span>' if closing else ""
        body = f"\n{inner}" if len(code) > 1 else ""
        parts.append(f'<pre><code><span class="fence">{escape(code[0])}</span>{body}{last}</code></pre>')
        code.clear()

    for line in visible(text).split("\n"):
        found = _FENCE.match(line)
        marks, rest = (found[1], found[2].strip()) if found else ("", "")
        if not fence and marks and not (marks[0] == "`" and "`" in rest):
            end_plain()
            fence, language = marks, rest.lower()
            code.append(line)
        elif fence and marks[:1] == fence[0] and len(marks) >= len(fence) and not rest:
            end_code(line)
            fence = ""
        else:
            (code if fence else plain).append(line)
    if fence:
        end_code()
    end_plain()
    return "\n".join(parts)
