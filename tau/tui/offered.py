"""What happens on the screen when there is no model: the offer of the embedded one, and its installation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tau.errors import NoModel, TauError
from tau.tui.keys import key_of
from tau.tui.widgets.offer import Offer

if TYPE_CHECKING:
    from tau.config.settings import Settings
    from tau.tui.installer import Installer
    from tau.tui.screens.chat import ChatScreen


class Offered:
    """The offer on a screen.

    Args:
        screen: Where it is made.
        settings: What conversations are held with.
        bare: Whether conversations leave the person's own instructions out.
    """

    def __init__(self, screen: ChatScreen, settings: Settings, *, bare: bool) -> None:
        self._screen = screen
        self._settings = settings
        self._bare = bare
        self._installer: Installer | None = None

    @property
    def pending(self) -> bool:
        """Whether the offer stands or is being carried out: messages wait for its end."""
        return self._installer is not None and self._installer.pending

    async def no_model(self, error: TauError) -> None:
        """Offer a model if there is none; say what else is wrong."""
        if isinstance(error, NoModel) and error.can_install:
            await self._first().offer()
            return
        if not self._screen.first_page.shown:  # it shows the same
            await self._screen.notice(error.line(), "error")
        self._screen.turns.return_waiting()

    def accept(self, place: int) -> None:
        """Install what stands at this place of the offer; bring an offer back that was declined."""
        installer = self._installer
        if installer is None:
            return
        if not installer.pending and self._screen.conversation.state.model is None:
            self._screen.run_worker(installer.offer(), group="install", exclusive=True)
        elif installer.accepts(place):
            self._screen.run_worker(self._install(installer, place), group="install", exclusive=True)

    def decline(self) -> None:
        """Stop the download, or put the offer away and say how it comes back."""
        if self._installer is None or not self._installer.pending:
            return
        if self._installer.decline():
            key = key_of(self._screen.keys, "accept-model")
            again = f"{key} shows the offer again" if key else "tau model install downloads it"
            self._screen.run_worker(self._screen.notice(f"No model is downloaded; {again}."))
            self._screen.turns.return_waiting()

    def stop(self, seconds: float) -> None:
        """Stop what runs as the app ends, and wait for that, but no longer than `seconds`."""
        if self._installer is not None:
            self._installer.stop(seconds)

    def _first(self) -> Installer:
        if self._installer is None:
            from tau.tui.installer import Installer

            panel = self._screen.query_one("#offer", Offer)
            self._installer = Installer(self._settings, panel, bare=self._bare)
        return self._installer

    async def _install(self, installer: Installer, place: int) -> None:
        screen = self._screen
        try:
            if await installer.install(place):
                unread = await installer.get_ready(screen.conversation.state.role)
                await screen.conversation.retry_model()
                await installer.close()
                if unread:
                    await screen.notice(unread, "warning")
        except TauError as error:
            await screen.notice(error.line(), "error")
            await installer.offer()
        screen.turns.send_next()
