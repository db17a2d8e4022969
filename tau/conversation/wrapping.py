"""`/wrap`: the model reads the session at its close, and the desks of `.memory/` and `.session-log/` save it.

Nothing is written before the person confirmed where to, and nothing of an answer that cannot be used.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tau.conversation import context_in_force
from tau.conversation.beside import Beside
from tau.conversation.context_commands import words
from tau.conversation.refining import said_in
from tau.conversation.state import CommandResult, Refused, Said
from tau.conversation.wrap_answer import LeftToMemory, lessons_alone, once, parsed
from tau.conversation.wrap_guess import guessed, mentioned
from tau.conversation.wrap_names import AGREED, DECLINED, QUICK, UNDO, Named, named
from tau.conversation.wrap_waiting import ENDED, STILL, STILL_BEHIND, Waiting, logged
from tau.display import one_line
from tau.errors import TauError
from tau.journal import contexts, work_place
from tau.journal.wrapping import Question, WrapAsk, WrapDesk, WrapInvalid, Wrapped, WrapSession
from tau.masking import mask_content
from tau.sessions.attached import own_text
from tau.sessions.lineage import behind
from tau.sessions.records import Message

if TYPE_CHECKING:
    from tau.agent.runner import AgentRunner
    from tau.conversation.core import Core

WRAPPING = "Wrapping up"
"""What the person is told while the model reads."""

WRAPS = "The session is being wrapped up."
"""Why something else does not begin meanwhile."""

SET_DONE = " was set done"
"""Ends what a save keeps of the file in `.memory/session/` that the same `/wrap` closed."""

ALSO_MEMORY = "/work undo takes back what the same /wrap wrote into .memory/"

CANCELLED = "The wrap-up was cancelled; nothing was written"
YES = "/wrap yes carries it out, /wrap no leaves it; it is asked of this session alone"
NO = "/wrap no leaves it"


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is to be saved where.

    Attributes:
        contexts: Of `.session-log/`; empty when nothing is saved there.
        quick: Whether briefly.
        warned: Whether the person knows of a place that will not last.
    """

    contexts: tuple[str, ...] = ()
    quick: bool = False
    warned: bool = False


class WrapCancelled(TauError):
    """The person stopped a wrap-up; nothing was written."""


