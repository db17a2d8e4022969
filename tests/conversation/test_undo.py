"""Going back before the last turn, also when a message of it makes every request fail."""

from __future__ import annotations

import json

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
        before = conversation.state.session_id
        whole = bench.messages(before)
        result = await conversation.command("/undo")
        assert isinstance(result, Switched)
        after = conversation.state.session_id
        assert result.line == (
            f'Went back before "second", in new session {after}; the previous session {before} is kept.'
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
