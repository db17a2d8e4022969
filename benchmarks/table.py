"""One table a benchmark: what was measured, against what, and the bar it must stay under."""

from __future__ import annotations

from collections.abc import Iterable

Row = tuple[str, float, float, float]
"""What, ours, the base it is compared to (both in the same unit), and the highest ratio allowed."""


def report(rows: Iterable[Row]) -> int:
    """Print the rows; 1 when a ratio is above its bar, else 0."""
    print("| measured | ours | base | ratio | bar | |\n|---|---|---|---|---|---|")
    missed = 0
    for what, ours, base, bar in rows:
        ratio = ours / base
        missed += ratio > bar
        verdict = "ok" if ratio <= bar else "MISSED"
        print(f"| {what} | {ours:.3f} | {base:.3f} | {ratio:.3f} | {bar:g} | {verdict} |")
    return 1 if missed else 0
