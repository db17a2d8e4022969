"""The tables of the docs name each tool that writes tau's own files with just the arguments it takes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tau.tools import goal_progress, record_lesson, remember

PAGE = (Path(__file__).parents[2] / "docs" / "tools.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        (remember.NAME, remember.ARGUMENTS),
        (record_lesson.NAME, record_lesson.ARGUMENTS),
        ("goal_progress", goal_progress.ARGUMENTS),
        ("agent_info", {}),
    ],
)
def test_a_table_names_its_arguments(name: str, arguments: dict[str, Any]) -> None:
    (row,) = re.findall(rf"^\| `{name}` \|([^|]*)\|", PAGE, re.MULTILINE)
    assert re.findall(r"`(\w+)`", row) == list(arguments)
