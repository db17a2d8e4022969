"""Whether the screen keeps its pace as a conversation grows, as ratios in one run on one machine.

    python -m benchmarks.screen [--replies 3] [--keys 60] [--sessions 10000]

The last 100 of 3,000 streamed pieces are compared with the first 100 by the processor's time, all threads
counted, in the second reply of an app, and of several apps the median is taken. A letter's way from the
keyboard to the screen is timed in two pseudo-terminals, one with a chat of 2,000 messages, the other with an
empty one. Then the longest delay of the app's loop, while a conversation of
2,000 messages is summarized and while 10,000 sessions are listed for the first time, searched and walked.
Prints one table; the exit status is 1 when a ratio is above its bar.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import logging
import os
import pty
import select
import shutil
import signal
import statistics
import struct
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fcntl import ioctl
from pathlib import Path
from typing import Any

from benchmarks.corpus import messages
from benchmarks.delays import measured_delays
from benchmarks.listing import write_plain
from benchmarks.start import LETTER, TAU, sealed
from benchmarks.table import Row, report
from benchmarks.tui import record
from tau.config.settings import ModelSettings, Places, SessionsSettings, Settings
from tau.conversation.state import OpenRequest
from tau.tui.app import TauApp
from tau.tui.screens.chat import ChatScreen
from tau.tui.widgets.reply import Reply

PIECES, COMPARED = 3_000, 100
UNTIL_THE_END = 20
"""Pieces before the end at which counting stops: then the whole reply is read once more."""
LOADED = 2_000
BLOCK = 50.0
"""Milliseconds that the loop may be late at most."""
PARAGRAPH = (
    "A paragraph with *some* **words** of markdown and `code`, as models write them, "
    "[linked](https://example.org) and plain.\n\n- one\n- two\n\n```python\nx = 1\n```\n\n"
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--replies", type=int, default=3)
    parser.add_argument("--keys", type=int, default=60)
    parser.add_argument("--sessions", type=int, default=10_000)
    options = parser.parse_args()
    logging.disable(logging.ERROR)
    home = Path(tempfile.mkdtemp(prefix="tau-screen-"))
    try:
        return report(
            [
                *streamed(home / "streamed", options.replies),
                echo(home / "echo", options.keys),
                asyncio.run(compacting(home / "compacting")),
                asyncio.run(listing(home / "listing", options.sessions)),
            ]
        )
    finally:
        shutil.rmtree(home)


def app_for(home: Path, *steps: dict[str, Any], resume: str | None = None) -> TauApp:
    """An app with a scripted model, of a home of its own."""
    home.mkdir(exist_ok=True)
    script = home / "script.json"
    script.write_text(json.dumps(steps or [{"text": "ok"}]))
    model = ModelSettings(provider="scripted", script=str(script), side_script=str(script))
    settings = Settings(
        places=Places(data=home / "data", state=home / "state", config=home / "config"),
        directory=home,
        sessions=SessionsSettings(backend="file"),
        models={"default": model},
    )
    return TauApp(settings, OpenRequest(channel="tui", resume=resume))


async def ready(app: TauApp) -> ChatScreen:
    """The chat once a message can be sent."""
    while not isinstance(app.screen, ChatScreen) or app.screen.status.activity != "Ready":
        await asyncio.sleep(0.02)
    return app.screen


async def until(condition: Callable[[], object]) -> None:
    while not condition():
        await asyncio.sleep(0.002)


def streamed(home: Path, replies: int) -> list[Row]:
    """What the last pieces of a reply cost against the first, and how late the loop is meanwhile."""
    home.mkdir()
    costs = [asyncio.run(reply(home / str(number))) for number in range(replies)]
    base, ours, delays = zip(*costs, strict=True)
    return [
        (
            f"last {COMPARED} of {PIECES:,} streamed pieces / first {COMPARED} (CPU ms)",
            statistics.median(ours),
            statistics.median(base),
            1.3,
        ),
        ("longest delay of the app's loop while they come (ms)", max(delays), 1.0, BLOCK),
    ]


async def reply(home: Path) -> tuple[float, float, float]:
    """Milliseconds of the processor for the first and the last pieces of one reply, and the longest delay."""
    text = PARAGRAPH * (PIECES * 20 // len(PARAGRAPH))
    app = app_for(home, {"text": PARAGRAPH}, {"text": text, "chunks": PIECES, "delay": 0.005})
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await ready(app)
        await pilot.press(*"first", "enter")  # returns when the screen is at rest
        await until(lambda: received(screen) and not screen.busy)
        gc.collect()
        await pilot.press(*"go")
        sent = asyncio.create_task(pilot.press("enter"))
        await until(lambda: len(screen.query(Reply)) == 2)

        async def cost(first: int) -> float:
            await until(lambda: received(screen) >= len(text) * first // PIECES)
            begin = time.process_time()
            await until(lambda: received(screen) >= len(text) * (first + COMPARED) // PIECES)
            return (time.process_time() - begin) * 1e3

        async with measured_delays() as delays:
            base = await cost(1)
            ours = await cost(PIECES - COMPARED - UNTIL_THE_END)
            await until(lambda: not screen.busy)
            await sent
    await closed(app)
    return base, ours, max(delays)


def received(screen: ChatScreen) -> int:
    """Characters of the running reply that the screen has got so far."""
    replies = list(screen.query(Reply))
    return len(replies[-1].source) if replies else 0


async def closed(app: TauApp) -> None:
    assert app.conversation is not None
    await app.conversation.close()


def echo(home: Path, keys: int) -> Row:
    """A letter's way to the screen with a long chat above the prompt against an empty one, taking turns."""
    home.mkdir()
    environ = sealed(home)
    record(Path(environ["TAU_DATA_DIR"]), "long", messages(LOADED), home)
    with terminal(home, environ, "--resume", "long") as loaded, terminal(home, environ) as empty:
        ours, base = [], []
        for _ in range(keys):
            base.append(letter(empty))
            ours.append(letter(loaded))
    what = f"a letter's way to the screen at {LOADED:,} messages / in an empty chat (ms)"
    return (what, statistics.median(ours), statistics.median(base), 1.2)


