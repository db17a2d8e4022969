"""How tau's own tools become tools of the SDK: a name, a description for models, a schema and a tier."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from strands import tool
from strands.tools.decorator import DecoratedFunctionTool


def declare(
    function: Callable[..., Any], *, name: str, tier: int, description: str, arguments: dict[str, Any]
) -> DecoratedFunctionTool[..., Any]:
    """A tool that calls a function, on a worker thread, with the arguments of a model.

    Args:
        function: Takes the arguments, and the SDK's ``ToolContext`` as ``tool_context``. What it raises as
            `Refused` becomes an error result of that text.
        name: What models call it by.
        tier: 0 looks, 1 writes tau's own state, 2 changes the machine or leaves it.
        description: What it does and what to do next when its result is cut; models read it.
        arguments: The JSON schemas of the arguments; those without a ``default`` must be given.
    """
    required = [argument for argument, schema in arguments.items() if "default" not in schema]
    schema = {"type": "object", "properties": arguments, "required": required}
    made: DecoratedFunctionTool[..., Any] = tool(
        name=name, description=description, inputSchema={"json": schema}, context=True
    )(function)
    made.tier = tier  # type: ignore[attr-defined]  # what the runner and the gate read
    return made
