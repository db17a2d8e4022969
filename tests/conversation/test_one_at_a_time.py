"""What changes a conversation happens one thing at a time, completely or not at all."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tau.config.settings import ModelSettings, Settings
from tau.conversation import Conversation
from tau.conversation.state import OpenRequest, Refused, Said, Switched
from tau.errors import StoreError, TauError
from tau.events import Notice, TextDelta, TurnEnd
from tests.conversation.conftest import Bench, ending, say, say_until

SLOW = {"text": "one two three four five six seven eight nine ten", "chunks": 48, "delay": 0.05}


@pytest.mark.parametrize("line", ["/model fast", "/new", "/resume", "/MODEL fast"])
async def test_nothing_is_exchanged_under_a_running_turn(bench: Bench, line: str) -> None:
    bench.steps = {"default": [{"text": "first"}, SLOW, {"text": "after"}], "fast": [{"text": "quick"}]}
    async with bench.open() as conversation:
        await ending(conversation, "earlier")
    async with bench.open() as conversation:
        await ending(conversation, "one")
        session = conversation.state.session_id
        answers = []

        async def change() -> None:
            answers.append(await conversation.command(line))
            await conversation.cancel()

        end = await say_until(conversation, "two", lambda shown: "two" in shown, change)
        assert end.stop_reason == "cancelled"
        assert answers == [Refused("I am still answering the previous turn.")]
        assert (await ending(conversation, "three")).stop_reason == "end_turn"
        assert [message["role"] for message in bench.messages(session)] == ["user", "assistant"] * 3


async def test_a_role_changes_between_turns_and_the_next_message_is_recorded(bench: Bench) -> None:
    bench.steps = {"default": [{"text": "slow"}], "fast": [{"text": "quick"}]}
    async with bench.open() as conversation:
        await ending(conversation, "one")
        changing = asyncio.create_task(conversation.command("/model fast"))
        events = await say(conversation, "two")
        assert isinstance(await changing, Said)
        assert isinstance(events[-1], TurnEnd)
        assert events[-1].stop_reason == "end_turn"
        await ending(conversation, "three")
        session = conversation.state.session_id
        texts = [message["content"][0]["text"] for message in bench.messages(session)]
        assert [texts[0], texts[2], texts[4]] == ["one", "two", "three"]
        assert texts[5] == "quick"


async def test_a_new_session_while_the_model_is_prepared(bench: Bench) -> None:
    conversation = Conversation.start(bench.settings(), OpenRequest(channel="terminal"))
    try:
        await conversation.ready()
        await conversation.new()
        for text in ("one", "two"):
            assert (await ending(conversation, text)).stop_reason == "end_turn"
        assert len(bench.messages(conversation.state.session_id)) == 4
    finally:
        await conversation.close()


@pytest.fixture
def port() -> Iterator[int]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        yield probe.getsockname()[1]


def silent_settings(bench: Bench, port: int) -> Settings:
    """A role whose server, once there, accepts connections and never says anything."""
    model = ModelSettings(provider="llamacpp", base_url=f"http://127.0.0.1:{port}")
    given = bench.settings()
    return Settings(
        places=given.places, directory=given.directory, sessions=given.sessions, models={"default": model}
    )


@pytest.mark.parametrize("way", ["cancel", "close"])
async def test_a_turn_that_still_waits_for_its_model_can_be_stopped(bench: Bench, way: str) -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]
        conversation = Conversation.start(silent_settings(bench, port), OpenRequest(channel="terminal"))
        session = (await conversation.ready()).state.session_id
        with pytest.raises(TauError):
            await conversation.model_ready()
        server.listen()
        turn = asyncio.create_task(say(conversation, "are you there?"))
        while not conversation.state.busy:
            await asyncio.sleep(0.005)
        began = time.monotonic()
        await (conversation.cancel() if way == "cancel" else conversation.close())
        events = await turn
        assert isinstance(events[-1], TurnEnd)
        assert events[-1].stop_reason == "cancelled"
        assert time.monotonic() - began < 5
        await conversation.close()
    assert bench.messages(session) == []


async def test_a_session_whose_model_is_missing_is_resumed_all_the_same(bench: Bench) -> None:
    bench.steps["odd"] = [{"text": "odd"}]
    async with bench.open(role="odd") as conversation:
        await ending(conversation, "hi")
        odd = conversation.state.session_id
    async with bench.open() as conversation:
        await conversation.model_ready()
        (bench.root / "odd.json").write_text("not a script")
        switched = await conversation.command(f"/resume {odd}")
        assert isinstance(switched, Switched)
        assert switched.opening.state.session_id == odd
        assert "odd.json" in conversation.state.model_problem
        (bench.root / "odd.json").write_text(json.dumps([{"text": "even"}]))
        assert (await ending(conversation, "again")).stop_reason == "end_turn"
        assert len(bench.messages(odd)) == 4


async def test_a_switch_that_fails_leaves_the_session_in_hand(bench: Bench) -> None:
    async with bench.open() as conversation:
        await ending(conversation, "elsewhere")
        other = conversation.state.session_id
    messages = bench.root / "data" / "sessions" / other / "agents" / "tau" / "messages"
    target = messages / "000001.json"
    target.rename(messages / "moved")
    target.symlink_to(messages / "moved")
    async with bench.open() as conversation:
        await ending(conversation, "here")
        current = conversation.state.session_id
        assert isinstance(await conversation.command(f"/resume {other}"), Refused)
        assert conversation.state.session_id == current
        await ending(conversation, "still here")
        assert len(bench.messages(current)) == 4
    async with bench.open(session_id=current) as conversation:
        assert conversation.state.session_id == current


def fill(path: Path) -> None:
    """Take what room is left on the file system of a path."""
    with path.open("wb", buffering=0) as out:
        try:
            while True:
                out.write(b"\0" * 4096)
        except OSError:
            return


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small file system")
async def test_words_that_are_not_saved_keep_their_session_in_hand(bench: Bench) -> None:
    disk = bench.root / "data"
    disk.mkdir()
    assert os.system(f"mount -t tmpfs -o size=512k tmpfs {disk}") == 0
    try:
        async with bench.open() as conversation:
            await ending(conversation, "first")
            session = conversation.state.session_id
            fill(disk / "ballast")
            events = await say(conversation, "second " + "x" * 8000)
            told = [event.text for event in events if isinstance(event, Notice)]
            assert any("not saved" in text and "space" in text for text in told)
            assert any(isinstance(event, TextDelta) for event in events), "the reply is shown all the same"
            refused = await conversation.command("/new")
            assert isinstance(refused, Refused)
            assert "not left" in refused.line
            assert conversation.state.session_id == session
            (disk / "ballast").unlink()
            assert isinstance(await conversation.command("/new"), Switched)
            assert len(bench.messages(session)) == 4
            assert conversation.state.unsaved == ""
            fill(disk / "ballast")
            await say(conversation, "third " + "x" * 8000)
            with pytest.raises(StoreError, match="could not be saved"):
                await conversation.close()
    finally:
        assert os.system(f"umount -l {disk}") == 0


async def test_a_closed_conversation_says_so(bench: Bench) -> None:
    async with bench.open() as conversation:
        pass
    assert await ending(conversation, "hello?") == TurnEnd("error", "The conversation is closed.")
    await conversation.cancel()
    await conversation.close()
