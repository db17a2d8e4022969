"""Components that packages bring along as entry points: name them without importing, load one, load all.

A component of tau's own always wins over another package's of the same name, and a name that two other
packages claim is refused: what a configuration selects never depends on the order of installation.
"""

from __future__ import annotations

import contextlib
import functools
import io
import re
import sys
import threading
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TextIO

from tau.display import one_line
from tau.errors import PluginError

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint

SESSIONS = "tau.sessions"
"""Session stores: ``(StoreContext) -> SessionStore``."""

TOOLS = "tau.tools"
"""Tools a model can call: ``(ToolContext) -> Sequence[tool]``."""

GROUPS = (SESSIONS, TOOLS)
"""The entry point groups of this version."""

OWN_DISTRIBUTION = "tau-terminal"


class Component(NamedTuple):
    """An installed entry point, not imported.

    Attributes:
        group: Its entry point group.
        name: Its name, as configuration spells it.
        value: What it points to, ``MODULE:ATTRIBUTE``.
        distribution: The distribution that brings it.
        version: Of the distribution.
    """

    group: str
    name: str
    value: str
    distribution: str
    version: str

    @property
    def built_in(self) -> bool:
        """Whether tau itself brings it."""
        return _normal(self.distribution) == OWN_DISTRIBUTION

    def phrase(self) -> str:
        """``GROUP:NAME of DISTRIBUTION VERSION``, for messages."""
        return one_line(f"{self.group}:{self.name} of {self.distribution} {self.version}", 160)

    def disabled_by(self, disabled: Sequence[str]) -> bool:
        """Whether ``[plugins] disabled`` names it, as ``NAME`` or ``GROUP:NAME``."""
        return self.name in disabled or f"{self.group}:{self.name}" in disabled


def names(group: str) -> list[Component]:
    """Every installed component of a group, by name, tau's own first; imports none of them."""
    places = tuple((path, _changed(path)) for path in sys.path)
    return [component for component in _installed(places) if component.group == group]


@functools.lru_cache(maxsize=1)
def _installed(places: tuple[tuple[str, int], ...]) -> list[Component]:
    """The components of every group; a file of each distribution is read for that, so it is kept.

    Args:
        places: Where distributions are looked for, with the time of the last change there: installing one
            is a change.
    """
    from importlib.metadata import entry_points

    installed = entry_points()
    entries = [entry for group in GROUPS for entry in installed.select(group=group)]
    about = {dist: _about(dist) for dist in {entry.dist for entry in entries}}  # each is read from the disk
    found = {_component(entry, *about[entry.dist]) for entry in entries}
    return sorted(
        found, key=lambda component: (not component.built_in, component.name, component.distribution)
    )


def _changed(path: str) -> int:
    """When a folder was last changed, in nanoseconds; 0 where there is none."""
    try:
        return Path(path).stat().st_mtime_ns
    except OSError:
        return 0


class Outcome(NamedTuple):
    """What came of loading a component.

    Attributes:
        component: Which.
        state: ``loads``, ``broken``, ``disabled``, or ``refused`` when its name belongs to another.
        reason: Why it is broken or refused; empty otherwise.
        loaded: What it points to, or None when it was not loaded.
    """

    component: Component
    state: Literal["loads", "broken", "disabled", "refused"]
    reason: str = ""
    loaded: Any = None


class UnknownComponent(PluginError):
    """No component of that name is installed."""


def load(group: str, name: str, *, disabled: Sequence[str] = ()) -> Any:
    """Import one component and return what it points to. What it prints meanwhile does not reach stdout.

    Args:
        group: The entry point group.
        name: The component's name.
        disabled: ``[plugins] disabled``.

    Raises:
        UnknownComponent: None of that name is installed.
        PluginError: It is disabled, claimed by two packages, or does not import; the message names the entry
            point and its distribution.
    """
    component = _own(group, name)
    if component is None:
        found = [other for other in names(group) if other.name == name]
        if not found:
            raise UnknownComponent(f"No component {group}:{one_line(name)} is installed")
        component = found[0]
        if refusal := _refusal(component, found):
            raise PluginError(refusal, "uninstall all but one")
    if component.disabled_by(disabled):
        raise PluginError(f"{component.phrase()} is disabled", "by [plugins] disabled in tau.toml")
    return _import(component)


