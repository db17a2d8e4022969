"""The session store's contract: what a backend promises, and what tau asks of it.

A store keeps sessions; a session is its messages, agent state, metadata and events. Backends register under
the entry point group ``tau.sessions`` with a factory ``(StoreContext) -> SessionStore`` and are chosen by
``[sessions] backend``. `tau.testing.SessionStoreContract` checks every promise made here.

Promises every store keeps:

- **Nothing is deleted** and nothing is overwritten: there is no delete, `SessionWriter.append` refuses an
  index that exists, and only `SessionWriter.redact` replaces a message.
- **Written first, counted after**: when an append raises, the message does not exist and the next append at
  the same index may succeed.
- **Acknowledged survives**: what was appended before `SessionWriter.flush` returned survives a power cut, if
  the store declares itself durable; what was appended before a kill survives the kill.
- **One writer**: a session is held by at most one writer, across processes where the store is shared; the
  hold ends with its process.
- **Scratch is no record**: what streams of a reply, and results of calls, may be kept until the message that
  holds them is recorded. Both survive a kill, neither is waited for, and neither shows in a summary or among
  messages and events. Both are optional: a store that keeps no scratch inherits methods that do nothing.
- **Reading never writes** and never waits for a writer. What is damaged is named and skipped, and never
  hides what is sound.

All calls are synchronous and may block on a disk or network; tau makes them on its engine thread. A reader
or writer is used by one thread at a time; a store itself may be called from several.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tau.sessions.records import (
    AgentState,
    Damage,
    Holder,
    ListQuery,
    Message,
    Meta,
    MetaValue,
    SearchHit,
    SessionSummary,
    StoredMessage,
)

_STREAMED = 500
"""Messages that are read at a time where a store cannot do better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreContext:
    """What a store's factory is given.

    Attributes:
        data_dir: Where tau keeps its record (``TAU_DATA_DIR``); a store that keeps files keeps them here.
        state_dir: Where things that can be rebuilt go (indexes, caches).
        options: The table ``[component.NAME]`` of the configuration, as it stands there.
        channel: The channel that opens the store (``tui``, ``terminal``, …), for `Holder`.
    """

    data_dir: Path
    state_dir: Path
    options: Mapping[str, Any] = field(default_factory=dict)
    channel: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a store declares of itself; tau never guesses.

    Attributes:
        durable: `flush` means: survives a power cut.
        persistent: Sessions outlive the process.
        shared: Several processes may use the store; holds are kept between them.
        search: `search` is the store's own. Otherwise tau keeps an index of its own beside it.
        location: Where the record is, for people and as the index's key; empty when nowhere.
    """

    durable: bool = False
    persistent: bool = False
    shared: bool = False
    search: bool = False
    location: str = ""


class SessionReader(ABC):
    """A session opened for reading. Sees what a writer in another process has appended since."""

    session_id: str

    @abstractmethod
    def summary(self) -> SessionSummary:
        """The session as listings show it, read from the record now."""

    @abstractmethod
    def meta(self) -> Meta:
        """The metadata, a copy. Empty when it is damaged."""

    @abstractmethod
    def count(self) -> int:
        """Messages recorded: one more than the last index; 0 when there are none."""

    @abstractmethod
    def messages(self, *, offset: int = 0, limit: int | None = None) -> list[StoredMessage]:
        """Messages in order of index, from `offset`, at most `limit`.

        A damaged message is left out and named by `damage`. Costs what is returned, not what is stored.
        """

    def stream(self, *, offset: int = 0, limit: int | None = None) -> Iterator[StoredMessage]:
        """As `messages`, one after the other: reads a long session through without holding all of it.

        The session is read on as messages are asked for; it has to stay open until the last one.
        """
        count = self.count()
        start = max(offset, 0)
        end = count if limit is None else min(count, start + max(limit, 0))
        for begin in range(start, end, _STREAMED):
            yield from self.messages(offset=begin, limit=min(_STREAMED, end - begin))

    def may_hold(self, words: Sequence[str]) -> bool:
        """Whether the messages and metadata may hold all these words; False is certain.

        A search without an index asks before it reads a session. A store that cannot tell more cheaply than
        by reading leaves it at True.

        Args:
            words: Lower-case ASCII letters and digits; case does not matter, nor where in a word they stand.
        """
        return True

    def scratch(self) -> str:
        """What was streamed of a reply whose message is not recorded, or the empty string.

        It is no part of the record: a writer keeps it while a reply streams, so that a killed process does
        not take along what a person could already read. A store without it returns the empty string.
        """
        return ""

    def kept_results(self) -> list[dict[str, Any]]:
        """What `SessionWriter.keep_result` kept since it was last cleared, in order; empty in most sessions.

        It is no part of the record. What a kill cut short, or what is damaged, is left out, and hides nothing
        that was kept before or after it. A store without it returns an empty list.
        """
        return []

    @abstractmethod
    def agent_state(self) -> AgentState | None:
        """The agent's state, or None when none was written or it is damaged."""

    @abstractmethod
    def events(self, *, limit: int | None = None) -> list[dict[str, Any]]:
        """Agent events in order of appending; with `limit`, the last so many. Truncated lines are skipped."""

    @abstractmethod
    def damage(self) -> Sequence[Damage]:
        """What this reader met so far and could not read, or could read only from elsewhere."""

    @abstractmethod
    def close(self) -> None:
        """Let go of files and locks. May be called twice."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class SessionWriter(SessionReader):
    """A session held for writing. Also reads, and reads its own writes."""

    @abstractmethod
    def append(self, index: int, message: Message) -> StoredMessage:
        """Record a message at `index`, which is `count()`. It survives a kill when this returns.

        Moves the session's `updated_at` forward (never back, whatever the clock does).

        Raises:
            MessageExists: `index` is recorded already; nothing was written.
            ValueError: `index` would leave a gap, or the message is not plain JSON; nothing was written.
            StoreWriteFailed: The disk refused; nothing was counted.
        """

    @abstractmethod
    def redact(self, index: int, message: Message) -> None:
        """Replace what a message shows. The only way to change a message.

        Raises:
            KeyError: No message is recorded at `index`.
            StoreWriteFailed: The disk refused; the message is as it was.
        """

    @abstractmethod
    def write_agent_state(self, state: AgentState) -> None:
        """Replace the agent's state as a whole.

        Raises:
            StoreWriteFailed: The disk refused; the state is as it was.
        """

    @abstractmethod
    def patch_meta(self, changes: Mapping[str, MetaValue], *, touch: bool = True) -> Meta:
        """Set metadata keys (None removes one) and return the whole.

        Args:
            changes: The keys to set.
            touch: Whether the session moves to the top of listings. False for a rename.

        Raises:
            StoreWriteFailed: The disk refused; the metadata is as it was.
        """

    @abstractmethod
    def append_event(self, event: Mapping[str, Any]) -> None:
        """Append one agent event (`tau.events.to_line`). Does not move `updated_at`.

        Raises:
            StoreWriteFailed: The disk refused; the event is not recorded.
        """

    def append_scratch(self, text: str) -> None:
        """Add to what `scratch` returns. Survives a kill; never waits for the disk.

        Raises:
            StoreWriteFailed: The disk refused.
        """

    def clear_scratch(self) -> None:
        """Empty what `scratch` returns; its text is recorded or given up. Leaves `kept_results` alone.

        Raises:
            StoreWriteFailed: The disk refused.
        """

    def keep_result(self, result: Mapping[str, Any]) -> None:
        """Add to what `kept_results` returns: a call has ended, and its result is in no message yet.

        Survives a kill when this returns, and the session's being closed and opened again. Never waits for
        the disk: a power cut may take it, whether or not `flush` was called. Does not move `updated_at`.

        Args:
            result: A JSON object, which the store does not look into.

        Raises:
            ValueError: It is not plain JSON; nothing was kept.
            StoreWriteFailed: The disk refused; it is not kept, and what was kept before still is.
        """

    def clear_kept_results(self) -> None:
        """Empty what `kept_results` returns; it is recorded or given up. Leaves `scratch` alone.

        Cheap when nothing is kept.

        Raises:
            StoreWriteFailed: The disk refused.
        """

    @abstractmethod
    def flush(self) -> None:
        """Return when everything written so far survives a power cut. Cheap when nothing is new.

        Raises:
            StoreWriteFailed: It may not survive. Later writes may succeed and a later flush then covers all.
        """


class SessionStore(ABC):
    """A place that keeps sessions."""

    name: str
    """The entry point's name, as in ``[sessions] backend``."""

    @property
    @abstractmethod
    def capabilities(self) -> Capabilities:
        """What this store declares of itself."""

    @abstractmethod
    def create(self, session_id: str, *, meta: Mapping[str, MetaValue]) -> SessionWriter:
        """Begin a session and hold it for writing.

        Raises:
            InvalidSessionId: Not a plain name.
            SessionExists: The id is taken.
            StoreWriteFailed: The disk refused; no session exists.
        """

    @abstractmethod
    def hold(self, session_id: str) -> SessionWriter:
        """Open an existing session for writing.

        Raises:
            InvalidSessionId: Not a plain name.
            SessionNotFound: No such session.
            SessionHeld: Another writer has it; `holder` says who. `SessionReadOnly`: nobody, its place takes
                no writes.
            SessionUnusable: It is there and cannot be opened at all.
        """

    @abstractmethod
    def read(self, session_id: str) -> SessionReader:
        """Open an existing session for reading, held or not.

        Raises:
            InvalidSessionId: Not a plain name.
            SessionNotFound: No such session.
            SessionUnusable: It is there and cannot be opened at all.
        """

    @abstractmethod
    def holder(self, session_id: str) -> Holder | None:
        """Who holds a session for writing now, or None."""

    @abstractmethod
    def session_ids(self) -> Iterator[str]:
        """Every session's id, in no promised order."""

    def remains(self) -> Sequence[str]:
        """Places of what killed processes left of sessions they had only begun to make: these do not exist.

        One may belong to a session that is being made at this moment. A store in which nothing can be left so
        inherits this.
        """
        return ()

    @abstractmethod
    def summaries(self, query: ListQuery) -> list[SessionSummary]:
        """The sessions `query` wants, newest `updated_at` first, ties by id, descending.

        A session that cannot be read is left out, and does not keep others from being listed.
        """

    def search(self, words: str, query: ListQuery) -> list[SearchHit]:
        """Messages that hold every word, best first. Only for stores that declare `search`.

        Raises:
            NotImplementedError: The store does not declare it.
        """
        raise NotImplementedError(f"{self.name} declares no search of its own")

    @abstractmethod
    def close(self) -> None:
        """Let go of everything. Writers still open are closed. May be called twice."""
