"""A conversation is carried into a new session as a summary, by hand and by itself; nothing is lost."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tau.config.settings import AgentSettings, CompactionSettings
from tau.conversation import Conversation, carrying
from tau.conversation.compacting import CANCELLED, SUMMARIZING, compaction_point
from tau.conversation.state import ConversationState, Refused, Said, SessionListing, Switched
from tau.errors import StoreError
from tau.events import Compacted, Notice, TurnEnd, TurnEvent
from tau.sessions.records import ListQuery, origin_of
from tests.conversation.conftest import Bench, ending, say
from tests.conversation.test_turns import check_request

NOTES = "The person is Ada; the tests are red."
ACKNOWLEDGED = "Understood. I will continue from this summary."


def files(bench: Bench, session_id: str) -> dict[str, bytes]:
    """Every file of a session that holds messages or events, as it is on the disk."""
    folder = bench.root / "data" / "sessions" / session_id
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and (path.parent.name == "messages" or path.name == "events.jsonl")
    }


def meta(bench: Bench, session_id: str) -> dict[str, Any]:
    path = bench.root / "data" / "sessions" / session_id / "meta.json"
    return dict(json.loads(path.read_text()))


def texts(messages: list[dict[str, Any]]) -> list[str]:
    return ["".join(block.get("text", "") for block in message["content"]) for message in messages]


def side_requests(bench: Bench) -> list[dict[str, Any]]:
    return [request for request in bench.requests if request["side"]]


async def test_compact_carries_the_conversation_into_a_new_session(bench: Bench) -> None:
    bench.steps["default"] = [{"text": "Hello Ada."}, {"text": "They are red."}, {"text": "Going on."}]
    bench.side = [{"text": NOTES}]
    async with bench.open() as conversation:
        await say(conversation, "I am Ada")
        await say(conversation, "How are the tests?")
        old, name = conversation.state.session_id, conversation.state.name
        before = files(bench, old)
        result = await conversation.command("/compact the tests")
        assert isinstance(result, Switched), result
        new = conversation.state.session_id
        assert new != old
        assert result.line == (
            f"Compacted 4 messages into a summary. New session {new}; the previous session {old} is kept."
        )
        assert result.summary.startswith(NOTES)
        assert files(bench, old) == before
        assert (meta(bench, old)["compacted_to"], meta(bench, new)["compacted_from"]) == (new, old)
        assert meta(bench, new)["title"] == meta(bench, old)["title"] == "I am Ada"
        assert "unfinished" not in meta(bench, new)
        assert conversation.state.name == name, "the conversation keeps the name it is resumed by"
        first, second = texts(bench.messages(new))
        assert first == f"Summary of the previous conversation (session {old}):\n\n{result.summary}"
        assert second == ACKNOWLEDGED
        await say(conversation, "And now?")
    (request,) = side_requests(bench)
    assert request["tools"] == []
    assert request["system"].endswith("Focus on: the tests")
    assert "I am Ada" in request["messages"][0]["content"][0]["text"]
    sent = bench.requests[-1]["messages"]
    check_request(sent)
    assert texts(sent) == [first, ACKNOWLEDGED, "And now?"]
    async with bench.open(resume=name) as conversation:
        assert conversation.state.session_id == new
        await say(conversation, "Still there?")
    assert texts(bench.requests[-1]["messages"])[:3] == [first, ACKNOWLEDGED, "And now?"]


async def test_the_last_turns_follow_word_for_word_with_their_origin(bench: Bench) -> None:
    (bench.root / "a.txt").write_text("alpha")
    read = {"tools": [{"name": "read_file", "input": {"path": "a.txt"}, "id": "t1"}]}
    bench.steps["default"] = [{"text": "one"}, {"text": "two"}, read, {"text": "three"}, {"text": "four"}]
    bench.side = [{"text": NOTES}]
    bench.compaction = CompactionSettings(keep_turns=2, anchors_tokens=0)
    async with bench.open() as conversation:
        for text in ("first", "second", "third"):
            await say(conversation, text)
        old = conversation.state.session_id
        result = await conversation.command("/compact")
        assert isinstance(result, Switched)
        assert result.line.startswith("Compacted 2 messages into a summary.")
        new = conversation.state.session_id
        kept = bench.messages(new)[2:]
        originals = bench.messages(old)[2:]
        assert [message["content"] for message in kept] == [message["content"] for message in originals]
        assert [origin_of(message) for message in kept] == [(old, 2 + at) for at in range(len(kept))]
        await say(conversation, "fourth")
        check_request(bench.requests[-1]["messages"])
        assert texts(bench.requests[-1]["messages"])[2] == "second"
        result = await conversation.command("/compact")
        assert isinstance(result, Switched)
        newest = bench.messages(conversation.state.session_id)
        assert [origin_of(message) for message in newest[2:6]] == [(old, 4 + at) for at in range(4)], (
            "a copy of a copy names where the message was said"
        )


async def test_what_a_conversation_continues_is_not_listed_beside_it(bench: Bench) -> None:
    bench.side = [{"text": NOTES}]
    bench.compaction = CompactionSettings(keep_turns=1)
    async with bench.open() as conversation:
        await say(conversation, "another conversation")
        other = conversation.state.session_id
    async with bench.open() as conversation:
        for text in ("first", "second", "third"):
            await say(conversation, text)
        assert isinstance(await conversation.command("/compact"), Switched)
        listing = await conversation.command("/sessions")
        assert isinstance(listing, SessionListing)
        assert [summary.session_id for summary in listing.sessions] == [other]
        resumed = await conversation.command("/resume 1")
        assert isinstance(resumed, Switched)
        assert resumed.opening.state.session_id == other


async def test_the_list_before_the_window_is_not_counted_as_messages(bench: Bench) -> None:
    bench.steps["default"] = [{"text": "one"}]
    bench.side = [{"text": NOTES}]
    bench.agent = AgentSettings(window_size=6)
    bench.compaction = CompactionSettings(keep_turns=1)
    async with bench.open() as conversation:
        for part in range(10):
            await say(conversation, f"I read /srv/part{part}/page.py today")
        in_memory = conversation.state.in_memory
        assert texts(bench.requests[-1]["messages"])[0].startswith(
            "Messages of this session that are no longer"
        )
        result = await conversation.command("/compact")
        assert isinstance(result, Switched)
        assert result.line.startswith(f"Compacted {in_memory - 2} messages into a summary.")


@pytest.mark.parametrize("by_itself", [False, True])
async def test_a_kept_message_that_cannot_be_read_is_told(bench: Bench, by_itself: bool) -> None:
    bench.steps["default"] = [{"text": "one"}] * 3 + [{"text": "one", **usage(31_000 if by_itself else 9)}]
    bench.side = [{"text": NOTES}]
    bench.compaction = CompactionSettings(keep_turns=3)
    bench.model = {"context_window": 40_000}  # compacts at 30,000
    async with bench.open() as conversation:
        for number in range(4):
            await say(conversation, f"words {number}")
        old = conversation.state.session_id
    folder = bench.root / "data" / "sessions" / old
    (folder / "agents" / "tau" / "messages" / "000005.json").write_text("{")
    (folder / ".journal").unlink()  # its copy of the message would be used
    told = f"Message 5 of session {old} could not be read; a line in place of it says so in this session."
    bench.steps["default"] = [{"text": "two"}]
    async with bench.open(session_id=old) as conversation:
        if by_itself:
            events = await say(conversation, "And now?")
            assert [type(event) for event in events].count(Compacted) == 1
            notices = [event.text for event in events if isinstance(event, Notice)]
        else:
            result = await conversation.command("/compact")
            assert isinstance(result, Switched)
            notices = [*result.opening.notices]
        assert notices.count(told) == 1, notices
        assert f"[Message 5 of session {old} could not be read.]" in texts(
            bench.messages(conversation.state.session_id)
        )


def calls_of(bench: Bench, session_id: str) -> list[dict[str, Any]]:
    """What is on record of a session's calls."""
    path = bench.root / "data" / "sessions" / session_id / "events.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return [event for event in map(json.loads, lines) if event["kind"] == "tool_call"]


