"""Finds the line of every key in a TOML text, which the standard parser does not tell."""

from __future__ import annotations

import contextlib
import functools
import re
import tomllib
from collections.abc import Mapping
from typing import TypeAlias

KeyPath: TypeAlias = tuple[str | int, ...]
"""Where a value is in a document: keys, and indices into arrays."""

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_BASIC = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_LITERAL = re.compile(r"'[^'\n]*'")
_LONG_BASIC = re.compile(r'"""(?:[^"\\]|\\.|"{1,2}(?!"))*"{3,5}', re.DOTALL)
_LONG_LITERAL = re.compile(r"'''(?:[^']|'{1,2}(?!'))*'{3,5}", re.DOTALL)
_SCALAR = re.compile(r"[^,\]}#\n]*")


@functools.lru_cache(maxsize=4)
def key_lines(text: str) -> Mapping[KeyPath, int]:
    """The line, from 1, on which each table and key of a document is first written.

    Args:
        text: A document that `tomllib` accepts. For any other text the answer covers what comes before the
            first thing not understood; nothing is raised.
    """
    scanner = _Scanner(text)
    with contextlib.suppress(_NotUnderstood, RecursionError):
        scanner.document()
    return scanner.lines


class _NotUnderstood(Exception):
    """The text stops being TOML here."""


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[KeyPath, int] = {}
        self._tables: dict[KeyPath, int] = {}
        self._counted_to = 0
        self._line = 1

    def document(self) -> None:
        table: KeyPath = ()
        while True:
            self._skip(_BLANK)
            if self.at >= len(self.text):
                return
            if self.text.startswith("[", self.at):
                table = self._header()
            else:
                self._pair(table)

    def _header(self) -> KeyPath:
        of_array = self.text.startswith("[[", self.at)
        self.at += 2 if of_array else 1
        line = self._line_here()
        keys = self._key()
        self._expect("]]" if of_array else "]")
        path: KeyPath = ()
        for depth, key in enumerate(keys, 1):
            path = (*path, key)
            self.lines.setdefault(path, line)
            if of_array and depth == len(keys):
                self._tables[path] = self._tables.get(path, -1) + 1
            if path in self._tables:
                path = (*path, self._tables[path])
                self.lines.setdefault(path, line)
        return path

    def _pair(self, table: KeyPath) -> None:
        line = self._line_here()
        path = table
        for key in self._key():
            path = (*path, key)
            self.lines.setdefault(path, line)
        self._expect("=")
        self._value(path)

    def _key(self) -> list[str]:
        keys: list[str] = []
        while True:
            self._skip(_SPACE)
            for kind in (_BARE_KEY, _BASIC, _LITERAL):
                found = kind.match(self.text, self.at)
                if found is not None:
                    break
            else:
                raise _NotUnderstood
            self.at = found.end()
            keys.append(found.group() if kind is _BARE_KEY else _unquoted(found.group()))
            self._skip(_SPACE)
            if not self.text.startswith(".", self.at):
                return keys
            self.at += 1

    def _value(self, path: KeyPath) -> None:
        self._skip(_SPACE)
        for kind in (_LONG_BASIC, _LONG_LITERAL, _BASIC, _LITERAL):
            found = kind.match(self.text, self.at)
            if found is not None:
                self.at = found.end()
                return
        if self.text.startswith("[", self.at):
            self._array(path)
        elif self.text.startswith("{", self.at):
            self._inline_table(path)
        else:
            self._skip(_SCALAR)

    def _array(self, path: KeyPath) -> None:
        self.at += 1
        index = 0
        while True:
            self._skip(_BLANK)
            if self.text.startswith("]", self.at):
                self.at += 1
                return
            self.lines.setdefault((*path, index), self._line_here())
            self._value((*path, index))
            index += 1
            self._skip(_BLANK)
            if not self.text.startswith("]", self.at):
                self._expect(",")

    def _inline_table(self, path: KeyPath) -> None:
        self.at += 1
        while True:
            self._skip(_BLANK)
            if self.text.startswith("}", self.at):
                self.at += 1
                return
            self._pair(path)
            self._skip(_BLANK)
            if not self.text.startswith("}", self.at):
                self._expect(",")

    def _skip(self, kind: re.Pattern[str]) -> None:
        found = kind.match(self.text, self.at)
        assert found is not None
        self.at = found.end()

    def _expect(self, token: str) -> None:
        if not self.text.startswith(token, self.at):
            raise _NotUnderstood
        self.at += len(token)

    def _line_here(self) -> int:
        self._line += self.text.count("\n", self._counted_to, self.at)
        self._counted_to = self.at
        return self._line


def _unquoted(quoted: str) -> str:
    try:
        value = tomllib.loads(f"key = {quoted}")["key"]
    except ValueError as error:
        raise _NotUnderstood from error
    return str(value)
