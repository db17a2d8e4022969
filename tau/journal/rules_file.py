"""Adds a standing rule to `rules.md` of the project's memory, undone like every change of memory."""

from __future__ import annotations

from tau.display import one_line
from tau.errors import MemoryRefused
from tau.journal.markdown import Markdown, as_line
from tau.journal.open_items import key
from tau.memory import applying, files, writing
from tau.memory.desk import Desk
from tau.memory.entries import Source, digest
from tau.memory.undone import Undone

TITLE = "project/rules.md"
AGAIN = " is a lesson again"
"""Ends what is said of a lesson that had become a rule when its save is taken back."""

_BECAME = ", which has held and is archived there, became a rule"
_LONGEST = 120


def add(desk: Desk, rule: str, *, of: str) -> list[str]:
    """Add a rule behind those that are there; none of them is touched.

    Args:
        desk: The memory of the directory.
        rule: On one line.
        of: The lesson that it was, with its file.

    Returns:
        What to tell.

    Raises:
        MemoryRefused: It cannot be written, or was changed meanwhile; nothing was changed.
        ConfigError: The places cannot be used.
    """
    where = desk.where()
    try:
        before = applying.read(where, TITLE)
    except OSError as error:
        path = one_line(str(applying.path_of(where, TITLE)))
        raise MemoryRefused(f"{path} cannot be read: {files.reason(error)}") from error
    document = Markdown(before or b"# Standing rules\n\n")
    if any(key(item.text) == key(rule) for item in document.items()):
        return [f"{TITLE} says so already"]
    line = f"- {as_line(rule)}"
    last = document.sections()
    if last:
        document.append(last[-1], line)
    else:
        document.insert(len(document.lines()), line)
    data = document.data
    writing.check(data.decode("utf-8", "surrogateescape"))
    session, messages = desk.said()
    entry = desk.history().change(
        {TITLE: data},
        sentences={TITLE: f"{of}{_BECAME}: {as_line(rule, _LONGEST)}"},
        source=Source(session, messages, "manual"),
        expected={TITLE: digest(before)},
    )
    if entry is not None:
        desk.tells(entry)
    return [f"{TITLE} has a new rule; /memory undo takes it back"]


def lesson_again(desk: Desk, line: str) -> str:
    """What is said when a save is taken back, with what becomes of the rule of a lesson that is one again.

    Args:
        desk: The memory of the directory.
        line: As it was kept; one that does not end with `AGAIN` is given back as it is.

    Raises:
        ConfigError: The places cannot be used.
    """
    if not line.endswith(AGAIN):
        return line
    of = f"{line.removesuffix(AGAIN)}{_BECAME}: "
    there = [entry for entry in desk.history().entries() if not entry.undone]
    said = [
        (place, change.sentence.removeprefix(of))
        for place, entry in enumerate(there)
        for change in entry.changes
        if change.sentence.startswith(of)
    ]
    where = desk.where()
    path = one_line(str(applying.path_of(where, TITLE)))
    try:
        document = Markdown(applying.read(where, TITLE) or b"")
    except OSError as error:
        return f"{line}; look for its rule in {path}, which cannot be read: {files.reason(error)}"
    stands = {as_line(item.text, _LONGEST) for item in document.items()}
    newest = next(((place, rule) for place, rule in said if rule in stands), None)
    if newest is None:
        return line
    if newest[0] == 0:
        return f"{line}; its rule in rules.md: /memory undo takes it back"
    return f"{line}; its rule stands in {path}, and memory was changed again since: take that line out there"


def told(undone: Undone) -> list[str]:
    """What the person is told when a change of memory was taken back: a rule leaves its lesson archived."""
    sentences = [change.sentence for change in undone.entry.changes if _BECAME in change.sentence]
    return [
        *undone.lines,
        *(
            f"Where {one_line(sentence.partition(_BECAME)[0])} is still archived there, its rule is in "
            "force nowhere now: /wrap undo brings it back where nothing was saved since, else move it out of "
            "the archive"
            for sentence in sentences
        ),
    ]
