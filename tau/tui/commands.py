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
        self._under_way = 0

    @property
    def under_way(self) -> bool:
        """Whether a command runs that may lead to another session or model: messages wait for its end."""
        return self._under_way > 0

    def run(self, line: str, *, typed: bool = False) -> None:
        """Run a slash command; one that was typed and must wait for the turn goes back into the prompt."""
        self._screen.run_worker(self._run(line, typed), group="command")

    def choose_session(self, directory: str | None, here: str) -> None:
        """Let the person choose a session of `directory` (None: of all) and go on with it."""
        self._screen.run_worker(self._choose_session(directory, here), group="picker")

    async def _run(self, line: str, typed: bool) -> None:
        screen = self._screen
        word = line.split(maxsplit=1)[0].lower()
        if word not in NOT_DURING_A_TURN:
            await self._show(await screen.conversation.command(line))
        elif screen.busy:
            await self._busy()
            if typed:
                screen.prompt.put(line)
        else:
            await self._run_alone(line, word)

    async def _run_alone(self, line: str, word: str) -> None:
        from tau.conversation import state as results

        screen = self._screen
        if word in COPIES:
            screen.status.rest("Copying…")
        self._under_way += 1
        try:
            result = await screen.conversation.command(line)
            screen.show_activity()
            await self._show(result)
        finally:
            self._under_way -= 1
        if self._under_way:  # the other one sees to what waits
            return
        if word == "/compact" and isinstance(result, results.Refused):
            screen.turns.return_waiting()
        else:
            screen.turns.send_next()

    async def _show(self, result: CommandResult) -> None:
        from tau.conversation import state as results
        from tau.conversation.compacting import CANCELLED
        from tau.tui.widgets.blocks import LinesRow

        screen = self._screen
        match result:
            case results.Said(lines):
                await screen.chat.add(LinesRow("\n".join(lines)))
                screen.chat.to_end()
            case results.Refused(line):
                await screen.notice(line, "info" if line == CANCELLED else "warning")
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
        chosen = await screen.app.push_screen_wait(
            SessionPicker(screen.conversation, directory, here, screen.keys)
        )
        if not chosen:
            return
        if screen.busy:
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
        from tau.conversation.compacting import SUMMARIZING

        await self._screen.notice(BUSY if self._screen.turns.busy else SUMMARIZING, "warning")
