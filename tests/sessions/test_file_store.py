"""The ``file`` store: layout, modes, links, ids, disk errors, and what strands reads of it."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import resource
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tau.errors import SessionNotFound, SessionUnusable, StoreError, StoreWriteFailed, TauError
from tau.sessions.file import open_store
from tau.sessions.records import AgentState, ListQuery, Message
from tau.sessions.store import SessionStore, SessionWriter, StoreContext
from tau.testing.store_contract import text

ID = "20260929-153012-3f9a"
PARTS = [
    "",
    "agents",
    "agents/tau",
    "agents/tau/messages",
    "session.json",
    "meta.json",
    "events.jsonl",
    "agents/tau/agent.json",
    "agents/tau/messages/000001.json",
    ".journal",
    ".lock",
    ".reply",
    ".results",
]


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def store(data_dir: Path) -> Iterator[SessionStore]:
    store = store_at(data_dir)
    yield store
    store.close()


@pytest.fixture
def folder(data_dir: Path) -> Path:
    return data_dir / "sessions" / ID


def store_at(data_dir: Path) -> SessionStore:
    return open_store(StoreContext(data_dir=data_dir, state_dir=data_dir / "state", channel="tui"))


def record(store: SessionStore, count: int = 3) -> SessionWriter:
    writer = store.create(ID, meta={"channel": "tui"})
    for index in range(count):
        writer.append(index, text(f"m{index}"))
    writer.append_event({"kind": "notice", "text": "x"})
    writer.write_agent_state(AgentState(state={"a": 1}, conversation_manager_state={"b": 2}))
    writer.append_scratch("half a reply")
    writer.keep_result({"n": 0})
    return writer


def fill(writer: SessionWriter, message: Message) -> None:
    for index in range(writer.count(), 100):
        writer.append(index, message)


def mount_memory(place: Path, option: str) -> None:
    command = ["mount", "-t", "tmpfs", "-o", option, "tmpfs", str(place)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("may not mount a file system")


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_layout(store: SessionStore, folder: Path) -> None:
    record(store).close()
    shown = {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.name.startswith(".")}
    assert shown == {
        "session.json",
        "meta.json",
        "events.jsonl",
        "agents",
        "agents/tau",
        "agents/tau/agent.json",
        "agents/tau/messages",
        *(f"agents/tau/messages/00000{n}.json" for n in range(3)),
    }
    session = json.loads((folder / "session.json").read_text())
    assert list(session) == ["session_id", "session_type", "created_at", "updated_at", "format"]
    assert (session["session_id"], session["session_type"], session["format"]) == (ID, "AGENT", 1)
    assert json.loads((folder / "meta.json").read_text()) == {"channel": "tui"}
    assert json.loads((folder / "events.jsonl").read_text()) == {"kind": "notice", "text": "x"}
    agent = json.loads((folder / "agents/tau/agent.json").read_text())
    assert set(agent) == {
        "agent_id", "state", "conversation_manager_state", "_internal_state", "created_at", "updated_at",
    }  # fmt: skip
    message = json.loads((folder / "agents/tau/messages/000001.json").read_text())
    assert set(message) == {"message", "message_id", "redact_message", "created_at", "updated_at"}
    assert (message["message"], message["message_id"], message["redact_message"]) == (text("m1"), 1, None)


def test_strands_reads_the_records(store: SessionStore, folder: Path) -> None:
    from strands.types.session import Session, SessionAgent, SessionMessage

    writer = record(store)
    writer.redact(1, text("[redacted]"))
    writer.close()
    assert Session.from_dict(json.loads((folder / "session.json").read_text())).session_id == ID
    agent = SessionAgent.from_dict(json.loads((folder / "agents/tau/agent.json").read_text()))
    assert (agent.state, agent.conversation_manager_state) == ({"a": 1}, {"b": 2})
    message = SessionMessage.from_dict(json.loads((folder / "agents/tau/messages/000001.json").read_text()))
    assert message.message == text("m1")
    assert message.to_message() == text("[redacted]")


def test_a_session_that_strands_wrote(store: SessionStore, folder: Path) -> None:
    """Without tau's log and format: readable, and taken up from there."""
    from strands.types.session import Session, SessionAgent, SessionMessage, SessionType

    messages = folder / "agents/tau/messages"
    messages.mkdir(parents=True)
    (folder / "session.json").write_text(json.dumps(Session(ID, SessionType.AGENT).to_dict()))
    agent = SessionAgent("tau", {"a": 1}, {"removed_message_count": 0})
    (folder / "agents/tau/agent.json").write_text(json.dumps(agent.to_dict()))
    for index in range(80):
        held = SessionMessage(text(f"m{index}"), index)  # type: ignore[arg-type]  # strands' own type of message
        (messages / f"{index:06}.json").write_text(json.dumps(held.to_dict(), indent=2))
    with store.read(ID) as reader:
        assert [stored.message for stored in reader.messages()] == [text(f"m{n}") for n in range(80)]
        assert reader.agent_state() == AgentState({"a": 1}, {"removed_message_count": 0})
        newest = reader.messages(offset=79)[0].created_at
        assert reader.summary().updated_at >= newest[:19]
    with store.hold(ID) as writer:
        assert writer.count() == 80
        writer.append(80, text("m80"))
    with store.read(ID) as reader:
        assert [stored.index for stored in reader.messages()] == list(range(81))
        assert list(reader.damage()) == []


