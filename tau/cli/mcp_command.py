"""`tau mcp`: serve task memory and recorded sessions to other agents."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tau.cli.options import load_for, shared_options
from tau.cli.output import say, tell
from tau.ending import EndsAtOnce
from tau.errors import UsageError

if TYPE_CHECKING:
    from tau.config.settings import Settings

_HOST = "127.0.0.1"


@click.command()
@click.option(
    "-C",
    "directory",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Serve this directory instead of the one it is started in.",
)
@click.option("--all", "everywhere", is_flag=True, help="Serve the sessions of every directory.")
@click.option("--http", is_flag=True, help="Serve over HTTP on this machine instead of stdin and stdout.")
@click.option(
    "--host", metavar="ADDRESS", help=f"With --http: listen on this loopback address, else {_HOST}."
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="N",
    help="With --http: listen on this port, else a free one.",
)
@shared_options
def mcp(*, directory: Path | None, everywhere: bool, http: bool, host: str | None, port: int | None) -> int:
    """Serve task memory, session search and recall to other agents.

    A client of the Model Context Protocol starts it, and speaks to it on stdin and stdout. With --http it
    prints an address, and clients bring a token, which is made once.
    """
    with EndsAtOnce():
        _check(http=http, host=host, port=port)
        if directory is not None:
            _enter(directory)
        loaded = load_for("mcp")
        for line in (*loaded.warnings, *loaded.log_problems):
            tell(line)
        if http:
            return _over_http(loaded.settings, host or _HOST, port or 0, everywhere=everywhere)
        return _over_stdio(loaded.settings, everywhere=everywhere)


def _check(*, http: bool, host: str | None, port: int | None) -> None:
    for name, given in (("--host", host), ("--port", port)):
        if given is not None and not http:
            raise UsageError(f"{name} is for --http", "give both, or neither")
    from tau.web.access import is_loopback

    if host is not None and not is_loopback(host):
        raise UsageError(
            f"{host} can be reached by others, who would read your sessions",
            "it serves this machine alone; from another: ssh -L 8765:127.0.0.1:8765, and --port 8765 here",
        )


def _enter(directory: Path) -> None:
    try:
        os.chdir(directory)
    except OSError as error:
        raise UsageError(f"{directory} cannot be entered: {error.strerror}") from error


def _over_stdio(settings: Settings, *, everywhere: bool) -> int:
    if sys.stdin.isatty():
        tell("this speaks MCP on stdin and stdout, for a client that starts it; Ctrl+C ends it")
    from tau.mcp_server.opening import opened
    from tau.mcp_server.server import build
    from tau.mcp_server.stdio import serve_stdio

    with opened(settings, everywhere=everywhere) as offers:
        return serve_stdio(build(offers, where=settings.directory_text))


def _over_http(settings: Settings, host: str, port: int, *, everywhere: bool) -> int:
    from tau.mcp_server.token import VARIABLE, find_token

    token = find_token(settings.places, os.environ)
    from tau.mcp_server.http import listen, serve_http
    from tau.mcp_server.opening import opened
    from tau.mcp_server.server import build

    listening = listen(host, port)
    if token.path is None:
        tell(f"clients bring the token of {VARIABLE}")
    elif sys.stderr.isatty():
        tell(f"clients bring the token {token.value}, which is kept in {token.path}; Ctrl+C ends")
    else:  # it may be a log
        tell(f"clients bring the token that is kept in {token.path}")
    with opened(settings, everywhere=everywhere) as offers:
        server = build(offers, where=settings.directory_text)
        return serve_http(server, listening, host=host, token=token.value, say=say)