@contextmanager
def terminal(home: Path, environ: dict[str, str], *arguments: str) -> Iterator[int]:
    """A terminal in which tau is ready for letters."""
    child, descriptor = pty.fork()
    if child == 0:
        os.chdir(home)
        os.execve(TAU, [TAU, "tui", *arguments], environ)
    ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    try:
        written_until(descriptor, b"Ready")
        quiet(descriptor)
        for _ in range(5):
            letter(descriptor)
        yield descriptor
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(descriptor)


def letter(descriptor: int) -> float:
    """Milliseconds from a key to its letter; the letter is taken back."""
    begin = time.perf_counter()
    os.write(descriptor, LETTER)
    written_until(descriptor, LETTER)
    cost = (time.perf_counter() - begin) * 1e3
    os.write(descriptor, b"\x7f")
    quiet(descriptor)
    return cost


def written_until(descriptor: int, wanted: bytes) -> None:
    output = b""
    while wanted not in output:
        if not select.select([descriptor], [], [], 60)[0]:
            raise TimeoutError(f"{wanted!r} never came; the last was {output[-500:]!r}")
        output += os.read(descriptor, 1 << 16)


def quiet(descriptor: int) -> None:
    """Read until nothing has come for a while."""
    while select.select([descriptor], [], [], 0.3)[0]:
        os.read(descriptor, 1 << 16)


async def compacting(home: Path) -> Row:
    """How late the app's loop is while a long conversation is summarized and the new one opened."""
    record(home / "data", "long", messages(LOADED), home)
    app = app_for(home, {"text": "Notes of it all.", "chunks": 50, "delay": 0.01}, resume="long")
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await ready(app)
        gc.collect()
        async with measured_delays() as delays:
            await pilot.press(*"/compact", "enter")
            await until(lambda: screen.busy)
            await until(lambda: not screen.busy)
    await closed(app)
    return (
        f"longest delay of the app's loop while {LOADED:,} messages are compacted (ms)",
        max(delays),
        1.0,
        BLOCK,
    )


async def listing(home: Path, count: int) -> Row:
    """How late the app's loop is while the picker opens over sessions nothing has indexed yet."""
    said = messages(4)
    for number in range(count):
        write_plain(home / "data", number, said)
    app = app_for(home)
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(app)
        gc.collect()
        async with measured_delays() as delays:
            await pilot.press("f2")
            await until(lambda: not isinstance(app.screen, ChatScreen))
            await pilot.press("tab", *["down"] * 40, *"title", *["down"] * 10)
            await pilot.pause()
            await pilot.press("escape")
    await closed(app)
    return (
        f"longest delay of the app's loop while {count:,} sessions are listed (ms)",
        max(delays),
        1.0,
        BLOCK,
    )


if __name__ == "__main__":
    sys.exit(main())
