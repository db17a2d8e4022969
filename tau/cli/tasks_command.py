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

    A TASK is given by its name or its id.
    """


def _desk() -> TaskDesk:
    from tau.tasks.desk import TaskDesk

    return TaskDesk(load_settings())


@tasks.command("list")
@shared_options
def list_() -> None:
    """List the tasks, with their progress and how many files are ahead.

    Those that are finished long ago are purged first, those that were never begun archived.
    """
    from tau.conversation.tasks_command import listed

    for line in listed(_desk().listing()):
        say(line)


@tasks.command()
@_TASK
@shared_options
def show(task: str) -> None:
    """Show a task, and the explored part of its import graph."""
    from tau.conversation.tasks_command import shown

    for line in shown(_desk().view(task), most=1_000):
        say(line)


@tasks.command()
@_TASK
@shared_options
def done(task: str) -> None:
    """Complete a task."""
    from tau.conversation.tasks_command import done as complete

    say(complete(_desk(), task))
