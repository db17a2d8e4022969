"""Going from session to session while the store fails: the conversation is on one, and goes on there."""

from __future__ import annotations

from typing import Any

import pytest

from tau.config.settings import CompactionSettings
from tau.conversation import Conversation
from tau.conversation.state import Refused, Said, Switched
from tau.events import Notice
from tau.sessions.catalog import Catalog
from tests.conversation.conftest import Bench, ending, say
from tests.conversation.faults import Faults, with_faults
from tests.conversation.test_compaction import LONG, NOTES, compacted, look, meta, texts, usage

MOST = 400
"""Calls of the store that a compaction may take at most in these tests."""


def held(store: Any) -> list[str]:
    """The sessions that are held for writing."""
    return [session_id for session_id in store.session_ids() if store.holder(session_id) is not None]


def metas(store: Any) -> dict[str, dict[str, Any]]:
    found = {}
    for session_id in store.session_ids():
        with store.read(session_id) as reader:
            found[session_id] = reader.meta()
    return found


def said(store: Any, session_id: str) -> list[str]:
    with store.read(session_id) as reader:
        return texts([item.message for item in reader.messages()])


def check_place(conversation: Conversation, store: Any, old: str, *, lasting: bool) -> None:
    """The conversation is on one session; only where it moved does anything lead away from the old one."""
    here = conversation.state.session_id
    assert held(store) == [here]
    known = metas(store)
    assert known[old].get("compacted_to") == (here if here != old else None)
    assert not known[here].get("unfinished")
    if here == old and not lasting:  # what lasts keeps the mark from being set again
        assert all(meta.get("unfinished") for meta in known.values() if meta.get("compacted_from") == old), (
            "what came of it is not listed"
        )


async def check_next_turn(conversation: Conversation, store: Any, text: str) -> None:
    """The next turn works, and is recorded where the state says."""
    assert (await ending(conversation, text)).stop_reason == "end_turn"
    assert text in said(store, conversation.state.session_id)
    assert held(store) == [conversation.state.session_id]
    assert not conversation.state.busy


