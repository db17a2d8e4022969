"""Going back and branching in the app: the picker, the prompt that comes back, sessions of another window."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
import time_machine
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

from tau.config.settings import AgentSettings, Settings
from tau.conversation import prompts
from tau.conversation.state import Prompt, PromptListing
from tau.sessions.records import AgentState
from tau.sessions.store import SessionStore
from tau.tui.screens.rewind import RewindPicker
from tau.tui.screens.sessions import SessionPicker
from tau.tui.widgets.row_list import RowList
from tests.terminal import Open
from tests.tui.conftest import Running, Start
from tests.tui.pictures import LONG_AGO, SIZES, picture
from tests.tui.recorded import answered, exchanges, record, said
from tests.tui.test_behind_summary import told

if TYPE_CHECKING:
    from tests.conftest import TauEnv

LONG = "question 1\n" + "\n".join(f"  line {n} of it" for n in range(40))


@pytest.fixture
def before(store: SessionStore, work: Path) -> str:
    """A session of three exchanges, the second message long."""
    messages = exchanges(3)
    messages[2] = said(LONG)
    record(store, "20260101-000000-aaaa", messages, directory=str(work))
    return "20260101-000000-aaaa"


def on_disk(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file of a session: its bytes, and when it was last written."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    assert files
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def joined(tau: Running) -> str:
    """What is on the screen as one line, wherever it is wrapped."""
    return " ".join(tau.text().split())


async def picker(tau: Running) -> RowList:
    """Open the picker; its list."""
    await tau.send("/rewind")
    await tau.until(lambda: isinstance(tau.app.screen, RewindPicker), "the picker")
    await tau.pilot.pause()
    return tau.app.screen.query_one(RowList)


async def test_a_prompt_is_chosen_and_stands_whole_in_the_input(start: Start, before: str) -> None:
    async with start(resume=before, size=(90, 40)) as tau:
        rows = await picker(tau)
        await tau.shows("3 messages of yours")
        assert rows.cursor == 2
        await tau.pilot.press("escape")
        await tau.until(lambda: not isinstance(tau.app.screen, RewindPicker))
        assert tau.screen.conversation.state.session_id == before
        assert tau.screen.prompt.text == ""
        await picker(tau)
        tau.screen.prompt.insert("a draft")
        await tau.pilot.press("up", "enter")
        await tau.until(lambda: tau.screen.prompt.text == LONG, "the message in the input")
        assert tau.screen.conversation.state.session_id != before
        assert tau.screen.conversation.state.message_count == 2
        await tau.shows("answer 0")
        assert "answer 1" not in tau.text()
        await tau.shows("The draft is put away; Up brings it back")
        await tau.until(lambda: f"the previous session {before} is kept" in joined(tau), "the notice")
        tau.screen.prompt.empty()
        await tau.pilot.press("up")
        assert tau.screen.prompt.text == "a draft"
        tau.screen.prompt.empty()
        await tau.turn("asked anew")
        await tau.shows("ok")


async def test_undo_puts_the_prompt_back_too(start: Start, before: str) -> None:
    async with start(resume=before) as tau:
        await tau.send("/undo")
        await tau.until(lambda: tau.screen.prompt.text == "question 2", "the message in the input")
        await tau.pilot.press("enter")
        await tau.until(lambda: tau.screen.conversation.state.message_count == 6, "it was sent again")
        await tau.idle()


async def test_a_message_too_long_to_edit_comes_back_folded_and_whole(
    start: Start, store: SessionStore, work: Path
) -> None:
    text = "x" * 600_000
    record(store, "s1", [said(text), answered("long")], directory=str(work))
    async with start(resume="s1") as tau:
        await tau.send("/undo")
        await tau.until(lambda: tau.screen.prompt.text, "the message in the input")
        assert tau.screen.prompt.text == "[Pasted text #1 · 600,000\u00a0characters]"
        assert tau.screen.prompt.written_out() == text


async def none_before(listing: PromptListing) -> PromptListing:
    """What was said before it: nothing."""
    return listing


async def test_the_newest_of_many_is_in_sight(start: Start, store: SessionStore, work: Path) -> None:
    record(store, "s1", exchanges(3), directory=str(work))
    many = [Prompt(n, 2 * n, f"question {n}", "", "s1") for n in range(1, 5_001)]
    async with start(resume="s1", size=(80, 24)) as tau:
        tau.app.push_screen(RewindPicker(PromptListing(prompts=many, session_id="s1"), none_before))
        await tau.shows("question 5000")
        assert "5,000 messages of yours" in tau.text()
        await tau.pilot.press("pageup", "pageup", "up")
        await tau.until(lambda: "question 5000" not in tau.text())


def listed(tau: Running) -> list[str]:
    """The rows of the picker, headings among them."""
    rows = tau.app.screen.query_one(RowList).rows
    return [f"{row.left}{row.text}".strip() for row in rows]


def lines_in_sight(tau: Running) -> list[str]:
    """What is below the picker's title, but for its scrollbar, which tells how much there is."""
    return [line.rstrip(" ▁▂▃▄▅▆▇█") for line in tau.text().partition("yours")[2].split("\n")[1:]]


