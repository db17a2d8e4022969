"""Closing a session as a person meets it in the app."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tau.config.settings import ModelSettings, Settings
from tau.config.trust import Trust
from tau.journal import durable
from tau.memory.desk import Desk
from tests.conftest import TauEnv
from tests.terminal import Open
from tests.tui.conftest import Running, Start
from tests.tui.test_compaction import joined


@pytest.fixture
def closing(
    settings_for: Callable[..., Settings], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Settings]:
    """Settings of a trusted project with the context acme, and a script for the close."""
    monkeypatch.setattr(durable, "MOUNTS", tmp_path / "none")

    def make(**step: Any) -> Settings:
        answer = {"session_log": {"contexts": [{"context": "acme", "summary": "Mended the job."}]}}
        (tmp_path / "main.json").write_text(json.dumps([{"text": "one"}]))
        (tmp_path / "side.json").write_text(json.dumps([{"text": json.dumps(answer), **step}]))
        model = ModelSettings(
            provider="scripted", script=str(tmp_path / "main.json"), side_script=str(tmp_path / "side.json")
        )
        settings = settings_for(model=model)
        (settings.directory / ".git").mkdir()
        (settings.directory / ".session-log" / "acme").mkdir(parents=True)
        Trust(settings.places).add(settings.directory)
        return settings

    return make


def logs(settings: Settings) -> list[str]:
    return sorted(path.name for path in (settings.directory / ".session-log" / "acme").iterdir())


async def test_esc_stops_it_and_what_waited_is_sent(start: Start, closing: Callable[..., Settings]) -> None:
    settings = closing(chunks=2, delay=60)
    async with start(settings=settings) as tau:
        await tau.turn("first")
        await tau.send("/wrap acme")
        await tau.shows("Esc cancels")
        await tau.shows("Wrapping up…")
        await tau.send("waits")
        await tau.pilot.press("escape")
        await tau.shows("The wrap-up was cancelled; nothing was written")
        await tau.until(lambda: tau.screen.conversation.state.message_count == 4, "the message was sent")
        await tau.turn("second")
        assert "The wrap-up was cancelled; nothing was written" in tau.text()
    assert logs(settings) == []


async def test_what_is_refused_meanwhile_says_what_goes_on(
    start: Start, closing: Callable[..., Settings]
) -> None:
    async with start(settings=closing(chunks=2, delay=60)) as tau:
        await tau.turn("first")
        await tau.send("/wrap acme")
        await tau.shows("Wrapping up…")
        await tau.send("/new")
        await tau.shows("The session is being wrapped up; Esc cancels that.")
        assert "being summarized" not in tau.text()
        await tau.pilot.press("escape")
        await tau.shows("The wrap-up was cancelled; nothing was written")


def test_what_waited_for_a_yes_is_said_at_leaving(tau_env: TauEnv, terminal: Open) -> None:
    (tau_env.directory / "page.txt").write_text("Port 9")
    said = {"contexts": [{"context": "acme", "summary": "Read.", "facts": [{"text": "Port 9"}]}]}
    side = tau_env.home / "side.json"
    side.write_text(json.dumps([{"text": json.dumps({"session_log": said})}]))
    call = {"name": "read_file", "input": {"path": "page.txt"}, "id": "t1"}
    tau_env.scripted({"tools": [call]}, {"text": "It says so."}, more=f'side_script = "{side}"\n')
    (tau_env.directory / ".git").mkdir()
    assert tau_env.run("trust").returncode == 0
    app = terminal("tui")
    app.ready()
    for line, shown in (
        ("read it", "It says so."),
        ("/wrap acme", "There is no context acme yet"),
        ("/wrap yes", "/wrap yes carries it out"),
    ):
        app.send(f"{line}\r")
        app.shows(shown)
    app.send("\x11")
    assert app.ended() == 0
    printed = app.tail()
    assert "Not written, since tau ended before your /wrap yes, and kept nowhere:" in printed
    assert "acme: new fact: Port 9" in printed


async def test_it_is_asked_agreed_to_and_confirmed(start: Start, closing: Callable[..., Settings]) -> None:
    settings = closing()

    async def shown(tau: Running, text: str) -> None:
        await tau.until(lambda: text in " ".join(tau.text().split()) or text in joined(tau), text)

    async with start(settings=settings) as tau:
        await tau.turn("acme again")
        await tau.send("/wrap")
        await shown(tau, "This session is about acme: acme by acme ×1")
        assert logs(settings) == []
        await tau.send("/wrap yes")
        await shown(tau, "Saved session log to .session-log/acme/")
    assert any(name.endswith(".md") for name in logs(settings))


async def test_what_is_not_done_looks_like_a_refusal(
    start: Start, closing: Callable[..., Settings], tmp_path: Path
) -> None:
    settings = closing()
    part = {"context": "acme", "summary": "x", "compact": [{"id": "SL-001"}]}
    answer = {"session_log": {"contexts": [part]}}
    (tmp_path / "side.json").write_text(json.dumps([{"text": json.dumps(answer)}]))
    (settings.directory / ".session-log" / "acme" / "LESSONS.md").write_text(
        "# Lessons\n\n### SL-001 — t\n**Date:** 2020-01-01\n**Prevention rule:** Never guess\n"
    )
    async with start(settings=settings) as tau:
        await tau.turn("acme again")
        await tau.send("/wrap acme")
        await tau.shows("/wrap yes carries it out, /wrap no leaves it")
        (Desk(settings).where().memory / "rules.md").symlink_to(tmp_path / "elsewhere")
        await tau.send("/wrap yes")
        await tau.shows("! Not done, and it waits on: ")


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
@pytest.mark.parametrize(
    ("text", "offered"), [("wrap up", "/wrap saves"), ("load my acme context", "/load acme")]
)
async def test_what_a_phrase_offers_stands_below_the_message(
    start: Start, closing: Callable[..., Settings], size: tuple[int, int], text: str, offered: str
) -> None:
    async with start(settings=closing(), size=size) as tau:
        await tau.turn("first")
        await tau.turn(text)
        await tau.shows(offered)
        rows = tau.text().splitlines()
    (message,) = (number for number, row in enumerate(rows) if row.startswith(f" ▌ {text} ".rstrip()))
    (offer,) = (number for number, row in enumerate(rows) if row.strip()[2:].startswith(offered))
    assert message < offer
