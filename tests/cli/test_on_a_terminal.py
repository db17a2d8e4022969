"""`tau` where a person starts it: the installed command in a pseudo-terminal."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pexpect
import pytest

from tests.conftest import TAU

if TYPE_CHECKING:
    from tests.conftest import TauEnv

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
