"""Listing and search of the ``file`` store against their bars, as ratios in one run on one machine.

    python -m benchmarks.listing [--sessions 10000] [--searched 1000] [--dir DIR]

Listing is compared with the cheapest correct walk of the layout of strands' file store: file times of every
session, then the title and the number of messages of the ten newest. Search with the index is
compared with reading every message file of that layout and looking for the word in its bytes; search without
one, with a scan that answers the same question: every file read, decoded, its words looked through without
regard to case and accents, once in sessions that are all ASCII and once in others. The corpora are the same;
sessions of the listing beyond the newest 200 are written as plain files, which saves minutes and changes
nothing measured.
Prints one table; the exit status is 1 when a ratio is above its bar.
"""

from __future__ import annotations

import argparse
import heapq
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.corpus import ACCENTED_WORDS, WORDS, messages
from benchmarks.table import Row, report
from tau.sessions.catalog import Catalog
from tau.sessions.file import open_store
from tau.sessions.reconcile import SETTLED_SECONDS
from tau.sessions.records import ListQuery, message_text
from tau.sessions.searching import fold
from tau.sessions.store import SessionStore, StoreContext

NEEDLE = "zqneedle"
TIMES = 15


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sessions", type=int, default=10_000)
    parser.add_argument("--searched", type=int, default=1_000)
    parser.add_argument(
        "--dir", type=Path, help="a folder on the disk to measure; default: the temporary one"
    )
    options = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="tau-listing-", dir=options.dir))
    try:
        return report(
            [
                *list_times(place / "list", options.sessions),
                *search_times(place / "search", options.searched),
                *accented_times(place / "accented", options.searched),
            ]
        )
    finally:
        shutil.rmtree(place)


def list_times(place: Path, count: int) -> list[Row]:
    corpus = messages(6)
    for message in corpus:
        message["content"] = message["content"][:1]
    for number in range(count):
        write_strands(place / "strands", number, corpus[: 4 + number % 3])
    store = store_at(place)
    for number in range(count):
        if number < count - 200:
            write_plain(place / "data", number, corpus[: 4 + number % 3])
        else:
            write_through(store, number, corpus[: 4 + number % 3])
    catalog = Catalog(store, state_dir=place / "state")
    begin = time.perf_counter()
    listed = [summary.session_id for summary in catalog.summaries(ListQuery())]
    first = time.perf_counter() - begin
    assert listed == [name(number) for number in range(count - 1, count - 11, -1)]
    deadline = time.time() + SETTLED_SECONDS
    while time.time() < deadline:
        time.sleep(0.1)
    ours, here, opened, base = medians(
        lambda: catalog.summaries(ListQuery()),
        lambda: catalog.summaries(ListQuery(directory="/w")),
        lambda: list_once(store, place / "state"),
        lambda: strands_newest(place / "strands", 10),
    )
    whole = median(lambda: store.summaries(ListQuery()), times=1)
    catalog.close()
    store.close()
    print(f"10 newest of {count}: index built in {first:.2f} s; without an index {whole:.0f} ms\n")
    return [
        (f"10 newest of {count}, ms", ours, base, 0.05),
        (f"10 newest of {count} of one directory, ms", here, base, 0.05),
        (f"10 newest of {count}, index opened for it, ms", opened, base, 0.1),
    ]


def search_times(place: Path, count: int) -> list[Row]:
    store, expected = searched_store(place, count, WORDS)
    catalog = Catalog(store, state_dir=place / "state")
    begin = time.perf_counter()
    catalog.search(NEEDLE, ListQuery())
    first = time.perf_counter() - begin
    hits = catalog.search(NEEDLE, ListQuery())
    assert {hit.session_id for hit in hits} == expected
    scan, decoded, without = scan_times(place, store, expected)
    ours = median(lambda: catalog.search(NEEDLE, ListQuery()))
    common = median(lambda: catalog.search("session error", ListQuery()))
    symbols = median(lambda: catalog.search("[/]", ListQuery()))
    size = sum(path.stat().st_size for path in (place / "state").rglob("*") if path.is_file())
    text = sum(path.stat().st_size for path in (place / "strands").rglob("message_*.json"))
    catalog.close()
    store.close()
    print(
        f"search over {count} sessions: words taken in {first:.2f} s; index {size / 1e6:.0f} MB for "
        f"{text / 1e6:.0f} MB of messages; two common words {common:.1f} ms; "
        f"punctuation alone {symbols:.1f} ms; without an index {without / scan:.1f} times a scan of bytes\n"
    )
    return [
        (f"search over {count} sessions with the index, ms", ours, scan, 0.1),
        (f"search over {count} sessions without, ms", without, decoded, 1.5),
    ]


def accented_times(place: Path, count: int) -> list[Row]:
    store, expected = searched_store(place, count, ACCENTED_WORDS)
    scan, decoded, without = scan_times(place, store, expected)
    store.close()
    print(f"with accents, without an index: {without / scan:.1f} times a scan of bytes\n")
    return [(f"search over {count} sessions with accents, without, ms", without, decoded, 1.5)]


