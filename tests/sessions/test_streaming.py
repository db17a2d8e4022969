"""Reading a session message by message gives what reading it at once gives, whatever its files look like."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tau.sessions.file import open_store
from tau.sessions.records import Damage, Message, StoredMessage
from tau.sessions.store import SessionStore, StoreContext

COUNT = 40


def said(text: str) -> Message:
    return {"role": "user", "content": [{"text": text}]}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SessionStore]:
    opened = open_store(StoreContext(data_dir=tmp_path, state_dir=tmp_path / "state"))
    with opened.create("a", meta={}) as writer:
        for index in range(COUNT):
            writer.append(index, said(f"number {index}"))
        writer.flush()
    yield opened
    opened.close()


def redacted(store: SessionStore, session: Path) -> None:
    with store.hold("a") as writer:
        for index in (3, COUNT - 1):
            writer.redact(index, said("redacted"))
        writer.append(COUNT, said("more"))


def changed_by_hand(store: SessionStore, session: Path) -> None:
    path = session / "agents" / "tau" / "messages" / "000007.json"
    path.write_text(path.read_text().replace("number 7", "number seven"))


def lost_files(store: SessionStore, session: Path) -> None:
    redacted(store, session)
    for index in (0, 3, 12, COUNT):
        (session / "agents" / "tau" / "messages" / f"{index:06}.json").unlink()


def damaged_files(store: SessionStore, session: Path) -> None:
    for index in (0, 12):
        (session / "agents" / "tau" / "messages" / f"{index:06}.json").write_text("{")


def damaged_log(store: SessionStore, session: Path) -> None:
    log = session / ".journal"
    data = log.read_bytes()
    log.write_bytes(data.replace(b"number 9", b"number X") + b"cut sh")


def no_log(store: SessionStore, session: Path) -> None:
    damaged_files(store, session)
    (session / ".journal").unlink()


def untouched(store: SessionStore, session: Path) -> None:
    pass


@pytest.mark.parametrize(
    "happened",
    [untouched, redacted, changed_by_hand, lost_files, damaged_files, damaged_log, no_log],
)
@pytest.mark.parametrize(("offset", "limit"), [(0, None), (5, 30), (0, 3), (COUNT, None), (9, 0), (99, 5)])
def test_messages_one_by_one_are_those_at_once(
    store: SessionStore,
    tmp_path: Path,
    happened: Callable[[SessionStore, Path], None],
    offset: int,
    limit: int | None,
) -> None:
    happened(store, tmp_path / "sessions" / "a")

    def told(read: Callable[..., Iterator[StoredMessage]]) -> tuple[list[StoredMessage], set[Damage]]:
        with store.read("a") as reader:
            return list(read(reader, offset=offset, limit=limit)), set(reader.damage())

    one_by_one = told(lambda reader, **asked: reader.stream(**asked))
    assert one_by_one == told(lambda reader, **asked: iter(reader.messages(**asked)))
    if happened is changed_by_hand and limit is None and not offset:
        assert "seven" in str(one_by_one[0][7].message)


def test_a_long_session_is_not_read_file_by_file(tmp_path: Path) -> None:
    store = open_store(StoreContext(data_dir=tmp_path, state_dir=tmp_path / "state"))
    with store.create("long", meta={}) as writer:
        for index in range(2_100):
            writer.append(index, said(f"number {index}"))
    with store.read("long") as reader:
        stream = reader.stream()
        first = next(stream)
        for path in (tmp_path / "sessions" / "long" / "agents" / "tau" / "messages").iterdir():
            path.write_text("{")
        assert [first.index, *(stored.index for stored in stream)] == list(range(2_100))
        assert reader.damage() == (), "no file was looked into"
    store.close()
