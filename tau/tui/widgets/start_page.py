"""What an empty conversation shows: recent sessions of this directory, the model and why, three keys."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from textwrap import wrap

from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from tau.conversation.state import ConversationState
from tau.display import one_line
from tau.sessions.records import SessionSummary
from tau.tui.fit import shorten_end

QUIET = "$quiet"
LABEL = "Model   "
SHOWN_SESSIONS = 5


class StartPage(Widget):
    """The page; it goes when the first message is sent."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  (textual's own name)
        super().__init__(id=id)
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
        keys = Content.assemble(
            ("F1", "$accent"), (" help   ", QUIET), ("F2", "$accent"), (" sessions   ", QUIET),
            ("Ctrl+Q", "$accent"), (" leave, nothing is lost", QUIET),
        )  # fmt: skip
        head = Content.assemble(("τ", "$accent bold"), motto)
        return [head, Content(""), *self._model_lines(width), *self._session_lines(width), keys]

    def _model_lines(self, width: int) -> list[Content]:
        state = self._state
        model = state.model if state else None
        if state is not None and model is not None:
            named = one_line(model.model_id)
            lines = [Content.assemble((LABEL, QUIET), named, (f"  {one_line(model.provider)}", QUIET))]
            said, style = [model.why, model.advice], QUIET
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
        room = max(20, min(width, 96) - 34)
        lines = [Content.assemble(("Earlier in this directory", QUIET), ("   /resume N", "$faint"))]
        for number, summary in enumerate(self._sessions[:SHOWN_SESSIONS], 1):
            title = one_line(summary.text("title") or summary.text("name") or summary.session_id)
            count = summary.message_count
            lines.append(
                Content.assemble(
                    (f"  {number}  ", "$accent"),
                    (f"{when(summary.updated_at):<13}", QUIET),
                    shorten_end(title, room),
                    (f"  {count} message{'' if count == 1 else 's'}", QUIET),
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
