"""`tau` where a person starts it: the installed command in a pseudo-terminal."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pexpect
import pytest

from tests.conftest import TAU

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import TauEnv
    from tests.terminal import Open

pytestmark = pytest.mark.terminal

ALTERNATE_SCREEN = "\x1b[?1049h"


def start(tau_env: TauEnv, *arguments: str) -> pexpect.spawn[str]:
    return pexpect.spawn(
        TAU,
        list(arguments),
        cwd=str(tau_env.directory),
        env=tau_env.environ,
        encoding="utf-8",
        timeout=60,
        dimensions=(24, 120),
    )


@pytest.mark.parametrize("arguments", [[], ["--name", "quail"], ["-v"]], ids=" ".join)
def test_tau_alone_opens_the_app(tau_env: TauEnv, arguments: list[str]) -> None:
    tau_env.scripted({"text": "hello"})
    process = start(tau_env, *arguments)
    process.expect_exact(ALTERNATE_SCREEN)
    process.expect_exact("scripted")
    process.kill(signal.SIGTERM)
    process.expect(pexpect.EOF)
    process.close()
    assert process.exitstatus == 143


@pytest.mark.parametrize("arguments", [[], ["tui"], ["chat"]], ids=["tau", "tui", "chat"])
def test_a_broken_configuration_is_said_before_the_terminal_changes(
    tau_env: TauEnv, arguments: list[str]
) -> None:
    file = tau_env.directory / "tau.toml"
    file.write_text("[agent]\nwindow_size =\n")
    process = start(tau_env, *arguments)
    process.expect(pexpect.EOF)
    process.close()
    assert process.exitstatus == 2
    assert "\x1b" not in process.before
    assert process.before.startswith(f"tau: {file}:2:14: ")
    assert len(process.before.strip().splitlines()) == 1


def test_doctor_names_the_terminal(tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "hello"})
    tau_env.environ["NO_COLOR"] = "1"
    process = start(tau_env, "doctor")
    process.expect_exact("xterm-256color, 120×24, utf-8, no colour (NO_COLOR)")
    process.expect(pexpect.EOF)
    process.close()
    assert process.exitstatus == 0


@pytest.mark.parametrize(
    "arguments", [["-c"], ["tui", "--resume"], ["tui", "--resume", "amber"]], ids=" ".join
)
def test_a_session_on_a_read_only_disk_is_opened_for_reading(
    tau_env: TauEnv, read_only: Callable[[Path], None], terminal: Open, arguments: list[str]
) -> None:
    tau_env.scripted({"text": "never said"})
    tau_env.record("20260901-120000-abcd", "Where does it nest?", "The quail nests in May.", name="amber")
    read_only(tau_env.data)
    app = terminal(*arguments)
    app.shows("The quail nests in May.")
    app.shows("Read-only: this session is in a place that cannot be written (")
    app.send("go on\r")
    app.shows("with TAU_DATA_DIR tau records elsewhere")
    app.send("\x15/compact\r")
    app.shows("cannot be gone on with")
    assert "another window" not in app.text()
    app.send("\x11")
    assert app.ended() == 0


def test_a_session_on_a_read_only_disk_is_printed_and_not_gone_on_with(
    tau_env: TauEnv, read_only: Callable[[Path], None]
) -> None:
    tau_env.scripted({"text": "never said"})
    session = tau_env.record(
        "20260901-120000-abcd", "Where does it nest?", "The quail nests in May.", name="amber"
    )
    read_only(tau_env.data)
    for command in ("chat", "run"):
        done = tau_env.run(command, "--resume", "amber", "Go on")
        assert done.returncode == 1
        (said,) = [line for line in done.stderr.splitlines() if "No log is kept" not in line]
        assert said.startswith(
            f"tau: Session {session.name} cannot be gone on with: {session}/.lock cannot be"
        )
        assert f"`tau sessions show {session.name}` prints it" in said
    assert "The quail nests in May." in tau_env.run("sessions", "show", "amber").stdout
