"""The token that clients over HTTP bring: made once and kept, or given by the environment."""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tau.config.places import make_private
from tau.config.settings import Places
from tau.display import one_line
from tau.errors import TauError, UsageError
from tau.masking import remember

VARIABLE = "TAU_MCP_TOKEN"
"""The environment variable that gives a token."""

_FOLDER, _FILE = "mcp", "token"
_SHORTEST = 16
_FORM = re.compile(r"[A-Za-z0-9._~+/-]+=*")
_LONGEST = 4_096
_ANOTHER = f"remove it, and tau makes another; or set {VARIABLE}"


class Token(NamedTuple):
    """A token, and the file it is kept in; None where it is given by the environment."""

    value: str
    path: Path | None


def find_token(places: Places, environ: Mapping[str, str]) -> Token:
    """The token of this person on this machine. It is masked from now on wherever secrets are.

    Raises:
        UsageError: The one of the environment cannot be used.
        TauError: The one that is kept cannot be read or made, or others can read it.
    """
    given = environ.get(VARIABLE, "")
    if given:
        if len(given) < _SHORTEST or not _FORM.fullmatch(given):
            raise UsageError(
                f"{VARIABLE} is no token that can be used",
                f"at least {_SHORTEST} letters, digits and signs of . _ ~ + / -, hard to guess",
            )
        token = Token(given, None)
    else:
        path = places.state / _FOLDER / _FILE
        try:
            token = Token(_kept(path), path)
        except OSError as error:
            why = error.strerror or str(error)
            raise TauError(
                f"The token {one_line(str(path))} cannot be used: {why}", f"set {VARIABLE} to one"
            ) from error
    remember(token.value)
    return token


def _kept(path: Path) -> str:
    if not os.path.lexists(path):
        make_private(path.parent.parent)
        make_private(path.parent)
        _make(path)
    shown = one_line(str(path))
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise TauError(f"The token {shown} is no regular file", _ANOTHER)
        if status.st_uid != os.geteuid() or status.st_mode & 0o077:
            raise TauError(f"The token {shown} can be read by others, so it is none any more", _ANOTHER)
        value = file.read(_LONGEST).decode("ascii", "replace").strip()
    if len(value) < _SHORTEST or not _FORM.fullmatch(value):
        raise TauError(f"The file {shown} holds no token", _ANOTHER)
    return value


def _make(path: Path) -> None:
    """Make a token, whole and at once; one that another process has made meanwhile stays."""
    temporary = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            os.fchmod(descriptor, 0o600)
            file.write(f"{secrets.token_urlsafe(32)}\n")
            file.flush()
            os.fsync(descriptor)
        with suppress(FileExistsError):
            os.link(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
