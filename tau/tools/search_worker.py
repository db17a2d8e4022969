"""Searches files for a regular expression in a process of its own, where no ripgrep is installed.

Run as a program: its arguments are a number of seconds, the most matches a file, the pattern and the files.
It writes the JSON lines that ``rg --json`` writes for matches and ends of files, and ends with 0, or with 2
and one line on stderr when the pattern cannot be used. Python's matching cannot be interrupted from within,
so the process is made to end by the system when its time is up.
"""

from __future__ import annotations

import base64
import codecs
import contextlib
import io
import json
import os
import re
import signal
import stat
import sys
from collections.abc import Iterator
from typing import BinaryIO

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_LONGEST_LINE = 16 << 20


def main(arguments: list[str]) -> int:
    """Search the files; the exit status."""
    seconds, most, text, *files = arguments
    signal.alarm(int(seconds))
    try:
        pattern = re.compile(text)
    except (re.error, OverflowError, RecursionError, MemoryError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    for name in files:
        with contextlib.suppress(OSError):
            _search(name, pattern, int(most))
    return 0


def _search(name: str, pattern: re.Pattern[str], most: int) -> None:
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return
        found = 0
        binary = None
        for number, line in enumerate(_lines(file), 1):
            if binary is None and "\0" in line:
                binary = number
            match = pattern.search(line.rstrip("\n").removesuffix("\r"))
            if match is None:
                continue
            found += 1
            _write_match(name, number, line, match)
            if binary is not None or found >= most:
                break
    if found:
        _write({"type": "end", "data": {"path": _text(name), "binary_offset": binary}})


def _lines(file: BinaryIO) -> Iterator[str]:
    head = file.read(3)
    file.seek(0)
    if head.startswith(_UTF16):
        yield from io.TextIOWrapper(file, encoding="utf-16", errors="replace", newline="\n")
        return
    if head == codecs.BOM_UTF8:
        file.seek(3)
    while line := file.readline(_LONGEST_LINE):
        yield line.decode("utf-8", "surrogateescape")


def _write_match(name: str, number: int, line: str, match: re.Match[str]) -> None:
    begin, end = (len(line[:at].encode("utf-8", "surrogateescape")) for at in match.span())
    data = {
        "path": _text(name),
        "lines": _text(line),
        "line_number": number,
        "submatches": [{"start": begin, "end": end}],
    }
    _write({"type": "match", "data": data})


def _text(text: str) -> dict[str, str]:
    data = text.encode("utf-8", "surrogateescape")
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"bytes": base64.b64encode(data).decode("ascii")}


def _write(record: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
