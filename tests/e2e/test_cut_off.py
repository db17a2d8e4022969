"""The installed command cut off in the middle of a tool: killed, told to end, interrupted."""

from __future__ import annotations

import base64
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.conversation.test_turns import check_request
from tests.terminal import SECONDS, Open

if TYPE_CHECKING:
    from tests.conftest import TauEnv

pytestmark = pytest.mark.terminal

ALLOWED = '[approvals]\nallow = ["shell"]\n'
UNKNOWN = "its outcome is unknown and it may have had effects"


def call(name: str, identity: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "input": arguments, "id": identity}


def sleeping(marker: str) -> str:
    """A command that says it runs, and then sleeps in two processes, one with a session of its own."""
    return f"setsid sleep 600 & echo $! > {marker}; sleep 600"


def until(condition: Callable[[], object], what: str) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, f"never came: {what}"
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def begun(tau_env: TauEnv, marker: str) -> int:
    """Wait until the command runs; the process that it left in the background."""
    path = tau_env.directory / marker
    until(lambda: path.exists() and path.read_text().strip(), marker)
    return int(path.read_text())


@pytest.fixture
def stray(tau_env: TauEnv) -> Iterator[list[int]]:
    """Processes that a killed tau cannot stop any more."""
    pids: list[int] = []
    yield pids
    for pid in pids:
        if is_alive(pid):
            os.kill(pid, signal.SIGKILL)


def history(tau_env: TauEnv) -> list[dict[str, Any]]:
    (session,) = tau_env.sessions()
    folder = session / "agents" / "tau" / "messages"
    return [json.loads(path.read_text())["message"] for path in sorted(folder.glob("[0-9]*.json"))]


def results(messages: list[dict[str, Any]]) -> dict[str, str]:
    return {
        block["toolResult"]["toolUseId"]: "".join(
            item.get("text", "") for item in block["toolResult"]["content"]
        )
        for message in messages
        for block in message["content"]
        if "toolResult" in block
    }


def test_killed_while_tools_run(tau_env: TauEnv, terminal: Open, stray: list[int]) -> None:
    lines = [f"line {number}: {'so it goes on ' * 4}" for number in range(250)]
    lines[125] = "the middle of the first result"
    (tau_env.directory / "notes.txt").write_text("\n".join(lines))
    header, pixels = b"\0\0\0\x08IHDR\0\0\0\1\0\0\0\1crc!", bytes(range(256)) * 16
    picture = b"\x89PNG\r\n\x1a\n" + header + b"\0\0\x10\0IDAT" + pixels + b"crc!\0\0\0\0IENDcrc!"
    (tau_env.directory / "picture.png").write_bytes(picture)
    calls = [
        call("read_file", "t1", path="notes.txt"),
        call("read_file", "t4", path="picture.png"),
        call("shell", "t2", command=sleeping("running")),
        call("no_such_tool", "t3"),
    ]
    tau_env.scripted({"text": "I look.", "tools": calls}, {"text": "resumed well"}, more=ALLOWED)
    app = terminal("tui")
    app.ready()
    app.send("go\r")
    stray.append(begun(tau_env, "running"))
    app.process.kill(signal.SIGKILL)
    app.ended()
    tau_env.scripted({"text": "resumed well"}, more=ALLOWED)
    (session,) = tau_env.sessions()
    ended = (session / ".results").read_bytes()
    again = terminal("tui", "--resume")
    again.ready()
    again.process.kill(signal.SIGKILL)
    again.ended()
    assert (session / ".results").read_bytes() == ended, "it is kept until it is recorded"
    said = []
    for number in range(3):
        again = terminal("tui", "--resume")
        again.ready()
        again.send(f"continue {number}\r")
        again.until(lambda number=number: len(history(tau_env)) >= 6 + 2 * number, "the turn")  # type: ignore[misc]  # bound now
        again.ready()
        again.send("\x11")
        assert again.ended() == 0
        sent = tau_env.sent()[-1]["messages"]
        check_request(sent)
        said.append(history(tau_env))
    for earlier, later in pairwise(said):
        assert later[: len(earlier)] == earlier, "resuming changes nothing that is there"
        assert len(later) == len(earlier) + 2
    assert not (session / ".results").read_bytes()
    (block,) = [
        item
        for message in sent
        for result in message["content"]
        for item in result.get("toolResult", {}).get("content", ())
        if "image" in item
    ]
    assert base64.b64decode(block["image"]["source"]["bytes"]["data"]) == picture
    kept = results(said[0])
    assert "the middle of the first result" in kept["t1"], "a call that had ended keeps its result"
    assert UNKNOWN in kept["t2"]
    assert UNKNOWN in kept["t3"]
    assert (tau_env.directory / "running").read_text().strip() == str(stray[0]), "nothing is run again"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_a_tool_runs_saves_and_stops_it(
    tau_env: TauEnv, terminal: Open, number: signal.Signals
) -> None:
    shell = call("shell", "t1", command=sleeping("running"))
    tau_env.scripted({"text": "I run it.", "tools": [shell]}, {"text": "went on"}, more=ALLOWED)
    app = terminal("tui")
    app.ready()
    app.send("go\r")
    pid = begun(tau_env, "running")
    app.process.kill(number)
    assert app.ended() == 128 + number
    assert app.is_restored()
    assert not is_alive(pid)
    until(lambda: not is_alive(pid), "the end of what it had started")
    listed = tau_env.run("sessions", "list").stdout
    assert "go (" in listed
    again = terminal("tui", "--resume")
    again.ready()
    again.send("and now?\r")
    again.shows("went on" if len(tau_env.sent()) > 1 else "I run it.")
    again.send("\x1b")
    again.ready()
    again.send("\x11")
    assert again.ended() == 0
    check_request(tau_env.sent()[1]["messages"])
    assert "may have had effects" in results(tau_env.sent()[1]["messages"])["t1"]