async def test_what_is_on_record_of_the_kept_calls_comes_along(bench: Bench) -> None:
    (bench.root / "a.txt").write_text("alpha")
    read = {"tools": [{"name": "read_file", "input": {"path": "a.txt"}, "id": "t1"}]}
    bench.steps["default"] = [read, {"text": "one"}, read, {"text": "two"}, read, {"text": "three"}]
    bench.side = [{"text": NOTES}]
    bench.compaction = CompactionSettings(keep_turns=2)
    async with bench.open() as conversation:
        for text in ("first", "second", "third"):
            await say(conversation, text)
        old = conversation.state.session_id
        assert isinstance(await conversation.command("/compact"), Switched)
        whole = calls_of(bench, old)
        assert len(whole) == 3
        assert calls_of(bench, conversation.state.session_id) == whole[1:]
        assert isinstance(await conversation.command("/compact"), Switched)
        assert calls_of(bench, conversation.state.session_id) == whole[2:], "so it does with a copy of a copy"


@pytest.mark.parametrize("keep", range(1, 6))
async def test_no_cut_parts_a_call_from_its_result(bench: Bench, keep: int) -> None:
    (bench.root / "a.txt").write_text("alpha")

    def look(*ids: str) -> dict[str, Any]:
        return {"tools": [{"name": "read_file", "input": {"path": "a.txt"}, "id": name} for name in ids]}

    bench.steps["default"] = [look("t1", "t2"), look("t3"), {"text": "read"}, {"text": "fine"}, look("t4")]
    bench.agent = AgentSettings(max_turns=3)
    bench.side = [{"text": NOTES}]
    bench.compaction = CompactionSettings(keep_turns=keep)
    async with bench.open() as conversation:
        for text in ("first", "second", "third, which runs into its limit"):
            await say(conversation, text)
        assert isinstance(await conversation.command("/compact"), Switched)
        bench.steps["default"] = [{"text": "on"}]
        await say(conversation, "fourth")
    for request in bench.requests:
        check_request(request["messages"])


