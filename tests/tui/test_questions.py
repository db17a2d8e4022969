"""A tool of tier 2 waits for the person: the whole call, the keys, the draft, and what comes of it."""

from __future__ import annotations

import json
import time
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from textual import events
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static

from tau.events import ApprovalAsked
from tau.tui.widgets.events_pane import EventsPane
from tau.tui.widgets.letter_answers import HELD_SECONDS, QUIET_SECONDS, WRITING_SECONDS
from tau.tui.widgets.lines import LinesView
from tau.tui.widgets.question import Question
from tau.tui.widgets.tool_card import ToolCard
from tests.terminal import Open, Terminal
from tests.tui.conftest import Running, Start

if TYPE_CHECKING:
    from tests.conftest import TauEnv


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
        assert "y once · a always this session: jot_note · n no · r no, because…" in tau.text()
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
        assert "approved" in entries[1][1]
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
        await tau.pilot.press("r")
        await tau.shows("Enter no, for this reason")
        await tau.pilot.press(*"yes, n", "escape")
        await tau.shows("y once")
        await asked(tau, "jot_note asks to run")
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
        lines = question.query_one(LinesView)
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
        assert f"of {lines.line_count}" in tau.text()
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


async def test_always_covers_the_next_call_and_is_recorded(start: Start, work: Path) -> None:
    script = [*jots("one")[:1], *jots("two")[:1], {"text": "All done."}]
    async with start(script, can_ask=True) as tau:
        await tau.send("note them")
        question = await asked(tau, "a always this session: jot_note")
        pressed(question, "a", 0.1)
        await tau.until(lambda: tau.screen.prompt.text == "a", "an early key belongs to the draft")
        assert not (work / "notes.txt").exists()
        await asked(tau, "jot_note asks to run")
        await tau.pilot.press("a")
        await tau.idle()
        assert (work / "notes.txt").read_text() == "one\ntwo\n"
        pane = [
            (entry.name, entry.outcome.split(" · ")[0]) for entry in tau.screen.query_one(EventsPane).entries
        ]
        assert pane[0] == ("approval", "always")
        assert pane[2] == ("jot_note", "allowed")
        assert "always: jot_note" in tau.text()
        titles = [card.render().plain for card in tau.screen.query(ToolCard)]
        assert ["approved" in title for title in titles] == [True, False]
        assert ["allowed" in title for title in titles] == [False, True]


async def test_a_real_edit_is_a_diff_and_its_arguments_a_key_away(start: Start, work: Path) -> None:
    (work / "a.py").write_text("one\ntwo\n")
    edit = {"path": "a.py", "edits": [{"old": "two", "new": "2 [/] \u202e"}]}
    script = [
        {"tools": [{"name": "read_file", "input": {"path": "a.py"}, "id": "t0"}]},
        {"tools": [{"name": "edit_file", "input": edit, "id": "t1"}]},
        {"text": "All done."},
    ]
    async with start(script, can_ask=True) as tau:
        await tau.send("edit it")
        question = await asked(tau, "edit_file asks to change a.py")
        assert " 2 - two" in tau.text()
        assert " 2 + 2 [/] \\u202e" in tau.text()
        assert '"old"' not in tau.text()
        await tau.pilot.press("d")
        await tau.shows('"old": "two"')
        assert "d diff" in tau.text()
        await asked(tau, "path: a.py")
        await tau.pilot.press("d")
        await tau.shows(" 2 - two")
        assert (work / "a.py").read_text() == "one\ntwo\n"
        await asked(tau, "+1 −1")
        await tau.pilot.press("y")
        await tau.idle()
        assert not question.is_attached
        assert (work / "a.py").read_text() == "one\n2 [/] \u202e\n"


async def test_an_answer_gives_the_focus_to_no_card_so_the_chat_follows(start: Start, work: Path) -> None:
    (work / "a.py").write_text("".join(f"line {n}\n" for n in range(40)))
    call = {"name": "read_file", "input": {"path": "a.py"}}
    async with start([{"tools": [call]}, *jots("one", "two")], can_ask=True, size=(80, 24)) as tau:
        await tau.send("note them")
        await asked(tau, "text: one")
        focused: list[Widget | None] = []
        tau.screen.watch(tau.screen, "focused", lambda widget: focused.append(widget), init=False)  # noqa: PLW0108  (textual looks into it)
        await tau.pilot.press("y")
        await asked(tau, "text: two")
        await tau.pilot.press("y")
        await tau.idle()
        assert not [widget for widget in focused if isinstance(widget, ToolCard)]
        assert tau.screen.focused is tau.screen.prompt
        assert tau.screen.chat.following


