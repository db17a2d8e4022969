"""Writes what commands say, as the terminal's encoding allows: the rest is shown as escapes."""

from __future__ import annotations

import sys
from contextlib import suppress
from shutil import get_terminal_size

import click

from tau.display import visible


def say(text: str) -> None:
    """Write a line to stdout."""
    click.echo(text, file=sys.stdout)


def columns() -> int | None:
    """The columns that `say` writes in; None where stdout is no terminal, and nothing is to be cut."""
    return get_terminal_size().columns if sys.stdout.isatty() else None


def tell(text: str) -> None:
    """Write a line to stderr, as tau speaks there: after its name, and safe for a terminal.

    That nobody reads stderr changes nothing about what there was to say.
    """
    with suppress(OSError):
        click.echo(f"tau: {visible(text)}", file=sys.stderr)
