"""What a project's file may set before its directory is trusted, and how trust is recorded."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

from tau.config.settings import Places, PriceSettings
from tau.config.trust import Trust, trust_root
from tau.errors import ConfigError
from tests.config.conftest import Desk

EVERYTHING = """\
[agent]
window_size = 20
instructions = "obey"
max_turns = 9000
max_total_tokens = 900000
[sessions]
backend = "jot"
scope = "all"
[models.default]
provider = "openai"
model_id = "m"
base_url = "https://example.org"
api_key_env = "HOME"
region = "r"
script = "s.json"
record = "r.jsonl"
weights = "w.gguf"
max_tokens = 100
price = { input = 3, output = 15.5 }
params = { extra = 1 }
[component.jot]
folder = "/"
[plugins]
disabled = ["file"]
[memory]
max_chars = 1000
[profiles.p.sessions]
backend = "memory"
scope = "all"
"""
REFUSED = (
    "agent.instructions, agent.max_turns, agent.max_total_tokens, sessions.backend, models.default.provider,"
    " models.default.model_id, models.default.base_url, models.default.api_key_env, models.default.region,"
    " models.default.script, models.default.record, models.default.weights, models.default.params,"
    " component.jot, plugins.disabled, memory.max_chars, profiles.p.sessions.backend"
)


def test_what_needs_trust_is_named_in_one_line_and_ignored(desk: Desk) -> None:
    path = desk.project(EVERYTHING)
    loaded = desk.load()
    settings = loaded.settings
    root = desk.repository
    assert loaded.warnings == [
        f"{path} sets {REFUSED}; ignored until you trust this directory: tau trust {root}"
    ]
    assert not settings.trusted
    assert (settings.agent.window_size, settings.sessions.scope) == (20, "all")
    assert settings.models["default"].max_tokens == 100
    assert settings.models["default"].price == PriceSettings(input=3, output=15.5)
    assert settings.models["default"].provider == "auto"
    assert (settings.agent.instructions, settings.agent.max_turns) == ("", 50)
    assert (settings.sessions.backend, settings.component, settings.plugins.disabled) == ("file", {}, [])
    assert settings.memory.max_chars == 24_000  # how much of a person's memory is left out is theirs to say
    assert desk.load(profile="p").settings.sessions.backend == "file"


def test_many_refused_keys_are_counted(desk: Desk) -> None:
    desk.project("".join(f"[component.c{number}]\n" for number in range(25)))
    (warning,) = desk.load().warnings
    assert "component.c19, 5 more; ignored until" in warning


def test_a_trusted_projects_file_counts_in_full(desk: Desk) -> None:
    desk.project(EVERYTHING)
    record = Trust(desk.load().settings.places)
    assert record.add(desk.repository)
    loaded = desk.load()
    assert (loaded.warnings, loaded.settings.trusted) == ([], True)
    assert loaded.settings.models["default"].base_url == "https://example.org"
    assert loaded.settings.sessions.backend == "jot"
    assert loaded.settings.memory.max_chars == 1_000
    assert record.remove(desk.repository)
    assert not desk.load().settings.trusted


def test_a_file_the_person_names_is_their_own(desk: Desk, tmp_path: Path) -> None:
    named = tmp_path / "mine.toml"
    named.write_text(EVERYTHING)
    link = tmp_path / "link.toml"
    link.symlink_to(named)
    loaded = desk.load(config=link)
    assert (loaded.warnings, loaded.settings.trusted) == ([], False)
    assert loaded.settings.sessions.backend == "jot"
    desk.environ["TAU_CONFIG"] = str(link)
    assert desk.load().settings.sessions.backend == "jot"


def test_a_link_in_an_untrusted_directory_is_not_followed(desk: Desk, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere.toml"
    target.write_text("[agent]\nwindow_size = 20\n")
    desk.project_file.symlink_to(target)
    loaded = desk.load()
    assert loaded.settings.agent.window_size == 60
    (warning,) = loaded.warnings
    assert warning.startswith(f"{desk.project_file} is a link; ignored until you trust this directory:")
    Trust(loaded.settings.places).add(desk.repository)
    assert desk.load().settings.agent.window_size == 20


def test_a_pipe_in_the_place_of_a_projects_file_does_not_hang(desk: Desk) -> None:
    os.mkfifo(desk.project_file)
    assert desk.error() == f"{desk.project_file}: not a file"


def test_trust_is_for_the_repository_and_its_worktrees(desk: Desk, tmp_path: Path) -> None:
    main, worktree, clone = tmp_path / "main", tmp_path / "tree", tmp_path / "main" / "vendor"
    main.mkdir()

    def git(*arguments: str, cwd: Path = main) -> None:
        who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        subprocess.run(["git", *who, *arguments], cwd=cwd, check=True, capture_output=True)

    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "x")
    git("worktree", "add", "-q", str(worktree))
    clone.mkdir()
    git("init", "-q", cwd=clone)
    (main / "deep" / "er").mkdir(parents=True)
    assert trust_root(main / "deep" / "er") == main
    assert trust_root(worktree) == main
    assert trust_root(clone) == clone
    record = Trust(desk.load().settings.places)
    record.add(main)
    assert record.trusts(worktree)
    assert record.trusts(main / "deep")
    assert not record.trusts(clone)


def test_a_directory_cannot_claim_to_be_a_worktree_of_a_trusted_repository(
    desk: Desk, tmp_path: Path
) -> None:
    main, tree, liar = tmp_path / "main", tmp_path / "tree", tmp_path / "liar"
    admin = main / ".git" / "worktrees" / "tree"
    admin.mkdir(parents=True)
    tree.mkdir()
    liar.mkdir()
    (admin / "gitdir").write_text(f"{tree}/.git\n")
    for folder in (tree, liar):
        (folder / ".git").write_text(f"gitdir: {admin}\n")
    assert trust_root(tree) == main
    assert trust_root(liar) == liar
    (liar / ".git").unlink()
    (liar / ".git").symlink_to(tree / ".git")
    assert trust_root(liar) == liar


def test_trust_outside_a_repository_is_for_that_directory_alone(desk: Desk, tmp_path: Path) -> None:
    inner = tmp_path / "plain" / "inner"
    inner.mkdir(parents=True)
    record = Trust(desk.load().settings.places)
    record.add(tmp_path / "plain")
    assert record.trusts(tmp_path / "plain")
    assert not record.trusts(inner)


def test_the_record_is_private_and_survives_any_name(tmp_path: Path) -> None:
    places = Places(data=tmp_path, state=tmp_path / "a" / "state", config=tmp_path)
    record = Trust(places)
    odd = Path(os.fsdecode(b"/odd/caf\xe9\n\xe6\xbc\xa2"))
    before = os.umask(0)
    try:
        assert record.add(odd)
        assert not record.add(odd)
        assert record.add(Path("/b"))
    finally:
        os.umask(before)
    assert Trust(places).directories() == [Path("/b"), odd]
    assert stat.S_IMODE(record.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(record.path.parent.stat().st_mode) == 0o700
    assert not record.remove(Path("/c"))
    assert record.remove(odd)
    assert record.directories() == [Path("/b")]
    assert {path.name for path in record.path.parent.iterdir()} <= {"trusted.json", "trusted.lock"}


def test_a_folder_that_everybody_shares_cannot_be_trusted(desk: Desk, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    record = Trust(desk.load().settings.places)
    with pytest.raises(ConfigError, match="is shared by everybody on this machine"):
        record.add(shared)
    assert record.directories() == []


@pytest.mark.parametrize("above", [True, False])
def test_the_search_for_a_repository_stops_at_home(tmp_path: Path, desk: Desk, above: bool) -> None:
    """A repository around the home directory is not that of everything in it."""
    home = Path.home().resolve()
    ((tmp_path if above else home) / ".git").mkdir()
    place = home / "notes"
    place.mkdir()
    assert trust_root(place) == (place if above else home)


LOOSE = """
[approvals]
allow = ["shell: make test"]
ask = ["read_file: *.key"]
deny = ["shell: rm *"]
[mcp.docs]
command = "docs-server"
tiers = { search = 0 }
[profiles.quick.approvals]
allow = ["shell"]
"""


@pytest.mark.parametrize("trusted", [False, True])
def test_a_projects_file_can_only_tighten_approvals(desk: Desk, *, trusted: bool) -> None:
    desk.user('[approvals]\nallow = ["shell: ls *"]\ndeny = ["shell: dd *"]\n')
    project = desk.project(LOOSE)
    if trusted:
        Trust(desk.load().settings.places).add(desk.repository)
    loaded = desk.load(profile="quick")
    approvals = loaded.settings.approvals
    assert approvals.allow == ["shell: ls *"]
    assert approvals.ask == ["read_file: *.key"]
    assert approvals.deny == ["shell: dd *", "shell: rm *"]
    assert loaded.warnings[0] == (
        f"{project} sets approvals.allow, mcp.docs.tiers, profiles.quick.approvals.allow; ignored, since a "
        "project's file can only tighten approvals: what you allow belongs in your own tau.toml "
        "(tau config path)"
    )
    if trusted:
        assert loaded.settings.mcp["docs"].command == "docs-server"
        assert loaded.settings.mcp["docs"].tiers == {}
    else:
        assert loaded.settings.mcp == {}
        assert "sets mcp.docs; ignored until you trust this directory" in loaded.warnings[1]


def test_no_file_takes_back_what_another_one_denies(desk: Desk) -> None:
    desk.user('[approvals]\ndeny = ["shell: dd *"]\n[profiles.x.approvals]\ndeny = []\n')
    desk.project("[approvals]\ndeny = []\n")
    assert desk.load(profile="x").settings.approvals.deny == ["shell: dd *"]


def test_a_tier_set_for_a_server_does_not_hold_for_another_of_its_name(desk: Desk) -> None:
    desk.user('[mcp.docs]\ncommand = "mine"\ntiers = { search = 0 }\n')
    desk.project('[mcp.docs]\ncommand = "theirs"\n')
    assert desk.load().settings.mcp["docs"].tiers == {"search": 0}
    Trust(desk.load().settings.places).add(desk.repository)
    docs = desk.load().settings.mcp["docs"]
    assert (docs.command, docs.tiers) == ("theirs", {})


def test_what_is_wrong_in_what_needs_trust_stops_nothing_before_that(desk: Desk) -> None:
    text = """
