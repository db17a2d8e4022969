"""A command of the person's in the chat, drawn as the call of a tool is."""

from __future__ import annotations

from tau.tui.widgets.shown_call import CardStatus
from tau.tui.widgets.tool_card import LAST_LINES, ToolCard

SHARED, OWN = "!", "!!"

STANDING_LINES = 10
"""Lines of the output of a command that was just run, which are what it was run for."""


class CommandCard(ToolCard):
    """A command that the person ran.

    Args:
        command: The command.
        shared: Whether the model is told of its output.
        status: Whether it runs and how it ended.
        result: Its output, with how it ended in the last line.
        seconds: How long it took; None when that is not known.
    """

    NAME = "command of yours"

    def __init__(
        self,
        command: str,
        *,
        shared: bool = True,
        status: CardStatus = "running",
        result: str = "",
        seconds: float | None = None,
    ) -> None:
        self._mark = SHARED if shared else OWN
        self._stands = False
        super().__init__("shell", {"command": command}, status=status, result=result, seconds=seconds)

    @property
    def label(self) -> str:
        """What was typed before the command."""
        return self._mark

    def stand(self, stands: bool) -> None:
        """Whether the last lines of the output stay on the screen, however the command ended."""
        if stands != self._stands:
            self._stands = stands
            self._changed()

    @property
    def last_lines(self) -> int:
        """See `ToolCard`."""
        return STANDING_LINES if self._stands else LAST_LINES

    @property
    def _shows_more(self) -> bool:
        return super()._shows_more or (self._stands and not self._call.running and bool(self._call.result))
