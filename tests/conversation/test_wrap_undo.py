"""Taking back what `/wrap` saved, where something goes wrong in between, and what is said of `.memory/`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tau.conversation.state import Said
from tau.conversation.wrapping import ALSO_MEMORY
from tau.journal.save import Save
from tau.sessions import file_system as fs
from tests.conversation.conftest import say
from tests.conversation.test_wrap import LEARNED, Logged, has_memory, lines, logged, part, refused
from tests.conversation.test_wrap_consent import bytes_of, reads_a_file

UNDO = "/wrap undo takes it back"


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Logged:
    return logged(tmp_path, monkeypatch)


def closing(*contexts: dict[str, Any], memory: dict[str, Any]) -> dict[str, Any]:
    """What the side model answers for both."""
    return {"text": json.dumps({"memory": memory, "session_log": {"contexts": list(contexts)}})}


def asks_also_of_memory(bench: Logged) -> None:
    """Have a save bring a fact and a lesson from a page, so that both wait for a yes."""
    reads_a_file(bench)
    tea = {"scan": "preference", "section": "Preferences", "text": "Likes tea"}
    bench.side = [closing(part("acme", facts=[{"text": "Port is 9000"}]), memory={"lessons": [tea]})]


async def test_a_save_whose_end_cannot_be_noted_is_said_to_be_made(
    bench: Logged, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.has("acme")
    before = bytes_of(bench)
    reads_a_file(bench)
    bench.saves(part("acme", facts=[{"text": "Port is 9000"}], open_items=[{"text": "call Ann"}]))
    close = Save.close
    in_the_way: list[Path] = []

    def ending(save: Save) -> None:
        if save.wrote:
            (folder,) = (bench.places.state / "journal" / "saves").iterdir()
            in_the_way.append(max(folder.iterdir()) / fs.temporary_name("save.json"))
            in_the_way[-1].mkdir()
        close(save)

    monkeypatch.setattr(Save, "close", ending)
    async with bench.open() as conversation:
        await say(conversation, "Read the page")
        for command in ("/wrap acme", "/wrap yes"):
            said = await conversation.command(command)
            assert isinstance(said, Said), said
            assert not said.refused
            assert UNDO in said.lines
            assert any(
                line.startswith("It can be taken back, but that it ended is not") for line in said.lines
            )
            assert "nothing was changed" not in "".join(said.lines)
        assert "- [ ] call Ann" in bench.files()["acme/context.md"]
        assert "- Port is 9000 (noted" in bench.files()["acme/context.md"], "what waited was not lost"
        for folder in in_the_way:
            folder.rmdir()
        monkeypatch.undo()
        for _ in range(2):
            await lines(conversation, "/wrap undo")
    assert bytes_of(bench) == before


HALF = """
import os, sys
from pathlib import Path
from tau.journal.saves import Saves
def hook(event, args):
    if event == "os.remove" and str(args[0]).endswith(".md") and not str(args[0]).startswith("."):
        os._exit(9)
