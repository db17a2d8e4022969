"""Whether the screen ever waits, and how soon a long session is on it, as ratios in one run on one machine.

    python -m benchmarks.tui [--runs 8]

Prints one table; the exit status is 1 when a ratio is above its bar.
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
from pathlib import Path

from benchmarks.corpus import messages
from benchmarks.delays import measured_delays
from benchmarks.start import TAU, sealed, until
from benchmarks.table import Row, report
from tau.config.settings import ModelSettings, Places, SessionsSettings, Settings
from tau.conversation.state import OpenRequest
from tau.sessions.file import open_store
from tau.sessions.records import Message
from tau.sessions.store import StoreContext
from tau.tui.app import TauApp
from tau.tui.screens.chat import ChatScreen

REPLY = "\n\n".join(
    f"Paragraph {number} with *some* **words** and `code`.\n\n- one\n- two\n\n```python\nx = {number}\n```"
    for number in range(8)
)
NEWEST = "the-newest-turn"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=8)
    options = parser.parse_args()
    logging.disable(logging.ERROR)
    home = Path(tempfile.mkdtemp(prefix="tau-tui-"))
    try:
        return report([asyncio.run(longest_delay(home)), resume(home, options.runs)])
    finally:
        shutil.rmtree(home)


def record(data: Path, session_id: str, said: list[Message], directory: Path) -> None:
    """A session with these messages."""
    store = open_store(StoreContext(data_dir=data, state_dir=data / "state"))
    with store.create(session_id, meta={"title": session_id, "directory": str(directory)}) as writer:
        for index, message in enumerate(said):
            writer.append(index, message)
    store.close()


async def longest_delay(home: Path) -> Row:
    """How late the app's loop is at most while a reply streams into a session of 1,000 messages."""
    script = home / "stream.json"
    script.write_text(json.dumps([{"text": REPLY, "chunks": 400, "delay": 0.005}]))
    record(home / "data-1", "long", messages(1000), home)
    settings = Settings(
        places=Places(data=home / "data-1", state=home / "state-1", config=home / "config-1"),
        directory=home,
        sessions=SessionsSettings(backend="file"),
        models={"default": ModelSettings(provider="scripted", script=str(script))},
    )
    app = TauApp(settings, OpenRequest(channel="tui", resume="long"))
    late: list[float] = []
    async with app.run_test(size=(120, 40)) as pilot:
        screen = app.screen
        assert isinstance(screen, ChatScreen)
        while screen.status.activity != "Ready":
            await pilot.pause(0.02)
        gc.collect()

        for _ in range(3):
            await pilot.press(*"go", "enter")
            await until_busy(screen, True)
            async with measured_delays() as delays:
                await until_busy(screen, False)
            late += delays
    assert app.conversation is not None
    await app.conversation.close()
    return ("longest delay of the app's loop in 3 turns at 1,000 messages (ms)", max(late), 1.0, 20.0)


async def until_busy(screen: ChatScreen, busy: bool) -> None:
    """Wait until a turn runs, or runs no more."""
    while screen.busy is not busy:
        await asyncio.sleep(0.01)


def resume(home: Path, runs: int) -> Row:
    """Until the newest turn is on the screen: a session of 10,000 messages against one of 20."""
    environ = sealed(home)
    said = messages(10_000)
    said[-1]["content"] = [{"text": NEWEST}]
    data = Path(environ["TAU_DATA_DIR"])
    record(data, "long", said, home)
    record(data, "short", said[-20:], home)
    costs: dict[str, list[float]] = {"short": [], "long": []}
    for _ in range(runs + 1):
        for name, times in costs.items():
            command = [TAU, "tui", "--resume", name]
            times.append(until(home, environ, command, wanted=NEWEST.encode(), typed=b""))
    ours, base = statistics.median(costs["long"][1:]), statistics.median(costs["short"][1:])
    return ("newest turn of 10,000 messages on the screen / of 20", ours, base, 1.5)


if __name__ == "__main__":
    sys.exit(main())
