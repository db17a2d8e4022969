"""The command line itself: what it loads, what it says to mistakes, how it ends."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tau.cli.root import COMMANDS, cli

if TYPE_CHECKING:
    from tests.conftest import TauEnv

HEAVY = (
    "strands",
    "boto3",
    "botocore",
    "textual",
    "mcp",
    "pydantic",
    "openai",
    "anthropic",
    "prompt_toolkit",
)

LOADED = """
import sys
from tau.cli import main
sys.argv = ["tau", *{arguments!r}]
code = main()
print(code, *sorted({heavy!r} & {{name.partition(".")[0] for name in sys.modules}}), file=sys.stderr)
"""


@pytest.mark.parametrize(
    "arguments",
    [["--version"], ["--help"], ["chat", "--help"], ["sessions", "list"], ["sessions", "search", "word"]],
    ids=" ".join,
)
def test_nothing_heavy_is_loaded(tau_env: TauEnv, arguments: list[str]) -> None:
    tau_env.configure('[sessions]\nbackend = "file"\n')
    code = LOADED.format(arguments=arguments, heavy=set(HEAVY))
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=tau_env.directory,
        env=tau_env.environ,
        check=True,
    )
    assert done.stderr.splitlines()[-1] == "0", done.stderr


def test_nothing_is_looked_through_at_the_end(tau_env: TauEnv) -> None:
    code = "import gc, sys; from tau.cli import main; sys.argv = ['tau', '--version']; main();"
    code += "print(gc.get_freeze_count() > 1_000, gc.isenabled(), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=tau_env.environ, check=True
    )
    assert done.stderr == "True True\n"


def test_help_does_not_import_the_subcommands(tau_env: TauEnv) -> None:
    code = (
        "import sys; from tau.cli import main; sys.argv = ['tau', '--help']; main();"
        "print(*[name for name in sys.modules if name.startswith('tau.cli.')], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=tau_env.environ, check=True
    )
    assert set(done.stderr.split()) == {"tau.cli.lazy", "tau.cli.options", "tau.cli.output", "tau.cli.root"}
    assert all(name in done.stdout and entry.help in done.stdout for name, entry in COMMANDS.items())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_listed_command_exists(name: str) -> None:
    import click

    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    assert command.name == name


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["nonsense"], "tau: No such command: nonsense (see 'tau --help')"),
        (["sesions"], "tau: No such command: sesions. Did you mean sessions? (see 'tau --help')"),
        (["chat", "a", "b"], "tau: Got unexpected extra argument (b) (see 'tau chat --help')"),
        (["sessions", "list", "--limit", "0"], "--limit"),
        (["chat", "--resume", "a", "--session", "b"], "tau: --resume and --session exclude each other"),
        (["run", "-c", "-r", "a", "hi"], "tau: --continue and --resume exclude each other"),
        (["run", "--continue", "--session", "b", "hi"], "tau: --continue and --session exclude each other"),
        (["run"], "tau: The prompt is empty"),
        (["run", "--resume"], "tau: The prompt is empty"),
        (
            ["run", "--resume", "go on"],
            "tau: There is no prompt: --resume took 'go on' for the id or name of",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_is_one_line_and_exit_code_2(tau_env: TauEnv, arguments: list[str], line: str) -> None:
    tau_env.scripted({"text": "never sent"})
    done = tau_env.run(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert line in done.stderr
    assert tau_env.sent() == []


def test_the_newest_session_is_gone_on_with(tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "done"})
    for name in ("older", "newer"):
        tau_env.record(f"s-{name}", "first", "done", name=name)
    for command, newest in (("chat", "-c"), ("run", "--resume")):
        assert tau_env.run(command, "again", newest).returncode == 0
    lines = tau_env.run("sessions", "list").stdout.splitlines()
    assert [line.rpartition(" (")[2] for line in lines] == ["6 messages)", "2 messages)"]
    named = tau_env.run("run", "-r", "older", "by name")
    assert named.returncode == 0, named.stderr
    assert tau_env.run("run", "-c", "the newest is older now").returncode == 0
    assert "(6 messages)" in tau_env.run("sessions", "list", "--limit", "1").stdout


@pytest.mark.parametrize("newest", ["-c", "--continue", "-r", "--resume"])
@pytest.mark.parametrize("command", ["run", "chat"])
def test_each_way_to_go_on_with_the_newest_needs_one(tau_env: TauEnv, command: str, newest: str) -> None:
    tau_env.scripted({"text": "never sent"})
    done = tau_env.run(command, "again", newest)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"tau: No earlier session in {tau_env.directory}")
    assert tau_env.sent() == []


@pytest.mark.parametrize("command", ["run", "chat"])
def test_a_prompt_that_was_taken_for_a_session_is_explained(tau_env: TauEnv, command: str) -> None:
    tau_env.scripted({"text": "never sent"})
    done = tau_env.run(command, "--resume", "go on", stdin=b"words\n")
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith(
        f"tau: No session 'go on' in {tau_env.directory} (the word after --resume is"
    )
    assert f'tau {command} -c "PROMPT" goes on with the newest, tau {command} -r ID "PROMPT"' in done.stderr
    plain = tau_env.run(command, "--resume", "nope", "a prompt")
    assert plain.stderr == (
        f"tau: No session 'nope' in {tau_env.directory} (`tau sessions list --all` shows every session)\n"
    )
    assert tau_env.sent() == []


def test_the_app_refuses_to_run_without_a_terminal(tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "never sent"})
    for arguments in (["tui"], ["--resume"], ["-c"], ["-r", "x"], ["--continue"], ["tui", "--resume", "x"]):
        done = tau_env.run(*arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == "tau: tau tui needs a terminal (use tau chat in pipes and scripts)\n"


def test_bare_tau_without_a_terminal_prints_help(tau_env: TauEnv) -> None:
    done = tau_env.run()
    assert done.returncode == 0
    assert done.stdout.startswith("Usage: tau [OPTIONS]")


def test_options_may_stand_before_or_after_the_subcommand(tau_env: TauEnv) -> None:
    file = tau_env.home / "other.toml"
    file.write_text('[models.default]\nprovider = "nonsense"\n[sessions]\nbackend = "file"\n')
    before = tau_env.run("--config", str(file), "config", "path")
    after = tau_env.run("config", "path", "--config", str(file))
    assert str(file) in before.stdout
    assert before.stdout == after.stdout


@pytest.mark.parametrize(
    ("content", "where"),
    [
        (b"[agent]\nwindow_size =\n", ":2:14"),
        (b"[agent]\nwindow_size = 1\nwindow_size = 2\n", ":3:"),
        (b'[agent]\nwindow_size = "many"\n', ":2"),
    ],
    ids=["no value", "twice", "wrong type"],
)
def test_a_broken_configuration_is_one_line_and_help_still_works(
    tau_env: TauEnv, content: bytes, where: str
) -> None:
    file = tau_env.directory / "tau.toml"
    file.write_bytes(content)
    for arguments in ([], ["chat"], ["run", "hi"], ["sessions", "list"]):
        done = tau_env.run(*arguments)
        assert done.returncode == 2, arguments
        assert done.stdout == ""
        assert f"{file}{where}" in done.stderr
        assert len(done.stderr.splitlines()) == 1
        assert "Traceback" not in done.stderr
    assert tau_env.run("--help").returncode == 0
    assert file.read_bytes() == content
    assert not tau_env.data.exists()


def test_a_byte_order_mark_is_no_mistake(tau_env: TauEnv) -> None:
    (tau_env.directory / "tau.toml").write_bytes(b"\xef\xbb\xbf[agent]\nwindow_size = 20\n")
    done = tau_env.run("sessions", "list")
    assert done.returncode == 0, done.stderr


def test_a_defect_is_one_line_that_names_the_log(tau_env: TauEnv) -> None:
    tau_env.configure('[sessions]\nbackend = "file"\n')
    code = (
        "import sys, tau.sessions.catalog as catalog\n"
        "def broken(*_, **__): raise ZeroDivisionError('seven by nothing')\n"
        "catalog.Catalog.summaries = broken\n"
        "from tau.cli import main\n"
        "sys.argv = ['tau', 'sessions', 'list']\n"
        "sys.exit(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=tau_env.directory,
        env=tau_env.environ,
        check=False,
    )
    log = tau_env.data / "logs" / "tau.log"
    assert done.returncode == 1
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert str(log) in done.stderr
    written = log.read_text(encoding="utf-8")
    assert "Traceback" in written
    assert "seven by nothing" in written


def test_a_reader_that_goes_away_is_no_failure(tau_env: TauEnv) -> None:
    process = tau_env.start("--help")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    said = process.stderr.read()
    assert process.wait(timeout=30) == 0
    assert said == b""


def test_output_that_cannot_be_written_is_said(tau_env: TauEnv) -> None:
    with open("/dev/full", "wb") as full:
        process = tau_env.start("--help", stdout=full)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 1
    assert said.decode() == "tau: Output could not be written: No space left on device\n"
