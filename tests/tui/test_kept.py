"""What was written and not sent: kept across windows, and back in the prompt, never sent by itself."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tau.input.drafts import Drafts
from tests.terminal import Open
from tests.tui.conftest import Running, Start

if TYPE_CHECKING:
    from tests.conftest import TauEnv

SLOW = {"text": "word " * 2000, "chunks": 2000, "delay": 0.02}


def left_behind(tmp_path: Path, work: Path, text: str, *waiting: str, session: str = "") -> None:
    """A draft of a window that is gone."""
    drafts = Drafts(tmp_path / "state", work)
    if session:
        drafts.attach(session)
    drafts.keep(text, waiting)
    assert drafts.close()


async def looked(tau: Running) -> None:
    await tau.until(lambda: tau.screen.kept._looked and not tau.screen.kept._moving.locked(), "what was left")


async def test_a_draft_of_a_window_that_is_gone_is_offered_and_up_brings_it(
    tmp_path: Path, work: Path, start: Start
) -> None:
    left_behind(tmp_path, work, "half a\nthought", "a message that waited")
    async with start(size=(80, 24)) as tau:
        await tau.shows("⋯ not sent  a message that waited half a thought")
        assert tau.screen.prompt.text == ""
        await tau.pilot.press("up")
        await tau.until(lambda: tau.screen.prompt.text, "the draft")
        assert tau.screen.prompt.text == "a message that waited\n\nhalf a\nthought"
        assert "⋯ not sent" not in tau.text()
        assert not tau.screen.busy, "nothing goes out that was not seen again"
        assert not len(tau.screen.outbox)
    async with start() as tau:
        await tau.shows("⋯ not sent")  # it was not sent in that window, either
        assert "1 more" not in tau.text(), "it is kept once"


async def test_several_are_offered_one_after_the_other(tmp_path: Path, work: Path, start: Start) -> None:
    left_behind(tmp_path, work, "older")
    left_behind(tmp_path, work, "newer")
    async with start() as tau:
        await tau.shows("1 more")
        await tau.pilot.press("up")
        await tau.until(lambda: tau.screen.prompt.text == "newer", "the newest")
        await tau.shows("⋯ not sent  older")
        await tau.pilot.press("ctrl+c", "up")
        await tau.until(lambda: tau.screen.prompt.text == "older", "the next one")
        await tau.pilot.press("up")
        assert tau.screen.prompt.text == "newer", "what was put away is in the history"


@pytest.mark.parametrize("session", ["", "another"])
async def test_it_is_offered_once_and_in_the_history_then(
    tmp_path: Path, work: Path, start: Start, session: str
) -> None:
    left_behind(tmp_path, work, "left", "a message that waited", session=session)
    async with start() as tau:
        await tau.shows("⋯ not sent  a message that waited left")
        await tau.turn("something else")
        assert "⋯ not sent" not in tau.text()
        for text in ("something else", "left", "a message that waited"):
            await tau.pilot.press("up")
            assert tau.screen.prompt.text == text
    async with start() as tau:
        await looked(tau)
        assert "⋯ not sent" not in tau.text()
        await tau.pilot.press("up", "up")
        await tau.until(lambda: tau.screen.prompt.text == "left", "it is in the history")


async def test_it_is_not_offered_in_a_session_that_is_resumed(
    tmp_path: Path, work: Path, start: Start
) -> None:
    """Only in its own, and in a new one."""
    async with start() as tau:
        await tau.turn("first question")
        session = tau.screen.conversation.state.session_id
    left_behind(tmp_path, work, "left", session="another")
    async with start(resume=session) as tau:
        await looked(tau)
        assert "⋯ not sent" not in tau.text()
        await tau.send("/new")
        await tau.shows("⋯ not sent  left")
        await tau.send(f"/resume {session}")
        await tau.shows("Resumed session")
        await tau.until(lambda: "⋯ not sent" not in tau.text(), "it is not of that session")


async def test_its_session_has_it_although_it_was_offered(tmp_path: Path, work: Path, start: Start) -> None:
    async with start() as tau:
        await tau.turn("first question")
        session = tau.screen.conversation.state.session_id
    left_behind(tmp_path, work, "left", session=session)
    async with start() as tau:
        await tau.shows("⋯ not sent  left")
        await tau.until(
            lambda: any(
                '"offered":true' in file.read_text().replace(" ", "")
                for file in (tmp_path / "state" / "prompt" / "drafts").glob("*.json")
            ),
            "it is noted",
        )
    async with start(resume=session) as tau:
        await tau.until(lambda: tau.screen.prompt.text == "left", "the draft")


async def test_a_draft_of_a_window_that_lives_is_nobody_elses(
    tmp_path: Path, work: Path, start: Start
) -> None:
    living = Drafts(tmp_path / "state", work)
    living.keep("mine")
    assert living.flush()
    async with start() as tau:
        await looked(tau)
        assert "⋯ not sent" not in tau.text()
    living.close()


async def test_resuming_brings_back_what_was_left_there(start: Start) -> None:
    async with start() as tau:
        await tau.turn("first question")
        session = tau.screen.conversation.state.session_id
        await tau.pilot.press(*"half a thought")
        await tau.until(lambda: tau.screen.prompt.text == "half a thought", "the draft")
        tau.app.leave(0)
        await tau.until(lambda: not tau.app.is_running, "the end")
    async with start() as tau:  # a new session: it is offered only
        await tau.shows("⋯ not sent  half a thought")
        assert tau.screen.prompt.text == ""
    async with start(resume=session) as tau:
        await tau.until(lambda: tau.screen.prompt.text == "half a thought", "the draft")
        await tau.shows("What you had not sent is in the prompt again")
        await looked(tau)  # its file is gone
        await tau.turn("")
        assert tau.text().count("half a thought") == 1
    async with start(resume=session) as tau:
        await looked(tau)
        assert tau.screen.prompt.text == ""
        assert "⋯ not sent" not in tau.text()


async def test_what_is_being_typed_is_not_mixed_with_what_was_left(
    tmp_path: Path, work: Path, start: Start
) -> None:
    async with start() as tau:
        await tau.turn("first question")
        session = tau.screen.conversation.state.session_id
    left_behind(tmp_path, work, "left there", session=session)
    async with start(resume=session, ready=False) as tau:
        tau.screen.prompt.insert("typed at once")
        await tau.shows("⋯ not sent  left there")
        assert tau.screen.prompt.text == "typed at once"
        await tau.pilot.press("ctrl+u", "up")
        await tau.until(lambda: tau.screen.prompt.text == "left there", "the draft")


async def test_another_window_may_be_faster(tmp_path: Path, work: Path, start: Start) -> None:
    left_behind(tmp_path, work, "left")
    other = Drafts(tmp_path / "state", work)
    (draft,) = other.leftovers()
    async with start() as tau:
        await tau.shows("⋯ not sent  left")
        await looked(tau)
        assert other.take(draft)
        await tau.pilot.press("up")
        await tau.shows("Another window has that draft now")
        assert tau.screen.prompt.text == ""
        other.close()


async def test_what_is_sent_is_a_draft_no_more(tmp_path: Path, start: Start) -> None:
    folder = tmp_path / "state" / "prompt" / "drafts"
    async with start() as tau:
        await looked(tau)
        await tau.pilot.press(*"a draft")
        await tau.until(lambda: folder.is_dir() and list(folder.glob("*.json")), "a file")
        await tau.turn("")
        await tau.until(lambda: not list(folder.iterdir()), "no file")


@pytest.mark.terminal
def test_a_kill_leaves_the_draft_and_what_waited(tau_env: TauEnv, terminal: Open) -> None:
    tau_env.scripted({"text": "the first answer"}, SLOW)
    app = terminal("tui")
    app.ready()
    app.send("first question\r")
    app.shows("the first answer")
    app.ready()
    app.send("second question\r")
    app.shows("word word")
    app.send("a message that waits\r")
    app.shows("waiting  a message that waits")
    app.send("half a thought")
    drafts = tau_env.state / "prompt" / "drafts"
    app.until(
        lambda: any("half a thought" in file.read_text() for file in drafts.glob("*.json")),
        "the draft on disk",
    )
    os.kill(app.process.pid, signal.SIGKILL)
    app.ended()
    again = terminal("tui", "--resume")
    again.shows("❯ a message that waits")
    again.shows("half a thought")
    again.ready()
    assert "waiting  " not in again.text()
    again.send("\x11")
    assert again.ended() == 0
    printed = again.tail().replace("\r\n", "\n")
    assert "Not sent: a message that waits\n\nhalf a thought\nResume this session with" in printed
    assert printed.rstrip().endswith("What was not sent is kept; tau tui brings it back.")
    third = terminal("tui")
    third.shows("⋯ not sent  a message that waits half a thought")
    third.send("\x11")
    assert third.ended() == 0
    assert "Not sent" not in third.tail()