async def test_an_empty_history_cannot_be_compacted(bench: Bench) -> None:
    async with bench.open() as conversation:
        result = await conversation.command("/compact")
        assert result == Refused("Compaction failed: there is nothing to summarize")


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        ({"text": "  "}, "the summary was empty"),
        ({"error": "refused", "message": "no summaries today"}, "no summaries today"),
        ({"error": "overflow"}, "context window"),
        ({"error": "max_tokens", "text": "The person"}, "the summary was not finished (max_tokens)"),
        (
            {"tools": [{"name": "shell", "input": {"command": "touch ran"}}]},
            "a tool call came in place of the summary",
        ),
    ],
)
async def test_a_summary_that_fails_changes_nothing(bench: Bench, step: dict[str, Any], reason: str) -> None:
    bench.steps["default"] = [{"text": "one"}, {"text": "two"}]
    bench.side = [step]
    async with bench.open() as conversation:
        await say(conversation, "first")
        old = conversation.state.session_id
        before, told = files(bench, old), meta(bench, old)
        result = await conversation.command("/compact")
        assert isinstance(result, Refused)
        assert result.line.startswith("Compaction failed: ")
        assert reason in result.line
        assert (files(bench, old), meta(bench, old)) == (before, told)
        assert conversation.state.session_id == old
        assert not conversation.state.busy
        assert len(list((bench.root / "data" / "sessions").iterdir())) == 1
        assert (await ending(conversation, "second")).stop_reason == "end_turn"
    assert not (bench.root / "ran").exists()
    assert len(side_requests(bench)) == 1


async def until(conversation: Conversation, wanted: str) -> None:
    """Wait until an attribute of the state is true."""
    while not getattr(conversation.state, wanted):
        await asyncio.sleep(0.01)


async def test_a_compaction_is_cancelled_and_the_session_goes_on(bench: Bench) -> None:
    bench.steps["default"] = [{"text": "one"}, {"text": "two"}]
    bench.side = [{"text": NOTES, "delay": 30, "chunks": 2}]
    async with bench.open() as conversation:
        await say(conversation, "first")
        old = conversation.state.session_id
        compacting = asyncio.create_task(conversation.command("/compact"))
        await asyncio.wait_for(until(conversation, "summarizing"), 10)
        assert isinstance(await conversation.command("/status"), Said)
        assert await conversation.command("/new") == Refused(SUMMARIZING)
        assert await ending(conversation, "meanwhile") == TurnEnd("busy", SUMMARIZING)
        await conversation.cancel()
        assert await asyncio.wait_for(compacting, 10) == Refused(CANCELLED)
        assert CANCELLED == "Compaction cancelled; the session continues."
        assert conversation.state.session_id == old
        assert "compacted_to" not in meta(bench, old)
        assert (await ending(conversation, "second")).stop_reason == "end_turn"


def filler(word: str, count: int) -> str:
    return f"{word} " * count


async def test_a_long_history_goes_to_the_summarizer_in_parts(bench: Bench) -> None:
    bench.steps["default"] = [{"text": filler("answer", 1_500)}]
    bench.side = [{"text": f"notes {number}"} for number in range(1, 20)]
    bench.model = {"context_window": 20_000}
    bench.compaction = CompactionSettings(auto=False)
    async with bench.open() as conversation:
        for number in range(6):
            await say(conversation, f"question {number} " + filler("why", 2_000))
        result = await conversation.command("/compact")
        assert isinstance(result, Switched), result
    requests = side_requests(bench)
    assert len(requests) >= 3
    asked = [request["messages"][0]["content"][0]["text"] for request in requests]
    assert all(len(text) < 20_000 * 3 for text in asked)
    for number in range(6):
        assert any(f"question {number} " in text for text in asked)
    for before, text in enumerate(asked[1:], 1):
        assert f"notes {before}" in text, "each part goes with the notes on what came before"
    assert result.summary.startswith(f"notes {len(requests)}")


