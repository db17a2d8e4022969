"""The core of the prompt is there before the first paint: it loads no channel, no SDK and no loop."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
import tau.input.completing, tau.input.drafts, tau.input.history, tau.input.images
heavy = "textual prompt_toolkit strands mcp boto3 pydantic httpx tree_sitter asyncio".split()
print([name for name in (*heavy, "tau.conversation", "tau.agent") if name in sys.modules])
"""


def test_it_loads_nothing_heavy() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
