"""Opens the session store that the configuration selects, through the entry point group ``tau.sessions``."""

from __future__ import annotations

import logging
from typing import Any

from tau import plugins
from tau.config.places import OVERRIDE, why_unwritable
from tau.config.schema import nearest
from tau.config.settings import Settings
from tau.display import one_line
from tau.errors import ConfigError, PluginError, StoreError, TauError
from tau.sessions.store import SessionStore, StoreContext

_log = logging.getLogger(__name__)


def open_store(settings: Settings, *, channel: str) -> SessionStore:
    """Open the store of ``[sessions] backend``, with the options of ``[component.NAME]``.

    For a channel, installed backends that do not load are logged as warnings, although another is selected.

    Args:
        settings: The settings of the run.
        channel: The channel that opens it (``tui``, ``terminal``, ``run``, ``json``; empty for a command).

    Raises:
        ConfigError: No backend of that name is installed; the message names those that are.
        PluginError: The backend does not load, or is no session store. No other is taken instead.
        StoreError: The store cannot use its place.
    """
    name = settings.sessions.backend
    factory = _factory(settings)
    context = StoreContext(
        data_dir=settings.places.data,
        state_dir=settings.places.state,
        options=settings.component.get(name, {}),
        channel=channel,
    )
    try:
        store = factory(context)
    except TauError:
        raise
    except OSError as error:
        place = settings.places.data
        why = why_unwritable(place) or f"{error.filename or place}: {error.strerror or error}"
        raise StoreError(f"Sessions cannot be kept: {one_line(why)}", OVERRIDE) from error
    except Exception as error:  # foreign code may raise anything
        said = one_line(f"{type(error).__name__}: {error}")
        raise PluginError(
            f"The session backend '{name}' does not open: {said}",
            f"its options stand in [component.{name}] of tau.toml",
        ) from error
    if not isinstance(store, SessionStore):
        raise PluginError(
            f"The session backend '{name}' is no session store: its factory returned {type(store).__name__}",
            "a factory is (StoreContext) -> SessionStore",
        )
    if channel:
        _, broken = plugins.load_all(plugins.SESSIONS, disabled=settings.plugins.disabled, built_in=False)
        for line in broken:
            _log.warning("%s", line)
    return store


def check_backend(settings: Settings) -> None:
    """Check that the selected backend is installed, without importing it.

    Raises:
        ConfigError: None of that name is; the message names those that are.
    """
    name = settings.sessions.backend
    installed = sorted({component.name for component in plugins.names(plugins.SESSIONS)})
    if name in installed:
        return
    near = nearest(name, installed)
    listed = f"installed: {', '.join(map(one_line, installed))}" if installed else "reinstall tau"
    hint = f"did you mean {one_line(near)}? {listed}" if near else listed
    raise ConfigError(f'[sessions] backend = "{one_line(name, 60)}": there is no such backend', hint)


def _factory(settings: Settings) -> Any:
    name = settings.sessions.backend
    try:
        factory = plugins.load(plugins.SESSIONS, name, disabled=settings.plugins.disabled)
    except plugins.UnknownComponent:
        check_backend(settings)
        raise
    except PluginError as error:
        raise PluginError(f'[sessions] backend = "{one_line(name)}": {error.message}', error.hint) from error
    if not callable(factory):
        raise PluginError(f"The session backend '{one_line(name)}' points to no factory")
    return factory
