"""Sessions as a person meets them: opened, resumed, named, held elsewhere, damaged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import pytest

from tau.config.settings import AgentSettings
from tau.conversation.state import ModelListing, Refused, Said, SessionListing, Switched
from tau.errors import SessionHeld, SessionMismatch, SessionNotFound, TauError, UsageError
from tau.sessions.records import ListQuery
from tests.conversation.conftest import Bench, ending
from tests.conversation.test_turns import check_request


def folder(bench: Bench, session_id: str) -> Path:
    return bench.root / "data" / "sessions" / session_id


def snapshot(path: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


def with_times(path: Path) -> dict[str, tuple[bytes, int]]:
    """Every file, hidden ones too: its bytes, and when it was last written."""
    return {file: (data, Path(file).stat().st_mtime_ns) for file, data in snapshot(path).items()}


async def recorded(bench: Bench, *texts: str, name: str | None = None) -> str:
    """A session in which these messages were sent and answered."""
    async with bench.open(name=name) as conversation:
        for text in texts:
            await ending(conversation, text)
        return conversation.state.session_id


async def test_a_resumed_session_goes_on_where_it_stopped(bench: Bench) -> None:
    session = await recorded(bench, "first")
    async with bench.open(resume="") as conversation:
        opening = await conversation.ready()
        assert opening.state.session_id == session
        assert [item.message["content"][0]["text"] for item in opening.history.messages] == [
            "first",
            "hello there",
        ]
        await ending(conversation, "second")
        assert len(bench.messages(session)) == 4
    assert [message["role"] for message in bench.requests[-1]["messages"]] == ["user", "assistant", "user"]


async def test_a_session_without_a_message_is_kept_but_not_listed(bench: Bench) -> None:
    async with bench.open() as conversation:
        empty = conversation.state.session_id
    async with bench.open() as conversation:
        listing = await conversation.command("/sessions")
        assert isinstance(listing, SessionListing)
        assert listing.sessions == []
    assert folder(bench, empty).is_dir()
    with pytest.raises(SessionNotFound):
        async with bench.open(resume=""):
            pass


async def test_the_listing_is_newest_first_and_leaves_out_the_current_session(bench: Bench) -> None:
    older, newer = await recorded(bench, "older"), await recorded(bench, "newer")
    async with bench.open() as conversation:
        await ending(conversation, "current")
        listing = await conversation.command("/sessions")
        assert isinstance(listing, SessionListing)
        assert [summary.session_id for summary in listing.sessions] == [newer, older]
        number, session, _day, _time, channel, title, *count = listing.lines[0].split(" ")
        assert (number, session, channel, title) == ("1.", newer, "terminal", "newer")
        assert " ".join(count) == "(2 messages)"
        switched = await conversation.command("/resume 2")
        assert isinstance(switched, Switched)
        assert switched.opening.state.session_id == older
        assert isinstance(await conversation.command("/resume 9"), Refused)


async def test_only_sessions_of_this_directory_are_considered(bench: Bench, tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    a.mkdir()
    b.mkdir()
    async with bench.open(directory=a) as conversation:
        await ending(conversation, "in a")
        session = conversation.state.session_id
    with pytest.raises(SessionNotFound):
        async with bench.open(directory=b, resume=""):
            pass
    async with bench.open(directory=b, resume=session) as conversation:
        opening = await conversation.ready()
        assert conversation.state.directory == str(b)
        assert any(str(a) in notice and str(b) in notice for notice in opening.notices)
        await ending(conversation, "where?")
    assert str(b) in str(bench.requests[-1]["system"])
    assert str(a) not in str(bench.requests[-1]["system"])


async def test_names_are_generated_given_and_never_shared(bench: Bench) -> None:
    async with bench.open() as first, bench.open() as second:
        assert first.state.name
        assert first.state.name != second.state.name
        assert isinstance(await first.command("/name my work"), Said)
        refused = await second.command("/name my work")
        assert isinstance(refused, Refused)
        assert "my work" in refused.line
        await ending(first, "hi")
        session = first.state.session_id
    with pytest.raises(UsageError):
        async with bench.open(name="my work"):
            pass
    async with bench.open(resume="my work") as conversation:
        assert conversation.state.session_id == session


async def test_renaming_does_not_move_a_session_up(bench: Bench) -> None:
    older, newer = await recorded(bench, "older"), await recorded(bench, "newer")
    async with bench.open() as conversation:
        await conversation.switch(older)
        await conversation.new()
        await conversation.switch(newer)
        await conversation.command("/name later")
        await conversation.new()
        summaries = await conversation.sessions(ListQuery(exclude=conversation.state.session_id))
        assert [summary.session_id for summary in summaries][:2] == [newer, older]


async def test_the_role_comes_back_and_an_unknown_one_is_said(bench: Bench) -> None:
    bench.steps["fast"] = [{"text": "quick"}]
    async with bench.open() as conversation:
        listing = await conversation.command("/model")
        assert isinstance(listing, ModelListing)
        assert [(choice.role, choice.current) for choice in listing.choices] == [
            ("default", True),
            ("fast", False),
        ]
        assert isinstance(await conversation.command("/model fast"), Said)
        await ending(conversation, "go")
    async with bench.open(resume="") as conversation:
        assert conversation.state.role == "fast"
    del bench.steps["fast"]
    async with bench.open(resume="") as conversation:
        opening = await conversation.ready()
        assert conversation.state.role == "default"
        assert any("fast" in notice for notice in opening.notices)


async def test_a_model_that_cannot_be_used_keeps_the_one_in_force(bench: Bench) -> None:
    async with bench.open() as conversation:
        await conversation.model_ready()
        refused = await conversation.command("/model nonsense")
        assert isinstance(refused, Refused)
        assert conversation.state.role == "default"
        assert (await ending(conversation, "still there?")).stop_reason == "end_turn"


@pytest.mark.parametrize("mode", ["sliding", "summarize"])
@pytest.mark.parametrize("door", ["start", "command", "switch"])
async def test_a_session_of_another_window_is_refused_and_left_alone(
    bench: Bench, door: str, mode: Literal["sliding", "summarize"]
) -> None:
    bench.agent = AgentSettings(context=mode)
    session = await recorded(bench, "hi")
    bench.agent = AgentSettings(context="summarize" if mode == "sliding" else "sliding")
    before = with_times(folder(bench, session))
    sentence = (
        f"Session {session} was recorded with a different [agent] context setting; "
        f"set it back to {mode} or start a new session"
    )
    if door == "start":
        for channel in ("terminal", "tui"):
            with pytest.raises(SessionMismatch) as caught:
                async with bench.open(resume=session, channel=channel):
                    pass
            assert caught.value.message == sentence
            command = "tau tui" if channel == "tui" else "tau chat"
            hint = f"`{command}`, then /fork {session}, goes on with it in a new session"
            assert caught.value.line() == f"{sentence} ({hint})"
    else:
        async with bench.open() as conversation:
            current = conversation.state.session_id
            line = f"{sentence} (/fork {session} goes on with it in a new session)"
            if door == "command":
                assert await conversation.command(f"/resume {session}") == Refused(line)
            else:
                with pytest.raises(SessionMismatch) as caught:
                    await conversation.switch(session)
                assert caught.value.line() == line
            assert conversation.state.session_id == current
            assert (await ending(conversation, "still here")).stop_reason == "end_turn"
            assert len(bench.messages(current)) == 2
    assert with_times(folder(bench, session)) == before


async def test_a_second_window_reads_along_and_cannot_write(bench: Bench) -> None:
    async with bench.open() as first:
        await ending(first, "mine")
        session = first.state.session_id
        async with bench.open(resume=session, read_only_ok=True) as second:
            opening = await second.ready()
            assert "process" in second.state.held_by
            assert len(opening.history.messages) == 2
            end = await ending(second, "me too")
            assert end.stop_reason == "error"
            assert "another window" in end.notice
            assert isinstance(await second.command("/name mine"), Refused)
        with pytest.raises(SessionHeld):
            async with bench.open(resume=session):
                pass
        assert (await ending(first, "still mine")).stop_reason == "end_turn"
        assert len(bench.messages(session)) == 4


@pytest.mark.parametrize("damage", [b"", b'{"message": {"role": "us', b"\0" * 512])
async def test_a_damaged_message_is_named_once_and_hides_nothing(bench: Bench, damage: bytes) -> None:
    session = await recorded(bench, "one", "two", "three")
    damaged = folder(bench, session) / "agents" / "tau" / "messages" / "000002.json"
    damaged.write_bytes(damage)
    sound = {path: data for path, data in snapshot(damaged.parent).items() if path != str(damaged)}
    async with bench.open(resume=session) as conversation:
        opening = await conversation.ready()
        assert sum("000002.json" in notice for notice in opening.notices) == 1
        shown = str([item.message for item in opening.history.messages])
        assert "one" in shown
        assert "three" in shown
        await ending(conversation, "go on")
    check_request(bench.requests[-1]["messages"])
    sent = str(bench.requests[-1]["messages"])
    assert all(word in sent for word in ("one", "three", "go on"))
    kept = snapshot(damaged.parent)
    assert damage in kept.values()
    assert all(kept[path] == data for path, data in sound.items())
    assert (damaged.parent / "000007.json").exists()
    async with bench.open(resume=session) as conversation:
        assert not [notice for notice in (await conversation.ready()).notices if "damaged" in notice]


@pytest.mark.parametrize("part", ["agents/tau/agent.json", "meta.json", "session.json"])
@pytest.mark.parametrize("content", [b"{", b""])
async def test_unreadable_metadata_hides_no_message(bench: Bench, part: str, content: bytes) -> None:
    session = await recorded(bench, "one", "two")
    messages = snapshot(folder(bench, session) / "agents" / "tau" / "messages")
    (folder(bench, session) / part).write_bytes(content)
    async with bench.open(resume=session) as conversation:
        opening = await conversation.ready()
        assert len(opening.history.messages) == 4
        await ending(conversation, "three")
        assert len(bench.messages(session)) == 6
    kept = snapshot(folder(bench, session) / "agents" / "tau" / "messages")
    assert all(kept[path] == data for path, data in messages.items())
    assert json.loads((folder(bench, session) / part).read_text())


async def test_a_prompt_that_was_never_answered_is_kept_and_followed_by_a_notice(bench: Bench) -> None:
    session = await recorded(bench, "hi")
    messages = folder(bench, session) / "agents" / "tau" / "messages"
    lost = json.loads((messages / "000000.json").read_text())
    lost["message"]["content"] = [{"text": "lost prompt"}]
    (messages / "000002.json").write_text(json.dumps({**lost, "message_id": 2}))
    async with bench.open(resume=session) as conversation:
        await ending(conversation, "next")
    sent = bench.requests[-1]["messages"]
    check_request(sent)
    assert "lost prompt" in str(sent)
    assert "(The previous turn did not finish.)" in str(sent)
    assert [message["content"][0]["text"] for message in bench.messages(session)][2:5] == [
        "lost prompt",
        "(The previous turn did not finish.)",
        "next",
    ]


async def test_a_long_session_opens_with_its_newest_turns_and_pages_back(bench: Bench) -> None:
    session = await recorded(bench, *(f"message {number}" for number in range(60)))
    async with bench.open(resume=session) as conversation:
        newest = (await conversation.ready()).history
        assert newest.more
        assert newest.first_index == 40
        assert newest.messages[0].message["content"][0]["text"] == "message 20"
        earlier = await conversation.earlier(newest.first_index, 15)
        assert [earlier.first_index, len(earlier.messages), earlier.more] == [10, 30, True]
        earliest = await conversation.earlier(earlier.first_index, 20)
        assert [earliest.first_index, len(earliest.messages), earliest.more] == [0, 10, False]
        assert conversation.state.in_memory <= 60


async def test_search_and_preview_write_nothing(bench: Bench) -> None:
    session = await recorded(bench, "the needle is here")
    before = snapshot(folder(bench, session))
    async with bench.open() as conversation:
        hits = await conversation.search("needle", ListQuery())
        assert [(hit.session_id, hit.index) for hit in hits] == [(session, 0)]
        page = await conversation.preview(session)
        assert len(page.messages) == 2
    assert snapshot(folder(bench, session)) == before


async def test_quitting_during_a_turn_keeps_what_was_said(bench: Bench) -> None:
    bench.steps["default"] = [{"text": "a long answer", "chunks": 13, "delay": 600}]
    async with bench.open() as conversation:
        session = conversation.state.session_id
        stream = conversation.send("remember this")
        await anext(stream)
    assert bench.messages(session)[0]["content"] == [{"text": "remember this"}]
    await stream.aclose()  # type: ignore[attr-defined]


async def test_an_unknown_command_names_the_nearest_one(bench: Bench) -> None:
    async with bench.open() as conversation:
        refused = await conversation.command("/sesions")
        assert isinstance(refused, Refused)
        assert "/sessions" in refused.line
        with pytest.raises(TauError):
            await conversation.switch("../x")


async def test_a_second_window_follows_and_takes_over_when_the_first_is_gone(bench: Bench) -> None:
    async with bench.open() as first:
        await ending(first, "one")
        session = first.state.session_id
        async with bench.open(resume=session, read_only_ok=True) as second:
            assert await second.follow() is None
            await ending(first, "two")
            opening = await second.follow()
            assert opening is not None
            assert len(opening.history.messages) == 4
            assert second.state.held_by
            assert await second.follow() is None
            await first.close()
            opening = await second.follow()
            assert opening is not None
            assert not opening.state.held_by
            assert (await ending(second, "three")).stop_reason == "end_turn"
            assert len(bench.messages(session)) == 6


async def test_an_id_that_is_a_name_of_this_directory_is_refused(bench: Bench) -> None:
    session = await recorded(bench, "hi", name="jade")
    with pytest.raises(UsageError, match="named jade"):
        async with bench.open(session_id="jade"):
            pass
    async with bench.open(resume="jade") as conversation:
        assert conversation.state.session_id == session


async def test_a_directory_that_is_gone_is_said(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    async with bench.open(directory=gone) as conversation:
        await ending(conversation, "hi")
        gone.rmdir()
        refused = await conversation.command("/new")
        assert isinstance(refused, Refused)
        assert str(gone) in refused.line
        assert (await ending(conversation, "still here")).stop_reason == "end_turn"


async def test_what_streamed_before_a_kill_is_shown_and_goes_on(bench: Bench) -> None:
    session = await recorded(bench, "one")
    messages = folder(bench, session) / "agents" / "tau" / "messages"
    prompt = json.loads((messages / "000000.json").read_text())
    prompt["message"]["content"] = [{"text": "two"}]
    (messages / "000002.json").write_text(json.dumps({**prompt, "message_id": 2}))
    (folder(bench, session) / ".reply").write_text("half a rep")
    async with bench.open(resume=session) as conversation:
        shown = (await conversation.ready()).history.messages
        assert [item.index for item in shown] == [0, 1, 2, 3]
        assert "half a rep\n\n[interrupted]" in str(shown[-1].message["content"][0]["text"])
        await ending(conversation, "three")
    texts = [message["content"][0]["text"] for message in bench.messages(session)]
    assert texts[2:5] == ["two", "half a rep\n\n[interrupted]", "three"]
    check_request(bench.requests[-1]["messages"])
