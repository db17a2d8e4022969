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
_BECAME = ", which has held and is archived there, became a rule"


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
        sentences={TITLE: f"{of}{_BECAME}: {as_line(rule, 120)}"},
        source=Source(session, messages, "manual"),
        expected={TITLE: digest(before)},
    )
    if entry is not None:
        desk.tells(entry)
    return [f"{TITLE} has a new rule; /memory undo takes it back"]


def told(undone: Undone) -> list[str]:
    """What the person is told when a change of memory was taken back: a rule leaves its lesson archived."""
    sentences = [change.sentence for change in undone.entry.changes if _BECAME in change.sentence]
    return [
        *undone.lines,
        *(
            f"{one_line(sentence.partition(_BECAME)[0])} is archived there, so its rule is in force nowhere "
            "now: /wrap undo brings it back where nothing was saved since, else move it out of the archive"
            for sentence in sentences
        ),
    ]
