"""The picker says which session a row is linked to, also where no name tells it."""

from __future__ import annotations

from pathlib import Path

import pytest
import time_machine

from tau.sessions.records import MetaValue
from tau.sessions.store import SessionStore
from tau.tui.screens.sessions import SessionPicker
from tests.tui.conftest import Running, Start
from tests.tui.recorded import exchanges, record

GONE, LONG = "20200101-100000-gone", "x" * 60
FORK, AGAIN = "20200923-100000-aaaa", "20200924-100000-bbbb"


@pytest.fixture
def linked(store: SessionStore, work: Path) -> None:
    """Sessions linked to ones that are not listed, and a fork with the name of what it was forked from."""
    rows: list[tuple[str, str, dict[str, MetaValue]]] = [
        ("wren", FORK, {"forked_from": GONE}),
        ("wren", AGAIN, {"forked_from": FORK}),
        ("heron", "20200925-100000-cccc", {"compacted_from": GONE}),
        ("rail", "20200926-100000-dddd", {"compacted_from": LONG}),
    ]
    for day, (name, session_id, link) in enumerate(rows, 23):
        with time_machine.travel(f"2020-09-{day}T10:00:00+00:00", tick=False):
            record(
                store,
                session_id,
                exchanges(2),
                directory=str(work),
                events=(),
                title="Nests",
                name=name,
                **link,
            )


async def open_picker(tau: Running) -> None:
    await tau.pilot.press("f2")
    await tau.until(lambda: isinstance(tau.app.screen, SessionPicker))
    await tau.shows("· 4")


def ends(tau: Running) -> list[str]:
    """What the rows say at their end, the newest first; none is cut off."""
    lines = [line for line in tau.text().splitlines() if "Nests" in line]
    return [line.partition("Nests")[2].partition("▏")[0].strip() for line in lines]


@pytest.mark.usefixtures("linked")
async def test_an_id_stands_for_a_session_that_no_name_tells(start: Start) -> None:
    async with start(size=(80, 24), name="rook") as tau:
        await open_picker(tau)
        assert ends(tau) == [f"↳ {LONG[:23]}… · 4", f"↳ {GONE} · 4", f"from {FORK} · 4", f"from {GONE} · 4"]


@pytest.mark.usefixtures("linked")
@pytest.mark.parametrize(("width", "every"), [(60, False), (120, False), (80, True)])
async def test_where_there_is_no_room_a_row_says_how_it_is_linked(
    start: Start, width: int, every: bool
) -> None:
    async with start(size=(width, 40), name="rook") as tau:
        await open_picker(tau)
        place = " · quail" if every else ""
        if every:
            await tau.pilot.press("tab")
            await tau.shows(f"continues{place}")
        said = ["continues", "continues", "forked", "forked"]
        assert ends(tau) == [f"{phrase}{place} · 4" for phrase in said]
        if width >= 100:  # the preview has the id
            await tau.pilot.press("down")
            await tau.shows(f"continues {GONE}")


async def test_two_marks_leave_room_for_the_count(start: Start, store: SessionStore, work: Path) -> None:
    here = "20200927-100000-eeee"
    link: dict[str, MetaValue] = {"forked_from": GONE, "compacted_to": here}
    record(store, FORK, exchanges(2), directory=str(work), events=(), title="Nests", name="wren", **link)
    record(store, here, exchanges(2), directory=str(work), title="Here", name="wren", compacted_from=FORK)
    async with start(size=(80, 24), resume=here) as tau:
        await tau.pilot.press("f2")
        await tau.until(lambda: isinstance(tau.app.screen, SessionPicker))
        await tau.shows("Nests")
        assert ends(tau) == ["forked · continued here · 4"]
