"""The engine's side of a conversation: hands each call to what carries it out, and keeps them apart.

Everything here runs on the engine's loop. `cancel` works at any time, and so do answers to questions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from tau.agent.turn import Emit
from tau.config.settings import Settings
from tau.conversation import prompts, roles, tooling
from tau.conversation.answerer import Answerer
from tau.conversation.busy import ASIDE, Busy
from tau.conversation.carrying import Carrier, Continuation
from tau.conversation.compacting import CANCELLED, SUMMARIZING
from tau.conversation.counting import counting
from tau.conversation.in_hand import InHand, Look
from tau.conversation.model_in_force import ModelInForce
from tau.conversation.opening import OpenSession, SessionOpener
from tau.conversation.own_commands import OwnCommand, OwnCommands
from tau.conversation.questions import Questions
from tau.conversation.refining import Refining
from tau.conversation.running_turn import RunningTurn
from tau.conversation.said import Said
from tau.conversation.standing import InForce
from tau.conversation.state import (
    ConversationState,
    ModelChoice,
    Opening,
    OpenRequest,
    Prompt,
    PromptListing,
    ToolListing,
)
from tau.conversation.stopping import Stopping
from tau.conversation.switching import Switcher
from tau.conversation.titling import Titling
from tau.conversation.work_notes import AGENT, USER
from tau.errors import CompactionCancelled, StoreError, TauError, UsageError
from tau.events import CommandEnded, CommandEvent, TurnEnd, TurnEvent
from tau.masking import mask_content
from tau.models.info import ModelInfo
from tau.sessions.catalog import Catalog
from tau.sessions.registry import open_store

if TYPE_CHECKING:
    from tau.agent.recorder import ReadBack
    from tau.agent.runner import AgentRunner
    from tau.conversation.wrapping import Wrapping

T = TypeVar("T")


def _nowhere(event: TurnEvent) -> None:
    """Nobody listens."""


class Core(InHand):
    """A conversation as the engine sees it.

    Args:
        settings: The settings of this run.
        request: What to open first.
        publish: Called with each new state, on the engine's thread.
    """

    def __init__(
        self, settings: Settings, request: OpenRequest, publish: Callable[[ConversationState], None]
    ) -> None:
        super().__init__(settings, request, publish)
        self.questions = Questions()
        self._own_commands = OwnCommands(self)
        self._busy = Busy(self, self._own_commands)
        self._stopping = Stopping()
        self._model = ModelInForce(self)
        self._carrier = Carrier(self)
        self._switcher = Switcher(self, self._stopping)
        self._titling = Titling(self)
        self.in_force = InForce(self, self._stopping)
        self.refining = Refining(self, self.in_force)
        self._wrapping: Wrapping | None = None
        self.answerer = Answerer(
            settings,
            bare=request.bare,
            one_shot=request.one_shot,
            ask=self.questions.ask if request.can_ask else None,
            make_room=self._make_room,
            on_unsaved=lambda reason: self.show(unsaved=reason),
            read=self.read,
            in_force=self.in_force,
        )

    # Opening ------------------------------------------------------------------------------------

    async def open(self) -> Opening:
        """Open the store and the session the channel asked for. Imports neither strands nor a provider."""
        self.in_force.live_here()
        async with self._busy.lock:
            self._store = open_store(self.settings, channel=self.request.channel)
            self._catalog = Catalog(self._store, state_dir=self.settings.places.state)
            self._opener = SessionOpener(self._store, self._catalog, self.settings, self.request.channel)
            opened = self._opener.open(self.request)
            try:
                look = self.look_at(opened)
            except BaseException:
                with suppress(StoreError):
                    opened.reader.close()
                raise
            opening = self.take(opened, look, None)
            if not self.request.one_shot:
                self.in_force.notes.offer()
            return opening

    def take(self, opened: OpenSession, look: Look, runner: AgentRunner | None) -> Opening:
        """As there; the work log goes on in the session's own file."""
        opening = super().take(opened, look, runner)
        self.in_force.notes.taken(opened.reader.session_id, look.meta)
        return opening

    def move(self, opened: OpenSession, look: Look, read: ReadBack) -> None:
        """As there; the work log stays the same."""
        super().move(opened, look, read)
        self.in_force.notes.moved(opened.reader.session_id)

    # The model ----------------------------------------------------------------------------------

    async def prepare_model(self) -> ModelInfo:
        """Prepare the model of the role in force and build the agent on the session.

        Raises:
            TauError: The model cannot be used; the state's `model_problem` says why.
        """
        async with self._busy.lock:
            return await self._model.prepare()

    async def use_role(self, role: str) -> ModelInfo:
        """Change the model role; the old one stays in force when the new one cannot be used.

        Raises:
            TauError: A turn runs, the role is unknown or its model cannot be used.
        """
        self._busy.check_free()
        async with self._busy.lock:
            return await self._model.change(role)

    # The turn -----------------------------------------------------------------------------------

    async def turn(self, said: Said, emit: Emit) -> None:
        """Run one turn; `emit` gets its events, the `TurnEnd` last, whatever happens."""
        try:
            self._busy.check_free()
        except UsageError as error:
            emit(TurnEnd("busy", error.message))
            return
        turn = RunningTurn(
            said,
            counting(self, self.in_force.notes.noting(emit)),
            lock=self._busy.lock,
            hand=self,
            model=self._model,
            in_force=self.in_force,
            commands=self._own_commands,
            questions=self.questions,
        )
        with self._busy.answering(turn):
            end = await turn.run()
        turn.emit(end)
        self._index()
        self._titling.begin()
        self.refining.begin_if_due()

    async def run(self, typed: OwnCommand, emit: Callable[[CommandEvent], None]) -> None:
        """Run a command of the person's; `emit` gets its events, the `CommandEnded` last."""
        try:
            self._busy.check_free()
            if self._busy.leaves:
                raise UsageError("The conversation is going to another session; the command was not run")
        except UsageError as error:
            emit(CommandEnded(status="error", notice=error.message, ran=False))
            return

        def watch(event: CommandEvent) -> None:
            if isinstance(event, CommandEnded) and event.ran:
                self.in_force.notes.note(USER, f"ran: {typed.command}")
            emit(event)

        await self._own_commands.run(typed, watch)

    async def cancel(self) -> None:
        """Cancel what runs, whatever it waits for: a command, a turn, a compaction, a copy.

        Returns when it is over.
        """
        await self._own_commands.stop()
        await self._stopping.stop()
        if self._busy.turn is not None:
            await self._busy.turn.cancel()

    def _index(self) -> None:
        """Bring the index up to date with what was said."""
        runner, session = self.answerer.runner, self.session
        if runner is not None and session is not None:
            recorded = runner.take_recorded()
            self.index(lambda catalog: catalog.record(session.reader, recorded))

    # Compaction ---------------------------------------------------------------------------------

    async def compact(self, focus: str) -> tuple[Opening, Continuation]:
        """Carry the conversation as a summary into a new session, and go on there.

        Args:
            focus: What the summary should look at, or empty.

        Raises:
            CompactionFailed: There is nothing to summarize, or no summary; nothing has changed.
            TauError: A turn runs, something is not saved, it was cancelled, or the store refused.
        """
        focus = mask_content(focus)
        made = await self.read_aside(
            lambda runner: self._compact(runner, focus), CompactionCancelled(CANCELLED)
        )
        self.in_force.notes.note(AGENT, made.line)
        self.refining.begin_if_due()
        return replace(made.opening, state=self.state), made

    async def _compact(self, runner: AgentRunner, focus: str) -> Continuation:
        return await self._carrier.by_hand(runner, focus, counting(self, _nowhere))

    @property
    def wrapping(self) -> Wrapping:
        """What closes sessions; its modules are read when it is first asked for."""
        if self._wrapping is None:
            from tau.conversation.wrapping import Wrapping

            self._wrapping = Wrapping(self)
        return self._wrapping

    async def read_aside(self, work: Callable[[AgentRunner], Coroutine[Any, Any, T]], stopped: TauError) -> T:
        """Have the model read the session; the person waits for it, and may stop it.

        Args:
            work: What is done with the agent.
            stopped: Raised when the person stopped it.

        Raises:
            TauError: A turn runs, there is no model, the session is open for reading only, or what `work`
                raises.
        """
        async with self.aside():
            return await self.stoppable(work, stopped)

    def aside(self, what: str = ASIDE, why: str = SUMMARIZING) -> AbstractAsyncContextManager[None]:
        """Be busy with the session in hand; see `Busy.aside`."""
        return self._busy.aside(what, why)

    def lost(self) -> list[str]:
        """As `Conversation.lost`."""
        return self._wrapping.lost() if self._wrapping is not None else []

    async def stoppable(self, work: Callable[[AgentRunner], Coroutine[Any, Any, T]], stopped: TauError) -> T:
        """As `read_aside`, within `aside`: what is done behind it there is not stopped."""

        async def read() -> T:
            async with self._busy.lock:
                return await work(await self._model.ready())

        return await self._stopping.run(read(), stopped)

    async def _make_room(self) -> None:
        turn, runner = self._busy.turn, self.answerer.runner
        if turn is not None and runner is not None and self.session is not None:
            await self._carrier.make_room(runner, turn.emit)

    # Sessions -----------------------------------------------------------------------------------

    async def switch(self, target: str, *, everywhere: bool, as_it_is: bool = False) -> Opening:
        """Go on with another session, or with the one that continues it unless it is wanted as it is.

        The current one stays in hand when that fails.

        Raises:
            TauError: Not found, held and not readable, recorded under another window, a turn runs, or
                something said in the current one is not saved yet.
        """
        async with self._busy.leaving():
            return await self._switcher.resume(target, everywhere=everywhere, as_it_is=as_it_is)

    async def new(self, name: str | None = None) -> Opening:
        """Begin a new session on the current role.

        Raises:
            TauError: A turn runs, the name is taken, the store refused, or something said is not saved yet.
        """
        async with self._busy.leaving():
            return await self._switcher.new(name)

    async def prompts(self, listing: PromptListing | None = None) -> PromptListing:
        """What the person said in this conversation, the newest of it, read on a thread.

        Args:
            listing: What was listed before, to which is added what was said before that.

        Raises:
            TauError: A turn runs as the list begins, or the messages cannot be read.
        """
        if listing is None:
            self._busy.check_free()
            listing = prompts.beginning(self.state.session_id)
        return await asyncio.to_thread(prompts.extend, self.read, listing)

    async def prompt(self, number: int) -> Prompt:
        """The person's message of this number, as `prompts` numbers them.

        Raises:
            TauError: There is none, a turn runs, or the messages cannot be read.
        """
        self._busy.check_free()
        listing = await asyncio.to_thread(prompts.whole, self.read, self.state.session_id)
        return prompts.numbered(listing, number)

    async def rewind(self, prompt: Prompt | None = None) -> tuple[Opening, str]:
        """Go on from before a prompt, in a session of its own; the current one is kept as it is.

        Args:
            prompt: One of this conversation, in whichever session it was said; None is the newest.

        Returns:
            The new session, and the whole text of the prompt.

        Raises:
            TauError: There is no such prompt, a turn runs, or the messages cannot be copied.
        """
        async with self._busy.leaving():
            return await self._switcher.rewind(prompt)

    async def fork(self, *, turn: int | None = None, session: str = "") -> Opening:
        """Copy messages into a new session and go on there; the one they come from is kept as it is.

        Args:
            turn: Copy the session that this turn is in up to and including it, as `prompts` numbers them;
                None copies the current one whole.
            session: Copy another session instead, an id or name, whole. It is only read, whoever holds it.

        Raises:
            TauError: There is no such turn or session, nothing to copy, a turn runs, or the copy failed.
        """
        async with self._busy.leaving():
            return await self._switcher.fork(turn=turn, session=session)

    def tools(self) -> ToolListing:
        """What the model may use now. Waits for nothing: servers may still be on their way."""
        problem = self.state.model_problem
        why = f"No tools without a model: {problem}" if problem else "The tools are being prepared."
        return tooling.listing(*self.answerer.offered(), why)

    async def models(self) -> list[ModelChoice]:
        """The roles, each with what is known of its model or what it is missing. May probe servers."""
        return await roles.looked_up(self.settings, self.state)

    async def follow(self) -> Opening | None:
        """Look again at a session that is held elsewhere.

        Returns:
            The session as it is now, or the one that its writer went on in; held for writing if its writer is
            gone. None when nothing changed.
        """
        async with self._busy.lock:
            return await self._switcher.follow()

    async def close(self) -> None:
        """Stop what runs, make everything durable and let go.

        Raises:
            StoreError: Something that was said could not be saved; everything is closed all the same.
        """
        await self.cancel()
        await self._titling.close()
        await self.refining.close()
        await self.in_force.notes.close()
        await self.answerer.stop_warming()
        lost = self._let_go()
        try:
            await self.answerer.close()
        finally:
            try:
                if self._catalog is not None:
                    self._catalog.close()
            finally:
                if self._store is not None:
                    self._store.close()
        if lost:
            raise StoreError(lost[0])
