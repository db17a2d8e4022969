"""Makes the pictures of the README and docs/tui.md from the scripted provider: python scripts/screenshots.py

Writes docs/images/*.svg.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from tau.config.settings import ModelSettings, Places, SessionsSettings, Settings, TuiSettings
from tau.conversation.state import OpenRequest
from tau.events import ToolCallRecord, to_line
from tau.sessions.file import open_store
from tau.sessions.records import Message, MetaValue
from tau.sessions.store import SessionWriter, StoreContext
from tau.tui.app import TauApp
from tau.tui.screens.chat import ChatScreen
from tau.tui.widgets.letter_answers import QUIET_SECONDS
from tau.tui.widgets.question import Question
from tau.tui.widgets.tool_card import ToolCard

IMAGES = Path(__file__).parent.parent / "docs" / "images"
SIZES = {"": (120, 36), "-80x24": (80, 24)}
SIZES_OF_CALLS = {"": (120, 44), "-80x24": (80, 24)}

REPLY = """The job imports `quail.rates`, which **moved** to `quail.money` in 3f2a91c. Three things follow:

1. the import fails at start
2. the run stops before it writes anything
3. nobody is told, because the alert is sent *at the end*

```python
from quail.money import rates


def run(day: date) -> None:
    rates.load(day)
```

Shall I change the import and run the test again?"""

JOB = '''"""The nightly job."""

import sys

sys.path.insert(0, ".")
from quail.rates import rates


def run(day: str) -> int:
    """Load the rates of a day."""
    return len(rates(day))


print(run("2020-09-29"), "rates")
'''
EDITS = [
    {"old": "from quail.rates import rates", "new": "from quail.money import rates"},
    {
        "old": '    """Load the rates of a day."""\n    return len(rates(day))',
        "new": '    """Load the rates of a day and say how many there are."""\n'
        "    return len(rates(day, strict=True))",
    },
]
SUITE = 'for n in $(seq 12 90); do echo "tests/test_$n.py ....... [$n %]"; sleep 0.05; done; sleep 60'


def call(name: str, **arguments: Any) -> dict[str, Any]:
    """A tool call of the scripted model."""
    return {"name": name, "input": arguments}


SCRIPT: list[dict[str, Any]] = [
    {"text": "I run the job.", "tools": [call("shell", command="python3 jobs/nightly.py")]},
    {"tools": [call("search_files", pattern="def rates"), call("read_file", path="jobs/nightly.py")]},
    {"tools": [call("edit_file", path="jobs/nightly.py", edits=EDITS)]},
    {"tools": [call("shell", command="python3 jobs/nightly.py")]},
    {"text": "The job runs again: `rates` moved to `quail.money`."},
    {"text": "Gladly.", "tools": [call("shell", command=SUITE)]},
]
"""What the model does in the pictures of tool calls."""

EARLIER = (
    ("20200927-081400-3f9a", "wren", "Explain how rates are rounded at the end of a quarter", 7),
    ("20200928-140200-91c2", "heron", "Move the fixtures of the trains out of the tests", 12),
    ("20200929-101500-77d0", "dipper", "Which of the three parsers is the slow one?", 4),
)


def said(text: str) -> Message:
    """A message of the person."""
    return {"role": "user", "content": [{"text": text}]}


def answered(text: str, *blocks: dict[str, Any]) -> Message:
    """A message of the model."""
    return {"role": "assistant", "content": [{"text": text}, *blocks]}


def record_sessions(home: Path, directory: Path) -> None:
    """Write the sessions that the pictures show."""
    store = open_store(StoreContext(data_dir=home / "data", state_dir=home / "state", channel="tui"))

    def begin(session_id: str, name: str, title: str, **totals: int) -> SessionWriter:
        meta: dict[str, MetaValue] = {"channel": "tui", "role": "default", **totals}
        return store.create(
            session_id, meta={**meta, "directory": str(directory), "title": title, "name": name}
        )

    for session_id, name, title, exchanges in EARLIER:
        with begin(session_id, name, title) as writer:
            assert isinstance(writer, SessionWriter)
            for number in range(exchanges):
                writer.append(2 * number, said(title if not number else f"And then? ({number})"))
                writer.append(2 * number + 1, answered("It is in `quail/money.py`."))
    totals = {"tokens_in": 41_200, "tokens_out": 3_100, "turns": 1, "context_tokens": 68_000}
    question = "Why does the nightly job fail since Tuesday?"
    with begin("20200930-153012-c0de", "amber", question, **totals) as writer:
        assert isinstance(writer, SessionWriter)
        calls = [
            {"toolUse": {"toolUseId": "1", "name": "read_file", "input": {"path": "quail/jobs/nightly.py"}}},
            {
                "toolUse": {
                    "toolUseId": "2",
                    "name": "search_files",
                    "input": {"pattern": "def rates"},
                }
            },
        ]
        results = [
            {"toolUseId": "1", "status": "success", "content": [{"text": "from quail import rates"}]},
            {"toolUseId": "2", "status": "success", "content": [{"text": "quail/money.py:12: def rates("}]},
        ]
        writer.append(0, said(question))
        writer.append(1, answered("I look at the job and at what it imports.", *calls))
        writer.append(2, {"role": "user", "content": [{"toolResult": result} for result in results]})
        writer.append(3, answered(REPLY))
        at = "2020-09-30T15:30:{:02}+00:00"
        for event in (
            ToolCallRecord(
                "read_file", 0, {"path": "quail/jobs/nightly.py"}, "success", "", "not_needed", 0.012, "1",
                at=at.format(12),
            ),
            ToolCallRecord(
                "search_files", 0, {"pattern": "def rates"}, "success", "", "not_needed", 0.031, "2",
                at=at.format(14),
            ),
        ):  # fmt: skip
            writer.append_event(to_line(event))


async def until(pilot: Pilot[None], condition: Callable[[], object]) -> None:
    """Wait for a condition, at most 20 seconds."""
    end = time.monotonic() + 20
    while not condition():
        if time.monotonic() > end:
            sys.exit("the app did not get there within 20 s")
        await pilot.pause(0.02)
    await pilot.pause(0.3)


def save(app: TauApp, name: str) -> None:
    """Write the picture."""
    path = IMAGES / f"{name}.svg"
    picture = app.export_screenshot(title="tau")
    # A document does not fetch fonts from elsewhere; any monospaced one will do.
    path.write_text(re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL), encoding="utf-8")
    print(path)


async def pictures(settings: Settings, suffix: str, size: tuple[int, int]) -> None:
    """The three pictures at one size."""
    app = TauApp(settings, OpenRequest(channel="tui", name="rook"))
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: on_chat(app).status.activity == "Ready")
        save(app, f"start{suffix}")
        await pilot.press("f2")
        await until(pilot, lambda: not isinstance(app.screen, ChatScreen))
        save(app, f"sessions{suffix}")
    await close(app)
    app = TauApp(settings, OpenRequest(channel="tui", resume="amber"))
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: on_chat(app).status.activity == "Ready")
        app.screen.query(ToolCard).last().action_turn()
        on_chat(app).chat.to_end()
        on_chat(app).prompt.insert("Yes, and add a test that would have caught it")
        await pilot.pause(0.3)
        save(app, f"conversation{suffix}")
    await close(app)


async def pictures_of_calls(settings: Settings, suffix: str, size: tuple[int, int]) -> None:
    """The pictures of a question, of cards and of a cancelled turn at one size."""
    app = TauApp(settings, OpenRequest(channel="tui", name="lark", can_ask=True))
    async with app.run_test(size=size) as pilot:

        async def answered_yes(question: str, picture: str = "") -> None:
            panel = await asked(app, pilot, question)
            if picture:
                save(app, f"{picture}{suffix}")
            await pilot.press("end")  # a yes counts once the end was in sight
            await pilot.pause(0.5)
            await pilot.press("y")
            await until(pilot, lambda: not panel.is_attached)

        async def send(text: str) -> None:
            on_chat(app).prompt.insert(text)
            await pilot.press("enter")

        await until(pilot, lambda: on_chat(app).status.activity == "Ready")
        await send("The nightly job fails since Tuesday. Fix it, please")
        await answered_yes("shell")
        await answered_yes("edit_file", "question")
        await answered_yes("shell")
        await until(pilot, lambda: on_chat(app).status.activity == "Ready")
        save(app, f"cards{suffix}")
        await send("Thanks! Now run the whole suite")
        await answered_yes("shell")
        await until(pilot, lambda: "test_30" in app.screen.query(ToolCard).last().render().plain)
        await pilot.press("escape")
        await until(pilot, lambda: on_chat(app).status.activity == "Ready")
        save(app, f"cancelled{suffix}")
    await close(app)


async def asked(app: TauApp, pilot: Pilot[None], tool: str) -> Question:
    """Wait until this tool's question is open and a key answers it."""

    def panel() -> Question | None:
        open_one = on_chat(app).questions.panel
        return open_one if open_one is not None and open_one.asked.tool == tool else None

    await until(pilot, panel)
    await pilot.pause(QUIET_SECONDS)
    question = panel()
    assert question is not None
    return question


