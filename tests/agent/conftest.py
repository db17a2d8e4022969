"""A session of the file store, held for writing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tau.sessions.file import open_store
from tau.sessions.store import SessionWriter, StoreContext


@pytest.fixture
def writer(tmp_path: Path) -> SessionWriter:
    return open_store(StoreContext(data_dir=tmp_path / "data", state_dir=tmp_path / "state")).create(
        "s1", meta={}
    )
