"""Which paths may be read: whatever is given, nothing outside the directory and the grants."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tau.tools import find_files, list_files, paths, read_file, search_files
from tau.tools.context import ToolContext
from tau.tools.refusals import Refused
from tests.tools.conftest import make_context, watch

NAMES = [
    "", ".", "..", "...", "~", "p", "p-evil", "outside", "sub", "a.txt", "secret.txt", "out", "out-file",
    "in", "in-file", "loop", "up", "alias", "\0", "\ud83d", "caf\udce9", "\\x2e\\x2e", "..\\x2foutside",
]  # fmt: skip


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``p`` to work in, with links of every kind; all that is outside says SECRET."""
    root = tmp_path_factory.mktemp("paths").resolve()
    for place in ("p/sub", "outside/sub", "p-evil"):
        (root / place).mkdir(parents=True)
    (root / "p" / "a.txt").write_text("INSIDE")
    (root / "p" / "sub" / "a.txt").write_text("INSIDE")
    for place in ("outside", "outside/sub", "p-evil", "."):
        (root / place / "secret.txt").write_text("SECRET")
        (root / place / "SECRET-name").write_text("SECRET")
    (root / "alias").symlink_to("p")
    for name, target in {
        "out": "../outside",
        "out-file": "../outside/secret.txt",
        "in": "sub",
        "in-file": "sub/a.txt",
        "loop": "loop",
        "up": "..",
    }.items():
        (root / "p" / name).symlink_to(target)
    return root


@pytest.fixture(scope="module")
def inside(tree: Path) -> ToolContext:
    return make_context(tree / "alias", state_dir=tree / "state")


@settings(max_examples=400, deadline=None)
@given(
    parts=st.lists(st.sampled_from(NAMES), max_size=6),
    start=st.sampled_from(["", "/", "ROOT/", "ROOT/p/", "ROOT/alias/", "~/"]),
)
def test_nothing_outside_is_ever_read(tree: Path, inside: ToolContext, parts: list[str], start: str) -> None:
    path = start.replace("ROOT", str(tree)) + "/".join(parts)
    shown = attempt(lambda: str(read_file.read(inside, path, offset=None, limit=None, watch=watch())))
    assert "INSIDE" in shown or shown.startswith("refused")
    listed = attempt(lambda: list_files.listing(inside, path, watch=watch()))
    found = attempt(lambda: find_files.find(inside, "*", path, watch=watch()))
    for answer in (shown, listed, found):
        answer.encode()
        assert "SECRET" not in answer
    real = attempt(lambda: str(paths.readable(inside, path)))
    assert real.startswith(("refused", f"{inside.directory}/")) or real == str(inside.directory)


def attempt(look: Callable[[], str]) -> str:
    """What a tool shows, or ``refused`` and the one line it answers."""
    try:
        return look()
    except Refused as refusal:
        line = str(refusal)
    assert "\n" not in line
    return f"refused: {line}"


@pytest.mark.parametrize(
    "path", ["..", "out", "out-file", "up", "../p-evil", "ROOT/p-evil", "sub/../../outside"]
)
def test_outside_is_refused_by_every_tool(tree: Path, inside: ToolContext, path: str) -> None:
    path = path.replace("ROOT", str(tree))
    for look in (
        lambda: read_file.read(inside, path, offset=None, limit=None, watch=watch()),
        lambda: list_files.listing(inside, path, watch=watch()),
        lambda: find_files.find(inside, "*", path, watch=watch()),
        lambda: search_files.search(inside, "SECRET", path, "", watch=watch()),
    ):
        with pytest.raises(Refused, match=r"is outside the working directory .* and not granted"):
            look()


def test_a_search_does_not_follow_links_out(inside: ToolContext) -> None:
    for rg in ("", None):
        assert "No line matches" in search_files.search(inside, "SECRET", ".", "", watch=watch(), rg=rg)


