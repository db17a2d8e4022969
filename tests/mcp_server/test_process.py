"""`tau mcp` as a process: what stands on its streams, how it ends, what it refuses, what it loads."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tau.mcp_server.server import MOST_AT_ONCE
from tests.conftest import TAU
from tests.mcp_server.clients import HELLO, SECONDS, TOOLS, kept_tasks, request

if TYPE_CHECKING:
    from tests.conftest import TauEnv
    from tests.mcp_server.conftest import Pipe
    from tests.terminal import Open


def test_nothing_but_the_protocol_on_stdout_and_an_end_in_order(pipe: Pipe) -> None:
    server = pipe("--verbose")
    server.process.stdin.write(b"no message\n")  # type: ignore[union-attr]  # it is a pipe
    server.greet()
    server.send(request("tools/list", 2))
    assert [tool["name"] for tool in server.receive()["result"]["tools"]] == TOOLS
    server.send(request("tools/call", 3, name="list_tasks", arguments={}))
    assert server.receive()["id"] == 3
    server.process.stdin.write(json.dumps(HELLO)[:40].encode())  # type: ignore[union-attr]  # as above
    out, err = server.process.communicate(timeout=SECONDS)  # which closes its stdin
    assert (server.process.returncode, out) == (0, b"")
    assert b"Traceback" not in err


def test_a_signal_ends_it_although_the_client_is_there(pipe: Pipe) -> None:
    server = pipe()
    server.greet()
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(SECONDS) == 143
    assert server.process.communicate() == (b"", b"")


def test_a_person_who_starts_it_is_told_what_it_is(terminal: Open) -> None:
    server = terminal("mcp", command=TAU)
    server.until(lambda: b"for a client that starts it; Ctrl+C ends it" in server.bytes, "what it is")
    server.send(json.dumps(HELLO) + "\n")
    server.until(lambda: b'"serverInfo"' in server.bytes, "an answer")
    server.send("\x03")
    assert server.ended() == 130


def test_a_client_that_is_killed(pipe: Pipe) -> None:
    server = pipe()
    server.greet()
    assert server.process.stdout is not None
    assert server.process.stdin is not None
    server.process.stdout.close()
    for number in range(2, 12):
        server.send(request("tools/call", number, name="create_task", arguments={"name": f"task {number}"}))
    server.process.stdin.close()
    assert server.process.wait(SECONDS) == 0
    assert server.process.stderr is not None
    assert server.process.stderr.read() == b""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--port", "8765"], "--port is for --http"),
        (["--host", "127.0.0.1"], "--host is for --http"),
        (["--http", "--host", "0.0.0.0"], "0.0.0.0 can be reached by others"),
        (["--http", "--host", "::"], ":: can be reached by others"),
        (["--http", "--host", "192.0.2.1"], "192.0.2.1 can be reached by others"),
        (["-C", "nowhere"], "nowhere"),
        (["--profile", "nothing"], "nothing"),
    ],
)
def test_what_cannot_be_served_is_one_line(tau_env: TauEnv, arguments: list[str], words: str) -> None:
    done = tau_env.run("mcp", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert words in line


def test_a_broken_configuration_is_one_line(tau_env: TauEnv) -> None:
    tau_env.configure("[tasks]\nmax_age_days = 'many'\n")
    for arguments in ([], ["--http"]):
        done = tau_env.run("mcp", *arguments)
        assert (done.returncode, done.stdout) == (2, "")
        (line,) = done.stderr.splitlines()
        assert "max_age_days" in line


def test_calls_that_nobody_waits_for_any_more_hold_their_places(pipe: Pipe, tau_env: TauEnv) -> None:
    server = pipe()
    server.greet()

    def begin(numbers: range) -> None:
        for number in numbers:
            server.send(request("tools/call", number, name="create_task", arguments={"name": f"t{number}"}))

    def answered(number: int) -> None:
        while server.receive().get("id") != number:
            pass

    def threads() -> int:
        return len(os.listdir(f"/proc/{server.process.pid}/task"))

    begin(range(2, 3))
    answered(2)
    database = tau_env.data / "tasks" / "tasks.sqlite"
    with contextlib.closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        before = threads()
        begin(range(100, 100 + MOST_AT_ONCE))
        server.send(request("ping", 3))
        answered(3)
        for number in range(100, 100 + MOST_AT_ONCE):
            server.send(request("notifications/cancelled", requestId=number))
        begin(range(200, 200 + MOST_AT_ONCE))
        server.send(request("ping", 4))
        answered(4)
        assert threads() <= before + MOST_AT_ONCE + 2
        other.execute("COMMIT")
    names = {f"t{number}" for number in (2, *range(100, 100 + MOST_AT_ONCE), *range(200, 200 + MOST_AT_ONCE))}
    deadline = time.monotonic() + SECONDS
    while {name for name, _, _ in kept_tasks(tau_env)} != names:
        assert time.monotonic() < deadline, "every call is worked on in the end"
        time.sleep(0.05)


def test_the_library_is_loaded_for_this_command_alone(tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "noted"})
    script = (
        "import sys\n"
        "from tau.cli import main\n"
        "code = main()\n"
        "ours = {'mcp', 'mcp_types', 'starlette', 'uvicorn'}\n"
        "loaded = {name.partition('.')[0] for name in sys.modules} & ours\n"
        "assert not loaded and 'tau.mcp_server' not in sys.modules, loaded\n"
        "sys.exit(code)\n"
    )
    for arguments in (["mcp", "--help"], ["tasks", "list"], ["sessions", "search", "x"]):
        done = subprocess.run(
            [sys.executable, "-c", script, *arguments],
            env=tau_env.environ,
            cwd=tau_env.directory,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, (arguments, done.stderr)
