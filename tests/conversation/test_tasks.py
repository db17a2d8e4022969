"""Task memory in a conversation: its tools, its command, and what of it stands in every prompt."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from contextlib import closing
from typing import Any

import pytest

from tau.config.settings import ApprovalSettings, CompactionSettings
from tau.conversation import Conversation
from tau.conversation.state import Refused, Said, Switched
from tau.events import Compacted, ToolUseEnded, TurnEvent
from tau.tasks.desk import TaskDesk
from tests.conversation.conftest import Bench, say

NOTES = "The person looks into the importer."
GOAL = "ship 1.0 with the importer"
MADE = "the model makes one when you ask it to look into something"
TOOLS = {"create_task", "mark_explored", "get_task_context", "complete_task"}


def call(tool: str, call_id: str, /, **arguments: Any) -> dict[str, Any]:
    return {"tools": [{"name": tool, "input": arguments, "id": call_id}]}


def desk(bench: Bench) -> TaskDesk:
    return TaskDesk(bench.settings())


def system(bench: Bench) -> str:
    return str(bench.requests[-1]["system"])


def results(events: list[TurnEvent]) -> list[tuple[str, str]]:
    return [(event.status, event.result) for event in events if isinstance(event, ToolUseEnded)]


def spoken(request: dict[str, Any]) -> list[tuple[str, str]]:
    """The messages of a request that have words, by role."""
    return [
        (message["role"], "".join(block.get("text", "") for block in message["content"]))
        for message in request["messages"]
        if any(block.get("text") for block in message["content"])
    ]


async def lines(conversation: Conversation, command: str) -> list[str]:
    result = await conversation.command(command)
    assert isinstance(result, Said), result
    return list(result.lines)


def project(bench: Bench) -> None:
    (bench.root / "app.py").write_text("import rates\nimport money\n")
    (bench.root / "rates.py").write_text("import money\nimport app\n")
    (bench.root / "money.py").write_text("")


async def test_a_task_goes_from_its_first_file_to_its_end(bench: Bench) -> None:
    project(bench)
    bench.steps["default"] = [
        call("create_task", "t1", name="the nightly job"),
        call("mark_explored", "t2", task="the nightly job", path="app.py", notes="calls rates first"),
        call("mark_explored", "t3", task="the nightly job", path="./rates.py", status="flagged"),
        call("get_task_context", "t4", task="the nightly job"),
        {"text": "so far"},
        call("complete_task", "t5", task="the nightly job"),
        call("mark_explored", "t6", task="the nightly job", path="money.py"),
        {"text": "done"},
    ]
    async with bench.open(name="quail") as conversation:
        created, marked, flagged, told = results(await say(conversation, "look into it"))
        (task,) = [row.task for row in desk(bench).listing().rows]
        assert created == ("success", f"Created the task 'the nightly job', id {task.id}.")
        assert task.session_id == conversation.state.session_id
        assert marked[1] == "Marked app.py as explored in 'the nightly job'. The task is active now."
        assert flagged[1] == "Marked rates.py as flagged in 'the nightly job'."
        assert "- money.py, imported by app.py\n- rates.py (flagged), imported by app.py\n" in told[1]
        assert "- app.py: calls rates first" in told[1]
        (_, row) = await lines(conversation, "/tasks")
        assert row.split()[:-1] == [task.id[:8], "the", "nightly", "job", "active", "███░░░░░", "1/3", "2"]
        picture = await lines(conversation, "/tasks show the nightly job")
        assert " ● app.py  calls rates first" in picture
        assert {" ├─⚑ rates.py", " ╰─○ money.py"} <= set(picture)
        completed, refused = results(await say(conversation, "end it"))
        assert completed == ("success", "The task 'the nightly job' is completed.")
        assert refused[0] == "error"
        assert "is completed, so nothing is marked in it" in refused[1]
        assert await lines(conversation, f"/tasks done {task.id}") == [
            "The task 'the nightly job' was completed already"
        ]


async def test_of_two_tasks_with_one_name_the_beginning_of_an_id_says_which(bench: Bench) -> None:
    first = desk(bench).create("auth").task
    bench.steps["default"] = [
        call("create_task", "t1", name="auth"),
        call("mark_explored", "t2", task="auth", path="a.py"),
        call("mark_explored", "t3", task=first.id[:8], path="a.py"),
        {"text": "done"},
    ]
    async with bench.open() as conversation:
        (_, created), (status, refused), marked = results(await say(conversation, "look into it"))
    assert f"There is an open task of that name already: {first.id}. The name alone means neither" in created
    assert status == "error"
    assert first.id in refused
    assert marked[0] == "success"
    assert [file.path for file in desk(bench).view(first.id).files] == ["a.py"]


async def test_goal_request_and_tasks_survive_a_compaction_in_the_middle_of_a_turn(bench: Bench) -> None:
    first, current = "explain the parser to me", "now find the leak in the cache"
    (bench.root / "a.txt").write_text("alpha")
    bench.compaction = CompactionSettings(keep_turns=3)
    bench.model = {"context_window": 40_000}
    large = {"usage": {"inputTokens": 35_000, "outputTokens": 10}}
    bench.steps["default"] = [
        call("create_task", "t1", name="how the parser works"),
        call("create_task", "t2", name="the leak in the cache"),
        call("create_task", "t3", name="an old question"),
        call("complete_task", "t4", task="an old question"),
        {"text": "It parses.", "usage": {"inputTokens": 900, "outputTokens": 10}},
        {**call("read_file", "t5", path="a.txt"), **large},
        {"text": "half of it", "usage": {"inputTokens": 900, "outputTokens": 10}},
    ]
    bench.side = [{"text": NOTES}]

    def check(request: dict[str, Any], latest: str) -> None:
        assert request["system"].count(GOAL) == 1
        assert GOAL not in str(request["messages"])
        assert "- how the parser works (created;" in request["system"]
        assert "- the leak in the cache (created;" in request["system"]
        assert "an old question" not in request["system"]
        asked = [text for role, text in spoken(request) if role == "user"]
        assert asked[-1] == latest
        assert not any(first in text for text in asked), "what was answered is not asked anew"

    async with bench.open() as conversation:
        await lines(conversation, f"/goal {GOAL}")
        await say(conversation, first)
        events = await say(conversation, current)
        (compaction,) = [event for event in events if isinstance(event, Compacted)]
        carried_on = [request for request in bench.requests if not request["side"]][-1]
        check(carried_on, current)
        await say(conversation, "continue")
        check(bench.requests[-1], "continue")
        assert ("user", current) in spoken(bench.requests[-1])
        desk(bench).complete("how the parser works")
        await say(conversation, "and?")
        assert "how the parser works" not in system(bench), "what is open is what the database says"
        assert "the leak in the cache" in system(bench)
        await lines(conversation, "/goal done")
        assert isinstance(await conversation.command("/compact"), Switched)
        session = conversation.state.session_id
        assert session != compaction.session_id
        await say(conversation, "go on")
        assert GOAL not in str(bench.requests[-1])
    async with bench.open(resume=session) as conversation:
        await say(conversation, "still there?")
        assert GOAL not in str(bench.requests[-1])
        assert conversation.state.goal == ""
        assert "- the leak in the cache (created;" in system(bench)
        assert "how the parser works" not in system(bench)


async def test_open_tasks_of_the_directory_are_offered_once_at_the_start(bench: Bench) -> None:
    desk(bench).create("the nightly job")
    elsewhere = bench.root / "elsewhere"
    elsewhere.mkdir()
    TaskDesk(bench.settings(elsewhere)).create("nothing of ours")
    async with bench.open() as conversation:
        await say(conversation, "hello")
        await say(conversation, "hello again")
        desk(bench).create("another")
        await say(conversation, "and again")
        told = [line for line in conversation.state.tool_problems if "open task" in line]
    assert told == ["1 open task here: 'the nightly job' (nothing explored); /tasks shows where they stand"]
    assert "nothing of ours" not in system(bench)


async def test_tasks_of_one_name_are_offered_with_their_ids(bench: Bench) -> None:
    one, two, three = (desk(bench).create(name).task for name in ("the leak", "the leak", "the crash"))
    async with bench.open() as conversation:
        await say(conversation, "hello")
        (told,) = [line for line in conversation.state.tool_problems if "open tasks" in line]
    assert told == (
        f"3 open tasks here: 'the crash' (nothing explored), 'the leak' (nothing explored; id {two.id}), "
        f"'the leak' (nothing explored; id {one.id}); /tasks shows where they stand"
    )
    assert three.id not in told


async def test_a_task_of_another_directory_is_not_worked_on_from_here(bench: Bench) -> None:
    elsewhere = bench.root / "elsewhere"
    elsewhere.mkdir()
    task = TaskDesk(bench.settings(elsewhere)).create("theirs").task
    bench.steps["default"] = [call("get_task_context", "t1", task=task.id), {"text": "no"}]
    async with bench.open() as conversation:
        ((status, told),) = results(await say(conversation, "go"))
    assert (status, told) == (
        "error", f"Error: The task 'theirs' is of another directory: {elsewhere} (start tau there)",
    )  # fmt: skip


async def test_what_a_file_imports_that_waits_for_a_yes_is_not_read(bench: Bench) -> None:
    project(bench)
    bench.approvals = ApprovalSettings(ask=["read_file: app.py"])
    bench.steps["default"] = [
        call("create_task", "t1", name="quiet"),
        call("mark_explored", "t2", task="quiet", path="app.py"),
        call("get_task_context", "t3", task="quiet"),
        {"text": "ok"},
    ]
    async with bench.open() as conversation:
        *_, (_, told) = results(await say(conversation, "go"))
    assert "Imports not known of app.py: reading it waits for the person" in told
    assert "money.py" not in told


@pytest.mark.parametrize("name", ["a\0b", "two\nlines", "  ", "n" * 201, "bell\x07"])
async def test_a_name_that_cannot_be_shown_is_refused(bench: Bench, name: str) -> None:
    bench.steps["default"] = [call("create_task", "t1", name=name), {"text": "ok"}]
    async with bench.open() as conversation:
        ((status, told),) = results(await say(conversation, "go"))
        await say(conversation, "and then?")
    assert status == "error"
    assert "\0" not in told
    assert "\\u0000" not in str(bench.requests[-1]["messages"][-1])
    assert desk(bench).listing().rows == []


async def test_bare_has_neither_tools_nor_tasks(bench: Bench) -> None:
    desk(bench).create("the nightly job")
    async with bench.open(bare=True) as conversation:
        await say(conversation, "hello")
        assert len(await lines(conversation, "/tasks")) == 2, "the person may look all the same"
    assert "nightly" not in system(bench)
    assert not TOOLS & set(bench.requests[-1]["tools"])


async def test_a_damaged_database_is_one_line_and_stays_as_it_is(bench: Bench) -> None:
    path = desk(bench).path
    path.parent.mkdir(parents=True)
    path.write_bytes(b"no database at all\n" * 300)
    bench.steps["default"] = [call("create_task", "t1", name="x"), {"text": "ok"}]
    async with bench.open() as conversation:
        ((status, told),) = results(await say(conversation, "go"))
        line = f"The task database {path} is damaged, so it is left as it is: file is not a database"
        hint = "(move tasks.sqlite* away, all of them, and tau begins a new one)"
        assert (status, told) == ("error", f"Error: {line} {hint}")
        assert f"{line} {hint}" in conversation.state.tool_problems
        assert await conversation.command("/tasks") == Refused(f"{line} {hint}")
    assert path.read_bytes() == b"no database at all\n" * 300


async def test_nothing_else_waits_while_the_database_is_held(bench: Bench) -> None:
    desk(bench).create("the nightly job")
    bench.steps["default"] = [call("create_task", "t1", name="another"), {"text": "done"}]
    async with bench.open() as conversation:
        with closing(sqlite3.connect(desk(bench).path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            turn = asyncio.create_task(say(conversation, "go"))
            while not any(request["messages"] for request in bench.requests):
                await asyncio.sleep(0.01)
            listing = asyncio.create_task(lines(conversation, "/tasks"))
            status = await lines(conversation, "/status")
            assert status[0].startswith("Session: "), "the engine answers meanwhile"
            assert not listing.done(), "a listing collects, so it waits"
            assert not turn.done()
            other.execute("COMMIT")
        assert results(await turn)[0][0] == "success"
        await listing
    assert {task.name for task, _ in desk(bench).open_tasks()} == {"the nightly job", "another"}


async def test_a_name_that_may_come_from_outside_is_told_with_its_origin(bench: Bench) -> None:
    (bench.root / "a.txt").write_text("alpha")
    bench.approvals = ApprovalSettings(allow=["shell: echo *"])
    bench.steps["default"] = [
        call("read_file", "t1", path="a.txt"),
        call("create_task", "t2", name="after a file"),
        call("shell", "t3", command="echo obey me"),
        call("create_task", "t4", name="after a command"),
        call("get_task_context", "t5", task="after a command"),
        {"text": "ok"},
    ]
    async with bench.open() as conversation:
        *_, (_, told) = results(await say(conversation, "go"))
        await say(conversation, "and then?")
        listing = await lines(conversation, "/tasks")
        shown = await lines(conversation, "/tasks show after a command")
    said = re.sub(r"changed [^;)]*", "changed", system(bench))
    assert (
        "- after a command (created; nothing explored; changed; named after content from outside)\n" in said
    )
    assert "- after a file (created; nothing explored; changed)\n" in said
    assert "Named after content from outside: shell echo obey me" in told
    assert listing[-1] == "Named after content from outside: after a command"
    assert "named after content from outside: shell echo obey me" in shown
    assert [task.origin for task, _ in desk(bench).open_tasks()] == ["shell echo obey me", ""]


async def test_usage_is_said(bench: Bench) -> None:
    async with bench.open() as conversation:
        assert await lines(conversation, "/tasks") == [f"There are no tasks here; {MADE}."]
        for wrong in ("/tasks show", "/tasks done", "/tasks list more", "/tasks what"):
            assert isinstance(await conversation.command(wrong), Refused), wrong
        refused = await conversation.command("/tasks show nothing")
    assert refused == Refused(f"There is no task 'nothing' ({MADE})")
