"""The status row: how full the model's window is, where it is compacted, tokens and cost."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

from tau.config.settings import ModelSettings, PriceSettings, Settings
from tau.display import dollars
from tau.events import Usage
from tests.tui.conftest import Running, Start
from tests.tui.pictures import every_look, pictures_of

STEP = {"text": "ok", "usage": {"inputTokens": 41_200, "outputTokens": 3_100}}


def row(tau: Running) -> str:
    """The last line of the screen."""
    return tau.text().rstrip().splitlines()[-1]


@pytest.fixture
def priced(settings_for: Callable[..., Settings]) -> Settings:
    """Settings with a model of a known window and price."""
    script = settings_for([STEP]).models["default"].script
    price = PriceSettings(input=2.5, output=5)
    return settings_for(
        [STEP],
        model=ModelSettings(provider="scripted", script=script, context_window=130_000, price=price),
    )


@pytest.mark.parametrize("width", [80, 120, 200])
async def test_a_turn_is_counted_in_the_row(start: Start, priced: Settings, width: int) -> None:
    async with start(settings=priced, size=(width, 24)) as tau:
        assert "$" not in row(tau)
        await tau.turn("go")
        await tau.shows("ctx 34 % · 41k in 3.1k out · $0.12")


@pytest.mark.parametrize("width", [80, 120, 200])
async def test_at_every_width_state_context_and_cost_stay(start: Start, priced: Settings, width: int) -> None:
    async with start(settings=priced, size=(width, 24)) as tau:
        status = tau.screen.status
        status.folded_events = 12
        status.work("Working…")
        assert status.state is not None
        status.state = replace(
            status.state,
            context_tokens=104_000,
            compacts_at=110_500,
            usage=Usage(1_410_000, 203_000),
            cost=21.5,
        )
        await tau.shows("✻ Working… 0 s · Esc cancels")
        assert "ctx 80 % · compacts at 85 %" in row(tau)
        assert row(tau).endswith("$21.50")
        assert ("1.4M in 203k out" in row(tau)) == (width > 80)
        status.rest("Ready")


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({"context_tokens": 91_001, "compacts_at": 110_500}, "ctx 70 % · compacts at 85 %"),
        ({"context_tokens": 90_999, "compacts_at": 110_500}, "ctx 70 %"),
        ({"context_tokens": 120_000, "compacts_at": None}, "ctx 92 %"),
        (
            {"context_tokens": 126_000, "compacts_at": 110_500, "compaction": "after_turn"},
            "ctx 97 % · compacts after this turn",
        ),
        (
            {"context_tokens": 126_000, "compacts_at": 110_500, "compaction": "never"},
            "ctx 97 % · compacts no more",
        ),
        ({"context_tokens": None, "compacts_at": 110_500, "message_count": 2}, "ctx unknown"),
        ({"context_tokens": 12_000, "model": None}, "ctx 12k"),
        ({"context_tokens": 13_000, "cost": 0.0004}, "ctx 10 % · <$0.01"),
        ({"context_tokens": None, "message_count": 0}, "ctx empty"),
    ],
)
async def test_the_point_of_compaction_is_named_when_it_is_near(
    start: Start, priced: Settings, changes: dict[str, Any], shown: str
) -> None:
    async with start(settings=priced, size=(120, 24)) as tau:
        assert tau.screen.status.state is not None
        tau.screen.status.state = replace(tau.screen.status.state, **changes)
        await tau.until(lambda: row(tau).endswith(f"  {shown}"), shown)


FILLED: dict[str, Any] = {
    "context_tokens": 104_000, "compacts_at": 110_500, "usage": Usage(410_000, 23_000), "cost": 1.5
}  # fmt: skip
FULL: dict[str, Any] = {**FILLED, "context_tokens": 126_000}
ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    "near": ("Ready", FILLED),
    "working": ("Working…", {**FULL, "compaction": "after_turn"}),
    "stuck": ("Ready", {**FULL, "compaction": "never", "goal": "goal: ship 1.0"}),
    "not saved": ("Ready", {**FILLED, "context_tokens": 44_000, "unsaved": "No space left on device"}),
    "in memory": ("Ready", {"message_count": 2, "turns": 1, "persistent": False}),
}


@pytest.fixture
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes on takes no time."""
    monkeypatch.setattr("tau.tui.widgets.bars.monotonic", lambda: 0.0)


