"""A tool of tier 2 waits for the person: the whole call, the keys, the draft, and what comes of it."""

from __future__ import annotations

import json
import time
from math import inf
from pathlib import Path
from typing import Any

import pytest
from textual import events

from tau.tui.widgets.blocks import ToolCard
from tau.tui.widgets.events_pane import EventsPane
from tau.tui.widgets.question import CallLines, Question
from tests.tui.conftest import Running, Start


def jots(*texts: str) -> list[dict[str, Any]]:
    """A script whose model asks for these notes in one message, and then is done."""
    tools = [
        {"name": "jot_note", "input": {"path": "notes.txt", "text": text}, "id": f"t{n}"}
        for n, text in enumerate(texts)
    ]
    return [{"text": "I write that down.", "tools": tools}, {"text": "All done."}]


async def asked(tau: Running, about: str) -> Question:
    """Wait until a question is open and a key would answer it."""
    await tau.shows(about)
    await tau.until(lambda: tau.screen.query(Question), "the question")
    question = tau.screen.query_one(Question)
    await tau.until(lambda: time.monotonic() > question._quiet_until, "keys answer it")
    return question


async def no_question(tau: Running) -> None:
    await tau.until(lambda: not tau.screen.query(Question), "the question went")


def last_result(tmp_path: Path) -> str:
    """What the model was told about its last call."""
    request = json.loads((tmp_path / "requests.jsonl").read_text("utf-8").splitlines()[-1])
    return json.dumps(request["messages"][-1])


async def test_yes_runs_the_call_once(start: Start, work: Path) -> None:
    async with start(jots("one line"), can_ask=True) as tau:
        await tau.send("note it")
        await asked(tau, "jot_note asks to run")
        assert "path: notes.txt" in tau.text()
        assert "text: one line" in tau.text()
        assert "y yes once · n no · r no, because…" in tau.text()
        assert "Waiting for your answer" in tau.text()
        assert not tau.screen.query_one("#prompt-box").display
        assert not (work / "notes.txt").exists()
        await tau.pilot.press("y")
        await tau.idle()
        assert (work / "notes.txt").read_text() == "one line\n"
        assert "approved" in str(tau.screen.query_one(ToolCard).render())
        entries = [(e.name, e.outcome) for e in tau.screen.query_one(EventsPane).entries]
        assert entries[0] == ("approval", "approved")
        assert entries[1][0] == "jot_note"
        assert entries[1][1].endswith("approved")
        assert tau.screen.focused is tau.screen.prompt


async def test_no_refuses_it_and_the_model_is_told(start: Start, work: Path, tmp_path: Path) -> None:
    async with start(jots("one line"), can_ask=True) as tau:
        await tau.send("note it")
        await asked(tau, "jot_note asks to run")
        await tau.pilot.press("n")
        await tau.idle()
        assert not (work / "notes.txt").exists()
        assert "denied" in str(tau.screen.query_one(ToolCard).render())
        assert tau.screen.query_one(EventsPane).entries[0].outcome == "denied"
        await tau.shows("All done.")
    assert "error" in last_result(tmp_path)


async def test_a_reason_is_told_to_the_model(start: Start, work: Path, tmp_path: Path) -> None:
    async with start(jots("one line"), can_ask=True) as tau:
        await tau.send("note it")
        await asked(tau, "jot_note asks to run")
        await tau.pilot.press("r", *"yes, n", "escape")
        await tau.shows("y yes once")
        await tau.pilot.press("r")
        await tau.shows("Enter no, for this reason")
        await tau.pilot.press("end", *"ot there", "enter")
        await tau.idle()
        assert not (work / "notes.txt").exists()
        assert tau.screen.prompt.text == ""
    assert "yes, not there" in last_result(tmp_path)


def pressed(question: Question, key: str, seconds_early: float) -> None:
    """A key that was pressed so long before keys begin to answer."""
    event = events.Key(key, key if len(key) == 1 else None)
    event.time = question._quiet_until - seconds_early
    question._lines.post_message(event)


async def test_what_was_being_typed_goes_on_in_the_draft_and_answers_nothing(
    start: Start, work: Path
) -> None:
    async with start(jots("one line"), can_ask=True) as tau:
        await tau.send("note it")
        tau.screen.prompt.insert("a draft, ")
        question = await asked(tau, "jot_note asks to run")
        for done, key in enumerate("yny"):
            before = question._quiet_until
            pressed(question, key, 0.1)
            await tau.until(lambda done=done: tau.screen.prompt.text == "a draft, yny"[: 10 + done])  # type: ignore[misc]  # bound now
            assert question._quiet_until > before, "each key begins the wait anew"
        pressed(question, "backspace", 0.1)
        await tau.until(lambda: tau.screen.prompt.text == "a draft, yn", "backspace")
        question._lines.post_message(events.Paste("y"))
        await tau.until(lambda: tau.screen.prompt.text == "a draft, yny", "the paste")
        assert tau.screen.query_one(Question) is question
        assert not (work / "notes.txt").exists()
        await asked(tau, "jot_note asks to run")
        await tau.pilot.press("y")
        await tau.idle()
        assert (work / "notes.txt").exists()
        assert tau.screen.query_one("#prompt-box").display
        await tau.pilot.press("!")
        assert tau.screen.prompt.text == "a draft, yny!"


