"""Logs what happens in a conversation in its file of `.memory/session/`, beside the loop."""

from __future__ import annotations

import asyncio
import logging
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tau.display import one_line
from tau.errors import TauError
from tau.events import (
    ApprovalAsked,
    ApprovalClosed,
    Compacted,
    MessageEnd,
    ToolUseEnded,
    ToolUseStarted,
    TurnEnd,
    TurnEvent,
    TurnStarted,
)
from tau.journal.work_desk import WorkDesk
from tau.masking import mask
from tau.sessions.records import Meta

if TYPE_CHECKING:
    from tau.conversation.in_hand import InHand
    from tau.conversation.standing import InForce

T = TypeVar("T")

log = logging.getLogger(__name__)

WORK_LOG = "work_log"
"""The metadata key for the session's file in `.memory/session/`."""

USER, AGENT = "user", "agent"

CLOSING = 10.0
"""Seconds that the end of a conversation waits for a disk that does not answer."""

_READ = 20_000
"""Characters of a text that are looked at for a line."""

_LONGEST = 240
_SUBJECTS = ("command", "path", "url", "query", "pattern", "label", "section", "name")
_DECISIONS = ("record_lesson", "remember")
_WRITERS = ("write_file", "edit_file")
_MADE = "Wrote new file "
"""How the result of `write_file` begins when the file was not there before."""


