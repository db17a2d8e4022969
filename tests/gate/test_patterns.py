"""What a pattern covers, and what it must not."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.config.settings import ApprovalSettings
from tau.errors import ConfigError
from tau.gate.gate import Gate, Verdict
from tau.gate.patterns import (
    KINDS,
    check,
    covers_path,
    covers_url,
    host_pattern,
    matches_path,
    mentions_url,
    parse,
)
from tau.sessions.lineage import Record
from tau.sessions.memory import open_store
from tau.sessions.store import StoreContext
from tau.tools.context import ToolContext
from tau.tools.registry import build_tools
from tau.tools.subject import Subject


class Tool:
    """What the gate sees of a tool."""

    def __init__(self, name: str, kind: str | None = None, *, tier: int = 2, asks: bool = False) -> None:
        self.tool_name = name
        self.tier = tier
        self.asks = asks
        arguments = {"path": "path", "url": "url", "command": "command"}
        self.subject = Subject(kind, arguments[kind]) if kind else None  # type: ignore[arg-type]  # from a table


def gate(directory: Path, **approvals: list[str]) -> Gate:
    directory.mkdir(exist_ok=True)
    context = ToolContext(directory=directory.resolve(), state_dir=directory.parent, session_id="s")
    return Gate(ApprovalSettings(**approvals), context)


@pytest.mark.parametrize(
    ("entry", "tool", "text"),
    [
        ("shell", "shell", ""),
        ("shell: *", "shell", ""),
        ("shell:git status", "shell", "git status"),
        ("edit_file: ./src/**", "edit_file", "src/**"),
        ("fetch_url: http://localhost:8000/*", "fetch_url", "http://localhost:8000/*"),
    ],
)
def test_an_entry_is_a_tool_and_a_pattern(entry: str, tool: str, text: str) -> None:
    assert (parse(entry).tool, parse(entry).text) == (tool, text)


@pytest.mark.parametrize(
    ("pattern", "path", "covered"),
    [
        ("**", "a.py", True),
        ("**", "src/deep/a.py", True),
        ("src/**", "src/a.py", True),
        ("src/**", "src-evil/a.py", False),
        ("src/**", "other/src/a.py", False),
        ("*.md", "docs/a.md", True),
        ("docs/*.md", "docs/deep/a.md", False),
        ("a.py", "a.pyx", False),
        ("**", ".git/hooks/pre-commit", False),
        ("**", "src/.env", False),
        (".env", ".env", True),
        (".github/**", ".github/workflows/ci.yml", True),
        ("**", "tau.toml", False),
        ("**", "sub/AGENTS.md", False),
        ("**", "Tau.TOML", False),
        ("tau.toml", "tau.toml", True),
        ("**", "/etc/passwd", False),
        ("/etc/**", "/etc/hosts", True),
        ("etc/**", "/etc/hosts", False),
        ("!a.py", "a.py", False),
        ("!a.py", "b.py", False),
        ("#a.py", "#a.py", True),
    ],
)
def test_a_pattern_of_paths(pattern: str, path: str, *, covered: bool) -> None:
    assert covers_path(pattern, path) is covered


@given(st.lists(st.sampled_from(["a", "b", ".git", ".env", "c.py"]), min_size=1, max_size=5))
def test_no_wildcard_covers_what_is_hidden(names: list[str]) -> None:
    hidden = any(name.startswith(".") for name in names)
    assert covers_path("**", "/".join(names)) is not hidden
    assert matches_path("**", "/".join(names))


@pytest.mark.parametrize(
    ("pattern", "url", "covered"),
    [
        ("https://docs.python.org/*", "https://docs.python.org/3/library/", True),
        ("https://docs.python.org/*", "https://DOCS.python.org", True),
        ("https://docs.python.org/*", "http://docs.python.org/3/", False),
        ("https://docs.python.org/*", "https://docs.python.org:8443/3/", False),
        ("https://docs.python.org/*", "https://docs.python.org.evil.com/3/", False),
        ("https://docs.python.org/*", "https://docs.python.org@evil.com/", False),
        ("https://docs.python.org/*", "https://evil.com\\@docs.python.org/", False),
        ("https://a.org/public/*", "https://a.org/public/../private", False),
        ("https://a.org/public/*", "https://a.org/public/%2e%2e/private", False),
        ("https://a.org/public/*", "https://a.org/public/x?q=1", True),
        ("https://a.org/page", "https://a.org/page?token=1", False),
        ("https://a.org/page", "https://a.org/page", True),
        ("https://[::1]:80/*", "https://[::1]:80/x", True),
        ("https://a.org/*", "https://a.org:port/", False),
    ],
)
def test_a_pattern_of_addresses(pattern: str, url: str, *, covered: bool) -> None:
    assert covers_url(pattern, url) is covered


def test_a_denied_site_is_denied_in_every_spelling() -> None:
    for url in ("http://evil.com/x", "https://EVIL.com:444/", "https://evil.com./", "https://a@evil.com/"):
        assert mentions_url("https://evil.com/*", url)
    assert not mentions_url("https://evil.com/*", "https://good.com/evil.com/")


@pytest.mark.parametrize(
    ("url", "site"),
    [
        ("https://a.org/x/y?z", "https://a.org/*"),
        ("http://A.org:8000", "http://a.org:8000/*"),
        ("https://[::1]/x", "https://[::1]/*"),
        ("ftp://a.org/", ""),
        ("https://u:p@a.org/", ""),
        ("https://", ""),
        ("https://a.org:99999/", ""),
    ],
)
def test_what_is_offered_for_an_address_covers_it(url: str, site: str) -> None:
    assert host_pattern(url) == site
    assert not site or covers_url(site, url)


def test_tiers_decide_where_nobody_said_anything(tmp_path: Path) -> None:
    judge = gate(tmp_path / "w").judge
    assert judge(Tool("look", tier=0), {}).action == "run"
    assert judge(Tool("remember", tier=1), {}).action == "run"
    assert judge(Tool("change"), {}) == Verdict("ask", offers=("change",))
    assert judge(Tool("grant", tier=0, asks=True), {}) == Verdict("ask")
    assert judge(Tool("write", "path"), {}).action == "invalid", "its path is missing"
    assert judge(Tool("write", "path"), {"path": 3}).action == "invalid"


def test_a_path_is_judged_where_its_links_lead(tmp_path: Path) -> None:
    work = tmp_path / "p"
    work.mkdir()
    (tmp_path / "p-evil").mkdir()
    (work / "link").symlink_to(tmp_path / "p-evil")
    (work / "inner").symlink_to("src")
    judge = gate(work, allow=["write: **"]).judge
    tool = Tool("write", "path")
    assert judge(tool, {"path": "src/a.py"}).action == "run"
    assert judge(tool, {"path": "inner/a.py"}).action == "run"
    for outside in ("../p-evil/x", "link/x", str(tmp_path / "p-evil/x"), "/etc/passwd", ".."):
        verdict = judge(tool, {"path": outside})
        assert (verdict.action, verdict.offers) == ("ask", ()), outside
        assert verdict.unclear[0].startswith("outside the working directory")
    assert judge(tool, {"path": "\0"}).unclear == ("this can be no path",)
    assert judge(tool, {"path": "inner/a.py"}).real == work.resolve() / "src" / "a.py"


def test_a_workspace_that_is_a_link_works(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "w").symlink_to("real")
    assert (
        gate(tmp_path / "w", allow=["write: **"]).judge(Tool("write", "path"), {"path": "a"}).action == "run"
    )


def test_hidden_files_ask_one_by_one(tmp_path: Path) -> None:
    verdict = gate(tmp_path / "w", allow=["write: **"]).judge(Tool("write", "path"), {"path": ".git/hooks/x"})
    assert (verdict.action, verdict.offers) == ("ask", ())


def test_an_address_asks_for_its_site(tmp_path: Path) -> None:
    desk = gate(tmp_path / "w")
    tool = Tool("fetch_url", "url")
    verdict = desk.judge(tool, {"url": "https://a.org/x"})
    assert (verdict.action, verdict.offers) == ("ask", ("fetch_url: https://a.org/*",))
    desk.approve(verdict.offers)
    assert desk.judge(tool, {"url": "https://a.org/y"}).action == "run"
    assert desk.judge(tool, {"url": "https://b.org/"}).action == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf x #" + "x" * 33_000,
        "true; " * 1_001 + "rm x",
        "rm x # \udc80",
        "X=rm; $X f",
        "eval 'rm f'",
        "env -S 'rm f'",
        "trap 'rm f' EXIT",
    ],
)
def test_a_denied_command_never_runs_unasked_however_it_hides(tmp_path: Path, command: str) -> None:
    judge = gate(tmp_path / "w", allow=["shell"], deny=["shell: rm *"]).judge
    assert judge(Tool("shell", "command"), {"command": command}).action in ("ask", "deny")
    assert judge(Tool("shell", "command"), {"command": "ls"}).action == "run"


@pytest.mark.parametrize(
    "url",
    [
        "https://pastebin.com/x",
        "https://PASTEBIN.com:443/x",
        "https://pastebin。com/x",
        "http://pastebin.com./x",
        "https://s.org/%70rivate/x",
        "https://s.org//private/x",
        "https://s.org/./private/x",
        "https://s.org/a/../private/x",
        "https://s.org/a/%2e%2e/private/x",
        "https://s.org/PRIVATE/x",
    ],
)
def test_a_denied_address_is_denied_in_every_spelling(tmp_path: Path, url: str) -> None:
    deny = ["fetch_url: https://pastebin.com/*", "fetch_url: https://s.org/private/*"]
    judge = gate(tmp_path / "w", allow=["fetch_url"], deny=deny).judge
    assert judge(Tool("fetch_url", "url"), {"url": url}).action == "deny"
    assert judge(Tool("fetch_url", "url"), {"url": "https://s.org/public"}).action == "run"


def test_an_address_that_cannot_be_read_asks_where_some_are_denied(tmp_path: Path) -> None:
    judge = gate(tmp_path / "w", allow=["fetch_url"], deny=["fetch_url: https://a.org/*"]).judge
    assert judge(Tool("fetch_url", "url"), {"url": "https://[x"}).action == "ask"


def test_a_tool_that_is_denied_is_denied_without_its_argument(tmp_path: Path) -> None:
    judge = gate(tmp_path / "w", deny=["list_files"], ask=["grant"]).judge
    assert judge(Tool("list_files", "path", tier=0), {}).action == "deny"
    assert judge(Tool("grant", "path", tier=0, asks=True), {"path": "x"}).action == "ask"


def test_a_pattern_for_a_tool_without_a_subject_means_all_of_it(tmp_path: Path) -> None:
    judge = gate(tmp_path / "w", allow=["db_query"], deny=["db_query: DROP *"]).judge
    assert judge(Tool("db_query"), {"sql": "SELECT 1"}).action == "deny"
    judge = gate(tmp_path / "w", allow=["db_query: SELECT *"]).judge
    assert judge(Tool("db_query"), {"sql": "SELECT 1"}).action == "ask"


def test_a_file_is_denied_by_its_whole_path_too(tmp_path: Path) -> None:
    secret = tmp_path.resolve() / "w" / "secret.pem"
    judge = gate(tmp_path / "w", deny=[f"read_file: {secret}"]).judge
    assert judge(Tool("read_file", "path", tier=0), {"path": "secret.pem"}).action == "deny"
    assert judge(Tool("read_file", "path", tier=0), {"path": "other.pem"}).action == "run"


@pytest.mark.parametrize(
    ("table", "entry", "why"),
    [
        ("allow", "shell: git * status", "cannot be used"),
        ("deny", "Shell: rm *", "the tool is named shell"),
        ("deny", "SHELL", "the tool is named shell"),
        ("deny", "search_files: secrets/**", "search_files takes no pattern, only its name"),
        ("deny", "fetch_url: *.evil.com", "it names no host"),
        ("allow", "fetch_url: evil.com/x", "begins with http"),
        ("allow", "edit_file: foo\\", "no pattern of an ignore file"),
        ("allow", "read_file: ~/notes", "written whole, from /"),
        ("deny", "edit_file: ../proj/src/**", "written whole, from /"),
    ],
)
def test_an_entry_that_would_guard_nothing_is_an_error(table: str, entry: str, why: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check(ApprovalSettings(**{table: [entry]}))
    assert f'[approvals] {table} has "{entry}"' in str(caught.value)
    assert why in str(caught.value)


def test_entries_that_can_be_used() -> None:
    check(
        ApprovalSettings(
            allow=["shell: git status", "shell", "edit_file: src/**", "fetch_url: http://localhost:1/*"],
            ask=["docs_search", "fetch_url: example.org/*"],
            deny=["shell: rm *", "shell: sudo *", "read_file: /etc/**"],
        )
    )


def test_patterns_are_about_what_the_tools_say_they_are(tmp_path: Path) -> None:
    store = open_store(StoreContext(data_dir=tmp_path, state_dir=tmp_path))
    context = ToolContext(
        directory=tmp_path, state_dir=tmp_path, session_id="s", record=Record(store.read, "s")
    )
    own = {tool.tool_name: tool for tool in build_tools(context)}
    subjects = {name: getattr(tool, "subject", None) for name, tool in own.items() if name in KINDS}
    assert {name: subject.kind if subject else None for name, subject in subjects.items()} == KINDS
