"""Finds every tau.toml that counts for a run, checks them, and lays them over each other: typed settings."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from tau.config.doubts import doubts
from tau.config.merging import merge
from tau.config.places import resolve_places
from tau.config.schema import dotted, known, nearest, problems
from tau.config.settings import (
    AgentSettings,
    ApprovalSettings,
    CompactionSettings,
    ContextSettings,
    McpSettings,
    MemorySettings,
    ModelSettings,
    Places,
    PluginsSettings,
    SessionsSettings,
    Settings,
    TasksSettings,
    TuiSettings,
)
from tau.config.toml_file import Document, TomlFile, read_toml
from tau.config.toml_lines import KeyPath
from tau.config.trust import (
    Trust,
    loosening_keys,
    refused_at,
    refused_keys,
    repository_root,
    trust_root,
    without,
)
from tau.display import one_line
from tau.errors import ConfigError

FILE_NAME = "tau.toml"
SHIPPED = Path(__file__).parent / FILE_NAME
"""The file that comes with tau; always the weakest layer, never a project's."""

MOST_NAMED = 20
"""How many warnings, and how many ignored keys in one, are said at every start."""

_PATH_KEYS = ("script", "side_script", "record", "weights")

Kind = Literal["given", "project", "user", "shipped"]
Table = TypeVar("Table")


class Candidate(msgspec.Struct, frozen=True):
    """A file that tau looks for.

    Attributes:
        kind: Whose it is: named by the person, the project's, the user's, or shipped.
        path: Where it is, or would be.
        why: How tau came to it, in a few words.
    """

    kind: Kind
    path: Path
    why: str


class Layer(msgspec.Struct, frozen=True):
    """A file that counts.

    Attributes:
        candidate: Which it is.
        file: What it says, as read.
        document: What of it counts: known keys, without those that need trust; paths are absolute.
    """

    candidate: Candidate
    file: TomlFile
    document: Document


class Loaded(msgspec.Struct, frozen=True):
    """The outcome of loading.

    Attributes:
        settings: The settings of the run.
        warnings: What the person should know about the files, one line each.
        layers: The files that count, strongest first.
    """

    settings: Settings
    warnings: list[str]
    layers: tuple[Layer, ...]


class Findings(msgspec.Struct, frozen=True):
    """Everything there is to say about the files of a run, for a check that stops at nothing.

    Attributes:
        errors: One line each; with any, there are no settings.
        warnings: One line each.
        read: The files that were read, strongest first.
        loaded: The outcome, or None when there are errors.
    """

    errors: list[str]
    warnings: list[str]
    read: list[Path]
    loaded: Loaded | None


def load_settings(
    *, config: Path | None, profile: str | None, directory: Path, environ: Mapping[str, str]
) -> Loaded:
    """Load the settings of a run.

    Args:
        config: The file given by ``--config``, or None. Relative to `directory`.
        profile: The profile given by ``--profile``, or None.
        directory: Where tau works; its real path becomes `Settings.directory`.
        environ: The environment: ``TAU_CONFIG``, ``TAU_PROFILE`` and ``TAU_DATA_DIR`` are read.

    Raises:
        ConfigError: A file, key, value, profile or place cannot be used. When several cannot, the first is
            named and the rest are counted.
    """
    reading = _Reading(config, directory, environ)
    reading.read()
    if reading.errors:
        first, *more = reading.errors
        if more:
            count = f"{len(more)} more: tau config check"
            hint = f"{first.hint}; {count}" if first.hint else count
            raise ConfigError(first.message, hint)
        raise first
    loaded = reading.loaded(_chosen_profile(profile, environ))
    rest = len(loaded.warnings) - MOST_NAMED
    if rest > 0:
        loaded.warnings[MOST_NAMED:] = [f"{rest} more warnings about tau.toml: tau config check"]
    return loaded


def check(
    *, config: Path | None, profile: str | None, directory: Path, environ: Mapping[str, str]
) -> Findings:
    """Look at every file of a run and collect what is wrong, instead of stopping at the first error.

    Raises:
        ConfigError: A place or the named file cannot be used, so there is nothing to look at.
    """
    reading = _Reading(config, directory, environ)
    reading.read()
    read = [layer.file.path for layer in reading.layers]
    errors = [error.line() for error in reading.errors]
    if errors:
        return Findings(errors, reading.warnings, read, None)
    try:
        loaded = reading.loaded(_chosen_profile(profile, environ))
    except ConfigError as error:
        return Findings([error.line()], reading.warnings, read, None)
    return Findings([], reading.warnings, read, loaded)