def test_what_is_outside_is_not_told_apart_from_what_is_not_there(tree: Path, inside: ToolContext) -> None:
    answers = []
    for name in ("outside/secret.txt", "outside/no-such"):
        with pytest.raises(Refused) as refused:
            paths.readable(inside, f"../{name}")
        answers.append(str(refused.value).replace(name, ""))
    assert answers[0] == answers[1]


def test_links_inside_and_the_linked_directory_itself_are_read(tree: Path, inside: ToolContext) -> None:
    for path in ("in-file", "in/a.txt", str(tree / "alias" / "a.txt"), str(tree / "p" / "a.txt")):
        assert "INSIDE" in read_file.read(inside, path, offset=None, limit=None, watch=watch())[0]["text"]


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "The path is empty"),
        ("  ", "The path is empty"),
        ("a\0b", "NUL character"),
        ("\ud83d.txt", "half a surrogate pair"),
        ("loop", "cannot be opened|does not exist"),
        ("a.tx", "does not exist; did you mean a.txt?"),
        ("A.TXT", "does not exist; did you mean a.txt?"),
        ("subb/a.txt", "does not exist; did you mean sub?"),
        ("zzz/yyy", "does not exist; find_files looks for a name"),
        ("sub", "is a directory; list_files shows"),
        ("a.txt/b", "does not exist"),
        ("x" * 300, "name too long"),
    ],
)
def test_refusals_are_one_plain_line(inside: ToolContext, path: str, reason: str) -> None:
    with pytest.raises(Refused, match=f"(?i){reason}") as refused:
        read_file.read(inside, path, offset=None, limit=None, watch=watch())
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 700


def test_a_grant_opens_a_file_or_all_below_a_directory(tmp_path: Path) -> None:
    context = make_context(tmp_path / "w")
    outside = tmp_path / "o"
    (outside / "deep").mkdir(parents=True)
    for name in ("one", "two", "deep/three"):
        (outside / name).write_text("granted")
    context.grants.add(outside / "one")
    assert paths.readable(context, "../o/one") == (outside / "one").resolve()
    for refused in ("../o/two", "../o", "../o/one-more"):
        with pytest.raises(Refused):
            paths.readable(context, refused)
    context.grants.add(outside)
    assert "granted" in read_file.read(
        context, str(outside / "deep" / "three"), offset=None, limit=None, watch=watch()
    )[0]["text"]  # fmt: skip


def test_a_grant_through_a_link_opens_where_the_link_led(tmp_path: Path) -> None:
    context = make_context(tmp_path / "w")
    (tmp_path / "o").mkdir()
    (tmp_path / "o" / "f").write_text("granted")
    (tmp_path / "link").symlink_to("o")
    context.grants.add(tmp_path / "link")
    for path in ("../link/f", "../o/f"):
        assert paths.readable(context, path) == (tmp_path / "o" / "f").resolve()


def test_a_granted_name_that_becomes_a_link_opens_nothing(tmp_path: Path) -> None:
    context = make_context(tmp_path / "w")
    granted, secret = tmp_path / "granted", tmp_path / "secret"
    granted.write_text("fine")
    secret.write_text("SECRET")
    context.grants.add(granted)
    granted.unlink()
    granted.symlink_to(secret)
    with pytest.raises(Refused):
        paths.readable(context, str(granted))


def test_a_link_put_there_after_the_judgement_is_not_followed(tmp_path: Path) -> None:
    context = make_context(tmp_path / "w")
    folder = context.directory / "folder"
    folder.mkdir()
    (folder / "f").write_text("fine")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "f").write_text("SECRET")
    judged = paths.readable(context, "folder/f")
    folder.rename(context.directory / "moved")
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Refused):
        paths.open_file(context, judged)


def test_a_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    context = make_context(tmp_path / "w")
    os.mkfifo(context.directory / "pipe")
    with pytest.raises(Refused, match="no regular file"):
        read_file.read(context, "pipe", offset=None, limit=None, watch=watch())
