"""`/wrap`: the model reads the session at its close, and the desks of `.memory/` and `.session-log/` save it.

Nothing is written before the person confirmed where to, and nothing of an answer that cannot be used.
"""

from __future__ import annotations

import asyncio
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tau.conversation.beside import Beside
from tau.conversation.refining import said_in
from tau.conversation.state import CommandResult, Refused, Said
from tau.display import one_line
from tau.errors import TauError
from tau.journal import contexts
from tau.journal.context_desk import Found
from tau.journal.open_items import key
from tau.journal.wrapping import Question, WrapAsk, WrapDesk, WrapInvalid, Wrapped, WrapSession
from tau.masking import mask_content
from tau.sessions.attached import own_text
from tau.sessions.lineage import behind
from tau.sessions.records import Message

if TYPE_CHECKING:
    from tau.agent.runner import AgentRunner
    from tau.conversation.core import Core

CANCELLED = "The wrap-up was cancelled; nothing was written"
YES = "/wrap yes carries it out"

_FENCED = re.compile(r"\A\s*(`{3,}|~{3,})[\w-]*[ \t]*\n(.*?)\n?[ \t]*\1\s*\Z", re.DOTALL)
_CLOSE_ENOUGH = 0.75


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
        self._questions: list[Question] = []

    async def run(self, wanted: str) -> CommandResult:
        """Carry out `/wrap`.

        Args:
            wanted: ``quick``, names of contexts, both, ``yes``, or nothing.

        Raises:
            TauError: It could not be done, or was cancelled; says what was written.
        """
        words = _words(wanted)
        if [word.lower() for word in words] in (["yes"], ["accept"]):
            return await self._agreed()
        self._asked = None
        if why := self._why_not():
            return Refused(why)
        quick = bool(words) and words[0].lower() == "quick"
        names = words[1:] if quick else words
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
            chosen = await asyncio.to_thread(self._chosen, names)
            if isinstance(chosen, Refused):
                return chosen
            return await self._checked(_Plan(chosen, quick))
        if await asyncio.to_thread(lambda: desk.on):
            if why := await asyncio.to_thread(desk.why_not):
                return Refused(why)
            return await self._ask(quick=quick)
        if work_on:
            return await self._save(_Plan((), quick))
        suggested = contexts.suggested(self._core.settings.directory)
        return Refused(
            f"There is nothing to save into yet: /wrap {suggested}, or another name, begins "
            f"{contexts.FOLDER}/ with that context; tau init --memory makes .memory/"
        )

    def _chosen(self, names: Sequence[str]) -> tuple[str, ...] | Refused:
        """The contexts that were named; a name that none has begins one, unless it looks like a slip."""
        import difflib

        desk = self._core.in_force.contexts
        known = desk.place().contexts()
        begins = len(names) > 1 and names[0].lower() == "new"
        chosen = []
        for name in names[1:] if begins else names:
            if there := desk.named(name):
                chosen.append(there)
                continue
            if why := contexts.unfit(name):
                return Refused(f"{one_line(name, 80)} {why}, so it is no name of a context")
            near = difflib.get_close_matches(name, known, n=1, cutoff=_CLOSE_ENOUGH)
            if near and not begins:
                return Refused(
                    f"There is no context {name}; did you mean {near[0]}? "
                    f"/wrap new {shlex.quote(name)} begins one"
                )
            chosen.append(name)
        return tuple(dict.fromkeys(chosen))

    async def _ask(self, *, quick: bool) -> CommandResult:
        """Ask once which context the session is about, with what speaks for one."""
        core = self._core
        messages = await self._messages()
        found = await asyncio.to_thread(core.in_force.contexts.identify, _said(messages))
        current = await asyncio.to_thread(core.in_force.context)
        listed = ", ".join(map(one_line, [*found.names, contexts.SHARED]))
        guess, why = _guess(found, current)
        if not guess:
            first = "Which context is this session about?"
            if not found.names:
                suggested = contexts.suggested(core.settings.directory)
                return Said([f"{first} There is none yet: /wrap NAME begins one, such as /wrap {suggested}"])
            return Said(
                [
                    f"{first} {listed}",
                    "/wrap NAME saves it there, several names in several, a new name begins one",
                ]
            )
        plan = _Plan(guess, quick, warned=True)
        doubt = await asyncio.to_thread(core.in_force.contexts.doubt)
        self._asked = core.state.session_id, plan
        names = ", ".join(map(one_line, guess))
        return Said(
            [
                *([doubt] if doubt else []),
                f"This session is about {names}: {why}",
                f"/wrap yes saves it there; /wrap NAME takes another one: {listed}",
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
            return Said([doubt, "Nothing was saved; /wrap yes saves it there all the same"])
        return await self._save(plan)

    async def _agreed(self) -> CommandResult:
        asked, self._asked = self._asked, None
        if asked is not None:
            if asked[0] != self._core.state.session_id:
                return Refused("That was asked about another session; /wrap asks again")
            if why := self._why_not():
                return Refused(why)
            return await self._save(asked[1])
        if not self._questions:
            return Refused("Nothing waits for your yes; /wrap closes the session")
        lines: list[str] = []
        left: list[Question] = []
        for question in self._questions:
            try:
                lines += await asyncio.to_thread(question.carry_out)
            except TauError as error:
                left.append(question)
                lines.append(f"Not done, and it waits on: {error.line()}")
        self._questions = left
        await self._core.in_force.reread()
        return Said(lines)

    # Saving ---------------------------------------------------------------------------------------

    async def _save(self, plan: _Plan) -> CommandResult:
        """Have the model read the session, then each desk save what is its own."""
        core = self._core
        session = await asyncio.to_thread(self._session, plan)
        desks = await asyncio.to_thread(self._desks, plan)
        messages = await self._messages()
        calls = Beside(core)

        async def read(runner: AgentRunner) -> tuple[list[tuple[WrapDesk, WrapAsk, Any]], str]:
            asks = [await asyncio.to_thread(desk.wrap_ask, session) for desk in desks]
            try:
                answer, origin = await runner.compaction.wrap(messages, asks, emit=calls.note)
            finally:
                self._keep(calls)
            said = _once(_parsed(answer))
            return [(desk, ask, said.get(ask.key)) for desk, ask in zip(desks, asks, strict=True)], origin

        try:
            answers, origin = await core.read_aside(read, WrapCancelled(CANCELLED))
        except WrapCancelled:
            raise
        except TauError as error:
            return Refused(f"Nothing was saved: {error.line()}")
        session = replace(session, origin=origin)
        lines: list[str] = []
        failed: list[str] = []
        questions: list[Question] = []
        for desk, ask, part in answers:
            try:
                wrapped = await self._applied(desk, ask, part, session)
            except TauError as error:
                failed.append(error.line())
            else:
                lines += wrapped.lines
                questions += wrapped.questions
        if not lines and failed:
            return Refused(f"Nothing was saved: {'; '.join(failed)}")
        self._questions = questions
        if plan.contexts:
            self._core.in_force.use_context(plan.contexts[0])
        await core.in_force.reread()
        waiting = [*(question.line for question in questions), *([YES] if questions else [])]
        return Said([*lines, *(f"Not saved: {line}" for line in failed), *waiting])

    async def _applied(self, desk: WrapDesk, ask: WrapAsk, part: Any, session: WrapSession) -> Wrapped:
        if not isinstance(part, dict):
            raise WrapInvalid(f"the answer has no object under {ask.key}")
        if desk is self._core.in_force.work:  # behind what waits to be logged there
            return await self._core.in_force.notes.at_desk(lambda work: work.apply_wrap(part, session))
        return await asyncio.to_thread(desk.apply_wrap, part, session)

    def _session(self, plan: _Plan) -> WrapSession:
        core = self._core
        older = behind(core.read, core.state.session_id)
        first = older[-1] if older else core.state.session_id
        called = core.state.name or core.state.session_id
        return WrapSession(
            session_id=first,
            called=called,
            now=datetime.now().astimezone(),
            quick=plan.quick,
            contexts=plan.contexts,
        )

    def _desks(self, plan: _Plan) -> list[WrapDesk]:
        in_force = self._core.in_force
        found: list[WrapDesk] = [in_force.work] if in_force.work.on else []
        return [*found, in_force.contexts] if plan.contexts else found

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


def _words(wanted: str) -> list[str]:
    try:
        return shlex.split(wanted)
    except ValueError:
        return wanted.split()


def _said(messages: Sequence[Message]) -> str:
    return mask_content("\n".join(own_text(message) for message in messages))


def _guess(found: Found, current: str) -> tuple[tuple[str, ...], str]:
    """The contexts that a session seems to be about, and why; empty when that is not clear."""
    counts = {name: sum(hits.values()) for name, hits in found.hits.items()}
    most = max(counts.values(), default=0)
    named = tuple(name for name, count in counts.items() if 2 * count >= most and len(found.hits[name]) > 1)
    by_content = named or (tuple(counts) if len(counts) == 1 else ())
    if current and (not by_content or current in by_content):
        rest = tuple(name for name in by_content if name != current)
        return (current, *rest), "the session was about it so far" + (_why(found, by_content) if rest else "")
    return by_content, _why(found, by_content).removeprefix("; ")


def _why(found: Found, names: Sequence[str]) -> str:
    parts = []
    for name in names:
        hits: Mapping[str, int] = found.hits[name]
        words = ", ".join(f"{one_line(word, 40)} ×{count}" for word, count in list(hits.items())[:5])
        parts.append(f"{one_line(name)} by {words}")
    return "; " + "; ".join(parts)


def _once(said: dict[str, Any]) -> dict[str, Any]:
    """An answer in which no lesson of a context is also one of the project's memory, which owns it then."""
    memory, log = said.get("memory"), said.get("session_log")
    if not isinstance(memory, dict) or not isinstance(log, dict):
        return said
    owned = {key(each["text"]) for each in _objects(memory, "lessons") if isinstance(each.get("text"), str)}

    def kept(lesson: dict[str, Any]) -> bool:
        return not owned & {key(str(lesson.get(name) or "")) for name in ("rule", "fix", "title")}

    parts = [
        {**part, "lessons": [lesson for lesson in _objects(part, "lessons") if kept(lesson)]}
        if isinstance(part.get("lessons"), list)
        else part
        for part in _objects(log, "contexts")
    ]
    return {**said, "session_log": {**log, "contexts": parts}} if parts else said


def _objects(holder: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    listed = holder.get(name)
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []


def _parsed(answer: str) -> dict[str, Any]:
    """The object that a model answered with, in a code fence or not.

    Raises:
        WrapInvalid: It is anything else.
    """
    fenced = _FENCED.match(answer)
    try:
        said = json.loads(fenced.group(2) if fenced else answer)
    except (ValueError, RecursionError) as error:
        raise WrapInvalid(f"the answer is not JSON ({one_line(str(error), 120)})") from None
    if not isinstance(said, dict):
        raise WrapInvalid("the answer is no JSON object")
    return said
