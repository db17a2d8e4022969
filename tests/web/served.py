"""`tau web` as an installed command, and a client of it that is no browser."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import pyte
from yarl import URL

from tests.conftest import TAU

if TYPE_CHECKING:
    from tests.conftest import TauEnv

SECONDS = 60.0


async def until(condition: Callable[[], object], what: str | Callable[[], str]) -> None:
    """Wait until a condition, which may be a coroutine function, holds."""
    end = time.monotonic() + SECONDS
    while True:
        found = condition()
        if inspect.isawaitable(found):
            found = await found
        if found:
            return
        assert time.monotonic() < end, f"never came: {what if isinstance(what, str) else what()}"
        await asyncio.sleep(0.02)


class Served:
    """A running `tau web`, with what it wrote."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.out = ""
        self.err = ""
        self._reading = [
            asyncio.create_task(self._read(process.stdout, "out")),
            asyncio.create_task(self._read(process.stderr, "err")),
        ]

    @classmethod
    async def start(cls, tau_env: TauEnv, *arguments: str) -> Served:
        """Start it, and wait for its address."""
        process = await asyncio.create_subprocess_exec(
            TAU,
            "web",
            *arguments,
            cwd=tau_env.directory,
            env={**tau_env.environ, "TEXTUAL_ANIMATIONS": "none"},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        served = cls(process)
        await until(lambda: "\n" in served.out or process.returncode is not None, "the address")
        assert process.returncode is None, served.err
        return served

    @property
    def url(self) -> URL:
        """The address that it printed first."""
        return URL(self.out.splitlines()[0])

    @property
    def page(self) -> URL:
        """The address of the page, once let in."""
        return self.url.with_query(None)

    def apps(self) -> list[int]:
        """The processes of its tabs."""
        return children(self.process.pid)

    async def end(self, number: int = signal.SIGINT) -> int:
        """Send it a signal and wait for its end; the exit code."""
        if self.process.returncode is None:
            self.process.send_signal(number)
        code = await asyncio.wait_for(self.process.wait(), SECONDS)
        await asyncio.wait(self._reading, timeout=5)
        return code

    async def _read(self, stream: Any, name: str) -> None:
        while piece := await stream.read(65_536):
            setattr(self, name, getattr(self, name) + piece.decode())


def children(pid: int) -> list[int]:
    """The processes that a process has started and that still run."""
    found = []
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError, ValueError):
            fields = Path(f"/proc/{int(entry)}/stat").read_text().rpartition(")")[2].split()
            if int(fields[1]) == pid and fields[0] != "Z":
                found.append(int(entry))
    return sorted(found)


class Visitor:
    """A client with the cookies of one browser, and the key of its page where it has it."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._client = aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True))
        self.key = ""

    async def get(self, path: str, **options: Any) -> tuple[aiohttp.ClientResponse, str]:
        """Ask for a path; the answer and its text."""
        address = self._served.page.join(URL(path, encoded=True))
        async with self._client.get(address, allow_redirects=False, **options) as answer:
            return answer, (await answer.read()).decode("utf-8", "replace")

    async def use_door(self, served: Served | None = None) -> aiohttp.ClientResponse:
        """Open the printed address, and keep the key that its page keeps."""
        answer, text = await self.get(str((served or self._served).url.relative()))
        found = re.search(r"setItem\('tau-key', \"([^\"]+)\"\)", text)
        self.key = found.group(1) if found else ""
        return answer

    async def connect(self, tab: str = "0123456789abcdef", **changes: Any) -> aiohttp.ClientWebSocketResponse:
        """Open the line of a tab as its page does."""
        host = f"{self._served.page.host}:{self._served.page.port}"
        headers = {"Origin": f"http://{host}", **changes.pop("headers", {})}
        given = {"protocols": ("tau", self.key), **changes}
        more = given.pop("query", "")
        address = f"ws://{host}/ws?width=100&height=30&tab={tab}{more}"
        kept = {name: value for name, value in headers.items() if value}
        socket: aiohttp.ClientWebSocketResponse = await self._client.ws_connect(
            address, headers=kept, **given
        )
        return socket

    async def screen(self, tab: str = "0123456789abcdef", **changes: Any) -> Screen:
        """Open a tab."""
        return Screen(await self.connect(tab, **changes))

    async def close(self) -> None:
        """Close every connection."""
        await self._client.close()


class Screen:
    """A tab's terminal as a page would show it."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket
        self.screen = pyte.Screen(100, 30)
        self.bytes = b""
        self.said: list[tuple[str, Any]] = []
        self._stream = pyte.ByteStream(self.screen)
        self._may_read = asyncio.Event()
        self._may_read.set()
        self._reading = asyncio.create_task(self._read())

    def pause(self) -> None:
        """Read no more."""
        self._may_read.clear()

    def go_on(self) -> None:
        """Read again."""
        self._may_read.set()

    async def _read(self) -> None:
        async for message in self.socket:
            await self._may_read.wait()
            if message.type == aiohttp.WSMsgType.BINARY:
                self.bytes += message.data
                self._stream.feed(message.data)
            else:
                kind, content = json.loads(message.data)
                self.said.append((kind, content))

    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.display)

    async def shows(self, text: str) -> None:
        """Wait until it shows this."""
        await until(
            lambda: text in self.text() or self.told("ended"),
            lambda: f"{text!r}, but:\n{self.text()}\n{self.said}",
        )
        assert text in self.text(), f"{text!r} before the app ended: {self.told('ended')}"

    async def type(self, text: str) -> None:
        """Type this."""
        await self.socket.send_json(["stdin", text])

    def told(self, kind: str) -> list[Any]:
        """What the page around it was told."""
        return [content for name, content in self.said if name == kind]

    async def closed(self) -> int:
        """Wait for the end of the line; its code."""
        await asyncio.wait_for(asyncio.shield(self._reading), SECONDS)
        return self.socket.close_code or 0
