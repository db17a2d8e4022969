"""Runs the person's own commands: ``!COMMAND``, whose output the model is told of, and ``!!COMMAND``."""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tau.agent import notices
from tau.errors import StoreError, TauError, UsageError
from tau.events import (
    AgentEvent,
    CommandEnded,
    CommandEvent,
    CommandOutput,
    CommandStarted,
    SharedCommandRecord,
    ToolStatus,
    to_line,
)
from tau.masking import mask_all, mask_content
from tau.sessions.attached import Attached, attached
from tau.sessions.store import SessionReader

if TYPE_CHECKING:
    from tau.conversation.in_hand import InHand
    from tau.tools.command import Ending
    from tau.tools.context import ToolContext

log = logging.getLogger(__name__)

Emit = Callable[[CommandEvent], None]

MOST_SECONDS = 3_600
"""After so many seconds a command is stopped, if the person has not stopped it before."""

MOST_WAITING = 20
"""Outputs that wait for the person's next message at most."""

_NEXT_MESSAGES = 8
"""The person's next message is among so many: those before it mend a turn that was cut off."""

RUNS = "A command is running."


@dataclass(frozen=True, slots=True)
class OwnCommand:
    """A command that a person typed; `shared` says whether the model is told of its output."""

    command: str
    shared: bool


def own_command(text: str) -> OwnCommand | None:
    """The command that a text is: one that begins with ``!``, or ``!!`` for one that is not shared.

    None for a message: a text that begins with anything else, be it a space. With nothing behind that the
    command is empty, which is refused when it is to run.
    """
    if not text.startswith("!"):
        return None
    shared = not text.startswith("!!")
    return OwnCommand(text[1 if shared else 2 :].strip(), shared)


def waiting(reader: SessionReader, events: Iterable[AgentEvent | None]) -> tuple[SharedCommandRecord, ...]:
    """The commands whose output is in no message yet, in order; blocks on the disk if there are any.

    Args:
        reader: The session.
        events: Its newest events.

    Raises:
        StoreError: The messages cannot be read.
    """
    records = [event for event in events if isinstance(event, SharedCommandRecord)]
    told: set[str] = set()
    for first in {record.messages for record in records}:
        for stored in reader.messages(offset=first, limit=_NEXT_MESSAGES):
            told.update(item.attached_id for item in attached(stored.message))
    return tuple(record for record in records if record.shared_id not in told)


def carried(records: Iterable[SharedCommandRecord]) -> list[Attached]:
    """Commands as they go along with a message."""
    return [
        Attached("command", each.output, each.command, each.shared_id, each.status, each.duration)
        for each in records
    ]


