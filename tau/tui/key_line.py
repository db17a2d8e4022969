"""A line of keys and what each does, as it stands under a list or over the prompt."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from tau.tui.fit import keep_what_fits
from tau.tui.keys import Keys, key_of

BETWEEN = Content("   ")


def keys_line(keys: Sequence[tuple[str, str]], width: int | None = None) -> Content:
    """Keys and what they do, on one line.

    Args:
        keys: Each key and a word or two in the base form: ``("Enter", "resume")``.
        width: Cells there are; the keys before the last give way, the later ones first. None: no limit.
    """
    parts = [Content.assemble((key, "$accent"), (f" {does}".rstrip(), "$quiet")) for key, does in keys]
    if width is None:
        return BETWEEN.join(parts)
    last = len(parts) - 1  # how to get away is said whatever happens
    ranked = [(len(parts) if place == last else last - place, part) for place, part in enumerate(parts)]
    return keep_what_fits(ranked, width, BETWEEN)


def action_line(keys: Keys, actions: Sequence[tuple[str, str]]) -> Content:
    """As `keys_line`, for actions by their names: with the keys in force, without those that have none."""
    return keys_line(in_words(keys, actions))


def in_words(keys: Keys, actions: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The first keys in force of actions, each with what it does there, without those that have none."""
    named = [(key_of(keys, name), does) for name, does in actions]
    return [(key, does) for key, does in named if key]
