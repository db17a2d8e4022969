"""Shows the state of the conversation on its screen: in the header, the status row and what follows it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tau.tui.widgets.bars import HeaderBar

if TYPE_CHECKING:
    from tau.conversation.state import ConversationState
    from tau.tui.screens.chat import ChatScreen


class StateView:
    """What a screen says of the state of its conversation."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self._tool_problems: tuple[str, ...] = ()

    def show(self, state: ConversationState) -> None:
        """The state is another one now."""
        screen = self._screen
        if screen.query_one_optional("#status") is None:  # the screen is being taken down
            return
        header = screen.query_one("#header", HeaderBar)
        header.state = state
        if state.directory:
            header.directory = state.directory
        screen.attention.at(state.name or Path(state.directory).name)
        screen.status.state = state
        screen.first_page.show_state(state)
        screen.held.show(state.held)
        told, self._tool_problems = self._tool_problems, state.tool_problems
        if screen.opened.is_open:
            screen.kept.follow(state)
        for line in state.tool_problems[len(told) :]:
            screen.run_worker(screen.notice(line, "info" if line in state.done else "warning"))
        self.show_activity()

    def show_way_out(self) -> None:
        """Have the status row know whether something lies over the conversation that a key closes first."""
        screen = self._screen
        panel = screen.questions.panel
        screen.status.closes_first = (
            screen.completion.is_open
            or screen.moving.has_the_keys
            or (screen.search is not None and screen.search.is_open)
            or (panel is not None and panel.goes_back)
        )

    def show_activity(self) -> None:
        """Say in the status row what tau is doing."""
        screen = self._screen
        state, status = screen.conversation.state, screen.status
        if screen.turns.busy:
            activity = f"{state.waits}…" if state.waits else screen.turns.activity
            status.work(activity, ends=not screen.turns.cancelling)
        elif screen.own_command.running:
            status.work(screen.own_command.activity, ends=not screen.own_command.stopping)
        elif state.summarizing:
            status.work(f"{state.aside}…")
        elif screen.commands.copying:
            status.work("Copying…")
        elif not screen.opened.is_open:
            status.rest("Opening…")
        elif state.held_by:
            status.rest("Read-only")
        elif state.model is None and not state.model_problem:
            status.rest("Connecting…")
        elif state.model is None:
            status.rest("No model")
        elif screen.commands.beside or state.waits:
            status.rest(f"{state.waits or 'Working'}…")
        else:
            status.rest("Ready")
        if screen.questions.panel is None:
            screen.attention.show(working=screen.busy)
