"""`request_file_grant`: what it asks the person, what it opens, and what it never asks for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from strands.hooks import BeforeToolCallEvent, HookProvider, HookRegistry

from tau.tools import edit_file, list_files, paths, read_file, request_file_grant, write_file
from tau.tools.context import ToolContext
from tau.tools.refusals import Refused
from tests.tools.conftest import agent_with, called, make_context, results, text, use


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory with something to read, beside the working directory."""
    home = tmp_path.resolve() / "home"
    (home / "notes" / "old").mkdir(parents=True)
    (home / "notes" / "todo.txt").write_text("milk\n")
    (home / ".ssh").mkdir()
    (home / ".ssh" / "id").write_text("secret\n")
    monkeypatch.setenv("HOME", str(home))
    return home


def ask(context: ToolContext, path: Any, reason: Any = "the task needs it") -> str:
    """What the person would be asked."""
    (tool,) = request_file_grant.tools(context)
    return str(tool.preview(use(path=path, reason=reason)))  # type: ignore[attr-defined]  # declared by the tool kit


def grant(context: ToolContext, path: str, hooks: Any = ()) -> dict[str, Any]:
    return called(
        request_file_grant.tools(context), "request_file_grant", hooks, path=path, reason="the task"
    )


def test_every_call_asks(context: ToolContext) -> None:
    (tool,) = request_file_grant.tools(context)
    assert (tool.tier, tool.asks) == (0, True)  # type: ignore[attr-defined]  # declared by the tool kit
    assert (tool.subject.kind, tool.subject.argument) == ("path", "path")  # type: ignore[attr-defined]  # as above
    assert tool.tool_spec["inputSchema"]["json"]["required"] == ["path", "reason"]


def test_what_the_person_is_asked(context: ToolContext, outside: Path) -> None:
    (context.directory / "link").symlink_to(outside / "notes")
    directory = f"{outside}/notes is a directory with everything in it."
    assert (
        ask(context, "~/notes") == ask(context, "link/") == ask(context, "../home/notes/old/..") == directory
    )
    assert ask(context, "~/notes/todo.txt") == f"{outside}/notes/todo.txt is a file."
    assert ask(context, "~/no\nthing") == f"{outside}/no\\nthing is nothing yet."
    assert ask(context, "~/.ssh/id") == f"{outside}/.ssh/id is a file. .ssh is where secrets are kept."
    with pytest.raises(Refused):
        paths.readable(context, "~/notes")  # asking opens nothing


def test_a_directory_is_opened_with_everything_in_it(context: ToolContext, outside: Path) -> None:
    result = grant(context, "~/notes")
    assert result["status"] == "success"
    assert text(result) == (
        f"The person opened {outside}/notes for this run: list_files, find_files, search_files and read_file"
        " work there. Every change there is asked about by itself."
    )
    assert "milk" in text(called(read_file.tools(context), "read_file", path="~/notes/todo.txt"))
    assert "old/" in text(called(list_files.tools(context), "list_files", path=str(outside / "notes")))
    with pytest.raises(Refused):
        paths.readable(context, "~/.ssh/id")


def test_a_file_is_opened_by_itself_and_can_be_changed(context: ToolContext, outside: Path) -> None:
    assert "read_file shows it" in text(grant(context, "~/notes/todo.txt"))
    edits = [{"old": "milk", "new": "bread"}]
    result = called(edit_file.tools(context), "edit_file", path="~/notes/todo.txt", edits=edits)
    assert text(result).startswith(f"Edited {outside}/notes/todo.txt: 1 edit")
    assert (outside / "notes" / "todo.txt").read_text() == "bread\n"
    for path in ("~/notes", "~/notes/other.txt"):
        with pytest.raises(Refused):
            paths.writable(context, path)


def test_what_is_not_there_yet_can_be_made(context: ToolContext, outside: Path) -> None:
    assert "there is nothing yet, and write_file can make a file there" in text(
        grant(context, "~/notes/new.txt")
    )
    assert (
        called(write_file.tools(context), "write_file", path="~/notes/new.txt", content="a\n")["status"]
        == "success"
    )
    assert (outside / "notes" / "new.txt").read_text() == "a\n"


