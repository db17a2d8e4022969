"""`tau tui`, `tau chat` and `tau run`: settings, a request, and the channel that is asked for."""

from __future__ import annotations

import sys
from typing import Any

import click

from tau.cli.options import Loaded, conversation_options, load_for, open_request
from tau.cli.output import tell
from tau.errors import UsageError


@click.command()
@conversation_options
def tui(**options: Any) -> int:
    """Open the full-screen app."""
    request = open_request("tui", read_only_ok=True, **options)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("tau tui needs a terminal", "use tau chat in pipes and scripts")
    loaded = load_for(request.channel)
    from tau.tui import run

    return run(loaded.settings, request, warnings=[*loaded.warnings, *loaded.log_problems])


@click.command()
@click.argument("prompt", required=False)
@conversation_options
def chat(prompt: str | None, **options: Any) -> int:
    """Talk line by line; one line is one message.

    Replies alone go to stdout, all else to stderr. On a terminal PROMPT is the first message. In a pipe every
    line of stdin is a message; with PROMPT that one is answered and stdin is not read.
    """
    request = open_request("terminal", **options)
    loaded = _load_and_warn(request.channel)
    from tau.line.chat import run_chat

    return run_chat(loaded.settings, request, prompt, notices=loaded.log_problems)


@click.command()
@click.argument("prompt", required=False)
@click.option("--json", "as_json", is_flag=True, help="Write events as JSON, one object a line.")
@conversation_options
def run(prompt: str | None, *, as_json: bool, **options: Any) -> int:
    """Answer PROMPT and exit.

    Without PROMPT, or with "-", it is read from stdin; text piped in beside a PROMPT goes below it.
    """
    request = open_request("json" if as_json else "run", **options)
    loaded = _load_and_warn(request.channel)
    from tau.line.run import run_once, whole_prompt

    text = whole_prompt(prompt)
    return run_once(loaded.settings, request, text, as_json=as_json, notices=loaded.log_problems)


def _load_and_warn(channel: str) -> Loaded:
    loaded = load_for(channel)
    for warning in loaded.warnings:
        tell(warning)
    return loaded
