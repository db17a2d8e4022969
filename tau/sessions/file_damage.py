"""Remembers what was found damaged in a session of the ``file`` store while it was read."""

from __future__ import annotations

from collections.abc import Sequence

from tau.sessions.records import Damage


class DamageSeen:
    """The damage of a session: one entry a part, the last thing seen of it."""

    def __init__(self) -> None:
        self._parts: dict[str, Damage] = {}

    def note(self, part: str, reason: str, *, index: int | None = None, recovered: bool = False) -> None:
        """A part is not as it was written.

        Args:
            part: Its path in the session.
            reason: What is wrong with it.
            index: Of the message that it is.
            recovered: Whether its content was had from the log.
        """
        self._parts[part] = Damage(part=part, reason=reason, index=index, recovered=recovered)

    def all(self) -> Sequence[Damage]:
        """The entries, in the order in which the parts were first met."""
        return tuple(self._parts.values())
