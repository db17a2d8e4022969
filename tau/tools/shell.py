"""The tool `shell`: runs a command and shows what it writes while it runs."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from strands import ToolContext as Call
from strands.types.tools import AgentTool

from tau.tools.command import MOST_OUTPUT, Command, Ending
from tau.tools.context import ToolContext
from tau.tools.names import shown
from tau.tools.process_tree import Process
from tau.tools.refusals import Cancelled, Refused
from tau.tools.subject import Subject
from tau.tools.tool_kit import declare

SECONDS = 120
MOST_SECONDS = 3_600
_MOST_NAMES = 5

DESCRIPTION = (
    "Run a command with {shell} in the working directory. The result is what it writes, stdout and stderr "
    "together, then a line such as [exit 0, 1.2 s]. Each call is a new shell: cd and exports do not last, so "
    "join what belongs together with &&. It has no terminal and an empty stdin. It is stopped after timeout "
    "seconds: give more to what takes long. End with & what should go on running, such as a server, and send "
    "its output to a file. To look at files, use read_file, list_files, find_files and search_files instead."
)
ARGUMENTS: dict[str, Any] = {
    "command": {"type": "string", "description": "The command, as one would type it."},
    "timeout": {
        "type": "number",
        "description": f"Seconds it may take, {MOST_SECONDS:,} at most; {SECONDS} unless given.",
        "default": SECONDS,
    },
}


def tools(context: ToolContext) -> Sequence[AgentTool]:
    """The factory behind the entry point."""
    program = shell_program(context.directory)

    async def shell(
        command: str, tool_context: Call, timeout: float | None = None
    ) -> AsyncIterator[str | dict[str, Any]]:
        check(command, timeout)
        if tool_context.cancel_signal.is_set():
            raise Cancelled
        # What comes from the command's thread: output, then its ending or what went wrong.
        came: asyncio.Queue[str | Ending | BaseException] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def hand_over(item: str | Ending | BaseException) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended; nobody waits any more
                loop.call_soon_threadsafe(came.put_nowait, item)

        run = Command(
            [program, "-c", command],
            context=context,
            tool="shell",
            timeout=SECONDS if timeout is None else timeout,
            cancelled=tool_context.cancel_signal,
            show=hand_over,
            ended=hand_over,
        )
        run.start()
        try:
            while isinstance(item := await came.get(), str):
                yield item
        finally:
            run.abandon()
        if isinstance(item, BaseException):
            raise item
        status = "success" if item.why == "exit" else "error"
        yield {"status": status, "content": [{"text": result(item)}]}

    return [
        declare(
            shell,
            name="shell",
            tier=2,
            description=DESCRIPTION.format(shell=Path(program).name),
            arguments=ARGUMENTS,
            subject=Subject("command", "command"),
        )
    ]


def shell_program(directory: Path) -> str:
    """The installed bash, else the system's sh. One that lies in the working directory is not run."""
    found = shutil.which("bash")
    if not found or not Path(found).is_absolute():
        return "/bin/sh"
    inside = directory in Path(os.path.realpath(found)).parents or directory in Path(found).parents
    return "/bin/sh" if inside else found


def check(command: str, timeout: float | None) -> None:
    """Refuse what no shell can run, and a time that is none.

    Raises:
        Refused: The command or the timeout cannot be used.
    """
    if not command.strip():
        raise Refused("The command is empty")
    if "\0" in command:
        raise Refused("The command has a NUL character, which no command can have")
    try:
        os.fsencode(command)
    except UnicodeEncodeError:
        raise Refused("The command has half a surrogate pair, which no command can have") from None
    if timeout is not None and not 0 < timeout <= MOST_SECONDS:
        raise Refused(f"The timeout must be more than 0 and at most {MOST_SECONDS:,} seconds")


def result(ending: Ending) -> str:
    """What the model gets: the output, what still runs, and in the last line how the command ended."""
    output = ending.output.rstrip("\n")
    lines = [output if output.strip() else "(no output)"]
    if ending.remaining:
        lines.append(_remaining(ending))
    lines.append(f"[{_how(ending)}]")
    return "\n".join(lines)


def _how(ending: Ending) -> str:
    seconds = f"{ending.seconds:.1f} s"
    match ending.why:
        case "timeout":
            return f"timed out after {seconds}: the command and all it started were stopped"
        case "cancelled":
            return f"The call was interrupted after {seconds}; it was stopped and may have had effects."
        case "output":
            return f"stopped after {MOST_OUTPUT >> 20} MiB of output, {seconds}"
        case "exit":
            if ending.code is None:
                return f"ended with an unknown exit code, {seconds}"
            if ending.code < 0:
                return f"killed by {_signal(-ending.code)}, {seconds}"
            return f"exit {ending.code}, {seconds}"


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _remaining(ending: Ending) -> str:
    count = len(ending.remaining)
    some = "1 process" if count == 1 else f"{count} processes"
    names = ", ".join(map(_named, ending.remaining[:_MOST_NAMES])) + ", …" * (count > _MOST_NAMES)
    if ending.why != "exit":
        return f"[{some} could not be stopped: {names}]"
    return (
        f"[{some} still running in the background: {names}. Stopped at the latest when this conversation"
        " is closed; what is written from now on is not kept, unless it goes to a file.]"
    )


def _named(process: Process) -> str:
    return f"{shown(process.name)[:40]} ({process.pid})"
