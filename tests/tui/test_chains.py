"""The picker shows a chain of sessions as one row, and how sessions are linked."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
import time_machine
from syrupy.assertion import SnapshotAssertion

from tau.config.settings import Settings
from tau.sessions.chains import Chains
from tau.sessions.records import MetaValue, SessionSummary
from tau.sessions.store import SessionStore
from tau.tui.screens.sessions import SessionPicker
from tests.tui.conftest import Running, Start
from tests.tui.pictures import Size, every_look, pictures_of
from tests.tui.recorded import exchanges, record

OLDEST, MIDDLE, NEWEST = "20200927-100000-aaaa", "20200928-100000-bbbb", "20200929-100000-cccc"
FORK, ALONE = "20200930-100000-dddd", "20200926-100000-eeee"


@pytest.fixture
def chain(store: SessionStore, work: Path) -> None:
    """Three sessions that continue each other, a fork of the middle one, and one of its own."""
    title = "Why does the nightly job fail since Tuesday?"
    linked: list[tuple[str, str, str, int, dict[str, MetaValue]]] = [
        (ALONE, "wren", "Explain the rates module", 1, {}),
        (OLDEST, "amber", title, 4, {"compacted_to": MIDDLE}),
        (MIDDLE, "amber", title, 3, {"compacted_from": OLDEST, "compacted_to": NEWEST}),
        (NEWEST, "amber", title, 2, {"compacted_from": MIDDLE}),
        (FORK, "heron", "What if it ran twice?", 2, {"forked_from": MIDDLE}),
    ]
    for day, (session_id, name, said, count, link) in enumerate(linked, 26):
        with time_machine.travel(f"2020-09-{day}T10:00:00+00:00", tick=False):
            record(
                store,
                session_id,
                exchanges(count),
                directory=str(work),
                events=(),
                title=said,
                name=name,
                **link,
            )


async def open_picker(tau: Running) -> None:
    await tau.pilot.press("f2")
    await tau.until(lambda: isinstance(tau.app.screen, SessionPicker))
    await tau.shows("Explain the rates")


def rows(tau: Running) -> list[str]:
    """The lines that stand for sessions of a name."""
    return [line for line in tau.text().splitlines() if any(name in line for name in ("amber  ", "wren  "))]


@pytest.mark.usefixtures("chain")
async def test_a_chain_is_one_row_that_unfolds_and_resumes_the_newest(start: Start) -> None:
    async with start(size=(80, 24), name="rook") as tau:
        await open_picker(tau)
        assert len(rows(tau)) == 2
        assert "from amber · 4" in tau.text()
        await tau.pilot.press("down")
        await tau.shows("→ earlier ones")
        assert "↳ +2 earlier · 4" in rows(tau)[0]
        await tau.pilot.press("right")
        await tau.until(lambda: len(rows(tau)) == 4)
        assert all("└ Why" in line for line in rows(tau)[1:3])
        assert [line.split()[-2] for line in rows(tau)[1:3]] == ["6", "8"]
        await tau.pilot.press("down", "down")
        await tau.shows("← fold")
        await tau.pilot.press("left")
        await tau.until(lambda: len(rows(tau)) == 2)
        await tau.pilot.press("enter")
        await tau.until(lambda: tau.screen.conversation.state.session_id == NEWEST)


@pytest.mark.usefixtures("chain")
async def test_an_earlier_session_can_be_resumed(start: Start) -> None:
    async with start(size=(80, 24), name="rook") as tau:
        await open_picker(tau)
        await tau.pilot.press("down", "right")
        await tau.until(lambda: len(rows(tau)) == 4)
        await tau.pilot.press("down", "down", "enter")
        await tau.until(lambda: tau.screen.conversation.state.session_id == OLDEST)


@pytest.mark.usefixtures("chain")
async def test_what_is_typed_finds_every_session_of_a_chain(start: Start) -> None:
    async with start(size=(80, 24), name="rook") as tau:
        await open_picker(tau)
        await tau.pilot.press(*"amber")
        await tau.until(lambda: "Explain the rates" not in tau.text())
        assert len(rows(tau)) == 3
        await tau.pilot.press("left", "left", "x")  # the keys are the filter's now
        await tau.until(lambda: "ambxer" in tau.text())
        await tau.pilot.press("backspace", "right", "right", "end", *(["backspace"] * 5), *OLDEST[:10])
        await tau.until(lambda: len(rows(tau)) == 1)
        await tau.pilot.press("enter")
        await tau.until(lambda: tau.screen.conversation.state.session_id == OLDEST)


@pytest.mark.usefixtures("chain")
async def test_the_preview_says_what_a_session_is_linked_to(start: Start) -> None:
    async with start(size=(120, 40), name="rook") as tau:
        await open_picker(tau)
        await tau.shows(f"forked from amber · {MIDDLE}")
        await tau.pilot.press("down")
        await tau.shows(f"continues amber · {MIDDLE}")
        assert "forked from" not in tau.text()
        await tau.pilot.press("right", "down")
        await tau.shows(f"continued by amber · {NEWEST}")
        await tau.pilot.press("down", "down")
        await tau.until(lambda: "continued by" not in tau.text() and "continues" not in tau.text())


@pytest.mark.usefixtures("chain")
async def test_a_wide_list_says_links_in_words(start: Start) -> None:
    async with start(size=(200, 30), name="rook") as tau:
        await open_picker(tau)
        await tau.shows("from amber · 4 messages")
        await tau.shows("↳ +2 earlier · 4 messages")
        await tau.pilot.press(*"amber")
        await tau.shows(f"continues {MIDDLE} · 4 messages")
        await tau.shows(f"continues {OLDEST} · 6 messages")


async def see_a_chain(tau: Running) -> None:
    await open_picker(tau)
    await tau.pilot.press("down")
    await tau.shows("→ earlier ones")
    if tau.app.size.width >= 100:
        await tau.shows("answer 1")
        await tau.shows(f"continues amber · {MIDDLE}")
    await tau.shows("· 5")


async def see_all_of_it(tau: Running) -> None:
    await tau.pilot.press("right")
    await tau.shows("← fold")


@pytest.mark.usefixtures("chain")
@every_look
async def test_chains(
    start: Start, settings_for: Callable[..., Settings], snapshot: SnapshotAssertion, size: Size, theme: str
) -> None:
    async with start(settings=settings_for(theme=theme), size=size, name="rook") as tau:
        await pictures_of(snapshot, tau, {"folded": see_a_chain, "unfolded": see_all_of_it})


def summary(session_id: str, **meta: MetaValue) -> SessionSummary:
    return SessionSummary(session_id, "", "", 2, meta)


def test_a_session_that_was_used_again_stands_for_itself() -> None:
    chains = Chains()
    for one in (summary("old", compacted_to="new"), summary("new", compacted_from="old")):
        chains.add(one)
    assert chains.front("old") == "old"
    assert chains.behind("new") == ()


@pytest.mark.parametrize("target", ["old", "nowhere", "", 7, None])
def test_links_that_lead_nowhere_hide_no_session(target: MetaValue) -> None:
    chains = Chains()
    chains.add(summary("newest"))
    chains.add(summary("old", compacted_to=target))
    assert chains.front("old") == "old"


def test_a_circle_of_links_shows_one_of_its_sessions() -> None:
    chains = Chains()
    chains.add(summary("a", compacted_to="b"))
    chains.add(summary("b", compacted_to="a"))
    assert (chains.front("a"), chains.front("b")) == ("a", "a")


def test_ten_thousand_sessions_are_folded_at_once() -> None:
    chains, count = Chains(), 10_000
    begun = time.process_time()
    for number in reversed(range(count)):
        chains.add(summary(f"s{number}", compacted_to=f"s{number + 1}"))
    assert time.process_time() - begun < 1
    assert len(chains.behind(f"s{count - 1}")) == count - 1
