"""The events pane: stored agent events, then live ones, each with its time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual.binding import BindingType
from textual.events import Resize
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tau.agent.notices import DENIED_BEFORE
from tau.calls import ending, main_argument, went_wrong
from tau.display import one_line
from tau.events import (
    AgentEvent,
    Approval,
    ApprovalRecord,
    CommandEnded,
    Decision,
    ErrorRecord,
    NoticeRecord,
    SharedCommandRecord,
    ToolCallRecord,
    ToolStatus,
    TurnLimitRecord,
)
from tau.tui.fit import duration, shorten_end
from tau.tui.keys import SCROLLING, bound, in_use, rebind

KEPT = 1_000
SHOWN_LINES, ABOUT_CHARACTERS = 3, 400
"""Lines and characters of what a call is about; the chat, the record and the export have all of it."""

WHOLE_CHARACTERS = 4_000
"""Characters of what is shown to its end: a notice, what went wrong, why a call was denied."""

TIME_WIDTH = 10
NAME_WIDTH = 13
DOT = " · "
NONE = "No events yet"

_NOT_ASKED = DENIED_BEFORE.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Entry:
    """One event.

    Attributes:
        at: The time of day.
        name: What it is: a tool, ``notice``, …
        detail: What it is about.
        outcome: How it ended.
        trouble: Whether something went wrong.
        more: What else there is to say, a line each.
        whole: Whether `detail` is a sentence that is said nowhere else, and so shown to its end.
    """

    at: str
    name: str
    detail: str
    outcome: str = ""
    trouble: bool = False
    more: Sequence[str] = ()
    whole: bool = False


def clock(moment: str) -> str:
    """The local time of day of an ISO 8601 moment; empty when it is none."""
    try:
        return datetime.fromisoformat(moment).astimezone().strftime("%H:%M:%S")
    except ValueError:
        return ""


def outcome_of(tool: str, status: ToolStatus, seconds: float, approval: Approval, result: str) -> str:
    """How a call ended, what matters most first: it stays when the line is short.

    Args:
        tool: The tool's name.
        status: Of the call.
        seconds: How long it took.
        approval: How it came to run or not.
        result: What the model was told, from which the exit code of a command is read.
    """
    if approval == "denied":
        return denial(result)
    facts: list[str] = []
    if went_wrong(end := ending(tool, result)):
        facts.append(end)
    elif status != "success":
        facts.append("failed" if status == "error" else status)
    if approval == "allowed":
        facts.append(approval)
    facts.append(duration(seconds))
    if approval == "approved":
        facts.append(approval)
    return DOT.join(facts)


def denial(result: str) -> str:
    """What became of a call that was denied: a person said no to it, or to others before and was not asked.

    Args:
        result: What the model was told.
    """
    return "not asked" if result.startswith(_NOT_ASKED) else "denied"


def allowed_by(rule: str) -> Sequence[str]:
    """The line that names the pattern by which a call was allowed; none where there was no pattern."""
    return [f"allowed by {rule}"] if rule else ()


def approval_entry(
    at: str,
    tool: str,
    arguments: Mapping[str, Any],
    decision: Decision,
    *,
    reason: str = "",
    patterns: Sequence[str] = (),
) -> Entry:
    """The entry of a question and what the person decided.

    Args:
        at: The time of day.
        tool: The tool's name.
        arguments: The call's arguments.
        decision: The answer.
        reason: What was said with a no.
        patterns: What ``always`` approved.
    """
    about = f"{tool} {main_argument(arguments)}"
    if decision == "always":
        return Entry(at, "approval", about, "always", more=[f"always: {pattern}" for pattern in patterns])
    if decision == "no":
        return Entry(at, "approval", about, "denied", more=[f"denied: {reason}"] if reason else ())
    return Entry(at, "approval", about, "approved")


def entry_of(event: AgentEvent) -> Entry:
    """The entry that shows a stored event."""
    at = clock(event.at)
    if isinstance(event, ToolCallRecord):
        outcome = outcome_of(event.tool, event.status, event.duration, event.approval, event.result)
        trouble = event.status == "error" and event.approval != "denied"
        about = main_argument(event.arguments)
        return Entry(at, event.tool, about, outcome, trouble, allowed_by(event.rule))
    if isinstance(event, ApprovalRecord):
        return approval_entry(
            at,
            event.tool,
            event.arguments,
            event.decision,
            reason=event.reason,
            patterns=event.patterns,
        )
    if isinstance(event, TurnLimitRecord):
        return Entry(at, "limit", f"{event.stop_reason} ({event.limit:,})", trouble=True)
    if isinstance(event, NoticeRecord):
        return Entry(at, "notice", event.text, trouble=event.level == "error", whole=True)
    if isinstance(event, SharedCommandRecord):
        return command_entry(at, "!", event.command, event)
    assert isinstance(event, ErrorRecord)
    return Entry(at, f"error {event.where}", event.message, trouble=True, whole=True)


def command_entry(at: str, mark: str, command: str, end: CommandEnded | SharedCommandRecord) -> Entry:
    """The entry that shows a command of the person's, which was typed behind a mark."""
    outcome = outcome_of("shell", end.status, end.duration, "", end.output)
    return Entry(at, mark, command, outcome, end.status == "error")


