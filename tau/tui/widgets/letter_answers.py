"""Tells a key that answers from a letter that begins a word: it answers only when it stands alone."""

from __future__ import annotations

from math import inf
from time import monotonic

from textual import events
from textual.containers import Vertical

from tau.tui.messages import TypedOn

QUIET_SECONDS = 0.35
"""A key answers only after this long without one: what was being typed when the question came does not."""

HELD_SECONDS = 0.3
"""And only when no other follows for so long: a letter that begins a word does not."""

WRITING_SECONDS = 1.0
"""After a key that went into the draft, those that come within this time follow it."""

OF_THE_DRAFT = ("enter", "backspace")
"""Keys that type nothing and belong to the draft; others answer, or are none of a question's."""

LATE_SECONDS = 0.2
"""A timer later than this means that the app was busy: what was typed meanwhile is still on its way."""


class LetterAnswers(Vertical):
    """A widget that letters answer, or other keys. Posts `TypedOn` for keys that belong to the draft."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  (textual's own name)
        super().__init__(id=id)
        self._quiet_until = inf
        self._held: events.Key | None = None

    def answer_of(self, event: events.Key) -> str:
        """The answer that a key stands for at present; empty for none."""
        raise NotImplementedError

    def take_answer(self, answer: str) -> None:
        """Do what the key, which stood alone, stands for."""
        raise NotImplementedError

    def letters_changed(self, *, written: bool = False) -> None:
        """Another key is held, or none; or, when `written`, something went into the draft."""
        raise NotImplementedError

    @property
    def held_answer(self) -> str:
        """What will be answered if nothing follows; empty for nothing."""
        return "" if self._held is None else self.answer_of(self._held)

    def be_quiet(self) -> None:
        """What is to be answered is being shown; keys answer a moment later."""
        self._held = None
        self._quiet_until = inf
        self.call_after_refresh(self._begin_quiet)

    def _begin_quiet(self) -> None:
        self._quiet_until = monotonic() + QUIET_SECONDS
        self.letters_changed()

    def take_typed(self, event: events.Key) -> None:
        """Take a key that answers or belongs to the draft: hold it, or write it after the one held."""
        answer = self.answer_of(event)
        if not event.is_printable and event.key not in OF_THE_DRAFT:  # with another key it means nothing
            if not answer or event.time < self._quiet_until or self._held is not None:
                self.let_go()
                self._quiet_until = max(self._quiet_until, event.time + QUIET_SECONDS)
            else:
                self._begin_to_hold(event)
        elif event.time < self._quiet_until:
            self._write(event)
        elif not event.is_printable:
            if event.key == "backspace":
                self.let_go()
            if self._held is None:
                self._quiet_until = event.time + QUIET_SECONDS
        elif self._held is not None:
            self.write_held()
            self._write(event)
        elif answer:
            self._begin_to_hold(event)
        else:
            self._write(event)

    def let_go(self) -> None:
        """Forget the key that is held."""
        if self._held is not None:
            self._held = None
            self.letters_changed()

    def write_held(self) -> None:
        """The letter that is held, if there is one, belongs to the draft; another key to nothing."""
        held, self._held = self._held, None
        if held is not None and held.is_printable:
            self._write(held)

    def take_pasted(self, event: events.Paste) -> None:
        """A paste belongs to the draft, with the letter before it and the keys that follow it."""
        self.write_held()
        self._go_on_writing(event)

    def _begin_to_hold(self, event: events.Key) -> None:
        self._held = event
        self._hold(event)
        self.letters_changed()

    def _hold(self, event: events.Key) -> None:
        latest = monotonic() + HELD_SECONDS + LATE_SECONDS
        self.set_timer(HELD_SECONDS, lambda: self._held_long_enough(event, latest))

    def _held_long_enough(self, event: events.Key, latest: float) -> None:
        if monotonic() > latest:
            self._hold(event)
            return
        # Behind the keys that are on the same way already.
        on_the_way = self.screen.focused or self.screen
        self.app.call_later(on_the_way.call_later, self.call_later, self._settle, event)

    def _settle(self, event: events.Key) -> None:
        if self._held is event:
            answer = self.answer_of(event)
            self.let_go()
            if answer and self.app.screen is self.screen:
                self.take_answer(answer)

    def _write(self, event: events.Key) -> None:
        """A key belongs to the draft, and so do those that follow it."""
        self._go_on_writing(event)
        self.letters_changed(written=event.is_printable)

    def _go_on_writing(self, event: events.Key | events.Paste) -> None:
        if self._quiet_until < inf:
            self._quiet_until = event.time + WRITING_SECONDS
        self.post_message(TypedOn(event))
