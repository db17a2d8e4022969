"""A message as a person gives it: its text, and images that are to go along."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tau.conversation import images
from tau.conversation.images import Given
from tau.conversation.state import ConversationState
from tau.sessions.attached import Attached

Mentioned = Callable[[str, Path], Sequence[Path]]
"""Finds the images that a text mentions; gets the directory of relative paths too, and reads the disk."""


_NAMES = re.compile(r"@|\.(?:png|jpe?g|gif|webp)\b", re.IGNORECASE)
"""What a text has that mentions an image; for any other nobody waits for a thread."""


def nothing_mentioned(text: str, directory: Path) -> Sequence[Path]:
    """A channel in which a text stands for itself."""
    return ()


@dataclass(frozen=True, slots=True)
class Said:
    """A message.

    Attributes:
        text: What is said.
        images: What is to go along; with one that cannot, the message is not sent.
        mentioned: Finds the images that the text mentions, which go along where they can.
    """

    text: str
    images: Sequence[Given] = ()
    mentioned: Mentioned = nothing_mentioned

    async def read(self, state: ConversationState) -> tuple[list[Attached], list[str]]:
        """The images, read on a thread, and what the person is to know of those that do not go along.

        Raises:
            UsageError: The model takes none, or one of `images` cannot be sent.
        """
        if not self.images and _NAMES.search(self.text) is None:
            return [], []
        return await asyncio.to_thread(self._read, state)

    def _read(self, state: ConversationState) -> tuple[list[Attached], list[str]]:
        directory, model = Path(state.directory), state.model
        assert model is not None
        if self.images:
            images.check_takes_images(model)
        given = images.read_images(self.images, directory)
        found = self.mentioned(self.text, directory)
        if not found:
            return given, []
        more, told = images.read_mentioned(found, directory, self.images, model)
        return [*given, *more], told
