"""Collects the lines of a result until there are enough."""

from __future__ import annotations


class Rows:
    """Lines of a result, no more than fit.

    Args:
        room: Characters there are for all of them.
        most: Lines at most.
    """

    def __init__(self, room: int, most: int) -> None:
        self._room = room
        self._most = most
        self._rows: list[str] = []
        self._notes: list[str] = []

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, row: str) -> bool:
        """Add a line; False, and nothing added, when there is no room for it."""
        if len(self._rows) >= self._most or (self._rows and len(row) >= self._room):
            return False
        self._rows.append(row)
        self._room -= len(row) + 1
        return True

    def note(self, note: str) -> None:
        """Add what is said about the lines, after them."""
        self._notes.append(note)

    def text(self) -> str:
        """Lines, then notes."""
        return "\n".join([*self._rows, *self._notes])
