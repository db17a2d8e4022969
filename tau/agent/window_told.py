"""What the person is told when messages leave a window because a request did not fit."""

from __future__ import annotations


def left_out(count: int) -> str:
    """Told when `count` messages leave the window."""
    return (
        "The request did not fit the model's context window: the model no longer sees the oldest "
        f"{_messages_of(count)}, which stay in the session."
    )


def shortened() -> str:
    """Told once a turn when results are shown shorter than before so that the running turn fits."""
    return (
        "This turn no longer fits the model's context window: the model sees tool results of it cut short. "
        "The session keeps all of them."
    )


def summarizing(count: int) -> str:
    """Told when `count` messages are to be summarized."""
    return (
        f"The request did not fit the model's context window: summarizing the oldest {_messages_of(count)}…"
    )


def not_summarized(reason: str) -> str:
    """Told when messages leave the window without a summary."""
    return f"The oldest messages could not be summarized: {reason}"


def _messages_of(count: int) -> str:
    return f"{count} messages" if count != 1 else "message"
