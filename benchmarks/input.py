"""What the prompt does at each key against how much there is to look through, as ratios in one run.

    python -m benchmarks.input [--texts 100000] [--files 200000]

Opening a history of 100,000 texts (its newest hundred), and one that ends with a text of 600 kB, is compared
with opening one of 100; ten keys in Ctrl+R likewise, once the texts have been read. A key after ``@`` in a
directory of 200,000 files is compared with one in 2,000: queries are typed letter by letter, and the listing
is made of names as programs have them, without files on the disk.
Prints one table; the exit status is 1 when a ratio is above its bar, or a key takes over 100 ms.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from benchmarks.table import Row, report
from tau.input.file_listing import Listing
from tau.input.files import FileFinder
from tau.input.history import SUFFIX, PromptHistory
from tau.input.history_search import HistorySearch
from tau.input.places import history_folder, make_folder
from tau.sessions.plain_json import encode

TIMES = 7
QUERIES = ("conv", "promptbox", "viewtest", "src/co", "zq", "README", "tc", "e")
_LIST = """
src lib core test utils models view controller main index config session history prompt agent gate tools data
helper network http client server cache build docs readme setup box layout theme widget store
"""
WORDS = _LIST.split()
ENDS = (".py", ".ts", ".tsx", ".md", ".json", ".go", ".css", "_test.py")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--texts", type=int, default=100_000)
    parser.add_argument("--files", type=int, default=200_000)
    options = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="tau-input-"))
    try:
        rows = [*history_times(place, options.texts), *file_times(place, options.files)]
        return report(rows)
    finally:
        shutil.rmtree(place)


def history_times(place: Path, count: int) -> list[Row]:
    small, large = history(place, "small", 100), history(place, "large", count)
    pasted = history(place, "pasted", 100)
    pasted.add("x" * 600_000)
    assert pasted.close(60)
    opening = [seconds(partial(opened, place, name)) for name in ("small", "large", "pasted")]
    keys = []
    for one in (small, large):
        search = one.search()
        search.find("nothing like this", 50, 60)
        keys.append(seconds(partial(ten_keys, search)))
    return [
        (f"open a history of {count:,} texts, ms, against 100", opening[1] * 1e3, opening[0] * 1e3, 1.5),
        ("open a history that ends with 600 kB, ms", opening[2] * 1e3, opening[0] * 1e3, 1.5),
        (f"ten keys in Ctrl+R over {count:,} texts, ms, against 100", keys[1] * 1e3, keys[0] * 1e3, 10),
        (
            "the newest of 1,000 directories, ms, against 20",
            everywhere(place, 1_000),
            everywhere(place, 20),
            20,
        ),
    ]


def opened(place: Path, name: str) -> None:
    fresh(place, name).latest(100)


def ten_keys(search: HistorySearch) -> None:
    for end in range(10):
        search.find(f"text 9{end}", 50, 60)


def history(place: Path, name: str, count: int) -> PromptHistory:
    (place / name).mkdir()
    made = fresh(place, name)
    made.add("text 0")
    assert made.close(60)
    write(made.path, place / name, count, time.time())
    return fresh(place, name)


def fresh(place: Path, name: str) -> PromptHistory:
    return PromptHistory(place / "state", place / name)


def write(path: Path, directory: Path, count: int, until: float) -> None:
    """Add texts to a history, a minute apart, the last one at a time."""
    with path.open("ab") as file:
        for number in range(count):
            text = f"text {number}: please look at the {WORDS[number % len(WORDS)]} once more"
            record = {"at": until - (count - number) * 60, "directory": str(directory), "text": text}
            file.write(encode(record) + b"\n")
    os.utime(path, (until, until))


def everywhere(place: Path, count: int) -> float:
    """The milliseconds until the newest texts of some directories stand there."""
    state = place / f"all-{count}"
    make_folder(history_folder(state))
    for number in range(count):
        write(history_folder(state) / f"{number}{SUFFIX}", place, 50, time.time() - number * 3_600)
    made = PromptHistory(state, place)
    return 1e3 * seconds(lambda: made.search(everywhere=True).find("", 50, 60))


def file_times(place: Path, count: int) -> list[Row]:
    few, many = finder(place, 2_000), finder(place, count)
    typed = [query[:length] for query in QUERIES for length in range(1, len(query) + 1)]
    ours = {query: seconds(partial(many.find, query)) for query in typed}
    base = {query: seconds(partial(few.find, query)) for query in typed}
    slowest = max(ours, key=lambda query: ours[query])
    return [
        (
            f"a key after @ in {count:,} files, ms, against 2,000",
            statistics.mean(ours.values()) * 1e3,
            statistics.mean(base.values()) * 1e3,
            10,
        ),
        (f"the slowest of them (@{slowest}), ms, against 100 ms", ours[slowest] * 1e3, 100, 1),
    ]


def finder(place: Path, count: int) -> FileFinder:
    made = FileFinder(place)
    listing = Listing()
    draw = random.Random(7)
    paths = []
    for number in range(count):
        names = [
            draw.choice(WORDS) + draw.choice(("", "_", "-")) + draw.choice(WORDS)
            for _ in range(draw.randint(2, 5))
        ]
        paths.append("/".join(names) + f"{number % 9973}{draw.choice(ENDS)}")
    for start in range(0, count, 256):
        listing.add(paths[start : start + 256])
    listing.finish(truncated=False)
    listing.seconds = 1e6  # it does not grow old
    made._listing = listing
    return made


def seconds(work: Callable[[], object]) -> float:
    """The median time of a piece of work."""
    times: Sequence[float] = [timed(work) for _ in range(TIMES)]
    return statistics.median(times)


def timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


if __name__ == "__main__":
    sys.exit(main())
