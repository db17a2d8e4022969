"""What stands in the prompt for something else and is moved over and deleted as one: pastes, images."""

from __future__ import annotations

import re

from tau.display import visible

FOLD_LINES = 8
FOLD_CHARACTERS = 1_000

_GLUE = "\u00a0"
"""A space that no key types: by it a marker is told from a text that merely looks like one."""

_MENTION = re.compile(r'@(?:"(?:[^"\\]|\\.)*"|\S+)')


class Placeholders:
    """The markers of large pastes, and the mentions of images that were pasted, of one draft."""

    def __init__(self) -> None:
        self._pastes: dict[str, str] = {}
        self._mentions: set[str] = set()
        self._found = re.compile(r"(?!)")

    def folded(self, text: str) -> str:
        """What stands for a text: a marker where it is large or holds characters that cannot be shown."""
        lines = text.count("\n") + 1
        if lines <= FOLD_LINES and len(text) <= FOLD_CHARACTERS and visible(text) == text:
            return text
        known = next((marker for marker, paste in self._pastes.items() if paste == text), "")
        if known:
            return known
        amount = f"{lines:,}{_GLUE}lines" if lines > 1 else f"{len(text):,}{_GLUE}characters"
        marker = f"[Pasted text #{len(self._pastes) + 1} · {amount}]"
        self._pastes[marker] = text
        self._look_for()
        return marker

    def add_mentions(self, mentions: str) -> None:
        """Take each mention in a text for one thing, as long as it is a word of its own."""
        self._mentions.update(_MENTION.findall(mentions))
        self._look_for()

    def written_out(self, text: str) -> str:
        """A text with every paste in place of its marker."""
        if not self._pastes:
            return text
        return self._found.sub(lambda found: self._pastes.get(found.group(), found.group()), text)

    def around(self, line: str, column: int) -> tuple[int, int] | None:
        """The first and the last column of the placeholder that a column of a line is inside of."""
        for found in self._found.finditer(line):
            if found.start() >= column:
                break
            if column < found.end():
                return found.span()
        return None

    def clear(self) -> None:
        """Begin a new draft."""
        self._pastes.clear()
        self._mentions.clear()
        self._look_for()

    def _look_for(self) -> None:
        ways = [re.escape(marker) for marker in self._pastes]
        ways += [rf"(?<!\S){re.escape(mention)}(?!\.?[\w/:-])" for mention in self._mentions]
        self._found = re.compile("|".join(ways) or r"(?!)")
