"""Remembers one thing: one label, the whole content; an empty content deletes."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tau.display import one_line
from tau.errors import MemoryRefused
from tau.masking import MASK, mask_content, masked_over
from tau.memory import claims, files, labels, writing
from tau.memory.claims import Claim
from tau.memory.documents import Document, is_utf_8
from tau.memory.entries import Entry, Source, digest
from tau.memory.gist import gist
from tau.memory.history import Contents, History, Write

_NEAR = 3
_LONGEST_ORIGIN = 300


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
    heard: Sequence[Claim] = (),
    given_up: Callable[[], bool] = files.never,
) -> Remembered:
    """Write one memory file, or delete it.

    What a file says of its origin stays when it is replaced, and what repeats a file with an origin has that
    one, too.

    Args:
        history: Of the memory.
        label: ``global/NAME``, ``project/NAME``, or ``NAME`` for the project's.
        content: All the file is to say; empty to delete it.
        replace: Whether a file of that label may be there already.
        source: What the change comes from.
        origin: Where the content came from when it came from outside; stands in the file.
        known: By title the digests of the files that who writes has seen; None where that does not count.
        heard: What who writes was told after content from outside, beside the files there are.
        given_up: Whether nobody waits for it any more; once it has begun it is carried out.

    Raises:
        GivenUp: `given_up` said so before it began.
        MemoryRefused: The label or the content cannot be one, there is such a file already, or none to
            delete, it does not hold what is known of it, it is not UTF-8 or holds a secret that a mask would
            be written over, or it cannot be written. Nothing was changed.
    """
    title = _title(history, label)
    content, masked = mask_content(content), mask_content(content) != content
    gone = not content.strip()
    if not gone:
        writing.check(content)
    came = origin

    def decide(contents: Contents) -> dict[str, Write]:
        nonlocal came
        now = contents.read(title)
        planned = _planned(
            title, content, now, contents, replace=replace, origin=origin, heard=heard, masked=masked
        )
        came = planned.origin
        if planned.data != now:
            _check_known(title, now, known)
        if planned.data is None:
            return {title: Write(None, "")}
        return {title: Write(planned.data, gist(planned.data, now))}

    entry = history.changing(decide, titles=[title], source=source, given_up=given_up)
    if entry is None:
        return Remembered(
            title, "unchanged", None, f"{_label(title)} holds that already; nothing was changed"
        )
    change = entry.changes[0]
    verb = {"added": "Remembered", "updated": "Replaced", "removed": "Forgot"}[change.kind]
    said = f": {change.sentence}" if change.sentence else ""
    noted = f" (noted after content from outside: {one_line(came, 200)})" if came and not gone else ""
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
        doubts: Why a person must look at it first, a phrase each; empty where nothing is changed.
    """

    title: str
    before: str | None
    after: str | None
    known: Mapping[str, str]
    doubts: Sequence[str] = ()


def foreseen(
    history: History,
    label: str,
    content: str,
    *,
    replace: bool,
    origin: str = "",
    heard: Sequence[Claim] = (),
    unseen: Mapping[str, str] | None = None,
) -> Foreseen:
    """What `remember` would do, for a person to look at. Nothing is changed.

    Args:
        history: As there.
        label: As there.
        content: As there.
        replace: As there.
        origin: As there.
        heard: As there.
        unseen: By title the digests of files of which who writes has seen nothing, or not all.

    Raises:
        MemoryRefused: It cannot be done.
    """
    title = _title(history, label)
    contents = Contents(history.where)
    now = contents.read(title)
    before = None if now is None else now.decode("utf-8", "replace")
    known = {title: held} if (held := digest(now)) else {}
    content, masked = mask_content(content), mask_content(content) != content
    if content.strip():
        writing.check(content)
    planned = _planned(
        title, content, now, contents, replace=replace, origin=origin, heard=heard, masked=masked
    )
    after = None if planned.data is None else planned.data.decode()
    doubts = list(planned.doubts)
    if now is not None and digest(now) == (unseen or {}).get(title):
        doubts.insert(0, f"the model was not shown all of {_label(title)}, which it takes out or writes over")
    return Foreseen(title, before, after, known, doubts if planned.data != now else ())


@dataclass(frozen=True)
class _Planned:
    """What a call comes to: the file's bytes, None to delete it; its origin; why a person must look at it."""

    data: bytes | None
    origin: str
    doubts: Sequence[str] = ()


def _planned(
    title: str,
    content: str,
    now: bytes | None,
    contents: Contents,
    *,
    replace: bool,
    origin: str,
    heard: Sequence[Claim],
    masked: bool,
) -> _Planned:
    """What a call comes to with the files as they are.

    Raises:
        MemoryRefused: There is such a file already, or none to delete; or it may not be written over.
    """
    kept = "" if now is None else writing.origin_of(now)
    doubts = []
    if kept:
        doubts.append(f"{_label(title)} was noted after content that is not yours: {one_line(kept, 200)}")
    if not content.strip():
        if now is None:
            raise MemoryRefused(
                f"There is no memory {_label(title)} to delete", _near(title, contents.documents)
            )
        return _Planned(None, "", doubts)
    said = claims.repeated(content, _claims(contents.documents, heard, besides=title))
    news = {claim.title: claim for claim in said if claim.title != title or not kept}
    for claim in list(news.values())[:_NEAR]:
        came = one_line(claim.origin, 200)
        doubts.append(f"it repeats {_label(claim.title)}, noted after content that is not yours: {came}")
    origin = one_line(writing.united(*(claim.origin for claim in said), origin), _LONGEST_ORIGIN)
    data = writing.whole(content, now, origin=origin)
    if now is not None and not replace and data != now:
        first = writing.first_line(now)
        raise MemoryRefused(
            f"There is a memory {_label(title)} already{': ' + first if first else ''}",
            "pass replace with the whole new content, or use another label",
        )
    if now is not None:
        _check_kept(title, now, content, masked=masked)
    return _Planned(data, writing.origin_of(data), doubts)


def _claims(documents: Sequence[Document], heard: Sequence[Claim], *, besides: str) -> list[Claim]:
    """What came from outside, but for one file, whose own origin stays anyway.

    What was heard counts also when its file is gone; not where the person made the file's text their own.
    """
    files_of = {document.title: document for document in documents}
    there = [
        Claim(each.title, each.origin, each.text)
        for each in documents
        if each.origin and each.title != besides
    ]
    own = [
        claim
        for claim in heard
        if (now := files_of.get(claim.title)) and not now.origin and claims.repeated(now.text, [claim])
    ]
    return [*there, *(claim for claim in heard if claim not in own)]


def _title(history: History, label: str) -> str:
    """The title of the file that a label has on the disk."""
    scope, name = labels.parse(label)
    return f"{scope}/{labels.on_disk(labels.file_name(name), history.where.folder(scope))}"


def _check_kept(title: str, now: bytes, content: str, *, masked: bool) -> None:
    """Refuse to write over a file of which the model could not write down again what it holds."""
    label = _label(title)
    if not is_utf_8(now):
        raise MemoryRefused(
            f"{label} is not UTF-8 text, so it was left as it is",
            f"the person opens it with `tau memory edit {label}` and saves it as UTF-8; or use another label",
        )
    text = now.decode("utf-8-sig")
    if masked_over(text, content) or (masked and mask_content(text) != text):
        raise MemoryRefused(
            f"{label} holds what looks like a secret, and {MASK} would be written in its place, "
            "so it was left as it is",
            f"the person takes it out with `tau memory edit {label}`; or use another label",
        )


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
