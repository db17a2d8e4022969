from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tau.config.settings import ModelSettings, Places, Settings
from tests.models.calls import MakeSettings
from tests.models.stub_server import Stub, serving


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
