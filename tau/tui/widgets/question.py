"""A question about a tool call, in place of the prompt: the whole call, and the keys that answer it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import inf
from time import monotonic
from typing import Any, ClassVar, Literal

from rich.cells import cell_len
from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Input, Static

from tau.display import one_line, visible
from tau.events import ApprovalAsked
from tau.tui.fit import folded
from tau.tui.messages import Answered, TypedOn

QUIET_SECONDS = 0.35
"""A key answers only after this long without one: what was being typed when the question came does not."""

INDENT = "  "
TAB = 4


class CallLines(ScrollView, can_focus=True):
    """The arguments of a call, every character of them, wrapped; it scrolls when there is no room.

    Lines of a value are indented and names are not, so that no value can look like another argument.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"call--name", "call--value"}

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        super().__init__()
        self._arguments = [(_on_one_line(name), _value_lines(value)) for name, value in arguments.items()]
        self._width = 0
        self._lines: list[tuple[str, str]] = []

    @property
    def overflows(self) -> bool:
        """Whether not all lines are in sight."""
        return len(self._lines) > self.size.height

    @property
    def line_count(self) -> int:
        """How many lines the call takes at the present width."""
        return len(self._lines)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many lines as the call takes at this width."""
        self._lay_out(width)
        return len(self._lines)

    def on_resize(self) -> None:
        """Wrap for the new width."""
        self._lay_out(self.scrollable_content_region.width)
        self.virtual_size = Size(self._width, len(self._lines))

    def _lay_out(self, width: int) -> None:
        width = max(width, len(INDENT) + 2)
        if width == self._width:
            return
        self._width = width
        self._lines = [line for name, value in self._arguments for line in _laid_out(name, value, width)]

    def render_line(self, y: int) -> Strip:
        """The line at `y` of the visible part."""
        place = y + round(self.scroll_y)
        width, base = self.size.width, self.rich_style
        if not 0 <= place < len(self._lines):
            return Strip.blank(width, base)
        name, value = self._lines[place]
        line = Text.assemble(
            (name, self.get_component_rich_style("call--name", partial=True)),
            (value, self.get_component_rich_style("call--value", partial=True)),
        )
        return Strip(line.render(self.app.console)).adjust_cell_length(width, base).apply_style(base)


class Question(Vertical):
    """One question. Posts `Answered`, and `TypedOn` for keys that belong to the draft.

    Args:
        asked: The question.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "back", "Back", show=False)]

    def __init__(self, asked: ApprovalAsked) -> None:
        super().__init__(id="question")
        self.asked = asked
        self._lines = CallLines(asked.arguments)
        self._reason = Input(placeholder="why not", id="reason", compact=True)
        self._keys = Static("", id="question-keys", markup=False)
        self._answered = False
        self._quiet_until = inf

    def compose(self) -> ComposeResult:
        """The tool, its arguments, the keys."""
        title = Content.assemble((one_line(self.asked.tool, 60), "$accent bold"), (" asks to run", "bold"))
        yield Static(title, id="question-title", markup=False)
        yield self._lines
        self._reason.display = False
        yield self._reason
        yield self._keys

    def on_mount(self) -> None:
        """Take the keys, from the moment the question is on the screen."""
        self._lines.focus()
        self.come_into_sight()

    def come_into_sight(self) -> None:
        """The question is being shown, at first or again; keys answer it a moment later."""
        self._quiet_until = inf
        self.call_after_refresh(self._begin_quiet)

    def _begin_quiet(self) -> None:
        self._quiet_until = monotonic() + QUIET_SECONDS
        self._show_keys()

    def on_resize(self) -> None:
        """What fitted may overflow now."""
        self.call_after_refresh(self._show_keys)

    def _show_keys(self) -> None:
        if self._reason.display:
            keys = [("Enter", "no, for this reason"), ("Esc", "back")]
        else:
            keys = [("y", "yes once"), ("n", "no"), ("r", "no, because…")]
            if self._lines.overflows:
                keys.append(("↑ ↓ PageUp PageDown", f"all {self._lines.line_count:,} lines"))
        parts = [Content.assemble((key, "$accent"), (f" {does}", "$quiet")) for key, does in keys]
        self._keys.update(Content.assemble((" · ", "$faint")).join(parts))

    # Keys ---------------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        """Answer, unless the person was in the middle of typing."""
        self.take_key(event)

    def take_key(self, event: events.Key) -> None:
        """Handle a key, wherever the focus is."""
        typed = event.is_printable or event.key in ("enter", "backspace")
        if not typed or self._reason.has_focus:
            return
        event.stop()
        event.prevent_default()
        if self._reason.display:
            self._reason.focus()
            return
        if event.time < self._quiet_until:
            if self._quiet_until < inf:
                self._quiet_until = event.time + QUIET_SECONDS
            self.post_message(TypedOn(event))
            return
        self._lines.focus()
        match (event.character or "").lower():
            case "y":
                self._answer("yes")
            case "n":
                self._answer("no")
            case "r":
                self._ask_reason(shown=True)

    def on_paste(self, event: events.Paste) -> None:
        """A paste is never an answer: it goes into the draft."""
        event.stop()
        self.post_message(TypedOn(event))

    @on(Input.Submitted)
    def _reason_given(self, event: Input.Submitted) -> None:
        event.stop()
        self._answer("no", event.value.strip())

    async def action_back(self) -> None:
        """Leave the reason, or cancel the turn."""
        if self._reason.display:
            self._ask_reason(shown=False)
        else:
            await self.run_action("screen.cancel")

    def _ask_reason(self, *, shown: bool) -> None:
        self._reason.display = shown
        (self._reason if shown else self._lines).focus()
        self._show_keys()

    def _answer(self, decision: Literal["yes", "no"], reason: str = "") -> None:
        if not self._answered:
            self._answered = True
            self.post_message(Answered(self.asked.approval_id, decision, reason))


def _on_one_line(name: str) -> str:
    return visible(name).replace("\n", "\\n").replace("\t", "\\t")


def _value_lines(value: object) -> list[str]:
    """A text as it is; anything else as JSON."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2, default=str)
    return [line.expandtabs(TAB) for line in visible(text).split("\n")]


def _laid_out(name: str, value: list[str], width: int) -> list[tuple[str, str]]:
    """An argument as lines of a name and a piece of the value."""
    *above, last = folded(f"{name}: ", width)
    lines = [(piece, "") for piece in above]
    room = width - len(INDENT)
    if len(value) > 1:
        return [*lines, (last, ""), *((INDENT, piece) for line in value for piece in folded(line, room))]
    first, *rest = folded(value[0], max(1, width - cell_len(last)))
    if rest:
        rest = folded(value[0][len(first) :], room)
    return [*lines, (last, first), *((INDENT, piece) for piece in rest)]
