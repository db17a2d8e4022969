"""Chains of sessions: what is behind one, what continues it, and every message of it exactly once."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tau.sessions.file import open_store
from tau.sessions.lineage import Link, Messages, behind, links_behind, look_behind, whole_chain
from tau.sessions.memory import open_store as open_memory
from tau.sessions.records import Message, MetaValue, with_origin
from tau.sessions.store import SessionStore, StoreContext
from tests.sessions.trees import STEPS, Tree

OPENS = {"file": open_store, "memory": open_memory}


@pytest.fixture(params=list(OPENS))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SessionStore]:
    context = StoreContext(data_dir=tmp_path / "data", state_dir=tmp_path / "state")
    opened = OPENS[request.param](context)
    yield opened
    opened.close()


def said(text: str, role: str = "user") -> Message:
    return {"role": role, "content": [{"text": text}]}


def record(store: SessionStore, session_id: str, *messages: Message, **meta: MetaValue) -> None:
    """A session with messages, let go of."""
    with store.create(session_id, meta=meta) as writer:
        for index, message in enumerate(messages):
            writer.append(index, message)
        writer.flush()


def link(store: SessionStore, session_id: str, **meta: MetaValue) -> None:
    with store.hold(session_id) as writer:
        writer.patch_meta(meta)
        writer.flush()


def words(messages: Messages) -> list[tuple[str, int, Any]]:
    return [
        (found.session_id, found.stored.index, found.stored.message["content"][0]["text"])
        for found in messages
    ]


def test_a_chain_is_walked_in_both_directions(store: SessionStore) -> None:
    record(store, "a", compacted_to="b")
    record(store, "b", compacted_from="a", compacted_to="c")
    record(store, "c", compacted_from="b")
    record(store, "d", forked_from="b", compacted_to="e")
    record(store, "e", compacted_from="d")
    assert behind(store.read, "c") == ["b", "a"]
    assert behind(store.read, "e") == ["d", "b", "a"]
    assert behind(store.read, "a") == []
    for session_id in "abc":
        assert whole_chain(store.read, session_id) == ["a", "b", "c"]
    assert whole_chain(store.read, "d") == ["a", "b", "d", "e"]


def test_circles_end(store: SessionStore) -> None:
    record(store, "a", compacted_from="c", compacted_to="b")
    record(store, "b", compacted_from="a", compacted_to="c", forked_from="b")
    record(store, "c", compacted_from="b", compacted_to="a")
    assert behind(store.read, "c") == ["b", "a"]
    assert sorted(whole_chain(store.read, "b")) == ["a", "b", "c"]


def test_what_is_missing_ends_the_way_and_is_named(store: SessionStore) -> None:
    record(store, "b", compacted_from="a", compacted_to="../x")
    record(store, "c", compacted_from="b", forked_from=7)
    found = look_behind(store.read, "c")
    assert found.sessions == ("b",)
    assert [(part.session_id, part.index) for part in found.unread] == [("a", None)]
    assert "a" in found.unread[0].reason
    assert whole_chain(store.read, "b") == ["b"]
    assert look_behind(store.read, "nowhere").sessions == ()
    assert whole_chain(store.read, "nowhere") == ["nowhere"]


def test_a_copy_is_skipped_where_its_original_is_read(store: SessionStore) -> None:
    record(store, "a", said("one"), said("two", "assistant"))
    copies = [with_origin(said("one"), "a", 0), with_origin(said("two", "assistant"), "a", 1)]
    record(store, "b", *copies, said("three"), forked_from="a")
    record(store, "c", copies[1], with_origin(said("three"), "b", 2), said("four"), compacted_from="b")
    messages = Messages(store.read, ["c", *behind(store.read, "c")])
    assert sorted(words(messages)) == [("a", 0, "one"), ("a", 1, "two"), ("b", 2, "three"), ("c", 2, "four")]
    assert sorted(words(messages)) == sorted(words(messages)), "it can be read again"
    alone = Messages(store.read, ["c"])
    assert words(alone) == [("c", 0, "two"), ("c", 1, "three"), ("c", 2, "four")]
    without = Messages(store.read, ["c", "b"])
    assert sorted(text for _, _, text in words(without)) == ["four", "one", "three", "two"]


def test_a_copy_stands_for_an_original_that_is_damaged(tmp_path: Path) -> None:
    store = open_store(StoreContext(data_dir=tmp_path / "data", state_dir=tmp_path / "state"))
    record(store, "a", said("one"), said("two"))
    record(store, "b", with_origin(said("two"), "a", 1), said("three"), forked_from="a")
    session = tmp_path / "data" / "sessions" / "a"
    (session / "agents" / "tau" / "messages" / "000001.json").write_text("{")
    for log in session.glob(".*journal*"):
        log.unlink()
    messages = Messages(store.read, ["b", "a"])
    assert words(messages) == [("b", 1, "three"), ("a", 0, "one"), ("b", 0, "two")]
    assert [(part.session_id, part.index) for part in messages.unread] == [("a", 1)]
    store.close()


def test_a_session_that_cannot_be_read_hides_no_other(store: SessionStore) -> None:
    record(store, "a", said("one"))
    messages = Messages(store.read, ["gone", "a"])
    assert words(messages) == [("a", 0, "one")]
    assert [part.session_id for part in messages.unread] == ["gone"]


Step = tuple[str, int, int, int]


@settings(max_examples=40, deadline=None)
@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from(["compacted_from", "forked_from"]),
            st.integers(0, 30),
            st.integers(0, 30),
            st.integers(0, 5),
        ),
        max_size=6,
    ),
    first=st.integers(0, 8),
    name=st.sampled_from(list(OPENS)),
)
def test_every_message_is_found_exactly_once(steps: list[Step], first: int, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = OPENS[name](StoreContext(data_dir=Path(folder) / "data", state_dir=Path(folder) / "state"))
        history = [said(f"s0-{number}") for number in range(first)]
        record(store, "s0", *history)
        spoken = [f"s0-{number}" for number in range(first)]
        for number, (key, begin, end, more) in enumerate(steps, start=1):
            # A summary keeps the last messages, a fork the first; copies of copies keep their origins.
            kept = [with_origin(message, f"s{number - 1}", index) for index, message in enumerate(history)]
            kept = kept[begin:] if key == "compacted_from" else kept[:end]
            own = [said(f"s{number}-{count}") for count in range(more)]
            seed = [said(f"s{number}-summary")] if key == "compacted_from" else []
            history = [*seed, *kept, *own]
            record(store, f"s{number}", *history, **{key: f"s{number - 1}"})
            spoken += [message["content"][0]["text"] for message in (*seed, *own)]
        last = f"s{len(steps)}"
        chain = [last, *behind(store.read, last)]
        assert chain == [f"s{number}" for number in range(len(steps), -1, -1)]
        for order in (chain, chain[::-1]):
            found = words(Messages(store.read, order))
            assert sorted(text for _, _, text in found) == sorted(spoken)
            assert all(text.startswith(f"{session_id}-") for session_id, _, text in found)
        store.close()


@settings(max_examples=100, deadline=None)
@given(steps=STEPS, counted=st.booleans())
def test_what_is_behind_is_what_the_conversation_went_on_from(
    steps: list[tuple[str, int, int, int]], counted: bool
) -> None:
    store = open_memory(StoreContext(data_dir=Path("/nowhere"), state_dir=Path("/nowhere")))
    here, path = Tree(store, counted=counted).do(steps)
    behind_it = look_behind(store.read, here)
    found = Messages(store.read, (here, *behind_it.sessions), behind_it.ends)
    assert sorted((item.session_id, item.stored.index) for item in found) == sorted(path)
    assert found.unread == []
    store.close()


def test_how_a_session_goes_on_is_one_rule_for_all(store: SessionStore) -> None:
    record(store, "a", *map(said, ["one", "two", "three", "four"]))
    kept = [with_origin(said("two"), "a", 1), with_origin(said("three"), "a", 2)]
    summary = [said("Summary"), said("Understood.", "assistant")]
    record(store, "b", *summary, *kept, said("five"), compacted_from="a", from_count=3)
    record(store, "old", *summary, *kept, said("five"), compacted_from="a")
    record(store, "odd", *summary, *kept, said("five"), compacted_from="a", from_count=True)
    for session_id in ("b", "old", "odd"):
        with store.read(session_id) as reader:
            assert links_behind(reader, store.read) == [Link("a", count=3, kept=2)]
            assert links_behind(reader, store.read, end=3) == [Link("a", count=2, kept=1)]
            assert links_behind(reader, store.read, end=0) == [Link("a", count=0, kept=0)]
    record(store, "fork", with_origin(said("one"), "a", 0), said("six"), forked_from="a")
    with store.read("fork") as reader:
        assert links_behind(reader, store.read) == [Link("a", count=1, kept=1)]


def test_damage_does_not_cut_off_what_an_older_session_goes_on_from(tmp_path: Path) -> None:
    store = open_store(StoreContext(data_dir=tmp_path / "data", state_dir=tmp_path / "state"))
    texts = [f"number {number}" for number in range(9)]
    record(store, "a", *map(said, texts))
    record(store, "b", said("Summary"), said("Understood.", "assistant"), compacted_from="a")
    copies = [with_origin(said(text), "a", index) for index, text in enumerate(texts[:8])]
    record(store, "c", *copies, said("now"), forked_from="a")
    for session_id, lost in (("a", (8,)), ("c", (4, 5, 6, 7))):
        session = tmp_path / "data" / "sessions" / session_id
        for index in lost:
            (session / "agents" / "tau" / "messages" / f"{index:06}.json").write_text("{")
        for log in session.glob(".*journal*"):
            log.unlink()
    assert look_behind(store.read, "b").ends == {"a": 9}
    assert look_behind(store.read, "c").ends == {"a": 8}
    store.close()


@pytest.mark.parametrize("counted", [True, False])
def test_what_a_summarized_session_was_gone_on_with_is_not_behind(
    store: SessionStore, *, counted: bool
) -> None:
    tree = Tree(store, counted=counted)
    here, path = tree.do([("compact", 0, 0, 0), ("say", 0, 0, 2)])
    assert path == [("s0", 0), ("s0", 1), ("s0", 2), ("s1", 0), ("s1", 1)]
    assert look_behind(store.read, here).ends == {"s0": 3}


def test_the_recorded_count_goes_before_what_can_be_told_from_times(store: SessionStore) -> None:
    record(store, "a", *map(said, ["one", "two", "three"]))
    record(store, "b", said("Summary"), said("Understood.", "assistant"), compacted_from="a", from_count=1)
    assert look_behind(store.read, "b").ends == {"a": 1}
