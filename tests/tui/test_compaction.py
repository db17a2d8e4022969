"""Compaction as a person meets it: what is busy, refused and waits meanwhile, what is shown afterwards."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from syrupy.assertion import SnapshotAssertion

from tau.config.settings import CompactionSettings, ModelSettings, PriceSettings, Settings
from tau.conversation.compacting import CANCELLED
from tau.sessions.store import SessionStore
from tau.tui.widgets.blocks import NoticeRow, SummaryBlock, UserRow
from tau.tui.widgets.tool_card import ToolCard
from tests.tui.conftest import Running, Start, Step
from tests.tui.pictures import every_look, picture, pictures_of

NOTES = "- Ada wants the nightly job fixed.\n- It fails since Tuesday: `quail.rates` moved in 3f2a91c."
ENDLESS = {"text": NOTES, "chunks": 2, "delay": 60}
Configure = Callable[..., Settings]

SUMMARIZING = "The conversation is being summarized; Esc cancels that."


@pytest.fixture
def configure(settings_for: Callable[..., Settings], tmp_path: Path) -> Configure:
    """Settings with a model of 40,000 tokens (it compacts at 30,000) and a script for its summaries."""

    def make(script: Sequence[Step], side: Sequence[Step], *, keep_turns: int = 0, **tui: Any) -> Settings:
        for name, steps in (("main", script), ("side", side)):
            (tmp_path / f"{name}.json").write_text(json.dumps(list(steps)))
        model = ModelSettings(
            provider="scripted",
            model_id="claude-sonnet-5",
            script=str(tmp_path / "main.json"),
            side_script=str(tmp_path / "side.json"),
            record=str(tmp_path / "requests.jsonl"),
            context_window=40_000,
            price=PriceSettings(input=3, output=15),
        )
        compaction = CompactionSettings(keep_turns=keep_turns, anchors_tokens=0)
        return msgspec.structs.replace(settings_for(model=model, **tui), compaction=compaction)

    return make


def usage(tokens: int) -> dict[str, Any]:
    return {"usage": {"inputTokens": tokens, "outputTokens": 200}}


def requests(tmp_path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (tmp_path / "requests.jsonl").read_text().splitlines()]


def joined(tau: Running) -> str:
    """The notices in the chat."""
    return "\n".join(" ".join(notice.render().plain.split()) for notice in tau.screen.query(NoticeRow))


def prompts(tau: Running) -> list[str]:
    """What the person said, as far as it is in the chat, from the top."""
    return [str(row.render()) for row in tau.screen.query(UserRow)]


async def begin_compaction(tau: Running, line: str = "/compact") -> None:
    await tau.send(line)
    await tau.shows("✻ Summarizing…")


async def compact(tau: Running) -> None:
    before = tau.screen.conversation.state.session_id
    await tau.send("/compact")
    await tau.until(lambda: tau.screen.conversation.state.session_id != before, "the new session")
    await tau.until(lambda: "Compacted" in joined(tau), "the notice")
    await tau.idle()


def sessions(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "data" / "sessions").iterdir() if path.is_dir())


# While it is summarized --------------------------------------------------------------------------------


async def test_nothing_else_begins_but_questions_about_the_state_are_answered(
    start: Start, configure: Configure, tmp_path: Path
) -> None:
    async with start(settings=configure([{"text": "one"}], [ENDLESS])) as tau:
        await tau.turn("first")
        session = tau.screen.conversation.state.session_id
        await begin_compaction(tau)
        assert "Esc cancels" in tau.text()
        await tau.send("/status")
        await tau.shows("2 messages in memory")
        before = None
        for line in ("/new", "/resume", "/rewind", "/rewind 1", "/undo", "/fork", "/compact", "/model fast"):
            await tau.send(line)
            before = await refusal(tau, before)
            await tau.until(partial(is_written, tau, line), "what was refused is there again")
            tau.screen.prompt.empty()
        await tau.pilot.press("f3")
        await refusal(tau, before)
        assert joined(tau).count(SUMMARIZING) == 1, "one at a time"
        assert tau.screen.conversation.state.session_id == session
        assert sessions(tmp_path) == [session]
        assert "✻ Summarizing…" in tau.text()
        await tau.pilot.press("escape")
        await tau.until(lambda: CANCELLED in joined(tau), "the end")


def is_written(tau: Running, text: str) -> bool:
    return tau.screen.prompt.text == text


async def refusal(tau: Running, before: NoticeRow | None) -> NoticeRow:
    """What is said of a thing that was not done, once another one than before is there."""

    def last() -> NoticeRow:
        return tau.screen.query(NoticeRow).last()

    await tau.until(
        lambda: last() is not before and SUMMARIZING.removesuffix(".") in last().source, "the refusal"
    )
    return last()


@pytest.mark.parametrize("key", ["escape", "ctrl+c"])
async def test_it_is_cancelled_and_gives_back_what_waited(
    start: Start, configure: Configure, tmp_path: Path, key: str
) -> None:
    async with start(settings=configure([{"text": "one"}, {"text": "two"}], [ENDLESS])) as tau:
        await tau.turn("first")
        session = tau.screen.conversation.state.session_id
        await begin_compaction(tau)
        await tau.send("what waits")
        await tau.shows("waiting  what waits")
        if key == "escape":
            tau.screen.prompt.insert("a draft")
        await tau.pilot.press(key)
        await tau.until(lambda: CANCELLED in joined(tau), "the end")
        draft = ["", "a draft"] if key == "escape" else []
        await tau.until(lambda: tau.screen.prompt.text.split("\n") == ["what waits", *draft], "the draft")
        await tau.shows("back in the prompt")
        assert not len(tau.screen.outbox)
        assert sessions(tmp_path) == [session]
        tau.screen.prompt.empty()
        await tau.turn("second")
        await tau.shows("two")
        assert tau.screen.conversation.state.session_id == session
        assert tau.screen.conversation.state.message_count == 4


async def test_a_session_chosen_from_the_picker_is_refused_as_well(
    start: Start, configure: Configure
) -> None:
    settings = configure([{"text": "one"}], [ENDLESS])
    async with start(settings=settings) as tau:
        await tau.turn("the other one")
    async with start(settings=settings) as tau:
        await tau.turn("first")
        session = tau.screen.conversation.state.session_id
        await begin_compaction(tau)
        await tau.pilot.press("f2")
        await tau.shows("the other one")
        await tau.pilot.press("enter")
        await tau.until(lambda: SUMMARIZING in joined(tau), "the refusal")
        assert tau.screen.conversation.state.session_id == session
        await tau.shows("✻ Summarizing…")


async def test_a_message_written_meanwhile_goes_out_in_the_new_session(
    start: Start, configure: Configure, tmp_path: Path
) -> None:
    side = [{"text": NOTES, "chunks": 2, "delay": 1.0}]
    async with start(settings=configure([{"text": "one"}, {"text": "the second answer"}], side)) as tau:
        await tau.turn("first")
        old = tau.screen.conversation.state.session_id
        await begin_compaction(tau, "/compact the job")
        await tau.send("second")
        assert "waiting  second" in tau.text()
        await tau.shows("the second answer")
        await tau.idle()
        new = tau.screen.conversation.state.session_id
        assert f"New session {new}; the previous session {old} is kept." in joined(tau)
        assert "Ada wants the nightly job fixed." in tau.text(), "a summary that was just written is open"
        assert prompts(tau) == ["second"]
        assert tau.screen.conversation.state.message_count == 4
    sent = requests(tmp_path)[-1]["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "user"]
    assert sent[-1]["content"][0]["text"] == "second"


async def test_a_summary_that_fails_is_said_and_gives_back_what_waited(
    start: Start, configure: Configure
) -> None:
    side = [{"text": " ", "chunks": 2, "delay": 0.7}]
    async with start(settings=configure([{"text": "one"}], side)) as tau:
        await tau.turn("first")
        await begin_compaction(tau)
        await tau.send("second")
        await tau.until(lambda: "Compaction failed: the summary was empty" in joined(tau), "the failure")
        await tau.until(lambda: tau.screen.prompt.text == "second", "the message")
        assert prompts(tau) == ["first"]
        assert not tau.screen.busy


async def test_leaving_meanwhile_leaves_the_session_whole(
    start: Start, configure: Configure, tmp_path: Path
) -> None:
    settings = configure([{"text": "one"}], [ENDLESS])
    async with start(settings=settings) as tau:
        await tau.turn("first")
        session = tau.screen.conversation.state.session_id
        await begin_compaction(tau)
        await tau.send("what waits")
        await tau.pilot.press("ctrl+q")
    assert sessions(tmp_path) == [session]
    meta = json.loads((tmp_path / "data" / "sessions" / session / "meta.json").read_text())
    assert "compacted_to" not in meta
    async with start(settings=settings, resume="") as tau:
        await tau.until(lambda: prompts(tau) == ["first"], "the session")
        assert not joined(tau)


# Afterwards --------------------------------------------------------------------------------------------


def looking(path: str, use_id: str, tokens: int) -> Step:
    return {"tools": [{"name": "list_files", "input": {"path": path}, "id": use_id}], **usage(tokens)}


async def test_kept_turns_are_shown_as_they_were(start: Start, configure: Configure, work: Path) -> None:
    script = [{"text": "one"}, looking(".", "t1", 900), {"text": "two"}]
    async with start(settings=configure(script, [{"text": NOTES}], keep_turns=1)) as tau:
        await tau.turn("first")
        await tau.turn("second")
        (card,) = tau.screen.query(ToolCard)
        before = str(card.render())
        assert before.rstrip().endswith(" ms")
        entries = list(tau.screen.events_pane.entries)
        await compact(tau)
        assert prompts(tau) == ["second"]
        (card,) = tau.screen.query(ToolCard)
        assert str(card.render()) == before
        assert [entry.name for entry in tau.screen.events_pane.entries] == [entry.name for entry in entries]
        (summary,) = tau.screen.query(SummaryBlock)
        assert summary.open


async def test_it_can_be_read_back_beyond_two_compactions(start: Start, configure: Configure) -> None:
    settings = configure([{"text": "reply"}], [{"text": NOTES}], keep_turns=2)
    async with start(settings=settings) as tau:
        for text in ("first", "second", "third"):
            await tau.turn(text)
        await compact(tau)
        await tau.turn("fourth")
        await compact(tau)
        assert prompts(tau) == ["third", "fourth"]
        for shown in (["second", "third", "fourth"], ["first", "second", "third", "fourth"]):
            assert "the conversation before the summary · PageUp shows it" in tau.text()
            await tau.pilot.press("pageup")
            await tau.until(lambda shown=shown: prompts(tau) == shown, str(shown))  # type: ignore[misc]  # bound now
            await tau.until(lambda: not tau.screen.chat.reading, "the page")
        assert len(tau.screen.query(SummaryBlock)) == 2
        assert tau.screen.chat.earlier is None
        await tau.turn("fifth")
        assert prompts(tau) == ["first", "second", "third", "fourth", "fifth"]


async def test_a_resumed_session_has_its_summary_folded_and_the_old_one_leads_to_it(
    start: Start, configure: Configure
) -> None:
    settings = configure([{"text": "reply"}], [{"text": NOTES}])
    async with start(settings=settings) as tau:
        await tau.turn("first")
        old = tau.screen.conversation.state.session_id
        await compact(tau)
        new = tau.screen.conversation.state.session_id
    async with start(settings=settings, resume="") as tau:
        await tau.shows(f"▸ Summary of session {old}")
        assert "Ada wants" not in tau.text()
        tau.screen.query_one(SummaryBlock).action_turn()
        await tau.shows("Ada wants")
        await tau.send(f"/resume {old}")
        current = f"Session {old} goes on in session {new}, which is the current one"
        await tau.until(lambda: current in joined(tau), "that it is here already")
        await tau.send("/new")
        await tau.until(lambda: not tau.screen.query(SummaryBlock), "a new session")
        await tau.send(f"/resume {old}")
        await tau.until(lambda: bool(tau.screen.query(SummaryBlock)), "the session that goes on")
        notice = f"Session {old} was compacted and goes on in session {new}, which is opened in its place;"
        assert notice in joined(tau)
        assert tau.screen.conversation.state.session_id == new


async def test_in_the_middle_of_a_turn_it_is_said_and_the_turn_goes_on(
    start: Start, configure: Configure, store: SessionStore
) -> None:
    script = [
        {"text": "one", **usage(1_000)},
        looking(".", "t1", 34_000),
        {"text": "done as asked", **usage(5_000)},
        {"text": "more", **usage(6_000)},
    ]
    async with start(settings=configure(script, [{"text": NOTES, "chunks": 2, "delay": 0.5}])) as tau:
        await tau.turn("first")
        old = tau.screen.conversation.state.session_id
        await tau.send("look")
        await tau.shows("✻ Summarizing…")
        await tau.send("and then?")
        await tau.shows("waiting  and then?")
        await tau.shows("more")
        await tau.idle()
        new = tau.screen.conversation.state.session_id
        assert f"New session {new}; the previous session {old} is kept." in joined(tau)
        text = tau.text()
        assert text.index("list_files") < text.index("Compacted 2 messages") < text.index("▸ Summary of")
        assert text.index("▸ Summary of") < text.index("done as asked")
        assert prompts(tau) == ["first", "look", "and then?"]
        with store.read(new) as reader:
            assert reader.count() == 2 + 4 + 2


# Pictures ----------------------------------------------------------------------------------------------


@pytest.fixture
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is shown that is different each time: seconds, times of day, ids."""
    monkeypatch.setattr("tau.tui.widgets.bars.monotonic", lambda: 0.0)
    monkeypatch.setattr("tau.tui.turn_view.now", lambda: "15:30:12")
    monkeypatch.setattr("tau.tui.widgets.card_title.duration", lambda seconds: "12 ms")
    monkeypatch.setattr("tau.tui.turn_view.duration", lambda seconds: "12 ms")
    monkeypatch.setattr("tau.tui.widgets.events_pane.duration", lambda seconds: "12 ms")
    ids = iter(f"20201002-0912{number:02}-3f9a" for number in range(60))
    monkeypatch.setattr("tau.conversation.opening.new_id", lambda: next(ids))


