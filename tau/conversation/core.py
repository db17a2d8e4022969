"""The engine's side of a conversation: the store, the session in hand, the model and the turn.

Everything here runs on the engine's loop, one call at a time but for `cancel`.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from tau.agent import notices
from tau.config.settings import Settings
from tau.conversation import history
from tau.conversation.opening import OpenSession, SessionOpener
from tau.conversation.state import ConversationState, HistoryPage, Opening, OpenRequest
from tau.errors import ModelError, SessionHeld, StoreError, TauError, UsageError
from tau.events import Notice, TurnEnd, TurnEvent, Usage, UsageReported, from_line
from tau.models.info import ModelInfo
from tau.models.registry import PreparedModel, prepare
from tau.sessions.catalog import Catalog
from tau.sessions.records import ListQuery, MetaValue, SearchHit, SessionSummary
from tau.sessions.registry import open_store
from tau.sessions.store import SessionReader, SessionStore, SessionWriter
from tau.tools.context import Grants, ToolContext
from tau.tools.registry import build_tools

if TYPE_CHECKING:
    from tau.agent.runner import AgentRunner

log = logging.getLogger(__name__)

LIVE_TURNS = 40
"""Turns of an earlier session that a channel is handed at once."""

REPLAYED_EVENTS = 200
"""Stored agent events, the newest, that a channel is handed at once."""


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
        self._store: SessionStore | None = None
        self._catalog: Catalog | None = None
        self._opener: SessionOpener | None = None
        self._session: OpenSession | None = None
        self._prepared: PreparedModel | None = None
        self._runner: AgentRunner | None = None
        self._totals = _Totals()
        self._grants = Grants()
        self._warming: asyncio.Task[None] | None = None
        self._idle = asyncio.Event()
        self._idle.set()

    # Opening ------------------------------------------------------------------------------------

    async def open(self) -> Opening:
        """Open the store and the session the channel asked for. Imports neither strands nor a provider."""
        self._store = open_store(self.settings, channel=self.request.channel)
        self._catalog = Catalog(self._store, state_dir=self.settings.places.state)
        self._opener = SessionOpener(self._store, self._catalog, self.settings, self.request.channel)
        return self._take(self._opener.open(self.request))

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

    def _take(self, opened: OpenSession) -> Opening:
        """Make a freshly opened session the one in hand; the one before is let go of."""
        lost = self._let_go()
        self._session = opened
        self._grants = Grants()
        if opened.writer is not None:
            self.catalog.mark_open(opened.reader.session_id)
        newest = history.page(opened.reader, before=None, turns=LIVE_TURNS)
        events = [from_line(line) for line in opened.reader.events(limit=REPLAYED_EVENTS)]
        told = [*lost, *opened.notices, *self._damage(opened)]
        meta = opened.reader.meta()
        self._totals = _Totals.read(meta)
        assert self._store is not None
        same_role = self.state.role == opened.role
        self._set(
            session_id=opened.reader.session_id,
            profile=self.settings.profile,
            role=opened.role,
            held_by=opened.held_by,
            persistent=self._store.capabilities.persistent,
            context=self.settings.agent.context,
            window_size=self.settings.agent.window_size,
            model=self.state.model if same_role else None,
            unsaved="",
            in_memory=0,
        )
        self._refresh()
        if opened.writer is not None:
            opened.writer.flush()
            if self._prepared is not None and same_role:
                self._build()
        return Opening(
            state=self.state,
            history=newest,
            events=[event for event in events if event is not None],
            notices=told,
        )

    def _damage(self, opened: OpenSession) -> list[str]:
        """One notice a damaged part, once in the life of the session."""
        told = str(opened.reader.meta().get("damage_told") or "").split("|")
        new = [item for item in opened.reader.damage() if item.part not in told]
        if new and opened.writer is not None:
            parts = [part for part in told if part] + [item.part for item in new]
            opened.writer.patch_meta({"damage_told": "|".join(parts)}, touch=False)
        kept = {True: "its content is kept elsewhere", False: "everything else is sound"}
        return [
            f"{item.part} of session {opened.reader.session_id} is damaged ({item.reason}) "
            f"and was left as it is; {kept[item.recovered]}."
            for item in new
        ]

    def _let_go(self) -> list[str]:
        """Close the session in hand. Returns what of it could not be saved, a line each."""
        session, self._session = self._session, None
        runner, self._runner = self._runner, None
        if session is None:
            return []
        lost = []
        if runner is not None and not runner.flush():
            lost.append(notices.lost(session.reader.session_id, runner.unsaved))
        try:
            session.reader.close()
        except StoreError as error:
            if not lost:
                lost.append(notices.lost(session.reader.session_id, error.line()))
        if session.writer is not None:
            self.catalog.mark_closed(session.reader.session_id)
        return lost

    # The model ----------------------------------------------------------------------------------

    async def prepare_model(self) -> ModelInfo:
        """Prepare the model of the role in force and build the agent on the session.

        Raises:
            TauError: The model cannot be used; the state's `model_problem` says why.
        """
        role = self.state.role
        try:
            self._prepared = await prepare(self.settings, role, environ=os.environ)
        except TauError as error:
            self._prepared = self._runner = None
            self._set(model=None, model_problem=error.line())
            raise
        self._set(model=self._prepared.info, model_problem="")
        # The SDK takes the better part of a second to import; the loop stays free meanwhile.
        await asyncio.to_thread(_import_agent)
        if self.writer is not None:
            self._build()
        return self._prepared.info

    async def use_role(self, role: str) -> ModelInfo:
        """Change the model role; the old one stays in force when the new one cannot be used.

        Raises:
            TauError: The role is unknown or its model cannot be used.
        """
        before = (self.state.role, self._prepared, self.state.model, self.state.model_problem)
        self._set(role=role)
        try:
            info = await self.prepare_model()
        except TauError:
            old_role, self._prepared, model, problem = before
            self._set(role=old_role, model=model, model_problem=problem)
            if self._prepared is not None and self.writer is not None:
                self._build()
            raise
        if before[1] is not None:
            await asyncio.to_thread(before[1].close)
        if self.writer is not None:
            self.writer.patch_meta({"role": role})
        return info

    def _build(self) -> None:
        from tau.agent.prompt import system_prompt
        from tau.agent.runner import AgentRunner

        assert self._prepared is not None
        assert self.writer is not None
        context = ToolContext(
            directory=self.settings.directory,
            state_dir=self.settings.places.state,
            session_id=self.writer.session_id,
            context=self.settings.context,
            grants=self._grants,
        )
        self._runner = AgentRunner(
            model=self._prepared.model,
            writer=self.writer,
            settings=self.settings.agent,
            system_prompt=system_prompt(self.settings, bare=self.request.bare),
            tool_context=context,
            tools=build_tools(context, disabled=self.settings.plugins.disabled),
            on_unsaved=lambda reason: self._set(unsaved=reason),
        )
        if self._warming is not None:
            self._warming.cancel()
        self._warming = asyncio.create_task(self._runner.warm_up())
        self._refresh()

    # The turn -----------------------------------------------------------------------------------

    async def turn(self, text: str, emit: Callable[[TurnEvent], None]) -> None:
        """Run one turn; `emit` gets its events, the `TurnEnd` last, whatever happens."""
        if self.state.busy:
            emit(TurnEnd("busy", notices.BUSY))
            return
        self._idle.clear()
        self._set(busy=True)
        end = TurnEnd("error", "The turn ended unexpectedly; the log says more.")
        try:
            end = await self._turn(text, emit)
        except TauError as error:
            end = TurnEnd("error", error.line())
        except Exception:
            log.exception("A turn failed in session %s", self.state.session_id)
            end = TurnEnd("error", f"The turn failed inside tau; see {self.settings.places.logs / 'tau.log'}")
        finally:
            self._set(busy=False)
            emit(end)
            self._idle.set()
        self._index()

    async def _turn(self, text: str, emit: Callable[[TurnEvent], None]) -> TurnEnd:
        if self.state.held_by:
            raise SessionHeld(self.state.session_id, self.state.held_by)
        if not text.strip():
            raise UsageError("The message is empty; nothing was sent")
        if self._runner is None:
            await self.prepare_model()
        assert self._runner is not None
        assert self.writer is not None

        def pass_on(event: TurnEvent) -> None:
            if isinstance(event, UsageReported):
                self._totals.count(event.usage)
                self._set(usage=self._totals.usage, context_tokens=self._totals.context)
            emit(event)

        end = await self._runner.run(text, pass_on)
        if end.stop_reason != "error":
            self._totals.turns += 1
        try:
            self.writer.patch_meta(self._totals.meta(), touch=False)
        except TauError as error:
            pass_on(Notice(f"The totals of this session are not saved: {error.line()}", "warning"))
        self._runner.flush()
        self._refresh()
        return end

    async def cancel(self) -> None:
        """Cancel the running turn; returns when it is over and recorded."""
        if self._runner is not None:
            await self._runner.cancel()
        await self._idle.wait()

    def _index(self) -> None:
        """Bring the index up to date; the record is complete without it."""
        if self._runner is not None and self._session is not None:
            self.catalog.record(self._session.reader, self._runner.take_recorded())

    # Sessions -----------------------------------------------------------------------------------

    async def switch(self, target: str, *, everywhere: bool) -> Opening:
        """Go on with another session. The current one stays in hand when that fails.

        Raises:
            TauError: Not found, held and not readable, recorded under another window, or a turn runs.
        """
        self._free()
        directory = None if everywhere else self.state.directory
        found = self.catalog.resolve(target, directory=directory)
        if found == self.state.session_id and self.writer is not None:
            raise UsageError(f"Session {found} is the current one")
        opened = self.opener.resume(found, read_along=self.request.read_only_ok)
        return await self._switch(opened)

    async def new(self, name: str | None = None) -> Opening:
        """Begin a new session on the current role.

        Raises:
            TauError: A turn runs, the name is taken, or the store refused.
        """
        self._free()
        return await self._switch(self.opener.create(role=self.state.role, name=name))

    async def _switch(self, opened: OpenSession) -> Opening:
        opening = self._take(opened)
        if self._runner is None and opened.writer is not None:
            try:
                await self.prepare_model()
            except ModelError as error:
                log.warning("The model of role %s is not ready: %s", self.state.role, error.line())
        return replace(opening, state=self.state)

    def _free(self) -> None:
        if self.state.busy:
            raise UsageError(notices.BUSY)

    def place(self) -> str:
        """Where the store keeps its record, or the empty string."""
        return self._store.capabilities.location if self._store is not None else ""

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
        if self._warming is not None:
            self._warming.cancel()
        lost = self._let_go()
        if self._prepared is not None:
            await asyncio.to_thread(self._prepared.close)
        if self._catalog is not None:
            self._catalog.close()
        if self._store is not None:
            self._store.close()
        if lost:
            raise StoreError(lost[0])

    # State --------------------------------------------------------------------------------------

    def _refresh(self) -> None:
        meta = self.reader.meta()
        in_memory = self._runner.messages_in_memory if self._runner else self.state.in_memory
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


class _Totals:
    """The running totals of a session, flat in its metadata."""

    def __init__(self) -> None:
        self.usage = Usage()
        self.turns = 0
        self.context: int | None = None

    @classmethod
    def read(cls, meta: dict[str, MetaValue]) -> _Totals:
        def number(key: str) -> int:
            value = meta.get(key)
            return int(value) if isinstance(value, int | float) else 0

        totals = cls()
        totals.usage = Usage(number("tokens_in"), number("tokens_out"), number("tokens_cached"))
        totals.turns = number("turns")
        totals.context = number("context_tokens") or None
        return totals

    def count(self, usage: Usage) -> None:
        """Add one model call."""
        self.usage = Usage(
            self.usage.input_tokens + usage.input_tokens,
            self.usage.output_tokens + usage.output_tokens,
            self.usage.cached_tokens + usage.cached_tokens,
        )
        self.context = usage.input_tokens + usage.cached_tokens + usage.output_tokens or None

    def meta(self) -> dict[str, MetaValue]:
        """The totals as metadata keys."""
        return {
            "tokens_in": self.usage.input_tokens,
            "tokens_out": self.usage.output_tokens,
            "tokens_cached": self.usage.cached_tokens,
            "turns": self.turns,
            "context_tokens": self.context,
        }


def _import_agent() -> None:
    import tau.agent.runner  # noqa: F401  # imported for its weight, off the engine's loop
