"""What a tab is: an app of its own that outlives a reload, keeps what was said, and ends with the server."""

from __future__ import annotations

import base64
import json
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tau.web import tabs
from tau.web.app_process import View
from tests.web.conftest import Serve, Visit
from tests.web.served import Served, children, until

if TYPE_CHECKING:
    from tests.conftest import TauEnv

ONE, TWO = "0123456789abcdef", "fedcba9876543210"
SLOW = {"text": "w " * 300, "chunks": 300, "delay": 0.02}


def resume_line(served: Served) -> str:
    """The command that the terminal was told."""
    found = [line for line in served.err.splitlines() if "--resume" in line]
    assert len(found) == 1, served.err
    return found[0].partition("Resume this session with: tau ")[2]


async def test_a_turn_and_a_reload_in_the_middle_of_it(serve: Serve, visit: Visit, tau_env: TauEnv) -> None:
    tau_env.scripted(SLOW)
    served = await serve()
    visitor = await visit(served)
    screen = await visitor.screen()
    await screen.shows("Ready")
    await screen.type("a long story\r")
    await screen.shows("w w w")
    apps = served.apps()
    await screen.type("a draft")
    await screen.shows("a draft")
    await screen.socket.close()
    again = await visitor.screen()
    await again.shows("a long story")
    await again.shows("a draft")
    assert again.bytes.startswith(b"\x1b[?1049h")  # the modes of a terminal that is new
    assert b"\x1b[?1003h" in again.bytes
    await again.shows("Ready")
    assert served.apps() == apps
    assert again.told("look")[0]["dark"] is True


async def test_two_tabs_are_two_sessions(serve: Serve, visit: Visit, tau_env: TauEnv) -> None:
    served = await serve("--name", "heron")
    visitor = await visit(served)
    one = await visitor.screen(ONE)
    await one.shows("heron")
    await one.shows("Ready")
    two = await visitor.screen(TWO)
    await two.shows("Ready")
    assert "heron" not in two.text()
    assert len(served.apps()) == 2
    await one.type("first\r")
    await two.type("second\r")
    await one.shows("noted")
    await two.shows("noted")
    assert len(tau_env.sessions()) == 2


async def test_the_same_session_in_a_second_tab_is_read_along(serve: Serve, visit: Visit) -> None:
    served = await serve("--session", "s1")
    visitor = await visit(served)
    one = await visitor.screen(ONE)
    await one.shows("Ready")
    await one.type("first\r")
    await one.shows("noted")
    two = await visitor.screen(TWO)
    await two.shows("noted")
    await two.shows("Read-only: this session is open in tau tui")


async def test_a_page_that_opens_the_same_tab_takes_it(serve: Serve, visit: Visit) -> None:
    served = await serve()
    visitor = await visit(served)
    one = await visitor.screen(ONE)
    await one.shows("Ready")
    copy = await visitor.screen(ONE)
    assert await one.closed() == tabs.TAKEN
    await copy.shows("Ready")
    assert len(served.apps()) == 1


async def test_leaving_tells_the_page_and_going_on_finds_the_session(serve: Serve, visit: Visit) -> None:
    served = await serve()
    visitor = await visit(served)
    one = await visitor.screen(ONE)
    await one.shows("Ready")
    await one.type("first\r")
    await one.shows("noted")
    await one.shows("Ready")
    await one.type("\x11")
    assert await one.closed() == tabs.ENDED
    (ended,) = one.told("ended")
    assert ended["resumable"]
    assert ended["text"].startswith("Resume this session with: tau tui --resume ")
    again = await visitor.screen(ONE)
    await again.shows("noted")
    await again.shows("Ready")
    await again.type("\x11")
    await again.closed()
    anew = await visitor.screen(ONE, query="&fresh=1")
    await anew.shows("Ready")
    assert "noted" not in anew.text()


