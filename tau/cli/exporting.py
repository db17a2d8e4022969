"""Writes an exported session to stdout or a file; a file appears whole and checked, or not at all."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Callable
from pathlib import Path

from tau.display import visible
from tau.errors import TauError, UsageError
from tau.sessions.export import ExportReport, TextOut, export_json, export_markdown
from tau.sessions.store import SessionReader

FORMS: dict[str, Callable[[SessionReader, TextOut], ExportReport]] = {
    "markdown": export_markdown,
    "json": export_json,
}


class _Stdout:
    """Writes UTF-8 whatever the locale says; a terminal gets it filtered."""

    def write(self, text: str, /) -> int:
        if sys.stdout.isatty():
            sys.stdout.write(visible(text))
        else:
            sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
        return len(text)


def write_stdout(reader: SessionReader, form: str) -> ExportReport:
    """Export to stdout.

    Args:
        reader: The session.
        form: A key of `FORMS`.

    Raises:
        SessionUnusable: The text is not whole.
        OSError: stdout refused.
    """
    report = FORMS[form](reader, _Stdout())
    sys.stdout.flush()
    return report


def write_file(reader: SessionReader, form: str, path: Path, *, force: bool) -> ExportReport:
    """Export to a file that only its owner may read.

    Args:
        reader: The session.
        form: A key of `FORMS`.
        path: The file. Its folder must exist.
        force: Replace a file that exists.

    Raises:
        UsageError: The file exists and may not be replaced, or is no plain file.
        SessionUnusable: The text is not whole.
        TauError: The file cannot be written, or is not on the disk as it was written.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise UsageError(f"{path} is not a file", "name a file that tau may write")
    if target.exists() and not force:
        raise UsageError(f"{path} exists; nothing was written", "--force replaces it")
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        report = _write_draft(reader, form, draft)
        if force:
            draft.replace(target)
        else:
            os.link(draft, target)
    except FileExistsError as error:
        raise UsageError(f"{path} exists; nothing was written", "--force replaces it") from error
    except OSError as error:
        raise TauError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        draft.unlink(missing_ok=True)
    return report


def _write_draft(reader: SessionReader, form: str, draft: Path) -> ExportReport:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(
        os.open(draft, flags, 0o600), "w", encoding="utf-8", errors="backslashreplace", newline=""
    ) as out:
        report = FORMS[form](reader, out)
        out.flush()
        os.fsync(out.fileno())
    with draft.open(encoding="utf-8", newline="") as written:
        found = sum(len(part) for part in iter(lambda: written.read(1 << 20), ""))
    if found < report.characters:
        raise TauError(f"The export was cut short: {found} of {report.characters} characters are on the disk")
    return report
