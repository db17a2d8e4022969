from __future__ import annotations

import os
import pwd
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tau.config.settings import ModelSettings, Places, Settings
from tau.errors import TauError
from tau.models.embedded.install import install
from tests.models.calls import MakeSettings
from tests.models.stub_server import Stub, serving


def kept_weights(weights: str) -> Places:
    """Where test weights are kept between runs: the real user's cache, filled as a person fills it."""
    home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    cache = home / ".cache" / "tau-tests"
    places = Places(data=cache / "data", state=cache / "state", config=cache / "config")
    try:
        install(weights, places, environ={**os.environ, "HOME": str(home)})
    except TauError as error:
        pytest.fail(f"the tests need the weights {weights}, which cannot be installed: {error.line()}")
    return places


@pytest.fixture
def stub() -> Iterator[Stub]:
    with serving() as server:
        yield server


@pytest.fixture
def make_settings(tmp_path: Path) -> MakeSettings:
    """Settings with one role, ``default``, from the keys given."""

    def make(**table: Any) -> Settings:
        state = tmp_path / "state"
        return Settings(
            places=Places(data=tmp_path / "data", state=state, config=tmp_path / "config"),
            directory=tmp_path,
            models={"default": ModelSettings(**table)},
        )

    return make
