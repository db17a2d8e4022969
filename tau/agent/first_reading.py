"""Has newly installed weights read what conversations begin with, so that the first answer comes soon."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from tau.agent.prompt import system_prompt
from tau.config.settings import ModelSettings, Settings
from tau.errors import ModelCallFailed, ModelError, TauError
from tau.models import embedded
from tau.models.failures import describe
from tau.tools.context import ToolContext
from tau.tools.registry import build_tools

if TYPE_CHECKING:
    from tau.models.embedded.model import EmbeddedModel

log = logging.getLogger(__name__)

POLL_SECONDS = 0.1
"""How often a reading looks whether it was told to stop."""


class ReadingStopped(ModelError):
    """The person stopped the reading; the weights can be used all the same."""


class FirstReading:
    """One reading of the prompts by one model. What is read is kept on disk, for every later conversation.

    Args:
        settings: What conversations are held with: directory, instructions, plugins.
        weights: The name of the installed weights.
        role: The role they will serve, for its window.
        bare: Whether the person's own instructions are left out.
    """

    def __init__(
        self, settings: Settings, weights: str, *, role: str = "default", bare: bool = False
    ) -> None:
        self._settings = settings
        self._weights = weights
        self._role = role
        self._bare = bare
        self._model: EmbeddedModel | None = None

    def run(
        self,
        progress: Callable[[float], None] = lambda share: None,
        cancelled: threading.Event | None = None,
    ) -> None:
        """Load the model and read. Blocks for seconds: a full-screen app calls it on a worker thread.

        Args:
            progress: Told how much is read, from 0 to 1, once the model is loaded.
            cancelled: Set it to stop; the model stays loaded.

        Raises:
            ReadingStopped: `cancelled` was set.
            TauError: The model cannot be loaded, or failed.
        """
        try:
            self._model = embedded.build(self._table(), self._settings.places, os.environ)
            asyncio.run(self._read(self._model, progress, cancelled or threading.Event()))
        except TauError:
            raise
        except Exception as error:
            log.exception("The prompts could not be read with %s", self._weights)
            raise ModelCallFailed(describe(error)) from error

    def close(self) -> None:
        """Let go of the model: its process ends, unless a conversation has taken it up meanwhile."""
        if self._model is not None:
            self._model.close()

    async def _read(
        self, model: EmbeddedModel, progress: Callable[[float], None], cancelled: threading.Event
    ) -> None:
        context = ToolContext(
            directory=self._settings.directory, state_dir=self._settings.places.state, session_id="none"
        )
        specs = [tool.tool_spec for tool in build_tools(context, disabled=self._settings.plugins.disabled)]
        prompt = system_prompt(self._settings, bare=self._bare)
        reading = asyncio.create_task(model.prepare(specs, prompt, progress=progress))
        while not reading.done():
            await asyncio.wait({reading}, timeout=POLL_SECONDS)
            if cancelled.is_set():
                reading.cancel()
                await asyncio.wait({reading})
        if reading.cancelled():
            raise ReadingStopped(f"The reading of {self._weights} was stopped")
        reading.result()

    def _table(self) -> ModelSettings:
        """The role's table where it may stand for these weights: another window would read for nobody."""
        table = self._settings.model(self._role)
        if table.provider not in ("auto", "embedded"):
            table = ModelSettings()
        return msgspec.structs.replace(table, provider="embedded", model_id=None, weights=self._weights)