async def put(tau: Running, **fields: Any) -> tuple[Question, list[tuple[str, str]]]:
    """Put a question of the test's own; what it is answered with comes into the list."""
    answers: list[tuple[str, str]] = []

    async def answer(approval_id: str, decision: str, reason: str = "") -> None:
        answers.append((decision, reason))

    tau.screen.conversation.answer = answer  # type: ignore[method-assign]  # no turn runs that asked
    arguments = fields.pop("arguments", {"command": "make"})
    await tau.screen.questions.ask(ApprovalAsked("q1", fields.pop("tool", "shell"), arguments, **fields))
    return await asked(tau, "asks to"), answers


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)], ids=str)
async def test_nothing_of_a_command_is_out_of_sight(start: Start, size: tuple[int, int]) -> None:
    command = f"git status{' ' * 300}; touch P\nls \x1b[2J\u200b{chr(10) * 40}rm x"
    async with start(size=size) as tau:
        _, answers = await put(
            tau, arguments={"command": command, "timeout": 9}, unclear=("writes to [/] P",)
        )
        rows = [row.strip(" ▌") for row in tau.text().split("\n")]
        start_row = rows.index("$ git status␠×300; touch P⏎")
        assert rows[start_row + 1 : start_row + 5] == ["ls \\x1b[2J\\u200b⏎", "⏎×40⏎", "rm x", "timeout: 9"]
        assert "! writes to [/] P" in rows
        assert "y once · n no · r no, because…" in rows
        await tau.pilot.press("a", "enter", "d", "space")
        await tau.pilot.pause()
        assert answers == []


async def test_a_long_command_says_where_one_is_and_its_end_is_a_key_away(start: Start) -> None:
    command = "; ".join(f"echo {n} {'x' * 60}" for n in range(250)) + "; touch END"
    assert len(command) > 16_000
    async with start(size=(80, 24)) as tau:
        question, _ = await put(tau, arguments={"command": command})
        view = question.query_one(LinesView)
        await tau.until(lambda: f"of {view.line_count}" in tau.text(), "how many lines there are")
        count = view.line_count
        assert "touch END" not in tau.text()
        await tau.pilot.press("end")
        await tau.shows("touch END")
        await tau.shows(f"–{count} of {count}")
        for key in "ynrd":
            assert f"{key} " in tau.text()


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=str)
async def test_several_patterns_stand_under_the_keys_whole(start: Start, size: tuple[int, int]) -> None:
    offers = ("shell: git add *", "shell: pytest " + "deep/" * 20 + "END *", "shell: make *")
    async with start(size=size) as tau:
        _, answers = await put(tau, offers=offers)
        shown = tau.text()
        assert "a always this session:" in shown
        assert "".join(row.strip(" ▌") for row in shown.split("\n")).count("deep/" * 10) >= 1
        assert "END *" in shown
        await tau.pilot.press("a")
        await tau.until(lambda: answers == [("always", "")], "answered")


async def test_many_patterns_are_read_to_their_end_before_they_can_be_approved(start: Start) -> None:
    offers = tuple(f"shell: program{n} *" for n in range(60))
    async with start(size=(80, 24)) as tau:
        question, answers = await put(tau, offers=offers)
        await tau.pilot.press("a")
        await tau.shows("shell: program0 *")
        await asked(tau, "read these 60 patterns first")
        await tau.pilot.press("enter")
        await asked(tau, "read these 60 patterns first")
        await tau.pilot.press("a", "y", "n")
        await tau.until(lambda: tau.screen.prompt.text == "ayn", "no answers, so they belong to the draft")
        assert answers == []
        await tau.pilot.press("escape")
        await asked(tau, "shell asks to run")
        await tau.pilot.press("a")
        await asked(tau, "read these 60 patterns first")
        await tau.pilot.press("end")
        await tau.shows("shell: program59 *")
        await tau.shows("a allow these 60 patterns")
        assert question.is_attached
        await tau.pilot.press("a")
        await tau.until(lambda: answers == [("always", "")], "answered")


