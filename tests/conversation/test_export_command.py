"""`/export`: the session in hand, or its chain, as a new file that is whole and private."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tau.conversation.state import Refused, Said, Switched
from tests.conversation.conftest import Bench, ending


def exported(result: object) -> str:
    assert isinstance(result, Said), result
    return str(result.lines[0])


async def test_nothing_is_exported_while_nothing_is_recorded(bench: Bench) -> None:
    async with bench.open() as conversation:
        refused = await conversation.command("/export")
        assert isinstance(refused, Refused)
        assert refused.line.startswith("Nothing to export")
    assert not list(bench.root.glob("*.md"))


async def test_a_session_goes_into_a_file_of_its_name(bench: Bench) -> None:
    async with bench.open(name="my/work") as conversation:
        await ending(conversation, "Where does the quail nest?")
        line = exported(await conversation.command("/export"))
        file = bench.root / "my-work.md"
        session = conversation.state.session_id
        assert line == f"Exported session {session} (2 messages) to {file}."
    assert "Where does the quail nest?" in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    assert not list(bench.root.glob(".tau-export-*"))


@pytest.mark.parametrize(
    ("name", "begins"), [("a.md", "# "), ("b.HTML", "<!DOCTYPE html>"), ("c d.json", '{"format": 1')]
)
async def test_the_ending_says_the_form(bench: Bench, name: str, begins: str) -> None:
    async with bench.open() as conversation:
        await ending(conversation, "hi")
        exported(await conversation.command(f'/export "{name}"'))
    assert (bench.root / name).read_text().startswith(begins)


@pytest.mark.parametrize("name", ["a.txt", "notes", "a.md/", "chain.pdf chain"])
async def test_another_ending_is_refused_with_the_three_named(bench: Bench, name: str) -> None:
    before = set(os.listdir(bench.root))
    async with bench.open() as conversation:
        await ending(conversation, "hi")
        refused = await conversation.command(f"/export {name}")
        if name == "a.md/":
            exported(refused)
            return
        assert isinstance(refused, Refused)
        assert all(form in refused.line for form in (".md", ".html", ".json"))
    own = {"config", "data", "state", "default.json", "requests.jsonl"}
    assert set(os.listdir(bench.root)) - before <= own


async def test_what_is_there_is_left_alone(bench: Bench, tmp_path: Path) -> None:
    kept, link, target = tmp_path / "kept.md", tmp_path / "link.md", tmp_path / "target.md"
    kept.write_text("mine")
    link.symlink_to(target)
    (tmp_path / "folder.md").mkdir()
    async with bench.open() as conversation:
        await ending(conversation, "hi")
        for place, said in (
            ("kept.md", "exists; nothing was written"),
            ("link.md", "is a symbolic link"),
            ("folder.md", "is not a file"),
            ("nowhere/x.md", f"There is no directory {tmp_path / 'nowhere'}"),
            ("kept.md/x.md", "cannot be used as a directory"),
            ("~nobody-of-that-name/x.md", "no home directory"),
            ("a\0b.md", "only characters that can be shown"),
            ("a\x1b[2Jb.md", "only characters that can be shown"),
            ("\udcffx\ud800.md", "only characters that can be shown"),
        ):
            refused = await conversation.command(f"/export {place}")
            assert isinstance(refused, Refused), place
            assert said in refused.line
            assert "\n" not in refused.line
    assert kept.read_text() == "mine"
    assert not target.exists()
    assert not list(tmp_path.glob(".tau-export-*"))


async def test_the_home_directory_is_understood(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    async with bench.open() as conversation:
        await ending(conversation, "hi")
        line = exported(await conversation.command("/export ~/talk.json"))
    assert line.endswith(f"to {home / 'talk.json'}.")
    assert json.loads((home / "talk.json").read_text())["complete"] is True


async def test_a_chain_has_every_message_once(bench: Bench) -> None:
    async with bench.open() as conversation:
        for text in ("one", "two", "three"):
            await ending(conversation, text)
        first = conversation.state.session_id
        assert isinstance(await conversation.command("/undo"), Switched)
        await ending(conversation, "another three")
        second = conversation.state.session_id
        assert second != first
        line = exported(await conversation.command("/export all.json chain"))
        assert line == (
            f"Exported session {second} with its chain (2 sessions, 6 messages) to {bench.root / 'all.json'}."
        )
        exported(await conversation.command("/export one.json"))
    whole = json.loads((bench.root / "all.json").read_text())["sessions"]
    assert [session["session"]["id"] for session in whole] == [first, second]
    assert [len(session["messages"]) for session in whole] == [4, 2]
    assert [session["beyond"] for session in whole] == [[4, 5], []], "what was undone"
    assert whole[1]["copies"] == [
        {"index": index, "origin": {"session": first, "index": index}} for index in range(4)
    ]
    (alone,) = json.loads((bench.root / "one.json").read_text())["sessions"]
    assert [message["message"] for message in alone["messages"]] == bench.messages(second)
    assert alone["messages"][0]["origin"] == {"session": first, "index": 0}


async def test_a_summary_is_shown_as_one(bench: Bench) -> None:
    async with bench.open() as conversation:
        await ending(conversation, "Where does the quail nest?")
        switched = await conversation.command("/compact")
        assert isinstance(switched, Switched), switched
        await ending(conversation, "And the owl?")
        exported(await conversation.command("/export chain"))
        text = (bench.root / f"{conversation.state.name}.md").read_text()
        exported(await conversation.command("/export all.json chain"))
    first, second = json.loads((bench.root / "all.json").read_text())["sessions"]
    assert not any(message["summary"] for message in first["messages"])
    assert [message["summary"] for message in second["messages"]] == [
        index < 2 for index in range(len(second["messages"]))
    ]
    assert "## 0 · user" in text
    assert f"## 0 · Summary of session {first['session']['id']} · " in text
    assert f"- continues: `{first['session']['id']}`\n" in text
    assert f"- continued by: `{second['session']['id']}`\n" in text
    assert text.index("Where does the quail nest?") < text.index("And the owl?")


async def test_a_session_that_is_gone_is_named(bench: Bench) -> None:
    async with bench.open() as conversation:
        await ending(conversation, "one")
        first = conversation.state.session_id
        await ending(conversation, "two")
        assert isinstance(await conversation.command("/undo"), Switched)
        await ending(conversation, "three")
        (bench.root / "data" / "sessions" / first).rename(bench.root / "elsewhere")
        result = await conversation.command("/export all.md chain")
        assert isinstance(result, Said)
        assert result.lines[1] == f"Not in it: session {first}, which cannot be read."
    text = (bench.root / "all.md").read_text()
    assert f"- forked from: `{first}` (not in this export)" in text
    assert "one" in text
