"""A text in which what stands for something else is moved over and deleted as one."""

from __future__ import annotations

from textual.document._document import Document, EditResult, Location, Selection
from textual.document._edit import Edit
from textual.widgets import TextArea

from tau.tui.placeholders import Placeholders


class PlaceholderArea(TextArea):
    """A text area with placeholders (see `Placeholders`).

    Args:
        placeholder: What is shown in place of an empty text.

    Attributes:
        placeholders: Those of this text.
        is_typed: Whether what was changed last came from keys, and not from a paste or the history.
    """

    def __init__(self, placeholder: str, *, id: str | None = None) -> None:  # noqa: A002  (textual's own name)
        self.placeholders = Placeholders()
        self.is_typed = False
        super().__init__(
            id=id,
            soft_wrap=True,
            show_line_numbers=False,
            highlight_cursor_line=False,
            tab_behavior="focus",
            placeholder=placeholder,
        )
        self.cursor_blink = False

    def written_out(self) -> str:
        """The text with every paste in place of its marker."""
        return self.placeholders.written_out(self.text)

    @property
    def cursor_index(self) -> int:
        """Where the cursor is, in characters of the text."""
        assert isinstance(self.document, Document)
        return self.document.get_index_from_location(self.cursor_location)

    def write(self, text: str, start: int, end: int) -> None:
        """Write a text in place of the characters from `start` to `end`, with the cursor behind it."""
        assert isinstance(self.document, Document)
        place = self.document.get_location_from_index
        result = self.replace(text, place(start), place(end))
        self.move_cursor(result.end_location)

    def type_in(self, text: str) -> None:
        """Put a text where the cursor is, in place of what is selected."""
        self.replace(text, *self.selection, maintain_selection_offset=False)

    def mention_instead(self, text: str, mentions: str) -> None:
        """Put mentions in place of the text before the cursor, if that is still there."""
        end = self.cursor_index
        if self.text[:end].endswith(text):
            self.mention(mentions, end - len(text), end, behind=text[len(text.rstrip()) :])

    def mention(self, mentions: str, start: int, end: int, *, behind: str = "") -> None:
        """Put mentions in place of some characters, as words of their own that are moved over as one each."""
        before = " " if self.text[:start].strip() and not self.text[:start][-1:].isspace() else ""
        after = "" if behind or self.text[end : end + 1].isspace() else " "
        self.placeholders.add_mentions(mentions)
        self.write(f"{before}{mentions}{behind}{after}", start, end)
        self.is_typed = False

    def load_text(self, text: str) -> None:
        """Put a text here that nobody typed."""
        super().load_text(text)
        self.is_typed = False

    def edit(self, edit: Edit) -> EditResult:
        """Change the text; what touches a placeholder takes all of it."""
        self.is_typed = True
        top, bottom = edit.top, edit.bottom
        last = self._around(bottom)[1]
        first = last if top == bottom else self._around(top)[0]
        edit.from_location, edit.to_location = first, last
        result = super().edit(edit)
        return EditResult(result.end_location, self.placeholders.written_out(result.replaced_text))

    @property
    def selected_text(self) -> str:
        """What is selected, with every paste in place of its marker."""
        return self.placeholders.written_out(super().selected_text)

    def validate_selection(self, selection: Selection) -> Selection:
        """Keep the cursor out of placeholders, which it goes over as over one character."""
        start, end = selection
        last = self._beside(end)
        return Selection(last if start == end else self._beside(start), last)

    def _beside(self, place: Location) -> Location:
        """A place where the cursor may be: on its way over a placeholder, behind that."""
        first, last = self._around(place)
        row, column = self.selection.end
        if row == place[0]:
            return last if column < place[1] else first
        return first if place[1] - first[1] < last[1] - place[1] else last

    def _around(self, place: Location) -> tuple[Location, Location]:
        """The edges of the placeholder that a place is inside of; elsewhere twice the place."""
        row, column = place
        line = self.document[row] if row < self.document.line_count else ""
        found = self.placeholders.around(line, column)
        return ((row, found[0]), (row, found[1])) if found else (place, place)
