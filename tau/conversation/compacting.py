"""When a conversation is compacted, what is cut before that, and where it is cut for a summary."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tau.config.settings import Settings
from tau.errors import CompactionFailed
from tau.events import Notice

if TYPE_CHECKING:
    from tau.agent.compaction import Compaction, Cut
    from tau.conversation.state import CompactionOutlook
    from tau.models.info import ModelInfo

NOTHING = "there is nothing to summarize"
CANCELLED = "Compaction cancelled; the session continues."
SUMMARIZING = "The conversation is being summarized."

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
class Due:
    """What is left to do where a conversation is too long.

    Attributes:
        cut: Where to cut for a summary; None where there is to be none.
        pruned: What was cut already, for the person to know unless a summary makes it void; or empty.
    """

    cut: Cut | None
    pruned: str = ""


class Compactor:
    """Decides when a conversation is compacted, and where it is cut. Lives on the engine's loop.

    Args:
        settings: Models, sizes and ``[compaction]``.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._futile = 0
        self._told = False
        self._pruned_in: object = None

    def begin(self) -> None:
        """Another session is in hand, or another model: what did not help before may help now."""
        self._futile, self._told = 0, False

    def tried(self) -> None:
        """A summary was made, or failed: it did not help until a provider's count says that it did."""
        self._futile += 1

    def point(self, role: str, model: ModelInfo | None) -> int | None:
        """Tokens from which on a conversation is compacted by itself; None when it never is."""
        if model is None or not model.context_window or not self._settings.compaction.auto:
            return None
        return compaction_point(
            model.context_window,
            max_tokens=self._settings.model(role).max_tokens,
            spill_chars=self._settings.context.spill_result_chars,
        )

    def by_hand(self, compaction: Compaction) -> Cut:
        """Where to cut when a person asks for it: all but the last `keep_turns` turns are summarized.

        Raises:
            CompactionFailed: There is nothing to summarize.
        """
        cut = compaction.find_cut(self._settings.compaction.keep_turns)
        if cut is None:
            raise CompactionFailed(NOTHING)
        return cut

    def when_due(
        self,
        compaction: Compaction,
        *,
        point: int,
        measure: Callable[[], int],
        counted: bool,
        turn: object,
        tell: Callable[[Notice], None],
    ) -> Due:
        """Make room before a model call by cutting long results, if that is due.

        Those of earlier turns are cut; where no summary could stand for any, those of the running turn that
        the model has seen. What was cut stays cut, also where the summary fails.

        Args:
            compaction: Of the agent that answers.
            point: Tokens from which on there is something to do.
            measure: About how many tokens the next request has.
            counted: Whether a provider has counted the conversation as it stands.
            turn: The running turn, in which the person is told once of results that were cut.
            tell: Gets what the person is told where nothing is left to do.
        """
        before = measure()
        if before < point:
            if counted:
                self.begin()
            return Due(None)
        cut = self._fitting(compaction, point)
        told = pruned(before, measure()) if compaction.prune(cut) else ""
        if cut is not None and measure() >= point and self._futile < MOST_FUTILE:
            return Due(cut, told)
        self.tell_pruned(told, turn, tell)
        if cut is not None and measure() >= point and not self._told:
            self._told = True
            tell(Notice(f"The conversation is still near the end of the model's window. {STUCK}", "warning"))
        return Due(None)

    def outlook(
        self, compaction: Compaction | None, *, point: int | None, tokens: int | None, in_turn: bool
    ) -> CompactionOutlook:
        """What will become of a compaction that comes by itself.

        Args:
            compaction: Of the agent that answers, if there is one.
            point: Tokens from which on the conversation is compacted, or None.
            tokens: About how many the next request has, or None.
            in_turn: Whether a turn runs.
        """
        if point is None or tokens is None or tokens < point:
            return "later"
        if self._futile >= MOST_FUTILE:
            return "never"
        nothing_before = in_turn and compaction is not None and self._fitting(compaction, point) is None
        return "after_turn" if nothing_before else "next"

    def tell_pruned(self, text: str, turn: object, tell: Callable[[Notice], None]) -> None:
        """Tell the person of results that were cut, unless this turn has said so, or `text` is empty."""
        if text and (turn is None or turn is not self._pruned_in):
            self._pruned_in = turn
            tell(Notice(text))

    def _fitting(self, compaction: Compaction, point: int) -> Cut | None:
        """Where to cut so that the turns that stay leave room, at the latest before the running one."""
        for turns in range(max(self._settings.compaction.keep_turns, 1), 0, -1):
            cut = compaction.find_cut(turns)
            if cut is None or cut.turns == 0:
                continue
            if cut.turns == 1 or compaction.kept_tokens(cut) <= point * KEPT_SHARE:
                return cut
        return None


STUCK = (
    "I stopped compacting it by itself: /new begins anew, a model with a larger window goes on, "
    "and /compact tries again."
)


def pruned(before: int, after: int) -> str:
    """Told when cutting long results has made enough room."""
    return (
        f"The window was nearly full: long earlier tool results are shown to the model cut "
        f"(about {before - after:,} tokens less). The session keeps all of them."
    )