def test_more_than_a_million_messages(store: SessionStore, folder: Path) -> None:
    """Names of seven digits sort as numbers."""
    record(store, 0).close()
    (folder / ".journal").unlink()
    messages = folder / "agents/tau/messages"
    for index in (999_998, 999_999, 1_000_000):
        (messages / f"{index:06}.json").write_text(json.dumps({"message": text(f"m{index}")}))
    with store.hold(ID) as writer:
        assert writer.count() == 1_000_001
        writer.append(1_000_001, text("m1000001"))
        found = writer.messages(offset=999_998)
    assert [stored.index for stored in found] == [999_998, 999_999, 1_000_000, 1_000_001]
    assert (messages / "1000001.json").exists()


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o777])
def test_modes_under_any_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        store = store_at(tmp_path / "deep" / "data")
        writer = record(store)
        writer.redact(0, text("[redacted]"))
        writer.patch_meta({"title": "t"})
        writer.flush()
        store.close()
    finally:
        os.umask(before)
    made = [tmp_path / "deep", *(tmp_path / "deep").rglob("*")]
    modes = {path.relative_to(tmp_path): stat.S_IMODE(path.lstat().st_mode) for path in made}
    assert modes == {path.relative_to(tmp_path): 0o700 if path.is_dir() else 0o600 for path in made}
    assert len(made) > 10


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("dangling", [False, True])
def test_no_link_is_followed(
    tmp_path: Path, store: SessionStore, folder: Path, part: str, dangling: bool
) -> None:
    """Wherever a symbolic link stands, the session is refused by name, and what it points to is untouched."""
    record(store).close()
    place, elsewhere = folder / part if part else folder, tmp_path / "elsewhere"
    place.rename(elsewhere)
    place.symlink_to(tmp_path / "nowhere" if dangling else elsewhere)
    before = tree(tmp_path / "elsewhere") if elsewhere.is_dir() else {"": elsewhere.read_bytes()}

    for opening in (store.read, store.hold):
        with pytest.raises(SessionUnusable) as refused, opening(ID) as reader:
            reader.messages()
        assert "symbolic link" in refused.value.message
        assert str(place) in refused.value.message
    if part == "":
        with pytest.raises(TauError):
            store.create(ID, meta={})
        assert store.summaries(ListQuery()) == []
    after = tree(tmp_path / "elsewhere") if elsewhere.is_dir() else {"": elsewhere.read_bytes()}
    assert after == before
    assert not (tmp_path / "nowhere").exists()


def test_a_linked_sessions_folder_is_refused(tmp_path: Path, data_dir: Path, store: SessionStore) -> None:
    record(store).close()
    (data_dir / "sessions").rename(tmp_path / "elsewhere")
    (data_dir / "sessions").symlink_to(tmp_path / "elsewhere")
    for call in (
        lambda: store.read(ID),
        lambda: store.hold(ID),
        lambda: store.create("other", meta={}),
        lambda: list(store.session_ids()),
    ):
        with pytest.raises(StoreError, match="symbolic link"):
            call()
    assert not (tmp_path / "elsewhere" / "other").exists()


def test_a_linked_data_dir_is_the_persons_choice(tmp_path: Path, data_dir: Path) -> None:
    data_dir.mkdir()
    (tmp_path / "link").symlink_to(data_dir)
    store = store_at(tmp_path / "link")
    record(store).close()
    assert (data_dir / "sessions" / ID / "session.json").exists()
    assert store.capabilities.location == str((data_dir / "sessions").resolve())


