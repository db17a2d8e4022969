"""The log file and what a terminal shows of it, from real processes."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tau import masking
from tau.masking import MASK, mask
from tests.conftest import TauEnv

SETUP = """
import logging, os, sys
from pathlib import Path
from tau.config.load import load_settings
from tau.logs import setup_logging
settings = load_settings(config=None, profile=None, directory=Path(), environ=os.environ).settings
warnings = setup_logging(settings, channel={channel!r}, verbose={verbose})
log = logging.getLogger("tau.test")
"""


def run(
    directory: Path, code: str, *, channel: str = "terminal", verbose: bool = False, **environ: str
) -> subprocess.CompletedProcess[str]:
    script = SETUP.format(channel=channel, verbose=verbose) + code
    return subprocess.run(
        [sys.executable, "-c", script],
        cwd=directory,
        env={**os.environ, "TAU_DATA_DIR": str(directory / "data"), **environ},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
        timeout=60,
    )


def log_of(directory: Path) -> str:
    return (directory / "data" / "logs" / "tau.log").read_text(encoding="utf-8")


SPEAK = """
log.debug("a detail")
log.info("an item")
log.warning("a warning %s", "→ é 漢字")
try:
    1 / 0
except ZeroDivisionError:
    log.exception("a failure")
"""


def test_the_file_takes_info_and_tracebacks_the_terminal_one_line_each(tmp_path: Path) -> None:
    done = run(tmp_path, SPEAK)
    text = log_of(tmp_path)
    assert re.search(
        r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z INFO terminal\[\d+\] tau\.test: an item$", text, re.M
    )
    assert "→ é 漢字" in text
    assert "\n  Traceback" in text
    assert "ZeroDivisionError" in text
    assert "a detail" not in text
    assert done.stderr.splitlines() == ["tau: a warning → é 漢字", "tau: a failure"]
    assert done.stdout == ""


def test_verbose_shows_information_and_the_app_is_silent(tmp_path: Path) -> None:
    assert "tau: an item\n" in run(tmp_path, SPEAK, verbose=True).stderr
    assert run(tmp_path, SPEAK, channel="tui", verbose=True).stderr == ""
    assert log_of(tmp_path).count("an item") == 2


@pytest.mark.parametrize("channel", ["tui", "terminal", "run", "json", "web", ""])
def test_what_libraries_say_is_logged_and_never_on_the_terminal(tmp_path: Path, channel: str) -> None:
    code = (
        "import warnings; logging.getLogger('odd.lib').error('its word'); warnings.warn('old')\n"
        "logging.getLogger('tautology').critical('no word of ours'); logging.critical('nor this')"
    )
    done = run(tmp_path, code, channel=channel, verbose=True)
    assert (done.stdout, done.stderr) == ("", "")
    log = log_of(tmp_path)
    assert "ERROR " in log
    assert all(said in log for said in ("odd.lib: its word", "UserWarning: old", "ours", "nor this"))


def test_a_tool_that_a_summary_calls_is_not_said_on_the_terminal(tau_env: TauEnv) -> None:
    side = tau_env.home / "side.json"
    side.write_text('[{"tools": [{"name": "recall", "input": {"query": "x"}}]}]')
    more = f'side_script = "{side}"\n[compaction]\nkeep_turns = 0\n'
    tau_env.scripted({"text": "The quail nests in May."}, more=more)
    done = tau_env.run("chat", stdin=b"Where does the quail nest?\n/compact\n")
    assert "a tool call came in place of the summary" in done.stderr
    assert "registry" not in done.stderr
    assert "recall" not in done.stderr
    assert "not found in registry" in (tau_env.data / "logs" / "tau.log").read_text()


@pytest.mark.parametrize("arguments", [["doctor"], ["config", "check"], ["components"], ["model", "list"]])
def test_a_command_without_a_log_keeps_libraries_quiet(tau_env: TauEnv, arguments: list[str]) -> None:
    code = (
        "import logging, sys, warnings, tau.config.load as load\n"
        "def speak(self, *rest, plain=load._Reading.read):\n"
        "    logging.getLogger('odd.lib').error('its word'); warnings.warn('old'); return plain(self)\n"
        "load._Reading.read = speak\n"
        "from tau.cli import main\n"
        f"sys.argv = ['tau', *{arguments!r}]\nmain()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tau_env.directory,
        env=tau_env.environ,
        capture_output=True,
        check=True,
    )
    assert done.stderr == b""


def test_modes_are_private_under_any_umask(tmp_path: Path) -> None:
    for umask, name in ((0o000, "open"), (0o777, "shut")):
        place = tmp_path / name
        before = os.umask(umask)
        try:
            run(tmp_path, SPEAK, TAU_DATA_DIR=str(place))
        finally:
            os.umask(before)
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (place, *place.rglob("*"))}
        assert modes == {name: 0o700, "logs": 0o700, "tau.log": 0o600}


@pytest.mark.parametrize("obstacle", ["file", "link", "folder"])
def test_a_log_that_cannot_be_written_is_one_warning(tmp_path: Path, obstacle: str) -> None:
    logs = tmp_path / "data" / "logs"
    logs.parent.mkdir()
    if obstacle == "file":
        logs.touch()
    else:
        logs.mkdir()
        (logs / "tau.log").symlink_to(tmp_path / "victim") if obstacle == "link" else (
            logs / "tau.log"
        ).mkdir()
    done = run(tmp_path, "print(*warnings, sep='|')\nlog.warning('said')")
    assert done.stdout.startswith(f"No log is kept: {logs / 'tau.log'}: ")
    assert done.stdout.endswith("(set TAU_DATA_DIR to a folder tau may write)\n")
    assert done.stdout.count("|") == 0
    assert done.stderr == "tau: said\n"
    assert not (tmp_path / "victim").exists()


def test_a_command_that_logs_nothing_creates_nothing(tmp_path: Path) -> None:
    run(tmp_path, "", channel="")
    assert not (tmp_path / "data").exists()
    run(tmp_path, "log.info('now')", channel="")
    assert "INFO command[" in log_of(tmp_path)


def test_a_log_that_fails_later_is_said_once(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        "import shutil; logs = settings.places.logs; shutil.rmtree(logs); logs.touch()\n"
        "log.info('one'); log.info('two'); log.warning('three')",
    )
    said = done.stderr.splitlines()
    assert [line for line in said if "cannot be written any more" in line] == said[:1]
    assert said[1:] == ["tau: three"]


def test_rotation_loses_nothing_with_several_writers(tmp_path: Path) -> None:
    """Three processes write past the limit at once; every record is in one of the files, whole."""
    code = (
        SETUP.format(channel="tui", verbose=False)
        + "for n in range(1000): log.info('%s-%04d %s', sys.argv[1], n, 'x' * 1200)\n"
    )
    environ = {**os.environ, "TAU_DATA_DIR": str(tmp_path / "data")}
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", code, name], cwd=tmp_path, env=environ, stderr=subprocess.PIPE
        )
        for name in "abc"
    ]
    for writer in writers:
        assert writer.communicate(timeout=60)[1] == b""
        assert writer.returncode == 0
    files = sorted((tmp_path / "data" / "logs").glob("tau.log*"))
    assert [file.name for file in files] == ["tau.log", "tau.log.1"]
    assert all(
        file.stat().st_size < 3_000_000 and stat.S_IMODE(file.stat().st_mode) == 0o600 for file in files
    )
    lines = [line for file in files for line in file.read_text().splitlines()]
    seen = sorted(
        found.group(1) for line in lines if (found := re.search(r"tau\.test: (\w-\d{4}) x{1200}$", line))
    )
    assert seen == [f"{name}-{number:04d}" for name in "abc" for number in range(1000)]


def test_control_characters_and_forged_lines_are_visible(tmp_path: Path) -> None:
    run(tmp_path, r"log.warning('red \x1b[31m\r\n2026-01-01T00:00:00.000Z INFO forged')")
    text = log_of(tmp_path)
    assert "\x1b" not in text
    assert "\n  2026-01-01T00:00:00.000Z INFO forged" in text


def test_secrets_are_masked_wherever_they_stand(tmp_path: Path) -> None:
    key, other = "correct-horse-battery", "value-of-a-variable-named-in-toml"
    (tmp_path / "tau.toml").write_text('[models.default]\nprovider = "openai"\napi_key_env = "ODD_NAME"\n')
    done = run(
        tmp_path,
        "log.warning('with %s', os.environ['MY_API_KEY'])\n"
        "log.warning('and ' + os.environ['ODD_NAME'])\n"
        "try:\n    raise RuntimeError('failed for ' + os.environ['MY_API_KEY'])\n"
        "except RuntimeError:\n    log.exception('oh')\n",
        MY_API_KEY=key,
        ODD_NAME=other,
        TAU_CONFIG="tau.toml",
    )
    for text in (log_of(tmp_path), done.stderr):
        assert key not in text
        assert other not in text
    assert f"RuntimeError: failed for {MASK}" in log_of(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "sk-ant-api03-abcdef0123456789",
        "key sk-proj-abcDEF0123456789abcDEF here",
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_0123456789abcdefABCDEF0123456789abcd",
        "AIzaSyA0123456789abcdefghijklmnopqrstuv",
        "Authorization: Bearer abcdef0123456789",
        "https://user:passw0rd@example.org/x",
        "GET https://example.org/v1?key=abcdef0123456789&x=1",
        "{'api_key': 'abcdef0123456789'}",
        "aws_secret_access_key=abcdef0123456789/abcdef",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabcd\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_well_known_shapes_are_masked(text: str) -> None:
    masked = mask(text)
    assert MASK in masked
    assert not re.search(r"abcDEF|abcdef0|0123456789|IOSFOD|passw0rd|MIIE|REDACTED", masked)


@pytest.mark.parametrize(
    "text",
    [
        "840100d4-b062-4a28-81e9-fc2ecf0a7550",
        hashlib.sha1(b"x", usedforsecurity=False).hexdigest(),
        hashlib.sha256(b"x").hexdigest(),
        "session 20260929-153012-3f9a of risk-0123456789abcdef0123",
        "https://example.org:8080/task-0123456789abcdef?page=2",
        "inputTokens: 12345678, max_tokens=12345678",
        "/home/me/.ssh/config and mypassphrase",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    environ = {
        "TOKENIZERS_PARALLELISM": "/home/me",
        "KEYBOARD": "12345678",
        "KEY_FILE": "/home/me/.ssh",
        "A_KEY": "me",
    }
    masking.remember_environment(environ)
    assert mask(text) == text


def test_variables_whose_names_speak_of_secrets() -> None:
    for name in ("X_API_KEY", "GITHUB_TOKEN", "DB_PASSWORD", "CLIENT_SECRET", "aws_secret_access_key", "KEY"):
        masking.remember_environment({name: "very long value"})
        assert mask("a very long value!") == f"a {MASK}!"


def test_a_failing_thread_is_logged_and_not_printed(tau_env: TauEnv) -> None:
    code = SETUP.format(channel="tui", verbose=False) + (
        "import threading\n"
        "thread = threading.Thread(target=lambda: 1 / 0, name='worker-7')\n"
        "thread.start()\n"
        "thread.join()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tau_env.directory,
        env=tau_env.environ,
        capture_output=True,
        check=True,
    )
    assert done.stderr == b""
    logged = (tau_env.data / "logs" / "tau.log").read_text()
    assert "worker-7 ended unexpectedly" in logged
    assert "ZeroDivisionError" in logged
