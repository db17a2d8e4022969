"""What the close of a session asks of a model, and what came of it: how `/wrap` and the desks agree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from tau.display import one_line
from tau.errors import TauError

_LONGEST = 1_000_000


class WrapInvalid(TauError):
    """A model's answer that cannot be used; nothing was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrapSession:
    """The session that is closed.

    Attributes:
        session_id: The first one of those that continue each other, so that it stays the same over summaries.
        called: Its name, else its id.
        now: The local time, with its offset.
        quick: Whether the brief form is wanted.
        contexts: The contexts that the person confirmed, for `.session-log/`; empty where that is off.
        origin: What came from outside in the session, named by tools; empty when nothing did.
    """

    session_id: str
    called: str
    now: datetime
    quick: bool = False
    contexts: tuple[str, ...] = ()
    origin: str = ""


@dataclass(frozen=True, slots=True)
class WrapAsk:
    """What a desk asks of the model that reads the session.

    Attributes:
        key: Under which key of the one JSON object its answer stands, such as ``session_log``.
        rules: What to answer there: keys, kinds of values, rules.
        material: The files it should know: for each what it is, and its text. The beginning of a long one is
            left out where the model's window has no room for it.
    """

    key: str
    rules: str
    material: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class Taken:
    """The lessons of an answer that a desk takes, as texts.

    Attributes:
        there: Those that are there already.
        now: Those that are written at once.
        waiting: Those that are written after the person's yes.
    """

    there: Sequence[str] = ()
    now: Sequence[str] = ()
    waiting: Sequence[str] = ()


def _nothing_more() -> Sequence[str]:
    return ()


def _always() -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Question:
    """Something that waits for the person's yes.

    Attributes:
        line: What would be done and why it waits, with what it changes on further lines.
        carry_out: Does it, on a thread; returns what to tell. Raises `TauError` when it cannot be done.
        decline: Does what follows from a no, on a thread; returns what to tell. Raises nothing.
        lost: What becomes of the session when tau ends before an answer, for the person; or empty.
        stands: Whether the save that it was asked with stands; taking that back ends the question. Blocks.
    """

    line: str
    carry_out: Callable[[], Sequence[str]]
    decline: Callable[[], Sequence[str]] = _nothing_more
    lost: str = ""
    stands: Callable[[], bool] = _always


@dataclass(frozen=True, slots=True)
class Wrapped:
    """What was written.

    Attributes:
        lines: What the person is told, each naming a file where one was written.
        questions: What waits for their yes.
        refused: What could not be written, a line each, naming the file.
        changed: Whether what stands in prompts was changed.
        also: Has a line said when what this close saved is taken back; raises `TauError` when it cannot. None
            where nothing was saved that can be.
        closed: The absolute path of the session's file that was set done, or that an answer to a question
            sets done; empty where there is none.
        stands: Whether what was saved was not taken back. Blocks.
        lessons: The texts of the lessons that are there now, or wait.
    """

    lines: Sequence[str] = ()
    questions: Sequence[Question] = field(default_factory=tuple)
    refused: Sequence[str] = ()
    changed: bool = False
    also: Callable[[str], None] | None = None
    closed: str = ""
    stands: Callable[[], bool] = _always
    lessons: Sequence[str] = ()


def whole(text: str) -> str:
    """A text on one line, of which nothing is cut."""
    return one_line(text, _LONGEST)


def waits(count: int, total: int, of: str) -> str:
    """Why it waits that so many entries are changed or taken out, to stand before what they are; or empty.

    Args:
        count: Entries that would be changed or taken out.
        total: Entries that there are.
        of: What they are, such as ``facts of acme``.
    """
    return f"{count} of the {total} {of} would be changed or taken out" if count > total / 2 else ""


def end_of(text: str, most: int) -> str:
    """A text, or its end in whole lines where it is longer than so many characters."""
    if len(text) <= most:
        return text
    cut = text[len(text) - most :]
    return f"[the beginning is left out]\n{cut[cut.find(chr(10)) + 1 :]}"


def look_at(origin: str) -> str:
    """What to tell where something was kept for good of a session that content from outside came into."""
    return f"Look at what was recorded: in this session content came from outside ({one_line(origin, 200)})"


class WrapDesk(Protocol):
    """A desk that `/wrap` closes. Its methods block, and may be called from any thread."""

    @property
    def on(self) -> bool:
        """Whether there is anything to close: the folder is there, and its directory is trusted."""
        ...

    def wrap_ask(self, session: WrapSession) -> WrapAsk:
        """What to ask of the model.

        Raises:
            TauError: The files cannot be read.
        """
        ...

    def check_wrap(self, answer: Mapping[str, Any], session: WrapSession) -> None:
        """Whether an answer can be used. Writes nothing.

        Args:
            answer: As of `apply_wrap`.
            session: The session.

        Raises:
            WrapInvalid: It cannot.
        """
        ...

    def apply_wrap(self, answer: Mapping[str, Any], session: WrapSession) -> Wrapped:
        """Write what the model answered under the desk's key, as far as the rules let it.

        Args:
            answer: The object under the key, as JSON has it; nothing of it was checked.
            session: The session.

        Raises:
            WrapInvalid: The answer is none that can be used; nothing was written.
            TauError: A file cannot be written; says what was.
        """
        ...
