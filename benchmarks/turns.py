"""What a turn costs, and whether it ever blocks the screen, as ratios in one run on one machine.

    python -m benchmarks.turns [--dir DIR]

Prints one table; the exit status is 1 when a ratio is above its bar.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import Any

from benchmarks.corpus import messages
from benchmarks.delays import measured_delays
from benchmarks.table import Row, report
from tau.config.settings import (
    AgentSettings,
    ApprovalSettings,
    ModelSettings,
    Places,
    SessionsSettings,
    Settings,
)
from tau.conversation import Conversation
from tau.conversation.state import OpenRequest
from tau.sessions.file import open_store
from tau.sessions.store import SessionWriter, StoreContext
from tau.tui.memory import settle

TURNS = 20
"""Turns measured each time; the median counts."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--dir", type=Path, help="a folder on the disk to measure; default: the temporary one"
    )
    options = parser.parse_args()
    logging.disable(logging.ERROR)
    place = Path(tempfile.mkdtemp(prefix="tau-turns-", dir=options.dir))
    try:
        return report(
            [asyncio.run(against_strands(place)), asyncio.run(by_length(place)), asyncio.run(blocks(place))]
        )
    finally:
        shutil.rmtree(place)


def model() -> Any:
    """A strands model that calls a tool and then answers, without a network."""
    from strands.models.model import Model

    class Canned(Model):
        """Answers every other request with a call of ``look``."""

        def __init__(self) -> None:
            self.requests = 0

        def update_config(self, **config: Any) -> None:
            """Has no configuration."""

        def get_config(self) -> dict[str, Any]:
            return {}

        def structured_output(self, *args: Any, **kwargs: Any) -> Any:
            raise NotImplementedError

        async def stream(self, *args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
            self.requests += 1
            yield {"messageStart": {"role": "assistant"}}
            if self.requests % 2:
                use = {"toolUseId": f"call-{self.requests}", "name": "look"}
                yield {"contentBlockStart": {"start": {"toolUse": use}}}
                yield {
                    "contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps({"what": "x" * 300})}}}
                }
            else:
                yield {"contentBlockStart": {"start": {}}}
                yield {"contentBlockDelta": {"delta": {"text": "y" * 1200}}}
            yield {"contentBlockStop": {}}
            yield {"messageStop": {"stopReason": "tool_use" if self.requests % 2 else "end_turn"}}
            usage = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
            yield {"metadata": {"usage": usage, "metrics": {"latencyMs": 1}}}

    return Canned()


def look() -> Any:
    """The tool that the model calls."""
    from strands import tool

    @tool
    def look(what: str) -> str:
        """Look at something.

        Args:
            what: What to look at.
        """
        return "z" * 4000

    look.tier = 0  # type: ignore[attr-defined]  # the tier a tool of tau declares
    return look


async def measured(turn: Callable[[], Awaitable[object]]) -> float:
    """The median of `TURNS` turns, in milliseconds, after two to warm up."""
    costs = []
    for _ in range(TURNS + 2):
        begin = time.perf_counter()
        await turn()
        costs.append((time.perf_counter() - begin) * 1e3)
    return statistics.median(costs[2:])


def session(place: Path, count: int, window: int) -> tuple[SessionWriter, Callable[[], Awaitable[object]]]:
    """A recorded session of `count` messages and its next turn, flushed as a conversation does."""
    from tau.agent.runner import AgentRunner
    from tau.gate.gate import Gate
    from tau.tools.context import ToolContext

    store = open_store(StoreContext(data_dir=place / f"data-{count}-{window}", state_dir=place / "state"))
    writer = store.create("s", meta={"title": "a session"})
    for index, message in enumerate(messages(count)):
        writer.append(index, message)
    writer.flush()
    runner = AgentRunner(
        model=model(),
        writer=writer,
        settings=AgentSettings(window_size=window),
        system_prompt="You are tau.",
        tools=[look()],
        gate=Gate(ApprovalSettings(), ToolContext(directory=place, state_dir=place, session_id="s")),
    )

    async def turn() -> None:
        end = await runner.run("And now?", lambda event: None)
        assert end.stop_reason == "end_turn", end
        runner.flush()

    return writer, turn


async def against_strands(place: Path) -> Row:
    """At 800 messages, all of them sent, against a stock agent that records into files without a flush."""
    from strands import Agent
    from strands.agent.conversation_manager import NullConversationManager
    from strands.session import FileSessionManager

    stock = Agent(
        model=model(),
        tools=[look()],
        agent_id="tau",
        messages=messages(800),  # type: ignore[arg-type]  # plain dicts
        callback_handler=None,
        conversation_manager=NullConversationManager(),
        session_manager=FileSessionManager(session_id="s", storage_dir=str(place / "strands")),
    )
    base = await measured(lambda: stock.invoke_async("And now?"))
    writer, turn = session(place, 800, 1_000_000)
    ours = await measured(turn)
    writer.close()
    return ("turn at 800 messages, no window / stock strands agent", ours, base, 0.25)


async def by_length(place: Path) -> Row:
    """With a window of 60, at 5,000 stored messages against 50."""
    few, short = session(place, 60, 60)
    many, long = session(place, 5000, 60)
    costs: dict[str, list[float]] = {"short": [], "long": []}
    for _ in range(TURNS * 2):
        for name, turn in (("short", short), ("long", long)):
            begin = time.perf_counter()
            await turn()
            costs[name].append((time.perf_counter() - begin) * 1e3)
    few.close()
    many.close()
    ours, base = statistics.median(costs["long"][4:]), statistics.median(costs["short"][4:])
    return ("turn at 5,000 stored messages, window 60 / at 60", ours, base, 1.2)


async def blocks(place: Path) -> Row:
    """The longest time the channel's loop is late while turns run at 1,000 messages; the bar is in ms."""
    script = place / "script.json"
    script.write_text(json.dumps([{"text": "word " * 400, "chunks": 400, "delay": 0.001}]))
    settings = Settings(
        places=Places(data=place / "data", state=place / "state", config=place / "config"),
        directory=place,
        sessions=SessionsSettings(backend="file"),
        models={"default": ModelSettings(provider="scripted", script=str(script))},
        agent=AgentSettings(window_size=2_000),
    )
    store = open_store(StoreContext(data_dir=place / "data", state_dir=place / "state"))
    with store.create("long", meta={"title": "a long one", "directory": str(place)}) as writer:
        for index, message in enumerate(messages(1000)):
            writer.append(index, message)
    store.close()
    conversation = Conversation.start(settings, OpenRequest(channel="tui", session_id="long"))
    await conversation.model_ready()
    settle()  # as the app does here; else Python looks through all that was loaded, in one of the turns
    async with measured_delays() as late:
        for _ in range(5):
            async for _event in conversation.send("And now?"):
                pass
    await conversation.close()
    return ("longest delay of the screen's loop in 5 turns at 1,000 messages (ms)", max(late), 1.0, 20.0)


if __name__ == "__main__":
    sys.exit(main())
