"""A turn: what a channel sees of it, what is sent, what is recorded, however it ends."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from tau.config.settings import AgentSettings
from tau.events import MessageEnd, ModelRetrying, TextDelta, ToolUseEnded, ToolUseStarted, TurnEnd
from tests.conversation.conftest import Bench, ending, say, say_until

TURN_LIMIT = (
    "I reached the tool-call limit for this turn (2 turns). I stopped; tell me if you want me to continue."
)
SLOW = {"text": "one two three four five six seven eight nine ten", "chunks": 48, "delay": 0.05}


def check_request(messages: list[dict[str, Any]]) -> None:
    """What every strict provider asks of a request."""
    assert messages[0]["role"] == "user"
    asked: list[str] = []
    for before, message in zip([None, *messages], messages, strict=False):
        assert before is None or before["role"] != message["role"]
        assert message["content"]
        for block in message["content"]:
            assert "text" not in block or block["text"].strip()
        answered = [block["toolResult"]["toolUseId"] for block in message["content"] if "toolResult" in block]
        assert sorted(answered) == sorted(asked)
        asked = [block["toolUse"]["toolUseId"] for block in message["content"] if "toolUse" in block]


async def test_a_turn_streams_its_reply_and_records_both_messages(bench: Bench) -> None:
    bench.steps["default"] = [
        {"text": "hello there", "chunks": 4, "usage": {"inputTokens": 100, "outputTokens": 10}}
    ]
    async with bench.open() as conversation:
        events = await say(conversation, "hi")
        assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "hello there"
        assert [event.text for event in events if isinstance(event, MessageEnd)] == ["hello there"]
        session = conversation.state.session_id
        assert [message["role"] for message in bench.messages(session)] == ["user", "assistant"]
        assert all(message["tracking_id"] for message in bench.messages(session))
        assert conversation.state.title == "hi"
        assert conversation.state.usage.input_tokens == 100
    assert bench.requests[0]["messages"][0]["content"] == [{"text": "hi"}]


@pytest.mark.parametrize(
    ("step", "agent", "reason", "notice"),
    [
        ({"text": "fine"}, AgentSettings(), "end_turn", ""),
        (
            {"tools": [{"name": "nothing", "input": {}, "id": "t1"}]},
            AgentSettings(max_turns=2),
            "limit_turns",
            TURN_LIMIT,
        ),
        (
            {
                "tools": [{"name": "nothing", "input": {}, "id": "t1"}],
                "usage": {"inputTokens": 90, "outputTokens": 20},
            },
            AgentSettings(max_total_tokens=100),
            "limit_total_tokens",
            "I reached the token budget for this turn. I stopped; tell me if you want me to continue.",
        ),
        (
            {"error": "max_tokens", "text": "cut"},
            AgentSettings(),
            "max_tokens",
            "The reply hit the length limit; say so if you want me to continue.",
        ),
        (
            {"error": "overflow", "message": "too long"},
            AgentSettings(),
            "error",
            "The conversation no longer fits the model's context window; start a new session with /new.",
        ),
    ],
)
async def test_stop_reasons_and_their_notices(
    bench: Bench, step: dict[str, Any], agent: AgentSettings, reason: str, notice: str
) -> None:
    bench.steps["default"] = [step]
    bench.agent = agent
    async with bench.open() as conversation:
        end = await ending(conversation, "go")
        assert (end.stop_reason, end.notice) == (reason, notice)


async def test_a_failed_model_call_says_what_the_server_said_and_the_next_turn_repairs(bench: Bench) -> None:
    bench.steps["default"] = [{"error": "refused", "message": "no such model"}, {"text": "better"}]
    async with bench.open() as conversation:
        end = await ending(conversation, "first")
        assert end.stop_reason == "error"
        assert end.notice.startswith("Model call failed: ")
        assert "no such model" in end.notice
        await ending(conversation, "second")
        texts = [message["content"][0]["text"] for message in bench.messages(conversation.state.session_id)]
        assert texts == ["first", f"({end.notice})", "second", "better"]
    for request in bench.requests:
        check_request(request["messages"])


async def test_a_second_message_during_a_turn_is_answered_busy(bench: Bench) -> None:
    bench.steps["default"] = [SLOW]
    async with bench.open() as conversation:
        seen: list[TurnEnd] = []

        async def second() -> None:
            seen.append(await ending(conversation, "me too"))
            await conversation.cancel()

        await say_until(conversation, "go", lambda shown: "one" in shown, second)
        assert [(end.stop_reason, end.notice) for end in seen] == [
            ("busy", "I am still answering the previous turn.")
        ]
        recorded = bench.messages(conversation.state.session_id)
        assert "me too" not in str(recorded)


async def test_a_cancelled_turn_keeps_what_was_shown(bench: Bench) -> None:
    bench.steps["default"] = [SLOW, {"text": "after"}]
    async with bench.open() as conversation:
        end = await say_until(conversation, "go", lambda shown: "two" in shown, conversation.cancel)
        assert (end.stop_reason, end.notice) == ("cancelled", "Turn cancelled.")
        reply = bench.messages(conversation.state.session_id)[1]["content"][0]["text"]
        assert reply.startswith("one two")
        assert reply.endswith("[interrupted]")
        assert (await ending(conversation, "and now?")).stop_reason == "end_turn"
    check_request(bench.requests[-1]["messages"])


async def test_a_silent_model_is_cancelled_too(bench: Bench) -> None:
    bench.steps["default"] = [{"text": "never", "chunks": 2, "delay": 600}, {"text": "after"}]
    async with bench.open() as conversation:
        turn = asyncio.create_task(ending(conversation, "go"))
        while not bench.requests:  # before that, the silent answer would be the next turn's
            await asyncio.sleep(0.01)
        started = time.monotonic()
        await conversation.cancel()
        end = await turn
        assert end.stop_reason == "cancelled"
        assert time.monotonic() - started < 15
        assert (await ending(conversation, "next")).stop_reason == "end_turn"
    check_request(bench.requests[-1]["messages"])


async def test_a_throttled_call_is_announced_before_it_is_repeated(bench: Bench) -> None:
    bench.steps["default"] = [{"error": "throttled", "message": "slow down"}, {"text": "now"}]
    async with bench.open() as conversation:
        events = await say(conversation, "go")
        retries = [event for event in events if isinstance(event, ModelRetrying)]
        assert [retry.attempt for retry in retries] == [1]
        assert "slow down" in retries[0].reason
        assert isinstance(events[-1], TurnEnd)
        assert events[-1].stop_reason == "end_turn"


async def test_a_blank_message_makes_no_model_call(bench: Bench) -> None:
    async with bench.open() as conversation:
        end = await ending(conversation, "  \n ")
        assert end.stop_reason == "error"
        assert "empty" in end.notice
    assert bench.requests == []


async def test_a_call_of_a_tool_that_does_not_exist_is_answered_and_recorded(bench: Bench) -> None:
    bench.steps["default"] = [
        {"text": "", "tools": [{"name": "nothing", "input": {"path": "a"}, "id": "t1"}]},
        {"text": "I see"},
    ]
    async with bench.open() as conversation:
        events = await say(conversation, "go")
        started = [event for event in events if isinstance(event, ToolUseStarted)]
        ended = [event for event in events if isinstance(event, ToolUseEnded)]
        assert [(event.name, dict(event.arguments)) for event in started] == [("nothing", {"path": "a"})]
        assert [event.status for event in ended] == ["error"]
    for request in bench.requests:
        check_request(request["messages"])
    async with bench.open(resume="") as conversation:
        opening = await conversation.ready()
        assert [event.kind for event in opening.events] == ["tool_call"]


async def test_half_an_emoji_from_the_model_is_saved_and_comes_back(bench: Bench) -> None:
    bench.steps["default"] = [{"text": "ok \ud83d end"}, {"text": "fine"}]
    async with bench.open() as conversation:
        assert (await ending(conversation, "go")).stop_reason == "end_turn"
    async with bench.open(resume="") as conversation:
        assert (await ending(conversation, "again")).stop_reason == "end_turn"
    assert "ok \ufffd end" in str(bench.requests[-1]["messages"])


async def test_running_totals_count_each_call_once_and_go_on_after_a_resume(bench: Bench) -> None:
    bench.steps["default"] = [
        {"text": "a", "usage": {"inputTokens": tokens, "outputTokens": 10}} for tokens in (100, 200, 300)
    ]
    async with bench.open() as conversation:
        for _ in range(3):
            await ending(conversation, "go")
        usage = conversation.state.usage
        assert (usage.input_tokens, usage.output_tokens) == (600, 30)
    bench.steps["default"] = [{"text": "a", "usage": {"inputTokens": 5, "outputTokens": 1}}]
    async with bench.open(resume="") as conversation:
        assert (conversation.state.usage.input_tokens, conversation.state.turns) == (600, 3)
        await ending(conversation, "go")
        usage = conversation.state.usage
        assert (usage.input_tokens, usage.output_tokens) == (605, 31)


async def test_summarizing_ends_when_a_summary_does_not_help(bench: Bench) -> None:
    bench.steps["default"] = [{"text": f"reply {number}"} for number in range(6)]
    bench.steps["default"].append(
        {"when": "conversation summarizer", "then": {"text": "S"}, "else": {"error": "overflow"}}
    )
    bench.agent = AgentSettings(context="summarize", window_size=2)
    async with bench.open() as conversation:
        for number in range(6):
            await ending(conversation, f"message {number}")
        before = len(bench.requests)
        end = await ending(conversation, "one more")
        assert end.stop_reason == "error"
        assert "no longer fits" in end.notice
        assert len(bench.requests) - before <= 6
