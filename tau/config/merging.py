"""Lays the documents of several files over each other."""

from __future__ import annotations

from tau.config.toml_file import Document


def merge(under: Document, over: Document) -> Document:
    """The document `over` laid over `under`: tables key by key, any other value as a whole.

    The lists of ``[approvals]`` are joined, so that no file can take back what another one denies; a server
    of ``[mcp]`` replaces one of the same name whole, so that a tier set for one never holds for the other.
    """
    merged = _overlay(under, over)
    for table, join in (("approvals", _joined), ("mcp", _replaced), ("profiles", _merged_each)):
        if table in under and table in over:
            merged[table] = join(under[table], over[table])
    return merged


def _overlay(under: Document, over: Document) -> Document:
    merged = dict(under)
    for key, value in over.items():
        below = merged.get(key)
        merged[key] = _overlay(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged


def _joined(under: Document, over: Document) -> Document:
    return {key: [*under.get(key, []), *over.get(key, [])] for key in {**under, **over}}


def _replaced(under: Document, over: Document) -> Document:
    return {**under, **over}


def _merged_each(under: Document, over: Document) -> Document:
    return {name: merge(under.get(name, {}), over.get(name, {})) for name in {**under, **over}}
