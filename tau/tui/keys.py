"""Binds the actions of the app to the keys in force."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from textual.binding import Binding, BindingsMap
from textual.dom import DOMNode
from textual.events import Key

from tau.config.actions import BY_NAME
from tau.config.keys import listed

Keys = Mapping[str, tuple[str, ...]]
"""The keys of every action, by its name; see `tau.config.keys.in_force`."""

SCROLLING: Mapping[str, str] = {
    "list-up": "scroll_up",
    "list-down": "scroll_down",
    "list-page-up": "page_up",
    "list-page-down": "page_down",
    "list-top": "scroll_home",
    "list-end": "scroll_end",
}
"""What scrolls a view, in Textual's words, by the names of actions."""


def key_of(keys: Keys, name: str) -> str:
    """The first key of an action as people read it; empty where it has none."""
    return listed(keys[name][:1])


def cancelling(keys: Keys) -> str:
    """The key that cancels what runs, as people read it; empty where there is none."""
    return key_of(keys, "cancel") or key_of(keys, "interrupt")


def in_use(node: DOMNode) -> Keys:
    """The keys in force in the app that a widget belongs to."""
    keys: Keys = node.app.keys  # type: ignore[attr-defined]  # every app here is a TauApp
    return keys


def hint(node: DOMNode, name: str, does: str) -> str:
    """What the key in force for an action does, behind a fact of a line; empty where no key does it."""
    key = key_of(in_use(node), name)
    return f" · {key} {does}" if key else ""


def by_key(keys: Keys, names: Iterable[str]) -> dict[str, str]:
    """The names of these actions by the keys in force for them."""
    return {key: name for name in names for key in keys[name]}


def done_by(event: Key, names: Mapping[str, str]) -> str:
    """The name that a pressed key has, or none; a capital letter that is not among them is the small one.

    Args:
        event: The key.
        names: Names by keys, of `by_key`.
    """
    character = event.character or ""
    key = character if event.is_printable and character.isalnum() else event.key
    return names.get(key) or names.get(key.lower(), "")


def bound(actions: Mapping[str, str], *, priority: Collection[str] = ()) -> list[Binding]:
    """Bindings by the default keys, for a class.

    Args:
        actions: What is done, in Textual's words, by the names of actions.
        priority: Those that go before what has the focus.
    """
    return [
        Binding(
            ",".join(BY_NAME[name].keys),
            does,
            BY_NAME[name].does,
            show=False,
            id=name,
            priority=name in priority,
        )
        for name, does in actions.items()
    ]


def rebind(node: DOMNode, keys: Keys, *, also_taken: Collection[str] = ()) -> None:
    """Give a widget, a screen or the app the keys in force.

    A key of an action of tau's goes before what the widget itself does with it, such as an editor.

    Args:
        node: Its bindings were made by `bound`, beside those that it inherits.
        keys: The keys in force.
        also_taken: Names of actions bound elsewhere whose keys are to get past this widget.
    """
    mine = [binding for bindings in node._bindings.key_to_bindings.values() for binding in bindings]
    named = {binding.id: binding for binding in mine if binding.id in BY_NAME}
    taken = {key for name in (*named, *also_taken) if name for key in keys.get(name, ())}
    new: dict[str, list[Binding]] = {}
    for name, binding in named.items():
        for key in keys.get(str(name), ()):
            new.setdefault(key, []).append(binding.with_key(key))
    for binding in mine:
        if binding.id not in BY_NAME and binding.key not in taken:
            new.setdefault(binding.key, []).append(binding)
    node._bindings = BindingsMap()
    node._bindings.key_to_bindings = new
