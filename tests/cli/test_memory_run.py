"""The run that docs/memory.md shows is what the commands print."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_run_in_the_docs_is_what_is_recorded(tmp_path: Path) -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "memory_run.py"))
    shown = (ROOT / "docs" / "memory.md").read_text("utf-8")
    run = script["record"](tmp_path)
    assert "updated project/deploy.md — another day" in run
    assert run.count("Undone: the change of") == 2
    assert script["page"](shown, run) == shown, "python scripts/memory_run.py records it anew"
