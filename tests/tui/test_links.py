"""A click on a link opens a browser, which gets no terminal; where none opens, that is said."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tau.tui.app import TauApp
from tau.tui.widgets.reply import Reply
from tests.tui.conftest import Running, Start

ADDRESS = "https://example.org/a?b=1"
REPLY = [{"text": f"[web]({ADDRESS})"}]


def program(path: Path, body: str) -> Path:
    """A program in Python."""
    path.write_text(f"#!{sys.executable} -I\nimport json, os, pathlib, sys, time\n{body}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


async def click(tau: Running) -> None:
    await tau.turn("go")
    await tau.pilot.click(tau.screen.query_one(Reply), offset=(1, 0))


async def test_a_browser_gets_the_address_and_no_terminal(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, go = tmp_path / "told", tmp_path / "go"
    body = f"""
null = os.stat(os.devnull)
streams = [os.path.samestat(os.fstat(number), null) for number in range(3)]
pathlib.Path({str(told)!r} + ".part").write_text(json.dumps([sys.argv[1:], streams, os.getsid(0)]))
os.rename({str(told)!r} + ".part", {str(told)!r})
while not os.path.exists({str(go)!r}):
    time.sleep(0.01)
"""
    monkeypatch.setenv("BROWSER", str(program(tmp_path / "browser", body)))
    async with start(REPLY) as tau:
        try:
            await click(tau)
            await tau.until(told.exists, "the browser runs")
            await tau.pilot.press(*"typed")  # while it does
            assert tau.screen.prompt.text == "typed"
            assert tau.screen.status.hint == ""
        finally:
            go.touch()
        await tau.shows(f"Opened {ADDRESS}")
    arguments, streams, session = json.loads(told.read_text(encoding="utf-8"))
    assert arguments == [ADDRESS]
    assert streams == [True, True, True]
    assert session != os.getsid(0)


async def test_a_browser_that_fails_is_told(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("BROWSER", str(program(tmp_path / "browser", "sys.exit(3)")))
    async with start(REPLY) as tau:
        await click(tau)
        await tau.shows(f"No browser could be opened: {ADDRESS}")


async def test_what_the_desktop_answers_is_looked_at(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    asked = tmp_path / "asked"
    program(programs / "xdg-open", f"time.sleep(0.3); pathlib.Path({str(asked)!r}).touch(); sys.exit(4)")
    monkeypatch.delenv("BROWSER", raising=False)
    monkeypatch.setenv("DISPLAY", ":77")
    monkeypatch.setenv("PATH", str(programs))
    async with start(REPLY) as tau:
        await click(tau)
        await tau.shows(f"No browser could be opened: {ADDRESS}")
    assert asked.exists()


@pytest.mark.parametrize("chosen", ["", "{}/w3m", "{}/w3m -config 'x y' %s"])
async def test_no_browser_is_started_that_draws_in_the_terminal(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: str
) -> None:
    programs, ran = tmp_path / "bin", tmp_path / "ran"
    programs.mkdir()
    for name in ("w3m", "lynx", "www-browser"):
        program(programs / name, f"pathlib.Path({str(ran)!r}).touch()")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("BROWSER", chosen.format(programs))
    async with start(REPLY) as tau:
        await click(tau)
        await tau.shows(f"No browser could be opened: {ADDRESS}")
    assert not ran.exists()


async def test_in_a_browser_the_page_opens_it(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(TauApp, "is_web", property(lambda _: True))
    async with start(REPLY) as tau:
        monkeypatch.setattr(tau.app, "open_url", opened.append)
        await click(tau)
        await tau.shows(f"Opened {ADDRESS}")
    assert opened == [ADDRESS]
