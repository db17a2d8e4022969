"""The session picker finds titles, names and what was said, goes to the message, and renames in place."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest
import time_machine
from textual.widgets import Input

from tau.sessions.records import ListQuery, MetaValue, SearchHit
from tau.sessions.store import SessionStore
from tau.tui.fit import around
from tau.tui.part import LaterRow
from tau.tui.screens.sessions import SessionPicker
from tests.tui.conftest import Running, Start
from tests.tui.recorded import answered, called, exchanges, record, result, said

OLD, NEW, LONG = "20200927-100000-aaaa", "20200928-100000-bbbb", "20200929-100000-cccc"


@pytest.fixture
def sessions(store: SessionStore, work: Path) -> None:
    """Three sessions of different months, one of them long."""
    for month, (session_id, name, title) in enumerate(
        [(OLD, "heron", "Explain the rates module"), (NEW, "wren", "Why does the nightly job fail?")], 8
    ):
        with time_machine.travel(f"2020-{month:02}-20T10:00:00+00:00", tick=False):
            messages = [said(title), answered(f"The zebra of {name} sleeps.")]
            record(store, session_id, messages, directory=str(work), title=title, name=name)


async def open_picker(tau: Running, typed: str = "") -> SessionPicker:
    await tau.pilot.press("f2")
    await tau.until(lambda: isinstance(tau.app.screen, SessionPicker))
    picker = tau.app.screen
    assert isinstance(picker, SessionPicker)
    await tau.until(lambda: picker.sessions.complete, "all sessions")
    await tau.pilot.press(*typed)
    return picker


def lines(tau: Running) -> list[str]:
    """The rows of the list, without the preview."""
    return [line.partition("▏")[0].strip(" ▌") for line in tau.text().splitlines()[5:]]


async def choose_hit(tau: Running, typed: str) -> None:
    """Search for words and take the first message that holds them."""
    picker = await open_picker(tau, typed)
    await tau.until(lambda: picker.sessions.hits, "hits")
    headings = [n for n, entry in enumerate(picker._rows.entries) if str(entry).startswith("In the text")]
    from tau.tui.widgets.row_list import RowList

    picker.query_one(RowList).cursor = headings[0] + 1
    await tau.pilot.press("enter")
    await tau.until(lambda: tau.app.screen is tau.screen, "back")
    await tau.until(lambda: tau.screen.selections, "the words are marked")
    await tau.pilot.pause()


def scrolled(tau: Running, top: float) -> bool:
    return tau.screen.chat.scroll_y > top


def is_away(tau: Running) -> bool:
    return tau.screen.part.away


def marked(tau: Running) -> str:
    return tau.screen.get_selected_text() or ""


@pytest.mark.usefixtures("sessions")
async def test_letters_in_their_order_find_a_session_behind_those_with_the_words(start: Start) -> None:
    async with start(size=(80, 24)) as tau:
        await open_picker(tau, "nghtjb")
        await tau.shows("Similar")
        assert any("Why does the nightly job fail?" in line for line in lines(tau))
        assert not any("Explain the rates" in line for line in lines(tau))


@pytest.mark.usefixtures("sessions")
async def test_what_was_typed_is_marked_in_titles_and_names(start: Start) -> None:
    async with start(size=(80, 24)) as tau:
        picker = await open_picker(tau, "rates her")
        await tau.shows("Explain the rates")
        (known,) = [known for known in picker.sessions.known.values() if known.name == "heron"]
        row = picker._row(known)
        assert "".join(row.text[place] for place in row.marks) == "rates" or "her" in row.left
        assert "".join(row.left[place] for place in row.left_marks) == "her"


@pytest.mark.usefixtures("sessions")
async def test_an_id_is_shown_when_it_is_what_was_found(start: Start) -> None:
    async with start(size=(80, 24)) as tau:
        await open_picker(tau, "0927-10")
        await tau.until(lambda: any(OLD in line for line in lines(tau)), "the id")


@pytest.mark.usefixtures("sessions")
async def test_hits_stand_under_the_time_of_their_session(start: Start) -> None:
    async with start(size=(80, 24)) as tau:
        await open_picker(tau, "zebra")
        await tau.shows("In the text · September 2020")
        await tau.shows("In the text · August 2020")
        text = tau.text()
        assert text.index("September 2020") < text.index("wren sleeps") < text.index("August 2020")


async def test_a_hit_is_resumed_and_gone_to(start: Start, store: SessionStore, work: Path) -> None:
    messages = exchanges(30)
    messages[11] = answered("First comes this.\n\nThen the *okapi* of the zoo, at last.")
    record(store, LONG, messages, directory=str(work), title="A long one")
    async with start(size=(100, 30)) as tau:
        await choose_hit(tau, "okapi")
        assert tau.screen.conversation.state.session_id == LONG
        assert marked(tau) == "okapi"
        assert "Then the okapi of the zoo" in tau.text()
        assert not tau.screen.part.away


async def test_a_hit_far_above_stands_among_its_neighbours_and_a_message_leads_back(
    start: Start, store: SessionStore, work: Path
) -> None:
    messages = exchanges(300)
    messages[21] = answered("Here the okapi sleeps.")
    record(store, LONG, messages, directory=str(work), title="A long one")
    async with start([{"text": "an answer of today"}], size=(100, 30)) as tau:
        await choose_hit(tau, "okapi")
        assert marked(tau) == "okapi"
        assert tau.screen.part.away
        assert len(tau.screen.query("UserRow")) < 60, "not everything is shown"
        seen: set[int] = set()
        while 80 not in seen:  # reading on misses nothing
            seen |= {int(number) for number in re.findall(r"question (\d+)", tau.text())}
            top = tau.screen.chat.scroll_y
            await tau.pilot.press("pagedown")
            await tau.until(partial(scrolled, tau, top), f"more than {max(seen)}")
            await tau.rest()
        assert set(range(11, 80)) <= seen
        await tau.turn("and now?")
        assert not is_away(tau)
        await tau.shows("an answer of today")
        assert "question 299" in tau.text()
        assert not tau.screen.query(LaterRow)


async def test_a_hit_in_a_folded_result_opens_its_card(start: Start, store: SessionStore, work: Path) -> None:
    messages = [
        said("look"),
        answered("", called("t1", "read_file", path="a.txt")),
        result("t1", "\n".join(["nothing"] * 30 + ["the okapi is here"])),
        answered("done"),
        *exchanges(20),
    ]
    record(store, LONG, messages, directory=str(work), title="A long one")
    async with start(size=(100, 30)) as tau:
        await choose_hit(tau, "okapi")
        assert marked(tau) == "okapi"
        await tau.shows("the okapi is here")


async def test_a_hit_behind_a_summary_is_shown_in_the_conversation_that_goes_on(
    start: Start, store: SessionStore, work: Path
) -> None:
    messages = exchanges(30)
    messages[5] = answered("Here the okapi sleeps.")
    record(store, OLD, messages, directory=str(work), title="Old", compacted_to=NEW)
    summary = f"Summary of the conversation so far (session {OLD}):\nshort"
    seed = [said(summary), answered("I have read it.")]
    link: dict[str, MetaValue] = {"compacted_from": OLD, "from_count": 60}
    record(store, NEW, [*seed, *exchanges(2)], directory=str(work), events=(), title="Old", **link)
    async with start(size=(100, 30)) as tau:
        await choose_hit(tau, "okapi")
        assert tau.screen.conversation.state.session_id == NEW
        assert marked(tau) == "okapi"
        await tau.pilot.press("tab")  # away from the prompt, whose End moves in the text
        tau.screen.set_focus(None)
        await tau.pilot.press("end")
        await tau.until(lambda: not tau.screen.part.away, "back")
        await tau.shows("question 1")


async def test_a_hit_in_the_open_session_is_gone_to(start: Start) -> None:
    script = [{"text": "The okapi sleeps."}, {"text": "\n\n".join(f"line {n}" for n in range(60))}]
    async with start(script, size=(100, 30)) as tau:
        await tau.turn("who sleeps?")
        await tau.turn("go on")
        before = tau.screen.conversation.state.session_id
        await choose_hit(tau, "okapi")
        assert tau.screen.conversation.state.session_id == before
        assert marked(tau) == "okapi"
        assert "The okapi sleeps." in tau.text()


# Renaming ---------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("sessions")
async def test_a_session_is_renamed_where_it_stands(start: Start, store: SessionStore) -> None:
    async with start(size=(80, 24)) as tau:
        picker = await open_picker(tau)
        order = [line for line in lines(tau) if line]
        await tau.pilot.press("ctrl+r")
        field = picker.query_one("#rename", Input)
        assert field.value == "wren"
        await tau.pilot.press(*"kestrel", "escape")
        await tau.until(lambda: not field.display, "left")
        await tau.pilot.press("ctrl+r", *"kestrel", "enter")
        await tau.until(lambda: any("kestrel" in line for line in lines(tau)), "renamed")
        await tau.until(lambda: not field.display, "the field is gone")
        assert [line for line in lines(tau) if line] == [line.replace("wren   ", "kestrel") for line in order]
        assert tau.app.focused is picker.query_one("#filter")
        await tau.pilot.press("escape")
        await tau.until(lambda: tau.app.screen is tau.screen)
    with store.read(NEW) as reader:
        assert reader.meta()["name"] == "kestrel"
    with store.read(OLD) as reader:
        assert reader.meta()["name"] == "heron"


@pytest.mark.usefixtures("sessions")
async def test_a_name_that_cannot_be_used_is_refused_and_stays_to_be_changed(start: Start) -> None:
    async with start(size=(80, 24)) as tau:
        picker = await open_picker(tau)
        await tau.pilot.press("ctrl+r", *"heron", "enter")
        await tau.shows("Another session of this directory is named heron")
        field = picker.query_one("#rename", Input)
        assert field.display
        assert field.value == "heron"


@pytest.mark.usefixtures("sessions")
async def test_a_session_that_is_held_elsewhere_is_not_renamed(start: Start, store: SessionStore) -> None:
    async with start(size=(80, 24)) as tau:
        await open_picker(tau)
        with store.hold(NEW):
            await tau.pilot.press("ctrl+r", *"kestrel", "enter")
            await tau.shows("is open in another window")
    with store.read(NEW) as reader:
        assert reader.meta()["name"] == "wren"


@pytest.mark.parametrize(
    ("text", "marks", "width", "shown", "found"),
    [
        ("abcdef", [1], 10, "abcdef", "b"),
        ("abcdefghij", [1], 5, "abcd…", "b"),
        ("x" * 30 + "hit", [30, 31, 32], 12, None, "hit"),
        ("x" * 30 + "hit" + "y" * 30, [30, 31, 32], 12, None, "hit"),
    ],
)
def test_the_part_with_the_marks_is_shown(
    text: str, marks: list[int], width: int, shown: str | None, found: str
) -> None:
    part, moved = around(text, marks, width)
    assert shown in (None, part)
    assert len(part) <= width
    assert "".join(part[place] for place in moved) == found


@pytest.mark.usefixtures("sessions")
@pytest.mark.parametrize("keys", [["backspace"] * 5, ["x"]], ids=["emptied", "other words"])
async def test_what_was_found_for_words_that_are_there_no_more_is_not_shown(
    start: Start, monkeypatch: pytest.MonkeyPatch, keys: list[str]
) -> None:
    async with start(size=(80, 24)) as tau:
        began, go, over = asyncio.Event(), asyncio.Event(), asyncio.Event()
        search = tau.screen.conversation.search

        async def slow(words: str, query: ListQuery) -> Sequence[SearchHit]:
            """The search itself, on a disk that takes its time."""
            hits = await search(words, query)
            if words == "zebra":
                assert hits
                began.set()
                await go.wait()
                over.set()
            return hits

        monkeypatch.setattr(tau.screen.conversation, "search", slow)
        picker = await open_picker(tau, "zebra")
        await tau.until(began.is_set, "the search")
        monkeypatch.setattr("tau.tui.session_search.SEARCH_AFTER", 3600.0)  # the next one has not begun
        await tau.pilot.press(*keys)
        go.set()
        await tau.until(over.is_set, "the end of the search")
        await tau.pilot.pause()
        assert not picker.sessions.hits
        assert "In the text" not in tau.text()
