"""What the person said in a conversation is listed through all its sessions, and gone back to in each."""

from __future__ import annotations

import json

import pytest

from tau.config.settings import CompactionSettings
from tau.conversation import Conversation, history, prompts
from tau.conversation.state import PromptListing, Refused, Switched
from tau.sessions.file import open_store
from tau.sessions.lineage import Read
from tau.sessions.records import Message, MetaValue, with_origin
from tau.sessions.store import SessionStore, StoreContext
from tests.conversation.conftest import Bench, say

NOTES = [{"text": "The person counts."}]


def said(text: str) -> Message:
    return {"role": "user", "content": [{"text": text}]}


def answered(text: str) -> Message:
    return {"role": "assistant", "content": [{"text": text}]}


def store_of(bench: Bench) -> SessionStore:
    return open_store(StoreContext(data_dir=bench.places.data, state_dir=bench.places.state))


def record(bench: Bench, session_id: str, *messages: Message, **links: MetaValue) -> None:
    meta = {"directory": str(bench.root), "role": "default", "channel": "tui", **links}
    with store_of(bench).create(session_id, meta=meta) as writer:
        for index, message in enumerate(messages):
            writer.append(index, message)


async def listed(conversation: Conversation) -> list[tuple[int, str]]:
    """The numbers and texts of the whole list."""
    listing = await conversation.command("/rewind")
    assert isinstance(listing, PromptListing), listing
    assert listing.earlier is None
    return [(prompt.number, prompt.text) for prompt in listing.prompts]


async def switched(conversation: Conversation, line: str) -> Switched:
    result = await conversation.command(line)
    assert isinstance(result, Switched), result
    return result


async def shown(conversation: Conversation) -> list[str]:
    """What is said in the session in hand, without the summary and the word that it was read."""
    page = await conversation.preview(conversation.state.session_id, 1_000)
    texts = [history.said(item) for item in page.messages if item.message["role"] == "user"]
    return [text for text in texts if not text.startswith("Summary")]


@pytest.mark.parametrize("keep", [0, 2])
@pytest.mark.parametrize("backend", ["file", "memory"])
async def test_numbers_stay_through_compactions_and_forks(bench: Bench, keep: int, backend: str) -> None:
    bench.backend, bench.side = backend, NOTES
    bench.compaction = CompactionSettings(keep_turns=keep)
    async with bench.open() as conversation:
        names = [f"message {number}" for number in range(1, 8)]
        for name in names[:4]:
            await say(conversation, name)
        first = conversation.state.session_id
        await switched(conversation, "/compact")
        await say(conversation, names[4])
        second = conversation.state.session_id
        await switched(conversation, "/compact")
        for name in names[5:]:
            await say(conversation, name)
        third, name = conversation.state.session_id, conversation.state.name
        assert await listed(conversation) == list(enumerate(names, 1))
        listing = await conversation.command("/rewind")
        assert isinstance(listing, PromptListing)
        own = [prompt.text for prompt in listing.prompts if prompt.session_id == third]
        assert own == names[5 - keep :]
        assert {prompt.session_id for prompt in listing.prompts} <= {first, second, third}

        result = await switched(conversation, "/rewind 2")
        new = conversation.state.session_id
        assert result.draft == names[1]
        assert result.line == (
            f'Went back before "{names[1]}", which was said in session {first}, in new session {new}; '
            f"the previous session {third} is kept. The name {name} goes along."
        )
        assert await shown(conversation) == names[:1]
        await switched(conversation, f"/resume {third}")
        result = await switched(conversation, "/fork 2")
        assert result.line.startswith(f"Forked session {first} into new session ")
        assert await shown(conversation) == names[:2]
        await switched(conversation, f"/resume {third}")
        await switched(conversation, "/fork 6")
        assert await listed(conversation) == list(enumerate(names[:6], 1))
        await switched(conversation, "/fork")
        await switched(conversation, "/undo")
        assert await listed(conversation) == list(enumerate(names[:5], 1))
        assert "1 to 5" in str(await conversation.command("/rewind 6"))


async def test_the_last_turn_before_a_summary_is_forked_without_what_was_said_afterwards(
    bench: Bench,
) -> None:
    bench.side = NOTES
    async with bench.open() as conversation:
        await say(conversation, "one")
        await say(conversation, "two")
        old = conversation.state.session_id
        await switched(conversation, "/compact")
        new = conversation.state.session_id
        assert await listed(conversation) == [(1, "one"), (2, "two")]
    with store_of(bench).hold(old) as writer:  # somebody goes on with it
        writer.append(writer.count(), said("elsewhere"))
        writer.append(writer.count(), answered("so"))
    async with bench.open(resume=new) as conversation:
        assert await listed(conversation) == [(1, "one"), (2, "two")]
        await switched(conversation, "/fork 2")
        assert await shown(conversation) == ["one", "two"]
        await switched(conversation, f"/resume {new}")
        assert (await switched(conversation, "/undo")).draft == "two"
        assert await shown(conversation) == ["one"]


