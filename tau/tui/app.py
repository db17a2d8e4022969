"""The Textual app: its bindings, its screens, its ways out."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import App
from textual.binding import BindingType
from textual.events import Event, InputEvent, Key
from textual.screen import Screen
from textual.worker import WorkerFailed

from tau.config.keys import in_force
from tau.tui.attention import Attention
from tau.tui.early import Early
from tau.tui.keys import bound, rebind
from tau.tui.looks import Looks
from tau.tui.messages import EndApp
from tau.tui.remembered import Remembered
from tau.tui.screens.chat import ChatScreen
from tau.tui.screens.over import ScreenOver
from tau.tui.theme import variables_for

if TYPE_CHECKING:
    from tau.config.settings import Settings
    from tau.conversation import Conversation
    from tau.conversation.state import OpenRequest

log = logging.getLogger(__name__)

INSTALL_SECONDS = 1.0
"""How long the end of the app waits for what a download has started."""


class TauApp(App[None]):
    """The app around one conversation.

    Args:
        settings: The settings of this run.
        request: What to open.
        warnings: Sentences to show once.
        light: Whether the terminal says that its background is light; None when it says nothing.
        typed: What was typed before the app could see it.

    Attributes:
        keys: The keys in force.
        looks: The theme, and those that can be chosen.
        remembered: What is kept for the next start.
        attention: Tells how things stand while nobody looks.
        conversation: Present once the first frame is on the screen.
        exit_code: What the process ends with.
        last_line: What is printed once the terminal is restored.
        unsent: The texts that were written and not sent, printed then, too.
        editing: Whether the person's editor has the terminal.
        told_to_end: Whether a signal came that ends the app.
        when_mounted: Called when the screen has been taken over.
    """

    TITLE = "tau"
    CSS_PATH = "screens/chat.tcss"  # textual loads no stylesheet of a default screen
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        *bound({"leave": "quit", "interrupt": "interrupt", "help": "help"}, priority=["leave"])
    ]

    def __init__(
        self,
        settings: Settings,
        request: OpenRequest,
        warnings: Sequence[str] = (),
        *,
        light: bool | None = None,
        typed: str = "",
    ) -> None:
        super().__init__()
        self.attention = Attention(self, settings.tui.notify)
        self.conversation: Conversation | None = None
        self.exit_code = 0
        self.last_line = ""
        self.unsent: list[str] = []
        self.editing = False
        self.told_to_end = False
        self.when_mounted: Callable[[], None] | None = None
        self.keys = in_force(settings.keys)
        rebind(self, self.keys)
        self._settings = settings
        self._request = request
        self._warnings = list(warnings)
        self._begun = False
        self._leaving = False
        self._ended = False
        self._hung_up = False
        self._chat_screen: ChatScreen | None = None
        self._early = Early(
            typed, at_once=self.keys["leave"], line_ends=self.keys["send"] + self.keys["newline"]
        )
        self.remembered = Remembered(settings.places.state)
        self.looks = Looks(self, settings.tui.theme, self.remembered, light)
        if self.looks.problem:
            self._warnings.append(self.looks.problem)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """The colours of tau's own that a theme of Textual does not define."""
        return variables_for(self.current_theme)

    def get_default_screen(self) -> Screen[None]:
        """The conversation's screen."""
        self._chat_screen = ChatScreen(
            self._settings,
            self._request.role or "default",
            self._warnings,
            self.attention,
            self.keys,
            bare=self._request.bare,
        )
        return self._chat_screen

    async def on_event(self, event: Event) -> None:
        """Hold what is pressed before there is somebody to take it: Textual would drop it."""
        if event.is_forwarded:
            await super().on_event(event)
        elif not self._early.holds(event):
            await self._take(event)

    async def _take(self, event: Event) -> None:
        """Give an event to whoever has the focus, which a letter brings to the prompt.

        A screen over the conversation is given it when it is there as a whole.
        """
        if isinstance(event, InputEvent) and self._chat_screen is not None:
            screen = self.screen
            if isinstance(screen, ScreenOver):
                await screen.is_there()
            elif isinstance(event, Key) and screen is self._chat_screen:
                self._chat_screen.before_key(event)
        await super().on_event(event)

    async def on_descendant_focus(self) -> None:
        """The prompt is there."""
        await self._early.prompt_is_there(self._take)

    def on_mount(self) -> None:
        """Everything heavy waits for the first frame."""
        self._begun = True
        if self.when_mounted is not None:
            self.when_mounted()
        self.attention.begin()
        self.call_after_refresh(self._begin)

    @work(group="begin")
    async def _begin(self) -> None:
        assert self._chat_screen is not None
        if self._chat_screen.focused is None:  # as where nobody looks at the terminal while the app begins
            self._chat_screen.set_focus(self._chat_screen.prompt)
        await asyncio.to_thread(_import_conversation)
        from tau.conversation import Conversation

        self.conversation = Conversation.start(self._settings, self._request)
        self._chat_screen.begin(self.conversation)
        self._hand_out()
        await asyncio.to_thread(_import_reply)

    @work(group="begin")
    async def _hand_out(self) -> None:
        """Give what was pressed early to whom it was meant for."""
        assert self._chat_screen is not None
        await self._chat_screen.opened.shown.wait()
        await self._chat_screen.kept.there.wait()
        await self._early.session_is_there(self._take)

    def on_app_focus(self) -> None:
        """Somebody looks at the terminal."""
        self.attention.seen()
        if self._chat_screen is not None:
            self._chat_screen.kept.refresh()

    # Ways out ----------------------------------------------------------------------------------

    def leave(self, code: int, line: str = "") -> None:
        """End the app; `line` is printed once the terminal is restored.

        The prompt first takes the keys that are on their way to it; asked again, the app ends without that.
        """
        self.exit_code, self.last_line = code, line
        waits = not self._leaving and self._chat_screen is not None and self._chat_screen.typed(self._end)
        self._leaving = True
        if not waits:
            self._end()

    def _end(self) -> None:
        if not self._ended:
            self._ended = True
            self._keep_unsent()
            self.exit(return_code=self.exit_code)

    def _keep_unsent(self) -> None:
        if self._chat_screen is not None:
            self.unsent = self._chat_screen.unsent(self._early.text)

    def stop_download(self) -> None:
        """Stop the download of a model, if one runs; called when the app has ended."""
        if self._chat_screen is not None:
            self._chat_screen.offered.stop(INSTALL_SECONDS)

    def close_kept(self) -> bool:
        """Write what the prompt keeps; whether the texts that were not sent are among it. Blocks."""
        return self._chat_screen is not None and self._chat_screen.kept.close() and bool(self.unsent)

    @on(EndApp)
    def _leave(self, message: EndApp) -> None:
        self.leave(message.code, message.line)

    async def action_quit(self) -> None:
        """Leave; what is said is on disk already."""
        self.leave(0)

    def end_by(self, number: int) -> bool:
        """End by a signal; before the app is on the screen, once it is. False when it has ended already."""
        if self.editing and number == signal.SIGINT:  # Ctrl+C was meant for the editor
            return True
        self.told_to_end = True
        if number == signal.SIGHUP:  # the terminal's end is told twice: by the signal, and by what is read
            if self._hung_up:
                return True
            self._hung_up = True
        return self.post_message(EndApp(128 + number))

    def _handle_exception(self, error: Exception) -> None:
        """A defect: logged with its traceback, one line for the person, no traceback on the screen.

        While the screen is being taken down, work that was still going on misses its widgets; that is none.
        """
        if self._ended or (self._begun and not self.is_running):
            log.debug("While the app ended", exc_info=error)
            return
        if not self.last_line:
            # A worker's failure wraps what went wrong.
            cause = error.error if isinstance(error, WorkerFailed) else error.__cause__ or error
            log.error("The app failed", exc_info=cause)
            path = self._settings.places.logs / "tau.log"
            self.exit_code = 1
            self._keep_unsent()
            self.last_line = f"tau: stopped by a defect ({type(cause).__name__}); {path} has the details"
        self._return_code = 1
        if self._exception is None:
            self._exception = error
            self._exception_event.set()
        self._close_messages_no_wait()

    # Copying -----------------------------------------------------------------------------------

    def copy_to_clipboard(self, text: str) -> None:
        """Copy through the terminal and the system's clipboard program, and say what came of it."""
        super().copy_to_clipboard(text.encode("utf-8", "replace").decode("utf-8"))
        self._copy(text)

    @work(group="copy", exclusive=True)
    async def _copy(self, text: str) -> None:
        from tau.tui.clipboard import TERMINAL_LIMIT, copy_with_program, in_terminal

        # A browser's clipboard is not the one of the machine that tau runs on.
        program = "" if self.is_web else await copy_with_program(text)
        amount = f"{len(text):,} character{'' if len(text) == 1 else 's'}"
        if program:
            self._say(f"Copied {amount} ({program})")
        elif not self.is_web and in_terminal(text) > TERMINAL_LIMIT:
            self._say(
                f"Sent {amount} to the terminal's clipboard; many take no more than 75 kB: paste to check"
            )
        else:
            place = "browser" if self.is_web else "terminal"
            self._say(f"Sent {amount} to the {place}'s clipboard; it does not confirm, so paste to check")

    async def action_interrupt(self) -> None:
        """With nothing selected: back, put the draft away, cancel what runs, or leave at a second press."""
        screen = self.screen
        if not isinstance(screen, ChatScreen):
            if selected := screen.get_selected_text():
                self.copy_to_clipboard(selected)
                return
            back = next(b for bs in screen._bindings.key_to_bindings.values() for b in bs if b.id == "back")
            await self.run_action(back.action, screen)
            return
        if screen.questions.panel is not None:  # the draft lies behind it
            screen.action_cancel()
            return
        if screen.search is not None and screen.search.is_open:
            screen.search.leave()
            return
        selected = screen.prompt.chosen_text if screen.prompt.has_focus else ""
        draft = screen.prompt.written_out()
        if selected:
            self.copy_to_clipboard(selected)
        elif draft.strip():
            screen.prompt.remember(draft)
            screen.prompt.empty()
            screen.draft_put_away()
        elif screen.busy or screen.own_command.running or screen.commands.copying:
            screen.action_cancel()
        elif screen.leaves:
            self.leave(0)
        else:
            screen.ask_to_press_again()

    def _say(self, text: str) -> None:
        screen = self.screen_stack[0]
        if isinstance(screen, ChatScreen):
            screen.status.say(text)

    async def action_help(self) -> None:
        """Show the keys and commands."""
        from tau.tui.screens.help import HelpScreen

        if not isinstance(self.screen, HelpScreen):
            self.push_screen(HelpScreen(self.keys))


def _import_conversation() -> None:
    import tau.conversation.conversation  # noqa: F401  # imported for its weight, off the loop


def _import_reply() -> None:
    import tau.tui.history
    import tau.tui.turn_view
    import tau.tui.widgets.reply  # noqa: F401  # imported for its weight, off the loop
    from tau.tui.markdown import parse

    parse("*a*\n\n```python\n1\n```")  # the first text compiles its patterns
