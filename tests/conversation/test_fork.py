"""Branching: a session copied whole, up to a turn or from before a prompt; its source is only read."""

from __future__ import annotations

import asyncio
import json
import resource
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tau.agent import notices
from tau.agent.history import INTERRUPTED_RESULT
from tau.config.settings import AgentSettings
from tau.conversation import Conversation
from tau.conversation.core import Core
from tau.conversation.state import OpenRequest, PromptListing, Refused, Switched
from tau.conversation.switching import COPY_CANCELLED
from tau.events import TextDelta, ToolCallRecord, to_line
from tau.sessions.file import open_store
from tau.sessions.records import ListQuery, Message, StoredMessage, origin_of
from tau.sessions.store import SessionStore, StoreContext
from tests.conversation.conftest import Bench, ending, say
from tests.conversation.test_turns import check_request
from tests.longest_block import longest_block

SUMMARY = "Summary of the previous conversation (session 20260101-000000-aaaa):\nWe spoke of rates."


def store_of(bench: Bench) -> SessionStore:
    return open_store(StoreContext(data_dir=bench.places.data, state_dir=bench.places.state))


def said(text: str) -> Message:
    return {"role": "user", "content": [{"text": text}]}


def answered(text: str) -> Message:
    return {"role": "assistant", "content": [{"text": text}]}


def record(bench: Bench, session_id: str, *messages: Message) -> None:
    """Write a session through the store."""
    meta = {"directory": str(bench.root), "role": "default", "title": "rates", "channel": "terminal"}
    with store_of(bench).create(session_id, meta=meta) as writer:
        for index, message in enumerate(messages):
            writer.append(index, message)


def on_disk(bench: Bench, session_id: str) -> dict[str, tuple[bytes, int]]:
    """Every file of a session: its bytes, and when it was last written."""
    folder = bench.root / "data" / "sessions" / session_id
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    assert files
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


async def kept(conversation: Conversation, session_id: str) -> list[StoredMessage]:
    """The messages of any session, whatever keeps it."""
    return list((await conversation.preview(session_id)).messages)


def words(messages: list[StoredMessage]) -> list[str]:
    return [item.message["content"][0].get("text", "") for item in messages]


async def switched(conversation: Conversation, line: str) -> Switched:
    result = await conversation.command(line)
    assert isinstance(result, Switched), result
    return result


async def refused(conversation: Conversation, line: str) -> str:
    """The line of a command that must not work; the session in hand stays."""
    before = conversation.state
    result = await conversation.command(line)
    assert isinstance(result, Refused), result
    after = conversation.state
    assert (after.session_id, after.message_count) == (before.session_id, before.message_count)
    return result.line


@pytest.fixture(params=["file", "memory"])
def stored(request: pytest.FixtureRequest, bench: Bench) -> Bench:
    bench.backend = request.param
    bench.steps["default"] = [
        {"text": word, "usage": {"inputTokens": 100, "outputTokens": 10}} for word in ("one", "two", "three")
    ]
    return bench


async def test_a_fork_is_a_whole_copy_that_goes_its_own_way(stored: Bench) -> None:
    async with stored.open() as conversation:
        await say(conversation, "first")
        await say(conversation, "second")
        old = conversation.state
        whole = await kept(conversation, old.session_id)
        result = await switched(conversation, "/fork")
        new = conversation.state
        assert result.line == (
            f"Forked session {old.session_id} into new session {new.session_id}; {old.session_id} is kept."
        )
        assert result.draft == ""
        assert new.title == "first"
        assert new.name not in ("", old.name)
        assert (new.usage.input_tokens, new.turns, new.message_count) == (0, 0, 4)
        copies = await kept(conversation, new.session_id)
        assert [origin_of(item.message) for item in copies] == [(old.session_id, n) for n in range(4)]
        bare = [{key: item.message[key] for key in item.message if key != "metadata"} for item in copies]
        assert bare == [
            {key: item.message[key] for key in item.message if key != "metadata"} for item in whole
        ]
        await say(conversation, "third")
        assert await kept(conversation, old.session_id) == whole
        assert words(await kept(conversation, new.session_id))[4:] == ["third", "three"]
        summaries = await conversation.sessions(ListQuery())
        assert {item.session_id: item.text("forked_from") for item in summaries} == {
            old.session_id: "",
            new.session_id: old.session_id,
        }
    sent = stored.requests[-1]["messages"]
    assert [message["content"][0]["text"] for message in sent] == ["first", "one", "second", "two", "third"]


