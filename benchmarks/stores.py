"""The ``file`` store against its bars, as ratios in one run on one machine.

    python -m benchmarks.stores [--messages 10000] [--dir DIR]

Prints one table; the exit status is 1 when a ratio is above its bar.
"""

from __future__ import annotations

import argparse
import gc
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.corpus import TURN, messages
from benchmarks.table import Row, report
from tau.sessions.file import open_store
from tau.sessions.store import SessionStore, SessionWriter, StoreContext


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument(
        "--dir", type=Path, help="a folder on the disk to measure; default: the temporary one"
    )
    options = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="tau-stores-", dir=options.dir))
    try:
        corpus = messages(options.messages)
        rows = [
            append_time(place / "append", corpus),
            flush_time(place / "flush", corpus),
            *load_time(place / "load", corpus),
            *newest_time(place / "newest", corpus),
        ]
    finally:
        shutil.rmtree(place)
    return report(rows)


def store_at(place: Path) -> SessionStore:
    return open_store(StoreContext(data_dir=place, state_dir=place / "state"))


def filled(place: Path, session_id: str, corpus: list[dict[str, Any]]) -> SessionWriter:
    """A session with these messages, its files written back, so that no old work is on the disk's list."""
    writer = store_at(place).create(session_id, meta={})
    for index, message in enumerate(corpus):
        writer.append(index, message)
    writer.flush()
    os.sync()
    return writer


def append_time(place: Path, corpus: list[dict[str, Any]]) -> Row:
    """Processor time of one append in a long session and a short one, in turns, the same messages in both."""
    few, many = filled(place, "few", corpus[:100]), filled(place, "many", corpus[:5000])
    costs: dict[str, list[float]] = {"few": [], "many": []}
    gc.collect()
    gc.freeze()
    for turn in range(0, 800, TURN):
        pair = (("few", few), ("many", many)) if turn % 8 else (("many", many), ("few", few))
        for name, writer in pair:
            begin = time.process_time()
            for message in corpus[turn : turn + TURN]:
                writer.append(writer.count(), message)
            costs[name].append((time.process_time() - begin) * 1e3 / TURN)
    few.close()
    many.close()
    ours, base = statistics.median(costs["many"]), statistics.median(costs["few"])
    return ("append at 5,000 messages / at 100 (processor)", ours, base, 1.1)


def flush_time(place: Path, corpus: list[dict[str, Any]]) -> Row:
    """The wait at the end of a turn against one write and fdatasync of the same bytes."""
    writer = filled(place, "s", corpus[:100])
    raw = os.open(place / "raw", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    ours, base = [], []
    for turn in range(0, 400, TURN):
        chunk = corpus[turn : turn + TURN]
        payload = b"".join(msgspec.json.encode(message) + b"\n" for message in chunk)
        for message in chunk:
            writer.append(writer.count(), message)
        ours.append(timed(writer.flush))
        base.append(timed(partial(write_and_wait, raw, payload)))
    os.close(raw)
    writer.close()
    return ("flush of a turn / one write+fdatasync", statistics.median(ours), statistics.median(base), 1.5)


def load_time(place: Path, corpus: list[dict[str, Any]]) -> list[Row]:
    """All messages of a session, warm, against plain JSONL and against the files of strands.

    The best of several, taken in turns: what other programs of the machine do only adds.
    """
    from strands.session import FileSessionManager
    from strands.types.session import SessionAgent, SessionMessage

    filled(place, "s", corpus).close()
    store = store_at(place)
    lines = place / "plain.jsonl"
    with lines.open("wb") as out:
        for index, message in enumerate(corpus):
            out.write(msgspec.json.encode({"type": "message", "ordinal": index, "payload": message}) + b"\n")
    manager = FileSessionManager(session_id="s", storage_dir=str(place / "strands"))
    manager.create_agent("s", SessionAgent(agent_id="tau", state={}, conversation_manager_state={}))
    for index, message in enumerate(corpus):
        manager.create_message("s", "tau", SessionMessage.from_message(message, index))  # type: ignore[arg-type]  # a TypedDict

    def load_ours() -> int:
        with store.read("s") as reader:
            return len(reader.messages())

    def load_plain() -> int:
        with lines.open("rb", 0) as source:
            data = source.read()
        return len([msgspec.json.decode(line)["payload"] for line in data.splitlines()])

    def load_strands() -> int:
        return len([stored.to_message() for stored in manager.list_messages("s", "tau")])

    best: dict[Callable[[], int], float] = {}
    for _ in range(7):
        for load in (load_ours, load_plain):
            best[load] = min(best.get(load, 1e9), timed(load))
    strands = min(timed(load_strands) for _ in range(2))
    count = f"{len(corpus):,}"
    return [
        (f"load {count} / plain JSONL", best[load_ours], best[load_plain], 1.2),
        (f"load {count} / strands files", best[load_ours], strands, 0.15),
    ]


def newest_time(place: Path, corpus: list[dict[str, Any]]) -> list[Row]:
    """The newest 20 messages of a long session against those of one that has no more: read, and taken up."""
    filled(place, "long", corpus).close()
    filled(place, "short", corpus[-20:]).close()
    store = store_at(place)

    def newest(session_id: str) -> None:
        with store.read(session_id) as reader:
            assert len(reader.messages(offset=reader.count() - 20)) == 20

    def take_up(session_id: str) -> None:
        with store.hold(session_id) as writer:
            assert len(writer.messages(offset=writer.count() - 20)) == 20

    rows = []
    for what, bar, look in (("read", 1.5, newest), ("hold", 1.5, take_up)):
        costs: dict[str, list[float]] = {"long": [], "short": []}
        for _ in range(30):
            for name, spent in costs.items():
                spent.append(timed(partial(look, name)))
        ours, base = statistics.median(costs["long"]), statistics.median(costs["short"])
        rows.append((f"{what}, newest 20 of {len(corpus):,} / of 20", ours, base, bar))
    return rows


def write_and_wait(descriptor: int, data: bytes) -> None:
    os.write(descriptor, data)
    os.fdatasync(descriptor)


def timed(call: Callable[[], object]) -> float:
    """Milliseconds that the call takes."""
    begin = time.perf_counter()
    result = call()
    cost = (time.perf_counter() - begin) * 1e3
    del result
    return cost


if __name__ == "__main__":
    sys.exit(main())
