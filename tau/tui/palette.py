"""Everything the app can do in one list: what stands in it, and what comes of choosing it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tau.config.actions import ACTIONS
from tau.config.keys import listed
from tau.display import one_line
from tau.tui.screens.palette import Doable, PaletteScreen

if TYPE_CHECKING:
    from textual.dom import DOMNode

    from tau.tui.screens.chat import ChatScreen

SESSIONS = 200
"""Sessions that are offered, the newest."""

DONE_HERE = ("anywhere", "prompt", "conversation")
"""Where the actions are that can be done from here."""

_OPTIONAL = re.compile(r"\[[^]]*\]")


class Palette:
    """The palette of a screen."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen

    def open(self) -> None:
        """Show it; what was chosen is done once it is gone."""
        self._screen.run_worker(self._open(), group="picker")

    async def _open(self) -> None:
        from tau.tui.app import TauApp

        screen = self._screen
        app = screen.app
        assert isinstance(app, TauApp)
        picker = PaletteScreen(
            [*self._commands(), *self._actions(), *self._themes()], app.remembered.recent, self._found_later
        )
        chosen = await app.push_screen_wait(picker)
        if chosen is None:
            return
        doable, edit = chosen
        app.remembered.use(doable.key)
        await self._do(doable, edit=edit)

    # What there is -----------------------------------------------------------------------------

    def _commands(self) -> list[Doable]:
        from tau.conversation.commands import COMMANDS

        return [
            Doable(
                "Commands", f"command:{spec.name}", spec.usage, spec.help, others=(spec.help, *spec.aliases)
            )
            for spec in COMMANDS
        ]

    def _actions(self) -> list[Doable]:
        keys = self._screen.keys
        return [
            Doable(
                "Keys",
                f"action:{action.name}",
                action.does,
                right=listed(keys[action.name]) or "no key",
                others=(action.name, listed(keys[action.name])),
            )
            for action in ACTIONS
            if action.places[0] in DONE_HERE and action.name != "palette"
        ]

    def _themes(self) -> list[Doable]:
        from tau.tui.app import TauApp

        app = self._screen.app
        assert isinstance(app, TauApp)
        in_force = app.looks.setting
        return [
            Doable("Themes", f"theme:{name}", f"Theme {name}", right="in force" if name == in_force else "")
            for name in app.looks.names()
        ]

    async def _found_later(self) -> list[Doable]:
        """Sessions and models, which somebody else knows.

        Raises:
            TauError: The sessions cannot be listed.
        """
        from tau.conversation.state import ModelListing
        from tau.sessions.records import ListQuery
        from tau.tui.widgets.start_page import when

        screen = self._screen
        conversation = screen.conversation
        listing = await conversation.command("/model")
        found = [
            Doable(
                "Models",
                f"model:{choice.role}",
                f"Model {one_line(choice.role)}",
                f"{one_line(choice.model_id or 'its default model')} · {one_line(choice.provider)}",
                right="in force" if choice.current else "",
                others=(choice.model_id, choice.provider),
            )
            for choice in (listing.choices if isinstance(listing, ModelListing) else ())
        ]
        query = ListQuery(
            directory=screen.scope_directory(),
            limit=SESSIONS,
            exclude=conversation.state.session_id,
            fold_chains=True,
        )
        for summary in await conversation.sessions(query):
            name = one_line(summary.text("name"))
            title = one_line(summary.text("title") or "(no title)")
            found.append(
                Doable(
                    "Sessions",
                    f"session:{summary.session_id}",
                    title,
                    name,
                    right=when(summary.updated_at),
                    others=(name, summary.session_id),
                )
            )
        return found

    # What comes of it --------------------------------------------------------------------------

    async def _do(self, doable: Doable, *, edit: bool) -> None:
        screen = self._screen
        kind, _, name = doable.key.partition(":")
        if kind == "command" and (edit or needs_argument(doable.text)):
            screen.prompt.focus()
            if screen.prompt.put_back(f"/{name} "):
                screen.draft_put_away()
        elif kind == "session":
            screen.commands.resume(name)
        elif kind == "action":
            await self._act(name)
        else:
            screen.commands.run({"command": f"/{name}"}.get(kind, f"/{kind} {name}"))

    async def _act(self, name: str) -> None:
        """Do what the key of an action does, also where it has no key."""
        screen = self._screen
        nodes: Sequence[DOMNode] = (screen.prompt, screen, screen.app)
        for node in nodes:
            for binding in type(node).BINDINGS:
                if getattr(binding, "id", None) == name:
                    await screen.app.run_action(binding.action, default_namespace=node)  # type: ignore[union-attr]  # with an id
                    return


def needs_argument(usage: str) -> bool:
    """Whether a command does nothing without an argument: one that does not stand in brackets."""
    return " " in _OPTIONAL.sub("", usage).strip()
