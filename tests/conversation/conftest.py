"""Conversations on the real engine, store and strands loop, with a scripted model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tau.config.settings import (
    AgentSettings,
    ApprovalSettings,
    McpSettings,
    ModelSettings,
    Places,
    SessionsSettings,
    Settings,
)
from tau.conversation import Conversation
from tau.conversation.state import OpenRequest
from tau.events import TextDelta, TurnEnd, TurnEvent


@dataclass
class Bench:
    """A place with a file store and scripted roles, in which conversations are opened.

    Attributes:
        root: Everything is under it.
        steps: The script of each role.
        agent: The ``[agent]`` table.
        approvals: The ``[approvals]`` table.
        mcp: The ``[mcp.NAME]`` tables.
    """

    root: Path
    steps: dict[str, list[dict[str, Any]]] = field(
        default_factory=lambda: {"default": [{"text": "hello there"}]}
    )
    agent: AgentSettings = field(default_factory=AgentSettings)
    approvals: ApprovalSettings = field(default_factory=ApprovalSettings)
    mcp: dict[str, McpSettings] = field(default_factory=dict)
    backend: str = "file"

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
            models[role] = ModelSettings(
                provider="scripted", script=str(script), record=str(self.root / "requests.jsonl")
            )
        return Settings(
            places=self.places,
            directory=directory or self.root,
            sessions=SessionsSettings(backend=self.backend),
            models=models,
            agent=self.agent,
            approvals=self.approvals,
            mcp=self.mcp,
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
