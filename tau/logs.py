"""The log file that every channel writes, and what a terminal shows of it; secrets are masked in both.

``<data>/logs/tau.log`` takes INFO and up, with tracebacks; what libraries log goes there alone. Several
processes may write it at once: a record is one appended write, and a process that finds the file rotated away
opens the new one. What people and models say is never logged.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
import time
from pathlib import Path

from tau.config.places import OVERRIDE, make_private
from tau.config.settings import Settings
from tau.display import one_line, visible
from tau.masking import mask, remember_environment

FILE_NAME = "tau.log"
MAX_BYTES = 2_000_000
"""A larger file is rotated to ``tau.log.1`` before the next record."""

KEPT = 3
"""How many rotated files are kept."""


class _FileFormatter(logging.Formatter):
    """A record with its traceback, masked and safe to read in a terminal; further lines are indented."""

    converter = staticmethod(time.gmtime)
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def __init__(self, channel: str) -> None:
        super().__init__(f"%(asctime)s %(levelname)s {channel}[%(process)d] %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        return visible(mask(super().format(record))).replace("\n", "\n  ")


class _TerminalFormatter(logging.Formatter):
    """What happened, on one line, as tau speaks; the traceback is in the file."""

    def format(self, record: logging.LogRecord) -> str:
        return one_line(f"tau: {mask(record.getMessage())}")


class LogFile(logging.Handler):
    """Appends records to a file of mode 0600, and rotates it when it has grown.

    The file is opened, and its folder created with mode 0700, with the first record or by `open`.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(logging.INFO)
        self.path = path
        self._descriptor = -1
        self._failed = False

    def open(self) -> None:
        """Open the file, or the one that has its name by now.

        Raises:
            OSError: It cannot be written.
        """
        for folder in (self.path.parent.parent, self.path.parent):
            make_private(folder)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(self.path, flags, 0o600)
        os.fchmod(descriptor, 0o600)
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = descriptor

    def emit(self, record: logging.LogRecord) -> None:
        """Append one record."""
        try:
            data = (self.format(record) + "\n").encode("utf-8", "backslashreplace")
            self._follow(len(data))
            os.write(self._descriptor, data)
        except Exception:  # noqa: BLE001  # logging must never fail the work it reports on
            self.handleError(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  # the name is logging's
        """Say once, where the channel shows warnings, that records are being lost."""
        if not self._failed:
            self._failed = True
            logging.getLogger(__name__).warning("the log %s cannot be written any more", self.path)

    def close(self) -> None:
        """Close the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        super().close()

    def _follow(self, size: int) -> None:
        """Be at the file that has the name now, with room for `size` bytes."""
        if not self._is_current():
            self.open()
        if os.fstat(self._descriptor).st_size + size > MAX_BYTES:
            self._rotate()

    def _is_current(self) -> bool:
        if self._descriptor < 0:
            return False
        try:
            named = self.path.stat(follow_symlinks=False)
        except FileNotFoundError:
            return False
        mine = os.fstat(self._descriptor)
        return (named.st_dev, named.st_ino) == (mine.st_dev, mine.st_ino)

    def _rotate(self) -> None:
        """Move the files up by one, unless another process is doing so or has done it."""
        from filelock import FileLock, Timeout

        lock = FileLock(self.path.with_name(f".{FILE_NAME}.lock"), mode=0o600)
        with contextlib.suppress(Timeout), lock.acquire(timeout=0):
            if self._is_current():
                for number in range(KEPT, 0, -1):
                    older = self.path.with_name(f"{FILE_NAME}.{number - 1}") if number > 1 else self.path
                    with contextlib.suppress(FileNotFoundError):
                        older.replace(self.path.with_name(f"{FILE_NAME}.{number}"))
            self.open()


def keep_off_terminal() -> None:
    """Let nothing that libraries log or warn of reach stderr by itself, also where there is no log."""
    if not _installed:
        _installed.append(logging.NullHandler())
        logging.getLogger().addHandler(_installed[0])
    logging.captureWarnings(capture=True)


def setup_logging(settings: Settings, *, channel: str, verbose: bool = False) -> list[str]:
    """Send what is logged in this process to the log file and, except from the TUI, to stderr.

    The terminal gets tau's own WARNING and up, with `verbose` INFO, one line each. Without a channel the file
    is opened when there is something to log. May be called again; the last call counts.

    Args:
        settings: Where the log is, and which variables hold keys.
        channel: ``tui`` keeps stderr silent; any other writes to it. Empty for a command that is no channel.
        verbose: Whether ``-v`` was given.

    Returns:
        One line when there is no log file because its folder cannot be written; else nothing.
    """
    keys = [model.api_key_env for model in settings.models.values() if model.api_key_env]
    remember_environment(os.environ, keys)
    handlers: list[logging.Handler] = []
    warnings: list[str] = []
    file = LogFile(settings.places.logs / FILE_NAME)
    file.setFormatter(_FileFormatter(channel or "command"))
    try:
        if channel:
            file.open()
        handlers.append(file)
    except OSError as error:
        warnings.append(f"No log is kept: {one_line(str(file.path))}: {error.strerror or error} ({OVERRIDE})")
    if channel == "tui":
        handlers.append(logging.NullHandler())
    else:
        terminal = logging.StreamHandler(sys.stderr)
        terminal.setLevel(logging.INFO if verbose else logging.WARNING)
        terminal.setFormatter(_TerminalFormatter())
        terminal.addFilter(logging.Filter("tau"))
        handlers.append(terminal)
    _replace_handlers(handlers)
    return warnings


_installed: list[logging.Handler] = []


def _replace_handlers(handlers: list[logging.Handler]) -> None:
    root = logging.getLogger()
    for handler in _installed:
        root.removeHandler(handler)
        handler.close()
    _installed[:] = handlers
    for handler in handlers:
        root.addHandler(handler)
    root.setLevel(logging.INFO)
    logging.captureWarnings(capture=True)
    logging.raiseExceptions = False
    threading.excepthook = _log_thread_failure


def _log_thread_failure(failure: threading.ExceptHookArgs) -> None:
    """A defect in a thread of its own goes to the log, not over what is on the screen."""
    if failure.exc_value is not None and not isinstance(failure.exc_value, SystemExit):
        name = failure.thread.name if failure.thread is not None else "a thread"
        logging.getLogger(__name__).error("%s ended unexpectedly", name, exc_info=failure.exc_value)
