"""Patterns of calls, ``TOOL`` or ``TOOL: PATTERN``, as people write and are shown them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote, urlsplit

from tau import path_patterns
from tau.config.schema import dotted
from tau.config.settings import ApprovalSettings
from tau.display import one_line
from tau.errors import ConfigError

if TYPE_CHECKING:
    from tau.config.load import Loaded
    from tau.config.toml_lines import KeyPath

_SLASHES = re.compile("/+")

STEERING = ("tau.toml", "agents.md", "claude.md")
"""Files that steer tau itself, in lower case: a pattern covers them only when it names them."""

KINDS: dict[str, Literal["command", "path", "url"] | None] = {
    "shell": "command",
    "read_file": "path",
    "list_files": "path",
    "write_file": "path",
    "edit_file": "path",
    "request_file_grant": "path",
    "fetch_url": "url",
    "find_files": None,
    "search_files": None,
    "recall": None,
}
"""What patterns for tau's own tools are about; None for a tool that takes none."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """One entry of ``[approvals]``, or one that a person approved for a session.

    Attributes:
        tool: The tool whose calls it covers.
        text: Which of them; empty for every call.
    """

    tool: str
    text: str = ""

    def __str__(self) -> str:
        return f"{self.tool}: {self.text}" if self.text else self.tool


def parse(entry: str) -> Pattern:
    """An entry, read. ``TOOL: *`` is any call of a tool, as ``TOOL`` is."""
    tool, _, text = entry.partition(":")
    tool, text = tool.strip(), text.strip()
    if KINDS.get(tool) == "path":
        text = re.sub(r"\A(?:\./+)+", "", text)
    return Pattern(tool, "" if text == "*" else text)


def of_tool(patterns: Iterable[Pattern], tool: str) -> list[Pattern]:
    """The patterns for one tool."""
    return [pattern for pattern in patterns if pattern.tool == tool]


# Paths ------------------------------------------------------------------------------------------


def covers_path(text: str, path: str) -> bool:
    """Whether an approved pattern covers a file, by the rules of ignore files.

    A hidden file or directory, and a file of `STEERING`, is covered only by a pattern that names it: to
    change a hook of a repository, or a file that tau obeys, is more than an edit.

    Args:
        text: The pattern, such as ``src/**`` or ``*.md``.
        path: The real path, relative to the working directory; absolute where it lies outside.
    """
    if path.startswith("/") != text.startswith("/"):
        return False
    names = PurePosixPath(path).parts
    named = set(text.split("/"))
    closed = [name for name in names if name.startswith(".")]
    if names and names[-1].casefold() in STEERING:  # on some disks a name is the same in any case
        closed.append(names[-1])
    return all(name in named for name in closed) and matches_path(text, path)


def matches_path(text: str, path: str) -> bool:
    """Whether a pattern matches a path by the rules of ignore files.

    Args:
        text: The pattern; one that begins with ``/`` is anchored to the working directory, or for a path that
            is absolute to the root.
        path: Relative to the working directory, or absolute.
    """
    if path.startswith("/") and not text.startswith("/"):
        return path_patterns.matches(text, PurePosixPath(path).name)
    return path_patterns.matches(text, path.lstrip("/"))


def closed_to(approvals: ApprovalSettings, tool: str) -> Callable[[str], bool]:
    """Says of a path whether calls of a tool on it are denied or asked about.

    Args:
        approvals: ``[approvals]``.
        tool: One whose calls are about paths.
    """
    rules = of_tool(map(parse, (*approvals.deny, *approvals.ask)), tool)
    texts = [pattern.text for pattern in rules]
    if "" in texts:
        return lambda path: True
    return lambda path: any(matches_path(text, path) for text in texts)


# Addresses --------------------------------------------------------------------------------------


def covers_url(text: str, url: str) -> bool:
    """Whether a pattern covers an address: the same scheme, host and port, and the path up to a final ``*``.

    Args:
        text: Such as ``https://docs.python.org/*``.
        url: The whole address.
    """
    try:
        wanted, given = urlsplit(text), urlsplit(url)
        same = (wanted.scheme, wanted.hostname, wanted.port) == (given.scheme, given.hostname, given.port)
    except ValueError:
        return False
    if not same or not wanted.hostname or "@" in given.netloc or "\\" in url:
        return False
    whole = (given.path or "/") + (f"?{given.query}" if given.query else "")
    wanted_path = (wanted.path or "/") + (f"?{wanted.query}" if wanted.query else "")
    if wanted_path.endswith("*"):
        start = wanted_path[:-1]
        # A server resolves "..", also when it is written as an escape.
        climbs = ".." in unquote(given.path)
        return whole.startswith(start) and (start == "/" or not climbs)
    return whole == wanted_path


def mentions_url(text: str, url: str) -> bool:
    """Whether ``ask`` and ``deny`` mean an address: the host and the path count, scheme and port do not.

    Args:
        text: The pattern, with or without a scheme.
        url: The address in its judged form.
    """
    wanted, given = urlsplit(text if "//" in text else f"//{text}"), urlsplit(url)
    if (wanted.hostname or "").rstrip(".") != (given.hostname or "").rstrip("."):
        return False
    # Some servers read an escaped slash as a slash, and several as one.
    start, path = (
        _SLASHES.sub("/", unquote(text).replace("\\", "/")).casefold()
        for text in (wanted.path.removesuffix("*"), given.path)
    )
    return (path or "/").startswith(start or "/")


def host_pattern(url: str) -> str:
    """The pattern that covers the whole site of an address, or the empty string where it has none."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc or "\\" in url:
        return ""
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}{f':{port}' if port else ''}/*"


def named_hosts(patterns: Iterable[Pattern], tool: str) -> frozenset[str]:
    """The hosts that patterns for a tool name, as ``HOST`` or ``HOST:PORT`` in lower case."""
    hosts = set()
    for pattern in of_tool(patterns, tool):
        try:
            parts = urlsplit(pattern.text)
            if parts.hostname:
                hosts.add(f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname)
        except ValueError:
            continue
    return frozenset(hosts)


# Looking at a configuration ----------------------------------------------------------------------


def check(approvals: ApprovalSettings) -> None:
    """Look at every entry of ``[approvals]``.

    Raises:
        ConfigError: One cannot be used, or would guard nothing; names it, and says why.
    """
    for table in ("allow", "ask", "deny"):
        for entry in getattr(approvals, table):
            _refuse(entry, table, where="[approvals]")


def check_files(loaded: Loaded) -> None:
    """Look at every entry of ``[approvals]`` in the files of a run, also in profiles that are not in force.

    Raises:
        ConfigError: As `check`, with the file and the line.
    """
    for layer in loaded.layers:
        at: list[KeyPath] = [(), *(("profiles", name) for name in layer.document.get("profiles", {}))]
        for prefix in at:
            document = layer.document["profiles"][prefix[1]] if prefix else layer.document
            for table, entries in document.get("approvals", {}).items():
                path = (*prefix, "approvals", table)
                for place, entry in enumerate(entries):
                    _refuse(entry, table, where=f"{layer.file.where((*path, place))}: {dotted(path)}")


def _refuse(entry: str, table: str, *, where: str) -> None:
    if problem := _problem(parse(entry), approves=table == "allow"):
        named = f"{where} {table}" if where == "[approvals]" else where
        raise ConfigError(
            f'{named} has "{one_line(entry)}", which cannot be used: {problem}',
            "docs/approvals.md shows what each tool takes",
        )


def _problem(pattern: Pattern, *, approves: bool) -> str:
    """Why an entry cannot be used, or the empty string."""
    own = {tool.casefold(): tool for tool in KINDS}
    meant = own.get(pattern.tool.casefold())
    if meant is None:
        return ""
    if meant != pattern.tool:
        return f"the tool is named {meant}"
    if not pattern.text:
        return ""
    match KINDS[meant]:
        case "command":
            from tau.gate.shell import check_pattern

            return check_pattern(pattern.text, approves=approves)
        case "path":
            return _path_problem(pattern.text)
        case "url":
            return _url_problem(pattern.text, approves=approves)
        case None:
            return f"{meant} takes no pattern, only its name"


def _path_problem(text: str) -> str:
    if text.startswith("~") or ".." in text.split("/"):
        return "a path outside the working directory is written whole, from /"
    try:
        path_patterns.matches(text, ".")
    except ValueError as error:
        return f"it is no pattern of an ignore file: {error}"
    return ""


def _url_problem(text: str, *, approves: bool) -> str:
    try:
        parts = urlsplit(text if "//" in text else f"//{text}")
        host = parts.hostname or ""
    except ValueError:
        return "it is no address"
    if not host or "*" in host:
        return "it names no host, and * stands for the end of a path only"
    if approves and parts.scheme not in ("http", "https"):
        return "an address begins with http:// or https://"
    return ""


def doubts(approvals: ApprovalSettings, tools: Iterable[Any], *, servers: Iterable[str]) -> list[str]:
    """What is odd about ``[approvals]`` in view of the tools that there are, a line each.

    Args:
        approvals: The entries, each of which can be used.
        tools: The strands tools of a run, without those of servers.
        servers: Names of servers, whose tools come later.
    """
    kinds = {tool.tool_name: getattr(tool, "subject", None) for tool in tools}
    later = tuple(f"{name}_" for name in servers)
    lines = []
    for table in ("allow", "ask", "deny"):
        for entry in getattr(approvals, table):
            pattern = parse(entry)
            said = f'[approvals] {table} has "{one_line(entry)}"'
            if pattern.tool not in kinds:
                if not pattern.tool.startswith(later or ("\0",)):
                    near = get_close_matches(pattern.tool, kinds, n=1)
                    hint = f" (did you mean {near[0]}?)" if near else ""
                    lines.append(f"{said}, but there is no tool {pattern.tool}{hint}")
            elif table == "allow" and pattern.tool == "request_file_grant":
                lines.append(f"{said}, but {pattern.tool} asks every time")
            elif pattern.text and kinds[pattern.tool] is None and pattern.tool not in KINDS:
                means = "it covers no call" if table == "allow" else "it means every call"
                lines.append(f"{said}, but {pattern.tool} takes no patterns: {means}")
    return lines
