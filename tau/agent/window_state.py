"""What a window remembers to show cut: how its state says it, and how it goes along with copied messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_PRUNED, _SHORTENED = "pruned_before", "shortened_before"


def cuts_state(cut_before: Sequence[int]) -> dict[str, Any]:
    """The part of a window's state that `cuts_of` reads.

    Args:
        cut_before: Before which index of the record long results are shown cut, one for each way of cutting.
    """
    return {_PRUNED: cut_before[0], _SHORTENED: [*cut_before[1:]]}


def cuts_of(state: Mapping[str, Any]) -> list[int]:
    """Before which index each way of cutting was at work, as a recorded state says it; at least one."""
    shorter = state.get(_SHORTENED)
    held = [state.get(_PRUNED), *(shorter if isinstance(shorter, list) else [])]
    return [index_or(each, 0) for each in held]


def carried_state(
    state: Mapping[str, Any], *, name: str, start: int, end: int, at: int
) -> dict[str, Any] | None:
    """The state of a window on copies of messages, which shows cut what the one on the originals did.

    Args:
        state: Of the window on the originals.
        name: By which the other session remembers its kind of window.
        start: Index of the first message that is copied.
        end: Index of the first one after it that is not.
        at: Index of the first copy.

    Returns:
        None when none of these messages was shown cut.
    """
    cut_before = [at + min(before, end) - start if before > start else 0 for before in cuts_of(state)]
    if not any(cut_before):
        return None
    return {"__name__": name, "removed_message_count": 0, **cuts_state(cut_before)}


def index_or(value: Any, default: int) -> int:
    """A count or an index as it was recorded, or `default` where it is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else default
