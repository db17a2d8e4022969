"""Writes an exported session to stdout."""

from __future__ import annotations

import sys
from collections.abc import Callable

from tau.display import visible
from tau.sessions.export import ExportReport
from tau.sessions.export_parts import TextOut


class _Stdout:
    """Writes UTF-8 whatever the locale says; a terminal gets it filtered."""

    def write(self, text: str, /) -> int:
        if sys.stdout.isatty():
            sys.stdout.write(visible(text))
        else:
            sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
        return len(text)


def write_stdout(export: Callable[[TextOut], ExportReport]) -> ExportReport:
    """Export to stdout.

    Raises:
        SessionUnusable: The text is not whole.
        OSError: stdout refused.
    """
    report = export(_Stdout())
    sys.stdout.flush()
    return report
