"""`tau init`: write a tau.toml to start from, make a project's folder; nothing that exists is touched."""

from __future__ import annotations

import os
from pathlib import Path

import click

from tau.cli.output import tell
from tau.config.places import make_private, resolve_places
from tau.display import one_line
from tau.errors import ConfigError

_USER_HEAD = """\
# Your tau.toml. Every setting is here, with the value it has anyway; remove the '#' to change one.
# A project's tau.toml is laid over this file. `tau config check` checks both; `tau config show` prints what
# holds in the end.
# Keys and passwords never stand here: they come from the environment.
"""

_PROJECT_TEXT = """\
# The tau.toml of this project. It is laid over each person's own tau.toml, key by key.
# What decides where data goes, what runs and what a model is told counts only for people who trust this
# directory (`tau trust`). Keys and passwords never stand here: they come from the environment.

[agent]
# instructions = "Run the tests with make test."
# window_size = 60

# [models.default]
# provider = "anthropic"
# model_id = "claude-sonnet-5"
"""


@click.command()
@click.option("--project", is_flag=True, help="Write a small tau.toml for the project in this directory.")
@click.option(
    "--memory",
    is_flag=True,
    help="Make the folder .memory/ of this checkout: its work log is on from then on.",
)
@click.option(
    "--session-log",
    is_flag=True,
    help="Make the folder .session-log/ of this project, or yours outside one: contexts are on from then on.",
)
def init(project: bool, memory: bool, session_log: bool) -> int:
    """Write your own tau.toml, with every setting explained; or a project's.

    The folder for what is remembered of this directory is made as well. Nothing that exists is touched.
    """
    if memory:
        _make_work_log()
    if session_log:
        _make_session_log()
    if (memory or session_log) and not project:
        return 0
    if project:
        path, text, mode = Path.cwd() / "tau.toml", _PROJECT_TEXT, 0o644
    else:
        from tau.config.load import FILE_NAME

        path, text, mode = resolve_places(os.environ).config / FILE_NAME, _user_text(), 0o600
    shown = one_line(str(path))
    if _write_new(path, text, mode):
        click.echo(f"created: {shown}")
    else:
        click.echo(f"left as it is: {shown}")
    _make_project_folder()
    return 0


def _make_project_folder() -> None:
    from tau.config.load import real_directory
    from tau.memory import project
    from tau.memory.places import find

    found = find(real_directory(Path()), resolve_places(os.environ))
    if found.notice:
        tell(found.notice)
    where, created = project.init(found)
    for path in created:
        click.echo(f"created: {one_line(str(path))}")
    if not created:
        click.echo(f"left as it is: {one_line(str(where.project))}")


def _make_work_log() -> None:
    from tau.config.load import real_directory
    from tau.journal.work_place import FOLDER, root_of, switched_on

    directory = real_directory(Path())
    made, missing = switched_on(directory, resolve_places(os.environ))
    for path in made:
        click.echo(f"created: {one_line(str(path))}")
    if not made:
        click.echo(f"left as it is: {one_line(str(root_of(directory) / FOLDER))}")
    if missing:
        tell(missing)


def _make_session_log() -> None:
    from tau.config.load import real_directory
    from tau.journal import contexts, durable

    places = resolve_places(os.environ)
    place = contexts.find(real_directory(Path()), places)
    made = contexts.make(place)
    for path in made:
        click.echo(f"created: {one_line(str(path))}")
    if not made:
        click.echo(f"left as it is: {one_line(str(place.folder))}")
    if doubt := durable.doubt(place.folder):
        tell(f"Memory cannot persist here: {one_line(str(place.folder))} {doubt}")
    if place.refused:
        tell(place.refused)


def _user_text() -> str:
    """The shipped file with every setting commented out, so that later defaults still reach the person."""
    from tau.config.load import SHIPPED

    _, _, body = SHIPPED.read_text(encoding="utf-8").partition("\n\n")
    lines = [line if not line or line[0] in "#[" else f"# {line}" for line in body.splitlines()]
    return _USER_HEAD + "\n" + "\n".join(lines) + "\n"


def _write_new(path: Path, text: str, mode: int) -> bool:
    """Write a file that is not there yet; False when something of that name exists, even a broken link."""
    try:
        make_private(path.parent)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    except FileExistsError:
        if not path.parent.is_dir():
            raise ConfigError(f"{one_line(str(path.parent))} is not a directory") from None
        return False
    except OSError as error:
        raise ConfigError(f"{one_line(str(path))} cannot be written: {error.strerror}") from error
    try:
        with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123  # a descriptor has no Path
            file.write(text)
    except OSError as error:
        path.unlink()
        raise ConfigError(f"{one_line(str(path))} cannot be written: {error.strerror}") from error
    return True
