"""The session store's contract as tests: subclass `SessionStoreContract`, say how a store is made, run."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

import pytest

from tau.errors import (
    InvalidSessionId,
    MessageExists,
    SessionExists,
    SessionHeld,
    SessionNotFound,
    TauError,
)
from tau.sessions.records import AgentState, ListQuery, Message, StoredMessage
from tau.sessions.store import SessionReader, SessionStore, SessionWriter

MakeStore: TypeAlias = Callable[[], SessionStore]
"""Makes a new store object on the same place each time it is called; also in a forked child process."""

_DEADLINE_SECONDS = 20.0


def text(words: str, role: str = "user") -> Message:
    """A message of one text block."""
    return {"role": role, "content": [{"text": words}]}


class SessionStoreContract:
    """What every session store promises, one test a promise.

    Override the fixture `make_store`. What a store does not declare in its capabilities is not asked of it.

    Example::

        class TestMyStore(SessionStoreContract):
            @pytest.fixture
            def make_store(self, tmp_path):
                context = StoreContext(data_dir=tmp_path, state_dir=tmp_path / "state")
                return lambda: open_store(context)
    """

    @pytest.fixture
    def make_store(self) -> MakeStore:
        """A factory of stores on one empty place, the same one for the length of a test."""
        raise NotImplementedError("override the fixture make_store")

    @pytest.fixture
    def store(self, make_store: MakeStore) -> Iterator[SessionStore]:
        """One store on the empty place."""
        store = make_store()
        yield store
        store.close()

    @pytest.fixture
    def writer(self, store: SessionStore) -> SessionWriter:
        """A session of that store, just begun."""
        return store.create("s1", meta={"channel": "tui"})

    # Sessions -------------------------------------------------------------------------------------

    def test_a_new_session_is_empty_and_has_its_meta(self, store: SessionStore) -> None:
        """`create` records the metadata and nothing else."""
        writer = store.create(
            "s1", meta={"channel": "tui", "size": 3, "ratio": 0.5, "on": True, "gone": None}
        )
        assert writer.session_id == "s1"
        assert writer.count() == 0
        assert writer.messages() == []
        assert writer.events() == []
        assert writer.agent_state() is None
        assert writer.meta() == {"channel": "tui", "size": 3, "ratio": 0.5, "on": True}
        assert list(writer.damage()) == []

    @pytest.mark.parametrize(
        "session_id", ["", "../x", ".hidden", "a/b", "a\0b", "-a", "a b", "ü", "x" * 129]
    )
    def test_only_plain_names_are_ids(self, store: SessionStore, session_id: str) -> None:
        """`create`, `hold` and `read` refuse an id that is no plain name."""
        with pytest.raises(InvalidSessionId):
            store.create(session_id, meta={})
        for opening in (store.hold, store.read):
            with pytest.raises(InvalidSessionId):
                opening(session_id)
        assert list(store.session_ids()) == []

    @pytest.mark.parametrize("session_id", ["a", "A-1_b.c", "20260929-153012-3f9a", "0" * 128])
    def test_plain_names_are_ids(self, store: SessionStore, session_id: str) -> None:
        """Letters, digits, ``.``, ``_`` and ``-`` make an id."""
        store.create(session_id, meta={}).close()
        assert list(store.session_ids()) == [session_id]

    def test_ids_that_differ_in_case_only(self, store: SessionStore) -> None:
        """Two ids are two sessions, or the second is refused; never one session for both."""
        store.create("case", meta={"n": 1}).close()
        with suppress(SessionExists):
            store.create("CASE", meta={"n": 2}).close()
        with store.read("case") as reader:
            assert reader.meta() == {"n": 1}

    def test_an_id_is_taken_once(self, store: SessionStore, writer: SessionWriter) -> None:
        """`create` refuses an id that is recorded, held or not, and leaves that session alone."""
        writer.append(0, text("first"))
        with pytest.raises(SessionExists):
            store.create("s1", meta={"channel": "other"})
        writer.close()
        with pytest.raises(SessionExists):
            store.create("s1", meta={"channel": "other"})
        with store.read("s1") as reader:
            assert reader.count() == 1
            assert reader.meta() == {"channel": "tui"}

    def test_a_session_that_is_not_there(self, store: SessionStore) -> None:
        """`hold` and `read` say so; `holder` knows of nobody; nothing comes into being."""
        with pytest.raises(SessionNotFound):
            store.hold("nobody")
        with pytest.raises(SessionNotFound):
            store.read("nobody")
        assert store.holder("nobody") is None
        assert list(store.session_ids()) == []
        assert store.summaries(ListQuery(include_unlisted=True)) == []

    def test_there_is_no_delete(self, store: SessionStore, writer: SessionWriter) -> None:
        """Neither a store nor a writer has a way to delete."""
        for thing in (store, writer):
            assert not [name for name in dir(thing) if "delete" in name or name.startswith(("drop", "purge"))]

    # Messages -------------------------------------------------------------------------------------

    def test_messages_come_back_in_order(self, writer: SessionWriter) -> None:
        """Beyond ten and beyond a hundred, too."""
        for index in range(130):
            stored = writer.append(index, text(f"m{index}", "assistant" if index % 2 else "user"))
            assert (stored.index, stored.redacted) == (index, False)
            assert writer.count() == index + 1
        stored_all = writer.messages()
        assert [stored.index for stored in stored_all] == list(range(130))
        assert [stored.message["content"][0]["text"] for stored in stored_all] == [
            f"m{i}" for i in range(130)
        ]
        times = [datetime.fromisoformat(stored.created_at) for stored in stored_all]
        assert times == sorted(times)
        assert all(moment.utcoffset() == timedelta(0) for moment in times)

    @pytest.mark.parametrize(
        ("offset", "limit", "expected"),
        [
            (0, None, range(9)),
            (4, None, range(4, 9)),
            (4, 2, range(4, 6)),
            (7, 10, range(7, 9)),
            (9, 1, range(0)),
            (50, None, range(0)),
            (0, 0, range(0)),
        ],
    )
    def test_messages_by_offset_and_limit(
        self, writer: SessionWriter, offset: int, limit: int | None, expected: range
    ) -> None:
        """`messages` returns from `offset` at most `limit`, and `stream` the same one by one."""
        _fill(writer, 9)
        returned = writer.messages(offset=offset, limit=limit)
        assert [stored.index for stored in returned] == list(expected)
        assert list(writer.stream(offset=offset, limit=limit)) == returned

    def test_what_append_returns_is_what_is_read(self, store: SessionStore, writer: SessionWriter) -> None:
        """`append` returns the record."""
        returned = [writer.append(index, text(f"m{index}")) for index in range(3)]
        assert writer.messages() == returned
        with store.read("s1") as reader:
            assert reader.messages() == returned

    def test_everything_json_can_say(self, writer: SessionWriter) -> None:
        """Nested values, empty ones, large numbers and every kind of character come back the same."""
        message: Message = {
            "role": "assistant",
            "content": [
                {"text": 'é 漢字 \U0001f9ea \0 \x1b[31m \u2028 "quoted" \\ \r\n\ttabs'},
                {
                    "toolUse": {
                        "toolUseId": "t1",
                        "name": "shell",
                        "input": {"a": [1, 2.5, None, True, {}, []]},
                    }
                },
                {"image": {"source": {"bytes": {"__bytes_encoded__": True, "data": "AAEC"}}}},
            ],
            "tracking_id": "x",
            "metadata": {"n": 2**53, "small": -1.5e-7, "": ""},
        }
        writer.append(0, message)
        assert writer.messages()[0].message == message

    def test_what_utf8_cannot_carry(self, writer: SessionWriter) -> None:
        """A lone surrogate is kept as U+FFFD in a message, an event and metadata; nothing is lost for it."""
        writer.append(0, text("a\ud800b"))
        writer.append_event({"kind": "notice", "text": "\udfff"})
        writer.patch_meta({"title": "x\udc80"})
        assert writer.messages()[0].message == text("a\ufffdb")
        assert writer.events()[0]["text"] == "\ufffd"
        assert writer.meta()["title"] == "x\ufffd"

    def test_a_large_message(self, writer: SessionWriter) -> None:
        """Three megabytes in one message."""
        words = "0123456789abcdef" * 200_000
        writer.append(0, text(words))
        writer.append(1, text("after"))
        assert writer.messages()[0].message == text(words)
        assert writer.count() == 2

    def test_no_message_is_overwritten(self, writer: SessionWriter) -> None:
        """`append` refuses an index that exists; the next free one still works."""
        _fill(writer, 3)
        for index in range(3):
            with pytest.raises(MessageExists):
                writer.append(index, text("other"))
        assert _words(writer) == ["m0", "m1", "m2"]
        writer.append(3, text("m3"))
        assert _words(writer) == ["m0", "m1", "m2", "m3"]

    def test_no_gap(self, writer: SessionWriter) -> None:
        """`append` refuses an index beyond the next, and a negative one; nothing is written."""
        _fill(writer, 2)
        for index in (3, 10, -1):
            with pytest.raises(ValueError, match=str(index)):
                writer.append(index, text("other"))
        assert writer.count() == 2
        writer.append(2, text("m2"))
        assert _words(writer) == ["m0", "m1", "m2"]

    @pytest.mark.parametrize(
        "value", [b"bytes", {1: "key"}, {"a", "set"}, object(), datetime(2026, 1, 1, tzinfo=UTC)]
    )
    def test_only_plain_json(self, writer: SessionWriter, value: Any) -> None:
        """What JSON cannot say is refused as ValueError; nothing is written, and the index stays free."""
        with pytest.raises(ValueError, match="JSON"):
            writer.append(0, {"role": "user", "content": [{"value": value}]})
        assert writer.count() == 0
        writer.append(0, text("m0"))
        assert _words(writer) == ["m0"]

    def test_records_are_copies(self, writer: SessionWriter) -> None:
        """Nothing that was handed in or out changes the record when it changes."""
        message, state, event = text("m0"), AgentState(state={"a": [1]}), {"kind": "notice", "list": [1]}
        stored = writer.append(0, message)
        writer.write_agent_state(state)
        writer.append_event(event)
        for part in (message["content"], stored.message["content"], writer.messages()[0].message["content"]):
            part.append({"text": "later"})
        state.state["a"].append(2)
        event["list"] = []
        writer.events()[0]["list"].append(2)
        writer.meta()["channel"] = "other"
        read_state = writer.agent_state()
        assert _words(writer) == ["m0"]
        assert read_state is not None
        assert read_state.state == {"a": [1]}
        assert writer.events()[0]["list"] == [1]
        assert writer.meta() == {"channel": "tui"}

    @pytest.mark.parametrize(
        "held", ["a Needle here", "aneedleb", 'say "NEEDLE"', "tab\tneedle", "naïve needle", "é\x1bneedle\n"]
    )
    def test_a_word_that_is_there_may_be_there(self, writer: SessionWriter, held: str) -> None:
        """`may_hold` may be wrong in one direction only."""
        for index in range(12):
            writer.append(index, text(held if index == 5 else "hay", "assistant" if index % 2 else "user"))
        writer.patch_meta({"title": "a haystack"})
        assert writer.may_hold(["needle"])
        assert writer.may_hold(["needle", "hay"])
        assert writer.may_hold(["haystack"])

    def test_scratch_is_kept_or_not_at_all(self, store: SessionStore, writer: SessionWriter) -> None:
        """It is no part of the record."""
        before = writer.summary()
        writer.append_scratch("half a ")
        writer.append_scratch("reply é")
        assert store.read(writer.session_id).scratch() in ("", "half a reply é")
        writer.clear_scratch()
        assert store.read(writer.session_id).scratch() == ""
        assert writer.summary() == before

    def test_results_are_kept_or_not_at_all(self, store: SessionStore, writer: SessionWriter) -> None:
        """In order, as they were, in copies; they are no part of the record, and go when they are cleared."""
        first: dict[str, Any] = {"message": "m", "result": {"content": [{"text": 'é\n"x"\r\u2028'}, {}]}}
        second: dict[str, Any] = {"bytes": {"__bytes_encoded__": True, "data": "AAEC" * 50_000}, "n": None}
        writer.append(0, text("m0"))
        before = _everything(writer)
        assert writer.kept_results() == []
        writer.clear_kept_results()
        writer.keep_result(first)
        kept = [first] if writer.kept_results() else []
        writer.keep_result(second)
        kept += [second] if kept else []
        assert writer.kept_results() == kept
        for result in writer.kept_results():
            result.clear()
        with store.read(writer.session_id) as reader:
            assert reader.kept_results() == kept
            assert _everything(reader) == before
        writer.clear_kept_results()
        assert writer.kept_results() == store.read(writer.session_id).kept_results() == []
        writer.keep_result(second)
        assert writer.kept_results() == kept[1:]
        assert _everything(writer) == before
        assert list(writer.damage()) == []

    def test_what_streams_and_results_are_cleared_each_by_itself(self, writer: SessionWriter) -> None:
        """To clear one scratch leaves the other."""
        writer.append_scratch("half a reply")
        writer.keep_result({"n": 1})
        streamed, kept = writer.scratch(), writer.kept_results()
        writer.clear_scratch()
        assert (writer.scratch(), writer.kept_results()) == ("", kept)
        writer.append_scratch("half a reply")
        writer.clear_kept_results()
        assert (writer.scratch(), writer.kept_results()) == (streamed, [])

    def test_a_result_that_is_no_json(self, writer: SessionWriter) -> None:
        """Refused as ValueError, or not looked at where none are kept; what is kept stays."""
        writer.keep_result({"n": 1})
        kept = writer.kept_results()
        if kept:
            with pytest.raises(ValueError, match="JSON"):
                writer.keep_result({"bytes": b"x"})
        assert writer.kept_results() == kept

    def test_redact_replaces_what_is_shown(self, store: SessionStore, writer: SessionWriter) -> None:
        """`redact` changes one message, keeps its index and time, and marks it; others stay."""
        _fill(writer, 3)
        before = writer.messages()
        writer.redact(1, text("[redacted]"))
        for reader in (writer, store.read("s1")):
            shown = reader.messages()
            assert [stored.message for stored in shown] == [text("m0"), text("[redacted]"), text("m2")]
            assert [stored.redacted for stored in shown] == [False, True, False]
            assert shown[1].created_at == before[1].created_at
            assert reader.count() == 3
        writer.redact(1, text("[again]"))
        writer.append(3, text("m3"))
        assert _words(writer) == ["m0", "[again]", "m2", "m3"]

    def test_redact_needs_a_message(self, writer: SessionWriter) -> None:
        """`redact` of an index that is not recorded is a KeyError and records nothing."""
        _fill(writer, 1)
        for index in (1, -1):
            with pytest.raises(KeyError):
                writer.redact(index, text("x"))
        assert _words(writer) == ["m0"]

    # State, metadata, events ----------------------------------------------------------------------

    def test_agent_state_is_replaced_as_a_whole(self, store: SessionStore, writer: SessionWriter) -> None:
        """`write_agent_state` keeps the last state, nothing of the one before."""
        writer.write_agent_state(AgentState(state={"a": 1}, conversation_manager_state={"b": 2}))
        state = AgentState(
            state={"c": [{"d": None}]},
            conversation_manager_state={"__name__": "X", "removed_message_count": 4},
            internal_state={"interrupt_state": {}},
        )
        writer.write_agent_state(state)
        assert writer.agent_state() == state
        with store.read("s1") as reader:
            assert reader.agent_state() == state

    def test_meta_is_patched(self, store: SessionStore, writer: SessionWriter) -> None:
        """`patch_meta` sets keys, removes those set to None, keeps the others, and returns the whole."""
        assert writer.patch_meta({"title": "t", "n": 1}) == {"channel": "tui", "title": "t", "n": 1}
        assert writer.patch_meta({"n": None, "never": None, "title": "u"}) == {"channel": "tui", "title": "u"}
        assert writer.patch_meta({}) == {"channel": "tui", "title": "u"}
        with store.read("s1") as reader:
            assert reader.meta() == {"channel": "tui", "title": "u"}
            assert reader.summary().meta == {"channel": "tui", "title": "u"}

    def test_meta_is_flat(self, writer: SessionWriter) -> None:
        """A value that is no str, int, float, bool or None is refused and changes nothing."""
        nested: Any = {"nested": {"a": 1}}
        with pytest.raises(ValueError, match="nested"):
            writer.patch_meta(nested)
        assert writer.meta() == {"channel": "tui"}

    def test_events_in_order(self, store: SessionStore, writer: SessionWriter) -> None:
        """`events` returns all of them in order, or the last so many."""
        written = [{"kind": "notice", "at": f"t{n}", "text": f"line\nbreak {n}", "n": n} for n in range(25)]
        for event in written:
            writer.append_event(event)
        for reader in (writer, store.read("s1")):
            assert reader.events() == written
            assert reader.events(limit=4) == written[-4:]
            assert reader.events(limit=100) == written
            assert reader.events(limit=0) == []

    # Time -----------------------------------------------------------------------------------------

    def test_what_moves_a_session_up(self, writer: SessionWriter) -> None:
        """`append` and `patch_meta` move `updated_at`; events, state, reading and a rename do not."""
        seen = [_updated(writer)]

        def moved() -> bool:
            seen.append(_updated(writer))
            return seen[-1] > seen[-2]

        writer.append(0, text("m0"))
        assert moved()
        writer.append_event({"kind": "notice"})
        writer.patch_meta({"name": "amber"}, touch=False)
        writer.messages()
        writer.flush()
        assert not moved()
        writer.patch_meta({"role": "default"})
        assert moved()
        assert seen == sorted(seen)

    def test_opening_moves_nothing(self, store: SessionStore, writer: SessionWriter) -> None:
        """To read, hold, close and list a session leaves `updated_at` where it was."""
        writer.append(0, text("m0"))
        before = writer.summary()
        writer.close()
        store.hold("s1").close()
        with store.read("s1") as reader:
            reader.messages()
            reader.events()
            assert reader.summary() == before
        assert store.summaries(ListQuery()) == [before]

    def test_a_clock_that_steps_back(self, make_store: MakeStore) -> None:
        """`updated_at` and the order of messages go forward whatever the clock does, also after a reopen."""
        machine = pytest.importorskip("time_machine")
        store = make_store()
        start = datetime(2026, 5, 1, 12, tzinfo=UTC)
        with machine.travel(start, tick=False):
            writer = store.create("s1", meta={})
            for index in range(8):
                writer.append(index, text(f"m{index}"))
            high = _updated(writer)
        with machine.travel(start - timedelta(hours=1), tick=False):
            for index in range(8, 11):
                writer.append(index, text(f"m{index}"))
                assert _updated(writer) > high
                high = _updated(writer)
            writer.close()
            writer = store.hold("s1")
            for index in range(11, 14):
                writer.append(index, text(f"m{index}"))
                assert _updated(writer) > high
                high = _updated(writer)
            assert _words(writer) == [f"m{index}" for index in range(14)]
        store.close()

    # Listing --------------------------------------------------------------------------------------

    def test_newest_first(self, store: SessionStore) -> None:
        """`summaries` is ordered by `updated_at`, whatever the ids, and pages by `offset` and `limit`."""
        for session_id in ("b", "d", "a", "c"):
            with store.create(session_id, meta={"channel": "tui", "title": f"title {session_id}"}) as writer:
                _fill(writer, 2)
        with store.hold("d") as writer:
            writer.append(2, text("later"))
        listed = store.summaries(ListQuery())
        assert [summary.session_id for summary in listed] == ["d", "c", "a", "b"]
        assert [summary.message_count for summary in listed] == [3, 2, 2, 2]
        assert listed[1].text("title") == "title c"
        assert all(summary.created_at <= summary.updated_at for summary in listed)
        page = store.summaries(ListQuery(offset=1, limit=2))
        assert [summary.session_id for summary in page] == ["c", "a"]
        assert store.summaries(ListQuery(offset=9)) == []

    def test_who_is_listed(self, store: SessionStore) -> None:
        """By directory; never the excluded one; empty sessions and unnamed one-shots only when asked for."""

        def add(session_id: str, messages: int, **meta: str) -> None:
            with store.create(session_id, meta=dict(meta)) as writer:
                _fill(writer, messages)

        add("here", 1, channel="tui", directory="/w/a")
        add("there", 1, channel="tui", directory="/w/b")
        add("empty", 0, channel="tui", directory="/w/a")
        add("shot", 1, channel="run", directory="/w/a")
        add("named-shot", 1, channel="run", directory="/w/a", name="amber")

        def ids(query: ListQuery) -> set[str]:
            return {summary.session_id for summary in store.summaries(query)}

        assert ids(ListQuery()) == {"here", "there", "named-shot"}
        assert ids(ListQuery(directory="/w/a")) == {"here", "named-shot"}
        assert ids(ListQuery(directory="/w/c")) == set()
        assert ids(ListQuery(exclude="here")) == {"there", "named-shot"}
        assert ids(ListQuery(one_shots=True)) == {"here", "there", "shot", "named-shot"}
        assert ids(ListQuery(include_unlisted=True)) == {"here", "there", "empty", "shot", "named-shot"}
        assert set(store.session_ids()) == {"here", "there", "empty", "shot", "named-shot"}

    def test_a_summary_is_the_record_now(self, store: SessionStore, writer: SessionWriter) -> None:
        """A reader's summary, the writer's and the listing agree while the session is held."""
        _fill(writer, 2)
        writer.patch_meta({"title": "t"})
        with store.read("s1") as reader:
            assert reader.summary() == writer.summary() == store.summaries(ListQuery())[0]
            writer.append(2, text("m2"))
            assert reader.summary() == writer.summary() == store.summaries(ListQuery())[0]
            assert reader.summary().message_count == 3

    # Readers and writers --------------------------------------------------------------------------

    def test_a_reader_sees_what_comes(self, store: SessionStore, writer: SessionWriter) -> None:
        """A reader opened before sees appended messages, events, state and metadata."""
        with store.read("s1") as reader:
            assert reader.count() == 0
            _fill(writer, 70)
            writer.append_event({"kind": "notice"})
            writer.write_agent_state(AgentState(state={"a": 1}))
            writer.patch_meta({"title": "t"})
            assert reader.count() == 70
            assert reader.messages() == writer.messages()
            assert reader.messages(offset=68) == writer.messages(offset=68)
            assert len(reader.events()) == 1
            assert reader.agent_state() == AgentState(state={"a": 1})
            assert reader.meta()["title"] == "t"

    def test_one_writer(self, store: SessionStore, writer: SessionWriter) -> None:
        """A second hold is refused with the first one's name, also in the same process; reading is not."""
        holder = store.holder("s1")
        assert holder is not None
        assert holder.pid == os.getpid()
        with pytest.raises(SessionHeld) as refused:
            store.hold("s1")
        assert str(os.getpid()) in refused.value.holder
        store.read("s1").close()
        writer.append(0, text("still held"))
        writer.close()
        assert store.holder("s1") is None
        with store.hold("s1") as second:
            second.append(1, text("held again"))
            assert _words(second) == ["still held", "held again"]

    def test_closing_twice(self, store: SessionStore, writer: SessionWriter) -> None:
        """Readers, writers and stores may be closed twice; a writer's second close robs nobody."""
        reader = store.read("s1")
        reader.close()
        reader.close()
        writer.close()
        with store.hold("s1"):
            writer.close()
            assert store.holder("s1") is not None
        store.close()
        store.close()

    def test_flush_at_any_time(self, writer: SessionWriter) -> None:
        """`flush` works with nothing new, after every kind of write, and twice."""
        writer.flush()
        writer.append(0, text("m0"))
        writer.append_event({"kind": "notice"})
        writer.write_agent_state(AgentState())
        writer.patch_meta({"title": "t"})
        writer.flush()
        writer.flush()
        assert writer.count() == 1

    def test_threads_share_a_store(self, store: SessionStore) -> None:
        """Of several threads that create the same session, one succeeds; the sessions of all are whole."""
        created: list[str] = []
        refused: list[TauError] = []
        start = threading.Barrier(6)

        def work(number: int) -> None:
            start.wait()
            try:
                store.create("contested", meta={"n": number}).close()
                created.append(f"contested {number}")
            except (SessionExists, SessionHeld) as error:
                refused.append(error)
            with store.create(f"own-{number}", meta={}) as writer:
                _fill(writer, 5)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(_DEADLINE_SECONDS)
        assert len(created) == 1
        assert len(refused) == 5
        assert len(list(store.session_ids())) == 7
        for number in range(6):
            with store.read(f"own-{number}") as reader:
                assert _words(reader) == [f"m{index}" for index in range(5)]

    def test_search_as_declared(self, store: SessionStore, writer: SessionWriter) -> None:
        """A store that declares `search` finds messages that hold every word; another one says it cannot."""
        writer.append(0, text("the quick brown fox"))
        writer.append(1, text("the lazy dog"))
        if not store.capabilities.search:
            with pytest.raises(NotImplementedError):
                store.search("fox", ListQuery())
            return
        hits = store.search("fox quick", ListQuery())
        assert [(hit.session_id, hit.index) for hit in hits] == [("s1", 0)]
        assert store.search("fox dog", ListQuery()) == []

    # Across processes -----------------------------------------------------------------------------

    def test_another_store_object_finds_all(self, make_store: MakeStore) -> None:
        """What a persistent store recorded is there when it is opened anew."""
        first = make_store()
        _only_if(first, first.capabilities.persistent, "persistent")
        with first.create("s1", meta={"channel": "tui"}) as writer:
            _fill(writer, 12)
            writer.redact(3, text("[redacted]"))
            writer.append_event({"kind": "notice", "text": "x"})
            writer.write_agent_state(AgentState(state={"a": 1}))
            writer.patch_meta({"title": "t"})
            writer.keep_result({"n": 1})
            expected, kept = _everything(writer), writer.kept_results()
        first.close()
        second = make_store()
        try:
            with second.read("s1") as reader:
                assert _everything(reader) == expected
                assert reader.kept_results() == kept
            with second.hold("s1") as writer:
                assert _everything(writer) == expected
                assert writer.kept_results() == kept
                writer.append(12, text("m12"))
                assert writer.count() == 13
                assert writer.kept_results() == kept
                writer.clear_kept_results()
            with second.read("s1") as reader:
                assert reader.kept_results() == []
        finally:
            second.close()

    def test_a_close_of_the_store_lets_go(self, make_store: MakeStore) -> None:
        """`close` of a store closes its writers: another may hold at once and finds what was written."""
        first = make_store()
        _only_if(first, first.capabilities.persistent, "persistent")
        _fill(first.create("s1", meta={}), 2)
        first.close()
        second = make_store()
        try:
            with second.hold("s1") as writer:
                assert _words(writer) == ["m0", "m1"]
        finally:
            second.close()

    def test_a_hold_is_kept_between_processes(self, make_store: MakeStore) -> None:
        """Another process is refused, named and readable; kill -9 frees it, and what it wrote is there."""
        store = make_store()
        _only_if(store, store.capabilities.shared, "shared")
        child, acknowledged = _in_child(make_store)
        try:
            assert acknowledged() == 5
            holder = store.holder("s1")
            assert holder is not None
            assert holder.pid == child
            with pytest.raises(SessionHeld) as refused:
                store.hold("s1")
            assert str(child) in refused.value.holder
            with store.read("s1") as reader:
                assert _words(reader) == [f"m{index}" for index in range(5)]
                kept = reader.kept_results()
            assert kept in ([], [{"n": 1}])
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        with _hold_within(store, "s1") as writer:
            assert _words(writer) == [f"m{index}" for index in range(5)]
            assert writer.kept_results() == kept
            writer.append(5, text("m5"))
        assert store.holder("s1") is None
        store.close()

    def test_a_suspended_owner_keeps_its_hold(self, make_store: MakeStore) -> None:
        """A process that is stopped is alive: nobody takes its session, and it goes on where it was."""
        store = make_store()
        _only_if(store, store.capabilities.shared, "shared")
        child, acknowledged = _in_child(make_store)
        try:
            assert acknowledged() == 5
            os.kill(child, signal.SIGSTOP)
            os.waitpid(child, os.WUNTRACED)
            with pytest.raises(SessionHeld):
                store.hold("s1")
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        _hold_within(store, "s1").close()
        store.close()


