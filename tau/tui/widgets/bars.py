"""The header line and the status row: one line each, drawn from a snapshot of the conversation."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from textual.content import Content
from textual.reactive import reactive
from textual.timer import Timer
from textual.widget import Widget

from tau.display import dollars, one_line
from tau.tui.fit import keep_what_fits, shorten_end, shorten_middle, shorten_path, spread, tokens
from tau.tui.keys import Keys, cancelling, key_of

if TYPE_CHECKING:
    from tau.conversation.state import ConversationState

QUIET = "$quiet"
ACCENT = "$accent"
DOT = Content.assemble((" · ", "$faint"))
HINT_SECONDS = 6.0

NEAR = 0.15
"""The share of the model's window before the point of compaction from which on that point is shown."""

GOAL_LEAST = 16
"""Cells that a goal is given at least; where there are fewer, it is left out."""


class HeaderBar(Widget):
    """τ, directory and branch at the left; session name, role and model at the right."""

    state: reactive[ConversationState | None] = reactive(None)
    directory = reactive("")
    branch = reactive("")
    role = reactive("default")

    def render(self) -> Content:
        """The line at the present width."""
        width = self.size.width - 2
        right = self._right(width // 2)
        branch = f" · {shorten_end(one_line(self.branch), 24)}" if self.branch else ""
        room = width - right.cell_length - len(branch) - 6
        path = shorten_middle(shorten_path(one_line(self.directory)), max(8, room))
        left = Content.assemble(("τ", f"{ACCENT} bold"), "  ", path, (branch, QUIET))
        return Content.assemble(" ", spread(left, right, width))

    def _right(self, room: int) -> Content:
        state = self.state
        name = one_line(state.name) if state else ""
        role = state.role if state else self.role
        if state is None or (state.model is None and not state.model_problem):
            model = "…"
        elif state.model is None:
            model = "no model"
        else:
            model = one_line(state.model.model_id)
        named = Content.assemble((f"{name} · ", QUIET)) if name else Content("")
        line = Content.assemble(named, (f"{one_line(role)} → ", QUIET), model)
        if line.cell_length > room:
            spent = line.cell_length - len(model)
            line = Content.assemble(
                named, (f"{one_line(role)} → ", QUIET), shorten_middle(model, max(8, room - spent))
            )
        return line


class StatusBar(Widget):
    """What tau is doing at the left; context, tokens, the goal and what is folded away at the right.

    Args:
        keys: The keys in force.
    """

    state: reactive[ConversationState | None] = reactive(None)
    activity = reactive("Connecting…")
    hint = reactive("")
    ends = reactive(True)
    closes_first = reactive(False)
    folded_events = reactive(0)

    def __init__(self, keys: Keys, *, id: str | None = None) -> None:  # noqa: A002  (textual's own name)
        super().__init__(id=id)
        self._keys = keys
        self._since: float | None = None
        self._ticker: Timer | None = None
        self._hint_timer: Timer | None = None

    def say(self, hint: str, seconds: float = HINT_SECONDS) -> None:
        """Show a sentence in place of the activity for some seconds."""
        if self._hint_timer is not None:
            self._hint_timer.stop()
        self.hint = hint
        self._hint_timer = self.set_timer(seconds, self.unsay)

    def unsay(self, hint: str = "") -> None:
        """Take the sentence away; of a certain one, only where that still stands."""
        if not hint or self.hint == hint:
            self.hint = ""

    def work(self, activity: str, *, ends: bool = True) -> None:
        """Show an activity with the seconds it has taken.

        Args:
            activity: What is being done.
            ends: Whether the key that cancels ends it; what is ending already ends no sooner.
        """
        self.ends = ends
        if self._since is None:
            self._since = monotonic()
        self.activity = activity
        if self._ticker is None:
            self._ticker = self.set_interval(1.0, self.refresh)

    def rest(self, activity: str) -> None:
        """Show an activity that takes no time."""
        self._since = None
        if self._ticker is not None:
            self._ticker.stop()
            self._ticker = None
        self.activity = activity

    def render(self) -> Content:
        """The line at the present width."""
        width = self.size.width - 2
        if self.hint:
            left = Content.assemble((one_line(self.hint), "$warning"))
        elif self._since is not None:
            seconds = int(monotonic() - self._since)
            left = Content.assemble(
                ("✻ ", ACCENT), self.activity, (f" {seconds} s", QUIET), (self._way_out(), QUIET)
            )
        else:
            left = Content.assemble((self.activity, QUIET))
        room = max(0, width - left.cell_length - 2)
        least = GOAL_LEAST if self.state is not None and self.state.goal else None
        figures = keep_what_fits(self._figures(), room, DOT, least=least)
        return Content.assemble(" ", spread(left, figures, width))

    def _way_out(self) -> str:
        """What the key that cancels does: its first press, and its second where that is what cancels."""
        cancel = cancelling(self._keys)
        if not cancel or not self.ends:
            return ""
        if self.closes_first and cancel == key_of(self._keys, "back"):
            return f" · {cancel} back, again cancels"
        return f" · {cancel} cancels"

    def _figures(self) -> list[tuple[int, Content]]:
        state = self.state
        if state is None:
            return []
        parts: list[tuple[int, Content]] = []
        if state.unsaved:
            parts.append((9, Content.assemble(("not saved", "$error"))))
        elif not state.persistent:
            parts.append((3, Content.assemble(("kept in memory only", "$warning"))))
        if self.folded_events:
            plural = "event" if self.folded_events == 1 else "events"
            said = f"{self.folded_events} {plural} {key_of(self._keys, 'events')}".rstrip()
            parts.append((1, Content.assemble((said, QUIET))))
        point = _compaction_point(state)
        colour = "$warning" if point else QUIET
        parts.append((8, Content.assemble((_context_share(state), colour))))
        if point:
            parts.append((6, Content.assemble((point, colour))))
        usage = state.usage
        if usage.input_tokens or usage.output_tokens:
            totals = f"{tokens(usage.input_tokens)} in {tokens(usage.output_tokens)} out"
            parts.append((4, Content.assemble((totals, QUIET))))
        elif state.uncounted:
            parts.append((4, Content.assemble(("tokens unknown", QUIET))))
        if state.cost is not None:
            parts.append((7, Content.assemble((dollars(state.cost), QUIET))))
        if state.goal:
            parts.append((5, Content.assemble((one_line(state.goal), QUIET))))
        return parts


def _context_share(state: ConversationState) -> str:
    window = state.model.context_window if state.model else None
    if state.context_tokens is None:
        return "ctx unknown" if state.message_count else "ctx empty"
    if window:
        return f"ctx {round(100 * state.context_tokens / window)} %"
    return f"ctx {tokens(state.context_tokens)}"


def _compaction_point(state: ConversationState) -> str:
    """Where the conversation is compacted by itself, once that is near; else the empty string."""
    window = state.model.context_window if state.model else None
    if state.compacts_at is None or state.context_tokens is None or not window:
        return ""
    if state.context_tokens < state.compacts_at - NEAR * window:
        return ""
    return f"compacts {state.compacts}"
