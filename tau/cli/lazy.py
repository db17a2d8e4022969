"""A click group that knows its subcommands by name and help line, and imports one only when it is called."""

from __future__ import annotations

from typing import Any, NamedTuple

import click


class LazyCommand(NamedTuple):
    """Where a subcommand lives and the one line that listings show for it."""

    module: str
    attribute: str
    help: str


class LazyGroup(click.Group):
    """A group whose subcommands are imported when they are called, never to list them.

    Args:
        lazy: The subcommands by name, in the order `--help` shows them.
    """

    def __init__(self, *args: Any, lazy: dict[str, LazyCommand], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.lazy = lazy

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names in the order they were given, so that the everyday ones come first."""
        return list(self.lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The subcommand itself, imported now.

        Raises:
            TypeError: The module's attribute is no click command.
        """
        entry = self.lazy.get(cmd_name)
        if entry is None:
            return None
        from importlib import import_module

        command = getattr(import_module(entry.module), entry.attribute)
        if not isinstance(command, click.Command):
            raise TypeError(f"{entry.module}:{entry.attribute} is no click command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The subcommand named by the first argument.

        Raises:
            UsageError: There is none of that name; the nearest ones are named.
        """
        if args[0] not in self.lazy:
            from difflib import get_close_matches

            near = get_close_matches(args[0], self.lazy)
            meant = f" Did you mean {' or '.join(near)}?" if near else ""
            raise click.UsageError(f"No such command: {args[0]}.{meant}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table of subcommands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in self.lazy.items()])
