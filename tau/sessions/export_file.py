"""Writes an export to a file, which appears whole and checked, readable by its owner alone, or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tau.errors import TauError, UsageError
from tau.sessions.export import ExportReport
from tau.sessions.export_parts import TextOut

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_DRAFT = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write_export(
    path: Path, export: Callable[[TextOut], ExportReport], *, force: bool = False, hint: str = ""
) -> ExportReport:
    """Write a file that was not there before; no link is followed at its place.

    Args:
        path: The file. Its directory must exist.
        export: Writes the text.
        force: Replace a plain file that exists.
        hint: What to do where a file exists.

    Raises:
        UsageError: The file exists and may not be replaced, is no plain file, or has no directory.
        TauError: The text is not whole, or the file cannot be written. Nothing is left behind.
    """
    if not path.name or path.name == "..":
        raise UsageError(f"{path} names no file")
    try:
        os.fsencode(path)
    except UnicodeEncodeError as error:
        raise UsageError(f"{path} cannot be the name of a file") from error
    if "\0" in str(path):
        raise UsageError(f"{path} cannot be the name of a file")
    try:
        folder = os.open(path.parent, _FOLDER)
    except FileNotFoundError as error:
        raise UsageError(f"There is no directory {path.parent}", "make it, or name another place") from error
    except OSError as error:
        raise UsageError(f"{path.parent} cannot be used as a directory: {error.strerror or error}") from error
    draft = f".tau-export-{secrets.token_hex(6)}"
    try:
        _check_place(folder, path, force=force, hint=hint)
        try:
            report = _write_draft(folder, draft, export)
            if force:
                os.replace(draft, path.name, src_dir_fd=folder, dst_dir_fd=folder)
            else:
                os.link(draft, path.name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(draft, dir_fd=folder)
        os.fsync(folder)
    except FileExistsError as error:
        raise UsageError(f"{path} exists; nothing was written", hint) from error
    except OSError as error:
        raise TauError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        os.close(folder)
    return report


def _check_place(folder: int, path: Path, *, force: bool, hint: str) -> None:
    try:
        found = os.stat(path.name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return
    if stat.S_ISLNK(found.st_mode):
        raise UsageError(f"{path} is a symbolic link; nothing was written", "name a file of its own")
    if not stat.S_ISREG(found.st_mode):
        raise UsageError(f"{path} is not a file", "name a file that tau may write")
    if not force:
        raise UsageError(f"{path} exists; nothing was written", hint)


def _write_draft(folder: int, name: str, export: Callable[[TextOut], ExportReport]) -> ExportReport:
    opened = os.open(name, _DRAFT, 0o600, dir_fd=folder)
    with os.fdopen(opened, "w+", encoding="utf-8", errors="backslashreplace", newline="") as out:
        os.fchmod(opened, 0o600)
        report = export(out)
        out.flush()
        os.fsync(opened)
        out.seek(0)
        found = sum(len(part) for part in iter(lambda: out.read(1 << 20), ""))
    if found < report.characters:
        raise TauError(f"The export was cut short: {found} of {report.characters} characters are on the disk")
    return report