@pytest.mark.usefixtures("still")
@every_look
async def test_the_row_in_its_states(
    start: Start, priced: Settings, snapshot: SnapshotAssertion, size: tuple[int, int], theme: str
) -> None:
    settings = replace(priced, tui=replace(priced.tui, theme=theme))
    async with start(settings=settings, size=size, name="rook") as tau:
        await tau.screen.workers.wait_for_complete()
        status = tau.screen.status
        begun = status.state
        assert begun is not None

        async def see(activity: str, changes: dict[str, Any]) -> None:
            (status.rest if activity == "Ready" else status.work)(activity)
            status.state = replace(begun, **changes)
            await tau.until(lambda: activity in row(tau), activity)

        walk = {name: partial(lambda given, _: see(*given), given) for name, given in ROWS.items()}
        await pictures_of(snapshot, tau, walk)


GOAL = "goal: ship 1.0 with the importer"


@pytest.mark.parametrize(
    ("width", "working", "shown"),
    [
        (80, False, "ctx 34 % · 41k in 3.1k out · $0.12 · goal: ship 1.0 with the importer"),
        (80, True, "ctx 34 % · $0.12 · goal: ship 1.0 with the imp…"),
        (64, False, "ctx 34 % · 41k in 3.1k out · $0.12 · goal: ship 1.0 wi…"),
        (56, False, "ctx 34 % · $0.12 · goal: ship 1.0 with the imp…"),
        (48, False, "ctx 34 % · $0.12 · goal: ship 1.0 with…"),
        (40, False, "ctx 34 % · $0.12"),
        (200, True, "ctx 34 % · 41k in 3.1k out · $0.12 · goal: ship 1.0 with the importer"),
    ],
)
async def test_the_goal_is_cut_to_the_room_after_context_and_cost(
    start: Start, priced: Settings, width: int, working: bool, shown: str
) -> None:
    async with start(settings=priced, size=(width, 24)) as tau:
        status = tau.screen.status
        assert status.state is not None
        if working:
            status.work("Working…")
        status.state = replace(
            status.state, context_tokens=44_300, usage=Usage(41_200, 3_100), cost=0.12, goal=GOAL
        )
        await tau.until(lambda: row(tau).endswith(f"  {shown}"), shown)
        status.rest("Ready")


async def test_the_row_follows_the_goal(start: Start) -> None:
    async with start() as tau:
        await tau.send("/goal ship 1.0")
        await tau.until(lambda: row(tau).endswith("ctx empty · goal: ship 1.0"), "goal")
        await tau.send("/goal pause")
        await tau.until(lambda: row(tau).endswith("ctx empty · goal (paused): ship 1.0"), "paused")
    async with start() as tau:
        await tau.until(lambda: row(tau).endswith("ctx empty · goal (paused): ship 1.0"), "another session")
        await tau.send("/goal clear")
        await tau.until(lambda: row(tau).endswith("  ctx empty"), "cleared")


async def test_the_row_says_that_the_model_proposes_the_goal_as_met(start: Start) -> None:
    script = [
        {"tools": [{"name": "goal_progress", "input": {"note": "released", "met": True}, "id": "t1"}]},
        {"text": "ok"},
    ]
    async with start(script) as tau:
        await tau.send("/goal ship 1.0")
        await tau.shows("goal: ship 1.0")
        await tau.turn("go")
        await tau.until(lambda: row(tau).endswith(" · goal (met?): ship 1.0"), "met?")
        await tau.send("/goal resume")
        await tau.until(lambda: row(tau).endswith(" · goal: ship 1.0"), "not yet")


def test_dollars() -> None:
    amounts = [0, 0.004, 0.005, 0.123, 3.4, 99.994, 1_204.4]
    assert [dollars(amount) for amount in amounts] == [
        "$0.00", "<$0.01", "$0.01", "$0.12", "$3.40", "$99.99", "$1,204",
    ]  # fmt: skip
