"""The tool `search_files`: lines of files that match a regular expression."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

from strands import ToolContext as Call
from strands.types.tools import AgentTool

from tau.tools import file_types, matchers, paths
from tau.tools.context import ToolContext
from tau.tools.cutting import boundary, sendable
from tau.tools.find_files import pattern_of, place, shown_below
from tau.tools.matchers import BadPattern, Match
from tau.tools.names import shown
from tau.tools.refusals import Refused, Watch
from tau.tools.rows import Rows
from tau.tools.tool_kit import declare
from tau.tools.walk import walk

MOST_MATCHES = 200
SECONDS = 20.0
MOST_FILES = 200_000
_LINE_CHARS = 300
_BEFORE = 100
_LARGE = 256 << 10
_NEWLINE = re.compile(r"(?<!\\)(?:\\\\)*\\n|\n")

DESCRIPTION = (
    "Search the lines of files for a regular expression. The result has one PATH:LINE: TEXT for each line "
    "that matches. (?i) at the beginning ignores case; \\ before . ( [ { * + ? makes it plain. It matches "
    "within a line, never across lines. Hidden files are searched; binary files and what .gitignore or "
    ".ignore leaves out are not, unless path lies in it. Paths are relative to the working directory."
)
ARGUMENTS: dict[str, Any] = {
    "pattern": {"type": "string", "description": "The regular expression."},
    "path": {
        "type": "string",
        "description": "The directory or file to search; the working directory unless given.",
        "default": ".",
    },
    "glob": {
        "type": "string",
        "description": "Only files that match, such as *.py or src/**/*.{ts,tsx}; all files unless given.",
        "default": "",
    },
}


def tools(context: ToolContext) -> Sequence[AgentTool]:
    """The factory behind the entry point."""

    def search_files(
        pattern: str, tool_context: Call, path: str | None = None, glob: str | None = None
    ) -> str:
        watch = Watch(tool_context.cancel_signal, SECONDS)
        return search(context, pattern, path or ".", glob or "", watch=watch)

    return [declare(search_files, name="search_files", tier=0, description=DESCRIPTION, arguments=ARGUMENTS)]


def search(
    context: ToolContext, pattern: str, path: str, glob: str, *, watch: Watch, rg: str | None = None
) -> str:
    """One matching line a line, in the order of paths, then what was left out.

    Args:
        context: Where files may be read, and how much.
        pattern: The regular expression.
        path: Where to search, as the model gave it.
        glob: Which files, relative to `path`; empty for all.
        watch: When to stop.
        rg: The ripgrep to use, empty for Python; None for the installed one, if any.

    Raises:
        Refused: The path may not or cannot be read, or the pattern or glob cannot be used.
    """
    if not pattern:
        raise Refused("The pattern is empty; . matches every line that is not empty")
    if "\0" in pattern or not _encodable(pattern):
        raise Refused(
            "The pattern has a NUL character or half a surrogate pair, which no search can look for"
        )
    if _NEWLINE.search(pattern):
        raise Refused(
            "The pattern has a newline, but a match is within one line; search for one of the lines"
        )
    real = paths.readable(context, path)
    files, closed = _files(context, real, glob, watch)
    hunt = _Hunt(pattern, real, matchers.ripgrep(context.directory) if rg is None else rg, watch)
    rows = Rows(context.room, MOST_MATCHES)
    cut = more = False
    with contextlib.closing(hunt.matches(files)) as found:
        for match in found:
            row, shortened = _row(context, real, match)
            if not rows.add(row):
                more = True
                break
            cut = cut or shortened
    if closed:
        rows.note(
            f"[{_count(closed, 'file')} {'is' if closed == 1 else 'are'} not searched:"
            f" reading {'it' if closed == 1 else 'them'} is denied or asked about.]"
        )
    if cut:
        rows.note(
            "[Long lines are cut to what is around the match; the second number is the first character shown."
            ' read_file with offset="LINE:CHARACTER" shows more.]'
        )
    if more:
        rows.note(
            f"[The first {len(rows):,} matching lines are shown; there are more."
            " Narrow the pattern, path or glob.]"
        )
    elif watch.over:
        rows.note(
            f"[Stopped after {watch.seconds:g} s; {hunt.searched:,} of {len(files):,} files are done."
            " Use a simpler pattern or a narrower path.]"
        )
    elif len(files) >= MOST_FILES:
        rows.note(f"[Only the first {MOST_FILES:,} files were searched. Give a narrower path.]")
    elif not len(rows):
        rows.note(
            f"[No line matches in {_count(len(files), 'file')} {place(context, real)}."
            " Binary files and what .gitignore or .ignore leaves out were not searched.]"
        )
    else:
        rows.note(f"[{_count(len(rows), 'matching line')}.]")
    return rows.text()


def _files(context: ToolContext, real: Path, glob: str, watch: Watch) -> tuple[list[str], int]:
    """The files to search, relative to `real`, and how many are closed to searches.

    One empty name stands for `real` when that is itself the file.
    """
    if not paths.is_directory(context, real):
        os.close(paths.open_file(context, real))  # refuses a pipe or device, on which ripgrep would wait
        if context.closed(_judged(context, real)):
            raise Refused(
                f"{paths.display(context, real)} is not searched: reading it is denied or asked about;"
                " use read_file, which asks where it may"
            )
        return [""], 0
    wanted = pattern_of(glob) if glob else None
    above = "" if real == context.directory else _judged(context, real).rstrip("/") + "/"
    files, closed = [], 0
    for entry in walk(real, directory=context.directory, watch=watch):
        if not entry.is_file or (wanted is not None and not wanted.matches(entry.path)):
            continue
        # A walk follows no links, so that this is the real path.
        if context.closed(above + entry.path):
            closed += 1
        elif not _is_large_binary(real / entry.path):
            files.append(entry.path)
            if len(files) >= MOST_FILES:
                break
    return files, closed


def _judged(context: ToolContext, real: Path) -> str:
    """A real path as `ToolContext.closed` takes it."""
    inside = context.directory in (real, *real.parents)
    return str(real.relative_to(context.directory) if inside else real)


def _is_large_binary(file: Path) -> bool:
    """Whether reading a file through only to find that it is binary can be saved."""
    try:
        if file.lstat().st_size < _LARGE:
            return False
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return not file_types.encoding(os.pread(descriptor, file_types.SAMPLE, 0))
    except OSError:
        return False
    finally:
        os.close(descriptor)


class _Hunt:
    """One search, batch after batch.

    Attributes:
        searched: Files that are done with.
    """

    def __init__(self, pattern: str, real: Path, engine: str, watch: Watch) -> None:
        self.searched = 0
        self._pattern = pattern
        self._real = real
        self._engine = engine
        self._watch = watch

    def matches(self, files: Sequence[str]) -> Generator[Match, None, None]:
        """Matches in the order of the files; ends early when the time is up.

        Raises:
            Refused: No matcher understands the pattern.
        """
        given = [f"./{name}" if name else str(self._real) for name in files]
        for batch in matchers.batches(given):
            if self._watch.over:
                return
            try:
                yield from self._run(batch)
            except BadPattern as error:
                if not self._engine:
                    raise Refused(f"The pattern is no valid regular expression: {_first(error)}") from error
                # Python knows forms that ripgrep does not, such as (?=…) and \1; no file was searched yet.
                self._engine = ""
                yield from self.matches(files)
                return
            if not self._watch.over:
                self.searched += len(batch)

    def _run(self, batch: Sequence[str]) -> Iterator[Match]:
        command = matchers.command(self._engine, self._pattern, self._watch)
        directory = self._real if batch[0].startswith("./") else self._real.parent
        return matchers.matches(command, batch, directory=directory, watch=self._watch)


def _row(context: ToolContext, real: Path, match: Match) -> tuple[str, bool]:
    """A match as a line of the result, and whether it was shortened."""
    inside = match.path.startswith("./")
    name = shown_below(context, real, match.path[2:]) if inside else paths.display(context, real)
    text = match.line.decode("utf-8", "backslashreplace")
    if len(text) <= _LINE_CHARS:
        return f"{name}:{match.number}: {sendable(text)}", False
    start = len(match.line[: match.start].decode("utf-8", "backslashreplace"))
    begin = boundary(text, max(0, start - _BEFORE))
    end = boundary(text, begin + _LINE_CHARS)
    before = "…" if begin else ""
    after = "…" if end < len(text) else ""
    return f"{name}:{match.number}:{begin + 1}: {before}{sendable(text[begin:end])}{after}", True


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def _first(error: Exception) -> str:
    return shown(" ".join(str(error).split())[:300])


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
