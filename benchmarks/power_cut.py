"""Cuts the power under the ``file`` store and counts what it had acknowledged and lost. Linux, root.

    python -m benchmarks.power_cut [--rounds 20] [--fs ext4,xfs]

Each round makes a fresh file system in an image, lets a process record turns there, cuts the file system off
from its disk at a random moment (FS_IOC_SHUTDOWN without a flush: page cache and uncommitted journal are
gone, as in a power cut), mounts it again and looks. A turn is acknowledged when `flush` returned. The
session is looked at twice, as a reader finds it and after a writer took it up; then its files alone, without
the log.
The exit status is 1 when anything acknowledged was lost or a session did not open.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import random
import select
import signal
import struct
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from benchmarks.corpus import TURN, messages
from tau.errors import TauError
from tau.sessions.file import open_store
from tau.sessions.records import AgentState
from tau.sessions.store import SessionReader, SessionStore, StoreContext

FS_IOC_SHUTDOWN = 0x8004587D
NO_LOG_FLUSH = 2
MAKE = {"ext4": ["mkfs.ext4", "-q", "-F"], "xfs": ["mkfs.xfs", "-q", "-f"]}
MAX_TURNS = 1500
SESSION = "s1"


@dataclass
class Counts:
    """What the rounds on one file system came to, in messages unless it says otherwise."""

    acknowledged: int = 0
    lost_to_reader: int = 0
    lost_to_writer: int = 0
    lost_in_files: int = 0
    lost_events: int = 0
    stale_states: int = 0
    wrong: int = 0
    unopenable: int = 0
    files_gone: int = 0
    beyond: int = 0

    def failed(self) -> bool:
        """Whether a promise was broken; the last two figures break none: they say that there was a cut."""
        return any(getattr(self, item.name) for item in fields(self)[1:-2])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--fs", default="ext4,xfs")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if os.geteuid() != 0:
        print("power_cut mounts file systems: run it as root", file=sys.stderr)
        return 2
    corpus = messages(MAX_TURNS * TURN, seed=3)
    print(
        "| file system | rounds | "
        + " | ".join(item.name.replace("_", " ") for item in fields(Counts))
        + " |"
    )
    print("|---|--:|" + "--:|" * len(fields(Counts)))
    failed = False
    for kind in options.fs.split(","):
        counts = Counts()
        with tempfile.TemporaryDirectory(prefix="tau-power-cut-") as place:
            for number in range(options.rounds):
                one_round(kind, Path(place), corpus, random.Random(options.seed * 1000 + number), counts)
        figures = " | ".join(f"{getattr(counts, item.name):,}" for item in fields(Counts))
        print(f"| {kind} | {options.rounds} | {figures} |", flush=True)
        failed = failed or counts.failed()
    return int(failed)


def one_round(
    kind: str, place: Path, corpus: list[dict[str, Any]], rng: random.Random, counts: Counts
) -> None:
    image, mount_point = place / "image", place / "mount"
    image.unlink(missing_ok=True)
    mount_point.mkdir(exist_ok=True)
    with image.open("wb") as empty:
        empty.truncate(512 << 20)
    run(*MAKE[kind], str(image))
    mount(kind, image, mount_point)
    try:
        turns = record_until_the_cut(mount_point, corpus, rng)
        unmount(mount_point)
        mount(kind, image, mount_point)
        look(mount_point, corpus, turns, counts)
    finally:
        unmount(mount_point)


def record_until_the_cut(mount_point: Path, corpus: list[dict[str, Any]], rng: random.Random) -> int:
    """Turns that were acknowledged before the cut."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            record(mount_point, corpus, writing)
        except TauError:
            pass  # the disk is gone
        finally:
            os._exit(0)
    os.close(writing)
    assert os.read(reading, 1) == b"o", "the writer did not begin"
    moment = time.monotonic() + rng.uniform(0.05, 1.5)
    acknowledged = b""
    while (left := moment - time.monotonic()) > 0:
        if select.select([reading], [], [], left)[0]:
            acknowledged += os.read(reading, 1 << 16)
    os.set_blocking(reading, False)
    try:
        while more := os.read(reading, 1 << 16):
            acknowledged += more
    except BlockingIOError:
        pass
    cut_power(mount_point)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(reading)
    return len(acknowledged)


