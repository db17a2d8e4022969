"""The list of completions over the prompt: files, commands, their arguments, and whose the keys are."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from textual import events

from tau.config.settings import Settings
from tau.sessions.store import SessionStore
from tau.tasks.desk import TaskDesk
from tau.tui.widgets.choices import NO_CHOICE, Choices
from tests.longest_block import longest_block
from tests.tui.conftest import Running, Start
from tests.tui.recorded import exchanges, record

FILES = (
    "README.md",
    "src/main.py",
    "src/parser.py",
    "src/deep/prompt.py",
    "notes of today.txt",
    "a/very/long/way/down/to/where/nobody/ever/looks/and/still/further/down/the/table_of_everything.py",
)


@pytest.fixture
def files(work: Path) -> Path:
    """Some files in the working directory."""
    for name in FILES:
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).touch()
    return work


def choices(tau: Running) -> Choices:
    return tau.screen.query_one("#choices", Choices)


async def completing(tau: Running) -> None:
    """Wait until completions can be asked for."""
    await tau.until(lambda: tau.screen.kept.files is not None, "the files")


async def offered(tau: Running, text: str) -> None:
    """Wait until the list shows this for what is typed now."""
    completion = tau.screen.completion
    await tau.until(
        lambda: completion.is_open and completion._shown is completion._wanted and text in tau.text(),
        f"{text!r} in the list",
    )


async def write(tau: Running, text: str, *, shows: str) -> None:
    await completing(tau)
    await tau.pilot.press(*text)
    await offered(tau, shows)


async def test_a_file_is_found_by_some_letters_and_taken_with_tab(files: Path, start: Start) -> None:
    async with start(size=(80, 24)) as tau:
        await write(tau, "see @dpr", shows="src/deep/prompt.py")
        await tau.pilot.press("tab")
        assert tau.screen.prompt.text == "see @src/deep/prompt.py "
        assert not choices(tau).display
        await tau.pilot.press(*"now")
        assert tau.screen.prompt.text == "see @src/deep/prompt.py now"


async def test_enter_takes_the_chosen_file_and_only_then_sends(files: Path, start: Start) -> None:
    async with start() as tau:
        await write(tau, "see @main", shows="src/main.py")
        await tau.pilot.press("enter")
        assert tau.screen.prompt.text == "see @src/main.py "
        await tau.turn("now")
        assert tau.screen.prompt.text == ""
        assert "see @src/main.py now" in tau.text()


@pytest.mark.parametrize("typed", ["see @README.md", "mail ana@main", "see @zzzz", "@src/"])
async def test_enter_sends_what_is_complete_or_matches_nothing(files: Path, start: Start, typed: str) -> None:
    async with start() as tau:
        await completing(tau)
        await tau.pilot.press(*typed)
        completion = tau.screen.completion
        await tau.until(lambda: completion._shown is completion._wanted, "an answer")
        await tau.pilot.press("enter")
        await tau.until(lambda: tau.screen.conversation.state.message_count == 2, "an answer")
        await tau.idle()


async def test_up_and_down_choose_and_esc_keeps_what_is_typed(files: Path, start: Start) -> None:
    async with start() as tau:
        await tau.turn("sent before")
        await write(tau, "@src", shows="src/parser.py")
        first = choices(tau).cursor
        await tau.pilot.press("down", "down", "up")
        assert choices(tau).cursor == first + 1
        await tau.pilot.press("escape")
        assert not choices(tau).display
        assert tau.screen.prompt.text == "@src"
        await tau.pilot.press("/")  # what was put away stays away
        await tau.pilot.pause()
        assert not choices(tau).display
        await tau.pilot.press("up")
        assert tau.screen.prompt.text == "sent before", "the keys are the prompt's again"
        await tau.pilot.press("down")
        assert tau.screen.prompt.text == "@src/"


async def test_tab_walks_the_tree(files: Path, start: Start) -> None:
    async with start() as tau:
        await write(tau, "@src/", shows="src/deep/")
        assert choices(tau).cursor == NO_CHOICE
        await tau.pilot.press("tab")
        await tau.until(lambda: len(choices(tau)) == 3, "the entries of the directory alone")
        await tau.pilot.press("tab", "tab")
        assert tau.screen.prompt.text == "@src/deep/"
        await offered(tau, "src/deep/prompt.py")
        await tau.pilot.press("tab", "tab")
        assert tau.screen.prompt.text == "@src/deep/prompt.py "


async def test_a_path_with_spaces_goes_out_in_quotes(files: Path, start: Start) -> None:
    async with start() as tau:
        await write(tau, "@today", shows="notes of today.txt")
        await tau.pilot.press("tab")
        assert tau.screen.prompt.text == '@"notes of today.txt" '


async def test_a_long_path_keeps_its_beginning_and_its_end(files: Path, start: Start) -> None:
    async with start(size=(80, 24)) as tau:
        await write(tau, "@everything", shows="table_of_everything.py")
        row = next(line for line in tau.text().splitlines() if "everything.py" in line)
        assert "a/very/long" in row
        assert "…" in row
        assert len(row) < 80


async def test_commands_are_listed_with_their_help(start: Start) -> None:
    async with start(size=(80, 24)) as tau:
        await write(tau, "/", shows="show these commands")
        rows = [line for line in tau.text().splitlines() if line.strip().startswith(("/", "▌ /"))]
        assert len(rows) == 7
        await write(tau, "und", shows="/undo")
        await tau.pilot.press("enter")
        assert tau.screen.prompt.text == "/undo", "it is sent by the next Enter"
        await tau.pilot.press("backspace", *"o")
        assert tau.screen.prompt.text == "/undo"


async def test_a_whole_command_is_not_held_up(start: Start) -> None:
    async with start() as tau:
        await write(tau, "/status", shows="show model, window")
        await tau.pilot.press("enter")
        await tau.shows("Model: default")
        await write(tau, "/q", shows="/quit")  # a name that the list does not show
        await tau.pilot.press("enter")
        await tau.until(lambda: not tau.app.is_running, "the end")


async def test_themes_are_arguments(start: Start) -> None:
    async with start() as tau:
        await write(tau, "/theme lig", shows="light")
        await tau.pilot.press("tab", "enter")
        await tau.until(lambda: tau.app.theme == "tau-light", "the theme")


async def test_roles_and_sessions_are_arguments(start: Start) -> None:
    async with start() as tau:
        await tau.turn("first question")
        old = tau.screen.conversation.state.name
        await tau.pilot.press("f3")
        await tau.until(lambda: tau.screen.conversation.state.name != old, "a new session")
        await tau.ready()
        await write(tau, "/model ", shows="fast")
        assert choices(tau).cursor == NO_CHOICE, "Enter alone lists the roles, as ever"
        await tau.pilot.press("down", "down", "enter")
        assert tau.screen.prompt.text == "/model fast"
        await tau.pilot.press("ctrl+u")
        await write(tau, "/resume ", shows=old)
        await tau.pilot.press(*old[:2])
        await offered(tau, old)
        await tau.pilot.press("tab", "enter")
        await tau.until(lambda: tau.screen.conversation.state.name == old, "that session")


async def test_names_of_tasks_are_arguments(start: Start) -> None:
    async with start() as tau:
        desk = TaskDesk(tau.screen.settings)
        for name in ("the nightly job", "how rates are rounded"):
            desk.create(name)
        await write(tau, "/tasks show nigh", shows="show the nightly job")
        await tau.pilot.press("tab")
        await tau.until(lambda: tau.screen.prompt.text == "/tasks show the nightly job", "the name")
        await tau.pilot.press("ctrl+u")
        await write(tau, "/tasks done rounded", shows="done how rates are rounded")
        await tau.pilot.press("tab", "enter")
        await tau.shows("'how rates are rounded' is completed")
        await write(tau, "/tasks done ", shows="done the nightly job")
        assert len(choices(tau)) == 1, "what is completed cannot be completed again"


async def test_of_tasks_of_one_name_the_open_one_is_offered_by_it(start: Start) -> None:
    async with start() as tau:
        desk = TaskDesk(tau.screen.settings)
        old = desk.create("langs").task
        desk.complete(old.id)
        new = desk.create("langs").task
        await write(tau, "/tasks show la", shows="show langs")
        await tau.pilot.press("tab")
        await tau.until(lambda: tau.screen.prompt.text == "/tasks show langs", "the name")
        await tau.pilot.press("ctrl+u")
        await write(tau, "/tasks show ", shows=f"show {old.id}")
        await tau.shows("langs · completed")
        assert new.id not in tau.text()


async def answered(tau: Running, typed: str) -> None:
    """Type, and wait until it is known what the list has for it."""
    await completing(tau)
    await tau.pilot.press("ctrl+u", *typed)
    completion = tau.screen.completion
    await tau.until(lambda: completion._wanted is not None, "a question")
    await tau.until(lambda: completion._shown is completion._wanted, "an answer")


@pytest.fixture
def earlier(store: SessionStore, work: Path) -> None:
    """Sessions whose ids and titles have the digits that a person types."""
    titles = {"20260101-120000-2222": "12 ways to plan a network", "plan": "first", "222": "digits"}
    for session_id, title in titles.items():
        record(store, session_id, exchanges(1), directory=str(work), title=title, name=f"n-{session_id}")


async def test_words_of_a_command_are_listed_and_taken_only_with_tab(start: Start) -> None:
    async with start() as tau:
        await write(tau, "/goal pa", shows="pause")
        await tau.pilot.press("enter")
        await tau.shows("goal: pa")
        await write(tau, "/goal pa", shows="pause")
        await tau.pilot.press("tab")
        await tau.until(lambda: tau.screen.prompt.text == "/goal pause", "the word")
        await tau.pilot.press("enter")
        await tau.shows("goal (paused): pa")


@pytest.mark.usefixtures("earlier")
async def test_a_number_is_complete_as_it_is_typed(start: Start) -> None:
    async with start() as tau:
        for text in ("first question", "second question", "third question"):
            await tau.turn(text)
        before = tau.screen.conversation.state.session_id
        for typed in ("/fork 2", "/resume 1", "/fork 222"):
            await answered(tau, typed)
            assert choices(tau).display, "what fits is shown"
            assert choices(tau).cursor == NO_CHOICE
        await answered(tau, "/fork 2")
        await tau.pilot.press("enter")
        await tau.until(lambda: tau.screen.conversation.state.session_id != before, "the fork")
        assert tau.screen.conversation.state.message_count == 4, "up to the second message"
        await tau.ready()
        await answered(tau, "/resume 1")
        await tau.pilot.press("enter")
        await tau.until(lambda: tau.screen.conversation.state.session_id == before, "the newest one")


@pytest.mark.usefixtures("earlier")
async def test_a_whole_id_or_name_is_complete_and_the_beginning_of_one_is_not(start: Start) -> None:
    async with start(resume="plan") as tau:
        for typed in (
            "/fork plan",
            "/fork n-plan",
            "/resume 20260101-120000-2222",
            "/fork n-20260101-120000-2222",
        ):
            await answered(tau, typed)
            assert choices(tau).cursor == NO_CHOICE, typed
        await answered(tau, "/fork pla")
        assert choices(tau).cursor == 0
        await tau.pilot.press("enter")
        assert tau.screen.prompt.text == "/fork n-20260101-120000-2222"
        await answered(tau, "/fork plan")
        await tau.pilot.press("tab")
        assert choices(tau).cursor == 0, "Tab chooses"


async def test_what_comes_from_the_history_or_a_paste_opens_nothing(files: Path, start: Start) -> None:
    async with start() as tau:
        await tau.turn("an older one")
        await tau.turn("see @src")
        await completing(tau)
        await tau.pilot.press("up")
        assert tau.screen.prompt.text == "see @src"
        await tau.pilot.press("up")
        assert tau.screen.prompt.text == "an older one"
        await tau.pilot.press("ctrl+u")
        tau.screen.prompt.post_message(events.Paste("look at @src"))
        await tau.until(lambda: "look at" in tau.screen.prompt.text, "the paste")
        await tau.pilot.pause()  # what the paste set off is dealt with
        await tau.until(lambda: all(each.group != "complete" for each in tau.app.workers), "no search")
        assert not choices(tau).display


async def test_lines_that_come_at_once_take_nothing_from_the_list(files: Path, start: Start) -> None:
    """A terminal that marks no pastes types them."""
    async with start() as tau:
        await write(tau, "see @mai", shows="src/main.py")
        now = time.monotonic()
        for key in ("n", "enter", "b"):
            event = events.Key(key, "\r" if key == "enter" else key)
            event.time = now
            tau.screen.prompt.post_message(event)
        await tau.until(lambda: tau.screen.prompt.text == "see @main\nb", "both lines")


async def test_tab_goes_on_where_nothing_can_be_completed(start: Start) -> None:
    async with start([{"reasoning": "because", "text": "an answer"}]) as tau:
        await tau.turn("why")
        await completing(tau)
        await tau.pilot.press(*"plain", "tab")
        assert tau.screen.focused is not tau.screen.prompt
        assert tau.screen.prompt.text == "plain"


async def test_the_chat_does_not_move_when_the_list_comes_and_goes(files: Path, start: Start) -> None:
    async with start(size=(80, 24)) as tau:
        await tau.turn("why")
        before = tau.screen.chat.region
        await write(tau, "@src", shows="src/main.py")
        assert tau.screen.chat.region == before
        above = choices(tau).region
        assert above.bottom == tau.screen.query_one("#prompt-box").region.y
        await tau.pilot.press("ctrl+j")
        await tau.until(lambda: not choices(tau).display, "closed")
        assert choices(tau).region.height <= above.height


async def test_other_keys_can_complete_and_close(
    files: Path, start: Start, settings_for: Callable[..., Settings]
) -> None:
    settings = msgspec.structs.replace(settings_for(), keys={"complete": "ctrl+space", "back": "f12"})
    async with start(settings=settings) as tau:
        await write(tau, "@main", shows="src/main.py")
        await tau.pilot.press("f12")
        assert not choices(tau).display
        await tau.pilot.press("ctrl+space")
        await offered(tau, "src/main.py")
        await tau.pilot.press("ctrl+space")
        assert tau.screen.prompt.text == "@src/main.py "


async def test_the_newest_letters_win_while_the_files_are_listed(work: Path, start: Start) -> None:
    for folder in range(40):
        (work / f"package_{folder}").mkdir()
        for number in range(100):
            (work / f"package_{folder}" / f"module_{number}.py").touch()
    (work / "wanted").mkdir()
    (work / "wanted" / "needle.py").touch()
    async with start() as tau:
        await completing(tau)
        async with longest_block() as longest:
            await tau.pilot.press(*"@module_99 ", *"@pack", "ctrl+u", *"@needle")
            await offered(tau, "wanted/needle.py")
        assert "module_99" not in tau.text().replace("@module_99", "")
        assert longest[0] < 0.1, "twice what is allowed, in time of the processor"