def test_the_point_leaves_room_for_a_full_turn() -> None:
    assert compaction_point(200_000, max_tokens=8_192, spill_chars=32_000) == 200_000 - 8_192 - 8_000
    assert compaction_point(200_000, max_tokens=None, spill_chars=32_000) == 200_000 - 4_096 - 8_000
    assert compaction_point(8_192, max_tokens=None, spill_chars=32_000) == 6_144


LONG = "start\n" + f"{'x' * 99}\n" * 200 + "end"


def usage(tokens: int, out: int = 10) -> dict[str, Any]:
    return {"usage": {"inputTokens": tokens, "outputTokens": out}}


def look(path: str, use_id: str, tokens: int) -> dict[str, Any]:
    """A step that reads a file, of a request with so many tokens."""
    return {"tools": [{"name": "read_file", "input": {"path": path}, "id": use_id}], **usage(tokens)}


def compacted(events: list[TurnEvent]) -> list[Compacted]:
    return [event for event in events if isinstance(event, Compacted)]


async def test_long_results_of_earlier_turns_are_cut_before_anything_is_summarized(bench: Bench) -> None:
    (bench.root / "log.txt").write_text(LONG)
    bench.model = {"context_window": 40_000}  # compacts at 30,000
    bench.steps["default"] = [
        look("log.txt", "t1", 5_000),
        {"text": "read", **usage(31_000)},
        {"text": "after", **usage(10_000)},
    ]
    bench.side = [{"text": NOTES}]
    async with bench.open() as conversation:
        await say(conversation, "read the log")
        session = conversation.state.session_id
        before = files(bench, session)
        assert conversation.state.compacts_at == 30_000
        assert conversation.state.context_tokens == 31_010
        events = await say(conversation, "what now?")
        assert not compacted(events)
        (notice,) = [event for event in events if isinstance(event, Notice)]
        assert "long earlier tool results are shown to the model cut" in notice.text
        assert conversation.state.session_id == session
        assert (
            files(bench, session).items()
            >= {name: content for name, content in before.items() if name != "events.jsonl"}.items()
        ), "what is stored keeps every byte"
    assert not side_requests(bench)
    sent = bench.requests[-1]["messages"]
    check_request(sent)
    (result,) = sent[2]["content"]
    text = result["toolResult"]["content"][0]["text"]
    assert "characters are left out here" in text
    assert len(text) < 5_300
    bench.steps["default"] = [{"text": "on", **usage(10_000)}]
    async with bench.open(resume="") as conversation:
        await say(conversation, "and then?")
    assert bench.requests[-1]["messages"][2] == sent[2], "what was cut stays cut after a resume"


async def test_cut_results_are_told_once_a_turn(bench: Bench) -> None:
    (bench.root / "log.txt").write_text(LONG)
    bench.model = {"context_window": 40_000}
    looks = [look("log.txt", f"t{number}", 31_000) for number in range(4)]
    bench.steps["default"] = [*looks, {"text": "read", **usage(31_000)}] * 2
    async with bench.open() as conversation:
        for _ in range(2):
            events = await say(conversation, "read the log")
            told = [event.text for event in events if isinstance(event, Notice)]
            assert sum("long earlier tool results" in text for text in told) == 1, told
    assert str(bench.requests[-1]["messages"]).count("characters are left out here") >= 3


@pytest.mark.parametrize("context", ["sliding", "summarize"])
async def test_a_turn_of_middling_results_goes_on_when_the_provider_says_that_it_does_not_fit(
    bench: Bench, context: str
) -> None:
    bench.agent = AgentSettings(context="summarize" if context == "summarize" else "sliding")
    bench.model = {"context_window": 12_000}
    bench.steps["default"] = []
    for number in range(8):
        (bench.root / f"f{number}.txt").write_text(f"{'y' * 59}\n" * 100)
        bench.steps["default"].append(look(f"f{number}.txt", f"t{number}", 1_000))
    bench.steps["default"] += [{"error": "overflow"}, {"text": "read", **usage(5_000)}]
    async with bench.open() as conversation:
        events = await say(conversation, "read all of them")
        assert isinstance(events[-1], TurnEnd)
        assert events[-1].stop_reason == "end_turn"
    sent = bench.requests[-1]["messages"]
    check_request(sent)
    assert len(bench.requests) == 10
    assert str(sent).count("'toolResult'") == 8, "results are cut before any call goes"
    assert str(sent).count("characters are left out here") == 7


