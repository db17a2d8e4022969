"""The engine's side of a conversation: the store, the session in hand, the model and the turn.

Everything here runs on the engine's loop. What changes the session, the model or the agent holds one lock:
a turn, a switch, a change of the model and the first preparation come one after the other, and none of them
starts while a turn runs. `cancel` and `answer` work at any time.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from tau.agent import notices
from tau.config.settings import Settings
from tau.conversation import history
from tau.conversation.answerer import Answerer
from tau.conversation.damage import tell_damage
from tau.conversation.opening import OpenSession, SessionOpener
from tau.conversation.questions import Questions
from tau.conversation.state import ConversationState, HistoryPage, Opening, OpenRequest
from tau.conversation.totals import Totals
from tau.errors import SessionHeld, StoreError, TauError, UsageError
from tau.events import (
    Notice,
    TurnEnd,
    TurnEvent,
    UsageReported,
    from_line,
)
from tau.models.info import ModelInfo
from tau.sessions.catalog import Catalog
from tau.sessions.records import ListQuery, SearchHit, SessionSummary
from tau.sessions.registry import open_store
from tau.sessions.store import SessionReader, SessionStore, SessionWriter

if TYPE_CHECKING:
    from tau.agent.runner import AgentRunner

log = logging.getLogger(__name__)

LIVE_TURNS = 40
"""Turns of an earlier session that a channel is handed at once."""

REPLAYED_EVENTS = 200
"""Stored agent events, the newest, that a channel is handed at once."""

Emit = Callable[[TurnEvent], None]


class Core:
    """A conversation as the engine sees it.

    Args:
        settings: The settings of this run.
        request: What to open first.
        publish: Called with each new state, on the engine's thread.
    """

    def __init__(
        self, settings: Settings, request: OpenRequest, publish: Callable[[ConversationState], None]
    ) -> None:
        self.settings = settings
        self.request = request
        self.state = ConversationState(session_id="", directory=str(settings.directory))
        self.listing: list[str] = []
        self._publish = publish
        self._lock = asyncio.Lock()
        self._store: SessionStore | None = None
        self._catalog: Catalog | None = None
        self._opener: SessionOpener | None = None
        self._session: OpenSession | None = None
        self._totals = Totals()
        self._followed = (0, 0)
        self._turn_task: asyncio.Task[TurnEnd] | None = None
        self.questions = Questions()
        self._answerer = Answerer(
            settings,
            bare=request.bare,
            one_shot=request.one_shot,
            ask=self.questions.ask if request.can_ask else None,
            on_unsaved=lambda reason: self._set(unsaved=reason),
            tell=lambda line: self._set(tool_problems=(*self.state.tool_problems, line)),
        )

    # Opening ------------------------------------------------------------------------------------

    async def open(self) -> Opening:
        """Open the store and the session the channel asked for. Imports neither strands nor a provider."""
        async with self._lock:
            self._store = open_store(self.settings, channel=self.request.channel)
            self._catalog = Catalog(self._store, state_dir=self.settings.places.state)
            self._opener = SessionOpener(self._store, self._catalog, self.settings, self.request.channel)
            opened = self._opener.open(self.request)
            return self._take(opened, self._look_at(opened), None)

    @property
    def opener(self) -> SessionOpener:
        """The session opener; present once `open` has succeeded."""
        assert self._opener is not None
        return self._opener

    @property
    def catalog(self) -> Catalog:
        """The catalog; present once `open` has succeeded."""
        assert self._catalog is not None
        return self._catalog

    @property
    def reader(self) -> SessionReader:
        """The session in hand."""
        assert self._session is not None
        return self._session.reader

    @property
    def writer(self) -> SessionWriter | None:
        """The session in hand where this process may write it."""
        return self._session.writer if self._session else None

    def place(self) -> str:
        """Where the store keeps its record, or the empty string."""
        return self._store.capabilities.location if self._store is not None else ""

    def _look_at(self, opened: OpenSession) -> Opening:
        """What a channel is shown of a session; everything that can fail about it happens here."""
        try:
            reader = opened.reader
            newest = history.page(reader, before=None, turns=LIVE_TURNS)
            events = [from_line(line) for line in reader.events(limit=REPLAYED_EVENTS)]
            told = [*opened.notices, *tell_damage(opened)]
            if opened.writer is not None:
                opened.writer.flush()
        except BaseException:
            opened.reader.close()
            raise
        return Opening(
            state=self.state,
            history=newest,
            events=[event for event in events if event is not None],
            notices=told,
        )

    def _take(self, opened: OpenSession, opening: Opening, runner: AgentRunner | None) -> Opening:
        """Make an opened session the one in hand; the one before is let go of."""
        lost = self._let_go()
        self._session = opened
        self._followed = (opened.reader.count(), len(opened.reader.scratch()))
        self._totals = Totals(opened.reader.meta())
        assert self._store is not None
        if opened.writer is not None:
            self.catalog.mark_open(opened.reader.session_id)
        self._set(
            session_id=opened.reader.session_id,
            profile=self.settings.profile,
            role=opened.role,
            held_by=opened.held_by,
            persistent=self._store.capabilities.persistent,
            context=self.settings.agent.context,
            window_size=self.settings.agent.window_size,
            unsaved="",
            in_memory=0,
        )
        self._use(runner)
        return replace(opening, state=self.state, notices=[*lost, *opening.notices])

    def _let_go(self) -> list[str]:
        """Close the session in hand. Returns what of it could not be saved, a line each."""
        session, self._session = self._session, None
        runner, self._answerer.runner = self._answerer.runner, None
        if session is None:
            return []
        lost = []
        if runner is not None and not runner.flush():
            lost.append(notices.lost(session.reader.session_id, runner.unsaved))
        try:
            session.reader.close()
        except StoreError as error:
            lost = lost or [notices.lost(session.reader.session_id, error.line())]
        if session.writer is not None:
            self.catalog.mark_closed(session.reader.session_id)
        return lost

    # The model ----------------------------------------------------------------------------------

    async def prepare_model(self) -> ModelInfo:
        """Prepare the model of the role in force and build the agent on the session.

        Raises:
            TauError: The model cannot be used; the state's `model_problem` says why.
        """
        async with self._lock:
            return await self._prepare_model()

    async def _prepare_model(self) -> ModelInfo:
        try:
            prepared = await self._answerer.prepare(self.state.role)
            runner = self._answerer.build(self._session, prepared)
        except TauError as error:
            self._use(None)
            await self._answerer.adopt(None)
            self._set(model=None, model_problem=error.line())
            raise
        await self._answerer.adopt(prepared)
        self._set(model=prepared.info, model_problem="")
        self._use(runner)
        return prepared.info

    async def use_role(self, role: str) -> ModelInfo:
        """Change the model role; the old one stays in force when the new one cannot be used.

        Raises:
            TauError: A turn runs, the role is unknown or its model cannot be used.
        """
        self._free()
        async with self._lock:
            prepared = await self._answerer.prepare(role)
            if self.writer is not None:
                self.writer.patch_meta({"role": role})
            runner = self._answerer.build(self._session, prepared)
            await self._answerer.adopt(prepared)
            self._set(role=role, model=prepared.info, model_problem="")
            self._use(runner)
            return prepared.info

    def _use(self, runner: AgentRunner | None) -> None:
        self._answerer.use(runner)
        if self._session is not None:
            self._refresh()

    # The turn -----------------------------------------------------------------------------------

    async def turn(self, text: str, emit: Emit) -> None:
        """Run one turn; `emit` gets its events, the `TurnEnd` last, whatever happens."""
        if self._turn_task is not None:
            emit(TurnEnd("busy", notices.BUSY))
            return
        self._set(busy=True)
        self.questions.emit = emit
        self._turn_task = asyncio.create_task(self._turn(text, emit))
        try:
            await asyncio.wait({self._turn_task})
            end = self._ending(self._turn_task)
        finally:
            self._turn_task = None
            self._set(busy=False)
        emit(end)
        self._index()

    def _ending(self, task: asyncio.Task[TurnEnd]) -> TurnEnd:
        if task.cancelled():
            return TurnEnd("cancelled", notices.CANCELLED)
        error = task.exception()
        if error is None:
            return task.result()
        if isinstance(error, TauError):
            return TurnEnd("error", error.line())
        log.error("A turn failed in session %s", self.state.session_id, exc_info=error)
        return TurnEnd("error", f"The turn failed inside tau; see {self.settings.places.logs / 'tau.log'}")

    async def _turn(self, text: str, emit: Emit) -> TurnEnd:
        async with self._lock:
            if self.state.held_by:
                raise SessionHeld(self.state.session_id, self.state.held_by)
            if not text.strip():
                raise UsageError("The message is empty; nothing was sent")
            if self._answerer.runner is None:
                await self._prepare_model()
            runner = self._answerer.runner
            assert runner is not None
            assert self.writer is not None

            def pass_on(event: TurnEvent) -> None:
                if isinstance(event, UsageReported):
                    self._totals.count(event.usage)
                    self._set(usage=self._totals.usage, context_tokens=self._totals.context)
                emit(event)

            before = runner.unsaved
            end = await runner.run(text, pass_on)
            if end.stop_reason != "error":
                self._totals.turns += 1
            try:
                self.writer.patch_meta(self._totals.meta(), touch=False)
            except TauError as error:
                emit(Notice(f"The totals of this session are not saved: {error.line()}", "warning"))
            told = runner.unsaved
            if not runner.flush() and (runner.unsaved == before or runner.unsaved != told):
                # The turn itself has told of nothing, or of something else.
                emit(Notice(notices.not_saved(runner.unsaved), "error"))
            self._refresh()
            return end

    async def cancel(self) -> None:
        """Cancel the running turn, whatever it waits for; returns when it is over and recorded."""
        task = self._turn_task
        if task is None:
            return
        if self._answerer.runner is not None and self._answerer.runner.is_running:
            await self._answerer.runner.cancel(self.questions.refuse_all)
        else:
            task.cancel()
        await asyncio.wait({task})

    def _index(self) -> None:
        """Bring the index up to date; the record is complete without it."""
        if self._answerer.runner is None or self._session is None:
            return
        self.catalog.record(self._session.reader, self._answerer.runner.take_recorded())

    # Sessions -----------------------------------------------------------------------------------

    async def switch(self, target: str, *, everywhere: bool) -> Opening:
        """Go on with another session. The current one stays in hand when that fails.

        Raises:
            TauError: Not found, held and not readable, recorded under another window, a turn runs, or
                something said in the current one is not saved yet.
        """
        self._free()
        async with self._lock:
            self._nothing_waits()
            directory = None if everywhere else self.state.directory
            found = self.catalog.resolve(target, directory=directory)
            if found == self.state.session_id and self.writer is not None:
                raise UsageError(f"Session {found} is the current one")
            return await self._switch(self.opener.resume(found, read_along=self.request.read_only_ok))

    async def new(self, name: str | None = None) -> Opening:
        """Begin a new session on the current role.

        Raises:
            TauError: A turn runs, the name is taken, the store refused, or something said is not saved yet.
        """
        self._free()
        async with self._lock:
            self._nothing_waits()
            return await self._switch(self.opener.create(role=self.state.role, name=name))

    async def undo(self) -> tuple[Opening, str]:
        """Go on from before the last turn, in a session of its own; the current one is kept as it is.

        Returns:
            The new session, and the message whose turn it leaves out.

        Raises:
            TauError: There is no turn, one runs, or the messages cannot be copied.
        """
        self._free()
        async with self._lock:
            self._nothing_waits()
            last = history.last_turn(self.reader)
            if last is None:
                raise UsageError("There is no turn to go back before")
            index, text = last
            opened = self.opener.fork(self.reader, before=index, role=self.state.role)
            return await self._switch(opened), text

    async def _switch(self, opened: OpenSession) -> Opening:
        """Everything that can fail comes before the current session is let go of."""
        opening = self._look_at(opened)
        prepared, problem = self._answerer.model, ""
        try:
            if prepared is None or opened.role != self.state.role:
                try:
                    prepared = await self._answerer.prepare(opened.role)
                except TauError as error:
                    prepared, problem = None, error.line()
            runner = self._answerer.build(opened, prepared) if prepared is not None else None
        except BaseException:
            opened.reader.close()
            raise
        taken = self._take(opened, opening, runner)
        await self._answerer.adopt(prepared)
        self._set(model=prepared.info if prepared else None, model_problem=problem)
        return replace(taken, state=self.state)

    def _free(self) -> None:
        if self._turn_task is not None:
            raise UsageError(notices.BUSY)

    def _nothing_waits(self) -> None:
        if self._answerer.runner is not None and not self._answerer.runner.flush():
            raise StoreError(notices.not_left(self._answerer.runner.unsaved))

    def rename(self, name: str) -> None:
        """Name the session; it does not move in listings.

        Raises:
            TauError: The name cannot be used, or the session is held elsewhere.
        """
        if self.writer is None:
            raise SessionHeld(self.state.session_id, self.state.held_by)
        self.opener.check_name(name, session_id=self.state.session_id)
        self.writer.patch_meta({"name": name}, touch=False)
        self.writer.flush()
        self.catalog.record(self.writer, [])
        self._refresh()

    async def follow(self) -> Opening | None:
        """Look again at a session that is held elsewhere.

        Returns:
            The session as it is now, held for writing if its writer is gone; None when nothing changed.
        """
        async with self._lock:
            session = self._session
            if session is None or session.writer is not None or self._store is None:
                return None
            session_id = session.reader.session_id
            if self._store.holder(session_id) is None:
                try:
                    opened = self.opener.resume(session_id, read_along=True)
                except TauError as error:
                    log.info("Session %s is free but cannot be held: %s", session_id, error.line())
                    return None
                if opened.writer is not None:
                    return await self._switch(opened)
                opened.reader.close()
            seen = (session.reader.count(), len(session.reader.scratch()))
            if seen == self._followed:
                return None
            self._followed = seen
            self._refresh()
            opening = self._look_at(session)
            return replace(opening, state=self.state)

    async def earlier(self, before: int, turns: int) -> HistoryPage:
        """The turns before an index of the session in hand."""
        return history.page(self.reader, before=before, turns=turns)

    async def preview(self, session_id: str, turns: int) -> HistoryPage:
        """The newest turns of any session. Writes nothing."""
        assert self._store is not None
        with self._store.read(session_id) as reader:
            return history.page(reader, before=None, turns=turns)

    async def summaries(self, query: ListQuery) -> list[SessionSummary]:
        """Sessions, newest first."""
        return await asyncio.to_thread(self.catalog.summaries, query)

    async def search(self, words: str, query: ListQuery) -> list[SearchHit]:
        """Messages that hold the words."""
        return await asyncio.to_thread(self.catalog.search, words, query)

    async def close(self) -> None:
        """Stop what runs, make everything durable and let go.

        Raises:
            StoreError: Something that was said could not be saved; everything is closed all the same.
        """
        await self.cancel()
        await self._answerer.stop_warming()
        lost = self._let_go()
        try:
            await self._answerer.close()
        finally:
            try:
                if self._catalog is not None:
                    self._catalog.close()
            finally:
                if self._store is not None:
                    self._store.close()
        if lost:
            raise StoreError(lost[0])

    # State --------------------------------------------------------------------------------------

    def _refresh(self) -> None:
        meta = self.reader.meta()
        runner = self._answerer.runner
        in_memory = runner.messages_in_memory if runner else self.state.in_memory
        self._set(
            name=str(meta.get("name") or ""),
            title=str(meta.get("title") or ""),
            message_count=self.reader.count(),
            in_memory=in_memory,
            usage=self._totals.usage,
            turns=self._totals.turns,
            context_tokens=self._totals.context,
        )

    def _set(self, **changes: object) -> None:
        state = replace(self.state, **changes)  # type: ignore[arg-type]  # the keys are fields of the state
        if state != self.state:
            self.state = state
            self._publish(state)
