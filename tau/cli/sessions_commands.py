"""`tau sessions`: list, show, search and export what is on record; it needs no model and writes nothing."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from tau.cli.options import load_settings, shared_options
from tau.cli.output import say, tell
from tau.display import one_line, visible
from tau.errors import UsageError

if TYPE_CHECKING:
    from tau.config.settings import Settings
    from tau.sessions.catalog import Catalog
    from tau.sessions.records import Damage, MetaValue, SearchHit, SessionSummary
    from tau.sessions.store import SessionReader, SessionStore

_EVERYWHERE = click.option("--all", "everywhere", is_flag=True, help="Sessions of every directory.")
_ONE_SHOTS = click.option(
    "--one-shots", is_flag=True, help="Also runs that were given no name or id and that nothing goes on with."
)
_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")


class _Record(NamedTuple):
    """What the commands read: the store, the catalog of it, and the directory whose sessions are meant."""

    settings: Settings
    store: SessionStore
    catalog: Catalog
    directory: str | None


@contextmanager
def _record(*, everywhere: bool) -> Iterator[_Record]:
    from tau.sessions.catalog import Catalog
    from tau.sessions.registry import open_store

    settings = load_settings()
    store = open_store(settings, channel="")
    catalog = Catalog(store, state_dir=settings.places.state)
    try:
        everywhere = everywhere or settings.sessions.scope == "all"
        yield _Record(settings, store, catalog, None if everywhere else settings.directory_text)
        if not store.capabilities.persistent:
            tell(
                f'[sessions] backend = "{settings.sessions.backend}" keeps no sessions beyond the process; '
                'set it to "file"'
            )
    finally:
        catalog.close()
        store.close()


@click.group()
def sessions() -> None:
    """List, show, search and export sessions."""


@sessions.command("list")
@click.option("--limit", type=click.IntRange(min=1), default=10, show_default=True, help="At most so many.")
@_EVERYWHERE
@_ONE_SHOTS
@_JSON
@shared_options
def list_(limit: int, *, everywhere: bool, one_shots: bool, as_json: bool) -> None:
    """List the newest sessions of this directory.

    Of sessions that continue each other after a summary, the newest is listed and names the one before.
    """
    from tau.sessions.listing import listed_line
    from tau.sessions.records import ListQuery

    with _record(everywhere=everywhere) as record:
        found = record.catalog.summaries(
            ListQuery(directory=record.directory, limit=limit, one_shots=one_shots, fold_chains=True)
        )
        for number, summary in enumerate(found, 1):
            _echo_json(_summary(summary)) if as_json else say(one_line(listed_line(number, summary)))
        if not found:
            tell("No sessions yet" if record.directory is None else _none_here(record.directory))
        for session_id, reason in record.catalog.problems().items():
            tell(f"Session {session_id} is there and cannot be read: {reason}")


def _none_here(directory: str) -> str:
    return f"No sessions of {directory} (--all lists those of every directory)"


@sessions.command()
@click.argument("session", required=False, default="", metavar="[ID|NAME]")
@click.option("--limit", type=click.IntRange(min=1), help="Only so many of the newest messages.")
@_EVERYWHERE
@shared_options
def show(session: str, limit: int | None, *, everywhere: bool) -> None:
    """Print a session: the newest one, or the one of this id or name."""
    from tau.cli.transcript import heading, message_lines

    with _record(everywhere=everywhere) as record, _opened(record, session) as reader:
        count = reader.count()
        holder = record.store.holder(reader.session_id)
        summary = reader.summary()
        for line in heading(summary, holder.phrase() if holder else ""):
            say(visible(line))
        offset = max(count - limit, 0) if limit else 0
        if offset:
            say(f"… {offset} earlier messages")
        while offset < count:
            for stored in reader.messages(offset=offset, limit=200):
                for line in message_lines(stored, summary.text("compacted_from")):
                    say(visible(line))
            offset += 200
        _tell_damage(reader.damage())


@sessions.command()
@click.argument("words", nargs=-1, required=True)
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="At most so many.")
@_EVERYWHERE
@_ONE_SHOTS
@_JSON
@shared_options
def search(words: tuple[str, ...], limit: int, *, everywhere: bool, one_shots: bool, as_json: bool) -> None:
    """Find messages that hold every one of WORDS.

    The last word may be the beginning of one; quotes inside the words make a phrase. --all looks through
    one-shots as well.
    """
    from tau.sessions.records import ListQuery

    with _record(everywhere=everywhere) as record:
        query = ListQuery(directory=record.directory, limit=limit, one_shots=one_shots or everywhere)
        hits = record.catalog.search(" ".join(words), query)
        for hit in hits:
            _echo_json(_hit(hit, record.store)) if as_json else say(_hit_line(hit))
        if not hits:
            tell(
                "Nothing found"
                if record.directory is None
                else f"Nothing found in sessions of {record.directory}"
            )


@sessions.command()
@click.argument("session", metavar="ID|NAME")
@click.option(
    "--format",
    "form",
    type=click.Choice(["markdown", "html", "json"]),
    help="The form; by default what the name of FILE says, else markdown.",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write to FILE instead of stdout."
)
@click.option("--chain", is_flag=True, help="With all sessions it continues and those that continue it.")
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@_EVERYWHERE
@shared_options
def export(
    session: str, form: str | None, output: Path | None, *, chain: bool, force: bool, everywhere: bool
) -> None:
    """Write a whole session as one document."""
    from tau.cli.exporting import write_stdout
    from tau.sessions.export import SUFFIXES, ExportReport, export_chain, export_session
    from tau.sessions.export_file import write_export
    from tau.sessions.export_parts import TextOut

    chosen = form or SUFFIXES.get(output.suffix.lower() if output is not None else "", "")
    if not chosen:
        if output is not None and output.suffix:
            raise UsageError(
                f"An export is named .md, .html or .json, and {one_line(output.name)} is not",
                "--format says the form whatever the file is called",
            )
        chosen = "markdown"
    with _record(everywhere=everywhere) as record, _opened(record, session) as reader:

        def write(out: TextOut) -> ExportReport:
            if chain:
                return export_chain(chosen, record.store.read, reader.session_id, out)
            return export_session(chosen, reader, out)

        if output is None or output == Path("-"):
            report = write_stdout(write)
        else:
            report = write_export(output, write, force=force, hint="--force replaces it")
            tell(f"Exported {report.messages} messages to {output}")
        for missing in report.missing:
            tell(f"Session {missing} comes before this one and cannot be read: left out")
        _tell_damage(report.damage)


@contextmanager
def _opened(record: _Record, target: str) -> Iterator[SessionReader]:
    session_id = record.catalog.resolve(target, directory=record.directory)
    with record.store.read(session_id) as reader:
        yield reader


def _tell_damage(damage: Sequence[Damage]) -> None:
    for item in damage:
        outcome = "its content was kept elsewhere" if item.recovered else "left out"
        tell(f"{item.part} is damaged ({item.reason}): {outcome}")


def _echo_json(fields: dict[str, Any]) -> None:
    say(json.dumps(fields))


def _summary(summary: SessionSummary) -> dict[str, Any]:
    return {
        "session_id": summary.session_id,
        "updated_at": summary.updated_at,
        "created_at": summary.created_at,
        "message_count": summary.message_count,
        **_links(summary.meta),
        "meta": dict(summary.meta),
    }


def _hit(hit: SearchHit, store: SessionStore) -> dict[str, Any]:
    with store.read(hit.session_id) as reader:
        meta = reader.meta()
    return {
        "session_id": hit.session_id,
        "index": hit.index,
        "role": hit.role,
        "snippet": hit.snippet,
        "marks": hit.marks,
        **_links(meta),
    }


def _links(meta: Mapping[str, MetaValue]) -> dict[str, MetaValue]:
    """The sessions that one is linked to; null where there is none."""
    return {key: meta.get(key) for key in ("compacted_from", "compacted_to", "forked_from")}


def _hit_line(hit: SearchHit) -> str:
    place = hit.role if hit.role == "title" else f"{hit.role} {hit.index}"
    return f"{hit.session_id}  {place}  {_emphasized(hit)}"


def _emphasized(hit: SearchHit) -> str:
    """The snippet, what was searched for in bold where stdout is a terminal that shows it."""
    shown = one_line(hit.snippet, 1_000)
    plain = not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") in (None, "dumb")
    if plain or shown != hit.snippet:
        return shown
    for begin, end in reversed(hit.marks):
        shown = f"{shown[:begin]}{click.style(shown[begin:end], bold=True)}{shown[end:]}"
    return shown
