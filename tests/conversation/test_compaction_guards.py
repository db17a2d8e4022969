"""What a compaction, a title and a fork are kept from: what waits, secrets, another turn's or session's."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tau.config.settings import AgentSettings, CompactionSettings
from tau.conversation.state import Refused, Switched
from tau.errors import StoreWriteFailed
from tau.events import Notice
from tau.sessions.file_writer import FileWriter
from tests.conversation.conftest import Bench, ending, say
from tests.conversation.test_compaction import NOTES, compacted, meta, side_requests, texts, usage
from tests.conversation.test_fork import answered, record, said, store_of, switched
from tests.conversation.test_secrets import KEY, kept
from tests.conversation.test_titles import until
from tests.conversation.test_turns import check_request

RUNNING = "the running request"


class Refusing:
    """A disk that refuses a message so many times.

    Attributes:
        left: How often it still does.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
        self.left = 0
        append = FileWriter.append

        def refused(writer: FileWriter, index: int, message: dict[str, Any]) -> Any:
            if self.left and text in json.dumps(message):
                self.left -= 1
                raise StoreWriteFailed("No space left")
            return append(writer, index, message)

        monkeypatch.setattr(FileWriter, "append", refused)


@pytest.mark.parametrize("failures", [1, 1_000])
async def test_a_request_that_is_not_saved_is_not_lost_to_a_compaction(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, failures: int
) -> None:
    bench.model = {"context_window": 40_000}  # compacts at 30,000
    bench.steps["default"] = [{"text": "one", **usage(36_000)}, {"text": "two", **usage(5_000)}]
    bench.side = [{"text": NOTES}]
    disk = Refusing(monkeypatch, RUNNING)
    async with bench.open() as conversation:
        await say(conversation, "first")
        old = conversation.state.session_id
        disk.left = failures
        events = await say(conversation, RUNNING)
        assert texts(bench.requests[-1]["messages"])[-1] == RUNNING
        check_request(bench.requests[-1]["messages"])
        if failures > 1:
            assert not compacted(events)
            assert not side_requests(bench)
            assert conversation.state.session_id == old
            assert [e for e in events if isinstance(e, Notice) and "was not compacted" in e.text]
        disk.left = 0
        await say(conversation, "third")
        newest = conversation.state.session_id
    assert RUNNING in texts(bench.messages(old)) + texts(bench.messages(newest))


