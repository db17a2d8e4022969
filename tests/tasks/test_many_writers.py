"""Many processes on the task database at once, while another program holds a write transaction."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tests.conftest import TauEnv
from tests.tasks.conftest import Home

HELD_SECONDS = 1.0
EACH = 10
OF_A_CONVERSATION = 4
PROCESSES = 8
ROUNDS, THREADS = 40, 3

HOLDER = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
time.sleep(float(sys.argv[2]))
connection.execute("COMMIT")
"""

WORKER = """
import sys
from pathlib import Path
from tau.config.settings import Places, Settings
from tau.tasks.desk import TaskDesk

root, number = Path(sys.argv[1]), sys.argv[2]
places = Places(data=root / "data", state=root / "state", config=root / "config")
desk = TaskDesk(Settings(places=places, directory=root / "work"))
print("ready", flush=True)
sys.stdin.readline()
for task in range(int(sys.argv[3])):
    name = f"task {number}.{task}"
    desk.create(name)
    desk.mark(name, f"{number}/{task}.py", notes="seen")
    desk.complete(name)
"""


IN_THREADS = """
import sys, threading
from pathlib import Path
from tau.config.settings import Places, Settings
from tau.tasks.desk import TaskDesk

number, threads = sys.argv[1], int(sys.argv[2])
print("ready", flush=True)
for line in sys.stdin:
    root = Path(line.strip())
    places = Places(data=root / "data", state=root / "state", config=root / "config")
    desk = TaskDesk(Settings(places=places, directory=root))
    together = threading.Barrier(threads)

    def work(thread):
        together.wait()
        desk.create(f"task {number}.{thread}")

    running = [threading.Thread(target=work, args=[thread]) for thread in range(threads)]
    for each in running:
        each.start()
    for each in running:
        each.join()
    print("done", flush=True)
"""


@contextmanager
def held(path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Another program in a write transaction, which lasts so long from a line on its stdin on."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path), str(HELD_SECONDS)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == b"held\n"
        yield process
    finally:
        process.communicate(timeout=30)


def send(process: subprocess.Popen[bytes], line: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(line)
    process.stdin.flush()


def kept(path: Path) -> list[tuple[str, str, int]]:
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return connection.execute(
            "SELECT name, state, (SELECT count(*) FROM task_files WHERE task_id = id) FROM tasks "
            "ORDER BY name"
        ).fetchall()


def test_eight_processes_write_every_row(home: Home) -> None:
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(home.root), str(number), str(EACH)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for number in range(PROCESSES)
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == b"ready\n"
    for worker in workers:  # no database is there: they make it all at once
        send(worker, b"\n")
    for worker in workers:
        _, errors = worker.communicate(timeout=60)
        assert (worker.returncode, errors) == (0, b"")
    expected = [
        (f"task {number}.{task}", "completed", 1) for number in range(PROCESSES) for task in range(EACH)
    ]
    assert kept(home.desk().path) == sorted(expected)


def test_threads_of_several_processes_begin_a_database_and_keep_every_row(home: Home) -> None:
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", IN_THREADS, str(number), str(THREADS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for number in range(3)
    ]
    roots = [home.root / f"round {number}" for number in range(ROUNDS)]
    for root in roots:
        root.mkdir()
    for answer in (b"ready\n", *[b"done\n"] * ROUNDS):
        for worker in workers:
            assert worker.stdout is not None
            assert worker.stdout.readline() == answer
        for worker in workers:
            if roots:
                send(worker, f"{roots[0]}\n".encode())
        roots = roots[1:]
    for worker in workers:
        _, errors = worker.communicate(timeout=60)
        assert (worker.returncode, errors) == (0, b"")
    expected = [(f"task {number}.{thread}", "created", 0) for number in range(3) for thread in range(THREADS)]
    found = [
        kept(home.root / f"round {number}" / "data" / "tasks" / "tasks.sqlite") for number in range(ROUNDS)
    ]
    assert found == [expected] * ROUNDS


def configured(env: TauEnv, name: str) -> Path:
    """A configuration whose model greets, and then makes and completes tasks of its own."""
    steps: list[dict[str, object]] = [{"text": "hello"}]
    for task in range(OF_A_CONVERSATION):
        for tool, argument in (("create_task", "name"), ("complete_task", "task")):
            call = {"name": tool, "input": {argument: f"{name}.{task}"}, "id": f"{tool}{task}"}
            steps.append({"tools": [call]})
    script = env.home / f"{name}.json"
    script.write_text(json.dumps([*steps, {"text": f"{name} is done"}]))
    config = env.home / f"{name}.toml"
    config.write_text(
        f'[sessions]\nbackend = "memory"\n[models.default]\nprovider = "scripted"\nscript = "{script}"\n'
    )
    return config


def test_conversations_wait_for_another_writer_and_lose_nothing(tau_env: TauEnv) -> None:
    path = tau_env.data / "tasks" / "tasks.sqlite"
    path.parent.mkdir(parents=True)
    names = [f"c{number}" for number in range(PROCESSES)]
    running = {name: tau_env.start("chat", "--config", str(configured(tau_env, name))) for name in names}
    for process in running.values():
        send(process, b"hi\n")
    for process in running.values():
        assert process.stdout is not None
        assert process.stdout.readline() == b"hello\n"
    with held(path) as holder:
        for process in running.values():
            send(process, b"go\n")
        send(holder, b"\n")
        for name, process in running.items():
            output, errors = process.communicate(timeout=60)
            assert process.returncode == 0, errors
            assert output.decode() == f"{name} is done\n"
            assert b"locked" not in errors
            assert b"busy" not in errors
    expected = [(f"{name}.{task}", "completed", 0) for name in names for task in range(OF_A_CONVERSATION)]
    assert kept(path) == sorted(expected)
