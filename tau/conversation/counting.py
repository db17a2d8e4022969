"""Counts what model calls took for the session in hand, on the way of their events to a channel."""

from __future__ import annotations

from tau.agent.turn import Emit
from tau.conversation.in_hand import InHand
from tau.events import TurnEvent, UsageReported


def counting(hand: InHand, emit: Emit) -> Emit:
    """What counts the calls among the events, shows what they took, and hands every event on to `emit`."""

    def count(event: TurnEvent) -> None:
        if isinstance(event, UsageReported):
            price = hand.state.model.price if hand.state.model else None
            if event.side:
                hand.totals.count_side(event.usage, price)
            else:
                hand.totals.count(event.usage, price)
            hand.show(usage=hand.totals.usage, cost=hand.totals.cost)
            hand.show_filled()
        emit(event)

    return count
