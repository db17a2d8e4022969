"""A name belongs to a conversation: what it left behind as it went on is not in its way, another one is."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest

from tau.conversation import Conversation
from tau.conversation.state import Refused, Said, Switched
from tau.errors import UsageError
from tau.sessions.file import open_store
from tau.sessions.store import StoreContext
from tests.conversation.conftest import Bench, say
from tests.conversation.test_compaction import NOTES, meta

COMPACT, REWIND, UNDO = "/compact", "/rewind 1", "/undo"


async def go_on(conversation: Conversation, *moves: str) -> list[str]:
    """Say something and move on, again and again; the ids of the sessions that were in hand, in order."""
    found = [conversation.state.session_id]
    for number, move in enumerate(moves):
        await say(conversation, f"said in {number}")
        result = await conversation.command(move)
        assert isinstance(result, Switched), result
        found.append(conversation.state.session_id)
    await say(conversation, "and on")
    return found


async def opened(bench: Bench, **request: Any) -> str:
    async with bench.open(**request) as conversation:
        return conversation.state.session_id


@pytest.mark.parametrize(
    "moves",
    [
        [COMPACT],
        [COMPACT, COMPACT, COMPACT],
        [COMPACT, UNDO],
        [COMPACT, REWIND],
        [REWIND, COMPACT],
        [UNDO, COMPACT, UNDO, COMPACT],
    ],
)
async def test_a_conversation_takes_a_name_back_that_it_had_before(bench: Bench, moves: list[str]) -> None:
    bench.side = [{"text": NOTES}]
    async with bench.open(name="rates") as conversation:
        sessions = await go_on(conversation, *moves)
        assert isinstance(await conversation.command("/name prices"), Said)
        assert isinstance(await conversation.command("/name rates"), Said)
        assert conversation.state.name == "rates"
        await conversation.command("/name prices")
    assert await opened(bench, resume=sessions[-1], name="rates") == sessions[-1]
    assert meta(bench, sessions[-1])["name"] == "rates"
    assert await opened(bench, resume="rates") == sessions[-1]
    with pytest.raises(UsageError, match="Another session of this directory is named rates"):
        await opened(bench, name="rates")


async def test_a_name_leads_to_the_session_that_carries_it_on(bench: Bench) -> None:
    bench.side = [{"text": NOTES}]
    async with bench.open(name="rates") as conversation:
        first, second, third = await go_on(conversation, COMPACT, REWIND)
    async with bench.open() as conversation:
        await conversation.switch(first)
    assert meta(bench, first)["compacted_to"] == second, "which was left when the person went back"
    assert await opened(bench, resume="rates") == third


async def test_a_name_that_was_given_up_leads_to_where_the_conversation_goes_on(bench: Bench) -> None:
    bench.side = [{"text": NOTES}]
    async with bench.open(name="rates") as conversation:
        _, last = await go_on(conversation, COMPACT)
        await conversation.command("/name prices")
    assert await opened(bench, resume="rates") == last
    assert await opened(bench, resume="prices") == last


NO_NAMES = {
    "2": "2 cannot be a session's name: /resume and /fork take a number for a place in a list",
    "20260101": "20260101 cannot be a session's name",
    "first": "first is the id of another session",
}


@pytest.mark.parametrize("name", NO_NAMES)
async def test_what_would_never_lead_to_it_is_no_name(bench: Bench, name: str) -> None:
    said = f"^{NO_NAMES[name]}"
    await opened(bench, session_id="first")
    other = await opened(bench)
    async with bench.open() as conversation:
        before = conversation.state.name
        for command in ("/name", "/new"):
            refused = await conversation.command(f"{command} {name}")
            assert isinstance(refused, Refused)
            assert refused.line.startswith(NO_NAMES[name])
            assert refused.line.endswith(")"), "with a hint"
        with pytest.raises(UsageError, match=said):
            await conversation.rename_session(other, name)
        assert conversation.state.name == before
    for request in ({}, {"resume": other}):
        with pytest.raises(UsageError, match=said):
            await opened(bench, name=name, **request)
    assert isinstance(meta(bench, other)["name"], str)


@pytest.mark.parametrize("name", ["2", "first"])
async def test_a_session_that_has_such_a_name_opens_by_its_id(bench: Bench, name: str) -> None:
    await opened(bench, session_id="first")
    other = await opened(bench)
    store = open_store(StoreContext(data_dir=bench.places.data, state_dir=bench.places.state))
    with closing(store), store.hold(other) as writer:
        writer.patch_meta({"name": name})
        writer.flush()
    assert await opened(bench, resume=other) == other
    assert await opened(bench, resume=other, name=name) == other, "it has it already"
    assert await opened(bench, session_id="own", name="own") == "own", "its own id leads to it"
    assert await opened(bench, session_id="own", name="own") == "own"


async def test_a_fork_is_another_conversation(bench: Bench) -> None:
    bench.side = [{"text": NOTES}]
    async with bench.open(name="rates") as conversation:
        await go_on(conversation, COMPACT)
        held = conversation.state.session_id
        for fork in ("/fork", "/fork 1"):
            assert isinstance(await conversation.command(fork), Switched)
            refused = await conversation.command("/name rates")
            assert isinstance(refused, Refused), refused
            assert "Another session of this directory is named rates" in refused.line
    assert await opened(bench, resume="rates") == held


@pytest.mark.parametrize("move", [COMPACT, UNDO])
async def test_one_that_was_gone_on_with_by_itself_is_another_conversation(bench: Bench, move: str) -> None:
    bench.side = [{"text": NOTES}]
    async with bench.open(name="rates") as conversation:
        first, last = await go_on(conversation, move)
        await conversation.command("/name prices")
        await conversation.switch(first)
        await conversation.command("/name rates")
        await say(conversation, "by itself")
        await conversation.switch(last)
        assert isinstance(await conversation.command("/name rates"), Refused)
        await conversation.switch(first)
        assert isinstance(await conversation.command("/name prices"), Refused)
    assert await opened(bench, resume="rates") == first
    assert await opened(bench, resume="prices") == last
