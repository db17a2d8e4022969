"""What of the settings can be meant and most often is not: said at the start, one line each."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tau.config.actions import BY_NAME, REQUIRED
from tau.config.keys import listed, not_given, shown, taken
from tau.config.settings import Settings
from tau.config.toml_lines import KeyPath
from tau.display import one_line

SMALL_WINDOW = 4_000
"""Tokens of a window below which little of it is left for the conversation."""

Where = Callable[[KeyPath], str]
"""Where a value comes from: ``FILE:LINE``."""


def doubts(settings: Settings, where: Where) -> Iterator[str]:
    """Sizes of models that leave no room, and keys that others need or have lost.

    Args:
        settings: What holds in the end.
        where: Where each value of it comes from.
    """
    yield from _odd_sizes(settings, where)
    yield from _keys_not_given(settings, where)
    yield from _keys_taken(settings, where)


def _odd_sizes(settings: Settings, where: Where) -> Iterator[str]:
    """Sizes of models that can be what somebody wants, and most often are not, one line each."""
    for role, model in settings.models.items():
        window, reply = model.context_window, model.max_tokens
        if window is None:
            continue
        table = f"models.{one_line(role)}"
        if window < SMALL_WINDOW:
            yield (
                f"{where(('models', role, 'context_window'))}: {table}.context_window is {window:,}"
                f" tokens (what tau tells a model and its tools take up about {SMALL_WINDOW:,})"
            )
        if reply is not None and reply >= window:
            yield (
                f"{where(('models', role, 'max_tokens'))}: {table}.max_tokens is {reply:,}, and a"
                f" context_window of {window:,} has no room for such a reply (a quarter of it is plenty)"
            )


def _keys_not_given(settings: Settings, where: Where) -> Iterator[str]:
    """Keys that stay with an action that is needed, one line each."""
    for name, key, other in not_given(settings.keys):
        yield (
            f"{where(('keys', name))}: keys.{name} names {shown(key)}, which stays with {other}:"
            f" else {REQUIRED[other]} (give {other} another key first)"
        )


def _keys_taken(settings: Settings, where: Where) -> Iterator[str]:
    """Actions without a key since others were given theirs, one line each; an empty setting wants it so."""
    for name, takers in taken(settings.keys):
        first, keys = takers[0], listed(BY_NAME[name].keys)
        yield (
            f"{where(('keys', first))}: keys.{first} took {keys}, and no key does {name} any more"
            f' (give {name} another key; keys.{name} = "" leaves it without)'
        )
