"""A tool of a server as a tool of the agent: what models are told of it, and what its results become."""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from mcp import types
from mcp.shared.exceptions import MCPError
from strands.types._events import ToolResultEvent
from strands.types.tools import AgentTool, ToolGenerator, ToolSpec, ToolUse
from typing_extensions import override

from tau.display import one_line, visible
from tau.tools.mcp_connection import ServerFailed
from tau.tools.read_file import IMAGE_BYTES

if TYPE_CHECKING:
    from concurrent.futures import Future

    from strands.types.tools import ToolResult, ToolResultContent

DESCRIPTION_CHARS = 4_000
SCHEMA_CHARS = 50_000
"""Longest input schema, as JSON, that is told to a model."""

_POLL = 0.05
_IMAGES = {
    "image/png": "png",
    "image/jpeg": "jpeg",
    "image/jpg": "jpeg",
    "image/gif": "gif",
    "image/webp": "webp",
}
_TEXTS = (
    "application/json",
    "application/xml",
    "application/javascript",
    "application/yaml",
    "application/x-yaml",
)
_SAID = ("description", "title", "$comment")

Run = Callable[[str, Mapping[str, Any]], "Future[types.CallToolResult]"]
"""Calls a tool by its server-side name, on the loop of the servers."""


class UnfitTool(ValueError):
    """A tool of a server that cannot be used; the text says why."""


class McpTool(AgentTool):
    """A tool of a server.

    Args:
        server: The server's name.
        tool: What the server says of the tool.
        name: What models call it by.
        tier: As the person's configuration has it; nothing a server says changes it.
        run: Calls it.

    Raises:
        UnfitTool: Its input schema cannot be told to a model.
    """

    def __init__(self, server: str, tool: types.Tool, *, name: str, tier: int, run: Run) -> None:
        super().__init__()
        self.tier = tier
        self.subject = None
        self.preview = None
        self.asks = False
        self._server = server
        self._theirs = tool.name
        self._run = run
        description = _shown(tool.description or f"{tool.name}, a tool of the MCP server {server}")
        self._spec: ToolSpec = {
            "name": name,
            "description": description,
            "inputSchema": {"json": _schema(tool.input_schema)},
        }

    @property
    def tool_name(self) -> str:
        """What models call it by."""
        return self._spec["name"]

    @property
    def tool_spec(self) -> ToolSpec:
        """What models are told."""
        return self._spec

    @property
    def tool_type(self) -> str:
        """The kind of tool, for the SDK."""
        return "mcp"

    @override
    async def stream(
        self, tool_use: ToolUse, invocation_state: dict[str, Any], **kwargs: Any
    ) -> ToolGenerator:
        """Call the server; what goes wrong becomes an error result of one line."""
        cancelled = getattr(invocation_state.get("agent"), "_cancel_signal", None)
        content, is_error = await self._answer(tool_use["input"] or {}, cancelled)
        result: ToolResult = {
            "toolUseId": tool_use["toolUseId"],
            "status": "error" if is_error else "success",
            "content": content,
        }
        yield ToolResultEvent(result)

    async def _answer(
        self, arguments: Mapping[str, Any], cancelled: threading.Event | None
    ) -> tuple[list[ToolResultContent], bool]:
        if not _encodable(arguments):
            return _error("The arguments have half a surrogate pair in them, which cannot be sent"), True
        running = self._run(self._theirs, arguments)
        waiting = asyncio.wrap_future(running)
        try:
            while not waiting.done():
                if cancelled is not None and cancelled.is_set():
                    return _error(
                        "The call was cancelled; the server may have carried it out all the same"
                    ), True
                await asyncio.wait({waiting}, timeout=_POLL)
            if waiting.cancelled():
                return _error(f"The MCP server {self._server} was closed before it answered"), True
            return contents(waiting.result()), bool(waiting.result().is_error)
        except ServerFailed as error:
            return _error(f"The MCP server {self._server} failed: {error.reason} ({error.hint})"), True
        except MCPError as error:
            said = one_line(str(error), 2_000)
            return _error(f"The MCP server {self._server} refuses the call: {said}"), True
        finally:
            waiting.cancel()


