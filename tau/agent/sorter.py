"""Has a small model say of each thing a person said whether it is worth keeping; nothing is written here.

A model of that size that is to write files makes things up and copies what it was shown. What it does well is
to say of one message which of a few kinds it is. What is kept then stands in the person's own words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from tau.agent.summarizer import Summarizer
from tau.display import one_line
from tau.errors import MemoryRefused
from tau.masking import MASK, mask_content
from tau.memory import proposals
from tau.memory.documents import Document, front_matter, is_utf_8
from tau.memory.junk import plain
from tau.sessions.attached import own_text
from tau.sessions.records import Message, StoredMessage, summed_up_in

FILE = "project/preferences.md"
"""Where it is kept."""

MOST = 200
"""Things a person said that the model is asked about, the newest ones: each takes it a few seconds."""

LONGEST = 300
"""Characters of one thing that is said; what is longer is text that was pasted, rather than a wish."""

_KEPT = ("rule", "fact")
_KINDS = (*_KEPT, "task", "question", "talk")
_SHAPE = {"enum": list(_KINDS)}
_FEWEST_WORDS = 2

_SORT = """\
You sort the messages of a person to their coding assistant. Answer with one word:
rule: how things are to be done or never done from now on; a wish, a habit or a decision of theirs
fact: something lasting about the project, its machines or the person
task: something to do now, once
question: something they want to know
talk: thanks, greetings and the like"""
_FOCUS = "\nThe person asks to look at this above all: {}"

_EXAMPLES = tuple(
    (said, json.dumps(kind))
    for said, kind in (
        ("Use four spaces from now on, and never tabs.", "rule"),
        ("What is in a.py?", "question"),
        ("The key server is vault-3; vault-1 is gone.", "fact"),
        ("Now delete b.py.", "task"),
        ("Please write the tests first, always.", "rule"),
        ("Keep your answers short, please.", "rule"),
        ("Great, thanks.", "talk"),
        ("We do not use Docker here, it was too slow.", "fact"),
        ("Make the loop shorter.", "task"),
        ("Call me Kim.", "rule"),
        ("And does it work now?", "question"),
        ("Write me a script for that, please.", "task"),
        ("I like short names for variables.", "rule"),
    )
)

_CODE = re.compile(r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1|\Z)", re.DOTALL | re.MULTILINE)
_PARTS = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*+•]|\d+[.)])\s)")
_ITEM = re.compile(r"\A(?:[-*+•]|\d+[.)])\s+")
_SENTENCES = re.compile(r"(?<=[.!?])\s+")


async def sort_out(
    summarizer: Summarizer, messages: Sequence[Message], documents: Sequence[Document], *, focus: str
) -> tuple[str, list[Document]]:
    """A proposal, as a model would answer with it, and the memory file that it goes by, if that is there.

    A cancelled task ends the call at once.

    Args:
        summarizer: Has the model answer, once for each thing that was said.
        messages: The conversation, at least one message.
        documents: The memory files.
        focus: What the person wants it to look at, or empty.

    Raises:
        MemoryRefused: That file holds what looks like a secret, or is not UTF-8; the model was not asked.
        SummaryFailed: A call failed.
    """
    there = [each for each in documents if each.title == FILE]
    for each in there:
        _check_open(each)
    system = _SORT + (_FOCUS.format(focus) if focus else "")
    kept = []
    for said in _worth_asking(messages, documents):
        answer = await summarizer.ask(
            system, said, called="word for a message", examples=_EXAMPLES, schema=_SHAPE
        )
        if answer.strip().strip('"') in _KEPT:
            kept.append(said)
    operations = [_operation(kept, there[0] if there else None)] if kept else []
    return json.dumps({"operations": operations}), there


def _check_open(document: Document) -> None:
    """Refuse a file that would lose something when it is written again: what is not UTF-8, a secret.

    Raises:
        MemoryRefused: It is such a file.
    """
    if not is_utf_8(document.data):
        raise MemoryRefused(
            f"{FILE}, where it would be kept, is not UTF-8 text, so nothing is written there",
            f"`tau memory edit {FILE}` opens it; save it as UTF-8, then /refine again",
        )
    lines = zip_longest(document.text.split("\n"), mask_content(document.text).split("\n"))
    for number, (line, masked) in enumerate(lines, 1):
        if line != masked:
            raise MemoryRefused(
                f"{FILE}, where it would be kept, holds what looks like a secret in line {number}, "
                "so nothing is written there",
                f"`tau memory edit {FILE}` opens it; take the secret out, then /refine again",
            )


def _operation(kept: Sequence[str], there: Document | None) -> dict[str, str]:
    before = front_matter(there.text)[1].strip() if there else ""
    lines = "".join(f"- {said}\n" for said in kept)
    return {
        "file": FILE,
        "action": "write",
        "content": f"{before}\n{lines}" if before else lines,
        "sentence": one_line(f"in your words: {' · '.join(kept)}", 200),
    }


def _worth_asking(messages: Sequence[Message], documents: Sequence[Document]) -> list[str]:
    """What the person said and no file says yet, each once, the newest ones."""
    known = {plain(line) for each in documents for line in (*each.text.splitlines(), *_said(each.text))}
    found: dict[str, None] = {}
    for message in messages:
        if message["role"] == "user" and not summed_up_in(StoredMessage(0, message, "")):
            found.update(dict.fromkeys(_said(own_text(message))))
    new = [said for said in found if plain(said) not in known and _may_stand(said)]
    return new[-MOST:]


def _said(text: str) -> Iterator[str]:
    """The things that a message says, each on one line: paragraphs, and the sentences of long ones."""
    for part in _PARTS.split(_CODE.sub("\n\n", text)):
        line = _ITEM.sub("", one_line(part, len(part) + 1), count=1)
        for said in [line] if len(line) <= LONGEST else _SENTENCES.split(line):
            if len(said) <= LONGEST and len(said.split()) >= _FEWEST_WORDS and not said.endswith("?"):
                yield said


def _may_stand(said: str) -> bool:
    """Whether a line may be written at all: no secret in it, and nothing that a proposal may not bring."""
    if MASK in mask_content(said):
        return False
    operation = proposals.Operation("project/line.md", "write", "as said", content=f"- {said}\n")
    try:
        proposals.check([operation], [])
    except MemoryRefused:
        return False
    return True
