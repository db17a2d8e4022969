"""Patterns of calls, ``TOOL`` or ``TOOL: PATTERN``, as people write and are shown them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from pathspec import PathSpec

STEERING = ("tau.toml", "AGENTS.md", "CLAUDE.md")
"""Files that steer tau itself: a pattern covers them only when it ends with their name."""


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
    text = text.strip()
    return Pattern(tool.strip(), "" if text == "*" else text)


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
    if names and names[-1] in STEERING:
        closed.append(names[-1])
    return all(name in named for name in closed) and matches_path(text, path)


def matches_path(text: str, path: str) -> bool:
    """Whether a pattern matches a path by the rules of ignore files: how ``ask`` and ``deny`` read it."""
    return _spec(text).match_file(path.lstrip("/"))


@lru_cache(maxsize=256)
def _spec(text: str) -> PathSpec[Any]:
    from pathspec import PathSpec

    # In an ignore file "!" takes back and "#" comments; in a pattern that approves they are characters.
    return PathSpec.from_lines("gitignore", [re.sub(r"\A([!#])", r"\\\1", text)])


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
    """Whether ``ask`` and ``deny`` mean an address: the host and the path count, scheme and port do not."""
    try:
        wanted, given = urlsplit(text if "//" in text else f"//{text}"), urlsplit(url)
        same = (wanted.hostname or "").rstrip(".") == (given.hostname or "").rstrip(".")
    except ValueError:
        return True  # what cannot be read is not let through
    start = wanted.path.removesuffix("*")
    return same and (given.path or "/").startswith(start or "/")


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
