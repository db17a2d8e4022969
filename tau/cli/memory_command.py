"""`tau memory`: look at memory files, their history, take changes back, edit; it needs no model."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tau.cli.options import load_settings, shared_options
from tau.cli.output import say, tell
from tau.display import one_line, visible
from tau.errors import TauError

if TYPE_CHECKING:
    from tau.memory.desk import Desk
    from tau.memory.entries import Entry
    from tau.memory.labels import Scope
    from tau.memory.places import MemoryPlaces

_LABEL = click.argument("label", metavar="LABEL")


@click.group()
def memory() -> None:
    """Look at what is remembered here, and change it.

    A LABEL is NAME or project/NAME for a file of this project, global/NAME for one of every project.
    """


def _desk() -> Desk:
    from tau.memory.desk import Desk

    desk = Desk(load_settings())
    desk.waits = lambda waits: tell("Another tau writes memory; waiting…") if waits else None
    return desk


@memory.command("list")
@shared_options
def list_() -> None:
    """List the files, and what goes into prompts.

    That is all of them, unless they are longer than [memory] max_chars.
    """
    from tau.conversation.memories import listing

    desk = _desk()
    for line in listing(desk, desk.standing()):
        say(line)


@memory.command()
@_LABEL
@shared_options
def show(label: str) -> None:
    """Print a memory file."""
    from tau.memory import documents

    where = _desk().where()
    title = _title(where, label)[2]
    found, problems = documents.read(where)
    for document in found:
        if document.title == title:
            click.echo(visible(document.text), nl=not document.text.endswith("\n"))
            return
    for problem in problems:
        tell(problem)
    raise TauError(f"There is no memory {one_line(title)}", "`tau memory list` lists them")


@memory.command()
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="At most so many.")
@shared_options
def history(limit: int) -> None:
    """List the newest changes that tau made.

    Each with the session it came from, and what was changed and why.
    """
    from tau.memory import entries

    kept = _desk().history()
    for line in entries.log(kept.entries(limit)):
        say(line)
    for problem in kept.problems:
        tell(problem)


@memory.command()
@click.argument("change", metavar="[TIME]", required=False, default="")
@shared_options
def diff(change: str) -> None:
    """Show what a change did, line by line.

    The newest one, or the one of this TIME, as history gives it.
    """
    kept = _desk().history()
    there = kept.entries()
    if not there:
        raise TauError("There is no change of memory")
    text = kept.diff(_entry(there, change) if change else there[0])
    for problem in kept.problems:
        tell(problem)
    say(text)


def _entry(there: list[Entry], wanted: str) -> Entry:
    """The change that a person means by its time, or by a part of it from its beginning on."""
    given = re.sub(r"\s*UTC\Z", "", wanted.strip())
    given = re.sub(r"(?<=\d)\s+(?=\d)", "T", given).replace(":", "-")
    found = [entry for entry in there if given and entry.id.startswith(given)]
    if not found:
        which = f'"{one_line(wanted, 60)}"'
        raise TauError(f"There is no change of memory of {which}", "`tau memory history` lists them")
    if len(found) > 1:
        times = ", ".join(entry.id for entry in found[:10])
        raise TauError(f"There are {len(found)} changes of {one_line(wanted, 60)}", f"one of {times}")
    return found[0]


@memory.command()
@click.option(
    "--anyway",
    metavar="TIME",
    help="Take the newest change back, which is of this TIME, over edits by hand; they are kept.",
)
@shared_options
def undo(anyway: str | None) -> None:
    """Take the newest change back.

    That is the newest one that still stands, byte for byte; again, the one before it. Refused, with nothing
    touched and the differences shown, where a file of it was changed since; then the TIME is said as well
    that --anyway takes.
    """
    from tau.journal import rules_file
    from tau.memory.undone import NotNewest, UndoRefused

    desk = _desk()
    try:
        if anyway is None:
            undone = desk.undo()
        else:
            undone = desk.undo_anyway(_entry(desk.history().entries(), anyway).id)
    except UndoRefused as refused:
        tell("\n".join(refused.told(f"`tau memory undo --anyway {refused.entry.id}`")))
        raise click.exceptions.Exit(refused.exit_code) from None
    except NotNewest as refused:
        hint = "`tau memory undo` takes that back first" if refused.stands else ""
        raise TauError(refused.message, hint) from None
    for line in rules_file.told(undone):
        say(line)


@memory.command()
@_LABEL
@shared_options
def edit(label: str) -> None:
    """Open a memory file in your editor.

    That is $VISUAL or $EDITOR. A label that is not there yet gets a file if you write something. What you
    write is yours: tau never writes over it unseen, and undo does not reach it.
    """
    from tau.memory import applying, documents, files, project
    from tau.tui.editor import editor_command

    command = editor_command(os.environ)
    where = _desk().where()
    scope, _, _ = _title(where, label)
    if scope == "project":
        where, made = project.ensure(where)
        if made:
            tell(f"The folder of this project was made: {one_line(str(where.project))}")
    _, name, title = _title(where, label)
    path = where.folder(scope) / name
    shown = one_line(str(path))
    try:
        with files.folder(where, *where.folder_names(scope), make=True) as folder:
            before = applying.read(where, title)
            try:
                _run(command, path)
                after = applying.read(where, title)
            finally:
                if before is None and applying.read(where, title) == b"":
                    os.unlink(name, dir_fd=folder)
    except OSError as error:
        raise TauError(f"{shown} cannot be edited: {files.reason(error)}") from error
    if after == before or not (before or after):
        say(f"left as it is: {shown}" if before is not None else f"not written: {shown}")
        return
    say(f"written: {shown}" if after is not None else f"gone: {shown}")
    for problem in documents.read(where)[1]:
        tell(problem)


def _title(where: MemoryPlaces, label: str) -> tuple[Scope, str, str]:
    """A label's scope, the name that its file has for the system, and its title.

    Raises:
        MemoryRefused: It is none.
    """
    from tau.memory import labels

    scope, name = labels.parse(label)
    file = labels.on_disk(labels.file_name(name), where.folder(scope))
    return scope, labels.for_system(file), f"{scope}/{file}"


def _run(command: list[str], path: Path) -> None:
    """Have the person edit a file; Ctrl+C is the editor's as long as it runs.

    Raises:
        TauError: The editor could not be started, or failed.
    """
    name = one_line(Path(command[0]).name)
    try:
        process = subprocess.Popen([*command, str(path)], umask=0o077)  # a new file is the person's alone
    except OSError as error:
        raise TauError(f"{name} cannot be started: {error.strerror or error}") from None
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        code = process.wait()
    finally:
        signal.signal(signal.SIGINT, before)
    if code:
        ended = f"ended with exit code {code}" if code > 0 else f"was ended by signal {-code}"
        raise TauError(f"{name} {ended}", f"{one_line(str(path))} is as it left it")
