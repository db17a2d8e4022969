"""The tools screen: what the model may use, what that may do, where it is from, and how servers stand."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from itertools import groupby

from textual import work

from tau.conversation.state import ServerInfo, ToolInfo, ToolListing
from tau.conversation.tooling import may, origin, stands
from tau.display import one_line
from tau.errors import TauError
from tau.input.fuzzy import Match, ranked
from tau.tui.screens.picker import FilterPicker
from tau.tui.widgets.row_list import Row

READ_AGAIN_SECONDS = 0.5
"""How often it is looked again while servers are being connected."""

DESCRIPTION_CHARACTERS = 600

Found = tuple[ToolInfo | ServerInfo, Match]


class ToolsScreen(FilterPicker[Found, None]):
    """Shows the tools; nothing is chosen.

    Args:
        listing: What is known now.
        read: Looks again.
    """

    heading = "Tools"
    placeholder = "Type to filter"
    keys = (("list-up list-down", "look"), ("back", "back"))
    widest = 110
    more_lines = 3

    def __init__(self, listing: ToolListing, read: Callable[[], Awaitable[ToolListing]]) -> None:
        super().__init__()
        self._listing = listing
        self._read = read

    def on_mount(self) -> None:
        """Fill the list, and look again while something is on its way."""
        super().on_mount()
        if not self._listing.settled:
            self._follow()

    @work
    async def _follow(self) -> None:
        import asyncio

        while not self._listing.settled:
            await asyncio.sleep(READ_AGAIN_SECONDS)
            try:
                listing = await self._read()
            except TauError as error:
                self.more(error.line())
                return
            if listing != self._listing:
                self._listing = listing
                self.show_entries(cursor=self.rows.cursor)

    def found(self, typed: str) -> Sequence[Found | str]:
        """The tools by where they are from, then the servers; while something is typed, the best first."""
        tools, servers = self._listing.tools, self._listing.servers
        if typed:
            every: list[ToolInfo | ServerInfo] = [*tools, *servers]
            return ranked(typed, every, lambda item: one_line(item.name), limit=len(every), others=_others)
        entries: list[Found | str] = []
        for name, of_one in groupby(tools, key=origin):
            entries += [name[0].upper() + name[1:], *((tool, Match(0, ())) for tool in of_one)]
        if servers:
            entries += ["MCP servers", *((server, Match(0, ())) for server in servers)]
        return entries or list(self._listing.lines)

    def describe(self) -> str:
        """How many there are, and whether more may come."""
        count = len(self._listing.tools)
        said = f"{count} the model may use" if count else "none yet"
        waits = sum(server.state in ("waiting", "connecting") for server in self._listing.servers)
        return said + (f" · {waits} server{'' if waits == 1 else 's'} on the way" if waits else "")

    def row(self, entry: Found) -> Row:
        """A tool and what it may do, or a server and how it stands."""
        item, lies = entry
        shown = one_line(item.name)
        if isinstance(item, ServerInfo):
            return Row(shown, marks=lies.positions, note=stands(item), note_at=28)
        right = origin(item) if self.typed else ""
        return Row(shown, marks=lies.positions, note=may(item), note_at=28, right=right)

    def reached(self, entry: Found | None) -> None:
        """What the tool under the cursor is for, as the model reads it; or what a server lacks."""
        if entry is None:
            self.more("")
        elif isinstance(entry[0], ServerInfo):
            self.more(one_line(entry[0].reason, DESCRIPTION_CHARACTERS))
        else:
            first = entry[0].description.strip().split("\n\n")[0]
            self.more(one_line(first, DESCRIPTION_CHARACTERS))

    def choose(self, entry: Found) -> None:
        """Nothing is chosen here."""


def _others(item: ToolInfo | ServerInfo) -> Sequence[str]:
    if isinstance(item, ServerInfo):
        return [stands(item)]
    return [origin(item), may(item)]
