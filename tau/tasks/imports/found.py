"""What a source file says that it imports, as its language writes it, before it is looked for."""

from __future__ import annotations

import msgspec

LONGEST_FILE = 2_000_000
"""The largest file, in bytes, that is read for its imports."""

MOST_IMPORTS = 5_000
"""Imports of one file that are looked at; more are the work of a generator."""


class Imported(msgspec.Struct, frozen=True, array_like=True):
    """One import.

    Attributes:
        kind: How `target` is meant, which depends on the language; see the module that resolves it.
        target: What is imported.
    """

    kind: str
    target: str


class Found(msgspec.Struct, frozen=True, array_like=True):
    """What a file imports.

    Attributes:
        imports: In the order of the file, each once.
        problem: Why nothing or not everything was found, in a few words; empty where there is no reason.
    """

    imports: tuple[Imported, ...] = ()
    problem: str = ""
