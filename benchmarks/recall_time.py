"""How long a `recall` takes over a long chain of sessions, as ratios in one run on one machine.

    python -m benchmarks.recall_time [--messages 30000] [--dir DIR]

Three sessions that continue one another are searched for words of a question, one of them misspelt, so that
every word of every message is compared. Compared with a plain search that only looks which messages have one
of the words: every message file read, decoded, folded and split into words. Cold means that the system has
none of the files in memory. The last row is the longest time for which a loop beside the search, in the same
process, does not get its turn, in milliseconds.
Prints one table; the exit status is 1 when a ratio is above its bar.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.corpus import messages
from benchmarks.table import Row, report
from tau.sessions.file import open_store
from tau.sessions.lineage import Record
from tau.sessions.records import MetaValue, message_text
from tau.sessions.searching import fold
from tau.sessions.store import SessionStore, StoreContext
from tau.tools import recall
from tau.tools.refusals import Watch

QUERY = "port of the gatway"
SESSIONS = 3
LONGEST = 1_500
"""Characters of a text, so that messages are as long as most of those in a conversation."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--messages", type=int, default=30_000)
    parser.add_argument(
        "--dir", type=Path, help="a folder on the disk to measure; default: the temporary one"
    )
    options = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="tau-recall-time-", dir=options.dir))
    try:
        store = open_store(StoreContext(data_dir=place, state_dir=place / "state"))
        record(store, shortened(messages(options.messages)))
        rows = times(store, place, f"{options.messages:,}")
        store.close()
    finally:
        shutil.rmtree(place)
    return report(rows)


def shortened(corpus: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages with their longest texts cut."""
    for message in corpus:
        for block in message["content"]:
            for part in (block, block.get("toolUse", {}).get("input", {})):
                part.update({name: text[:LONGEST] for name, text in part.items() if isinstance(text, str)})
            for part in block.get("toolResult", {}).get("content", ()):
                part["text"] = part["text"][:LONGEST]
    return corpus


def record(store: SessionStore, corpus: list[dict[str, Any]]) -> None:
    """Sessions ``s0`` to ``s2`` with these messages; each has one that answers the question."""
    share = len(corpus) // SESSIONS
    for number in range(SESSIONS):
        said = [
            *corpus[number * share : (number + 1) * share],
            {"role": "user", "content": [{"text": f"The gateway listens on port 4861{number}."}]},
            {"role": "assistant", "content": [{"text": "Noted."}]},
            {"role": "user", "content": [{"text": "Go on."}]},
        ]
        link: dict[str, MetaValue] = (
            {"compacted_from": f"s{number - 1}", "from_count": len(said)} if number else {}
        )
        with store.create(f"s{number}", meta=link) as writer:
            for index, message in enumerate(said):
                writer.append(index, message)
            writer.flush()


def times(store: SessionStore, place: Path, count: str) -> list[Row]:
    """The search and the plain one, cold and warm, and how long it keeps a loop from its turn."""
    here = Record(store.read, f"s{SESSIONS - 1}")

    def search() -> None:
        found = recall.answer(here, QUERY, "", "", room=9_000, watch=Watch(None, 600))
        assert "gateway listens on port 48612" in found

    def plain() -> None:
        assert plain_search(place)

    rows: list[Row] = []
    for state, before, bar in (("cold", forget, 0.7), ("warm", lambda _: None, 1.0)):
        best: dict[Callable[[], None], float] = {}
        for _ in range(3):
            for work in (plain, search):
                before(place)
                begin = time.perf_counter()
                work()
                best[work] = min(best.get(work, 1e9), time.perf_counter() - begin)
        rows.append(
            (f"recall over {count} messages, {state} / a plain search", best[search], best[plain], bar)
        )
    waits = [asyncio.run(longest_wait(search)) for _ in range(3)]
    return [*rows, ("longest wait of a loop beside it / 100 ms", min(waits) * 1e3, 100, 1.0)]


def forget(place: Path) -> None:
    """Let the system drop what it has of the files."""
    os.sync()
    for path in place.rglob("*"):
        if path.is_file():
            descriptor = os.open(path, os.O_RDONLY)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)


def plain_search(place: Path) -> list[Path]:
    """The message files that have one of the words."""
    wanted, word = set(QUERY.split()), re.compile(r"\w+")
    found = []
    for path in place.glob("sessions/*/agents/tau/messages/*.json"):
        words = set(word.findall(fold(message_text(msgspec.json.decode(path.read_bytes())["message"]))))
        if wanted & words:
            found.append(path)
    return found


async def longest_wait(work: Callable[[], None]) -> float:
    """The longest time, in seconds, between two turns of this loop while another thread works."""
    working = asyncio.create_task(asyncio.to_thread(work))
    longest, last = 0.0, time.perf_counter()
    while not working.done():
        await asyncio.sleep(0.001)
        longest, last = max(longest, time.perf_counter() - last), time.perf_counter()
    await working
    return longest


if __name__ == "__main__":
    sys.exit(main())
