"""What a refinement proposes, read strictly and checked before anything is written; nothing here writes.

A model that repeats what it was shown, talks around its answer or leaves out what it did not care to repeat
must not get that into a file: what is not clearly a change of a file is refused whole.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

from tau.display import one_line
from tau.errors import MemoryRefused
from tau.memory import edit_places, junk, labels, writing
from tau.memory.documents import Document, front_lines, front_matter, is_utf_8
from tau.memory.entries import digest

Action = Literal["write", "edit", "delete"]

MOST_FILES = 10
"""Files that one refinement may change."""

SMALL, SMALL_CHARACTERS = 6, 600
"""Lines and characters up to which a file that tau wrote may lose what it loses without being asked for."""

_ACTIONS = ("write", "edit", "delete")
_KEYS = frozenset(("file", "action", "sentence", "content", "old", "new"))

_WORD = "[\u2e80-\U0003ffff]|[^\\W\u2e80-\U0003ffff]+"


class ProposalInvalid(MemoryRefused):
    """A proposal that is not carried out; nothing was changed."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"The refinement is not carried out: {reason}", "memory is as it was")
        self.reason = reason


@dataclass(frozen=True)
class Operation:
    """One change of one file.

    Attributes:
        title: ``global/NAME.md`` or ``project/NAME.md``.
        action: ``write`` puts `content` in place of the whole file, ``edit`` puts `new` in place of the one
            place where it holds `old`.
        sentence: What changes and why.
        content: For ``write``.
        old: For ``edit``.
        new: For ``edit``; may be empty.
    """

    title: str
    action: Action
    sentence: str
    content: str = ""
    old: str = ""
    new: str = ""


@dataclass(frozen=True)
class Checked:
    """A proposal that may be carried out.

    Attributes:
        wanted: For each file that changes what it is to hold; None to remove it.
        sentences: What changes in it and why.
        consent: Titles that the person must agree to first, with the reason. When there is one, all that
            loses a line is among them, so that nothing is gone from one file and not yet in another.
        expected: For each file the digest of what was read, so that what was changed since is not lost.
    """

    wanted: dict[str, bytes | None] = field(default_factory=dict)
    sentences: dict[str, str] = field(default_factory=dict)
    consent: dict[str, str] = field(default_factory=dict)
    expected: dict[str, str | None] = field(default_factory=dict)


