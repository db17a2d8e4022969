"""What runs, what asks and what is refused, through whole conversations."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from tau.config.settings import ApprovalSettings, McpSettings
from tau.conversation import Conversation
from tau.events import (
    ApprovalAsked,
    ApprovalRecord,
    Decision,
    ErrorRecord,
    Notice,
    ToolCallRecord,
    ToolUseEnded,
    TurnEnd,
    TurnEvent,
)
from tests.conversation.conftest import Bench, say
from tests.conversation.test_compaction import NOTES
from tests.conversation.test_turns import check_request


def note(identity: str, text: str, path: str = "note.txt") -> dict[str, Any]:
    return {"name": "jot_note", "input": {"path": path, "text": text}, "id": identity}


async def answered(conversation: Conversation, text: str, *answers: tuple[Decision, str]) -> list[TurnEvent]:
    """Send a message and answer its questions in order; more questions than answers fail."""
    left = list(answers)
    events = []
    async for event in conversation.send(text):
        events.append(event)
        if isinstance(event, ApprovalAsked):
            await conversation.answer(event.approval_id, *left.pop(0))
    assert not left, "not every answer was asked for"
    return events


def outcomes(events: Sequence[TurnEvent]) -> list[tuple[str, str]]:
    return [(event.status, event.approval) for event in events if isinstance(event, ToolUseEnded)]


async def test_always_holds_for_this_tool_in_this_session_and_no_further(bench: Bench) -> None:
    bench.steps["default"] = [
        {"tools": [note("t1", "one")]},
        {"tools": [note("t2", "two")]},
        {"tools": [{"name": "write_file", "input": {"path": "b.txt", "content": "b"}, "id": "t3"}]},
        {"text": "done"},
        {"tools": [note("t4", "three")]},
        {"text": "done"},
        {"tools": [note("t5", "four")]},
        {"text": "done"},
    ]
    async with bench.open(can_ask=True) as conversation:
        events = await answered(conversation, "go", ("always", ""), ("no", ""))
        assert outcomes(events) == [("success", "approved"), ("success", "allowed"), ("error", "denied")]
        assert outcomes(await answered(conversation, "go on")) == [("success", "allowed")]
        first = conversation.state.session_id
        await conversation.new()
        assert outcomes(await answered(conversation, "new session", ("no", ""))) == [("error", "denied")]
    assert (bench.root / "note.txt").read_text() == "one\ntwo\nthree\n"
    assert not (bench.root / "b.txt").exists()
    async with bench.open(resume=first, can_ask=True) as conversation:
        stored = (await conversation.ready()).events
        asked = [event for event in stored if isinstance(event, ApprovalRecord)]
        assert [(event.tool, event.decision, list(event.patterns)) for event in asked] == [
            ("jot_note", "always", ["jot_note"]),
            ("write_file", "no", []),
        ]
        calls = [(event.approval, event.rule) for event in stored if isinstance(event, ToolCallRecord)]
        assert calls == [("approved", ""), ("allowed", "jot_note"), ("denied", ""), ("allowed", "jot_note")]


async def test_what_was_approved_holds_after_a_compaction_and_with_another_model(bench: Bench) -> None:
    bench.steps["default"] = [{"tools": [note("t1", "one")]}, {"text": "done"}]
    bench.steps["other"] = [{"tools": [note("t2", "two")]}, {"text": "done"}]
    bench.side = [{"text": NOTES}]
    async with bench.open(can_ask=True) as conversation:
        await answered(conversation, "go", ("always", ""))
        old = conversation.state.session_id
        await conversation.command("/compact")
        assert conversation.state.session_id != old
        await conversation.command("/model other")
        assert outcomes(await answered(conversation, "go on")) == [("success", "allowed")]
    assert (bench.root / "note.txt").read_text() == "one\ntwo\n"


async def test_what_was_approved_ends_with_the_process(bench: Bench) -> None:
    bench.steps["default"] = [{"tools": [note("t1", "one")]}, {"text": "done"}]
    async with bench.open(can_ask=True) as conversation:
        await answered(conversation, "go", ("always", ""))
    async with bench.open(can_ask=True, resume="") as conversation:
        assert outcomes(await answered(conversation, "again", ("no", ""))) == [("error", "denied")]


async def test_a_denial_is_final_for_the_turn(bench: Bench) -> None:
    again = [{"tools": [note(f"t{number}", "same")]} for number in range(5)]
    bench.steps["default"] = [*again, {"text": "I give up."}, {"tools": [note("u1", "same")]}, {"text": "ok"}]
    async with bench.open(can_ask=True) as conversation:
        events = await answered(conversation, "go", ("no", "not in this file"))
        assert outcomes(events) == [("error", "denied")] * 5
        results = [event.result for event in events if isinstance(event, ToolUseEnded)]
        assert "final for this turn" in results[0]
        assert "not in this file" in results[0]
        assert all("was not asked again" in result for result in results[1:])
        assert outcomes(await answered(conversation, "do it after all", ("yes", ""))) == [
            ("success", "approved")
        ]
    for request in bench.requests:
        check_request(request["messages"])


async def test_a_model_that_varies_a_denied_call_is_not_asked_about_for_ever(bench: Bench) -> None:
    varied = [{"tools": [note(f"t{number}", f"try {number}")]} for number in range(9)]
    bench.steps["default"] = [*varied, {"text": "I give up."}]
    async with bench.open(can_ask=True) as conversation:
        noes: list[tuple[Decision, str]] = [("no", "")] * 5
        events = await answered(conversation, "go", *noes)
    assert outcomes(events) == [("error", "denied")] * 9
    assert not (bench.root / "note.txt").exists()


async def test_the_configuration_allows_asks_and_denies_in_that_order_of_weakness(bench: Bench) -> None:
    bench.approvals = ApprovalSettings(allow=["jot_note"])
    bench.steps["default"] = [{"tools": [note("t1", "one")]}, {"text": "done"}]
    async with bench.open() as conversation:
        assert outcomes(await say(conversation, "go")) == [("success", "allowed")]
    bench.approvals = ApprovalSettings(allow=["jot_note"], ask=["jot_note"])
    async with bench.open(can_ask=True) as conversation:
        events = await answered(conversation, "go", ("always", ""))
        assert outcomes(events) == [("success", "approved")]
        (asked,) = [event for event in events if isinstance(event, ApprovalAsked)]
        assert asked.offers == ()
        assert asked.unclear == ("your configuration asks for jot_note",)
    bench.approvals = ApprovalSettings(allow=["jot_note"], ask=["jot_note"], deny=["jot_note"])
    async with bench.open(can_ask=True) as conversation:
        events = await answered(conversation, "go")
        assert outcomes(events) == [("error", "denied")]
        (ended,) = [event for event in events if isinstance(event, ToolUseEnded)]
        assert "configuration denies jot_note" in ended.result
    assert (bench.root / "note.txt").read_text() == "one\none\n"


async def test_a_file_that_is_denied_is_not_read_by_whatever_name(bench: Bench) -> None:
    (bench.root / "key.pem").write_text("the secret")
    (bench.root / "innocent").symlink_to("key.pem")
    bench.approvals = ApprovalSettings(deny=["read_file: *.pem"])
    bench.steps["default"] = [
        {"tools": [{"name": "read_file", "input": {"path": path}, "id": path}]}
        for path in ("key.pem", "./x/../key.pem", "innocent", "key\\x2epem")
    ] + [{"text": "done"}]
    async with bench.open() as conversation:
        events = await say(conversation, "read it")
    assert outcomes(events) == [("error", "denied")] * 4
    assert "the secret" not in str(bench.requests)


async def test_questions_of_parallel_calls_come_one_by_one_and_always_answers_those_that_wait(
    bench: Bench,
) -> None:
    calls = [note(f"t{number}", f"{number}") for number in range(4)]
    bench.steps["default"] = [{"tools": calls}, {"text": "done"}]
    async with bench.open(can_ask=True) as conversation:
        events = await answered(conversation, "go", ("always", ""))
    assert sorted(outcomes(events)) == [("success", "allowed")] * 3 + [("success", "approved")]


@pytest.mark.parametrize("when", ["asked", "answered"])
async def test_nothing_runs_after_a_cancel(bench: Bench, when: str) -> None:
    bench.steps["default"] = [{"tools": [note("t1", "one"), note("t2", "two")]}, {"text": "done"}]
    async with bench.open(can_ask=True) as conversation:
        events: list[TurnEvent] = []
        async for event in conversation.send("go"):
            events.append(event)
            if isinstance(event, ApprovalAsked) and len(outcomes(events)) == 0:
                if when == "asked":
                    await conversation.cancel()
                else:
                    await asyncio.gather(
                        conversation.cancel(), conversation.answer(event.approval_id, "always")
                    )
        end = events[-1]
        assert isinstance(end, TurnEnd)
        assert end.stop_reason == "cancelled"
    assert not (bench.root / "note.txt").exists()


async def test_a_call_that_cannot_be_carried_out_is_nobodys_no(bench: Bench) -> None:
    edit = {"path": "none.txt", "edits": [{"old": "a", "new": "b"}]}
    bench.steps["default"] = [
        {"tools": [{"name": "edit_file", "input": edit, "id": "t1"}]},
        {"tools": [{"name": "shell", "input": {}, "id": "t2"}]},
        {"text": "done"},
    ]
    async with bench.open(can_ask=True) as conversation:
        assert outcomes(await answered(conversation, "go")) == [("error", "not_needed")] * 2


async def test_a_command_names_the_patterns_by_which_it_ran(bench: Bench) -> None:
    bench.approvals = ApprovalSettings(allow=["shell: echo *", "shell: wc *", "shell: ls *"])
    command = {"command": "echo one | wc -c && true"}
    bench.steps["default"] = [{"tools": [{"name": "shell", "input": command, "id": "t1"}]}, {"text": "done"}]
    async with bench.open() as conversation:
        events = await say(conversation, "go")
    (ended,) = [event for event in events if isinstance(event, ToolUseEnded)]
    assert (ended.approval, ended.rule) == ("allowed", "shell: echo *, shell: wc *")


async def test_entries_that_name_no_tool_are_said(bench: Bench) -> None:
    bench.approvals = ApprovalSettings(allow=["docs_search", "jot_note: a*"], deny=["bash: rm *", "jot_not"])
    bench.mcp = {"docs": McpSettings(url="http://127.0.0.1:9/")}
    async with bench.open() as conversation:
        await conversation.model_ready()
        assert list(conversation.state.tool_problems)[:3] == [
            '[approvals] allow has "jot_note: a*", but jot_note takes no patterns: it covers no call',
            '[approvals] deny has "bash: rm *", but there is no tool bash',
            '[approvals] deny has "jot_not", but there is no tool jot_not (did you mean jot_note?)',
        ]


async def test_a_call_that_cannot_be_judged_or_shown_does_not_run(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("out of order")

    bench.steps["default"] = [{"tools": [note("t1", "one")]}, {"text": "done"}]
    for place in ("tau.gate.gate.Gate.judge", "tau.agent.permission.Permission._preview"):
        monkeypatch.setattr(place, broken)
        async with bench.open(can_ask=True) as conversation:
            events = await answered(conversation, "go")
            assert outcomes(events) == [("error", "denied")]
            told = [event.text for event in events if isinstance(event, Notice)]
            session = conversation.state.session_id
        monkeypatch.undo()
        async with bench.open(resume=session) as conversation:
            stored = (await conversation.ready()).events
            (error,) = [event for event in stored if isinstance(event, ErrorRecord)]
            assert error.where == "tier_gate"
            assert told == [error.message]
            assert error.message == (
                "The call of jot_note was not run, because it could not be judged "
                "(RuntimeError: out of order); tau.log has more."
            )
    assert not (bench.root / "note.txt").exists()


async def test_a_late_answer_does_not_reach_the_next_question(bench: Bench) -> None:
    bench.steps["default"] = [
        {"tools": [note("t1", "one")]},
        {"tools": [note("t1", "two")]},
        {"text": "done"},
    ]
    asked: list[str] = []
    async with bench.open(can_ask=True) as conversation:
        async for event in conversation.send("go"):
            if isinstance(event, ApprovalAsked):
                if asked:
                    await conversation.answer(asked[0], "yes")
                asked.append(event.approval_id)
                await conversation.answer(event.approval_id, "no")
    assert len(set(asked)) == 2
    assert not (bench.root / "note.txt").exists()


async def test_a_search_does_not_show_what_may_not_be_read(bench: Bench) -> None:
    work = bench.root / "work"
    work.mkdir()
    (work / ".env").write_text("PASSWORD_X=hunter2\n")
    (work / "a.txt").write_text("PASSWORD_X is in .env\n")
    bench.approvals = ApprovalSettings(deny=["read_file: .env"])
    search = {"name": "search_files", "input": {"pattern": "PASSWORD"}, "id": "t1"}
    bench.steps["default"] = [{"tools": [search]}, {"text": "done"}]
    async with bench.open(directory=work) as conversation:
        events = await say(conversation, "search")
    (ended,) = [event for event in events if isinstance(event, ToolUseEnded)]
    assert "a.txt" in ended.result
    assert "hunter2" not in ended.result
    assert "1 file is not searched" in ended.result
