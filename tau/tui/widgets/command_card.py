"""A command of the person's in the chat, drawn as the call of a tool is."""

from __future__ import annotations

from tau.tui.widgets.tool_card import CardStatus, ToolCard

SHARED, OWN = "!", "!!"


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
        super().__init__("shell", {"command": command}, status=status, result=result, seconds=seconds)

    @property
    def label(self) -> str:
        """What was typed before the command."""
        return self._mark
