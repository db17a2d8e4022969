"""Completion at the cursor: commands, their arguments and files, each with what replaces what."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tau.conversation.commands import COMMANDS
from tau.conversation.state import CommandSpec
from tau.display import visible
from tau.input.completing import Candidate, Context, Option, complete, starts_completion, tree
from tau.input.files import FileFinder


@pytest.fixture
def files(tmp_path: Path) -> Iterator[FileFinder]:
    for name in ("src/main.py", "src/my notes.md", "README.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    finder = FileFinder(tmp_path)
    finder.find("", seconds=20)
    yield finder
    finder.close()


def context(files: FileFinder | None = None) -> Context:
    return Context(
        COMMANDS,
        {
            "resume": lambda _: [
                Option("amber", "Fix the parser"),
                Option("amber-2"),
                Option("cedar", "Amber"),
            ],
            "quit": lambda typed: [Option(f"{typed}!")],
        },
        files,
    )


def applied(text: str, candidate: Candidate) -> str:
    return text[: candidate.start] + candidate.text + candidate.after + text[candidate.end :]


def ways(text: str, files: FileFinder | None = None) -> list[str]:
    found = complete(text, len(text), context(files))
    assert all(one.end == len(text) for one in found)
    return [applied(text, one) for one in found]


def test_a_slash_offers_every_command_with_its_help() -> None:
    found = complete("/", 1, context())
    assert [one.text for one in found] == [f"/{command.name}" for command in COMMANDS]
    assert [one.help for one in found] == [command.help for command in COMMANDS]
    assert {one.kind for one in found} == {"command"}


def test_what_begins_with_it_first_then_scattered_and_other_names() -> None:
    assert ways("/se")[:2] == ["/session", "/sessions"]
    assert ways("/re")[:2] == ["/resume ", "/rewind "]
    assert "/compact " in ways("/cpt")
    assert ways("/exit") == ["/quit"]
    assert ways("/RES")[0] == "/resume "
    assert ways("/zzz") == []
    assert ways("  /qui") == ["  /quit"]


def test_positions_are_in_what_is_shown() -> None:
    found = complete("/cpt", 4, context())
    assert [
        "".join(one.display[place] for place in one.positions) for one in found if "compact" in one.text
    ] == ["cpt"]


def test_the_cursor_counts_and_not_the_end() -> None:
    found = complete("/res amber", 4, context())
    assert applied("/res amber", found[0]) == "/resume  amber"
    assert (found[0].start, found[0].end) == (0, 4)


@pytest.mark.parametrize(
    ("usage", "words"),
    [
        ("/memory [show LABEL|history|undo]", [("show", "LABEL"), ("history", ""), ("undo", "")]),
        ("/wrap [quick] [CONTEXT ...|yes|undo]", [("quick", ""), ("yes", ""), ("undo", "")]),
        ("/goal [TEXT|done|pause]", [("done", ""), ("pause", "")]),
        ("/resume [N|ID|NAME]", []),
        ("/new NAME", []),
    ],
)
def test_words_that_a_usage_spells_out(usage: str, words: list[tuple[str, str]]) -> None:
    name = usage[1:].partition(" ")[0]
    context = Context([CommandSpec(name, usage, "does it")])
    text = f"/{name} "
    found = complete(text, len(text), context)
    assert [(each.text, each.help) for each in found] == words
    assert {each.kind for each in found} <= {"word"}
    if words:
        first = words[0][0]
        assert complete(f"{text}{first}", len(text) + len(first), context)[0].text == first
        assert not complete(f"{text}something else", len(text) + 14, context)


def test_arguments_of_a_command_and_of_its_other_names() -> None:
    assert ways("/resume am") == ["/resume amber", "/resume amber-2", "/resume cedar"]
    assert ways("/resume ") == ["/resume amber", "/resume amber-2", "/resume cedar"]
    assert ways("/resume  ce") == ["/resume  cedar"]
    assert ways("/exit no") == ["/exit no!"]
    assert ways("/new x") == []
    (first, *_) = complete("/resume am", 10, context())
    assert (first.display, first.help, list(first.positions)) == ("amber", "Fix the parser", [0, 1])


def test_text_that_only_looks_like_a_command_is_left() -> None:
    for text in ("/home/ana", "a /re", "line\n/re", "//", "/a/b c", "1 / 2"):
        assert ways(text) == [], text
        assert starts_completion(text, len(text)) == ""


def test_files_anywhere_in_the_text(files: FileFinder) -> None:
    assert ways("explain @mai", files) == ["explain @src/main.py "]
    assert ways("(@notes", files) == ['(@"src/my notes.md" ']
    assert ways('@"my no', files) == ['@"src/my notes.md" ']
    assert ways("/new @mai", files) == ["/new @src/main.py "]
    assert ways("two\nlines @READ", files) == ["two\nlines @README.md "]
    assert ways("@./mai", files) == ["@src/main.py "]
    assert ways("ana@mai", files) == []
    assert ways("@mai", None) == []


def test_a_directory_goes_on(files: FileFinder, tmp_path: Path) -> None:
    assert ways("@sr", files)[0] == "@src/"
    (tmp_path / "my dir").mkdir()
    (tmp_path / "my dir" / "in it.txt").write_text("")
    files.refresh()
    (found,) = tree("@my", 3, context(files))
    assert applied("@my", found) == '@"my dir/'
    assert found.kind == "directory"
    (inner,) = tree('@"my dir/', 9, context(files))
    assert applied('@"my dir/', inner) == '@"my dir/in it.txt" '


def test_tab_shows_one_level(files: FileFinder) -> None:
    assert [one.display for one in tree("see @", 5, context(files))] == ["src/", "README.md"]
    assert [one.display for one in tree("see @src/", 9, context(files))] == ["src/main.py", "src/my notes.md"]
    assert tree("see", 3, context(files)) == []
    assert tree("@", 1, context()) == []


def test_paths_that_lead_elsewhere_are_completed_level_by_level(files: FileFinder, tmp_path: Path) -> None:
    assert ways(f"@{tmp_path}/READ", files) == [f"@{tmp_path}/README.md "]
    assert ways(f"@../{tmp_path.name}/s", files) == [f"@../{tmp_path.name}/src/"]


def test_what_is_shown_is_safe_and_positions_fit(tmp_path: Path) -> None:
    for name in ("\x1b[31mred", "a\nb", "\u202ertl", os.fsdecode(b"caf\xe9s")):
        (tmp_path / name).write_text("")
    finder = FileFinder(tmp_path)
    finder.find("", seconds=20)
    for query in ("red", "b", "rtl", "cafs"):
        (one,) = complete(f"@{query}", len(query) + 1, Context(files=finder))
        assert visible(one.display) == one.display
        assert "\n" not in one.display
        assert "".join(one.display[place] for place in one.positions) == query
        assert visible(one.text) == one.text
    finder.close()


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("/", "command"),
        ("/re", "command"),
        ("/resume ", "argument"),
        ("/new @", "file"),
        ("@a", "file"),
        ("a", ""),
    ],
)
def test_whether_to_ask_at_all(text: str, kind: str) -> None:
    assert starts_completion(text, len(text)) == kind
