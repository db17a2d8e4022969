"""The plan and the review that belong to the work in hand: which files they are, and how they begin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tau.display import one_line
from tau.errors import JournalRefused
from tau.journal import todos, work_place
from tau.journal.markdown import Markdown
from tau.journal.session_file import WorkSession
from tau.journal.todos import Todo
from tau.journal.work_place import FOLDER, PLAN, REVIEWS, WorkPlace

_KINDS = {PLAN: "plan", REVIEWS: "review"}
_MOST_LINES = 12
_LONGEST_LINE = 160


@dataclass(frozen=True)
class Linked:
    """A plan or a review.

    Attributes:
        what: ``plan`` or ``review``.
        file: Its path, its title and the items it has with a checkbox.
        lines: Of its open items the first, or where it has no items its first lines.
        more: How many of these are left out.
    """

    what: str
    file: Todo
    lines: tuple[str, ...]
    more: int

    @property
    def line(self) -> str:
        """What it is, in one line."""
        return f"{self.what} {one_line(self.file.path)}: {self.summary}"

    @property
    def summary(self) -> str:
        """Its title, and how far it is where it has items."""
        return f"{self.file.title} ({self.file.summary})" if self.file.items else self.file.title

    @property
    def excerpt(self) -> list[str]:
        """Its lines, and how many are left out."""
        return [*self.lines, *([f"… {self.more:,} more"] if self.more else [])]


def named(place: WorkPlace, session: WorkSession, told: Callable[[str], None]) -> list[Linked]:
    """The plan and the review that a session's file names last in its log, where they are there.

    Args:
        place: The checkout, in use.
        session: The file.
        told: Is given what cannot be read, a line each.

    Raises:
        JournalRefused: A folder cannot be read.
    """
    paths = {kind: _named(place, kind, session.log) for kind in _KINDS}
    return _read(place, paths, told)


def of(place: WorkPlace, session: WorkSession | None, told: Callable[[str], None]) -> list[Linked]:
    """As `named`; where there is no file, or it names none, the newest.

    Raises:
        JournalRefused: A folder cannot be read.
    """
    log = session.log if session is not None else ()
    paths = {
        kind: _named(place, kind, log) or next(iter(work_place.links(place, kind, 1)), "") for kind in _KINDS
    }
    return _read(place, paths, told)


def _named(place: WorkPlace, kind: str, log: Sequence[str]) -> str:
    folder = f"{FOLDER}/{kind}/"
    entry = next((entry for entry in reversed(log) if folder in entry), "")
    if not entry:
        return ""
    there = [name for name in place.files(kind) if folder + name in entry]
    return folder + max(there, key=lambda name: (entry.rfind(folder + name), len(name))) if there else ""


def _read(place: WorkPlace, paths: dict[str, str], told: Callable[[str], None]) -> list[Linked]:
    found = []
    for kind, path in paths.items():
        try:
            if path:
                found.append(_linked(place, _KINDS[kind], path))
        except FileNotFoundError:  # deleted since its folder was listed
            continue
        except JournalRefused as error:
            told(error.line())
    return found


def _linked(place: WorkPlace, what: str, path: str) -> Linked:
    document = Markdown(place.read(path))
    file = todos.of_document(path, document)
    if file.items:
        lines = [f"{'  ' * item.depth}[ ] {one_line(item.text, _LONGEST_LINE)}" for item in file.open]
    else:
        headings = document.headings()
        title = range(headings[0].line, headings[0].body) if headings else range(0)
        body = [line for line in document.prose() if line.number >= document.front_matter]
        lines = [
            one_line(line.text, _LONGEST_LINE)
            for line in body
            if line.number not in title and line.text.strip()
        ]
    return Linked(what, file, tuple(lines[:_MOST_LINES]), max(0, len(lines) - _MOST_LINES))
