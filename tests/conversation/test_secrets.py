"""No secret is kept or sent, wherever it was written: by the person, by the model, or while it streams."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tau import masking
from tau.agent.notices import MASKED
from tau.conversation.state import Switched
from tau.events import Notice, ToolUseStarted
from tau.masking import remember_environment
from tests.conversation.conftest import Bench, ending, say, say_until

KEY = "sk-ant-" + "Q7x" * 12
PASSWORD = "correct-horse-battery-staple-9"


def holding(root: Path, *secrets: str) -> list[str]:
    """The files under a place in which a secret stands."""
    return [
        str(path.relative_to(root))
        for path in root.rglob("*")
        if path.is_file() and any(secret.encode() in path.read_bytes() for secret in secrets)
    ]


def kept(bench: Bench, *secrets: str) -> list[str]:
    return holding(bench.root / "data", *secrets) + holding(bench.root / "state", *secrets)


async def test_what_a_person_types_is_neither_kept_nor_sent_with_its_secrets(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(masking, "_values", set())
    remember_environment({"DEPLOY_PASSWORD": PASSWORD})
    async with bench.open() as conversation:
        events = await say(conversation, f"my key is {KEY}, the password {PASSWORD}")
        assert [event.text for event in events if isinstance(event, Notice)] == [MASKED]
        assert conversation.state.title == "my key is ***, the password ***"
        assert not await said_of_a_secret(conversation, "3f2a91c0d5e84b7796a1f0c2b3d4e5f60718293a is red")
        bench.side = None
        result = await conversation.command(f"/compact look at {KEY}")
        assert isinstance(result, Switched)
    texts = [message["content"][0]["text"] for message in bench.requests[0]["messages"]]
    assert texts == ["my key is ***, the password ***"]
    assert not holding(bench.root, KEY, PASSWORD)


async def said_of_a_secret(conversation: Any, text: str) -> bool:
    return any(isinstance(event, Notice) for event in await say(conversation, text))


async def test_what_a_model_writes_is_kept_without_secrets_and_runs_as_it_was_shown(bench: Bench) -> None:
    write = {"name": "write_file", "input": {"path": ".env", "content": f"KEY={KEY}\n"}, "id": "t1"}
    bench.steps["default"] = [
        {"reasoning": f"the key {KEY}", "text": f"I write {KEY}.", "tools": [write]},
        {"text": f"Written: {KEY}"},
    ]
    bench.approvals = type(bench.approvals)(allow=["write_file"])
    async with bench.open() as conversation:
        events = await say(conversation, "write the key")
        (started,) = [event for event in events if isinstance(event, ToolUseStarted)]
        assert KEY in started.arguments["content"]
        session = conversation.state.session_id
        await say(conversation, "and now something else")
        assert isinstance(await conversation.command("/compact"), Switched)
    assert (bench.root / ".env").read_text() == f"KEY={KEY}\n"
    assert not kept(bench, KEY)
    texts = json.dumps(bench.messages(session))
    assert "I write ***." in texts
    assert "KEY=***" in texts
    assert "reasoningContent" not in texts


async def test_what_streams_is_kept_without_secrets(bench: Bench) -> None:
    text = f"The key is {KEY} and that is all there is to say of it."
    bench.steps["default"] = [{"text": text, "chunks": len(text), "delay": 0.01}]
    found: list[str] = []
    async with bench.open() as conversation:

        async def look() -> None:
            found.extend(kept(bench, KEY[:20]))
            await conversation.cancel()

        end = await say_until(conversation, "what is the key?", lambda shown: "that is all" in shown, look)
        assert end.stop_reason == "cancelled"
        assert not found
        session = conversation.state.session_id
        bench.steps["default"] = [{"text": "on"}]
        assert (await ending(conversation, "go on")).stop_reason in ("end_turn", "cancelled")
    assert not kept(bench, KEY[:20])
    assert "The key is *** and that" in json.dumps(bench.messages(session))
