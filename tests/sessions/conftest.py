"""The catalog of a folder of sessions, as the tests of what it finds have it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tau.sessions.catalog import Catalog
from tau.sessions.file import open_store
from tau.sessions.store import StoreContext


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The folder of the sessions."""
    return tmp_path / "data"


@pytest.fixture(params=["indexed", "scanned"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path, data: Path) -> Iterator[Catalog]:
    """The catalog of that folder, with its index and with a file where the index should be."""
    state = tmp_path / "state"
    if request.param == "scanned":
        state.mkdir()
        (state / "index").write_text("")
    store = open_store(StoreContext(data_dir=data, state_dir=state))
    catalog = Catalog(store, state_dir=state)
    yield catalog
    catalog.close()
    store.close()
