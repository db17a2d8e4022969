"""`tau config`: check the configuration files, show what holds, and say where everything is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tau.cli.options import given_config, given_profile, shared_options
from tau.display import one_line, visible

if TYPE_CHECKING:
    from tau.config.load import Candidate, Loaded
    from tau.config.settings import Settings


@click.group()
def config() -> None:
    """Check and show the configuration."""


@config.command()
@shared_options
def check() -> int:
    """Check every configuration file; exit 2 when one cannot be used."""
    from tau.config.keys import left_without, rarely_sent
    from tau.config.load import check as check_files

    findings = check_files(
        config=given_config(), profile=given_profile(), directory=Path(), environ=os.environ
    )
    errors, warnings = list(findings.errors), list(findings.warnings)
    if findings.loaded is not None:
        settings = findings.loaded.settings
        errors += _missing_backend(settings)
        errors += _unusable_models(findings.loaded)
        errors += _unusable_scripts(findings.loaded)
        errors += _unusable_patterns(findings.loaded)
        warnings += _disabled_but_not_installed(settings)
        warnings += _unknown_themes(findings.loaded)
    for path in findings.read:
        click.echo(f"read: {one_line(str(path))}")
    for line in errors:
        click.echo(f"error: {line}")
    for line in warnings:
        click.echo(f"warning: {line}")
    if findings.loaded is not None:
        for name, why in left_without(findings.loaded.settings.keys):
            click.echo(f"note: no key does {name}: keys.{name} {why}")
        for name, why in rarely_sent(findings.loaded.settings.keys):
            click.echo(f"note: keys.{name}: {why}")
    if not errors and not warnings:
        click.echo("No problems.")
    return 2 if errors else 0


@config.command()
@shared_options
def show() -> int:
    """Print the settings that hold, as TOML, with the origin of each value."""
    from tau.config.load import load_settings

    loaded = load_settings(
        config=given_config(), profile=given_profile(), directory=Path(), environ=os.environ
    )
    for warning in loaded.warnings:
        click.echo(f"tau: {warning}", err=True)
    settings = loaded.settings
    if settings.profile:
        click.echo(f"# profile: {one_line(settings.profile)}")
    click.echo(f"# directory: {one_line(str(settings.directory))} ({_trusted(settings)})")
    click.echo(_annotated(loaded))
    return 0


@config.command()
@shared_options
def path() -> int:
    """Print which files are read, strongest first, and where tau keeps things."""
    from tau.config.load import candidates, real_directory
    from tau.config.places import resolve_places, why_unwritable
    from tau.config.trust import Trust, trust_root

    places = resolve_places(os.environ)
    looked_for = candidates(config=given_config(), directory=Path(), environ=os.environ, places=places)
    directory = real_directory(Path())
    trust = Trust(places)
    rows = [(candidate.why, candidate.path, _condition(candidate)) for candidate in looked_for]
    rows += [("data", places.data, why_unwritable(places.data)), ("logs", places.logs, "")]
    rows += [("state", places.state, why_unwritable(places.state)), ("configuration", places.config, "")]
    rows += [("trust", trust.path, "")]
    for label, place, condition in rows:
        note = f"  ({one_line(condition)})" if condition else ""
        click.echo(f"{label:<16} {one_line(str(place))}{note}")
    trusted = "trusted" if trust.trusts(directory) else "not trusted; tau trust changes that"
    click.echo(f"{'this directory':<16} {one_line(str(trust_root(directory)))}  ({trusted})")
    return 0


def _unusable_models(loaded: Loaded) -> list[str]:
    """Roles whose table can never work, in the settings that hold and in every profile."""
    from tau.config.load import origin
    from tau.errors import ConfigError
    from tau.models.registry import provider

    tables: dict[tuple[str, ...], str] = {
        ("models", role): loaded.settings.model(role).provider for role in loaded.settings.roles()
    }
    for layer in loaded.layers:
        for name, profile in layer.document.get("profiles", {}).items():
            for role, table in profile.get("models", {}).items():
                if "provider" in table:
                    tables["profiles", name, "models", role] = table["provider"]
    errors = []
    for path, name in tables.items():
        if name == "auto":
            continue
        key = (*path, "provider")
        try:
            provider(name, ".".join(key))
        except ConfigError as error:
            errors.append(f"{origin(loaded, key)}: {error.line()}")
    return errors


def _unusable_scripts(loaded: Loaded) -> list[str]:
    """Scripts of the scripted provider that are not there or are none, in force and in every profile."""
    from tau.config.load import origin
    from tau.errors import TauError
    from tau.models.script import read_script

    named: dict[tuple[str, ...], str] = {}
    for role in loaded.settings.roles():
        model = loaded.settings.model(role)
        if model.provider == "scripted":
            for key, value in (("script", model.script), ("side_script", model.side_script)):
                if value:
                    named["models", role, key] = value
            if not model.script:
                named["models", role, "provider"] = ""
    for layer in loaded.layers:
        for name, profile in layer.document.get("profiles", {}).items():
            for role, table in profile.get("models", {}).items():
                for key in ("script", "side_script"):
                    if key in table:
                        named["profiles", name, "models", role, key] = table[key]
    errors = []
    for path, value in named.items():
        where, key = origin(loaded, path), one_line(".".join(path), 120)
        if not value:
            errors.append(f'{where}: {key} is "scripted" and there is no script (add script = "FILE.json")')
            continue
        try:
            read_script(loaded.settings.directory / Path(value).expanduser())
        except TauError as error:
            errors.append(f"{where}: {key}: {error.line()}")
    return errors


def _unknown_themes(loaded: Loaded) -> list[str]:
    """Themes that the app does not know, in force and in every profile."""
    from tau.config.load import origin

    named: dict[tuple[str, ...], str] = {("tui", "theme"): loaded.settings.tui.theme}
    for layer in loaded.layers:
        for name, profile in layer.document.get("profiles", {}).items():
            if "theme" in profile.get("tui", {}):
                named["profiles", name, "tui", "theme"] = profile["tui"]["theme"]
    named = {path: theme for path, theme in named.items() if theme != "auto"}
    if not named:
        return []  # the app, which knows the others, takes its time to load
    from tau.tui.theme import unknown

    return [
        f"{origin(loaded, path)}: {one_line(why)}" for path, theme in named.items() if (why := unknown(theme))
    ]


def _unusable_patterns(loaded: Loaded) -> list[str]:
    from tau.errors import ConfigError
    from tau.gate.patterns import check_files

    try:
        check_files(loaded)
    except ConfigError as error:
        return [error.line()]
    return []


def _condition(candidate: Candidate) -> str:
    from tau.config.places import is_there

    return "" if is_there(candidate.path) else "not there"


def _trusted(settings: Settings) -> str:
    return "trusted" if settings.trusted else "not trusted"


def _annotated(loaded: Loaded) -> str:
    """The effective settings as TOML, each key's line followed by where its value comes from."""
    import msgspec
    import tomli_w

    from tau.config.load import origin
    from tau.config.schema import TABLES
    from tau.config.toml_lines import key_lines
    from tau.masking import mask, remember_environment

    settings = loaded.settings
    document: dict[str, Any] = {name: msgspec.to_builtins(getattr(settings, name)) for name in TABLES}
    document["models"] = {role: msgspec.to_builtins(settings.model(role)) for role in settings.roles()}
    document["mcp"] = {name: msgspec.to_builtins(server) for name, server in settings.mcp.items()}
    document["component"] = settings.component
    text = tomli_w.dumps(_without_unset(document))
    lines = text.splitlines()
    for key_path, number in key_lines(text).items():
        is_key = not lines[number - 1].startswith("[") and not any(isinstance(part, int) for part in key_path)
        if is_key:
            lines[number - 1] += f"  # {origin(loaded, key_path)}"
    remember_environment(os.environ)
    return visible(mask("\n".join(lines)))


def _without_unset(table: dict[str, Any]) -> dict[str, Any]:
    """The table without values that are not set, and without empty tables: TOML has no word for either."""
    kept = {
        key: _without_unset(value) if isinstance(value, dict) else value
        for key, value in table.items()
        if value is not None
    }
    return {key: value for key, value in kept.items() if value != {}}


def _missing_backend(settings: Settings) -> list[str]:
    from tau.errors import ConfigError
    from tau.sessions.registry import check_backend

    try:
        check_backend(settings)
    except ConfigError as error:
        return [error.line()]
    return []


def _disabled_but_not_installed(settings: Settings) -> list[str]:
    from tau import plugins

    installed = [component for group in plugins.GROUPS for component in plugins.names(group)]
    return [
        f'[plugins] disabled names "{one_line(entry, 60)}", and no component of that name is installed'
        for entry in settings.plugins.disabled
        if not any(component.disabled_by([entry]) for component in installed)
    ]
