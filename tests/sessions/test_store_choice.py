"""One line of tau.toml picks the store, and its table is handed to it; built in or from elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from tau.config.load import load_settings
from tau.errors import ConfigError
from tau.sessions.records import ListQuery
from tau.sessions.registry import open_store
from tau.sessions.store import SessionStore
from tau.testing.store_contract import text


def store_of(place: Path, toml: str) -> SessionStore:
    config = place / "tau.toml"
    config.write_text(toml, encoding="utf-8")
    environ = {"HOME": str(place), "TAU_DATA_DIR": str(place / "data")}
    loaded = load_settings(config=config, profile=None, directory=place, environ=environ)
    return open_store(loaded.settings, channel="tui")


@pytest.mark.parametrize(
    ("backend", "recorded"),
    [("memory", []), ("file", ["data/sessions/s1/session.json"]), ("jot", ["jots/s1.jsonl"])],
)
def test_one_line_picks_the_store(tmp_path: Path, backend: str, recorded: list[str]) -> None:
    folder = tmp_path / "jots"
    store = store_of(tmp_path, f'[sessions]\nbackend = "{backend}"\n[component.jot]\nfolder = "{folder}"\n')
    assert store.name == backend
    with store.create("s1", meta={"channel": "tui"}) as writer:
        writer.append(0, text("m0"))
        writer.flush()
    assert [summary.session_id for summary in store.summaries(ListQuery())] == ["s1"]
    store.close()
    places = ["data/sessions/s1/session.json", "jots/s1.jsonl"]
    assert [path for path in places if (tmp_path / path).exists()] == recorded


@pytest.mark.parametrize("sync", ["true", "false"])
def test_options_reach_the_store(tmp_path: Path, sync: str) -> None:
    store = store_of(tmp_path, f'[sessions]\nbackend = "jot"\n[component.jot]\nsync = {sync}\n')
    assert store.capabilities.durable == (sync == "true")
    assert store.capabilities.location == str((tmp_path / "data" / "jot").resolve())


def test_a_store_refuses_options_it_does_not_know(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"component\.jot"):
        store_of(tmp_path, '[sessions]\nbackend = "jot"\n[component.jot]\nfolder = 7\n')