async def test_an_app_that_was_killed_comes_back_with_what_was_said(serve: Serve, visit: Visit) -> None:
    served = await serve()
    visitor = await visit(served)
    one = await visitor.screen()
    await one.shows("Ready")
    await one.type("first\r")
    await one.shows("noted")
    await one.shows("Ready")
    (app,) = served.apps()
    os.kill(app, signal.SIGKILL)
    assert await one.closed() == tabs.ENDED
    assert one.told("ended") == [{"text": "", "resumable": True, "code": -signal.SIGKILL}]
    again = await visitor.screen()
    await again.shows("noted")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_ends_everything_and_loses_nothing(
    serve: Serve, visit: Visit, tau_env: TauEnv, number: signal.Signals
) -> None:
    tau_env.scripted(
        {"tools": [{"name": "shell", "input": {"command": "sleep 600 & echo $$; wait"}, "id": "t1"}]},
        {"text": "noted"},
        more='[approvals]\nallow = ["shell"]\n',
    )
    served = await serve()
    visitor = await visit(served)
    one = await visitor.screen()
    await one.shows("Ready")
    await one.type("run it\r")
    (app,) = served.apps()
    await until(lambda: children(app), "the command")
    tree = [app, *children(app), *(grandchild for child in children(app) for grandchild in children(child))]
    await one.type("half a draft")
    await one.shows("half a draft")
    assert await served.end(number) == 128 + number
    assert await one.closed() == tabs.LEAVING
    await until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in tree), "the end of every process")
    assert "Not sent: half a draft" in served.err
    assert "Traceback" not in served.err
    assert "Resume this session with" in one.told("ended")[0]["text"]
    resumed = await serve(*resume_line(served).split()[1:])
    again = await (await visit(resumed)).screen()
    await again.shows("run it")


async def test_the_apps_end_when_the_server_is_killed(serve: Serve, visit: Visit, tau_env: TauEnv) -> None:
    served = await serve()
    one = await (await visit(served)).screen()
    await one.shows("Ready")
    await one.type("first\r")
    await one.shows("noted")
    await one.shows("Ready")
    (app,) = served.apps()
    assert await served.end(signal.SIGKILL) == -signal.SIGKILL
    await until(lambda: not Path(f"/proc/{app}").exists(), "the end of the app")
    assert tau_env.run("sessions", "list").stdout.count("first") == 1
    assert "defect" not in (tau_env.data / "logs" / "tau.log").read_text()


async def test_an_app_that_nobody_looks_at_ends_when_it_is_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tabs, "QUIET_SECONDS", 0.5)
    said: list[str] = []
    script = (
        "import sys, time\n"
        "def draw(text):\n"
        "    sys.stdout.buffer.write(b'D' + len(text).to_bytes(4, 'big') + text)\n"
        "    sys.stdout.flush()\n"
        "print('__GANGLION__', flush=True)\n"
        "for _ in range(20): draw(b'working'); time.sleep(0.1)\n"
        "print('all drawn', file=sys.stderr, flush=True)\n"
        "time.sleep(600)\n"
    )
    tab = tabs.Tab(lambda view, **_: ["python3", "-c", script], said.append)
    page = await tab.open(_Socket(), View(80, 24, light=False), fresh=False)  # type: ignore[arg-type]  # a page that reads
    assert not tab.leave(page) or tab.app is not None
    assert tab.app is not None
    await until(lambda: tab.app is None, "the end of the app")
    await until(lambda: said, "what it said")
    assert said == ["all drawn"]


class _Socket:
    """The line of a page that takes everything."""

    async def send_bytes(self, data: bytes) -> None:
        """Take it."""

    async def send_str(self, data: str) -> None:
        """Take it."""

    async def close(self, *, code: int) -> None:
        """Be closed."""


async def test_a_page_that_does_not_read_holds_nobody_up(serve: Serve, visit: Visit, tau_env: TauEnv) -> None:
    text = "\n\n".join(f"{number} " + "x" * 40 for number in range(3_000))
    tau_env.scripted({"text": text, "chunks": 1_500}, {"text": "the end"})
    served = await serve()
    visitor = await visit(served)
    one = await visitor.screen()
    await one.shows("Ready")
    one.pause()
    await one.type("go\r")
    await until(lambda: _replies(tau_env) == 1, "the reply")
    one.go_on()
    await one.shows("2999 x")


def _replies(tau_env: TauEnv) -> int:
    return sum(
        json.loads(path.read_text())["message"]["role"] == "assistant"
        for session in tau_env.sessions()
        for path in session.glob("agents/tau/messages/[0-9]*.json")
    )