async def test_what_is_not_saved_is_not_left_behind_by_compact(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.steps["default"] = [{"text": "one"}, {"text": "two"}]
    bench.side = [{"text": NOTES}]
    disk = Refusing(monkeypatch, RUNNING)
    async with bench.open() as conversation:
        await say(conversation, "first")
        old = conversation.state.session_id
        disk.left = 1_000
        await say(conversation, RUNNING)
        assert isinstance(await conversation.command("/compact"), Refused)
        assert conversation.state.session_id == old
        assert not side_requests(bench)
        disk.left = 0
        assert isinstance(await conversation.command("/compact"), Switched)
    assert texts(bench.messages(old)) == ["first", "one", RUNNING, "two"]


async def test_a_title_is_kept_without_secrets(bench: Bench) -> None:
    bench.titles = "model"
    bench.side = [{"text": f"Key {KEY}"}]
    async with bench.open() as conversation:
        await say(conversation, "Why?")
        await until(conversation, lambda: conversation.state.title.startswith("Key "))
        assert conversation.state.title == "Key ***"
        assert meta(bench, conversation.state.session_id)["title"] == "Key ***"
    assert not kept(bench, KEY[:20])


async def test_a_summary_in_the_window_is_without_secrets(bench: Bench) -> None:
    bench.agent = AgentSettings(context="summarize", window_size=2)
    bench.steps["default"] = [{"text": "one " * 600}, {"text": "two " * 600}, {"error": "overflow"}]
    bench.steps["default"] += [{"text": "three"}, {"text": "four"}]
    bench.side = [{"text": f"The key is {KEY}."}]
    async with bench.open() as conversation:
        for text in ("a " * 600, "b " * 600, "c"):
            assert (await ending(conversation, text)).stop_reason == "end_turn"
        session = conversation.state.session_id
    assert side_requests(bench)
    sent = [request for request in bench.requests if not request["side"]]
    assert "The key is ***." in json.dumps(sent[-1]["messages"])
    assert not [request for request in sent if KEY in json.dumps(request)]
    state = (bench.root / "data" / "sessions" / session / "agents" / "tau" / "agent.json").read_text()
    assert "The key is ***." in state
    assert not kept(bench, KEY)


async def test_what_a_model_wrote_is_sent_for_a_summary_and_a_title_without_secrets(bench: Bench) -> None:
    (bench.root / ".env").write_text("nothing")
    look = {"name": "read_file", "input": {"path": ".env", "why": KEY}, "id": "t1"}
    bench.steps["default"] = [
        {"text": f"Your key is {KEY}.", "tools": [look]},
        {"text": f"Again: {KEY}, " + "and so on " * 2_000},
    ]
    bench.titles = "model"
    bench.side = [{"text": "A title"}, {"text": NOTES}]
    async with bench.open() as conversation:
        await say(conversation, "make a key")
        await until(conversation, lambda: conversation.state.title == "A title")
        assert isinstance(await conversation.command("/compact"), Switched)
    title, summary = [json.dumps(request) for request in side_requests(bench)]
    assert "Your key is ***." in title
    assert "Your key is ***." in summary
    assert "Again: ***, and so on" in summary
    assert KEY[:20] not in title
    assert KEY[:20] not in summary


async def test_a_fork_up_to_a_turn_is_without_what_a_later_one_left_unfinished(bench: Bench) -> None:
    record(bench, "cut", said("first"), answered("one"), said("second"))
    with store_of(bench).hold("cut") as writer:
        writer.append_scratch("half of the second")
    async with bench.open(session_id="cut") as conversation:
        await switched(conversation, "/fork 1")
        new = conversation.state.session_id
        await ending(conversation, "another second")
    assert texts(bench.messages(new))[:3] == ["first", "one", "another second"]
    assert texts(bench.requests[-1]["messages"]) == ["first", "one", "another second"]
    with store_of(bench).read("cut") as source:
        assert source.scratch() == "half of the second"


async def test_a_compaction_that_fails_is_counted_all_the_same(bench: Bench) -> None:
    bench.steps["default"] = [{"text": "one", **usage(1_000)}]
    bench.side = [{"text": " ", **usage(7_000)}]
    async with bench.open() as conversation:
        await say(conversation, "first")
        session = conversation.state.session_id
        assert isinstance(await conversation.command("/compact"), Refused)
        assert conversation.state.usage.input_tokens == 8_000
        assert meta(bench, session)["tokens_in"] == 8_000
    async with bench.open(session_id=session) as conversation:
        assert conversation.state.usage.input_tokens == 8_000


async def test_a_conversation_compacted_by_hand_is_compacted_by_itself_again(bench: Bench) -> None:
    bench.model = {"context_window": 40_000}
    bench.steps["default"] = [{"text": "reply", **usage(36_000)}]
    bench.side = [{"text": NOTES}]
    async with bench.open() as conversation:
        for number in range(5):
            await say(conversation, f"message {number}")
        assert len(side_requests(bench)) == 2, "it has stopped compacting by itself"
        assert isinstance(await conversation.command("/compact"), Switched)
        assert not compacted(await say(conversation, "short again"))
        assert compacted(await say(conversation, "and long again"))


async def test_the_size_after_a_compaction_is_that_of_the_new_session(bench: Bench) -> None:
    """Also where the process ends there. What is on record of the copies is the old session's count."""
    bench.compaction = CompactionSettings(keep_turns=1, anchors_tokens=0)
    bench.steps["default"] = [{"text": "one", **usage(25_000)}, {"text": "two", **usage(36_000)}]
    bench.side = [{"text": NOTES}]
    async with bench.open() as conversation:
        await say(conversation, "first")
        await say(conversation, "second")
        assert conversation.state.context_tokens == 36_010
        assert isinstance(await conversation.command("/compact"), Switched)
        after, session = conversation.state.context_tokens, conversation.state.session_id
        assert after is not None
        assert after < 10_000
        assert bench.messages(session)[-1]["metadata"]["usage"]["inputTokens"] == 36_000
        assert conversation.state.message_count == 4, "as many as the old one had when it was counted"
    async with bench.open(session_id=session) as conversation:
        await conversation.model_ready()
        # How long a token is was learnt from the old session's count, and is on record in the new one.
        assert conversation.state.context_tokens == after
