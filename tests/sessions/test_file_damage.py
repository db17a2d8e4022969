"""The ``file`` store after damage, kills, power cuts and hand edits: the sound is shown, the rest named."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tau.errors import StoreWriteFailed
from tau.sessions.records import AgentState, Damage, ListQuery
from tau.sessions.store import SessionReader, SessionStore
from tau.testing.store_contract import text
from tests.sessions.test_file_store import ID, data_dir, folder, record, store, store_at

__all__ = ["data_dir", "folder", "store"]  # fixtures

SPOILS: dict[str, Callable[[bytes], bytes]] = {
    "emptied": lambda _data: b"",
    "cut in half": lambda data: data[: len(data) // 2],
    "NULs": lambda _data: b"\0" * 512,
    "no object": lambda _data: b"[]",
    "no UTF-8": lambda data: data.replace(b"m", b"\xff"),
}
MESSAGES = "agents/tau/messages"
AGENT = "agents/tau/agent.json"


@pytest.fixture(params=[6, 120], ids=["few", "many"])
def count(request: pytest.FixtureRequest) -> int:
    """Few messages are read from their files, many from the log."""
    return int(request.param)


def words(reader: SessionReader) -> list[str]:
    return [stored.message["content"][0]["text"] for stored in reader.messages()]


def numbered(count: int) -> list[str]:
    return [f"m{index}" for index in range(count)]


def message(folder: Path, index: int) -> Path:
    return folder / MESSAGES / f"{index:06}.json"


def sound_files(folder: Path, bad: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in (folder / MESSAGES).iterdir() if path != bad}


def as_before(path: Path, data: bytes, status: os.stat_result) -> None:
    """Put an earlier version of a file back, with its times: what a power cut leaves."""
    path.unlink(missing_ok=True)
    path.write_bytes(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


# Messages ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("spoil", SPOILS.values(), ids=SPOILS.keys())
@pytest.mark.parametrize("logged", [True, False], ids=["with the log", "without it"])
def test_a_damaged_message(
    store: SessionStore, folder: Path, count: int, logged: bool, spoil: Callable[[bytes], bytes]
) -> None:
    """Left as it is and named; the others are shown; the log's copy stands in for it."""
    record(store, count).close()
    bad = message(folder, 2)
    spoilt = spoil(bad.read_bytes())
    bad.write_bytes(spoilt)
    if not logged:
        (folder / ".journal").unlink()
    before = sound_files(folder, bad)
    expected = [word for word in numbered(count) if logged or word != "m2"]
    for opening in (store.read, store.hold, store.hold):
        with opening(ID) as reader:
            assert words(reader) == expected
            assert reader.count() == count
            [damage] = reader.damage()
            assert (damage.part, damage.index, damage.recovered) == (f"{MESSAGES}/000002.json", 2, logged)
            assert damage.reason
    with store.hold(ID) as writer:
        writer.append(count, text(f"m{count}"))
    assert bad.read_bytes() == spoilt
    assert sound_files(folder, bad).items() >= before.items()
    with store.read(ID) as reader:
        assert words(reader) == [*expected, f"m{count}"]


def test_the_newest_message_is_damaged(store: SessionStore, folder: Path, count: int) -> None:
    """Its number is not given again."""
    record(store, count).close()
    (folder / ".journal").unlink()
    message(folder, count - 1).write_bytes(b"")
    with store.hold(ID) as writer:
        assert writer.count() == count
        writer.append(count, text("next"))
        assert words(writer) == [*numbered(count - 1), "next"]
    assert message(folder, count - 1).read_bytes() == b""


def test_redacting_a_damaged_message(store: SessionStore, folder: Path) -> None:
    """Its bytes are kept aside, its content is had from the log."""
    record(store).close()
    message(folder, 1).write_bytes(b"{")
    with store.hold(ID) as writer:
        writer.redact(1, text("[redacted]"))
        assert words(writer) == ["m0", "[redacted]", "m2"]
    assert message(folder, 1).with_name("000001.json.damaged-1").read_bytes() == b"{"
    assert json.loads(message(folder, 1).read_text())["message"] == text("m1")


