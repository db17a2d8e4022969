"""Long results of any tool: kept whole in a file, shown by their ends, reachable through `read_file`."""

from __future__ import annotations

import logging
import os
import re
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strands import Agent, tool
from strands.hooks import AfterToolCallEvent, HookProvider, HookRegistry

from tau.config.settings import ContextSettings
from tau.tools import paths, read_file
from tau.tools.context import ToolContext
from tau.tools.refusals import Refused
from tau.tools.spill import HEAD, TAIL, spill, spill_result
from tests.tools.conftest import agent_with, make_context, results, text

LINE = re.compile(r"\[… ([\d,]+) of ([\d,]+) characters \(([\d,]+) bytes\) are left out here; the whole "
                  r"result is in (\S+), which read_file shows from any offset …\]")  # fmt: skip


class AtTheDoor(HookProvider):
    """Spills every result, as a runner does in one place."""

    def __init__(self, context: ToolContext) -> None:
        self._context = context

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        registry.add_callback(AfterToolCallEvent, self._after)

    def _after(self, event: AfterToolCallEvent) -> None:
        event.result = spill_result(event.result, tool=event.tool_use["name"], context=self._context)


@tool
def third_party(size: int) -> str:
    """A tool of somebody else's.

    Args:
        size: How much.
    """
    return "x" * size + "END" if size > 100_000 else "\n".join(f"line {number}" for number in range(size))


def run(context: ToolContext, *calls: tuple[str, dict[str, Any]]) -> Agent:
    agent = agent_with([third_party, *read_file.tools(context)], *calls, hooks=[AtTheDoor(context)])
    agent("go")
    return agent


def test_six_hundred_thousand_characters_on_one_line(context: ToolContext) -> None:
    file = context.state_dir / "spill" / "one" / "0001-third_party.txt"
    spilled, first, last = results(
        run(
            context,
            ("third_party", {"size": 600_000}),
            ("read_file", {"path": str(file)}),
            ("read_file", {"path": str(file), "offset": "1:599990"}),
        )
    )
    head, line, tail = text(spilled).split("\n")
    assert head == "x" * HEAD
    assert tail == "x" * (TAIL - 3) + "END"
    match = LINE.fullmatch(line)
    assert match is not None
    assert match.groups() == ("594,883", "600,003", "600,003", str(file))
    assert file.read_text() == "x" * 600_000 + "END"
    assert 'Line 1 is cut after character 2,000 of 600,003. Go on inside it with offset="1:2001".' in text(
        first
    )
    assert text(last) == "1:599990\t" + "x" * 11 + "END"


def test_fifty_thousand_short_lines(context: ToolContext) -> None:
    file = context.state_dir / "spill" / "one" / "0001-third_party.txt"
    spilled, read = results(
        run(
            context,
            ("third_party", {"size": 50_000}),
            ("read_file", {"path": str(file), "offset": 49_999}),
        )
    )
    assert len(text(spilled)) < 5_400
    assert text(spilled).startswith("line 0\nline 1\n")
    assert text(spilled).endswith("\nline 49999")
    assert text(read).splitlines()[:2] == [" 49999\tline 49998", " 50000\tline 49999"]


def test_what_read_file_shows_is_never_spilled_again(context: ToolContext) -> None:
    file = str(context.state_dir / "spill" / "one" / "0001-third_party.txt")
    calls = [("read_file", {"path": file, "offset": offset}) for offset in (1, "1:1", "1:300000")]
    run(context, ("third_party", {"size": 600_000}), *calls)
    assert len(list(context.spill_dir.iterdir())) == 1


def test_short_results_stay_as_they_are(context: ToolContext) -> None:
    limit = context.context.spill_result_chars
    assert spill("x" * limit, tool="t", context=context) == "x" * limit
    assert not context.state_dir.exists()
    assert spill("x" * (limit + 1), tool="t", context=context) != "x" * (limit + 1)


def test_the_grant_is_for_this_run_and_this_file(tmp_path: Path) -> None:
    context = make_context(tmp_path.resolve() / "work")
    spill("x" * 40_000, tool="t", context=context)
    file = context.spill_dir / "0001-t.txt"
    assert paths.readable(context, str(file)) == file
    with pytest.raises(Refused):
        paths.readable(context, str(context.spill_dir))
    with pytest.raises(Refused):
        paths.readable(make_context(context.directory), str(file))


def test_files_are_private_whatever_the_umask_and_never_overwritten(context: ToolContext) -> None:
    before = os.umask(0)
    try:
        for number in range(3):
            spill(f"{number}" * 40_000, tool="../odd name/\n", context=context)
    finally:
        os.umask(before)
    files = sorted(context.spill_dir.iterdir())
    assert [file.name for file in files] == [f"000{number}--odd-name-.txt" for number in (1, 2, 3)]
    assert [file.read_text()[0] for file in files] == ["0", "1", "2"]
    for file in files:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    for folder in (context.spill_dir, context.spill_dir.parent, context.state_dir):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_resumed_session_goes_on_counting(context: ToolContext) -> None:
    context.spill_dir.mkdir(parents=True)
    for name in ("0007-old.txt", "notes", "abcd.txt"):
        (context.spill_dir / name).write_text("kept")
    spill("x" * 40_000, tool="t", context=context)
    assert (context.spill_dir / "0008-t.txt").is_file()


