"""`tau doctor`: says what is missing, fails when something does, writes nothing, shows no key."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tau.config.places import override_of, resolve_places
from tau.config.settings import Places

if TYPE_CHECKING:
    from tests.conftest import TauEnv


def levels(text: str) -> dict[str, str]:
    """The worst level of each subject."""
    order = ("ok", "warn", "fail")
    found: dict[str, str] = {}
    for line in text.splitlines():
        level, subject = line[:5].strip(), line[6:20].strip()
        found[subject] = max(level, found.get(subject, "ok"), key=order.index)
    return found


def everything(folder: Path) -> set[str]:
    return {str(path) for path in folder.rglob("*")}


def test_a_sound_installation_passes_and_nothing_is_written(tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "never asked"})
    before = everything(tau_env.home.parent)
    done = tau_env.run("doctor")
    assert done.returncode == 0, done.stdout
    assert done.stderr == ""
    assert set(levels(done.stdout).values()) <= {"ok", "warn"}
    assert {"python", "configuration", "store", "index", "data", "state", "log", "model default"} <= set(
        levels(done.stdout)
    )
    assert everything(tau_env.home.parent) == before
    assert tau_env.sent() == []


def test_it_counts_sessions_and_leaves_them_alone(tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "hello"})
    assert tau_env.run("chat", "hi").returncode == 0
    before = everything(tau_env.home.parent)
    done = tau_env.run("doctor")
    assert done.returncode == 0, done.stdout
    assert "file, 1 session at" in done.stdout
    assert everything(tau_env.home.parent) == before


def test_a_model_that_is_not_ready_fails_by_name_and_no_key_is_shown(tau_env: TauEnv) -> None:
    tau_env.configure(
        '[sessions]\nbackend = "file"\n'
        '[models.default]\nprovider = "anthropic"\nmodel_id = "m"\n'
        '[models.other]\nprovider = "openai"\nmodel_id = "m"\n'
    )
    tau_env.environ["OPENAI_API_KEY"] = "sk-very-secret-0123456789"
    done = tau_env.run("doctor")
    assert done.returncode == 1
    assert levels(done.stdout)["model default"] == "fail"
    assert "ANTHROPIC_API_KEY" in done.stdout
    assert "very-secret" not in done.stdout + done.stderr


def test_a_broken_configuration_does_not_stop_the_other_checks(tau_env: TauEnv) -> None:
    (tau_env.directory / "tau.toml").write_text("[agent]\nwindow_size =\n")
    done = tau_env.run("doctor")
    assert done.returncode == 1
    found = levels(done.stdout)
    assert found["configuration"] == "fail"
    assert found["python"] == "ok"
    assert f"{tau_env.directory / 'tau.toml'}:2:" in done.stdout


def test_a_place_open_to_others_is_a_warning(tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "hello"})
    tau_env.data.mkdir(mode=0o755)
    tau_env.data.chmod(0o755)
    done = tau_env.run("doctor")
    assert levels(done.stdout)["data"] == "warn"
    assert f"chmod 700 {tau_env.data}" in done.stdout


def test_a_place_that_is_a_file_fails(tau_env: TauEnv) -> None:
    tau_env.data.write_text("in the way")
    done = tau_env.run("doctor")
    assert done.returncode == 1
    assert str(tau_env.data) in done.stdout


def line_of(text: str, subject: str) -> str:
    """The first line about a subject."""
    return next(line for line in text.splitlines() if line[6:20].strip() == subject)


@pytest.mark.parametrize("used", [False, True])
def test_a_state_directory_that_cannot_be_written(
    tau_env: TauEnv, read_only: Callable[[Path], None], used: bool
) -> None:
    tau_env.scripted({"text": "hello"})
    if used:
        assert tau_env.run("chat", "hi").returncode == 0
        assert tau_env.run("sessions", "search", "hi").returncode == 0
    tau_env.state.mkdir(parents=True, exist_ok=True)
    read_only(tau_env.state)
    done = tau_env.run("doctor")
    assert done.returncode == 1
    hint = "(set XDG_STATE_HOME to a folder tau may write)"
    assert line_of(done.stdout, "state") == f"fail  state          {tau_env.state} cannot be written {hint}"
    index = line_of(done.stdout, "index")
    assert index.startswith(f"warn  index          {tau_env.state}")
    assert index.endswith(f" cannot be written: listing and search go on without it, more slowly {hint}")
    assert "TAU_DATA_DIR" not in done.stdout
    assert levels(done.stdout)["data"] == "ok"


@pytest.mark.parametrize("used", [False, True])
def test_a_data_directory_that_cannot_be_written(
    tau_env: TauEnv, read_only: Callable[[Path], None], used: bool
) -> None:
    tau_env.scripted({"text": "hello"})
    tau_env.data.mkdir(exist_ok=True)
    if used:
        assert tau_env.run("chat", "hi").returncode == 0
    read_only(tau_env.data)
    done = tau_env.run("doctor")
    assert done.returncode == 1
    found = levels(done.stdout)
    assert (found["data"], found["store"], found["log"]) == ("fail", "fail", "warn")
    assert (found["state"], found["index"]) == ("ok", "ok")
    assert "(set TAU_DATA_DIR to a folder tau may write)" in line_of(done.stdout, "data")
    assert "cannot be written" in line_of(done.stdout, "store")
    assert "XDG_STATE_HOME" not in done.stdout


def test_without_a_home_everything_follows_the_data_directory() -> None:
    assert override_of("state", resolve_places({"TAU_DATA_DIR": "/x"})).startswith("set XDG_STATE_HOME ")
    places = Places(data=Path("/x"), state=Path("/x/state"), config=Path("/x/config"))
    assert override_of("state", places).startswith("set TAU_DATA_DIR ")
    assert override_of("config", places).startswith("set TAU_DATA_DIR ")