def chain(bench: Bench, sessions: int, turns: int) -> list[str]:
    """Sessions that go on from each other, with the last turn of the one before; what was said."""
    texts: list[str] = []
    kept: list[Message] = []
    for number in range(sessions):
        begins = [
            said(f"Summary of the previous conversation (session s{number - 1}):\nNotes."),
            answered("Yes."),
        ]
        own = [m for turn in range(turns) for m in (said(f"{number}.{turn}"), answered("so"))]
        texts += [f"{number}.{turn}" for turn in range(turns)]
        before = {"compacted_from": f"s{number - 1}"} if number else {}
        messages = [*begins, *kept, *own] if number else own
        record(bench, f"s{number}", *messages, **before)
        last = len(messages) - 2
        kept = [with_origin(m, f"s{number}", last + at) for at, m in enumerate(messages[-2:])]
    return texts


async def test_parts_of_a_list_make_up_the_whole(bench: Bench) -> None:
    texts = chain(bench, 5, 40)
    read: Read = store_of(bench).read
    whole = prompts.whole(read, "s4")
    assert [prompt.text for prompt in whole.prompts] == texts
    assert [prompt.number for prompt in whole.prompts] == list(range(1, len(texts) + 1))
    for most in (1, 7, 83, 200):
        listing, parts = prompts.beginning("s4"), 0
        while listing.earlier is not None:
            assert all(prompt.number == 0 for prompt in listing.prompts)
            listing, parts = prompts.extend(read, listing, most=most), parts + 1
        assert listing == whole
        assert parts >= len(texts) * 2 // most
    newest = prompts.newest(read, "s4")
    assert newest is not None
    assert (newest.text, newest.session_id) == ("4.39", "s4")


async def test_a_session_that_is_gone_ends_the_list_which_says_so(bench: Bench) -> None:
    chain(bench, 3, 2)
    folder = bench.places.data / "sessions" / "s1"
    folder.rename(bench.root / "elsewhere")
    async with bench.open(resume="s2") as conversation:
        listing = await conversation.command("/rewind")
        assert isinstance(listing, PromptListing)
        assert [(prompt.number, prompt.text) for prompt in listing.prompts][-1] == (3, "2.1")
        assert "s1" in listing.unread
        assert (await switched(conversation, "/rewind 3")).draft == "2.1"


async def test_a_fork_of_a_session_that_is_gone_goes_on_before_its_summary(bench: Bench) -> None:
    chain(bench, 2, 2)
    async with bench.open(resume="s1") as conversation:
        await switched(conversation, "/fork")
        assert [text for _, text in await listed(conversation)] == ["0.0", "0.1", "1.0", "1.1"]
        (bench.places.data / "sessions" / "s1").rename(bench.root / "elsewhere")
        assert {"0.0", "1.1"} < {text for _, text in await listed(conversation)}


@pytest.mark.parametrize("key", ["compacted_from", "forked_from"])
async def test_links_in_a_circle_end_the_list(bench: Bench, key: str) -> None:
    for here, there in (("a", "b"), ("b", "a")):
        record(bench, here, said(f"in {here}"), answered("so"), **{key: there})
    async with bench.open(resume="a") as conversation:
        texts = [text for _, text in await listed(conversation)]
        assert texts[-1] == "in a"
        assert len(texts) <= 2


async def test_nothing_is_to_go_back_to_where_nothing_was_said(bench: Bench) -> None:
    async with bench.open() as conversation:
        for line in ("/undo", "/rewind"):
            assert await conversation.command(line) == Refused("There is no turn to go back before")
        line = "There is no message of yours in this conversation yet"
        assert await conversation.command("/fork 1") == Refused(line)


async def test_nothing_is_written_to_a_session_that_is_gone_back_to(bench: Bench) -> None:
    chain(bench, 2, 2)
    folder = bench.places.data / "sessions" / "s0"
    before = {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    async with bench.open(resume="s1") as conversation:
        await switched(conversation, "/rewind 1")
        new = conversation.state.session_id
    assert {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()} == before
    meta = json.loads((bench.places.data / "sessions" / new / "meta.json").read_text())
    assert meta["forked_from"] == "s0"
