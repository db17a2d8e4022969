"""What a model answers of a session for `.session-log/`, read and checked before anything is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from tau.display import one_line
from tau.journal.wrapping import WrapInvalid
from tau.masking import mask_content

_LONGEST = 200
"""Entries of one list: who answers with more has not understood the question."""

LONGEST = 20_000
"""Characters of one text. Whatever is written of it is written whole."""

_DEEPEST = 30
"""Lists and objects in each other; the form has seven."""


class OpenItemSaid(msgspec.Struct):
    """An item that is to be done, and how soon; without a tier one that is there stays where it is."""

    text: str
    tier: Literal["Active", "Backlog", "Someday / Blocked", ""] = ""


class AssumptionSaid(msgspec.Struct):
    """What the session says of an assumption.

    Attributes:
        text: In the words of the file where it is there.
        verdict: What is said of it.
        independent: Whether a wrong assumption would plausibly have shown.
        rule: What is to be done by it, should it become a lesson.
    """

    text: str
    verdict: Literal["new", "corroborated", "contradicted", "disproven"] = "new"
    independent: bool = False
    rule: str = ""


class FileSaid(msgspec.Struct):
    """A file that was produced."""

    path: str
    about: str = ""


class FactSaid(msgspec.Struct):
    """A fact that is new, is put in the place of an old one, or is taken out when it has no text."""

    text: str = ""
    old: str = ""
    section: str = ""


class LessonSaid(msgspec.Struct):
    """A lesson."""

    title: str
    context: str = ""
    failed: str = ""
    fix: str = ""
    rule: str = ""


class CompactSaid(msgspec.Struct):
    """A lesson that may become a standing rule, and whether it would narrow or soften one that is there."""

    id: str
    narrows: bool = False


class ContextSaid(msgspec.Struct):
    """A session as one context has it."""

    context: str
    summary: str = ""
    decisions: list[str] = []
    open_items: list[OpenItemSaid] = []
    done: list[str] = []
    discoveries: list[str] = []
    assumptions: list[AssumptionSaid] = []
    files: list[FileSaid] = []
    facts: list[FactSaid] = []
    lessons: list[LessonSaid] = []
    compact: list[CompactSaid] = []
    keywords: list[str] = []


class SharedSaid(msgspec.Struct):
    """What holds across contexts."""

    facts: list[FactSaid] = []
    open_items: list[OpenItemSaid] = []
    done: list[str] = []


class LogSaid(msgspec.Struct):
    """The whole answer."""

    contexts: list[ContextSaid]
    shared: SharedSaid = msgspec.field(default_factory=SharedSaid)


RULES = """\
Record the session in the session log of its contexts. The object under this key is
{"contexts": [CONTEXT, ...], "shared": {"facts": [], "open_items": [], "done": []}}
with one CONTEXT for each context named below, and in it what is about that one alone:
{"context": its name,
 "summary": "2 to 4 sentences on what was accomplished: outcomes, not process",
 "decisions": ["what was chosen, what was rejected, and why"],
 "open_items": [{"text": "...", "tier": "Active" | "Backlog" | "Someday / Blocked"}],
 "done": ["an open item of context.md that is done, word for word"],
 "discoveries": ["what was confirmed true of tools, constraints or preferences"],
 "assumptions": [{"text": "...", "verdict": "new" | "corroborated" | "contradicted" | "disproven",
                  "independent": true | false, "rule": "always or never ..."}],
 "files": [{"path": "...", "about": "what it is and why it matters"}],
 "facts": [{"text": "...", "old": "", "section": ""}],
 "lessons": [{"title": "at most 8 words", "context": "which task", "failed": "wrong approach, or N/A",
              "fix": "what worked", "rule": "always or never ..."}],
 "compact": [{"id": "SL-001", "narrows": false}],
 "keywords": ["words by which this context is known again"]}

- Active: in motion this week, or gating other work; keep it short. Backlog: committed, not begun. Someday /
  Blocked: waits for a decision or somebody else; as soon as that is cleared, it goes to the Backlog. An item
  of context.md that should stand in another tier is named with its new tier, word for word. Every other item
  stays; you need not repeat it.
- An assumption is believed and not proven. Take the words of context.md where it is there. It is
  "corroborated" with "independent" true only when this session could have shown it to be wrong, by another
  trigger or under other conditions. Looking at the same situation again is not. "contradicted": a
  counter-example appeared. "disproven": it is clearly wrong.
- A lesson is an error that was corrected, a pattern that was expressly confirmed as working, or a limit of a
  tool that came out. What was only believed is an assumption, never a lesson. Nothing that stands in
  LESSONS.md already, and nothing that its banner forbids.
- "facts" is what will still hold in months. An "old" text, word for word, is replaced by "text", or taken out
  when "text" is empty. Each thing has one place: what holds across contexts goes into "shared" alone, and
  what is an assumption, a lesson or an open item is no fact. What stands in one place already is not said
  again for another one; what moves is named there in "done" or as "old". "decisions" and "discoveries" are
  the record of this session: one that is to guide later sessions is a fact (or, as a rule, a lesson) as well.
- "compact": at most 2 lessons whose prevention rule is a standing rule of behaviour, not a single incident,
  and has held for about 30 days, with no recurrence and no counter-example. "narrows" when it would narrow,
  soften or remove a rule that is there.
- "keywords" only for a context that has none yet: 3 to 8 words or names.
- Leave out what does not apply."""


def read(answer: Mapping[str, Any]) -> LogSaid:
    """A model's answer, without secrets.

    Raises:
        WrapInvalid: It has not the form that `RULES` asks for, or is too long; says where.
    """
    try:
        said = msgspec.convert(_clean(answer, _DEEPEST), LogSaid)
    except msgspec.ValidationError as error:
        raise WrapInvalid(f"the answer has another form: {one_line(str(error), 200)}") from None
    if not said.contexts:
        raise WrapInvalid("the answer names no context")
    return said


def _clean(value: Any, depth: int) -> Any:
    """A value of JSON without secrets and without characters that no text has.

    Raises:
        WrapInvalid: A list or a text is too long, or more is nested in it than `depth`.
    """
    if not depth:
        raise WrapInvalid(f"the answer is nested more than {_DEEPEST} deep")
    if isinstance(value, str):
        if len(value) > LONGEST:
            raise WrapInvalid(
                f"the answer has a text of {len(value):,} characters, more than {LONGEST:,}: "
                f"“{one_line(mask_content(value), 80)}”"
            )
        return mask_content(value.replace("\0", "\ufffd")).strip()
    if isinstance(value, Mapping):
        return {
            str(name): _WORDS.get(_closed_up(cleaned), cleaned) if name in ("tier", "verdict") else cleaned
            for name, each in value.items()
            if (cleaned := _clean(each, depth - 1)) is not None  # what is null was left out
        }
    if isinstance(value, list):
        if len(value) > _LONGEST:
            raise WrapInvalid(f"the answer has a list of {len(value):,} entries, more than {_LONGEST}")
        return [_clean(each, depth - 1) for each in value]
    return value


def _closed_up(value: Any) -> str:
    return "".join(value.casefold().split()) if isinstance(value, str) else ""


_WORDS = {
    _closed_up(word): word
    for word in ("Active", "Backlog", "Someday / Blocked", "new", "corroborated", "contradicted", "disproven")
}
"""The words for tiers and verdicts, however a model sets their blanks and capitals."""
