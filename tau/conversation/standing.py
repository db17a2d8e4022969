"""What stands in every prompt of the directory a conversation works in, and what the person is told of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from tau.conversation import context_in_force, tooling
from tau.conversation.stopping import Stopping, to_its_end
from tau.conversation.work_notes import WorkNotes
from tau.errors import TauError
from tau.events import Level, Notice, NoticeRecord, to_line
from tau.journal.context_desk import ContextDesk
from tau.journal.work_desk import WorkDesk
from tau.masking import mask_all
from tau.memory import goals
from tau.memory.desk import Desk, Standing
from tau.memory.files import GivenUp
from tau.tasks import standing as tasks_standing
from tau.tasks.desk import TaskDesk

if TYPE_CHECKING:
    from tau.conversation.in_hand import InHand

T = TypeVar("T")

WAITS = "Another tau writes memory; waiting"
"""What is said where a change of memory waits for another process."""

log = logging.getLogger(__name__)


class InForce:
    """Reads what stands in prompts, and keeps what was read last. Lives on the engine's loop.

    Args:
        hand: The session in hand.
        stopping: Runs changes of memory, which the person may stop as long as they wait for another process.

    Attributes:
        desk: The memory and the goal of the directory.
        tasks: Its task memory.
        work: The work log of its checkout.
        contexts: Its session log.
        notes: What of the conversation is written into its work log.
    """

    def __init__(self, hand: InHand, stopping: Stopping) -> None:
        self._hand = hand
        self._stopping = stopping
        self._standing = Standing()
        self.desk = Desk(hand.settings, bare=hand.request.bare)
        self.desk.said = self._said
        self.desk.about = lambda: tooling.about(hand.state)
        self.tasks = TaskDesk(hand.settings, bare=hand.request.bare)
        self.tasks.session = lambda: hand.state.session_id
        self._offers_tasks = not hand.request.one_shot
        self.work = WorkDesk(hand.settings, bare=hand.request.bare)
        self.notes = WorkNotes(hand, self)
        self.contexts = ContextDesk(hand.settings, self.desk, bare=hand.request.bare)
        self._waiting = 0
        self._in_context: dict[str, str] = {}

    def live_here(self) -> None:
        """From now on, what other threads have to tell of the memory is shown from the running loop."""
        loop = asyncio.get_running_loop()

        def here(show: Callable[..., None], *given: object) -> None:
            with suppress(RuntimeError):  # the loop has ended; nobody is left to tell
                loop.call_soon_threadsafe(show, *given)

        self.desk.late = lambda line: here(self.tell_done, line)
        self.desk.waits = lambda waits: here(self._show_waiting, 1 if waits else -1)

    def _show_waiting(self, more: int) -> None:
        self._waiting += more
        self._hand.show(waits=WAITS if self._waiting else "")

    def tell(self, line: str, level: Level = "warning") -> None:
        """Tell the person something that they did not wait for; of level ``info`` if nothing is wrong."""
        state = self._hand.state
        done = (*state.done, line) if level == "info" else state.done
        self._hand.show(tool_problems=(*state.tool_problems, line), done=done)

    def tell_done(self, line: str) -> None:
        """Tell what tau did on its own, and put that on the record of the session, as what a call did is."""
        self.tell(line, "info")
        if (writer := self._hand.writer) is not None:
            try:
                writer.append_event(mask_all(to_line(NoticeRecord(line))))
            except TauError as error:
                log.info("What was done is not on the record of the session: %s", error.line())

    def read(self) -> Standing:
        """What stands in every prompt, as it is on the disk now. Blocks; may be called from any thread."""
        return self._with_context(self._with_tasks(self._with_work(self.desk.standing())))

    def _with_context(self, standing: Standing) -> Standing:
        """The same with the running state of the session's context."""
        own, notices = self.contexts.standing(self.context())
        text = "\n\n".join(filter(None, [standing.text, own]))
        return replace(standing, text=text, notices=(*standing.notices, *notices))

    def context(self) -> str:
        """The context of `.session-log/` in force in the session; empty when none is. Blocks."""
        session = self._hand.session
        if session is None or self.contexts.bare:
            return ""
        session_id = session.reader.session_id
        if session_id not in self._in_context:
            try:
                recorded = context_in_force.recorded(self._hand.read, session_id)
                self._in_context.setdefault(session_id, recorded)  # another one may be in force meanwhile
            except TauError as error:
                log.info("The context of session %s is not known: %s", session_id, error.line())
                return ""
        return self._in_context[session_id]

    def use_context(self, name: str) -> None:
        """Have a context be in force in the session, and keep it with it where it may be written."""
        self._in_context[self._hand.state.session_id] = name
        if self._hand.writer is None:
            return
        try:
            context_in_force.keep(self._hand.writer, name)
        except TauError as error:
            self.tell(f"That the session is about {name} is not kept with it: {error.line()}")

    def _with_work(self, standing: Standing) -> Standing:
        """The same with the long-term memory and the work in hand, where the project keeps them."""
        text = "\n\n".join(filter(None, [standing.text, self.work.standing()]))
        return replace(standing, text=text, notices=(*standing.notices, *self.work.notices))

    def _with_tasks(self, standing: Standing) -> Standing:
        """The same with the open tasks; the first time, they are offered."""
        if self.tasks.bare:
            return standing
        try:
            tasks = self.tasks.open_tasks()
        except TauError as error:
            return replace(standing, notices=(*standing.notices, error.line()))
        offer = tasks_standing.offer(tasks) if self._offers_tasks else ""
        self._offers_tasks = False
        notices = (*standing.notices, offer) if offer else standing.notices
        text = "\n\n".join(filter(None, [standing.text, tasks_standing.prompt(tasks)]))
        return replace(standing, text=text, notices=notices)

    async def begin(self) -> list[Notice]:
        """Begin an interactive conversation. Returns what the person is to be told of it."""
        lines = await asyncio.to_thread(self.desk.begin)
        context = await asyncio.to_thread(self.context)
        said = await asyncio.to_thread(self.contexts.loaded, context) if context else ""
        if said or (not context and (said := await asyncio.to_thread(self.contexts.offer))):
            lines.append(Notice(said))
        lines += map(Notice, await asyncio.to_thread(self.contexts.unsettled))
        return lines

    def take(self, standing: Standing) -> None:
        """What stands was read: tell what is new of it, and show the goal."""
        known = self._standing.notices
        self._standing = standing
        for line in standing.notices:
            if line not in known:
                self.tell(line)
        self._show_goal(standing.goal)

    async def reread(self) -> None:
        """Read again what stands, on a thread."""
        self.take(await asyncio.to_thread(self.read))

    async def after_turn(self) -> None:
        """A turn is over, in which the model may have proposed that the goal is reached."""
        if self._standing.goal is not None:
            self._show_goal((await asyncio.to_thread(self.desk.standing)).goal)

    async def at_desk(self, ask: Callable[[Desk, Callable[[], bool]], T]) -> T:
        """Read or change the memory or the goal on a thread, and show what stands then.

        Args:
            ask: It is given what says that nobody waits any more for a change to begin.

        Raises:
            GivenUp: It was stopped before it began; nothing was changed.
            TauError: It cannot be done; nothing was changed.
        """
        return await self.change(lambda given_up: ask(self.desk, given_up))

    async def change(self, work: Callable[[Callable[[], bool]], T]) -> T:
        """Change memory on a thread, which may be stopped until it begins, and show what stands then.

        Args:
            work: As `ask` of `at_desk`. What has begun is ended, and tells of that where nobody waits.

        Raises:
            GivenUp: As `at_desk`.
            TauError: As `at_desk`.
        """
        result = await self._stopping.run(to_its_end(work), GivenUp())
        await self.reread()
        return result

    async def at_tasks(self, ask: Callable[[TaskDesk, str], T], text: str) -> T:
        """Read or change the tasks of the directory on a thread.

        Raises:
            TauError: It cannot be done; nothing was changed.
        """
        return await asyncio.to_thread(ask, self.tasks, text)

    def _said(self) -> tuple[str, int]:
        """The session in hand, and how many messages it has by now, also in the middle of a turn."""
        state, session = self._hand.state, self._hand.session
        return state.name or state.session_id, session.reader.count() if session else state.message_count

    def _show_goal(self, goal: goals.Goal | None) -> None:
        self._hand.show(goal=goals.line(goal) if goal else "")
