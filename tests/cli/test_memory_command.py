"""`tau memory` on memory that the installed command made, and the project's folder that `tau init` makes."""

from __future__ import annotations

import shutil
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conftest import make_tau_env

if TYPE_CHECKING:
    from tests.conftest import TauEnv

CALLS = (
    {"label": "deploy", "content": "# Deploying\n\nUse make deploy.\n"},
    {"label": "deploy", "content": "# Deploying\n\nUse make ship.\n", "replace": True},
)


def remembered(tau_env: TauEnv) -> TauEnv:
    """One session, `amber`, in which the model wrote a memory and then replaced it."""
    tau_env.scripted(
        *({"tools": [{"name": "remember", "input": call}]} for call in CALLS), {"text": "I will remember."}
    )
    done = tau_env.run("chat", "--name", "amber", stdin=b"We deploy with make deploy; no, make ship\n")
    assert done.returncode == 0, done.stderr
    return tau_env


def project_memory(tau_env: TauEnv) -> Path:
    (folder,) = (tau_env.user_config.parent / "projects").iterdir()
    return folder / "memory"


def entry_ids(tau_env: TauEnv) -> list[str]:
    """The ids of the changes in the history, the oldest first."""
    return sorted(path.name for path in (tau_env.state / "refinements").glob("*/2*"))


def anyway_of(refusal: str) -> str:
    """The time that a refused undo names."""
    return refusal.rpartition("`tau memory undo --anyway ")[2].partition("`")[0]


def editor(tau_env: TauEnv, script: str) -> dict[str, str]:
    """An environment whose editor is a shell script; the file is its argument."""
    path = tau_env.home / "editor"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o700)
    return {"EDITOR": str(path)}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> TauEnv:
    """A memory for tests that leave it as it is."""
    tau_env = remembered(make_tau_env(tmp_path_factory.mktemp("kept")))
    (tau_env.user_config.parent / "memory" / "tone.md").write_text("---\nbuiltin: true\n---\nBe brief.\n")
    return tau_env


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> tuple[TauEnv, Path]:
    """What `remembered` makes, and a copy of it."""
    root = tmp_path_factory.mktemp("begun")
    tau_env = remembered(make_tau_env(root))
    return tau_env, Path(shutil.copytree(root, root.with_name("copy"), symlinks=True))


@pytest.fixture
def amber(begun: tuple[TauEnv, Path]) -> TauEnv:
    """What `remembered` makes, as it was made."""
    tau_env, copy = begun
    root = tau_env.home.parent
    shutil.rmtree(root)
    shutil.copytree(copy, root, symlinks=True)
    return replace(tau_env, environ=dict(tau_env.environ))


def test_list_and_show_what_is_there(kept: TauEnv) -> None:
    done = kept.run("memory", "list")
    assert (done.returncode, done.stderr) == (0, "")
    first, second, *files = done.stdout.splitlines()
    assert first == f"Memory of every project: {kept.user_config.parent / 'memory'}"
    assert second == f"Memory of this project: {project_memory(kept)}"
    assert files == ["  global/tone.md  4 lines", "  project/deploy.md  3 lines"]
    for label in ("deploy", "deploy.md", "project/deploy"):
        shown = kept.run("memory", "show", label)
        assert (shown.returncode, shown.stdout) == (0, "# Deploying\n\nUse make ship.\n")
    assert kept.run("memory", "show", "global/tone").stdout == "---\nbuiltin: true\n---\nBe brief.\n"


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ("nothing", "There is no memory project/nothing.md"),
        ("../x", "names neither a global memory nor one of this project"),
    ],
)
def test_show_says_what_is_not_there(kept: TauEnv, label: str, said: str) -> None:
    done = kept.run("memory", "show", label)
    assert (done.returncode, done.stdout) == (1, "")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_history_and_diff(kept: TauEnv) -> None:
    newest, line, oldest, first = kept.run("memory", "history").stdout.splitlines()
    assert newest.endswith(" UTC · session 'amber' · after 4 messages · remember")
    assert oldest.endswith(" UTC · session 'amber' · after 2 messages · remember")
    assert line == "    updated project/deploy.md — Use make ship."
    assert first == "    added project/deploy.md — Use make deploy."
    assert len(kept.run("memory", "history", "--limit", "1").stdout.splitlines()) == 2
    text = kept.run("memory", "diff").stdout
    assert "-Use make deploy.\n+Use make ship.\n" in text
    ids = entry_ids(kept)
    assert len(ids) == 2
    assert kept.run("memory", "diff", ids[1]).stdout == text
    assert "--- /dev/null\n+++ project/deploy.md" in kept.run("memory", "diff", ids[0]).stdout
    day = oldest.partition(" ")[0]
    two = kept.run("memory", "diff", day)
    assert two.returncode == 1
    assert f"{ids[1]}, {ids[0]}" in two.stderr
    none = kept.run("memory", "diff", "1999-01-01 12:00 UTC")
    assert (none.returncode, none.stdout) == (1, "")