def candidates(
    *, config: Path | None, directory: Path, environ: Mapping[str, str], places: Places
) -> list[Candidate]:
    """The files tau looks for, strongest first, whether they exist or not.

    A file named by ``--config`` or ``TAU_CONFIG`` takes the place of the project's.
    """
    real = real_directory(directory)
    user = Candidate("user", places.config / FILE_NAME, "yours")
    shipped = Candidate("shipped", SHIPPED, "comes with tau")
    if config is not None:
        return [Candidate("given", real / config, "--config"), user, shipped]
    named = environ.get("TAU_CONFIG", "")
    if named:
        return [Candidate("given", real / named, "TAU_CONFIG"), user, shipped]
    project = _project_file(real, user.path)
    if _is_layer_already(project, user.path):
        return [user, shipped]
    return [Candidate("project", project, "the project's"), user, shipped]


def real_directory(directory: Path) -> Path:
    """The real path of the directory tau works in.

    Raises:
        ConfigError: It is not there (any more), or no directory.
    """
    try:
        real = directory.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise ConfigError(
            f"The directory {one_line(str(directory))} cannot be used: {reason}", "change to one that exists"
        ) from error
    if not real.is_dir():
        raise ConfigError(f"{one_line(str(real))} is not a directory")
    return real


def _project_file(directory: Path, user_file: Path) -> Path:
    """The nearest tau.toml from `directory` up to the repository's root; the one here when there is none."""
    root = repository_root(directory) or directory
    for folder in (directory, *directory.parents):
        path = folder / FILE_NAME
        if os.path.lexists(path) and not _is_layer_already(path, user_file):
            return path
        if folder == root:
            break
    return directory / FILE_NAME


def _is_layer_already(path: Path, user_file: Path) -> bool:
    """Whether a tau.toml met on the way up is the user's, the shipped one, or that of a checkout of tau."""
    try:
        if path.is_symlink() and path.readlink() == Path("tau/config", FILE_NAME):
            return True
        return any(other.exists() and path.samefile(other) for other in (user_file, SHIPPED))
    except OSError:
        return False


def _chosen_profile(profile: str | None, environ: Mapping[str, str]) -> str:
    return profile or environ.get("TAU_PROFILE", "")


