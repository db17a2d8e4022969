"""`tau init --session-log`."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from tau.cli.init_command import init
from tau.journal import durable


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "home" / "quail"
    (root / ".git").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(durable, "MOUNTS", tmp_path / "none")
    monkeypatch.chdir(root)
    return root


def test_the_folder_is_made_at_the_root_of_the_project(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "sub").mkdir()
    monkeypatch.chdir(project / "sub")
    made = project / ".session-log" / "shared" / "context.md"
    result = CliRunner().invoke(init, ["--session-log"], standalone_mode=False)
    assert result.exception is None
    assert f"created: {made}\n" in result.stdout
    assert "tau trust" in result.stderr, "it is used once the directory is trusted"
    before = made.read_bytes()
    result = CliRunner().invoke(init, ["--session-log"], standalone_mode=False)
    assert f"left as it is: {project / '.session-log'}\n" in result.stdout
    assert made.read_bytes() == before


def test_outside_a_project_it_is_yours(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.parent)
    result = CliRunner().invoke(init, ["--session-log"], standalone_mode=False)
    assert result.exception is None
    assert (project.parent / ".session-log" / "shared" / "context.md").exists()
    assert result.stderr == ""


def test_a_place_that_will_not_last_is_said(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mounts").write_text("22 27 0:21 / / rw - overlay overlay rw\n")
    monkeypatch.setattr(durable, "MOUNTS", tmp_path / "mounts")
    result = CliRunner().invoke(init, ["--session-log"], standalone_mode=False)
    assert "Memory cannot persist here" in result.stderr


def test_with_a_tau_toml_both_are_made(project: Path) -> None:
    given = ["--project", "--memory", "--session-log"]
    result = CliRunner().invoke(init, given, standalone_mode=False)
    assert result.exception is None
    for name in ("tau.toml", ".memory/long-term.md", ".session-log/shared/context.md"):
        assert (project / name).exists(), name
        assert f"created: {project / name}\n" in result.stdout