async def test_the_overflow_notice_comes_with_what_to_try_first(bench: Bench) -> None:
    bench.steps["default"] = [{"error": "overflow"}]
    async with bench.open() as conversation:
        events = await say(conversation, "first")
        (advice,) = [event.text for event in events if isinstance(event, Notice)]
        assert "/compact" in advice


async def test_a_turn_that_fills_the_window_is_carried_on_in_a_new_session(bench: Bench) -> None:
    (bench.root / "a.txt").write_text("alpha")
    bench.model = {"context_window": 40_000}
    bench.steps["default"] = [
        {"text": "one", **usage(1_000)},
        look("a.txt", "t1", 20_000),
        look("a.txt", "t2", 35_000),
        {"text": "done", **usage(6_000)},
    ]
    bench.side = [{"text": NOTES, **usage(180_000, 1_000)}]
    async with bench.open() as conversation:
        await say(conversation, "first")
        old = conversation.state.session_id
        events = await say(conversation, "read it twice")
        (event,) = compacted(events)
        new = conversation.state.session_id
        assert (event.previous, event.session_id) == (old, new)
        assert event.line == (
            f"Compacted 2 messages into a summary. New session {new}; the previous session {old} is kept."
        )
        assert isinstance(events[-1], TurnEnd)
        assert events[-1].stop_reason == "end_turn"
        assert (meta(bench, old)["compacted_to"], meta(bench, new)["compacted_from"]) == (new, old)
        assert len(bench.messages(old)) == 7, "everything up to the compaction is in the session before"
        kept = bench.messages(new)[2:]
        assert [origin_of(message) for message in kept] == [*((old, at) for at in range(2, 7)), None]
        assert texts(kept)[0] == "read it twice"
        assert texts(kept)[-1] == "done"
        assert conversation.state.context_tokens == 6_010
        assert conversation.state.usage.input_tokens == 1_000 + 20_000 + 35_000 + 180_000 + 6_000
        assert meta(bench, new)["tokens_in"] == 242_000
        await say(conversation, "next")
    for request in bench.requests:
        check_request(request["messages"])
    main = [request for request in bench.requests if not request["side"]]
    continued = main[3]["messages"]
    assert texts(continued)[:3] == [
        f"Summary of the previous conversation (session {old}):\n\n{event.summary}",
        ACKNOWLEDGED,
        "read it twice",
    ]
    assert [block["toolResult"]["toolUseId"] for block in continued[-1]["content"]] == ["t2"]


async def test_a_long_conversation_is_compacted_when_the_next_message_is_sent(bench: Bench) -> None:
    bench.model = {"context_window": 40_000}
    bench.steps["default"] = [
        {"text": "one", **usage(20_000)},
        {"text": "two", **usage(36_000)},
        {"text": "three", **usage(5_000)},
    ]
    bench.side = [{"text": NOTES, **usage(180_000, 1_000)}]
    bench.compaction = CompactionSettings(keep_turns=1)
    async with bench.open() as conversation:
        await say(conversation, "first")
        await say(conversation, "second")
        seen: list[tuple[str, int | None]] = []
        conversation.watch(lambda state: seen.append((state.session_id, state.context_tokens)))
        old = conversation.state.session_id
        events = await say(conversation, "third")
        assert len(compacted(events)) == 1
        new = conversation.state.session_id
        readings = [tokens for session, tokens in seen if session == new and tokens is not None]
        assert readings
        assert max(readings) < 30_000, "the summarizer's tokens are never shown as the conversation's"
        assert texts(bench.messages(new))[2:] == ["third", "three"]
        assert texts(bench.messages(old))[-1] == "third"
        assert len(side_requests(bench)) == 1, "no compaction follows the one that helped"


def near(seen: list[ConversationState]) -> list[str]:
    """What was told of the compaction to come while the window was filled to 90 %, without repetitions."""
    told = [state.compacts for state in seen if (state.context_tokens or 0) >= 36_000]
    return [text for before, text in zip(["", *told], told, strict=False) if text != before]


