"""How soon the prompt is free after Esc, and what a tool call costs the screen, in one run on one machine.

    python -m benchmarks.tools [--presses 50]

Esc is pressed while a reply streams, while the model is silent, while a command runs that ignores SIGTERM,
while a question waits, and while a throttled model is waited for.
Prints one table; the exit status is 1 when a figure is above its bar.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import logging
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.corpus import messages
from benchmarks.delays import measured_delays
from benchmarks.table import Row, report
from benchmarks.tui import record, until_busy
from tau.config.settings import ApprovalSettings, ModelSettings, Places, SessionsSettings, Settings
from tau.conversation.state import OpenRequest
from tau.tui.app import TauApp
from tau.tui.screens.chat import ChatScreen

Shown = Callable[[ChatScreen, Path], bool]

STUBBORN = "trap '' TERM; sleep 300 & touch started; sleep 300"
CALLS = 20


def shell(command: str) -> dict[str, Any]:
    return {"tools": [{"name": "shell", "input": {"command": command}}]}


SITUATIONS: dict[str, tuple[dict[str, Any], Shown]] = {
    "a reply that streams": (
        {"text": "word " * 5_000, "chunks": 5_000, "delay": 0.01},
        lambda screen, home: screen.status.activity == "Working…" and "word word" in text_of(screen),
    ),
    "a silent model": ({"silent": 300, "text": "late"}, lambda screen, home: screen.busy),
    "a command that ignores SIGTERM": (shell(STUBBORN), lambda screen, home: (home / "started").exists()),
    "a question": (
        {"tools": [{"name": "write_file", "input": {"path": "new.txt", "content": "new"}}]},
        lambda screen, home: bool(screen.query("Question")),
    ),
    "a throttled model": (
        {"error": "throttled", "message": "slow down"},
        lambda screen, home: "trying again" in text_of(screen),
    ),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--presses", type=int, default=50)
    options = parser.parse_args()
    logging.disable(logging.ERROR)
    rows: list[Row] = []
    waits: list[float] = []
    for name, (step, shown) in SITUATIONS.items():
        place = Path(tempfile.mkdtemp(prefix="tau-cancel-"))
        try:
            found = asyncio.run(cancelled(place, step, shown, options.presses // len(SITUATIONS)))
        finally:
            shutil.rmtree(place)
        waits += found
        rows.append((f"Esc to a free prompt, {name}: worst (s)", max(found), 1.0, 3.0))
    rows.append((f"Esc to a free prompt, worst of {len(waits)} (s)", max(waits), 1.0, 3.0))
    place = Path(tempfile.mkdtemp(prefix="tau-calls-"))
    try:
        rows += asyncio.run(blocks(place))
    finally:
        shutil.rmtree(place)
    print(f"Esc to a free prompt: median {statistics.median(waits):.3f} s, worst {max(waits):.3f} s\n")
    return report(rows)


def text_of(screen: ChatScreen) -> str:
    """What is on the screen of the newest turn."""
    strips = screen._compositor.render_strips()
    text = "\n".join("".join(segment.text for segment in strip) for strip in strips)
    return text.rpartition("▌ go")[2]


def app_for(home: Path, *steps: dict[str, Any], resume: str | None = None) -> TauApp:
    script = home / "script.json"
    script.write_text(json.dumps(steps))
    settings = Settings(
        places=Places(data=home / "data", state=home / "state", config=home / "config"),
        directory=home,
        sessions=SessionsSettings(backend="file"),
        models={"default": ModelSettings(provider="scripted", script=str(script))},
        approvals=ApprovalSettings(allow=["shell"]),
    )
    return TauApp(settings, OpenRequest(channel="tui", resume=resume, can_ask=True))


async def cancelled(home: Path, step: dict[str, Any], shown: Shown, presses: int) -> list[float]:
    """Seconds from Esc to a prompt that takes the next message, each time in the same app."""
    app = app_for(home, step)
    waits = []
    async with app.run_test(size=(120, 40)) as pilot:
        screen = app.screen
        assert isinstance(screen, ChatScreen)
        while screen.status.activity != "Ready":
            await pilot.pause(0.02)
        for _ in range(presses):
            (home / "started").unlink(missing_ok=True)
            await pilot.press(*"go", "enter")
            await until_busy(screen, True)
            while not shown(screen, home):
                await pilot.pause(0.02)
            begin = time.perf_counter()
            await pilot.press("escape")
            await until_busy(screen, False)
            waits.append(time.perf_counter() - begin)
            await pilot.pause(0.05)
    assert app.conversation is not None
    await app.conversation.close()
    return waits


async def blocks(home: Path) -> list[Row]:
    """How late the loop is at most while tools run: many small calls, and one that prints a lot."""
    (home / "notes.txt").write_text("a line of text\n" * 400)
    reads = [
        {"tools": [{"name": "read_file", "input": {"path": "notes.txt", "offset": 10 * number + 1}}]}
        for number in range(CALLS)
    ]
    record(home / "data", "long", messages(1_000), home)
    flood = shell("seq 1 400000; head -c 2000000 /dev/zero | tr '\\0' x")
    app = app_for(home, *reads, {"text": "all read"}, flood, {"text": "all run"}, resume="long")
    rows: list[Row] = []
    async with app.run_test(size=(120, 40)) as pilot:
        screen = app.screen
        assert isinstance(screen, ChatScreen)
        while screen.status.activity != "Ready" or not gc.get_freeze_count():
            await pilot.pause(0.02)
        gc.collect()

        for name, last in (
            (f"{CALLS} calls that read", "all read"),
            ("a command that prints 4.7 MB", "all run"),
        ):
            async with measured_delays() as late:
                await pilot.press(*"go", "enter")
                while screen.busy or last not in text_of(screen):
                    await asyncio.sleep(0.01)
            rows.append((f"longest delay of the app's loop, {name} (ms)", max(late), 1.0, 20.0))
    assert app.conversation is not None
    await app.conversation.close()
    return rows


if __name__ == "__main__":
    sys.exit(main())
