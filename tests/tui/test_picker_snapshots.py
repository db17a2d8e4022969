"""The pickers as pictures, at the sizes and in the themes they were designed for."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec
import pytest
from syrupy.assertion import SnapshotAssertion

from tau.config.settings import McpSettings, ModelSettings, Settings
from tau.tui.screens.palette import PaletteScreen
from tau.tui.screens.sessions import SessionPicker
from tau.tui.screens.tools import ToolsScreen
from tests.tui.conftest import Running, Start
from tests.tui.pictures import picture

T = TypeVar("T")

LOOKS = [
    ((80, 24), "dark"),
    ((80, 24), "light"),
    ((80, 24), "ansi"),
    ((120, 40), "dark"),
    ((120, 40), "light"),
]
LOOKS += [((200, 60), "dark"), ((200, 60), "light")]
SERVER = Path(__file__).parents[1] / "fixtures" / "mcp" / "server.py"


def shown(tau: Running, kind: type[T]) -> T:
    """The screen that is open."""
    assert isinstance(tau.app.screen, kind)
    return tau.app.screen


async def stay(tau: Running) -> None:
    await tau.shows("Why does the nightly job")


async def open_palette(tau: Running) -> None:
    await tau.pilot.press("ctrl+p")
    await tau.shows("/compact [FOCUS]")
    await tau.until(lambda: any(entry == "Models" for entry in shown(tau, PaletteScreen).entries))


async def open_palette_typed(tau: Running) -> None:
    await open_palette(tau)
    await tau.pilot.press(*"sess")
    await tau.until(lambda: shown(tau, PaletteScreen).typed == "sess")


async def open_themes(tau: Running) -> None:
    await tau.send("/theme")
    await tau.shows("atom-one-dark")


async def open_tools(tau: Running) -> None:
    await tau.send("/tools")
    await tau.shows("Built in")
    await tau.until(lambda: shown(tau, ToolsScreen)._listing.settled, "servers")
    for _ in shown(tau, ToolsScreen).entries:
        if "▌ fetch_url" not in tau.text():
            await tau.pilot.press("down")
    await tau.shows("Fetch")


async def open_models(tau: Running) -> None:
    await tau.send("/model")
    await tau.shows("cannot be used")
    await tau.pilot.press("down")
    await tau.shows("ANTHROPIC_API_KEY")


async def open_help(tau: Running) -> None:
    await tau.pilot.press("f1")
    await tau.shows("this help")


async def open_help_typed(tau: Running) -> None:
    await open_help(tau)
    await tau.pilot.press(*"session")
    await tau.until(lambda: "Ctrl+J" not in tau.text())


async def open_search(tau: Running) -> None:
    await tau.pilot.press("f2")
    await tau.until(lambda: isinstance(tau.app.screen, SessionPicker))
    await tau.shows("· 3")
    await tau.pilot.press(*"job")
    await tau.shows("In the text")
    await tau.pilot.press("down")
    if tau.app.size.width >= 100:
        await tau.until(
            lambda: "Tuesday?" in tau.text() and "the commit" not in tau.text(),
            "the preview ends with what was found",
        )


async def open_rename(tau: Running) -> None:
    await tau.pilot.press("f2")
    await tau.shows("· 3")
    if tau.app.size.width >= 100:
        await tau.shows("See the commit")
    await tau.pilot.press("ctrl+r")
    await tau.shows("keep the name")
    await tau.pilot.press("end", "2")


SCREENS: dict[str, Callable[[Running], Awaitable[None]]] = {
    "start": stay,
    "palette": open_palette,
    "palette-typed": open_palette_typed,
    "themes": open_themes,
    "tools": open_tools,
    "models": open_models,
    "help": open_help,
    "help-typed": open_help_typed,
    "search": open_search,
    "rename": open_rename,
}


@pytest.fixture
def without_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A provider cannot be used."""
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)


@pytest.mark.usefixtures("sessions", "without_key")
@pytest.mark.parametrize(("size", "theme"), LOOKS, ids=str)
async def test_pickers(
    start: Start,
    settings_for: Callable[..., Settings],
    snapshot: SnapshotAssertion,
    size: tuple[int, int],
    theme: str,
) -> None:
    settings = settings_for(theme=theme)
    models = {
        "default": settings.models["default"],
        "claude": ModelSettings(provider="anthropic", model_id="claude-haiku-4-5"),
    }
    servers = {"docs": McpSettings(command=sys.executable, args=[str(SERVER)])}
    settings = msgspec.structs.replace(settings, models=models, mcp=servers)
    async with start(size=size, settings=settings, name="rook") as tau:
        await tau.shows("main")
        for name, open_screen in SCREENS.items():
            await open_screen(tau)
            await picture(partial(snapshot, name=name), tau)  # type: ignore[arg-type]  # called the same way
            for _ in range(2):
                await tau.pilot.press(*["escape"] * (tau.app.screen is not tau.screen))
            await tau.until(lambda: tau.app.screen is tau.screen, "back")
