"""A scripted model in one call, for tests of tools, hooks and stores with a real strands agent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tau.models.script import parse_script
from tau.models.scripted_model import Cursor, ScriptedModel


def scripted_model(*steps: str | dict[str, Any], record: Path | None = None) -> ScriptedModel:
    """A strands model that answers with these steps in turn; the last one repeats.

    Args:
        steps: Steps as a script file has them; a text stands for ``{"text": …}``.
        record: The file each request is appended to, one JSON object a line, or None.

    Raises:
        ConfigError: A step cannot be used; the message says which and why.
    """
    given = [{"text": step} if isinstance(step, str) else step for step in steps]
    return ScriptedModel(Cursor(parse_script(given, "The script")), record=record)
