"""The options that several commands share, and the settings and requests they amount to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from tau.cli.output import tell
from tau.errors import UsageError

if TYPE_CHECKING:
    from tau.config.settings import Settings
    from tau.conversation.state import OpenRequest

Command = TypeVar("Command", bound=Callable[..., Any])

_META = "tau.cli."


def _keep(ctx: click.Context, param: click.Parameter, value: object) -> None:
    """Remember a given option for the whole run, so that it may stand before or after the subcommand."""
    if value is not None and value is not False:
        ctx.meta[_META + str(param.name)] = value


def shared_options(command: Command) -> Command:
    """Add ``--config``, ``--profile`` and ``-v`` to a command or group."""
    for option in (
        click.option(
            "-v",
            "--verbose",
            is_flag=True,
            expose_value=False,
            callback=_keep,
            help="Say more on stderr.",
        ),
        click.option(
            "--profile",
            metavar="NAME",
            expose_value=False,
            callback=_keep,
            help="Use this profile of tau.toml.",
        ),
        click.option(
            "--config",
            type=click.Path(dir_okay=False, path_type=Path),
            metavar="FILE",
            expose_value=False,
            callback=_keep,
            help="Use this configuration file instead of the nearest tau.toml.",
        ),
    ):
        command = option(command)
    return command


def conversation_options(command: Command) -> Command:
    """Add the options that say which session is opened, and how, to a command."""
    for option in (
        click.option("--bare", is_flag=True, help="Leave your and the project's instructions out."),
        click.option(
            "--all", "all_directories", is_flag=True, help="Look for earlier sessions in every directory."
        ),
        click.option("--role", metavar="ROLE", help="Use this model role of tau.toml."),
        click.option("--name", metavar="NAME", help="Give the session a name."),
        click.option("--session", "session_id", metavar="ID", help="Open or create exactly this session."),
        click.option(
            "-r",
            "--resume",
            is_flag=False,
            flag_value="",
            default=None,
            metavar="[ID|NAME]",
            help="Continue an earlier session: the newest, or the one of this id or name.",
        ),
        click.option(
            "-c", "--continue", "newest", is_flag=True, help="Continue the newest session of this directory."
        ),
    ):
        command = option(command)
    return shared_options(command)


def verbose() -> bool:
    """Whether ``-v`` was given anywhere on the command line."""
    return bool(click.get_current_context().meta.get(_META + "verbose"))


def given_config() -> Path | None:
    """The file given by ``--config``."""
    value = click.get_current_context().meta.get(_META + "config")
    return value if isinstance(value, Path) else None


def given_profile() -> str | None:
    """The name given by ``--profile``."""
    value = click.get_current_context().meta.get(_META + "profile")
    return value if isinstance(value, str) else None


def open_request(channel: str, *, read_only_ok: bool = False, **options: Any) -> OpenRequest:
    """The request that the options of `conversation_options` amount to.

    Args:
        channel: ``tui``, ``terminal``, ``run`` or ``json``.
        read_only_ok: Whether a session held elsewhere may be opened for reading.
        options: The values click parsed, by parameter name.

    Raises:
        UsageError: Two of ``--resume``, ``--continue`` and ``--session`` are given.
    """
    from tau.conversation.state import OpenRequest

    given = {"--continue": options.pop("newest"), "--resume": options["resume"] is not None}
    given["--session"] = options["session_id"] is not None
    names = [name for name, is_given in given.items() if is_given]
    if len(names) > 1:
        raise UsageError(f"{' and '.join(names)} exclude each other", "give one of them")
    if names == ["--continue"]:
        options["resume"] = ""
    config, profile = given_config(), given_profile()
    configuration = [
        *([("--config", str(config))] if config is not None else []),
        *([("--profile", profile)] if profile is not None else []),
    ]
    return OpenRequest(channel=channel, read_only_ok=read_only_ok, configuration=configuration, **options)


class Loaded(NamedTuple):
    """What a channel starts from.

    Attributes:
        settings: The settings of this run.
        warnings: Sentences about the configuration files, not shown yet.
        log_problems: Why no log is kept, where none is; said once the session is open, for what keeps the
            log from being written most often keeps the session from it too, and that says more.
    """

    settings: Settings
    warnings: Sequence[str]
    log_problems: Sequence[str]


def load_settings() -> Settings:
    """The settings a command runs on; warnings about them are printed, and logging is set up.

    Raises:
        ConfigError: A configuration file, key, value, profile or place cannot be used.
    """
    loaded = load_for("")
    for warning in loaded.warnings:
        tell(warning)
    return loaded.settings


def load_for(channel: str) -> Loaded:
    """The settings a channel runs on, with logging set up; the channel shows the warnings.

    Args:
        channel: ``tui``, ``terminal``, ``run`` or ``json``; empty for a command that is no channel.

    Raises:
        ConfigError: A configuration file, key, value, profile or place cannot be used.
    """
    import os

    from tau.config.load import load_settings as load
    from tau.config.settings import ApprovalSettings
    from tau.logs import setup_logging

    found = load(config=given_config(), profile=given_profile(), directory=Path(), environ=os.environ)
    if found.settings.approvals != ApprovalSettings():
        from tau.gate.patterns import check_files

        check_files(found)
    problems = setup_logging(found.settings, channel=channel, verbose=verbose())
    return Loaded(found.settings, found.warnings, problems)