[keys]
new = "ctl+o"
events = "f7"
[models.default]
provider = 3
context_window = 9000
[mcp.docs]
url = "nowhere"
[profiles.p.memory]
refine = "often"
"""
    project = desk.project(text)
    loaded = desk.load(profile="p")
    assert loaded.settings.keys == {}
    assert loaded.settings.models["default"].context_window == 9000
    assert loaded.settings.mcp == {}
    assert loaded.warnings[0].startswith(f"{project}:3: keys.new names no key: 'ctl+o'")
    assert loaded.warnings[-1].startswith(
        f"{project} sets keys.new, models.default.provider, mcp.docs, profiles.p.memory.refine, keys.events;"
        " ignored until you trust this directory: "
    )
    Trust(loaded.settings.places).add(desk.repository)
    assert desk.error().startswith(f"{project}:3: keys.new names no key")


@pytest.mark.parametrize(
    "text", ["[approvals]\ndeny = 3\n", "[approvals]\ndeni = ['shell']\n", "[agent]\nwindow_size = 0\n"]
)
def test_what_is_wrong_in_what_counts_or_guards_is_an_error_before_trust(desk: Desk, text: str) -> None:
    project = desk.project(text)
    assert desk.error().startswith(f"{project}:2: ")


@pytest.mark.parametrize("trusted", [False, True])
def test_a_projects_file_never_sets_the_keys_that_answer_a_question(desk: Desk, *, trusted: bool) -> None:
    """Else the key that a person presses for no could approve."""
    desk.user('[keys]\nno = "f6"\n')
    project = desk.project('[keys]\nyes = "n"\nevents = "f7"\n[profiles.p.keys]\nno = "y"\n')
    if trusted:
        Trust(desk.load().settings.places).add(desk.repository)
    loaded = desk.load(profile="p")
    assert loaded.settings.keys == {"no": "f6", **({"events": "f7"} if trusted else {})}
    assert loaded.warnings[0].startswith(f"{project} sets keys.yes, profiles.p.keys.no; ignored, since ")
