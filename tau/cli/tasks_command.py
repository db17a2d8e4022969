"""`tau tasks`: look at the tasks of this directory and complete them; it needs no model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tau.cli.options import load_settings, shared_options
from tau.cli.output import say

if TYPE_CHECKING:
    from tau.tasks.desk import TaskDesk

_TASK = click.argument("task", metavar="TASK")


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
@shared_options
def list_() -> None:
    """List the tasks, with their progress and how many files are ahead.

    Those that are finished long ago are purged first, those that were never begun archived.
    """
    from tau.conversation.tasks_command import MOST_ROWS, listed

    for line in listed(_desk().listing(most=MOST_ROWS)):
        say(line)


@tasks.command()
@_TASK
@click.argument("file", metavar="[FILE]", required=False)
@shared_options
def show(task: str, file: str | None) -> None:
    """Show a task, and the explored part of its import graph; with a FILE, all that was noted of it."""
    from tau.conversation.tasks_command import looked_at, notes

    desk = _desk()
    for line in notes(desk, task, file) if file else looked_at(desk, task, most=1_000):
        say(line)


@tasks.command()
@_TASK
@shared_options
def done(task: str) -> None:
    """Complete a task."""
    from tau.conversation.tasks_command import done as complete

    say(complete(_desk(), task))
