"""Folds large pastes to a marker while they stand at the prompt; they go out whole."""

from __future__ import annotations

import re

from tau.display import visible

_LINES = 8
_CHARACTERS = 1_000


class Pastes:
    """The large pastes of this run."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def folded(self, text: str) -> str:
        """What stands for a text at the prompt: a marker where it is large or holds controls, else itself."""
        lines = text.count("\n") + 1
        if lines <= _LINES and len(text) <= _CHARACTERS and visible(text) == text:
            return text
        amount = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        marker = f"[Pasted text #{len(self._texts) + 1} · {amount}]"
        self._texts[marker] = text
        return marker

    def whole(self, text: str) -> str:
        """The text with what its markers stand for."""
        if not self._texts:
            return text
        markers = re.compile("|".join(map(re.escape, self._texts)))
        return markers.sub(lambda found: self._texts[found.group()], text)
