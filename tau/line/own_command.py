"""A command that the person typed with ``!`` at the prompt of `tau chat`: its output goes to stderr."""

from __future__ import annotations

import sys
from contextlib import suppress

from tau.conversation.state import Opening
from tau.display import one_line, visible
from tau.events import CommandEnded, CommandEvent, CommandOutput
from tau.line.output import note


class CommandWriter:
    """Writes what a command writes, and then how it ended.

    Args:
        shared: Whether the model is told of it.
    """

    def __init__(self, *, shared: bool) -> None:
        self._shared = shared
        self._line_open = False

    def show(self, event: CommandEvent) -> None:
        """Render one event."""
        match event:
            case CommandOutput(text):
                with suppress(OSError):
                    sys.stderr.write(visible(text))
                    sys.stderr.flush()
                self._line_open = not text.endswith("\n")
            case CommandEnded(ran=True):
                if self._line_open:
                    with suppress(OSError):
                        sys.stderr.write("\n")
                how = event.output.rpartition("\n")[2]
                note(f"{how} · goes along with your next message" if self._shared else how)
                if event.notice:
                    note(event.notice)
            case CommandEnded():
                note(event.notice)


def waiting_lines(opening: Opening) -> list[str]:
    """The commands whose output goes along with the next message, where a session has such."""
    shared = opening.state.shared
    if not shared:
        return []
    return [*(f"! {one_line(record.command, 200)}" for record in shared), "go along with your next message"]