def test_a_missing_message_without_a_log(store: SessionStore, folder: Path, count: int) -> None:
    record(store, count).close()
    (folder / ".journal").unlink()
    message(folder, 1).unlink()
    with store.hold(ID) as writer:
        assert words(writer) == ["m0", *numbered(count)[2:]]
        assert list(writer.damage()) == [Damage(f"{MESSAGES}/000001.json", "missing", index=1)]


@pytest.mark.parametrize("loss", ["missing", "empty"])
def test_files_that_a_power_cut_took(store: SessionStore, folder: Path, count: int, loss: str) -> None:
    """A reader has them from the log, quietly; a writer puts them back."""
    record(store, count).close()
    lost = [message(folder, index) for index in range(count // 2, count)]
    kept = {path: path.read_bytes() for path in lost}
    for path in lost:
        if loss == "empty":
            as_before(path, b"", path.stat())
        else:
            path.unlink()
    with store.read(ID) as reader:
        assert words(reader) == numbered(count)
        assert reader.count() == count
        assert all(damage.recovered for damage in reader.damage())
    store.hold(ID).close()
    assert {path: path.read_bytes() for path in lost} == kept
    with store.read(ID) as reader:
        assert words(reader) == numbered(count)
        assert list(reader.damage()) == []


def test_a_word_written_by_hand_is_found_and_an_absent_one_is_not(store: SessionStore, folder: Path) -> None:
    record(store, 6).close()
    with store.read(ID) as reader:
        assert not reader.may_hold(["needle"])
    path = message(folder, 1)
    path.write_text(path.read_text().replace("m1", "a Needle"))
    with store.read(ID) as reader:
        assert reader.may_hold(["needle"])
        assert not reader.may_hold(["needles"])


def test_a_message_edited_by_hand(store: SessionStore, folder: Path, count: int) -> None:
    """A valid file wins over the log."""
    record(store, count).close()
    path = message(folder, 1)
    path.write_text(path.read_text().replace("m1", "x1"))
    for opening in (store.read, store.hold):
        with opening(ID) as reader:
            assert words(reader) == ["m0", "x1", *numbered(count)[2:]]
            assert list(reader.damage()) == []


# State files ------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["session.json", "meta.json", AGENT])
@pytest.mark.parametrize(
    "spoil", [b"{", b"", b"\0" * 99, b"[1]"], ids=["brace", "empty", "NULs", "no object"]
)
@pytest.mark.parametrize("logged", [True, False], ids=["with the log", "without it"])
def test_damaged_state(store: SessionStore, folder: Path, part: str, spoil: bytes, logged: bool) -> None:
    """Messages are shown, numbers go on, what was lost is rebuilt, and the damaged bytes are kept aside."""
    record(store, 4).close()
    with store.read(ID) as reader:
        before = reader.summary()
        newest = reader.messages()[-1].created_at
    (folder / part).write_bytes(spoil)
    if not logged:
        (folder / ".journal").unlink()
    with store.read(ID) as reader:
        assert words(reader) == numbered(4)
        summary = reader.summary()
        state = reader.agent_state()
        assert [(damage.part, damage.recovered) for damage in reader.damage()] == [(part, logged)]
    assert (folder / part).read_bytes() == spoil
    whole = AgentState(state={"a": 1}, conversation_manager_state={"b": 2})
    assert state == (whole if logged or part != AGENT else None)
    assert summary.meta == (before.meta if logged or part != "meta.json" else {})
    assert summary.message_count == 4
    assert summary.updated_at == before.updated_at or (not logged and summary.updated_at >= newest)
    with store.hold(ID) as writer:
        writer.append(4, text("m4"))
        writer.patch_meta({"title": "t"})
        writer.write_agent_state(AgentState(state={"new": 1}))
        assert words(writer) == numbered(5)
    aside = [path.read_bytes() for path in (folder / part).parent.glob(f"{Path(part).name}.damaged-*")]
    assert aside == [spoil]
    with store.read(ID) as reader:
        assert reader.agent_state() == AgentState(state={"new": 1})
        assert reader.meta() == {**summary.meta, "title": "t"}
        assert list(reader.damage()) == []
    assert json.loads((folder / "session.json").read_text())["session_id"] == ID


def test_all_state_is_gone(store: SessionStore, folder: Path) -> None:
    record(store, 4).close()
    for part in ("session.json", "meta.json", AGENT, ".journal", "events.jsonl"):
        (folder / part).unlink()
    assert [summary.message_count for summary in store.summaries(ListQuery())] == [4]
    with store.hold(ID) as writer:
        assert words(writer) == numbered(4)
        writer.append(4, text("m4"))
    assert json.loads((folder / "session.json").read_text())["format"] == 1


@pytest.mark.parametrize("part", ["meta.json", AGENT])
def test_state_edited_by_hand_wins(store: SessionStore, folder: Path, part: str) -> None:
    record(store).close()
    path = folder / part
    content = json.loads(path.read_text())
    content.update(
        {"channel": "edited", "state": {"a": "edited"}} if part == AGENT else {"channel": "edited"}
    )
    path.write_text(json.dumps(content, indent=2))
    for opening in (store.read, store.hold, store.read):
        with opening(ID) as reader:
            state = reader.agent_state()
            assert state is not None
            assert "edited" in (reader.meta()["channel"], state.state["a"])


@pytest.mark.parametrize("loss", ["older version", "missing", "empty"])
def test_state_that_a_power_cut_set_back(store: SessionStore, folder: Path, loss: str) -> None:
    """The log has the later version; a reader shows it, a writer puts it back."""
    writer = record(store)
    writer.flush()
    parts = [folder / "session.json", folder / "meta.json", folder / AGENT]
    older = {path: (path.read_bytes(), path.stat()) for path in parts}
    writer.patch_meta({"title": "later"})
    writer.append(3, text("m3"))
    writer.write_agent_state(AgentState(state={"a": "later"}))
    expected = writer.summary()
    writer.close()
    newer = {path: path.read_bytes() for path in parts}
    for path, (data, status) in older.items():
        if loss == "older version":
            as_before(path, data, status)
        elif loss == "empty":
            as_before(path, b"", path.stat())
        else:
            path.unlink()
    with store.read(ID) as reader:
        assert reader.summary() == expected
        assert reader.agent_state() == AgentState(state={"a": "later"})
        assert list(reader.damage()) == []
    store.hold(ID).close()
    assert {path: path.read_bytes() for path in parts} == newer


def test_times_of_state_files_go_forward(store: SessionStore, folder: Path) -> None:
    """Also when the clock was ahead: else what a power cut left behind would look like the later version."""
    record(store).close()
    path = folder / "meta.json"
    ahead = path.stat().st_mtime_ns + 3600 * 10**9
    os.utime(path, ns=(ahead, ahead))
    older = path.read_bytes(), path.stat()
    with store.hold(ID) as writer:
        writer.patch_meta({"title": "later"})
    as_before(path, *older)
    with store.read(ID) as reader:
        assert reader.meta()["title"] == "later"


# Events -----------------------------------------------------------------------------------------


def test_truncated_event_lines(store: SessionStore, folder: Path) -> None:
    """Skipped, left where they are, and the next event begins on a line of its own."""
    writer = record(store)
    writer.append_event({"kind": "notice", "text": "y"})
    writer.close()
    path = folder / "events.jsonl"
    torn = path.read_bytes() + b'{"kind": "noti\n' + b"\0" * 40 + b"\n[]\n" + b'{"kind": "cut'
    path.write_bytes(torn)
    with store.read(ID) as reader:
        assert [event["text"] for event in reader.events()] == ["x", "y"]
        assert [event["text"] for event in reader.events(limit=2)] == ["x", "y"]
        assert [event["text"] for event in reader.events(limit=1)] == ["y"]
    with store.hold(ID) as writer:
        writer.append_event({"kind": "notice", "text": "z"})
        assert [event["text"] for event in writer.events()] == ["x", "y", "z"]
    assert path.read_bytes().startswith(torn)


@pytest.mark.parametrize("left", [0, 1, 2.5, 4])
def test_events_that_a_power_cut_took(store: SessionStore, folder: Path, left: float) -> None:
    """From the log, in order, once each; also when the recovery itself is cut off and done again."""
    writer = record(store)
    for number in range(4):
        writer.append_event({"kind": "notice", "text": f"e{number}"})
    writer.close()
    path = folder / "events.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    whole, part = int(left), left - int(left)
    path.write_bytes(b"".join(lines[:whole]) + lines[whole][: int(len(lines[whole]) * part)])
    expected = ["x", "e0", "e1", "e2", "e3"]
    with store.read(ID) as reader:
        assert [event["text"] for event in reader.events()] == expected
        assert [event["text"] for event in reader.events(limit=2)] == expected[-2:]
    store.hold(ID).close()
    path.write_bytes(path.read_bytes()[:-5])
    for _ in range(3):
        with store.hold(ID) as writer:
            assert [event["text"] for event in writer.events()] == expected
    with store.hold(ID) as writer:
        writer.append_event({"kind": "notice", "text": "e4"})
        assert [event["text"] for event in writer.events()] == [*expected, "e4"]


# Results that are not recorded yet -----------------------------------------------------------------


@pytest.mark.parametrize("left", [0, 1, 6, -1])
def test_a_kept_result_that_was_cut_short(store: SessionStore, folder: Path, left: int) -> None:
    """Left out, unless only its line's end is missing; what is kept next begins on a line of its own."""
    writer = record(store)
    writer.clear_kept_results()
    writer.keep_result({"n": 1})
    writer.close()
    path = folder / ".results"
    line = path.read_bytes()
    path.write_bytes(line + line[:left])
    expected = [{"n": 1}] * (2 if left == -1 else 1)
    with store.read(ID) as reader:
        assert reader.kept_results() == expected
    with store.hold(ID) as writer:
        writer.keep_result({"n": 2})
        assert writer.kept_results() == [*expected, {"n": 2}]
        assert list(writer.damage()) == []
        writer.clear_kept_results()
    assert path.read_bytes() == b""


@pytest.mark.parametrize("spoil", [b"\0" * 40, b"[]", b"{half", b"\xff\xfe", b""])
def test_damage_among_kept_results(store: SessionStore, folder: Path, spoil: bytes) -> None:
    """It hides none of the others."""
    writer = record(store)
    path = folder / ".results"
    path.write_bytes(path.read_bytes() + spoil + b"\n")
    writer.keep_result({"n": 1})
    assert writer.kept_results() == [{"n": 0}, {"n": 1}]
    assert list(writer.damage()) == []


# The log ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("stroke", [b"XXXX", b"\0" * 200, b"\n\n\n", b"\xff\xfe"], ids=repr)
def test_a_log_that_is_damaged_anywhere(store: SessionStore, folder: Path, stroke: bytes) -> None:
    """Wherever bytes of it are overwritten, the files are what counts."""
    writer = record(store, 80)
    writer.patch_meta({"title": "t"})
    expected = (writer.messages(), writer.meta(), writer.events(), writer.agent_state(), writer.summary())
    writer.close()
    journal = folder / ".journal"
    sound = journal.read_bytes()
    for place in range(0, len(sound) - len(stroke), len(sound) // 37):
        journal.write_bytes(sound[:place] + stroke + sound[place + len(stroke) :])
        with store.read(ID) as reader:
            found = (
                reader.messages(),
                reader.meta(),
                reader.events(),
                reader.agent_state(),
                reader.summary(),
            )
            assert found == expected
            assert list(reader.damage()) == []
    store.hold(ID).close()
    for count in (80, 81):
        with store.hold(ID) as writer:
            assert words(writer) == numbered(count)
            writer.append(count, text(f"m{count}"))
    with store.read(ID) as reader:
        assert words(reader) == numbered(82)


def test_a_damaged_log_is_not_sealed(store: SessionStore, folder: Path) -> None:
    """That a writer had it open and closed it in order does not make it sound."""
    record(store, 80).close()
    journal = folder / ".journal"
    journal.write_bytes(journal.read_bytes().replace(b'"m40"', b'"x40"'))
    store.hold(ID).close()
    with store.read(ID) as reader:
        assert words(reader) == numbered(80)


@pytest.mark.parametrize("left", [0.0, 0.3, 0.99])
def test_a_log_that_was_cut_short(store: SessionStore, folder: Path, left: float) -> None:
    """A torn last line gets its newline before the next record."""
    record(store, 80).close()
    journal = folder / ".journal"
    journal.write_bytes(journal.read_bytes()[: int(journal.stat().st_size * left)])
    for number in (80, 81):
        with store.hold(ID) as writer:
            assert writer.count() == number
            writer.append(number, text(f"m{number}"))
            message(folder, number).unlink()
            assert words(writer) == numbered(number + 1)


def test_a_copied_session(store: SessionStore, data_dir: Path, folder: Path, count: int) -> None:
    """A copy under the same id or another one, with or without its times, is a session of its own."""
    record(store, count).close()
    shutil.copytree(folder, folder.with_name("exact"))
    shutil.copytree(folder, folder.with_name("plain"), copy_function=shutil.copyfile)
    shutil.copytree(data_dir, data_dir.with_name("other"), copy_function=shutil.copyfile)
    for place, session_id in (
        (store, "exact"),
        (store, "plain"),
        (store_at(data_dir.with_name("other")), ID),
    ):
        with place.hold(session_id) as writer:
            assert words(writer) == numbered(count)
            assert writer.meta() == {"channel": "tui"}
            writer.append(count, text(f"of {session_id}"))
            assert words(writer) == [*numbered(count), f"of {session_id}"]
            assert list(writer.damage()) == []
    with store.read(ID) as reader:
        assert words(reader) == numbered(count)


def test_a_log_of_another_session(store: SessionStore, folder: Path) -> None:
    """Its messages never appear here."""
    record(store, 3).close()
    with store.create("other", meta={}) as writer:
        for index in range(9):
            writer.append(index, text("of the other"))
    shutil.copy(folder.with_name("other") / ".journal", folder / ".journal")
    message(folder, 1).unlink()
    with store.hold(ID) as writer:
        assert words(writer) == ["m0", "m2"]
        assert writer.count() == 3


def test_one_wait_a_flush(store: SessionStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything since the last flush is covered by one wait; with nothing new there is none."""
    waits: list[str] = []

    def counted(name: str) -> Callable[[int], None]:
        real = getattr(os, name)

        def wait(descriptor: int) -> None:
            waits.append(name)
            real(descriptor)

        return wait

    writer = record(store)
    writer.flush()
    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, name, counted(name))
    writer.append(3, text("m3"))
    writer.append_event({"kind": "notice"})
    writer.patch_meta({"title": "t"})
    writer.write_agent_state(AgentState())
    assert waits == []
    writer.flush()
    assert waits == ["fdatasync"]
    writer.flush()
    assert waits == ["fdatasync"]


def test_a_wait_that_fails(store: SessionStore, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody knows what the disk has then: all since the last wait is written again, to a new file."""
    real = os.fdatasync
    failing = 0

    def wait(descriptor: int) -> None:
        nonlocal failing
        if failing:
            failing -= 1
            raise OSError(5, "Input/output error")
        real(descriptor)

    monkeypatch.setattr(os, "fdatasync", wait)
    writer = record(store, 3)
    writer.flush()
    durable = (folder / ".journal").read_bytes()
    writer.append(3, text("m3"))
    writer.patch_meta({"title": "t"})
    failing = 2
    with pytest.raises(StoreWriteFailed, match="Input/output error"):
        writer.flush()
    assert [path.name for path in folder.glob(".journal*")] == [".journal"]
    writer.append(4, text("m4"))
    writer.append_event({"kind": "notice", "text": "y"})
    writer.flush()
    writer.append(5, text("m5"))
    writer.flush()
    assert sorted(path.name for path in folder.glob(".journal*")) == [".journal", ".journal-1"]
    # The disk never had what the failed wait was for, and the power goes.
    for path in [message(folder, 3), message(folder, 4), message(folder, 5), folder / "meta.json"]:
        path.unlink()
    (folder / "events.jsonl").write_bytes(b"")
    (folder / ".journal").write_bytes(durable)
    with store.read(ID) as reader:
        assert words(reader) == numbered(6)
        assert reader.meta()["title"] == "t"
        assert [event["text"] for event in reader.events()] == ["x", "y"]
    writer.close()
    with store.hold(ID) as writer:
        assert words(writer) == numbered(6)
        assert [event["text"] for event in writer.events()] == ["x", "y"]
        writer.append(6, text("m6"))
    assert message(folder, 4).exists()


# Kills and locks --------------------------------------------------------------------------------

KILLED = """
import sys
from pathlib import Path
from tests.sessions.test_file_store import ID, store_at, text
from tau.sessions.records import AgentState
writer = store_at(Path(sys.argv[1])).create(ID, meta={})
for index in range(100_000):
    writer.append(index, text(f"m{index}"))
    writer.append_event({"kind": "notice", "n": index})
    writer.patch_meta({"n": index})
    writer.write_agent_state(AgentState(state={"n": index}))
    print(index, flush=True)
"""


@pytest.mark.parametrize("after", [1, 40, 111])
def test_kill_in_the_middle_of_appends(store: SessionStore, data_dir: Path, folder: Path, after: int) -> None:
    """All that was acknowledged is there, at once and without a flush; no half file is left."""
    with subprocess.Popen([sys.executable, "-c", KILLED, data_dir], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        for _ in range(after):
            child.stdout.readline()
        child.send_signal(signal.SIGKILL)
        acknowledged = after + len(child.stdout.read().splitlines())
    last = acknowledged - 1
    with store.read(ID) as reader:
        assert words(reader)[:acknowledged] == numbered(acknowledged)
        assert reader.meta()["n"] in (last, last + 1)
    with store.hold(ID) as writer:
        assert acknowledged <= writer.count() <= acknowledged + 1
        assert [event["n"] for event in writer.events()][:acknowledged] == list(range(acknowledged))
        state = writer.agent_state()
        assert state is not None
        assert state.state["n"] in (last, last + 1)
        assert list(writer.damage()) == []
        count = writer.count()
        writer.append(count, text(f"m{count}"))
        assert words(writer) == numbered(count + 1)
    assert list(folder.rglob(".*.tmp")) == []


@pytest.mark.parametrize(
    "name",
    [
        ".meta.json.tmp",
        "agents/tau/.agent.json.tmp",
        f"{MESSAGES}/.000002.json.tmp",
        f"{MESSAGES}/.000003.json.tmp",
    ],
)
def test_what_a_kill_leaves_behind(store: SessionStore, folder: Path, name: str) -> None:
    """A temporary file goes, also when it is a second name of a message."""
    record(store).close()
    if name.endswith("000002.json.tmp"):
        os.link(message(folder, 2), folder / name)
    else:
        (folder / name).write_text("{half")
    with store.hold(ID) as writer:
        assert not (folder / name).exists()
        assert words(writer) == numbered(3)


def test_a_lock_left_on_another_machine(store: SessionStore, folder: Path) -> None:
    """A crash elsewhere on a shared disk: only a person can know whether tau still runs there."""
    record(store).close()
    left = {
        "pid": 4711,
        "host": "elsewhere",
        "channel": "tui",
        "since": "2026-05-01T15:30:00+00:00",
        "boot": "x",
    }
    (folder / ".lock").write_text(json.dumps(left))
    with pytest.raises(Exception, match="process 4711 on elsewhere since 15:30") as refused:
        store.hold(ID)
    assert ".lock" in getattr(refused.value, "hint", "")
    store.read(ID).close()
    assert store.holder(ID) is None
    (folder / ".lock").write_text("")
    store.hold(ID).close()


def test_a_lock_left_by_a_dead_process(store: SessionStore, folder: Path) -> None:
    """Also when its number is another program's now: the kernel knows who holds, not the file."""
    record(store).close()
    left = {"pid": os.getpid(), "host": os.uname().nodename, "channel": "tui", "since": "", "boot": "earlier"}
    (folder / ".lock").write_text(json.dumps(left))
    assert store.holder(ID) is None
    store.hold(ID).close()