def test_esc_frees_the_prompt_and_stops_what_runs(tau_env: TauEnv, terminal: Open) -> None:
    first = call("shell", "t1", command="echo done > marker; echo the real result")
    second = call("shell", "t2", command=sleeping("running"))
    third = call("shell", "t3", command="touch never")
    tau_env.scripted({"tools": [first, second, third]}, {"text": "I see."}, more=ALLOWED)
    app = terminal("tui")
    app.ready()
    app.send("go\r")
    pid = begun(tau_env, "running")
    begin = time.monotonic()
    app.send("\x1b")
    app.shows("Turn cancelled")
    app.ready()
    assert time.monotonic() - begin < 15, "five times the three seconds it may take"
    assert not is_alive(pid)
    app.send("what happened?\r")
    app.shows("I see.")
    sent = tau_env.sent()[-1]["messages"]
    check_request(sent)
    kept = results(sent)
    assert "the real result" in kept["t1"]
    assert "may have had effects" in kept["t2"]
    assert "the real result" not in kept["t3"]
    assert not (tau_env.directory / "never").exists()
    app.send("\x11")
    assert app.ended() == 0


def test_no_secret_is_stored_logged_sent_or_shown(tau_env: TauEnv, terminal: Open) -> None:
    secret = "sk-ant-" + "Q7" * 20
    token = "plain-looking-value-4711"
    digest = "d41d8cd98f00b204e9800998ecf8427e"
    tau_env.environ.update(ANTHROPIC_API_KEY=secret, BUILD_TOKEN=token)
    env = call("shell", "t1", command=f"env; echo {digest}; cat .env")
    (tau_env.directory / ".env").write_text(f"KEY={secret}\n")
    error = {"error": "refused", "message": f"401 for key {secret}"}
    tau_env.scripted({"tools": [env]}, error, more=ALLOWED)
    app = terminal("tui", "-v")
    app.ready()
    app.send("go\r")
    app.shows("Model call failed")
    app.send("\x11")
    assert app.ended() == 0
    again = terminal("tui", "--resume")
    again.ready()
    again.send("\x11")
    assert again.ended() == 0
    places = [tau_env.data, tau_env.home]
    files = [path for place in places for path in place.rglob("*") if path.is_file()]
    for path in files:
        data = path.read_bytes()
        if path.name == "script.json":
            continue  # the test's own
        assert secret.encode() not in data, path
        assert token.encode() not in data, path
    for screen in (app, again):
        assert secret.encode() not in screen.bytes
        assert token.encode() not in screen.bytes
    sent = json.dumps(tau_env.sent()[-1]["messages"])
    assert "BUILD_TOKEN=***" in sent
    assert digest in sent