def test_a_change_is_found_by_its_time_as_history_gives_it(tau_env: TauEnv) -> None:
    tau_env.scripted({"tools": [{"name": "remember", "input": CALLS[0]}]}, {"text": "Yes."})
    assert tau_env.run("chat", stdin=b"Remember\n").returncode == 0
    when = tau_env.run("memory", "history").stdout.partition(" · ")[0]
    assert "+Use make deploy." in tau_env.run("memory", "diff", when).stdout


def test_undo_walks_back_and_is_refused_over_an_edit(amber: TauEnv) -> None:
    path = project_memory(amber) / "deploy.md"
    path.write_bytes(b"By hand.\n")
    refused = amber.run("memory", "undo")
    assert (refused.returncode, refused.stdout) == (1, "")
    said = refused.stderr.splitlines()
    assert said[0].endswith(" is not undone: project/deploy.md was changed since")
    edit = ["--- project/deploy.md as that change left it", "+++ project/deploy.md as it is now"]
    assert said[5:12] == [*edit, "@@ -1,3 +1 @@", "-# Deploying", "-", "-Use make ship.", "+By hand."]
    assert "+Use make deploy." in said
    assert said[1] == f"as it is now: {path}"
    newest = entry_ids(amber)[-1]
    assert (
        f"or `tau memory undo --anyway {newest}` goes over the edit, which is kept in the history" in said[-1]
    )
    assert path.read_bytes() == b"By hand.\n"
    path.write_bytes(b"# Deploying\n\nUse make ship.\n")
    assert amber.run("memory", "undo").stdout.splitlines()[1:] == ["    put back project/deploy.md"]
    assert path.read_bytes() == b"# Deploying\n\nUse make deploy.\n"
    assert amber.run("memory", "undo").stdout.splitlines()[1:] == ["    removed project/deploy.md"]
    assert not path.exists()
    last = amber.run("memory", "undo")
    assert (last.returncode, last.stderr) == (1, "tau: There is no change of memory to undo\n")
    log = amber.run("memory", "history").stdout.splitlines()
    assert all(line.endswith("remember (undone)") for line in log[::2])


def test_undo_goes_over_an_edit_when_told_to_and_the_edit_is_not_lost(amber: TauEnv) -> None:
    path = project_memory(amber) / "deploy.md"
    path.write_bytes(b"By hand.\n")
    refused = amber.run("memory", "undo")
    undone = amber.run("memory", "undo", "--anyway", anyway_of(refused.stderr))
    assert undone.returncode == 0
    back, kept = undone.stdout.splitlines()[1:]
    assert back == "    put back project/deploy.md"
    assert path.read_bytes() == b"# Deploying\n\nUse make deploy.\n"
    assert Path(kept.rpartition(" is kept: ")[2]).read_bytes() == b"By hand.\n"
    log = amber.run("memory", "history").stdout.splitlines()
    assert log[0].endswith(" · edit (kept)")
    assert log[1] == "    updated project/deploy.md — by hand"
    assert "+By hand." in amber.run("memory", "diff").stdout
    assert amber.run("memory", "undo").stdout.splitlines()[1:] == ["    removed project/deploy.md"]


