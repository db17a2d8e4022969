"""The full-screen app: renders a conversation's events, decides nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tau.config.settings import Settings
    from tau.conversation.state import OpenRequest
    from tau.tui.app import TauApp

CLOSE_SECONDS = 20.0
SIGNALLED = (130, 143, 129)
"""Exit codes after SIGINT, SIGTERM and SIGHUP."""


def run(settings: Settings, request: OpenRequest, *, warnings: Sequence[str] = ()) -> int:
    """Run the app in this terminal until the person leaves; the caller has checked that it is one.

    The terminal is restored on every way out, then the command that resumes the session is printed.

    Args:
        settings: The settings of this run.
        request: What to open.
        warnings: Sentences to show once, from reading the configuration.

    Raises:
        UsageError: Stderr, on which the app is drawn, is no terminal.

    Returns:
        The exit code: 0; 1 for a failure, which was said in a line; 2 for usage; 128 + N after signal N.
    """
    import asyncio
    import gc
    import sys

    from tau.errors import UsageError

    if sys.__stderr__ is None or not sys.__stderr__.isatty():
        raise UsageError("tau tui draws on stderr, which is no terminal", "leave stderr where it is")
    gc.disable()  # until everything is imported: see settle_memory
    from tau.tui.app import TauApp

    app = TauApp(settings, request, warnings)
    asyncio.run(_run(app, mouse=settings.tui.mouse))
    _say_goodbye(app)
    return app.exit_code


async def _run(app: TauApp, *, mouse: bool) -> None:
    import asyncio
    import logging

    from tau.errors import TauError

    await app.run_async(mouse=mouse)
    if app.conversation is not None:
        try:
            await asyncio.wait_for(app.conversation.close(), CLOSE_SECONDS)
        except TimeoutError:
            logging.getLogger(__name__).error("The conversation did not close within %s s", CLOSE_SECONDS)
        except TauError as error:
            app.exit_code = app.exit_code or error.exit_code
            app.last_line = app.last_line or error.line()


def _say_goodbye(app: TauApp) -> None:
    import contextlib
    import sys

    lines = [app.last_line] if app.last_line else []
    state = app.conversation.state if app.conversation is not None else None
    if state is not None and state.session_id and state.message_count and state.persistent:
        lines.append(f"Resume this session with: tau tui --resume {state.session_id}")
    with contextlib.suppress(OSError):  # the terminal may be gone: that is what SIGHUP says
        for line in lines:
            print(line, file=sys.stderr if app.exit_code not in (0, *SIGNALLED) else sys.stdout)
        sys.stdout.flush()
