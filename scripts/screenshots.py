"""Makes the pictures of the README and the docs from the scripted provider: python scripts/screenshots.py

Writes docs/images/*.svg. To look at every screen in another size or theme:
python scripts/screenshots.py --into /tmp/pictures --size 200x60 --theme light
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from textual.pilot import Pilot

from tau.config.settings import (
    CompactionSettings,
    ModelSettings,
    Places,
    PriceSettings,
    SessionsSettings,
    Settings,
    TuiSettings,
)
from tau.config.trust import Trust
from tau.conversation.state import OpenRequest
from tau.events import ToolCallRecord, to_line
from tau.input.drafts import Drafts
from tau.input.history import PromptHistory
from tau.memory.desk import Desk
from tau.sessions.file import open_store
from tau.sessions.records import Message, MetaValue
from tau.sessions.store import SessionWriter, StoreContext
from tau.tui.app import TauApp
from tau.tui.screens.chat import ChatScreen
from tau.tui.widgets.letter_answers import QUIET_SECONDS
from tau.tui.widgets.question import Question
from tau.tui.widgets.tool_card import ToolCard

IMAGES = Path(__file__).parent.parent / "docs" / "images"

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

TOLD = {
    "Which jobs are there?": "on Mondays",
    "And who is told when one fails?": "Nobody",
    "Then find the alert": "alerts.py",
}
"""What the person says where the window fills in the middle of a turn, and some of what is answered."""

TO_COMPACT: list[dict[str, Any]] = [
    {
        "text": "Two: `nightly.py` at 2 a.m. and `weekly.py` on Mondays.",
        "usage": {"inputTokens": 20_000, "outputTokens": 210},
    },
    {
        "text": "Nobody: the alert is sent at the end of a run, and a run that fails has none.",
        "usage": {"inputTokens": 26_000, "outputTokens": 240},
    },
    {"tools": [call("list_files", path=".")], "usage": {"inputTokens": 34_000, "outputTokens": 190}},
    {
        "text": "It is in `quail/alerts.py`, called from the last line of `nightly.py`.",
        "usage": {"inputTokens": 9_000, "outputTokens": 220},
    },
]
"""What the model does then."""

BUILD = """# Build

- `make check` runs what CI runs; `make test` only the tests.
- The tests need `PYTHONHASHSEED=0`.
- `make wheel` writes to `dist/`, which is not under version control.
"""

REMEMBERED = (
    ("wren", "global/answers", "Short answers, in the language of the question. No emoji.\n"),
    ("heron", "project/build", BUILD.replace("make check", "tox").replace("make test", "tox -e py")),
    ("dipper", "project/deploy", "# Deploy\n\n`make ship` deploys; only from `main`, never on a Friday.\n"),
    ("amber", "project/build", BUILD),
    ("amber", "project/deploy", "# Deploy\n\n`make ship` deploys.\n"),
)
"""Sessions, and what was remembered in them. The last one is taken back."""

LEARNED = {
    "label": "project/rounding",
    "content": "Rates are rounded to four places, half even, and only when they are shown.\n",
    "replace": False,
}

FILES = ("jobs/weekly.py", "tests/test_money.py", "tests/test_nightly.py", "docs/nightly-run.md")
SENT = (
    "Which of the three parsers is the slow one?",
    "Explain how rates are rounded at the end of a quarter",
    "Round to four places, half even, and say so in the docs",
    "Why does the nightly job fail since Tuesday?",
)
NOTES = """## What the person wants
- The nightly job runs again; nothing else in `jobs/` is touched.
- Rates are rounded to four places, half even.