async def test_what_is_told_of_the_compaction_to_come_is_what_happens(bench: Bench) -> None:
    """In a turn before which there is nothing to summarize, behind it, and while the summary is written."""
    (bench.root / "a.txt").write_text("alpha")
    bench.model = {"context_window": 40_000}
    bench.steps["default"] = [look("a.txt", "t1", 36_000), {"text": "one", **usage(37_000)}, {"text": "two"}]
    bench.side = [{"text": NOTES}]
    seen: list[ConversationState] = []
    async with bench.open() as conversation:
        await conversation.model_ready()
        assert conversation.state.compacts == "at 75 %"
        conversation.watch(seen.append)
        await say(conversation, "first")
        assert near(seen)[0] == "after this turn"
        assert near(seen)[-1] == conversation.state.compacts == "next"
        said = await conversation.command("/status")
        assert isinstance(said, Said)
        assert any("(93 %) · compacts next" in line for line in said.lines)
        seen.clear()
        assert len(compacted(await say(conversation, "second"))) == 1
        assert near(seen) == ["next", "now"]
        assert conversation.state.compacts == "at 75 %"


async def test_a_compaction_that_does_not_help_is_not_repeated_for_ever(bench: Bench) -> None:
    bench.model = {"context_window": 2_000}  # the tools alone are longer
    bench.steps["default"] = [{"text": "reply", **usage(1_900)}]
    bench.side = [{"text": NOTES}]
    notices: list[str] = []
    async with bench.open() as conversation:
        for number in range(6):
            events = await say(conversation, f"message {number}")
            assert isinstance(events[-1], TurnEnd)
            assert events[-1].stop_reason == "end_turn"
            notices += [event.text for event in events if isinstance(event, Notice)]
        assert conversation.state.compacts == "no more"
    assert len(side_requests(bench)) == 2
    (told,) = [text for text in notices if "I stopped compacting" in text]
    assert "/new" in told


@pytest.mark.parametrize("context", ["sliding", "summarize"])
async def test_when_the_summary_does_not_fit_either_the_turn_ends_and_says_so(
    bench: Bench, context: str
) -> None:
    bench.agent = AgentSettings(context="summarize" if context == "summarize" else "sliding")
    bench.model = {"context_window": 40_000}
    bench.steps["default"] = [{"text": "one", **usage(36_000)}]
    bench.side = [{"error": "overflow"}]
    async with bench.open() as conversation:
        await say(conversation, "first")
        session = conversation.state.session_id
        before = bench.messages(session)
        bench_requests = len(bench.requests)
        assert conversation.state.compacts_at == 30_000
    bench.steps["default"] = [{"error": "overflow"}]
    async with bench.open(resume=session) as conversation:
        end = await ending(conversation, "second")
        assert end.stop_reason == "error"
        assert end.notice == (
            "The conversation no longer fits the model's context window; start a new session with /new."
        )
        assert len(bench.requests) - bench_requests <= 3
        assert not conversation.state.busy
        assert not conversation.state.summarizing
        assert bench.messages(conversation.state.session_id)[:2] == before
    bench.steps["default"] = [{"text": "fits again"}]
    async with bench.open(resume="") as conversation:
        assert (await ending(conversation, "shorter")).stop_reason == "end_turn"


async def test_a_request_that_never_fits_costs_few_calls_and_loses_nothing(bench: Bench) -> None:
    bench.model = {"context_window": 40_000}
    bench.steps["default"] = [{"text": "one", **usage(10_000)}, {"text": "two", **usage(36_000)}]
    async with bench.open() as conversation:
        await say(conversation, "first")
        await say(conversation, "second")
        session = conversation.state.session_id
        before = bench.messages(session)
    calls = len(bench.requests)
    bench.steps["default"] = [{"error": "overflow"}]
    bench.side = [{"text": "S"}]
    async with bench.open(resume=session) as conversation:
        end = await ending(conversation, "third")
        assert end.stop_reason == "error"
        assert "no longer fits" in end.notice
        assert bench.messages(session)[:4] == before
    assert len(bench.requests) - calls <= 6


async def test_the_summary_stays_in_a_sliding_window(bench: Bench) -> None:
    bench.agent = AgentSettings(window_size=4)
    bench.steps["default"] = [{"text": "reply"}]
    bench.side = [{"text": NOTES}]
    async with bench.open() as conversation:
        await say(conversation, "first")
        result = await conversation.command("/compact")
        assert isinstance(result, Switched)
        for number in range(8):
            await say(conversation, f"message {number}")
        session = conversation.state.session_id
    seed = f"Summary of the previous conversation (session {meta(bench, session)['compacted_from']})"
    for _ in range(2):
        async with bench.open(resume=session) as conversation:
            await say(conversation, "after a resume")
        sent = bench.requests[-1]["messages"]
        check_request(sent)
        assert texts(sent)[0].startswith(seed)
        assert texts(sent)[1] == ACKNOWLEDGED
        assert len(sent) <= 2 + 4 + 1
    async with bench.open(resume=session) as conversation:
        await conversation.command("/compact")
    text = side_requests(bench)[-1]["messages"][0]["content"][0]["text"]
    assert NOTES in text, "a later summary takes over what the earlier one says"