FIRST = {"text": "Hello **Ada**. The tests are red since Tuesday.", **usage(20_000)}
SECOND = {"text": "It imports `quail.rates`, which moved to `quail.money` in 3f2a91c.", **usage(26_000)}
LONG_NOTES = f"""## What the person wants
{NOTES}
- The tests are to be green before the release of 1.0 on Friday; nothing else is to be touched in quail/jobs \
but nightly.py, and the alert stays where it is.

## What was done
1. `pytest -x tests/test_nightly.py` fails with ModuleNotFoundError: No module named 'quail.rates'"""


async def see_it_summarized(tau: Running) -> None:
    await tau.turn("I am Ada. Why is the nightly job red?")
    await tau.turn("What does it import?")
    await begin_compaction(tau)
    await tau.send("Then fix it, please")
    await tau.shows("waiting")


async def see_it_cancelled(tau: Running) -> None:
    await tau.pilot.press("escape")
    await tau.shows(CANCELLED)
    await tau.idle()


async def see_the_summary(tau: Running) -> None:
    tau.screen.prompt.empty()
    tau.screen.status.unsay()
    await compact(tau)


@pytest.mark.usefixtures("still")
@every_look
async def test_compacting_as_pictures(
    start: Start, configure: Configure, snapshot: SnapshotAssertion, size: tuple[int, int], theme: str
) -> None:
    side = [ENDLESS, {"text": LONG_NOTES, **usage(30_000)}]
    settings = configure([FIRST, SECOND], side, keep_turns=1, theme=theme)
    walk = {"summarizing": see_it_summarized, "cancelled": see_it_cancelled, "compacted": see_the_summary}
    async with start(settings=settings, size=size, name="rook") as tau:
        await pictures_of(snapshot, tau, walk)


@pytest.mark.usefixtures("still")
@pytest.mark.parametrize("size", [(120, 40), (200, 60)], ids=str)
async def test_a_turn_that_is_compacted_as_a_picture(
    start: Start, configure: Configure, snapshot: SnapshotAssertion, size: tuple[int, int]
) -> None:
    done = {"text": "There are two files; `nightly.py` is the job.", **usage(9_000)}
    script = [FIRST, SECOND, looking(".", "t1", 34_000), done]
    settings = configure(script, [{"text": LONG_NOTES, **usage(30_000)}], keep_turns=1)
    async with start(settings=settings, size=size, name="rook") as tau:
        await tau.turn("I am Ada. Why is the nightly job red?")
        await tau.turn("What does it import?")
        await tau.turn("Which files are there?")
        await picture(snapshot, tau)
