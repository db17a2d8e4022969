"""The quiet line under the prompt: session, model, how full its window is, what it cost, the goal."""

from __future__ import annotations

from prompt_toolkit.utils import get_cwidth

from tau.conversation.state import ConversationState
from tau.display import dollars, one_line

_SEPARATOR = " · "

_GOAL_LEAST = 16
"""Cells that a goal is given at least; where there are fewer, it is left out."""


def toolbar(state: ConversationState, width: int) -> str:
    """The line, in at most `width` cells; what matters least is left out first."""
    parts = [  # rank, text
        (2, one_line(state.name or state.session_id, 40)),
        (3, _model(state)),
        (0, _context_share(state)),
        (1, "" if state.cost is None else dollars(state.cost)),
    ]
    parts = [part for part in parts if part[1]]
    while parts and get_cwidth(_joined(parts)) > width:
        parts.remove(max(parts))
    line = _joined(parts)
    if not state.goal:
        return line
    goal = _cut(one_line(state.goal), width - get_cwidth(line + _SEPARATOR))
    return line + _SEPARATOR + goal if goal else line


def _cut(goal: str, room: int) -> str:
    """The goal in at most `room` cells, its end replaced by ``…``; empty where so few say nothing of it."""
    if get_cwidth(goal) <= room:
        return goal
    if room < _GOAL_LEAST:
        return ""
    while get_cwidth(goal) > room - 1:
        goal = goal[:-1]
    return f"{goal.rstrip()}…"


def _joined(parts: list[tuple[int, str]]) -> str:
    return _SEPARATOR.join(text for _, text in parts)


def _model(state: ConversationState) -> str:
    if state.model is None:
        return one_line(state.role, 30)
    model = one_line(state.model.model_id, 60)
    return f"{one_line(state.role, 30)} → {model}"


def _context_share(state: ConversationState) -> str:
    window = state.model.context_window if state.model else None
    if state.context_tokens is None:
        return "ctx unknown" if state.message_count else "ctx empty"
    if window:
        return f"ctx {round(100 * state.context_tokens / window)} %"
    return f"ctx {state.context_tokens:,} tokens"
