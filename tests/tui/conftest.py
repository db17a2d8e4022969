"""Starts the app on a real conversation: the scripted provider, the file store, places of its own."""

from __future__ import annotations

import asyncio
import gc
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from textual import _wait
from textual.pilot import Pilot

from tau.config.settings import (
    CompactionSettings,
    ModelSettings,
    Places,
    SessionsSettings,
    Settings,
    TuiSettings,
)
from tau.conversation.state import OpenRequest
from tau.sessions.file import open_store
from tau.sessions.store import SessionStore, StoreContext
from tau.tui.app import TauApp
from tau.tui.enter_key import BURST_SECONDS
from tau.tui.screens.chat import ChatScreen
from tests.conftest import with_memory_begun
from tests.tui.pictures import Pictured, picture, record_sessions

Step = dict[str, Any]

# After each key the pilot waits, twice, until the process did next to nothing for so long; a fiftieth of a
# second is too long a look where a spinner turns, which is then waited for in vain.
_wait.SLEEP_GRANULARITY = 1 / 100
_wait.SLEEP_IDLE = _wait.SLEEP_GRANULARITY / 20


class Running:
    """The app while it runs, with what tests ask of it."""

    def __init__(self, app: TauApp, pilot: Pilot[None]) -> None:
        self.app = app
        self.pilot = pilot

    @property
    def screen(self) -> ChatScreen:
        screen = self.app.screen_stack[0]
        assert isinstance(screen, ChatScreen)
        return screen

    async def until(self, condition: Callable[[], object], what: str = "", seconds: float = 20) -> None:
        """Wait until the condition holds, and what was on its way then has been dealt with."""
        if condition():
            return
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, f"never came: {what}\n{self.text()}"
            await asyncio.sleep(
                0.01
            )  # a pause of the pilot asks each widget, which takes longer than most waits
            self.app.screen._on_timer_update()
        await self.pilot.pause(0)

    async def ready(self) -> None:
        """Wait until a message would be sent at once."""
        await self.until(lambda: self.screen.status.activity == "Ready", "Ready")

    async def send(self, text: str) -> None:
        """Write a text into the prompt and send it."""
        prompt = self.screen.prompt
        prompt.insert(text)
        # A person's Enter does not come with the keys before it.
        later = prompt.enter_key.pressed_at + BURST_SECONDS
        await self.until(lambda: time.monotonic() > later, "the keys before are over")
        await self.pilot.press("enter")
        await self.until(lambda: not self.screen.prompt.enter_key.waits, "Enter was taken")
        await self.pilot.pause()

    async def turn(self, text: str) -> None:
        """Send a text and wait until its turn is over."""
        conversation = self.screen.conversation
        state = conversation.state
        await self.send(text)
        await self.until(lambda: self.screen.busy or conversation.state != state, "the turn began")
        await self.idle()

    async def idle(self) -> None:
        """Wait until no turn runs and nothing waits."""
        await self.until(lambda: not self.screen.busy and not len(self.screen.outbox), "idle")
        await self.pilot.pause()

    async def shows(self, text: str) -> None:
        """Wait until the text is on the screen."""
        await self.until(lambda: text in self.text(), f"{text!r} on the screen")

    async def rest(self) -> None:
        """Wait until what is on the screen stays as it is."""
        before = ""
        while before != (now := self.text()):
            before = now
            await self.pilot.pause(0.05)

    def text(self) -> str:
        """What is on the screen, as lines of text."""
        strips = self.app.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)


Start = Callable[..., AbstractAsyncContextManager[Running]]

_starts = count(1)
_STARTS_BETWEEN_COLLECTIONS = 40


@contextmanager
def without_collections() -> Iterator[None]:
    """Start the app as `tau` does, which collects no garbage before a session is on the screen.

    With collections on, each start would go through everything that the tests before it have made.
    """
    if next(_starts) % _STARTS_BETWEEN_COLLECTIONS == 0:  # what ended apps set aside is given back
        gc.unfreeze()
        gc.collect()
    thresholds = gc.get_threshold()
    gc.disable()
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)  # the app has its own
        gc.enable()


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory tau works in, inside a home of its own."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.delenv("COLORFGBG", raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    time.tzset()
    directory = tmp_path / "src" / "quail"
    directory.mkdir(parents=True)
    return directory


@pytest.fixture
def settings_for(tmp_path: Path, work: Path) -> Callable[..., Settings]:
    """Settings with a scripted model, which has another script for summaries where `side` is given."""

    def make(
        script: Sequence[Step] = (),
        *,
        side: Sequence[Step] = (),
        window: int = 200_000,
        compaction: CompactionSettings | None = None,
        backend: str = "file",
        model: ModelSettings | None = None,
        **tui: Any,
    ) -> Settings:
        path, side_path = tmp_path / "script.json", tmp_path / "summaries.json"
        path.write_text(json.dumps(list(script) or [{"text": "ok"}]), encoding="utf-8")
        side_path.write_text(json.dumps(list(side)), encoding="utf-8")
        with_memory_begun(tmp_path / "config", work)
        scripted = ModelSettings(
            provider="scripted",
            model_id="claude-sonnet-5",
            script=str(path),
            side_script=str(side_path) if side else None,
            record=str(tmp_path / "requests.jsonl"),
            context_window=window,
        )
        return Settings(
            models={"default": model or scripted, "fast": scripted},
            sessions=SessionsSettings(backend=backend),
            compaction=compaction or CompactionSettings(),
            tui=TuiSettings(**{"theme": "dark", **tui}),
            places=Places(data=tmp_path / "data", state=tmp_path / "state", config=tmp_path / "config"),
            directory=work,
        )

    return make


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    """The file store the app uses."""
    return open_store(StoreContext(data_dir=tmp_path / "data", state_dir=tmp_path / "state", channel="tui"))


@pytest.fixture
def start(settings_for: Callable[..., Settings]) -> Start:
    """Start the app: ``async with start(script, …) as running``."""

    @asynccontextmanager
    async def run(
        script: Sequence[Step] = (),
        *,
        size: tuple[int, int] = (120, 40),
        settings: Settings | None = None,
        warnings: Sequence[str] = (),
        ready: bool = True,
        **request: Any,
    ) -> AsyncIterator[Running]:
        opened = OpenRequest(channel="tui", read_only_ok=True, **request)
        app = TauApp(settings or settings_for(script), opened, warnings)
        with without_collections():
            async with app.run_test(size=size, notifications=True) as pilot:
                running = Running(app, pilot)
                if ready:
                    await running.ready()
                yield running
        if app.conversation is not None:
            await app.conversation.close()
        app.close_kept()

    return run


@pytest.fixture
def sessions(store: SessionStore, work: Path) -> None:
    """A project with three earlier sessions."""
    record_sessions(store, work)


@pytest.fixture
def pictured(start: Start, settings_for: Callable[..., Settings], snapshot: SnapshotAssertion) -> Pictured:
    """Start the app, and at the end compare it with its picture: ``async with pictured(size) as running``."""

    @asynccontextmanager
    async def run(
        size: tuple[int, int] = (80, 24),
        theme: str = "dark",
        *,
        script: Sequence[Step] = (),
        settings: Settings | None = None,
        **options: Any,
    ) -> AsyncIterator[Running]:
        async with start(
            settings=settings or settings_for(script, theme=theme), size=size, **options
        ) as running:
            yield running
            await picture(snapshot, running)

    return run
