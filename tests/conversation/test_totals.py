"""The running totals of a session: tokens, turns and cost, and how /status says them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tau.config.settings import PriceSettings
from tau.conversation import Conversation
from tau.conversation.state import Said
from tau.conversation.totals import Totals
from tau.events import Usage
from tau.models.usage import Price
from tests.conversation.conftest import Bench, ending

PRICE = PriceSettings(input=3, output=15, cached=0.3, written=3.75)
STEP = {
    "text": "a",
    "usage": {
        "inputTokens": 1_000,
        "outputTokens": 200,
        "cacheReadInputTokens": 30_000,
        "cacheWriteInputTokens": 4_000,
    },
}
COST = 0.003 + 0.003 + 0.009 + 0.015


def meta(bench: Bench, conversation: Conversation) -> dict[str, Any]:
    """The session's metadata, read from its file."""
    path = bench.root / "data" / "sessions" / conversation.state.session_id / "meta.json"
    stored = json.loads(path.read_text())
    assert isinstance(stored, dict)
    return stored


async def status(conversation: Conversation) -> list[str]:
    said = await conversation.command("/status")
    assert isinstance(said, Said)
    return list(said.lines)


async def test_cache_and_cost_are_counted_and_go_on_after_a_resume(bench: Bench) -> None:
    bench.steps["default"] = [STEP]
    bench.model = {"price": PRICE, "context_window": 200_000}
    async with bench.open() as conversation:
        assert conversation.state.cost is None
        end = await ending(conversation, "go")
        assert end.usage == Usage(1_000, 200, cached_tokens=30_000, written_tokens=4_000)
        state = conversation.state
        assert state.usage == Usage(5_000, 200, cached_tokens=30_000)
        assert state.cost == pytest.approx(COST)
        assert state.context_tokens == 35_200
        await ending(conversation, "go")
        stored = meta(bench, conversation)
        assert (stored["tokens_in"], stored["tokens_out"], stored["tokens_cached"]) == (10_000, 400, 60_000)
        assert (stored["turns"], stored["context_tokens"]) == (2, 35_200)
        assert stored["cost"] == pytest.approx(2 * COST)
    async with bench.open(resume="") as conversation:
        assert conversation.state.cost == pytest.approx(2 * COST)
        await ending(conversation, "go")
        assert conversation.state.cost == pytest.approx(3 * COST)
        assert conversation.state.usage == Usage(15_000, 600, cached_tokens=90_000)


async def test_without_a_price_there_is_no_cost(bench: Bench) -> None:
    bench.steps["default"] = [STEP]
    async with bench.open() as conversation:
        await ending(conversation, "go")
        assert conversation.state.cost is None
        assert "cost" not in meta(bench, conversation)
        assert not any("$" in line for line in await status(conversation))


async def test_a_price_that_comes_later_counts_from_then_on(bench: Bench) -> None:
    bench.steps["default"] = [STEP]
    async with bench.open() as conversation:
        await ending(conversation, "go")
    bench.model = {"price": PriceSettings(input=0, output=10)}
    async with bench.open(resume="") as conversation:
        assert conversation.state.cost is None
        await ending(conversation, "go")
        assert conversation.state.cost == pytest.approx(0.002)


async def test_a_call_that_was_not_counted_is_not_one_of_nothing(bench: Bench) -> None:
    bench.steps["default"] = [STEP, {"text": "b"}]
    bench.model = {"price": PRICE, "context_window": 200_000}
    async with bench.open() as conversation:
        await ending(conversation, "go")
        await ending(conversation, "go")
        assert conversation.state.context_tokens != 0
        assert meta(bench, conversation)["context_tokens"] != 0
        assert conversation.state.cost == pytest.approx(COST)


async def test_status_says_window_size_tokens_and_cost(bench: Bench) -> None:
    bench.steps["default"] = [STEP]
    bench.model = {"price": PRICE, "context_window": 200_000}
    async with bench.open() as conversation:
        assert "Context: sliding, window 60 · 0 messages in memory" in await status(conversation)
        await ending(conversation, "go")
        lines = await status(conversation)
        place = lines.index("Context: sliding, window 60 · 2 messages in memory")
        assert lines[place + 1].startswith("Filled: about 35,200 of 200,000 tokens (18 %)")
        assert lines[place + 2] == "Tokens: 5,000 in, 200 out, 30,000 cached · 1 turn · $0.03"
    bench.model = {}
    async with bench.open() as conversation:
        await ending(conversation, "go")
        filled = next(line for line in await status(conversation) if line.startswith("Filled:"))
        assert filled.startswith("Filled: about 35,200 tokens · context_window declares how many")


async def test_status_says_that_the_model_is_still_being_prepared(bench: Bench) -> None:
    bench.steps["default"] = [STEP]
    bench.model = {"context_window": 200_000}
    async with bench.open() as conversation:
        await ending(conversation, "go")
        session = conversation.state.session_id
    async with bench.open(resume=session) as conversation:
        lines = await status(conversation)
        assert "Context: sliding, window 60 · still being prepared" in lines
        assert "Filled: about 35,200 tokens · the model is still being prepared" in lines
        await conversation.model_ready()
        assert "Context: sliding, window 60 · 2 messages in memory" in await status(conversation)


def test_side_calls_cost_and_say_nothing_of_the_context() -> None:
    totals = Totals()
    totals.count(Usage(100, 10), Price(input=1, output=1))
    totals.count_side(Usage(180_000, 1_000), Price(input=10, output=10))
    assert (totals.usage, totals.context) == (Usage(180_100, 1_010), 110)
    assert totals.cost == pytest.approx(1.81011)


@pytest.mark.parametrize("odd", [float("nan"), -3, True, "7", None])
def test_a_figure_that_cannot_be_one_counts_as_absent(odd: Any) -> None:
    names = ("tokens_in", "tokens_out", "tokens_cached", "turns", "context_tokens", "cost")
    assert Totals(dict.fromkeys(names, odd)).meta() == Totals().meta()
