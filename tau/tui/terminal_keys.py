"""Reads keys and pastes from what a terminal sends, where Textual mistakes them."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType

from textual import _xterm_parser
from textual.events import Key, Paste
from textual.message import Message

_PASTE, _PASTED = _xterm_parser.BRACKETED_PASTE_START, _xterm_parser.BRACKETED_PASTE_END
_LEAST = 3
"""Characters at the end of what came that are waited with for the rest of a mark; fewer can be a key."""

_ALT_ENTER = "\x1b\r"


class TerminalKeys(_xterm_parser.XTermParser):
    """Textual's parser, but that

    - everything between the marks of a paste is text: an escape in it ended the paste, and what followed was
      taken for keys that a person pressed;
    - Alt with Enter is a key of its own where the terminal tells it by an escape before it;
    - a letter with Alt is no letter: it stood in the text, and nothing that it is bound to happened.
    """

    def __init__(self, debug: bool = False) -> None:
        super().__init__(debug)
        self._pasted: list[str] | None = None
        self._rest = ""  # the beginning of a mark, or what may be one

    def feed(self, data: str) -> Iterable[Message]:
        """What these characters say, behind those before; the empty string is the end."""
        if not data:
            yield from super().feed(data)
            return
        data, self._rest = self._rest + data, ""
        while data:
            mark = _PASTE if self._pasted is None else _PASTED
            text, found, data = data.partition(mark)
            if not found:
                begun = _begun(text, mark, least=_LEAST if self._pasted is None else 1)
                text, self._rest = text[: len(text) - begun], text[len(text) - begun :]
            if self._pasted is not None:
                self._pasted.append(text)
                if found:
                    pasted, self._pasted = "".join(self._pasted), None
                    yield Paste(pasted.replace("\x00", ""))
            else:
                if text:
                    yield from super().feed(text)
                if found:
                    self._pasted = []

    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterable[Key]:
        if sequence == _ALT_ENTER:
            yield Key("alt+enter", None)
            return
        for event in super()._sequence_to_key_events(sequence, alt):
            yield Key(event.key, None) if event.key.startswith("alt+") else event


def _begun(text: str, mark: str, *, least: int) -> int:
    """How many characters at the end of a text can be the beginning of a mark; 0 for fewer than `least`."""
    return next((size for size in range(len(mark) - 1, least - 1, -1) if text.endswith(mark[:size])), 0)


def use(driver: ModuleType) -> None:
    """Have a driver of Textual's read so: it makes its parser itself, and takes no other."""
    driver.XTermParser = TerminalKeys  # type: ignore[attr-defined]  # by this name the module knows it
