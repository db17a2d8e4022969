"""What the prompt keeps on disk: the history, and what was written and not sent; and the files it names."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tau.tui.widgets.left_draft import LeftDraft

if TYPE_CHECKING:
    from pathlib import Path

    from tau.config.settings import Settings
    from tau.conversation.state import ConversationState
    from tau.input.drafts import Draft, Drafts
    from tau.input.files import FileFinder
    from tau.input.history import PromptHistory
    from tau.tui.screens.chat import ChatScreen

BACK = "What you had not sent is in the prompt again"
ELSEWHERE = "Another window has that draft now"


class Kept:
    """Keeps what the person writes, and brings back what they had not sent.

    A draft of the session that is opened comes into the prompt if that is empty, with the messages that had
    waited: nothing is sent that the person has not seen again. In a new session the other drafts of this
    directory are offered in a line over the prompt, each once; from then on they are in the history, too.

    Attributes:
        history: What was sent before; None until it is there.
        files: The files that can be named; None until they can be looked for.
        there: Set once both are there.
    """

    def __init__(self, screen: ChatScreen, settings: Settings) -> None:
        self.history: PromptHistory | None = None
        self.files: FileFinder | None = None
        self.there = asyncio.Event()
        self._screen = screen
        self._settings = settings
        self._drafts: Drafts | None = None
        self._offered: list[Draft] = []
        self._session = ""
        self._looked = False
        self._moving = asyncio.Lock()
        self._told: set[str] = set()

    @property
    def offers(self) -> bool:
        """Whether a draft is offered."""
        return bool(self._offered)

    def begin(self) -> None:
        """Get ready beside everything else."""
        self._screen.run_worker(self._begin(), group="kept")

    def keep(self) -> None:
        """Keep what is in no history now, in place of what was kept before. Returns at once."""
        if self._drafts is not None:
            waiting, written = self._screen.left or self._screen.not_sent()
            self._drafts.keep("\n\n".join(written), waiting)
            self._tell_problems()

    def follow(self, state: ConversationState) -> None:
        """What is kept belongs to this session from now on; what was left there comes back."""
        if self._drafts is not None and state.session_id not in ("", self._session) and not state.held_by:
            self._session = state.session_id
            self._screen.run_worker(self._attach(self._drafts, self._session), group="kept")

    def refresh(self) -> None:
        """Another window may have sent something, and files may have changed."""
        if self.history is not None and self.files is not None:  # else nothing was read yet
            self._screen.prompt.past.refresh()
            self.files.refresh()

    def take_up(self) -> None:
        """Bring the offered draft into the prompt."""
        if self._offered and self._drafts is not None:
            draft = self._offered.pop(0)
            self._show()
            self._screen.run_worker(self._take_up(self._drafts, draft), group="kept")

    def withdraw(self) -> None:
        """Offer nothing any more; what was offered stays where it is kept."""
        self._offered.clear()
        self._show()

    def close(self) -> bool:
        """Write what waits to be written; whether what was not sent is kept. Blocks."""
        left = self._screen.left
        if self._drafts is None or self.history is None or self.files is None:
            if left is None or not any(left):
                return False
            history, drafts, files = _made(self._settings.places.state, self._settings.directory)
        else:
            history, drafts, files = self.history, self._drafts, self.files
        if left is not None:
            drafts.keep("\n\n".join(left[1]), left[0])
        files.close()
        history.close()
        return drafts.close() and not drafts.problem

    async def _begin(self) -> None:
        made = await asyncio.to_thread(_made, self._settings.places.state, self._settings.directory)
        self.history, self._drafts, self.files = made
        self.there.set()
        self._screen.prompt.past.use(made[0])
        self.keep()
        self._screen.session_known()

    async def _attach(self, drafts: Drafts, session: str) -> None:
        async with self._moving:
            left = await asyncio.to_thread(drafts.attach, session)
            self._offered.clear()  # what was offered belongs to the session before
            if left is not None and self._screen.prompt.text.strip():
                self._offered.append(left)
            elif left is not None:
                await self._bring_back(drafts, left)
            if not self._screen.conversation.state.message_count:
                self._offered += await asyncio.to_thread(drafts.leftovers)
            self._looked = True
            await self._offer(drafts)
            self._tell_problems()

    async def _offer(self, drafts: Drafts) -> None:
        """Show what is offered now; in another session than its own a draft is offered once."""
        self._show()
        if not self._offered or self._offered[0].session == self._session:
            return
        draft = self._offered[0]
        for text in draft.texts:
            self._screen.prompt.past.add(text)
        await asyncio.to_thread(drafts.note_offered, draft)

    async def _take_up(self, drafts: Drafts, draft: Draft) -> None:
        async with self._moving:
            if await asyncio.to_thread(drafts.take, draft):
                await self._bring_back(drafts, draft)
            else:
                self._screen.status.say(ELSEWHERE)
            await self._offer(drafts)

    async def _bring_back(self, drafts: Drafts, draft: Draft) -> None:
        self._screen.prompt.put("\n\n".join(draft.texts).strip("\n"))
        self.keep()
        self._screen.status.say(BACK)
        await asyncio.to_thread(drafts.release, draft)

    def _show(self) -> None:
        line = self._screen.query_one("#left-draft", LeftDraft)
        if self._offered:
            from datetime import UTC, datetime

            from tau.tui.widgets.start_page import when

            draft = self._offered[0]
            at = when(datetime.fromtimestamp(draft.at, UTC).isoformat())
            line.offer(" ".join(draft.texts), at, len(self._offered) - 1)
        else:
            line.display = False

    def _tell_problems(self) -> None:
        """Say once why something cannot be kept."""
        for kept in (self._drafts, self.history):
            if kept is not None and kept.problem and kept.problem not in self._told:
                self._told.add(kept.problem)
                self._screen.run_worker(self._screen.notice(kept.problem, "warning"))


def _made(state_dir: Path, directory: Path) -> tuple[PromptHistory, Drafts, FileFinder]:
    """What is imported for it weighs too much for the time before the first frame."""
    import tau.input.completing  # noqa: F401
    from tau.input.drafts import Drafts
    from tau.input.files import FileFinder
    from tau.input.history import PromptHistory

    return PromptHistory(state_dir, directory), Drafts(state_dir, directory), FileFinder(directory)
