"""The frontier of a task against its bars, as ratios in one run on one machine.

    python -m benchmarks.tasks [--files 5000] [--dir DIR]

A project of so many Python files, each of which imports nine others, and tasks in which some were explored.
A frontier whose imports are kept is compared with reading and parsing the explored files; one in the whole
project with the same task in a tenth of it, for a project must not cost what was not explored; one of many
files with one of few, for it may grow with the files explored and not faster. The last row says how it stands
to a second.
Prints one table; the exit status is 1 when a ratio is above its bar.
"""

from __future__ import annotations

import argparse
import ast
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from benchmarks.table import Row, report
from tau.config.settings import Places, Settings
from tau.tasks.desk import TaskDesk

TIMES = 9
IMPORTS = 9


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--files", type=int, default=5_000)
    parser.add_argument(
        "--dir", type=Path, help="a folder on the disk to measure; default: the temporary one"
    )
    options = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="tau-tasks-", dir=options.dir)).resolve()
    try:
        return report(rows(place, options.files))
    finally:
        shutil.rmtree(place)


def rows(place: Path, count: int) -> list[Row]:
    few, many = count // 50, count // 5
    large, small = project(place / "large", count), project(place / "small", count // 10)
    whole = task(large, count)
    first = milliseconds(lambda: large.view(whole))
    within_few, within_many, in_small = task(large, few), task(large, many), task(small, few)
    assert len(large.view(within_few).frontier.edges) == len(small.view(in_small).frontier.edges) == few
    print(f"{count} files explored, nothing kept yet: {first:.0f} ms\n")
    few_ms, many_ms, small_ms, whole_ms, parsed = best(
        lambda: large.view(within_few),
        lambda: large.view(within_many),
        lambda: small.view(in_small),
        lambda: large.view(whole),
        lambda: parse(place / "large" / "work", many),
    )
    return [
        (f"frontier of {many} explored files, kept, against parsing them, ms", many_ms, parsed, 0.3),
        (f"{few} explored of {count} against {few} of {count // 10}, ms", few_ms, small_ms, 1.3),
        (f"{many} explored files against {few}, ms", many_ms, few_ms, 1.3 * many / few),
        (f"all {count} files explored, kept, against a second, ms", whole_ms, 1_000.0, 0.9),
    ]


def project(root: Path, count: int) -> TaskDesk:
    """A project, and a desk on it. Files import files near them, so a small one has the same edges."""
    directory = root / "work"
    for number in range(count):
        path = directory / module(number, "/", ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        (path.parent / "__init__.py").touch()
        others = (module((number + 1 + other * 3) % count, ".", "") for other in range(IMPORTS))
        lines = ["import os", "import sys", *(f"from {other} import work" for other in others)]
        body = [f"def work_{part}(value):\n    return value + {part}\n" for part in range(40)]
        path.write_text("\n".join([*lines, *body]))
    places = Places(data=root / "data", state=root / "state", config=root / "config")
    return TaskDesk(Settings(places=places, directory=directory))


def module(number: int, between: str, ending: str) -> str:
    return f"package{number // 50}{between}module{number}{ending}"


def task(desk: TaskDesk, explored: int) -> str:
    """A task in which the first files were explored, written as many processes would have."""
    made = desk.create(f"{explored} files").task.id
    with closing(sqlite3.connect(desk.path)) as connection:
        connection.executemany(
            "INSERT INTO task_files VALUES (?, ?, 'explored', NULL, 1)",
            [(made, module(number, "/", ".py")) for number in range(explored)],
        )
        connection.commit()
    return made


def parse(directory: Path, count: int) -> int:
    """The cheapest way to know imports without keeping them; nothing is resolved."""
    found = 0
    for number in range(count):
        tree = ast.parse((directory / module(number, "/", ".py")).read_bytes())
        found += sum(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(tree))
    return found


def best(*asks: Callable[[], object]) -> list[float]:
    """The least that each took, in turns: what else the machine does only adds to it."""
    rounds = [[milliseconds(ask) for ask in asks] for _ in range(TIMES)]
    return [min(costs) for costs in zip(*rounds, strict=True)]


def milliseconds(ask: Callable[[], object]) -> float:
    begin = time.perf_counter()
    ask()
    return (time.perf_counter() - begin) * 1e3


if __name__ == "__main__":
    sys.exit(main())
