"""When a conversation is compacted, and how it goes on in a new session that begins with its summary."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tau.config.settings import Settings
from tau.conversation.copying import copy_messages
from tau.conversation.opening import OpenSession, SessionOpener
from tau.conversation.totals import Totals
from tau.errors import CompactionFailed, StoreError, TauError
from tau.events import Notice, TurnEvent
from tau.sessions.records import MetaValue

if TYPE_CHECKING:
    from tau.agent.compaction import Compaction, Cut
    from tau.models.info import ModelInfo

Emit = Callable[[TurnEvent], None]

NOTHING = "there is nothing to summarize"
CANCELLED = "Compaction cancelled; the session continues."
SUMMARIZING = "The conversation is being summarized; Esc cancels that."

REPLY_TOKENS = 4_096
"""Room for a reply where `max_tokens` does not say how long one may be."""

LARGEST_ROOM = 0.25
"""The share of a window that is kept free for a turn at most, so that a small window is of use at all."""

CHARS_A_TOKEN = 4
"""Characters of a token in the longest result that a turn may still bring."""

KEPT_SHARE = 0.5
"""The share of what fits before the point that turns kept word for word may take."""

MOST_FUTILE = 2
"""Compactions in a row without effect after which there is no further one."""


def compaction_point(window: int, *, max_tokens: int | None, spill_chars: int) -> int:
    """Tokens from which on a conversation is compacted: the window without the room for one full turn.

    A full turn still needs a reply of `max_tokens` and a tool result that is just not spilled.

    Args:
        window: Tokens that the model holds.
        max_tokens: Of a reply; None takes `REPLY_TOKENS`.
        spill_chars: Characters from which on a result is spilled.
    """
    room = (max_tokens or REPLY_TOKENS) + spill_chars // CHARS_A_TOKEN
    return window - min(room, int(window * LARGEST_ROOM))


@dataclass(frozen=True, slots=True)
class Continuation:
    """A session that goes on from the summary of another one, whole on disk and not yet in hand.

    Attributes:
        opened: The new session, held for writing.
        line: The sentence for the person.
        summary: The summary as the model reads it.
    """

    opened: OpenSession
    line: str
    summary: str


@dataclass(frozen=True, slots=True)
class Subject:
    """What is compacted, and with what.

    Attributes:
        compaction: Of the agent that answers.
        session: In hand, held for writing.
        opener: Makes the new session.
        totals: Of the session; they go on in the new one, what the summary took included.
        emit: Gets what calls took, waits for a throttled provider, and what the person is told.
    """

    compaction: Compaction
    session: OpenSession
    opener: SessionOpener
    totals: Totals
    emit: Emit


class Compactor:
    """Compacts the conversation in hand. Lives on the engine's loop.

    Args:
        settings: Models, sizes and ``[compaction]``.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._futile = 0
        self._told = False

    def begin(self) -> None:
        """Another session is in hand, or another model: what did not help before may help now."""
        self._futile, self._told = 0, False

    def point(self, role: str, model: ModelInfo | None) -> int | None:
        """Tokens from which on a conversation is compacted by itself; None when it never is."""
        if model is None or not model.context_window or not self._settings.compaction.auto:
            return None
        return compaction_point(
            model.context_window,
            max_tokens=self._settings.model(role).max_tokens,
            spill_chars=self._settings.context.spill_result_chars,
        )

    async def by_hand(self, subject: Subject, focus: str) -> Continuation:
        """Summarize what is in memory but the last `keep_turns` turns, into a new session.

        Args:
            subject: Everything in its session is on record.
            focus: What the person wants the summary to look at, or empty.

        Raises:
            CompactionFailed: There is nothing to summarize, or no summary; nothing has changed.
            StoreError: The new session could not be written; the one in hand goes on.
        """
        cut = subject.compaction.find_cut(self._settings.compaction.keep_turns)
        if cut is None:
            raise CompactionFailed(NOTHING)
        made = await self._carry(subject, cut, focus)
        self.begin()
        return made

    async def when_due(
        self,
        subject: Subject,
        *,
        point: int,
        measure: Callable[[], int],
        counted: bool,
        save: Callable[[], None],
        summarizing: Callable[[bool], None],
    ) -> Continuation | None:
        """Make room before a model call: cut long results of earlier turns, then summarize those turns.

        The running turn stays word for word. Failures are told and change nothing.

        Args:
            subject: What is to have room.
            point: Tokens from which on there is something to do.
            measure: About how many tokens the next request has.
            counted: Whether a provider has counted the conversation as it stands.
            save: Makes sure that everything said is on record, or raises a `StoreError`.
            summarizing: Told when a summary begins to be written, and when that is over.

        Returns:
            The session to go on in; None where the conversation stays in the one in hand.
        """
        compaction, emit = subject.compaction, subject.emit
        before = measure()
        if before < point:
            if counted:
                self.begin()
            return None
        cut = self._fitting(compaction, point)
        if cut is not None and compaction.prune(cut) and measure() < point:
            emit(Notice(pruned(before, measure())))
            return None
        if cut is None:
            if compaction.prune(None):
                emit(Notice(pruned(before, measure())))
            return None
        if self._futile >= MOST_FUTILE:
            if not self._told:
                self._told = True
                emit(
                    Notice(
                        f"The conversation is still near the end of the model's window. {STUCK}", "warning"
                    )
                )
            return None
        summarizing(True)
        try:
            save()
            made = await self._carry(subject, cut, "")
        except TauError as error:
            self._futile += 1
            compaction.summary_failed()
            emit(Notice(f"The conversation was not compacted: {error.line()}", "warning"))
            return None
        else:
            self._futile += 1  # until a provider's count says that it helped
            return made
        finally:
            summarizing(False)

    def _fitting(self, compaction: Compaction, point: int) -> Cut | None:
        """Where to cut so that the turns that stay leave room, at the latest before the running one."""
        for turns in range(max(self._settings.compaction.keep_turns, 1), 0, -1):
            cut = compaction.find_cut(turns)
            if cut is None or cut.turns == 0:
                continue
            if cut.turns == 1 or compaction.kept_tokens(cut) <= point * KEPT_SHARE:
                return cut
        return None

    async def _carry(self, subject: Subject, cut: Cut, focus: str) -> Continuation:
        compaction, session = subject.compaction, subject.session
        old = session.writer
        assert old is not None
        try:
            summary = await compaction.summarize(
                cut,
                focus=focus,
                anchors_tokens=self._settings.compaction.anchors_tokens,
                emit=subject.emit,
            )
        except StoreError:
            raise
        except TauError as error:
            raise CompactionFailed(error.message) from error
        meta = old.meta()
        more: dict[str, MetaValue] = {"title": meta["title"]} if meta.get("title") else {}
        opened = subject.opener.create(
            role=session.role,
            more={**more, "name": "", "compacted_from": old.session_id, "unfinished": True},
        )
        new = opened.writer
        assert new is not None
        try:
            await compaction.begin_session(new, old.session_id, summary)
            copy_messages(old, new, start=compaction.first_kept(cut, old), end=old.count())
            # The name comes last: whoever resumes by it is to find a session that is whole.
            finished = {"context_tokens": None, "unfinished": None, "name": meta.get("name") or None}
            new.patch_meta({**subject.totals.meta(), **finished})
            new.flush()
            try:
                old.patch_meta({"compacted_to": new.session_id}, touch=False)
                old.flush()
            except StoreError:
                new.patch_meta({"unfinished": True, "name": None})
                raise
        except BaseException:
            with suppress(StoreError):
                new.close()
            raise
        line = (
            f"Compacted {cut.at} messages into a summary. New session {new.session_id}; "
            f"the previous session {old.session_id} is kept."
        )
        return Continuation(replace(opened, role=session.role), line, summary)


STUCK = (
    "I stopped compacting it by itself: /new begins anew, a model with a larger window goes on, "
    "and /compact tries again."
)


def pruned(before: int, after: int) -> str:
    """Told when cutting long results of earlier turns has made enough room."""
    return (
        f"The window was nearly full: long earlier tool results are shown to the model cut "
        f"(about {before - after:,} tokens less). The session keeps all of them."
    )