def _encodable(arguments: Mapping[str, Any]) -> bool:
    try:
        json.dumps(arguments, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _error(text: str) -> list[ToolResultContent]:
    return [{"text": text}]


def contents(result: types.CallToolResult) -> list[ToolResultContent]:
    """The blocks of a result, of which there is at least one.

    Text and images are carried over. What models cannot take is named. Structured content counts where a
    result has nothing else, since servers repeat it as text.
    """
    blocks = [_block(content) for content in result.content]
    if not blocks and result.structured_content is not None:
        blocks = [{"text": json.dumps(result.structured_content, ensure_ascii=False)}]
    return blocks or [{"text": "[The tool returned nothing.]"}]


def _block(content: Any) -> ToolResultContent:
    if isinstance(content, types.TextContent):
        return {"text": content.text}
    if isinstance(content, types.ImageContent):
        return _data(content.data, content.mime_type, "image")
    if isinstance(content, types.AudioContent):
        return _data(content.data, content.mime_type, "audio")
    if isinstance(content, types.ResourceLink):
        parts = filter(None, (content.name, content.description, str(content.uri)))
        return {"text": "[Resource: " + one_line(" · ".join(parts), 1_000) + "]"}
    if isinstance(content, types.EmbeddedResource):
        resource = content.resource
        if isinstance(resource, types.TextResourceContents):
            return {"text": resource.text}
        return _data(resource.blob, resource.mime_type or "", "resource")
    return {"text": f"[Content of the kind {one_line(type(content).__name__, 60)} is left out.]"}


def _data(encoded: str, kind: str, noun: str) -> ToolResultContent:
    """Data in base64: an image or text if it is such, else a note of what is left out."""
    shown = one_line(kind, 60) or "an unknown type"
    try:
        data = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return {"text": f"[Content of {shown} is left out: it is not valid base64.]"}
    kind = kind.partition(";")[0].strip().lower()
    if kind in _IMAGES:
        if len(data) > IMAGE_BYTES:
            return {"text": f"[An image of {len(data):,} bytes is left out; {IMAGE_BYTES:,} is the most.]"}
        return {"image": {"format": _IMAGES[kind], "source": {"bytes": data}}}  # type: ignore[typeddict-item]  # one of the SDK's formats
    if noun == "resource" and (
        kind.startswith("text/") or kind in _TEXTS or kind.endswith(("+json", "+xml"))
    ):
        return {"text": data.decode("utf-8", "replace")}
    return {"text": f"[Content of {shown}, {len(data):,} bytes, is left out: models cannot take it.]"}


def _schema(given: Mapping[str, Any]) -> dict[str, Any]:
    """The input schema as it is told to a model.

    Raises:
        UnfitTool: It is none of an object, or far too long.
    """
    schema = _cleaned(dict(given))
    if schema.get("type", "object") != "object":
        raise UnfitTool("its arguments are not an object")
    schema = {"properties": {}, **schema, "type": "object"}
    try:
        length = len(json.dumps(schema))
    except (TypeError, ValueError, RecursionError) as error:
        raise UnfitTool("its arguments cannot be described") from error
    if length > SCHEMA_CHARS:
        raise UnfitTool(
            f"the description of its arguments has {length:,} characters; {SCHEMA_CHARS:,} is the most"
        )
    return schema


def _cleaned(part: Any) -> Any:
    """A part of a schema with its prose made visible and cut; names stay as they are."""
    if isinstance(part, dict):
        return {
            key: _shown(value) if key in _SAID and isinstance(value, str) else _cleaned(value)
            for key, value in part.items()
        }
    if isinstance(part, list):
        return [_cleaned(value) for value in part]
    return part


def _shown(text: str) -> str:
    return visible(text[:DESCRIPTION_CHARS])[:DESCRIPTION_CHARS]
