"""The engine's side of a conversation: the model, the turn, compaction, and going from session to session.

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
from tau.conversation.compacting import CANCELLED, SUMMARIZING, Continuation, Subject
from tau.conversation.in_hand import InHand
from tau.conversation.opening import OpenSession, SessionOpener
from tau.conversation.questions import Questions
from tau.conversation.state import ConversationState, Opening, OpenRequest, Prompt
from tau.errors import CompactionCancelled, SessionHeld, StoreError, TauError, UsageError
from tau.events import (
    Compacted,
    Notice,
    TurnEnd,
    TurnEvent,
    UsageReported,
)
from tau.masking import mask_content
from tau.models.info import ModelInfo
from tau.sessions.catalog import Catalog
from tau.sessions.lineage import whole_chain
from tau.sessions.registry import open_store
from tau.sessions.store import SessionWriter

if TYPE_CHECKING:
    from tau.agent.runner import AgentRunner

log = logging.getLogger(__name__)

Emit = Callable[[TurnEvent], None]


def _nowhere(event: TurnEvent) -> None:
    """Nobody listens."""


class Core(InHand):
    """A conversation as the engine sees it.

    Args:
        settings: The settings of this run.
        request: What to open first.
        publish: Called with each new state, on the engine's thread.
    """

    def __init__(
        self, settings: Settings, request: OpenRequest, publish: Callable[[ConversationState], None]
    ) -> None:
        super().__init__(settings, request, publish)
        self._lock = asyncio.Lock()
        self._turn_task: asyncio.Task[TurnEnd] | None = None
        self._compaction_task: asyncio.Task[tuple[Opening, Continuation]] | None = None
        self._titling: asyncio.Task[None] | None = None
        self._titled: set[str] = set()
        self._emit: Emit = _nowhere
        self.questions = Questions()
        self._answerer = Answerer(
            settings,
            bare=request.bare,
            one_shot=request.one_shot,
            ask=self.questions.ask if request.can_ask else None,
            make_room=self._make_room,
            on_unsaved=lambda reason: self._set(unsaved=reason),
            tell=lambda line: self._set(tool_problems=(*self.state.tool_problems, line)),
            read=self._read,
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

    # The turn -----------------------------------------------------------------------------------

    async def turn(self, text: str, emit: Emit) -> None:
        """Run one turn; `emit` gets its events, the `TurnEnd` last, whatever happens."""
        if self._turn_task is not None or self._compaction_task is not None:
            emit(TurnEnd("busy", notices.BUSY if self._turn_task is not None else SUMMARIZING))
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
        self._begin_title()

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

            before = runner.unsaved
            self._emit = self._counting(emit)
            try:
                end = await runner.run(text, self._emit)
            finally:
                self._emit = _nowhere
            self._totals.measured(runner.reading.tokens, self.reader.count())
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

    def _counting(self, emit: Emit) -> Emit:
        """Counts what model calls took, on the way to a channel."""

        def count(event: TurnEvent) -> None:
            if isinstance(event, UsageReported):
                price = self.state.model.price if self.state.model else None
                if event.side:
                    self._totals.count_side(event.usage, price)
                else:
                    self._totals.count(event.usage, price)
                self._set(usage=self._totals.usage, cost=self._totals.cost, context_tokens=self._measured())
            emit(event)

        return count

    async def cancel(self) -> None:
        """Cancel the running turn or compaction, whatever it waits for; returns when it is over."""
        if self._compaction_task is not None:
            self._compaction_task.cancel()
            await asyncio.wait({self._compaction_task})
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

    def _begin_title(self) -> None:
        """Have the model write a title after the first turn, where that is wished; nobody waits for it."""
        runner, writer = self._answerer.runner, self.writer
        wished = self.settings.sessions.titles == "model" and not self.request.one_shot
        if not wished or runner is None or writer is None or writer.session_id in self._titled:
            return
        if self._totals.turns == 1 and not writer.meta().get("forked_from"):
            self._titled.add(writer.session_id)
            self._titling = asyncio.create_task(self._write_title(runner, writer))

    async def _write_title(self, runner: AgentRunner, writer: SessionWriter) -> None:
        try:
            title = await runner.compaction.write_title(self._counting(_nowhere))
            if not title or self.writer is not writer:
                return
            writer.patch_meta({"title": title, **self._totals.meta()}, touch=False)
            self.catalog.record(writer, [])
            self._refresh()
        except TauError as error:
            log.info("Session %s has no title of the model: %s", writer.session_id, error.line())

    # Compaction ---------------------------------------------------------------------------------

    async def compact(self, focus: str) -> tuple[Opening, Continuation]:
        """Carry the conversation as a summary into a new session, and go on there.

        Args:
            focus: What the summary should look at, or empty.

        Raises:
            CompactionFailed: There is nothing to summarize, or no summary; nothing has changed.
            TauError: A turn runs, something is not saved, it was cancelled, or the store refused.
        """
        self._free()
        self._set(busy=True, summarizing=True)
        self._compaction_task = task = asyncio.create_task(self._compact(mask_content(focus)))
        try:
            await asyncio.wait({task})
        finally:
            self._compaction_task = None
            self._set(busy=False, summarizing=False)
        if task.cancelled():
            raise CompactionCancelled(CANCELLED)
        opening, continuation = task.result()
        return replace(opening, state=self.state), continuation

    async def _compact(self, focus: str) -> tuple[Opening, Continuation]:
        async with self._lock:
            if self.state.held_by:
                raise SessionHeld(self.state.session_id, self.state.held_by)
            if self._answerer.runner is None:
                await self._prepare_model()
            self._nothing_waits()
            runner, session = self._answerer.runner, self._session
            assert runner is not None
            assert session is not None
            counted = self._counting(_nowhere)
            subject = Subject(runner.compaction, session, self.opener, self._totals, counted)
            try:
                continuation = await self._compactor.by_hand(subject, focus)
            except TauError:
                assert session.writer is not None
                session.writer.patch_meta(self._totals.meta(), touch=False)  # what it cost is kept
                raise
            opening = self._look_at(continuation.opened)
            self._go_on_in(continuation.opened, runner)
            return opening, continuation

    async def _make_room(self) -> None:
        """Compact the conversation if it is due, before a model call of the running turn."""
        runner, session, emit = self._answerer.runner, self._session, self._emit
        point = self.state.compacts_at
        if runner is None or session is None or point is None:
            return
        continuation = await self._compactor.when_due(
            Subject(runner.compaction, session, self.opener, self._totals, emit),
            point=point,
            measure=lambda: runner.reading.tokens,
            counted=runner.reading.is_counted,
            save=self._nothing_waits,
            summarizing=lambda now: self._set(summarizing=now),
        )
        if continuation is None:
            self._set(context_tokens=runner.reading.tokens)
            return
        previous = self.state.session_id
        self._go_on_in(continuation.opened, runner)
        emit(Compacted(previous, self.state.session_id, continuation.line, continuation.summary))

    def _go_on_in(self, opened: OpenSession, runner: AgentRunner) -> None:
        """Make the session that continues the one in hand the one in hand; the agent stays."""
        old = self._session
        assert old is not None
        assert opened.writer is not None
        self.catalog.record(old.reader, runner.take_recorded())
        runner.move_to(opened.writer)
        self._session = opened
        self._answerer.carry_over(old.reader.session_id, opened.writer.session_id)
        self._followed = (opened.reader.count(), 0)
        self._totals.measured(runner.reading.tokens, opened.reader.count())
        self.catalog.mark_open(opened.reader.session_id)
        self.catalog.record(opened.reader, [])
        self._set(session_id=opened.reader.session_id, unsaved="", context_tokens=self._totals.context)
        self._refresh()
        try:
            old.reader.close()
        except StoreError as error:
            log.warning("Session %s was not closed cleanly: %s", old.reader.session_id, error.line())
        self.catalog.mark_closed(old.reader.session_id)

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
            found = self._found(target, everywhere=everywhere)
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

    async def prompts(self) -> list[Prompt]:
        """The person's messages in this session, oldest first.

        Raises:
            TauError: A turn runs, or the messages cannot be read.
        """
        self._free()
        async with self._lock:
            return await history.prompts(self.reader)

    async def rewind(self, number: int | None = None) -> tuple[Opening, str]:
        """Go on from before a prompt, in a session of its own; the current one is kept as it is.

        Args:
            number: The prompt, as `prompts` numbers them; None is the newest.

        Returns:
            The new session, and the whole text of the prompt.

        Raises:
            TauError: There is no such prompt, a turn runs, or the messages cannot be copied.
        """
        self._free()
        async with self._lock:
            self._nothing_waits()
            if number is None:
                prompt = history.last_prompt(self.reader)
                if prompt is None:
                    raise UsageError("There is no turn to go back before")
            else:
                listed = history.numbered(await history.prompts(self.reader), number)
                (prompt,) = self.reader.messages(offset=listed.index, limit=1)
            opened = self.opener.fork(self.reader, before=prompt.index, role=self.state.role)
            return await self._switch(opened), history.said(prompt)

    async def fork(self, *, turn: int | None = None, session: str = "") -> Opening:
        """Copy messages into a new session and go on there; the one they come from is kept as it is.

        Args:
            turn: Copy the current session up to and including this turn, as `prompts` numbers them; None
                copies it whole.
            session: Copy another session instead, an id or name, whole. It is only read, whoever holds it.

        Raises:
            TauError: There is no such turn or session, nothing to copy, a turn runs, or the copy failed.
        """
        self._free()
        async with self._lock:
            self._nothing_waits()
            if session and (found := self._found(session)) != self.state.session_id:
                assert self._store is not None
                with self._store.read(found) as source:
                    return await self._switch(self.opener.fork(source))
            before = None
            if turn is not None:
                listed = await history.prompts(self.reader)
                number = history.numbered(listed, turn).number
                before = listed[number].index if number < len(listed) else None
            return await self._switch(self.opener.fork(self.reader, before=before, role=self.state.role))

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
        self._refresh()
        return replace(taken, state=self.state)

    def _free(self) -> None:
        if self._turn_task is not None:
            raise UsageError(notices.BUSY)
        if self._compaction_task is not None:
            raise UsageError(SUMMARIZING)

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
        if name == self.state.name:  # which the sessions that this one continues have as well
            return
        self.opener.check_name(name, session_id=self.state.session_id)
        self.writer.patch_meta({"name": name}, touch=False)
        self.writer.flush()
        self.catalog.record(self.writer, [])
        self._refresh()

    async def follow(self) -> Opening | None:
        """Look again at a session that is held elsewhere.

        Returns:
            The session as it is now, or the one that its writer went on in; held for writing if its writer is
            gone. None when nothing changed.
        """
        async with self._lock:
            session = self._session
            if session is None or session.writer is not None or self._store is None:
                return None
            session_id = session.reader.session_id
            if self._store.holder(session_id) is None:
                # Its writer may have gone on in another session, which is then the conversation.
                newest = whole_chain(self._read, session_id)[-1]
                try:
                    opened = self.opener.resume(newest, read_along=True)
                except TauError as error:
                    log.info("Session %s is free but cannot be opened: %s", newest, error.line())
                    return None
                if opened.writer is not None or newest != session_id:
                    return await self._switch(opened)
                opened.reader.close()
            seen = (session.reader.count(), len(session.reader.scratch()))
            if seen == self._followed:
                return None
            self._followed = seen
            self._refresh()
            opening = self._look_at(session)
            return replace(opening, state=self.state)

    async def close(self) -> None:
        """Stop what runs, make everything durable and let go.

        Raises:
            StoreError: Something that was said could not be saved; everything is closed all the same.
        """
        await self.cancel()
        if self._titling is not None:
            self._titling.cancel()
            await asyncio.wait({self._titling})
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
