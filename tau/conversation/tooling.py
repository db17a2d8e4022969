"""What the model may use, in words: what each tool may do, where it is from, and how servers stand."""

from __future__ import annotations

from collections.abc import Sequence

from tau.conversation.state import ConversationState, ServerInfo, ToolInfo, ToolListing
from tau.display import one_line

TIERS = ("looks", "writes tau's own state", "changes things")
"""What a tool may do, by its tier."""


def may(tool: ToolInfo) -> str:
    """What a tool may do, in a few words."""
    asks = ", asks every time" if tool.asks else ", asks first" if tool.tier == 2 else ""
    return TIERS[tool.tier] + asks


def origin(tool: ToolInfo) -> str:
    """Where a tool comes from."""
    if tool.server:
        return f"MCP server {one_line(tool.server)}"
    return f"package {one_line(tool.package)}" if tool.package else "built in"


def stands(server: ServerInfo) -> str:
    """How a server stands, on one line."""
    match server.state:
        case "waiting":
            return "is started with the first model"
        case "connecting":
            return "is being connected…"
        case "connected":
            return f"connected, {server.tools} tool{'' if server.tools == 1 else 's'}"
        case "failed":
            return f"failed: {one_line(server.reason)}"


def about(state: ConversationState) -> list[str]:
    """The model and its window, a line each."""
    model, info = "not ready", state.model
    if info is not None:
        model = f"{info.provider} · {info.model_id}"
    window = f"{info.context_window:,} tokens" if info is not None and info.context_window else "unknown"
    filled = "unknown" if state.context_tokens is None else f"about {state.context_tokens:,} tokens"
    return [
        f"Model: {one_line(state.role)} → {one_line(model)}",
        f"Context: {state.context}, window {state.window_size} messages",
        f"Window of the model: {window}; taken: {filled}",
    ]


def listing(tools: Sequence[ToolInfo], servers: Sequence[ServerInfo], why_none: str) -> ToolListing:
    """The listing.

    Args:
        tools: What the model may use.
        servers: How the servers of tools stand.
        why_none: What is said where there are no tools.
    """
    lines = [f"{tool.name} · {may(tool)} · {origin(tool)}" for tool in tools] or [why_none]
    lines += [f"MCP server {one_line(server.name)}: {stands(server)}" for server in servers]
    settled = bool(tools) and all(server.state in ("connected", "failed") for server in servers)
    return ToolListing(tools, servers, lines, settled)
