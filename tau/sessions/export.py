"""Sessions as one document: markdown and HTML for people, JSON for programs; checked to be complete.

Every form is written as it is read, so a long session needs no more memory than a short one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from tau.sessions.export_html import HtmlForm
from tau.sessions.export_json import JsonForm
from tau.sessions.export_markdown import MarkdownForm
from tau.sessions.export_parts import Form, Section, TextOut, Writer
from tau.sessions.lineage import Read, look_behind, whole_chain
from tau.sessions.records import Damage
from tau.sessions.store import SessionReader

FORMS: dict[str, type[Form]] = {"markdown": MarkdownForm, "html": HtmlForm, "json": JsonForm}
"""The forms by name."""

SUFFIXES = {".md": "markdown", ".html": "html", ".json": "json"}
"""The form that the end of a file's name stands for."""


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What an export holds.

    Attributes:
        sessions: Sessions written.
        messages: Messages written.
        copies: Messages left out, because they are copies of some that were written.
        events: Agent events written.
        damage: Parts of the sessions that could not be read, named in the text too.
        missing: Of a chain: sessions that are named as coming before one of it, and could not be read.
        characters: Length of the text.
    """

    sessions: int
    messages: int
    copies: int
    events: int
    damage: tuple[Damage, ...]
    missing: tuple[str, ...]
    characters: int


def export_session(form: str, reader: SessionReader, out: TextOut) -> ExportReport:
    """Write one session.

    Args:
        form: A key of `FORMS`.
        reader: The session.
        out: An open text file.

    Raises:
        SessionUnusable: The text is not whole; what was written is not to be used.
        OSError: The file refused.
    """
    return _export(form, lambda _: nullcontext(reader), [reader.session_id], out)


def export_chain(form: str, read: Read, session_id: str, out: TextOut) -> ExportReport:
    """Write a session with all that it continues and that continues it, oldest first, each message once.

    The sessions behind it are written as far as it goes on from them.

    Args:
        form: A key of `FORMS`.
        read: Opens a session for reading.
        session_id: One of the chain.
        out: An open text file.

    Raises:
        SessionError: A session cannot be read, or the text is not whole; what was written is not to be used.
        OSError: The file refused.
    """
    ends = look_behind(read, session_id).ends
    return _export(form, read, whole_chain(read, session_id), out, ends)


def _export(
    form: str,
    read: Callable[[str], AbstractContextManager[SessionReader]],
    sessions: Sequence[str],
    out: TextOut,
    ends: Mapping[str, int] | None = None,
) -> ExportReport:
    writer = Writer(sessions[-1], out)
    document = FORMS[form](writer, sessions)
    written: set[tuple[str, int]] = set()
    copies = events = 0
    damage: list[Damage] = []
    missing: list[str] = []
    for session_id in sessions:
        with read(session_id) as reader:
            section = Section(reader, sessions, written, (ends or {}).get(session_id))
            events += document.session(section)
            copies += section.copies
            damage += reader.damage()
            if ends is not None:
                behind = (section.summary.text(key) for key in ("compacted_from", "forked_from"))
                missing += [other for other in behind if other and other not in sessions]
    document.end()
    return ExportReport(
        len(sessions), len(written), copies, events, tuple(damage), tuple(missing), writer.characters
    )