def _fill(writer: SessionWriter, count: int) -> None:
    for index in range(count):
        writer.append(index, text(f"m{index}"))


def _words(reader: SessionReader) -> list[str]:
    return [stored.message["content"][0]["text"] for stored in reader.messages()]


def _updated(reader: SessionReader) -> datetime:
    return datetime.fromisoformat(reader.summary().updated_at)


def _everything(reader: SessionReader) -> tuple[object, ...]:
    messages: list[StoredMessage] = reader.messages()
    return reader.summary(), reader.meta(), messages, reader.events(), reader.agent_state()


def _only_if(store: SessionStore, declared: bool, what: str) -> None:
    if not declared:
        store.close()
        pytest.skip(f"the store does not declare itself {what}")


def _in_child(make_store: MakeStore) -> tuple[int, Callable[[], int]]:
    """A child process that creates the session s1, writes to it and holds it until it is killed.

    It appends five messages and keeps a result.

    Returns:
        The child's process id, and a call that waits until it is ready and returns what it acknowledged.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            writer = make_store().create("s1", meta={})
            _fill(writer, 5)
            writer.keep_result({"n": 1})
            os.write(writing, bytes([writer.count()]))
            signal.pause()
        finally:
            os._exit(status)
    os.close(writing)

    def acknowledged() -> int:
        with os.fdopen(reading, "rb") as pipe:
            got = pipe.read(1)
        assert got, "the child process failed"
        return got[0]

    return child, acknowledged


def _hold_within(store: SessionStore, session_id: str) -> SessionWriter:
    """Hold a session whose holder was just killed: at once, or as soon as the store has noticed."""
    deadline = time.monotonic() + _DEADLINE_SECONDS
    while True:
        try:
            return store.hold(session_id)
        except SessionHeld:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
