"""Opens a text in the person's editor, which has the terminal; the conversation goes on behind it."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tau.display import one_line
from tau.errors import TauError

if TYPE_CHECKING:
    from tau.tui.app import TauApp
    from tau.tui.screens.chat import ChatScreen

VARIABLES = ("VISUAL", "EDITOR")
FALLBACKS = ("nano", "vi")
NO_TERMINAL = "There is no terminal here for an editor"


def editor_command(environment: Mapping[str, str]) -> list[str]:
    """The editor with its arguments.

    Raises:
        TauError: There is none.
    """
    path = environment.get("PATH")
    for name in VARIABLES:
        value = environment.get(name, "").strip()
        if not value:
            continue
        try:
            command = shlex.split(value)
        except ValueError as error:
            raise TauError(f"${name} is no command: {error}", f"it is {value!r}") from None
        if shutil.which(command[0], path=path) is None:
            raise TauError(f"The editor of ${name} is not there: {command[0]}")
        return command
    for fallback in FALLBACKS:
        if shutil.which(fallback, path=path) is not None:
            return [fallback]
    raise TauError("There is no editor", "set $VISUAL or $EDITOR")


async def edited(text: str, command: list[str], *, still: str = "the draft is as it was") -> str:
    """The text as the person leaves it in the editor.

    Args:
        text: What the editor begins with.
        command: The editor; the file is added to it.
        still: What holds when that fails.

    Raises:
        TauError: The editor failed, or left no text that can be read.
    """
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise TauError("The draft has characters that no file can hold") from None
    with tempfile.TemporaryDirectory(prefix="tau-draft-") as folder:  # 0700
        file = Path(folder, "prompt.md")
        file.touch(mode=0o600)
        file.write_bytes(data)
        await _run(command, file, still=still)
        name = Path(command[0]).name
        try:
            new = file.read_bytes().decode()
        except FileNotFoundError:
            raise TauError(f"{name} left no file; {still}") from None
        except UnicodeDecodeError:
            raise TauError(f"What {name} left is no UTF-8; {still}") from None
        except OSError as error:
            raise TauError(f"What {name} left cannot be read: {error.strerror or error}") from None
    new = new.replace("\r\n", "\n").replace("\r", "\n")
    return new if text.endswith("\n") else new.removesuffix("\n")  # editors end the last line


async def _run(command: list[str], file: Path, *, still: str) -> None:
    """Run the editor on a file until it ends.

    Raises:
        TauError: It could not be started, or failed.
    """
    name = Path(command[0]).name
    try:
        process = await asyncio.create_subprocess_exec(*command, str(file))
    except OSError as error:
        raise TauError(f"{name} cannot be started: {error.strerror or error}") from None
    try:
        code = await process.wait()
    except asyncio.CancelledError:  # tau ends
        process.terminate()
        raise
    if code:
        ended = f"ended with exit code {code}" if code > 0 else f"was ended by signal {-code}"
        raise TauError(f"{name} {ended}; {still}")


@contextmanager
def _terminal_given_away(app: TauApp) -> Iterator[None]:
    """The terminal is somebody else's for a while, as it was before the app; nothing is drawn meanwhile.

    Raises:
        TauError: There is none to give.
    """
    driver = app._driver
    if driver is None or not driver.can_suspend:
        raise TauError(NO_TERMINAL)
    app.editing = True
    app.attention.give_away()  # textual's driver takes some writes while it is suspended, then blocks
    try:
        with app.batch_update(), app.suspend():
            yield
    finally:
        app.editing = False
        app.attention.take_back()
    app.refresh(layout=True)


async def edit_draft(screen: ChatScreen) -> None:
    """Have the draft edited, with its pastes written out; where that fails it stays and a line says why."""
    app, prompt = cast("TauApp", screen.app), screen.prompt
    before = prompt.written_out()
    shown = prompt.text
    problem: TauError | None = None
    after = before
    try:
        command = editor_command(os.environ)
        with _terminal_given_away(app):
            try:
                after = await edited(before, command)
            except TauError as error:  # what is raised through textual's `suspend` keeps the app suspended
                problem = error
    except TauError as error:
        problem = error
    if problem is not None:
        screen.status.say(problem.line())
    elif after != before:
        present = prompt.written_out()
        if prompt.text != shown:  # a message came back into the prompt meanwhile
            after = f"{present.removesuffix(before)}{'' if present.endswith(before) else chr(10)}{after}"
        prompt.replace_all(after)


async def edit_file(app: TauApp, file: Path) -> None:
    """Have a file edited where it is.

    Raises:
        TauError: There is no editor or no terminal for it, or it failed; the file is as it left it.
    """
    problem: TauError | None = None
    command = editor_command(os.environ)
    with _terminal_given_away(app):
        try:
            await _run(command, file, still=f"{one_line(str(file))} is as it left it")
        except TauError as error:  # what is raised through textual's `suspend` keeps the app suspended
            problem = error
    if problem is not None:
        raise problem


async def show_in_editor(screen: ChatScreen, text: str) -> None:
    """Show a text of the conversation in the person's editor. What is changed there changes nothing."""
    app = cast("TauApp", screen.app)
    text = text.encode("utf-8", "replace").decode()
    line, after = "", text
    try:
        command = editor_command(os.environ)
        with _terminal_given_away(app):
            try:
                after = await edited(text, command, still="the conversation is as it was")
            except TauError as error:  # what is raised through textual's `suspend` keeps the app suspended
                line = error.line()
    except TauError as error:
        line = error.line()
    if after != text.replace("\r\n", "\n").replace("\r", "\n"):
        line = "What was changed in the editor was not kept; the conversation is as it was"
    if line:
        screen.status.say(line)
