"""`tau doctor`: says what is missing, fails when something does, writes nothing, shows no key."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tau.config.places import override_of, resolve_places
from tau.config.settings import Places
from tau.sessions.file_journal import JOURNAL_NAME

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
    assert levels(done.stdout)["tasks"] == "ok"
    assert {"python", "configuration", "store", "index", "data", "state", "log", "model default"} <= set(
        levels(done.stdout)
    )
    assert everything(tau_env.home.parent) == before
    assert tau_env.sent() == []


def test_it_counts_sessions_and_leaves_them_alone(tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "hello"})
    tau_env.record("20260901-120000-abcd", "hi", "hello")
    before = everything(tau_env.home.parent)
    done = tau_env.run("doctor")
    assert done.returncode == 0, done.stdout
    assert "file, 1 session at" in done.stdout
    assert "unfinished" not in levels(done.stdout)
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
        tau_env.record("20260901-120000-abcd", "hi", "hello")
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
        tau_env.record("20260901-120000-abcd", "hi", "hello")
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


LEAVE = """
import os, sys
from pathlib import Path
import tau.sessions.file as file
from tau.sessions.store import StoreContext

data, left, source, name = Path(sys.argv[1]), *sys.argv[2:]
store = file.open_store(StoreContext(data_dir=data, state_dir=data))
if left == "hidden":
    os.rename = lambda *_, **__: os._exit(9)
    store.create(name, meta={})
link = {"compacted_from": source} if left == "compaction" else {"forked_from": source}
store.create(name, meta={**link, "unfinished": True})
print("begun", flush=True)
if left != "running":
    os._exit(9)
sys.stdin.read()
"""
"""Makes a session as a compaction or a fork does, and is killed on the way, or stays at it."""


@pytest.mark.parametrize("damage", ["junk", "empty folder"])
def test_a_task_database_that_cannot_be_read_fails(tau_env: TauEnv, damage: str) -> None:
    tau_env.scripted({"text": "hello"})
    place = tau_env.data / "tasks" / "tasks.sqlite"
    place.parent.mkdir(parents=True, exist_ok=True)
    if damage == "junk":
        place.write_bytes(b"no database at all" * 100)
    else:
        place.mkdir()
    done = tau_env.run("doctor")
    assert done.returncode == 1
    (line,) = (line for line in done.stdout.splitlines() if line[6:20].strip() == "tasks")
    assert line.startswith("fail")
    assert str(place) in line


def leave(tau_env: TauEnv, left: str, source: str, name: str) -> Path:
    """Be killed while a session is made; what is left of it."""
    sessions = tau_env.data / "sessions"
    before = set(sessions.iterdir())
    killed = subprocess.run([sys.executable, "-c", LEAVE, str(tau_env.data), left, source, name], check=False)
    assert killed.returncode == 9
    (place,) = set(sessions.iterdir()) - before
    return place


def unfinished(text: str) -> list[str]:
    """What is said of sessions that are not whole."""
    lines = [line for line in text.splitlines() if line[6:20].strip() == "unfinished"]
    assert all(line.startswith("warn ") for line in lines)
    return [line[21:] for line in lines]


def test_what_was_left_unfinished_is_named_with_its_place_and_kept(tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "hello"})
    source = tau_env.record("20260901-120000-abcd", "hi", "hello").name
    begun = {"compaction": "to go on after a summary of", "fork": "as a copy of"}
    said = {
        f"session {left}, begun {how} session {source}, is not whole: {leave(tau_env, left, source, left)} "
        f"(session {source} is as it was, and this one may be deleted)"
        for left, how in begun.items()
    }
    hidden = leave(tau_env, "hidden", source, "hidden")
    assert hidden.name.startswith(".new-")
    said.add(f"{hidden} is left of a session that was never made (it may be deleted while no tau runs)")
    before = everything(tau_env.home.parent)
    done = tau_env.run("doctor")
    assert done.returncode == 0, done.stdout
    lines = unfinished(done.stdout)
    assert (set(lines), len(lines)) == (said, 3)
    assert everything(tau_env.home.parent) == before, "nothing is deleted"


def test_nothing_may_be_deleted_where_what_it_was_made_from_cannot_be_read(tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "hello"})
    states = ("gone", "unreadable", "damaged", "no link")
    sources = {state: tau_env.record(f"of-{state.replace(' ', '-')}", "hi", "hello") for state in states}
    places = {
        state: leave(tau_env, "fork", "" if state == "no link" else source.name, state.replace(" ", "-"))
        for state, source in sources.items()
    }
    for state, source in sources.items():
        damage(source, state)
    lines = unfinished(tau_env.run("doctor").stdout)
    assert len(lines) == len(states)
    for state, place in places.items():
        source = sources[state]
        begun = "" if state == "no link" else f", begun as a copy of session {source.name},"
        whole = f"session {place.name}{begun} is not whole: {place} ("
        (line,) = (line for line in lines if line.startswith(whole))
        assert "may be nowhere else)" in line
        assert "may be deleted" not in line
        assert "as it was" not in line
        if state != "no link":
            assert source.name in line.partition(" is not whole: ")[2], "the hint names what cannot be read"


def damage(source: Path, state: str) -> None:
    """Bring about that a session cannot be read."""
    if state == "gone":
        shutil.rmtree(source)
    elif state == "unreadable":
        (source / "session.json").unlink()
        shutil.rmtree(source / "agents")
        (source / "session.json").mkdir()
    elif state == "damaged":
        for log in source.glob(f"{JOURNAL_NAME}*"):
            log.unlink()
        (message,) = source.rglob("messages/000001.json")
        message.write_bytes(b"")


def test_a_session_that_is_being_made_is_not_named(tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "hello"})
    with subprocess.Popen(
        [sys.executable, "-c", LEAVE, str(tau_env.data), "running", "x", "next"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as making:
        assert making.stdout is not None
        assert making.stdout.readline() == b"begun\n"
        assert "unfinished" not in levels(tau_env.run("doctor").stdout)
        making.communicate()
    assert levels(tau_env.run("doctor").stdout)["unfinished"] == "warn", "its maker is gone"
