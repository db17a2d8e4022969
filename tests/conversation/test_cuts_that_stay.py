"""A result that the model is shown cut stays cut wherever the conversation goes on; on record it is whole."""

from __future__ import annotations

from typing import Any

import pytest

from tau.config.settings import AgentSettings, CompactionSettings
from tau.conversation import Conversation
from tau.conversation.state import Switched
from tau.events import TurnEvent
from tests.conversation.conftest import Bench, say
from tests.conversation.faults import with_faults
from tests.conversation.test_compaction import NOTES, compacted, files, look, usage
from tests.conversation.test_turns import check_request

LINES = "start\n" + f"{'x' * 99}\n" * 150 + "end"
CUT = "characters are left out here"


def shown(bench: Bench) -> list[str]:
    """The long results in the newest request of the conversation."""
    sent = [request for request in bench.requests if not request["side"]][-1]["messages"]
    check_request(sent)
    return results(sent)


def results(messages: list[dict[str, Any]]) -> list[str]:
    blocks = [block for message in messages for block in message["content"] if "toolResult" in block]
    found = [block["toolResult"]["content"][0]["text"] for block in blocks]
    return [text for text in found if "start" in text]


@pytest.fixture(params=["sliding", "summarize"])
def filled(request: pytest.FixtureRequest, bench: Bench) -> Bench:
    """Short turns, and one in whose course its long result is cut to make room."""
    (bench.root / "log.txt").write_text(LINES)
    (bench.root / "a.txt").write_text("alpha")
    bench.agent = AgentSettings(context=request.param)
    bench.model = {"context_window": 16_000}  # compacts at 12,000
    bench.compaction = CompactionSettings(keep_turns=3)
    bench.side = [{"text": NOTES, **usage(100)}]
    bench.steps["default"] = [{"text": "so", **usage(100)}] * 4
    return bench


async def short_turns(conversation: Conversation) -> None:
    for number in range(4):
        await say(conversation, f"words {number} " * 300)


def check(bench: Bench, conversation: Conversation, cut: str) -> None:
    """The result is shown as it was cut, and is on record as it is."""
    assert shown(bench) == [cut]
    (whole,) = results(bench.messages(conversation.state.session_id))
    assert LINES.splitlines()[75] in whole
    assert len(whole) > len(LINES)


async def with_a_cut_result(bench: Bench, conversation: Conversation, text: str = "read") -> str:
    """Have a turn whose result does not fit; the result as it is shown since."""
    await say(conversation, text)
    (cut,) = shown(bench)
    assert CUT in cut
    check(bench, conversation, cut)
    return cut


def overflowing(bench: Bench) -> None:
    """The provider refuses the request with the long result, and answers the one in which it is cut."""
    bench.steps["default"] += [
        look("log.txt", "t1", 200),
        {"error": "overflow"},
        {"text": "read", **usage(300)},
        {"text": "on", **usage(400)},
    ]


async def test_by_hand_and_after_a_resume(filled: Bench) -> None:
    overflowing(filled)
    async with filled.open() as conversation:
        await short_turns(conversation)
        cut = await with_a_cut_result(filled, conversation)
        old = conversation.state.session_id
        before = files(filled, old)
        for _ in range(2):
            assert isinstance(await conversation.command("/compact"), Switched)
            tokens = conversation.state.context_tokens
            assert tokens is not None
            assert tokens < 4_000, "it is measured as it is shown"
            await say(conversation, "and now?")
            check(filled, conversation, cut)
        assert files(filled, old) == before
        last = conversation.state.session_id
    filled.steps["default"] = [{"text": "on", **usage(400)}]
    async with filled.open(session_id=last) as conversation:
        await say(conversation, "still?")
        check(filled, conversation, cut)


async def test_resumed_before_anything_was_said_in_the_new_session(filled: Bench) -> None:
    overflowing(filled)
    async with filled.open() as conversation:
        await short_turns(conversation)
        cut = await with_a_cut_result(filled, conversation)
        assert isinstance(await conversation.command("/compact"), Switched)
        new = conversation.state.session_id
    filled.steps["default"] = [{"text": "on", **usage(400)}]
    async with filled.open(session_id=new) as conversation:
        await say(conversation, "and now?")
        check(filled, conversation, cut)


