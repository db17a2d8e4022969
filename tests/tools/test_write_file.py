"""`write_file`: new files and whole contents; and where tools may write at all."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tau.tools import paths, read_file, replacing, write_file
from tau.tools.changing import Changer
from tau.tools.context import MOST_CHANGED_BYTES, ToolContext
from tau.tools.refusals import Cancelled, Refused
from tests.tools.conftest import called, make_context, text, use, watch


def changer(context: ToolContext) -> Changer:
    return Changer(context, lambda use: write_file.plan(context, use))


def write(context: ToolContext, path: str, content: str) -> str:
    """Write as a call would that nobody was asked about."""
    return changer(context).run(use(path=path, content=content), None)


def refused(context: ToolContext, path: str, content: Any = "new\n") -> str:
    """Why a call is refused, before anybody is asked and when it runs."""
    tool, call = changer(context), use(path=path, content=content)
    with pytest.raises(Refused) as asked:
        tool.preview(call)
    with pytest.raises(Refused) as run:
        tool.run(call, None)
    assert str(asked.value) == str(run.value)
    assert "\n" not in str(run.value)
    return str(run.value)


def read(context: ToolContext, path: str) -> str:
    return str(read_file.read(context, path, offset=None, limit=None, watch=watch())[0]["text"])


def everything(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


# A new file, and another content ------------------------------------------------------------------------


def test_a_new_file_through_an_agent(context: ToolContext) -> None:
    result = called(write_file.tools(context), "write_file", path="a/b/x.py", content="one\ntwo")
    assert result["status"] == "success"
    assert text(result) == "Wrote new file a/b/x.py, 2 lines. The directory a/b was made for it."
    assert (context.directory / "a/b/x.py").read_text() == "one\ntwo"


def test_another_content_through_an_agent(context: ToolContext) -> None:
    file = context.directory / "x.py"
    file.write_text("one\ntwo\n")
    read(context, "x.py")
    result = called(write_file.tools(context), "write_file", path="x.py", content="one\n2\nthree\n")
    assert text(result) == (
        "Replaced x.py: 2 lines added, 1 removed.\n"
        "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,3 @@\n one\n-two\n+2\n+three"
    )
    assert file.read_text() == "one\n2\nthree\n"


def test_it_changes_the_machine_and_shows_what(context: ToolContext) -> None:
    (tool,) = write_file.tools(context)
    assert (tool.tier, tool.asks) == (2, False)  # type: ignore[attr-defined]  # declared by the tool kit
    assert (tool.subject.kind, tool.subject.argument) == ("path", "path")  # type: ignore[attr-defined]  # as above
    assert tool.tool_spec["inputSchema"]["json"]["required"] == ["path", "content"]
    shown = tool.preview(use(path="a/b", content="one\n"))  # type: ignore[attr-defined]  # as above
    assert shown == "--- /dev/null\n+++ b/a/b\n@@ -0,0 +1 @@\n+one"
    assert everything(context.directory) == []


@pytest.mark.parametrize(
    ("content", "lines"),
    [("", "0 lines"), ("a", "1 line"), ("a\n", "1 line"), ("a\n\n", "2 lines"), ("é🎉\u2028\r\n", "1 line")],
)
def test_a_new_file_has_exactly_the_content(context: ToolContext, content: str, lines: str) -> None:
    assert write(context, "f", content).startswith(f"Wrote new file f, {lines}.")
    assert (context.directory / "f").read_bytes() == content.encode()


@pytest.mark.parametrize(("umask", "modes"), [(0o022, (0o755, 0o644)), (0o077, (0o700, 0o600))])
def test_new_files_and_directories_have_the_modes_of_the_umask(
    context: ToolContext, umask: int, modes: tuple[int, int]
) -> None:
    before = os.umask(umask)
    try:
        write(context, "a/b", "one\n")
    finally:
        os.umask(before)
    made = [stat.S_IMODE((context.directory / name).stat().st_mode) for name in ("a", "a/b")]
    assert tuple(made) == modes


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    old=st.text(st.sampled_from("ab\n\n\té🎉"), min_size=1),
    new=st.text(st.sampled_from("ab\n\n\té🎉")),
    mark=st.sampled_from([b"", b"\xef\xbb\xbf", b"\xff\xfe"]),
    model_ending=st.sampled_from(["\n", "\r\n"]),
)
def test_an_existing_file_keeps_encoding_mark_and_line_endings(
    context: ToolContext, old: str, new: str, mark: bytes, model_ending: str
) -> None:
    codec = "utf-16-le" if mark == b"\xff\xfe" else "utf-8"
    file = context.directory / "f"
    file.write_bytes(mark + f"\n{old}".replace("\n", "\r\n").encode(codec))
    read(context, "f")
    if f"\n{old}" == new:
        return
    write(context, "f", new.replace("\n", model_ending))
    assert file.read_bytes() == mark + new.replace("\n", "\r\n").encode(codec)


@pytest.mark.parametrize(
    ("before", "content", "after"),
    [
        (b"a\r\nb\r\nc\n", "x\ny\n", b"x\r\ny\r\n"),  # as most lines ended
        (b"a\r\nb\nc\n", "x\r\ny\n", b"x\ny\n"),
        (b"a", "x\r\ny\n", b"x\r\ny\n"),  # no line of it ended in any way
        (b"caf\xe9\n", "café\n", "café\n".encode()),
        (b"\xef\xbb\xbfa\n", "\ufeffb\n", b"\xef\xbb\xbfb\n"),
    ],
)
def test_the_form_of_the_new_content(context: ToolContext, before: bytes, content: str, after: bytes) -> None:
    file = context.directory / "f"
    file.write_bytes(before)
    read(context, "f")
    write(context, "f", content)
    assert file.read_bytes() == after


# What the model must know -------------------------------------------------------------------------------


def test_a_file_that_was_not_read_is_not_replaced(context: ToolContext) -> None:
    file = context.directory / "f"
    file.write_text("one\n")
    assert refused(context, "f") == (
        "f exists and you have not read it in this session; nothing was written. Read it first with"
        " read_file, then change it with edit_file, or replace it with write_file"
    )
    read(context, "f")
    write(context, "f", "new\n")
    write(context, "f", "newer\n")  # it knows what it wrote
    assert file.read_text() == "newer\n"


def test_an_empty_file_has_nothing_to_read(context: ToolContext) -> None:
    (context.directory / "f").touch()
    assert write(context, "f", "new\n").startswith("Replaced f: 1 line added, 0 removed.")


@pytest.mark.parametrize("changed", ["two\n", ""])
def test_a_file_that_changed_since_it_was_read_is_not_replaced(context: ToolContext, changed: str) -> None:
    file = context.directory / "f"
    file.write_text("one\n")
    read(context, "f")
    file.write_text(changed)
    assert "f changed since you last read or wrote it; nothing was written. Read it again" in refused(
        context, "f"
    )
    assert file.read_text() == changed


@pytest.mark.parametrize("lines", [1, 3_000, 400_000])
def test_a_file_counts_as_read_whatever_part_was_shown(context: ToolContext, lines: int) -> None:
    file = context.directory / "f"
    file.write_text("a line of text\n" * lines)
    read_file.read(context, "f", offset=None, limit=1, watch=watch())
    assert (context.seen.digest(file) != "") == (15 * lines <= MOST_CHANGED_BYTES)
    if context.seen.digest(file):
        write(context, "f", "new\n")
        assert file.read_text() == "new\n"


def test_a_file_too_large_to_change_is_not_remembered(context: ToolContext) -> None:
    file = context.directory / "f"
    file.write_bytes(b"a" * (MOST_CHANGED_BYTES + 1))
    read(context, "f")
    assert context.seen.digest(file) == ""
    assert "files over 10,000,000 are not changed by this tool, use shell" in refused(context, "f")


def test_the_same_content_again(context: ToolContext) -> None:
    write(context, "f", "one\r\n")
    for content in ("one\r\n", "one\n"):
        assert (
            refused(context, "f", content) == "f has exactly this content already; there is nothing to write"
        )


def test_a_masked_secret_is_not_written_over(context: ToolContext) -> None:
    file = context.directory / "f"
    secret = "key: sk-abcdefghijklmnopqrstuvwxyz"
    file.write_text(f"a\n{secret}\n")
    read(context, "f")
    assert refused(context, "f", "b\nkey: ***\n").startswith(
        "Line 2 of the new text has *** where the file has a"
    )
    write(context, "f", f"b\n{secret}\n# *** #\n")
    assert file.read_text() == f"b\n{secret}\n# *** #\n"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "The argument content is missing; give it as a string"),
        ({"a": 1}, "The argument content must be a string, not an object"),
        ("a\0b", "content has a NUL character"),
        ("a\ud83d", "content has half a surrogate pair, \\ud83d, at character 2"),
        ("\udce9", "content has half a surrogate pair"),
    ],
)
def test_content_that_cannot_be_written(context: ToolContext, content: Any, reason: str) -> None:
    assert refused(context, "f", content).startswith(reason)
    assert everything(context.directory) == []


# What can go wrong --------------------------------------------------------------------------------------


def test_a_file_that_appears_while_the_person_is_asked(context: ToolContext) -> None:
    tool, call = changer(context), use(path="f", content="new\n")
    tool.preview(call)
    (context.directory / "f").touch()
    with pytest.raises(Refused, match="f changed after the person was shown this call"):
        tool.run(call, None)
    assert (context.directory / "f").read_bytes() == b""


@pytest.mark.parametrize("before", [None, b"one\n"])
def test_a_file_that_changes_in_the_last_moment(context: ToolContext, before: bytes | None) -> None:
    file = context.directory / "f"
    if before is not None:
        file.write_bytes(before)

    def somebody_else_writes() -> None:
        file.write_bytes(b"other\n")

    with pytest.raises(Refused, match="f was changed by something else just now; nothing was written"):
        replacing.replace(context, file, before, b"new\n", check=somebody_else_writes)
    assert file.read_bytes() == b"other\n"
    assert everything(context.directory) == ["f"]


def test_a_file_that_is_replaced_in_the_last_moment(context: ToolContext) -> None:
    file = context.directory / "f"
    file.write_bytes(b"one\n")

    def somebody_else_replaces() -> None:
        (context.directory / "g").write_bytes(b"other\n")
        (context.directory / "g").replace(file)

    with pytest.raises(Refused, match="f was changed by something else just now"):
        replacing.replace(context, file, b"one\n", b"new\n", check=somebody_else_replaces)
    assert file.read_bytes() == b"other\n"


def test_a_call_that_is_cancelled_last_leaves_nothing(context: ToolContext) -> None:
    def cancelled() -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        replacing.replace(context, context.directory / "a/b/f", None, b"new\n", check=cancelled)
    assert everything(context.directory) == []


def test_a_cancelled_call_writes_nothing(context: ToolContext) -> None:
    cancelled = threading.Event()
    cancelled.set()
    with pytest.raises(Cancelled):
        changer(context).run(use(path="f", content="new\n"), cancelled)
    assert everything(context.directory) == []


def test_what_is_read_only_is_refused(context: ToolContext) -> None:
    folder = context.directory / "folder"
    folder.mkdir()
    (folder / "f").write_text("one\n")
    read(context, "folder/f")
    (folder / "f").chmod(0o444)
    assert refused(context, "folder/f") == "folder/f is read-only (mode 0444) and is not changed"
    (folder / "f").chmod(0o644)
    folder.chmod(0o555)
    why = "The directory folder is read-only (mode 0555), so no file can be put there"
    for path in ("folder/f", "folder/new", "folder/deep/new"):
        assert refused(context, path) == why
    folder.chmod(0o755)
    assert (folder / "f").read_text() == "one\n"


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "The path is empty"),
        (".", ". is a directory; give the path of a file"),
        ("sub", "sub is a directory; give the path of a file"),
        ("sub/", "sub/ ends with /, so it names a directory"),
        ("new/", "new/ ends with /, so it names a directory"),
        ("f/new", "f is no directory, so f/new cannot be in it"),
        ("pipe", "pipe is no regular file (a pipe, socket or device)"),
        ("loop", "loop cannot be opened: Too many levels of symbolic links"),
        ("a\0b", "The path has a NUL character"),
        ("\ud83d", "The path has half a surrogate pair"),
        ("x" * 300, "cannot be opened: File name too long"),
    ],
)
def test_places_where_no_file_can_be(context: ToolContext, path: str, reason: str) -> None:
    (context.directory / "sub").mkdir()
    (context.directory / "f").touch()
    (context.directory / "loop").symlink_to("loop")
    os.mkfifo(context.directory / "pipe")
    before = everything(context.directory)
    assert reason in refused(context, path)
    assert everything(context.directory) == before


def test_a_name_is_written_as_it_is_given(context: ToolContext) -> None:
    write(context, "caf\udce9", "one\n")
    assert os.listdir(os.fsencode(context.directory)) == [b"caf\xe9"]
    read(context, "caf\\xe9")
    assert write(context, "caf\\xe9", "two\n").startswith("Replaced caf\\xe9:")
    write(context, "new\\name", "three\n")
    assert sorted(os.listdir(os.fsencode(context.directory))) == [b"caf\xe9", b"new\\name"]


# Where tools may write ----------------------------------------------------------------------------------


@pytest.fixture
def inside(tmp_path: Path) -> ToolContext:
    """A directory reached through a link, with links out of it, and neighbours that are not its business."""
    root = tmp_path.resolve()
    for place in ("p/sub", "p-evil", "outside"):
        (root / place).mkdir(parents=True)
    (root / "alias").symlink_to("p")
    (root / "outside" / "passwd").write_text("root\n")
    for name, target in {
        "out": "../outside",
        "out-file": "../outside/passwd",
        "dangling": "../outside/new",
        "in": "sub",
        "git": ".git",
    }.items():
        (root / "p" / name).symlink_to(target)
    (root / "p" / ".git" / "hooks").mkdir(parents=True)
    return make_context(root / "alias", state_dir=root / "state", own=(root / "p" / "data",))


@pytest.mark.parametrize(
    "path",
    [
        "../x",
        "../p-evil/x",
        "ROOT/p-evil/x",
        "ROOT/alias/../p-evil/x",
        "out/passwd",
        "out/x",
        "out/deep/er/x",
        "out-file",
        "dangling",
        "sub/../../p-evil/x",
        "..\\x2fp-evil\\x2fx",
        "~/x",
        "/x",
    ],
)
def test_nothing_is_written_outside(inside: ToolContext, path: str) -> None:
    root = inside.directory.parent
    before = everything(root)
    said = refused(inside, path.replace("ROOT", str(root)))
    assert "is outside the working directory" in said
    assert "request_file_grant asks the person to open it" in said
    assert everything(root) == before
    assert (root / "outside" / "passwd").read_text() == "root\n"


@pytest.mark.parametrize("path", ["x", "in/x", "ROOT/alias/x", "ROOT/p/deep/x", "sub/../x", "./x"])
def test_inside_is_written_also_where_the_directory_is_a_link(inside: ToolContext, path: str) -> None:
    root = inside.directory.parent
    path = path.replace("ROOT", str(root))
    write(inside, path, "new\n")
    assert (inside.directory / path).read_text() == "new\n"
    assert {name for name in everything(root) if name.endswith("/x")} <= {"p/x", "p/sub/x", "p/deep/x"}


@pytest.mark.parametrize("path", [".git/config", ".git/hooks/pre-commit", "git/config", "sub/.GIT/x", ".git"])
def test_nothing_is_written_in_a_git_directory(inside: ToolContext, path: str) -> None:
    before = everything(inside.directory)
    assert "is in a .git directory, where a wrong byte loses history and a hook runs commands" in refused(
        inside, path
    )
    assert everything(inside.directory) == before


def test_names_that_only_begin_as_git_do(inside: ToolContext) -> None:
    for path in (".gitignore", ".github/workflows/ci.yml", "x.git/y"):
        assert write(inside, path, "new\n").startswith("Wrote new file")


def test_nothing_is_written_among_the_files_of_tau(inside: ToolContext) -> None:
    root = inside.directory.parent
    for path in ("data/x", "data/sessions/x", "data"):
        assert f"is in {root}/p/data, where tau keeps its own files" in refused(inside, path)
    inside.grants.add(root / "state" / "spill" / "one" / "0001-shell.txt")
    assert "where tau keeps its own files" in refused(inside, f"{root}/state/spill/one/0001-shell.txt")
    write(inside, "database/x", "new\n")
    assert not (root / "state").exists()
    assert not (root / "p" / "data").exists()


def test_a_granted_path_is_written_and_named_whole(inside: ToolContext) -> None:
    outside = inside.directory.parent / "outside"
    inside.grants.add(outside)
    shown = write(inside, "out/x", "new\n")
    assert shown == f"Wrote new file {outside}/x, 1 line."
    assert (outside / "x").read_text() == "new\n"


def test_a_link_put_there_after_the_judgement_is_not_followed(inside: ToolContext) -> None:
    root = inside.directory.parent
    real = paths.writable(inside, "sub/deep/x")
    (root / "p" / "sub").rmdir()
    (root / "p" / "sub").symlink_to("../outside")
    for change in (
        lambda: replacing.current(inside, real),
        lambda: replacing.replace(inside, real, None, b"new\n", check=lambda: None),
    ):
        with pytest.raises(Refused):
            change()
    assert everything(root / "outside") == ["passwd"]


NAMES = [
    "", ".", "..", "~", "p", "p-evil", "outside", "sub", "out", "out-file", "dangling", "in", "alias", "x",
    "git", ".git", "data", "\0", "\ud83d", "\\x2e\\x2e",
]  # fmt: skip


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    parts=st.lists(st.sampled_from(NAMES), max_size=5),
    start=st.sampled_from(["", "/", "ROOT/", "ROOT/alias/"]),
)
def test_no_path_leads_outside(inside: ToolContext, parts: list[str], start: str) -> None:
    root = inside.directory.parent
    outside = [name for name in everything(root) if not name.startswith("p/")]
    kept = everything(root / "p" / ".git")
    try:
        said = write(inside, start.replace("ROOT", str(root)) + "/".join(parts), "new\n").splitlines()[0]
    except Refused as refusal:
        said = str(refusal)
    said.encode()
    assert "\n" not in said
    assert [name for name in everything(root) if not name.startswith("p/")] == outside
    assert everything(root / "p" / ".git") == kept
    assert not (root / "p" / "data").exists()
