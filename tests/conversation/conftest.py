"""Conversations on the real engine, store and strands loop, with a scripted model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from tau.config.settings import (
    AgentSettings,
    ApprovalSettings,
    CompactionSettings,
    ContextSettings,
    McpSettings,
    ModelSettings,
    Places,
    SessionsSettings,
    Settings,
)
from tau.conversation import Conversation
from tau.conversation.state import OpenRequest
from tau.events import TextDelta, TurnEnd, TurnEvent
from tests.conftest import with_memory_begun


@dataclass
class Bench:
    """A place with a file store and scripted roles, in which conversations are opened.

    Attributes:
        root: Everything is under it.
        steps: The script of each role.
        agent: The ``[agent]`` table.
        approvals: The ``[approvals]`` table.
        mcp: The ``[mcp.NAME]`` tables.
        model: Keys of every role's table, beside its script.
        side: The script of side calls, such as those for summaries; None takes the role's own.
        compaction: The ``[compaction]`` table.
        context: The ``[context]`` table.
        backend: ``[sessions] backend``.
        titles: ``[sessions] titles``.
    """

    root: Path
    steps: dict[str, list[dict[str, Any]]] = field(
        default_factory=lambda: {"default": [{"text": "hello there"}]}
    )
    agent: AgentSettings = field(default_factory=AgentSettings)
    approvals: ApprovalSettings = field(default_factory=ApprovalSettings)
    mcp: dict[str, McpSettings] = field(default_factory=dict)
    model: dict[str, Any] = field(default_factory=dict)
    side: list[dict[str, Any]] | None = None
    compaction: CompactionSettings = field(default_factory=CompactionSettings)
    context: ContextSettings = field(default_factory=ContextSettings)
    backend: str = "file"
    titles: Literal["first", "model"] = "first"

    @property
    def requests(self) -> list[dict[str, Any]]:
        """What the models were sent, in order."""
        record = self.root / "requests.jsonl"
        return [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []

    @property
    def places(self) -> Places:
        return Places(data=self.root / "data", state=self.root / "state", config=self.root / "config")

    def settings(self, directory: Path | None = None) -> Settings:
        models = {}
        for role, steps in self.steps.items():
            script = self.root / f"{role}.json"
            script.write_text(json.dumps(steps))
            side: dict[str, Any] = {}
            if self.side is not None:
                side_script = self.root / f"{role}-side.json"
                side_script.write_text(json.dumps(self.side))
                side["side_script"] = str(side_script)
            models[role] = ModelSettings(
                provider="scripted",
                script=str(script),
                record=str(self.root / "requests.jsonl"),
                **side,
                **self.model,
            )
        with_memory_begun(self.places.config, directory or self.root)
        return Settings(
            places=self.places,
            directory=directory or self.root,
            sessions=SessionsSettings(backend=self.backend, titles=self.titles),
            models=models,
            agent=self.agent,
            approvals=self.approvals,
            mcp=self.mcp,
            compaction=self.compaction,
            context=self.context,
        )

    @asynccontextmanager
    async def open(self, *, directory: Path | None = None, **request: Any) -> AsyncIterator[Conversation]:
        """A conversation, closed at the end."""
        given: dict[str, Any] = {"channel": "terminal", **request}
        conversation = Conversation.start(self.settings(directory), OpenRequest(**given))
        try:
            await conversation.ready()
            yield conversation
        finally:
            await conversation.close()

    def messages(self, session_id: str) -> list[dict[str, Any]]:
        """The recorded messages, read from their files."""
        folder = self.root / "data" / "sessions" / session_id / "agents" / "tau" / "messages"
        return [json.loads(path.read_text())["message"] for path in sorted(folder.glob("[0-9]*.json"))]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


async def say(conversation: Conversation, text: str) -> list[TurnEvent]:
    """Send a message and return the turn's events."""
    return [event async for event in conversation.send(text)]


async def ending(conversation: Conversation, text: str) -> TurnEnd:
    """Send a message and return how the turn ended."""
    events = await say(conversation, text)
    ends = [event for event in events if isinstance(event, TurnEnd)]
    assert ends == events[-1:], "every turn ends with exactly one TurnEnd"
    return ends[0]


async def say_until(
    conversation: Conversation, text: str, seen: Callable[[str], bool], then: Callable[[], Awaitable[None]]
) -> TurnEnd:
    """Send a message, and act once the text of the reply so far is as wanted."""
    shown = ""
    acting: asyncio.Task[None] | None = None

    async def act() -> None:
        await then()

    end: TurnEnd | None = None
    async for event in conversation.send(text):
        if isinstance(event, TextDelta):
            shown += event.text
            if acting is None and seen(shown):
                acting = asyncio.create_task(act())
        if isinstance(event, TurnEnd):
            end = event
    assert acting is not None, f"the reply never came to it: {shown!r}"
    await acting
    assert end is not None
    return end