class EventsPane(ScrollView):
    """The entries, drawn line by line; it follows what is new while it is at its bottom."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"events--quiet", "events--name", "events--trouble"}
    BINDINGS: ClassVar[list[BindingType]] = [*bound(SCROLLING)]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  (textual's own name)
        super().__init__(id=id)
        self.entries: list[Entry] = []
        self._lines: list[Text] = []
        self._strips: dict[int, Strip] = {}
        self._drawn_for: tuple[int, Style] | None = None

    def on_mount(self) -> None:
        """Take up the keys in force."""
        rebind(self, in_use(self))

    def show(self, events: Iterable[AgentEvent]) -> None:
        """Show stored events in place of everything."""
        self.entries = [entry_of(event) for event in events][-KEPT:]
        self._lay_out()

    def add(self, entry: Entry) -> None:
        """Show a live event."""
        self.entries.append(entry)
        if len(self.entries) > KEPT:
            del self.entries[: KEPT // 10]
            self._lay_out()
            return
        if self.size.width <= 0:  # folded; laid out when it is shown
            return
        following = self.scroll_y >= self.max_scroll_y - 1
        self._lines.extend(self._lines_of(entry))
        self._grown(following)

    def on_resize(self, event: Resize) -> None:
        """Lay the entries out for the new width."""
        self._lay_out()

    def watch_show_vertical_scrollbar(self) -> None:
        """Lay the entries out anew: the scrollbar takes a column of theirs, or gives it back."""
        self._lay_out()

    def render_line(self, y: int) -> Strip:
        """The line at `y` of the visible part."""
        place = y + round(self.scroll_y)
        width, base = self.size.width, self.rich_style
        if not self.entries and place == 0:
            line = Strip(self._quiet_line(NONE).render(self.app.console))
            return line.adjust_cell_length(width, base).apply_style(base)
        if not 0 <= place < len(self._lines):
            return Strip.blank(width, base)
        if self._drawn_for != (width, base):
            self._strips.clear()
            self._drawn_for = width, base
        if place not in self._strips:
            # A strip keeps what it was cut into, so that a line which only moves is not drawn again.
            drawn = Strip(self._lines[place].render(self.app.console))
            self._strips[place] = drawn.adjust_cell_length(width, base).apply_style(base)
        return self._strips[place]

    def _quiet_line(self, text: str) -> Text:
        return Text.assemble((text, self.get_component_rich_style("events--quiet", partial=True)))

    def _lay_out(self) -> None:
        if self.size.width <= 0:
            return
        self._lines = [line for entry in self.entries for line in self._lines_of(entry)]
        self._strips.clear()
        self._grown(following=True)

    def _grown(self, following: bool) -> None:
        self.virtual_size = Size(self.size.width, len(self._lines))
        if following:
            self.scroll_end(animate=False, immediate=True)
        self.refresh()

    def _lines_of(self, entry: Entry) -> list[Text]:
        quiet = self.get_component_rich_style("events--quiet", partial=True)
        name = self.get_component_rich_style("events--name", partial=True)
        trouble = self.get_component_rich_style("events--trouble", partial=True)
        width = max(TIME_WIDTH + NAME_WIDTH, self.scrollable_content_region.width)
        label = shorten_end(one_line(entry.name), NAME_WIDTH - 1)
        indent = " " * TIME_WIDTH
        room = width - TIME_WIDTH
        lines = [
            Text.assemble((f"{entry.at:<{TIME_WIDTH}}", quiet), (label, trouble if entry.trouble else name))
        ]
        if entry.outcome:
            outcome = _facts_in(one_line(entry.outcome), room - len(label) - 2)
            lines[0].append(f"{outcome:>{room - len(label)}}", quiet)
        about = self._wrapped(entry.detail, room, WHOLE_CHARACTERS if entry.whole else ABOUT_CHARACTERS)
        if len(about) > SHOWN_LINES and not entry.whole:
            about[SHOWN_LINES - 1 :] = [shorten_end(f"{about[SHOWN_LINES - 1]} …", room)]
        for text in entry.more:
            about += self._wrapped(text, room, WHOLE_CHARACTERS)
        return lines + [Text.assemble(indent, (line, quiet)) for line in about]

    def _wrapped(self, text: str, room: int, limit: int) -> list[str]:
        """The text in lines that fit; none for an empty one."""
        line = Text(one_line(text, limit))
        return [piece.plain.rstrip() for piece in line.wrap(self.app.console, room) if piece.plain]


def _facts_in(outcome: str, width: int) -> str:
    """The first facts for which there is room."""
    while cell_len(outcome) > width and DOT in outcome:
        outcome = outcome.rpartition(DOT)[0]
    return shorten_end(outcome, width)
