"""What the embedded model takes on this machine: loading, first words, speed, tools, cancelling, memory.

    python -m benchmarks.embedded_model [--weights NAME]

The weights must be installed (`tau model install`). Prints one table; the exit status is 1 when a bar of the
embedded model is missed: the first word of an answer to a short question within 5 seconds, once loaded and
prepared and in a new process as well, every cancel within 2 seconds, and, of the default weights, 8 of 10
choices of a tool right. The prompts kept for the weights are removed first, so that reading them is measured.
The figures are of an idle machine; load on it makes them longer.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from strands.types.content import Messages
from strands.types.tools import ToolSpec

from tau.config.places import resolve_places
from tau.config.settings import ModelSettings
from tau.gate.patterns import KINDS
from tau.models import embedded
from tau.models.embedded.kept import forget
from tau.models.embedded.model import EmbeddedModel
from tau.models.embedded.weights import kept_prompts, size_text
from tau.tools.context import ToolContext
from tau.tools.registry import build_tools

DEFAULT = "qwen2.5-coder-1.5b"
SYSTEM = "Working directory: /home/ada/quail"
QUESTIONS = ("What is a list comprehension in Python?", "Who wrote Faust?", "Explain what a decorator is.")
CHOICES: tuple[tuple[str, str | None], ...] = (
    ("Read config.toml.", "read_file"),
    ("What does the class Parser in parser.py do?", "read_file"),
    ("Find all uses of os.environ.", "search_files"),
    ("Run the linter with ruff check.", "shell"),
    ("How big is the file data.db?", "shell"),
    ("Create a file todo.md with the text 'buy milk'.", "write_file"),
    ("In settings.py change DEBUG = True to DEBUG = False.", "edit_file"),
    ("Remember that we deploy on Fridays.", "remember"),
    ("What is the difference between a list and a tuple?", None),
    ("Good morning!", None),
)
"""Requests and the tool they ask for; none of them is among the examples of the prompt."""

REMEMBER: ToolSpec = {
    "name": "remember",
    "description": "Remember something for later.",
    "inputSchema": {
        "json": {
            "type": "object",
            "properties": {"label": {"type": "string"}, "content": {"type": "string"}},
            "required": ["label", "content"],
        }
    },
}


def specs() -> list[ToolSpec]:
    """The tools of tau as a model is told of them, and one that is yet to come."""
    context = ToolContext(directory=Path.cwd(), state_dir=Path.cwd(), session_id="benchmark")
    own = [tool for tool in build_tools(context) if tool.tool_name in KINDS]
    return [*(tool.tool_spec for tool in own), REMEMBER]


class Call:
    """One call, timed."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.times: list[float] = []
        self.tool: str | None = None
        self.first = asyncio.Event()

    async def run(self, model: EmbeddedModel, text: str) -> Call:
        """Ask, with all tools offered."""
        messages: Messages = [{"role": "user", "content": [{"text": text}]}]
        async for event in model.stream(messages, specs(), SYSTEM):
            part = cast("dict[str, Any]", event)
            if "contentBlockDelta" in part:
                self.times.append(time.monotonic() - self.started)
                self.first.set()
            if use := part.get("contentBlockStart", {}).get("start", {}).get("toolUse"):
                self.tool = use["name"]
        return self

    @property
    def speed(self) -> float:
        """Tokens a second, one a piece."""
        return (len(self.times) - 1) / (self.times[-1] - self.times[0]) if len(self.times) > 1 else 0.0


def computed(pid: int) -> float:
    """Seconds of processor time a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def cancelled(task: asyncio.Task[Any], pid: int) -> float:
    """Cancel a call; seconds until it is over and its computation has stopped."""
    started = quiet = time.monotonic()
    task.cancel()
    await asyncio.wait([task])
    before = computed(pid)
    while time.monotonic() - quiet < 0.25:
        await asyncio.sleep(0.02)
        if computed(pid) - before > 0.02:
            before, quiet = computed(pid), time.monotonic()
    return quiet - started


async def measure(name: str) -> list[tuple[str, str, bool]]:
    """What was measured: a line's name, its value, whether it is within its bar."""
    places = resolve_places(os.environ)
    rows: list[tuple[str, str, bool]] = []
    settings = ModelSettings(weights=name)
    forget(kept_prompts(places), embedded.weights_of(settings, places)[1])
    model = embedded.build(settings, places, os.environ)
    try:
        started = time.monotonic()
        loading = asyncio.create_task(Call().run(model, "Hi!"))
        await asyncio.sleep(0.2)
        loading.cancel()
        await asyncio.wait([loading])
        took = time.monotonic() - started - 0.2
        rows.append(("cancel while it loads", f"{took:.2f} s", took < 2))
        child = model._lease.child()
        await asyncio.wrap_future(child.ready)
        rows.append(("load", f"{time.monotonic() - started:.1f} s", True))
        pid = cast("int", child.pid)
        started = time.monotonic()
        await model.prepare(specs(), SYSTEM)
        rows.append(("read the beginnings of the prompts", f"{time.monotonic() - started:.1f} s", True))
        sizes = [path.stat().st_size for path in kept_prompts(places).glob("*.prompt")]
        rows.append(("the largest that is kept on disk", size_text(max(sizes, default=0)), bool(sizes)))

        calls = [await Call().run(model, question) for question in QUESTIONS]
        first = max(call.times[0] for call in calls)
        rows.append((f"first word, slowest of {len(calls)} questions", f"{first:.2f} s", first < 5))
        speed = statistics.median(call.speed for call in calls)
        rows.append(("generation", f"{speed:.0f} tokens/s", True))

        right = sum([(await Call().run(model, text)).tool == tool for text, tool in CHOICES])
        rows.append(("tools chosen right", f"{right} of {len(CHOICES)}", right >= 8 or name != DEFAULT))

        reading = asyncio.create_task(Call().run(model, "word " * 5_000))
        await asyncio.sleep(4)
        took = await cancelled(reading, pid)
        rows.append(("cancel while it reads the prompt", f"{took:.2f} s", took < 2))
        call = Call()
        writing = asyncio.create_task(call.run(model, "Tell me everything about the history of Rome."))
        await call.first.wait()
        took = await cancelled(writing, pid)
        rows.append(("cancel while it generates", f"{took:.2f} s", took < 2))
        status = Path(f"/proc/{pid}/status").read_text()
        peak = int(status.partition("VmHWM:")[2].split()[0]) * 1024
        rows.append(("peak memory", size_text(peak), True))

        model.close()
        call = await Call().run(model, QUESTIONS[0])
        first = call.times[0]
        rows.append(("first word in a new process, with loading", f"{first:.2f} s", first < 5))
    finally:
        model.close()
    return rows


def main(arguments: Sequence[str]) -> int:
    """Measure, print and judge."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--weights", default=DEFAULT)
    rows = asyncio.run(measure(parser.parse_args(arguments).weights))
    for name, value, good in rows:
        print(f"{name:<42} {value:>14}{'' if good else '  misses its bar'}")
    return 0 if all(good for _, _, good in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
