"""The history of the directory at the prompt: across windows and runs, and the search with Ctrl+R."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.events import AppFocus

from tau import masking
from tau.input.history import PromptHistory
from tests.tui.conftest import Running, Start


def sent_before(tmp_path: Path, work: Path, *texts: str) -> None:
    """Texts that another window sent."""
    history = PromptHistory(tmp_path / "state", work)
    for text in texts:
        history.add(text)
    assert history.close()


async def loaded(tau: Running) -> None:
    await tau.until(lambda: tau.screen.prompt.past.loaded, "the history")


async def searching(tau: Running, query: str) -> None:
    """Open the search, type a query and wait for what it finds."""
    await loaded(tau)
    await tau.pilot.press("ctrl+r")
    await tau.until(lambda: tau.screen.search is not None and tau.screen.search.is_open, "the search")
    await tau.pilot.press(*query)
    await found(tau)


async def found(tau: Running) -> None:
    search = tau.screen.search
    assert search is not None
    await tau.until(
        lambda: not search._looking and len(search._list._choices) == len(search._hits), "a result"
    )
    await tau.pilot.pause()


async def test_what_was_sent_in_another_run_comes_back(start: Start) -> None:
    async with start() as tau:
        await tau.turn("first")
        await tau.turn("second")
    async with start() as tau:
        await loaded(tau)
        await tau.pilot.press(*"draft", "up")
        assert tau.screen.prompt.text == "second"
        await tau.pilot.press("up", "up")
        assert tau.screen.prompt.text == "first"
        await tau.pilot.press("down", "down")
        assert tau.screen.prompt.text == "draft"


async def test_up_that_is_pressed_before_the_history_is_there(
    tmp_path: Path, work: Path, start: Start
) -> None:
    sent_before(tmp_path, work, "sent before")
    async with start(ready=False) as tau:
        await tau.pilot.press("up")
        await tau.until(lambda: tau.screen.prompt.text == "sent before", "the newest text")


async def test_another_window_is_heard_of_when_somebody_looks_here_again(
    tmp_path: Path, work: Path, start: Start
) -> None:
    async with start() as tau:
        await tau.turn("here")
        await loaded(tau)
        sent_before(tmp_path, work, "there")
        tau.app.post_message(AppFocus())
        await tau.until(lambda: len(tau.screen.prompt.past) == 2, "the other text")
        await tau.pilot.press("up")
        assert tau.screen.prompt.text == "there"


async def test_all_of_a_long_history_can_be_reached(tmp_path: Path, work: Path, start: Start) -> None:
    sent_before(tmp_path, work, *(f"text {number}" for number in range(250)))
    async with start() as tau:
        await loaded(tau)
        for _ in range(250):
            before = tau.screen.prompt.text
            await tau.until(lambda: not tau.screen.prompt.past._reading, "a page")
            tau.screen.prompt.earlier()
            assert tau.screen.prompt.text != before
        assert tau.screen.prompt.text == "text 0"


async def test_a_large_text_comes_back_whole_and_folded(start: Start, tmp_path: Path) -> None:
    large = "\n".join(f"line {number}" for number in range(4_000))
    async with start() as tau:
        tau.screen.prompt.put(large)
        await tau.turn("")
    async with start() as tau:
        await loaded(tau)
        await tau.pilot.press("up")
        await tau.until(lambda: "4,000\u00a0lines" in tau.screen.prompt.text, "the marker")
        assert tau.screen.prompt.written_out() == large
        assert tau.screen.unsent() == []


async def test_a_changed_text_of_the_history_is_not_lost_on_the_way(start: Start) -> None:
    async with start() as tau:
        await tau.turn("first")
        await tau.turn("second")
        await tau.pilot.press(*"draft", "up", *" changed", "up")
        assert tau.screen.prompt.text == "first"
        assert tau.screen.prompt.unsent() == ["draft", "second changed"]
        await tau.pilot.press("down")
        assert tau.screen.prompt.text == "second changed"
        await tau.pilot.press("down")
        assert tau.screen.prompt.text == "draft"


async def test_a_secret_is_there_in_this_window_and_masked_in_the_next(start: Start) -> None:
    masking.remember("hunter2hunter2")
    async with start() as tau:
        await tau.pilot.press(*"use hunter2hunter2", "ctrl+c")
        await loaded(tau)
        tau.screen.kept.refresh()
        await tau.until(lambda: not tau.screen.prompt.past._reading, "read anew")
        await tau.pilot.press("up")
        assert tau.screen.prompt.text == "use hunter2hunter2"
    async with start() as tau:
        await loaded(tau)
        tau.screen.prompt.empty()
        tau.screen.prompt.earlier()
        assert tau.screen.prompt.text == "use ***"


async def test_the_search_puts_a_text_into_the_prompt_and_sends_nothing(
    tmp_path: Path, work: Path, start: Start
) -> None:
    sent_before(tmp_path, work, "why does the job fail?", "fix the\nparser", "and the tests")
    async with start(size=(80, 24)) as tau:
        await loaded(tau)
        await tau.pilot.press(*"a draft")
        await searching(tau, "pars")
        assert "fix the parser" in tau.text()
        assert "why does" not in tau.text()
        await tau.pilot.press("enter")
        await tau.until(lambda: tau.screen.prompt.text == "fix the\nparser", "the text")
        assert tau.screen.focused is tau.screen.prompt
        assert tau.screen.conversation.state.message_count == 0
        assert not tau.screen.busy
        await tau.pilot.press("up", "up")
        assert tau.screen.prompt.text == "a draft", "it is the newest of the history"


@pytest.mark.parametrize("key", ["escape", "ctrl+c"])
async def test_leaving_the_search_leaves_the_draft_as_it_was(
    tmp_path: Path, work: Path, start: Start, key: str
) -> None:
    sent_before(tmp_path, work, "one", "two")
    async with start() as tau:
        await tau.pilot.press(*"a draft", "left", "left")
        at = tau.screen.prompt.cursor_location
        await searching(tau, "one")
        await tau.pilot.press(key)
        await tau.until(lambda: tau.screen.focused is tau.screen.prompt, "the prompt")
        assert tau.screen.prompt.text == "a draft"
        assert tau.screen.prompt.cursor_location == at
        assert tau.screen.prompt.display
        assert "⌕" not in tau.text()
        assert not tau.screen.query("#search-field")


async def test_ctrl_r_again_goes_to_an_older_one(tmp_path: Path, work: Path, start: Start) -> None:
    sent_before(tmp_path, work, "parse one", "other", "parse two", "parse three")
    async with start() as tau:
        await searching(tau, "parse")
        await tau.pilot.press("ctrl+r", "down", "up", "enter")
        await tau.until(lambda: tau.screen.prompt.text == "parse two", "the second")


async def test_the_search_widens_to_all_directories(tmp_path: Path, work: Path, start: Start) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    sent_before(tmp_path, work, "parse here")
    sent_before(tmp_path, elsewhere, "parse there")
    async with start() as tau:
        await searching(tau, "parse")
        assert "parse there" not in tau.text()
        await tau.pilot.press("tab")
        await tau.shows("parse there")
        await tau.shows("~/elsewhere")
        await tau.pilot.press("tab")
        await tau.until(lambda: "parse there" not in tau.text(), "this directory alone")


async def test_a_search_without_a_hit_says_so(tmp_path: Path, work: Path, start: Start) -> None:
    sent_before(tmp_path, work, "one")
    async with start() as tau:
        await searching(tau, "zzz")
        await tau.shows("Nothing found")
        await tau.pilot.press("enter")
        assert tau.screen.search is not None
        assert tau.screen.search.is_open


async def test_a_text_that_is_gone_is_said_and_the_search_goes_on(
    tmp_path: Path, work: Path, start: Start
) -> None:
    sent_before(tmp_path, work, "needle " * 5_000)
    for file in (tmp_path / "state" / "prompt" / "history" / "texts").iterdir():
        file.unlink()
    async with start() as tau:
        await searching(tau, "needle")
        await tau.pilot.press("enter")
        await tau.shows("cannot be brought back")
        assert tau.screen.prompt.text == ""


async def test_control_characters_of_the_history_are_shown_as_escapes(
    tmp_path: Path, work: Path, start: Start
) -> None:
    sent_before(tmp_path, work, "a\x1b[2Jb\u202e needle")
    async with start() as tau:
        await searching(tau, "needle")
        assert "a\\x1b[2Jb\\u202e needle" in tau.text()


async def test_why_nothing_is_kept_is_said_once(tmp_path: Path, start: Start) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "prompt").write_text("in the way")
    async with start() as tau:
        await tau.turn("first")
        await tau.until(lambda: "is not kept" in tau.text(), "a line")
        await tau.turn("second")
        await loaded(tau)
        await tau.pilot.press("up", "up")
        assert tau.screen.prompt.text == "first", "this window's own texts are there all the same"
