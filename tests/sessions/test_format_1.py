"""A session as the first version of the format recorded it: readable and usable for ever."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tau.sessions.file import open_store
from tau.sessions.records import AgentState, ListQuery
from tau.sessions.store import SessionReader, SessionStore, StoreContext
from tau.testing.store_contract import text

RECORDED = Path(__file__).parent.parent / "fixtures" / "format-1"
ID = "20260929-153012-3f9a"


@pytest.fixture(params=["whole", "without its log", "log alone"])
def store(tmp_path: Path, request: pytest.FixtureRequest) -> SessionStore:
    """The recorded tree, a copy; also without its log, and with nothing but it: each is enough."""
    shutil.copytree(RECORDED, tmp_path / "data")
    folder = tmp_path / "data" / "sessions" / ID
    if request.param == "without its log":
        (folder / ".journal").unlink()
    elif request.param == "log alone":
        for path in [*folder.rglob("*.json"), *folder.rglob("*.jsonl")]:
            path.unlink()
    return open_store(StoreContext(data_dir=tmp_path / "data", state_dir=tmp_path / "state"))


def check(reader: SessionReader) -> None:
    shown = [stored.message for stored in reader.messages()]
    assert shown[0] == text("Why does the nightly job fail since Tuesday?")
    assert shown[1]["content"][1]["toolUse"]["input"] == {"path": "quail/jobs/nightly.py"}
    assert shown[2]["content"][0]["toolResult"]["content"] == [{"text": "import quail.rates\n"}]
    assert shown[3]["content"] == [{"text": "It imports `quail.rates`, which moved. é 漢字 \U0001f9ea"}]
    assert shown[3]["metadata"] == {"usage": {"inputTokens": 100, "outputTokens": 10}}
    assert shown[4] == text("[redacted]")
    assert shown[5]["content"][0]["image"]["source"]["bytes"]["data"] == "iVBORw=="
    assert [stored.redacted for stored in reader.messages()] == [False] * 4 + [True, False]
    assert reader.messages()[0].created_at.startswith("2026-09-29T15:30:12.")
    assert reader.agent_state() == AgentState(
        state={"plan": ["a"]},
        conversation_manager_state={
            "__name__": "SlidingWindowConversationManager",
            "removed_message_count": 0,
        },
        internal_state={"interrupt_state": {}},
    )
    assert [event["kind"] for event in reader.events()] == ["tool_call", "notice"]
    summary = reader.summary()
    assert summary.message_count == 6
    assert summary.created_at.startswith("2026-09-29T15:30:12.")
    assert summary.updated_at.startswith("2026-09-29T15:30:12.")
    assert dict(summary.meta) == {
        "channel": "tui",
        "profile": "default",
        "directory": "/home/ada/quail",
        "name": "amber",
        "role": "default",
        "title": "Why does the nightly job fail since Tuesday?",
    }
    assert list(reader.damage()) == []


def test_it_is_read(store: SessionStore) -> None:
    with store.read(ID) as reader:
        check(reader)
    assert [summary.session_id for summary in store.summaries(ListQuery(directory="/home/ada/quail"))] == [ID]


def test_it_is_taken_up(store: SessionStore) -> None:
    with store.hold(ID) as writer:
        check(writer)
        writer.append(6, text("go on"))
    with store.read(ID) as reader:
        assert reader.messages(offset=6)[0].message == text("go on")
