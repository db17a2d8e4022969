"""The events pane: what is said nowhere else can be read to its end, at any width."""

from __future__ import annotations

from pathlib import Path

import pytest

from tau.events import AgentEvent, ApprovalRecord, ErrorRecord, NoticeRecord, ToolCallRecord
from tau.sessions.store import SessionStore
from tests.tui.conftest import Running, Start
from tests.tui.recorded import exchanges, record

LONG = " ".join(f"word{n}" for n in range(120))


def pane(tau: Running) -> str:
    """All the lines of the pane as one text."""
    return " ".join(line.plain.strip() for line in tau.screen.events_pane._lines)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=str)
async def test_notices_errors_and_reasons_are_shown_to_their_end_and_calls_are_cut(
    start: Start, store: SessionStore, work: Path, size: tuple[int, int]
) -> None:
    command = "echo " + " ".join(f"part{n}" for n in range(60))
    events: list[AgentEvent] = [
        NoticeRecord(f"begin {LONG} end-of-notice", "warning"),
        ErrorRecord("model", f"{LONG} end-of-error \x1b[31m"),
        ApprovalRecord("shell", {"command": "ls"}, "no", "t1", reason=f"{LONG} end-of-reason"),
        ToolCallRecord("shell", 2, {"command": command}, "success", "", "approved", 1.0, "t2"),
    ]
    record(store, "s1", exchanges(1), directory=str(work), events=events)
    async with start(resume="s1", size=size) as tau:
        if size[0] < 100:
            await tau.pilot.press("f4")
        await tau.until(lambda: tau.screen.events_pane._lines, "the pane")
        for end in ("end-of-notice", "end-of-error \\x1b[31m", "end-of-reason"):
            assert f"word119 {end}" in pane(tau)
        assert "part2" in pane(tau)
        assert "part59" not in pane(tau)
        await tau.until(lambda: tau.screen.events_pane.show_vertical_scrollbar, "its scrollbar")
        width = tau.screen.events_pane.scrollable_content_region.width  # beside the scrollbar
        assert all(line.cell_len <= width for line in tau.screen.events_pane._lines)


async def test_a_notice_of_this_run_is_shown_to_its_end(start: Start) -> None:
    async with start([{"error": "refused", "message": LONG}], size=(120, 60)) as tau:
        await tau.turn("hello")
        notice = " ".join(str(tau.screen.query("NoticeRow").last().render()).split())
        assert len(notice) > 200
        assert " ".join(notice.split()[1:]) in pane(tau)


async def test_tokens_that_no_provider_counted_are_unknown(start: Start) -> None:
    counted = {"text": "ok", "usage": {"inputTokens": 120, "outputTokens": 30}}
    async with start([{"text": "ok"}, counted], size=(120, 30)) as tau:
        assert "tokens unknown" not in tau.text()
        await tau.turn("hello")
        await tau.shows("tokens unknown")
        await tau.turn("again")
        await tau.shows("120 in 30 out")
        assert "tokens unknown" not in tau.text()
