"""Model calls beside the conversation, whose cost is kept with the session they were made for."""

from __future__ import annotations

from tau.conversation.in_hand import InHand
from tau.conversation.totals import Totals
from tau.events import ModelRetrying, TurnEvent, Usage, UsageReported
from tau.sessions.records import Meta
from tau.sessions.store import SessionWriter


class Beside:
    """What calls for one session take, wherever the conversation goes meanwhile.

    Args:
        hand: The session in hand, which the calls are made for.

    Attributes:
        session_id: That session.
        taken: What each call took so far.
    """

    def __init__(self, hand: InHand) -> None:
        self._hand = hand
        self.session_id = hand.state.session_id
        self.taken: list[Usage] = []
        self._totals = hand.totals
        self._price = hand.state.model.price if hand.state.model else None

    def note(self, event: TurnEvent) -> None:
        """Take note of what a call took, and tell the person of a wait; other events are nobody's."""
        match event:
            case UsageReported(usage=usage):
                self.taken.append(usage)
            case ModelRetrying(attempt=attempt, delay=delay, reason=reason):
                line = f"{reason}; try {attempt + 1} in {delay:.0f} s"
                self._hand.show(tool_problems=(*self._hand.state.tool_problems, line))

    def keep(self, brought: Meta | None = None) -> None:
        """Keep what the calls took with their session, or with the one that continues it.

        Args:
            brought: More metadata, such as a title.

        Raises:
            TauError: The session is held elsewhere, or could not be written.
        """
        hand, writer = self._hand, self._hand.writer
        here = hand.totals is self._totals  # they go along when it is compacted
        newest = self.session_id if here else hand.opener.way_on(self.session_id).session_id
        if writer is not None and (here or writer.session_id == newest):
            self._keep(writer, hand.totals, brought or {})
            hand.refresh()
            return
        with hand.hold(newest) as other:
            self._keep(other, Totals(other.meta()), brought or {})

    def _keep(self, writer: SessionWriter, totals: Totals, brought: Meta) -> None:
        for usage in self.taken:
            totals.count_side(usage, self._price)
        writer.patch_meta({**brought, **totals.meta()}, touch=False)
        self._hand.index(lambda catalog: catalog.record(writer, []))
