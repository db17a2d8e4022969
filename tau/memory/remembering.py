"""Remembers one thing: one label, the whole content; an empty content deletes."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tau.display import one_line
from tau.errors import MemoryRefused
from tau.masking import mask_content
from tau.memory import labels, writing
from tau.memory.documents import Document
from tau.memory.entries import Entry, Source, digest
from tau.memory.history import Contents, History, Write

_NEAR = 3
_SENTENCE = 120


@dataclass(frozen=True)
class Remembered:
    """What a call did.

    Attributes:
        title: ``global/NAME.md`` or ``project/NAME.md``.
        kind: What became of the file.
        entry: The change in the history, which undo takes back; None when nothing changed.
        line: The same as a sentence for the person and the model.
    """

    title: str
    kind: Literal["added", "updated", "removed", "unchanged"]
    entry: Entry | None
    line: str


def remember(
    history: History,
    label: str,
    content: str,
    *,
    replace: bool,
    source: Source,
    origin: str = "",
    known: Mapping[str, str] | None = None,
) -> Remembered:
    """Write one memory file, or delete it.

    Args:
        history: Of the memory.
        label: ``global/NAME``, ``project/NAME``, or ``NAME`` for the project's.
        content: All the file is to say; empty to delete it.
        replace: Whether a file of that label may be there already.
        source: What the change comes from.
        origin: Where the content came from when it came from outside; stands in the file.
        known: By title the digests of the files that who writes has seen; None where that does not count.

    Raises:
        MemoryRefused: The label or the content cannot be one, there is such a file already, or none to
            delete, it does not hold what is known of it, or it cannot be written. Nothing was changed.
    """
    title = _title(history, label)
    content, masked = mask_content(content), mask_content(content) != content
    gone = not content.strip()
    if not gone:
        writing.check(content)

    def decide(contents: Contents) -> dict[str, Write]:
        now = contents.read(title)
        if gone:
            if now is None:
                raise MemoryRefused(
                    f"There is no memory {_label(title)} to delete", _near(title, contents.documents)
                )
            _check_known(title, now, known)
            return {title: Write(None, "")}
        data = writing.whole(content, now, origin=origin, keep_origin=False)
        if now is not None and not replace and data != now:
            first = writing.first_line(now)
            raise MemoryRefused(
                f"There is a memory {_label(title)} already{': ' + first if first else ''}",
                "pass replace with the whole new content, or use another label",
            )
        if data != now:
            _check_known(title, now, known)
        return {title: Write(data, writing.first_line(data, _SENTENCE))}

    entry = history.changing(decide, titles=[title], source=source)
    if entry is None:
        return Remembered(
            title, "unchanged", None, f"{_label(title)} holds that already; nothing was changed"
        )
    change = entry.changes[0]
    verb = {"added": "Remembered", "updated": "Replaced", "removed": "Forgot"}[change.kind]
    said = f": {change.sentence}" if change.sentence else ""
    noted = f" (noted after content from outside: {one_line(origin, 200)})" if origin and not gone else ""
    hidden = " (what looks like a secret in it was masked)" if masked else ""
    return Remembered(title, change.kind, entry, f"{verb} {_label(title)}{said}{noted}{hidden}")


@dataclass(frozen=True)
class Foreseen:
    """What `remember` would do.

    Attributes:
        title: ``global/NAME.md`` or ``project/NAME.md``.
        before: The text that the file holds; None where there is none.
        after: The text that it would hold; None where it would be deleted.
        known: The digest of the file by its title, as `remember` takes it; empty where there is none.
    """

    title: str
    before: str | None
    after: str | None
    known: Mapping[str, str]


def foreseen(history: History, label: str, content: str, *, origin: str = "") -> Foreseen:
    """What `remember` would do, for a person to look at. Nothing is changed.

    Raises:
        MemoryRefused: The label or the content cannot be one, or the file cannot be read.
    """
    title = _title(history, label)
    now = Contents(history.where).read(title)
    before = None if now is None else now.decode("utf-8", "replace")
    known = {title: held} if (held := digest(now)) else {}
    content = mask_content(content)
    if not content.strip():
        return Foreseen(title, before, None, known)
    writing.check(content)
    after = writing.whole(content, now, origin=origin, keep_origin=False).decode()
    return Foreseen(title, before, after, known)


def _title(history: History, label: str) -> str:
    """The title of the file that a label has on the disk."""
    scope, name = labels.parse(label)
    return f"{scope}/{labels.on_disk(labels.file_name(name), history.where.folder(scope))}"


def _check_known(title: str, now: bytes | None, known: Mapping[str, str] | None) -> None:
    """Refuse to write over what nobody has seen; the lock is held."""
    if known is None or digest(now) == known.get(title):
        return
    says = f"it says now: {writing.first_line(now)}" if now is not None else "it is not there any more"
    raise MemoryRefused(
        f"{_label(title)} was changed by something else since it was shown, so it was left as it is",
        f"{says}; with the person's next message it is shown anew",
    )


def _label(title: str) -> str:
    return one_line(title.removesuffix(labels.SUFFIX))


def _near(title: str, documents: Sequence[Document]) -> str:
    """Labels that may have been meant."""
    there = {_label(document.title): document for document in documents}
    wanted = _label(title)
    same_name = [label for label in there if label.partition("/")[2] == wanted.partition("/")[2]]
    near = list(dict.fromkeys([*same_name, *difflib.get_close_matches(wanted, there, n=_NEAR, cutoff=0.6)]))
    if not near:
        return f"memories: {', '.join(list(there)[:10])}" if there else "there is no memory yet"
    return f"nearly the same: {', '.join(near[:_NEAR])}"