@pytest.mark.parametrize("part", ["agents/tau/messages/000001.json", "meta.json", "events.jsonl"])
def test_a_pipe_in_the_place_of_a_file(store: SessionStore, folder: Path, part: str) -> None:
    """Refused at once, not waited for."""
    record(store).close()
    (folder / part).unlink()
    os.mkfifo(folder / part)
    with pytest.raises(SessionUnusable, match="not a regular file"), store.hold(ID) as writer:
        writer.messages()


def test_reading_writes_nothing(store: SessionStore, data_dir: Path, folder: Path) -> None:
    assert list(store.session_ids()) == []
    assert store.summaries(ListQuery()) == []
    with pytest.raises(SessionNotFound):
        store.read(ID)
    assert not data_dir.exists()
    record(store).close()
    before = {path: (path.lstat().st_mtime_ns, path.lstat().st_size) for path in folder.rglob("*")}
    with store.read(ID) as reader:
        reader.messages()
        reader.summary()
        reader.events()
    store.holder(ID)
    store.summaries(ListQuery())
    assert {path: (path.lstat().st_mtime_ns, path.lstat().st_size) for path in folder.rglob("*")} == before


def test_things_that_are_no_sessions(store: SessionStore, data_dir: Path) -> None:
    record(store).close()
    (data_dir / "sessions" / ".hidden").mkdir()
    (data_dir / "sessions" / "notes.txt").write_text("mine")
    (data_dir / "sessions" / "a b").mkdir()
    (data_dir / "sessions" / "empty").mkdir()
    assert [summary.session_id for summary in store.summaries(ListQuery())] == [ID]
    with pytest.raises(SessionUnusable, match="not a directory"):
        store.read("notes.txt")
    with store.hold("empty") as writer:
        writer.append(0, text("m0"))
    assert {summary.session_id for summary in store.summaries(ListQuery())} == {ID, "empty"}


def test_a_newer_format_is_refused(store: SessionStore, folder: Path) -> None:
    record(store).close()
    (folder / "session.json").write_text(json.dumps({"session_id": ID, "format": 2}))
    for call in (store.read, store.hold):
        with pytest.raises(SessionUnusable, match="newer tau"):
            call(ID)


def test_a_file_in_the_way_of_the_data_dir(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    store = store_at(tmp_path / "data")
    with pytest.raises(StoreWriteFailed) as refused:
        store.create(ID, meta={})
    assert str(tmp_path / "data") in refused.value.line()
    assert "TAU_DATA_DIR" in refused.value.line()
    with pytest.raises(StoreError):
        list(store.session_ids())


def test_a_message_file_that_came_from_elsewhere(store: SessionStore, folder: Path) -> None:
    """Nothing that stands at the next index is overwritten, and the log forgets the attempt."""
    writer = record(store)
    foreign = folder / "agents/tau/messages/000003.json"
    foreign.write_text(json.dumps({"message": text("foreign")}))
    with pytest.raises(StoreError, match="000003"):
        writer.append(3, text("mine"))
    assert writer.count() == 3
    writer.close()
    assert b"mine" not in (folder / ".journal").read_bytes()
    with store.hold(ID) as writer:
        assert [stored.message for stored in writer.messages(offset=2)] == [text("m2"), text("foreign")]
        writer.append(4, text("mine"))


def test_a_full_disk(tmp_path: Path) -> None:
    """A real one of 256 KB: told by name, nothing counted, nothing left behind, and it goes on after."""
    if os.geteuid() != 0:
        pytest.skip("mounts a file system")
    disk = tmp_path / "disk"
    disk.mkdir()
    mount_memory(disk, "size=256k")
    try:
        store = store_at(disk)
        writer = record(store, 2)
        writer.flush()
        big = text("x" * 9000)
        with pytest.raises(StoreWriteFailed) as refused:
            fill(writer, big)
        count = writer.count()
        assert count > 5
        assert "No space left on device" in refused.value.message
        assert "TAU_DATA_DIR" in refused.value.hint
        assert str(disk) in refused.value.message
        for attempt in (
            lambda: writer.append(count, big),
            lambda: writer.patch_meta({"title": "x" * 20_000}),
            lambda: writer.write_agent_state(AgentState(state={"x": "x" * 20_000})),
            lambda: writer.append_event({"kind": "notice", "text": "x" * 20_000}),
            lambda: writer.append_scratch("x" * 20_000),
            lambda: writer.keep_result({"text": "x" * 20_000}),
        ):
            with pytest.raises(StoreWriteFailed):
                attempt()
        assert writer.scratch() == "half a reply"
        assert writer.kept_results() == [{"n": 0}]
        with contextlib.suppress(StoreWriteFailed):
            writer.redact(1, text("x" * 20_000))
        for number in range(40):
            with pytest.raises(StoreWriteFailed):
                store.create(f"other-{number}", meta={"title": "x" * 9000})
        assert list(store.session_ids()) == [ID]
        folder = disk / "sessions" / ID
        assert list(folder.rglob(".*.tmp")) == []
        assert len(list((folder / "agents/tau/messages").iterdir())) == count
        subprocess.run(["mount", "-o", "remount,size=4m", disk], check=True)
        writer.append(count, big)
        writer.patch_meta({"title": "after"})
        writer.append_event({"kind": "notice", "text": "after"})
        writer.keep_result({"n": 1})
        writer.close()
        with store.read(ID) as reader:
            assert [stored.index for stored in reader.messages()] == list(range(count + 1))
            assert reader.messages()[0].message == text("m0")
            assert reader.meta()["title"] == "after"
            assert reader.agent_state() == AgentState(state={"a": 1}, conversation_manager_state={"b": 2})
            assert [event["text"] for event in reader.events()] == ["x", "after"]
            assert reader.kept_results() == [{"n": 0}, {"n": 1}]
            assert list(reader.damage()) == []
        store.close()
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def test_a_file_that_may_not_grow(tmp_path: Path) -> None:
    """The same through a limit on the size of files, where writes end short; for every kind of user."""
    script = """
import resource, signal, sys
from pathlib import Path
from tau.errors import StoreWriteFailed
from tests.sessions.test_file_store import ID, record, store_at, text
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store = store_at(Path(sys.argv[1]))
writer = record(store)
journal = Path(sys.argv[1]) / "sessions" / ID / ".journal"
size = journal.stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, resource.RLIM_INFINITY))
try:
    writer.append(3, text("x" * 200))
except StoreWriteFailed as error:
    print(error.line())
assert writer.count() == 3 and journal.stat().st_size == size
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
writer.append(3, text("m3"))
writer.close()
assert [stored.index for stored in store.read(ID).messages()] == [0, 1, 2, 3]
"""
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=True
    )
    assert os.strerror(errno.EFBIG) in done.stdout
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


