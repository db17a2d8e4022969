"""Which paths a tool may read or write, and opening them so that no link leads elsewhere in between."""

from __future__ import annotations

import contextlib
import difflib
import errno
import os
import stat
from pathlib import Path

from tau.config import places
from tau.tools.context import ToolContext
from tau.tools.names import named, shown, unescaped
from tau.tools.refusals import Refused, os_reason

_STEP = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""For the directories on the way; ``O_PATH``, where there is one, needs no right to list them."""

_LEAF = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MOST_NAMES = 5_000


def readable(context: ToolContext, given: str) -> Path:
    """The real path that a model means, if it may be read. The one place where that is decided.

    Links are resolved first, then the result must be the working directory, lie in it, or be granted. It
    need not exist. A text that names nothing is tried again with the escapes of `tau.tools.names` read.

    Args:
        context: The directory and the grants.
        given: Absolute, relative to the directory, or beginning with ``~/``.

    Raises:
        Refused: It may not be read, or can be no path. Says nothing of what is outside.
    """
    real = resolved(context, given)
    if not may_read(context, real):
        raise Refused(
            f"{brief(given)} is outside the working directory {shown(str(context.directory))}"
            " and not granted; request_file_grant asks the person to open it"
        )
    return real


def writable(context: ToolContext, given: str) -> Path:
    """The real path that a model means, if a file may be put there. The one place where that is decided.

    It must be readable, and may not be in a ``.git`` or among tau's own files. Neither it nor its directory
    need exist.

    Args:
        context: The directory, the grants, and what tau keeps.
        given: Absolute, relative to the directory, or beginning with ``~/``.

    Raises:
        Refused: It may not be written, or can be no file's path.
    """
    if given.endswith("/"):
        raise Refused(f"{brief(given)} ends with /, so it names a directory; give the path of a file")
    real = readable(context, given)
    name = brief(display(context, real))
    if any(part.casefold() == ".git" for part in real.parts):
        raise Refused(
            f"{name} is in a .git directory, where a wrong byte loses history and a hook runs commands;"
            " use git itself through shell"
        )
    if own := context.own_place(real):
        raise Refused(f"{name} is in {shown(str(own))}, where tau keeps its own files; they are not changed")
    return real


def resolved(context: ToolContext, given: str) -> Path:
    """The real path that a model means, wherever it is: what tools act on and the gate judges.

    Raises:
        Refused: It can be no path.
    """
    real = _real(context, given)
    if "\\" in given and not os.path.lexists(real):
        try:
            plain = unescaped(given)
        except UnicodeEncodeError:
            return real
        if "\0" not in plain:
            escaped = _real(context, plain)
            # What is outside counts whether it exists or not, so that no answer tells which.
            if os.path.lexists(escaped) or not may_read(context, escaped):
                return escaped
    return real


def held(context: ToolContext, use_id: str, real: Path) -> Path:
    """A path that a call resolved to, if it is the one that the call was judged by.

    Between the two a link may have been put on the way. A tool checks this before it looks at what is there,
    and then goes by this path alone.

    Args:
        context: What calls are held to.
        use_id: Of the call; one that was not judged by a path is not held to any.
        real: The path as it was resolved now.

    Raises:
        Refused: It is another one.
    """
    judged, _ = context.calls.held(use_id)
    if judged is not None and judged != real:
        raise Refused(
            "The path leads elsewhere than when this call was judged, so it was not carried out; call again"
        )
    return real


def _real(context: ToolContext, name: str) -> Path:
    if not name.strip():
        raise Refused("The path is empty; give one relative to the working directory, or . for the directory")
    if "\0" in name:
        raise Refused("The path has a NUL character, which no path can have")
    try:
        name = named(name)
    except UnicodeEncodeError:
        raise Refused("The path has half a surrogate pair, which no path can have") from None
    path = Path(name)
    if path.parts[:1] == ("~",):
        with contextlib.suppress(RuntimeError):  # nobody knows where the home is
            path = path.expanduser()
    return Path(os.path.realpath(context.directory / path))


def may_read(context: ToolContext, real: Path) -> bool:
    """Whether a path that is resolved already is in the directory or granted."""
    return real == context.directory or context.directory in real.parents or context.grants.covers(real)


def display(context: ToolContext, real: Path) -> str:
    """A real path as results name it: relative to the directory, or absolute where it is outside."""
    if real == context.directory:
        return "."
    if context.directory in real.parents:
        return shown(str(real.relative_to(context.directory)))
    return shown(str(real))


def open_file(context: ToolContext, real: Path) -> int:
    """Open a regular file for reading; the caller closes the descriptor.

    Raises:
        Refused: It is missing (the nearest name is suggested), no regular file, or may not be opened.
    """
    name = display(context, real)
    try:
        descriptor = _open_real(real)
    except OSError as error:
        raise _cannot_open(context, real, error) from error
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise Refused(f"{name} is a directory; list_files shows what is in it")
    raise Refused(f"{name} is no regular file (a pipe, socket or device) and cannot be read")


def open_directory(context: ToolContext, real: Path) -> int:
    """Open a directory for listing; the caller closes the descriptor.

    Raises:
        Refused: It is missing (the nearest name is suggested), no directory, or may not be opened.
    """
    try:
        descriptor = _open_real(real)
    except OSError as error:
        raise _cannot_open(context, real, error) from error
    if stat.S_ISDIR(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise Refused(f"{display(context, real)} is a file, not a directory; read_file shows it")


def is_directory(context: ToolContext, real: Path) -> bool:
    """Whether an existing path is a directory.

    Raises:
        Refused: There is nothing there; the nearest name is suggested.
    """
    try:
        return stat.S_ISDIR(real.lstat().st_mode)
    except OSError as error:
        raise _cannot_open(context, real, error) from error


def missing(context: ToolContext, real: Path) -> Refused:
    """Says that there is nothing there; the nearest name is suggested."""
    return _cannot_open(context, real, FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)))


def _open_real(real: Path) -> int:
    """Open step by step without following links: a resolved path has none, unless one was put there since."""
    *steps, leaf = real.parts[1:] or ["."]
    directory = open_step(real.anchor)
    try:
        for step in steps:
            inner = open_step(step, directory)
            os.close(directory)
            directory = inner
        return open_leaf(leaf, directory)
    finally:
        os.close(directory)


def open_step(name: str, directory: int | None = None) -> int:
    """Open a directory to go on from, inside an open one or from the root.

    Raises:
        OSError: It is missing, a link, no directory, or may not be entered.
    """
    return os.open(name, _STEP, dir_fd=directory)


def open_leaf(name: str, directory: int) -> int:
    """Open anything but a link inside an open directory for reading; does not wait, whatever it is.

    Raises:
        OSError: It is missing, a link, or may not be read.
    """
    return os.open(name, _LEAF, dir_fd=directory)


def _cannot_open(context: ToolContext, real: Path, error: OSError) -> Refused:
    name = display(context, real)
    if error.errno not in (errno.ENOENT, errno.ENOTDIR):
        return Refused(f"{brief(name)} cannot be opened: {os_reason(error)}")
    parent = real.parent
    while not places.is_directory(parent) and parent != parent.parent:
        parent = parent.parent
    missing = real.parts[len(parent.parts)]
    if not may_read(context, parent):
        return Refused(f"{brief(name)} does not exist")
    near = _nearest(parent, missing)
    if near:
        return Refused(f"{brief(name)} does not exist; did you mean {display(context, parent / near)}?")
    return Refused(
        f"{brief(name)} does not exist; find_files looks for a name in all directories,"
        f" list_files shows what is in {display(context, parent)}"
    )


def _nearest(parent: Path, missing: str) -> str:
    try:
        with os.scandir(parent) as entries:
            names = [entry.name for entry, _ in zip(entries, range(_MOST_NAMES), strict=False)]
    except OSError:
        return ""
    folded = {name.casefold(): name for name in names}
    near = difflib.get_close_matches(missing.casefold(), folded, n=1, cutoff=0.7)
    return folded[near[0]] if near else ""


def brief(name: str) -> str:
    """A path as it was given, on one line, and not longer than a line."""
    text = shown(name) if name.isprintable() else repr(name)[1:-1]
    return text if len(text) <= 300 else text[:299] + "…"
