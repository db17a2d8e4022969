"""Runs slash commands and pickers, and shows each kind of result its own way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tau.errors import TauError
from tau.tui.messages import EndApp

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from tau.conversation.state import (
        CommandResult,
        MemoryListing,
        ModelChoice,
        Prompt,
        PromptListing,
        ToolListing,
    )
    from tau.tui.screens.chat import ChatScreen
    from tau.tui.screens.sessions import Chosen

NOT_DURING_A_TURN = ("/resume", "/new", "/undo", "/rewind", "/fork", "/compact", "/wrap", "/model")
COPIES = ("/undo", "/rewind", "/fork")
"""Commands that take a while in a long session."""

SOON = 0.2
"""Seconds after which a command that still runs is said to."""


class Commands:
    """The commands of the conversation on a screen."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self._under_way = 0
        self._copying = 0
        self._beside_count = 0

    @property
    def under_way(self) -> bool:
        """Whether a command runs that may lead to another session or model: messages wait for its end."""
        return self._under_way > 0

    @property
    def copying(self) -> bool:
        """Whether messages are copied into another session, which the person may cancel."""
        return self._copying > 0

    @property
    def beside(self) -> bool:
        """Whether a command runs that nothing waits for."""
        return self._beside_count > 0

    def run(self, line: str, *, typed: bool = False) -> None:
        """Run a slash command; one that was typed and must wait for the turn goes back into the prompt."""
        self._screen.run_worker(self._run(line, typed), group="command")

    def choose_session(self, directory: str | None, here: str) -> None:
        """Let the person choose a session of `directory` (None: of all) and go on with it."""
        self._screen.run_worker(self._choose_session(directory, here), group="picker")

    def resume(self, session_id: str) -> None:
        """Go on with a session."""
        from tau.tui.screens.sessions import Chosen

        self._screen.run_worker(self._resume(Chosen(session_id)), group="picker")

    def rewind(self, prompt: Prompt) -> None:
        """Go on from before a message of the person's, with its text in the prompt."""
        self._screen.run_worker(self._rewind(prompt), group="command")

    async def _run(self, line: str, typed: bool) -> None:
        screen = self._screen
        word = line.split(maxsplit=1)[0].lower()
        if word not in NOT_DURING_A_TURN:
            await self._show(await self._beside(screen.conversation.command(line)))
        elif screen.busy:
            await self._busy()
            if typed:
                screen.prompt.give_back(line)
        else:
            await self._run_alone(screen.conversation.command(line), word)

    async def _beside(self, command: Awaitable[CommandResult]) -> CommandResult:
        """Run a command that nothing waits for; where it takes a moment, the status row says that it runs."""
        self._beside_count += 1
        soon = self._screen.set_timer(SOON, self._screen.show_activity)
        try:
            return await command
        finally:
            soon.stop()
            self._beside_count -= 1
            self._screen.show_activity()

    async def _run_alone(self, command: Awaitable[CommandResult], word: str) -> None:
        from tau.conversation import state as results

        screen = self._screen
        self._under_way += 1
        try:
            result = await (self._copy(command) if word in COPIES else command)
            screen.show_activity()
            await self._show(result)
        finally:
            self._under_way -= 1
        if self._under_way:  # the other one sees to what waits
            return
        if word in ("/compact", *COPIES) and isinstance(result, results.Refused):
            screen.turns.return_waiting()
        else:
            screen.turns.send_next()

    async def _copy(self, command: Awaitable[CommandResult]) -> CommandResult:
        self._copying += 1
        self._screen.show_activity()
        try:
            return await command
        finally:
            self._copying -= 1

    async def _show(self, result: CommandResult) -> None:
        from tau.conversation import state as results
        from tau.conversation.compacting import CANCELLED
        from tau.conversation.switching import COPY_CANCELLED
        from tau.conversation.wrapping import CANCELLED as WRAP_CANCELLED
        from tau.tui.taking_back import with_key
        from tau.tui.widgets.blocks import LinesRow

        screen = self._screen
        match result:
            case results.Said():
                if lines := result.within(screen.chat.scrollable_content_region.width - LinesRow.MARGIN):
                    await screen.chat.add(LinesRow(with_key("\n".join(lines), screen.keys)))
                for line in result.refused:
                    await screen.notice(line, "warning")
                screen.chat.to_end()
            case results.Refused(line):
                if line in (CANCELLED, COPY_CANCELLED, WRAP_CANCELLED):
                    await screen.notice(line)
                else:
                    await screen.refuse(line)
            case results.Help():
                await screen.app.run_action("help")
            case results.SessionListing():
                screen.action_sessions()
            case results.ModelListing(choices):
                screen.run_worker(self._choose_model(choices), group="picker")
            case results.PromptListing():
                screen.run_worker(self._choose_prompt(result), group="picker")
            case results.ToolListing():
                screen.run_worker(self._show_tools(result), group="picker")
            case results.MemoryListing():
                screen.run_worker(self._show_memory(result), group="picker")
            case results.Themes(name):
                screen.run_worker(self._choose_theme(name), group="picker")
            case results.Switched(opening, line, draft, summary):
                await screen.opened.show(opening, line=line, summarized=bool(summary))
                if draft and screen.prompt.put_back(draft):
                    screen.draft_put_away()
            case results.Cleared():
                await screen.moving.clear()
            case results.Quit():
                screen.post_message(EndApp())

    async def _choose_model(self, choices: Sequence[ModelChoice]) -> None:
        from tau.tui.screens.models import ModelPicker

        look_up = self._screen.conversation.models
        role = await self._screen.app.push_screen_wait(ModelPicker(choices, look_up))
        if role:
            self.run(f"/model {role}")

    async def _show_tools(self, listing: ToolListing) -> None:
        from tau.tui.screens.tools import ToolsScreen

        await self._screen.app.push_screen_wait(ToolsScreen(listing, self._screen.conversation.tools))

    async def _show_memory(self, listing: MemoryListing) -> None:
        from tau.tui.screens.memory import MemoryScreen

        await self._screen.app.push_screen_wait(MemoryScreen(self._screen, listing))

    async def _choose_theme(self, name: str) -> None:
        from tau.tui.app import TauApp
        from tau.tui.screens.themes import ThemePicker

        screen = self._screen
        app = screen.app
        assert isinstance(app, TauApp)
        chosen: str | None = name
        if not name:
            chosen = await app.push_screen_wait(ThemePicker(app.looks))
        if not chosen:
            return
        try:
            screen.status.say(app.looks.choose(chosen))
        except TauError as error:
            await screen.notice(error.line(), "warning")

    async def _choose_prompt(self, listing: PromptListing) -> None:
        from tau.tui.screens.rewind import RewindPicker

        screen = self._screen
        picker = RewindPicker(listing, screen.conversation.earlier_prompts)
        chosen = await screen.app.push_screen_wait(picker)
        if chosen is not None:
            await self._rewind(chosen)

    async def _rewind(self, prompt: Prompt) -> None:
        if self._screen.busy:
            await self._busy()
        else:
            await self._run_alone(self._screen.conversation.rewind(prompt), "/rewind")

    async def _choose_session(self, directory: str | None, here: str) -> None:
        from tau.tui.screens.sessions import SessionPicker

        screen = self._screen
        chosen = await screen.app.push_screen_wait(
            SessionPicker(screen.conversation, directory, here, screen.keys)
        )
        if chosen is not None:
            await self._resume(chosen)

    async def _resume(self, chosen: Chosen) -> None:
        """Go on with a session, and to the message that was looked for, if one was."""
        screen = self._screen
        if chosen.session_id != screen.conversation.state.session_id:
            if screen.busy:
                await self._busy()
                return
            screen.status.rest("Opening…")
            try:
                opening = await screen.conversation.switch(chosen.session_id, everywhere=True)
            except TauError as error:
                await screen.notice(error.line(), "warning")
                screen.show_activity()
                return
            await screen.opened.show(opening, line=f"Resumed session {opening.state.session_id}.")
            screen.show_activity()
        if chosen.hit is not None:
            from tau.tui.found_words import go_to_words

            session_id, index = chosen.hit
            try:
                found = await go_to_words(screen, session_id, index, chosen.words)
            except TauError as error:
                await screen.notice(error.line(), "warning")
                return
            if not found:
                screen.status.say(f"Message {index + 1} of session {session_id} is not in this conversation")

    async def _busy(self) -> None:
        from tau.agent.notices import BUSY
        from tau.conversation.compacting import SUMMARIZING
        from tau.conversation.wrapping import WRAPPING, WRAPS

        aside = WRAPS if self._screen.conversation.state.aside == WRAPPING else SUMMARIZING
        await self._screen.refuse(BUSY if self._screen.turns.busy else aside)
