"""The app in a real browser: what it shows, asks the network for, copies, opens and takes as keys."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.web.chromium import CHROMIUM, HEIGHT, WIDTH, Chromium
from tests.web.conftest import Serve
from tests.web.served import until

if TYPE_CHECKING:
    from tests.conftest import TauEnv

MAY_BE_MISSING = "TAU_TESTS_WITHOUT_CHROMIUM"
"""Set to 1 where there is no browser; then these tests alone are left out, and it is said."""


@pytest.fixture
async def browser(tmp_path: Path) -> AsyncIterator[Chromium]:
    """A headless Chromium."""
    if not CHROMIUM:
        if os.environ.get(MAY_BE_MISSING) == "1":
            pytest.skip("no Chromium on this machine: the page itself is not tested here")
        pytest.fail(f"no Chromium on this machine; install it, or set {MAY_BE_MISSING}=1 to do without")
    browser = await Chromium.start(tmp_path / "profile")
    yield browser
    await browser.stop()


async def test_a_conversation_in_the_browser(serve: Serve, browser: Chromium, tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "See [the page](https://example.invalid/a) and so on."})
    served = await serve()
    page = await browser.open(str(served.url))
    await page.shows("Ready")
    # the address bar, the history and the requests know the token no more
    assert await page.run("location.href") == str(served.page)
    assert await page.run("document.referrer") == ""
    assert await page.run("history.length") <= 2
    assert await page.run("document.cookie") == ""
    assert await page.becomes("document.activeElement?.className", lambda name: "helper-textarea" in name)
    await page.type("a question")
    await page.shows("a question")
    await page.press("Enter", "Enter", 13, shift=True)
    await page.type("on two lines")
    await page.shows("on two lines")
    await page.enter()
    await page.shows("See the page")
    (session,) = tau_env.sessions()
    first = next(session.glob("agents/tau/messages/000000.json")).read_text()
    assert "a question\\non two lines" in first
    # everything came from here
    host = f"127.0.0.1:{served.page.port}"
    outside = [url for url in page.asked if not url.startswith((f"http://{host}/", f"ws://{host}/", "data:"))]
    assert outside == []
    assert page.complaints == []
    # and it looks right: its own font, the whole window, the colours of the theme up to the edge
    fonts = await page.run(
        "JSON.stringify([...document.fonts].filter((f) => f.status === 'loaded')"
        ".map((f) => f.family + f.style))"
    )
    assert "Roboto Mono" in fonts
    assert "normal" in fonts
    assert "italic" in fonts
    box = await page.run(
        "JSON.parse(JSON.stringify(document.querySelector('.xterm-screen').getBoundingClientRect()))"
    )
    assert WIDTH - 20 < box["right"] <= WIDTH
    assert HEIGHT - 25 < box["bottom"] <= HEIGHT
    ground = "getComputedStyle(document.body).backgroundColor"
    assert await page.becomes(ground, lambda colour: colour in ("rgb(251, 250, 248)", "rgb(21, 23, 27)"))
    picture = await page.picture()
    assert picture.startswith(b"\x89PNG")
    assert (int.from_bytes(picture[16:20], "big"), int.from_bytes(picture[20:24], "big")) == (WIDTH, HEIGHT)


async def test_a_reload_another_tab_and_the_end(serve: Serve, browser: Chromium) -> None:
    served = await serve()
    page = await browser.open(str(served.url))
    await page.shows("Ready")
    await page.type("first")
    await page.enter()
    await page.shows("noted")
    await page.shows("Ready")
    await page.type("a draft")
    await page.shows("a draft")
    apps = served.apps()
    await page.call("Page.reload")
    await page.becomes("document.activeElement?.className", lambda name: name and "helper-textarea" in name)
    await page.shows("a draft")
    assert served.apps() == apps
    second = await browser.open(str(served.page))
    await second.shows("Ready")
    assert "noted" not in second.text()
    assert len(served.apps()) == 2
    # the end is said, with the way back
    await page.press("q", "KeyQ", 81, ctrl=True)
    title, text = (
        "document.getElementById('over-title').innerText",
        "document.getElementById('over-text').innerText",
    )
    await page.becomes(title, lambda said: said == "Session closed")
    assert "tau tui --resume" in await page.run(text)
    await page.run("document.querySelector('#over-keys button').click()")
    await page.becomes("document.activeElement?.className", lambda name: name and "helper-textarea" in name)
    await page.shows("noted")
    await page.shows("Ready")
    await served.end()
    await second.becomes(title, lambda said: said == "tau web has ended")
    assert "tau tui --resume" in await page.becomes(text, bool)


async def test_pasting_copying_and_addresses(serve: Serve, browser: Chromium, tau_env: TauEnv) -> None:
    served = await serve()
    page = await browser.open(str(served.url))
    await page.shows("Ready")
    await browser.call(
        "Browser.grantPermissions",
        origin=str(served.page.origin()),
        permissions=["clipboardSanitizedWrite", "clipboardReadWrite"],
    )
    # Ctrl+V is the browser's, so that what it pastes arrives
    kept = await page.run(
        "(() => { const e = new KeyboardEvent('keydown', {code: 'KeyV', key: 'v', ctrlKey: true, "
        "bubbles: true, cancelable: true}); document.activeElement.dispatchEvent(e); "
        "return e.defaultPrevented; })()"
    )
    assert kept is False
    await page.run(
        "(() => { const d = new DataTransfer(); d.setData('text/plain', 'pasted words'); "
        "document.activeElement.dispatchEvent(new ClipboardEvent('paste', "
        "{clipboardData: d, bubbles: true, cancelable: true})); })()"
    )
    await page.shows("pasted words")
    # what is copied in the app is written to the browser's clipboard
    await page.run(
        "(() => { window.written = []; "
        "navigator.clipboard.writeText = async (t) => { window.written.push(t); }; })()"
    )
    for _ in range(5):
        await page.press("ArrowLeft", "ArrowLeft", 37, shift=True)
    await page.press("x", "KeyX", 88, ctrl=True)
    await page.becomes("window.written.join()", lambda written: written == "words")
    await page.shows("to the browser's clipboard")
    # an address opens once, even when both the app and the terminal saw the click, and only on the web
    await page.run("window.open('https://example.invalid/a', '_blank')")
    await page.run("window.open().location.href = 'https://example.invalid/a'")
    await page.run("window.open('javascript:alert(1)', '_blank')")
    await page.run("window.open('file:///etc/passwd', '_blank')")

    async def opened() -> bool:
        return any("example.invalid" in url for url in await browser.targets())

    await until(opened, "the address")
    assert sum("example.invalid" in url for url in await browser.targets()) == 1
    assert not any(url.startswith(("javascript:", "file:")) for url in await browser.targets())
