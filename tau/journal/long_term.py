"""The file `.memory/long-term.md`: read for prompts, changed entry by entry, and changes taken back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tau.display import one_line, visible
from tau.journal import lessons
from tau.journal.lessons import Lesson, Outcome
from tau.journal.markdown import Markdown, edit
from tau.journal.versions import Versions
from tau.journal.work_place import SHOWN, WorkPlace, empty_long_term

T = TypeVar("T")


@dataclass(frozen=True)
class Loaded:
    """What of the file stands in a prompt.

    Attributes:
        text: Its lines; empty when there is nothing but headings.
        notice: What is not loaded, one line for the person; empty when all of it is.
    """

    text: str = ""
    notice: str = ""


class LongTerm:
    """The file of one checkout.

    Args:
        place: The checkout, whose `.memory/` is in use.
        state: The state directory, where what it held before is kept.
    """

    def __init__(self, place: WorkPlace, state: Path) -> None:
        self._place = place
        self._state = state

    def document(self) -> Markdown:
        """The file as it is now; empty when there is none.

        Raises:
            JournalRefused: It is a link, too large, or cannot be read.
        """
        try:
            return Markdown(self._place.read(SHOWN))
        except FileNotFoundError:
            return Markdown(b"")

    def load(self, max_chars: int) -> Loaded:
        """What of it stands in a prompt: of what is too long, the newest entries of each section.

        Raises:
            JournalRefused: As `document`.
        """
        return loaded(self.document(), max_chars)

    def titles(self) -> list[str]:
        """The sections that it has beside the six.

        Raises:
            JournalRefused: As `document`.
        """
        return lessons.titles(self.document())

    def record(self, lesson: Lesson, replaces: str = "") -> Outcome:
        """Write a lesson, as `tau.journal.lessons.add`.

        Raises:
            JournalRefused: It cannot be written; the file is as it was.
        """
        return self.change(lambda document: lessons.add(document, lesson, replaces))

    def foreseen(self, lesson: Lesson, replaces: str = "") -> tuple[str, str]:
        """The file as it is, and as it would be with a lesson, as text.

        Raises:
            JournalRefused: It could not be written.
        """
        document = self.document()
        before = document.data
        if not before:
            document.become(empty_long_term())
        lessons.add(document, lesson, replaces)
        return before.decode("utf-8", "replace"), document.data.decode("utf-8", "replace")

    def change(self, change: Callable[[Markdown], T]) -> T:
        """Change the file, whoever else changes it meanwhile; undo takes it back.

        Args:
            change: May be called several times.

        Raises:
            JournalRefused: It cannot be changed, or `change` refused; the file is as it was.
        """
        versions = Versions(self._state, self._place.long_term, self._place.root)
        number: int | None = None
        results: list[T] = []

        def keeping(document: Markdown) -> None:
            nonlocal number
            before = document.data
            results.append(change(document))
            if document.data != before:
                number = versions.keep(before, document.data, number)

        written = False
        try:
            written = edit(self._place.long_term, keeping, create=empty_long_term(), root=self._place.root)
        finally:
            if number is not None and not written:
                versions.forget(number)
        return results[-1]

    def undo(self) -> tuple[list[str], list[str]]:
        """Take back the newest change that tau made of the file, byte for byte.

        Returns:
            The entries that are gone now, and those that are there again.

        Raises:
            JournalRefused: There is none, or the file was changed since.
        """
        before, after = Versions(self._state, self._place.long_term, self._place.root).undo()
        was, now = (lessons.shown(Markdown(data)) for data in (after, before))
        return list((was - now).elements()), list((now - was).elements())


def loaded(document: Markdown, max_chars: int) -> Loaded:
    """What of a long-term memory stands in a prompt.

    New entries come last in their section. Where it is too long, the first lines of whichever section takes
    the most room are left out, one after the other; headings stay.

    Args:
        document: The file.
        max_chars: Characters at most.
    """
    parts = _parts(document)
    if not any(part.lines for part in parts):
        return Loaded()
    size = sum(part.size for part in parts)
    while size > max_chars:
        largest = max(parts, key=lambda part: part.text_size)
        if not largest.lines:
            break
        size -= largest.drop()
    lines: list[str] = []
    for part in parts:
        if lines and part.heading:
            lines.append("")
        lines += [part.heading] if part.heading else []
        if part.dropped:
            lines.append(f"[not loaded: the first {_count(part.dropped)} of this section]")
        lines += part.lines
    cut = [f"{_count(part.dropped)} of {one_line(part.title, 60)}" for part in parts if part.dropped]
    notice = ""
    if cut:
        notice = (
            f"Not loaded of {SHOWN}, since [memory] max_chars is {max_chars:,}: the oldest {', '.join(cut)}; "
            "/wrap prunes, and so can you by hand"
        )
    return Loaded("\n".join(lines), notice)


class _Part:
    """A heading with the lines up to the next one, blank ones left out."""

    def __init__(self, title: str, heading: str, lines: Sequence[str]) -> None:
        self.title = title or "its beginning"
        self.heading = heading
        self.lines = list(lines)
        self.dropped = 0
        self.text_size = sum(len(line) + 1 for line in self.lines)

    @property
    def size(self) -> int:
        return self.text_size + len(self.heading) + 2

    def drop(self) -> int:
        """Leave the first line out. Returns its size."""
        size = len(self.lines.pop(0)) + 1
        self.dropped += 1
        self.text_size -= size
        return size


def _parts(document: Markdown) -> list[_Part]:
    lines = [visible(line.text).rstrip() for line in document.lines()]
    headings = document.headings()
    starts = [("", 0, 0), *((heading.title, heading.line, heading.body) for heading in headings)]
    ends = [*(heading.line for heading in headings), len(lines)]
    return [
        _Part(title, "\n".join(lines[first:body]), [line for line in lines[body:end] if line.strip()])
        for (title, first, body), end in zip(starts, ends, strict=True)
    ]


def _count(lines: int) -> str:
    return f"{lines:,} line{'' if lines == 1 else 's'}"
