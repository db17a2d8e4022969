"""The main screen: header, chat, events, prompt, status. It passes on what is typed and shows what comes."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.events import Key, Paste, Resize
from textual.messages import Layout
from textual.screen import Screen
from textual.widgets import Static, TextArea

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
from tau.tui.layout import forget_places
from tau.tui.links import open_link
from tau.tui.messages import (
    Answered,
    BlockClicked,
    EditDraft,
    LinkChosen,
    Pasted,
    PasteImage,
    ScrollChat,
    SearchHistory,
    Submitted,
    TakeBack,
    Told,
    TopReached,
    TypedOn,
)
from tau.tui.moving import Moving
from tau.tui.offered import Offered
from tau.tui.opened import Opened
from tau.tui.outbox import Outbox
from tau.tui.own_command import OwnCommand
from tau.tui.part import LaterRow, Part
from tau.tui.pasting import mention_dropped, paste_image
from tau.tui.questions import Questions
from tau.tui.sending import Sending
from tau.tui.side import Side
from tau.tui.state_view import StateView
from tau.tui.taking_back import take_back
from tau.tui.telling import Telling
from tau.tui.turns import Turns
from tau.tui.widgets.bars import HeaderBar, StatusBar
from tau.tui.widgets.block import Block
from tau.tui.widgets.chat import Chat, ChatPane
from tau.tui.widgets.choices import Choices
from tau.tui.widgets.events_pane import EventsPane
from tau.tui.widgets.left_draft import LeftDraft
from tau.tui.widgets.offer import Offer
from tau.tui.widgets.prompt import Prompt, PromptBox

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tau.config.settings import Settings
    from tau.conversation import Conversation
    from tau.events import Level
    from tau.tui.history_search import HistorySearch


LOW_BELOW = 12
"""Rows of the screen below which the header and the empty rows give way."""

MOST_PROMPT = 10
"""Rows of the prompt at most."""

LEAST_CHAT = 1
"""Rows of the chat that a prompt of several rows leaves."""


class ChatScreen(Screen[None]):
    """One conversation on the screen."""

    AUTO_FOCUS = "#prompt"
    BINDINGS: ClassVar[list[BindingType]] = [
        *bound(
            {
                "choose": "open_card",
                "card-next": "app.focus_next",
                "card-back": "app.focus_previous",
                "cancel": "cancel",
                "palette": "palette",
                "sessions": "sessions",
                "memory": "memory",
                "take-back": "take_back",
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
        self._conversation: Conversation | None = None
        self.garbage = memory.Collector(self)
        self.turns = Turns(self)
        self.own_command = OwnCommand(self)
        self.kept = Kept(self, settings)
        self.completion = Completion(self, self.kept)
        self.search: HistorySearch | None = None
        self.left: tuple[list[str], list[str]] | None = None
        self.telling = Telling(self)
        self.questions = Questions(self)
        self.commands = Commands(self)
        self.first_page = FirstPage(self)
        self.part = Part(self)
        self.offered = Offered(self, settings, bare=bare)
        self.held = Held(self)
        self.place = Place(self, settings.directory)
        self.side = Side(self)
        self.sending = Sending(self)
        self.opened = Opened(self, warnings)
        self.state_view = StateView(self)
        self.moving = Moving(self)

    def compose(self) -> ComposeResult:
        """The parts from top to bottom; only what the first frame needs."""
        header = HeaderBar(id="header")
        header.directory = str(self._settings.directory)
        header.role = self._role
        yield header
        with Horizontal(id="middle"):
            yield ChatPane(id="chat-pane")
            yield EventsPane(id="events")
        offer = Offer(self.keys, id="offer")
        offer.display = False
        yield offer
        yield Outbox(self.keys, id="outbox")
        yield LeftDraft(self.keys, id="left-draft")
        yield Choices(id="choices")
        held = Static("", id="held", markup=False)
        held.display = False
        yield held
        yield PromptBox(id="prompt-box")
        yield StatusBar(self.keys, id="status")

    def on_mount(self) -> None:
        """Give the prompt its keys."""
        self.prompt.use_keys(self.keys)
        self.prompt.completes = self.completion
        # Textual waits a whole frame before the first repaint by this timer, and for none after it: begun
        # here, that frame is over by the time that the first letter is typed.
        self._update_timer.resume()
        self.screen_layout_refresh_signal.subscribe(self, lambda _: self._laid_out())

    def _laid_out(self) -> None:
        self._fit_prompt()
        self.state_view.show_way_out()

    def _fit_prompt(self) -> None:
        """Give the prompt no more rows than there are: it scrolls, and the status row stays in sight."""
        others = [part for part in self.displayed_children if part.styles.overlay == "none"]
        taken = sum(part.styles.margin.height for part in others)
        taken += sum(part.outer_size.height for part in others if part.id not in ("middle", "prompt-box"))
        box = self.query_one("#prompt-box", PromptBox)
        room = self.size.height - taken - box.gutter.height - LEAST_CHAT
        self.prompt.styles.max_height = max(1, min(MOST_PROMPT, room))

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
        if self.query_one_optional("#prompt") is None:  # the screen is not there yet
            return [], []
        handed_over = [self.turns.not_accepted] if self.turns.not_accepted else []
        return [*handed_over, *self.outbox.texts], self.prompt.unsent()

    def typed(self, then: Callable[[], None]) -> bool:
        """Call this once the prompt has taken what was typed so far; False when there is no prompt."""
        return self.query_one_optional("#prompt") is not None and self.prompt.call_later(then)

    def unsent(self, held: str = "") -> list[str]:
        """All of those, at the end: what becomes of the screen then changes nothing in what is kept.

        Args:
            held: Text that was typed behind what is written, and that nobody took.
        """
        waiting, written = self.not_sent()
        if held.strip():
            written = [*written[:-1], "".join(written[-1:]) + held]
        self.left = waiting, written
        return [*waiting, *written]

    @property
    def settings(self) -> Settings:
        """The settings of this run."""
        return self._settings

    # Opening -----------------------------------------------------------------------------------

    def begin(self, conversation: Conversation) -> None:
        """Show this conversation as it opens."""
        self._conversation = conversation
        conversation.watch(self.state_view.show)
        self.kept.begin()
        self.opened.begin()

    def scope_directory(self) -> str | None:
        """The directory whose sessions are listed; None for every one."""
        return None if self._settings.sessions.scope == "all" else self._settings.directory_text

    def session_known(self) -> None:
        """What is kept is there: it may belong to a session that is open already."""
        if self.opened.is_open:
            self.kept.follow(self.conversation.state)

    def show_activity(self) -> None:
        """Say in the status row what tau is doing."""
        self.state_view.show_activity()

    def draft_put_away(self) -> None:
        """Say until the next key that what was written is in the history."""
        self.telling.draft_put_away()

    @property
    def leaves(self) -> bool:
        """Whether the press that was asked for leaves now."""
        return self.telling.leaves

    def ask_to_press_again(self) -> None:
        """Say for a moment that the same key leaves, unless something else comes between."""
        self.telling.ask_to_press_again()

    async def notice(self, text: str, level: Level = "info") -> None:
        """Show a sentence in the chat."""
        await self.telling.notice(text, level)

    async def refuse(self, text: str) -> None:
        """Say why something that was asked for is not done; it goes with what comes next."""
        await self.telling.refuse(text)

    # Sending -----------------------------------------------------------------------------------

    @on(Submitted)
    async def _submitted(self, message: Submitted) -> None:
        await self.sending.send(message.text)

    @on(TakeBack)
    def _take_back(self) -> None:
        self.sending.take_back()

    @on(TextArea.Changed, "#prompt")
    def _changed(self) -> None:
        if self.prompt.is_typed:  # by keys that came at once behind the one that leaves
            self.telling.stay()
        self.prompt.call_after_refresh(self.prompt.scroll_cursor_visible)  # a row more than Textual knew of
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

    @on(Pasted)
    def _pasted(self, message: Pasted) -> None:
        self.telling.stay()
        self.run_worker(mention_dropped(self, message.text), group="pasted")

    @on(PasteImage)
    def _paste_image(self) -> None:
        self.run_worker(paste_image(self), group="clipboard", exclusive=True)

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
        self.telling.go_on()
        self.garbage.begin()
        await self.first_page.end()

    def turn_over(self) -> None:
        """A turn is over."""
        self.telling.go_on()
        self.garbage.end()
        self.kept.refresh()
        self.side.arrange()
        self.place.read()

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
        if self.opened.is_open:
            from tau.tui.palette import Palette

            Palette(self).open()

    def action_sessions(self) -> None:
        """Choose a session to go on with."""
        if self.opened.is_open:
            self.commands.choose_session(self.scope_directory(), self._settings.directory_text)

    def action_memory(self) -> None:
        """Show memory and how it changed."""
        if self.opened.is_open:
            self.commands.run("/memory")

    def action_take_back(self) -> None:
        """Take back what was just remembered."""
        if self.opened.is_open:
            self.run_worker(take_back(self), group="memory")

    def action_install(self, place: int) -> None:
        """Accept the offer of a model."""
        self.offered.accept(place)

    def action_decline(self) -> None:
        """Stop the download, or put the offer away."""
        self.offered.decline()

    # Moving about ------------------------------------------------------------------------------

    def before_key(self, event: Key) -> None:
        """Typing goes to the prompt wherever the focus is, with the keys that come at once behind it."""
        self.telling.key_pressed(interrupts=event.key in self.keys["interrupt"])
        focused = self.focused
        elsewhere = focused is None or isinstance(focused, (Block, EventsPane))
        if elsewhere and event.is_printable and self.questions.panel is None and self.prompt.focusable:
            self.set_focus(self.prompt)

    def on_key(self, event: Key) -> None:
        """Typing goes to the prompt, or answers the question in its place, wherever the focus is."""
        if self.questions.panel is not None:
            self.questions.panel.take_key(event)
        elif event.is_printable and event.character and self.focused is not self.prompt:
            event.stop()
            self.prompt.focus()
            self.prompt.type_in(event.character)

    async def on_paste(self, event: Paste) -> None:
        """A paste goes to the prompt, also when nobody looks at the terminal and nothing has the focus."""
        await self.prompt.take(event)

    def action_page(self, pages: int) -> None:
        """Scroll the chat by pages; behind the last line of a part of the history, read on."""
        self.moving.page(pages)

    @on(ScrollChat)
    def _scroll_chat(self, message: ScrollChat) -> None:
        self.moving.page(message.pages)

    @on(LaterRow.Left)
    async def _come_back(self) -> None:
        await self.moving.come_back()

    @on(TopReached)
    def _show_earlier(self) -> None:
        self.moving.show_earlier()

    def action_block(self, step: int) -> None:
        """Move the cursor over the blocks."""
        self.moving.blocks.step(step)

    @on(BlockClicked)
    def _block_clicked(self, message: BlockClicked) -> None:
        self.moving.clicked(message)

    def action_open_card(self) -> None:
        """Open or close the card that has the focus."""
        if not isinstance(self.focused, Block):
            raise SkipAction
        self.focused.turn()

    async def action_find(self) -> None:
        """Find words in the conversation."""
        await self.moving.find()

    async def action_end(self) -> None:
        """Go to the newest line."""
        await self.moving.to_end()

    def action_events(self) -> None:
        """Show or fold the events pane."""
        self.side.turn()

    def on_resize(self, event: Resize) -> None:
        """Fold the events pane on a narrow screen, and do without the header on a low one."""
        self.side.arrange()
        self.set_class(event.size.height < LOW_BELOW, "-low")
        self.prompt.call_after_refresh(self.prompt.scroll_cursor_visible)

    async def _on_layout(self, message: Layout) -> None:
        """Have a widget laid out that asked for it; Textual calls its own handler after this one."""
        forget_places(message.widget)

    @on(LinkChosen)
    def _link_chosen(self, message: LinkChosen) -> None:
        open_link(self, message.address)
