"""The cursor over the blocks of the transcript: moved, and what is done with the block under it."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tau.sessions.store import SessionStore
from tau.tui.block_cursor import Stop
from tau.tui.widgets.block_bar import BlockBar
from tau.tui.widgets.blocks import UserRow
from tau.tui.widgets.reply import Reply
from tau.tui.widgets.tool_card import ToolCard
from tests.terminal import Open
from tests.tui.conftest import Running, Start
from tests.tui.recorded import answered, called, exchanges, record, result, said
from tests.tui.test_editor import program

if TYPE_CHECKING:
    from tests.conftest import TauEnv

CODE = "Take **this**:\n\n```python\nx = 1\n```\n\nor that:\n\n```sh\nmake all\n```"
MESSAGES = [
    said("first question"),
    answered("first answer"),
    said("second question"),
    answered("", called("t1", "shell", command="make all")),
    result("t1", "\n".join(f"line {n}" for n in range(3000))),
    answered(CODE),
]


@pytest.fixture
def recorded(store: SessionStore, work: Path) -> None:
    """A session with something of everything."""
    record(store, "amber", MESSAGES, directory=str(work))


def copied(tau: Running) -> list[str]:
    """Keep what goes to the clipboard from now on."""
    texts: list[str] = []
    driver = tau.app._driver
    assert driver is not None
    write = driver.write

    def watch(data: str) -> None:
        if data.startswith("\x1b]52;c;"):
            texts.append(base64.b64decode(data.removeprefix("\x1b]52;c;").removesuffix("\x07")).decode())
        write(data)

    driver.write = watch  # type: ignore[method-assign]  # it still writes
    return texts


async def at(tau: Running, *keys: str) -> str:
    """Press keys; what the line of keys then says."""
    for key in keys:
        await tau.pilot.press(key)
        await tau.until(
            lambda: not any(w.group == "blocks" and w.is_running for w in tau.screen.workers), "it moved"
        )
    await tau.pilot.pause()
    bar = tau.screen.query(BlockBar)
    return str(bar.first().render()).partition("   ")[0] if bar and bar.first().display else ""


@pytest.mark.usefixtures("recorded")
async def test_it_goes_over_every_block_and_back_to_the_prompt(start: Start) -> None:
    async with start(resume="amber") as tau:
        tau.screen.prompt.insert("a draft")
        up = [await at(tau, "alt+up") for _ in range(8)]
        assert up == [
            "code 2 of 2", "code 1 of 2", "reply", "tool call", "your message", "reply", "your message",
            "your message",
        ]  # fmt: skip
        down = [await at(tau, "alt+down") for _ in range(7)]
        assert down == ["reply", "your message", "tool call", "reply", "code 1 of 2", "code 2 of 2", ""]
        assert tau.screen.focused is tau.screen.prompt
        assert tau.screen.prompt.text == "a draft"
        assert not tau.screen.query(".-pointed")


@pytest.mark.usefixtures("recorded")
async def test_escape_goes_back_to_the_draft(start: Start) -> None:
    async with start(resume="amber") as tau:
        tau.screen.prompt.insert("a draft")
        assert await at(tau, "alt+up", "alt+up", "alt+up") == "reply"
        assert tau.screen.query_one(".-pointed", Reply)
        assert await at(tau, "escape") == ""
        assert not tau.screen.query(".-pointed")
        await tau.pilot.press("!")
        assert tau.screen.prompt.text == "a draft!"


@pytest.mark.usefixtures("recorded")
async def test_copy_gives_the_source_whole(start: Start) -> None:
    async with start(resume="amber") as tau:
        texts = copied(tau)
        await at(tau, "alt+up", "alt+up", "alt+up", "c")
        await tau.until(lambda: len(texts) == 1, "the reply")
        await at(tau, "alt+up", "c")
        await tau.until(lambda: len(texts) == 2, "the result")
        await at(tau, "ctrl+c")
        await tau.until(lambda: len(texts) == 3, "Ctrl+C copies as well")
        whole = "\n".join(f"line {n}" for n in range(3000))
        assert texts == [CODE, whole, whole]


@pytest.mark.usefixtures("recorded")
async def test_code_is_copied_piece_by_piece(start: Start) -> None:
    async with start(resume="amber") as tau:
        texts = copied(tau)
        await at(tau, "alt+up", "c")
        await tau.until(lambda: texts == ["make all"], "the code under the cursor")
        await at(tau, "alt+up", "alt+up", "y")
        await tau.until(lambda: texts[1:] == ["x = 1"], "the first")
        await at(tau, "y")
        await tau.until(lambda: texts[2:] == ["make all"], "the second")
        await at(tau, "alt+up", "y")
        await tau.until(lambda: texts[3:] == ["make all"], "the command of the call")


async def test_what_is_too_large_for_many_terminals_is_said(
    start: Start, store: SessionStore, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")  # no clipboard program
    record(store, "large", [said("x" * 56_241), answered("y" * 56_247)], directory=str(work))
    async with start(resume="large", size=(140, 30)) as tau:
        texts = copied(tau)
        await at(tau, "alt+up", "c")
        await tau.shows("many take no more than 75 kB: paste to check")
        await at(tau, "alt+up", "c")
        await tau.shows("Sent 56,241 characters to the terminal's clipboard; it does not confirm")
        assert [len(text) for text in texts] == [56_247, 56_241]


async def test_a_reply_is_copied_as_it_was_written_not_as_it_is_safe_to_show(
    start: Start, store: SessionStore, work: Path
) -> None:
    text = "one\x1b[31m two\n\n```\na\u202eb\n```"
    record(store, "wild", [said("x"), answered(text)], directory=str(work))
    async with start(resume="wild") as tau:
        texts = copied(tau)
        await at(tau, "alt+up", "c")
        await tau.until(lambda: len(texts) == 1)
        await at(tau, "alt+up", "c")
        await tau.until(lambda: len(texts) == 2)
        assert texts == ["a\u202eb", text]


@pytest.mark.usefixtures("recorded")
async def test_enter_opens_and_folds_a_card(start: Start) -> None:
    async with start(resume="amber") as tau:
        assert await at(tau, *["alt+up"] * 4) == "tool call"
        await at(tau, "enter")
        assert tau.screen.query_one(ToolCard).open
        assert "Enter fold" in tau.text()
        await at(tau, "enter")
        assert not tau.screen.query_one(ToolCard).open
        assert await at(tau, "alt+up") == "your message"


@pytest.mark.usefixtures("recorded")
async def test_a_letter_that_begins_a_word_goes_to_the_draft(start: Start) -> None:
    async with start(resume="amber") as tau:
        texts = copied(tau)
        await at(tau, *["alt+up"] * 3)
        await tau.pilot.press(*"copy")
        assert tau.screen.prompt.text == "copy"
        assert tau.screen.focused is tau.screen.prompt
        await at(tau, "alt+up")
        await tau.pilot.press(*"x")
        assert tau.screen.prompt.text == "copyx"
        assert texts == []


@pytest.mark.usefixtures("recorded")
async def test_edit_and_resend_forks_before_the_message(start: Start, store: SessionStore) -> None:
    async with start(resume="amber") as tau:
        tau.screen.prompt.insert("a draft")
        assert await at(tau, *["alt+up"] * 5) == "your message"
        assert "e edit and resend" in tau.text()
        await tau.pilot.press("e")
        await tau.until(lambda: tau.screen.prompt.text == "second question", "it is in the prompt")
        await tau.ready()
        assert [str(row.render()) for row in tau.screen.query(UserRow)] == ["first question"]
        assert tau.screen.conversation.state.session_id != "amber"
        assert not tau.screen.query_one(BlockBar).display
    with store.read("amber") as kept:
        assert kept.count() == len(MESSAGES)


async def test_a_message_of_this_run_is_resent_as_well(start: Start) -> None:
    async with start([{"text": "one"}, {"text": "two"}]) as tau:
        await tau.turn("a")
        await tau.turn("b")
        assert await at(tau, "alt+up", "alt+up") == "your message"
        await tau.pilot.press("e")
        await tau.until(lambda: tau.screen.prompt.text == "b", "it is in the prompt")


@pytest.mark.usefixtures("recorded")
async def test_a_block_goes_to_the_prompt_as_a_quotation(start: Start) -> None:
    async with start(resume="amber") as tau:
        tau.screen.prompt.insert("About this:")
        await at(tau, *["alt+up"] * 6, "p")
        await tau.until(lambda: "first" in tau.screen.prompt.text, "the quotation")
        assert tau.screen.prompt.text == "About this:\n> first answer\n"
        assert tau.screen.focused is tau.screen.prompt
        await at(tau, "alt+up", "p")
        await tau.until(lambda: "make" in tau.screen.prompt.text, "the code")
        assert tau.screen.prompt.text.endswith("> first answer\n```\nmake all\n```\n")


@pytest.mark.usefixtures("recorded")
async def test_the_block_is_kept_in_sight_and_the_view_stays(start: Start) -> None:
    async with start(resume="amber", size=(80, 24)) as tau:
        await at(tau, *["alt+up"] * 4, "enter")
        chat = tau.screen.chat
        card = tau.screen.query_one(ToolCard)
        await tau.until(lambda: chat.scroll_y == chat.place_of(card).y, "its first line is in sight")
        await at(tau, "escape")
        assert chat.scroll_y == chat.place_of(card).y


async def test_at_the_first_block_earlier_turns_are_shown(
    start: Start, store: SessionStore, work: Path
) -> None:
    record(store, "long", exchanges(45), directory=str(work))
    async with start(resume="long", size=(80, 24)) as tau:
        first = tau.screen.chat.blocks[0]
        await tau.screen.moving.blocks.go(Stop(first))
        assert await at(tau, "alt+up") == "reply"
        assert "answer 4" in tau.text()
        assert "question 5" in tau.text()


@pytest.mark.usefixtures("recorded")
async def test_a_click_moves_a_cursor_that_is_on_and_starts_none(start: Start) -> None:
    async with start(resume="amber") as tau:
        reply = tau.screen.query(Reply).first()
        await tau.pilot.click(reply)
        assert tau.screen.focused is tau.screen.prompt
        await at(tau, "alt+up")
        await tau.pilot.click(reply)
        await tau.until(lambda: reply.has_class("-pointed"), "the cursor is there")


@pytest.mark.terminal
def test_the_source_is_shown_in_the_editor_and_nothing_comes_back(
    tau_env: TauEnv, terminal: Open, tmp_path: Path
) -> None:
    seen = tmp_path / "seen"
    editor = program(tmp_path / "bin", f'cat "$1" > {seen}; echo changed > "$1"')
    tau_env.environ["VISUAL"] = str(editor)
    tau_env.scripted({"text": "It is **Tuesday**."})
    app = terminal("tui")
    app.ready()
    app.send("a question\r")
    app.shows("It is Tuesday.")
    app.send("\x1b[1;3A")
    app.shows("reply   c copy")
    app.send("o")
    app.shows("What was changed in the editor was not kept")
    assert seen.read_text() == "It is **Tuesday**."
    app.shows("It is Tuesday.")
    app.send("\x11")
    assert app.ended() == 0