def parse(answer: str) -> list[Operation]:
    """The operations a model answered with.

    The answer is a JSON object ``{"operations": [...]}``, or the list alone, in a code fence or not. Each
    operation has ``file``, ``action``, ``sentence``, and ``content`` or ``old`` and ``new``. What belongs to
    another action may stand there empty, or where it says the same; without ``sentence`` the first line of
    the text is the sentence. See `check` for an ``edit`` of a file that is not there.

    Returns:
        An empty list when there is nothing to change.

    Raises:
        ProposalInvalid: It is anything else.
    """
    fenced = re.match(junk.FENCED, answer)
    try:
        found = json.loads(fenced.group(3) if fenced else answer, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise ProposalInvalid(f"the answer is not JSON ({one_line(str(error), 120)})") from None
    if isinstance(found, dict):
        if set(found) != {"operations"}:
            raise ProposalInvalid("the answer does not hold the key operations alone")
        found = found["operations"]
    if not isinstance(found, list):
        raise ProposalInvalid("operations is not a list")
    return [_operation(item, number) for number, item in enumerate(found, 1)]


def check(
    operations: Sequence[Operation],
    documents: Sequence[Document],
    *,
    instructions: str = "",
    written: Collection[tuple[str, str]] = (),
    origin: str = "",
) -> Checked:
    """What the operations come to, file by file; a file that would be as it is is left out.

    An ``edit`` of a file that is not there is taken for what it can only mean, if there is such a thing.

    Args:
        operations: As `parse` gave them.
        documents: The memory files the model was shown.
        instructions: What the model was told to do, without the conversation; none of it may get into a file.
        written: Titles with digests of files that tau wrote; any other is a person's own.
        origin: Where content of the conversation came from when some came from outside; stands in the files.

    Raises:
        ProposalInvalid: An operation cannot be meant, names the file.
    """
    there = {document.title: document for document in documents}
    grouped: dict[str, list[Operation]] = {}
    for given in operations:
        operation = _meant(given, there)
        grouped.setdefault(operation.title, []).append(operation)
    if len(grouped) > MOST_FILES:
        raise ProposalInvalid(f"it changes {len(grouped)} files, more than {MOST_FILES}")
    checked = Checked()
    echoes = junk.echoes_of(instructions)
    for title, group in grouped.items():
        document = there.get(title)
        if len(group) > 1 and any(operation.action != "edit" for operation in group):
            raise ProposalInvalid(f"{one_line(title)} is changed twice")
        after = _after(group, document, echoes, origin)
        if document is None and after is None:
            raise ProposalInvalid(f"{one_line(title)} is not there to delete")
        if document is not None and after == document.data:
            continue
        checked.wanted[title] = after
        said = "; ".join(operation.sentence for operation in group)
        checked.sentences[title] = said + _came(document, after)
        checked.expected[title] = document.digest if document else None
        if document is not None and (why := _needs_consent(document, after, written)):
            checked.consent[title] = why
    if checked.consent:  # what one file loses may be what another one gains
        for title, after in checked.wanted.items():
            document = there.get(title)
            if title not in checked.consent and document is not None and (lost := _lost(document, after)):
                checked.consent[title] = f"{lost}, and another part of the same change waits"
    return checked


def _operation(item: object, number: int) -> Operation:
    if not isinstance(item, dict):
        raise ProposalInvalid(f"operation {number} is not an object")
    action = item.get("action")
    if not isinstance(action, str) or action not in _ACTIONS:
        raise ProposalInvalid(f"operation {number} has no action of {', '.join(_ACTIONS)}")
    given = _given(item, number)
    text = _text(cast("Action", action), given, number)
    sentence = one_line(given.get("sentence", ""), 300)
    if "sentence" not in given and action != "delete":
        sentence = writing.first_line(text.encode("utf-8", "replace"), 120) or action
    elif junk.says_nothing(sentence):
        lacks = "has no sentence that says what changes" if "sentence" in given else "does not hold sentence"
        raise ProposalInvalid(f"operation {number} {lacks}")
    label = given["file"].strip()
    if not label.startswith(tuple(f"{scope}/" for scope in labels.SCOPES)):
        raise ProposalInvalid(f"operation {number} names no file as global/NAME or project/NAME")
    try:
        scope, name = labels.parse(label)
    except MemoryRefused as error:
        raise ProposalInvalid(f"operation {number}: {error.message}") from None
    title = f"{scope}/{labels.file_name(name)}"
    if action == "edit":
        return Operation(title, "edit", sentence, old=given.get("old", ""), new=text)
    return Operation(title, cast("Action", action), sentence, content=text)


def _given(item: dict[str, Any], number: int) -> dict[str, str]:
    """What an operation holds: strings under names that are known."""
    given = {key: value for key, value in item.items() if value is not None}
    if unknown := sorted(one_line(key, 40) for key in item.keys() - _KEYS):
        raise ProposalInvalid(f"operation {number} holds {', '.join(unknown)}, which means nothing there")
    if not all(isinstance(value, str) for value in given.values()):
        raise ProposalInvalid(f"operation {number} holds something else than strings")
    if "file" not in given:
        raise ProposalInvalid(f"operation {number} does not hold file")
    return given


def _text(action: Action, given: dict[str, str], number: int) -> str:
    """What an operation puts into its file, where that is clear; empty for a deletion."""
    content, old, new = (given.get(key, "") for key in ("content", "old", "new"))
    lacks = ""
    others: tuple[str, ...]
    if action == "write":
        text, others = content, ("old", "new")
        lacks = "" if "content" in given else "content"
    elif action == "edit":
        text, others = new or ("" if old else content), ("content",)
        lacks = ("" if "new" in given else "new") if old else ("" if text else "old")
    else:
        text, others = "", ("content", "old", "new")
    if odd := [key for key in others if given.get(key, "") not in ("", text)]:
        one = "an edit" if action == "edit" else f"a {action}"
        named = " and ".join(odd)
        raise ProposalInvalid(
            f"operation {number}: {one} holds {named}, so that it is not clear what is meant"
        )
    if lacks:
        raise ProposalInvalid(f"operation {number} does not hold {lacks}")
    return text


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is given twice")
    return found


def _after(
    group: Sequence[Operation], document: Document | None, echoes: set[str], origin: str
) -> bytes | None:
    """What a file is to hold after its operations."""
    title = one_line(group[0].title)
    if document is not None and not is_utf_8(document.data):
        raise ProposalInvalid(
            f"{title} is not UTF-8 text, so it is left as it is; `tau memory edit {title}` opens it"
        )
    if group[0].action == "delete":
        return None
    content = group[0].content if group[0].action == "write" else _edited(group, document)
    if not content.strip():
        raise ProposalInvalid(f"{title} would be empty; deleting is an action of its own")
    text = document.text if document else ""
    try:
        writing.check(content, there=text)
    except MemoryRefused as error:
        raise ProposalInvalid(f"{title}: {error.message}") from None
    for operation in group:
        whole = operation.action == "write"
        written = operation.content if whole else operation.new
        if why := junk.reason(written, content, text, echoes, whole=whole, old=operation.old):
            raise ProposalInvalid(f"{title}: {why}")
    before = document.data if document else None
    if before is not None and _body(content) == _body(text):
        return before
    return writing.whole(content, before, origin=origin)


def _meant(operation: Operation, there: Mapping[str, Document]) -> Operation:
    """What an edit of a file that is not there can only mean.

    One that replaces nothing writes the file. One whose text stands once in the other scope's file of that
    name is an edit of that.
    """
    if operation.action != "edit" or operation.title in there:
        return operation
    if not operation.old:
        return (
            replace(operation, action="write", content=operation.new, new="") if operation.new else operation
        )
    scope, _, name = operation.title.partition("/")
    other = there.get(f"{'project' if scope == 'global' else 'global'}/{name}")
    if other is None or len(edit_places.places(front_matter(other.text)[1], operation.old)) != 1:
        return operation
    return replace(operation, title=other.title)


def _edited(group: Sequence[Operation], document: Document | None) -> str:
    title = one_line(group[0].title)
    if document is None:
        raise ProposalInvalid(f"{title} is not there to edit")
    body = front_matter(document.text)[1].replace("\r\n", "\n")
    for operation in group:
        old = operation.old.replace("\r\n", "\n")
        found = edit_places.places(body, old)
        if len(found) != 1:
            why = "is empty" if not old else f"is there {len(found)} times" if found else "is not there"
            raise ProposalInvalid(f"{title}: the text to replace {why}")
        body = edit_places.replaced(body, found[0], old, operation.new.replace("\r\n", "\n"))
    return body


def _needs_consent(document: Document, after: bytes | None, written: Collection[tuple[str, str]]) -> str:
    """Why the person must agree, in a few words; empty when nobody needs to."""
    if after is None:
        if document.builtin:
            return "it came with tau and would be deleted"
        if (document.title, digest(document.data)) not in written:
            who = "you wrote it" if document.scope == "project" else "you, or another project, wrote it"
            return f"{who}, and it would be deleted"
    if why := _stands_for_others(document, after):
        return why
    left = after or b""
    words = _words(_body(document.text))
    characters = _characters(words)
    own = (document.title, digest(document.data)) in written
    if own and sum(_lines(document.data).values()) <= SMALL and characters <= SMALL_CHARACTERS:
        return ""
    for lines in (_body_lines, _lines):
        before = lines(document.data)
        total, lost = sum(before.values()), _not_corrected(before, lines(left))
        if total > 1 and lost * 2 > total:  # of a single line the characters tell
            return f"it would lose {lost} of its {total} lines"
    gone = _characters(words - _words(_body(_decoded(left))))
    return f"it would lose {gone:,} of its {characters:,} characters" if gone * 2 > characters else ""


def _came(document: Document | None, after: bytes | None) -> str:
    """What is said of a file that counts as from outside from now on, a person's own lines as well."""
    if document is None or after is None or writing.origin_of(document.data):
        return ""
    origin = writing.origin_of(after)
    return f" (all of it counts as noted after content from outside now: {origin})" if origin else ""


def _stands_for_others(document: Document, after: bytes | None) -> str:
    """Why the person must agree where a new line may stand for those that go; empty when none does."""
    if after is None or not (lost := _lost(document, after)):
        return ""
    line = junk.may_leave_out(_decoded(after), document.text)
    return f"{lost}, and a new one may stand for them: {one_line(line, 60)}" if line else ""


def _lost(document: Document, after: bytes | None) -> str:
    """What a file would lose, in a few words; empty when every line of it stays."""
    lines = _lines(document.data)
    lost = sum((lines - _lines(after or b"")).values())
    return f"it would lose {lost} of its {sum(lines.values())} lines" if lost else ""


def _not_corrected(before: Counter[str], after: Counter[str]) -> int:
    """How many lines are gone; not one of which half the characters stand in the lines that are new."""
    brought = _words("\n".join((after - before).elements()))
    count = 0
    for line in (before - after).elements():
        words = _words(line)
        found = words & brought
        if 2 * _characters(found) < _characters(words):
            count += 1
        else:
            brought.subtract(found)  # nothing that is new stands for two lines
    return count


def _lines(data: bytes) -> Counter[str]:
    """The lines of a file that say something, also those of its front matter that are not tau's."""
    taus = (writing.BUILTIN, writing.ORIGIN)
    front = (line for key, line in front_lines(_decoded(data)) if key not in taus)
    return _that_say_something(front) + _body_lines(data)


def _body_lines(data: bytes) -> Counter[str]:
    return _that_say_something(_body(_decoded(data)).splitlines())


def _that_say_something(lines: Iterable[str]) -> Counter[str]:
    """Lines without what only sets them off; lines without a word, which only part others, are left out."""
    return Counter(plain for line in lines if re.search(r"\w", plain := junk.plain(line)))


def _words(text: str) -> Counter[str]:
    """The words of a text; in scripts that set no spaces between them, its characters."""
    return Counter(re.findall(_WORD, text.casefold()))


def _characters(words: Counter[str]) -> int:
    return sum(len(word) * count for word, count in words.items())


def _decoded(data: bytes) -> str:
    return data.decode("utf-8-sig", "replace")


def _body(text: str) -> str:
    return front_matter(text.replace("\r\n", "\n"))[1].strip()
