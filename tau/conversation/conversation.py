"""The conversation as channels use it: every method is awaited on the channel's own loop."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from typing import Any, TypeVar

from tau.agent import notices
from tau.config.settings import Settings
from tau.conversation import commands, renaming
from tau.conversation.bridge import Bridge
from tau.conversation.consent import WaitingChange
from tau.conversation.core import Core
from tau.conversation.engine import Engine
from tau.conversation.images import Given
from tau.conversation.in_hand import LIVE_TURNS
from tau.conversation.own_commands import OwnCommand
from tau.conversation.recorded_calls import RecordedCalls
from tau.conversation.said import Mentioned, Said, nothing_mentioned
from tau.conversation.state import (
    CommandResult,
    ConversationState,
    HistoryPage,
    ModelChoice,
    Opening,
    OpenRequest,
    Prompt,
    PromptListing,
    ToolListing,
)
from tau.display import visible
from tau.events import CommandEnded, CommandEvent, Decision, TurnEnd, TurnEvent
from tau.memory.desk import Desk
from tau.models.info import ModelInfo
from tau.sessions.records import ListQuery, SearchHit, SessionSummary
from tau.tasks.desk import TaskDesk

T = TypeVar("T")

Watcher = Callable[[ConversationState], None]


class Conversation:
    """One conversation: its session, its model, its turns. Made by `start`.

    Nothing here blocks the channel's loop; the work happens on the engine's thread. Failures are
    `TauError`s; those of a turn arrive as its `TurnEnd`.
    """

    def __init__(self, settings: Settings, request: OpenRequest) -> None:
        self._loop = asyncio.get_running_loop()
        self._engine = Engine()
        self._watchers: list[Watcher] = []
        self._core = Core(settings, request, self._published)
        self._state = self._core.state
        self._opening: asyncio.Task[Opening] | None = None
        self._model: asyncio.Task[ModelInfo] | None = None
        self._turning = False
        self._cancelled = asyncio.Event()
        self._calls = RecordedCalls()
        self._closed = False
        self._told_before_closing = 0

    @classmethod
    def start(cls, settings: Settings, request: OpenRequest) -> Conversation:
        """Begin: the engine's thread starts, opens the session and then prepares the model.

        Returns at once. Called on the channel's running loop.
        """
        conversation = cls(settings, request)
        conversation._engine.start()
        conversation._opening = conversation._task(conversation._core.open())
        conversation._model = asyncio.create_task(conversation._prepare_after_opening())
        for task in (conversation._opening, conversation._model):
            # Whoever awaits it is told; without a waiter a failure is already in the state.
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return conversation

    def _task(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        return asyncio.create_task(self._engine.call(work))

    async def _prepare_after_opening(self) -> ModelInfo:
        assert self._opening is not None
        await asyncio.shield(self._opening)
        return await self._engine.call(self._core.prepare_model())

    async def ready(self) -> Opening:
        """The session, as soon as it is open; the model may still be loading.

        Raises:
            TauError: It cannot be opened.
        """
        assert self._opening is not None
        return await asyncio.shield(self._opening)

    async def model_ready(self) -> ModelInfo:
        """The model, as soon as it can answer.

        Raises:
            TauError: It cannot; the message says what is missing.
        """
        assert self._model is not None
        return await asyncio.shield(self._model)

    async def retry_model(self) -> ModelInfo:
        """Prepare the model again, after something that was missing has been provided.

        Raises:
            TauError: It still cannot answer.
        """
        self._model = self._task(self._core.prepare_model())
        self._model.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(self._model)

    # State --------------------------------------------------------------------------------------

    @property
    def state(self) -> ConversationState:
        """The newest state."""
        return self._state

    def watch(self, watcher: Watcher) -> None:
        """Call `watcher` on the channel's loop with every new state."""
        self._watchers.append(watcher)

    def _published(self, state: ConversationState) -> None:
        try:
            self._loop.call_soon_threadsafe(self._take_state, state)
        except RuntimeError:  # the channel's loop has ended; nobody is left to tell
            return

    def _take_state(self, state: ConversationState) -> None:
        self._state = state
        for watcher in self._watchers:
            watcher(state)

    # Turns --------------------------------------------------------------------------------------

    async def send(
        self, text: str, images: Sequence[Given] = (), *, mentioned: Mentioned = nothing_mentioned
    ) -> AsyncIterator[TurnEvent]:
        """Run one turn. Yields its events; the last is the only `TurnEnd`.

        While a turn runs, another one is answered with ``busy`` and does not touch it. A caller that stops
        iterating early cancels the turn.

        Args:
            text: What the person said; may be blank where images go along.
            images: Files or contents of images that go along. Where the model is known to take none, or one
                of them cannot go along, the turn ends with ``error`` before it has started.
            mentioned: Finds the images that the text mentions; they go along where the model is known to
                take images, else a notice says that they do not.
        """
        if self._closed:
            yield TurnEnd("error", notices.CLOSED)
            return
        if self._turning:
            yield TurnEnd("busy", notices.BUSY)
            return
        self._turning = True
        self._cancelled.clear()
        bridge: Bridge[TurnEvent] = Bridge(self._loop, TurnEnd)
        ended = False
        try:
            if not await self._model_or_cancel():
                ended, self._turning = True, False
                yield TurnEnd("cancelled", notices.CANCELLED)
                return
            self._engine.begin(self._core.turn(Said(text, images, mentioned), bridge.put))
            async for event in bridge.events():
                ended = isinstance(event, TurnEnd)
                if ended:
                    self._turning = False
                    await asyncio.sleep(0)  # the state that came before it is taken before it is told
                yield event
        finally:
            self._turning = False
            if not ended:
                self._engine.begin(self._core.cancel())

    async def run(self, typed: OwnCommand) -> AsyncIterator[CommandEvent]:
        """Run a command of the person's (`own_command`). Yields its events; the last is the `CommandEnded`.

        It needs no model. While a turn, a compaction or another command runs, it is not run, and the
        `CommandEnded` says so; while it runs, a message is answered with ``busy``. `cancel` stops it, and so
        does a caller that stops iterating early.
        """
        await self.ready()
        if self._closed or self._turning:
            line = notices.CLOSED if self._closed else notices.BUSY
            yield CommandEnded(status="error", notice=line, ran=False)
            return
        bridge: Bridge[CommandEvent] = Bridge(self._loop, CommandEnded)
        ended = False
        self._engine.begin(self._core.run(typed, bridge.put))
        try:
            async for event in bridge.events():
                ended = isinstance(event, CommandEnded)
                if ended:
                    await asyncio.sleep(0)  # the state that came before it is taken before it is told
                yield event
        finally:
            if not ended:
                self._engine.begin(self._core.cancel())

    async def _model_or_cancel(self) -> bool:
        """Wait until the model can answer, or is known not to; False when the turn was cancelled before."""
        assert self._model is not None
        cancelled = asyncio.create_task(self._cancelled.wait())
        try:
            await asyncio.wait({self._model, cancelled}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            cancelled.cancel()
        return not self._cancelled.is_set()

    async def cancel(self) -> None:
        """Cancel the running turn or command; returns when it is over. Does nothing when none runs."""
        self._cancelled.set()
        if not self._closed:
            await self._engine.call(self._core.cancel())

    async def answer(self, approval_id: str, decision: Decision, reason: str = "") -> None:
        """Answer a question that `ApprovalAsked` put; one that is closed already is left alone.

        Args:
            approval_id: The question's id.
            decision: Whether the call may run, this once.
            reason: For a no, what the model is told.
        """
        if not self._closed:
            await self._engine.call(self._answer(approval_id, decision, reason))

    async def _answer(self, approval_id: str, decision: Decision, reason: str) -> None:
        self._core.questions.answer(approval_id, decision, reason)

    # Commands and sessions ----------------------------------------------------------------------

    async def command(self, line: str) -> CommandResult:
        """Run a slash command; what cannot be done comes back as `Refused`."""
        await self.ready()
        return await self._engine.call(commands.run_or_refuse(self._core, line))

    async def switch(self, target: str, *, everywhere: bool = False) -> Opening:
        """Go on with exactly this session, whatever continues it: an id, a name, or "" for the newest.

        Raises:
            TauError: It cannot be opened; the current session is kept.
        """
        return await self._engine.call(self._core.switch(target, everywhere=everywhere, as_it_is=True))

    async def new(self) -> Opening:
        """Begin a new session; the current one is kept on record."""
        return await self._engine.call(self._core.new())

    async def earlier_prompts(self, listing: PromptListing) -> PromptListing:
        """A list of what the person said with what was said before it, a part at a time.

        Args:
            listing: From ``/rewind``, or from here; it has more to read.
        """
        return await self._engine.call(self._core.prompts(listing))

    async def rewind(self, prompt: Prompt) -> CommandResult:
        """Go on from before a listed prompt, as ``/rewind`` with its number does."""
        return await self._engine.call(commands.rewind_or_refuse(self._core, prompt))

    async def follow(self) -> Opening | None:
        """Look again at a session that is held elsewhere; a channel that shows one calls it now and then.

        Returns:
            The session as it is now, held for writing if its writer is gone; None when nothing changed.
        """
        return await self._engine.call(self._core.follow())

    async def earlier(self, before: int, turns: int, session_id: str = "") -> HistoryPage:
        """The `turns` whole turns that end before message `before`.

        Args:
            before: An index; one beyond the last message means its end.
            turns: How many.
            session_id: A session that this one continues; empty for the session in hand.
        """
        return await self._engine.call(self._core.earlier(before, turns, session_id, self._calls))

    async def preview(self, session_id: str, turns: int = LIVE_TURNS) -> HistoryPage:
        """The newest turns of any session. Writes nothing."""
        return await self._engine.call(self._core.preview(session_id, turns))

    def way_back(self) -> str:
        """The options with which the command line goes on with this session, quoted for a shell."""
        options = [("--resume", self._state.called), *self._core.request.configuration]
        written = [
            f"{option}{'=' if value.startswith('-') else ' '}{shlex.quote(value)}"
            for option, value in options
        ]
        return visible(" ".join([*written, *(["--bare"] if self._core.request.bare else [])]))

    def lost(self) -> list[str]:
        """What is said, when tau ends, of what waits for the person's yes and is kept nowhere."""
        return self._core.lost()

    def told_at_closing(self) -> list[str]:
        """What `close` had to tell of what was still going on; a channel whose view is gone prints it."""
        return [*self._state.tool_problems[self._told_before_closing :]] if self._closed else []

    async def sessions(self, query: ListQuery) -> list[SessionSummary]:
        """Sessions, newest first."""
        return await self._engine.call(self._core.summaries(query))

    async def is_called(self, target: str) -> bool:
        """Whether a session has exactly this id, or this name where names are looked for."""
        return await self._engine.call(self._core.is_called(target))

    async def search(self, words: str, query: ListQuery) -> list[SearchHit]:
        """Messages that hold every word, best first."""
        return await self._engine.call(self._core.search(words, query))

    async def tools(self) -> ToolListing:
        """What the model may use now, as ``/tools`` says it. Waits for no server."""
        return await self._engine.call(self._tools())

    async def _tools(self) -> ToolListing:
        return self._core.tools()

    async def look_at_memory(self, ask: Callable[[Desk], T]) -> T:
        """Read the memory of the directory, on a thread.

        Raises:
            TauError: It cannot be read.
        """
        return await asyncio.to_thread(ask, self._core.in_force.desk)

    async def look_at_tasks(self, ask: Callable[[TaskDesk], T]) -> T:
        """Read the task memory of the directory, on a thread.

        Raises:
            TauError: It cannot be read.
        """
        return await asyncio.to_thread(ask, self._core.in_force.tasks.for_person())

    async def change_memory(self, ask: Callable[[Desk, Callable[[], bool]], T]) -> T:
        """Change the memory of the directory, on a thread; what stands in prompts is read again.

        Args:
            ask: It is given what says that nobody waits any more for it to begin.

        Raises:
            GivenUp: It was stopped before it began; nothing was changed.
            TauError: It cannot be done; nothing was changed.
        """
        return await self._engine.call(self._core.in_force.at_desk(ask))

    async def waiting_changes(self) -> list[WaitingChange]:
        """Changes of memory that wait for the person's yes, read on a thread.

        Raises:
            TauError: They cannot be read.
        """
        return await asyncio.to_thread(self._core.refining.waiting)

    async def accept_changes(self, listed: Sequence[WaitingChange]) -> CommandResult:
        """As `/refine accept`, for what the person has before them; refused when something else waits by now.

        Args:
            listed: From `waiting_changes` or ``/memory``.
        """
        return await self._engine.call(commands.accept_or_refuse(self._core, listed))

    async def models(self) -> list[ModelChoice]:
        """The roles with what is known of their models and what they are missing; may take a moment."""
        return await self._engine.call(self._core.models())

    async def rename_session(self, session_id: str, name: str) -> None:
        """Name any session, the current one or another.

        Raises:
            TauError: The name cannot be used, or the session is not there or held elsewhere.
        """
        await self._engine.call(self._rename(session_id, name))

    async def _rename(self, session_id: str, name: str) -> None:
        renaming.rename_session(self._core, session_id, name)

    async def close(self) -> None:
        """Stop the turn, make everything durable, let go of the session and end the engine.

        Raises:
            StoreError: Something that was said could not be saved.
        """
        if self._closed:
            return
        self._closed = True
        self._told_before_closing = len(self._state.tool_problems)
        try:
            for task in (self._opening, self._model):
                if task is not None and not task.done():
                    task.cancel()
            await self._engine.call(self._core.close())
        finally:
            await self._engine.stop()
