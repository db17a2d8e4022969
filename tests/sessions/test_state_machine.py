"""Every store against a plain dictionary: whatever is done in whatever order, they hold the same."""

from __future__ import annotations

import copy
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tau.errors import MessageExists, SessionExists, SessionHeld, SessionNotFound
from tau.sessions import file, memory
from tau.sessions.records import AgentState, ListQuery
from tau.sessions.store import SessionReader, SessionStore, SessionWriter, StoreContext

IDS = st.sampled_from(["a", "b", "c"])
KEYS = st.sampled_from(["title", "name", "role", "é"])
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)
MESSAGES = st.builds(
    lambda role, words, more: {"role": role, "content": [{"text": words}, {"more": more}]},
    st.sampled_from(["user", "assistant"]),
    st.text(max_size=30),
    JSON,
)
OBJECTS = st.dictionaries(st.text(max_size=4), JSON, max_size=3)
SPOILS = st.sampled_from(["empty", "half", "NUL", "gone"])


class Stores(RuleBasedStateMachine):
    """The rules; `open_anew` and `data_dir` are what differs between the stores."""

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp())
        self.store = self.open_anew()
        self.model: dict[str, dict[str, Any]] = {}
        self.writers: dict[str, SessionWriter] = {}
        self.readers: dict[str, SessionReader] = {}
        self.order: list[str] = []

    def open_anew(self) -> SessionStore:
        raise NotImplementedError

    def teardown(self) -> None:
        for reader in self.readers.values():
            reader.close()
        self.store.close()
        shutil.rmtree(self.place)

    @initialize()
    def begin(self) -> None:
        self.create("a", {"channel": "tui"})

    @rule(session_id=IDS, meta=st.dictionaries(KEYS, SCALARS, max_size=3))
    def create(self, session_id: str, meta: dict[str, Any]) -> None:
        if session_id in self.model:
            with pytest.raises(SessionExists):
                self.store.create(session_id, meta=meta)
            return
        self.writers[session_id] = self.store.create(session_id, meta=meta)
        kept = {key: value for key, value in meta.items() if value is not None}
        self.model[session_id] = {"meta": kept, "messages": [], "events": [], "state": None, "kept": []}
        self.moved(session_id)

    @rule(session_id=IDS)
    def hold(self, session_id: str) -> None:
        if session_id not in self.model:
            with pytest.raises(SessionNotFound):
                self.store.hold(session_id)
        elif session_id in self.writers:
            with pytest.raises(SessionHeld):
                self.store.hold(session_id)
        else:
            self.writers[session_id] = self.store.hold(session_id)

    @rule(session_id=IDS)
    def read(self, session_id: str) -> None:
        if session_id in self.model and session_id not in self.readers:
            self.readers[session_id] = self.store.read(session_id)

    @rule(session_id=IDS, message=MESSAGES)
    def append(self, session_id: str, message: dict[str, Any]) -> None:
        if writer := self.writers.get(session_id):
            messages = self.model[session_id]["messages"]
            writer.append(len(messages), message)
            messages.append((copy.deepcopy(message), False))
            self.moved(session_id)

    @rule(session_id=IDS, message=MESSAGES)
    def append_many(self, session_id: str, message: dict[str, Any]) -> None:
        """So many that they are not read one by one."""
        if len(self.model.get(session_id, {}).get("messages", ())) < 70:
            for _ in range(70):
                self.append(session_id, message)

    @rule(session_id=IDS, index=st.integers(-2, 4), message=MESSAGES)
    def append_elsewhere(self, session_id: str, index: int, message: dict[str, Any]) -> None:
        count = len(self.model.get(session_id, {}).get("messages", ()))
        if (writer := self.writers.get(session_id)) and index != count:
            with pytest.raises(MessageExists if 0 <= index < count else ValueError):
                writer.append(index, message)

    @rule(session_id=IDS, index=st.integers(0, 6), message=MESSAGES)
    def redact(self, session_id: str, index: int, message: dict[str, Any]) -> None:
        if writer := self.writers.get(session_id):
            messages = self.model[session_id]["messages"]
            if index >= len(messages):
                with pytest.raises(KeyError):
                    writer.redact(index, message)
            else:
                writer.redact(index, message)
                messages[index] = (copy.deepcopy(message), True)

    @rule(session_id=IDS, changes=st.dictionaries(KEYS, SCALARS, max_size=3), touch=st.booleans())
    def patch(self, session_id: str, changes: dict[str, Any], touch: bool) -> None:
        if writer := self.writers.get(session_id):
            meta = {**self.model[session_id]["meta"], **changes}
            meta = {key: value for key, value in meta.items() if value is not None}
            assert writer.patch_meta(changes, touch=touch) == meta
            self.model[session_id]["meta"] = meta
            if touch:
                self.moved(session_id)

    @rule(session_id=IDS, event=OBJECTS)
    def event(self, session_id: str, event: dict[str, Any]) -> None:
        if writer := self.writers.get(session_id):
            writer.append_event(event)
            self.model[session_id]["events"].append(copy.deepcopy(event))

    @rule(session_id=IDS, state=OBJECTS, manager=OBJECTS)
    def agent_state(self, session_id: str, state: dict[str, Any], manager: dict[str, Any]) -> None:
        if writer := self.writers.get(session_id):
            written = AgentState(state=state, conversation_manager_state=manager)
            writer.write_agent_state(written)
            self.model[session_id]["state"] = copy.deepcopy(written)

    @rule(session_id=IDS, result=OBJECTS)
    def keep_result(self, session_id: str, result: dict[str, Any]) -> None:
        if writer := self.writers.get(session_id):
            writer.keep_result(result)
            self.model[session_id]["kept"].append(copy.deepcopy(result))

    @rule(session_id=IDS)
    def clear_kept_results(self, session_id: str) -> None:
        if writer := self.writers.get(session_id):
            writer.clear_kept_results()
            self.model[session_id]["kept"].clear()

    @rule(session_id=IDS)
    def flush(self, session_id: str) -> None:
        if writer := self.writers.get(session_id):
            writer.flush()

    @rule(session_id=IDS)
    def close(self, session_id: str) -> None:
        if writer := self.writers.pop(session_id, None):
            writer.close()

    @rule()
    def reopen(self) -> None:
        """Another process would find the same; a store in memory has nobody to find it."""
        if self.store.capabilities.persistent:
            for reader in self.readers.values():
                reader.close()
            self.readers.clear()
            self.store.close()
            self.writers.clear()
            self.store = self.open_anew()

    def moved(self, session_id: str) -> None:
        if session_id in self.order:
            self.order.remove(session_id)
        self.order.insert(0, session_id)

    @invariant()
    def the_same(self) -> None:
        assert set(self.store.session_ids()) == set(self.model)
        listed = self.store.summaries(ListQuery(include_unlisted=True))
        assert [summary.session_id for summary in listed] == self.order
        for summary in listed:
            model = self.model[summary.session_id]
            assert summary.message_count == len(model["messages"])
            assert summary.meta == model["meta"]
        for opened in (self.readers, self.writers):
            for session_id, reader in opened.items():
                self.check(reader, self.model[session_id])
        for session_id in self.model:
            assert (self.store.holder(session_id) is not None) == (session_id in self.writers)

    @staticmethod
    def check(reader: SessionReader, model: dict[str, Any]) -> None:
        expected = list(enumerate(model["messages"]))
        for offset in (0, max(len(expected) - 3, 0)):
            found = [
                (stored.index, (stored.message, stored.redacted)) for stored in reader.messages(offset=offset)
            ]
            assert found == expected[offset:]
        assert reader.count() == len(expected)
        assert reader.meta() == model["meta"]
        assert reader.events() == model["events"]
        assert reader.events(limit=2) == model["events"][-2:]
        assert reader.agent_state() == model["state"]
        assert reader.kept_results() == model["kept"]


