"""The session in hand, what channels are shown of it, and what can be looked at beside it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import structs

from tau.agent import notices
from tau.config.settings import Settings
from tau.conversation import history
from tau.conversation.answerer import Answerer
from tau.conversation.compacting import Compactor
from tau.conversation.damage import tell_damage
from tau.conversation.opening import OpenSession, SessionOpener
from tau.conversation.own_commands import waiting
from tau.conversation.recorded_calls import RecordedCalls
from tau.conversation.state import ConversationState, HistoryPage, Opening, OpenRequest
from tau.conversation.totals import Totals
from tau.errors import StoreError
from tau.events import SharedCommandRecord, from_line
from tau.sessions.catalog import Catalog
from tau.sessions.names import is_picked
from tau.sessions.records import ListQuery, Meta, SearchHit, SessionSummary
from tau.sessions.store import SessionReader, SessionStore, SessionWriter

if TYPE_CHECKING:
    from tau.agent.recorder import ReadBack
    from tau.agent.runner import AgentRunner

log = logging.getLogger(__name__)

LIVE_TURNS = 40
"""Turns of an earlier session that a channel is handed at once."""

REPLAYED_EVENTS = 200
"""Stored agent events, the newest, that a channel is handed at once."""


@dataclass(frozen=True, slots=True)
class Look:
    """What is known of a session before it is taken in hand, so that taking it cannot fail.

    Attributes:
        opening: What a channel is shown.
        meta: Its metadata.
        count: Messages on record.
        seen: How far its record had come: messages, and characters of a reply that streams.
        shared: The person's commands whose output is in no message yet.
    """

    opening: Opening
    meta: Meta
    count: int
    seen: tuple[int, int]
    shared: tuple[SharedCommandRecord, ...]


class InHand:
    """The session that a conversation is on, and the store that it is from. Lives on the engine's loop.

    Args:
        settings: The settings of this run.
        request: What to open first.
        publish: Called with each new state, on the engine's thread.

    Attributes:
        state: What channels are shown.
        listing: The ids that ``/sessions`` printed last.
        answerer: The model in force and the agent on the session.
        session: The session; None before the first one is open.
        forked_from: The session whose messages it begins with, or empty.
        totals: What its calls took so far.
        compactor: When it is compacted.
    """

    answerer: Answerer

    def __init__(
        self, settings: Settings, request: OpenRequest, publish: Callable[[ConversationState], None]
    ) -> None:
        self.settings = settings
        self.request = request
        self.state = ConversationState(session_id="", directory=str(settings.directory))
        self.listing: list[str] = []
        self._publish = publish
        self._gathers = False
        self._store: SessionStore | None = None
        self._catalog: Catalog | None = None
        self._opener: SessionOpener | None = None
        self.session: OpenSession | None = None
        self.forked_from = ""
        self.totals = Totals()
        self.compactor = Compactor(settings)
        self._seen = (0, 0)

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
        assert self.session is not None
        return self.session.reader

    @property
    def writer(self) -> SessionWriter | None:
        """The session in hand where this process may write it."""
        return self.session.writer if self.session else None

    def place(self) -> str:
        """Where the store keeps its record, or the empty string."""
        return self._store.capabilities.location if self._store is not None else ""

    def read(self, session_id: str) -> SessionReader:
        """A session of the store, open for reading; once `open` has succeeded."""
        assert self._store is not None
        return self._store.read(session_id)

    def hold(self, session_id: str) -> SessionWriter:
        """A session of the store that is not in hand, open for writing.

        Raises:
            TauError: It cannot be held.
        """
        assert self._store is not None
        return self._store.hold(session_id)

    def is_held(self, session_id: str) -> bool:
        """Whether a session is open for writing, here or elsewhere."""
        assert self._store is not None
        return self._store.holder(session_id) is not None

    # Going from session to session ----------------------------------------------------------------

    def look_at(self, opened: OpenSession) -> Look:
        """Read what is shown of a session; everything that can fail about it happens here.

        Raises:
            StoreError: It cannot be read, or what is damaged not be noted.
        """
        reader = opened.reader
        newest = history.page(reader, before=None, turns=LIVE_TURNS, read=self.read)
        events = [from_line(line) for line in reader.events(limit=REPLAYED_EVENTS)]
        told = [*opened.notices, *tell_damage(opened)]
        if opened.writer is not None:
            opened.writer.flush()
        meta, count = reader.meta(), reader.count()
        seen = count, len(reader.scratch())
        opening = Opening(
            state=self.state,
            history=newest,
            events=[event for event in events if event is not None],
            notices=told,
        )
        return Look(opening, meta, count, seen, waiting(reader, events))

    def look_again(self) -> Opening | None:
        """What there is to show of a session that another process writes; None when nothing is new.

        Raises:
            StoreError: It cannot be read.
        """
        assert self.session is not None
        reader = self.session.reader
        seen = reader.count(), len(reader.scratch())
        if seen == self._seen:
            return None
        look = self.look_at(self.session)
        self._seen = seen
        self.show(shared=look.shared)
        self._show_session(look.meta, look.count)
        return look.opening

    def nothing_waits(self) -> None:
        """See that everything said is on record.

        Raises:
            StoreError: It is not.
        """
        runner = self.answerer.runner
        if runner is not None and not runner.flush():
            raise StoreError(notices.not_left(runner.unsaved))

    def take(self, opened: OpenSession, look: Look, runner: AgentRunner | None) -> Opening:
        """Make an opened session the one in hand; the one before is let go of. Cannot fail."""
        lost = self._let_go()
        assert self._store is not None
        self.session, self._seen = opened, look.seen
        self.forked_from = str(look.meta.get("forked_from") or "")
        self.totals = Totals(look.meta)
        self.compactor.begin()
        with self._shown_at_once():
            self.show(
                session_id=opened.reader.session_id,
                profile=self.settings.profile,
                role=opened.role,
                held=opened.held,
                persistent=self._store.capabilities.persistent,
                context=self.settings.agent.context,
                window_size=self.settings.agent.window_size,
                unsaved="",
                in_memory=0,
                shared=look.shared,
            )
            self.answerer.use(runner)
            self._show_session(look.meta, look.count)
        if opened.writer is not None:
            self.index(lambda catalog: catalog.mark_open(opened.reader.session_id))
        return structs.replace(look.opening, state=self.state, notices=[*lost, *look.opening.notices])

    def move(self, opened: OpenSession, look: Look, read: ReadBack) -> None:
        """Make the session that continues the one in hand the one in hand; the agent stays. Cannot fail.

        Args:
            opened: The session, held for writing.
            look: What is known of it.
            read: What the agent is restored from there.
        """
        old, runner = self.session, self.answerer.runner
        assert old is not None
        assert runner is not None
        recorded = runner.take_recorded()
        runner.move_to(read)
        self.session, self._seen = opened, look.seen
        self.answerer.carry_over(old.reader.session_id, opened.reader.session_id)
        self.forked_from = ""
        self.totals.measured(runner.reading.tokens, look.count, runner.reading.chars_a_token)
        with self._shown_at_once():
            self.show(
                session_id=opened.reader.session_id,
                unsaved="",
                context_tokens=self.totals.context,
                shared=look.shared,
            )
            self._show_session(look.meta, look.count)
        self.index(lambda catalog: catalog.record(old.reader, recorded))
        self._close(old)
        self.index(lambda catalog: catalog.mark_open(opened.reader.session_id))
        self.index(lambda catalog: catalog.record(opened.reader, []))

    def _let_go(self) -> list[str]:
        """Close the session in hand. Returns what of it could not be saved, a line each."""
        session, self.session = self.session, None
        runner, self.answerer.runner = self.answerer.runner, None
        if session is None:
            return []
        lost = []
        if runner is not None and not runner.flush():
            lost.append(notices.lost(session.reader.session_id, runner.unsaved))
        unclosed = self._close(session)
        return lost or ([notices.lost(session.reader.session_id, unclosed)] if unclosed else [])

    def _close(self, session: OpenSession) -> str:
        """Close a session. Returns why what was last written to it may not be saved, or the empty string."""
        failed = ""
        try:
            session.reader.close()
        except StoreError as error:
            failed = error.line()
            log.warning("Session %s was not closed cleanly: %s", session.reader.session_id, failed)
        if session.writer is not None:
            self.index(lambda catalog: catalog.mark_closed(session.reader.session_id))
        return failed

    def index(self, note: Callable[[Catalog], object]) -> None:
        """Tell the index of a change. The record is complete without it, so nothing fails with it."""
        try:
            note(self.catalog)
        except Exception as error:  # noqa: BLE001  # whatever is wrong with it, it is only an index
            log.warning("The session index was not told of a change: %s", error)

    def use(self, runner: AgentRunner | None) -> None:
        """Make an agent the one that answers in the session in hand, and show the session with it.

        Raises:
            StoreError: The session cannot be read.
        """
        self.answerer.use(runner)
        self.compactor.begin()
        if self.session is not None:
            self.refresh()

    def found(self, target: str, *, everywhere: bool = False) -> str:
        """The id of the session that a person means.

        Raises:
            SessionNotFound: There is none, or several fit.
        """
        everywhere = everywhere or self.settings.sessions.scope == "all"
        return self.catalog.resolve(target, directory=None if everywhere else self.settings.directory_text)

    async def is_called(self, target: str) -> bool:
        """Whether a session that `found` would find has exactly this id or name."""
        everywhere = self.settings.sessions.scope == "all"
        directory = None if everywhere else self.settings.directory_text
        return await asyncio.to_thread(self.catalog.is_called, target, directory=directory)

    # Looking at sessions ------------------------------------------------------------------------

    async def earlier(self, before: int, turns: int, session_id: str, calls: RecordedCalls) -> HistoryPage:
        """The turns before an index of the session in hand, or of one that it continues.

        Args:
            before: The index.
            turns: How many.
            session_id: The session; empty for the one in hand.
            calls: What is known of calls from pages that were read before.
        """
        with self.read(session_id or self.state.session_id) as reader:
            return history.page(reader, before=before, turns=turns, read=self.read, calls=calls)

    async def preview(self, session_id: str, turns: int) -> HistoryPage:
        """The newest turns of any session. Writes nothing."""
        with self.read(session_id) as reader:
            return history.page(reader, before=None, turns=turns, read=self.read)

    async def summaries(self, query: ListQuery) -> list[SessionSummary]:
        """Sessions, newest first."""
        return await asyncio.to_thread(self.catalog.summaries, query)

    async def search(self, words: str, query: ListQuery) -> list[SearchHit]:
        """Messages that hold the words."""
        return await asyncio.to_thread(self.catalog.search, words, query)

    async def export(self, given: str) -> Sequence[str]:
        """Write the session in hand to a file, on a thread; see `tau.conversation.exporting.export`."""
        from tau.conversation.exporting import export

        return await asyncio.to_thread(export, self.read, self.state, given)

    # State --------------------------------------------------------------------------------------

    def measured(self) -> int | None:
        """About how many tokens the next request has; None while nothing is said, or no agent can tell."""
        runner = self.answerer.runner
        if runner is None:
            return self.totals.context
        return runner.reading.tokens if runner.messages_in_memory else None

    def refresh(self) -> None:
        """Show the session as it now is.

        Raises:
            StoreError: It cannot be read.
        """
        self._show_session(self.reader.meta(), self.reader.count())

    def _show_session(self, meta: Meta, count: int) -> None:
        runner = self.answerer.runner
        self.show(
            name=str(meta.get("name") or ""),
            called=self._called(meta),
            title=str(meta.get("title") or ""),
            message_count=count,
            in_memory=runner.messages_in_memory if runner else self.state.in_memory,
            usage=self.totals.usage,
            turns=self.totals.turns,
            cost=self.totals.cost,
            compacts_at=self.compactor.point(self.state.role, self.state.model),
        )
        self.show_filled()

    def show_filled(self) -> None:
        """Show how full the window is, and what follows from that."""
        runner, tokens = self.answerer.runner, self.measured()
        outlook = self.compactor.outlook(
            runner.compaction if runner else None,
            point=self.state.compacts_at,
            tokens=tokens,
            in_turn=runner is not None and runner.is_running,
        )
        self.show(context_tokens=tokens, compaction=outlook)

    def _called(self, meta: Meta) -> str:
        name = str(meta.get("name") or "")
        is_here = meta.get("directory") == self.settings.directory_text  # names are those of a directory
        return name if name and is_here and not is_picked(name) else self.state.session_id

    def show(self, **changes: object) -> None:
        """Change what channels are shown: fields of the state."""
        before, self.state = self.state, structs.replace(self.state, **changes)
        if self.state != before and not self._gathers:
            self._publish(self.state)

    @contextmanager
    def _shown_at_once(self) -> Iterator[None]:
        """What is shown inside is handed up as one state: nobody sees a session with what was another's."""
        before, self._gathers = self.state, True
        try:
            yield
        finally:
            self._gathers = False
        if self.state != before:
            self._publish(self.state)
