"""Titles: the first message, or what the model writes after the first turn where that is set."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tau.conversation import Conversation
from tests.conversation.conftest import Bench, say
from tests.conversation.test_compaction import meta, side_requests


async def until(conversation: Conversation, seen: Callable[[], bool]) -> None:
    async def poll() -> None:
        while not seen():
            await asyncio.sleep(0.01)

    await asyncio.wait_for(poll(), 10)


async def test_a_title_is_the_first_message_unless_the_model_is_to_write_one(bench: Bench) -> None:
    bench.side = [{"text": "never asked for"}]
    async with bench.open() as conversation:
        await say(conversation, "Why does the   nightly job fail?")
        assert conversation.state.title == "Why does the nightly job fail?"
    assert not side_requests(bench)


async def test_the_model_writes_a_title_after_the_first_turn(bench: Bench) -> None:
    bench.titles = "model"
    bench.steps["default"] = [{"text": "It imports quail.rates."}, {"text": "two"}]
    usage = {"inputTokens": 300, "outputTokens": 8}
    bench.side = [{"text": '"The nightly job fails"\nas asked', "usage": usage}, {"text": "another"}]
    async with bench.open() as conversation:
        await say(conversation, "Why does the nightly job fail?")
        session = conversation.state.session_id
        await until(conversation, lambda: conversation.state.title == "The nightly job fails")
        assert meta(bench, session)["title"] == "The nightly job fails"
        assert conversation.state.usage.input_tokens == 300
        await conversation.command("/name rates")
        await say(conversation, "And now?")
        assert (conversation.state.name, conversation.state.title) == ("rates", "The nightly job fails")
    (request,) = side_requests(bench)
    assert request["tools"] == []
    assert "Why does the nightly job fail?" in request["messages"][0]["content"][0]["text"]
    assert meta(bench, session)["tokens_in"] == 300


async def test_a_title_that_fails_leaves_the_first_message(bench: Bench) -> None:
    bench.titles = "model"
    bench.side = [{"error": "refused", "message": "no titles today"}]
    async with bench.open() as conversation:
        await say(conversation, "Why?")
        await until(conversation, lambda: bool(side_requests(bench)))
        await say(conversation, "And now?")
        assert conversation.state.title == "Why?"
    assert len(side_requests(bench)) == 1


async def test_leaving_does_not_wait_for_a_title(bench: Bench) -> None:
    bench.titles = "model"
    bench.side = [{"text": "late", "delay": 60, "chunks": 2}]
    async with bench.open() as conversation:
        await say(conversation, "Why?")
        await until(conversation, lambda: bool(side_requests(bench)))
        await asyncio.wait_for(conversation.close(), 10)
    assert meta(bench, conversation.state.session_id)["title"] == "Why?"