async def test_a_message_finished_as_a_question_comes_waits(start: Start, work: Path) -> None:
    async with start(jots("one line"), can_ask=True) as tau:
        await tau.send("note it")
        tau.screen.prompt.insert("and then tell me")
        question = await asked(tau, "jot_note asks to run")
        pressed(question, "enter", 0.1)
        await tau.until(lambda: len(tau.screen.outbox), "it waits")
        assert tau.screen.prompt.text == ""
        assert not (work / "notes.txt").exists()
        assert tau.screen.query_one(Question) is question


@pytest.mark.parametrize("key", ["escape", "ctrl+c"])
async def test_a_cancel_answers_no(start: Start, work: Path, key: str) -> None:
    async with start(jots("one line"), can_ask=True) as tau:
        await tau.send("note it")
        tau.screen.prompt.insert("draft")
        await asked(tau, "jot_note asks to run")
        await tau.pilot.press(key)
        await tau.idle()
        await no_question(tau)
        await tau.shows("Turn cancelled.")
        assert tau.screen.query_one(EventsPane).entries[0].outcome == "denied"
        assert tau.screen.prompt.text == "draft"
    assert not (work / "notes.txt").exists()


async def test_several_questions_come_one_after_the_other(start: Start, work: Path) -> None:
    async with start(jots("first", "second", "third"), can_ask=True) as tau:
        await tau.send("note them")
        for text, key in (("first", "y"), ("second", "n"), ("third", "y")):
            await tau.until(lambda: "Waiting for your answer" in tau.text(), "the next question")
            question = await asked(tau, f"text: {text}")
            await tau.pilot.press(key)
            await tau.until(lambda question=question: not question.is_attached, "answered")  # type: ignore[misc]  # bound now
        await tau.idle()
        assert sorted((work / "notes.txt").read_text().split()) == ["first", "third"]


async def test_the_whole_call_can_be_read(start: Start) -> None:
    text = "\n".join(f"line {n} \x1b[2J" for n in range(60)) + "\npath: /etc/passwd\n" + "w" * 500 + "END"
    async with start(jots(text), can_ask=True, size=(80, 24)) as tau:
        await tau.send("note it")
        question = await asked(tau, "jot_note asks to run")
        lines = question.query_one(CallLines)
        seen: list[str] = []
        for _ in range(lines.line_count):
            seen += [row for row in tau.text().split("\n") if row not in seen]
            if lines.scroll_y >= lines.max_scroll_y:
                break
            await tau.pilot.press("pagedown")
            await tau.pilot.pause()
        for n in range(60):
            assert any(f"line {n} \\x1b[2J" in row for row in seen)
        assert any("  path: /etc/passwd" in row for row in seen), "no value looks like another argument"
        assert "".join(row.strip(" ▌█▐│") for row in seen).count("w" * 60) >= 1
        assert any("wEND" in row for row in seen)
        assert f"all {lines.line_count} lines" in tau.text()
        assert tau.screen.query(Question)


async def test_other_screens_and_their_keys_leave_a_question_open(start: Start, work: Path) -> None:
    async with start(jots("one line"), can_ask=True) as tau:
        await tau.send("note it")
        question = await asked(tau, "jot_note asks to run")
        before = question._quiet_until
        await tau.pilot.press("f2")
        await tau.shows("Sessions")
        await tau.pilot.press("y", "escape")
        await tau.shows("jot_note asks to run")
        await tau.until(lambda: before < question._quiet_until < inf, "it is a new question again")
        pressed(question, "y", 0.1)
        await tau.until(lambda: tau.screen.prompt.text == "y", "in the draft")
        assert tau.screen.query_one(Question) is question
        assert not (work / "notes.txt").exists()
        await asked(tau, "jot_note asks to run")
        await tau.pilot.press("y")
        await tau.idle()
        assert (work / "notes.txt").exists()


async def test_leaving_at_a_question_runs_nothing(start: Start, work: Path) -> None:
    async with start(jots("one line"), can_ask=True) as tau:
        await tau.send("note it")
        await asked(tau, "jot_note asks to run")
        await tau.pilot.press("ctrl+q")
        await tau.until(lambda: not tau.app.is_running)
    assert not (work / "notes.txt").exists()