@pytest.fixture
def chain(store: SessionStore, work: Path) -> list[str]:
    """Three sessions that go on from each other, of three turns each; their ids."""
    ids = [f"20260101-00000{number}-aaaa" for number in range(3)]
    for number, session_id in enumerate(ids):
        messages = [
            m for n in range(3) for m in (said(f"{number}.{n} asked"), answered(f"{number}.{n} told"))
        ]
        links: dict[str, Any] = {}
        if number:
            links = {"compacted_from": ids[number - 1]}
            summary = f"Summary of the previous conversation (session {ids[number - 1]}):\nNotes."
            messages = [said(summary), answered("Understood."), *messages]
        record(store, session_id, messages, directory=str(work), **links)
    return ids


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=str)
async def test_what_was_said_before_the_summary_is_listed_and_gone_back_to(
    start: Start, chain: list[str], size: tuple[int, int]
) -> None:
    async with start(resume=chain[2], size=size) as tau:
        rows = await picker(tau)
        await tau.shows("9 messages of yours")
        await tau.until(lambda: len(rows.rows) == 12, "all of them")
        assert listed(tau) == [
            f"Before the summary · {chain[0]}",
            *(f"{n + 1}  0.{n} asked" for n in range(3)),
            f"Before the summary · {chain[1]}",
            *(f"{n + 4}  1.{n} asked" for n in range(3)),
            "This session",
            *(f"{n + 7}  2.{n} asked" for n in range(3)),
        ]
        assert [row.quiet for row in rows.rows if not row.heading] == [True] * 6 + [False] * 3
        assert rows.cursor == 11
        await tau.pilot.press(*["up"] * 7)
        assert rows.rows[rows.cursor].text == "0.1 asked"
        await tau.pilot.press("enter")
        await tau.until(lambda: tau.screen.prompt.text == "0.1 asked", "the message in the input")
        assert tau.screen.conversation.state.message_count == 2
        await tau.shows("0.0 told")
        new = tau.screen.conversation.state.session_id
        notice = (
            f"was said in session {chain[0]}, in new session {new}; the previous session {chain[2]} is kept"
        )
        await tau.until(lambda: any(notice in line for line in told(tau)), "the notice")


async def test_the_picker_opens_at_once_and_what_is_read_meanwhile_moves_nothing(
    start: Start, store: SessionStore, work: Path
) -> None:
    record(store, "s1", exchanges(1), directory=str(work))

    def part(begin: int, end: int, *, earlier: tuple[str, int] | None) -> PromptListing:
        said = [Prompt(0, n, f"question {n}", "", "s1" if n >= 3_000 else "s0") for n in range(begin, end)]
        if earlier is None:
            said = [replace(prompt, number=number) for number, prompt in enumerate(said, 1)]
        return PromptListing(prompts=said, session_id="s1", earlier=earlier)

    go_on = asyncio.Event()
    parts = iter([part(2_000, 5_000, earlier=("s0", 2_000)), part(0, 5_000, earlier=None)])

    async def read_on(listing: PromptListing) -> PromptListing:
        await go_on.wait()
        go_on.clear()
        return next(parts)

    async with start(resume="s1", size=(80, 24)) as tau:
        chosen: list[Prompt | None] = []
        tau.app.push_screen(RewindPicker(part(4_000, 5_000, earlier=("s0", 4_000)), read_on), chosen.append)
        await tau.shows("1,000 messages of yours · reading earlier ones…")
        await tau.shows("question 4999")
        await tau.pilot.press("up", "pageup", "pageup", "up")
        rows = tau.app.screen.query_one(RowList)
        await tau.pilot.pause()
        under, in_sight = rows.rows[rows.cursor].text, lines_in_sight(tau)
        go_on.set()
        await tau.shows("3,000 messages of yours · reading earlier ones…")
        await tau.pilot.pause()
        assert lines_in_sight(tau) == in_sight
        go_on.set()
        await tau.until(lambda: "5,000 messages of yours" in tau.text(), "all of them")
        await tau.pilot.pause()
        assert "reading" not in tau.text()
        assert rows.rows[rows.cursor].text == under
        await tau.shows(f"{int(under.split()[1]) + 1:,}  {under}".replace(",", ""))
        await tau.pilot.press("enter")
        await tau.until(lambda: chosen, "the choice")
        assert chosen[0] is not None
        assert f"question {chosen[0].index}" == under