async def test_many_warnings_scroll_with_the_call(start: Start) -> None:
    async with start(size=(80, 24)) as tau:
        await put(tau, unclear=tuple(f"writes to file{n}" for n in range(40)))
        assert "! writes to file0" in tau.text()
        assert "y once" in tau.text()
        await tau.pilot.press("end")
        await tau.shows("$ make")


@pytest.mark.parametrize(
    ("tool", "arguments", "preview", "title"),
    [
        ("shell", {"command": "make"}, "", "shell asks to run"),
        ("write_file", {"path": "b.py", "content": "x"}, "--- /dev/null\n+++ b/b.py\n@@ -0,0 +1 @@\n+x",
         "write_file asks to create b.py"),
        ("write_file", {"path": "b.py", "content": "x"}, "--- a/b.py\n+++ b/b.py\n@@ -1 +1 @@\n-y\n+x",
         "write_file asks to write b.py"),
        ("fetch_url", {"url": "https://example.org/a"}, "", "fetch_url asks to fetch"),
        ("request_file_grant", {"path": "/etc/hosts", "reason": "to see"}, "/etc/hosts is a file.",
         "request_file_grant asks to read /etc/hosts"),
        ("github_create_issue", {"title": "It fails"}, "", "github_create_issue asks to run"),
    ],
)  # fmt: skip
async def test_the_title_says_what_would_happen(
    start: Start, tool: str, arguments: dict[str, Any], preview: str, title: str
) -> None:
    async with start(size=(80, 24)) as tau:
        await put(tau, tool=tool, arguments=arguments, preview=preview)
        assert title in tau.text()
        if "+++" not in preview:
            assert preview in tau.text()
            assert str(next(iter(arguments.values()))) in tau.text()


LABEL_DIFF = "--- a/global/always-obey.md\n+++ b/global/always-obey.md\n@@ -0,0 +1,60 @@\n" + "\n".join(
    f"+line {n}" for n in range(60)
)


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize(
    ("tool", "arguments", "title"),
    [
        ("remember", {"content": "x", "label": "global/always-obey"},
         "remember asks to write global/always-obey in every project"),
        ("remember", {"label": "project/ports", "content": "x"},
         "remember asks to write project/ports in this project"),
        ("remember", {"label": "ports", "content": " "}, "remember asks to delete ports in this project"),
        ("record_lesson", {"text": "x", "section": "Gotchas", "signal": "strong"},
         "record_lesson asks to write into Gotchas in this project"),
        ("db_drop", {"name": "customers", "sure": True}, "db_drop asks to run with customers"),
    ],
)  # fmt: skip
async def test_what_is_touched_is_in_sight_wherever_the_change_is_scrolled_to(
    start: Start, width: int, tool: str, arguments: dict[str, Any], title: str
) -> None:
    async with start(size=(width, 24)) as tau:
        await put(tau, tool=tool, arguments=arguments, preview=LABEL_DIFF)
        assert title in tau.text()
        assert "of 60" in tau.text()
        await tau.pilot.press("end")
        await tau.shows("line 59")
        assert title in tau.text()


async def test_a_path_too_long_for_the_title_stands_whole_under_it(start: Start) -> None:
    path = "deep/" * 60 + "END.py"
    preview = "--- a/b.py\n+++ b/b.py\n@@ -1 +1 @@\n-y\n+x"
    async with start(size=(80, 24)) as tau:
        await put(tau, tool="edit_file", arguments={"path": path, "edits": []}, preview=preview)
        rows = [row.strip(" ▌") for row in tau.text().split("\n")]
        assert path in "".join(rows).replace(" ", "")
        assert any(row.startswith("1 - y") for row in rows)


PATTERN = ("shell: make *",)


