"""The palette: everything there is to do in one list, found by typing a few letters of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar

from textual import work
from textual.binding import BindingType

from tau.errors import TauError
from tau.input.fuzzy import Match, ranked
from tau.tui.keys import bound
from tau.tui.screens.picker import FilterPicker
from tau.tui.widgets.row_list import Row

MOST = 200
"""Rows that are shown for what was typed."""

RECENT = 5
SESSIONS_SHOWN = 8
"""Sessions that are shown while nothing is typed; all of them are found by typing."""

COMMAND_CELLS = 24
"""Cells of the column of commands; what they do stands behind it."""

_ORDER = ("Commands", "Sessions", "Models", "Keys", "Themes")


@dataclass(frozen=True, slots=True)
class Doable:
    """Something to do.

    Attributes:
        kind: The heading it stands under.
        key: What it is known by from one time to the next.
        text: What it is called.
        note: What it does.
        right: A short piece at the end of its row.
        others: What else it is found by.
    """

    kind: str
    key: str
    text: str
    note: str = ""
    right: str = ""
    others: tuple[str, ...] = ()


Found = tuple[Doable, Match]
Chosen = tuple[Doable, bool]
"""What was chosen, and whether it is to be put into the prompt."""

_PLAIN = Match(0, ())


class PaletteScreen(FilterPicker[Found, Chosen]):
    """Chooses something to do.

    Args:
        doables: What is known at once.
        recent: Keys of what was used last, the newest first.
        find_later: Gives the rest.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        *bound({"palette": "back", "into-prompt": "edit"}, priority=["palette", "into-prompt"])
    ]
    placeholder = "What do you want to do?"
    keys = (("choose", "do it"), ("into-prompt", "put a command into the prompt"), ("back", "back"))
    widest = 100
    fixed_height = True

    def __init__(
        self,
        doables: Sequence[Doable],
        recent: Sequence[str],
        find_later: Callable[[], Awaitable[Sequence[Doable]]],
    ) -> None:
        super().__init__()
        self._doables = list(doables)
        self._recent = recent
        self._find_later = find_later

    def on_mount(self) -> None:
        """Show what is known, and find the rest."""
        super().on_mount()
        self._find()

    @work
    async def _find(self) -> None:
        try:
            self._doables += await self._find_later()
        except TauError as error:
            self.more(error.line())
            return
        entry = self.entry
        self.show_entries()
        place = next((n for n, found in enumerate(self.entries) if entry and found == entry), None)
        if place is not None:
            self.rows.cursor = place

    def found(self, typed: str) -> Sequence[Found | str]:
        """The best for what was typed; with nothing typed what was used last, then everything by its kind."""
        if typed:
            wanted = typed.removeprefix("/")
            found = ranked(wanted, self._doables, _name, limit=MOST, others=lambda doable: doable.others)
            return [(doable, _shifted(doable, lies)) for doable, lies in found]
        known = {doable.key: doable for doable in self._doables}
        recent = [known[key] for key in self._recent if key in known][:RECENT]
        entries: list[Found | str] = ["Used last"] if recent else []
        entries += [(doable, _PLAIN) for doable in recent]
        rest = sorted(self._doables, key=lambda doable: _ORDER.index(doable.kind))
        for kind, of_kind in groupby(rest, key=lambda doable: doable.kind):
            shown = list(of_kind)
            entries += [
                kind,
                *((doable, _PLAIN) for doable in shown[: SESSIONS_SHOWN if kind == "Sessions" else None]),
            ]
        return entries

    def row(self, entry: Found) -> Row:
        """What it is called and does; its kind where they stand among each other."""
        doable, lies = entry
        kind = doable.kind.removesuffix("s").lower() if self.typed and doable.kind != "Keys" else ""
        right = " · ".join(part for part in (doable.right, kind) if part)
        column = COMMAND_CELLS if doable.kind == "Commands" else 0
        return Row(doable.text, right=right, marks=lies.positions, note=doable.note, note_at=column)

    def choose(self, entry: Found) -> None:
        """Do it."""
        self.dismiss((entry[0], False))

    def action_edit(self) -> None:
        """Put a command into the prompt, to be gone on with there."""
        entry = self.entry
        if entry is not None and entry[0].kind == "Commands":
            self.dismiss((entry[0], True))


def _name(doable: Doable) -> str:
    """What an entry is found by first: of a command, its name alone."""
    return doable.text[1:].split()[0] if doable.kind == "Commands" else doable.text


def _shifted(doable: Doable, lies: Match) -> Match:
    """Where in its text what was found in the name of an entry is: a command has a slash before it."""
    if doable.kind != "Commands":
        return lies
    return Match(lies.score, tuple(place + 1 for place in lies.positions))
