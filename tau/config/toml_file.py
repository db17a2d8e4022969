"""Reads one tau.toml: bytes to a document, with every failure naming file, line and column."""

from __future__ import annotations

import os
import re
import stat
import tomllib
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from tau.config.toml_lines import KeyPath, key_lines
from tau.display import one_line
from tau.errors import ConfigError

Document: TypeAlias = dict[str, Any]

MAX_BYTES = 256_000
"""A larger file is no configuration file."""

MAX_DEPTH = 50
"""Tables and lists inside each other, beyond what any setting needs."""

_AT = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class TomlFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that was read. `text` is without a byte order mark."""

    path: Path
    text: str
    document: Document

    def line(self, path: KeyPath) -> int | None:
        """The line, from 1, of a key or table; that of the nearest table around it when it has none."""
        lines = key_lines(self.text)
        for length in range(len(path), 0, -1):
            if path[:length] in lines:
                return lines[path[:length]]
        return None

    def where(self, path: KeyPath) -> str:
        """``FILE:LINE``, or ``FILE`` when the line is not known."""
        line = self.line(path)
        return f"{one_line(str(self.path))}:{line}" if line else one_line(str(self.path))


def read_toml(path: Path, *, follow_links: bool = True) -> TomlFile:
    """Read a configuration file; UTF-8 whatever the locale says, with or without a byte order mark.

    Args:
        path: The file.
        follow_links: Whether `path` may be a symbolic link.

    Raises:
        FileNotFoundError: There is no such file.
        ConfigError: It cannot be read, or is not TOML.
    """
    shown = one_line(str(path))
    data = _read(path, shown, follow_links=follow_links)
    text = _decode(data, shown)
    document: Document | None
    try:
        document = tomllib.loads(text)
    except ValueError as error:
        raise ConfigError(*_syntax(str(error), text, shown)) from error
    except RecursionError:
        document = None
    if document is None or _is_deeper(document, MAX_DEPTH):
        raise ConfigError(f"{shown}: nested too deeply")
    return TomlFile(path=path, text=text, document=document)


def _read(path: Path, shown: str, *, follow_links: bool) -> bytes:
    flags = os.O_RDONLY | os.O_CLOEXEC
    if not follow_links:
        flags |= os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        descriptor = os.open(path, flags)
        with open(descriptor, "rb") as file:  # noqa: PTH123  # a descriptor has no Path
            if not follow_links and not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise ConfigError(f"{shown}: not a file")
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigError(f"{shown}: cannot be read: {reason}") from error
    if len(data) > MAX_BYTES:
        raise ConfigError(f"{shown}: larger than {MAX_BYTES // 1000} kB, so not a configuration file")
    return data


def _decode(data: bytes, shown: str) -> str:
    if data.startswith(_UTF16):
        raise ConfigError(f"{shown}: encoded as UTF-16", "save it as UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        raise ConfigError(
            f"{shown}:{line}:{column}: byte 0x{data[error.start]:02x} is not UTF-8", "save the file as UTF-8"
        ) from error


def _is_deeper(document: Document, depth: int) -> bool:
    level: list[Any] = [document]
    for _ in range(depth):
        level = [
            inner
            for value in level
            if isinstance(value, dict | list)
            for inner in (value.values() if isinstance(value, dict) else value)
        ]
        if not level:
            return False
    return True


def _syntax(complaint: str, text: str, shown: str) -> tuple[str, str]:
    """The parser's complaint as message and hint, in the words of a person's file."""
    lines = text.replace("\r\n", "\n").split("\n")
    found = _AT.search(complaint)
    what = complaint[: found.start()] if found else complaint
    if found is None:
        return f"{shown}: {one_line(what)}", ""
    if found.group(1) is None:
        number = len(lines) - 1 if len(lines) > 1 and not lines[-1] else len(lines)
        column = len(lines[number - 1]) + 1
    else:
        number, column = int(found.group(1)), int(found.group(2))
    where = f"{shown}:{number}:{column}"
    line = lines[number - 1] if number <= len(lines) else ""
    key = one_line(line.split("=")[0].strip(" \t[]"), 60)
    hint = ""
    if what == "Cannot overwrite a value":
        what = f"{key} is given twice"
        hint = "keep one of the two"
    elif what.startswith("Cannot declare"):
        what = f"the table [{key}] is given twice"
        hint = "put its keys together"
    elif what == "Invalid value" and key:
        what = f"{key} has no value that TOML knows"
        hint = 'text needs quotes: "…"'
    return f"{where}: {one_line(what[:1].lower() + what[1:])}", hint
