"""A line over the prompt that offers what was written in an earlier window and not sent."""

from __future__ import annotations

from textual.content import Content
from textual.widget import Widget

from tau.display import one_line
from tau.tui.fit import shorten_end
from tau.tui.key_line import BETWEEN, action_line
from tau.tui.keys import Keys


class LeftDraft(Widget):
    """Shown while there is such a draft.

    Args:
        keys: The keys in force.
    """

    def __init__(self, keys: Keys, *, id: str | None = None) -> None:  # noqa: A002  (textual's own name)
        super().__init__(id=id)
        self._keys = keys
        self.display = False
        self._text = ""
        self._at = ""
        self._more = 0

    def offer(self, text: str, at: str, more: int) -> None:
        """Offer a draft.

        Args:
            text: Its beginning is shown.
            at: When it was written.
            more: How many others there are.
        """
        self._text, self._at, self._more = one_line(text, 300), at, more
        self.display = True
        self.refresh()

    def render(self) -> Content:
        """The line at the present width."""
        others = f" · {self._more} more" if self._more else ""
        take = action_line(self._keys, [("earlier", "take it")])
        end = Content.assemble((f"  {self._at}{others}", "$quiet"), BETWEEN, take)
        begin = Content.assemble(("⋯ not sent  ", "$accent"))
        room = max(8, self.size.width - begin.cell_length - end.cell_length)
        return Content.assemble(begin, (shorten_end(self._text, room), "$quiet"), end)
