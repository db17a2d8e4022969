"""Text from outside: nothing is markup, nothing steers the terminal, links do nothing by themselves."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.display import one_line, spelled_out, visible
from tau.events import AgentEvent, NoticeRecord, ToolCallRecord
from tau.sessions.store import SessionStore
from tau.tui.screens.sessions import SessionPicker
from tau.tui.widgets.blocks import UserRow
from tau.tui.widgets.reply import Reply
from tau.tui.widgets.tool_card import ToolCard
from tests.tui.conftest import Start
from tests.tui.recorded import answered, called, record, result, said

HOSTILE = "A\x1b[2J\x1b[?1049h\x1b[?1000h\x1b]52;c;UFdO\x07\x1b]0;T\x07B\x9b31m\u202egnp"
BRACKETS = ["[/]", "[/foo]", "[red]hi[/red]", "arr[i][j] = [", "[0] x", "[link=file:///etc]a[/]"]


def unsafe(text: str) -> list[str]:
    """The characters of a text that could steer a terminal or reorder text."""
    steering = (range(9), range(0x0B, 0x20), range(0x7F, 0xA0), range(0x202A, 0x202F), range(0xD800, 0xE000))
    return [c for c in text if any(ord(c) in codes for codes in steering)]


@given(st.text(alphabet=st.characters()))
def test_nothing_unsafe_is_left(text: str) -> None:
    shown = visible(text)
    assert unsafe(shown) == []
    assert visible(shown) == shown
    shown.encode("utf-8")
    assert "\n" not in one_line(text)


def test_what_is_shown_instead() -> None:
    assert visible("a\x1b[2J\x9b\u202e\ud83d\r\nb\tc") == "a\\x1b[2J\\x9b\\u202e\\ud83d\nb\tc"
    assert visible("漢字 é 👩‍👧 العربية") == "漢字 é 👩‍👧 العربية"


@pytest.mark.parametrize("text", BRACKETS)
async def test_brackets_are_shown_character_for_character(start: Start, text: str) -> None:
    script = [
        {
            "text": f"Reply {text}",
            "chunks": 12,
            "tools": [{"name": "no", "input": {"path": text}, "id": "t"}],
        },
        {"text": "end"},
        {"error": "refused", "message": text},
    ]
    async with start(script) as tau:
        await tau.turn(f"prompt {text}")
        await tau.until(lambda: tau.text().count(text) >= 4, "prompt, reply, card and event")
        await tau.turn("again")
        assert f"Model call failed: {text}" in tau.text()


async def test_nothing_from_outside_reaches_the_widgets_raw(
    start: Start, store: SessionStore, work: Path
) -> None:
    messages = [
        said(HOSTILE),
        answered(f"{HOSTILE} `{HOSTILE}`\n\n```\n{HOSTILE}\n```", called("t1", HOSTILE, path=HOSTILE)),
        result("t1", HOSTILE),
    ]
    events: list[AgentEvent] = [
        ToolCallRecord(HOSTILE, 0, {"path": HOSTILE}, "success", HOSTILE, "", 0.1, "t1"),
        NoticeRecord(HOSTILE),
    ]
    record(store, "s1", messages, directory=str(work), title=HOSTILE, name="word", events=events)
    async with start(resume="s1") as tau:
        await tau.until(lambda: len(tau.screen.query(Reply)) == 1)
        tau.screen.query_one(ToolCard).action_turn()
        await tau.shows("\\x1b[2J")
        assert unsafe(tau.text()) == []
        await tau.send("/new")
        await tau.until(lambda: tau.screen.conversation.state.session_id != "s1")
        await tau.shows("Earlier in this directory")
        assert unsafe(tau.text()) == []
        await tau.pilot.press("f2")
        await tau.until(lambda: isinstance(tau.app.screen, SessionPicker))
        await tau.until(lambda: tau.text().count("\\x1b[2J") >= 2, "title and preview")
        assert unsafe(tau.text()) == []


async def test_a_lone_surrogate_is_shown_and_kept(start: Start) -> None:
    async with start([{"text": "ok \ud83d end"}]) as tau:
        await tau.turn("go")
        assert "ok" in tau.text()
        assert "end" in tau.text()
        tau.text().encode("utf-8")


@pytest.mark.parametrize("target", ["app.quit", "ssh://host", "');app.quit(('"])
async def test_a_link_opens_web_addresses_only(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    browser, opened = tmp_path / "browser", tmp_path / "opened"
    browser.write_text(f"#!/bin/sh\necho \"$@\" >> '{opened}'\n", encoding="utf-8")
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", str(browser))
    async with start([{"text": f"[press](<{target}>) and [web](https://example.org/a?b=1)"}]) as tau:
        await tau.turn("go")
        paragraph = tau.screen.query_one(Reply)
        await tau.pilot.click(paragraph, offset=(1, 0))
        await tau.shows("Not opened, because it is no web address")
        assert tau.app.is_running
        assert not opened.exists()
        await tau.pilot.click(paragraph, offset=(11, 0))
        await tau.shows("Opened https://example.org/a?b=1")
        assert opened.read_text(encoding="utf-8") == "https://example.org/a?b=1\n"


async def test_html_and_tables_are_text(start: Start) -> None:
    async with start([{"text": "<b>bold</b>\n\n<think>x</think>\n\n|a|\n|-|\n|[/] `y`|"}]) as tau:
        await tau.turn("go")
        for shown in ("<b>bold</b>", "<think>x</think>", "[/] y"):
            assert shown in tau.text()


async def test_selected_text_is_copied_and_the_truth_is_said(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    async with start([{"text": "an answer to copy"}]) as tau:
        await tau.turn("go")
        tau.screen.query_one(UserRow).text_select_all()
        await tau.pilot.press("ctrl+c")
        await tau.shows("Sent 2 characters to the terminal's clipboard; it does not confirm")
        assert tau.app.clipboard == "go"


async def test_a_selected_reply_is_copied_without_its_wrapping(start: Start) -> None:
    entry_text = "an entry that is long enough to be wrapped at the width of the screen here"
    text = "word " * 40 + f"end\n\n- {entry_text}"
    async with start([{"text": text}], size=(60, 24)) as tau:
        await tau.turn("go")
        tau.screen.query_one(Reply).text_select_all()
        await tau.pilot.press("ctrl+c")
        await tau.until(lambda: tau.app.clipboard, "copied")
        first, blank, entry = tau.app.clipboard.split("\n")
        assert first == "word " * 40 + "end"
        assert blank == ""
        assert entry == f"• {entry_text}"


BLANKS = " \t\u00a0\u2003\u2800\u3000\u3164"


@given(st.text(alphabet=st.sampled_from(f"{BLANKS}\n␠⏎×3ab\x1b\u202e"), max_size=200))
def test_nothing_can_be_pushed_out_of_sight(text: str) -> None:
    shown = spelled_out(text)
    assert unsafe(shown) == []
    assert "\n\n\n\n\n" not in shown
    for line in shown.split("\n"):
        indent = len(line) - len(line.lstrip(BLANKS))
        assert indent <= 40
        runs = "".join("." if character in BLANKS else "x" for character in line[indent:]).split("x")
        assert all(len(run) <= 8 for run in runs)


def test_gaps_are_counted_and_marks_cannot_be_forged() -> None:
    assert spelled_out(f"git status{' ' * 300}; touch P") == "git status␠×300; touch P"
    assert spelled_out("a" + "\n" * 1_300 + "b") == "a\n⏎×1,300\nb"
    assert spelled_out("␠×300 and ␠") == "\\u2420×300 and ␠"
    assert spelled_out(f"def f():\n{' ' * 12}return  1") == f"def f():\n{' ' * 12}return  1"
