"""Tools of MCP servers: real servers, started, used, found dead and stopped with all they started."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import logging
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from mcp import types

from tau.config.settings import McpSettings
from tau.tools.mcp import McpServers, tool_name
from tau.tools.mcp_process import environment
from tau.tools.mcp_tool import DESCRIPTION_CHARS, McpTool, UnfitTool, contents
from tests.tools.conftest import called, text

FIXTURES = Path(__file__).parents[1] / "fixtures" / "mcp"
SERVER = str(FIXTURES / "server.py")

AT_ONCE = 10
"""Seconds for what takes two at most, on a machine that does other things; a call has 120."""

QUAILS: dict[str, Any] = {"command": sys.executable, "args": [SERVER]}
"""A server made with the library."""

PLAIN: dict[str, Any] = {"command": sys.executable, "args": [str(FIXTURES / "plain.py")]}
"""One of an older protocol that starts at once; it writes its id to the file ``pid``."""

Start = Callable[..., Any]


class Running:
    """Servers that were started.

    Attributes:
        tools: By name.
        lines: What `start` returned.
    """

    def __init__(self, servers: McpServers) -> None:
        self.servers = servers
        self.tools: dict[str, Any] = {}
        self.lines: list[str] = []

    def take(self, tools: Sequence[Any]) -> None:
        self.tools.update({tool.tool_name: tool for tool in tools})

    async def call(self, name: str, /, agent: Any = None, **arguments: Any) -> dict[str, Any]:
        """The result of a call, as the agent's loop makes it."""
        use = {"toolUseId": "t1", "name": name, "input": arguments}
        (event,) = [event async for event in self.tools[name].stream(use, {"agent": agent})]
        return dict(event.tool_result)

    async def said(self, name: str, /, **arguments: Any) -> str:
        """The text of a result that has nothing else, on one line."""
        said = text(await self.call(name, **arguments))
        assert "\n" not in said
        return said


@pytest.fixture
async def start(tmp_path: Path) -> AsyncIterator[Start]:
    """Starts servers in `tmp_path`, from the settings of each; they are closed after the test."""
    made: list[McpServers] = []

    async def started(environ: Mapping[str, str] | None = None, **tables: dict[str, Any]) -> Running:
        servers = McpServers(
            {name.replace("__", "."): McpSettings(**table) for name, table in tables.items()},
            directory=tmp_path,
            environ=os.environ if environ is None else environ,
        )
        made.append(servers)
        running = Running(servers)
        running.lines = await servers.start(running.take)
        return running

    yield started
    for servers in made:
        await servers.close()