class WorkNotes:
    """Keeps the work log of a conversation. Lives on the engine's loop; files are written on threads.

    Args:
        hand: The session in hand.
        in_force: Whose desk it writes at; tells the person what could not be written.
    """

    def __init__(self, hand: InHand, in_force: InForce) -> None:
        self._hand = hand
        self._in_force = in_force
        self._desk: WorkDesk = in_force.work
        self._jobs: asyncio.Queue[Callable[[], Awaitable[None]]] = asyncio.Queue()
        self._worker: asyncio.Task[None] | None = None
        self._sessions: set[str] = set()
        self._session_id = ""
        self._asked: dict[str, str] = {}
        self._calls: dict[str, tuple[str, Mapping[str, Any]]] = {}
        self._ran: Counter[str] = Counter()
        self._failed = 0
        self._last_reply = ""
        self._told = ""
        self._stopping = False
        self._closed = False

    # What happens ---------------------------------------------------------------------------------

    def noting(self, emit: Callable[[TurnEvent], None]) -> Callable[[TurnEvent], None]:
        """What takes note of the events of a turn on their way to a channel."""

        def note(event: TurnEvent) -> None:
            try:
                self._watch(event)
            except Exception:
                log.exception("What happened was not logged in the work log")
                self._tell(self._defect())
            emit(event)

        return note

    def stopping(self) -> None:
        """The turn is being stopped: who is asked something now does not say no to it."""
        self._stopping = True

    def _watch(self, event: TurnEvent) -> None:
        match event:
            case TurnStarted(text=text, images=images):
                self._ran.clear()
                self._calls.clear()
                self._failed, self._last_reply = 0, ""
                self._stopping = False
                request = text if text.strip() else " ".join(images)
                self.note(USER, request, request=request)
            case ApprovalAsked(approval_id=approval_id, tool=tool, arguments=arguments):
                self._asked[approval_id] = f"{tool}: {_subject(arguments)}".rstrip(": ")
            case ApprovalClosed(approval_id=approval_id, decision=decision, reason=reason):
                no = "stopped the turn at" if self._stopping else "refused"
                verb = {"yes": "approved", "always": "approved for this session"}.get(decision, no)
                said = f" — {reason}" if reason else ""
                self.note(USER, f"{verb} {self._asked.pop(approval_id, 'a call')}{said}")
            case ToolUseStarted(tool_use_id=use_id, name=name, arguments=arguments):
                self._calls[use_id] = name, arguments
            case ToolUseEnded():
                self._ended(event)
            case MessageEnd(text=text):
                self._last_reply = text or self._last_reply
            case Compacted(line=line):
                self.note(AGENT, line)
            case TurnEnd():
                self._turn_ended(event)

    def _ended(self, event: ToolUseEnded) -> None:
        self._ran[event.name] += 1
        self._failed += event.status != "success"
        _, arguments = self._calls.pop(event.tool_use_id, ("", {}))
        if event.status != "success":
            return
        path = arguments.get("path")
        if event.name in _DECISIONS:
            self.note(AGENT, event.result)
        elif event.name in _WRITERS and isinstance(path, str):
            directory, made = self._hand.settings.directory, event.result.startswith(_MADE)
            self._then_note(AGENT, lambda desk: desk.todos.written(_real(directory, path), made=made))

    def _turn_ended(self, event: TurnEnd) -> None:
        said = self._last_reply.strip() or "(no words)"
        if event.stop_reason != "end_turn":
            said = f"stopped ({event.stop_reason}): {event.notice or said}"
        calls = ", ".join(f"{name}{f' ×{count}' if count > 1 else ''}" for name, count in self._ran.items())
        if calls:
            failed = f"; {self._failed} failed" if self._failed else ""
            said = f"{one_line(said[:_READ], _LONGEST - 80)} [{calls}{failed}]"
        self.note(AGENT, said)
        self._then_note(AGENT, lambda desk: desk.todos.close())

    def note(self, actor: str, text: str, *, request: str = "") -> None:
        """Log one line, which is masked. Returns at once.

        Args:
            actor: Who did it.
            text: What; its beginning is kept.
            request: What the person asked for, where it is that.
        """
        if self._hand.writer is None or self._desk.bare:
            return
        at, said, asked = datetime.now().astimezone(), _masked(text), _masked(request)
        self._begin(lambda: self._write(at, actor, said, asked))

    def _then_note(self, actor: str, work: Callable[[WorkDesk], str]) -> None:
        """Do something at the desk, and log what it says, if anything."""

        async def job() -> None:
            if text := await asyncio.to_thread(work, self._desk):
                await self._write(datetime.now().astimezone(), actor, _masked(text), "")

        if self._hand.writer is not None and not self._desk.bare:
            self._begin(job)

    async def _write(self, at: datetime, actor: str, text: str, request: str) -> None:
        called = self._hand.state.name or self._hand.state.session_id
        if await asyncio.to_thread(self._desk.note, at, actor, text, called=called, request=request):
            self._told = ""
            self._mark()

    # Sessions -------------------------------------------------------------------------------------

    def taken(self, session_id: str, meta: Meta) -> None:
        """Another session is in hand: go on with its file; a copy of the one before goes on with that one's.

        Args:
            session_id: The session.
            meta: Its metadata.
        """
        before, self._session_id = self._session_id, session_id
        known = meta.get(WORK_LOG)
        copied = str(meta.get("forked_from") or "") in self._sessions
        if self._hand.writer is None:
            known, copied = None, False
        if before and copied and not known:
            self._sessions.add(session_id)
            self._begin(self._marking)
            return
        self._sessions = {session_id}

        async def job() -> None:
            if known and known == self._desk.kept_as:
                return
            await asyncio.to_thread(self._desk.leave)
            if isinstance(known, str):
                await asyncio.to_thread(lambda: self._desk.sessions.adopt(known))

        if before or known:
            self._begin(job)

    def offer(self) -> None:
        """Begin an interactive conversation: tell what can be resumed, once what is on its way is done."""

        async def job() -> None:
            for line in await asyncio.to_thread(self._desk.begin):
                self._in_force.tell(line)

        self._begin(job)

    def moved(self, session_id: str) -> None:
        """The conversation goes on in another session, with the same file."""
        self._session_id = session_id
        self._sessions.add(session_id)
        self._begin(self._marking)

    async def at_desk(self, work: Callable[[WorkDesk], T]) -> T:
        """Do something at the desk, behind everything that was to be logged before.

        Raises:
            TauError: It cannot be done.
        """
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        async def job() -> None:
            try:
                result = await asyncio.to_thread(work, self._desk)
            except Exception as error:  # noqa: BLE001  # whoever waits for it is told
                if not done.cancelled():
                    done.set_exception(error)
            else:
                self._mark()
                if not done.cancelled():
                    done.set_result(result)

        self._begin(job)
        return await done

    async def close(self) -> None:
        """Write what is to be written, and pause the work that is in progress."""

        async def job() -> None:
            await asyncio.to_thread(self._desk.leave)

        if self._worker is not None:
            self._begin(job)
        self._closed = True
        worker, self._worker = self._worker, None
        if worker is None:
            return
        try:
            await asyncio.wait_for(self._jobs.join(), CLOSING)
        except TimeoutError:
            log.warning("The work log was left before all of it was written: the disk does not answer")
        worker.cancel()
        await asyncio.wait({worker})

    # ----------------------------------------------------------------------------------------------

    def _begin(self, job: Callable[[], Awaitable[None]]) -> None:
        if self._closed:
            return
        self._jobs.put_nowait(job)
        if self._worker is None:
            self._worker = asyncio.create_task(self._work())

    async def _work(self) -> None:
        while True:
            job = await self._jobs.get()
            try:
                await job()
            except TauError as error:
                self._tell(error.line())
            except Exception:
                log.exception("The work log of session %s could not be written", self._session_id)
                self._tell(self._defect())
            finally:
                self._jobs.task_done()

    def _defect(self) -> str:
        return f"it failed inside tau; see {self._hand.settings.places.logs / 'tau.log'}"

    def _tell(self, reason: str) -> None:
        """Say once why the log is not written, until it is again."""
        if reason != self._told:
            self._told = reason
            self._in_force.tell(f"The work log is not written: {reason}")

    async def _marking(self) -> None:
        self._mark()

    def _mark(self) -> None:
        """Keep with the session which file is its work log; without that, a later run begins another."""
        writer, current = self._hand.writer, self._desk.kept_as
        if writer is None or writer.session_id != self._session_id or not current:
            return
        try:
            if writer.meta().get(WORK_LOG) != current:
                writer.patch_meta({WORK_LOG: current}, touch=False)
        except TauError as error:
            log.info("The work log of session %s is not kept with it: %s", writer.session_id, error.line())


def _real(directory: Path, path: str) -> Path:
    """Where a file is that a tool was given; looks at the disk, which may take its time."""
    return Path(os.path.realpath(directory / Path(path).expanduser()))


def _masked(text: str) -> str:
    return mask(text[:_READ])


def _subject(arguments: Mapping[str, Any]) -> str:
    """What a call is about, in a few words."""
    for key in _SUBJECTS:
        value = arguments.get(key)
        if isinstance(value, str):
            return one_line(value, 120)
    return ""