def outcomes(group: str, *, disabled: Sequence[str] = ()) -> list[Outcome]:
    """Import every component of a group that is not disabled, and say what came of each."""
    found = names(group)
    return [_outcome(component, found, disabled) for component in found]


def load_all(
    group: str, *, disabled: Sequence[str] = (), built_in: bool = True
) -> tuple[dict[str, Any], list[str]]:
    """Import every component of a group that is not disabled.

    Args:
        group: The entry point group.
        disabled: ``[plugins] disabled``.
        built_in: Whether tau's own are loaded as well as those of other packages.

    Returns:
        What each points to, by name, and one line for each that could not be loaded.
    """
    found = names(group)
    wanted = [component for component in found if built_in or not component.built_in]
    results = [_outcome(component, found, disabled) for component in wanted]
    loaded = {result.component.name: result.loaded for result in results if result.state == "loads"}
    return loaded, [result.reason for result in results if result.reason]


def _outcome(component: Component, installed: Sequence[Component], disabled: Sequence[str]) -> Outcome:
    if component.disabled_by(disabled):
        return Outcome(component, "disabled")
    if refusal := _refusal(component, installed):
        return Outcome(component, "refused", refusal)
    try:
        return Outcome(component, "loads", loaded=_import(component))
    except PluginError as error:
        return Outcome(component, "broken", error.line())


def _import(component: Component) -> Any:
    module, _, attribute = component.value.partition("[")[0].strip().partition(":")
    try:
        with _silent_stdout():
            loaded: Any = import_module(module)
            for part in filter(None, attribute.split(".")):
                loaded = getattr(loaded, part)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # foreign code may raise anything at all, SystemExit included
        raise PluginError(
            f"{component.phrase()} does not load: {_reason(error)}", _advice(component)
        ) from error
    return loaded


class _StdoutOfOthers:
    """Stands in for stdout: swallows what one thread writes, and is the real one for every other thread.

    Unlike a plain redirection it may be left in place by code that has kept a reference to it meanwhile.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.silenced: int | None = threading.get_ident()
        self._sink = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")

    def __getattr__(self, name: str) -> Any:
        silent = threading.get_ident() == self.silenced
        return getattr(self._sink if silent else self.stream, name)


@contextlib.contextmanager
def _silent_stdout() -> Iterator[None]:
    if sys.stdout is None:
        yield
        return
    stand_in = _StdoutOfOthers(sys.stdout)
    sys.stdout = stand_in
    try:
        yield
    finally:
        stand_in.silenced = None
        if sys.stdout is stand_in:
            sys.stdout = stand_in.stream


def _refusal(component: Component, installed: Sequence[Component]) -> str:
    """Why a component's name is not its own, or the empty string."""
    if component.built_in:
        return ""
    rivals = [other for other in installed if other.name == component.name and other != component]
    if any(rival.built_in for rival in rivals):
        return f"{component.phrase()} is not used: tau has a component of that name itself"
    if rivals:
        claimants = " and ".join(f"{other.distribution} {other.version}" for other in (component, *rivals))
        return f"{component.group}:{one_line(component.name)} is claimed by {one_line(claimants)}"
    return ""


def _own(group: str, name: str) -> Component | None:
    """The component when tau itself brings it; costs little, since no other distribution is looked at."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        entries = distribution(OWN_DISTRIBUTION).entry_points
    except PackageNotFoundError:
        return None
    found = entries.select(group=group, name=name)
    return next((_component(entry, *_about(entry.dist)) for entry in found), None)


def _about(dist: Distribution | None) -> tuple[str, str]:
    """The name and the version of a distribution."""
    return (dist.name or "?", dist.version or "?") if dist else ("an unknown distribution", "?")


def _component(entry: EntryPoint, distribution: str, version: str) -> Component:
    return Component(entry.group, entry.name, entry.value, distribution, version)


def _normal(distribution: str) -> str:
    return re.sub(r"[-_.]+", "-", distribution).lower()


def _reason(error: BaseException) -> str:
    said = one_line(str(error), 200)
    if isinstance(error, SystemExit):
        return f"it tried to end the process ({said})" if said else "it tried to end the process"
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _advice(component: Component) -> str:
    if component.built_in:
        return "reinstall tau"
    package, name = one_line(component.distribution), one_line(component.name)
    return f'repair or uninstall {package}, or set [plugins] disabled = ["{name}"]'