saves = Saves(Path(sys.argv[1]), Path(sys.argv[2]))
sys.addaudithook(hook)
saves.undo()
"""


async def test_an_undo_that_was_cut_short_is_said_and_finished_before_anything_is_saved(
    bench: Logged,
) -> None:
    bench.has("acme")
    before = bytes_of(bench)
    reads_a_file(bench)
    bench.saves(part("acme", open_items=[{"text": "call Ann"}], facts=[{"text": "Port is 9000"}]))
    async with bench.open() as conversation:
        await say(conversation, "Read the page")
        await lines(conversation, "/wrap acme")
        state = str(bench.places.state)
        ran = subprocess.run([sys.executable, "-c", HALF, state, str(bench.log)], check=False)
        assert ran.returncode == 9
        half = bytes_of(bench)
        asked = len(bench.requests)
        why = await refused(conversation, "/wrap acme")
        assert why.startswith("Nothing was saved: Taking back the save of ")
        assert why.endswith(" was interrupted: /wrap undo finishes it")
        assert why.removeprefix("Nothing was saved: ") in await lines(conversation, "/load acme")
        (left,) = await lines(conversation, "/wrap yes")
        assert left.startswith("Not done, and it waits on: Taking back the save of ")
        assert bytes_of(bench) == half
        assert len(bench.requests) == asked, "no model was asked"
        await lines(conversation, "/wrap undo")
        assert bytes_of(bench) == before
        assert "Nothing waits for your yes" in await refused(conversation, "/wrap yes")
        assert UNDO in await lines(conversation, "/wrap acme")
        assert not any("interrupted" in line for line in await lines(conversation, "/load acme"))


async def test_memory_is_named_only_by_the_undo_of_the_wrap_that_changed_it(bench: Logged) -> None:
    has_memory(bench)
    bench.has("acme")
    bench.side = [closing(part("acme"), memory={"lessons": []}), closing(memory={"lessons": [LEARNED]})]
    async with bench.open() as conversation:
        await say(conversation, "Freeze the clock, always")
        await lines(conversation, "/wrap acme")
        away = bench.log.rename(bench.root / "away")
        said = await lines(conversation, "/wrap")
        assert any("long-term.md was changed" in line for line in said)
        away.rename(bench.log)
        assert ALSO_MEMORY not in await lines(conversation, "/wrap undo")


async def test_memory_that_a_yes_changed_is_named_too(bench: Logged) -> None:
    long_term = has_memory(bench)
    before = long_term.read_bytes()
    bench.has("acme")
    asks_also_of_memory(bench)
    async with bench.open() as conversation:
        await say(conversation, "Read the page")
        await lines(conversation, "/wrap acme")
        assert long_term.read_bytes() == before
        await lines(conversation, "/wrap yes")
        assert b"Likes tea" in long_term.read_bytes()
        said = await lines(conversation, "/wrap undo")
        assert said.count(ALSO_MEMORY) == 1
        assert ALSO_MEMORY not in await lines(conversation, "/wrap undo"), "that one wrote none of it"


ENDED = "What waited for your yes was asked with a save that was taken back, so it waits no more"


async def test_an_undo_ends_what_its_save_has_asked_also_of_memory(bench: Logged) -> None:
    long_term = has_memory(bench)
    before = long_term.read_bytes()
    asks_also_of_memory(bench)
    async with bench.open() as conversation:
        await say(conversation, "Read the page")
        await lines(conversation, "/wrap new acme")
        assert ENDED in await lines(conversation, "/wrap undo")
        assert conversation.lost() == []
        for answer in ("yes", "no"):
            assert "Nothing waits for your" in await refused(conversation, f"/wrap {answer}")
    assert not (bench.log / "acme").exists()
    assert long_term.read_bytes() == before


async def test_an_undo_in_another_process_ends_the_question_and_that_of_another_save_does_not(
    bench: Logged,
) -> None:
    bench.has("acme")
    reads_a_file(bench)
    bench.side = [
        {"text": json.dumps({"session_log": {"contexts": [part("acme", facts=[{"text": text}])]}})}
        for text in ("Port is 9000", "Port is 9001")
    ]
    async with bench.open() as conversation:
        await say(conversation, "Read the page")
        await lines(conversation, "/wrap acme")
        bench.saves(part("beta"))
        async with bench.open() as other:
            await say(other, "Something else")
            await lines(other, "/wrap new beta")
            assert ENDED not in await lines(other, "/wrap undo")
            before = bytes_of(bench)
            await lines(conversation, "/wrap yes")
            assert "- Port is 9000 (noted" in bench.files()["acme/context.md"]
            await lines(other, "/wrap undo")
            assert bytes_of(bench) == before
            await lines(conversation, "/wrap acme")
            assert ENDED not in await lines(other, "/wrap undo"), "that process asked nothing"
        assert await refused(conversation, "/wrap yes") == ENDED
        assert "Nothing waits for your yes" in await refused(conversation, "/wrap yes")
    assert bytes_of(bench) == before