async def test_the_reading_after_a_resume_is_that_of_before(bench: Bench) -> None:
    bench.model = {"context_window": 200_000}
    bench.steps["default"] = [{"text": filler("word", 1_000), **usage(40_000, 1_000)}]
    async with bench.open() as conversation:
        await say(conversation, "first")
        assert conversation.state.context_tokens == 41_000
    async with bench.open(resume="") as conversation:
        assert conversation.state.context_tokens == 41_000
        await conversation.model_ready()
        await conversation.command("/status")
        assert conversation.state.context_tokens == 41_000
        await say(conversation, "second")
        assert conversation.state.context_tokens == 41_000
        assert conversation.state.usage.input_tokens == 80_000
    session = conversation.state.session_id
    path = bench.root / "data" / "sessions" / session / "meta.json"
    kept = json.loads(path.read_text())
    path.write_text(json.dumps({**kept, "context_at": 2}))  # as after a kill: the reading is of before
    async with bench.open(resume=session) as conversation:
        await conversation.model_ready()
        await conversation.command("/status")
        assert conversation.state.context_tokens == 41_000, "read from the usage of the newest reply"


async def test_esc_stops_an_automatic_compaction_with_its_turn(bench: Bench) -> None:
    bench.model = {"context_window": 40_000}
    bench.steps["default"] = [{"text": "one", **usage(36_000)}, {"text": "two", **usage(5_000)}]
    bench.side = [{"text": NOTES, "delay": 30, "chunks": 2}]
    async with bench.open() as conversation:
        await say(conversation, "first")
        old = conversation.state.session_id
        running = asyncio.create_task(say(conversation, "second"))
        await asyncio.wait_for(until(conversation, "summarizing"), 10)
        await asyncio.wait_for(conversation.cancel(), 10)
        events = await running
        assert isinstance(events[-1], TurnEnd)
        assert events[-1].stop_reason == "cancelled"
        assert not conversation.state.summarizing
        assert conversation.state.session_id == old
        assert "compacted_to" not in meta(bench, old)
        assert len(list((bench.root / "data" / "sessions").iterdir())) == 1
    bench.side = [{"text": NOTES}]
    async with bench.open(resume="") as conversation:
        assert conversation.state.session_id == old
        assert len(compacted(await say(conversation, "third"))) == 1
    for request in bench.requests:
        check_request(request["messages"])


async def test_esc_while_turns_are_copied_leaves_the_session_as_it_was(bench: Bench) -> None:
    from tests.conversation.test_fork import record_long

    record_long(bench)
    bench.agent = AgentSettings(window_size=10_000)
    bench.compaction = CompactionSettings(keep_turns=10_000)
    bench.side = [{"text": NOTES}]
    sessions = bench.root / "data" / "sessions"
    async with bench.open(session_id="long") as conversation:
        before = files(bench, "long")
        compacting = asyncio.create_task(conversation.command("/compact"))
        while len(list(sessions.iterdir())) < 2:
            await asyncio.sleep(0)
        await asyncio.wait_for(conversation.cancel(), 10)
        assert await asyncio.wait_for(compacting, 10) == Refused(CANCELLED)
        assert conversation.state.session_id == "long"
        assert files(bench, "long") == before
        assert "compacted_to" not in meta(bench, "long")
        (new,) = [folder.name for folder in sessions.iterdir() if folder.name != "long"]
        assert meta(bench, new)["unfinished"]
        assert len(files(bench, new)) < len(before)
        assert await conversation.sessions(ListQuery(exclude="long")) == []
        assert (await ending(conversation, "and on")).stop_reason == "end_turn"


async def test_a_session_that_was_not_finished_is_not_listed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.side = [{"text": NOTES}]
    bench.compaction = CompactionSettings(keep_turns=1)
    async with bench.open() as conversation:
        for text in ("first", "second"):
            await say(conversation, text)
        old = conversation.state.session_id
        sessions = bench.root / "data" / "sessions"

        async def refused(*_: object, **__: object) -> list[int]:
            raise StoreError("No space is left on the disk")

        monkeypatch.setattr(carrying, "copy_messages", refused)
        result = await conversation.command("/compact")
        assert result == Refused("No space is left on the disk")
        monkeypatch.undo()
        assert conversation.state.session_id == old
        assert len(list(sessions.iterdir())) == 2, "nothing is deleted, also not what came of it"
        assert "compacted_to" not in meta(bench, old)
        assert await conversation.sessions(ListQuery(directory=str(bench.root), exclude=old)) == []
        assert (await ending(conversation, "third")).stop_reason == "end_turn"
    async with bench.open(resume="") as conversation:
        assert conversation.state.session_id == old


