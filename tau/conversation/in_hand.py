"""The session in hand, what channels are shown of it, and what can be looked at beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tau.agent import notices
from tau.config.settings import Settings
from tau.conversation import history
from tau.conversation.answerer import Answerer
from tau.conversation.compacting import Compactor
from tau.conversation.damage import tell_damage
from tau.conversation.opening import OpenSession, SessionOpener
from tau.conversation.state import ConversationState, HistoryPage, Opening, OpenRequest
from tau.conversation.totals import Totals
from tau.errors import StoreError
from tau.events import from_line
from tau.sessions.catalog import Catalog
from tau.sessions.records import ListQuery, SearchHit, SessionSummary
from tau.sessions.store import SessionReader, SessionStore, SessionWriter

if TYPE_CHECKING:
    from tau.agent.runner import AgentRunner

LIVE_TURNS = 40
"""Turns of an earlier session that a channel is handed at once."""

REPLAYED_EVENTS = 200
"""Stored agent events, the newest, that a channel is handed at once."""


class InHand:
    """The session that a conversation is on, and the store that it is from. Lives on the engine's loop.

    Args:
        settings: The settings of this run.
        request: What to open first.
        publish: Called with each new state, on the engine's thread.

    Attributes:
        state: What channels are shown.
        listing: The ids that ``/sessions`` printed last.
    """

    _answerer: Answerer

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
        self._totals = Totals()
        self._followed = (0, 0)
        self._compactor = Compactor(settings)

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

    def _read(self, session_id: str) -> SessionReader:
        """A session of the store, open for reading; once `open` has succeeded."""
        assert self._store is not None
        return self._store.read(session_id)

    def _look_at(self, opened: OpenSession) -> Opening:
        """What a channel is shown of a session; everything that can fail about it happens here."""
        try:
            reader = opened.reader
            newest = history.page(reader, before=None, turns=LIVE_TURNS, read=self._read)
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
        self._compactor.begin()
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

    def _use(self, runner: AgentRunner | None) -> None:
        self._answerer.use(runner)
        if self._session is not None:
            self._refresh()

    def _found(self, target: str, *, everywhere: bool = False) -> str:
        """The id of the session that a person means.

        Raises:
            SessionNotFound: There is none, or several fit.
        """
        everywhere = everywhere or self.settings.sessions.scope == "all"
        return self.catalog.resolve(target, directory=None if everywhere else self.state.directory)

    # Looking at sessions ------------------------------------------------------------------------

    async def earlier(self, before: int, turns: int, session_id: str) -> HistoryPage:
        """The turns before an index of the session in hand, or of one that it continues."""
        if not session_id or session_id == self.state.session_id:
            return history.page(self.reader, before=before, turns=turns, read=self._read)
        assert self._store is not None
        with self._store.read(session_id) as reader:
            return history.page(reader, before=before, turns=turns, read=self._read)

    async def preview(self, session_id: str, turns: int) -> HistoryPage:
        """The newest turns of any session. Writes nothing."""
        assert self._store is not None
        with self._store.read(session_id) as reader:
            return history.page(reader, before=None, turns=turns, read=self._read)

    async def summaries(self, query: ListQuery) -> list[SessionSummary]:
        """Sessions, newest first."""
        return await asyncio.to_thread(self.catalog.summaries, query)

    async def search(self, words: str, query: ListQuery) -> list[SearchHit]:
        """Messages that hold the words."""
        return await asyncio.to_thread(self.catalog.search, words, query)

    async def export(self, given: str) -> Sequence[str]:
        """Write the session in hand to a file, on a thread; see `tau.conversation.exporting.export`."""
        from tau.conversation.exporting import export

        return await asyncio.to_thread(export, self._read, self.state, given)

    # State --------------------------------------------------------------------------------------

    def _measured(self) -> int | None:
        """About how many tokens the next request has; None while nothing is said, or no agent can tell."""
        runner = self._answerer.runner
        if runner is None:
            return self._totals.context
        return runner.reading.tokens if runner.messages_in_memory else None

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
            cost=self._totals.cost,
            context_tokens=self._measured(),
            compacts_at=self._compactor.point(self.state.role, self.state.model),
        )

    def _set(self, **changes: object) -> None:
        state = replace(self.state, **changes)  # type: ignore[arg-type]  # the keys are fields of the state
        if state != self.state:
            self.state = state
            self._publish(state)
