"""What an empty conversation shows: recent sessions of this directory, the model and why, three keys."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from textwrap import wrap

from rich.cells import cell_len
from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from tau.conversation.state import ConversationState
from tau.display import one_line
from tau.sessions.records import SessionSummary
from tau.tui.fit import shorten_end
from tau.tui.key_line import action_line
from tau.tui.keys import Keys

QUIET = "$quiet"
LABEL = "Model   "
SHOWN_SESSIONS = 5
WHEN_AT, WHEN_CELLS = 5, 13
"""Where the time of a session begins, and its cells."""
WIDEST = 96
"""Cells of the lines of sessions at most."""
KEYS = (
    ("help", "help"),
    ("sessions", "sessions"),
    ("leave", "leave, nothing is lost"),
)


class StartPage(Widget):
    """The page; it goes when the first message is sent.

    Args:
        keys: The keys in force.
    """

    def __init__(self, keys: Keys, *, id: str | None = None) -> None:  # noqa: A002  (textual's own name)
        super().__init__(id=id)
        self._keys = keys
        self._sessions: Sequence[SessionSummary] = ()
        self._state: ConversationState | None = None

    def show_sessions(self, sessions: Sequence[SessionSummary]) -> None:
        """Show the newest sessions."""
        self._sessions = sessions
        self.refresh(layout=True)

    def show_state(self, state: ConversationState) -> None:
        """Show the model."""
        shown = self._state
        if shown is None or (shown.model, shown.model_problem) != (state.model, state.model_problem):
            self._state = state
            self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many lines as the page takes at this width."""
        return len(self._lines(width))

    def render(self) -> Content:
        """The page at the present width."""
        return Content("\n").join(self._lines(self.size.width))

    def _lines(self, width: int) -> list[Content]:
        motto = ("  a conversation that is a record", QUIET)
        keys = action_line(self._keys, KEYS, width)
        head = Content.assemble(("τ", "$accent bold"), motto)
        return [head, Content(""), *self._model_lines(width), *self._session_lines(width), keys]

    def _model_lines(self, width: int) -> list[Content]:
        state = self._state
        model = state.model if state else None
        if state is not None and model is not None:
            named = one_line(model.model_id)
            lines = [Content.assemble((LABEL, QUIET), named, (f"  {one_line(model.provider)}", QUIET))]
            said, style = [model.why or f"named by [models.{model.role}]", model.advice], QUIET
        else:
            lines = []
            problem = state.model_problem if state else ""
            said, style = [problem or "being prepared…"], "$warning" if problem else QUIET
        for sentence in said:
            for piece in wrap(one_line(sentence), max(20, width - len(LABEL))):
                lead = LABEL if not lines else " " * len(LABEL)
                lines.append(Content.assemble((lead, QUIET), (piece, style)))
        return [*lines, Content("")]

    def _session_lines(self, width: int) -> list[Content]:
        if not self._sessions:
            return []
        shown = self._sessions[:SHOWN_SESSIONS]
        counts = [f"{one.message_count} message{'' if one.message_count == 1 else 's'}" for one in shown]
        titles = [one_line(one.text("title") or one.text("name") or one.session_id) for one in shown]
        room = max(20, min(width, WIDEST) - WHEN_AT - WHEN_CELLS - len(max(counts, key=len)) - 2)
        titles = [shorten_end(title, room) for title in titles]
        column = max(cell_len(title) for title in titles)
        lines = [Content.assemble(("Earlier in this directory", QUIET), ("   /resume N", "$accent"))]
        for number, (summary, title, count) in enumerate(zip(shown, titles, counts, strict=True), 1):
            lines.append(
                Content.assemble(
                    (f"{number:>{WHEN_AT - 2}}  ", "$accent"),
                    (f"{when(summary.updated_at):<{WHEN_CELLS}}", QUIET),
                    title,
                    (f"{' ' * (column - cell_len(title))}  {count}", QUIET),
                )
            )
        return [*lines, Content("")]


def when(moment: str) -> str:
    """A stored moment in local time: the time today, else the date."""
    try:
        local = datetime.fromisoformat(moment).astimezone()
    except ValueError:
        return ""
    today = datetime.now().astimezone().date()
    if local.date() == today:
        return local.strftime("%H:%M")
    return local.strftime("%d %b %H:%M" if local.year == today.year else "%d %b %Y")