def test_a_link_in_the_place_of_the_folder_is_not_followed(
    context: ToolContext, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "elsewhere").mkdir()
    context.spill_dir.parent.mkdir(parents=True)
    context.spill_dir.symlink_to(tmp_path / "elsewhere")
    with caplog.at_level(logging.WARNING):
        shown = spill("x" * 40_000, tool="t", context=context)
    assert not list((tmp_path / "elsewhere").iterdir())
    assert "and lost, since they could not be kept: a symbolic link" in shown
    assert "A result of t could not be kept" in caplog.text


def test_what_cannot_be_kept_is_said_to_be_lost(context: ToolContext) -> None:
    context.state_dir.write_text("a file where the directory should be")
    shown = spill("x" * 40_000, tool="t", context=context)
    assert shown.startswith("x" * HEAD + "\n[… 34,880 of 40,000 characters")
    assert "and lost, since they could not be kept: File exists" in shown


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from(["e\u0301", "👩\u200d👧", "\U0001f1e9\U0001f1ea", "a", "\r\n", "漢"]), min_size=40
    )
)
def test_cuts_fall_between_characters(tmp_path_factory: pytest.TempPathFactory, pieces: list[str]) -> None:
    context = make_context(
        tmp_path_factory.mktemp("cut").resolve() / "w", context=ContextSettings(spill_result_chars=5_201)
    )
    whole = "".join(pieces) * (1 + 6_000 // len("".join(pieces)))
    shown = spill(whole, tool="t", context=context)
    head, line, tail = re.split(r"\n(\[… .* …\])\n", shown)
    assert LINE.fullmatch(line)
    assert whole.startswith(head)
    assert whole.endswith(tail)
    assert HEAD - 64 <= len(head) <= HEAD
    assert TAIL <= len(tail) <= TAIL + 64
    for at in (len(head), len(whole) - len(tail)):
        assert whole[at] not in "\u0301\u200d\n"
        assert whole[at - 1] != "\u200d"
    (file,) = context.spill_dir.iterdir()
    assert file.read_bytes() == whole.encode()


def test_all_texts_of_a_result_count_together_and_images_stay(context: ToolContext) -> None:
    image = {"image": {"format": "png", "source": {"bytes": b"\x89PNG"}}}
    result = spill_result(
        {
            "toolUseId": "t",
            "status": "error",
            "content": [{"text": "a" * 20_000}, image, {"json": {"k": "é" * 20_000}}],  # type: ignore[list-item]  # plain dicts
        },
        tool="third",
        context=context,
    )
    said, kept = result["content"]
    assert (result["toolUseId"], result["status"], kept) == ("t", "error", image)
    assert len(said["text"]) < 5_400
    whole = (context.spill_dir / "0001-third.txt").read_text()
    assert whole == "a" * 20_000 + '\n{"k": "' + "é" * 20_000 + '"}'


def test_a_result_that_is_short_is_not_touched(context: ToolContext) -> None:
    given: Any = {"toolUseId": "t", "status": "success", "content": [{"text": "a"}, {"json": [1]}]}
    assert spill_result(given, tool="t", context=context) is given


@pytest.mark.parametrize("size", [4_096, 60_000])
def test_binary_output_has_no_nul_and_is_kept(context: ToolContext, size: int) -> None:
    given: Any = {"toolUseId": "t", "status": "success", "content": [{"text": "\x7fELF\0" * (size // 5)}]}
    shown = text(dict(spill_result(given, tool="t", context=context)))
    assert shown.startswith(f"[Binary output, {size // 5 * 5:,} bytes; NUL is shown as \\x00.]\n\x7fELF\\x00")
    assert "\0" not in shown
    if size > 32_000:
        file = context.spill_dir / "0001-t.txt"
        assert file.read_bytes() == b"\x7fELF\0" * (size // 5)
        (block,) = read_file.read(context, str(file), offset=None, limit=None, watch=_watch())
        assert block["text"].startswith("     1\t\x7fELF\\x00")


def test_lone_surrogates_are_escaped_and_kept(context: ToolContext) -> None:
    shown = spill("\ud83d" + "x" * 40_000, tool="t", context=context)
    shown.encode()
    assert shown.startswith("\\ud83dxxx")
    assert (context.spill_dir / "0001-t.txt").read_bytes().startswith(b"\xed\xa0\xbdxxx")


def _watch() -> Any:
    from tests.tools.conftest import watch

    return watch()