def test_a_grant_ends_with_the_run(context: ToolContext, outside: Path) -> None:
    grant(context, "~/notes")
    again = make_context(context.directory)
    with pytest.raises(Refused):
        paths.readable(again, "~/notes/todo.txt")


class Meanwhile(HookProvider):
    """Shows a call as the gate does, then lets something happen before it runs."""

    def __init__(self, happen: Any) -> None:
        self.happen = happen

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        registry.add_callback(BeforeToolCallEvent, self.before)

    def before(self, event: BeforeToolCallEvent) -> None:
        event.selected_tool.preview(event.tool_use)  # type: ignore[union-attr]  # a tool of tau
        self.happen()


@pytest.mark.parametrize("other", ["link", "directory"])
def test_what_is_shown_is_what_is_opened(context: ToolContext, outside: Path, other: str) -> None:
    asked = outside / "asked"
    asked.write_text("harmless\n")

    def change() -> None:
        asked.unlink()
        if other == "link":
            asked.symlink_to(outside / ".ssh")
        else:
            asked.mkdir()

    result = grant(context, "~/asked", [Meanwhile(change)])
    assert result["status"] == "error"
    assert "changed after the person was asked, so it was not opened; ask again" in text(result)
    for path in ("~/asked", "~/.ssh/id"):
        with pytest.raises(Refused):
            paths.readable(context, path)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/", "/ is too much to open as a whole; ask for the file or directory in it that is needed"),
        ("~", "is too much to open as a whole"),
        ("~/..", "is too much to open as a whole"),
        ("link-home", "is too much to open as a whole"),
        (".", ". is in the working directory and needs no grant; use it"),
        ("sub/x", "sub/x is in the working directory and needs no grant; use it"),
        ("/proc/self/environ", "What is in /proc is not made of files but of this machine's state"),
        ("/dev/null", "What is in /dev is not made of files"),
        ("STATE/spill", "tau's own files are not opened"),
        ("DATA", "tau's own files are not opened"),
        ("DATA/..", "has tau's own files in it; ask for the file or directory in it that is needed"),
        ("", "The path is empty"),
        ("a\0b", "The path has a NUL character"),
        (None, "The argument path is missing"),
    ],
)
def test_what_is_never_asked(tmp_path: Path, outside: Path, path: str | None, reason: str) -> None:
    data, state = tmp_path / "share" / "tau", tmp_path / "state"
    context = make_context(tmp_path.resolve() / "work", state_dir=state, own=(data,))
    (context.directory / "link-home").symlink_to(outside)
    if path is not None:
        path = path.replace("STATE", str(state)).replace("DATA", str(data))
    with pytest.raises(Refused) as refused:
        ask(context, path)
    assert reason in str(refused.value)
    assert "\n" not in str(refused.value)
    if path is not None:
        assert reason in text(grant(context, path))


def test_a_reason_is_given(context: ToolContext, outside: Path) -> None:
    for reason, why in ((None, "The argument reason is missing"), (" \n", "reason is empty")):
        with pytest.raises(Refused, match=why):
            ask(context, "~/notes", reason)


def test_what_is_open_already_is_not_asked_again(context: ToolContext, outside: Path) -> None:
    grant(context, "~/notes")
    with pytest.raises(Refused, match=r"notes/todo\.txt is open already; use it"):
        ask(context, "~/notes/todo.txt")


def test_what_is_there_makes_no_difference_before_the_person_answers(
    context: ToolContext, outside: Path
) -> None:
    for path in ("~/notes/todo.txt", "~/notes/nothing", "~/.ssh"):
        assert ask(context, path).startswith(str(outside))


def test_the_refusal_of_other_tools_leads_here(context: ToolContext, outside: Path) -> None:
    agent = agent_with(
        [*read_file.tools(context), *request_file_grant.tools(context)],
        ("read_file", {"path": "~/notes/todo.txt"}),
        ("request_file_grant", {"path": "~/notes/todo.txt", "reason": "to see what is to be done"}),
        ("read_file", {"path": "~/notes/todo.txt"}),
    )
    agent("go")
    first, _, last = results(agent)
    assert "request_file_grant asks the person to open it" in text(first)
    assert text(last) == "     1\tmilk"