def test_anyway_takes_back_only_the_newest_change_and_only_by_its_time(amber: TauEnv) -> None:
    path = project_memory(amber) / "deploy.md"
    path.write_bytes(b"By hand.\n")
    shown = anyway_of(amber.run("memory", "undo").stderr)
    amber.scripted(
        {"tools": [{"name": "remember", "input": {"label": "port", "content": "8000\n"}}]}, {"text": "Yes."}
    )
    assert amber.run("chat", "--name", "other", stdin=b"The port is 8000\n").returncode == 0
    newer = amber.run("memory", "undo", "--anyway", shown)
    assert (newer.returncode, newer.stdout) == (1, "")
    assert "memory was changed again since, by session 'other' (project/port.md)" in newer.stderr
    assert "(`tau memory undo` takes that back first)" in newer.stderr
    for time in ("", "UTC", "1999-01-01"):
        none = amber.run("memory", "undo", "--anyway", time)
        assert (none.returncode, none.stdout) == (1, ""), time
        assert f'There is no change of memory of "{time}"' in none.stderr
    bare = amber.run("memory", "undo", "--anyway")
    assert (bare.returncode, bare.stdout) == (2, "")
    assert "'--anyway' requires an argument" in bare.stderr
    assert path.read_bytes() == b"By hand.\n"
    assert (path.parent / "port.md").read_bytes() == b"8000\n"
    assert amber.run("memory", "undo").stdout.splitlines()[1:] == ["    removed project/port.md"]
    assert amber.run("memory", "undo", "--anyway", shown).returncode == 0
    assert path.read_bytes() == b"# Deploying\n\nUse make deploy.\n"
    again = amber.run("memory", "undo", "--anyway", shown)
    assert again.returncode == 1
    assert again.stderr.endswith(" was taken back already\n")


def test_it_needs_no_model_and_loads_none(amber: TauEnv) -> None:
    amber.configure('[models.default]\nprovider = "anthropic"\nmodel_id = "m"\n')
    code = (
        "import sys; sys.modules.update(dict.fromkeys(('strands', 'textual', 'mcp', 'pydantic', 'boto3')));"
        "from tau.cli import main; sys.exit(main())"
    )
    edit = editor(amber, 'echo "One more." >> "$1"')
    for arguments in (["list"], ["show", "deploy"], ["history"], ["diff"], ["edit", "own"], ["undo"]):
        done = subprocess.run(
            [sys.executable, "-c", code, "memory", *arguments],
            cwd=amber.directory,
            env={**amber.environ, **edit},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, ""), arguments


def test_edit_opens_the_file_and_leaves_the_edit_to_the_person(amber: TauEnv) -> None:
    path = project_memory(amber) / "deploy.md"
    before = amber.run("memory", "history").stdout
    environ = editor(amber, 'echo "One more." >> "$1"')
    done = amber.run("memory", "edit", "deploy", environ=environ)
    assert (done.returncode, done.stdout) == (0, f"written: {path}\n")
    assert path.read_text() == "# Deploying\n\nUse make ship.\nOne more.\n"
    assert amber.run("memory", "history").stdout == before
    assert amber.run("memory", "undo").returncode == 1
    same = amber.run("memory", "edit", "deploy", environ={"EDITOR": "true"})
    assert (same.returncode, same.stdout) == (0, f"left as it is: {path}\n")


def test_edit_makes_a_file_of_ones_own_and_leaves_no_empty_one(tau_env: TauEnv) -> None:
    shared = tau_env.user_config.parent / "memory"
    environ = editor(tau_env, 'test ! -e "$1" && echo "Be brief." > "$1"')
    done = tau_env.run("memory", "edit", "global/C++", environ={**environ, "VISUAL": ""})
    assert (done.returncode, done.stdout) == (0, f"written: {shared / 'C++.md'}\n")
    assert stat.S_IMODE((shared / "C++.md").stat().st_mode) == 0o600
    assert stat.S_IMODE(shared.stat().st_mode) == 0o700
    none = tau_env.run("memory", "edit", "global/other", environ={"EDITOR": "true"})
    assert (none.returncode, none.stdout) == (0, f"not written: {shared / 'other.md'}\n")
    failed = tau_env.run("memory", "edit", "global/other", environ={"EDITOR": "false"})
    assert failed.returncode == 1
    assert "false ended with exit code 1" in failed.stderr
    assert not (shared / "other.md").exists()
    gone = tau_env.run("memory", "edit", "global/C++", environ=editor(tau_env, 'rm "$1"'))
    assert gone.stdout == f"gone: {shared / 'C++.md'}\n"