async def test_a_fork_of_a_turn_ends_with_it(stored: Bench) -> None:
    async with stored.open() as conversation:
        assert "no messages" in await refused(conversation, "/fork")
        assert "no message of yours" in await refused(conversation, "/fork 1")
        for text in ("first", "second", "third"):
            await say(conversation, text)
        old = conversation.state.session_id
        for number in ("0", "4"):
            assert "1 to 3" in await refused(conversation, f"/fork {number}")
        await switched(conversation, "/fork 2")
        middle = conversation.state.session_id
        assert words(await kept(conversation, middle)) == ["first", "one", "second", "two"]
        await switched(conversation, f"/resume {old}")
        await switched(conversation, "/fork 3")
        assert words(await kept(conversation, conversation.state.session_id))[4:] == ["third", "three"]
        await switched(conversation, f"/fork {middle}")
        copy = await kept(conversation, conversation.state.session_id)
        assert [origin_of(item.message) for item in copy] == [(old, n) for n in range(4)]


async def test_a_session_of_another_window_is_carried_into_a_new_one(bench: Bench) -> None:
    async with bench.open(name="quail") as conversation:
        await say(conversation, "hi")
        old = conversation.state.session_id
    bench.agent = AgentSettings(context="summarize")
    before = on_disk(bench, old)
    async with bench.open() as conversation:
        assert await refused(conversation, f"/resume {old}") == (
            f"Session {old} was recorded with a different [agent] context setting; "
            f"set it back to sliding or start a new session (/fork {old} goes on with it in a new session)"
        )
        assert on_disk(bench, old) == before
        result = await switched(conversation, "/fork quail")
        new = conversation.state.session_id
        assert result.line == f"Forked session {old} into new session {new}; {old} is kept."
        assert on_disk(bench, old) == before
        assert (await ending(conversation, "go on")).stop_reason == "end_turn"
    assert on_disk(bench, old) == before
    assert len(bench.requests[-1]["messages"]) == 3
    async with bench.open(resume=new) as conversation:
        assert conversation.state.message_count == 4


async def test_a_session_that_another_window_writes_is_only_read(bench: Bench) -> None:
    async with bench.open() as first, bench.open() as second:
        await say(first, "mine")
        held = first.state.session_id
        before = on_disk(bench, held)
        await switched(second, f"/fork {held}")
        assert on_disk(bench, held) == before
        await say(second, "yours")
        await say(first, "still mine")
        assert [message["content"][0]["text"] for message in bench.messages(held)[::2]] == [
            "mine",
            "still mine",
        ]
        copy = bench.messages(second.state.session_id)
        assert [message["content"][0]["text"] for message in copy[::2]] == ["mine", "yours"]
        async with bench.open(resume=held, read_only_ok=True) as third:
            assert third.state.held_by
            await switched(third, "/fork")
            assert not third.state.held_by
            assert (await ending(third, "mine now")).stop_reason == "end_turn"


