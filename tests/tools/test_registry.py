"""The tools of a run: tau's own, those of other packages, and what is left out and said."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest
from strands.types.tools import AgentTool

from tau.tools.context import ToolContext
from tau.tools.registry import build_tools
from tests.tools.conftest import called, text

TIERS = {
    "edit_file": 2,
    "fetch_url": 2,
    "find_files": 0,
    "list_files": 0,
    "read_file": 0,
    "request_file_grant": 0,
    "search_files": 0,
    "shell": 2,
    "write_file": 2,
}
OWN = list(TIERS)

TOOL = """
from strands import tool
@tool(name={name!r})
def made() -> str:
    '''Say hello.'''
    return "hello from " + {name!r}
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path, into which `install` puts packages."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    before = set(sys.modules)
    yield folder
    for name in set(sys.modules) - before:
        if name.startswith("odd_"):
            del sys.modules[name]


def install(site: Path, **modules: str) -> None:
    """Install the package `tau-odd`, with an entry point and a module for each name."""
    info = site / "tau_odd-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tau-odd\nVersion: 1.2\n")
    entries = "".join(f"{name} = odd_{name}:tools\n" for name in modules)
    (info / "entry_points.txt").write_text(f"[tau.tools]\n{entries}")
    for name, source in modules.items():
        (site / f"odd_{name}.py").write_text(dedent(source))


def built(context: ToolContext, *disabled: str) -> list[AgentTool]:
    """The tools, without that of the fixture package, which is installed beside tau."""
    return build_tools(context, disabled=["jot_note", *disabled])


def names(context: ToolContext, *disabled: str) -> list[str]:
    return [tool.tool_name for tool in built(context, *disabled)]


def test_own_tools_have_their_tiers_and_a_stable_order(context: ToolContext) -> None:
    tools = built(context)
    assert [tool.tool_name for tool in tools] == OWN
    assert {tool.tool_name: getattr(tool, "tier", None) for tool in tools} == TIERS
    assert names(context) == OWN


def test_arguments_have_the_names_models_are_told(context: ToolContext) -> None:
    schemas = {tool.tool_name: tool.tool_spec["inputSchema"]["json"] for tool in built(context)}
    assert {name: list(schema["properties"]) for name, schema in schemas.items()} == {
        "edit_file": ["path", "edits"],
        "fetch_url": ["url"],
        "find_files": ["pattern", "path"],
        "list_files": ["path"],
        "read_file": ["path", "offset", "limit"],
        "request_file_grant": ["path", "reason"],
        "search_files": ["pattern", "path", "glob"],
        "shell": ["command", "timeout"],
        "write_file": ["path", "content"],
    }
    assert all(part["description"] for schema in schemas.values() for part in schema["properties"].values())


@pytest.mark.parametrize("disabled", ["search_files", "tau.tools:search_files"])
def test_a_tool_can_be_disabled(context: ToolContext, disabled: str) -> None:
    assert names(context, disabled) == [name for name in OWN if name != "search_files"]


def test_a_third_party_tool_registers_the_same_way(context: ToolContext, site: Path) -> None:
    install(
        site, greet=TOOL.format(name="greet") + "def tools(context):\n    made.tier = 1\n    return [made]\n"
    )
    tools = built(context)
    assert [tool.tool_name for tool in tools] == [*OWN, "greet"]
    assert getattr(tools[-1], "tier", None) == 1
    assert text(called(tools, "greet")) == "hello from greet"


def test_what_is_broken_is_named_and_the_rest_works(
    context: ToolContext, site: Path, caplog: pytest.LogCaptureFixture
) -> None:
    works = "def tools(context):\n    return [made]\n"
    install(
        site,
        a_missing="import no_such_package_anywhere",
        b_leaves="raise SystemExit('bye')",
        c_fails="def tools(context):\n    return 1 / 0",
        d_none="def tools(context):\n    return None",
        e_no_tool="def tools(context):\n    return ['text']",
        f_tier=TOOL.format(name="odd_tier") + "def tools(context):\n    made.tier = -1\n    return [made]\n",
        g_taken=TOOL.format(name="read_file") + works,
        h_sound=TOOL.format(name="sound") + works,
    )
    with caplog.at_level(logging.WARNING):
        assert names(context) == [*OWN, "sound"]
    said = [record.getMessage() for record in caplog.records if record.name.startswith("tau.")]
    for line, (name, reason) in zip(
        said,
        [
            ("a_missing", "does not load: ModuleNotFoundError"),
            ("b_leaves", "does not load: it tried to end the process (bye)"),
            ("c_fails", "gives no tools: ZeroDivisionError: division by zero"),
            ("d_none", "gives no tools: TypeError"),
            ("e_no_tool", "'text' is no strands tool; it is not used"),
            ("f_tier", "the tier of the tool odd_tier is -1, not 0, 1 or 2; it is not used"),
            ("g_taken", "the tool read_file has the name of one of tau.tools:read_file of tau-terminal"),
        ],
        strict=True,
    ):
        assert line.startswith(f"tau.tools:{name} of tau-odd 1.2")
        assert reason in line


def test_importing_the_registry_loads_nothing_heavy() -> None:
    code = (
        "import sys, tau.tools.registry, tau.tools.context;"
        "print(sorted({'strands', 'pathspec', 'wcwidth'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_tool_of_an_installed_package_is_there(context: ToolContext) -> None:
    tools = {tool.tool_name: tool for tool in build_tools(context)}
    assert getattr(tools["jot_note"], "tier", None) == 2
