"""Real weights that are offered the tools of tau make the calls that plain requests ask for."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

import pytest
from strands.types.content import Messages
from strands.types.tools import ToolSpec

from tau.config.settings import ModelSettings
from tau.models import embedded
from tau.models.embedded.model import EmbeddedModel
from tau.models.embedded.prompts import usable_tools
from tau.tools.context import ToolContext
from tau.tools.registry import build_tools
from tests.models.conftest import kept_weights

WEIGHTS = "qwen2.5-coder-0.5b"
SYSTEM = "Working directory: /home/ada/quail"
ENOUGH = 8
"""Of the ten requests; other processors round otherwise, which may turn a close choice."""

Arguments = Mapping[str, Any]


def edits_debug(given: Arguments) -> bool:
    """Whether the one edit of settings.py is DEBUG = True to DEBUG = False."""
    edits = [(edit["old"], edit["new"]) for edit in given["edits"]]
    return given["path"] == "settings.py" and edits == [("DEBUG = True", "DEBUG = False")]


REQUESTS: tuple[tuple[str, str | None, Callable[[Arguments], bool]], ...] = (
    ("Read config.toml.", "read_file", lambda given: given["path"] == "config.toml"),
    (
        "List the files in the folder docs.",
        "list_files",
        lambda given: given.get("path", "").strip("./") == "docs",
    ),
    (
        "Find all files whose name ends in .toml.",
        "find_files",
        lambda given: given["pattern"] in ("*.toml", "**/*.toml"),
    ),
    (
        "Search the code for os.environ.",
        "search_files",
        lambda given: given["pattern"].replace("\\", "") == "os.environ",
    ),
    (
        "Create a file todo.md with the text 'buy milk'.",
        "write_file",
        lambda given: given == {"path": "todo.md", "content": "buy milk"},
    ),
    ("In settings.py change DEBUG = True to DEBUG = False.", "edit_file", edits_debug),
    ("Run the linter with ruff check.", "shell", lambda given: given["command"].startswith("ruff check")),
    (
        "Fetch https://example.org/news.html.",
        "fetch_url",
        lambda given: given["url"] == "https://example.org/news.html",
    ),
    ("How does a hash table work?", None, lambda given: not given),
    ("Good morning!", None, lambda given: not given),
)
"""A request, the tool it asks for, and whether its arguments are right; none is an example of the prompt."""

ASKED_FOR = {tool for _, tool, _ in REQUESTS if tool}


@pytest.fixture(scope="module")
def specs(tmp_path_factory: pytest.TempPathFactory) -> list[ToolSpec]:
    """All tools as a model is told of them, without that of the fixture package."""
    root = tmp_path_factory.mktemp("work")
    context = ToolContext(directory=root, state_dir=root, session_id="choices")
    return [tool.tool_spec for tool in build_tools(context, disabled=["jot_note"])]


@pytest.fixture(scope="module")
def model() -> Iterator[EmbeddedModel]:
    """The weights, kept between runs in the real user's cache, in a process of their own."""
    made = embedded.build(ModelSettings(weights=WEIGHTS, max_tokens=120), kept_weights(WEIGHTS), os.environ)
    yield made
    made.close()


async def choice(model: EmbeddedModel, specs: list[ToolSpec], text: str) -> tuple[str | None, Arguments]:
    """The tool that is called and its arguments; neither when it answers in words, which are not awaited."""
    messages: Messages = [{"role": "user", "content": [{"text": text}]}]
    name, given = None, ""
    events = model.stream(messages, specs, SYSTEM)
    async for event in events:
        part = cast("dict[str, Any]", event)
        if "contentBlockStart" in part:
            use = part["contentBlockStart"]["start"].get("toolUse")
            if use is None:
                await events.aclose()
                return None, {}
            name = use["name"]
        if "contentBlockDelta" in part:
            given += part["contentBlockDelta"]["delta"]["toolUse"]["input"]
    return name, json.loads(given)


def test_every_tool_that_can_be_asked_for_is_offered_with_a_whole_sentence(specs: list[ToolSpec]) -> None:
    lines = {name: line for name, _, line in usable_tools(specs)}

    assert lines.keys() >= ASKED_FOR
    assert all(lines[name].endswith(".") for name in ASKED_FOR), lines


@pytest.mark.embedded
async def test_plain_requests_lead_to_the_right_calls(model: EmbeddedModel, specs: list[ToolSpec]) -> None:
    wrong = []
    for text, tool, right in REQUESTS:
        name, given = await choice(model, specs, text)
        if name != tool or not right(given):
            wrong.append(f"{text} -> {name} {given}")

    assert len(REQUESTS) - len(wrong) >= ENOUGH, "\n".join(wrong)