async def test_a_page_that_was_opened_behind_another_takes_keys_when_it_comes_to_the_front(
    serve: Serve, visit: Visit
) -> None:
    served = await serve()
    one = await (await visit(served)).screen()
    await one.socket.send_json(["focus"])  # before the app has drawn anything
    await one.socket.send_json(["blur"])
    await one.shows("Ready")
    await one.socket.send_json(["focus"])
    await one.type("a question\r")
    await one.shows("noted")


async def test_size_colours_and_what_is_no_message(serve: Serve, visit: Visit, tau_env: TauEnv) -> None:
    served = await serve()
    visitor = await visit(served)
    one = await visitor.screen(query="&light=1")
    await one.shows("Ready")
    assert one.told("look") == [{"background": "#FBFAF8", "dark": False}]
    for nonsense in (
        "x",
        "[]",
        "{}",
        "[1]",
        '["stdin"]',
        '["stdin", 5]',
        '["resize", {}]',
        '["resize", {"width": "x", "height": 1}]',
    ):
        await one.socket.send_str(nonsense)
    await one.socket.send_json(["stdin", "\ud800a question"])
    await one.socket.send_json(["ping", "7"])
    await one.shows("a question")
    assert one.told("pong") == ["7"]
    one.screen.resize(24, 80)
    await one.socket.send_json(["resize", {"width": 80, "height": 24}])
    await until(lambda: "Ready" in one.screen.display[23], one.text)


async def test_copied_text_goes_to_the_browser_and_not_to_the_servers_clipboard(
    serve: Serve, visit: Visit, tau_env: TauEnv
) -> None:
    folder = tau_env.home / "bin"
    folder.mkdir()
    for name in ("xclip", "xsel", "wl-copy", "pbcopy"):
        program = folder / name
        program.write_text(f"#!/bin/sh\ncat > '{tau_env.home}/copied'\n")
        program.chmod(0o755)
    tau_env.environ["PATH"] = f"{folder}:{os.defpath}"
    tau_env.environ.update(DISPLAY=":0", WAYLAND_DISPLAY="w")
    served = await serve()
    one = await (await visit(served)).screen()
    await one.shows("Ready")
    await one.type("copy this")
    await one.shows("copy this")
    await one.type("\x1b[1;2D" * 4 + "\x1b[99;9u")
    await one.shows("to the browser's clipboard")
    assert b"\x1b]52;c;" + base64.b64encode(b"this") in one.bytes
    assert not (tau_env.home / "copied").exists()


async def test_a_file_of_the_directory_is_not_taken_for_a_module(
    serve: Serve, visit: Visit, tau_env: TauEnv
) -> None:
    for name in ("textual", "json", "click", "tau", "asyncio"):
        (tau_env.directory / f"{name}.py").write_text("open('taken', 'w')\nraise SystemExit(3)\n")
    served = await serve()
    one = await (await visit(served)).screen()
    await one.shows("Ready")
    assert not (tau_env.directory / "taken").exists()


async def test_commands_do_not_inherit_what_the_page_needs(
    serve: Serve, visit: Visit, tau_env: TauEnv
) -> None:
    tau_env.scripted(
        {
            "tools": [
                {"name": "shell", "input": {"command": "env > seen; ls -l /proc/self/fd > files"}, "id": "t1"}
            ]
        },
        {"text": "noted"},
        more='[approvals]\nallow = ["shell"]\n',
    )
    served = await serve()
    one = await (await visit(served)).screen()
    await one.shows("Ready")
    await one.type("go\r")
    await one.shows("noted")
    seen = (tau_env.directory / "seen").read_text()
    assert "TEXTUAL_DRIVER" not in seen
    assert "TEXTUAL_COLOR_SYSTEM" not in seen
    assert "token" not in seen


async def test_an_app_that_cannot_start_says_why(serve: Serve, visit: Visit, tau_env: TauEnv) -> None:
    served = await serve()
    tau_env.configure("[sessions\n")
    one = await (await visit(served)).screen()
    assert await one.closed() == tabs.ENDED
    (ended,) = one.told("ended")
    assert "tau.toml" in ended["text"]
    assert (ended["resumable"], ended["code"]) == (False, 2)
