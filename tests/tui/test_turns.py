"""A turn on the screen: streamed, cancelled, queued, refused."""

from __future__ import annotations

import json
from pathlib import Path

from tau.tui.widgets.blocks import ReasoningBlock, UserRow
from tau.tui.widgets.events_pane import EventsPane
from tau.tui.widgets.reply import Reply
from tau.tui.widgets.tool_card import ToolCard
from tests.tui.conftest import Start

SLOW = [{"text": "word " * 400, "chunks": 400, "delay": 0.05}]


async def test_a_turn_shows_what_was_said_and_answered(start: Start) -> None:
    async with start([{"reasoning": "hm, let me think", "text": "It is **Tuesday**."}]) as tau:
        await tau.turn("What day is it?")
        assert "What day is it?" in tau.text()
        assert "It is Tuesday." in tau.text()
        assert "Thought · 4 words" in tau.text()
        assert "hm, let me think" not in tau.text()
        tau.screen.query_one(ReasoningBlock).action_turn()
        await tau.shows("hm, let me think")


async def test_a_tool_call_is_a_card_and_an_event(start: Start) -> None:
    script = [
        {"text": "Looking.", "tools": [{"name": "no_such_tool", "input": {"path": "a.py"}, "id": "t1"}]},
        {"text": "Done."},
    ]
    async with start(script, size=(80, 24)) as tau:
        await tau.turn("look")
        card = tau.screen.query_one(ToolCard)
        assert "no_such_tool" in str(card.render())
        assert "failed" in str(card.render())
        assert [entry.name for entry in tau.screen.query_one(EventsPane).entries] == ["no_such_tool"]
        assert tau.text().index("Looking.") < tau.text().index("no_such_tool") < tau.text().index("Done.")


async def test_escape_cancels_and_keeps_what_was_shown(start: Start) -> None:
    async with start(SLOW) as tau:
        await tau.send("talk")
        await tau.shows("word word")
        assert "Esc cancels" in tau.text()
        await tau.pilot.press("escape")
        await tau.idle()
        assert "Turn cancelled." in tau.text()
        assert "word word" in tau.text()
        assert tau.screen.status.activity == "Ready"


async def test_a_message_typed_during_a_turn_waits_visibly_and_is_then_sent(start: Start) -> None:
    script = [{"text": "one " * 40, "chunks": 40, "delay": 0.02}, {"text": "the second answer"}]
    async with start(script) as tau:
        await tau.send("first")
        await tau.until(lambda: tau.screen.busy)
        await tau.send("second")
        assert "waiting  second" in tau.text()
        await tau.idle()
        await tau.shows("the second answer")
        assert "waiting" not in tau.text()
        assert len(tau.screen.query(UserRow)) == 2


async def test_up_takes_the_waiting_message_back(start: Start) -> None:
    async with start(SLOW) as tau:
        await tau.send("first")
        await tau.until(lambda: tau.screen.busy)
        await tau.send("second")
        await tau.pilot.press("up")
        await tau.until(lambda: tau.screen.prompt.text == "second")
        assert not len(tau.screen.outbox)


async def test_cancel_returns_the_waiting_messages_to_the_prompt(start: Start) -> None:
    async with start(SLOW) as tau:
        await tau.send("first")
        await tau.shows("word")
        await tau.send("second")
        await tau.send("third")
        tau.screen.prompt.insert("draft")
        await tau.pilot.press("escape")
        await tau.idle()
        assert tau.screen.prompt.text == "second\n\nthird\n\ndraft"


async def test_keys_before_the_agent_is_ready_are_kept_and_sent(start: Start, tmp_path: Path) -> None:
    async with start([{"text": "the answer"}], ready=False) as tau:
        await tau.pilot.press(*"early", "enter")
        await tau.shows("the answer")
        await tau.idle()
    request = json.loads((tmp_path / "requests.jsonl").read_text("utf-8").splitlines()[0])
    assert request["messages"][-1]["content"][-1]["text"] == "early"


async def test_a_failed_call_is_one_line_and_the_draft_is_kept(start: Start) -> None:
    async with start([{"error": "refused", "message": "invalid x-api-key"}]) as tau:
        await tau.turn("hello")
        await tau.shows("invalid x-api-key")
        assert tau.text().count("invalid x-api-key") <= 2  # the chat and the events pane
        assert tau.screen.prompt.text == "hello"
        assert "Traceback" not in tau.text()


async def test_a_long_reply_ends_complete(start: Start) -> None:
    text = "\n\n".join(f"## Part {n}\n\nSome *words* here.\n\n```python\nx = {n}\n```" for n in range(12))
    async with start([{"text": text, "chunks": 200, "delay": 0.001}]) as tau:
        await tau.turn("write")
        reply = tau.screen.query_one(Reply)
        assert reply.source == text
        await tau.shows("x = 11")


async def test_the_person_who_scrolled_up_stays_there_and_is_told(start: Start) -> None:
    long = "\n\n".join(f"line {n}" for n in range(80))
    async with start([{"text": long}, {"text": "more\n\n" * 40, "chunks": 40, "delay": 0.02}]) as tau:
        await tau.turn("one")
        await tau.shows("line 79")
        await tau.send("two")
        await tau.shows("more")
        await tau.pilot.press("pageup", "pageup")
        place = tau.screen.chat.scroll_y
        await tau.until(lambda: tau.screen.chat.news, "news below")
        await tau.shows("new below")
        (row,) = [line for line in tau.text().splitlines() if "new below" in line]
        assert row.split("│")[0].strip(" ▁▂▃▄▅▆▇█▏").startswith("↓ new below · End"), row
        assert not set("morline0123456789") & set(row.partition("End")[2].split("▏")[0]), "no text beside it"
        await tau.idle()
        assert tau.screen.chat.scroll_y == place
        tau.screen.chat.to_end()
        await tau.until(lambda: "new below" not in tau.text())
        assert tau.screen.chat.scroll_y == tau.screen.chat.max_scroll_y


async def test_a_notice_as_wide_as_the_chat_is_shown_to_its_end(start: Start) -> None:
    """What stands to the left of it takes a column, with which its last words would be cut off."""
    async with start(size=(80, 24)) as tau:
        for width in range(60, 80):
            text = "x" * (width - 4) + " end"
            await tau.screen.notice(text)
            await tau.pilot.pause()
            row = tau.screen.chat.blocks[-1]
            assert row.outer_size.height == len(str(row.render()).split("\n")), width


async def test_wide_and_combining_text_keeps_to_the_width(start: Start) -> None:
    text = "漢字かな交じり文 🎉👩‍👩‍👧 e\u0301a\u0300 שלום مرحبا [red]x[/red] " * 6
    async with start(
        [{"text": f"{text}\n\n| a | b |\n|---|---|\n| {text} | {text} |"}], size=(80, 24)
    ) as tau:
        await tau.turn(text)
        for block in tau.screen.chat.blocks:
            strips = [block.render_line(y) for y in range(block.size.height)]
            assert max(strip.cell_length for strip in strips) <= block.size.width, block
            assert len(strips) == len(str(block.render()).split("\n")), block
        assert "[red]x[/red]" in tau.text()