async def test_a_summary_inside_the_window_is_a_side_call_that_costs(bench: Bench) -> None:
    bench.agent = AgentSettings(context="summarize", window_size=2)
    bench.steps["default"] = [{"text": filler("one", 500)}, {"text": filler("two", 500)}]
    bench.side = [{"text": NOTES, **usage(7_000, 50)}]
    async with bench.open() as conversation:
        await say(conversation, "first")
        await say(conversation, "second")
        session = conversation.state.session_id
    bench.steps["default"] = [{"when": "one one", "then": {"error": "overflow"}, "else": {"text": "three"}}]
    async with bench.open(resume=session) as conversation:
        assert (await ending(conversation, "third")).stop_reason == "end_turn"
        assert conversation.state.session_id == session
        assert conversation.state.usage.input_tokens == 7_000
        assert conversation.state.context_tokens is not None
        assert conversation.state.context_tokens < 7_000
    assert len(side_requests(bench)) == 1
    assert meta(bench, session)["tokens_in"] == 7_000


async def test_a_running_turn_is_carried_on_whole_however_small_the_window(bench: Bench) -> None:
    (bench.root / "a.txt").write_text("alpha")
    bench.agent = AgentSettings(window_size=4)
    bench.model = {"context_window": 40_000}
    looks = [look("a.txt", f"t{number}", 1_000) for number in range(5)]
    bench.steps["default"] = [
        {"text": "one", **usage(1_000)},
        *looks,
        look("a.txt", "t5", 36_000),
        {"text": "done", **usage(6_000)},
    ]
    bench.side = [{"text": NOTES}]
    async with bench.open() as conversation:
        await say(conversation, "first")
        assert len(compacted(await say(conversation, "look six times"))) == 1
    sent = bench.requests[-1]["messages"]
    check_request(sent)
    answered = [
        block["toolResult"]["toolUseId"]
        for message in sent
        for block in message["content"]
        if "toolResult" in block
    ]
    assert answered == [f"t{number}" for number in range(6)]


async def test_recall_reads_the_session_that_was_just_compacted(bench: Bench) -> None:
    recall = {"tools": [{"name": "recall", "input": {"query": "the gateway's port"}, "id": "r1"}]}
    bench.steps["default"] = [{"text": "noted"}, {"text": "noted"}, recall, {"text": "5433"}]
    bench.side = [{"text": NOTES}]
    bench.compaction = CompactionSettings(anchors_tokens=0)
    async with bench.open() as conversation:
        await say(conversation, "the port of the gateway is 5433")
        await say(conversation, "and the region is eu-central-1")
        assert isinstance(await conversation.command("/compact"), Switched)
        await say(conversation, "which port was it?")
    (result,) = bench.requests[-1]["messages"][-1]["content"]
    assert "the port of the gateway is 5433" in result["toolResult"]["content"][0]["text"]


async def test_a_name_leads_to_a_whole_session_only(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.side = [{"text": NOTES}]
    async with bench.open(name="rates") as conversation:
        await say(conversation, "first")
        old = conversation.state.session_id

        async def refused(*_: object, **__: object) -> list[int]:
            raise StoreError("No space is left on the disk")

        monkeypatch.setattr(carrying, "copy_messages", refused)
        assert isinstance(await conversation.command("/compact"), Refused)
        monkeypatch.undo()
    async with bench.open(resume="rates") as conversation:
        assert conversation.state.session_id == old


async def test_a_window_that_reads_along_goes_where_the_conversation_goes(bench: Bench) -> None:
    bench.side = [{"text": NOTES}]
    async with bench.open() as first:
        await say(first, "first")
        old = first.state.session_id
        async with bench.open(session_id=old, read_only_ok=True) as second:
            assert second.state.held_by
            for _ in range(2):
                assert isinstance(await first.command("/compact"), Switched)
                await say(first, "and on")
            opening = await second.follow()
            assert opening is not None
            assert second.state.session_id == first.state.session_id != old
            assert second.state.held_by, "it still reads along"
            await first.close()
            assert await second.follow() is not None
            assert not second.state.held_by
            assert (await ending(second, "mine now")).stop_reason == "end_turn"
