"""A call is carried out as it was judged and shown, whatever is put on the way of its path meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from strands import Agent
from strands.hooks import BeforeToolCallEvent, HookProvider, HookRegistry

from tau.testing.scripted import scripted_model
from tau.tools import edit_file, list_files, paths, read_file, request_file_grant, write_file
from tau.tools.changing import Changer
from tau.tools.context import ToolContext
from tau.tools.refusals import Refused
from tests.tools.conftest import agent_with, called, results, text, use

EDITS = [{"old": "on: push", "new": "on: never"}]
ELSEWHERE = "The path leads elsewhere than when this call was judged, so it was not carried out; call again"


class Judged(HookProvider):
    """Judges calls by their paths and shows them as the gate does, then lets something happen.

    Args:
        context: What calls are held to.
        happen: Is called with the id of the call before it runs.
        shows: Whether a call that has a preview is shown.
    """

    def __init__(self, context: ToolContext, happen: Callable[[str], None], *, shows: bool = False) -> None:
        self._context = context
        self._happen = happen
        self._shows = shows

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        registry.add_callback(BeforeToolCallEvent, self.before)

    def before(self, event: BeforeToolCallEvent) -> None:
        call = event.tool_use
        self._context.calls.begin(call["toolUseId"], paths.resolved(self._context, call["input"]["path"]))
        if self._shows:
            event.selected_tool.preview(call)  # type: ignore[union-attr]  # a tool of tau
        self._happen(call["toolUseId"])


@pytest.fixture
def project(context: ToolContext) -> Path:
    """A directory with sources, and one beside them with a file that is not to be touched."""
    for name, content in (("src/ci.yml", "on: push\n"), (".github/ci.yml", "on: push # SECRET\n")):
        path = context.directory / name
        path.parent.mkdir()
        path.write_text(content)
    return context.directory


def plant(project: Path) -> None:
    """Put a link to the other directory in the place of the sources."""
    if not (project / "src").is_symlink():
        (project / "src").rename(project / "moved")
        (project / "src").symlink_to(".github")


def changer(context: ToolContext) -> Changer:
    return Changer(context, lambda call: edit_file.plan(context, call))


def judge(context: ToolContext, call: dict[str, Any]) -> None:
    context.calls.begin(call["toolUseId"], paths.resolved(context, call["input"]["path"]))


# A link that is put on the way ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tools", "name", "arguments"),
    [
        (write_file.tools, "write_file", {"path": "src/new.yml", "content": "on: never\n"}),
        (edit_file.tools, "edit_file", {"path": "src/ci.yml", "edits": EDITS}),
        (edit_file.tools, "edit_file", {"path": "src/ci.yml", "edits": [{"old": "on: pusj", "new": ""}]}),
        (read_file.tools, "read_file", {"path": "src/ci.yml"}),
        (list_files.tools, "list_files", {"path": "src"}),
    ],
)
def test_after_the_call_was_judged(
    context: ToolContext, project: Path, tools: Any, name: str, arguments: dict[str, Any]
) -> None:
    result = called(tools(context), name, [Judged(context, lambda _: plant(project))], **arguments)
    assert (result["status"], text(result)) == ("error", f"Error: {ELSEWHERE}")
    assert (project / ".github" / "ci.yml").read_text() == "on: push # SECRET\n"
    assert [path.name for path in (project / ".github").iterdir()] == ["ci.yml"]


@pytest.mark.parametrize("shows", [False, True])
def test_after_a_grant_was_judged(context: ToolContext, tmp_path: Path, shows: bool) -> None:
    asked, other = tmp_path.resolve() / "asked", tmp_path.resolve() / "other"
    asked.mkdir()
    other.mkdir()

    def turn(_: str) -> None:
        asked.rmdir()
        asked.symlink_to(other)

    hooks = [Judged(context, turn, shows=shows)]
    arguments = {"path": str(asked), "reason": "the task"}
    result = called(request_file_grant.tools(context), "request_file_grant", hooks, **arguments)
    assert (result["status"], text(result)) == ("error", f"Error: {ELSEWHERE}")
    assert not context.grants.covers(other)
    assert not context.grants.covers(asked)


@pytest.mark.parametrize(
    ("tools", "arguments"),
    [
        (write_file.tools, {"path": "src/new.yml", "content": "on: never\n"}),
        (edit_file.tools, {"path": "src/ci.yml", "edits": EDITS}),
        (request_file_grant.tools, {"path": "../asked", "reason": "the task"}),
    ],
)
def test_before_the_person_is_asked(
    context: ToolContext, project: Path, tools: Any, arguments: dict[str, Any]
) -> None:
    call = use(**arguments)
    judge(context, call)
    plant(project)
    (context.directory / ".." / "asked").symlink_to("other")
    (tool,) = tools(context)
    with pytest.raises(Refused) as refused:
        tool.preview(call)
    assert str(refused.value) == ELSEWHERE
    assert context.calls.held("t0")[1] == ""  # there is nothing that was shown


def test_an_escape_that_is_another_name_by_then(context: ToolContext) -> None:
    """A text is read by its escapes only where nothing has it for a name."""
    (context.directory / "ab").write_text("one\n")

    def appear(_: str) -> None:
        (context.directory / "a\\x62").write_text("two\n")

    result = called(read_file.tools(context), "read_file", [Judged(context, appear)], path="a\\x62")
    assert text(result) == f"Error: {ELSEWHERE}"


def test_a_call_that_is_made_again_is_judged_again(context: ToolContext, project: Path) -> None:
    reads = [("read_file", {"path": "src/ci.yml"})] * 2
    agent = agent_with(read_file.tools(context), *reads, hooks=[Judged(context, lambda _: plant(project))])
    agent("go")
    assert [text(result) for result in results(agent)] == [f"Error: {ELSEWHERE}", "     1\ton: push # SECRET"]


def test_calls_that_stay_what_they_were_run(context: ToolContext, project: Path) -> None:
    (project / "link").symlink_to("src")
    agent = agent_with(
        [tool for module in (read_file, list_files, edit_file, write_file) for tool in module.tools(context)],
        ("list_files", {"path": "link/."}),
        ("read_file", {"path": "link/ci.yml"}),
        ("edit_file", {"path": "link/ci.yml", "edits": EDITS}),
        ("write_file", {"path": "link/deep/new.yml", "content": "a\n"}),
        hooks=[Judged(context, lambda _: None)],
    )
    agent("go")
    assert [result["status"] for result in results(agent)] == ["success"] * 4
    assert (project / "src" / "ci.yml").read_text() == "on: never\n"
    assert (project / "src" / "deep" / "new.yml").read_text() == "a\n"


# What was shown ---------------------------------------------------------------------------------------------


def test_a_call_that_was_denied_binds_no_later_one(context: ToolContext, project: Path) -> None:
    file = project / "src" / "ci.yml"
    tool = changer(context)
    first, later = (use(use_id, path="src/ci.yml", edits=EDITS) for use_id in ("a", "b"))
    judge(context, first)
    tool.preview(first)  # the person says no, changes the file, and allows such calls
    file.write_text("on: push\nname: x\n")
    judge(context, later)
    assert tool.run(later, None).startswith("Edited src/ci.yml: 1 edit")
    assert file.read_text() == "on: never\nname: x\n"


@pytest.mark.parametrize("ended", [False, True])
def test_an_id_that_comes_again_in_a_later_turn(context: ToolContext, project: Path, ended: bool) -> None:
    tool, call = changer(context), use("call_0", path="src/ci.yml", edits=EDITS)
    judge(context, call)
    tool.preview(call)
    if ended:
        context.calls.end("call_0")
    (project / "src" / "ci.yml").write_text("on: push\nname: x\n")
    other = use("call_0", path=".github/ci.yml", edits=EDITS)
    judge(context, other)
    assert tool.run(other, None).startswith("Edited .github/ci.yml: 1 edit")
    context.calls.end("call_0")
    judge(context, call)
    assert tool.run(call, None).startswith("Edited src/ci.yml: 1 edit")


def test_the_same_call_twice_is_held_to_what_was_shown_of_each(context: ToolContext, project: Path) -> None:
    file = project / "src" / "ci.yml"
    tool = changer(context)
    calls = [use(use_id, path="src/ci.yml", edits=EDITS) for use_id in ("a", "b")]
    for call, content in zip(calls, ("on: push\n", "on: push\nname: x\n"), strict=True):
        file.write_text(content)
        judge(context, call)
        tool.preview(call)
    with pytest.raises(Refused, match="changed after the person was shown this call"):
        tool.run(calls[0], None)
    tool.run(calls[1], None)
    assert file.read_text() == "on: never\nname: x\n"


def test_calls_at_the_same_time_are_held_by_themselves(context: ToolContext, project: Path) -> None:
    names = ["src/ci.yml", ".github/ci.yml"]
    uses = [{"name": "edit_file", "input": {"path": name, "edits": EDITS}, "id": name} for name in names]
    agent = Agent(
        model=scripted_model({"tools": uses}, "done"),
        tools=list(edit_file.tools(context)),
        callback_handler=None,
        hooks=[
            Judged(context, lambda use_id: plant(project) if use_id == "src/ci.yml" else None, shows=True)
        ],
    )
    agent("go")
    answers = {result["toolUseId"]: result for result in results(agent)}
    assert text(answers["src/ci.yml"]) == f"Error: {ELSEWHERE}"
    assert answers[".github/ci.yml"]["status"] == "success"
    assert (project / "moved" / "ci.yml").read_text() == "on: push\n"
    assert (project / ".github" / "ci.yml").read_text() == "on: never # SECRET\n"


def test_what_is_kept_of_a_call(context: ToolContext) -> None:
    calls, real = context.calls, Path("/a")
    assert calls.held("x") == (None, "")
    calls.begin("x", real)
    calls.show("x", "one")
    calls.show("x", "two")
    assert calls.held("x") == (real, "two")
    calls.begin("x", None)
    assert calls.held("x") == (None, "")
    calls.begin("x", real)
    calls.end("x")
    calls.end("x")
    assert calls.held("x") == (None, "")
