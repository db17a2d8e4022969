"""On a screen with few rows the prompt scrolls inside itself, and the status row stays in sight."""

from __future__ import annotations

import pytest

from tests.tui.conftest import Running, Start

SIZES = [(30, 10), (80, 12), (30, 6), (80, 24)]


async def is_whole(tau: Running) -> None:
    """The frame of the prompt, the row that is typed in, and the status row are on the screen."""
    await tau.pilot.pause()
    screen, (width, height) = tau.screen, tau.app.size
    lines = [line.ljust(width) for line in tau.text().splitlines()]
    assert not screen.show_vertical_scrollbar
    assert screen.status.region.bottom == height
    box = screen.query_one("#prompt-box").region
    assert box.y >= 0
    assert box.bottom == height - 1, tau.text()
    assert lines[box.bottom - 1].strip().startswith("╰")
    prompt = screen.prompt
    await tau.until(
        lambda: 0 <= prompt.cursor_location[0] - prompt.scroll_offset.y < prompt.size.height,
        "cursor in sight",
    )


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_a_long_draft_scrolls_inside_the_prompt(start: Start, size: tuple[int, int]) -> None:
    async with start(size=size) as tau:
        for number in range(14):
            await tau.pilot.press(*f"n{number}", "ctrl+j")
            await is_whole(tau)
        await tau.pilot.press(*"last")
        await tau.shows("last")
        await is_whole(tau)
        await tau.pilot.press("ctrl+home")
        await tau.shows("n0")
        await is_whole(tau)


@pytest.mark.parametrize("size", SIZES[:2], ids=str)
async def test_messages_that_wait_leave_room_for_the_prompt(start: Start, size: tuple[int, int]) -> None:
    async with start([{"text": "w " * 400, "chunks": 400, "delay": 0.05}], size=size) as tau:
        await tau.send("go")
        await tau.until(lambda: tau.screen.busy, "busy")
        for number in range(4):
            await tau.send(f"message {number} that waits, with more words than go into one row of it")
        tau.screen.prompt.insert("\n".join(f"line {number}" for number in range(12)))
        await tau.shows("line 11")
        await is_whole(tau)
        await tau.pilot.press("escape")


async def test_the_prompt_has_its_rows_again_on_a_taller_screen(start: Start) -> None:
    async with start(size=(80, 12)) as tau:
        tau.screen.prompt.insert("\n".join(f"line {number}" for number in range(12)))
        await tau.until(lambda: tau.screen.prompt.size.height == 5, "five rows")
        await tau.pilot.resize_terminal(80, 30)
        await tau.until(lambda: tau.screen.prompt.size.height == 10, "ten rows")
        await is_whole(tau)
