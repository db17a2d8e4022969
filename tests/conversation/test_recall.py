"""`recall` in a conversation: what was said in the sessions behind it comes back to the model."""

from __future__ import annotations

import pytest

from tau.events import ToolCallRecord, ToolUseEnded
from tau.sessions.file import open_store
from tau.sessions.store import StoreContext
from tests.conversation.conftest import Bench, say
from tests.conversation.test_turns import check_request

ASK = {"tools": [{"name": "recall", "input": {"query": "port of the gateway"}, "id": "t1"}]}


async def test_a_fact_of_the_session_behind_comes_back(bench: Bench) -> None:
    async with bench.open() as conversation:
        await say(conversation, "The gateway listens on port 48613.")
        before = conversation.state.session_id
    store = open_store(StoreContext(data_dir=bench.places.data, state_dir=bench.places.state))
    meta = {"compacted_from": before, "directory": str(bench.root), "channel": "terminal"}
    with store.create("after", meta=meta) as writer:
        writer.append(0, {"role": "user", "content": [{"text": "Summary of the conversation so far: none."}]})
        writer.append(1, {"role": "assistant", "content": [{"text": "Understood."}]})
        writer.flush()
    store.close()
    read = {"tools": [{"name": "recall", "input": {"session": before, "range": "0"}, "id": "t2"}]}
    bench.steps["default"] = [ASK, read, {"text": "It is 48613."}]
    async with bench.open(resume="after") as conversation:
        events = await say(conversation, "Which port was it?")
        ended = [event for event in events if isinstance(event, ToolUseEnded)]
        assert [(event.name, event.status) for event in ended] == [("recall", "success")] * 2
        assert f"[session {before}, message 0, user, " in ended[0].result
        assert all("The gateway listens on port 48613." in event.result for event in ended)
    check_request(bench.requests[-1]["messages"])
    assert "48613" in str(bench.requests[-1]["messages"])
    async with bench.open(resume="after") as conversation:
        records = [
            event for event in (await conversation.ready()).events if isinstance(event, ToolCallRecord)
        ]
        assert [(record.tool, record.tier, record.approval) for record in records] == [
            ("recall", 0, "not_needed")
        ] * 2


@pytest.mark.parametrize("backend", ["file", "memory"])
async def test_it_reads_the_session_in_hand_and_the_one_that_it_was_made_from(
    bench: Bench, backend: str
) -> None:
    bench.backend = backend
    bench.steps["default"] = [
        {"text": "noted"},
        {"text": "noted"},
        ASK,
        {"text": "done"},
        ASK,
        {"text": "done"},
    ]
    async with bench.open() as conversation:
        await say(conversation, "The gateway is a heron.")
        await say(conversation, "The port of the gateway is 48613.")
        (ended,) = [event for event in await say(conversation, "Which?") if isinstance(event, ToolUseEnded)]
        assert "gateway is 48613" in ended.result
        before = conversation.state.session_id
        await conversation.command("/undo")
        await conversation.command("/undo")
        assert conversation.state.session_id != before
        (ended,) = [event for event in await say(conversation, "And now?") if isinstance(event, ToolUseEnded)]
        assert "is a heron" in ended.result
        assert f"[session {before}, message 0, user, " in ended.result
        assert "48613" not in ended.result, "what was undone is no part of this conversation"