def searched_store(place: Path, count: int, words: Sequence[str]) -> tuple[SessionStore, set[str]]:
    """Sessions in both layouts, and the ids of those that hold the needle."""
    store = store_at(place)
    expected = set()
    for number in range(count):
        corpus = messages(10, seed=number, words=words)
        if number % 400 == 7:
            corpus[3]["content"][0]["text"] += f" {NEEDLE}"
            expected.add(name(number))
        write_strands(place / "strands", number, corpus)
        write_through(store, number, corpus)
    return store, expected


def scan_times(place: Path, store: SessionStore, expected: set[str]) -> list[float]:
    """The medians of a scan of bytes, of one that decodes and folds, and of our search without an index."""
    (place / "none").mkdir()
    (place / "none" / "index").write_text("a file where the folder of the index would be")
    scanning = Catalog(store, state_dir=place / "none")
    assert {hit.session_id for hit in scanning.search(NEEDLE, ListQuery())} == expected
    assert strands_search(place / "strands", NEEDLE.encode()) == expected
    assert strands_search_decoded(place / "strands", NEEDLE) == expected
    costs = medians(
        lambda: strands_search(place / "strands", NEEDLE.encode()),
        lambda: strands_search_decoded(place / "strands", NEEDLE),
        lambda: scanning.search(NEEDLE, ListQuery()),
    )
    scanning.close()
    return costs


def median(ask: Callable[[], object], *, times: int = TIMES) -> float:
    return statistics.median(milliseconds(ask) for _ in range(times))


def medians(*asks: Callable[[], object]) -> list[float]:
    """The median of each, taken in turns, so that whatever else the machine does meets all alike."""
    rounds = [[milliseconds(ask) for ask in asks] for _ in range(TIMES)]
    return [statistics.median(costs) for costs in zip(*rounds, strict=True)]


def milliseconds(ask: Callable[[], object]) -> float:
    begin = time.perf_counter()
    ask()
    return (time.perf_counter() - begin) * 1e3


def list_once(store: SessionStore, state: Path) -> None:
    catalog = Catalog(store, state_dir=state)
    catalog.summaries(ListQuery())
    catalog.close()


def store_at(place: Path) -> SessionStore:
    return open_store(StoreContext(data_dir=place / "data", state_dir=place / "state"))


def name(number: int) -> str:
    return f"s{number:06}"


def stamp(number: int) -> str:
    return f"2026-01-01T{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}.000000+00:00"


def write_through(store: SessionStore, number: int, corpus: Sequence[dict[str, Any]]) -> None:
    meta = {"directory": "/w", "channel": "tui", "title": f"title of session {number}"}
    with store.create(name(number), meta=meta) as writer:
        for index, message in enumerate(corpus):
            writer.append(index, message)
        writer.flush()


def write_plain(data: Path, number: int, corpus: Sequence[dict[str, Any]]) -> None:
    folder = data / "sessions" / name(number)
    write_messages(folder / "agents" / "tau" / "messages", "{:06}.json", number, corpus)
    record = {"session_id": name(number), "session_type": "AGENT", "format": 1}
    write_json(folder / "session.json", {**record, "created_at": stamp(number), "updated_at": stamp(number)})
    write_json(
        folder / "meta.json", {"directory": "/w", "channel": "tui", "title": f"title of session {number}"}
    )


def write_strands(root: Path, number: int, corpus: Sequence[dict[str, Any]]) -> None:
    agent = root / f"session_{name(number)}" / "agents" / "agent_tau"
    write_messages(agent / "messages", "message_{}.json", number, corpus)
    write_json(agent / "agent.json", {"agent_id": "tau", "state": {"title": f"title of session {number}"}})


def write_messages(place: Path, form: str, number: int, corpus: Sequence[dict[str, Any]]) -> None:
    place.mkdir(parents=True)
    for index, message in enumerate(corpus):
        about = {"message_id": index, "redact_message": None, "created_at": stamp(number)}
        write_json(place / form.format(index), {"message": message, **about})


def write_json(path: Path, value: object) -> None:
    path.write_bytes(msgspec.json.encode(value))


def strands_newest(root: Path, limit: int) -> list[tuple[str, str, int]]:
    times = (
        (os.stat(entry.path + "/agents/agent_tau/messages").st_mtime_ns, entry.path)
        for entry in os.scandir(root)
    )
    found = []
    for _, path in heapq.nlargest(limit, times):
        with open(path + "/agents/agent_tau/agent.json", "rb") as file:
            title = msgspec.json.decode(file.read())["state"]["title"]
        found.append((os.path.basename(path), title, len(os.listdir(path + "/agents/agent_tau/messages"))))
    return found


def strands_search(root: Path, needle: bytes) -> set[str]:
    found = set()
    for entry in os.scandir(root):
        for file in os.scandir(entry.path + "/agents/agent_tau/messages"):
            with open(file.path, "rb", 0) as opened:
                if needle in opened.read():
                    found.add(entry.name.removeprefix("session_"))
                    break
    return found


def strands_search_decoded(root: Path, word: str) -> set[str]:
    found = set()
    for entry in os.scandir(root):
        for file in os.scandir(entry.path + "/agents/agent_tau/messages"):
            with open(file.path, "rb", 0) as opened:
                message = msgspec.json.decode(opened.read())["message"]
            if word in fold(message_text(message)):
                found.add(entry.name.removeprefix("session_"))
    return found


if __name__ == "__main__":
    sys.exit(main())