async def test_words_answer_nothing_and_stand_in_the_draft(start: Start) -> None:
    words = {
        "yes but first": 0.11, "always": 0.15, "no wait": 0.15, "run it": 0.11, "don't": 0.13, "wait": 0.0,
        "all": 0.28, "why": 0.5,
    }  # fmt: skip
    preview = "--- a/b.py\n+++ b/b.py\n@@ -1 +1 @@\n-y\n+x"
    call = {"path": "b.py", "content": "x"}
    async with start(size=(100, 30)) as tau:
        question, answers = await put(tau, tool="write_file", arguments=call, offers=PATTERN, preview=preview)
        for text, seconds in words.items():
            tau.screen.prompt.empty()
            await typed(tau, text, seconds)
            await tau.until(lambda text=text: tau.screen.prompt.text == text, f"{text} in the draft")  # type: ignore[misc]  # bound now
            await asked(tau, "asks to write")
            await tau.pilot.pause()
            assert answers == []
            assert tau.screen.prompt.text == text
            assert not question.query_one(Input).display
            assert "+ x" in tau.text()
        await tau.pilot.press("n")
        await tau.until(lambda: answers == [("no", "")], "a letter alone answers")


async def typed(tau: Running, words: str, seconds: float) -> None:
    """Type at this pace, by the clock of the keys, as the terminal's reader would pass them on."""
    first = time.monotonic()
    for place, letter in enumerate(words):
        await tau.until(lambda due=first + place * seconds: time.monotonic() >= due, "the next key")  # type: ignore[misc]  # bound now
        tau.app.post_message(events.Key(letter if letter.isalnum() else "x", letter))


@pytest.mark.parametrize(
    ("letter", "comes"), [("y", ("yes", "")), ("a", ("always", "")), ("n", ("no", "")), ("Y", ("yes", ""))]
)
async def test_a_letter_alone_stands_out_at_once_and_answers_a_moment_later(
    start: Start, letter: str, comes: tuple[str, str]
) -> None:
    async with start(size=(80, 24)) as tau:
        question, answers = await put(tau, offers=PATTERN)
        pressed_at = time.monotonic()
        await tau.pilot.press(letter)
        assert answers == [] or time.monotonic() - pressed_at >= HELD_SECONDS
        assert question.held_answer == comes[0]
        keys = question.query_one("#question-keys", Static).visual
        assert isinstance(keys, Content)
        chosen = [span for span in keys.spans if "reverse" in str(span.style)]
        assert keys.plain[chosen[0].start : chosen[0].end] == letter.lower()
        await tau.pilot.press("enter")
        await tau.until(lambda: answers, "the answer")
        assert answers == [comes]
        assert time.monotonic() - pressed_at >= HELD_SECONDS
        assert tau.screen.prompt.text == ""


@pytest.mark.parametrize("key", ["backspace", "pagedown", "f2"])
async def test_another_key_takes_a_letter_back(start: Start, key: str) -> None:
    async with start(size=(80, 24)) as tau:
        question, answers = await put(tau, offers=PATTERN)
        await tau.pilot.press("a", key)
        assert question.held_answer == ""
        until = time.monotonic() + HELD_SECONDS * 2
        await tau.until(lambda: time.monotonic() > until, "an answer would have come")
        assert answers == []
        assert tau.screen.prompt.text == ""


async def test_a_paste_right_after_a_letter_follows_it_into_the_draft(start: Start) -> None:
    async with start(size=(80, 24)) as tau:
        question, answers = await put(tau, offers=PATTERN)
        await tau.pilot.press("y")
        question._lines.post_message(events.Paste("es, do"))
        await tau.until(lambda: tau.screen.prompt.text == "yes, do", "the draft")
        await asked(tau, "asks to run")
        assert answers == []


async def test_a_paste_is_said_and_a_letter_behind_it_is_no_answer(start: Start) -> None:
    async with start(size=(80, 24)) as tau:
        question, answers = await put(tau, offers=PATTERN)
        paste, letter = events.Paste("done"), events.Key("y", "y")
        paste.time = question._quiet_until + 1
        letter.time = paste.time + QUIET_SECONDS
        question._lines.post_message(paste)
        question._lines.post_message(letter)
        await tau.until(lambda: tau.screen.prompt.text == "doney", "the draft")
        assert question.held_answer == ""
        assert answers == []
        question._lines.post_message(events.Paste(""))
        await tau.shows("what you paste goes into the draft")


