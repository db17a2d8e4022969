"""Exports the session in hand, or all it is linked to, to a file that a person names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from tau.conversation.state import ConversationState
from tau.display import one_line
from tau.errors import UsageError
from tau.sessions.export import SUFFIXES, export_chain, export_session
from tau.sessions.export_file import write_export
from tau.sessions.lineage import Read

CHAIN = "chain"
"""The last word of an export that takes the linked sessions along."""

_UNFIT = re.compile(r"[^\w.,+ -]+")


def export(read: Read, state: ConversationState, given: str) -> Sequence[str]:
    """Write a new file and say so; blocks on the disk.

    Args:
        read: Opens a session for reading.
        state: What is in hand.
        given: A path, then perhaps the word ``chain``; either may be missing.

    Returns:
        What was written, and what is not in it, a line each.

    Raises:
        UsageError: There is nothing to export, or the file cannot be as it was named.
        TauError: It could not be read or written. Nothing is left behind.
    """
    path, chain = _parse(given)
    target = _place(path, state)
    form = SUFFIXES.get(target.suffix.lower())
    if form is None:
        raise UsageError(
            f"An export is named .md, .html or .json, and {one_line(target.name)} is not",
            "the ending says the form: markdown, HTML or JSON",
        )
    session_id = state.session_id
    with read(session_id) as reader:
        if not reader.count():
            raise UsageError(f"Nothing to export: session {session_id} holds no message yet")
        write = (
            partial(export_chain, form, read, session_id) if chain else partial(export_session, form, reader)
        )
        report = write_export(target, write, hint="give /export another path")
    count = f"{report.messages:,} message{'' if report.messages == 1 else 's'}"
    said = [f"Exported session {session_id} ({count}) to {target}."]
    if chain:
        sessions = f"{report.sessions} session{'' if report.sessions == 1 else 's'}"
        said = [f"Exported session {session_id} with its chain ({sessions}, {count}) to {target}."]
    said += [f"Not in it: session {other}, which cannot be read." for other in report.missing]
    said += [f"Not in it: {part.part} ({part.reason})." for part in report.damage if not part.recovered]
    if state.unsaved:
        said.append(f"Not in it: what is not saved yet ({state.unsaved}).")
    return [one_line(line, 4_000) for line in said]


def _parse(given: str) -> tuple[str, bool]:
    """The path as it was typed, without quotes around it, and whether the chain is meant."""
    rest, _, last = given.strip().rpartition(" ")
    chain = last == CHAIN
    path = rest.strip() if chain else given.strip()
    if len(path) > 1 and path[0] == path[-1] and path[0] in "'\"":
        path = path[1:-1]
    return path, chain


def _place(path: str, state: ConversationState) -> Path:
    if not path:
        name = _UNFIT.sub("-", state.name).strip(" .-") or state.session_id
        return Path(state.directory) / f"{name}.md"
    try:
        return Path(state.directory) / Path(path).expanduser()
    except RuntimeError as error:
        raise UsageError(f"There is no home directory for {one_line(path)}") from error
