"""A directory whose name is no UTF-8: sessions are kept, listed, found and gone on with there, too."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import TauEnv

SHOWN = "caf\\udce9"


@pytest.fixture
def odd(tau_env: TauEnv, tmp_path: Path) -> Path:
    """The directory, in which commands run."""
    place = tmp_path / os.fsdecode(b"caf\xe9")
    try:
        place.mkdir()
    except OSError:
        pytest.skip("this file system takes no such names")
    tau_env.directory = place
    tau_env.scripted({"text": "fine"})
    return place


def test_a_session_there_is_listed_found_and_gone_on_with(tau_env: TauEnv, odd: Path) -> None:
    done = tau_env.run("chat", stdin=b"a quail\n/name amber\n/export talk.md\n/status\n")
    assert (done.returncode, SHOWN in done.stderr + done.stdout) == (0, True), done.stderr
    assert "a quail" in (odd / "talk.md").read_text("utf-8")
    (session,) = tau_env.sessions()
    assert session.name in tau_env.run("sessions", "list").stdout
    assert session.name in tau_env.run("sessions", "search", "quail").stdout
    assert "a quail" in tau_env.run("sessions", "show", "amber").stdout
    assert tau_env.run("chat", "-r", "amber", stdin=b"and the owl?\n").stdout.strip() == "fine"
    assert tau_env.run("run", "-c", "and now?").returncode == 0
    assert tau_env.sessions() == [session]


@pytest.mark.parametrize(
    "command",
    [
        ("doctor",),
        ("config", "check"),
        ("memory", "list"),
        ("tasks", "list"),
        ("init", "--memory", "--session-log"),
        ("run", "--json", "hi"),
    ],
    ids=lambda command: command[0],
)
def test_every_command_works_there(tau_env: TauEnv, odd: Path, command: tuple[str, ...]) -> None:
    done = tau_env.run(*command)
    assert done.returncode == 0, done.stderr
    assert "broke" not in done.stderr


def test_two_that_differ_in_such_a_byte_only_keep_their_sessions_apart(tau_env: TauEnv, odd: Path) -> None:
    tau_env.run("chat", stdin=b"hello\n")
    other = odd.with_name(os.fsdecode(b"caf\xe8"))
    other.mkdir()
    assert "No sessions of" in tau_env.run("sessions", "list", cwd=other).stderr
