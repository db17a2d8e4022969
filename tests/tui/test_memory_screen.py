"""The memory screen, and the key that takes back what was just remembered, in the real app."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from tau.config.settings import MemorySettings, Settings
from tau.config.trust import Trust
from tau.conversation.consent import LOST
from tau.journal import rules_file
from tau.memory import documents, files
from tau.memory.desk import Desk
from tau.tui.early import keys_of
from tau.tui.screens.help import HelpScreen
from tau.tui.screens.memory import MemoryScreen
from tau.tui.widgets.blocks import NoticeRow
from tests.terminal import Open
from tests.tui.conftest import Running, Start
from tests.tui.test_editor import program
from tests.tui.test_memory_screen_snapshots import to

if TYPE_CHECKING:
    from tests.conftest import TauEnv

Make = Callable[..., Settings]
NOTHING = "Nothing was remembered just now that could be taken back"


def remembers(label: str, content: str, **more: Any) -> dict[str, Any]:
    """A step of the model that remembers something."""
    return {"tools": [{"name": "remember", "input": {"label": label, "content": content, **more}}]}


def write(settings: Settings, label: str, content: str) -> Path:
    """Remember something in another window."""
    desk = Desk(settings)
    desk.remember(label, content, replace=True, origin="")
    return path(settings, label)


def path(settings: Settings, label: str) -> Path:
    where = Desk(settings).where()
    scope, _, name = label.partition("/")
    return (where.shared if scope == "global" else where.memory) / f"{name}.md"


async def opened(tau: Running, key: str = "alt+m") -> MemoryScreen:
    await tau.pilot.press(key)
    await tau.until(lambda: isinstance(tau.app.screen, MemoryScreen), "the memory screen")
    screen = tau.app.screen
    assert isinstance(screen, MemoryScreen)
    await tau.pilot.pause()
    return screen


async def test_what_is_made_at_the_start_is_told_and_nothing_is_wrong(
    start: Start, settings_for: Make, tmp_path: Path, work: Path
) -> None:
    settings = settings_for()
    for folder in (tmp_path / "config", work / ".tau"):
        shutil.rmtree(folder, ignore_errors=True)
    async with start(settings=settings, size=(200, 40)) as tau:
        await tau.turn("hi")
        await tau.shows("The folder of this project was made")
        told = [
            row for row in tau.screen.query(NoticeRow) if "made: " in row.source or "Written" in row.source
        ]
        assert len(told) == 2
        assert all(row.has_class("-info") for row in told)


async def back(tau: Running) -> None:
    await tau.until(lambda: tau.app.screen is tau.screen, "back")


# The key that takes back ---------------------------------------------------------------------------


async def test_one_key_takes_back_what_was_just_remembered_once(start: Start, settings_for: Make) -> None:
    settings = settings_for([remembers("build", "make check runs all."), {"text": "noted"}])
    async with start(settings=settings) as tau:
        await tau.turn("remember that")
        await tau.shows("Remembered project/build: make check runs all. Ctrl+T takes it back")
        assert path(settings, "project/build").exists()
        await tau.pilot.press(*"a draft", "ctrl+t")
        await tau.shows("removed project/build.md")
        assert not path(settings, "project/build").exists()
        assert tau.screen.prompt.text == "a draft"
        await tau.pilot.press("ctrl+t")
        await tau.shows(NOTHING)
        assert [entry.undone for entry in Desk(settings).history().entries()] == [True]


async def test_a_wait_for_another_process_is_said_in_the_status_row(
    start: Start, settings_for: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "UNTOLD", 0.05)
    settings = settings_for([remembers("build", "make"), {"text": "noted"}])
    async with start(settings=settings) as tau:
        await tau.turn("remember that")
        with files.locked(Desk(settings).where()):
            await tau.pilot.press("ctrl+t")
            await tau.shows("Another tau writes memory; waiting…")
        await tau.shows("removed project/build.md")
        await tau.until(lambda: "waiting" not in tau.text(), "the status row is as before")


async def test_each_notice_is_taken_back_once_the_newest_first(start: Start, settings_for: Make) -> None:
    settings = settings_for([remembers("build", "make"), remembers("deploy", "ship"), {"text": "noted"}])
    write(settings, "project/before", "was there\n")
    async with start(settings=settings) as tau:
        await tau.turn("remember both")
        await tau.pilot.press("ctrl+t", "ctrl+t")
        await tau.shows("removed project/deploy.md")
        await tau.shows("removed project/build.md")
        await tau.pilot.press("ctrl+t")
        await tau.shows(NOTHING)
        assert path(settings, "project/before").exists(), "nobody was told of that one here"


async def test_it_takes_back_nothing_but_what_the_notice_named(start: Start, settings_for: Make) -> None:
    settings = settings_for([remembers("build", "make"), {"text": "noted"}])
    async with start(settings=settings) as tau:
        await tau.turn("remember that")
        other = write(settings, "project/other", "from another window\n")
        await tau.pilot.press("ctrl+t")
        await tau.shows("again since, by session 'none' (project/other.md)")
        assert other.exists()
        assert path(settings, "project/build").exists()
        Desk(settings).undo()
        await tau.pilot.press("ctrl+t")
        await tau.shows("removed project/build.md")
        assert not path(settings, "project/build").exists()


async def test_what_was_taken_back_otherwise_is_said(start: Start, settings_for: Make) -> None:
    settings = settings_for([remembers("build", "make"), {"text": "noted"}])
    write(settings, "project/before", "was there\n")
    async with start(settings=settings) as tau:
        await tau.turn("remember that")
        await tau.send("/memory undo")
        await tau.shows("removed project/build.md")
        await tau.pilot.press("ctrl+t")
        await tau.shows("was taken back already")
        await tau.pilot.press("ctrl+t")
        await tau.shows(NOTHING)
        assert path(settings, "project/before").exists()


async def test_a_file_that_was_edited_since_is_left_alone(start: Start, settings_for: Make) -> None:
    settings = settings_for([remembers("build", "make"), {"text": "noted"}])
    async with start(settings=settings, size=(200, 60)) as tau:
        await tau.turn("remember that")
        build = path(settings, "project/build")
        build.write_text("my own words\n")
        await tau.pilot.press("ctrl+t")
        await tau.shows("project/build.md was changed since")
        await tau.shows("+my own words")
        assert build.read_text() == "my own words\n"
        build.write_text("make\n")
        await tau.pilot.press("ctrl+t")
        await tau.shows("removed project/build.md")


async def test_a_rule_that_is_taken_back_says_that_its_lesson_is_in_force_nowhere(
    start: Start, settings_for: Make
) -> None:
    settings = settings_for()
    lesson = "SL-001 of .session-log/acme/LESSONS.md"
    async with start(settings=settings, size=(200, 40)) as tau:
        await tau.turn("hi")
        await tau.screen.conversation.change_memory(
            lambda desk, _: rules_file.add(desk, "Never guess", of=lesson)
        )
        await tau.pilot.press("ctrl+t")
        await tau.shows("removed project/rules.md")
        await tau.shows(f"Where {lesson} is still archived there, its rule is in force nowhere")


@pytest.mark.parametrize(("keys", "said"), [("ctrl+y", "Ctrl+Y"), ("", "/memory undo")])
async def test_the_notice_names_the_key_in_force(
    start: Start, settings_for: Make, keys: str, said: str
) -> None:
    settings = settings_for([remembers("build", "make"), {"text": "noted"}])
    settings = msgspec.structs.replace(settings, keys={"take-back": keys})
    async with start(settings=settings) as tau:
        await tau.turn("remember that")
        await tau.shows(f"Remembered project/build: make. {said} takes it back")
        await tau.pilot.press("f1")
        await tau.until(lambda: isinstance(tau.app.screen, HelpScreen), "the help")
        await tau.pilot.press(*"just remembered")
        await tau.shows(said if keys else "no key")
        await tau.pilot.press("escape")
        await back(tau)
        if keys:
            await tau.pilot.press(keys)
            await tau.shows("removed project/build.md")


async def test_a_refinement_is_taken_back_by_the_same_key(start: Start, settings_for: Make) -> None:
    operation = {"file": "project/build.md", "action": "write", "content": "make\n", "sentence": "as said"}
    settings = settings_for(side=[{"text": json.dumps({"operations": [operation]})}])
    settings = msgspec.structs.replace(settings, memory=MemorySettings(refine="off"))
    async with start(settings=settings) as tau:
        await tau.turn("it is built with make")
        await tau.send("/refine")
        await tau.shows("Memory was refined (manual):")
        await tau.shows("Ctrl+T takes it back")
        await tau.pilot.press("ctrl+t")
        await tau.shows("removed project/build.md")
        assert not path(settings, "project/build").exists()


# The screen ----------------------------------------------------------------------------------------


async def test_it_opens_by_a_command_a_key_and_the_palette(start: Start, settings_for: Make) -> None:
    settings = msgspec.structs.replace(settings_for(), keys={"memory": "ctrl+o"})
    async with start(settings=settings) as tau:
        await opened(tau, "ctrl+o")
        await tau.pilot.press("ctrl+o")
        await back(tau)
        await tau.send("/memory")
        await tau.until(lambda: isinstance(tau.app.screen, MemoryScreen), "by the command")
        await tau.pilot.press("escape")
        await back(tau)
        await tau.pilot.press("ctrl+p", *"memory", "enter")
        await tau.until(lambda: tau.screen.prompt.text == "" and tau.app.screen is not tau.screen, "again")
        await tau.until(lambda: isinstance(tau.app.screen, MemoryScreen), "by the palette")


async def test_an_empty_memory_says_so(start: Start) -> None:
    async with start() as tau:
        await opened(tau)
        await tau.shows("No memory yet")
        await tau.pilot.press("e", "u")
        await tau.shows("There is no change to undo")
        await tau.pilot.press("enter", "tab")
        await tau.shows("No changes yet")
        await tau.pilot.press("escape")
        await back(tau)


async def test_files_say_what_of_them_is_loaded(start: Start, settings_for: Make, work: Path) -> None:
    settings = msgspec.structs.replace(settings_for(), memory=MemorySettings(max_chars=1_000))
    (work / ".git").mkdir()
    (work / "AGENTS.md").write_text("Be kind.\n" * 10)
    Trust(settings.places).add(work)
    write(settings, "project/old", "an old thing\n")
    long = write(settings, "project/long", "".join(f"{number} is a line of it\n" for number in range(1, 101)))
    async with start(settings=settings, size=(120, 40)) as tau:
        await opened(tau)
        await tau.shows("2 not loaded whole")
        await to(tau, "long.md")
        await tau.shows("not loaded: lines 1 to ")
        await to(tau, "old.md")
        await tau.shows("not loaded: it stands in no prompt")
        await to(tau, "AGENTS.md")
        await tau.shows("Be kind.")
        await tau.shows("tau reads it and never writes it")
        await tau.pilot.press("e")
        await tau.shows("tau never writes AGENTS.md")
        assert long.exists()


async def test_five_hundred_files_are_read_on_threads(
    start: Start, settings_for: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_for()
    folder = Desk(settings).where().shared
    for number in range(500):
        (folder / f"note-{number:03}.md").write_text(f"note {number}\n" * 5)
    readers: set[int] = set()
    read = documents.read

    def noted(*places: Any) -> Any:
        readers.add(threading.get_ident())
        return read(*places)

    monkeypatch.setattr(documents, "read", noted)
    async with start(settings=settings) as tau:
        readers.clear()
        screen = await opened(tau)
        await tau.shows("Files 500")
        for _ in range(30):
            await tau.pilot.press("pagedown")
        await tau.shows("▌ note-499.md")
        await tau.pilot.press("slash", *"note-123")
        await tau.shows("▌ global/note-123.md")
        await tau.pilot.press("enter", "enter")
        await tau.shows("to the list")
        await tau.pilot.press("escape", "escape", "escape")
        await back(tau)
        assert not screen.is_attached
    assert readers
    assert threading.get_ident() not in readers


async def test_a_link_is_shown_as_not_read(start: Start, settings_for: Make, tmp_path: Path) -> None:
    settings = settings_for()
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret of the house\n")
    write(settings, "project/build", "make\n")
    path(settings, "project/linked").symlink_to(secret)
    async with start(settings=settings, size=(300, 40)) as tau:
        await opened(tau)
        await tau.shows("Needs a look")
        assert "linked.md" in tau.text()
        assert "secret of the house" not in tau.text()
        await to(tau, "build.md")
        path(settings, "project/build").unlink()
        path(settings, "project/build").symlink_to(secret)
        await tau.pilot.press("e")
        await tau.until(lambda: "Files 0" in tau.text(), "it was looked again")
        said = "build.md cannot be read: a symbolic link, which is never followed"  # wrapped anywhere
        assert "".join(said.split()) in "".join(tau.text().replace("▏", "").split())
        assert secret.read_text() == "the secret of the house\n"


async def test_bare_shows_what_there_is_and_that_nothing_is_loaded(start: Start, settings_for: Make) -> None:
    settings = settings_for()
    write(settings, "project/build", "make\n")
    async with start(settings=settings, bare=True) as tau:
        await opened(tau)
        await tau.shows("nothing of it is loaded: tau runs with --bare")
        await to(tau, "build.md")
        await tau.shows("not loaded: it stands in no prompt")


async def test_changes_are_shown_and_undone_from_the_newest_on(start: Start, settings_for: Make) -> None:
    settings = settings_for()
    write(settings, "project/build", "tox\n")
    build = write(settings, "project/build", "make\n")
    async with start(settings=settings) as tau:
        await opened(tau)
        await tau.pilot.press("tab", "down")
        await tau.shows("added project/build.md")
        await tau.pilot.press("u")
        await tau.shows("only the newest one can be undone")
        assert build.read_text() == "make\n", "the one under the cursor was another one"
        await tau.shows("updated project/build.md")
        assert "tox" in tau.text()
        await tau.pilot.press("u")
        await tau.shows("Undone: put back project/build.md")
        assert build.read_text() == "tox\n"
        await tau.shows("(undone)")
        await tau.pilot.press("u", "u")
        await tau.shows("Undone: removed project/build.md")
        assert not build.exists()
        await tau.pilot.press("u")
        await tau.shows("There is no change to undo")
        await tau.pilot.press("escape")
        await back(tau)
        await tau.shows("put back project/build.md")


async def test_a_refused_undo_shows_the_edit_and_where_both_versions_are(
    start: Start, settings_for: Make
) -> None:
    settings = settings_for()
    build = write(settings, "project/build", "make\n")
    async with start(settings=settings, size=(200, 60)) as tau:
        await opened(tau)
        await tau.pilot.press("tab")
        await tau.shows("added project/build.md")
        build.write_text("my own words\n")
        await tau.pilot.press("u")
        await tau.shows("Not undone: project/build.md was changed since.")
        shown = tau.text()
        assert "/memory undo anyway goes over the edit" in " ".join(shown.split())
        assert "- make" in shown
        assert "+ my own words" in shown
        assert "- my own words" in shown
        assert "as it is now: " in shown
        assert "as that change left it: " in shown
        assert "as it was before: not there" in shown
        assert build.read_text() == "my own words\n"
        await tau.pilot.press("escape")
        await back(tau)
        await tau.shows("--- project/build.md as that change left it")
        await tau.send("/memory undo anyway")
        await tau.shows("your edit of project/build.md is kept")
        assert not build.exists()


async def test_what_waits_is_shown_with_its_difference_and_accepted(start: Start, settings_for: Make) -> None:
    operations = [
        {"file": f"project/{name}.md", "action": "delete", "sentence": f"{name} is gone"}
        for name in ("boat", "ship")
    ]
    settings = settings_for(side=[{"text": json.dumps({"operations": operations})}])
    settings = msgspec.structs.replace(settings, memory=MemorySettings(refine="off"))
    paths = [path(settings, f"project/{name}") for name in ("boat", "ship")]
    for each in paths:
        each.write_text(f"make {each.stem}\n")
    async with start(settings=settings, size=(120, 40)) as tau:
        await tau.turn("neither is there any more")
        await tau.send("/refine")
        await tau.shows("Waits for your yes: project/ship.md")
        await opened(tau)
        await tau.shows("▌ ? project/boat.md")
        await tau.shows("your yes is for all 2 changes that wait")
        assert "you wrote it, and it would be deleted" in tau.text()
        assert "make boat" in tau.text()
        assert "a accept" in tau.text()
        await tau.pilot.press("down", "down", "a")
        await tau.shows("a carries out what waits for your yes")
        await tau.shows("▌ ? project/boat.md")
        assert all(each.exists() for each in paths), "what is accepted is in sight first"
        await tau.pilot.press("a")
        await tau.shows("removed project/ship.md — ship is gone")
        assert not any(each.exists() for each in paths)
        assert "Waits for your yes" not in tau.text()
        await tau.pilot.press("a")
        await tau.shows("Nothing waits for your yes")
        await tau.pilot.press("escape")
        await back(tau)
        await tau.shows("Ctrl+T takes it back")


async def test_that_memory_was_refined_is_no_warning(start: Start, settings_for: Make) -> None:
    settings = settings_for(side=[{"text": json.dumps({"operations": []})}])
    settings = msgspec.structs.replace(settings, memory=MemorySettings(refine="off"))
    async with start(settings=settings) as tau:
        await tau.turn("thanks")
        await tau.send("/refine")
        await tau.shows("Memory stays as it is")
        (row,) = [row for row in tau.screen.query(NoticeRow) if "Memory stays as it is" in row.source]
        assert row.has_class("-info")


@pytest.mark.terminal
def test_what_refining_comes_to_is_said_at_leaving(tau_env: TauEnv, terminal: Open) -> None:
    mine = tau_env.home / "config" / "tau" / "memory" / "mine.md"
    mine.write_text("By hand.\n")
    operation = {"file": "global/mine.md", "action": "delete", "sentence": "no longer true"}
    side = tau_env.home / "side.json"
    reads_on = {"text": "{}", "chunks": 2, "delay": 60}
    side.write_text(json.dumps([{"text": json.dumps({"operations": [operation]})}, reads_on]))
    tau_env.scripted({"text": "understood"}, more=f'side_script = "{side}"\n')
    app = terminal("tui")
    app.ready()
    app.send("hello\r")
    app.shows("understood")
    app.send("/refine\r")
    app.shows("Waits for your yes: global/mine.md")
    app.send("/refine\r")
    app.shows("Reading this session")
    app.send("\x11")
    assert app.ended() == 0
    printed = app.tail().replace("\r\n", "\n")
    assert "Memory was not refined: tau was left before that was over\n" in printed
    assert f"{LOST}\n    global/mine.md — no longer true\n" in printed
    assert printed.index(LOST) < printed.index("Resume this session with")
    assert mine.exists()


@pytest.mark.terminal
def test_a_file_is_edited_in_the_editor_and_holds_from_the_next_turn_on(
    tau_env: TauEnv, terminal: Open, tmp_path: Path
) -> None:
    tau_env.environ["VISUAL"] = str(program(tmp_path / "bin", 'echo "tests: make test" >> "$1"'))
    tau_env.scripted({"text": "understood"})
    tau_env.run("memory", "edit", "build")
    app = terminal("tui")
    app.ready()
    app.send("/memory\r")
    app.shows("▌ build.md")
    app.send("e")
    app.shows("You edited project/build.md (+1 −0 lines)")
    app.shows("2  tests: make test")
    app.send("\x1b")
    app.shows("Ready")
    app.shows("it holds from")
    app.send("go on\r")
    app.shows("understood")
    system = str(tau_env.sent()[-1]["system"])
    assert system.count("tests: make test") == 2
    app.send("\x11")
    assert app.ended() == 0


# The filter ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("typed", ["undone", "dep", "e/u"])
@pytest.mark.parametrize("reading", [False, True])
async def test_what_comes_at_once_behind_the_slash_is_typed_into_the_filter(
    start: Start, settings_for: Make, typed: str, reading: bool
) -> None:
    settings = settings_for()
    write(settings, "project/build", "tox\n")
    build = write(settings, "project/build", "make\n")
    async with start(settings=settings, size=(90, 30)) as tau:
        screen = await opened(tau)
        await tau.pilot.press("tab")
        await tau.shows("updated project/build.md")
        if reading:
            await tau.pilot.press("enter")
        for key in keys_of(f"/{typed}"):
            tau.app.post_message(key)
        await tau.until(lambda: screen._field.value == typed, "the filter")
        await tau.rest()
        assert screen._field.has_focus
        assert build.read_text() == "make\n"
        assert not any(entry.undone for entry in Desk(settings).history().entries())
