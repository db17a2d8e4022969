"""Where tau keeps things, and what is said when there is no such place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tau.config.places import resolve_places, why_unwritable
from tau.errors import ConfigError
from tests.conftest import TauEnv

OVERRIDE = "(set TAU_DATA_DIR to a folder tau may write)"


@pytest.fixture(autouse=True)
def _no_xdg(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for kind in ("CONFIG", "STATE", "DATA"):
        monkeypatch.delenv(f"XDG_{kind}_HOME", raising=False)
    (tmp_path / "somewhere").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "somewhere"))


def refused(environ: dict[str, str]) -> str:
    with pytest.raises(ConfigError) as caught:
        resolve_places(environ)
    return caught.value.line()


def test_the_platforms_folders_and_nothing_is_created(tmp_path: Path) -> None:
    places = resolve_places({})
    for place in (places.data, places.state, places.config):
        assert place.is_relative_to(tmp_path / "somewhere")
        assert place.name == "tau"
    assert list((tmp_path / "somewhere").iterdir()) == []


def test_the_data_directory_moves_by_itself(tmp_path: Path) -> None:
    places = resolve_places({"TAU_DATA_DIR": str(tmp_path / "d")})
    assert (places.data, places.sessions, places.logs) == (
        tmp_path / "d",
        tmp_path / "d" / "sessions",
        tmp_path / "d" / "logs",
    )
    assert places.state.is_relative_to(tmp_path / "somewhere")
    assert resolve_places({"TAU_DATA_DIR": ""}).data.is_relative_to(tmp_path / "somewhere")


def test_a_relative_data_directory_is_refused() -> None:
    assert refused({"TAU_DATA_DIR": "data"}) == f"TAU_DATA_DIR is not an absolute path: data {OVERRIDE}"


def test_a_home_that_is_not_there_is_not_created(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", "/nonexistent")
    assert (
        refused({}) == f"The home directory /nonexistent is not there, so sessions have no place {OVERRIDE}"
    )
    places = resolve_places({"TAU_DATA_DIR": str(tmp_path / "d")})
    assert (places.state, places.config) == (tmp_path / "d" / "state", tmp_path / "d" / "config")


def test_a_place_that_is_a_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.touch()
    assert refused({"TAU_DATA_DIR": str(file)}) == (
        f"{file} is not a directory, so tau cannot use {file} {OVERRIDE}"
    )
    assert refused({"TAU_DATA_DIR": str(file / "in")}).startswith(f"{file} is not a directory")
    monkeypatch.setenv("XDG_STATE_HOME", str(file))
    assert refused({}).endswith("(set XDG_STATE_HOME to a folder tau may write)")


def test_why_a_place_cannot_be_written(tmp_path: Path) -> None:
    assert why_unwritable(tmp_path / "a" / "b") == ""
    (tmp_path / "file").touch()
    assert why_unwritable(tmp_path / "file" / "b") == f"{tmp_path / 'file'} is not a directory"
    (tmp_path / "dangling").symlink_to(tmp_path / "none")
    assert why_unwritable(tmp_path / "dangling" / "b") == f"{tmp_path / 'dangling'} is not a directory"
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    if os.geteuid() != 0:
        assert why_unwritable(locked / "b") == f"{locked} cannot be written"


@pytest.mark.parametrize(
    "environ",
    [
        {"HOME": "/nonexistent"},
        {"TAU_DATA_DIR": "here"},
        {"TAU_DATA_DIR": "/dev/null"},
        {"HOME": "/dev/null"},
    ],
)
def test_the_command_says_it_in_one_line_and_writes_nowhere(tau_env: TauEnv, environ: dict[str, str]) -> None:
    for name in ("XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "TAU_DATA_DIR"):
        del tau_env.environ[name]
    done = tau_env.run("config", "show", environ=environ)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert OVERRIDE in done.stderr
    assert list(tau_env.directory.iterdir()) == []


def test_without_home_the_account_has_one(tau_env: TauEnv) -> None:
    for name in ("HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "TAU_DATA_DIR"):
        del tau_env.environ[name]
    done = tau_env.run("config", "path")
    assert done.stderr.count("\n") <= 1
    assert "Traceback" not in done.stderr
    assert list(tau_env.directory.iterdir()) == []