def test_edit_follows_no_link_and_says_what_editor_is_missing(tau_env: TauEnv, tmp_path: Path) -> None:
    shared = tau_env.user_config.parent / "memory"
    (tmp_path / "elsewhere").write_text("mine\n")
    (shared / "link.md").symlink_to(tmp_path / "elsewhere")
    environ = editor(tau_env, 'echo "changed" > "$1"')
    done = tau_env.run("memory", "edit", "global/link", environ=environ)
    assert done.returncode == 1
    assert f"{shared / 'link.md'} cannot be edited: " in done.stderr
    assert (tmp_path / "elsewhere").read_text() == "mine\n"
    missing = tau_env.run("memory", "edit", "global/a", environ={"EDITOR": "no-such-editor"})
    assert missing.returncode == 1
    assert missing.stderr == "tau: The editor of $EDITOR is not there: no-such-editor\n"
    assert not (shared / "a.md").exists()


def test_help_and_misuse(tau_env: TauEnv) -> None:
    text = tau_env.run("memory", "--help").stdout
    for name in ("list", "show", "history", "diff", "undo", "edit"):
        assert f"\n  {name} " in text
        assert tau_env.run("memory", name, "--help").returncode == 0
    assert "..." not in text.partition("Commands:")[2], "each is said in one line"
    assert tau_env.run("memory", "show").returncode == 2
    assert "memory" in tau_env.run("--help").stdout


def test_init_makes_the_projects_folder_and_touches_nothing_that_is_there(tau_env: TauEnv) -> None:
    shutil.rmtree(tau_env.user_config.parent)
    done = tau_env.run("init")
    assert (done.returncode, done.stderr) == (0, "")
    (folder,) = (tau_env.user_config.parent / "projects").iterdir()
    made = ["", "/memory", "/memory/project.md", "/tasks", "/subagents", "/subagents/README.md"]
    assert done.stdout.splitlines() == [
        f"created: {tau_env.user_config}",
        *(f"created: {folder}{path}" for path in made),
    ]
    assert (folder / "directory").read_text().strip() == str(tau_env.directory)
    (folder / "memory" / "project.md").write_text("mine\n")
    (folder / "tasks").rmdir()
    again = tau_env.run("init", "--project").stdout.splitlines()
    assert again == [f"created: {tau_env.directory / 'tau.toml'}", f"created: {folder / 'tasks'}"]
    assert (folder / "memory" / "project.md").read_text() == "mine\n"
    assert tau_env.run("init").stdout.splitlines()[1:] == [f"left as it is: {folder}"]


def test_refine_in_a_pipe_is_stopped_when_the_pipe_ends(tau_env: TauEnv) -> None:
    side = tau_env.home / "side.json"
    side.write_text('[{"text": "{\\"operations\\": []}", "chunks": 2, "delay": 60}]')
    tau_env.scripted({"text": "Hello."}, more=f'side_script = "{side}"\n')
    done = tau_env.run("chat", stdin=b"Hello\n/refine\n")
    assert done.returncode == 0
    assert "Reading this session for what memory should keep" in done.stdout + done.stderr
    assert "Memory was not refined: tau was left before that was over" in done.stderr
    assert tau_env.run("memory", "history").stdout == "No change of memory is recorded here yet.\n"


def test_the_folder_that_an_edit_needed_is_told(tau_env: TauEnv) -> None:
    shutil.rmtree(tau_env.home / "config" / "tau" / "projects")
    environ = {**editor(tau_env, 'echo "Be brief." > "$1"'), "VISUAL": ""}
    done = tau_env.run("memory", "edit", "style", environ=environ)
    folder = Path(done.stdout.removeprefix("written: ").strip()).parents[1]
    assert done.stderr == f"tau: The folder of this project was made: {folder}\n"
    assert tau_env.run("memory", "edit", "style", environ=environ).stderr == ""