def record(mount_point: Path, corpus: list[dict[str, Any]], acknowledge: int) -> None:
    """Turn after turn, until the disk is gone: messages, events, metadata, the agent's state, one flush."""
    writer = store_on(mount_point).create(SESSION, meta={"channel": "tui"})
    os.write(acknowledge, b"o")
    for turn in range(MAX_TURNS):
        for index in range(turn * TURN, turn * TURN + TURN):
            writer.append(index, corpus[index])
        writer.append_event({"kind": "notice", "n": turn})
        writer.patch_meta({"turn": turn})
        writer.write_agent_state(AgentState(state={"turn": turn}))
        writer.flush()
        os.write(acknowledge, b"t")
    signal.pause()


def look(mount_point: Path, corpus: list[dict[str, Any]], turns: int, counts: Counts) -> None:
    promised = turns * TURN
    counts.acknowledged += promised
    store = store_on(mount_point)
    try:
        counts.files_gone += files_gone(mount_point, promised)
        with store.read(SESSION) as reader:
            counts.lost_to_reader += lost(reader, corpus, promised, counts)
            counts.lost_events += len(set(range(turns)) - {event["n"] for event in reader.events()})
            state = reader.agent_state()
            stale = (
                turns
                and (reader.meta().get("turn", -1), state.state["turn"] if state else -1) < (turns - 1,) * 2
            )
            counts.stale_states += int(bool(stale))
        with store.hold(SESSION) as writer:
            counts.lost_to_writer += lost(writer, corpus, promised, counts)
            writer.append(writer.count(), corpus[0])
            counts.beyond += writer.count() - 1 - promised
    except TauError as error:
        print(error.line(), file=sys.stderr)
        counts.unopenable += 1
        return
    (mount_point / "data" / "sessions" / SESSION / ".journal").unlink()
    with store.read(SESSION) as reader:
        counts.lost_in_files += lost(reader, corpus, promised, counts)


def lost(reader: SessionReader, corpus: list[dict[str, Any]], promised: int, counts: Counts) -> int:
    found = {stored.index: stored.message for stored in reader.messages(limit=len(corpus))}
    counts.wrong += sum(message != corpus[index] for index, message in found.items() if index < promised)
    return len(set(range(promised)) - set(found))


def files_gone(mount_point: Path, promised: int) -> int:
    """Acknowledged messages whose file the cut took or emptied."""
    folder = mount_point / "data" / "sessions" / SESSION / "agents" / "tau" / "messages"
    files = [folder / f"{index:06}.json" for index in range(promised)]
    return sum(not path.exists() or not path.stat().st_size for path in files)


def store_on(mount_point: Path) -> SessionStore:
    return open_store(StoreContext(data_dir=mount_point / "data", state_dir=mount_point / "state"))


def cut_power(mount_point: Path) -> None:
    descriptor = os.open(mount_point, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.ioctl(descriptor, FS_IOC_SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
    os.close(descriptor)


def mount(kind: str, image: Path, mount_point: Path) -> None:
    often = (
        ",commit=1" if kind == "ext4" else ""
    )  # so that some rounds cut between files that are there and not
    run("mount", "-o", f"loop{often}", str(image), str(mount_point))


def unmount(mount_point: Path) -> None:
    deadline = time.monotonic() + 10
    while f" {mount_point} " in Path("/proc/mounts").read_text(encoding="utf-8"):
        done = subprocess.run(["umount", str(mount_point)], capture_output=True, check=False)
        if done.returncode and time.monotonic() > deadline:
            raise OSError(done.stderr.decode())


def run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


if __name__ == "__main__":
    sys.exit(main())
