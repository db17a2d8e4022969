"""Runs ripgrep, or Python where it is not installed, over given files, and reads what they found.

Both are child processes that write the same JSON lines: they can be stopped at any moment, which a regular
expression that runs away inside this process could not.
"""

from __future__ import annotations

import base64
import json
import os
import selectors
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from tau.tools.refusals import Refused, Watch

MOST_IN_A_FILE = 200
_BATCH_FILES = 1_000
_BATCH_BYTES = 100_000
_POLL = 0.05
_BUFFER = 1 << 16
_LONGEST_RECORD = 64 << 20


class Match(NamedTuple):
    """A line that matches.

    Attributes:
        path: The file, as it was given.
        number: The line, from 1.
        line: Its bytes, without the end of line.
        start: Bytes of it before the first match.
        end: Bytes of it before the end of that match.
    """

    path: str
    number: int
    line: bytes
    start: int
    end: int


class BadPattern(Exception):
    """The pattern is not one this matcher understands; the text says why."""


def ripgrep(directory: Path) -> str:
    """The installed ripgrep, or the empty string. One that lies in the working directory is not run."""
    found = shutil.which("rg")
    if not found or not Path(found).is_absolute():
        return ""
    real = Path(os.path.realpath(found))
    inside = directory in real.parents or directory in Path(found).parents
    return "" if inside else str(real)


def command(rg: str, pattern: str, watch: Watch) -> list[str]:
    """The command that searches the files added to it; for Python when `rg` is empty."""
    if rg:
        return [
            rg, "--json", "--no-config", "--no-messages", "--no-mmap", "--crlf", "--case-sensitive",
            "--threads=1", f"--max-count={MOST_IN_A_FILE}", f"--regexp={pattern}", "--",
        ]  # fmt: skip
    seconds = str(max(1, round(watch.seconds) + 1))
    # -P: modules that lie in the working directory are not imported.
    worker = ["-P", "-X", "utf8", "-m", "tau.tools.search_worker"]
    return [sys.executable, *worker, seconds, str(MOST_IN_A_FILE), pattern]


def batches(files: Sequence[str]) -> Iterator[Sequence[str]]:
    """The files in as many parts as fit on command lines."""
    start, size = 0, 0
    for at, name in enumerate(files):
        size += len(os.fsencode(name)) + 1
        if at - start >= _BATCH_FILES or size > _BATCH_BYTES:
            yield files[start:at]
            start, size = at, len(os.fsencode(name)) + 1
    if start < len(files):
        yield files[start:]


def matches(
    command_line: Sequence[str], files: Sequence[str], *, directory: Path, watch: Watch
) -> Iterator[Match]:
    """Run a matcher over one batch of files; ends early when the time is up.

    Args:
        command_line: From `command`.
        files: Names relative to `directory`, or absolute.
        directory: Where it runs.
        watch: When to stop.

    Raises:
        BadPattern: The matcher does not understand the pattern.
        Cancelled: The turn was cancelled.
        Refused: The matcher does not run.
    """
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                [*command_line, *files],
                cwd=directory,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            raise Refused(f"The search cannot be started: {error}") from error
        assert process.stdout is not None
        held: list[Match] = []
        began = False
        try:
            for record in _records(process.stdout, watch):
                began = True
                data = record.get("data", {})
                if record.get("type") == "match":
                    held.append(_match(data))
                elif record.get("type") == "end":
                    if data.get("binary_offset") is None:
                        yield from held
                    held = []
            if watch.over:
                return
            process.wait()
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
        errors.seek(0)
        said = errors.read(4_000).decode("utf-8", "replace").strip()
        if process.returncode not in (0, 1) and said:
            if began:
                raise Refused(f"The search broke off: {said}")
            raise BadPattern(said)


def _records(stream: IO[bytes], watch: Watch) -> Iterator[dict[str, Any]]:
    """The JSON lines of a process as they come, until it ends or the time is up."""
    pending = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while True:
            watch.check()
            if watch.over:
                return
            if not selector.select(_POLL):
                continue
            data = os.read(stream.fileno(), _BUFFER)
            if not data:
                return
            if b"\n" not in data:
                pending += data
                if len(pending) > _LONGEST_RECORD:
                    raise Refused("A matching line is too long to be shown; give a narrower path or glob")
                continue
            *lines, rest = (bytes(pending) + data).split(b"\n")
            pending = bytearray(rest)
            for line in lines:
                yield json.loads(line)


def _match(data: dict[str, Any]) -> Match:
    line = _bytes(data["lines"])
    submatches = data["submatches"] or [{"start": 0, "end": 0}]
    line = line.removesuffix(b"\n").removesuffix(b"\r")
    return Match(
        path=os.fsdecode(_bytes(data["path"])),
        number=data["line_number"],
        line=line,
        start=min(submatches[0]["start"], len(line)),
        end=min(submatches[0]["end"], len(line)),
    )


def _bytes(value: dict[str, str]) -> bytes:
    return value["text"].encode() if "text" in value else base64.b64decode(value["bytes"])
