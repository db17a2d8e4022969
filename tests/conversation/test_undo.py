"""Going back before the last turn, also when a message of it makes every request fail."""

from __future__ import annotations

import json

import pytest

from tau.conversation.state import Refused, Switched
from tau.events import TurnEnd
from tau.sessions.records import with_origin
from tests.conversation.conftest import Bench, ending, say
from tests.conversation.test_turns import check_request


async def test_undo_goes_on_before_the_last_turn_and_keeps_the_session(bench: Bench) -> None:
    bench.steps["default"] = [{"text": "one"}, {"text": "two"}, {"text": "three"}]
    async with bench.open() as conversation:
        assert isinstance(await conversation.command("/undo"), Refused)
        await say(conversation, "first")
        await say(conversation, "second")
        before, name = conversation.state.session_id, conversation.state.name
        whole = bench.messages(before)
        result = await conversation.command("/undo")
        assert isinstance(result, Switched)
        after = conversation.state.session_id
        assert result.line == (
            f'Went back before "second", in new session {after}; the previous session {before} is kept. '
            f"The name {name} goes along."
        )
        copies = [item.message for item in result.opening.history.messages]
        assert copies == [with_origin(message, before, index) for index, message in enumerate(whole[:2])]
        assert result.draft == "second"
        assert conversation.state.title == "first"
        await say(conversation, "another second")
        assert bench.messages(before) == whole
        meta = json.loads((bench.root / "data" / "sessions" / after / "meta.json").read_text())
        assert meta["forked_from"] == before
    assert [message["content"] for message in bench.requests[-1]["messages"]] == [
        [{"text": "first"}],
        [{"text": "one"}],
        [{"text": "another second"}],
    ]


async def test_a_message_that_makes_every_request_fail_can_be_left_behind(bench: Bench) -> None:
    (bench.root / "poison.txt").write_text("POISON-7")
    read = {"tools": [{"name": "read_file", "input": {"path": "poison.txt"}, "id": "t1"}]}
    refused = {"error": "refused", "message": "400: the request has POISON-7 in it"}
    poisoned = {"when": "POISON-7", "then": refused, "else": {"text": "fine"}}
    bench.steps["default"] = [{"text": "hello"}, read, poisoned]
    async with bench.open() as conversation:
        await say(conversation, "hi")
        for text in ("read it", "again"):
            end = await ending(conversation, text)
            assert end.stop_reason == "error"
            assert "400: the request has POISON-7 in it" in end.notice
    tries = len(bench.requests)
    assert tries <= 5, "a request that is refused is not repeated for ever"
    for request in bench.requests:
        check_request(request["messages"])
    bench.steps["default"] = [poisoned]
    async with bench.open(resume="") as conversation:
        assert (await ending(conversation, "after a restart")).stop_reason == "error"
        for _ in range(3):
            assert isinstance(await conversation.command("/undo"), Switched)
        events = await say(conversation, "and now?")
        assert isinstance(events[-1], TurnEnd)
        assert events[-1].stop_reason == "end_turn"
    sent = bench.requests[-1]["messages"]
    check_request(sent)
    assert [block["text"] for message in sent for block in message["content"]] == ["hi", "hello", "and now?"]


@pytest.mark.parametrize("command", ["/undo", "/rewind 2"])
async def test_the_name_leads_to_what_was_said_after_going_back(bench: Bench, command: str) -> None:
    async with bench.open(name="diary") as conversation:
        await say(conversation, "keep one")
        await say(conversation, "oops two")
        before = conversation.state.session_id
        whole = bench.messages(before)
        result = await conversation.command(command)
        assert isinstance(result, Switched)
        assert result.line.endswith(f"the previous session {before} is kept. The name diary goes along.")
        after = conversation.state.session_id
        assert (after != before, conversation.state.name) == (True, "diary")
        await say(conversation, "better two")
    async with bench.open(resume=before) as conversation:  # which is the newest from now on
        assert conversation.state.name == ""
        await say(conversation, "three")
    async with bench.open(resume="diary") as conversation:
        assert conversation.state.session_id == after
    assert bench.messages(before)[:4] == whole


async def test_a_fork_leaves_the_name_where_it_is(bench: Bench) -> None:
    async with bench.open(name="diary") as conversation:
        await say(conversation, "keep one")
        before = conversation.state.session_id
        for command in ("/fork", f"/resume {before}", "/fork 1"):
            assert isinstance(await conversation.command(command), Switched)
        assert conversation.state.name != "diary"
        await say(conversation, "elsewhere")
    async with bench.open(resume="diary") as conversation:
        assert conversation.state.session_id == before


async def test_a_session_that_is_held_elsewhere_keeps_its_name(bench: Bench) -> None:
    async with bench.open(name="diary") as writing:
        await say(writing, "keep one")
        before = writing.state.session_id
        async with bench.open(resume="diary", read_only_ok=True) as reading:
            result = await reading.command("/undo")
            assert isinstance(result, Switched)
            assert result.line.endswith(f"the previous session {before} is kept.")
            assert reading.state.name != "diary"
        assert writing.state.name == "diary"
    async with bench.open(resume="diary") as conversation:
        assert conversation.state.session_id == before
