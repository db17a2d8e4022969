"""`/refine`: the model reads the session and proposes changes of memory files, beside the conversation.

Nobody waits for it. What a person must agree to first is left out, and carried out when they say so.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeVar

from tau.conversation.beside import Beside
from tau.conversation.consent import UNDONE_BY, NotShown, Waiting, WaitingChange, changed
from tau.conversation.in_hand import InHand
from tau.conversation.standing import InForce
from tau.conversation.state import CommandResult, Refused, Said
from tau.conversation.stopping import to_its_end
from tau.display import one_line
from tau.errors import MemoryRefused, TauError
from tau.masking import mask_content
from tau.memory import documents, entries, labels, proposals, writing
from tau.memory.applying import MemoryChanged
from tau.memory.documents import Document
from tau.memory.entries import Entry, Source
from tau.memory.history import History
from tau.memory.proposals import Checked, Operation, ProposalInvalid
from tau.sessions.lineage import COMPACTED_FROM, Messages, Read, look_behind
from tau.sessions.records import Message, summed_up_in

if TYPE_CHECKING:
    from tau.agent.refiner import Proposal
    from tau.agent.runner import AgentRunner

T = TypeVar("T")

log = logging.getLogger(__name__)

TURNS = 25
"""Turns of a session after which it is read by itself."""

COOLDOWN = 20 * 60.0
"""Seconds between a refinement of a project and the next one that begins by itself."""

REFINED = "refined_turns"
"""The metadata key for how many turns a session had when it was last read for memory."""

BEGUN = "Reading this session for what memory should keep, beside the conversation; what changes is said"
NOTHING = "Memory stays as it is: there was nothing to refine"


@dataclass(frozen=True, slots=True)
class _Begun:
    """A refinement that was begun, with the session as it was then, and how many turns that had."""

    runner: AgentRunner
    calls: Beside
    source: Source
    turns: int
    focus: str
    small: bool


class Refining:
    """Refines memory by hand and by itself. Lives on the engine's loop.

    Args:
        hand: The session in hand.
        in_force: The memory of the directory, and what of it stands in prompts.
    """

    def __init__(self, hand: InHand, in_force: InForce) -> None:
        self._hand = hand
        self._desk = in_force.desk
        self._in_force = in_force
        self._task: asyncio.Task[None] | None = None
        self._waiting = Waiting(in_force.desk)
        self._rests_until = 0.0
        self._by_hand = False
        self._failure_told = False

    # Beginning ----------------------------------------------------------------------------------

    async def by_hand(self, focus: str) -> CommandResult:
        """Begin one that the person asked for; what waits for their yes is listed.

        Args:
            focus: What to look at above all, or empty.
        """
        listed = await asyncio.to_thread(self._waiting.lines)
        if reason := self._why_not():
            return Said([reason, *listed]) if listed else Refused(reason)
        self._begin("manual", mask_content(focus))
        return Said([BEGUN, *listed])

    def begin_if_due(self) -> None:
        """Begin one by itself, after enough turns or a compaction, unless there was one just now."""
        hand, model = self._hand, self._hand.answerer.model
        wished = hand.settings.memory.refine == "auto" and not hand.request.one_shot
        if not wished or model is None or not model.info.reads_memory or self._why_not():
            return
        assert hand.writer is not None
        meta = hand.writer.meta()
        refined = meta.get(REFINED)
        turns = hand.totals.turns - refined if isinstance(refined, int) else hand.totals.turns
        compacted = bool(meta.get(COMPACTED_FROM)) and refined is None
        if (turns >= TURNS or compacted) and time.monotonic() >= self._rests_until:
            self._begin("automatic")

    def _why_not(self) -> str:
        """Why none can begin now, or the empty string."""
        hand = self._hand
        if self._desk.bare:
            return "Nothing is refined: tau runs with --bare, which writes no memory"
        if self._task is not None:
            return "A refinement runs already; what it changes is said when it is over"
        if hand.state.held is not None:
            return f"Nothing is refined: {hand.state.held.why}"
        if hand.answerer.runner is None or hand.writer is None:
            return f"Nothing is refined: {hand.state.model_problem or 'the model is still being prepared'}"
        return "" if hand.state.message_count else "Nothing is refined: nothing was said in this session yet"

    def _begin(self, how: Literal["manual", "automatic"], focus: str = "") -> None:
        hand = self._hand
        runner = hand.answerer.runner
        assert runner is not None
        session, messages = self._desk.said()
        self._by_hand = how == "manual"
        model = hand.answerer.model
        small = model is not None and not model.info.reads_memory
        begun = _Begun(runner, Beside(hand), Source(session, messages, how), hand.totals.turns, focus, small)
        self._task = asyncio.create_task(self._run(begun))

    async def close(self) -> None:
        """Stop what runs. Memory is as it was, or wholly changed."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait({task})
        if task is not None and task.cancelled() and self._by_hand:
            self._in_force.tell("Memory was not refined: tau was left before that was over")
        if lost := self._waiting.lost():
            self._in_force.tell("\n".join(lost))

    def waiting(self) -> list[WaitingChange]:
        """What waits for the person's yes. Reads files; may be called from any thread."""
        return self._waiting.changes()

    # One refinement -----------------------------------------------------------------------------

    async def _run(self, begun: _Begun) -> None:
        calls = begun.calls
        done: list[str] = []
        told: list[str] = []
        try:
            done, told = await self._refine(begun)
        except ProposalInvalid as error:
            told = self._failed(begun, error.reason)
        except TauError as error:
            told = self._failed(begun, error.line())
        except Exception:
            log.exception("A refinement of session %s failed", calls.session_id)
            told = self._failed(
                begun, f"it failed inside tau; see {self._hand.settings.places.logs / 'tau.log'}"
            )
        try:
            if calls.taken:
                calls.keep()
        except TauError as error:
            told = [*told, f"What refining memory took is not kept with the session: {error.line()}"]
        self._task = None  # whoever reads that it is over may begin the next one
        for text in done:
            self._in_force.tell_done(text)
        for text in told:
            self._in_force.tell(text)

    def _failed(self, begun: _Begun, reason: str) -> list[str]:
        log.info("Memory was not refined from session %s: %s", begun.calls.session_id, reason)
        if begun.source.how == "manual":
            return [f"Memory was not refined: {reason}"]
        if self._failure_told:
            return []
        self._failure_told = True
        return [f"Memory was not refined by itself: {reason}; should it happen again, only the log says so"]

    async def _refine(self, begun: _Begun) -> tuple[list[str], list[str]]:
        """Carry it out. Returns what the person is to be told: what was done, and what is to be looked at.

        Raises:
            TauError: It failed; memory is as it was.
        """
        rest = COOLDOWN if begun.source.how == "automatic" else 0.0
        left = await asyncio.to_thread(lambda: self._desk.history().begin_refining(rest))
        self._rests_until = time.monotonic() + (left or COOLDOWN)
        if left:
            return [], []
        messages = await asyncio.to_thread(
            said_in, self._hand.read, begun.calls.session_id, begun.source.messages
        )
        try:
            return await self._change(begun, messages)
        except MemoryChanged as error:
            title = one_line(error.title)
            self._in_force.tell(
                f"{title} was changed while memory was refined: that stays, and it is read again"
            )
            try:
                return await self._change(begun, messages)
            except MemoryChanged as again:
                raise TauError(f"{one_line(again.title)} was changed meanwhile once more") from None

    async def _change(self, begun: _Begun, messages: Sequence[Message]) -> tuple[list[str], list[str]]:
        """Have the model propose changes of the memory as it is, and carry them out. Returns as `_refine`.

        Raises:
            MemoryChanged: A file was changed meanwhile; nothing was touched.
            TauError: There is no proposal that can be carried out; nothing was touched.
        """
        there = await asyncio.to_thread(self._documents, begun.small)
        proposal = await begun.runner.compaction.propose(
            messages, there, focus=begun.focus, small=begun.small, emit=begun.calls.note
        )
        checked = await asyncio.to_thread(self._checked, proposal)
        entry, ended = await to_its_end(lambda given_up: self._write(checked, begun.source, given_up))
        self._mark(begun)
        done: list[str] = []
        if entry is not None:
            await self._in_force.reread()
            self._desk.tells(entry)
            done.append("\n".join([f"Memory was refined ({begun.source.how}):", *changed(entry), UNDONE_BY]))
        told = []
        if ended:
            named = ", ".join(map(one_line, ended))
            told.append(f"{named}: the change that waited for your yes is ended, as this one has its files")
        if checked.consent:
            told.append("\n".join(await asyncio.to_thread(self._waiting.lines, checked.consent)))
        if not done and not told and begun.source.how == "manual":
            done.append(NOTHING)
        return done, told

    def _mark(self, begun: _Begun) -> None:
        """Keep with the session how much of it was read, now that it was; else it is only read once more."""
        writer = self._hand.writer
        if writer is None or writer.session_id != begun.calls.session_id:
            return
        try:
            writer.patch_meta({REFINED: begun.turns}, touch=False)
        except TauError as error:
            log.info("That session %s was refined is not saved: %s", begun.calls.session_id, error.line())

    def _documents(self, small: bool) -> list[Document]:
        """The memory files.

        Args:
            small: Whether what is said is put behind what one file holds, so that this must be known.

        Raises:
            MemoryRefused: That file is there and cannot be read.
        """
        from tau.agent.sorter import FILE

        history = self._desk.history()
        there, _ = documents.read(history.where)
        if small and _is_there(history, FILE) and all(document.title != FILE for document in there):
            raise MemoryRefused(
                f"{FILE}, where it would be kept, is there but cannot be read", "/memory says why"
            )
        return there

    def _checked(self, proposal: Proposal) -> Checked:
        """What a model's answer comes to.

        Raises:
            ProposalInvalid: It is none that can be carried out.
        """
        from tau.agent.refiner import INSTRUCTIONS

        history = self._desk.history()
        shown = {document.title for document in proposal.shown}
        operations = []
        for operation in proposals.parse(proposal.answer):
            meant = _meant(operation, history)
            if meant.title not in shown and _is_there(history, meant.title):
                raise ProposalInvalid(f"it changes {one_line(meant.title)}, which it was not shown")
            operations.append(meant)
        return proposals.check(
            operations,
            proposal.shown,
            instructions=INSTRUCTIONS,
            written=history.written(),
            origin=writing.united(proposal.origin, *(document.origin for document in proposal.shown)),
        )

    def _write(
        self, checked: Checked, source: Source, given_up: Callable[[], bool]
    ) -> tuple[Entry | None, list[str]]:
        """Carry out what needs no consent; the rest waits. Returns that change, and what waits no longer.

        Raises:
            GivenUp: `given_up` said so before it began.
            MemoryChanged: A file was changed meanwhile; nothing was touched, and nothing more waits.
            MemoryRefused: It cannot be written; says what is how.
        """
        wanted = {title: data for title, data in checked.wanted.items() if title not in checked.consent}
        entry = None
        if wanted:
            entry = self._desk.history().change(
                wanted,
                sentences=checked.sentences,
                source=source,
                expected={title: checked.expected[title] for title in wanted},
                given_up=given_up,
            )
        return entry, self._waiting.take(checked, source)

    # Consent ------------------------------------------------------------------------------------

    async def accept(self, listed: Sequence[WaitingChange] | None = None) -> CommandResult:
        """Carry out what waits for the person's yes; a file that was changed since is left alone.

        Args:
            listed: What the person had before them; None for what they were told last.

        Raises:
            TauError: It cannot be written; it waits on.
        """
        try:
            lines = await self._in_force.change(lambda given_up: self._carry_out(given_up, listed))
        except NotShown as error:
            now = await asyncio.to_thread(self._waiting.lines) if listed is None else []
            return Refused("\n".join([error.line(), *now]))
        return Said(lines) if lines else Refused("Nothing waits for your yes; /refine reads the session")

    def _carry_out(self, given_up: Callable[[], bool], listed: Sequence[WaitingChange] | None) -> list[str]:
        """As `Waiting.carry_out`; returns what is to be said of it, which is told where nobody waits."""
        lines, entry = self._waiting.carry_out(given_up, listed)
        if entry is None:
            return lines
        self._desk.tells(entry)
        lines += ["Memory was changed:", *changed(entry), UNDONE_BY]
        if given_up():
            self._desk.late("\n".join(lines))
        return lines


def _is_there(history: History, title: str) -> bool:
    scope, name = entries.split(title)
    return os.path.lexists(history.where.folder(scope) / labels.for_system(name))


def _meant(operation: Operation, history: History) -> Operation:
    """An operation on the file that the disk has under its name, without a secret in what it brings."""
    scope, name = labels.parse(operation.title)
    title = f"{scope}/{labels.on_disk(labels.file_name(name), history.where.folder(scope))}"
    return replace(
        operation,
        title=title,
        content=mask_content(operation.content),
        new=mask_content(operation.new),
        sentence=mask_content(operation.sentence),
    )


def said_in(read: Read, session_id: str, count: int) -> list[Message]:
    """What was said in a session, its first `count` messages, from its record; blocks on the disk.

    In place of the summary that it begins with stands what that sums up: the sessions before it, as far as
    they can be read. What cannot be read stays a summary.

    Raises:
        TauError: The session cannot be read.
    """
    with read(session_id):
        way = look_behind(read, session_id)
    sessions = [*reversed(way.sessions), session_id]
    originals = list(Messages(read, sessions, {**way.ends, session_id: count}))
    found = {original.session_id for original in originals}
    return [original.stored.message for original in originals if summed_up_in(original.stored) not in found]
