"""Which contexts a session seems to be about, and what speaks for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tau.display import one_line
from tau.journal.context_desk import Found


def guessed(found: Found, current: str) -> tuple[tuple[str, ...], str]:
    """The contexts that a session seems to be about, and why; empty when that is not clear."""
    counts = {name: sum(hits.values()) for name, hits in found.hits.items()}
    most = max(counts.values(), default=0)
    named = tuple(name for name, count in counts.items() if 2 * count >= most and len(found.hits[name]) > 1)
    by_content = named or (tuple(counts) if len(counts) == 1 else ())
    if current and (not by_content or current in by_content):
        rest = tuple(name for name in by_content if name != current)
        return (current, *rest), "the session was about it so far" + (_why(found, by_content) if rest else "")
    return by_content, _why(found, by_content).removeprefix("; ")


def _why(found: Found, names: Sequence[str]) -> str:
    parts = []
    for name in names:
        hits: Mapping[str, int] = found.hits[name]
        words = ", ".join(f"{one_line(word, 40)} ×{count}" for word, count in list(hits.items())[:5])
        parts.append(f"{one_line(name)} by {words}")
    return "; " + "; ".join(parts)
