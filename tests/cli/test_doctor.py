"""`tau doctor`: says what is missing, fails when something does, writes nothing, shows no key."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

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
