"""The messages that widgets of the app send up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.events import Key, Paste
from textual.message import Message

from tau.events import Decision

if TYPE_CHECKING:
    from tau.tui.widgets.block import Block


@dataclass
class Submitted(Message):
    """The person sent what stands in the prompt; `text` has its pastes written out."""

    text: str


@dataclass
class TakeBack(Message):
    """The person wants the newest waiting message back in the prompt."""


@dataclass
class SearchHistory(Message):
    """The person wants to find something that was sent before."""


@dataclass
class EditDraft(Message):
    """The person wants to go on writing in an editor."""


@dataclass
class Told(Message):
    """A sentence for the status row."""

    line: str


@dataclass
class Pasted(Message):
    """A text was pasted into the prompt, and stands before the cursor."""

    text: str


@dataclass
class PasteImage(Message):
    """The person wants the image of the clipboard in the prompt."""


@dataclass
class ScrollChat(Message):
    """The chat is to move by pages (negative: up)."""

    pages: int


@dataclass
class TopReached(Message):
    """The person asked for more above the first turn shown."""


@dataclass
class BlockClicked(Message):
    """A block of the chat was clicked, at this line of it."""

    block: Block
    row: int


@dataclass
class LinkChosen(Message):
    """A link of a reply was clicked."""

    address: str


@dataclass
class RowChosen(Message):
    """A row of a list was chosen with Enter or a click."""

    index: int


@dataclass
class RowReached(Message):
    """The cursor of a list is on this row."""

    index: int


@dataclass
class EndApp(Message):
    """The app is to end with this exit code; `line` is printed once the terminal is restored."""

    code: int = 0
    line: str = ""


@dataclass
class Answered(Message):
    """The person answered a question; `reason` says why not, or is empty."""

    approval_id: str
    decision: Decision
    reason: str = ""


@dataclass
class TypedOn(Message):
    """What was typed or pasted while a question came; it belongs to the draft."""

    event: Key | Paste


@dataclass
class LinesMoved(Message):
    """Other lines of a view of lines are in sight, or it has another size."""
