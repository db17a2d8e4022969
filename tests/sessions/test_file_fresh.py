"""A reader that stays open sees what changed since: nothing it keeps of a file outlives the file's change."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tau.errors import SessionUnusable
from tau.sessions.file_system import tells_changes
from tau.sessions.store import SessionStore
from tau.testing.store_contract import text
from tests.sessions.test_file_damage import message, numbered, words
from tests.sessions.test_file_store import ID, data_dir, folder, record, store

__all__ = ["data_dir", "folder", "store"]  # fixtures

OLD = "2026-01-01T00:00:00.000000+00:00"
NEW = "2026-01-02T00:00:00.000000+00:00"


def plain_session(store: SessionStore, folder: Path) -> Path:
    """A session without a log, and its record, which says `OLD`."""
    record(store).close()
    (folder / ".journal").unlink()
    path = folder / "session.json"
    path.write_text(
        f'{{"session_id":"{ID}","session_type":"AGENT","created_at":"{OLD}","updated_at":"{OLD}","format":1}}'
    )
    return path


def say(path: Path, old: str, new: str) -> None:
    path.write_text(path.read_text().replace(old, new))


def test_a_record_that_was_settled(store: SessionStore, folder: Path) -> None:
    path = plain_session(store, folder)
    os.utime(path, ns=(1, 1))
    with store.read(ID) as reader:
        assert reader.summary().created_at == OLD
        say(path, OLD, NEW)
        assert reader.summary().created_at == NEW
        path.unlink()
        path.symlink_to("elsewhere.json")
        with pytest.raises(SessionUnusable, match="a symbolic link"):
            reader.summary()


def test_a_record_that_changes_twice_within_a_tick(store: SessionStore, folder: Path) -> None:
    """Its size and its time stay the same; only what was settled when it was read is kept."""
    path = plain_session(store, folder)
    deadline = time.monotonic() + 20
    while True:
        path.write_text(path.read_text().replace(NEW, OLD))
        now = time.time_ns()
        os.utime(path, ns=(now, now))
        with store.read(ID) as reader:
            seen = [reader.summary().created_at]
            was_fresh = not tells_changes(now)
            say(path, OLD, NEW)
            os.utime(path, ns=(now, now))
            seen.append(reader.summary().created_at)
        if was_fresh:
            assert seen == [OLD, NEW]
            return
        assert time.monotonic() < deadline, "never fast enough to read within a tick"


def test_a_log_that_changes_twice_within_a_tick(store: SessionStore, folder: Path) -> None:
    writer = record(store, 3)
    path = folder / ".journal"
    before = path.stat().st_size
    writer.append(3, text("m3"))
    with_message = path.read_bytes()
    writer.close()
    for name in ("session.json", "meta.json"):
        (folder / name).unlink()
    message(folder, 3).unlink()
    deadline = time.monotonic() + 20
    while True:
        path.write_bytes(with_message[:before].ljust(len(with_message), b" "))
        now = time.time_ns()
        os.utime(path, ns=(now, now))
        with store.read(ID) as reader:
            seen = [reader.count()]
            was_fresh = not tells_changes(now)
            path.write_bytes(with_message)
            os.utime(path, ns=(now, now))
            seen.append(reader.count())
        if was_fresh:
            assert seen == [3, 4]
            return
        assert time.monotonic() < deadline, "never fast enough to read within a tick"


def test_a_log_that_was_settled(store: SessionStore, folder: Path) -> None:
    record(store, 3).close()
    os.utime(folder / ".journal", ns=(1, 1))
    with store.read(ID) as reader:
        before = reader.summary()
        with store.hold(ID) as writer:
            writer.append(3, text("m3"))
            after = reader.summary()
        assert (before.message_count, after.message_count) == (3, 4)
        assert before.updated_at < after.updated_at


def test_a_second_file_of_the_log(
    store: SessionStore, folder: Path, failing_wait: Callable[[int], None]
) -> None:
    """It is begun when a wait for the disk fails; a reader that looked before finds it."""
    record(store, 3).close()
    durable = (folder / ".journal").read_bytes()
    os.utime(folder, ns=(1, 1))
    with store.read(ID) as reader:
        assert reader.count() == 3
        with store.hold(ID) as writer:
            writer.append(3, text("m3"))
            failing_wait(1)
            writer.flush()
            assert (folder / ".journal-1").exists()
            message(folder, 3).unlink()
            (folder / ".journal").write_bytes(durable)
            assert words(reader) == numbered(4)


@pytest.fixture
def failing_wait(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Lets the next so many waits for the disk fail."""
    real = os.fdatasync
    left = 0

    def wait(descriptor: int) -> None:
        nonlocal left
        if left:
            left -= 1
            raise OSError(5, "Input/output error")
        real(descriptor)

    def fail(times: int) -> None:
        nonlocal left
        left = times

    monkeypatch.setattr(os, "fdatasync", wait)
    return fail
