"""The first reading of newly installed weights: it reads what a conversation sends, and may be stopped."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from strands.types.content import Messages

from tau.agent.first_reading import FirstReading, ReadingStopped
from tau.agent.prompt import system_prompt
from tau.config.settings import ModelSettings, Places, Settings
from tau.errors import ModelNotReady
from tau.models import registry
from tau.models.embedded.weights import file_of, find, folder, kept_prompts, marker_of
from tau.tools.context import ToolContext
from tau.tools.registry import build_tools
from tests.models.test_embedded_model import small_places  # noqa: F401  # a fixture

WEIGHTS = "smollm2-135m"
HELLO: Messages = [{"role": "user", "content": [{"text": "Say hello."}]}]


@pytest.fixture
def settings_with(tmp_path: Path, small_places: Places) -> Callable[..., Settings]:  # noqa: F811  # the fixture
    """Settings whose places have the test weights, and nothing kept for them."""
    places = Places(data=tmp_path / "data", state=tmp_path / "state", config=tmp_path / "config")
    weights = find(WEIGHTS)
    folder(places).mkdir(parents=True)
    os.link(file_of(weights, small_places), file_of(weights, places))
    marker_of(weights, places).write_bytes(marker_of(weights, small_places).read_bytes())

    def make(**table: Any) -> Settings:
        return Settings(places=places, directory=tmp_path, models={"default": ModelSettings(**table)})

    return make


@pytest.mark.embedded
async def test_a_conversation_reads_nothing_of_it_again(settings_with: Callable[..., Settings]) -> None:
    settings = settings_with(provider="embedded", weights=WEIGHTS, context_window=4096, max_tokens=40)
    shares: list[float] = []
    reading = FirstReading(settings, WEIGHTS)
    try:
        thread = threading.Thread(target=reading.run, args=(shares.append,))
        thread.start()
        thread.join()
    finally:
        reading.close()

    assert len(shares) > 3
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0, 1)
    assert len(list(kept_prompts(settings.places).glob("*.prompt"))) == 2

    prepared = await registry.prepare(settings, "default", environ={})
    context = ToolContext(directory=settings.directory, state_dir=settings.places.state, session_id="s")
    specs = [tool.tool_spec for tool in build_tools(context)]
    try:
        prompt = system_prompt(settings, bare=False)
        events: list[Any] = [event async for event in prepared.model.stream(HELLO, specs, prompt)]
    finally:
        prepared.close()
    usage = events[-1]["metadata"]["usage"]
    assert usage["inputTokens"] - usage["cacheReadInputTokens"] < 60 < usage["cacheReadInputTokens"]


@pytest.mark.embedded
def test_one_that_is_told_to_stop_keeps_nothing_half_read(settings_with: Callable[..., Settings]) -> None:
    settings = settings_with(provider="scripted", context_window=99)
    stop = threading.Event()
    reading = FirstReading(settings, WEIGHTS)
    try:
        with pytest.raises(ReadingStopped):
            reading.run(lambda share: stop.set(), stop)
    finally:
        reading.close()

    assert not list(kept_prompts(settings.places).glob("*.partial"))
    assert len(list(kept_prompts(settings.places).glob("*.prompt"))) < 2


def test_weights_that_are_not_there_are_named(settings_with: Callable[..., Settings]) -> None:
    reading = FirstReading(settings_with(), "qwen2.5-coder-0.5b")
    with pytest.raises(ModelNotReady, match=r"qwen2\.5-coder-0\.5b .* not installed"):
        reading.run()
    reading.close()
