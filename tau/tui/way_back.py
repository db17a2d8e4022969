"""Shows what was sent before in place of the draft, and keeps what is changed in each text on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tau.errors import TauError
from tau.tui.messages import Told
from tau.tui.past import Past

if TYPE_CHECKING:
    from tau.input.history_file import Entry
    from tau.tui.widgets.placeholder_area import PlaceholderArea


class WayBack:
    """The way from the draft back through the history, which ends where something is sent.

    Args:
        prompt: Where the texts are shown and changed, large ones folded.

    Attributes:
        past: What was sent before.
    """

    def __init__(self, prompt: PlaceholderArea) -> None:
        self.past = Past(prompt.run_worker, self._past_read, lambda: self.begun)
        self._prompt = prompt
        self._back: int | None = None  # how far back the text is that is shown in place of the draft
        self._shown = ""  # that text as it came
        self._draft = ""
        self._edits: dict[int, str] = {}
        self._wanted: str | None = None  # what stood there when an earlier text was asked for too soon

    @property
    def begun(self) -> bool:
        """Whether an earlier text is shown in place of the draft."""
        return self._back is not None

    def written(self) -> list[str]:
        """The draft, and what was changed in earlier texts; that in the prompt last."""
        text = self._prompt.text
        if self._back is None:
            return [text]
        kept = [changed for back, changed in self._edits.items() if back != self._back]
        return [self._draft, *kept, *([text] if text != self._shown else [])]

    def end(self) -> None:
        """What stands in the prompt is the draft now."""
        self._back = self._wanted = None
        self._edits.clear()

    def earlier(self) -> None:
        """Show the text sent before the one shown; what was being written waits below it."""
        if not self.past.loaded and not len(self.past):
            self._wanted = self._prompt.text
        self._go(0 if self._back is None else self._back + 1)

    def later(self) -> None:
        """Show the text sent after the one shown, or the draft."""
        if self._back is not None:
            self._go(self._back - 1)

    def _past_read(self) -> None:
        """More of the history is there; somebody may have asked for it before it was."""
        wanted, self._wanted = self._wanted, None
        if wanted is not None and wanted == self._prompt.text and self._back is None:
            self.earlier()

    def _go(self, back: int) -> None:
        """Show the text so far back, as it was left here; the draft before the newest one."""
        self.past.reach(back)
        if back >= len(self.past):
            return
        text = self._prompt.text
        if self._back is None:
            self._draft = text
        elif text != self._shown:
            self._edits[self._back] = text
        if back < 0:
            self._back = None
            self._show(self._draft)
            return
        self._back = back
        item = self.past[back]
        if isinstance(item, str):
            self._show_sent(back, item)
        elif item.is_large:
            self._shown = text  # until the whole of it is there
            self._prompt.run_worker(self._show_large(back, item), group="past", exclusive=True)
        else:
            self._show_sent(back, item.text)

    async def _show_large(self, back: int, entry: Entry) -> None:
        try:
            text = await self.past.whole(entry)
        except TauError as error:
            self._prompt.post_message(Told(error.line()))
            text = entry.text
        if self._back == back and self._prompt.text == self._shown:
            self._show_sent(back, text)

    def _show_sent(self, back: int, text: str) -> None:
        self._show(self._edits.get(back, ""), self._prompt.placeholders.folded(text))

    def _show(self, text: str, original: str = "") -> None:
        self._prompt.load_text(text or original)
        self._shown = original
        self._prompt.move_cursor(self._prompt.document.end)
