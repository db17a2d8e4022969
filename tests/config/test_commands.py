"""The installed command: check, show, path, init, trust, and what every command says of a broken file."""

from __future__ import annotations

import re
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tau.config.load import SHIPPED
from tests.conftest import TauEnv

ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.fixture
def project(tau_env: TauEnv) -> Path:
    """The working directory as a repository; its tau.toml is yet to be written."""
    (tau_env.directory / ".git").mkdir()
    return tau_env.directory / "tau.toml"


@pytest.mark.parametrize(
    "command", [["config", "check"], ["config", "show"], ["sessions", "list"], ["chat"], []]
)
def test_broken_toml_ends_every_command_in_one_line(
    tau_env: TauEnv, project: Path, command: list[str]
) -> None:
    project.write_text("[agent]\nwindow =\n")
    done = tau_env.run(*command)
    assert done.returncode == 2
    said = done.stderr if command != ["config", "check"] else done.stdout
    assert f"{project}:2:9: window has no value that TOML knows" in said
    assert "Traceback" not in done.stdout + done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    assert project.read_text() == "[agent]\nwindow =\n"
    assert not tau_env.data.exists()


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["chat", "--help"], ["config", "--help"]])
def test_help_works_with_a_broken_file(tau_env: TauEnv, project: Path, arguments: list[str]) -> None:
    project.write_text("window =\n")
    done = tau_env.run(*arguments)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_unknown_key_is_a_warning_on_stderr(tau_env: TauEnv, project: Path) -> None:
    project.write_text('agnt = "strict"\n[tui]\nwindow_size = 3\n')
    done = tau_env.run("sessions", "list")
    assert done.returncode == 0
    assert done.stderr.splitlines()[:2] == [
        f"tau: {project}:1: unknown key agnt (did you mean [agent]?)",
        f"tau: {project}:3: unknown key tui.window_size (window_size belongs under [agent])",
    ]


def test_check_says_what_was_read_and_everything_wrong(tau_env: TauEnv, project: Path) -> None:
    assert tau_env.run("config", "check").stdout == f"read: {SHIPPED}\nNo problems.\n"
    tau_env.configure("[agent]\nwindow_size = 1\n[tui]\nmouse = 1\ncolour = 2\n")
    project.write_text("[agent]\nmax_turn = 3\n")
    done = tau_env.run("config", "check")
    user = tau_env.user_config
    assert (done.returncode, done.stderr) == (2, "")
    assert done.stdout.splitlines() == [
        f"read: {project}",
        f"read: {user}",
        f"read: {SHIPPED}",
        f"error: {user}:2: agent.window_size must be a whole number, at least 2",
        f"error: {user}:4: tui.mouse must be true or false, not a whole number",
        f"warning: {project}:2: unknown key agent.max_turn (did you mean max_turns?)",
        f"warning: {user}:5: unknown key tui.colour ([tui] knows theme, mouse, notify)",
    ]


def test_check_knows_backends_components_and_profiles(tau_env: TauEnv) -> None:
    tau_env.configure('[sessions]\nbackend = "fiel"\n[plugins]\ndisabled = ["jto"]\n')
    done = tau_env.run("config", "check")
    assert done.returncode == 2
    assert 'error: [sessions] backend = "fiel": there is no such backend (did you mean file? ' in done.stdout
    assert (
        'warning: [plugins] disabled names "jto", and no component of that name is installed' in done.stdout
    )
    tau_env.configure("[profiles.work.tui]\nmouse = false\n")
    done = tau_env.run("config", "check", "--profile", "wrok")
    assert done.returncode == 2
    assert "error: There is no profile wrok (did you mean work? profiles: work)" in done.stdout
    assert tau_env.run("config", "check", environ={"TAU_PROFILE": "work"}).returncode == 0