async def test_an_app_that_stood_still_takes_no_late_letter_for_one_alone(start: Start) -> None:
    async with start(size=(80, 24)) as tau:
        _, answers = await put(tau, offers=PATTERN)
        await tau.pilot.press("a")
        time.sleep(HELD_SECONDS * 2)  # the app stands still
        tau.app.post_message(events.Key("l", "l"))
        await tau.until(lambda: tau.screen.prompt.text == "al", "the draft")
        await asked(tau, "asks to run")
        assert answers == []


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (40, 10)], ids=str)
@pytest.mark.parametrize(("letter", "comes"), [("y", "yes"), ("a", "always")])
async def test_nothing_is_approved_whose_end_was_not_in_sight(
    start: Start, size: tuple[int, int], letter: str, comes: str
) -> None:
    command = "\n".join(f"echo {n}" for n in range(103)) + "\ntouch END"
    async with start(size=size) as tau:
        question, answers = await put(tau, arguments={"command": command}, offers=PATTERN)
        assert "touch END" not in tau.text()
        await tau.pilot.press(letter)
        await tau.shows("touch END")
        await tau.shows(f"that was all of it: {letter} again")
        await asked(tau, "touch END")
        assert answers == []
        await tau.pilot.press("home", letter)
        await tau.until(lambda: answers == [(comes, "")], "the answer")
        assert question.asked.arguments == {"command": command}


async def test_a_no_needs_no_reading_and_an_end_that_was_read_is_enough(start: Start) -> None:
    command = "\n".join(f"echo {n}" for n in range(103)) + "\ntouch END"
    async with start(size=(80, 24)) as tau:
        _, answers = await put(tau, arguments={"command": command})
        await tau.pilot.press("r")
        await tau.shows("Enter no, for this reason")
        await tau.pilot.press("escape", "n")
        await tau.until(lambda: answers == [("no", "")], "the answer")
    async with start(size=(80, 24)) as tau:
        _, answers = await put(tau, arguments={"command": command})
        await tau.pilot.press("end")
        await tau.shows("touch END")
        await tau.pilot.press("y")
        await tau.until(lambda: answers == [("yes", "")], "the answer")


async def test_the_keys_are_in_sight_on_a_very_small_screen(start: Start) -> None:
    preview = "--- a/b.py\n+++ b/b.py\n@@ -1 +1 @@\n-y\n+x"
    offers = tuple(f"write_file: src/deep/{name}/*" for name in "abc")
    async with start(size=(40, 10)) as tau:
        unclear = ("writes outside of the directory", "writes to b.py")
        call = {"path": "b.py", "content": "x"}
        question, answers = await put(
            tau, tool="write_file", arguments=call, offers=offers, preview=preview, unclear=unclear
        )
        for words in ("write_file asks", "y once", "a always", "n no", "r no, because", "d arguments"):
            assert words in tau.text()
        assert "! writes outside" in tau.text()
        assert question.region.bottom <= 10
        await tau.pilot.press("n")
        await tau.until(lambda: answers == [("no", "")], "the answer")


def at_a_question(tau_env: TauEnv, terminal: Open) -> Terminal:
    """The app in a terminal, at a question that letters answer by now: a yes makes the file ``made``."""
    call = {"name": "shell", "input": {"command": "touch made; sleep 0"}, "id": "t1"}
    tau_env.scripted({"tools": [call]}, {"text": "All done."})
    app = terminal("tui")
    app.ready()
    app.send("go\r")
    app.shows("shell asks to run")
    app.quiet(QUIET_SECONDS * 2)
    return app


@pytest.mark.terminal
def test_words_at_a_real_terminal_answer_nothing(tau_env: TauEnv, terminal: Open) -> None:
    app = at_a_question(tau_env, terminal)
    app.send("yes, ")  # in one read
    app.shows("what you type goes into the draft")
    for letter in "always":
        app.send(letter)
        app.quiet(0.15)
    app.quiet(WRITING_SECONDS)
    assert not (tau_env.directory / "made").exists()
    app.press("y")
    app.shows("All done.")
    app.shows("❯ yes, always")
    assert (tau_env.directory / "made").exists()
    app.send("\x03\x11")
    assert app.ended() == 0
