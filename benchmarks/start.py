"""How soon tau is there, as ratios in one run on one machine.

    python -m benchmarks.start [--runs 10]

Prints one table; the exit status is 1 when a ratio is above its bar. The app is started in a
pseudo-terminal; its prompt is ready when a typed letter comes back on the screen.
"""

from __future__ import annotations

import argparse
import json
import os
import pty
import select
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Sequence
from fcntl import ioctl
from pathlib import Path

from benchmarks.table import Row, report

TAU = str(Path(sys.executable).with_name("tau"))
EMPTY_APP = """
from textual.app import App, ComposeResult
from textual.widgets import Input

class Empty(App[None]):
    def compose(self) -> ComposeResult:
        yield Input()

Empty().run()
"""
LETTER = b"\xce\xb6"
"""Typed and awaited: a letter that nothing else on the screen holds."""

BACKGROUND = b"\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\\x1b[?62;22c"
"""What a terminal answers to the questions for its background and its kind."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    options = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="tau-start-"))
    try:
        environ = sealed(home)
        return report([version(environ, options.runs), prompt(home, environ, options.runs)])
    finally:
        shutil.rmtree(home)


def sealed(home: Path) -> dict[str, str]:
    """An environment in which tau finds a scripted model and nothing of the person's."""
    script = home / "script.json"
    script.write_text(json.dumps([{"text": "hello"}]))
    config = home / "tau.toml"
    config.write_text(f'[models.default]\nprovider = "scripted"\nscript = "{script}"\n')
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "LC_ALL")}
    return {
        **kept,
        "HOME": str(home),
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "TAU_CONFIG": str(config),
        "TAU_DATA_DIR": str(home / "data"),
    }


def version(environ: dict[str, str], runs: int) -> Row:
    """``tau --version`` against importing click."""
    ours: list[float] = []
    base: list[float] = []
    for _ in range(runs + 1):
        for command, costs in (([TAU, "--version"], ours), ([sys.executable, "-c", "import click"], base)):
            begin = time.perf_counter()
            subprocess.run(command, env=environ, check=True, capture_output=True)
            costs.append((time.perf_counter() - begin) * 1e3)
    return ("tau --version / import click", statistics.median(ours[1:]), statistics.median(base[1:]), 2.5)


def prompt(home: Path, environ: dict[str, str], runs: int) -> Row:
    """The prompt of ``tau tui`` taking a letter against the first paint of an empty Textual app."""
    empty = home / "empty.py"
    empty.write_text(EMPTY_APP)
    ours: list[float] = []
    base: list[float] = []
    for _ in range(runs + 1):
        base.append(until(home, environ, [sys.executable, str(empty)], wanted=b"\x1b[48;2;", typed=b""))
        ours.append(until(home, environ, [TAU, "tui"], wanted=LETTER, typed=LETTER))
    return (
        "prompt of tau tui takes a letter / first paint of an empty Textual app",
        statistics.median(ours[1:]),
        statistics.median(base[1:]),
        1.6,
    )


def until(
    home: Path, environ: dict[str, str], command: Sequence[str], *, wanted: bytes, typed: bytes
) -> float:
    """Milliseconds from starting a command in a terminal of 120x40 until it writes `wanted`.

    What is typed is there from the beginning, as from a person who does not wait.
    """
    begin = time.perf_counter()
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(home)
        os.execve(command[0], list(command), environ)
    ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    try:
        output = b""
        sent, answered = not typed, False
        while wanted not in output:
            if not select.select([terminal], [], [], 30)[0]:
                raise TimeoutError(f"{command} never wrote {wanted!r}; it wrote {output[-500:]!r}")
            output += os.read(terminal, 1 << 16)
            if not answered and b"\x1b]11;?" in output:  # as terminals do, at once
                os.write(terminal, BACKGROUND)
                answered = True
            if not sent and b"\x1b[?1049h" in output:
                os.write(terminal, typed)
                sent = True
        return (time.perf_counter() - begin) * 1e3
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(terminal)


if __name__ == "__main__":
    sys.exit(main())