async def test_a_session_of_another_directory_and_role_is_told_of(bench: Bench, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    bench.steps["fast"] = [{"text": "quick"}]
    async with bench.open(directory=elsewhere, role="fast") as conversation:
        await say(conversation, "hi")
        old = conversation.state.session_id
    async with bench.open() as conversation:
        assert "nothing_here" in await refused(conversation, "/fork nothing_here")
        result = await switched(conversation, f"/fork {old}")
        assert conversation.state.role == "fast"
        assert any(str(elsewhere) in notice for notice in result.opening.notices)
        assert (await switched(conversation, "/undo")).opening.notices == []


@pytest.mark.parametrize("lost", [0, 1, 2])
async def test_what_cannot_be_read_is_told_and_keeps_its_place(bench: Bench, lost: int) -> None:
    call = {"toolUse": {"toolUseId": "t1", "name": "read_file", "input": {"path": "a"}}}
    result = {"toolResult": {"toolUseId": "t1", "status": "success", "content": [{"text": "aaa"}]}}
    whole: list[Message] = [
        said("look"),
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
        answered("It says aaa."),
    ]
    record(bench, "source", *whole)
    folder = bench.root / "data" / "sessions" / "source"
    (folder / "agents" / "tau" / "messages" / f"00000{lost}.json").write_text("{")
    (folder / ".journal").unlink()  # its copy of the message would be used
    before = on_disk(bench, "source")
    async with bench.open() as conversation:
        opening = (await switched(conversation, "/fork source")).opening
        assert [item.index for item in opening.history.messages] == [0, 1, 2, 3]
        told = [notice for notice in opening.notices if f"Message {lost} of session source" in notice]
        assert len(told) == 1
        assert on_disk(bench, "source") == before
        await ending(conversation, "go on")
    check_request(bench.requests[-1]["messages"])
    copies = bench.messages(opening.state.session_id)
    assert [origin_of(message) for message in copies[:4]] == [("source", n) for n in range(4)]
    assert "could not be read" in json.dumps(copies[lost])
    for index, original in enumerate(whole):
        assert index == lost or copies[index]["content"] == original["content"]


async def test_a_turn_that_was_cut_off_is_mended_in_the_fork_as_on_resume(bench: Bench) -> None:
    calls = [
        {"toolUse": {"toolUseId": name, "name": "shell", "input": {"command": name}}} for name in ("t1", "t2")
    ]
    asking = {"role": "assistant", "content": calls, "tracking_id": "m1"}
    record(bench, "cut", said("run it"), asking)
    with store_of(bench).hold("cut") as writer:
        event = ToolCallRecord("shell", 2, {}, "success", "it worked", "approved", 0.1, "t1", message="m1")
        writer.append_event(to_line(event))
    before = on_disk(bench, "cut")
    async with bench.open() as conversation:
        await switched(conversation, "/fork cut")
        assert conversation.state.message_count == 2
        await ending(conversation, "and?")
    sent = bench.requests[-1]["messages"]
    check_request(sent)
    results = [block["toolResult"]["content"][0]["text"] for block in sent[2]["content"]]
    assert results == ["it worked", INTERRUPTED_RESULT]
    assert on_disk(bench, "cut") == before


def calls_of(bench: Bench, session_id: str) -> list[dict[str, Any]]:
    """What is on record of a session's calls."""
    with store_of(bench).read(session_id) as reader:
        return [event for event in reader.events() if event["kind"] == "tool_call"]


def turn_with_a_call(number: int) -> list[Message]:
    """A turn of one call, whose id every turn begins anew with."""
    call = {"toolUse": {"toolUseId": "t1", "name": "shell", "input": {"command": f"make {number}"}}}
    came_to = {"toolResult": {"toolUseId": "t1", "status": "success", "content": [{"text": "made"}]}}
    return [
        said(f"make {number}"),
        {"role": "assistant", "content": [call], "tracking_id": f"m{number}"},
        {"role": "user", "content": [came_to]},
        answered("It is made."),
    ]


def call_in_turn(number: int) -> ToolCallRecord:
    arguments = {"command": f"make {number}"}
    return ToolCallRecord(
        "shell", 2, arguments, "success", "made", "approved", number / 10, "t1", message=f"m{number}"
    )


async def test_what_is_on_record_of_the_calls_comes_along(bench: Bench) -> None:
    """Also where it is long ago, and in a fork of a fork."""
    turns = 300
    record(bench, "old", *(message for number in range(turns) for message in turn_with_a_call(number)))
    with store_of(bench).hold("old") as writer:
        writer.append_event({"kind": "tool_call", "message": ["of no known shape"], "at": "2026-01-01"})
        for number in range(turns):
            writer.append_event(to_line(call_in_turn(number)))
            writer.append_event({"kind": "notice", "text": "something else", "at": "2026-01-01"})
    before = calls_of(bench, "old")
    async with bench.open(resume="old") as conversation:
        for command, copied in ((f"/fork {turns - 1}", turns - 1), ("/fork 2", 2), ("/fork", 2)):
            await switched(conversation, command)
            assert calls_of(bench, conversation.state.session_id) == before[1 : copied + 1]
    assert calls_of(bench, "old") == before


async def test_a_reply_that_was_cut_off_comes_along(bench: Bench) -> None:
    record(bench, "cut", said("tell me"))
    with store_of(bench).hold("cut") as writer:
        writer.append_scratch("half a rep")
    async with bench.open() as conversation:
        await switched(conversation, "/fork cut")
        await ending(conversation, "go on")
    texts = [message["content"][0]["text"] for message in bench.requests[-1]["messages"]]
    assert texts == ["tell me", "half a rep\n\n[interrupted]", "go on"]


async def test_a_copy_that_fails_leaves_the_current_session_in_hand(bench: Bench) -> None:
    async with bench.open() as conversation:
        await say(conversation, "long " * 40_000)
        old = conversation.state.session_id
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
        try:
            line = await refused(conversation, "/fork")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert line.startswith(f"Session {old} could not be copied: ")
        assert (await ending(conversation, "still here")).stop_reason == "end_turn"
        assert len(bench.messages(old)) == 4


LONG = 3_000
"""Messages of a session that takes a while to copy."""

BLOCKED = 0.08
"""Seconds, five times what was measured; the whole copy takes ten times as long."""


def record_long(bench: Bench, count: int = LONG // 2) -> None:
    """A session of so many messages, and a call in every turn."""
    record(bench, "long", *(message for number in range(count // 4) for message in turn_with_a_call(number)))
    with store_of(bench).hold("long") as writer:
        for number in range(count // 4):
            writer.append_event(to_line(call_in_turn(number)))


async def test_the_loop_is_free_while_a_long_session_is_copied(bench: Bench) -> None:
    record_long(bench, LONG)
    core = Core(bench.settings(), OpenRequest(channel="terminal", session_id="long"), lambda state: None)
    await core.open()
    try:
        async with longest_block() as longest:
            copy = await core.opener.fork(core.reader)
        with copy.reader:
            assert copy.reader.count() == LONG
            assert len(copy.reader.events()) == LONG // 4
        assert longest[0] < BLOCKED
    finally:
        await core.close()


async def sessions_but(bench: Bench, *session_ids: str) -> list[str]:
    return [name for name in store_of(bench).session_ids() if name not in session_ids]


@pytest.mark.parametrize("stop", [Conversation.cancel, Conversation.close])
async def test_a_copy_that_is_stopped_is_not_listed(
    bench: Bench, stop: Callable[[Conversation], Awaitable[None]]
) -> None:
    record_long(bench)
    async with bench.open(session_id="long") as conversation:
        before = on_disk(bench, "long")
        copying = asyncio.create_task(conversation.command("/fork"))
        while not await sessions_but(bench, "long"):
            await asyncio.sleep(0)
        await asyncio.wait_for(stop(conversation), 10)
        assert await asyncio.wait_for(copying, 10) == Refused(COPY_CANCELLED)
        (copy,) = await sessions_but(bench, "long")
        assert 0 <= len(bench.messages(copy)) < LONG // 2
        assert json.loads((bench.root / "data" / "sessions" / copy / "meta.json").read_text())["unfinished"]
        assert store_of(bench).holder(copy) is None
        assert {item.session_id for item in store_of(bench).summaries(ListQuery())} == {"long"}
        if stop is Conversation.cancel:
            assert on_disk(bench, "long") == before
            assert conversation.state.session_id == "long"
            assert (await ending(conversation, "and on")).stop_reason == "end_turn"
            assert len(bench.messages("long")) == LONG // 2 + 2


async def test_a_caller_that_gives_up_stops_the_copy(bench: Bench) -> None:
    record_long(bench)
    async with bench.open(session_id="long") as conversation:
        copying = asyncio.create_task(conversation.command("/fork"))
        while not await sessions_but(bench, "long"):
            await asyncio.sleep(0)
        copying.cancel()
        await asyncio.wait({copying})
        assert (await ending(conversation, "and on")).stop_reason == "end_turn"
        assert conversation.state.session_id == "long"
        (copy,) = await sessions_but(bench, "long")
        assert len(bench.messages(copy)) < LONG // 2


# Going back before a prompt --------------------------------------------------------------------------


async def test_rewind_lists_the_prompts_and_goes_back_before_one(stored: Bench) -> None:
    long = "second\n" + "\n".join(f"  line {n}" for n in range(40))
    async with stored.open() as conversation:
        assert "no turn" in await refused(conversation, "/rewind")
        assert "no message of yours" in await refused(conversation, "/rewind 1")
        for text in ("first", long, "third"):
            await say(conversation, text)
        old = conversation.state.session_id
        whole = await kept(conversation, old)
        listing = await conversation.command("/rewind")
        assert isinstance(listing, PromptListing)
        assert [(prompt.number, prompt.index) for prompt in listing.prompts] == [(1, 0), (2, 2), (3, 4)]
        assert [prompt.at for prompt in listing.prompts] == [item.created_at for item in whole[::2]]
        assert listing.prompts[1].text.startswith("second line 0 line 1")
        assert "1 to 3" in await refused(conversation, "/rewind 4")
        assert "number" in await refused(conversation, "/rewind back")
        result = await switched(conversation, "/rewind 2")
        new = conversation.state.session_id
        assert result.draft == long
        assert f"in new session {new}; the previous session {old} is kept." in result.line
        assert words(await kept(conversation, new)) == ["first", "one"]
        assert await kept(conversation, old) == whole
        listing = await conversation.command("/rewind")
        assert isinstance(listing, PromptListing)
        assert [(prompt.number, prompt.at) for prompt in listing.prompts] == [(1, "")]
        result = await switched(conversation, "/rewind 1")
        assert (result.draft, conversation.state.message_count, conversation.state.title) == ("first", 0, "")
        await say(conversation, "anew")
        assert conversation.state.title == "anew"


async def test_a_summary_is_no_prompt(bench: Bench) -> None:
    seed = [said(SUMMARY), answered("Understood. I will continue from this summary.")]
    record(bench, "compacted", *seed, said("and now?"), answered("Now this."))
    record(bench, "fresh", *seed)
    async with bench.open(resume="compacted") as conversation:
        listing = await conversation.command("/rewind")
        assert isinstance(listing, PromptListing)
        assert [(prompt.number, prompt.text) for prompt in listing.prompts] == [(1, "and now?")]
        assert (await switched(conversation, "/undo")).draft == "and now?"
        assert conversation.state.title == "rates"
        assert words(await kept(conversation, conversation.state.session_id))[0] == SUMMARY
        assert "no turn" in await refused(conversation, "/undo")
        await switched(conversation, "/resume fresh")
        for line in ("/undo", "/rewind", "/rewind 1", "/fork 1"):
            await refused(conversation, line)
        await switched(conversation, "/fork")
        assert conversation.state.message_count == 2


async def test_a_long_session_is_listed_whole(bench: Bench) -> None:
    record(bench, "long", *(item for n in range(700) for item in (said(f"question {n}"), answered("so"))))
    async with bench.open(resume="long") as conversation:
        listing = await conversation.command("/rewind")
        assert isinstance(listing, PromptListing)
        assert [prompt.text for prompt in listing.prompts] == [f"question {n}" for n in range(700)]
        await switched(conversation, "/rewind 600")
        assert conversation.state.message_count == 1198


async def test_nothing_of_it_happens_while_a_turn_runs(bench: Bench) -> None:
    bench.steps["default"] = [{"text": "one"}, {"text": "word " * 200, "chunks": 200, "delay": 0.05}]
    async with bench.open() as conversation:
        await say(conversation, "first")
        running = asyncio.Event()

        async def turn() -> list[Any]:
            events = []
            async for event in conversation.send("second"):
                events.append(event)
                if isinstance(event, TextDelta):
                    running.set()
            return events

        task = asyncio.create_task(turn())
        await running.wait()
        session = conversation.state.session_id
        for line in ("/fork", "/fork 1", f"/fork {session}", "/rewind", "/rewind 1", "/undo"):
            assert await conversation.command(line) == Refused(notices.BUSY)
        await conversation.cancel()
        assert (await task)[-1].stop_reason == "cancelled"
        assert conversation.state.session_id == session


async def test_a_fork_before_a_poisoned_message_is_a_way_out(bench: Bench) -> None:
    (bench.root / "poison.txt").write_text("POISON-7")
    read = {"tools": [{"name": "read_file", "input": {"path": "poison.txt"}, "id": "t1"}]}
    poisoned = {
        "when": "POISON-7",
        "then": {"error": "refused", "message": "400: the request has POISON-7 in it"},
        "else": {"text": "fine"},
    }
    bench.steps["default"] = [{"text": "hello"}, read, poisoned]
    async with bench.open() as conversation:
        await say(conversation, "hi")
        for text in ("read it", "again"):
            assert (await ending(conversation, text)).stop_reason == "error"
        old = conversation.state.session_id
        await switched(conversation, "/fork 1")
        assert (await ending(conversation, "and now?")).stop_reason == "end_turn"
        assert (await switched(conversation, f"/resume {old}")).opening.state.message_count > 4
        assert (await switched(conversation, "/rewind 2")).draft == "read it"
        assert (await ending(conversation, "something else")).stop_reason == "end_turn"
    sent = bench.requests[-1]["messages"]
    check_request(sent)
    assert [message["content"][0]["text"] for message in sent] == ["hi", "hello", "something else"]