## What was done
1. The fixtures of the trains moved to `tests/data/trains`.
2. `quail.rates` became `quail.money` in 3f2a91c."""

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


@dataclass(frozen=True)
class Look:
    """How pictures are taken.

    Attributes:
        size: Columns and rows.
        theme: As in ``[tui] theme``.
        suffix: Of the names of the files.
        names: Those that are taken; empty: all.
        into: Where to.
    """

    size: tuple[int, int]
    theme: str = "dark"
    suffix: str = ""
    names: Collection[str] = ()
    into: Path = IMAGES

    def takes(self, name: str) -> bool:
        """Whether this picture is taken."""
        return not self.names or name in self.names


TOGETHER = ("start", "sessions", "conversation", "question", "cards", "cancelled")
ALONE = ("blocks", "find", "waiting", "compacted")
LISTS = (
    "palette", "models", "themes", "tools", "help", "rewind", "files", "commands", "history", "left-draft",
)  # fmt: skip
LOOKS = (
    Look((120, 40), names=(*TOGETHER, *ALONE)),
    Look((120, 30), names=("memory", "memory-changes", "remembered")),
    Look((80, 24), suffix="-80x24", names=TOGETHER),
    Look((80, 24), names=LISTS),
    Look((120, 40), "light", "-light", ("conversation",)),
    Look((120, 40), "ansi", "-ansi", ("conversation",)),
)


class Stage:
    """A project with sessions, and the app on it.

    Args:
        home: An empty directory.
        look: How pictures are taken.
    """

    def __init__(self, home: Path, look: Look) -> None:
        self.look = look
        self.home = home
        self.directory = directory = home / "src" / "quail"
        (directory / ".git").mkdir(parents=True)
        (directory / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
        self._script = home / "script.json"
        side = home / "summaries.json"
        side.write_text(json.dumps([{"text": NOTES}]), encoding="utf-8")
        model = ModelSettings(
            provider="scripted",
            model_id="claude-sonnet-5",
            script=str(self._script),
            side_script=str(side),
            context_window=200_000,
            price=PriceSettings(input=3, output=15),
        )
        self.settings = Settings(
            models={
                "default": model,
                "fast": ModelSettings(provider="openai", model_id="gpt-5-mini"),
                "local": ModelSettings(provider="ollama", model_id="qwen3:8b"),
            },
            sessions=SessionsSettings(backend="file"),
            tui=TuiSettings(theme=look.theme),
            places=Places(data=home / "data", state=home / "state", config=home / "config"),
            directory=directory,
        )
        self.play([{"text": "ok"}])
        record_sessions(home, directory)
        Desk(self.settings).begin()  # what the first conversation writes was said long ago

    def play(self, script: list[dict[str, Any]]) -> None:
        """Say what the model does."""
        self._script.write_text(json.dumps(script), encoding="utf-8")

    def window(self, tokens: int) -> None:
        """Say how much the model holds."""
        models = self.settings.models
        models = {**models, "default": msgspec.structs.replace(models["default"], context_window=tokens)}
        self.settings = msgspec.structs.replace(
            self.settings, models=models, compaction=CompactionSettings(keep_turns=1)
        )

    def write(self, path: str, text: str = "") -> None:
        """Write a file of the project."""
        (self.directory / path).parent.mkdir(parents=True, exist_ok=True)
        (self.directory / path).write_text(text, encoding="utf-8")

    @asynccontextmanager
    async def app(self, **request: Any) -> AsyncIterator[Running]:
        """Run the app."""
        app = TauApp(self.settings, OpenRequest(channel="tui", **request))
        async with app.run_test(size=self.look.size) as pilot:
            running = Running(app, pilot, self.look)
            await running.ready()
            yield running
        assert app.conversation is not None
        await app.conversation.close()
        app.close_kept()


class Running:
    """The app while it runs."""

    def __init__(self, app: TauApp, pilot: Pilot[None], look: Look) -> None:
        self.app = app
        self.press = pilot.press
        self._pilot = pilot
        self._look = look

    @property
    def screen(self) -> ChatScreen:
        """The main screen."""
        screen = self.app.screen_stack[0]
        assert isinstance(screen, ChatScreen)
        return screen

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait for a condition, at most 20 seconds."""
        end = time.monotonic() + 20
        while not condition():
            if time.monotonic() > end:
                sys.exit(f"the app did not get there within 20 s:\n{self.text()}")
            await self._pilot.pause(0.02)
        await self._pilot.pause(0.3)

    async def ready(self) -> None:
        """Wait until a message would be sent at once."""
        await self.until(lambda: self.screen.status.activity == "Ready")

    async def shows(self, text: str) -> None:
        """Wait for a text."""
        await self.until(lambda: text in self.text())

    def text(self) -> str:
        """What is on the screen."""
        strips = self.app.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in strip) for strip in strips)

    async def send(self, text: str) -> None:
        """Send a message, or a command."""
        self.screen.prompt.insert(text)
        await self.press("enter")

    async def back(self) -> None:
        """Leave what lies over the conversation, and empty the prompt."""
        await self.press("escape")
        await self.until(lambda: self.app.screen is self.screen)
        self.screen.prompt.empty()

    async def open(self, keys: str, shows: str, name: str) -> None:
        """Open what lies over the conversation, take its picture and leave it."""
        if keys.startswith("/"):
            await self.send(keys)
        else:
            await self.press(*keys.split())
        await self.shows(shows)
        self.save(name)
        await self.back()

    def save(self, name: str) -> None:
        """Write the picture."""
        if not self._look.takes(name):
            return
        path = self._look.into / f"{name}{self._look.suffix}.svg"
        picture = self.app.export_screenshot(title="tau")
        # A document does not fetch fonts from elsewhere; any monospaced one will do.
        path.write_text(re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL), encoding="utf-8")
        print(path)

    async def asked(self, tool: str) -> Question:
        """Wait until this tool's question is open and a key answers it."""

        def panel() -> Question | None:
            open_one = self.screen.questions.panel
            return open_one if open_one is not None and open_one.asked.tool == tool else None

        await self.until(panel)
        await self._pilot.pause(QUIET_SECONDS)
        question = panel()
        assert question is not None
        return question

    async def answered_yes(self, tool: str, picture: str = "") -> None:
        """Say yes to a question."""
        panel = await self.asked(tool)
        if picture:
            self.save(picture)
        await self.press("end")  # a yes counts once the end was in sight
        await self._pilot.pause(0.5)
        await self.press("y")
        await self.until(lambda: not panel.is_attached)