def test_a_read_only_disk(tmp_path: Path) -> None:
    """What is there can be read and listed; to write is refused in one line."""
    if os.geteuid() != 0:
        pytest.skip("mounts a file system")
    disk = tmp_path / "disk"
    disk.mkdir()
    mount_memory(disk, "size=1m")
    try:
        store = store_at(disk)
        record(store).close()
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        with store.read(ID) as reader:
            assert len(reader.messages()) == 3
        assert len(store.summaries(ListQuery())) == 1
        assert store.holder(ID) is None
        refusals: list[Callable[[], object]] = [
            lambda: store.hold(ID),
            lambda: store.create("other", meta={}),
        ]
        for call in refusals:
            with pytest.raises(StoreWriteFailed, match="Read-only file system") as refused:
                call()
            assert "TAU_DATA_DIR" in refused.value.hint
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def test_somebody_elses_folder() -> None:
    """An ordinary user whose data directory belongs to another: one line, no traceback, nothing written."""
    if os.geteuid() != 0:
        pytest.skip("becomes another user")
    place = Path(tempfile.mkdtemp())
    place.chmod(0o755)
    owned = place / "owned"
    record(store_at(owned)).close()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            store = store_at(owned)
            lines = []
            for call in (
                lambda: list(store.session_ids()),
                lambda: store.read(ID),
                lambda: store.hold(ID),
                lambda: store.create("other", meta={}),
            ):
                try:
                    call()
                except StoreError as error:
                    lines.append(error.line())
            os.write(writing, "\n".join(lines).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        lines = pipe.read().splitlines()
    os.waitpid(child, 0)
    shutil.rmtree(place)
    assert len(lines) == 4
    assert all("Permission denied" in line and "TAU_DATA_DIR" in line for line in lines)


def test_without_hard_links(store: SessionStore, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system without them: the file is made anew under its name, and still never over another."""

    def no_links(*_args: object, **_kwargs: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", no_links)
    writer = record(store, 100)
    assert len(writer.messages()) == 100
    (folder / "agents/tau/messages/000100.json").write_text("{}")
    with pytest.raises(StoreError, match="000100"):
        writer.append(100, text("m100"))
    assert (folder / "agents/tau/messages/000100.json").read_text() == "{}"
    assert list(folder.rglob(".*.tmp")) == []