async def test_by_itself_in_the_middle_of_the_turn(filled: Bench) -> None:
    filled.steps["default"] += [
        look("log.txt", "t1", 200),
        {"error": "overflow"},
        look("a.txt", "t2", 14_000),
        {"text": "read", **usage(300)},
        {"text": "on", **usage(400)},
    ]
    async with filled.open() as conversation:
        await short_turns(conversation)
        old = conversation.state.session_id
        events: list[TurnEvent] = await say(conversation, "read")
        assert len(compacted(events)) == 1
        new = conversation.state.session_id
        assert new != old
        (cut,) = shown(filled)
        assert CUT in cut
        refused = [request for request in filled.requests if not request["side"]][-3]
        assert len(str(refused["messages"])) > len(LINES), "the request that did not fit had it whole"
        check(filled, conversation, cut)
        await say(conversation, "and now?")
        check(filled, conversation, cut)


async def test_by_itself_between_turns(filled: Bench) -> None:
    filled.steps["default"] += [
        look("log.txt", "t1", 200),
        {"error": "overflow"},
        {"text": "read", **usage(12_500)},  # of which this turn is less than half
        {"text": "on", **usage(400)},
    ]
    async with filled.open() as conversation:
        await short_turns(conversation)
        cut = await with_a_cut_result(filled, conversation)
        assert len(compacted(await say(conversation, "and now?"))) == 1
        check(filled, conversation, cut)


@pytest.mark.parametrize("kind", ["same", "other"])
async def test_in_a_fork(filled: Bench, kind: str) -> None:
    overflowing(filled)
    async with filled.open() as conversation:
        await short_turns(conversation)
        cut = await with_a_cut_result(filled, conversation)
        old = conversation.state.session_id
    if kind == "other":
        sliding = filled.agent.context == "sliding"
        filled.agent = AgentSettings(context="summarize" if sliding else "sliding")
    filled.steps["default"] = [{"text": "on", **usage(400)}]
    async with filled.open() as conversation:
        assert isinstance(await conversation.command(f"/fork {old}"), Switched)
        await say(conversation, "and now?")
        check(filled, conversation, cut)
        assert isinstance(await conversation.command("/undo"), Switched)
        await say(conversation, "or rather?")
        check(filled, conversation, cut)


async def test_what_comes_after_the_copies_is_whole(filled: Bench) -> None:
    overflowing(filled)
    filled.steps["default"] += [look("log.txt", "t3", 500), {"text": "read again", **usage(600)}]
    async with filled.open() as conversation:
        await short_turns(conversation)
        cut = await with_a_cut_result(filled, conversation)
        assert isinstance(await conversation.command("/fork 4"), Switched), "what was cut is not in this one"
        filled.steps["default"] = []
        await say(conversation, "on")
        await say(conversation, "read it anew")
        (whole,) = shown(filled)
        assert whole != cut
        assert CUT not in whole


@pytest.mark.parametrize("line", ["/compact", "/fork"])
async def test_whatever_the_store_refuses(filled: Bench, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    faults, _ = with_faults(monkeypatch)
    overflowing(filled)
    filled.backend = "memory"
    filled.compaction = CompactionSettings(keep_turns=5)
    filled.steps["default"] += [{"text": "on", **usage(400)}]
    stayed = 0
    async with filled.open() as conversation:
        await short_turns(conversation)
        await say(conversation, "read")
        (cut,) = shown(filled)
        first = conversation.state.session_id
        for number in range(1, 400):
            faults.arm(number, lasting=False)
            old = conversation.state.session_id
            await conversation.command(line)
            faults.disarm()
            went = conversation.state.session_id != old
            stayed += not went
            if went:
                await say(conversation, f"after {number}")
                assert shown(filled) == [cut], number
                if not faults.fired:
                    break
                assert isinstance(await conversation.command(f"/fork {first}"), Switched)
        else:
            raise AssertionError("it never went through")
    assert stayed > 20
