"""Which sessions that scripts begin are listed, found and gone on with: all but the single unnamed run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.line.test_compaction import NOTES, linked, scripted
from tests.sessions.planted import plant

if TYPE_CHECKING:
    from tests.conftest import TauEnv


def listed(tau_env: TauEnv, *more: str) -> list[str]:
    return [line.split()[1] for line in tau_env.run("sessions", "list", *more).stdout.splitlines()]


def found(tau_env: TauEnv, word: str, *more: str) -> set[str]:
    lines = tau_env.run("sessions", "search", word, *more).stdout.splitlines()
    return {line.split()[0] for line in lines}


def test_a_session_that_a_script_and_a_person_share_is_listed_and_found(tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "fine"})
    assert tau_env.run("run", "--session", "job", "one").returncode == 0
    assert listed(tau_env) == ["job"], "a given id is no one-shot, also after one turn"
    assert tau_env.run("chat", "--session", "job", stdin=b"two\n").returncode == 0
    assert tau_env.run("run", "--session", "job", "three").returncode == 0
    assert listed(tau_env) == ["job"]
    for word in ("one", "two", "three"):
        assert found(tau_env, word) == {"job"}


def test_of_a_compacted_script_session_the_newest_is_listed(tau_env: TauEnv) -> None:
    scripted(tau_env, [{"text": "fine"}], {"text": NOTES})
    assert tau_env.run("run", "--session", "job", "one").returncode == 0
    assert tau_env.run("chat", "--session", "job", stdin=b"two\n/compact\n").returncode == 0
    assert tau_env.run("run", "--session", "job", "three").returncode == 0
    old, new = linked(tau_env)
    assert (old, listed(tau_env)) == ("job", [new])
    assert found(tau_env, "three") == {new}


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_an_unnamed_run_is_a_one_shot_until_something_goes_on_with_it(
    tau_env: TauEnv, form: tuple[str, ...]
) -> None:
    tau_env.scripted({"text": "fine"})
    assert tau_env.run("run", *form, "quail").returncode == 0
    (folder,) = tau_env.sessions()
    assert listed(tau_env) == listed(tau_env, "--all") == []
    assert found(tau_env, "quail") == set()
    assert listed(tau_env, "--one-shots") == [folder.name]
    assert found(tau_env, "quail", "--one-shots") == found(tau_env, "quail", "--all") == {folder.name}
    done = tau_env.run("chat", "-c", stdin=b"hello\n")
    assert (done.returncode, "No earlier session in " in done.stderr) == (1, True)
    assert tau_env.run("run", *form, "-c", "and the owl?").returncode == 0
    assert tau_env.sessions() == [folder]
    assert listed(tau_env) == [folder.name]
    assert found(tau_env, "quail") == {folder.name}


def test_going_on_takes_the_newest_whether_it_is_a_one_shot_or_not(tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "fine"})
    tau_env.record("talk", "hello", "fine")
    assert tau_env.run("run", "quail").returncode == 0
    done = tau_env.run("run", "--json", "-c", "and the owl?")
    assert json.loads(done.stdout.splitlines()[0])["session_id"] != "talk"


def test_sessions_of_earlier_versions_are_told_by_their_channel_turns_and_links(tau_env: TauEnv) -> None:
    here = {"directory": str(tau_env.directory), "channel": "run"}
    sessions: dict[str, dict[str, str | int]] = {
        "single": {"turns": 1},
        "several": {"turns": 2},
        "old": {"turns": 1, "compacted_to": "new"},
        "new": {"turns": 1, "compacted_from": "old"},
        "fork": {"forked_from": "single"},
        "named": {"name": "nightly"},
    }
    for number, (name, more) in enumerate(sessions.items()):
        plant(tau_env.data, name, minutes=number, meta={**here, **more})
    assert listed(tau_env) == ["named", "fork", "new", "several"]
    assert listed(tau_env, "--one-shots") == ["named", "fork", "new", "several", "single"]
