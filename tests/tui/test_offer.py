"""The offer of the embedded model: what it says, that it takes no keys, what a failure leaves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tau.config.settings import ModelSettings, Settings
from tau.tui.widgets.offer import Offer
from tests.tui.conftest import Start


@pytest.fixture
def nothing_ready(
    settings_for: Callable[..., Settings], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Settings:
    """A machine with no key, no server and no weights."""
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("PATH", str(tmp_path))
    return settings_for(model=ModelSettings(provider="auto"))


async def test_the_offer_says_size_licence_and_place_and_steals_no_keys(
    start: Start, nothing_ready: Settings
) -> None:
    async with start(settings=nothing_ready, ready=False) as tau:
        offer = tau.screen.query_one(Offer)
        await tau.until(lambda: offer.display, "the offer")
        await tau.shows("F5 download 1.1 GB")
        assert "Qwen2.5-Coder-1.5B" in tau.text()
        assert "Apache-2.0" in tau.text()
        assert "kept in" in tau.text()
        await tau.pilot.press(*"yes no")
        assert tau.screen.prompt.text == "yes no"
        await tau.pilot.press("f2")
        await tau.shows("No sessions yet")
        await tau.pilot.press("escape")
        tau.screen.prompt.empty()
        await tau.send("a message that waits")
        assert "waiting  a message that waits" in tau.text()
        await tau.pilot.press("f9")
        await tau.until(lambda: not offer.display)
        assert tau.screen.prompt.text == "a message that waits"


async def test_a_download_that_fails_says_why_and_offers_again(
    start: Start, nothing_ready: Settings, tmp_path: Path
) -> None:
    async with start(settings=nothing_ready, ready=False) as tau:
        offer = tau.screen.query_one(Offer)
        await tau.until(lambda: offer.display, "the offer")
        (tmp_path / "state").mkdir(exist_ok=True)
        place = tmp_path / "state" / "models"
        if place.is_dir():
            place.rmdir()
        place.write_text("in the way")
        await tau.pilot.press("f5")
        await tau.shows("✗")
        await tau.until(lambda: offer.offered and offer.display)
        assert "Traceback" not in tau.text()
