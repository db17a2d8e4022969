"""Line mode in poor surroundings: ASCII locales, invalid bytes, no home, a place that cannot be written."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.conftest import TAU

if TYPE_CHECKING:
    from tests.conftest import TauEnv

ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
root = os.geteuid() == 0


def test_an_ascii_locale_degrades_visibly(tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "→ é 漢字 🎉"}, more='[agent]\ninstructions = "Sois bref, é"\n')
    done = tau_env.run("chat", "déjà vu ☃", environ=ASCII)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "\\u2192 \\xe9 \\u6f22\\u5b57 \\U0001f389\n"
    assert "Traceback" not in done.stderr
    (session,) = tau_env.sessions()
    recorded = (session / "agents" / "tau" / "messages" / "000000.json").read_text(encoding="utf-8")
    assert "déjà vu ☃" in json.dumps(json.loads(recorded), ensure_ascii=False)
    listed = tau_env.run("sessions", "list", environ=ASCII)
    assert "d\\xe9j\\xe0 vu \\u2603" in listed.stdout
    assert "déjà vu ☃" in tau_env.run("sessions", "list").stdout
    assert "→ é 漢字 🎉" in tau_env.run("sessions", "show").stdout


@pytest.mark.parametrize("locale", [ASCII, {"LC_ALL": "C.UTF-8"}], ids=["C", "C.UTF-8"])
def test_invalid_bytes_become_replacement_characters(tau_env: TauEnv, locale: dict[str, str]) -> None:
    tau_env.scripted({"text": "one"}, {"text": "two"})
    done = tau_env.run("chat", stdin=b"caf\xe9\nna\xc3\xafve\n", environ=locale)
    assert (done.returncode, done.stdout) == (0, "one\ntwo\n"), done.stderr
    texts = [block["text"] for message in tau_env.sent()[-1]["messages"] for block in message["content"]]
    assert texts == ["caf\ufffd", "one", "naïve"]
    resumed = tau_env.run("chat", "--resume", "--", "again", environ=locale)
    assert resumed.returncode == 0, resumed.stderr


def test_a_lone_surrogate_in_a_reply_is_shown_as_an_escape(tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "ok \ud83d end"})
    done = tau_env.run("chat", "hi")
    assert done.returncode == 0, done.stderr
    assert done.stdout in ("ok \\ud83d end\n", "ok \ufffd end\n")
    assert tau_env.run("chat", "--resume", "--", "again").returncode == 0


def one_plain_line(stderr: str) -> bool:
    return "Traceback" not in stderr and len(stderr.strip().splitlines()) == 1


def test_without_a_home_there_is_one_line_that_names_the_override(tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "hello"})
    config = tau_env.user_config
    for name in ("TAU_DATA_DIR", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        del tau_env.environ[name]
    tau_env.environ["HOME"] = "/nonexistent"
    done = tau_env.run("chat", "hi", "--config", str(config))
    assert (done.returncode, done.stdout) == (2, "")
    assert one_plain_line(done.stderr)
    assert "/nonexistent" in done.stderr
    assert "TAU_DATA_DIR" in done.stderr
    tau_env.environ["TAU_DATA_DIR"] = str(tau_env.data)
    done = tau_env.run("chat", "hi", "--config", str(config))
    assert (done.returncode, done.stdout) == (0, "hello\n"), done.stderr
    assert os.listdir(tau_env.directory) == []


def test_a_data_directory_that_is_a_file_is_one_line(tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "hello"})
    tau_env.data.write_text("in the way")
    for arguments in (["chat", "hi"], ["sessions", "list"]):
        done = tau_env.run(*arguments)
        assert done.returncode in (1, 2)
        assert done.stdout == ""
        assert one_plain_line(done.stderr)
        assert str(tau_env.data) in done.stderr
    assert tau_env.data.read_text() == "in the way"
    assert tau_env.sent() == []


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="a place where not even root may write is needed")
def test_a_place_that_cannot_be_written_is_one_line(tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "hello"})
    tau_env.environ["TAU_DATA_DIR"] = "/proc/tau"
    for arguments in (["chat", "hi"], ["run", "hi"]):
        done = tau_env.run(*arguments)
        assert (done.returncode, done.stdout) == (1, "")
        assert one_plain_line(done.stderr)
        assert "/proc/tau" in done.stderr
        assert "TAU_DATA_DIR" in done.stderr
    assert os.listdir(tau_env.directory) == []
    assert tau_env.sent() == []


@pytest.mark.skipif(root, reason="root writes everywhere")
def test_a_read_only_place_can_still_be_read(tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "hello"})
    assert tau_env.run("chat", "hi").returncode == 0
    for folder in (tau_env.data, tau_env.data / "sessions", *tau_env.sessions()):
        folder.chmod(0o500)
    try:
        assert "hi" in tau_env.run("sessions", "show").stdout
        done = tau_env.run("chat", "again")
        assert (done.returncode, done.stdout) == (1, "")
        assert one_plain_line(done.stderr)
        assert str(tau_env.data) in done.stderr
    finally:
        for folder in (tau_env.data, tau_env.data / "sessions", *tau_env.sessions()):
            folder.chmod(0o700)


def test_closed_streams_are_no_defect(tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "hello"})
    for closing in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        done = subprocess.run(
            ["sh", "-c", f'exec "$0" run hi {closing}', TAU],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd=tau_env.directory,
            env=tau_env.environ,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout == (b"" if ">&-" in closing.replace("2>&-", "") else b"hello\n")
        assert done.stderr == b""
    assert len(tau_env.sent()) == 4


@pytest.mark.parametrize("mode", [0o700, 0o755])
@pytest.mark.parametrize("command", [["chat", "hi"], ["run", "hi"], ["sessions", "list"], ["doctor"]])
def test_a_data_directory_of_somebody_else(tau_env: TauEnv, command: list[str], mode: int) -> None:
    tau_env.scripted({"text": "hello"})
    tau_env.data.mkdir(exist_ok=True)
    tau_env.data.chmod(mode)
    as_a_person = []
    if os.geteuid() == 0:
        # What may be done is decided by modes and owners again, as for anyone but root.
        as_a_person = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search,-fowner"]
        os.chown(tau_env.data, 65534, 65534)
    else:
        tau_env.data.chmod(mode & 0o555 if mode & 0o055 else 0)
    try:
        done = subprocess.run(
            [*as_a_person, TAU, *command],
            cwd=tau_env.directory,
            env=tau_env.environ,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=60,
            check=False,
        )
        said = done.stdout + done.stderr
        assert "Traceback" not in said
        assert "broke" not in said
        if command == ["doctor"]:
            assert f"{tau_env.data} cannot be written" in said
        elif command == ["sessions", "list"] and mode == 0o755:
            assert done.returncode == 0
        else:
            assert done.returncode == 1
            (line,) = [line for line in said.splitlines() if str(tau_env.data / "sessions") in line]
            assert "Permission denied (make it yours and writable, or set TAU_DATA_DIR" in line
    finally:
        tau_env.data.chmod(0o700)
    assert list(tau_env.data.iterdir()) == []
