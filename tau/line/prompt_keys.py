"""What keys do at the prompt of line mode, beside what prompt_toolkit does already (those of Emacs)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from time import monotonic

from prompt_toolkit.application.current import get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import has_focus
from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from tau.input.images import may_be_dropped, mentioned_instead
from tau.line.pastes import Pastes

_BURST = 0.1
"""Seconds within which lines that come on their own are one paste."""

_EDITOR_SUFFIX = ".md"

for _shift_enter in ("\x1b[27;2;13~", "\x1b[13;2u"):  # from terminals that tell it from Enter
    ANSI_SEQUENCES[_shift_enter] = (Keys.Escape, Keys.ControlM)


class PromptKeys:
    """The bindings, and what they must know of the moment.

    Args:
        pastes: Folds what is large.
        put_away: Takes a text that Ctrl-C takes out of the prompt.
        say: Shows a line above the prompt.
    """

    def __init__(
        self, pastes: Pastes, put_away: Callable[[Buffer], None], say: Callable[[str], None]
    ) -> None:
        self._pastes = pastes
        self._put_away = put_away
        self._say = say
        self._burst_until = 0.0
        self.typed_ahead = 0
        """Enters that were pressed before the prompt came: each sends what stands before it."""

        self.bindings = KeyBindings()
        at_prompt = has_focus(DEFAULT_BUFFER)
        add = self.bindings.add
        add("enter", filter=at_prompt)(self._enter)
        add("escape", "enter", filter=at_prompt)(self._break)
        add("c-j", filter=at_prompt)(self._break)
        add("tab", filter=at_prompt)(self._complete)
        add("c-c", filter=at_prompt)(self._interrupt)
        add("c-g", filter=at_prompt)(self._edit)
        add("c-x", "c-e", filter=at_prompt)(self._edit)
        add(Keys.BracketedPaste, filter=at_prompt)(self._paste)

    def _enter(self, event: KeyPressEvent) -> None:
        """Send; but take a chosen completion first, and keep the lines of a paste together."""
        buffer = event.current_buffer
        if self.typed_ahead:
            self.typed_ahead -= 1
            buffer.validate_and_handle()
        elif event.app.key_processor.input_queue or monotonic() < self._burst_until:
            self._burst_until = monotonic() + _BURST
            buffer.insert_text("\n")
        elif buffer.complete_state is not None and buffer.complete_state.current_completion is not None:
            buffer.complete_state = None
        else:
            buffer.validate_and_handle()

    def _break(self, event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    def _complete(self, event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state is not None:
            buffer.complete_next()
        else:
            buffer.start_completion(select_first=True)

    def _interrupt(self, event: KeyPressEvent) -> None:
        """Put a text away, for Up to bring back; leave where there is none."""
        if event.current_buffer.text.strip():
            self._put_away(event.current_buffer)
        else:
            event.app.exit(exception=KeyboardInterrupt(), style="class:aborting")

    def _edit(self, event: KeyPressEvent) -> None:
        """Open the text, whole, in the person's editor."""
        buffer = event.current_buffer
        if not (os.environ.get("VISUAL") or os.environ.get("EDITOR")):
            self._say("Set $VISUAL or $EDITOR to an editor")
            return
        buffer.text = self._pastes.whole(buffer.text)
        buffer.tempfile_suffix = _EDITOR_SUFFIX
        buffer.open_in_editor()

    def _paste(self, event: KeyPressEvent) -> None:
        text = event.data.replace("\r\n", "\n").replace("\r", "\n")
        mentions = mentioned_instead(text, Path.cwd()) if may_be_dropped(text) else ""
        before = event.current_buffer.document.char_before_cursor
        space = " " if mentions and before.strip() else ""
        event.current_buffer.insert_text(f"{space}{mentions} " if mentions else self._pastes.folded(text))
        get_app().invalidate()