class OwnCommands:
    """Runs the person's commands in the session in hand, one at a time. Lives on the engine's loop.

    Args:
        hand: The session in hand.
    """

    def __init__(self, hand: InHand) -> None:
        self._hand = hand
        self._stop = threading.Event()
        self._over = asyncio.Event()
        self._running = False

    @property
    def running(self) -> bool:
        """Whether a command runs."""
        return self._running

    async def run(self, typed: OwnCommand, emit: Emit) -> None:
        """Run a command; `emit` gets its events, the `CommandEnded` last, whatever happens.

        Whoever calls this sees to it that no turn runs, and that none begins before it is over.
        """
        self._running = True
        self._stop.clear()
        self._over.clear()
        try:
            end = await self._run(typed, emit)
        except TauError as error:
            end = CommandEnded(status="error", notice=error.line(), ran=False)
        except Exception as error:
            refusal = _refusal(error)
            if not refusal:
                log.exception("A command of the person's failed in session %s", self._hand.state.session_id)
                refusal = f"The command failed inside tau; see {self._hand.settings.places.logs / 'tau.log'}"
            end = CommandEnded(status="error", notice=refusal, ran=False)
        finally:
            self._running = False
            self._hand.show(command="")
            self._over.set()
        emit(end)

    async def stop(self) -> None:
        """Stop the command that runs, and all it started; returns when it is over."""
        if self._running:
            self._stop.set()
            await self._over.wait()

    async def _run(self, typed: OwnCommand, emit: Emit) -> CommandEnded:
        hand = self._hand
        if not typed.command:
            raise UsageError(
                "There is no command behind the !", "!ls runs one; a space before the ! makes it a message"
            )
        if typed.shared and hand.state.held is not None:
            raise hand.state.held
        if typed.shared and len(hand.state.shared) >= MOST_WAITING:
            raise UsageError(
                f"The output of {MOST_WAITING} commands waits for your next message already",
                "send one, or run the command with !!, which shares nothing",
            )
        masked = mask_content(typed.command)
        hand.show(command=masked)
        # Whoever is first pays for the SDK, which a tool is declared with; the loop stays free meanwhile.
        await asyncio.to_thread(_import_tools)
        ending = await self._follow(typed, masked, hand.answerer.context(hand.state.session_id), emit)

        from tau.tools.shell import result

        output = result(ending)
        status: ToolStatus = "cancelled" if ending.why == "cancelled" else "error"
        if ending.why == "exit" and ending.code == 0:
            status = "success"
        duration = round(ending.seconds, 4)
        notice = self._keep(masked, output, status, duration) if typed.shared else ""
        return CommandEnded(output, status, duration, notice)

    async def _follow(self, typed: OwnCommand, masked: str, context: ToolContext, emit: Emit) -> Ending:
        """Run a command to its end, however it comes to that.

        Raises:
            Refused: It cannot be started.
        """
        from tau.tools.command import Command
        from tau.tools.shell import check, shell_program

        check(typed.command, None)
        # What comes from the command's thread: output, then its ending or what went wrong.
        came: asyncio.Queue[str | Ending | BaseException] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def hand_over(item: str | Ending | BaseException) -> None:
            with suppress(RuntimeError):  # the loop has ended; nobody waits any more
                loop.call_soon_threadsafe(came.put_nowait, item)

        run = Command(
            [shell_program(context.directory), "-c", typed.command],
            context=context,
            tool="command",
            timeout=MOST_SECONDS,
            cancelled=self._stop,
            show=hand_over,
            ended=hand_over,
        )
        emit(CommandStarted(masked, typed.shared))
        run.start()
        try:
            while isinstance(item := await came.get(), str):
                emit(CommandOutput(item))
        finally:
            run.abandon()
        if isinstance(item, BaseException):
            raise item
        return item

    def _keep(self, command: str, output: str, status: ToolStatus, duration: float) -> str:
        """Put a command on record before anything else happens. Returns what of that failed, or empty."""
        writer = self._hand.writer
        assert writer is not None
        record = SharedCommandRecord(command, output, status, duration, writer.count(), secrets.token_hex(8))
        self._hand.show(shared=(*self._hand.state.shared, record))
        try:
            writer.append_event(mask_all(to_line(record)))
            writer.flush()
        except StoreError as error:
            return notices.not_saved(error.line())
        return ""

    def told(self, *, accepted: bool) -> None:
        """A turn is over: what is in a message now waits no more.

        Args:
            accepted: Whether the turn had the person's message, which may not be on record.
        """
        shared = self._hand.state.shared
        if not shared:
            return
        runner = self._hand.answerer.runner
        if accepted and runner is not None and runner.unsaved:
            self._hand.show(shared=())  # the agent has it, and it is written before anything else is
            return
        try:
            self._hand.show(shared=waiting(self._hand.reader, shared))
        except StoreError as error:
            log.warning("Whether commands are still to be shared is not known: %s", error.line())


def copied(records: Sequence[SharedCommandRecord], messages: int) -> list[dict[str, object]]:
    """The events of commands that wait, for a copy of their session that has so many messages."""
    return [{**to_line(record), "messages": messages} for record in records]


def _import_tools() -> None:
    import tau.tools.shell  # noqa: F401  # imported for its weight, off the engine's loop


def _refusal(error: Exception) -> str:
    """Why a command cannot be started, where that is known; else empty."""
    from tau.tools.refusals import Refused

    return str(error) if isinstance(error, Refused) else ""
