"""A line of keys and what each does, as it stands under a list or over the prompt."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from tau.config.keys import short
from tau.tui.fit import keep_what_fits
from tau.tui.keys import Keys

BETWEEN = Content("   ")


def keys_line(keys: Sequence[tuple[str, str]], width: int | None = None) -> Content:
    """Keys and what they do, on one line.

    Args:
        keys: Each key and a word or two in the base form: ``("Enter", "resume")``.
        width: Cells there are; the keys before the last give way, the later ones first. None: no limit.
    """
    parts = key_parts(keys)
    return BETWEEN.join(parts) if width is None else keep_what_fits(ranked(parts), width, BETWEEN)


def key_parts(keys: Sequence[tuple[str, str]]) -> list[Content]:
    """Keys and what they do, each by itself."""
    return [Content.assemble((key, "$accent"), (f" {does}".rstrip(), "$quiet")) for key, does in keys]


def ranked(parts: Sequence[Content]) -> list[tuple[int, Content]]:
    """Parts with what each is worth: the last, how to get away, is always said; the first is worth more."""
    last = len(parts) - 1
    return [(len(parts) if place == last else last - place, part) for place, part in enumerate(parts)]


def action_line(keys: Keys, actions: Sequence[tuple[str, str]], width: int | None = None) -> Content:
    """As `keys_line`, for actions by their names (see `in_words`)."""
    return keys_line(in_words(keys, actions), width)


def in_words(keys: Keys, actions: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The first keys in force of actions, each with what it does there, without those that have none.

    Args:
        keys: The keys in force.
        actions: The name of each action, or two with a blank between whose keys are said together: ``↑↓``.
    """
    named = [(_together(keys, names.split()), does) for names, does in actions]
    return [(key, does) for key, does in named if key]


def _together(keys: Keys, names: Sequence[str]) -> str:
    first = [short(keys[name][0]) for name in names if keys[name]]
    return ("" if all(len(key) == 1 for key in first) else " ").join(first)
