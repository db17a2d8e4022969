"""The offer of the embedded model: what it says, that it takes no keys, how it gets ready, what fails."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from tau.config.settings import ModelSettings, Places, Settings
from tau.models import embedded
from tau.models.embedded import weights
from tau.models.embedded.weights import file_of, find, folder, kept_prompts
from tau.tui import installer
from tau.tui.widgets.offer import Offer
from tests.models.test_embedded_model import small_places  # noqa: F401  # a fixture
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


async def test_an_offer_that_was_declined_says_how_it_comes_back_and_does(
    start: Start, nothing_ready: Settings
) -> None:
    async with start(settings=nothing_ready, ready=False) as tau:
        offer = tau.screen.query_one(Offer)
        await tau.until(lambda: offer.display, "the offer")
        await tau.pilot.press("f9")
        await tau.shows("F5 shows the offer again")
        assert not offer.display
        await tau.pilot.press("f9")
        await tau.pilot.press("f5")
        await tau.shows("F5 download 1.1 GB")
        assert not offer.installing
        assert tau.text().count("shows the offer again") == 1


async def test_nothing_is_offered_that_nothing_here_could_run(
    start: Start, nothing_ready: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "RUNTIME", "no_such_runtime")
    async with start(settings=nothing_ready, ready=False, size=(120, 40)) as tau:
        await tau.until(lambda: "for one that runs here" in " ".join(tau.text().split()), "the hint")
        assert "run pip install 'tau-" in tau.text()
        assert "''" not in tau.text()
        assert not tau.screen.query_one(Offer).display
        await tau.pilot.press("f5")
        await tau.pilot.pause()
        assert "download" not in tau.text()
        assert not tau.screen.query_one(Offer).installing


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


@pytest.fixture
def on_disk(
    nothing_ready: Settings,
    small_places: Places,  # noqa: F811  # the fixture
    monkeypatch: pytest.MonkeyPatch,
) -> Settings:
    """The same machine, but the small weights are offered, and an earlier start has downloaded their file."""
    small = replace(find("smollm2-135m"), chat=True)
    for module in (weights, installer):
        monkeypatch.setattr(module, "catalogue", lambda: (small,))
    folder(nothing_ready.places).mkdir(parents=True)
    shutil.copyfile(file_of(small, small_places), file_of(small, nothing_ready.places))
    table = ModelSettings(provider="auto", context_window=4096, max_tokens=20)
    return structs.replace(nothing_ready, models={"default": table})


def children() -> list[int]:
    """The processes in which this one runs a model."""
    own = Path("/proc/self/task").glob("*/children")
    pids = [int(pid) for path in own for pid in path.read_text().split()]
    return [pid for pid in pids if b"tau.models.embedded.server" in Path(f"/proc/{pid}/cmdline").read_bytes()]


@pytest.mark.embedded
async def test_a_message_that_waits_goes_out_when_the_instructions_are_read(
    start: Start, on_disk: Settings
) -> None:
    async with start(settings=on_disk, ready=False) as tau:
        await tau.shows("F5 download")
        await tau.pilot.press("f5")
        await tau.shows("Getting ready… reading its instructions")
        await tau.shows("F9 skip this")
        [reading] = children()
        await tau.send("hello there")
        await tau.until(lambda: not len(tau.screen.outbox), "the message went out")
        assert len(list(kept_prompts(on_disk.places).glob("*.prompt"))) == 2
        await tau.idle()
        assert children() == [reading]
        assert not tau.screen.query_one(Offer).display
        assert "takes longer" not in tau.text()
        usage = tau.screen.conversation.state.usage
        assert usage.input_tokens - usage.cached_tokens < 60


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("trouble", "said"), [(signal.SIGSTOP, "was stopped"), (signal.SIGKILL, "killed by SIGKILL")]
)
async def test_a_model_that_did_not_read_its_instructions_is_used_all_the_same(
    start: Start, on_disk: Settings, trouble: signal.Signals, said: str
) -> None:
    async with start(settings=on_disk, ready=False) as tau:
        await tau.shows("F5 download")
        await tau.pilot.press("f5")
        await tau.until(children, "the model's process")
        [reading] = children()
        os.kill(reading, trouble)
        if trouble is signal.SIGSTOP:
            await tau.shows("F9 skip this")
            await tau.pilot.press("f9")
        await tau.ready()
        await tau.shows("its first answer takes longer")
        assert said in " ".join(tau.text().split())
        if trouble is signal.SIGSTOP:
            os.kill(reading, signal.SIGCONT)
        await tau.turn("hello there")
        assert "✗" not in tau.text()
        assert not tau.screen.query_one(Offer).display
