"""How tau's own tools become tools of the SDK: a name, a description for models, a schema and a tier."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from strands.tools.decorator import DecoratedFunctionTool, FunctionToolMetadata

from tau.tools.subject import Subject

Preview = Callable[[Mapping[str, Any]], str]
"""Shows a person what a call would do, as a unified diff where it changes a file.

It is given the whole call (``toolUseId``, ``name`` and ``input``) after the gate has judged it, and raises
`Refused` when the call cannot be carried out. It notes with `JudgedCalls.show` what the text was made of, and
the tool does not run when that is another by then.
"""

Doubts = Callable[[Mapping[str, Any]], Sequence[str]]
"""Says, given the arguments of a call, why a person must look at it first, a phrase each; nothing where that
is not so. It changes nothing, and raises nothing for a call that cannot be carried out.
"""


def declare(
    function: Callable[..., Any],
    *,
    name: str,
    tier: int,
    description: str,
    arguments: dict[str, Any],
    subject: Subject | None = None,
    preview: Preview | None = None,
    asks: bool = False,
    wary: bool = False,
    doubts: Doubts | None = None,
    own_words: bool = False,
) -> DecoratedFunctionTool[..., Any]:
    """A tool that calls a function, on a worker thread, with the arguments of a model.

    An ``async`` generator function is run on the agent's loop instead: the texts it yields are shown as
    output while it runs, and what it yields last is the result.

    Args:
        function: Takes the arguments, and the SDK's ``ToolContext`` as ``tool_context``. What it raises as
            `Refused` becomes an error result of that text.
        name: What models call it by.
        tier: 0 looks, 1 writes tau's own state, 2 changes the machine or leaves it.
        description: What it does and what to do next when its result is cut; models read it.
        arguments: The JSON schemas of the arguments; those without a ``default`` must be given.
        subject: What a call acts on; None for a tool whose calls are judged by its name alone.
        preview: Shows a person what a call would change before it is allowed.
        asks: Whether a person answers every single call, whatever its tier and whatever is approved.
        wary: Whether a person answers a call that comes after content from outside: it may have put the
            model up to it.
        doubts: Says of a call why a person answers it, whatever its tier; None where none needs that.
        own_words: Whether its results are tau's own words, and no content from outside.
    """
    required = [argument for argument, schema in arguments.items() if "default" not in schema]
    schema = {"type": "object", "properties": arguments, "required": required}
    # The SDK's decorator would make a schema of the function first, which takes as long as all the rest.
    made: DecoratedFunctionTool[..., Any] = DecoratedFunctionTool(
        name,
        {"name": name, "description": description, "inputSchema": {"json": schema}},
        function,
        FunctionToolMetadata(function, "tool_context"),
    )
    # What the gate reads; a tool of another package may have the same attributes.
    made.tier = tier  # type: ignore[attr-defined]  # the SDK's class does not know them
    made.subject = subject  # type: ignore[attr-defined]  # as above
    made.preview = preview  # type: ignore[attr-defined]  # as above
    made.asks = asks  # type: ignore[attr-defined]  # as above
    made.wary = wary  # type: ignore[attr-defined]  # as above
    made.doubts = doubts  # type: ignore[attr-defined]  # as above
    made.own_words = own_words  # type: ignore[attr-defined]  # as above
    return made
