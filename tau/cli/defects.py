"""A defect, that is an exception nobody foresaw: its traceback goes to the log, one line to the person."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from tau.config.places import resolve_places
from tau.config.settings import Settings
from tau.display import one_line
from tau.errors import TauError
from tau.logs import LogFile, setup_logging


def report(error: BaseException) -> str:
    """Log a defect and return the line that tells of it."""
    what = one_line(f"{type(error).__name__}: {error}", 200)
    file = _log_file()
    if file is None:
        return f"Something in tau broke: {what}"
    record = logging.LogRecord(
        "tau",
        logging.ERROR,
        __file__,
        0,
        "a defect ended this command",
        (),
        (type(error), error, error.__traceback__),
    )
    file.handle(record)
    return f"Something in tau broke: {what} (the log says where: {one_line(str(file.path))})"


def _log_file() -> LogFile | None:
    """The log of this run; set up now when the defect came before."""
    found = _handler()
    if found is None:
        try:
            setup_logging(Settings(places=resolve_places(os.environ), directory=Path()), channel="")
        except TauError:
            return None
        found = _handler()
    return found


def _handler() -> LogFile | None:
    return next((handler for handler in logging.getLogger().handlers if isinstance(handler, LogFile)), None)
