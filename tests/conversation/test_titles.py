"""Titles: the first message, or what the model writes after the first turn where that is set."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from tau.agent.titles import plain_title
from tau.conversation import Conversation, carrying
from tau.conversation.copying import copy_messages
from tau.conversation.state import Switched
from tau.sessions.records import ListQuery
from tau.sessions.store import SessionReader, SessionWriter
from tests.conversation.conftest import Bench, say
from tests.conversation.test_compaction import NOTES, meta, side_requests, usage


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


def slow_title(bench: Bench, then: str = "Another title") -> None:
    """A title that takes a moment, after a first turn that took 1,000 tokens."""
    bench.titles = "model"
    bench.steps["default"] = [{"text": "It does.", **usage(1_000)}]
    bench.side = [{"text": "A late title", "chunks": 2, "delay": 0.3, **usage(7_000)}, {"text": then}]


@pytest.mark.parametrize("back", [False, True])
async def test_a_title_is_counted_for_the_session_that_it_was_written_for(bench: Bench, back: bool) -> None:
    slow_title(bench)
    async with bench.open() as conversation:
        await say(conversation, "Why?")
        old = conversation.state.session_id
        await until(conversation, lambda: bool(side_requests(bench)))
        assert isinstance(await conversation.command("/new"), Switched)
        new = conversation.state.session_id
        if back:
            assert isinstance(await conversation.command(f"/resume {old}"), Switched)
        await until(conversation, lambda: meta(bench, old)["title"] == "A late title")
        assert meta(bench, old)["tokens_in"] == 8_000
        assert "tokens_in" not in meta(bench, new)
        if back:
            await until(conversation, lambda: conversation.state.title == "A late title")
            assert conversation.state.usage.input_tokens == 8_000
        else:
            assert (conversation.state.usage.input_tokens, conversation.state.title) == (0, "")
            await say(conversation, "Something else")
            assert meta(bench, new)["tokens_in"] == 1_000
    async with bench.open(session_id=old) as conversation:
        assert conversation.state.usage.input_tokens == 8_000


async def test_a_title_goes_along_when_its_session_is_compacted(bench: Bench) -> None:
    slow_title(bench, NOTES)
    async with bench.open() as conversation:
        await say(conversation, "Why?")
        await until(conversation, lambda: bool(side_requests(bench)))
        assert isinstance(await conversation.command("/compact"), Switched)
        await until(conversation, lambda: conversation.state.title == "A late title")
        new = conversation.state.session_id
        assert (meta(bench, new)["title"], meta(bench, new)["tokens_in"]) == ("A late title", 8_000)


@pytest.mark.parametrize("back", [False, True])
async def test_a_title_reaches_a_compacted_session_that_was_left(bench: Bench, back: bool) -> None:
    slow_title(bench, NOTES)
    bench.side = [{**(bench.side or [])[0], "delay": 0.8}, {"text": NOTES}]
    async with bench.open() as conversation:
        await say(conversation, "Why?")
        old = conversation.state.session_id
        await until(conversation, lambda: bool(side_requests(bench)))
        assert isinstance(await conversation.command("/compact"), Switched)
        newest, before = conversation.state.session_id, meta(bench, old)
        assert isinstance(await conversation.command("/new"), Switched)
        if back:
            assert isinstance(await conversation.command(f"/resume {newest}"), Switched)
        await until(conversation, lambda: meta(bench, newest)["title"] == "A late title")
        assert meta(bench, newest)["tokens_in"] == 8_000
        assert meta(bench, old) == before
        if back:
            await until(conversation, lambda: conversation.state.title == "A late title")


async def test_a_title_that_comes_while_a_session_is_compacted_goes_along(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow_title(bench, NOTES)

    async def copy_late(source: SessionReader, writer: SessionWriter, *, end: int, start: int) -> list[int]:
        await until(conversation, lambda: conversation.state.title == "A late title")
        return await copy_messages(source, writer, end=end, start=start)

    monkeypatch.setattr(carrying, "copy_messages", copy_late)  # as a slow disk would make it
    async with bench.open() as conversation:
        await say(conversation, "Why?")
        await until(conversation, lambda: bool(side_requests(bench)))
        assert isinstance(await conversation.command("/compact"), Switched)
        assert meta(bench, conversation.state.session_id)["title"] == "A late title"
        assert conversation.state.title == "A late title"


@pytest.mark.parametrize("late", [False, True])
async def test_a_title_is_found_at_the_newest_session(bench: Bench, late: bool) -> None:
    slow_title(bench, NOTES)
    async with bench.open() as conversation:
        await say(conversation, "Why is it red?")
        await until(conversation, lambda: bool(side_requests(bench)))
        titled = until(conversation, lambda: conversation.state.title == "A late title")
        if not late:
            await titled
        assert isinstance(await conversation.command("/compact"), Switched)
        if late:
            await titled
        newest = conversation.state.session_id
        found = await conversation.search("late title", ListQuery())
        assert [(hit.session_id, hit.role) for hit in found] == [(newest, "title")]


async def test_a_title_that_is_the_first_message_is_found_once(bench: Bench) -> None:
    bench.side = [{"text": NOTES}]
    async with bench.open() as conversation:
        await say(conversation, "Why is it red?")
        old = conversation.state.session_id
        assert isinstance(await conversation.command("/compact"), Switched)
        found = await conversation.search("why red", ListQuery())
        said = [(hit.session_id, hit.role) for hit in found if hit.role != "summary"]
        assert said == [(old, "user")]


async def test_a_title_that_fails_is_counted_all_the_same(bench: Bench) -> None:
    bench.titles = "model"
    bench.side = [{"text": " ", **usage(7_000)}]
    async with bench.open() as conversation:
        await say(conversation, "Why?")
        session = conversation.state.session_id
        await until(conversation, lambda: meta(bench, session)["tokens_in"] == 7_000)
        assert conversation.state.title == "Why?"


async def test_a_title_for_a_session_that_another_window_took_is_given_up(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    slow_title(bench)
    caplog.set_level("INFO", logger="tau.conversation.titling")
    async with bench.open() as conversation:
        await say(conversation, "Why?")
        old = conversation.state.session_id
        await until(conversation, lambda: bool(side_requests(bench)))
        assert isinstance(await conversation.command("/new"), Switched)
        async with bench.open(session_id=old) as other:
            before = meta(bench, old)
            await until(conversation, lambda: f"The title of session {old} is not saved" in caplog.text)
            assert meta(bench, old) == before
            assert other.state.title == "Why?"


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        ('"The nightly job fails"\nas asked', "The nightly job fails"),
        ('The nightly job fails"', "The nightly job fails"),
        ("“The job", "The job"),
        ("„Der Job“", "Der Job"),
        ("«Titre»", "Titre"),
        ("「題」", "題"),
        ("`Title`", "Title"),
        ('“"Title"”', "Title"),
        ("'It's broken'", "It's broken"),
        ("'It's broken", "It's broken"),
        ('Title."', "Title"),
        ('"Title."', "Title"),
        ("# **Title**", "Title"),
        ("## Title ##", "Title"),
        ("**Title", "Title"),
        ("Title**", "Title"),
        ("_Nightly_", "Nightly"),
        ("- A title…", "A title"),
        ("\n\n  On the third line", "On the third line"),
        ('\x1b[31m"Red"\x1b[0m', "Red"),
        ("\x1b]0;evil\x07Title", "Title"),
        ('"A \u202etitle\x07\x00"', "A title"),
        ('"', ""),
        ("", ""),
        # What belongs to a title stays.
        ('"Foo" is broken', '"Foo" is broken'),
        ('"Foo" and "Bar"', '"Foo" and "Bar"'),
        ("`quail.rates` moved", "`quail.rates` moved"),
        ("The boys' room", "The boys' room"),
        ("Why does it fail?", "Why does it fail?"),
        ("Learn C#", "Learn C#"),
        ("Learn C++.", "Learn C++"),
        ("__init__ is missing", "__init__ is missing"),
        ("*.py files", "*.py files"),
        ("A family 👨‍👩‍👧", "A family 👨‍👩‍👧"),
    ],
)
def test_a_title_is_without_what_models_dress_it_in(answer: str, title: str) -> None:
    assert plain_title(answer) == title
    assert plain_title(title) == title
