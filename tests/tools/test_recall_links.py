"""`recall` returns what belongs to the conversation, under its numbers, however sessions are linked."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tau.sessions.file import open_store
from tau.sessions.lineage import Record
from tau.sessions.memory import open_store as open_memory
from tau.sessions.records import origin_of
from tau.sessions.store import SessionStore, StoreContext
from tau.tools import recall
from tau.tools.refusals import Refused
from tests.sessions.trees import STEPS, Place, Tree
from tests.tools.conftest import watch

OPENS = {"file": open_store, "memory": open_memory}
HEAD = re.compile(r"^\[session (\S+), message (\d+), ", re.MULTILINE)


@contextmanager
def fresh(name: str) -> Iterator[SessionStore]:
    with tempfile.TemporaryDirectory() as folder:
        store = OPENS[name](StoreContext(data_dir=Path(folder) / "data", state_dir=Path(folder) / "state"))
        yield store
        store.close()


def asked(store: SessionStore, here: str, query: str = "", place: Place | None = None) -> str:
    session, wanted = (place[0], str(place[1])) if place else ("", "")
    return recall.answer(Record(store.read, here), query, session, wanted, room=90_000, watch=watch())


def newest_request(store: SessionStore, session_id: str) -> Place | None:
    """The one message that a search leaves out, because every window has it."""
    with store.read(session_id) as reader:
        said = [stored for stored in reader.messages() if stored.message["role"] == "user"]
    return (origin_of(said[-1].message) or (session_id, said[-1].index)) if said else None


@settings(max_examples=25, deadline=None)
@given(steps=STEPS, counted=st.booleans(), name=st.sampled_from(list(OPENS)))
def test_what_is_found_is_what_was_said_and_has_its_number(
    steps: list[tuple[str, int, int, int]], counted: bool, name: str
) -> None:
    with fresh(name) as store:
        tree = Tree(store, counted=counted)
        here, path = tree.do(steps)
        request = newest_request(store, here)
        for place, text in tree.texts.items():
            found = [(session, int(index)) for session, index in HEAD.findall(asked(store, here, text))]
            assert set(found) <= set(path)
            if place in path and place != request:
                assert found[0] == place
                assert f"\n{text}\n" in asked(store, here, place=place)
            elif place not in path and place[0] != here:
                with pytest.raises(Refused, match="conversation"):
                    asked(store, here, place=place)


def test_a_range_ends_where_the_conversation_went_on_elsewhere() -> None:
    with fresh("memory") as store:
        Tree(store, counted=True).do([("say", 0, 0, 4), ("fork", 0, 2, 1), ("say", 0, 0, 2)])
        read = recall.answer(Record(store.read, "s1"), "", "s0", "0-99", room=9_000, watch=watch())
        assert read.endswith("[Messages 0 to 1 of session s0, which has 2, counted from 0.]")
        with pytest.raises(
            Refused, match=r"Of session s0, messages 0 to 1 belong to this conversation.*message 4"
        ):
            asked(store, "s1", place=("s0", 4))
        assert "s0x4y" in asked(store, "s0", place=("s0", 4)), "in its own conversation it is there"


def test_a_session_of_which_nothing_was_taken_is_none_of_the_conversation() -> None:
    with fresh("memory") as store:
        Tree(store, counted=True).do([("fork", 0, 0, 3)])
        assert (
            asked(store, "s1", "heron").splitlines()[-1].startswith("[2 messages in 1 session were searched.")
        )
        with pytest.raises(Refused, match=r"s0 is no session of this conversation.*its sessions are s1$"):
            asked(store, "s1", place=("s0", 0))
