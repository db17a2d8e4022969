"""Builds the tools of a run, tau's own and those of others, through the entry point group ``tau.tools``.

An entry point is a factory, ``(ToolContext) -> Sequence`` of strands tools. A tool's ``tier`` says what it
does: 0 looks, 1 writes tau's own state, 2 changes the machine or leaves it, which is also what holds for a
tool that does not say.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tau import plugins
from tau.display import one_line
from tau.tools.context import ToolContext

if TYPE_CHECKING:
    from strands.types.tools import AgentTool

TOOLS = "tau.tools"
"""The entry point group."""

TIERS = (0, 1, 2)

_log = logging.getLogger(__name__)


def build_tools(
    context: ToolContext, *, disabled: Sequence[str] = (), origins: dict[str, str] | None = None
) -> list[AgentTool]:
    """Every tool that can be used, tau's own first, then by entry point.

    What does not load, is no tool, has an impossible tier or a name that another one has already is left out,
    with one warning in the log that names it and its package.

    Args:
        context: Handed to every factory.
        disabled: ``[plugins] disabled``.
        origins: Is filled with the package that each tool comes from, by its name; empty for tau's own.
    """
    from strands.types.tools import AgentTool

    built: list[AgentTool] = []
    owners: dict[str, str] = {}
    for outcome in plugins.outcomes(TOOLS, disabled=disabled):
        if outcome.reason:
            _log.warning("%s", outcome.reason)
        if outcome.state != "loads":
            continue
        origin = outcome.component.phrase()
        try:
            made = list(outcome.loaded(context))
        except Exception as error:  # noqa: BLE001 - foreign code may raise anything
            _log.warning("%s gives no tools: %s", origin, one_line(f"{type(error).__name__}: {error}"))
            continue
        for tool in made:
            if problem := _problem(tool, AgentTool, owners):
                _log.warning("%s: %s; it is not used", origin, problem)
            else:
                owners[tool.tool_name] = origin
                if origins is not None:
                    own = outcome.component.built_in
                    origins[tool.tool_name] = "" if own else outcome.component.distribution
                built.append(tool)
    return built


def _problem(tool: Any, kind: type, owners: dict[str, str]) -> str:
    """Why a tool cannot be used, or the empty string."""
    if not isinstance(tool, kind):
        return f"{one_line(repr(tool), 60)} is no strands tool"
    name = one_line(str(tool.tool_name), 60)  # type: ignore[attr-defined]  # a strands tool has a name
    tier = getattr(tool, "tier", 2)
    if isinstance(tier, bool) or tier not in TIERS:
        return f"the tier of the tool {name} is {one_line(repr(tier), 20)}, not 0, 1 or 2"
    if name in owners:
        return f"the tool {name} has the name of one of {owners[name]}"
    return ""
