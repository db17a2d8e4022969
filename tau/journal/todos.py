"""The todo files of a project: found by what a session says, shown with numbers, ticked where they stand."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tau.display import one_line
from tau.errors import JournalRefused
from tau.journal.markdown import WHOLE, Item, Markdown, as_line, edit
from tau.journal.markdown_line import as_typed, next_marker
from tau.journal.work_place import FOLDER, LARGEST, TODO, WorkPlace, write_new
from tau.masking import mask

_LONGEST_NAME = 60
_MOST_NAMED = 100


@dataclass(frozen=True)
class TodoItem:
    """An item with a checkbox.

    Attributes:
        number: From 1, in the order of the file.
        text: On one line.
        done: Whether it is ticked.
        depth: 0 for an item that is in no other.
    """

    number: int
    text: str
    done: bool
    depth: int

    @property
    def line(self) -> str:
        """As it is shown."""
        return f"{'  ' * self.depth}[{'x' if self.done else ' '}] {one_line(self.text)}"


@dataclass(frozen=True)
class Todo:
    """A todo file.

    Attributes:
        path: From the root of the checkout, with slashes.
        title: Its first heading, else its name.
        items: Those with a checkbox.
    """

    path: str
    title: str
    items: tuple[TodoItem, ...]

    @property
    def open(self) -> list[TodoItem]:
        """The items that are not ticked."""
        return [item for item in self.items if not item.done]

    @property
    def closed(self) -> bool:
        """Whether it has items, and all are ticked."""
        return bool(self.items) and not self.open

    @property
    def summary(self) -> str:
        """How far it is, in a few words."""
        if not self.items:
            return "no items"
        return f"{len(self.open)} of {len(self.items)} open"


def find(place: WorkPlace, written: str) -> str:
    """The path of a todo file from the root of the checkout, as a session or a person names it.

    That may be a path from the root, from `.memory/` or from `.memory/session/`, an absolute one, or the name
    of a file of `.memory/todo/`, with or without ``.md``. No other file is one, whatever way it is named.

    Raises:
        JournalRefused: There is none of that name in `.memory/todo/`, or it is a link.
    """
    for path in _candidates(place, written):
        try:
            place.read(path)
        except FileNotFoundError:
            continue
        return path
    there = place.files(TODO)
    hint = f"todo files: {', '.join(map(one_line, there[:10]))}" if there else "/todo new TITLE makes one"
    raise JournalRefused(f'There is no todo file "{one_line(written, 120)}" in {FOLDER}/{TODO}', hint)


def read(place: WorkPlace, path: str) -> Todo:
    """A todo file, by its path from the root.

    Raises:
        JournalRefused: It is not there, or cannot be read.
    """
    try:
        document = Markdown(place.read(path))
    except FileNotFoundError:
        raise JournalRefused(f"There is no todo file {one_line(path)} any more") from None
    return of_document(path, document)


def all_of(place: WorkPlace) -> tuple[list[Todo], list[str]]:
    """The files of `.memory/todo/` that can be read, by name, and why others cannot be, a line each.

    Raises:
        JournalRefused: The folder cannot be read.
    """
    found, unread = [], []
    for name in place.files(TODO):
        try:
            found.append(read(place, f"{FOLDER}/{TODO}/{name}"))
        except JournalRefused as error:
            unread.append(error.line())
    return found, unread


def make(place: WorkPlace, title: str) -> Todo:
    """Make a todo file with a title, without secrets, and no items.

    Raises:
        JournalRefused: The title is none, or the file cannot be written.
    """
    heading = as_line(mask(title), WHOLE)
    words = re.findall(r"[^\W_]+", heading.casefold())
    base = "-".join(words)[:_LONGEST_NAME].rstrip("-")
    if not base:
        raise JournalRefused("A todo file has a title of a few words", "/todo new TITLE")
    data = f"# {heading}\n".encode()
    for number in range(1, _MOST_NAMED):
        name = f"{base}.md" if number == 1 else f"{base}-{number}.md"
        try:
            write_new(place, TODO, name, data)
        except FileExistsError:
            continue
        return Todo(f"{FOLDER}/{TODO}/{name}", as_typed(heading), ())
    raise JournalRefused(f"There are {_MOST_NAMED} todo files called {base} already", "choose another title")


def add(place: WorkPlace, path: str, text: str) -> Todo:
    """Add an item behind the last one, without secrets.

    Raises:
        JournalRefused: The text is none, or the file cannot be changed.
    """
    line = as_line(mask(text), WHOLE)
    if not line:
        raise JournalRefused("An item is a few words", "/todo add TEXT")

    def change(document: Markdown) -> None:
        boxes = [item for item in _boxes(document) if item.depth == 0]
        sections = document.sections()
        if boxes:
            last = boxes[-1].last
            mark = next_marker(*(document.block(item) for item in reversed(boxes[-2:])))
            added = f"{mark} [ ] {line}"
            document.put_lines(last, last, [document.lines()[last].text, added])
        elif sections:
            document.append(sections[-1], f"- [ ] {line}")
        else:
            document.insert(len(document.lines()), f"- [ ] {line}")

    return _changed(place, path, change)


def tick(place: WorkPlace, path: str, number: int, *, done: bool) -> tuple[Todo, TodoItem, bool]:
    """Tick an item, or take the tick from it.

    Returns:
        The file as it is now, the item, and whether anything changed.

    Raises:
        JournalRefused: There is no such item, or the file cannot be changed.
    """
    was_done = done

    def change(document: Markdown) -> None:
        nonlocal was_done
        boxes = _boxes(document)
        if not 1 <= number <= len(boxes):
            raise JournalRefused(
                f"There is no item {number} in {one_line(path)}",
                f"it has {len(boxes)}; /todo shows them" if boxes else "/todo add TEXT adds one",
            )
        was_done = bool(boxes[number - 1].checked)
        if was_done != done:
            document.tick(boxes[number - 1], done)

    todo = _changed(place, path, change)
    return todo, todo.items[number - 1], was_done != done


def _changed(place: WorkPlace, path: str, change: Callable[[Markdown], None]) -> Todo:
    now = Todo(path, "", ())

    def changing(document: Markdown) -> None:
        nonlocal now
        change(document)
        if len(document.data) > LARGEST:
            raise JournalRefused(
                f"{one_line(path)} would be larger than {LARGEST // 1000:,} kB, which is not read",
                "/todo new TITLE makes another",
            )
        now = of_document(path, document)

    edit(place.root.joinpath(*path.split("/")), changing, root=place.root)
    return now


def of_document(path: str, document: Markdown) -> Todo:
    """A file of `.memory/` with its items.

    Args:
        path: From the root of the checkout, with slashes.
        document: What it holds.
    """
    headings = document.headings()
    title = as_typed(headings[0].title) if headings else PurePosixPath(path).stem
    items = tuple(
        TodoItem(number, as_typed(" ".join(item.text.split())), bool(item.checked), item.depth)
        for number, item in enumerate(_boxes(document), 1)
    )
    return Todo(path, one_line(title, 120), items)


def _boxes(document: Markdown) -> list[Item]:
    return [item for item in document.items() if item.checked is not None]


def _candidates(place: WorkPlace, written: str) -> list[str]:
    """Where a todo file may be in `.memory/todo/`, as paths from the root without ``..``."""
    if not written.strip() or "\0" in written:
        return []
    path = PurePosixPath(written.strip())
    below = ["", FOLDER, f"{FOLDER}/session", f"{FOLDER}/{TODO}"]
    starts = [""] if path.is_absolute() else below
    found = []
    for start in starts:
        for name in (path, path.with_name(f"{path.name}.md") if path.name else path):
            whole = Path(os.path.normpath(place.root / start / name))
            try:
                inside = whole.relative_to(place.folder / TODO).as_posix()
            except ValueError:
                continue
            if inside.endswith(".md") and (path_in := f"{FOLDER}/{TODO}/{inside}") not in found:
                found.append(path_in)
    return found
