"""How full the model's window is, is told after a restart as it was told before."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tau.config.settings import AgentSettings
from tau.conversation import Conversation
from tau.conversation.state import Said, Switched
from tests.conversation.conftest import Bench, say
from tests.conversation.test_compaction import NOTES, compacted, filler, look, usage

DENSE, SPARSE, USUAL = 12_000, 50, 4_000
"""Tokens that a provider counts for the same text: more, fewer and as many as tau takes it to have."""


async def filled(conversation: Conversation) -> tuple[int | None, list[str]]:
    said = await conversation.command("/status")
    assert isinstance(said, Said)
    return conversation.state.context_tokens, [line for line in said.lines if line.startswith("Filled: ")]


async def check_restart(bench: Bench, session_id: str, before: tuple[int | None, list[str]]) -> None:
    assert before[0]
    assert before[1]
    for _ in range(2):
        async with bench.open(session_id=session_id) as conversation:
            assert conversation.state.context_tokens == before[0], "at once"
            await conversation.model_ready()
            assert await filled(conversation) == before


def long_turns(bench: Bench, tokens: int) -> None:
    bench.model = {"context_window": 200_000}
    bench.steps["default"] = [{"text": filler("word", 2_500), **usage(tokens)}]
    bench.side = [{"text": filler("note", 300)}]


@pytest.mark.parametrize("tokens", [DENSE, SPARSE, USUAL])
@pytest.mark.parametrize("moves", [[], ["/compact"], ["/compact", "on"], ["/compact", "on", "/compact"]])
async def test_it_says_the_same_after_a_restart(bench: Bench, tokens: int, moves: list[str]) -> None:
    long_turns(bench, tokens)
    async with bench.open() as conversation:
        await say(conversation, "first")
        await say(conversation, "second")
        for move in moves:
            if move.startswith("/"):
                assert isinstance(await conversation.command(move), Switched)
            else:
                await say(conversation, move)
        before = await filled(conversation)
    await check_restart(bench, conversation.state.session_id, before)


@pytest.mark.parametrize("kind", ["sliding", "summarize"])
async def test_of_a_conversation_of_which_part_is_shown(bench: Bench, kind: Any) -> None:
    long_turns(bench, DENSE)
    bench.agent = AgentSettings(context=kind, window_size=4)
    async with bench.open() as conversation:
        for number in range(5):
            await say(conversation, f"the port is {7000 + number}")
        before = await filled(conversation)
    await check_restart(bench, conversation.state.session_id, before)


async def test_after_a_turn_that_was_compacted_and_stopped(bench: Bench) -> None:
    """The turn ends before the provider has counted anything in the new session."""
    (bench.root / "a.txt").write_text(filler("line", 200))
    bench.model = {"context_window": 40_000}
    bench.steps["default"] = [
        {"text": filler("word", 2_500), **usage(DENSE)},
        look("a.txt", "t1", 36_000),
        {"text": "never said", "delay": 60, "chunks": 2},
    ]
    bench.side = [{"text": NOTES}]
    async with bench.open() as conversation:
        await say(conversation, "first")
        old = conversation.state.session_id
        running = asyncio.create_task(say(conversation, "second"))
        async with asyncio.timeout(20):
            while conversation.state.session_id == old or conversation.state.summarizing:
                await asyncio.sleep(0.01)
        await conversation.cancel()
        assert len(compacted(await running)) == 1
        before = await filled(conversation)
    await check_restart(bench, conversation.state.session_id, before)


async def test_a_role_that_was_changed_does_not_change_it(bench: Bench) -> None:
    long_turns(bench, SPARSE)
    bench.steps["other"] = [{"text": "quick", **usage(100)}]
    async with bench.open() as conversation:
        await say(conversation, "first")
        await conversation.command("/model other")
        before = await filled(conversation)
    await check_restart(bench, conversation.state.session_id, before)
