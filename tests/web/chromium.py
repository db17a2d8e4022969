"""A headless Chromium, driven over its DevTools protocol, and what the pages in it show."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import pyte

from tests.web.served import until

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), ""
)
"""The browser's program, or empty."""

WIDTH, HEIGHT = 1200, 800


class Chromium:
    """The browser; `open` shows an address in a new tab."""

    def __init__(
        self, process: asyncio.subprocess.Process, client: aiohttp.ClientSession, socket: Any
    ) -> None:
        self._process = process
        self._client = client
        self._socket = socket
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._pages: dict[str, Page] = {}
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, profile: Path, *options: str) -> Chromium:
        """Start it with a profile of its own."""
        process = await asyncio.create_subprocess_exec(
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--enable-unsafe-swiftshader",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--hide-scrollbars",
            "--remote-debugging-port=0",
            f"--user-data-dir={profile}",
            f"--window-size={WIDTH},{HEIGHT}",
            *options,
            "about:blank",
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        port_file = profile / "DevToolsActivePort"
        await until(lambda: port_file.exists() and port_file.read_text().count("\n"), "the browser")
        port, path = port_file.read_text().split()
        client = aiohttp.ClientSession()
        socket = await client.ws_connect(f"ws://127.0.0.1:{port}{path}", max_msg_size=0)
        return cls(process, client, socket)

    async def call(self, method: str, session: str = "", **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol; its result."""
        number = next(self._numbers)
        answered = self._answers[number] = asyncio.get_running_loop().create_future()
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        await self._socket.send_json(message)
        answer = await asyncio.wait_for(answered, 60)
        assert "error" not in answer, (method, answer)
        return dict(answer["result"])

    async def open(self, address: str) -> Page:
        """Show an address in a new tab."""
        target = (await self.call("Target.createTarget", url="about:blank"))["targetId"]
        session = (await self.call("Target.attachToTarget", targetId=target, flatten=True))["sessionId"]
        page = self._pages[session] = Page(self, session, target)
        for domain in ("Page", "Network", "Runtime", "Log"):
            await page.call(f"{domain}.enable")
        await page.call("Emulation.setFocusEmulationEnabled", enabled=True)
        await page.call(
            "Emulation.setDeviceMetricsOverride",
            width=WIDTH,
            height=HEIGHT,
            deviceScaleFactor=1,
            mobile=False,
        )
        await page.call("Page.navigate", url=address)
        return page

    async def targets(self) -> list[str]:
        """The addresses of all tabs."""
        found = await self.call("Target.getTargets")
        return [target["url"] for target in found["targetInfos"] if target["type"] == "page"]

    async def stop(self) -> None:
        """End it."""
        try:
            await asyncio.wait_for(self.call("Browser.close"), 10)
        finally:
            self._reading.cancel()
            await self._client.close()
            if self._process.returncode is None:
                try:
                    await asyncio.wait_for(self._process.wait(), 10)
                except TimeoutError:
                    self._process.kill()

    async def _read(self) -> None:
        async for message in self._socket:
            content = json.loads(message.data)
            if answered := self._answers.pop(content.get("id", 0), None):
                answered.set_result(content)
            elif page := self._pages.get(content.get("sessionId", "")):
                page.heard(content["method"], content["params"])


class Page:
    """A tab: the terminal in it, what it asked the network for, and what it complained about."""

    def __init__(self, browser: Chromium, session: str, target: str) -> None:
        self._browser = browser
        self._session = session
        self._target = target
        self.asked: list[str] = []
        self.complaints: list[str] = []
        self._clear()

    def _clear(self) -> None:
        self.screen = pyte.Screen(200, 60)
        self._stream = pyte.ByteStream(self.screen)

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol in this tab."""
        return await self._browser.call(method, self._session, **parameters)

    def heard(self, method: str, content: dict[str, Any]) -> None:
        """Take an event of the protocol."""
        if method == "Network.requestWillBeSent":
            self.asked.append(content["request"]["url"])
        elif method == "Network.webSocketCreated":
            self.asked.append(content["url"])
            self._clear()
        elif method == "Network.webSocketFrameReceived" and content["response"]["opcode"] == 2:
            self._stream.feed(base64.b64decode(content["response"]["payloadData"]))
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(str(content["exceptionDetails"]))
        elif method == "Log.entryAdded" and content["entry"]["level"] == "error":
            self.complaints.append(content["entry"]["text"])

    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.display).rstrip()

    async def shows(self, text: str) -> None:
        """Wait until the terminal in it shows this."""
        await until(lambda: text in self.text(), lambda: f"{text!r}, but:\n{self.text()}\n{self.complaints}")

    async def run(self, script: str) -> Any:
        """The value of an expression, in the page."""
        result = await self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True, userGesture=True
        )
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    async def becomes(self, script: str, fits: Callable[[Any], object]) -> Any:
        """Wait until an expression has a value that fits; the value."""
        value: list[Any] = [None]

        async def looked() -> bool:
            value[0] = await self.run(script)
            return bool(fits(value[0]))

        await until(looked, lambda: f"{script}, but {value[0]!r}\n{self.text()}")
        return value[0]

    async def type(self, text: str) -> None:
        """Type this."""
        await self.call("Input.insertText", text=text)

    async def press(
        self, key: str, code: str, number: int, *, ctrl: bool = False, shift: bool = False
    ) -> None:
        """Press a key, by the names and the number that browsers have for it."""
        given = {
            "key": key,
            "code": code,
            "windowsVirtualKeyCode": number,
            "modifiers": 2 * ctrl + 8 * shift,
        }
        await self.call("Input.dispatchKeyEvent", type="rawKeyDown", **given)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **given)

    async def enter(self) -> None:
        """Press Enter."""
        await self.press("Enter", "Enter", 13)

    async def picture(self) -> bytes:
        """What it looks like, as PNG."""
        return base64.b64decode((await self.call("Page.captureScreenshot", format="png"))["data"])

    async def close(self) -> None:
        """Close the tab."""
        await self._browser.call("Target.closeTarget", targetId=self._target)