def test_show_is_toml_with_the_origin_of_each_value(tau_env: TauEnv, project: Path) -> None:
    tau_env.configure(
        '[agent]\nwindow_size = 10\ninstructions = "a # b\\nc é"\n[models.fast]\nprovider = "ollama"\n'
        'base_url = "http://me:hunter2hunter2@host/"\nparams = { stop = ["a", "b"], deep = { x = 1 } }\n'
        "[profiles.p.agent]\nmax_turns = 4\n[component.jot]\nlist = [{ a = 1 }]\n"
    )
    project.write_text("# é\n\n[agent]\nwindow_size = 20\n")
    done = tau_env.run("config", "show", "--profile", "p")
    assert (done.returncode, done.stderr) == (0, "")
    shown = tomllib.loads(done.stdout)
    assert shown["agent"] == {
        "context": "sliding", "window_size": 20, "max_turns": 4, "instructions": "a # b\nc é",
    }  # fmt: skip
    assert shown["models"]["default"] == {"provider": "auto"}
    assert shown["models"]["fast"]["params"] == {"stop": ["a", "b"], "deep": {"x": 1}}
    assert shown["component"] == {"jot": {"list": [{"a": 1}]}}
    assert "hunter2" not in done.stdout
    origins = dict(re.findall(r"^(\w+) = .*  # (\S+)$", done.stdout, re.MULTILINE))
    user = tau_env.user_config
    assert origins["window_size"] == f"{project}:4"
    assert origins["max_turns"] == f"{user}:9"
    assert origins["instructions"] == f"{user}:3"
    assert origins["context"].startswith(f"{SHIPPED}:")
    assert origins["x"] == f"{user}:7"
    assert re.search(r'^provider = "auto"  # default$', done.stdout, re.MULTILINE)
    assert "# profile: p\n" in done.stdout


def test_path_lists_files_and_places_and_creates_nothing(tau_env: TauEnv, project: Path) -> None:
    done = tau_env.run("config", "path")
    assert done.returncode == 0
    lines = [re.split(r"\s{2,}", line) for line in done.stdout.splitlines()]
    listed = {line[0].strip(): line[1:] for line in lines}
    assert listed["the project's"] == [str(project), "(not there)"]
    assert listed["yours"] == [str(tau_env.user_config), "(not there)"]
    assert listed["data"] == [str(tau_env.data)]
    assert listed["state"] == [str(tau_env.state)]
    assert not tau_env.data.exists()
    assert not tau_env.state.exists()
    named = tau_env.run("config", "path", "--config", "x.toml").stdout
    assert f"{tau_env.directory / 'x.toml'}" in named
    assert "the project's" not in named


def test_init_writes_a_file_that_changes_nothing_and_touches_none(tau_env: TauEnv) -> None:
    before = tau_env.run("config", "show").stdout
    done = tau_env.run("init")
    user = tau_env.user_config
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, f"created: {user}")
    assert stat.S_IMODE(user.stat().st_mode) == 0o600
    assert tau_env.run("config", "show").stdout == before
    assert tau_env.run("config", "check").stdout.endswith("No problems.\n")
    enabled = re.sub(r"^# (\w+ = [^`\n]*|\[.*\])$", r"\1", user.read_text(), flags=re.MULTILINE)
    user.write_text(enabled.replace("NAME", "jot"))
    assert set(tomllib.loads(enabled)) == {
        "agent", "sessions", "models", "context", "compaction", "memory", "tasks", "tui", "plugins", "mcp",
        "approvals", "component", "profiles",
    }  # fmt: skip
    assert tau_env.run("config", "check").stdout.endswith("No problems.\n")
    user.write_text("# mine\n")
    again = tau_env.run("init")
    assert (again.returncode, again.stdout.splitlines()[0]) == (0, f"left as it is: {user}")
    assert user.read_text() == "# mine\n"


def test_init_project_writes_here_and_follows_no_link(tau_env: TauEnv, project: Path) -> None:
    assert tau_env.run("init", "--project").stdout.splitlines()[0] == f"created: {project}"
    assert tau_env.run("config", "check").stdout.endswith("No problems.\n")
    project.unlink()
    project.symlink_to(tau_env.directory / "elsewhere")
    assert tau_env.run("init", "--project").stdout.splitlines()[0] == f"left as it is: {project}"
    assert not (tau_env.directory / "elsewhere").exists()