async def of_conversations(stage: Stage) -> None:
    """The start page, the sessions and a conversation."""
    async with stage.app(name="rook") as tau:
        tau.save("start")
        await tau.press("f2")
        await tau.until(lambda: tau.app.screen is not tau.screen)
        tau.save("sessions")
    async with stage.app(resume="amber") as tau:
        tau.screen.query(ToolCard).last().action_turn()
        tau.screen.chat.to_end()
        tau.screen.prompt.insert("Yes, and add a test that would have caught it")
        await tau.shows("would have caught it")
        tau.save("conversation")


async def of_lists(stage: Stage) -> None:
    """What is chosen from: the palette, the pickers, completion, history, the draft that was left."""
    for path in FILES:
        stage.write(path)
    history = PromptHistory(stage.home / "state", stage.directory)
    for text in SENT:
        history.add(text)
    history.close()
    drafts = Drafts(stage.home / "state", stage.directory)
    drafts.keep("Look at the importers too: the one of the central bank rounds twice", [])
    drafts.close()
    async with stage.app(name="rook") as tau:
        await tau.shows("not sent")
        tau.save("left-draft")
        await tau.open("ctrl+p", "/compact", "palette")
        await tau.press("ctrl+p", *"sess")
        await tau.shows("command")
        tau.save("palette-typed")
        await tau.back()
        await tau.open("/model", "cannot be used", "models")
        await tau.open("/theme", "atom-one-dark", "themes")
        await tau.open("/tools", "Built in", "tools")
        await tau.open("f1", "this help", "help")
        await tau.press(*"look at @night")
        await tau.shows("test_nightly.py")
        await tau.press("down")
        await tau.until(lambda: True)
        tau.save("files")
        await tau.back()
        await tau.press("/", "s")
        await tau.shows("show this session")
        tau.save("commands")
        await tau.back()
        await tau.press("ctrl+r", *"round")
        await tau.shows("half even")
        tau.save("history")
        await tau.press("escape")


async def of_memory(stage: Stage) -> None:
    """What is remembered, how it changed, and what one key takes back."""
    stage.write("AGENTS.md", "# Quail\n\nRun `make check` before you say that something is done.\n")
    Trust(stage.settings.places).add(stage.directory)
    desk = Desk(stage.settings)
    for session, label, content in REMEMBERED:
        desk.said = partial(lambda name: (name, 14), session)
        desk.remember(label, content, replace=True, origin="")
    desk.undo()
    desk.goal_file().set("the nightly job runs a week without a failure")
    desk.goal_file().note("the import of quail.rates is mended", met=False)
    stage.play([{"tools": [call("remember", **LEARNED)]}, {"text": "Noted: four places, half even."}])
    async with stage.app(name="lark") as tau:
        await tau.send("Remember: rates are rounded to four places, half even.")
        await tau.shows("Noted: four places")
        await tau.ready()
        tau.save("remembered")
        await tau.send("/memory")
        await tau.shows("This project")
        await tau.press("down", "down")
        await tau.until(lambda: True)
        tau.save("memory")
        await tau.press("tab", "down", "down")
        await tau.shows("tox")
        tau.save("memory-changes")
        await tau.back()


