"""`tau tasks`: look at tasks and complete them; it needs no model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tau.cli.options import load_settings, shared_options
from tau.cli.output import columns, say

if TYPE_CHECKING:
    from tau.tasks.desk import TaskDesk

_TASK = click.argument("task", metavar="TASK")
_EVERYWHERE = click.option("--all", "everywhere", is_flag=True, help="Tasks of every directory.")


@click.group()
def tasks() -> None:
    """Look at the tasks of this directory: what was explored in each, and what is worth exploring next.

    A TASK is given by its name or its id, or by a beginning of either, of at least four characters, that no
    other one has.
    """


def _desk() -> TaskDesk:
    from tau.tasks.desk import TaskDesk

    return TaskDesk(load_settings()).for_person()


@tasks.command("list")
@_EVERYWHERE
@shared_options
def list_(*, everywhere: bool) -> None:
    """List the tasks, with their progress and how many files are ahead.

    Those that are finished long ago are purged first, those that were never begun archived; also those of
    directories that are gone.
    """
    from tau.conversation.tasks_command import MOST_ROWS, listed

    most = None if everywhere else MOST_ROWS
    for line in listed(_desk().listing(most=most, everywhere=everywhere), columns()):
        say(line)


@tasks.command()
@_TASK
@click.argument("file", metavar="[FILE]", required=False)
@_EVERYWHERE
@shared_options
def show(task: str, file: str | None, *, everywhere: bool) -> None:
    """Show a task, and the explored part of its import graph; with a FILE, all that was noted of it."""
    from tau.conversation.tasks_command import looked_at, notes

    desk = _desk()
    if file:
        laid_out = notes(desk, task, file, everywhere=everywhere)
    else:
        laid_out = looked_at(desk, task, everywhere=everywhere, most=1_000)
    for line in laid_out(columns()):
        say(line)


@tasks.command()
@_TASK
@_EVERYWHERE
@shared_options
def done(task: str, *, everywhere: bool) -> None:
    """Complete a task."""
    from tau.conversation.tasks_command import done as complete

    say(complete(_desk(), task, everywhere=everywhere))