class MemoryStores(Stores):
    def open_anew(self) -> SessionStore:
        return memory.open_store(StoreContext(data_dir=self.place, state_dir=self.place))


class FileStores(Stores):
    """The ``file`` store, with files lost, spoilt and set back, and logs damaged, in between."""

    def open_anew(self) -> SessionStore:
        return file.open_store(StoreContext(data_dir=self.place, state_dir=self.place))

    def folder(self, session_id: str) -> Path:
        return self.place / "sessions" / session_id

    @precondition(lambda self: self.model)
    @rule(data=st.data(), spoil=SPOILS)
    def damage_a_file(self, data: st.DataObject, spoil: str) -> None:
        """The log stands in for any one file: spoilt, held or not, or gone from a session not held."""
        session_id = data.draw(st.sampled_from(sorted(self.model)))
        files = sorted(path for path in self.folder(session_id).rglob("*.json") if path.name[0] != ".")
        if not files:
            return
        path = data.draw(st.sampled_from(files))
        content = path.read_bytes()
        if spoil != "gone":
            path.write_bytes({"empty": b"", "half": content[: len(content) // 2], "NUL": b"\0" * 64}[spoil])
        elif session_id not in self.writers:
            path.unlink()

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def lose_events(self, data: st.DataObject) -> None:
        session_id = data.draw(st.sampled_from(sorted(self.model)))
        path = self.folder(session_id) / "events.jsonl"
        if session_id not in self.writers and path.exists():
            content = path.read_bytes()
            path.write_bytes(content[: data.draw(st.integers(0, len(content)))])


@pytest.mark.parametrize("machine", [MemoryStores, FileStores])
def test_the_stores_and_a_dictionary(machine: type[Stores]) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=15,
            stateful_step_count=20,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
        ),
    )
