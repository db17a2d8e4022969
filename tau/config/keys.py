"""What keys do: every action of the app, its keys where ``[keys]`` says nothing, and how keys are named."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

Place = Literal["anywhere", "conversation", "prompt"]


class Action(NamedTuple):
    """Something a key does.

    Attributes:
        name: Its key in ``[keys]``.
        keys: Those that do it by default.
        does: In a few words, for the help.
        place: Where: on every screen, on that of the conversation, or while something is written.
    """

    name: str
    keys: tuple[str, ...]
    does: str
    place: Place


ACTIONS = (
    Action("send", ("enter",), "send", "prompt"),
    Action(
        "newline",
        ("ctrl+j", "shift+enter", "alt+enter"),
        "new line; Shift+Enter where the terminal tells",
        "prompt",
    ),
    Action("complete", ("tab",), "complete a command or a file; else on to the cards", "prompt"),
    Action("history", ("ctrl+r",), "search what was sent before", "prompt"),
    Action("editor", ("ctrl+g",), "go on writing in $VISUAL or $EDITOR", "prompt"),
    Action("paste", ("ctrl+v",), "paste an image of the clipboard; else what was copied here", "prompt"),
    Action("cancel", ("escape",), "cancel the running turn; what waits comes back", "conversation"),
    Action(
        "interrupt",
        ("ctrl+c",),
        "copy the selection; else put the draft away, cancel, or leave",
        "anywhere",
    ),
    Action("page-up", ("pageup",), "scroll up; at the top, 20 earlier turns", "conversation"),
    Action("page-down", ("pagedown",), "scroll down", "conversation"),
    Action("block-up", ("alt+up",), "a cursor over the blocks above; its keys are shown", "conversation"),
    Action("block-down", ("alt+down",), "down with it, and back to the prompt", "conversation"),
    Action("find", ("ctrl+f",), "find words in the conversation", "conversation"),
    Action("newest", ("end",), "to the newest line, when the prompt is not in use", "conversation"),
    Action("help", ("f1",), "this help", "anywhere"),
    Action("palette", ("ctrl+p",), "everything there is to do, found by typing", "conversation"),
    Action("sessions", ("f2",), "sessions: resume, filter, search, preview", "conversation"),
    Action("new", ("f3",), "new session; this one is kept", "conversation"),
    Action("events", ("f4",), "show or fold the events pane", "conversation"),
    Action("memory", ("alt+m",), "memory: files, changes, undo", "conversation"),
    Action("take-back", ("ctrl+t",), "take back what was just remembered", "conversation"),
    Action("accept-model", ("f5",), "while a model is offered: download it", "conversation"),
    Action("smaller-model", ("f8",), "while a model is offered: download the smaller one", "conversation"),
    Action(
        "decline-model", ("f9",), "while a model is offered: not now, or stop the download", "conversation"
    ),
    Action("leave", ("ctrl+q",), "leave; nothing is lost", "anywhere"),
)
"""In the order in which the help shows them."""

BY_NAME: Mapping[str, Action] = {action.name: action for action in ACTIONS}

_NAMED = {
    **{
        name: name
        for name in ("enter", "escape", "tab", "space", "backspace", "delete", "insert", "home", "end")
    },
    **{name: name for name in ("pageup", "pagedown", "up", "down", "left", "right")},
    **{name: name for name in ("slash", "backslash", "underscore", "minus", "comma", "full_stop")},
    **{f"f{number}": f"f{number}" for number in range(1, 25)},
    "esc": "escape",
    "return": "enter",
    "del": "delete",
    "ins": "insert",
    "pgup": "pageup",
    "pgdn": "pagedown",
}
_MODIFIERS = ("alt", "ctrl", "shift")
"""In the order in which the app names a pressed key."""

_SAME = {"ctrl+i": "tab", "ctrl+m": "enter"}
"""Keys that a terminal cannot tell from others."""

_TOLD = frozenset({"alt", "alt+shift", "ctrl"})
"""Modifiers that every terminal tells of a letter."""

_TOLD_OF_OTHERS = frozenset({"shift+tab", "ctrl+backslash", "ctrl+underscore"})
_WITHOUT_SEQUENCE = ("enter", "escape", "tab", "space", "backspace")
_MARKS = ("slash", "backslash", "underscore", "minus", "comma", "full_stop")


class KeyProblem(ValueError):
    """A key that cannot be used; the message goes on after the name of the setting."""


def read_key(text: str) -> str:
    """A key as people write it, in the form in which it is kept: ``Ctrl+PgUp`` is ``ctrl+pageup``.

    Raises:
        KeyProblem: There is no such key, or it would keep something from being typed.
    """
    *modifiers, last = (part.strip() for part in text.lower().split("+"))
    key = _NAMED.get(last, last)
    given = [modifier for modifier in _MODIFIERS if modifier in modifiers]
    if len(given) != len(modifiers) or not (key in _NAMED.values() or re.fullmatch("[a-z0-9]", key)):
        raise KeyProblem(f"names no key: '{text}', such as f2, ctrl+o, alt+up or escape")
    whole = "+".join([*given, key])
    if whole in _SAME:
        raise KeyProblem(f"names {text}, which a terminal cannot tell from {_SAME[whole]}")
    if (len(key) == 1 or key == "space") and given in ([], ["shift"]):
        raise KeyProblem(f"names {text}, which could not be typed any more")
    return whole


def read_keys(value: str | Sequence[str]) -> tuple[str, ...]:
    """The keys of a setting: one, several in a list, or none in an empty text or list.

    Raises:
        KeyProblem: One of them cannot be used.
    """
    if isinstance(value, str):
        return (read_key(value),) if value.strip() else ()
    return tuple(dict.fromkeys(map(read_key, value)))


def in_force(settings: Mapping[str, str | Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """The keys of every action. A key that the person gives to one action is taken from the others.

    Args:
        settings: The checked ``[keys]`` table.
    """
    chosen = {name: read_keys(value) for name, value in settings.items() if name in BY_NAME}
    taken = {key for keys in chosen.values() for key in keys}
    return {
        action.name: chosen.get(action.name, tuple(key for key in action.keys if key not in taken))
        for action in ACTIONS
    }


def twice(settings: Mapping[str, str | Sequence[str]]) -> list[tuple[str, str, str]]:
    """Keys that the person gives to two actions: the second action, the key, the first action."""
    owners: dict[str, str] = {}
    found = []
    for name, value in settings.items():
        for key in read_keys(value):
            first = owners.setdefault(key, name)
            if first != name:
                found.append((name, key, first))
    return found


def left_without(settings: Mapping[str, str | Sequence[str]]) -> list[tuple[str, str]]:
    """Actions that no key does any more, each with why: its setting is empty, or another has its keys."""
    keys = in_force(settings)
    owners = {key: name for name in settings for key in keys.get(name, ())}
    found = []
    for action in ACTIONS:
        if not keys[action.name]:
            takers = ", ".join(dict.fromkeys(owners[key] for key in action.keys if key in owners))
            taken = f"is not set, and {takers} took {listed(action.keys)}"
            found.append((action.name, "is empty" if action.name in settings else taken))
    return found


def rarely_sent(settings: Mapping[str, str | Sequence[str]]) -> list[tuple[str, str]]:
    """Actions given a key that many terminals do not send as such, each with what becomes of the key."""
    found = []
    for name, keys in in_force(settings).items():
        if name not in settings:
            continue
        reasons = {key: reason for key in keys if (reason := _trouble(key))}
        only = ", and no other key does it" if len(reasons) == len(keys) else ""
        found += [(name, f"{shown(key)} {reason}{only}") for key, reason in reasons.items()]
    return found


def _trouble(key: str) -> str:
    """Why many terminals do not send a key as such; empty when all do."""
    if key == "ctrl+h":
        return "is Backspace in most terminals, and deletes there"
    modifiers, _, last = key.rpartition("+")
    if not modifiers or key in _TOLD_OF_OTHERS:
        return ""
    if last.isalpha() and len(last) == 1:
        told = modifiers in _TOLD
    else:
        told = not (last.isdigit() or last in _WITHOUT_SEQUENCE or last in _MARKS)
    return "" if told else "comes only from terminals with the kitty keyboard protocol"


def shown(key: str) -> str:
    """A key as people read it: ``Ctrl+PageUp``."""
    names = {"pageup": "PageUp", "pagedown": "PageDown", "escape": "Esc"}
    return "+".join(names.get(part, part.capitalize()) for part in key.split("+"))


def listed(keys: Iterable[str]) -> str:
    """Several keys as people read them, with a comma between."""
    return ", ".join(map(shown, keys))
