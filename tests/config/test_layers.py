"""Which files count, in which order, and what a profile does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tau.config.load import SHIPPED, load_settings
from tau.config.settings import Places, Settings
from tests.config.conftest import Desk


def test_the_shipped_file_sets_what_the_code_does_not(desk: Desk) -> None:
    bare = Settings(places=Places(data=Path("/d"), state=Path("/s"), config=Path("/c")), directory=Path("/"))
    assert (bare.sessions.backend, bare.compaction.keep_turns) == ("memory", 0)
    loaded = desk.load()
    assert (loaded.settings.sessions.backend, loaded.settings.compaction.keep_turns) == ("file", 3)
    assert loaded.settings.files == (SHIPPED,)
    assert loaded.warnings == []


def test_tables_merge_key_by_key_project_over_user_over_shipped(desk: Desk) -> None:
    user = desk.user('[agent]\nwindow_size = 10\nmax_turns = 7\n[models.fast]\nprovider = "ollama"\n')
    project = desk.project("[agent]\nwindow_size = 20\n[models.fast]\nmax_tokens = 99\n")
    loaded = desk.load()
    assert (loaded.settings.agent.window_size, loaded.settings.agent.max_turns) == (20, 7)
    assert (loaded.settings.models["fast"].provider, loaded.settings.models["fast"].max_tokens) == (
        "ollama",
        99,
    )
    assert loaded.settings.files == (project, user, SHIPPED)
    assert loaded.settings.directory == desk.repository
    assert loaded.settings.roles() == ["default", "fast"]


def test_lists_are_taken_whole(desk: Desk) -> None:
    desk.user('[plugins]\ndisabled = ["a", "b"]\n[profiles.x.plugins]\ndisabled = ["c"]\n')
    assert desk.load().settings.plugins.disabled == ["a", "b"]
    assert desk.load(profile="x").settings.plugins.disabled == ["c"]


def test_the_nearest_file_up_to_the_repository_root_is_the_projects(desk: Desk) -> None:
    (desk.repository.parent / "tau.toml").write_text("[agent]\nwindow_size = 5\n")
    deep = desk.repository / "a" / "b"
    deep.mkdir(parents=True)
    assert desk.load(directory=deep).settings.agent.window_size == 60
    desk.project("[agent]\nwindow_size = 6\n")
    assert desk.load(directory=deep).settings.agent.window_size == 6
    (deep.parent / "tau.toml").write_text("[agent]\nwindow_size = 7\n")
    assert desk.load(directory=deep).settings.agent.window_size == 7


def test_outside_a_repository_only_the_directory_itself_is_looked_at(tmp_path: Path, desk: Desk) -> None:
    inner = tmp_path / "plain" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "plain" / "tau.toml").write_text("[agent]\nwindow_size = 6\n")
    assert desk.load(directory=inner).settings.agent.window_size == 60
    assert desk.load(directory=inner.parent).settings.agent.window_size == 6


def test_a_named_file_takes_the_projects_place(desk: Desk) -> None:
    desk.user("[agent]\nmax_turns = 7\n")
    desk.project("[agent]\nwindow_size = 20\n")
    (desk.repository / "a.toml").write_text('[agent]\ninstructions = "a"\n')
    other = desk.repository / "b.toml"
    other.write_text('[agent]\ninstructions = "b"\n')
    desk.environ["TAU_CONFIG"] = "a.toml"
    agent = desk.load().settings.agent
    assert (agent.instructions, agent.window_size, agent.max_turns) == ("a", 60, 7)
    assert desk.load(config=other).settings.agent.instructions == "b"
    desk.environ["TAU_CONFIG"] = ""
    assert desk.load().settings.agent.window_size == 20


def test_a_named_file_must_exist(desk: Desk) -> None:
    missing = desk.repository / "none.toml"
    assert desk.error(config=missing) == f"{missing}: there is no such file (named by --config)"
    desk.environ["TAU_CONFIG"] = str(missing)
    assert desk.error().endswith("(named by TAU_CONFIG)")


def test_a_profile_is_laid_over_everything(desk: Desk) -> None:
    desk.user(
        "[agent]\nwindow_size = 10\n[profiles.work.agent]\nwindow_size = 11\n"
        '[profiles.home.tui]\ntheme = "x"\n'
    )
    desk.project("[agent]\nwindow_size = 20\n")
    assert desk.load().settings.agent.window_size == 20
    loaded = desk.load(profile="work")
    assert (loaded.settings.agent.window_size, loaded.settings.profile) == (11, "work")
    desk.environ["TAU_PROFILE"] = "home"
    assert desk.load().settings.tui.theme == "x"
    assert desk.load(profile="work").settings.tui.theme == "auto"
    assert desk.error(profile="wrk") == "There is no profile wrk (did you mean work? profiles: home, work)"


def test_the_shipped_file_is_never_a_projects(desk: Desk) -> None:
    """Neither where tau lives, nor in a checkout of tau, whose root has a link to it."""
    desk.user("[agent]\nwindow_size = 10\n")
    assert desk.load(directory=SHIPPED.parent).settings.agent.window_size == 10
    checkout = desk.repository / "tau" / "config"
    checkout.mkdir(parents=True)
    (checkout / "tau.toml").write_bytes(SHIPPED.read_bytes())
    desk.project_file.symlink_to("tau/config/tau.toml")
    loaded = desk.load()
    assert (loaded.settings.agent.window_size, loaded.warnings) == (10, [])


def test_working_in_the_configuration_directory_does_not_read_a_file_twice(desk: Desk) -> None:
    user = desk.user('[sessions]\nbackend = "memory"\n')
    loaded = desk.load(directory=user.parent)
    assert loaded.settings.files == (user, SHIPPED)
    assert (loaded.settings.sessions.backend, loaded.warnings) == ("memory", [])


def test_paths_of_models_are_seen_from_the_file_that_names_them(desk: Desk) -> None:
    user = desk.user(
        '[models.default]\nprovider = "scripted"\nscript = "s/a.json"\nrecord = "/var/r"\nweights = "small"\n'
        '[models.b]\nside_script = "~/x.json"\nweights = "m/x.gguf"\n'
        '[profiles.p.models.default]\nscript = "q.json"\n'
    )
    models = desk.load().settings.models
    assert models["default"].script == str(user.parent / "s/a.json")
    assert (models["default"].record, models["default"].weights) == ("/var/r", "small")
    assert (models["b"].side_script, models["b"].weights) == ("~/x.json", str(user.parent / "m/x.gguf"))
    assert desk.load(profile="p").settings.models["default"].script == str(user.parent / "q.json")


def test_component_options_are_handed_on_as_they_stand(desk: Desk) -> None:
    desk.user('[component.jot]\nfolder = "x"\ndeep = { n = [1, 2] }\n')
    assert desk.load().settings.component == {"jot": {"folder": "x", "deep": {"n": [1, 2]}}}


def test_the_directory_is_real_and_must_exist(desk: Desk, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(desk.repository)
    assert desk.load(directory=link).settings.directory == desk.repository
    with pytest.raises(Exception, match=r"/none cannot be used: No such file or directory"):
        desk.load(directory=tmp_path / "none")


def test_nothing_is_created_and_no_file_is_changed(desk: Desk, tmp_path: Path) -> None:
    user = desk.user("[agent]\nwindow_size = 10\nwindw = 3\n")
    desk.project("# only a comment\n")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    load_settings(config=None, profile=None, directory=desk.repository, environ=desk.environ)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
    assert user.read_text() == "[agent]\nwindow_size = 10\nwindw = 3\n"
    assert not os.path.lexists(desk.data)
