"""Tools in a conversation: looked at, spilled, recorded, replayed."""

from __future__ import annotations

import re
from pathlib import Path

from tau.events import ToolCallRecord, ToolUseEnded
from tests.conversation.conftest import Bench, say
from tests.conversation.test_turns import check_request


async def test_a_model_reads_a_file_of_the_directory(bench: Bench) -> None:
    (bench.root / "notes.txt").write_text("the answer is 42\n")
    bench.steps["default"] = [
        {"tools": [{"name": "read_file", "input": {"path": "notes.txt"}, "id": "t1"}]},
        {"text": "It is 42."},
    ]
    async with bench.open() as conversation:
        events = await say(conversation, "what is the answer?")
        ended = [event for event in events if isinstance(event, ToolUseEnded)]
        assert [(event.name, event.status) for event in ended] == [("read_file", "success")]
        assert "the answer is 42" in ended[0].result
    check_request(bench.requests[-1]["messages"])
    assert "the answer is 42" in str(bench.requests[-1]["messages"])
    async with bench.open(resume="") as conversation:
        records = [
            event for event in (await conversation.ready()).events if isinstance(event, ToolCallRecord)
        ]
        assert [(record.tool, record.tier, record.approval) for record in records] == [
            ("read_file", 0, "not_needed")
        ]
        assert [record.duration for record in records] == [event.duration for event in ended]


async def test_nothing_outside_the_directory_is_read(bench: Bench, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "work-secret").write_text("the secret")
    bench.steps["default"] = [
        {"tools": [{"name": "read_file", "input": {"path": "../work-secret"}, "id": "t1"}]},
        {"text": "I may not."},
    ]
    async with bench.open(directory=work) as conversation:
        events = await say(conversation, "read it")
        assert [event.status for event in events if isinstance(event, ToolUseEnded)] == ["error"]
    assert "the secret" not in str(bench.requests)


async def test_arguments_that_do_not_fit_are_answered_in_one_line(bench: Bench) -> None:
    calls = [
        {"name": "recall", "input": {"query": 7}, "id": "t1"},
        {"name": "read_file", "input": {"path": "a.txt", "limit": "many"}, "id": "t2"},
    ]
    bench.steps["default"] = [{"tools": calls}, {"text": "sorry"}]
    async with bench.open() as conversation:
        events = await say(conversation, "go")
        ended = [event for event in events if isinstance(event, ToolUseEnded)]
    assert [event.status for event in ended] == ["error", "error"]
    whole_number = "Input should be a valid integer, unable to parse string as an integer"
    assert [event.result for event in ended] == [
        "recall was not run, because its arguments do not fit: query: Input should be a valid string, not 7",
        f'read_file was not run, because its arguments do not fit: limit: {whole_number}, not "many"',
    ]
    sent = bench.requests[-1]["messages"][-1]["content"]
    assert [block["toolResult"]["content"][0]["text"] for block in sent] == [event.result for event in ended]


async def test_a_long_result_is_cut_and_says_how_to_go_on(bench: Bench) -> None:
    lines = [f"line {number} {'x' * 900}" for number in range(40)]
    (bench.root / "log.txt").write_text("\n".join([*lines, "END\n"]))
    search = {"pattern": "line|END", "path": "log.txt"}
    read = {"path": "log.txt", "limit": 100}
    bench.steps["default"] = [
        {"tools": [{"name": "search_files", "input": search, "id": "t1"}]},
        {"tools": [{"name": "read_file", "input": read, "id": "t2"}]},
        {"text": "done"},
    ]
    async with bench.open() as conversation:
        events = await say(conversation, "look")
        results = [event.result for event in events if isinstance(event, ToolUseEnded)]
    assert all(len(result) < 32_000 for result in results)
    assert re.search(r"(?i)more|continue|offset", results[1]), "what is cut says how to go on"
    for request in bench.requests:
        check_request(request["messages"])
