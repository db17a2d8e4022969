"""How keys are named, and which are in force: the defaults of the actions, and those of ``[keys]``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from tau.config.actions import ACTIONS, ANSWERS, BY_NAME, GIVE_WAY, REQUIRED, Action, Place, meet
from tau.display import one_line

_IN: Mapping[Place, str] = {
    "list": "in lists",
    "sessions": "in the list of sessions",
    "palette": "in the palette",
    "memory": "in memory",
    "search": "in the search of what was sent",
    "find": "in the find bar",
    "blocks": "on a block",
    "question": "in a question",
}
"""Where two actions meet, in a sentence; the other places are everywhere or nearly so."""

_NOTHING_TYPED: frozenset[Place] = frozenset(("memory", "blocks", "question"))
"""Places where letters can do something, since a text is not what they begin there."""

_EDITING = frozenset(("backspace", "delete", "left", "right", "home", "end"))
"""Keys that change a text, or move in it, where one is typed."""


_MARKS = {
    "/": "slash",
    "\\": "backslash",
    "_": "underscore",
    "-": "minus",
    ",": "comma",
    ".": "full_stop",
    "?": "question_mark",
    "!": "exclamation_mark",
    ":": "colon",
    ";": "semicolon",
}
_MARK_OF = {name: mark for mark, name in _MARKS.items()}

_NAMED = {
    **{
        name: name
        for name in ("enter", "escape", "tab", "space", "backspace", "delete", "insert", "home", "end")
    },
    **{name: name for name in ("pageup", "pagedown", "up", "down", "left", "right")},
    **{name: name for name in _MARK_OF},
    **_MARKS,
    **{f"f{number}": f"f{number}" for number in range(1, 25)},
    "esc": "escape",
    "return": "enter",
    "del": "delete",
    "ins": "insert",
    "pgup": "pageup",
    "pgdn": "pagedown",
}
_KNOWN = frozenset(_NAMED.values())
_MODIFIERS = ("alt", "ctrl", "shift")
"""In the order in which the app names a pressed key."""

_SAME = {"ctrl+i": "tab", "ctrl+m": "enter"}
"""Keys that a terminal cannot tell from others."""

_TOLD = frozenset({"alt", "alt+shift", "ctrl"})
"""Modifiers that every terminal tells of a letter."""

_TOLD_OF_OTHERS = frozenset({"shift+tab", "ctrl+backslash", "ctrl+underscore"})
_WITHOUT_SEQUENCE = ("enter", "escape", "tab", "space", "backspace")
_OF_THE_DRAFT = ("enter", "backspace", "space")
"""Keys that somebody who is writing presses when a question comes."""

_SHOWN = {"pageup": "PageUp", "pagedown": "PageDown", "escape": "Esc"}
_ARROWS = {"up": "↑", "down": "↓", "left": "←", "right": "→"}


class KeyProblem(ValueError):
    """A key that cannot be used; the message goes on after the name of the setting."""


def read_key(text: str, action: Action | None = None) -> str:
    """A key as people write it, in the form in which it is kept: ``Ctrl+PgUp`` is ``ctrl+pageup``.

    A capital letter alone is a key of its own, ``E``; with another key it is the same as the small one.

    Args:
        text: What was written.
        action: What it is to do. Without one it is to be a key that is free in every place.

    Raises:
        KeyProblem: There is no such key, or it cannot do that.
    """
    called = one_line(text, 40)
    *modifiers, last = (part.strip() for part in text.lower().split("+"))
    key = _NAMED.get(last, last)
    if re.fullmatch("[A-Z]", text.strip()):
        key = text.strip()
    given = [modifier for modifier in _MODIFIERS if modifier in modifiers]
    if len(given) != len(modifiers) or not (key in _KNOWN or re.fullmatch("[A-Za-z0-9]", key)):
        raise KeyProblem(f"names no key: '{called}', such as f2, ctrl+o, alt+up or escape")
    whole = "+".join([*given, key])
    if whole in _SAME:
        raise KeyProblem(f"names {called}, which a terminal cannot tell from {_SAME[whole]}")
    if (len(key) == 1 or key in _MARK_OF or key == "space") and given in ([], ["shift"]):
        if action is None or not _NOTHING_TYPED.issuperset(action.places):
            raise KeyProblem(f"names {called}, which could not be typed any more")
        if given:
            raise KeyProblem(f"names {called}; what is typed is named without Shift")
    if whole in _EDITING and not _is_moved_by(whole, action):
        raise KeyProblem(f"names {called}, without which what is typed could not be edited")
    if action is not None and "question" in action.places and key in _OF_THE_DRAFT:
        raise KeyProblem(f"names {called}, which never answers a question")
    return whole


def _is_moved_by(key: str, action: Action | None) -> bool:
    """Whether a key of editing is free for an action: nothing is typed there, or another is its job there."""
    if action is None:
        return False
    return _NOTHING_TYPED.issuperset(action.places) or any(
        key in other.keys
        and not {*action.places}.isdisjoint(other.places)
        and (other is action or GIVE_WAY.get(other.name) != key)
        for other in ACTIONS
    )


def read_keys(value: str | Sequence[str], action: Action | None = None) -> tuple[str, ...]:
    """The keys of a setting: one, several in a list, or none in an empty text or list.

    Raises:
        KeyProblem: One of them cannot be used, or there is none and the action needs one.
    """
    if isinstance(value, str):
        value = [value] if value.strip() else []
    keys = tuple(dict.fromkeys(read_key(text, action) for text in value))
    if not keys and action is not None and action.name in REQUIRED:
        raise KeyProblem(f"must name a key: without one {REQUIRED[action.name]}")
    return keys


def in_force(settings: Mapping[str, str | Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """The keys of every action. A key that the person gives to one action is taken from those it meets.

    An action that is needed keeps a key: one that would take its last is not given that.

    Args:
        settings: The checked ``[keys]`` table.
    """
    chosen = _without_traps(_chosen(settings))
    owners = _owners(chosen)
    return {
        action.name: chosen[action.name]
        if action.name in chosen
        else tuple(key for key in action.keys if not _takers(action, key, owners))
        for action in ACTIONS
    }


def not_given(settings: Mapping[str, str | Sequence[str]]) -> list[tuple[str, str, str]]:
    """Keys that the person gives to an action and that another needs: the action, the key, the other."""
    keys = in_force(settings)
    found = []
    for name, chosen in _chosen(settings).items():
        for key in chosen:
            if key not in keys[name]:
                needs = (
                    other
                    for other in REQUIRED
                    if not {*_as_good_as(BY_NAME[name], key)}.isdisjoint(keys[other])
                    and meet(BY_NAME[name], BY_NAME[other]) is not None
                )
                found.append((name, key, next(needs)))
    return found


def twice(settings: Mapping[str, str | Sequence[str]]) -> list[tuple[str, str, str, str]]:
    """Keys that the person gives to two actions that meet.

    Returns:
        The second action, the key, the first action, and where they meet if that is one place.
    """
    owners: dict[str, list[str]] = {}
    found = []
    for name, value in settings.items():
        action = BY_NAME[name]
        for key in read_keys(value, action):
            for first, _ in _takers(action, key, owners):
                place = meet(BY_NAME[first], action)
                assert place is not None
                found.append((name, key, first, _IN.get(place, "")))
            owners.setdefault(key, []).append(name)
    return found


def left_without(settings: Mapping[str, str | Sequence[str]]) -> list[tuple[str, str]]:
    """Actions without a key as their setting is empty, or names only what another needs; each with why."""
    keys = in_force(settings)
    kept = {name: owner for name, _, owner in not_given(settings)}
    return [
        (action.name, f"names what {kept[action.name]} needs" if action.name in kept else "is empty")
        for action in ACTIONS
        if not keys[action.name] and action.name in settings
    ]


def taken(settings: Mapping[str, str | Sequence[str]]) -> list[tuple[str, list[str]]]:
    """Actions that have no key any more as others were given theirs, each with those others."""
    keys = in_force(settings)
    owners = _owners({name: keys[name] for name in settings if name in keys})
    found = []
    for action in ACTIONS:
        if not keys[action.name] and action.name not in settings:
            takers = dict.fromkeys(name for key in action.keys for name, _ in _takers(action, key, owners))
            found.append((action.name, list(takers)))
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


def _chosen(settings: Mapping[str, str | Sequence[str]]) -> dict[str, tuple[str, ...]]:
    return {name: read_keys(value, BY_NAME[name]) for name, value in settings.items() if name in BY_NAME}


def _owners(chosen: Mapping[str, tuple[str, ...]]) -> dict[str, list[str]]:
    """The actions that the person gives each key to."""
    owners: dict[str, list[str]] = {}
    for name, keys in chosen.items():
        for key in keys:
            owners.setdefault(key, []).append(name)
    return owners


def _takers(action: Action, key: str, owners: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """The actions that take a key from another one, each with its own key, which may be of the other size."""
    return [
        (name, each)
        for each in _as_good_as(action, key)
        for name in owners.get(each, ())
        if name != action.name
        and (each == key or name in ANSWERS)
        and meet(action, BY_NAME[name]) is not None
        and not _share(action, BY_NAME[name], key)
    ]


def _as_good_as(action: Action, key: str) -> tuple[str, ...]:
    """A key, and for an answer its other size: with Caps Lock on one is pressed as the other."""
    return (key, key.swapcase()) if action.name in ANSWERS and re.fullmatch("[A-Za-z]", key) else (key,)


def _share(first: Action, second: Action, key: str) -> bool:
    """Whether two actions have a key in common by default: the first that has something to do does it."""
    return key in first.keys and key in second.keys


def _without_traps(chosen: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """What the person chose, without keys whose loss would leave an action that is needed with none."""
    left = dict(chosen)
    refused: list[tuple[str, str]] = []
    while trap := _trap(left):
        refused += trap
        for name, key in trap:
            left[name] = tuple(other for other in left[name] if other != key)
            if not left[name] and name in REQUIRED:
                del left[name]
    for name, key in refused:  # what has since become possible
        again = {**left, name: (*left.get(name, ()), key)}
        if not _trap(again):
            left = again
    return left


def _trap(chosen: Mapping[str, tuple[str, ...]]) -> list[tuple[str, str]]:
    """For an action that is needed and is left with none of its own: who has its keys, and which."""
    owners = _owners(chosen)
    for name in REQUIRED if chosen else ():
        action = BY_NAME[name]
        keys = chosen.get(name) or action.keys
        takers = {key: _takers(action, key, owners) for key in keys}
        if all(takers.values()):
            return [taker for each in takers.values() for taker in each]
    return []


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
        told = not (last.isdigit() or last in _WITHOUT_SEQUENCE or last in _MARK_OF)
    return "" if told else "comes only from terminals with the kitty keyboard protocol"


def shown(key: str) -> str:
    """A key as people read it: ``Ctrl+PageUp``; what is typed as it is typed."""
    *modifiers, last = key.split("+")
    if last in _MARK_OF:
        last = _MARK_OF[last]
    elif modifiers or len(last) > 1:
        last = _SHOWN.get(last, last.capitalize())
    return "+".join([*(modifier.capitalize() for modifier in modifiers), last])


def short(key: str) -> str:
    """As `shown`, an arrow as its sign."""
    return _ARROWS.get(key) or shown(key)


def listed(keys: Iterable[str]) -> str:
    """Several keys as people read them, with a comma between."""
    return ", ".join(map(shown, keys))
