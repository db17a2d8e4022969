"""A session that was compacted is opened where its conversation goes on; the old one is kept as it was."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest

from tau.config.settings import AgentSettings
from tau.conversation.state import Refused, Switched
from tau.errors import SessionHeld, SessionMismatch
from tests.conversation.conftest import Bench, ending, say
from tests.conversation.test_compaction import NOTES, compacted, files, meta, texts, usage


def patch(bench: Bench, session_id: str, **changes: Any) -> None:
    """Change the metadata of a session by hand; None removes a key."""
    path = bench.root / "data" / "sessions" / session_id / "meta.json"
    changed = {**json.loads(path.read_text()), **changes}
    path.write_text(json.dumps({key: value for key, value in changed.items() if value is not None}))


async def chain(bench: Bench, *, sessions: int = 2, **request: Any) -> list[str]:
    """The ids of sessions each of which was compacted into the next."""
    bench.side = [{"text": NOTES}]
    found = []
    async with bench.open(**request) as conversation:
        for number in range(sessions):
            await say(conversation, f"said in {number}")
            found.append(conversation.state.session_id)
            if number + 1 < sessions:
                assert isinstance(await conversation.command("/compact"), Switched)
    return found


def opened_in_place(old: str, new: str) -> str:
    return (
        f"Session {old} was compacted and goes on in session {new}, which is opened in its place; "
        f"/fork {old} goes on from it as it was."
    )


@pytest.mark.parametrize("channel", ["run", "json", "terminal", "tui"])
async def test_a_fixed_id_leads_to_what_was_said_last(bench: Bench, channel: str) -> None:
    bench.model = {"context_window": 40_000}
    bench.steps["default"] = [{"text": "one", **usage(36_000)}]
    bench.side = [{"text": NOTES}]
    request: dict[str, Any] = {"session_id": "job", "channel": channel, "name": "nightly"}
    async with bench.open(**request) as conversation:
        await say(conversation, "first")
    bench.steps["default"] = [{"text": "the answer", **usage(3_000)}]
    async with bench.open(**request) as conversation:
        assert len(compacted(await say(conversation, "second"))) == 1
        new = conversation.state.session_id
    before = files(bench, "job")
    for text in ("third", "fourth"):
        async with bench.open(**request) as conversation:
            assert (await conversation.ready()).notices == [opened_in_place("job", new)]
            assert conversation.state.session_id == new
            assert conversation.state.name == "nightly"
            assert (await ending(conversation, text)).stop_reason == "end_turn"
        assert "the answer" in texts(bench.requests[-1]["messages"])
    assert files(bench, "job") == before


async def test_a_chain_is_followed_to_its_end_through_every_door(bench: Bench) -> None:
    first, second, last = await chain(bench, sessions=3, name="rates")
    before = {session: files(bench, session) for session in (first, second)}
    doors: list[tuple[str, dict[str, Any]]] = [
        (first, {"session_id": first}),
        (first, {"resume": first}),
        (first, {"resume": first[:-1]}),
        (second, {"session_id": second}),
    ]
    for asked, request in doors:
        async with bench.open(**request) as conversation:
            assert (await conversation.ready()).notices == [opened_in_place(asked, last)]
            assert conversation.state.session_id == last
    straight: list[dict[str, Any]] = [{"resume": "rates"}, {"resume": ""}, {"session_id": last}]
    for request in straight:
        async with bench.open(**request) as conversation:
            assert conversation.state.session_id == last
            assert (await conversation.ready()).notices == []
    async with bench.open() as conversation:
        result = await conversation.command(f"/resume {first}")
        assert isinstance(result, Switched)
        assert result.line == f"Resumed session {last}."
        assert list(result.opening.notices) == [opened_in_place(first, last)]
        assert await conversation.command(f"/resume {first}") == Refused(
            f"Session {first} goes on in session {last}, which is the current one "
            f"(/fork {first} goes on from it as it was)"
        )
        assert isinstance(await conversation.command(f"/fork {first}"), Switched)
        fork = conversation.state.session_id
        assert texts(bench.messages(fork)) == texts(bench.messages(first))
    assert {session: files(bench, session) for session in (first, second)} == before
    async with bench.open(session_id=fork) as conversation:
        assert conversation.state.session_id == fork, "a fork is a conversation of its own"


@pytest.mark.parametrize("broken", ["gone", "unfinished", "unusable", "no id"])
async def test_where_it_cannot_go_on_the_old_one_is_opened_and_it_is_said(bench: Bench, broken: str) -> None:
    first, second, last = await chain(bench, sessions=3)
    folder = bench.root / "data" / "sessions" / last
    put_away = bench.root / "put away"
    if broken in ("gone", "unusable"):
        shutil.move(folder, put_away)
    if broken == "unusable":
        folder.write_text("no folder")
    if broken == "unfinished":
        patch(bench, last, unfinished=True)
    if broken == "no id":
        patch(bench, second, compacted_to="../../etc")
        last = "../../etc"
    for session, notices in ((first, 2), (second, 1)):
        async with bench.open(session_id=session) as conversation:
            told = list((await conversation.ready()).notices)
            assert conversation.state.session_id == second
            assert len(told) == notices
            assert told[0] == opened_in_place(first, second) or notices == 1
            assert told[-1].startswith(
                f"Session {second} was compacted and goes on in session {last}, which cannot be opened ("
            )
            assert told[-1].endswith(f"; session {second} is opened, and goes on by itself.")
    async with bench.open(session_id=first) as conversation:
        assert (await ending(conversation, "so I go on here")).stop_reason == "end_turn"
    if broken == "gone":  # and comes back, from a backup
        shutil.move(put_away, folder)
        async with bench.open(session_id=first) as conversation:
            told = list((await conversation.ready()).notices)
            assert conversation.state.session_id == second, "what was said last under this id is not lost"
            assert told[-1] == (
                f"Session {second} was compacted into session {last} and has been gone on with by itself "
                f"since; /resume {last} opens that one."
            )
            assert "so I go on here" in texts(bench.messages(second))


@pytest.mark.parametrize("length", [1, 2, 3])
async def test_links_in_a_circle_are_not_followed(bench: Bench, length: int) -> None:
    sessions = await chain(bench, sessions=length)
    patch(bench, sessions[-1], compacted_to=sessions[0])
    for session in sessions:
        async with bench.open(session_id=session) as conversation:
            assert conversation.state.session_id == session
            (notice,) = (await conversation.ready()).notices
            assert notice == f"The links of session {session} lead in a circle; it is opened itself."


async def test_one_that_another_window_writes_is_read_along_or_refused_by_name(bench: Bench) -> None:
    first, last = await chain(bench)
    async with bench.open(session_id=last) as writing:
        with pytest.raises(SessionHeld) as caught:
            async with bench.open(session_id=first, channel="run"):
                pass
        assert caught.value.line().startswith(
            f"Session {first} goes on in session {last}. Session {last} is open"
        )
        async with bench.open(session_id=first, read_only_ok=True) as reading:
            assert reading.state.held_by
            assert reading.state.session_id == last
            assert (await reading.ready()).notices == [opened_in_place(first, last)]
        assert (await ending(writing, "mine")).stop_reason == "end_turn"


async def test_one_of_another_window_setting_is_refused_with_the_way_to_it(bench: Bench) -> None:
    first, last = await chain(bench)
    bench.agent = AgentSettings(context="summarize")
    with pytest.raises(SessionMismatch) as caught:
        async with bench.open(session_id=first):
            pass
    line = caught.value.line()
    assert line.startswith(f"Session {first} goes on in session {last}. Session {last} was recorded with")
    assert f"/fork {last}" in line


async def test_one_that_was_chosen_beside_those_that_continue_it_is_opened_as_it_is(bench: Bench) -> None:
    first, last = await chain(bench)
    async with bench.open(session_id=last) as conversation:
        opening = await conversation.switch(first)  # as the list of sessions does, which shows both
        assert conversation.state.session_id == first
        (notice,) = opening.notices
        assert notice == (
            f"Session {first} was compacted and goes on in session {last}; this is the one before, which "
            f"goes on by itself from here. /resume {last} opens that one."
        )
        assert (await conversation.switch(last)).notices == []
        await conversation.switch(first)
        assert (await ending(conversation, "another way")).stop_reason == "end_turn"
    async with bench.open(session_id=first) as conversation:
        assert conversation.state.session_id == first, "what was said last under this id is not lost"
        (notice,) = (await conversation.ready()).notices
        assert "has been gone on with by itself since" in notice
        assert isinstance(await conversation.command(f"/resume {last}"), Switched)
        assert conversation.state.session_id == last


async def test_what_a_session_goes_on_from_is_counted(bench: Bench) -> None:
    first, last = await chain(bench)
    assert meta(bench, last)["compacted_from"] == first
    assert meta(bench, last)["from_count"] == 2 == len(bench.messages(first))
    async with bench.open(resume=last) as conversation:
        for text in ("one more", "and another"):
            await say(conversation, text)
        count = len(bench.messages(last))
        for command, copied in (("/fork", count), ("/fork 2", 4), ("/undo", 2), (f"/fork {first}", 2)):
            assert isinstance(await conversation.command(command), Switched)
            made = meta(bench, conversation.state.session_id)
            assert (made["from_count"], conversation.state.message_count) == (copied, copied)
            assert "unfinished" not in made