def test_trust_is_given_listed_and_taken_back(tau_env: TauEnv, project: Path) -> None:
    root = tau_env.directory
    project.write_text('[sessions]\nbackend = "memory"\n')
    done = tau_env.run("sessions", "list")
    assert done.stderr.startswith(
        f"tau: {project} sets sessions.backend; ignored until you trust this directory: tau trust {root}\n"
    )
    inner = root / "inner"
    inner.mkdir()
    also = f"its {project} now also sets sessions.backend\n"
    assert tau_env.run("trust", "inner").stdout == f"trusted: {root}\n{also}"
    assert tau_env.run("trust").stdout == f"already trusted: {root}\n{also}"
    assert tau_env.run("trust", "--list").stdout == f"{root}\n"
    assert "ignored" not in tau_env.run("sessions", "list").stderr
    assert 'backend = "memory"' in tau_env.run("config", "show", cwd=inner).stdout
    assert tau_env.run("trust", "--revoke").stdout == f"no longer trusted: {root}\n"
    assert tau_env.run("trust", "--revoke").stdout == f"was not trusted: {root}\n"
    assert tau_env.run("trust", "--list").stdout == ""
    assert tau_env.run("trust", "none").returncode == 2
    assert tau_env.run("trust", "--list", "--revoke").returncode == 2


def test_trust_says_what_it_does_not_cover(tau_env: TauEnv, project: Path) -> None:
    project.write_text(
        '[approvals]\nallow = ["shell: make *"]\ndeny = ["shell: rm *"]\n[mcp.docs]\ncommand = "d"\n'
    )
    assert tau_env.run("trust").stdout == (
        f"trusted: {project.parent}\n"
        f"its {project} now also sets mcp.docs (d)\n"
        "never counted: approvals.allow; only your own tau.toml can allow (tau config path)\n"
    )


def test_trust_in_a_directory_that_is_gone_can_be_taken_back(tau_env: TauEnv) -> None:
    gone = tau_env.directory / "gone"
    gone.mkdir()
    assert tau_env.run("trust", "gone").returncode == 0
    gone.rmdir()
    assert tau_env.run("trust", "--revoke", "gone").stdout == f"no longer trusted: {gone}\n"


def test_an_ascii_locale_changes_no_text(tau_env: TauEnv, project: Path) -> None:
    tau_env.configure('[agent]\ninstructions = "→ é 漢字 🎉"\n[profiles."é".tui]\n')
    project.write_text('[agent]\n"fenêtre" = "é"\n', encoding="utf-8")
    tau_env.environ |= ASCII
    done = tau_env.run("config", "check")
    assert (done.returncode, done.stderr) == (2, "")
    assert "must be a plain name" in done.stdout
    tau_env.configure('[agent]\ninstructions = "→ 漢字 🎉"\n')
    done = tau_env.run("config", "show")
    assert done.returncode == 0
    assert tomllib.loads(done.stdout)["agent"]["instructions"] == "→ 漢字 🎉"
    assert "Traceback" not in done.stderr
    assert "fen" in done.stderr


def test_a_read_only_home_is_said_and_nothing_else_fails(tau_env: TauEnv) -> None:
    done = tau_env.run("trust", environ={"XDG_STATE_HOME": "/proc/none"})
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "The record of trusted directories /proc/none/tau/trusted.json cannot be written" in done.stderr
    done = tau_env.run("init", environ={"XDG_CONFIG_HOME": "/proc/none"})
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "/proc/none/tau/tau.toml cannot be written" in done.stderr