def on_chat(app: TauApp) -> ChatScreen:
    """The main screen."""
    screen = app.screen_stack[0]
    assert isinstance(screen, ChatScreen)
    return screen


async def close(app: TauApp) -> None:
    """Let go of the session."""
    assert app.conversation is not None
    await app.conversation.close()


def main() -> None:
    """Make every picture."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    os.environ.update(TZ="UTC", COLORFGBG="")
    time.tzset()
    for suffix, size in SIZES.items():
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder)
            os.environ["HOME"] = folder
            directory = home / "src" / "quail"
            (directory / ".git").mkdir(parents=True)
            (directory / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
            script = home / "script.json"
            script.write_text(json.dumps([{"text": "ok"}]), encoding="utf-8")
            model = ModelSettings(
                provider="scripted", model_id="claude-sonnet-5", script=str(script), context_window=200_000
            )
            settings = Settings(
                models={"default": model},
                sessions=SessionsSettings(backend="file"),
                tui=TuiSettings(theme="dark"),
                places=Places(data=home / "data", state=home / "state", config=home / "config"),
                directory=directory,
            )
            record_sessions(home, directory)
            asyncio.run(pictures(settings, suffix, size))
            (directory / "quail").mkdir()
            (directory / "jobs").mkdir()
            (directory / "quail" / "money.py").write_text(
                "def rates(day, strict=False):\n    return list(day)\n", encoding="utf-8"
            )
            (directory / "jobs" / "nightly.py").write_text(JOB, encoding="utf-8")
            script.write_text(json.dumps(SCRIPT), encoding="utf-8")
            asyncio.run(pictures_of_calls(settings, suffix, SIZES_OF_CALLS[suffix]))


if __name__ == "__main__":
    main()
