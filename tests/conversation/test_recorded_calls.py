"""A page of history comes with what is on record of its calls, and does not read all events for that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tau.conversation import history
from tau.conversation.recorded_calls import RecordedCalls
from tau.events import ToolCallRecord, to_line
from tau.sessions.file import open_store
from tau.sessions.file_reader import FileReader
from tau.sessions.records import Message
from tau.sessions.store import SessionStore, StoreContext


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return open_store(StoreContext(data_dir=tmp_path / "data", state_dir=tmp_path / "state"))


def turn(number: int, name: str = "") -> list[Message]:
    """A turn of one call, whose id every turn begins anew with."""
    call = {"toolUse": {"toolUseId": "t1", "name": "shell", "input": {"command": f"make {number}"}}}
    came_to = {"toolResult": {"toolUseId": "t1", "status": "success", "content": [{"text": "made"}]}}
    return [
        {"role": "user", "content": [{"text": f"make {number}"}]},
        {"role": "assistant", "content": [call], "tracking_id": name or f"m{number}"},
        {"role": "user", "content": [came_to]},
        {"role": "assistant", "content": [{"text": "It is made."}]},
    ]


def event(number: int, message: str | None = None) -> dict[str, Any]:
    name = f"m{number}" if message is None else message
    seconds = number / 10
    record = ToolCallRecord("shell", 2, {}, "success", "made", "approved", seconds, "t1", message=name)
    return to_line(record)


def write(store: SessionStore, turns: int, *, without: int = -1) -> None:
    with store.create("s", meta={}) as writer:
        for number in range(turns):
            for message in turn(number):
                writer.append(writer.count(), message)
            if number != without:
                writer.append_event(event(number))
            writer.append_event({"kind": "notice", "text": "something else", "level": "info", "at": ""})


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """How many events were asked for, each time."""
    asked: list[int | None] = []
    read = FileReader.events

    def counted(self: FileReader, *, limit: int | None = None) -> list[dict[str, Any]]:
        asked.append(limit)
        return read(self, limit=limit)

    monkeypatch.setattr(FileReader, "events", counted)
    return asked


def test_every_page_has_its_calls_and_few_of_them_read_events(
    store: SessionStore, reads: list[int | None]
) -> None:
    write(store, 800)
    calls = RecordedCalls()
    before: int | None = None
    seconds: list[float] = []
    with store.read("s") as reader:
        while before is None or before > 0:
            page = history.page(reader, before=before, turns=20, read=store.read, calls=calls)
            before = page.first_index
            seconds[:0] = [record.duration for record in page.events]
            assert len(page.events) == 20
            if len(seconds) == 40:
                assert reads == [200], "one page after the other from what was read at first"
    assert seconds == [number / 10 for number in range(800)]
    assert reads == [200, 800, 3200]


def test_a_call_without_an_event_does_not_have_all_events_read(
    store: SessionStore, reads: list[int | None]
) -> None:
    write(store, 800, without=795)
    with store.read("s") as reader:
        page = history.page(reader, before=None, turns=20, read=store.read)
    assert len(page.events) == 19
    assert reads == [200]


def test_what_was_recorded_since_is_found(store: SessionStore) -> None:
    write(store, 3)
    calls = RecordedCalls()
    with store.hold("s") as writer:
        assert len(history.page(writer, before=8, turns=9, read=store.read, calls=calls).events) == 2
        for message in turn(3):
            writer.append(writer.count(), message)
        writer.append_event(event(3))
        assert len(history.page(writer, before=16, turns=9, read=store.read, calls=calls).events) == 4
    with store.create("other", meta={}) as writer:
        for index, message in enumerate(turn(7, "m0")):
            writer.append(index, message)
        assert history.page(writer, before=4, turns=9, read=store.read, calls=calls).events == []


def test_events_that_name_no_message_count_where_their_id_tells_enough(store: SessionStore) -> None:
    with store.create("s", meta={}) as writer:
        for number in range(2):
            for message in turn(number):
                writer.append(writer.count(), message)
            writer.append_event(event(number, ""))
        assert len(history.page(writer, before=None, turns=9, read=store.read).events) == 2
        assert history.page(writer, before=4, turns=9, read=store.read).events == []
    with store.create("one", meta={}) as writer:
        for message in [
            *turn(0),
            *({"role": role, "content": [{"text": "x"}]} for role in ("user", "assistant")),
        ]:
            writer.append(writer.count(), message)
        writer.append_event(event(0, ""))
        writer.append_event(
            {"kind": "tool_call", "message": ["of no known shape"], "tool_use_id": 7, "at": ""}
        )
        assert len(history.page(writer, before=4, turns=9, read=store.read).events) == 1
