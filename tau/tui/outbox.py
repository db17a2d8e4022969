"""The messages that wait: typed before the model was ready, or while a turn runs."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static

from tau.display import one_line
from tau.tui.key_line import BETWEEN, action_line
from tau.tui.keys import Keys

SHOWN = 3


class Outbox(Static):
    """The waiting messages, shown over the prompt in the order they will be sent.

    Args:
        keys: The keys in force.
    """

    def __init__(self, keys: Keys, *, id: str | None = None) -> None:  # noqa: A002  (textual's own name)
        super().__init__("", id=id, markup=False)
        self._keys = keys
        self._texts: list[str] = []

    def on_mount(self) -> None:
        """Hide while nothing waits."""
        self._redraw()

    def __len__(self) -> int:
        return len(self._texts)

    def __bool__(self) -> bool:
        return True

    @property
    def texts(self) -> tuple[str, ...]:
        """The waiting messages, the next one first."""
        return tuple(self._texts)

    def add(self, text: str) -> None:
        """A message waits."""
        self._texts.append(text)
        self._redraw()

    def next(self) -> str | None:
        """The message that is sent now, or None."""
        if not self._texts:
            return None
        text = self._texts.pop(0)
        self._redraw()
        return text

    def take_back(self) -> str | None:
        """The newest waiting message, which waits no longer, or None."""
        if not self._texts:
            return None
        text = self._texts.pop()
        self._redraw()
        return text

    def take_all(self) -> str:
        """Every waiting message as one text; none waits any longer."""
        text = "\n\n".join(self._texts)
        self._texts.clear()
        self._redraw()
        return text

    def _redraw(self) -> None:
        self.display = bool(self._texts)
        lines = [
            Content.assemble(("⋯ waiting  ", "$accent"), (one_line(text, 160), "$quiet"))
            for text in self._texts[:SHOWN]
        ]
        if len(self._texts) > SHOWN:
            lines.append(Content.assemble((f"  and {len(self._texts) - SHOWN} more", "$quiet")))
        if lines:
            take = action_line(self._keys, [("earlier", "take back")])
            lines[-1] = Content.assemble(lines[-1], BETWEEN, take)
        self.update(Content("\n").join(lines))
