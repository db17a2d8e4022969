"""Runs the app for one tab of a browser, over the pipes of this process."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tau.config.settings import Settings
    from tau.conversation.state import OpenRequest

_COLOURS = "TEXTUAL_COLOR_SYSTEM"


def run_tab(
    settings: Settings, request: OpenRequest, size: tuple[int, int], *, warnings: Sequence[str] = ()
) -> int:
    """Run the app until the person leaves or the server ends it.

    Args:
        settings: The settings of this run.
        request: What to open.
        size: Columns and rows of the page.
        warnings: Sentences to show once.

    Returns:
        The exit code, as of `tau.tui.run`.
    """
    before = os.environ.get(_COLOURS)
    os.environ[_COLOURS] = "truecolor"  # Textual reads it when it is imported; commands are not to see it
    import textual.constants  # noqa: F401

    if before is None:
        del os.environ[_COLOURS]
    else:
        os.environ[_COLOURS] = before
    from tau.tui import run
    from tau.web.driver import TabDriver

    TabDriver.first_size = size
    return run(settings, request, warnings=warnings, driver=TabDriver)
