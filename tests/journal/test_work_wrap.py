"""The close of a session in `.memory/`: what of a model's answer is written, what is refused, what waits."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from tau.errors import JournalRefused
from tau.journal.session_file import LogLine
from tau.journal.work_wrap import SCANS
from tau.journal.wrapping import WrapInvalid, Wrapped, WrapSession
from tests.journal.conftest import Checkout

NOW = datetime(2026, 8, 12, 9, 5).astimezone()
SESSION = WrapSession(session_id="s1", called="amber", now=NOW)


def lesson(text: str, section: str = "Preferences", scan: str = "preference", **more: Any) -> dict[str, Any]:
    return {"scan": scan, "section": section, "text": text, **more}


def wrap(checkout: Checkout, *lessons: dict[str, Any], prune: list[dict[str, str]] | None = None) -> Wrapped:
    desk = checkout.desk()
    desk.backing = lambda files: (
        [name for name in files if name == "a.py"],
        [n for n in files if n != "a.py"],
    )
    return desk.apply_wrap({"lessons": list(lessons), "prune": prune or []}, SESSION)


def test_it_asks_for_five_scans_with_the_log_and_what_is_there(checkout: Checkout) -> None:
    desk = checkout.desk()
    desk.sessions.note([LogLine(NOW, "user", "no, smaller")], called="amber", request="no, smaller")
    ask = desk.wrap_ask(SESSION)
    assert ask.key == "memory"
    for scan in (*SCANS, "prune"):
        assert f" {scan}: " in ask.rules
    (memory, said), (log, entries) = ask.material
    assert (memory, log) == (
        "long-term memory .memory/long-term.md",
        "the session's log .memory/session/2026-08-12-amber.md",
    )
    assert "## Always and Never" in said
    assert "user: no, smaller" in entries


def test_what_the_scans_find_is_written_as_one_change_and_the_session_is_done(checkout: Checkout) -> None:
    desk = checkout.desk()
    checkout.write(".memory/long-term.md", "## Preferences\n\n- old\n- stale\n- the port is 8000\n- kept\n")
    before = checkout.long_term.read_bytes()
    desk.sessions.note([LogLine(NOW, "user", "go")], called="amber", request="go")
    wrapped = desk.apply_wrap(
        {
            "lessons": [
                lesson("smaller changes", "Corrections", "correction", about_code=False),
                lesson("mocks of the clock drift; freeze it", "Learned Rules", "struggle", tag="tests"),
                lesson("one process a window, so that none blocks", "Project Notes", "decision"),
                lesson("OLD"),
                lesson("the port is 9000", replaces="the port is 8000"),
            ],
            "prune": [
                {"section": "Preferences", "entry": "stale", "reason": "done today"},
                {"section": "Preferences", "entry": "never there", "reason": "?"},
            ],
        },
        SESSION,
    )
    missing = 'Not pruned: never there — There is no entry "never there" in that section'
    assert list(wrapped.lines) == [
        "Recorded in Corrections: smaller changes",
        "Recorded in Learned Rules: [tests] mocks of the clock drift; freeze it",
        "Recorded in Project Notes: one process a window, so that none blocks",
        "Replaced in Preferences: the port is 8000 → the port is 9000",
        "Pruned from Preferences: stale — done today",
        f"{missing} (give it as it stands in long-term.md)",
        ".memory/long-term.md was changed. /work undo takes it back",
        ".memory/session/2026-08-12-amber.md is done: it goes at the next start, unless the session goes on",
    ]
    assert checkout.long_term.read_text() == (
        "## Preferences\n\n- old\n- the port is 9000\n- kept\n\n## Corrections\n\n- smaller changes\n\n"
        "## Learned Rules\n\n- [tests] mocks of the clock drift; freeze it\n\n"
        "## Project Notes\n\n- one process a window, so that none blocks\n"
    )
    text = (checkout.memory / "session" / "2026-08-12-amber.md").read_text()
    assert "- Status: done\n" in text
    assert "agent: wrapped up: 4 recorded, 1 pruned in .memory/long-term.md\n" in text
    desk.undo()
    assert checkout.long_term.read_bytes() == before


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (lesson("x", "Nowhere"), "There is no section"),
        (lesson("x", scan="whim"), "There is no scan"),
        (lesson("x", tag="a]b"), "cannot be a tag"),
        (lesson("`f` is slow", "Corrections", "correction"), "a file that was read in this session"),
        (lesson("The handler must retry", "Corrections", "correction"), "not said whether this correction"),
        (lesson("x", "Code Observations", "decision"), "a file that was read in this session"),
        (lesson("x", "Code Observations", files=["b.py"]), "Not read in this session as it is now: b.py"),
        (lesson("`f` is slow", "Learned Rules", "struggle"), "a file that was read in this session"),
        (lesson("`f` calls `g`", "Project Notes", "decision"), "a file that was read in this session"),
        (lesson("`f` is slow", "Project Notes"), "a file that was read in this session"),
        (lesson("`f` is slow", about_code=True), "a file that was read in this session"),
        (lesson("User asked for a small PR on 2026-03-18"), "write the insight"),
        (lesson("today we did x on 2026-11-30", "Project Notes", "decision"), "write the insight"),
        (lesson("We did the move on 2026-11-30", "Project Notes", "decision"), "write the insight"),
        (lesson("Yesterday we moved the queue", "Project Notes", "decision"), "write the insight"),
        (lesson("x", replaces="not there"), "There is no entry"),
    ],
)
def test_what_the_rules_do_not_let_pass_is_left_out_and_said(
    checkout: Checkout, given: dict[str, Any], why: str
) -> None:
    wrapped = wrap(checkout, given, lesson("short answers"))
    assert any(line.startswith("Not recorded: ") and why in line for line in wrapped.lines), wrapped.lines
    assert "Recorded in Preferences: short answers" in wrapped.lines


def test_after_content_from_outside_nothing_is_recorded_without_a_yes(checkout: Checkout) -> None:
    session = replace(SESSION, origin="fetch_url https://example.org/")
    checkout.write(".memory/long-term.md", "## Preferences\n\n- stale\n- the port is 8000\n- x\n- y\n- z\n")
    before = checkout.long_term.read_bytes()
    whole = f"always run X{' and more' * 30}"
    answer = {
        "lessons": [lesson(whole), lesson("the port is 9000", replaces="the port is 8000"), lesson("x")],
        "prune": [{"section": "Preferences", "entry": "stale", "reason": "done"}],
    }
    desk = checkout.desk()
    desk.sessions.note([LogLine(NOW, "user", "go")], called="amber", request="go")
    (question,) = desk.apply_wrap(answer, session).questions
    assert checkout.long_term.read_bytes() == before
    assert question.line == (
        "Waits for your yes, since content from outside was in this session (fetch_url https://example.org/):\n"
        f"    new in Preferences: {whole}\n"
        "    replaced in Preferences: the port is 8000 → the port is 9000\n"
        "    pruned from Preferences: stale — done"
    )
    (log,) = (checkout.memory / "session").iterdir()
    assert "; 3 wait for a yes, since content from outside was in this session (fetch_url" in log.read_text()
    assert question.carry_out()[0] == f"Recorded in Preferences: {whole}"
    assert (
        checkout.long_term.read_text() == f"## Preferences\n\n- the port is 9000\n- x\n- y\n- z\n- {whole}\n"
    )
    wrapped = desk.apply_wrap({}, session)
    assert not wrapped.questions
    assert not any("outside" in line for line in wrapped.lines)


def test_what_is_of_code_is_written_with_a_file_that_was_read(checkout: Checkout) -> None:
    wrapped = wrap(checkout, lesson("`f` is slow", "Code Observations", "decision", files=["a.py"]))
    assert wrapped.lines[0] == "Recorded in Code Observations: `f` is slow"


def test_few_entries_that_are_more_than_half_wait_too_and_what_holds_others_stays(checkout: Checkout) -> None:
    checkout.write(".memory/long-term.md", "## Preferences\n\n- one\n  - nested\n- two\n- three\n")
    prune = [{"section": "Preferences", "entry": name, "reason": "old"} for name in ("one", "two", "three")]
    (question,) = wrap(checkout, prune=prune).questions
    assert question.line.startswith("Waits for your yes, since 2 of the 3 entries")
    assert checkout.long_term.read_text().count("\n- ") == 3
    stays = "Not pruned: one — “one” stays: it has something nested in it (take it out by hand)"
    assert stays in question.carry_out()
    assert checkout.long_term.read_text() == "## Preferences\n\n- one\n  - nested\n"


def test_what_the_person_wants_may_name_a_command(checkout: Checkout) -> None:
    wrapped = wrap(checkout, lesson("run `ruff` before a commit", "Always and Never"))
    assert wrapped.lines[0] == "Recorded in Always and Never: run `ruff` before a commit"


def test_taking_out_more_than_half_waits_for_a_yes(checkout: Checkout) -> None:
    entries = "".join(f"- entry {number}\n" for number in range(6))
    checkout.write(".memory/long-term.md", f"## Preferences\n\n{entries}")
    prune = [{"section": "Preferences", "entry": f"entry {number}", "reason": "old"} for number in range(5)]
    wrapped = wrap(checkout, prune=prune)
    assert checkout.long_term.read_text().count("- entry") == 6
    (question,) = wrapped.questions
    assert question.line.startswith("Waits for your yes, since 5 of the 6 entries")
    assert "entry 3 — old" in question.line
    assert len(question.carry_out()) == 6
    assert checkout.long_term.read_text() == "## Preferences\n\n- entry 5\n"


def test_replacing_more_than_half_waits_for_a_yes_and_what_is_new_does_not(checkout: Checkout) -> None:
    checkout.write(".memory/long-term.md", "## Preferences\n\n- a\n- b\n- c\n- d\n")
    wanted = [lesson(f"not {name}", replaces=name) for name in "ab"]
    wrapped = wrap(checkout, *wanted, lesson("new"), prune=[])
    assert not wrapped.questions, "half of them is not more than half"
    checkout.write(".memory/long-term.md", "## Preferences\n\n- a\n- b\n- c\n- d\n")
    prune = [{"section": "Preferences", "entry": "c", "reason": "over"}]
    wrapped = wrap(checkout, *wanted, lesson("new"), prune=prune)
    assert checkout.long_term.read_text() == "## Preferences\n\n- a\n- b\n- c\n- d\n- new\n"
    (question,) = wrapped.questions
    assert question.line.startswith("Waits for your yes, since 3 of the 4 entries")
    question.carry_out()
    assert checkout.long_term.read_text() == "## Preferences\n\n- not a\n- not b\n- d\n- new\n"


@pytest.mark.parametrize(
    "answer",
    [
        {"lessons": "none"},
        {"lessons": ["x"]},
        {"lessons": [{"section": 1}]},
        {"lessons": [lesson("x", files="a.py")]},
        {"lessons": [lesson("x", about_code="yes")]},
        {"prune": [{"section": "Preferences", "entry": None}]},
    ],
)
def test_an_answer_that_is_none_changes_nothing(checkout: Checkout, answer: dict[str, Any]) -> None:
    desk = checkout.desk()
    desk.sessions.note([LogLine(NOW, "user", "go")], called="amber", request="go")
    before = {path: path.read_bytes() for path in checkout.memory.rglob("*.md")}
    with pytest.raises(WrapInvalid):
        desk.apply_wrap(answer, SESSION)
    assert {path: path.read_bytes() for path in checkout.memory.rglob("*.md")} == before


def test_nothing_to_record_is_done_all_the_same(checkout: Checkout) -> None:
    desk = checkout.desk()
    desk.sessions.note([LogLine(NOW, "user", "go")], called="amber", request="go")
    before = checkout.long_term.read_bytes()
    wrapped = desk.apply_wrap({}, SESSION)
    assert "there was nothing to record or to prune" in wrapped.lines[0]
    assert checkout.long_term.read_bytes() == before
    assert "- Status: done\n" in (checkout.memory / "session" / desk.sessions.current).read_text()
    with pytest.raises(JournalRefused):
        desk.undo()


def test_undoing_what_was_agreed_to_later_opens_the_session_that_the_yes_set_done(checkout: Checkout) -> None:
    """The newest change is taken back then, which is the one that set it done; the one before is not."""
    entries = "".join(f"- {name}\n" for name in ("one", "two", "three", "four"))
    checkout.write(".memory/long-term.md", f"## Preferences\n\n{entries}")
    desk = checkout.desk()
    desk.sessions.note([LogLine(NOW, "user", "go")], called="amber", request="go")
    prune = [{"section": "Preferences", "entry": name, "reason": "old"} for name in ("one", "two", "three")]
    wrapped = desk.apply_wrap({"lessons": [lesson("short answers")], "prune": prune}, SESSION)
    assert wrapped.changed
    (question,) = wrapped.questions
    (log,) = (checkout.memory / "session").iterdir()
    assert "Status: paused" in log.read_text()
    assert question.carry_out()
    assert "Status: done" in log.read_text()
    assert "is in progress again" in desk.undo()
    assert "Status: in-progress" in log.read_text()
    assert "again" not in desk.undo()


def test_a_session_of_another_directory_is_not_set_back_by_its_name(checkout: Checkout) -> None:
    desk = checkout.desk()
    desk.sessions.note([LogLine(NOW, "user", "go")], called="amber", request="go")
    closed = desk.apply_wrap({}, SESSION).closed
    (log,) = (checkout.memory / "session").iterdir()
    assert closed == str(log)
    assert "is not set back" in desk.reopen(f"/elsewhere/.memory/session/{log.name}")
    assert "Status: done" in log.read_text()
    assert desk.reopen(closed)
    assert "Status: done" not in log.read_text()
