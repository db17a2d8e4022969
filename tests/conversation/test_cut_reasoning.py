"""Reasoning that was shown before a turn was cut off is there when the session is resumed, as text is."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest

from tau.events import ReasoningDelta, TextDelta, TurnEvent
from tests.conversation.conftest import Bench, ending
from tests.conversation.test_turns import check_request

THINKING = {"reasoning": "Let me see what\x0f came first. " * 20, "text": "It was the egg. " * 20}
SECRET = "sk-ant-api03-" + "k3Jx9QmZt7" * 9


async def cut(bench: Bench, after: type[TurnEvent], how: str) -> tuple[Bench, str, str, str]:
    """A turn that was cut while it streamed: what is left of it, its session, and what was shown.

    A kill leaves what is on the disk at that moment, which is copied.
    """
    shown = {ReasoningDelta: "", TextDelta: ""}
    left = bench
    async with bench.open() as conversation:
        cancelling: asyncio.Task[None] | None = None
        async for event in conversation.send("go"):
            if isinstance(event, (ReasoningDelta, TextDelta)):
                shown[type(event)] += event.text
            if isinstance(event, after) and len(shown[after]) > 60 and cancelling is None:
                if how == "kill":
                    left = Bench(bench.root / "left", steps=bench.steps)
                    shutil.copytree(bench.root / "data", left.root / "data")
                cancelling = asyncio.create_task(conversation.cancel())
        assert cancelling is not None
        await cancelling
        session = conversation.state.session_id
    return left, session, shown[ReasoningDelta], shown[TextDelta]


def blocks(message: dict[str, Any]) -> tuple[str, str]:
    """The reasoning and the text of a message."""
    thought = [
        block["reasoningContent"]["reasoningText"]["text"]
        for block in message["content"]
        if "reasoningContent" in block
    ]
    return "".join(thought), "".join(block["text"] for block in message["content"] if "text" in block)


@pytest.mark.parametrize("after", [ReasoningDelta, TextDelta])
@pytest.mark.parametrize("how", ["cancel", "kill"])
async def test_it_is_there_on_resume_and_not_sent(bench: Bench, after: type[TurnEvent], how: str) -> None:
    bench.steps["default"] = [{**THINKING, "chunks": 100, "delay": 0.01}, {"text": "after"}]
    left, session, thought, said = await cut(bench, after, how)
    left.steps["default"] = [{"text": "after"}]
    async with left.open(resume=session, all_directories=how == "kill") as conversation:
        last = (await conversation.ready()).history.messages[-1].message
        reasoning, text = blocks(last)
        assert text.endswith("[interrupted]")
        read = reasoning.replace("\u240f", "\x0f")  # a control character is kept as its picture
        assert len(read) > 40
        assert thought.startswith(read) if how == "kill" else read == thought
        if said:
            assert text.startswith("It was the egg.")
        assert (await ending(conversation, "and now?")).stop_reason == "end_turn"
    recorded = left.messages(session)
    assert blocks(recorded[1]) == (reasoning, text), "as it was shown"
    sent = left.requests[-1]["messages"]
    texts = [block["text"] for message in sent for block in message["content"]]
    check_request(sent)
    assert "reasoningContent" not in str(sent), "nobody has signed it"
    assert text in texts
    async with left.open(resume=session, all_directories=True) as conversation:
        await ending(conversation, "once more")
    assert "reasoningContent" not in str(left.requests[-1]["messages"])


async def test_no_secret_of_it_is_kept(bench: Bench, tmp_path: Path) -> None:
    thought = f"The key is {SECRET} as I see. " + "Let me think about that. " * 20
    bench.steps["default"] = [{"reasoning": thought, "text": "no", "chunks": 60, "delay": 0.01}]
    left, session, _, _ = await cut(bench, ReasoningDelta, "kill")
    kept = (left.root / "data" / "sessions" / session / ".reply").read_text()
    assert "The key is" in kept
    assert SECRET[:40] not in kept
    (cancelled,) = [message for message in bench.messages(session) if message["role"] == "assistant"]
    assert "The key is" in blocks(cancelled)[0]
    assert SECRET[:40] not in str(cancelled)
