"""The small pieces: fitting text, the branch, the theme, the clipboard's programs."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.cells import cell_len

from tau.calls import main_argument
from tau.tui.branch import git_branch
from tau.tui.clipboard import programs
from tau.tui.fit import duration, shorten_end, shorten_middle, shorten_path, size, tokens
from tau.tui.theme import theme_name
from tau.tui.widgets.blocks import capped


@pytest.mark.parametrize("width", [0, 1, 3, 5, 9, 20])
@pytest.mark.parametrize("text", ["~/src/quail/jobs/nightly", "漢字漢字漢字漢字漢字", ""])
def test_shortened_text_fits(text: str, width: int) -> None:
    assert cell_len(shorten_end(text, width)) <= max(width, 0)
    assert cell_len(shorten_middle(text, width)) <= max(width, 0)


def test_what_is_shortened_where() -> None:
    assert shorten_middle("~/src/quail/jobs/nightly", 14) == "~/src…/nightly"
    assert shorten_end("a long title", 7) == "a long…"
    assert shorten_path("/home/ana/src", "/home/ana") == "~/src"
    assert shorten_path("/home/anabel", "/home/ana") == "/home/anabel"


def test_amounts() -> None:
    assert [tokens(n) for n in (812, 4_100, 41_200, 1_200_000)] == ["812", "4.1k", "41k", "1.2M"]
    assert [duration(s) for s in (0.012, 1.8, 41, 125)] == ["12 ms", "1.8 s", "41 s", "2 min 5 s"]
    assert [size(n) for n in (412_000_000, 1_120_000_000)] == ["412 MB", "1.1 GB"]
    assert main_argument({"timeout": 3, "command": "pytest\n-x"}) == "pytest ⏎ -x"


def test_large_output_keeps_head_and_tail() -> None:
    shown = capped("x" * 600_000 + "\nEND")
    assert len(shown) < 25_000
    assert "characters not shown" in shown
    assert shown.endswith("END")
    lines = capped("\n".join(f"line {n}" for n in range(1_000))).split("\n")
    assert len(lines) == 201
    assert (lines[0], lines[100], lines[-1]) == ("line 0", "… 800 lines not shown …", "line 999")


def test_the_branch(tmp_path: Path) -> None:
    repository, inside = tmp_path / "a", tmp_path / "a" / "b"
    (repository / ".git").mkdir(parents=True)
    inside.mkdir()
    (repository / ".git" / "HEAD").write_text("ref: refs/heads/feature/x\n")
    assert git_branch(inside) == "feature/x"
    (repository / ".git" / "HEAD").write_text("3f2a91c0ffee3f2a91c0ffee3f2a91c0ffee3f2a\n")
    assert git_branch(inside) == "3f2a91c"
    worktree = tmp_path / "w"
    (tmp_path / "a" / ".git" / "worktrees" / "w").mkdir(parents=True)
    (tmp_path / "a" / ".git" / "worktrees" / "w" / "HEAD").write_text("ref: refs/heads/side\n")
    worktree.mkdir()
    (worktree / ".git").write_text("gitdir: ../a/.git/worktrees/w\n")
    assert git_branch(worktree) == "side"
    assert git_branch(tmp_path) == ""


def test_the_theme_follows_the_terminal() -> None:
    assert theme_name("auto", {}) == "tau-dark"
    assert theme_name("auto", {"COLORFGBG": "0;15"}) == "tau-light"
    assert theme_name("auto", {"COLORFGBG": "15;0"}) == "tau-dark"
    assert theme_name("auto", {"COLORFGBG": "0;15"}, light=False) == "tau-dark"
    assert theme_name("ansi", {}, light=True) == "tau-ansi-light"
    assert theme_name("ansi", {"COLORFGBG": "0;15"}) == "tau-ansi-light"
    assert theme_name("nonsense", {}) is None


def test_clipboard_programs_need_their_display() -> None:
    assert programs({}, "linux") == []
    assert programs({"WAYLAND_DISPLAY": "w"}, "linux") == [["wl-copy"]]
    assert programs({}, "darwin") == [["pbcopy"]]
