"""The close of a session for `.memory/`: five scans that a model makes, and what of them is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tau.display import one_line
from tau.errors import JournalRefused
from tau.journal import lessons
from tau.journal.lessons import Learned, Lesson
from tau.journal.long_term import LongTerm
from tau.journal.markdown import Markdown
from tau.journal.session_file import WorkSession
from tau.journal.work_log import path_of
from tau.journal.work_place import SECTIONS, SHOWN, WISHES
from tau.journal.wrapping import Question, WrapAsk, WrapInvalid, end_of

KEY = "memory"

SCANS = ("correction", "struggle", "decision", "preference")

UNDONE_BY = "/work undo takes it back"

_MOST_CHARS = 60_000
_RULES = """\
Distil the session for the project's long-term memory by five scans in turn; do not free-associate.
1. correction: did the person change or turn back something? The preference or rule behind it.
2. struggle: was the same tried again and again, did an approach fail? What did not work and why, as a rule.
3. decision: what was decided about structure or architecture? A note with its reason.
4. preference: did the person say "I want", "I prefer", "always", "never"? What of it is not recorded yet.
5. prune: which entries that are there are superseded by today's work, contradicted by the code, or over?
Write insight, not inventory: "The person prefers small, focused changes" is a lesson; that they asked for
one on a certain day is not. A lesson is one line. A tag limits it to a domain, such as auth; most have none.
Answer under this key an object:
{"lessons": [{"scan": "correction|struggle|decision|preference", "section": "...", "text": "...", "tag": "",
"about_code": false, "files": [], "replaces": ""}],
"prune": [{"section": "...", "entry": "...", "reason": "..."}]}
section is one of: SECTIONS. about_code with files that were read in this session backs what is said of code.
replaces is the whole entry of the same section that it contradicts, where both have the same tag or none.
entry is the whole entry as it stands there. Leave lists empty where a scan finds nothing."""


@dataclass(frozen=True)
class Distilled:
    """What was written.

    Attributes:
        lines: What the person is told.
        questions: What waits for their yes.
        summary: The same in a few words, for the log.
        recorded: How many lessons.
    """

    lines: list[str]
    questions: list[Question]
    summary: str
    recorded: int


@dataclass
class _Done:
    """What a change came to."""

    recorded: list[str] = field(default_factory=list)
    pruned: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Prune:
    section: str
    entry: str
    reason: str


Backing = Callable[[Sequence[str]], tuple[list[str], list[str]]]


def ask(long_term: Markdown, session: WorkSession | None) -> WrapAsk:
    """What to ask of the model that reads the session."""
    material = [(f"long-term memory {SHOWN}", _end_of(long_term.data.decode("utf-8", "replace")))]
    if session is not None:
        material.append((f"the session's log {path_of(session.name)}", _end_of("\n".join(session.log))))
    return WrapAsk(KEY, _RULES.replace("SECTIONS", ", ".join(SECTIONS)), material)


def read(answer: Mapping[str, Any]) -> tuple[list[tuple[str, Learned]], list[_Prune]]:
    """What the model found: lessons, each with its scan, and entries to take out.

    Raises:
        WrapInvalid: The answer is none that can be used.
    """
    wanted = [_lesson_of(each) for each in _objects(answer, "lessons")]
    return wanted, [_prune_of(each) for each in _objects(answer, "prune")]


def apply(answer: Mapping[str, Any], long_term: LongTerm, backing: Backing) -> Distilled:
    """Write what the model answered as one change of the long-term memory, as far as the rules let it.

    Args:
        answer: Nothing of it was checked.
        long_term: The file.
        backing: Parts files by whether they were read in the session.

    Raises:
        WrapInvalid: The answer is none that can be used; nothing was written.
        JournalRefused: The file cannot be written; it is as it was.
    """
    wanted, prunes = read(answer)
    known = long_term.titles()
    refused: list[str] = []
    passed: list[tuple[Lesson, str]] = []
    for scan, learned in wanted:
        try:
            lesson = lessons.checked(learned.section, learned.text, learned.tag, titles=known)
            _judge(lesson, learned, scan, backing)
        except JournalRefused as error:
            refused.append(f"Not recorded: {one_line(learned.text, 120)} — {error.line()}")
        else:
            passed.append((lesson, learned.replaces))
    document = long_term.document()
    total = sum(
        len(lessons.entries(document, section))
        for title in known
        if (section := lessons.section_of(document, title)) is not None
    )
    asks = len(prunes) > total / 2
    done = long_term.change(lambda document: _changed(document, passed, () if asks else prunes))
    lines = [*done.recorded, *done.pruned, *refused, *done.refused]
    if done.recorded or done.pruned:
        lines.append(f"{SHOWN} was changed. {UNDONE_BY}")
    elif not lines:
        lines.append(f"{SHOWN} stays as it is: there was nothing to record or to prune")
    questions = [_question(prunes, total, long_term)] if asks else []
    summary = f"{len(done.recorded)} recorded, {len(done.pruned)} pruned in {SHOWN}"
    return Distilled(lines, questions, summary, len(done.recorded))


def _changed(document: Markdown, wanted: Sequence[tuple[Lesson, str]], prunes: Sequence[_Prune]) -> _Done:
    done = _Done()
    for lesson, replaces in wanted:
        said = one_line(lesson.line)
        try:
            outcome = lessons.add(document, lesson, replaces)
        except JournalRefused as error:
            done.refused.append(f"Not recorded: {said} — {error.line()}")
            continue
        if outcome.kind == "added":
            done.recorded.append(f"Recorded in {lesson.section}: {said}")
        elif outcome.kind == "replaced":
            done.recorded.append(f"Replaced in {lesson.section}: {outcome.replaced} → {said}")
    for prune in prunes:
        try:
            entry = lessons.find(document, prune.section, prune.entry)
        except JournalRefused as error:
            done.refused.append(f"Not pruned: {one_line(prune.entry, 120)} — {error.line()}")
            continue
        if entry.item is not None and entry.item.holds_more:
            done.refused.append(f"Not pruned: {entry.shown} — it has something nested in it")
            continue
        lessons.take_out(document, entry)
        done.pruned.append(
            f"Pruned from {one_line(prune.section, 60)}: {entry.shown} — {one_line(prune.reason, 200)}"
        )
    return done


def _question(prunes: Sequence[_Prune], total: int, long_term: LongTerm) -> Question:
    listed = "\n".join(
        f"    {one_line(prune.entry, 200)} — {one_line(prune.reason, 200)}" for prune in prunes
    )

    def carry_out() -> list[str]:
        done = long_term.change(lambda document: _changed(document, (), prunes))
        return [*done.pruned, *done.refused, *([UNDONE_BY] if done.pruned else [])]

    line = f"Waits for your yes: {len(prunes)} of the {total} entries of {SHOWN} would be pruned\n{listed}"
    return Question(line, carry_out)


def _judge(lesson: Lesson, learned: Learned, scan: str, backing: Backing) -> None:
    """A correction is a medium signal, a preference a strong one; what is of the code is backed.

    What the person wants may name a file or a command without being about it; elsewhere that is about code.

    Raises:
        JournalRefused: It may not be written.
    """
    if scan not in SCANS:
        raise JournalRefused(f'There is no scan "{one_line(scan, 40)}"', ", ".join(SCANS))
    is_wish = scan == "preference" and lesson.section in WISHES
    of_code = learned.about_code or (not is_wish and lessons.is_about_code(lesson))
    if scan == "correction" or of_code:
        read, unread = backing(learned.files)
        lessons.judge(lesson, learned, read=read, unread=unread)


def _objects(answer: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    found = answer.get(key, [])
    if not isinstance(found, list) or not all(isinstance(each, Mapping) for each in found):
        raise WrapInvalid(f"{KEY}.{key} is no list of objects")
    return found


def _lesson_of(given: Mapping[str, Any]) -> tuple[str, Learned]:
    """The scan that a lesson is from, and the lesson."""
    files = given.get("files", [])
    if not isinstance(files, list) or not all(isinstance(name, str) for name in files):
        raise WrapInvalid(f"{KEY}.lessons.files is no list of texts")
    about_code = given.get("about_code", False)
    if not isinstance(about_code, bool):
        raise WrapInvalid(f"{KEY}.lessons.about_code is neither true nor false")
    texts = {key: _text(given, key, "lessons") for key in ("section", "text", "tag", "replaces")}
    learned = Learned(signal="medium", about_code=about_code, files=files, **texts)
    return _text(given, "scan", "lessons"), learned


def _prune_of(given: Mapping[str, Any]) -> _Prune:
    return _Prune(**{key: _text(given, key, "prune") for key in ("section", "entry", "reason")})


def _text(given: Mapping[str, Any], key: str, of: str) -> str:
    value = given.get(key, "")
    if not isinstance(value, str):
        raise WrapInvalid(f"{KEY}.{of}.{key} is no text")
    return value


def _end_of(text: str) -> str:
    return end_of(text, _MOST_CHARS)
