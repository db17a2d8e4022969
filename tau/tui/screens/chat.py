"""The main screen: header, chat, events, prompt, status. It passes on what is typed and shows what comes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.events import Key, Resize
from textual.messages import Layout
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static, TextArea

from tau.display import visible
from tau.errors import TauError
from tau.tui import memory
from tau.tui.attention import Attention
from tau.tui.branch import Place
from tau.tui.commands import Commands
from tau.tui.completion import Completion
from tau.tui.first_page import FirstPage
from tau.tui.held import Held
from tau.tui.in_sight import InSight
from tau.tui.kept import Kept
from tau.tui.keys import Keys, bound, rebind
from tau.tui.messages import (
    Answered,
    BlockClicked,
    EditDraft,
    EndApp,
    LinkChosen,
    ScrollChat,
    SearchHistory,
    Submitted,
    TakeBack,
    Told,
    TopReached,
    TypedOn,
)
from tau.tui.offered import Offered
from tau.tui.outbox import Outbox
from tau.tui.own_command import OwnCommand
from tau.tui.part import LaterRow, Part
from tau.tui.questions import Questions
from tau.tui.turns import Turns
from tau.tui.widgets.bars import HeaderBar, StatusBar
from tau.tui.widgets.chat import Chat, ChatPane
from tau.tui.widgets.choices import Choices
from tau.tui.widgets.events_pane import EventsPane
from tau.tui.widgets.left_draft import LeftDraft
from tau.tui.widgets.offer import Offer
from tau.tui.widgets.prompt import Prompt, PromptBox

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tau.config.settings import Settings
    from tau.conversation import Conversation
    from tau.conversation.state import ConversationState, HistoryPage, Opening
    from tau.events import Level
    from tau.tui.block_cursor import BlockCursor
    from tau.tui.find import Find
    from tau.tui.history import Turn
    from tau.tui.history_search import HistorySearch

EVENTS_FROM_WIDTH = 100


class ChatScreen(Screen[None]):
    """One conversation on the screen."""

    AUTO_FOCUS = "#prompt"
    BINDINGS: ClassVar[list[BindingType]] = [
        *bound(
            {
                "cancel": "cancel",
                "palette": "palette",
                "sessions": "sessions",
                "new": "new",
                "events": "events",
                "accept-model": "install(0)",
                "smaller-model": "install(1)",
                "decline-model": "decline",
                "page-up": "page(-1)",
                "page-down": "page(1)",
                "newest": "end",
                "block-up": "block(-1)",
                "block-down": "block(1)",
                "find": "find",
            }
        )
    ]

    def __init__(
        self,
        settings: Settings,
        role: str,
        warnings: Sequence[str],
        attention: Attention,
        keys: Keys,
        *,
        bare: bool,
    ) -> None:
        super().__init__()
        rebind(self, keys)
        self.keys = keys
        self.attention = attention
        self._compositor = InSight()
        self._settings = settings
        self._role = role
        self._warnings = warnings
        self._conversation: Conversation | None = None
        self._open = False
        self._shown = ""
        self._tool_problems: tuple[str, ...] = ()
        self._garbage = memory.Collector(self)
        self.turns = Turns(self)
        self.own_command = OwnCommand(self)
        self.kept = Kept(self, settings)
        self.completion = Completion(self, self.kept)
        self.search: HistorySearch | None = None
        self.left: tuple[list[str], list[str]] | None = None
        self.questions = Questions(self)
        self.commands = Commands(self)
        self.first_page = FirstPage(self)
        self.part = Part(self)
        self.offered = Offered(self, settings, bare=bare)
        self._held = Held(self)
        self._place = Place(self, settings.directory)
        self._events_wanted: bool | None = None
        self._blocks: BlockCursor | None = None
        self._find: Find | None = None

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
        yield LeftDraft(id="left-draft")
        yield Choices(id="choices")
        held = Static("", id="held", markup=False)
        held.display = False
        yield held
        yield PromptBox(id="prompt-box")
        yield StatusBar(id="status")

    def on_mount(self) -> None:
        """Give the prompt its keys."""
        self.prompt.use_keys(self.keys)
        self.prompt.completes = self.completion

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
        """Whether a turn or a compaction runs."""
        return self.turns.busy or (self._conversation is not None and self._conversation.state.summarizing)

    @property
    def conversation(self) -> Conversation:
        """The conversation; there is one as soon as the first frame is on the screen."""
        assert self._conversation is not None
        return self._conversation

    def not_sent(self) -> tuple[list[str], list[str]]:
        """The texts that are in no session: the messages that wait, in their order, and what is written."""
        if not self.query("#prompt"):  # the screen is not there yet
            return [], []
        handed_over = [self.turns.not_accepted] if self.turns.not_accepted else []
        return [*handed_over, *self.outbox.texts], self.prompt.unsent()

    def unsent(self) -> list[str]:
        """All of those, at the end: what becomes of the screen then changes nothing in what is kept."""
        self.left = waiting, written = self.not_sent()
        return [*waiting, *written]

    @property
    def settings(self) -> Settings:
        """The settings of this run."""
        return self._settings

    @property
    def may_send(self) -> bool:
        """Whether a message would be answered now: the session is open, ours, and its model is settled."""
        if self._conversation is None or not self._open or self.commands.under_way:
            return False
        if self.own_command.running:
            return False
        state = self._conversation.state
        preparing = state.model is None and not state.model_problem
        return not (state.held_by or preparing or state.summarizing or self.offered.pending)

    # Opening -----------------------------------------------------------------------------------

    def begin(self, conversation: Conversation) -> None:
        """Show this conversation as it opens."""
        self._conversation = conversation
        conversation.watch(self._state_changed)
        self.kept.begin()
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
            await self.offered.no_model(error)
            self.call_after_refresh(memory.settle)
        else:
            memory.settle()  # before a message that waits is sent: in its turn it would be felt
            self.turns.send_next()

    async def show_opening(
        self, opening: Opening, notices: Sequence[str] = (), line: str = "", *, summarized: bool = False
    ) -> None:
        """Show a session that was just opened: its newest turns, its events, what there is to say.

        Args:
            opening: The session.
            notices: Warnings.
            line: A sentence.
            summarized: Whether it begins with a summary that was just written.
        """
        from tau.tui.history import turns_of

        self._state_changed(opening.state)
        self.status.rest("Opening…")
        held = bool(opening.state.held_by)
        turns = turns_of(opening.history.messages, opening.history.events, held=held)
        self.events_pane.show(opening.events)
        self._arrange()
        self.workers.cancel_group(self, "earlier")
        await self.first_page.end()
        self._leave_blocks()
        await self.chat.show_history(turns, opening.history, fresh=summarized)
        await self.own_command.show_waiting(opening.state.shared)
        if not turns and not opening.state.shared:
            await self.first_page.begin(opening.state)
        for notice in (*notices, *opening.notices):
            await self.notice(notice, "warning")
        if line:
            await self.notice(line)
        if self._open and opening.state.session_id != self._shown:
            self.call_after_refresh(memory.settle)
        self._open, self._shown = True, opening.state.session_id
        self._state_changed(self.conversation.state)
        self._place.read()
        self.turns.send_next()

    def scope_directory(self) -> str | None:
        """The directory whose sessions are listed; None for every one."""
        return None if self._settings.sessions.scope == "all" else str(self._settings.directory)

    # State -------------------------------------------------------------------------------------

    def _state_changed(self, state: ConversationState) -> None:
        if not self.query("#status"):  # the screen is being taken down
            return
        header = self.query_one("#header", HeaderBar)
        header.state = state
        if state.directory:
            header.directory = state.directory
        self.attention.at(state.name or Path(state.directory).name)
        self.status.state = state
        self.first_page.show_state(state)
        self._held.show(state.held)
        told, self._tool_problems = self._tool_problems, state.tool_problems
        if self._open:
            self.kept.follow(state)
        for line in state.tool_problems[len(told) :]:
            self.run_worker(self.notice(line, "warning"))
        self.show_activity()

    def session_known(self) -> None:
        """What is kept is there: it may belong to a session that is open already."""
        if self._open:
            self.kept.follow(self.conversation.state)

    def show_activity(self) -> None:
        """Say in the status row what tau is doing."""
        state = self.conversation.state
        if self.turns.busy:
            self.status.work(self.turns.activity)
        elif self.own_command.running:
            self.status.work(self.own_command.activity)
        elif state.summarizing:
            self.status.work("Summarizing…")
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
        if self.questions.panel is None:
            self.attention.show(working=self.busy)

    async def notice(self, text: str, level: Level = "info") -> None:
        """Show a sentence in the chat."""
        from tau.tui.widgets.blocks import NoticeRow

        await self.chat.add(NoticeRow(text, level))

    # Sending -----------------------------------------------------------------------------------

    @on(Submitted)
    async def _submitted(self, message: Submitted) -> None:
        from tau.conversation.commands import is_command
        from tau.conversation.own_commands import own_command

        await self._come_back()
        text = message.text
        typed = own_command(text)
        if typed is None and not is_command(text) and await self._held.refuses():
            return
        self.prompt.remember(text)
        self.prompt.empty()
        if typed is not None:
            self.own_command.run(typed, text)
        elif is_command(text):
            self.commands.run(text.strip(), typed=True)
        else:
            self.kept.withdraw()
            self.turns.submit(text)

    @on(TakeBack)
    def _take_back(self) -> None:
        text = self.outbox.take_back()
        if text is not None:
            self.prompt.put(text)
        elif self.kept.offers:
            self.kept.take_up()
        else:
            self.prompt.earlier()

    @on(TextArea.Changed, "#prompt")
    def _changed(self) -> None:
        self.kept.keep()
        self.completion.changed()

    @on(TextArea.SelectionChanged, "#prompt")
    def _cursor_moved(self) -> None:
        self.completion.moved()

    @on(SearchHistory)
    async def _search_history(self) -> None:
        from tau.tui.history_search import HistorySearch

        if self.kept.history is not None:
            self.search = self.search or HistorySearch(self)
            await self.search.open(self.kept.history)

    @on(EditDraft)
    def _edit_draft(self) -> None:
        from tau.tui.editor import edit_draft

        self.run_worker(edit_draft(self), group="editor", exclusive=True)

    @on(Told)
    def _told(self, message: Told) -> None:
        self.status.say(message.line)

    def action_cancel(self) -> None:
        """Cancel the running turn, command or compaction; with none, take back what waits."""
        if self.own_command.running:
            self.own_command.stop()
        else:
            self.turns.cancel()

    async def turn_begins(self) -> None:
        """A message was accepted."""
        self._garbage.begin()
        await self.first_page.end()

    def turn_over(self) -> None:
        """A turn is over."""
        self._garbage.end()
        self.kept.refresh()
        self._arrange()
        self._place.read()

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

    def action_palette(self) -> None:
        """Show everything there is to do."""
        if self._open:
            from tau.tui.palette import Palette

            Palette(self).open()

    def action_sessions(self) -> None:
        """Choose a session to go on with."""
        if self._open:
            self.commands.choose_session(self.scope_directory(), str(self._settings.directory))

    async def clear(self) -> None:
        """Empty the view; the session is untouched."""
        self._leave_blocks()
        await self.first_page.end()
        await self.chat.clear()

    # The embedded model ------------------------------------------------------------------------

    def action_install(self, place: int) -> None:
        """Accept the offer of a model."""
        self.offered.accept(place)

    def action_decline(self) -> None:
        """Stop the download, or put the offer away."""
        self.offered.decline()

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
        """Scroll the chat by pages; behind the last line of a part of the history, read on."""
        if pages > 0 and self.part.away and self.chat.scroll_y >= self.chat.max_scroll_y:
            self.run_worker(self._read_on(), group="later")
        else:
            self.chat.pages(pages)

    @on(ScrollChat)
    def _scroll_chat(self, message: ScrollChat) -> None:
        self.action_page(message.pages)

    async def show_history(self, turns: Sequence[Turn], page: HistoryPage) -> None:
        """Show other turns of the conversation in place of everything in the chat."""
        self.workers.cancel_group(self, "earlier")
        self._leave_blocks()
        await self.first_page.end()
        await self.chat.show_history(turns, page)

    async def _read_on(self) -> None:
        try:
            await self.part.read_on()
        except TauError as error:
            await self.notice(error.line(), "warning")

    @on(LaterRow.Left)
    async def _come_back(self) -> None:
        try:
            await self.part.come_back()
        except TauError as error:
            await self.notice(error.line(), "warning")

    @on(TopReached)
    @work(group="earlier")
    async def _show_earlier(self) -> None:
        from tau.tui.going_to import load_earlier

        if not self.chat.reading:
            await load_earlier(self)

    @property
    def blocks(self) -> BlockCursor:
        """The cursor over the blocks of the chat."""
        from tau.tui.block_cursor import BlockCursor

        if self._blocks is None:
            self._blocks = BlockCursor(self)
        return self._blocks

    def action_block(self, step: int) -> None:
        """Move the cursor over the blocks."""
        self.blocks.step(step)

    @on(BlockClicked)
    def _block_clicked(self, message: BlockClicked) -> None:
        if self._blocks is not None:
            self._blocks.clicked(message.block, message.row)

    async def action_find(self) -> None:
        """Find words in the conversation."""
        from tau.tui.find import Find

        self._find = self._find or Find(self)
        await self._find.open()

    def _leave_blocks(self) -> None:
        """What the cursor and the search are on goes away."""
        if self._blocks is not None:
            self._blocks.leave()
        if self._find is not None:
            self._find.leave()

    async def action_end(self) -> None:
        """Go to the newest line."""
        await self._come_back()
        self.chat.to_end()

    def action_events(self) -> None:
        """Show or fold the events pane."""
        self._events_wanted = not self.events_pane.display
        self._arrange()

    def on_resize(self, event: Resize) -> None:
        """Fold the events pane on a narrow screen."""
        self._arrange()

    async def _on_layout(self, message: Layout) -> None:
        """Have a widget laid out that asked for it, whatever was laid out while its message was under way.

        Textual forgets where a container has its widgets before it sends the message. A layout in between
        fills that in again, with the old height of this widget, and the message would change nothing. Textual
        calls its own handler after this one.
        """
        for ancestor in message.widget.ancestors:
            if isinstance(ancestor, Widget):
                ancestor._clear_arrangement_cache()
                if not ancestor.styles.auto_dimensions:
                    break

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
