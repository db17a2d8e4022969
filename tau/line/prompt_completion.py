"""Completions at the prompt of line mode, the same as the app's: commands, their arguments, files."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples

from tau.input.completing import Candidate, Context, complete


class PromptCompleter(Completer):
    """Looks on a thread.

    Args:
        context: What there is to choose from.
    """

    def __init__(self, context: Context) -> None:
        self._context = context

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        """The ways to go on at the cursor."""
        found = await asyncio.to_thread(complete, document.text, document.cursor_position, self._context)
        for candidate in found:
            yield _completion(candidate)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """The same; blocks."""
        for candidate in complete(document.text, document.cursor_position, self._context):
            yield _completion(candidate)


def _completion(candidate: Candidate) -> Completion:
    typed = set(candidate.positions)
    shown: StyleAndTextTuples = [
        ("bold" if place in typed else "", character) for place, character in enumerate(candidate.display)
    ]
    return Completion(
        candidate.text + candidate.after,
        start_position=candidate.start - candidate.end,
        display=shown,
        display_meta=candidate.help,
    )
