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
from tau.journal.wrapping import Question, Taken, WrapAsk, WrapInvalid, end_of, waits, whole

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
"about_code": true|false, "files": [], "replaces": ""}],
"prune": [{"section": "...", "entry": "...", "reason": "..."}]}
section is one of: SECTIONS. about_code says whether a lesson tells how the code is or must behave, by
whatever words; a correction without it is not recorded. What is said of code needs files that back it and
were read in this session.
replaces is the whole entry of the same section that it contradicts, where both have the same tag or none.
entry is the whole entry as it stands there. Leave lists empty where a scan finds nothing."""


@dataclass(frozen=True)
class Distilled:
    """What was written.

    Attributes:
        lines: What the person is told.
        questions: What waits for their yes.
        summary: The same in a few words, for the log.
        changed: Whether the file was.
        lessons: The texts of the lessons that are there now, or wait.
    """

    lines: list[str]
    questions: list[Question]
    summary: str
    changed: bool
    lessons: list[str]


@dataclass
class _Done:
    """What a change came to.

    Attributes:
        recorded: For each lesson that is new a line when that is done, and one when it is yet to be.
        pruned: The same of entries that were taken out.
        refused: What was not done, a line each.
        there: The texts of the lessons that are there now.
        new: Those of them that were not there before.
        replaced: How many took the place of an entry.
    """

    recorded: list[tuple[str, str]] = field(default_factory=list)
    pruned: list[tuple[str, str]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    there: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    replaced: int = 0

    @property
    def lines(self) -> list[str]:
        """What was done."""
        return [line for line, _ in [*self.recorded, *self.pruned]]

    @property
    def wanted(self) -> list[str]:
        """What would be done."""
        return [line for _, line in [*self.recorded, *self.pruned]]


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


def apply(answer: Mapping[str, Any], long_term: LongTerm, backing: Backing, origin: str) -> Distilled:
    """Write what the model answered as one change of the long-term memory, as far as the rules let it.

    After content from outside all of it waits for the person's yes; else what would replace and take out more
    than half of what is there.

    Args:
        answer: Nothing of it was checked.
        long_term: The file.
        backing: Parts files by whether they were read in the session.
        origin: What came from outside in the session; empty when nothing did.

    Raises:
        WrapInvalid: The answer is none that can be used; nothing was written.
        JournalRefused: The file cannot be written; it is as it was.
    """
    at_once, later, why, refused = _planned(answer, long_term, backing, origin)
    done = long_term.change(lambda document: _changed(document, at_once))
    foreseen = _changed(long_term.document(), later)
    lines = [*done.lines, *refused, *done.refused, *foreseen.refused]
    if done.lines:
        lines.append(f"{SHOWN} was changed. {UNDONE_BY}")
    elif not lines and not foreseen.wanted:
        lines.append(f"{SHOWN} stays as it is: there was nothing to record or to prune")
    questions = [_question(foreseen.wanted, why, later, long_term)] if foreseen.wanted else []
    summary = f"{len(done.recorded)} recorded, {len(done.pruned)} pruned in {SHOWN}"
    if questions:
        summary += f"; {len(foreseen.wanted)} wait for a yes, since {why}"
    return Distilled(lines, questions, summary, bool(done.lines), [*done.there, *foreseen.there])


def taken(answer: Mapping[str, Any], long_term: LongTerm, backing: Backing, origin: str) -> Taken:
    """The lessons of an answer that the long-term memory would take, or has already; as of `apply`.

    Raises:
        WrapInvalid: The answer is none that can be used.
        JournalRefused: The file cannot be read.
    """
    at_once, later, _, _ = _planned(answer, long_term, backing, origin)
    document = long_term.document()
    now, then = _changed(document, at_once), _changed(document, later)
    there = [text for each in (now, then) for text in each.there if text not in each.new]
    return Taken(there, now.new, then.new)


@dataclass(frozen=True)
class _Asked:
    """Lessons, each with the entry that it replaces, and entries to take out."""

    lessons: Sequence[tuple[Lesson, str]] = ()
    prunes: Sequence[_Prune] = ()


def _planned(
    answer: Mapping[str, Any], long_term: LongTerm, backing: Backing, origin: str
) -> tuple[_Asked, _Asked, str, list[str]]:
    """What is written at once, what waits for a yes and why it does, and what the rules refuse."""
    passed, prunes, refused = _allowed(answer, long_term, backing)
    document = long_term.document()
    total = sum(
        len(lessons.entries(document, section))
        for title in lessons.titles(document)
        if (section := lessons.section_of(document, title)) is not None
    )
    replacing = [each for each in passed if each[1].strip()]
    all_of_it = _changed(Markdown(document.data), _Asked(passed, prunes))
    why = waits(all_of_it.replaced + len(all_of_it.pruned), total, f"entries of {SHOWN}")
    if origin:
        why = f"content from outside was in this session ({origin})"
        replacing = passed
    later = _Asked(replacing, prunes) if why else _Asked()
    return (
        _Asked([each for each in passed if each not in later.lessons], () if why else prunes),
        later,
        why,
        refused,
    )


def _allowed(
    answer: Mapping[str, Any], long_term: LongTerm, backing: Backing
) -> tuple[list[tuple[Lesson, str]], list[_Prune], list[str]]:
    """The lessons that the rules let pass, each with what it replaces; entries to take out; the refusals."""
    wanted, prunes = read(answer)
    known = long_term.titles()
    refused: list[str] = []
    passed: list[tuple[Lesson, str]] = []
    for scan, learned in wanted:
        try:
            lesson = lessons.checked(learned.section, learned.text, learned.tag, titles=known)
            _judge(lesson, learned, scan, backing)
        except JournalRefused as error:
            refused.append(f"Not recorded: {whole(learned.text)} — {error.line()}")
        else:
            passed.append((lesson, learned.replaces))
    return passed, prunes, refused


def _changed(document: Markdown, asked: _Asked) -> _Done:
    done = _Done()
    for lesson, replaces in asked.lessons:
        said = whole(lesson.line)
        try:
            outcome = lessons.add(document, lesson, replaces)
        except JournalRefused as error:
            done.refused.append(f"Not recorded: {said} — {error.line()}")
            continue
        done.there.append(lesson.text)
        done.new += [lesson.text] if outcome.kind != "there" else []
        where = lesson.section
        if outcome.kind == "added":
            done.recorded.append((f"Recorded in {where}: {said}", f"new in {where}: {said}"))
        elif outcome.kind == "replaced":
            done.replaced += 1
            change = f"{outcome.replaced} → {said}"
            done.recorded.append((f"Replaced in {where}: {change}", f"replaced in {where}: {change}"))
    for prune in asked.prunes:
        try:
            entry = lessons.find(document, prune.section, prune.entry)
            lessons.take_out(document, entry)
        except JournalRefused as error:
            done.refused.append(f"Not pruned: {whole(prune.entry)} — {error.line()}")
            continue
        change = f"{one_line(prune.section, 60)}: {entry.whole} — {one_line(prune.reason, 200)}"
        done.pruned.append((f"Pruned from {change}", f"pruned from {change}"))
    return done


def _question(wanted: Sequence[str], why: str, asked: _Asked, long_term: LongTerm) -> Question:
    def carry_out() -> list[str]:
        done = long_term.change(lambda document: _changed(document, asked))
        return [*done.lines, *done.refused, *([UNDONE_BY] if done.lines else [])]

    listed = "\n".join(f"    {line}" for line in wanted)
    return Question(f"Waits for your yes, since {why}:\n{listed}", carry_out)


def _judge(lesson: Lesson, learned: Learned, scan: str, backing: Backing) -> None:
    """A correction is a medium signal, a preference a strong one; what is of the code is backed.

    What the person wants may name a file or a command without being about it; elsewhere that is about code.

    Raises:
        JournalRefused: It may not be written.
    """
    if scan not in SCANS:
        raise JournalRefused(f'There is no scan "{one_line(scan, 40)}"', ", ".join(SCANS))
    is_wish = scan == "preference" and lesson.section in WISHES
    of_code = bool(learned.about_code) or (not is_wish and lessons.is_about_code(lesson))
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
    about_code = given.get("about_code")
    if about_code is not None and not isinstance(about_code, bool):
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