def test_loading_imports_nothing_heavy(tau_env: TauEnv) -> None:
    """Neither an engine, nor a screen, nor the slow parts of the standard library."""
    code = (
        "import sys, os; from pathlib import Path; from tau.config.load import load_settings;"
        "load_settings(config=None, profile=None, directory=Path(), environ=os.environ);"
        "print(*{name.partition('.')[0] for name in sys.modules} &"
        " {'strands', 'textual', 'boto3', 'pydantic', 'mcp', 'asyncio', 'logging', 'sqlite3', 'difflib'})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=tau_env.environ, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""


def test_check_names_providers_that_do_not_exist(tau_env: TauEnv) -> None:
    tau_env.configure(
        '[models.default]\nprovider = "scirpted"\n[profiles.away.models.fast]\nprovider = "nope"\n'
    )
    done = tau_env.run("config", "check")
    assert done.returncode == 2
    assert f"{tau_env.user_config}:2: models.default.provider names an unknown provider" in done.stdout
    assert "did you mean 'scripted'?" in done.stdout
    assert f"{tau_env.user_config}:4: profiles.away.models.fast.provider" in done.stdout


def test_check_reads_the_scripts_of_the_scripted_provider(tau_env: TauEnv) -> None:
    user = tau_env.user_config
    good, broken = tau_env.home / "good.json", tau_env.home / "broken.json"
    good.write_text('[{"text": "hello"}]')
    broken.write_text('[{"txt": "hello"}]')
    tau_env.configure(
        f'[models.default]\nprovider = "scripted"\nscript = "{good}"\nside_script = "gone.json"\n'
        f'[models.other]\nprovider = "scripted"\nscript = "{broken}"\n'
        '[models.third]\nprovider = "scripted"\n'
        f'[profiles.p.models.default]\nscript = "{tau_env.home / "none.json"}"\n'
    )
    done = tau_env.run("config", "check")
    assert done.returncode == 2
    errors = [line for line in done.stdout.splitlines() if line.startswith("error: ")]
    gone = user.parent / "gone.json"
    assert errors[0] == (
        f"error: {user}:4: models.default.side_script: Script not found: {gone} "
        "(create it, or change the role's script)"
    )
    assert errors[1].startswith(f"error: {user}:7: models.other.script: Script {broken}, step 1")
    assert errors[2].startswith(
        f'error: {user}:9: models.third.provider is "scripted" and there is no script'
    )
    assert errors[3].startswith(f"error: {user}:11: profiles.p.models.default.script: Script not found")
    assert len(errors) == 4
    tau_env.configure(f'[models.default]\nprovider = "scripted"\nscript = "{good}"\n')
    assert tau_env.run("config", "check").stdout.endswith("No problems.\n")


def test_a_window_without_sense_ends_every_command(tau_env: TauEnv, project: Path) -> None:
    project.write_text("[models.default]\ncontext_window = 10\n")
    for command in (["config", "check"], ["run", "hi"], ["sessions", "list"]):
        done = tau_env.run(*command)
        assert done.returncode == 2, command
        said = done.stdout if command[0] == "config" else done.stderr
        assert (
            f"{project}:2: models.default.context_window must be a whole number, at least 1000 "
            "(the tokens that the model takes in at once, as its provider says)\n"
        ) in said


def test_odd_sizes_are_warnings_wherever_they_come_from(tau_env: TauEnv, project: Path) -> None:
    script = tau_env.home / "script.json"
    script.write_text('[{"text": "hello"}]')
    tau_env.configure(f'[models.default]\nprovider = "scripted"\nscript = "{script}"\nmax_tokens = 9000\n')
    project.write_text("[models.default]\ncontext_window = 3000\n")
    small = (
        f"{project}:2: models.default.context_window is 3,000 tokens "
        "(what tau tells a model and its tools take up about 4,000)"
    )
    long = (
        f"{tau_env.user_config}:4: models.default.max_tokens is 9,000, and a context_window of 3,000 "
        "has no room for such a reply (a quarter of it is plenty)"
    )
    done = tau_env.run("config", "check")
    assert done.returncode == 0
    assert done.stdout.splitlines()[-2:] == [f"warning: {small}", f"warning: {long}"]
    done = tau_env.run("run", "hi")
    assert (done.returncode, done.stdout) == (0, "hello\n")
    assert done.stderr.splitlines()[:2] == [f"tau: {small}", f"tau: {long}"]
    project.write_text("[models.default]\ncontext_window = 4000\nmax_tokens = 3999\n")
    assert tau_env.run("config", "check").stdout.endswith("No problems.\n")


def test_a_pattern_that_cannot_be_used_ends_every_command_in_one_line(tau_env: TauEnv, project: Path) -> None:
    project.write_text('[approvals]\ndeny = ["shell: rm * now"]\n')
    for command in (["config", "check"], ["sessions", "list"], ["chat"]):
        done = tau_env.run(*command)
        assert done.returncode == 2
        said = done.stdout if command[0] == "config" else done.stderr
        assert f'{project}:2: approvals.deny has "shell: rm * now", which cannot be used' in said
        assert "Traceback" not in done.stdout + done.stderr


def test_servers_and_approvals_are_shown_with_their_origin(tau_env: TauEnv, project: Path) -> None:
    project.write_text('[approvals]\ndeny = ["shell: rm *"]\n')
    shown = tau_env.run("config", "show").stdout
    assert "[approvals]" in shown
    assert "shell: rm *" in shown
    assert f"{project}:2" in shown


def test_a_theme_that_the_app_does_not_know_is_a_warning(tau_env: TauEnv) -> None:
    tau_env.configure(
        '[tui]\ntheme = "nosuch"\n[profiles.a.tui]\ntheme = "nor this"\n[profiles.b.tui]\ntheme = "nord"\n'
    )
    done = tau_env.run("config", "check")
    said = [line for line in done.stdout.splitlines() if line.startswith("warning: ")]
    rest = "is not known; using auto (auto, dark, light, ansi)"
    assert said == [
        f"warning: {tau_env.user_config}:2: [tui] theme 'nosuch' {rest}",
        f"warning: {tau_env.user_config}:4: [tui] theme 'nor this' {rest}",
    ]
    assert "No problems" not in done.stdout
    for known in ("auto", "dark", "tau-light", "nord"):
        tau_env.configure(f'[tui]\ntheme = "{known}"\n')
        assert tau_env.run("config", "check").stdout.endswith("No problems.\n"), known


def test_keys_that_many_terminals_do_not_send_are_said(tau_env: TauEnv) -> None:
    tau_env.configure(
        '[keys]\nsend = "ctrl+enter"\nnewline = ["enter", "alt+enter"]\nhelp = "ctrl+h"\nfind = "alt+f"\n'
    )
    kitty = "comes only from terminals with the kitty keyboard protocol"
    assert tau_env.run("config", "check").stdout.splitlines()[-4:] == [
        "note: keys.help: Ctrl+H is Backspace in most terminals, and deletes there, and no other key does it",
        f"note: keys.send: Ctrl+Enter {kitty}, and no other key does it",
        f"note: keys.newline: Alt+Enter {kitty}",
        "No problems.",
    ]


def test_a_key_that_another_action_needs_is_a_warning(tau_env: TauEnv) -> None:
    said = "keys.other-side names Esc, which stays with back: else there would be no way out of a list"
    said += " (give back another key first)"
    tau_env.configure('[keys]\nother-side = "esc"\n[profiles.p.keys]\nback = "f6"\n')
    done = tau_env.run("config", "check")
    assert done.returncode == 0
    assert done.stdout.splitlines()[-2:] == [
        f"warning: {tau_env.user_config}:2: {said}",
        "note: no key does other-side: keys.other-side names what back needs",
    ]
    assert tau_env.run("config", "check", "--profile", "p").stdout.endswith("No problems.\n")


def test_actions_whose_keys_were_given_away_are_said_at_the_start(tau_env: TauEnv) -> None:
    tau_env.configure(
        '[keys]\nmemory-undo = "ctrl+c"\nyes = ["y", "up"]\nsessions = "f3"\nnew = ""\nback = ["esc", "f6"]\n'
    )
    said = [
        f"{tau_env.user_config}:{line}: keys.{taker} took {key}, and no key does {name} any more"
        f' (give {name} another key; keys.{name} = "" leaves it without)'
        for line, taker, key, name in (
            (2, "memory-undo", "Ctrl+C", "interrupt"),
            (3, "yes", "Up", "list-up"),
        )
    ]
    done = tau_env.run("config", "check")
    assert done.returncode == 0
    assert done.stdout.splitlines()[2:] == [
        *(f"warning: {line}" for line in said),
        "note: no key does new: keys.new is empty",
    ]
    assert tau_env.run("config", "show").stderr.splitlines() == [f"tau: {line}" for line in said]


def test_an_action_without_a_key_is_said_and_no_problem(tau_env: TauEnv) -> None:
    tau_env.configure('[keys]\nevents = ""\nfind = []\n')
    done = tau_env.run("config", "check")
    assert done.returncode == 0
    assert done.stdout.splitlines()[-3:] == [
        "note: no key does find: keys.find is empty",
        "note: no key does events: keys.events is empty",
        "No problems.",
    ]
    tau_env.configure('[keys]\nevents = ["f4", ""]\n')
    done = tau_env.run("config", "check")
    assert done.returncode == 2
    assert "keys.events names no key: ''" in done.stdout