async def until(condition: Callable[[], object], seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        await asyncio.sleep(0.01)


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


# --- tools --------------------------------------------------------------------------------------------------


async def test_tools_of_a_server_made_with_the_library(start: Start) -> None:
    quails = await start(quails={**QUAILS, "tiers": {"add": 0, "fails": 1, "nope": 0}})
    assert quails.lines == ["[mcp.quails] tiers names nope, which the server does not have (correct it)"]
    assert {name: tool.tier for name, tool in quails.tools.items()} == {
        "quails_add": 0,
        "quails_fails": 1,
        "quails_pictures": 2,
        "quails_structured": 2,
    }
    add = quails.tools["quails_add"]
    assert (add.subject, add.preview, add.asks) == (None, None, False)
    assert add.tool_spec["inputSchema"]["json"]["required"] == ["a", "b"]
    assert add.tool_spec["description"] == "Add two numbers.\n\n\\x1b[31mIt looks only; its tier is 0."
    result = await asyncio.to_thread(called, [add], "quails_add", a=20, b=22)
    assert (result["status"], text(result)) == ("success", "42")
    assert (await quails.call("quails_pictures"))["content"] == [
        {"text": "a picture"},
        {"image": {"format": "png", "source": {"bytes": b"\x89PNG"}}},
        {"text": "[Content of image/x-odd, 4 bytes, is left out: models cannot take it.]"},
        {"text": "[Content of audio/wav, 4 bytes, is left out: models cannot take it.]"},
    ]
    assert json.loads(await quails.said("quails_structured")) == {"size": 18}
    failed = await quails.call("quails_fails")
    assert failed["status"] == "error"
    assert "Error executing tool fails" in text(failed)
    wrong = await quails.call("quails_add", a="x")
    assert wrong["status"] == "error"
    assert "half a surrogate pair" in await quails.said("quails_add", a="\ud800")


async def test_tools_of_a_server_without_manners(start: Start) -> None:
    """Its tools say that they only look; one has a name no provider takes, one has another's name."""
    plain = await start(plain=PLAIN)
    assert plain.lines == ["The MCP server plain has two tools count; the second is not used ([mcp.plain])"]
    assert {tool.tier for tool in plain.tools.values()} == {2}
    (odd,) = [name for name in plain.tools if "odd" in name]
    assert len(odd) <= 64
    assert odd.isascii()
    assert await plain.said(odd) == "called odd.name/ä"


def test_other_kinds_of_content() -> None:
    blob = base64.b64encode(b'{"a": 1}').decode()
    result = types.CallToolResult(
        content=[
            types.ResourceLink(name="eggs", uri="file:///eggs\x1b", description="of\nquails"),
            types.EmbeddedResource(resource=types.TextResourceContents(uri="a:b", text="inside")),
            types.EmbeddedResource(
                resource=types.BlobResourceContents(uri="a:b", blob=blob, mime_type="application/json")
            ),
            types.EmbeddedResource(resource=types.BlobResourceContents(uri="a:b", blob=blob)),
            types.ImageContent(data="???", mime_type="image/png"),
            types.ImageContent(data=base64.b64encode(b"x" * 4_000_000).decode(), mime_type="image/png"),
        ]
    )
    assert [block["text"] for block in contents(result)] == [
        "[Resource: eggs · of quails · file:///eggs\\x1b]",
        "inside",
        '{"a": 1}',
        "[Content of an unknown type, 8 bytes, is left out: models cannot take it.]",
        "[Content of image/png is left out: it is not valid base64.]",
        "[An image of 4,000,000 bytes is left out; 3,932,160 is the most.]",
    ]
    assert contents(types.CallToolResult(content=[])) == [{"text": "[The tool returned nothing.]"}]


def made(**more: Any) -> McpTool:
    given = {"name": "look", "input_schema": {"type": "object"}, **more}

    def run(tool: str, arguments: Mapping[str, Any]) -> Any:
        raise AssertionError("nothing is called")

    return McpTool("quails", types.Tool(**given), name="quails_look", tier=2, run=run)


def test_what_a_server_says_of_a_tool_is_shown_and_bounded() -> None:
    schema = {
        "type": "object",
        "properties": {
            "description": {"type": "string", "description": "hid\u202eden"},
            "a": {"enum": ["\u202e"]},
        },
    }
    spec = made(description="\x1b[2J" + "x" * 9_000, input_schema=schema).tool_spec
    assert spec["description"].startswith("\\x1b[2Jxxx")
    assert len(spec["description"]) == DESCRIPTION_CHARS
    assert spec["inputSchema"]["json"]["properties"] == {
        "description": {"type": "string", "description": "hid\\u202eden"},
        "a": {"enum": ["\u202e"]},
    }
    assert made(description=None).tool_spec["description"] == "look, a tool of the MCP server quails"
    assert made(input_schema={}).tool_spec["inputSchema"]["json"] == {"properties": {}, "type": "object"}
    with pytest.raises(UnfitTool, match="50,000 is the most"):
        made(input_schema={"type": "object", "x": "y" * 60_000})
    with pytest.raises(UnfitTool, match="not an object"):
        made(input_schema={"type": "array"})


@pytest.mark.parametrize(
    ("server", "tool", "name"),
    [
        ("quails", "look", "quails_look"),
        ("read", "file", None),
        ("quails", "look.up", None),
        ("quails", "look_up", "quails_look_up"),
        ("a.b", "look", None),
        ("a_b", "look", None),
        ("long", "long_look", "long_long_look"),
        ("long_er", "look", "long_er_look"),
        ("long", "er_look", None),
        ("quails", "x" * 80, None),
        ("quails", "\x1b[31m", None),
        ("quails", "", "quails_"),
    ],
)
def test_names_are_valid_and_nobody_elses(server: str, tool: str, name: str | None) -> None:
    """A name that could be another's, or is not plain, has a digest; none depends on what else is offered."""
    servers = ["quails", "read", "a.b", "a_b", "long", "long_er"]
    made = tool_name(server, tool, servers=servers, taken=["read_file"])
    if name is not None:
        assert made == name
    else:
        assert 10 <= len(made) <= 64
        assert made[-9] == "_"
        assert int(made[-8:], 16) >= 0
        assert set(made) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


def test_names_differ() -> None:
    offered = [("a.b", "c"), ("a_b", "c"), ("a", "b_c"), ("a", "b.c"), ("a", "b/c"), ("a.b", "c.")]
    names = {tool_name(server, tool, servers=["a", "a.b", "a_b"], taken=()) for server, tool in offered}
    assert len(names) == len(offered)


# --- what a command is given --------------------------------------------------------------------------------


def test_a_command_is_given_little_of_the_environment() -> None:
    environ = {
        "PATH": "/bin", "HOME": "/h", "LANG": "C", "LC_ALL": "C", "XDG_DATA_HOME": "/d", "https_proxy": "p",
        "OPENAI_API_KEY": "secret", "TAU_DATA_DIR": "/t", "SSH_AUTH_SOCK": "/s", "QUAIL_TOKEN": "token",
    }  # fmt: skip
    given = environment(environ, ["QUAIL_TOKEN", "MISSING"])
    assert set(given) == {"PATH", "HOME", "LANG", "LC_ALL", "XDG_DATA_HOME", "https_proxy", "QUAIL_TOKEN"}


async def test_a_command_has_the_variables_that_are_named_and_no_others(start: Start) -> None:
    environ = {**os.environ, "PATH": os.defpath, "QUAIL_TOKEN": "egg", "OTHER_API_KEY": "secret"}
    plain = await start(environ, plain={**PLAIN, "env": ["QUAIL_TOKEN"]})
    variables = json.loads(await plain.said("plain_variables"))
    assert variables["QUAIL_TOKEN"] == "egg"
    assert variables["PATH"] == os.defpath
    assert not {"OTHER_API_KEY", "TERM"} & set(variables)


async def test_standard_error_goes_to_the_log_made_visible(
    start: Start, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.INFO):
        await start(quails=QUAILS)
        await until(lambda: "ready" in caplog.text)
    (line,) = [record.getMessage() for record in caplog.records if "ready" in record.getMessage()]
    assert line == "MCP server quails: \\x1b]0;title\\x07ready"
    assert capfd.readouterr().err == ""


# --- servers that fail --------------------------------------------------------------------------------------


async def test_each_failure_is_a_line_that_names_the_table_and_what_to_do(start: Start) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        nowhere = f"http://127.0.0.1:{taken.getsockname()[1]}/mcp"
        began = time.monotonic()
        running = await start(
            gone={"command": "no-such-quail"},
            ends={"command": "sh", "args": ["-c", "printf 'one\\n\\033[31mtwo\\n' >&2; exit 3"]},
            silent={"command": "sh", "args": ["-c", "echo starting >&2; exec sleep 600"], "timeout": 1},
            babbles={
                "command": "sh",
                "args": ["-c", "while echo no message; do sleep 0.1; done"],
                "timeout": 1,
            },
            variable={"command": "sh", "env": ["QUAIL_MISSING"]},
            token={"url": nowhere, "token_env": "QUAIL_MISSING"},
            refused={"url": nowhere},
            fine=QUAILS,
        )
    assert time.monotonic() - began < 20
    by_itself = "see whether it runs by itself"
    expected = {
        "gone": "no-such-quail cannot be started: No such file or directory|install it, or correct command",
        "ends": f"its command ended (exit code 3, last line on stderr: \\x1b[31mtwo)|{by_itself}",
        "silent": "no answer within 1 s (last line on stderr: starting)"
        f"|{by_itself}, or give it more with timeout",
        "babbles": f"no answer within 1 s|{by_itself}, or give it more with timeout",
        "variable": "the variable QUAIL_MISSING is not set|set it, or take it out of env",
        "token": "the variable QUAIL_MISSING is not set|set it to the server's token",
        "refused": f"{nowhere}: Connection refused|see whether it runs, and correct url",
    }
    assert running.lines == [
        "The MCP server {0} is not available: {1} ([mcp.{0}]: {2})".format(name, *line.split("|"))
        for name, line in expected.items()
    ]
    assert await running.said("fine_add", a=1, b=1) == "2"


async def test_a_server_that_dies_fails_one_call_and_is_started_again(start: Start) -> None:
    plain = await start(plain=PLAIN)
    failed = await plain.call("plain_dies")
    assert failed["status"] == "error"
    assert text(failed) == (
        "The MCP server plain failed: it broke off: its command ended"
        " (exit code 7, last line on stderr: I am \\x1b[31mdying) (the next call connects again)"
    )
    assert await plain.said("plain_count") == "called count"


async def test_a_server_that_cannot_be_started_again_is_said(start: Start, tmp_path: Path) -> None:
    script = tmp_path / "server"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{FIXTURES / "plain.py"}"\n')
    script.chmod(0o700)
    plain = await start(plain={"command": "./server"})
    script.unlink()
    await plain.call("plain_dies")
    failed = await plain.said("plain_count")
    assert "./server cannot be started: No such file or directory" in failed


async def test_a_cancelled_turn_ends_the_wait_at_once(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    plain = await start(plain=PLAIN, other=PLAIN)

    class Agent:
        _cancel_signal = threading.Event()

    with caplog.at_level(logging.INFO):
        call = asyncio.create_task(plain.call("plain_wait", Agent))
        await until(lambda: "waiting" in caplog.text)
        began = time.monotonic()
        Agent._cancel_signal.set()
        result = await call
        assert time.monotonic() - began < AT_ONCE
        assert result["status"] == "error"
        assert text(result) == "The call was cancelled; the server may have carried it out all the same"

        call = asyncio.create_task(plain.call("other_wait"))
        await until(lambda: caplog.text.count("waiting") == 2)
        began = time.monotonic()
        call.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await call
        assert time.monotonic() - began < AT_ONCE


async def test_a_call_has_a_time_limit(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    from tau.tools import mcp_connection

    plain = await start(plain=PLAIN)
    monkeypatch.setattr(mcp_connection, "SHORTEST_CALL_SECONDS", 0)
    for connection in plain.servers._connections:
        monkeypatch.setattr(connection, "_settings", McpSettings(**PLAIN, timeout=1))
    assert "no result within 1 s" in await plain.said("plain_wait")


# --- the end ------------------------------------------------------------------------------------------------


async def test_closing_ends_the_command_and_all_it_started(start: Start) -> None:
    plain = await start(plain=PLAIN, others=PLAIN)
    pids = [
        int(pid) for name in ("plain", "others") for pid in (await plain.said(f"{name}_children")).split()
    ]
    assert len(pids) == 4
    assert all(map(is_alive, pids))
    began = time.monotonic()
    await plain.servers.close()
    assert time.monotonic() - began < AT_ONCE
    assert not any(map(is_alive, pids))
    assert "it is closed" in await plain.said("plain_count")


async def test_a_command_that_ignores_its_end_is_killed(start: Start, tmp_path: Path) -> None:
    plain = await start(plain={**PLAIN, "args": [*PLAIN["args"], "stubborn"]})
    pid = int((tmp_path / "pid").read_text())
    assert is_alive(pid)
    began = time.monotonic()
    await plain.servers.close()
    assert time.monotonic() - began < AT_ONCE
    assert not is_alive(pid)


async def test_closing_while_servers_start(tmp_path: Path) -> None:
    table = McpSettings(command="sh", args=["-c", "echo $$ > pid; exec sleep 600"])
    servers = McpServers({"plain": table}, directory=tmp_path, environ=os.environ)
    starting = asyncio.create_task(servers.start(lambda tools: None))
    pid = tmp_path / "pid"
    await until(lambda: pid.exists() and pid.read_text().strip())
    began = time.monotonic()
    await servers.close()
    assert time.monotonic() - began < AT_ONCE
    assert not is_alive(int(pid.read_text()))
    starting.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await starting


async def test_nothing_is_loaded_without_a_server(tmp_path: Path) -> None:
    program = (
        "import asyncio, pathlib, sys\n"
        "from tau.tools.mcp import McpServers\n"
        "servers = McpServers({}, directory=pathlib.Path('/'), environ={})\n"
        "assert asyncio.run(servers.start(print)) == []\n"
        "asyncio.run(servers.close())\n"
        "print(sorted({'mcp', 'strands', 'pydantic', 'httpx'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# --- over http ----------------------------------------------------------------------------------------------


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def serving(kind: str, port: int) -> subprocess.Popen[bytes]:
    """The fixture server on a port, ready."""
    process = subprocess.Popen([sys.executable, SERVER, kind, str(port)], stderr=subprocess.DEVNULL)
    end = time.monotonic() + 20
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            assert time.monotonic() < end
            time.sleep(0.02)
        else:
            return process


@pytest.mark.parametrize(("kind", "path"), [("http", "mcp"), ("sse", "sse")])
async def test_a_server_at_an_address(start: Start, kind: str, path: str) -> None:
    port = free_port()
    process = serving(kind, port)
    try:
        quails = await start(quails={"url": f"http://127.0.0.1:{port}/{path}"})
        assert quails.lines == []
        assert await quails.said("quails_add", a=1, b=2) == "3"
        process.kill()
        process.wait()
        assert "it broke off" in await quails.said("quails_add", a=1, b=2)
        assert "Connection refused" in await quails.said("quails_add", a=1, b=2)
        process = serving(kind, port)
        assert await quails.said("quails_add", a=1, b=3) == "4"
        began = time.monotonic()
        await quails.servers.close()
        assert time.monotonic() - began < AT_ONCE
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def guarded() -> Iterator[tuple[str, list[str]]]:
    """The address of a server that lets nobody in, and the tokens it was shown."""
    shown: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.do_GET()

        def do_GET(self) -> None:
            shown.append(self.headers.get("Authorization", ""))
            self.send_response(401)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *arguments: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/mcp", shown
    server.shutdown()
    thread.join()
    server.server_close()


async def test_the_token_is_sent_and_never_logged(
    start: Start, guarded: tuple[str, list[str]], caplog: pytest.LogCaptureFixture
) -> None:
    url, shown = guarded
    token = "quail-token-5f2a91"
    with caplog.at_level(logging.DEBUG):
        running = await start(
            {**os.environ, "QUAIL_TOKEN": token}, quails={"url": url, "token_env": "QUAIL_TOKEN"}
        )
    (line,) = running.lines
    assert line == (
        f"The MCP server quails is not available: {url}: HTTP 401"
        " ([mcp.quails]: name the variable with its token in token_env)"
    )
    assert set(shown) == {f"Bearer {token}"}
    tau_records = [record.getMessage() for record in caplog.records if record.name.startswith("tau")]
    assert not any(token in message for message in tau_records)
    assert token not in " ".join(
        record.getMessage() for record in caplog.records if record.levelno >= logging.INFO
    )
