"""The command `tau web`: its one line, its refusals, its exit codes, the browser it opens."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conftest import TAU
from tests.web.conftest import Serve, Visit
from tests.web.served import Visitor, until

if TYPE_CHECKING:
    from tests.conftest import TauEnv
    from tests.terminal import Open


async def test_one_line_with_the_address(serve: Serve) -> None:
    served = await serve()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{43}\n", served.out)
    assert served.err == ""
    other = await serve()
    assert served.url.port != other.url.port
    with socket.create_connection(("127.0.0.1", other.page.port or 0)):
        pass
    assert await served.end(signal.SIGINT) == 130
    assert await other.end(signal.SIGTERM) == 143
    assert (served.err, other.err) == ("", "")


async def test_a_port_that_is_taken(serve: Serve, tau_env: TauEnv) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = await asyncio.to_thread(tau_env.run, "web", "--port", str(port))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"tau: Port {port} of 127.0.0.1 is taken (give another with --port, or leave it out for a free one)\n"
    )
    served = await serve("--port", str(port))
    assert served.url.port == port


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--resume", "nothing"], 1, "No session"),
        (["--resume"], 1, "No earlier session in "),
        (["--session", "../x"], 2, "../x"),
        (["--session", "a", "--resume"], 2, "exclude each other"),
        (["--host", "0.0.0.0"], 2, "can be reached by others"),
        (["--host", "192.0.2.1"], 2, "ssh -L"),
        (["--host", "example.invalid"], 2, "--allow-network"),
        (["--host", "192.0.2.1", "--allow-network"], 1, "cannot be listened on"),
        (["--port", "70000"], 2, "--port"),
        (["--profile", "nothing"], 2, "nothing"),
        (["--tab", "x"], 2, "80x24"),
    ],
)
def test_what_cannot_be_is_said_in_a_line(
    tau_env: TauEnv, arguments: list[str], code: int, words: str
) -> None:
    tau_env.scripted({"text": "noted"})
    done = tau_env.run("web", *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    *before, line = done.stderr.splitlines()
    assert words in line
    assert all(warning.startswith("tau: others can reach") for warning in before)
    assert not tau_env.sessions()


def test_without_the_packages(tau_env: TauEnv) -> None:
    script = (
        "import sys\n"
        "sys.modules['textual_serve'] = None\n"
        "from tau.cli import main\n"
        "sys.argv = ['tau', 'web']\n"
        "sys.exit(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=tau_env.environ,
        cwd=tau_env.directory,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.decode() == (
        "tau: tau web needs the package 'textual_serve', which is not installed "
        "(pip install 'tau-terminal[web]')\n"
    )


def test_other_commands_load_nothing_of_it(tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "noted"})
    script = (
        "import sys\n"
        "from tau.cli import main\n"
        "code = main()\n"
        "loaded = {name.partition('.')[0] for name in sys.modules} & {'aiohttp', 'textual_serve', 'jinja2'}\n"
        "assert not loaded and 'tau.web' not in sys.modules, loaded\n"
        "sys.exit(code)\n"
    )
    for arguments in (["--help"], ["web", "--help"], ["sessions", "list"], ["run", "hi"]):
        done = subprocess.run(
            [sys.executable, "-c", script, *arguments],
            env=tau_env.environ,
            cwd=tau_env.directory,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, (arguments, done.stderr)


async def test_the_options_reach_the_app(serve: Serve, visit: Visit, tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "noted"})
    assert tau_env.run("run", "an early question", "--name", "old; touch $HOME/shell").returncode == 0
    text = tau_env.user_config.read_text()
    config = tau_env.directory / "a file.toml"
    config.write_text(
        text.replace("models.default", "models.fast") + '[models.default]\nprovider = "ollama"\n'
    )
    served = await serve(
        "--resume", "old; touch $HOME/shell", "--role", "fast", "--config", "a file.toml", "--bare"
    )
    one = await (await visit(served)).screen()
    await one.shows("an early question")
    await one.shows("fast → scripted")
    assert not (tau_env.home / "shell").exists()


async def test_everyone_may_be_let_in_when_it_is_said_twice(serve: Serve) -> None:
    served = await serve("--host", "0.0.0.0", "--allow-network")
    assert "not encrypted" in served.err
    assert served.url.host == socket.gethostname().lower()
    stranger = Visitor(served)
    port = served.url.port
    for host, status in (
        (f"192.0.2.9:{port}", 403),
        (f"{served.url.host}:{port}", 403),
        ("evil.example", 421),
    ):
        async with stranger._client.get(f"http://127.0.0.1:{port}/", headers={"Host": host}) as answer:
            assert answer.status == status, host
    await stranger.close()


async def test_the_browser_is_given_a_file_and_not_the_secret(serve: Serve, tau_env: TauEnv) -> None:
    browser = tau_env.home / "a-browser"
    seen = tau_env.home / "seen"
    browser.write_text(f"#!/bin/sh\nprintf '%s' \"$*\" > '{seen}.new' && mv '{seen}.new' '{seen}'\n")
    browser.chmod(0o755)
    tau_env.environ["BROWSER"] = str(browser)
    os.umask(os.umask(0o022))
    served = await serve("--open")
    await until(seen.exists, "the browser")
    token = served.url.query["token"]
    address = seen.read_text()
    assert token not in address
    file = Path(address.removeprefix("file://"))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert f"url=http://127.0.0.1:{served.url.port}/?token={token}" in file.read_text()
    visitor = Visitor(served)
    await visitor.use_door()
    assert not file.exists()
    await visitor.close()


def test_another_address_at_the_press_of_a_key(terminal: Open, tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "noted"})
    server = terminal("web", command=TAU)
    server.until(lambda: b"Ctrl+C ends" in server.bytes, "the address")
    server.send("\r")
    server.until(lambda: server.bytes.count(b"?token=") == 2, "another address")
    first, second = re.findall(rb"token=([\w-]+)", server.bytes)
    assert first != second
    server.send("\x03")
    assert server.ended() == 130