class _Reading:
    """One pass over the files: what was read, and what was found wrong on the way."""

    def __init__(self, config: Path | None, directory: Path, environ: Mapping[str, str]) -> None:
        self.directory = real_directory(directory)
        self.places = resolve_places(environ)
        self.trusted = Trust(self.places).trusts(self.directory)
        self.candidates = candidates(
            config=config, directory=self.directory, environ=environ, places=self.places
        )
        self.layers: list[Layer] = []
        self.errors: list[ConfigError] = []
        self.warnings: list[str] = []

    def read(self) -> None:
        for candidate in self.candidates:
            try:
                file = self._file(candidate)
            except ConfigError as error:
                self.errors.append(error)
                continue
            if file is not None:
                self._add(candidate, file)

    def _file(self, candidate: Candidate) -> TomlFile | None:
        foreign = candidate.kind == "project" and not self.trusted
        if foreign and candidate.path.is_symlink():
            self.warnings.append(
                f"{one_line(str(candidate.path))} is a link; ignored until you trust this directory:"
                f" {self._trust_command()}"
            )
            return None
        try:
            return read_toml(candidate.path, follow_links=not foreign)
        except FileNotFoundError as error:
            if candidate.kind == "given":
                raise ConfigError(
                    f"{one_line(str(candidate.path))}: there is no such file", f"named by {candidate.why}"
                ) from error
            return None

    def _add(self, candidate: Candidate, file: TomlFile) -> None:
        found = problems(file)
        foreign = candidate.kind == "project" and not self.trusted
        ignored: list[KeyPath] = []
        errors = []
        for problem in found:
            path = refused_at(problem.path) if foreign else None
            if problem.level == "warning" or path is not None:
                self.warnings.append(problem.line())
            else:
                errors.append(problem)
            if problem.level == "error" and path is not None and path not in ignored:
                ignored.append(path)
        self.errors.extend(ConfigError(problem.message, problem.hint) for problem in errors)
        document = {} if errors else known(without(file.document, ignored))
        if candidate.kind == "project":
            never = list(loosening_keys(document))
            if never:
                self.warnings.append(
                    f"{one_line(str(file.path))} sets {_named(never)}; ignored, since a project's file can"
                    " only tighten approvals: what you allow belongs in your own tau.toml (tau config path)"
                )
                document = without(document, never)
        if foreign:
            refused = [*ignored, *refused_keys(document)]
            if refused:
                self.warnings.append(
                    f"{one_line(str(file.path))} sets {_named(refused)};"
                    f" ignored until you trust this directory: {self._trust_command()}"
                )
                document = without(document, refused[len(ignored) :])
        self.layers.append(Layer(candidate, file, _absolute(document, file.path.parent)))

    def _trust_command(self) -> str:
        from shlex import quote

        return f"tau trust {quote(one_line(str(trust_root(self.directory))))}"

    def loaded(self, profile: str) -> Loaded:
        merged: Document = {}
        for layer in reversed(self.layers):
            merged = merge(merged, layer.document)
        profiles = merged.pop("profiles", {})
        if profile:
            if profile not in profiles:
                raise _unknown_profile(profile, list(profiles))
            merged = merge(merged, profiles[profile])

        def table(name: str, kind: type[Table]) -> Table:
            return msgspec.convert(merged.get(name, {}), kind)

        settings = Settings(
            agent=table("agent", AgentSettings),
            sessions=table("sessions", SessionsSettings),
            models={
                role: msgspec.convert(model, ModelSettings)
                for role, model in merged.get("models", {}).items()
            },
            context=table("context", ContextSettings),
            compaction=table("compaction", CompactionSettings),
            memory=table("memory", MemorySettings),
            tasks=table("tasks", TasksSettings),
            tui=table("tui", TuiSettings),
            plugins=table("plugins", PluginsSettings),
            approvals=table("approvals", ApprovalSettings),
            mcp={
                name: msgspec.convert(server, McpSettings) for name, server in merged.get("mcp", {}).items()
            },
            keys=merged.get("keys", {}),
            component=merged.get("component", {}),
            profile=profile,
            places=self.places,
            directory=self.directory,
            trusted=self.trusted,
            files=tuple(layer.file.path for layer in self.layers),
        )
        loaded = Loaded(settings, self.warnings, tuple(self.layers))
        self.warnings.extend(doubts(settings, partial(origin, loaded)))
        return loaded


def _named(paths: list[KeyPath]) -> str:
    """Keys as a warning names them, the rest counted."""
    named = [dotted(path) for path in paths[:MOST_NAMED]]
    if len(paths) > MOST_NAMED:
        named.append(f"{len(paths) - MOST_NAMED} more")
    return ", ".join(named)


def _absolute(document: Document, folder: Path) -> Document:
    """The document with the paths of its models made absolute, seen from the folder of its file."""
    changed = dict(document)
    if "models" in changed:
        changed["models"] = {
            role: {key: _path(key, value, folder) for key, value in model.items()}
            for role, model in changed["models"].items()
        }
    if "profiles" in changed:
        changed["profiles"] = {
            name: _absolute(overlay, folder) for name, overlay in changed["profiles"].items()
        }
    return changed


def _path(key: str, value: Any, folder: Path) -> Any:
    if key not in _PATH_KEYS or value.startswith("~"):
        return value
    if key == "weights" and "/" not in value and not value.endswith(".gguf"):
        return value
    return str(folder / value)


def _unknown_profile(profile: str, names: list[str]) -> ConfigError:
    near = nearest(profile, names)
    listed = (
        "profiles: " + ", ".join(one_line(name) for name in sorted(names))
        if names
        else "no file has profiles"
    )
    hint = f"did you mean {near}? {listed}" if near else listed
    return ConfigError(f"There is no profile {one_line(profile, 60)}", hint)


def origin(loaded: Loaded, path: KeyPath) -> str:
    """Where an effective value comes from: ``FILE:LINE``, or ``default``."""
    prefixes: list[KeyPath] = [("profiles", loaded.settings.profile)] if loaded.settings.profile else []
    for prefix in [*prefixes, ()]:
        for layer in loaded.layers:
            if _has(layer.document, (*prefix, *path)):
                return layer.file.where((*prefix, *path))
    return "default"


def _has(document: Any, path: KeyPath) -> bool:
    for part in path:
        if not isinstance(document, dict) or part not in document:
            return False
        document = document[part]
    return True
