"""Runs slash commands and pickers, and shows each kind of result its own way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tau.errors import TauError
from tau.tui.messages import EndApp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tau.conversation.state import CommandResult, ModelChoice, Prompt
    from tau.tui.screens.chat import ChatScreen

NOT_DURING_A_TURN = ("/resume", "/new", "/undo", "/rewind", "/fork", "/compact", "/model")
COPIES = ("/undo", "/rewind", "/fork")
"""Commands that take a while in a long session."""


class Commands:
    """The commands of the conversation on a screen."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen

    def run(self, line: str, *, typed: bool = False) -> None:
        """Run a slash command; one that was typed and must wait for the turn goes back into the prompt."""
        self._screen.run_worker(self._run(line, typed), group="command")

    def choose_session(self, directory: str | None, here: str) -> None:
        """Let the person choose a session of `directory` (None: of all) and go on with it."""
        self._screen.run_worker(self._choose_session(directory, here), group="picker")

    async def _run(self, line: str, typed: bool) -> None:
        from tau.conversation import state as results

        screen = self._screen
        word = line.split(maxsplit=1)[0].lower()
        if screen.turns.busy and word in NOT_DURING_A_TURN:
            await self._busy()
            if typed:
                screen.prompt.put(line)
            return
        if word in COPIES and not screen.conversation.state.busy:
            screen.status.rest("Copying…")
        result = await screen.conversation.command(line)
        screen.show_activity()
        await self._show(result)
        if word == "/compact":
            screen.turns.compaction_over(done=not isinstance(result, results.Refused))

    async def _show(self, result: CommandResult) -> None:
        from tau.conversation import state as results
        from tau.tui.widgets.blocks import LinesRow

        screen = self._screen
        match result:
            case results.Said(lines):
                await screen.chat.add(LinesRow("\n".join(lines)))
                screen.chat.to_end()
            case results.Refused(line):
                await screen.notice(line, "warning")
            case results.Help():
                await screen.app.run_action("help")
            case results.SessionListing():
                screen.action_sessions()
            case results.ModelListing(choices):
                screen.run_worker(self._choose_model(choices), group="picker")
            case results.PromptListing(prompts):
                screen.run_worker(self._choose_prompt(prompts), group="picker")
            case results.Switched(opening, line, draft, summary):
                await screen.show_opening(opening, line=line, summarized=bool(summary))
                if draft and screen.prompt.put_back(draft):
                    screen.status.say("The draft is put away; Up brings it back")
            case results.Cleared():
                await screen.clear()
            case results.Quit():
                screen.post_message(EndApp())

    async def _choose_model(self, choices: Sequence[ModelChoice]) -> None:
        from tau.tui.screens.models import ModelPicker

        role = await self._screen.app.push_screen_wait(ModelPicker(choices))
        if role:
            self.run(f"/model {role}")

    async def _choose_prompt(self, prompts: Sequence[Prompt]) -> None:
        from tau.tui.screens.rewind import RewindPicker

        number = await self._screen.app.push_screen_wait(RewindPicker(prompts))
        if number:
            self.run(f"/rewind {number}")

    async def _choose_session(self, directory: str | None, here: str) -> None:
        from tau.tui.screens.sessions import SessionPicker

        screen = self._screen
        chosen = await screen.app.push_screen_wait(SessionPicker(screen.conversation, directory, here))
        if not chosen:
            return
        if screen.turns.busy:
            await self._busy()
            return
        screen.status.rest("Opening…")
        try:
            opening = await screen.conversation.switch(chosen, everywhere=True)
        except TauError as error:
            await screen.notice(error.line(), "warning")
        else:
            await screen.show_opening(opening, line=f"Resumed session {opening.state.session_id}.")
        screen.show_activity()

    async def _busy(self) -> None:
        from tau.agent.notices import BUSY

        await self._screen.notice(BUSY, "warning")
