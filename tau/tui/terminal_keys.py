"""Reads keys and pastes from what a terminal sends, where Textual mistakes them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from types import ModuleType

from textual import _xterm_parser
from textual.events import Key, Paste
from textual.message import Message

from tau.input.burst import Burst, is_pasted

_PASTE, _PASTED = _xterm_parser.BRACKETED_PASTE_START, _xterm_parser.BRACKETED_PASTE_END
_LEAST = 3
"""Characters at the end of what came that are waited with for the rest of a mark; fewer can be a key."""

_ESCAPE = "\x1b"
_ALT_ENTER = "\x1b\r"

_ALONE = 0.01
"""Seconds after which a key is no part of an escape that came before; a terminal sends both at once."""

_INTRODUCERS = ("[", "O")
"""What a sequence goes on with behind its escape; on a slow line it can come in two pieces."""


class TerminalKeys(_xterm_parser.XTermParser):
    """Textual's parser, but that

    - everything between the marks of a paste is text: an escape in it ended the paste, and what followed was
      taken for keys that a person pressed;
    - a paste without marks is one, too, where it is too much at once for keys: each of its characters was a
      key, and each took as long as one;
    - Alt with Enter is a key of its own where the terminal tells it by an escape before it;
    - a letter with Alt is no letter: it stood in the text, and nothing that it is bound to happened;
    - an escape that a key follows a moment later is the key Esc: both were taken for one key with Alt, for as
      long as a tenth of a second, so that neither did anything.

    Args:
        debug: As Textual has it.
        clock: Seconds that only rise.
    """

    def __init__(self, debug: bool = False, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(debug)
        self._clock = clock
        self._burst = Burst(clock)
        self._escape_at: float | None = None  # when what came ended with an escape
        self._pasted: list[str] | None = None
        self._rest = ""  # the beginning of a mark, or what may be one

    def feed(self, data: str) -> Iterable[Message]:
        """What these characters say, behind those before; the empty string is the end."""
        if not data:
            yield from self._end_burst()
            yield from super().feed(data)
            return
        if self._belongs_to_burst(data):
            yield from self._end_sequence()
            return
        if self._came_alone(data):
            yield from self._end_sequence()
        self._escape_at = self._clock() if data.endswith(_ESCAPE) else None
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
                    yield from self._end_sequence()
                    self._pasted = []

    def tick(self) -> Iterable[Message]:
        """What is known now that nothing more has come for a while."""
        if self._burst.is_over:
            yield from self._end_burst()
        yield from super().tick()

    def _belongs_to_burst(self, data: str) -> bool:
        """Whether these characters are of a paste without marks; then they are kept for its end."""
        data = self._rest + data
        unmarked = data if self._burst.is_open else data.partition(_PASTE)[0]
        if self._pasted is not None or not (self._burst.is_open or is_pasted(unmarked)):
            return False
        self._burst.take(data)
        self._rest, self._escape_at = "", None
        return True

    def _end_burst(self) -> Iterable[Message]:
        if self._burst.is_open:
            gathered = self._burst.end()
            if gathered.reports:
                yield from super().feed(gathered.reports)
            yield Paste(gathered.text.replace("\x00", ""))
            if gathered.enter:
                yield from super().feed(gathered.enter)

    def _came_alone(self, data: str) -> bool:
        """Whether the escape before is a key of its own, with these characters behind it."""
        at, self._escape_at = self._escape_at, None
        later = at is not None and self._clock() - at >= _ALONE
        return later and self._pasted is None and not data.startswith(_INTRODUCERS)

    def _end_sequence(self) -> Iterable[Message]:
        """Nothing more comes to an escape, if one waits for what follows it."""
        if self._timeout_time is not None:
            self._timeout_time = 0.0
            yield from self.tick()

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
