"""Ctrl+G: the draft in the person's editor, in a real terminal, and what can go wrong there."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tau.errors import TauError
from tau.tui.editor import edited, editor_command
from tests.terminal import Open
from tests.tui.conftest import Start

if TYPE_CHECKING:
    from tests.conftest import TauEnv


def program(place: Path, body: str, name: str = "editor") -> Path:
    """An editor that is a shell script; its file is ``$1``."""
    place.mkdir(exist_ok=True)
    path = place / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


@pytest.mark.terminal
def test_the_editor_gets_the_whole_draft_and_the_terminal(
    tau_env: TauEnv, terminal: Open, tmp_path: Path
) -> None:
    seen, gate = tmp_path / "seen", tmp_path / "gate"
    os.mkfifo(gate)
    script = f'shift; cat "$1" > {seen}; stty -a > {seen}.tty; printf "EDITOR AT WORK"; read line < {gate}; '
    script += 'printf "changed\\nby the editor\\n" > "$1"'
    tau_env.environ["VISUAL"] = f"'{program(tmp_path / 'my programs', script)}' --wait"
    tau_env.environ["EDITOR"] = "/no/such/editor"
    tau_env.scripted({"text": "word " * 150 + "came meanwhile", "delay": 0.02, "chunks": 150})
    app = terminal("tui")
    app.ready()
    app.send("a question\r")
    app.shows("▌ a question")
    pasted = "\n".join(f"line {number}" for number in range(30))
    app.send(f"look: \x1b[200~{pasted}\x1b[201~")
    app.shows("[Pasted text #1")
    app.send("\x07")
    app.shows("EDITOR AT WORK")
    before = len(app.bytes)
    assert b"\x1b[?1049l" in app.bytes, "the app's screen is left"
    app.until(lambda: any(b"came meanwhile" in part.read_bytes() for part in messages(tau_env)), "the answer")
    app.quiet(0.3)
    assert app.bytes[before:] == b"", "the app draws nothing over the editor"
    gate.write_text("go on\n")
    app.shows("by the editor")
    app.shows("came meanwhile")
    app.until(lambda: app.screen.title.startswith("τ"), "the title says that nothing runs any more")
    assert seen.read_text() == f"look: {pasted}"
    assert " icanon" in Path(f"{seen}.tty").read_text()
    app.send("\x1a")  # undo
    app.shows("[Pasted text #1")
    app.send("\x11")
    assert app.ended() == 0
    assert app.is_restored()


def messages(tau_env: TauEnv) -> list[Path]:
    return [path for path in tau_env.data.rglob("*") if path.is_file() and path.stat().st_size < 1_000_000]


@pytest.mark.terminal
@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("exit 3", "editor ended with exit code 3; the draft is as it was"),
        ('rm "$1"', "editor left no file; the draft is as it was"),
        ('printf "\\377" > "$1"', "What editor left is no UTF-8; the draft is as it was"),
        (None, "The editor of $VISUAL is not there: "),
    ],
    ids=["exit code", "file deleted", "no UTF-8", "no editor"],
)
def test_what_goes_wrong_is_a_line_and_the_draft_stays(
    tau_env: TauEnv, terminal: Open, tmp_path: Path, body: str | None, line: str
) -> None:
    tau_env.environ["VISUAL"] = str(program(tmp_path / "bin", body) if body else tmp_path / "nothing")
    tau_env.scripted({"text": "Yes."})
    app = terminal("tui")
    app.ready()
    app.send("my draft")
    app.shows("❯ my draft")
    app.send("\x07")
    app.shows(line)
    app.shows("❯ my draft")
    app.send("\r")
    app.shows("Yes.")
    app.send("\x11")
    assert app.ended() == 0


async def test_where_there_is_no_terminal_it_is_said(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITOR", "true")
    async with start() as tau:
        await tau.pilot.press(*"my draft", "ctrl+g")
        await tau.shows("There is no terminal here for an editor")
        assert tau.screen.prompt.text == "my draft"


def test_which_editor_it_is(tmp_path: Path) -> None:
    path = str(program(tmp_path / "bin", "exit 0", "nano").parent)
    assert editor_command({"PATH": path}) == ["nano"]
    assert editor_command({"PATH": path, "EDITOR": "nano -w"}) == ["nano", "-w"]
    assert editor_command({"PATH": path, "EDITOR": "x", "VISUAL": "'nano' 'a b'"}) == ["nano", "a b"]
    program(tmp_path / "bin", "exit 0", "vi")
    (tmp_path / "bin" / "nano").unlink()
    assert editor_command({"PATH": path, "VISUAL": " "}) == ["vi"]
    with pytest.raises(TauError, match="There is no editor"):
        editor_command({"PATH": str(tmp_path)})
    with pytest.raises(TauError, match="no command"):
        editor_command({"PATH": path, "VISUAL": "vi '"})


@pytest.mark.parametrize(
    ("text", "body", "after"),
    [
        ("a", 'printf "b\\n" > "$1"', "b"),
        ("a\n", 'printf "b\\n" > "$1"', "b\n"),
        ("a", 'printf "b\\r\\nc\\r\\n" > "$1"', "b\nc"),
        ("漢字 🎉", "exit 0", "漢字 🎉"),
        ("a", 'mv "$1" "$1.old"; printf "new" > "$1"', "new"),
    ],
)
async def test_what_the_editor_leaves(tmp_path: Path, text: str, body: str, after: str) -> None:
    assert await edited(text, [str(program(tmp_path / "bin", body))]) == after


async def test_nobody_else_can_read_the_file(tmp_path: Path) -> None:
    modes = await edited("a", [str(program(tmp_path / "bin", 'stat -c %a "$1" "$(dirname "$1")" > "$1"'))])
    assert [int(mode, 8) & (stat.S_IRWXG | stat.S_IRWXO) for mode in modes.split()] == [0, 0]


async def test_a_draft_that_no_file_can_hold(tmp_path: Path) -> None:
    with pytest.raises(TauError, match="no file can hold"):
        await edited("a\ud800", ["true"])