@pytest.fixture
def faulty(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> tuple[Faults, list[Any]]:
    bench.backend = "memory"
    bench.side = [{"text": NOTES}]
    return with_faults(monkeypatch)


@pytest.mark.parametrize("lasting", [False, True])
async def test_a_compaction_by_hand_moves_whole_or_not_at_all(
    bench: Bench, faulty: tuple[Faults, list[Any]], lasting: bool
) -> None:
    (bench.root / "a.txt").write_text("alpha")
    faults, stores = faulty
    bench.steps["default"] = [{"text": "one"}, look("a.txt", "t1", 100), {"text": "and on"}]
    bench.compaction = CompactionSettings(keep_turns=1)
    refused = 0
    async with bench.open() as conversation:
        (store,) = stores
        for text in ("first", "second"):
            await say(conversation, text)
        for number in range(1, MOST):
            old = conversation.state.session_id
            faults.arm(number, lasting=lasting)
            result = await conversation.command("/compact")
            faults.disarm()
            check_place(conversation, store, old, lasting=lasting)
            moved = conversation.state.session_id != old
            assert isinstance(result, Switched if moved else Refused)
            refused += not moved
            await check_next_turn(conversation, store, f"after {number}")
            if not faults.fired:
                break
        else:
            raise AssertionError("it never went through")
    assert refused > 20


@pytest.mark.parametrize("lasting", [False, True])
async def test_a_compaction_in_a_turn_moves_whole_or_not_at_all(
    bench: Bench, faulty: tuple[Faults, list[Any]], lasting: bool
) -> None:
    faults, stores = faulty
    bench.model = {"context_window": 40_000}
    bench.steps["default"] = [{"text": "so", **usage(36_000)}]
    stayed = 0
    async with bench.open() as conversation:
        (store,) = stores
        await say(conversation, "first")
        for number in range(1, MOST):
            await conversation.command("/model default")  # begins to compact anew
            old = conversation.state.session_id
            faults.arm(number, lasting=lasting)
            events = await say(conversation, f"turn {number}")
            faults.disarm()
            check_place(conversation, store, old, lasting=lasting)
            moved = conversation.state.session_id != old
            assert len(compacted(events)) == moved
            stayed += not moved
            await check_next_turn(conversation, store, f"after {number}")
            if not faults.fired:
                break
        else:
            raise AssertionError("it never went through")
    assert stayed > 20


@pytest.mark.parametrize("command", ["/fork 1", "/fork {}", "/rewind 2", "/new", "/resume {}"])
async def test_a_switch_is_made_whole_or_not_at_all(
    bench: Bench, faulty: tuple[Faults, list[Any]], command: str
) -> None:
    faults, stores = faulty
    async with bench.open() as conversation:
        (store,) = stores
        await say(conversation, "another")
        other = conversation.state.session_id
        await conversation.new()
        await say(conversation, "first")
        await say(conversation, "second")
        old = conversation.state.session_id
        refused = 0
        reached = {old}
        for number in range(1, MOST):
            faults.arm(number, lasting=False)
            result = await conversation.command(command.format(other))
            faults.disarm()
            moved = conversation.state.session_id != old
            assert isinstance(result, Switched if moved else Refused), result
            assert held(store) == [conversation.state.session_id]
            reached.add(conversation.state.session_id)
            for name, known in metas(store).items():
                if known.get("forked_from"):
                    assert known.get("unfinished", False) is (name not in reached)
            await check_next_turn(conversation, store, f"after {number}")
            if not faults.fired:
                break
            refused += not moved
            if moved:  # although a call failed, without which it could do
                await conversation.switch(old)
        else:
            raise AssertionError("it never went through")
    assert refused > 3


@pytest.mark.parametrize("lasting", [False, True])
async def test_a_name_goes_along_or_is_kept_and_that_is_said(
    bench: Bench, faulty: tuple[Faults, list[Any]], lasting: bool
) -> None:
    faults, stores = faulty
    kept = 0
    async with bench.open(name="diary") as conversation:
        (store,) = stores
        await say(conversation, "keep one")
        await say(conversation, "oops two")
        old = conversation.state.session_id
        for number in range(1, MOST):
            faults.arm(number, lasting=lasting)
            result = await conversation.command("/rewind 2")
            faults.disarm()
            here = conversation.state.session_id
            named = {name for name, known in metas(store).items() if known.get("name") == "diary"}
            assert conversation.state.name == metas(store)[here].get("name")
            if isinstance(result, Refused):
                assert (here, named) == (old, {old})
            else:
                assert isinstance(result, Switched)
                told = [text for text in result.opening.notices if f"Session {old} " in text]
                said_along = result.line.endswith(" The name diary goes along.")
                assert said_along is (here in named)
                assert named == ({here} if not told else {old, here} if said_along else {old})
                for text in told:
                    assert "has the name diary as well: " in text if said_along else "keeps the name" in text
                kept += old in named
            await check_next_turn(conversation, store, f"after {number}")
            if not faults.fired:
                break
            if here != old:
                await conversation.switch(old)
            for name in named - {old}:
                with store.hold(name) as writer:
                    writer.patch_meta({"name": None}, touch=False)
            if conversation.state.name != "diary":
                assert isinstance(await conversation.command("/name diary"), Said)
        else:
            raise AssertionError("it never went through")
    assert named == {here}
    assert kept >= 2


class _Broken(Exception):
    """No error that the catalog is known to raise."""


@pytest.mark.parametrize("backend", ["file", "memory"])
async def test_an_index_that_fails_breaks_no_move(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, backend: str
) -> None:
    def broken(*_: object) -> None:
        raise _Broken

    bench.backend = backend
    bench.side = [{"text": NOTES}]
    async with bench.open() as conversation:
        await say(conversation, "first")
        for name in ("record", "mark_open", "mark_closed"):
            monkeypatch.setattr(Catalog, name, broken)
        for command in ("/compact", "/fork", "/new"):
            before = conversation.state.session_id
            assert isinstance(await conversation.command(command), Switched)
            assert conversation.state.session_id != before
            assert (await ending(conversation, f"after {command}")).stop_reason == "end_turn"
            assert conversation.state.message_count >= 2
        monkeypatch.undo()


async def test_results_that_were_cut_before_a_summary_that_failed_stay_cut_and_it_is_said(
    bench: Bench,
) -> None:
    (bench.root / "log.txt").write_text(LONG)
    bench.model = {"context_window": 40_000}
    bench.steps["default"] = [
        look("log.txt", "t1", 5_000),
        {"text": "read", **usage(39_900)},  # more than the cut of the log makes up for
        {"text": "after", **usage(36_000)},
        {"text": "done", **usage(10_000)},
    ]
    bench.side = [{"error": "refused", "message": "no summaries today"}, {"text": NOTES}]
    async with bench.open() as conversation:
        await say(conversation, "read the log")
        session = conversation.state.session_id
        notices = [event.text for event in await say(conversation, "what now?") if isinstance(event, Notice)]
        assert notices[0].startswith("The conversation was not compacted: ")
        assert "long earlier tool results are shown to the model cut" in notices[1]
        assert len(notices) == 2
        (result,) = bench.requests[-1]["messages"][2]["content"]
        assert "characters are left out here" in result["toolResult"]["content"][0]["text"]
        assert conversation.state.session_id == session
        assert "compacted_to" not in meta(bench, session)
        (whole,) = bench.messages(session)[2]["content"]
        assert "characters are left out here" not in whole["toolResult"]["content"][0]["text"]
        events = await say(conversation, "and now?")
        assert len(compacted(events)) == 1
        assert not [event for event in events if isinstance(event, Notice)], "a summary makes it void"
