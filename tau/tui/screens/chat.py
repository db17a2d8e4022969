"""The main screen: header, chat, events, prompt, status. It passes on what is typed and shows what comes."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.events import Key, Resize
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Static

from tau.display import one_line, visible
from tau.errors import NoModel, TauError
from tau.tui.commands import Commands
from tau.tui.messages import (
    Answered,
    EndApp,
    LinkChosen,
    ScrollChat,
    Submitted,
    TakeBack,
    TopReached,
    TypedOn,
)
from tau.tui.outbox import Outbox
from tau.tui.questions import Questions
from tau.tui.turns import Turns
from tau.tui.widgets.bars import HeaderBar, StatusBar
from tau.tui.widgets.chat import PAGE_TURNS, Chat, ChatPane
from tau.tui.widgets.events_pane import EventsPane
from tau.tui.widgets.offer import Offer
from tau.tui.widgets.prompt import Prompt, PromptBox

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tau.config.settings import Settings
    from tau.conversation import Conversation
    from tau.conversation.state import ConversationState, Opening
    from tau.events import Level
    from tau.tui.installer import Installer
    from tau.tui.widgets.start_page import StartPage

EVENTS_FROM_WIDTH = 100
FOLLOW_SECONDS = 1.0


class ChatScreen(Screen[None]):
    """One conversation on the screen."""

    AUTO_FOCUS = "#prompt"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Cancel the turn", show=False),
        Binding("f2", "sessions", "Sessions"),
        Binding("f3", "new", "New session"),
        Binding("f4", "events", "Events pane"),
        Binding("f5", "install(0)", "Download the model", show=False),
        Binding("f8", "install(1)", "Download the smaller model", show=False),
        Binding("f9", "decline", "Not now", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("end", "end", "Newest", show=False),
    ]

    def __init__(self, settings: Settings, role: str, warnings: Sequence[str]) -> None:
        super().__init__()
        self._settings = settings
        self._role = role
        self._warnings = warnings
        self._conversation: Conversation | None = None
        self._open = False
        self.turns = Turns(self)
        self.questions = Questions(self)
        self.commands = Commands(self)
        self._events_wanted: bool | None = None
        self._directory_gone = False
        self._following: Timer | None = None
        self.installer: Installer | None = None
        self._start_page: StartPage | None = None

    def compose(self) -> ComposeResult:
        """The parts from top to bottom; only what the first frame needs."""
        header = HeaderBar(id="header")
        header.directory = str(self._settings.directory)
        header.role = self._role
        yield header
        with Horizontal(id="middle"):
            yield ChatPane(id="chat-pane")
            yield EventsPane(id="events")
        offer = Offer(id="offer")
        offer.display = False
        yield offer
        yield Outbox(id="outbox")
        yield PromptBox(id="prompt-box")
        held = Static("", id="held", markup=False)
        held.display = False
        yield held
        yield StatusBar(id="status")

    # Parts -------------------------------------------------------------------------------------

    @property
    def chat(self) -> Chat:
        """The chat."""
        return self.query_one("#chat", Chat)

    @property
    def prompt(self) -> Prompt:
        """The prompt."""
        return self.query_one("#prompt", Prompt)

    @property
    def status(self) -> StatusBar:
        """The status row."""
        return self.query_one("#status", StatusBar)

    @property
    def events_pane(self) -> EventsPane:
        """The events pane."""
        return self.query_one("#events", EventsPane)

    @property
    def outbox(self) -> Outbox:
        """The messages that wait."""
        return self.query_one("#outbox", Outbox)

    @property
    def busy(self) -> bool:
        """Whether a turn runs."""
        return self.turns.busy

    @property
    def conversation(self) -> Conversation:
        """The conversation; there is one as soon as the first frame is on the screen."""
        assert self._conversation is not None
        return self._conversation

    def unsent(self) -> list[str]:
        """The texts that are in no history: the messages that wait, in their order, then what is written."""
        if not self.query("#prompt"):  # the screen is not there yet
            return []
        handed_over = [self.turns.not_accepted] if self.turns.not_accepted else []
        return [*handed_over, *self.outbox.texts, *self.prompt.unsent()]

    @property
    def may_send(self) -> bool:
        """Whether a message would be answered now: the session is open, ours, and its model is settled."""
        if self._conversation is None or not self._open:
            return False
        state = self._conversation.state
        preparing = state.model is None and not state.model_problem
        offered = self.installer is not None and self.installer.pending
        return not (state.held_by or preparing or offered)

    # Opening -----------------------------------------------------------------------------------

    def begin(self, conversation: Conversation) -> None:
        """Show this conversation as it opens."""
        self._conversation = conversation
        conversation.watch(self._state_changed)
        self._open_session()

    @work(group="opening")
    async def _open_session(self) -> None:
        try:
            opening = await self.conversation.ready()
        except TauError as error:
            self.post_message(EndApp(error.exit_code, error.line()))
            return
        await self.show_opening(opening, self._warnings)
        self._prepare_model()

    @work(group="model")
    async def _prepare_model(self) -> None:
        try:
            await self.conversation.model_ready()
        except TauError as error:
            await self._no_model(error)
        else:
            self.turns.send_next()
        settle_memory()

    async def show_opening(self, opening: Opening, notices: Sequence[str] = (), line: str = "") -> None:
        """Show a session that was just opened: its newest turns, its events, what there is to say."""
        from tau.tui.history import turns_of

        self._state_changed(opening.state)
        self.status.rest("Opening…")
        turns = turns_of(opening.history.messages, opening.events)
        self.events_pane.show(opening.events)
        self._arrange()
        await self._end_start_page()
        await self.chat.show_history(turns, more=opening.history.more)
        if not turns:
            await self._show_start_page(opening.state)
        for notice in (*notices, *opening.notices):
            await self.notice(notice, "warning")
        if line:
            await self.notice(line)
        self._open = True
        self._state_changed(self.conversation.state)
        self._read_branch()
        self.turns.send_next()

    async def _show_start_page(self, state: ConversationState) -> None:
        from tau.sessions.records import ListQuery
        from tau.tui.widgets.start_page import SHOWN_SESSIONS, StartPage

        self._start_page = page = StartPage(id="start-page")
        page.show_state(state)
        await self.chat.mount(page)
        query = ListQuery(directory=self.scope_directory(), limit=SHOWN_SESSIONS, exclude=state.session_id)
        try:
            page.show_sessions(await self.conversation.sessions(query))
        except TauError as error:
            await self.notice(error.line(), "warning")

    async def _end_start_page(self) -> None:
        if self._start_page is not None:
            page, self._start_page = self._start_page, None
            await page.remove()

    def scope_directory(self) -> str | None:
        """The directory whose sessions are listed; None for every one."""
        return None if self._settings.sessions.scope == "all" else str(self._settings.directory)

    @work(group="branch", exclusive=True)
    async def _read_branch(self) -> None:
        from tau.tui.branch import git_branch

        path = Path(self.conversation.state.directory or self._settings.directory)
        gone = not await asyncio.to_thread(path.is_dir)
        if gone and not self._directory_gone:
            await self.notice(f"The directory {path} is gone; tools that work in it will fail.", "warning")
        self._directory_gone = gone
        self.query_one("#header", HeaderBar).branch = await asyncio.to_thread(git_branch, path)

    # State -------------------------------------------------------------------------------------

    def _state_changed(self, state: ConversationState) -> None:
        if not self.query("#status"):  # the screen is being taken down
            return
        header = self.query_one("#header", HeaderBar)
        header.state = state
        if state.directory:
            header.directory = state.directory
        self.status.state = state
        if self._start_page is not None:
            self._start_page.show_state(state)
        self._show_held(state.held_by)
        self.show_activity()

    def show_activity(self) -> None:
        """Say in the status row what tau is doing."""
        state = self.conversation.state
        if self.turns.busy:
            self.status.work(self.turns.activity)
        elif not self._open:
            self.status.rest("Opening…")
        elif state.held_by:
            self.status.rest("Read-only")
        elif state.model is None and not state.model_problem:
            self.status.rest("Connecting…")
        elif state.model is None:
            self.status.rest("No model")
        else:
            self.status.rest("Ready")

    def _show_held(self, holder: str) -> None:
        held = self.query_one("#held", Static)
        if bool(holder) == held.display:
            return
        held.display = bool(holder)
        self.query_one("#prompt-box").display = not holder
        if holder:
            held.update(
                f"Read-only: this session is open in {one_line(holder)}. F2 other sessions · F3 new session"
            )
            self._following = self.set_interval(FOLLOW_SECONDS, self._follow)
        else:
            self.prompt.focus()
            if self._following is not None:
                self._following.stop()

    @work(group="follow", exclusive=True)
    async def _follow(self) -> None:
        """Read along with the window that holds this session; take it over when that is gone."""
        if not self.chat.following:
            return  # whoever reads further up is not moved
        opening = await self.conversation.follow()
        if opening is None:
            return
        freed = not opening.state.held_by
        await self.show_opening(opening, line="The other window has let go of this session." if freed else "")

    async def notice(self, text: str, level: Level = "info") -> None:
        """Show a sentence in the chat."""
        from tau.tui.widgets.blocks import NoticeRow

        await self.chat.add(NoticeRow(text, level))

    # Sending -----------------------------------------------------------------------------------

    @on(Submitted)
    def _submitted(self, message: Submitted) -> None:
        from tau.conversation.commands import is_command

        text = message.text
        self.prompt.remember(text)
        self.prompt.empty()
        if is_command(text):
            self.commands.run(text.strip(), typed=True)
        else:
            self.turns.submit(text)

    @on(TakeBack)
    def _take_back(self) -> None:
        text = self.outbox.take_back()
        if text is None:
            self.prompt.earlier()
        else:
            self.prompt.put(text)

    def action_cancel(self) -> None:
        """Cancel the running turn; with none, take back what waits."""
        self.turns.cancel()

    async def turn_begins(self) -> None:
        """A message was accepted."""
        await self._end_start_page()

    def turn_over(self) -> None:
        """A turn is over."""
        self._arrange()
        self._read_branch()

    # Questions ---------------------------------------------------------------------------------

    @on(Answered)
    async def _answered(self, message: Answered) -> None:
        await self.questions.answer(message)

    @on(TypedOn)
    async def _typed_on(self, message: TypedOn) -> None:
        await self.prompt.take(message.event)

    def on_screen_resume(self) -> None:
        """A question that was behind another screen is in sight again."""
        if self.questions.panel is not None:
            self.questions.panel.come_into_sight()

    # Commands ----------------------------------------------------------------------------------

    def action_new(self) -> None:
        """Begin a new session."""
        self.commands.run("/new")

    def action_sessions(self) -> None:
        """Choose a session to go on with."""
        if self._open:
            self.commands.choose_session(self.scope_directory(), str(self._settings.directory))

    async def clear(self) -> None:
        """Empty the view; the session is untouched."""
        await self._end_start_page()
        await self.chat.clear()

    # The embedded model ------------------------------------------------------------------------

    async def _no_model(self, error: TauError) -> None:
        if isinstance(error, NoModel):
            await self._offered().offer()
            return
        if self._start_page is None:  # it shows the same
            await self.notice(error.line(), "error")
        self.turns.return_waiting()

    def _offered(self) -> Installer:
        if self.installer is None:
            from tau.tui.installer import Installer

            self.installer = Installer(self._settings.places, self.query_one("#offer", Offer))
        return self.installer

    def action_install(self, place: int) -> None:
        """Accept the offer of a model."""
        if self.installer is not None and self.installer.accepts(place):
            self._install(self.installer, place)

    @work(group="install", exclusive=True)
    async def _install(self, installer: Installer, place: int) -> None:
        try:
            if await installer.install(place):
                await self.conversation.retry_model()
                installer.close()
        except TauError as error:
            await self.notice(error.line(), "error")
            await installer.offer()
        self.turns.send_next()

    def action_decline(self) -> None:
        """Stop the download, or put the offer away."""
        if self.installer is not None and self.installer.decline():
            self.turns.return_waiting()

    # Moving about ------------------------------------------------------------------------------

    def on_key(self, event: Key) -> None:
        """Typing goes to the prompt, or answers the question in its place, wherever the focus is."""
        if self.questions.panel is not None:
            self.questions.panel.take_key(event)
        elif event.is_printable and event.character and self.focused is not self.prompt:
            event.stop()
            self.prompt.focus()
            self.prompt.insert(event.character)

    def action_page(self, pages: int) -> None:
        """Scroll the chat by pages."""
        self.chat.pages(pages)

    @on(ScrollChat)
    def _scroll_chat(self, message: ScrollChat) -> None:
        self.chat.pages(message.pages)

    @on(TopReached)
    @work(group="earlier", exclusive=True)
    async def _show_earlier(self) -> None:
        from tau.tui.history import turns_of

        before = self.chat.first_index
        if before is None:
            return
        self.chat.reading_earlier()
        try:
            page = await self.conversation.earlier(before, PAGE_TURNS)
        except TauError as error:
            await self.notice(error.line(), "warning")
            return
        await self.chat.show_earlier(turns_of(page.messages, ()), more=page.more)

    def action_end(self) -> None:
        """Go to the newest line."""
        self.chat.to_end()

    def action_events(self) -> None:
        """Show or fold the events pane."""
        self._events_wanted = not self.events_pane.display
        self._arrange()

    def on_resize(self, event: Resize) -> None:
        """Fold the events pane on a narrow screen."""
        self._arrange()

    def _arrange(self) -> None:
        wide = self.size.width >= EVENTS_FROM_WIDTH
        shown = self._events_wanted if self._events_wanted is not None else wide
        pane = self.events_pane
        pane.display = shown
        self.status.folded_events = 0 if shown else len(pane.entries)

    @on(LinkChosen)
    def _link_chosen(self, message: LinkChosen) -> None:
        address = message.address
        if address.startswith(("https://", "http://", "mailto:")):
            self.app.open_url(address)
            self.status.say(f"Opened {visible(address)}")
        else:
            self.status.say(f"Not opened, because it is no web address: {visible(address)}")


def settle_memory() -> None:
    """Keep what start-up allocated out of later garbage collections, which would stop the screen."""
    gc.freeze()
    gc.enable()
