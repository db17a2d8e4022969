"""`tau` itself: its subcommands, and what becomes of a failure.

Subcommands are imported when they are called, so that `tau --version` and `tau --help` start at once.
"""

from __future__ import annotations

import errno
import os
import sys

import click

from tau import __version__
from tau.cli.lazy import LazyCommand, LazyGroup
from tau.cli.options import load_settings, shared_options
from tau.cli.output import say, tell
from tau.ending import EndsAtOnce
from tau.errors import TauError

COMMANDS = {
    "tui": LazyCommand("tau.cli.channels", "tui", "Open the full-screen app (also: tau alone)."),
    "chat": LazyCommand("tau.cli.channels", "chat", "Talk line by line, in a terminal or a pipe."),
    "run": LazyCommand("tau.cli.channels", "run", "Answer one prompt and exit, as text or JSON."),
    "web": LazyCommand("tau.cli.web_command", "web", "Open the app in a browser on this machine."),
    "mcp": LazyCommand("tau.cli.mcp_command", "mcp", "Serve memory and sessions to other agents."),
    "sessions": LazyCommand("tau.cli.sessions_commands", "sessions", "List, show, search, export sessions."),
    "memory": LazyCommand("tau.cli.memory_command", "memory", "Show, undo, edit what is remembered here."),
    "tasks": LazyCommand("tau.cli.tasks_command", "tasks", "Show what was explored here, and what is next."),
    "model": LazyCommand("tau.cli.model_commands", "model", "Install, list, remove local models."),
    "config": LazyCommand("tau.cli.config_commands", "config", "Check and show the configuration."),
    "init": LazyCommand("tau.cli.init_command", "init", "Write a tau.toml; make the project's folder."),
    "trust": LazyCommand("tau.cli.trust_command", "trust", "Trust the files of this directory, or stop."),
    "components": LazyCommand("tau.cli.components_command", "components", "List installed components."),
    "doctor": LazyCommand("tau.cli.doctor", "doctor", "Check that everything tau needs is in order."),
}


COMPLETION = "_TAU_COMPLETE"
"""The variable through which a shell asks for completions."""


class RootGroup(LazyGroup):
    """`tau` itself: without a subcommand it opens the app, with that command's options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse; an option that only `tau tui` knows means `tau tui`."""
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            command = self.get_command(ctx, "tui")
            known = {name for param in command.params for name in param.opts} if command else set()
            if error.option_name not in known:
                raise
            ctx.params.clear()
            return super().parse_args(ctx, ["tui", *given])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The subcommand; only the app takes over from what a signal does until now."""
        found = super().resolve_command(ctx, args)
        ending = ctx.find_object(EndsAtOnce)
        if ending is not None and found[0] != "tui":
            ending.release()
        return found


@click.group(
    cls=RootGroup,
    lazy=COMMANDS,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="tau", message="%(prog)s %(version)s")
@shared_options
@click.pass_context
def cli(ctx: click.Context) -> int | None:
    """A terminal agent whose conversations are records on disk.

    Without a command it opens the app, whose options may be given here: tau -c goes on with the newest
    session of this directory, tau -r [ID|NAME] with another (tau tui --help).
    """
    if ctx.invoked_subcommand is not None:
        return None
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        load_settings()  # a broken configuration is said here as everywhere
        say(ctx.get_help())
        return None
    command = cli.get_command(ctx, "tui")
    assert command is not None
    with command.make_context("tui", [], parent=ctx) as tui:
        code: int | None = command.invoke(tui)
        return code


def run(ending: EndsAtOnce) -> int:
    """Run the command line and return its exit code.

    Args:
        ending: What a signal does; released before a command begins that has its own way to end.
    """
    try:
        _prepare_streams()
        code = _run(_arguments(), ending)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # nobody reads stdout any more: the work is done
        code = 0
    except OSError as error:
        code = _complain(f"Output could not be written: {error.strerror}")
    else:
        return code
    _discard_stdout()
    return code


def _prepare_streams() -> None:
    """Let output show what the encoding lacks as escapes; a stream that was closed for us leads nowhere."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115, PTH123  # open as long as the process
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123  # as above
        getattr(sys, name).reconfigure(errors="backslashreplace")


def _arguments() -> list[str]:
    """The arguments as text: bytes that the locale could not decode are read as UTF-8, or become U+FFFD."""
    return [
        argument.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for argument in sys.argv[1:]
    ]


def _run(arguments: list[str], ending: EndsAtOnce) -> int:
    if instruction := os.environ.get(COMPLETION):
        from click.shell_completion import shell_complete

        return shell_complete(cli, {}, "tau", COMPLETION, instruction)
    try:
        with cli.make_context("tau", arguments, obj=ending) as ctx:
            from tau.logs import keep_off_terminal

            keep_off_terminal()
            code = cli.invoke(ctx)
    except click.exceptions.Exit as done:
        return done.exit_code
    except TauError as error:
        return _complain(error.line(), error.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return 2
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "tau"
        message = error.format_message().rstrip(".")
        return _complain(f"{message} (see '{path} --help')", 2)
    except click.ClickException as error:
        return _complain(error.format_message(), error.exit_code)
    except (click.Abort, EOFError) as error:
        return 130 if isinstance(error.__context__, KeyboardInterrupt) else _complain("There was no answer")
    except OSError as error:
        if error.errno in (errno.EPIPE, errno.ENOSPC) and error.filename is None:
            raise  # stdout, not a file
        return _defect(error)
    except Exception as error:  # noqa: BLE001  # the one place where a defect becomes a line and a logged traceback
        return _defect(error)
    return code if isinstance(code, int) and not isinstance(code, bool) else 0


def _complain(line: str, code: int = 1) -> int:
    tell(line)
    return code


def _defect(error: Exception) -> int:
    from tau.cli.defects import report

    return _complain(report(error))


def _discard_stdout() -> None:
    """Keep the interpreter from failing again on what is still buffered when it ends."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.stdout.fileno())
    os.close(devnull)
