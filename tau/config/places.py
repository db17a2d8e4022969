"""Where tau keeps things, resolved from the environment and the platform; nothing is created here."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from tau.config.settings import Places
from tau.display import one_line
from tau.errors import ConfigError

DATA_DIR = "TAU_DATA_DIR"
"""The environment variable that moves the record and the logs."""

OVERRIDE = f"set {DATA_DIR} to a folder tau may write"

_VARIABLES = {"data": DATA_DIR, "state": "XDG_STATE_HOME", "config": "XDG_CONFIG_HOME"}


def resolve_places(environ: Mapping[str, str]) -> Places:
    """The places of this run.

    `TAU_DATA_DIR` is taken from `environ`; the platform's folders follow `HOME` and the `XDG_*` variables of
    the process. Without a home directory, state and configuration are looked for inside `TAU_DATA_DIR`.

    Raises:
        ConfigError: A place is relative, is no directory, or would lie in a home directory that is not there.
    """
    from platformdirs import PlatformDirs

    platform = PlatformDirs("tau", appauthor=False)
    given = environ.get(DATA_DIR, "")
    if given:
        data = Path(given)
        if not data.is_absolute():
            raise ConfigError(f"{DATA_DIR} is not an absolute path: {one_line(given)}", OVERRIDE)
    else:
        data = _in_home(lambda: platform.user_data_dir)
    try:
        state = _in_home(lambda: platform.user_state_dir)
        config = _in_home(lambda: platform.user_config_dir)
    except ConfigError:
        if not given:
            raise
        state, config = data / "state", data / "config"
    places = Places(data=data, state=state, config=config)
    for kind in _VARIABLES:
        _refuse_file(getattr(places, kind), override_of(kind, places))
    return places


def override_of(kind: str, places: Places) -> str:
    """What to set so that a place is elsewhere, as a hint.

    Args:
        kind: ``data``, ``state`` or ``config``.
        places: Where they are.
    """
    within_data = getattr(places, kind) == places.data / kind  # where there is no home directory
    return f"set {DATA_DIR if within_data else _VARIABLES[kind]} to a folder tau may write"


def is_there(path: Path) -> bool:
    """Whether there is something at a path, links followed; no where it may not be looked at."""
    return os.path.exists(path)  # noqa: PTH110  # Path.exists raises where a folder may not be looked into


def is_directory(path: Path) -> bool:
    """Whether a path is a directory, links followed; no where it may not be looked at."""
    return os.path.isdir(path)  # noqa: PTH112  # as above


def why_unwritable(place: Path) -> str:
    """Why nothing can be written in a place, in a few words naming the path; empty when it can be.

    A place that is not there yet is judged by the nearest folder above it. Nothing is created.
    """
    at = place
    while not os.path.lexists(at) and at != at.parent:
        at = at.parent
    if not is_directory(at):
        return f"{at} is not a directory"
    if not os.access(at, os.W_OK | os.X_OK):
        return f"{at} cannot be written"
    return ""


def make_private(folder: Path) -> None:
    """Create a folder of tau's own, with mode 0700 whatever the umask. One that exists is left as it is.

    Raises:
        OSError: It cannot be created, or is no directory.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        if not folder.is_dir():
            raise
    else:
        folder.chmod(0o700)


def _in_home(folder: Callable[[], str]) -> Path:
    try:
        path = Path(folder())
    except RuntimeError as error:
        raise ConfigError("There is no home directory to keep sessions in", OVERRIDE) from error
    home = Path.home()
    if path.is_relative_to(home) and not is_directory(home):
        raise ConfigError(f"The home directory {home} is not there, so sessions have no place", OVERRIDE)
    return path


def _refuse_file(path: Path, override: str) -> None:
    for part in (path, *path.parents):
        if os.path.lexists(part):
            if not is_directory(part):
                raise ConfigError(f"{part} is not a directory, so tau cannot use {path}", override)
            return
