"""What every screen over the conversation has in common: keys wait for it, and its work ends before it."""

from __future__ import annotations

from textual.screen import ModalScreen, ScreenResultType


class ScreenOver(ModalScreen[ScreenResultType]):
    """A screen over the conversation. Neither keys nor work look for its widgets while they are not there."""

    def on_mount(self) -> None:
        """Give the keys that come at once behind the opening one to whom they are meant for."""
        if self.AUTO_FOCUS:
            self.set_focus(self.query_one(self.AUTO_FOCUS))

    async def is_there(self) -> None:
        """Wait until it has all its widgets."""
        await self._mounted_event.wait()

    async def _message_loop_exit(self) -> None:
        # Textual ends the work of a screen when its widgets are gone, which they are one after another.
        self.workers.cancel_node(self)
        await super()._message_loop_exit()