class Wrapping:
    """Closes sessions. Lives on the engine's loop.

    Args:
        core: The conversation.
    """

    def __init__(self, core: Core) -> None:
        self._core = core
        self._asked: tuple[str, _Plan] | None = None
        self._waiting = Waiting()

    async def run(self, wanted: str) -> CommandResult:
        """Carry out `/wrap`.

        Args:
            wanted: ``quick``, names of contexts, both, an answer (``yes``, ``no``), ``undo``, or nothing.

        Raises:
            TauError: It could not be done, or was cancelled; says what was written.
        """
        said = words(wanted)
        first = said[0].lower() if said else ""
        if first in (*AGREED, *DECLINED):
            if len(said) > 1:
                return Refused(f"/wrap {first} takes nothing more; /wrap new NAME begins a context")
            return logged(first, await (self._agreed() if first in AGREED else self._declined()))
        if first == UNDO:
            if len(said) > 1:
                return Refused("/wrap undo takes nothing more")
            return logged(first, await self._undo())
        self._asked = None
        if why := self._why_not():
            return Refused(why)
        quick = first == QUICK
        names = said[1:] if quick else said
        return await self._begin(names, quick=quick)

    def _why_not(self) -> str:
        core = self._core
        if core.request.bare:
            return "Nothing is saved: tau runs with --bare, which writes no memory and no session log"
        if core.state.held is not None:
            return f"Nothing is saved: {core.state.held.why}"
        return "" if core.state.message_count else "Nothing is saved: nothing was said in this session yet"

    # Where to -------------------------------------------------------------------------------------

    async def _begin(self, names: Sequence[str], *, quick: bool) -> CommandResult:
        desk = self._core.in_force.contexts
        work_on = await asyncio.to_thread(lambda: self._core.in_force.work.on)
        if names:
            if why := await asyncio.to_thread(desk.why_not):
                return Refused(why)
            chosen = await asyncio.to_thread(named, desk, names)
            if isinstance(chosen, Refused):
                return chosen
            plan = _Plan(chosen.contexts, quick)
            return await (self._ask_about(chosen, plan) if chosen.question else self._checked(plan))
        if await asyncio.to_thread(lambda: desk.on):
            if why := await asyncio.to_thread(desk.why_not):
                return Refused(why)
            return await self._ask(quick=quick)
        if work_on:
            return await self._save(_Plan((), quick))
        suggested = contexts.suggested(self._core.settings.directory)
        return Refused(
            f"There is nothing to save into yet: /wrap new {suggested}, or another name, begins "
            f"{contexts.FOLDER}/ with that context; tau init --memory makes .memory/"
        )

    async def _ask_about(self, chosen: Named, plan: _Plan) -> CommandResult:
        """Ask whether names that are not known are meant as they were understood."""
        doubt = await asyncio.to_thread(self._core.in_force.contexts.doubt)
        self._asked = self._core.state.session_id, replace(plan, warned=True)
        known = await asyncio.to_thread(self._core.in_force.contexts.place().contexts)
        listed = ", ".join(
            one_line(name) + ("" if name in (*known, contexts.SHARED) else " (which begins then)")
            for name in plan.contexts
        )
        ways = "; ".join([f"/wrap yes saves the session to {listed}", *chosen.ways, NO])
        return await self._asking(
            [*([doubt] if doubt else []), chosen.question, f"Nothing was saved yet: {ways}"]
        )

    async def _asking(self, lines: Sequence[str]) -> Said:
        """A question, with what else waits for an answer."""
        waits = self._waiting.has(await asyncio.to_thread(self._first))
        still = STILL if self._asked is None else STILL_BEHIND
        return Said([*lines, *([still] if waits else [])])

    async def _ask(self, *, quick: bool) -> CommandResult:
        """Ask once which context the session is about, with what speaks for one."""
        core = self._core
        messages = await self._messages()
        found = await asyncio.to_thread(core.in_force.contexts.identify, _said(messages))
        for line in found.unread:
            core.in_force.tell(line)
        current = await asyncio.to_thread(core.in_force.context)
        listed = ", ".join(map(one_line, [*found.names, contexts.SHARED]))
        since = context_in_force.said_since(core.reader, messages) if current else messages
        named_last = await asyncio.to_thread(mentioned, since, core.in_force.contexts.named)
        guess = guessed(found, current, named_last)
        if not guess.contexts:
            first = "Which context is this session about?"
            if not found.names:
                suggested = contexts.suggested(core.settings.directory)
                return await self._asking(
                    [f"{first} There is none yet: /wrap new NAME begins one, such as /wrap new {suggested}"]
                )
            return await self._asking(
                [
                    f"{first} {listed}",
                    "/wrap NAME saves it there, several names in several, /wrap new NAME begins one",
                ]
            )
        plan = _Plan(guess.contexts, quick, warned=True)
        doubt = await asyncio.to_thread(core.in_force.contexts.doubt)
        self._asked = core.state.session_id, plan
        names = ", ".join(map(one_line, guess.contexts))
        return await self._asking(
            [
                *([doubt] if doubt else []),
                f"This session is about {names}: {guess.why}",
                *([guess.more] if guess.more else []),
                f"/wrap yes saves it there; /wrap NAME takes another one: {listed}; {NO}",
            ]
        )

    async def _checked(self, plan: _Plan) -> CommandResult:
        """Save, unless the place will not last and the person does not know."""
        if (
            plan.contexts
            and not plan.warned
            and (doubt := await asyncio.to_thread(self._core.in_force.contexts.doubt))
        ):
            self._asked = self._core.state.session_id, replace(plan, warned=True)
            return await self._asking(
                [doubt, f"Nothing was saved; /wrap yes saves it there all the same, {NO}"]
            )
        return await self._save(plan)

    async def _agreed(self) -> CommandResult:
        asked, self._asked = self._asked, None
        if asked is not None:
            if asked[0] != self._core.state.session_id:
                return Refused("That was asked about another session; /wrap asks again")
            if why := self._why_not():
                return Refused(why)
            return await self._save(asked[1])
        of = await asyncio.to_thread(self._first)
        # behind what is to be logged: work that goes on is not set done
        done = await self._core.in_force.notes.at_desk(lambda _: self._waiting.agree(of))
        if isinstance(done, Said):
            await self._core.in_force.reread()
        return done

    async def _declined(self) -> CommandResult:
        """End what was asked, with nothing written."""
        asked, self._asked = self._asked, None
        of = await asyncio.to_thread(self._first)
        if asked is not None:
            still = [STILL] if self._waiting.has(of) else []
            return Said(["Nothing was saved, and no context was begun", *still])
        return await self._core.in_force.notes.at_desk(lambda _: self._waiting.decline(of))

    async def _undo(self) -> CommandResult:
        """Take the newest save into `.session-log/` back."""
        desk = self._core.in_force.contexts
        if why := await asyncio.to_thread(desk.why_not):
            return Refused(why)
        try:
            lines = await asyncio.to_thread(desk.undo)
        except TauError as error:
            more = "; /work undo takes the newest change of .memory/ back"
            return Refused(error.line() + (more if self._core.in_force.work.on else ""))
        told = [await self._set_back(line) if line.endswith(SET_DONE) else line for line in lines]
        if await asyncio.to_thread(self._waiting.end_undone):
            told.append(ENDED)
        await self._core.in_force.reread()
        return Said([line for line in told if line])

    async def _set_back(self, line: str) -> str:
        """Take back that a file of `.memory/session/` was set done; says so, or nothing where it is not."""
        path = line.removesuffix(SET_DONE)
        return await self._core.in_force.notes.at_desk(lambda work: work.reopen(path))

    # Saving ---------------------------------------------------------------------------------------

    async def _save(self, plan: _Plan) -> CommandResult:
        """Have the model read the session, then each desk save its own; nothing else goes on meanwhile.

        Raises:
            WrapCancelled: The person stopped the model; nothing was written.
        """
        if plan.contexts and (why := await asyncio.to_thread(self._core.in_force.contexts.unfinished)):
            return Refused(f"Nothing was saved: {why}")
        async with self._core.aside(WRAPPING, WRAPS):
            return await self._read_and_saved(plan)

    async def _read_and_saved(self, plan: _Plan) -> CommandResult:
        core = self._core
        session = await asyncio.to_thread(self._session, plan)
        desks = await asyncio.to_thread(self._desks, plan)
        calls = Beside(core)

        async def read(
            runner: AgentRunner,
        ) -> tuple[list[tuple[WrapDesk, WrapAsk, Any]], list[LeftToMemory], str]:
            asks = [await asyncio.to_thread(desk.wrap_ask, session) for desk in desks]
            messages = await self._messages()
            try:
                answer, origin = await runner.compaction.wrap(messages, asks, emit=calls.note)
            finally:
                self._keep(calls)
            said, left = await asyncio.to_thread(lambda: self._with_owners(parsed(answer), origin))
            parts = [(desk, ask, said.get(ask.key)) for desk, ask in zip(desks, asks, strict=True)]
            return parts, left, origin

        try:
            answers, to_memory, origin = await core.stoppable(read, WrapCancelled(CANCELLED))
            session = replace(session, origin=origin)
            for desk, ask, part in answers:
                await asyncio.to_thread(_check, desk, ask, part, session)
        except WrapCancelled:
            raise
        except TauError as error:
            return Refused(f"Nothing was saved: {error.line()}")
        lines: list[str] = []
        failed: list[str] = []
        questions: list[Question] = []
        saved = Wrapped()
        for desk, _, part in answers:
            if failed:  # a session is closed when all else of it is saved
                failed.append(
                    f"{work_place.FOLDER}/ is not closed, since the session log was not saved whole"
                )
                break
            try:
                wrapped = await self._applied(desk, part, session)
            except TauError as error:
                failed.append(error.line())
            else:
                lines += wrapped.lines
                failed += wrapped.refused
                asked: Sequence[Question] = wrapped.questions
                to_memory = [each for each in to_memory if not each.is_one_of(wrapped.lessons)]
                if desk is core.in_force.contexts:
                    saved = wrapped
                elif (also := saved.also) is not None:
                    asked = [replace(_saying(question, also), stands=saved.stands) for question in asked]
                    kept = [f"{wrapped.closed}{SET_DONE}"] if wrapped.closed else []
                    kept += [ALSO_MEMORY] if wrapped.changed else []
                    lines += await asyncio.to_thread(_said_also, also, *kept)
                questions += asked
        if not lines and failed:
            return Refused(f"Nothing was saved: {'; '.join(failed)}")
        if to_memory and plan.contexts:
            given_back = await asyncio.to_thread(
                core.in_force.contexts.learn, lessons_alone(to_memory), session
            )
            lines += given_back.lines
            failed += given_back.refused
        left = self._waiting.put(session.session_id, questions)
        if plan.contexts:
            self._core.in_force.use_context(plan.contexts[0])
        await core.in_force.reread()
        if left:
            lines.append("What waited for your yes from an earlier save of this session is left as it is")
        waiting = [*(question.line for question in questions), *([YES] if questions else [])]
        return Said([*lines, *waiting], refused=[f"Not saved: {line}" for line in failed])

    async def _applied(self, desk: WrapDesk, part: dict[str, Any], session: WrapSession) -> Wrapped:
        if desk is self._core.in_force.work:  # behind what waits to be logged there
            return await self._core.in_force.notes.at_desk(lambda work: work.apply_wrap(part, session))
        return await asyncio.to_thread(desk.apply_wrap, part, session)

    def _first(self) -> str:
        """The first one of the sessions that this one continues, which stays the same over summaries."""
        older = behind(self._core.read, self._core.state.session_id)
        return older[-1] if older else self._core.state.session_id

    def _with_owners(self, said: dict[str, Any], origin: str) -> tuple[dict[str, Any], list[LeftToMemory]]:
        """An answer in which each lesson has one owner, and what of it the project's memory is to take."""
        memory, work = said.get("memory"), self._core.in_force.work
        return once(said, work.takes(memory, origin)) if isinstance(memory, dict) and work.on else (said, [])

    def _session(self, plan: _Plan) -> WrapSession:
        core = self._core
        called = core.state.name or core.state.session_id
        return WrapSession(
            session_id=self._first(),
            called=called,
            now=datetime.now().astimezone(),
            quick=plan.quick,
            contexts=plan.contexts,
        )

    def _desks(self, plan: _Plan) -> list[WrapDesk]:
        in_force = self._core.in_force
        found: list[WrapDesk] = [in_force.contexts] if plan.contexts else []
        return [*found, in_force.work] if in_force.work.on else found

    def lost(self) -> list[str]:
        """What is said of what waits for the person's yes when tau ends. May be called from any thread."""
        return self._waiting.lost()

    async def said_text(self) -> str:
        """What was said in the session, as one text."""
        return _said(await self._messages())

    async def _messages(self) -> list[Message]:
        """All that was said, also before summaries."""
        core = self._core
        return await asyncio.to_thread(said_in, core.read, core.state.session_id, core.reader.count())

    def _keep(self, calls: Beside) -> None:
        if not calls.taken:
            return
        try:
            calls.keep()
        except TauError as error:
            self._core.in_force.tell(f"What the wrap-up took is not kept with the session: {error.line()}")


def _saying(question: Question, also: Callable[[str], None]) -> Question:
    """A question of `.memory/`, after whose yes `/wrap undo` says what else there is to take back."""
    return replace(question, carry_out=lambda: [*question.carry_out(), *_said_also(also, ALSO_MEMORY)])


def _said_also(also: Callable[[str], None], *said: str) -> list[str]:
    """Have `/wrap undo` say what else of this save can be taken back; why it will not."""
    try:
        for line in said:
            also(line)
    except TauError as error:
        return [error.line()]
    return []


def _check(desk: WrapDesk, ask: WrapAsk, part: Any, session: WrapSession) -> None:
    """See that a desk can use its part of an answer before any of them writes.

    Raises:
        WrapInvalid: It cannot.
    """
    if not isinstance(part, dict):
        raise WrapInvalid(f"the answer has no object under {ask.key}")
    desk.check_wrap(part, session)


def _said(messages: Sequence[Message]) -> str:
    return mask_content("\n".join(own_text(message) for message in messages))