async def test_a_long_chain_is_numbered_while_its_newest_stays_in_sight(
    start: Start, store: SessionStore, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten sessions of 300 messages, in parts so small that they are many."""
    monkeypatch.setattr("tau.conversation.prompts.extend.__kwdefaults__", {"most": 100})
    ids = [f"s{number}" for number in range(10)]
    for number, session_id in enumerate(ids):
        links: dict[str, Any] = {"compacted_from": ids[number - 1]} if number else {}
        summary = [said("Summary of the previous conversation (session x):\nNotes."), answered("Yes.")]
        record(
            store, session_id, [*(summary if number else []), *exchanges(150)], directory=str(work), **links
        )
    async with start(resume="s9", size=(80, 24)) as tau:
        await tau.send("/rewind")
        await tau.until(lambda: isinstance(tau.app.screen, RewindPicker), "the picker")
        await tau.shows("1,500 messages of yours")
        await tau.until(lambda: "1500  question 149" in tau.text(), "the numbers")


async def test_before_the_list_is_whole_a_message_can_be_chosen(start: Start, chain: list[str]) -> None:
    async with start(resume=chain[2]) as tau:
        conversation = tau.screen.conversation

        async def never(listing: PromptListing) -> PromptListing:
            await asyncio.Event().wait()
            raise AssertionError

        listing = prompts.extend(conversation._core.read, prompts.beginning(chain[2]), most=12)
        assert listing.earlier is not None
        conversation.earlier_prompts = never  # type: ignore[method-assign]  # as slow as it can be
        tau.screen.run_worker(tau.screen.commands._choose_prompt(listing))
        await tau.until(lambda: isinstance(tau.app.screen, RewindPicker), "the picker")
        await tau.pilot.press(*["up"] * 3, "enter")
        await tau.until(lambda: tau.screen.prompt.text == "1.2 asked", "the message in the input")
        assert tau.screen.conversation.state.message_count == 6


async def test_a_fork_shows_the_same_conversation_in_a_new_session(start: Start, before: str) -> None:
    async with start(resume=before, size=(90, 50)) as tau:
        await tau.send("/fork")
        await tau.until(lambda: tau.screen.conversation.state.session_id != before, "the fork")
        new = tau.screen.conversation.state.session_id
        notice = f"Forked session {before} into new session {new}; {before} is kept."
        await tau.until(lambda: notice in joined(tau), "the notice")
        await tau.shows("answer 2")
        assert tau.screen.prompt.text == ""


async def test_while_a_turn_runs_the_command_goes_back_into_the_prompt(start: Start) -> None:
    async with start([{"text": "w " * 400, "chunks": 400, "delay": 0.05}]) as tau:
        await tau.send("hello")
        await tau.shows("w w")
        for line in ("/rewind", "/fork 1", "/undo"):
            await tau.send(line)
            await tau.until(lambda line=line: tau.screen.prompt.text == line, line)  # type: ignore[misc]  # bound now
            tau.screen.prompt.empty()
        await tau.shows("I am still answering the previous turn.")
        await tau.pilot.press("escape")
        await tau.idle()


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_the_picker_as_a_picture(
    start: Start, store: SessionStore, work: Path, snapshot: SnapshotAssertion, size: tuple[int, int]
) -> None:
    texts = [
        "Why does the nightly job fail since Tuesday?",
        "And what does `quail.rates` hold now that it has moved to quail.money, with all that was left?",
        "Fix it, please.\nAnd add a test.",
        "京都の天気を調べて、結果を一行で書いてください。",
    ] + [f"Now the same for step {n} of the weekly job" for n in range(1, 17)]
    with time_machine.travel(LONG_AGO, tick=False):
        messages = [m for text in texts for m in (said(text), answered("Done."))]
        record(store, "20200929-153012-aaaa", messages, directory=str(work), name="heron")
    (work / ".git").mkdir()
    (work / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    async with start(size=size, resume="heron") as tau:
        await tau.shows("main")
        await picker(tau)
        await tau.shows("step 16")
        await picture(snapshot, tau)


# Sessions of another window --------------------------------------------------------------------------


@pytest.fixture
def of_another_window(store: SessionStore, before: str) -> str:
    """The session, as one that was recorded under the other setting."""
    with store.hold(before) as writer:
        writer.write_agent_state(
            AgentState(conversation_manager_state={"__name__": "SummarizingConversationManager"})
        )
    return before


def sentence(session: str) -> str:
    return (
        f"Session {session} was recorded with a different [agent] context setting; "
        "set it back to summarize or start a new session"
    )


async def test_the_picker_and_resume_refuse_it_and_fork_carries_it_on(
    start: Start, of_another_window: str, tmp_path: Path
) -> None:
    folder = tmp_path / "data" / "sessions" / of_another_window
    untouched = on_disk(folder)
    refusal = f"{sentence(of_another_window)} (/fork {of_another_window} goes on with it in a new session)"
    async with start(size=(90, 40)) as tau:
        current = tau.screen.conversation.state.session_id
        await tau.pilot.press("f2")
        await tau.until(lambda: isinstance(tau.app.screen, SessionPicker))
        await tau.shows("question 0")
        await tau.pilot.press("enter")
        await tau.until(lambda: refusal in joined(tau), "the refusal")
        await tau.send("/clear")
        await tau.until(lambda: refusal not in joined(tau))
        await tau.send(f"/resume {of_another_window}")
        await tau.until(lambda: refusal in joined(tau), "the refusal")
        assert tau.screen.conversation.state.session_id == current
        await tau.turn("still here")
        assert tau.screen.conversation.state.message_count == 2
        assert on_disk(folder) == untouched
        await tau.send(f"/fork {of_another_window}")
        await tau.until(lambda: tau.screen.conversation.state.message_count == 6, "the fork")
        await tau.turn("go on")
        assert on_disk(folder) == untouched


async def test_at_the_start_one_line_says_it(
    start: Start, settings_for: Callable[..., Settings], of_another_window: str, tmp_path: Path
) -> None:
    folder = tmp_path / "data" / "sessions" / of_another_window
    untouched = on_disk(folder)
    async with start(resume=of_another_window, ready=False) as tau:
        await tau.until(lambda: tau.app.last_line, "the line")
        hint = f"`tau tui`, then /fork {of_another_window}, goes on with it in a new session"
        assert tau.app.last_line == f"{sentence(of_another_window)} ({hint})"
        assert tau.app.exit_code == 1
    assert on_disk(folder) == untouched
    settings = msgspec.structs.replace(settings_for(), agent=AgentSettings(context="summarize"))
    async with start(settings=settings, resume=of_another_window) as tau:
        await tau.shows("answer 2")


@pytest.mark.terminal
def test_the_installed_command_says_it_on_the_terminal(tau_env: TauEnv, terminal: Open) -> None:
    tau_env.scripted({"text": "well"}, more='[agent]\ncontext = "summarize"\n')
    assert tau_env.run("chat", stdin=b"hi\n").returncode == 0
    (folder,) = tau_env.sessions()
    tau_env.scripted({"text": "well"})
    untouched = on_disk(folder)
    app = terminal("tui", "--resume", folder.name)
    assert app.ended() == 1
    assert sentence(folder.name) in " ".join(app.tail().split())
    assert app.is_restored()
    assert on_disk(folder) == untouched
    assert len(tau_env.sessions()) == 1
