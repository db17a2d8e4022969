from __future__ import annotations

from pathlib import Path

import pytest
import tau_store_jot

from tau.sessions import file, memory
from tau.sessions.store import StoreContext
from tau.testing import MakeStore, SessionStoreContract


class TestMemoryStore(SessionStoreContract):
    @pytest.fixture
    def make_store(self, tmp_path: Path) -> MakeStore:
        context = StoreContext(data_dir=tmp_path / "data", state_dir=tmp_path / "state", channel="tui")
        return lambda: memory.open_store(context)


class TestFileStore(SessionStoreContract):
    @pytest.fixture
    def make_store(self, tmp_path: Path) -> MakeStore:
        context = StoreContext(data_dir=tmp_path / "data", state_dir=tmp_path / "state", channel="tui")
        return lambda: file.open_store(context)


class TestJotStore(SessionStoreContract):
    """A store from elsewhere, as it is installed."""

    @pytest.fixture(params=[{}, {"sync": True}], ids=["plain", "synced"])
    def make_store(self, tmp_path: Path, request: pytest.FixtureRequest) -> MakeStore:
        options = {"folder": str(tmp_path / "jots"), **request.param}
        context = StoreContext(
            data_dir=tmp_path / "data", state_dir=tmp_path / "state", options=options, channel="tui"
        )
        return lambda: tau_store_jot.open_store(context)