async def of_the_transcript(stage: Stage) -> None:
    """The cursor over the blocks, find, going back, a summary."""
    async with stage.app(resume="amber") as tau:
        await tau.press("alt+up", "alt+up")
        await tau.shows("copy code")
        tau.save("blocks")
        await tau.press("escape", "ctrl+f", *"rates")
        await tau.shows(" of ")
        tau.save("find")
        await tau.press("escape")
    async with stage.app(resume="heron") as tau:
        await tau.open("/rewind", "of yours", "rewind")
    stage.play(TO_COMPACT)
    stage.window(40_000)
    async with stage.app(name="teal") as tau:
        for text, answer in TOLD.items():
            await tau.send(text)
            await tau.shows(answer)
            await tau.ready()
        tau.save("compacted")


async def of_calls(stage: Stage) -> None:
    """A question, cards, messages that wait and a cancelled turn."""
    stage.write("quail/money.py", "def rates(day, strict=False):\n    return list(day)\n")
    stage.write("jobs/nightly.py", JOB)
    stage.play(SCRIPT)
    async with stage.app(name="lark", can_ask=True) as tau:
        await tau.send("The nightly job fails since Tuesday. Fix it, please")
        await tau.answered_yes("shell")
        await tau.answered_yes("edit_file", "question")
        await tau.answered_yes("shell")
        await tau.ready()
        tau.save("cards")
        await tau.send("Thanks! Now run the whole suite")
        await tau.answered_yes("shell")
        await tau.until(lambda: "test_30" in tau.screen.query(ToolCard).last().render().plain)
        await tau.send("Then write down what is left")
        await tau.send("and open a pull request")
        await tau.shows("take back")
        tau.save("waiting")
        await tau.press("escape")
        await tau.ready()
        tau.screen.prompt.empty()
        await tau.until(lambda: True)
        tau.save("cancelled")


SCENES: dict[Callable[[Stage], Awaitable[None]], Collection[str]] = {
    of_conversations: ("start", "sessions", "conversation"),
    of_lists: (
        "left-draft", "palette", "palette-typed", "models", "themes", "tools", "help", "files", "commands",
        "history",
    ),
    of_memory: ("remembered", "memory", "memory-changes"),
    of_the_transcript: ("blocks", "find", "rewind", "compacted"),
    of_calls: ("question", "cards", "waiting", "cancelled"),
}  # fmt: skip
"""What is shown, and the pictures of it."""


def looks() -> Collection[Look]:
    """The looks that are asked for."""
    parser = argparse.ArgumentParser(description="Make pictures of the app.")
    parser.add_argument("--into", type=Path, help="a directory: every screen goes there")
    parser.add_argument("--size", default="120x40", help="columns and rows, with --into")
    parser.add_argument("--theme", default="dark", help="dark, light, ansi or a name, with --into")
    given = parser.parse_args()
    if given.into is None:
        return LOOKS
    columns, _, rows = given.size.partition("x")
    return [Look((int(columns), int(rows)), given.theme, f"-{given.size}-{given.theme}", into=given.into)]


def main() -> None:
    """Make every picture."""
    os.environ.update(TZ="UTC", COLORFGBG="")
    os.environ.pop("OPENAI_API_KEY", None)
    time.tzset()
    for look in looks():
        look.into.mkdir(parents=True, exist_ok=True)
        for scene, names in SCENES.items():
            if any(map(look.takes, names)):
                with tempfile.TemporaryDirectory() as folder:
                    os.environ["HOME"] = folder
                    asyncio.run(run(scene, Path(folder), look))


async def run(scene: Callable[[Stage], Awaitable[None]], home: Path, look: Look) -> None:
    """Show a scene on a stage of its own."""
    await scene(Stage(home, look))


if __name__ == "__main__":
    main()
