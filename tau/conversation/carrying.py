"""Carries the conversation in hand into a new session that begins with its summary, or leaves it as it was.

Whatever can fail comes first, in this order: the summary, the new session as a whole, reading it as it will
be shown and as the agent will be restored from it, taking the mark of an unfinished session from it, and at
last the link in the old one. From there on nothing can fail: the conversation moves.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tau.conversation.copying import copy_cuts, copy_messages
from tau.conversation.in_hand import InHand
from tau.conversation.opening import lost_notice
from tau.conversation.state import Opening
from tau.errors import CompactionFailed, StoreError, TauError
from tau.events import Compacted, Notice, TurnEvent
from tau.sessions.records import TITLE_BY, Meta, MetaValue
from tau.sessions.store import SessionWriter

if TYPE_CHECKING:
    from tau.agent.compaction import Cut
    from tau.agent.runner import AgentRunner

Emit = Callable[[TurnEvent], None]


@dataclass(frozen=True, slots=True)
class Continuation:
    """A conversation that goes on from its summary in another session.

    Attributes:
        opening: What a channel is shown of the new session.
        line: The sentence for the person.
        summary: The summary as the model reads it.
    """

    opening: Opening
    line: str
    summary: str


class Carrier:
    """Compacts the conversation in hand. Lives on the engine's loop.

    Args:
        hand: The session in hand; it is moved.
    """

    def __init__(self, hand: InHand) -> None:
        self._hand = hand
        self._settings = hand.settings.compaction

    async def by_hand(self, runner: AgentRunner, focus: str, emit: Emit) -> Continuation:
        """Summarize what is in memory but the last `keep_turns` turns, and go on in a new session.

        Args:
            runner: The agent on the session in hand.
            focus: What the person wants the summary to look at, or empty.
            emit: Gets what the calls took, and waits for a throttled provider.

        Raises:
            CompactionFailed: There is nothing to summarize, or no summary; the conversation stays here.
            StoreError: Something could not be read or written; the conversation stays here.
        """
        self._hand.nothing_waits()
        await runner.compaction.prepare()
        try:
            made = await self._carry(runner, self._hand.compactor.by_hand(runner.compaction), focus, emit)
        except TauError:
            if self._hand.writer is not None:  # what it cost is kept
                with suppress(StoreError):
                    self._hand.writer.patch_meta(self._hand.totals.meta(), touch=False)
            raise
        self._hand.compactor.begin()
        return made

    async def make_room(self, runner: AgentRunner, emit: Emit) -> None:
        """Before a model call of a turn: compact the conversation if that is due. What fails is told.

        Args:
            runner: The agent on the session in hand, in the middle of the turn.
            emit: Gets what calls took, and what the person is told.
        """
        hand, point = self._hand, self._hand.state.compacts_at
        if point is None:
            return
        due = hand.compactor.when_due(
            runner.compaction,
            point=point,
            measure=lambda: runner.reading.tokens,
            counted=runner.reading.is_counted,
            turn=runner.running,
            tell=emit,
        )
        if due.cut is None:
            hand.show_filled()
            return
        old, moved = hand.state.session_id, False
        hand.show(summarizing=True)
        try:
            hand.nothing_waits()
            made = await self._carry(runner, due.cut, "", emit)
            moved = True
            emit(Compacted(old, hand.state.session_id, made.line, made.summary))
            for told in made.opening.notices:
                emit(Notice(told, "warning"))
        except TauError as error:
            runner.compaction.summary_failed()
            emit(Notice(f"The conversation was not compacted: {error.line()}", "warning"))
            hand.show_filled()
        finally:
            hand.show(summarizing=False)
            if not moved:
                hand.compactor.tell_pruned(due.pruned, runner.running, emit)
        hand.compactor.tried()

    async def _carry(self, runner: AgentRunner, cut: Cut, focus: str, emit: Emit) -> Continuation:
        hand, compaction = self._hand, runner.compaction
        old, session = hand.writer, hand.session
        assert old is not None
        assert session is not None
        try:
            summary = await compaction.summarize(
                cut, focus=focus, anchors_tokens=self._settings.anchors_tokens, emit=emit
            )
        except StoreError:
            raise
        except TauError as error:
            raise CompactionFailed(error.message) from error
        count, summarized = old.count(), compaction.count_before(cut)
        link: dict[str, MetaValue] = {"compacted_from": old.session_id, "from_count": count}
        opened = hand.opener.create(role=session.role, more={**link, "name": "", "unfinished": True})
        new = opened.writer
        assert new is not None
        try:
            await compaction.begin_session(new, old.session_id, summary)
            start, window = compaction.first_kept(cut, old), compaction.window_state
            lost = await copy_messages(old, new, start=start, end=count)
            copy_cuts(window, new, name=window["__name__"], start=start, end=count)
            if lost:
                opened = replace(opened, notices=[lost_notice(old.session_id, lost)])
            look = hand.look_at(opened)
            read = runner.read_back(new)
            look = replace(look, meta=self._link(old, new))
        except BaseException:
            with suppress(StoreError):
                new.close()
            raise
        hand.move(opened, look, read)
        with suppress(StoreError):  # without it the size is unknown when the session is opened, and estimated
            new.patch_meta(hand.totals.meta(), touch=False)
        line = (
            f"Compacted {summarized} messages into a summary. New session {new.session_id}; "
            f"the previous session {old.session_id} is kept."
        )
        return Continuation(look.opening, line, summary)

    def _link(self, old: SessionWriter, new: SessionWriter) -> Meta:
        """Finish the new session, then have the old one name it. When either fails, neither is so.

        Returns:
            The metadata of the new session.
        """
        before = old.meta()
        # The name comes last: whoever resumes by it is to find a session that is whole. So does the title,
        # which may have come while the messages were copied.
        named = {key: before.get(key) or None for key in ("title", TITLE_BY, "name")}
        finished = {"context_tokens": None, "unfinished": None, **named}
        try:
            meta = new.patch_meta({**self._hand.totals.meta(), **finished})
            new.flush()
            try:
                old.patch_meta({"compacted_to": new.session_id}, touch=False)
            except StoreError:
                with suppress(StoreError):
                    old.patch_meta({"compacted_to": before.get("compacted_to")}, touch=False)
                raise
        except BaseException:
            with suppress(StoreError):
                new.patch_meta({"unfinished": True, "name": None})
            raise
        return meta
