"""`tau tui`, `tau chat` and `tau run`: settings, a request, and the channel that is asked for."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tau.cli.options import Loaded, conversation_options, load_for, open_request
from tau.cli.output import say, tell
from tau.display import one_line
from tau.errors import SessionNotFound, UsageError

if TYPE_CHECKING:
    from tau.conversation.state import OpenRequest


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

    with _explaining("chat", request, prompt):
        return run_chat(loaded.settings, request, prompt, notices=loaded.log_problems)


@click.command()
@click.argument("prompt", required=False)
@click.option("--json", "as_json", is_flag=True, help="Write events as JSON, one object a line.")
@click.option(
    "--image",
    "images",
    multiple=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Send an image along; may be given several times.",
)
@click.option("--json-schema", "print_schema", is_flag=True, help="Print the JSON Schema of these lines.")
@conversation_options
def run(
    prompt: str | None, *, as_json: bool, images: tuple[Path, ...], print_schema: bool, **options: Any
) -> int:
    """Answer PROMPT and exit.

    Without PROMPT, or with "-", it is read from stdin; text piped in beside a PROMPT goes below it.
    """
    from tau.line.events import JsonLines, schema

    if print_schema:
        say(schema().rstrip())
        return 0
    lines = JsonLines() if as_json else None
    with lines or nullcontext():
        request = open_request("json" if as_json else "run", **options)
        loaded = _load_and_warn(request.channel)
        from tau.line.run import run_once, whole_prompt

        with _explaining("run", request, prompt):
            text = whole_prompt(prompt)
            return run_once(
                loaded.settings, request, text, lines=lines, notices=loaded.log_problems, images=images
            )


@contextmanager
def _explaining(command: str, request: OpenRequest, prompt: str | None) -> Iterator[None]:
    """Say what became of a prompt that was taken for the session that ``--resume`` names."""
    try:
        yield
    except (SessionNotFound, UsageError) as error:
        taken = request.resume
        if prompt is not None or not taken or (command == "chat" and " " not in taken):
            raise
        how = f'tau {command} -c "PROMPT" goes on with the newest, tau {command} -r ID "PROMPT" with another'
        if isinstance(error, UsageError):
            shown = one_line(taken, 60)
            message = f"There is no prompt: --resume took '{shown}' for the id or name of a session"
            raise UsageError(message, how) from error
        if error.session_id == taken:
            error.hint = f"the word after --resume is an id or a name: {how}; {error.hint}"
        raise


def _load_and_warn(channel: str) -> Loaded:
    loaded = load_for(channel)
    for warning in loaded.warnings:
        tell(warning)
    return loaded
