"""The full-screen app: renders a conversation's events, decides nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

    from textual.driver import Driver

    from tau.config.settings import Settings
    from tau.conversation.state import OpenRequest
    from tau.tui.app import TauApp

CLOSE_SECONDS = 20.0
NOT_CLOSED = "tau: the session did not close in time; the end of it may not be saved"


def run(
    settings: Settings,
    request: OpenRequest,
    *,
    warnings: Sequence[str] = (),
    driver: type[Driver] | None = None,
) -> int:
    """Run the app in this terminal until the person leaves; the caller has checked that it is one.

    The terminal is restored on every way out, then the command that resumes the session is printed.

    Args:
        settings: The settings of this run.
        request: What to open.
        warnings: Sentences to show once, from reading the configuration.
        driver: What stands for the terminal where there is none; None draws on this process's.

    Raises:
        UsageError: Stderr, on which the app is drawn, is no terminal.

    Returns:
        The exit code: 0; 1 for a failure, which was said in a line; 2 for usage; 128 + N after signal N.
    """
    from tau.ending import EndsAtOnce

    with EndsAtOnce() as ending:
        import asyncio
        import gc
        import os
        import sys

        from msgspec.structs import replace

        from tau.errors import UsageError
        from tau.tui.terminal_colours import Answer, ask

        if driver is None and (sys.__stderr__ is None or not sys.__stderr__.isatty()):
            raise UsageError("tau tui draws on stderr, which is no terminal", "leave stderr where it is")
        gc.disable()  # until everything is imported: see tau.tui.memory
        asked = ask(os.environ, ending) if settings.tui.theme in ("auto", "ansi") else None
        try:
            from tau.tui.app import TauApp
            from tau.tui.driver import TerminalDriver
        finally:
            answer = asked.listen() if asked is not None else Answer(None, "")
        request = replace(request, can_ask=True)
        app = TauApp(settings, request, warnings, light=answer.light, typed=answer.typed)
        app.driver_class = driver or TerminalDriver
        asyncio.run(_run(app, mouse=settings.tui.mouse))
    return app.exit_code


async def _run(app: TauApp, *, mouse: bool) -> None:
    import asyncio
    import logging
    import os

    from tau.ending import SIGNALS

    loop = asyncio.get_running_loop()
    hurried: asyncio.Future[int] = loop.create_future()

    def signalled(number: int) -> None:
        if not app.end_by(number) and not hurried.done():
            hurried.set_result(number)

    def watch() -> None:
        for number in SIGNALS:
            loop.add_signal_handler(number, signalled, number)

    watch()
    app.when_mounted = watch  # the driver of a browser's screen takes signals for itself when it starts
    await app.run_async(mouse=mouse)
    closed = await _close(app, hurried)
    for number in SIGNALS:
        loop.remove_signal_handler(number)
    app.stop_download()
    app.remembered.close()
    _say_goodbye(app, kept=app.close_kept())
    if not closed:
        # What the conversation waits for may never come, and the end of the loop would wait for it, too.
        from tau.tools.background import stop_background

        stop_background()
        logging.shutdown()
        os._exit(app.exit_code)


async def _close(app: TauApp, hurried: asyncio.Future[int]) -> bool:
    """Close the conversation and note what went wrong; False when it would not close.

    Args:
        app: It has ended.
        hurried: Has the number of a signal when one came since: it means not to wait.
    """
    import asyncio
    import logging

    from tau.errors import TauError

    if app.conversation is None:
        return True
    closing = asyncio.ensure_future(app.conversation.close())
    either: set[asyncio.Future[Any]] = {closing, hurried}
    await asyncio.wait(either, timeout=CLOSE_SECONDS, return_when=asyncio.FIRST_COMPLETED)
    if not closing.done():
        logging.getLogger(__name__).error("The conversation did not close")
        _add_failure(app, NOT_CLOSED, 128 + hurried.result() if hurried.done() else 1)
        return False
    try:
        closing.result()
    except TauError as error:
        _add_failure(app, error.line(), error.exit_code)
    return True


def _add_failure(app: TauApp, line: str, exit_code: int) -> None:
    app.last_line = f"{app.last_line}\n{line}" if app.last_line else line
    app.exit_code = app.exit_code or exit_code


def _say_goodbye(app: TauApp, *, kept: bool) -> None:
    import contextlib
    import sys

    from tau.display import visible

    lines = [app.last_line] if app.last_line else []
    lines += [f"Not sent: {visible(text)}" for text in app.unsent]
    if (conversation := app.conversation) is not None:
        lines += [visible(line) for told in conversation.told_at_closing() for line in told.splitlines()]
        lines += conversation.lost()
        state = conversation.state
        if state.session_id and state.message_count and state.persistent:
            lines.append(f"Resume this session with: tau tui {conversation.way_back()}")
    if kept:
        lines.append("What was not sent is kept; tau tui brings it back.")
    with contextlib.suppress(OSError):  # the terminal may be gone: that is what SIGHUP says
        sys.stderr.write(app.attention.leave)
        sys.stderr.flush()
        for line in lines:
            print(line, file=sys.stderr if app.last_line else sys.stdout)
        sys.stdout.flush()
