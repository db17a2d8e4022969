"""Colours code with the terminal's own colours, a few lines at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from rich.style import Style
from rich.syntax import ANSISyntaxTheme, Syntax
from rich.text import Text

from tau.display import visible

_LINES_BEFORE = 40
"""Lines that are read again, so that a string or comment over several lines is known as one."""

_LONGEST = 20_000
"""Characters of a piece above which it is not coloured."""


@cache
def _theme() -> ANSISyntaxTheme:
    """Colours that read on light and dark ground, whatever the terminal makes of them."""
    from pygments.token import (  # type: ignore[import-untyped]  # it has no types
        Comment,
        Generic,
        Keyword,
        Name,
        Number,
        Operator,
        String,
    )

    return ANSISyntaxTheme(
        {
            Comment: Style(dim=True, italic=True),
            Keyword: Style(color="magenta"),
            Operator.Word: Style(color="magenta"),
            Name.Builtin: Style(color="cyan"),
            Name.Class: Style(bold=True),
            Name.Function: Style(color="blue"),
            Name.Decorator: Style(color="blue"),
            Name.Tag: Style(color="blue"),
            Name.Attribute: Style(color="cyan"),
            String: Style(color="green"),
            Number: Style(color="cyan"),
            Generic.Inserted: Style(color="green"),
            Generic.Deleted: Style(color="red"),
            Generic.Heading: Style(bold=True),
            Generic.Subheading: Style(color="cyan"),
        }
    )


def coloured(lines: Sequence[str], start: int, language: str) -> Iterator[Text]:
    """The lines from `start` on.

    Args:
        lines: All lines so far.
        start: The first that is wanted.
        language: As a fence names it; what nobody knows is shown plain.
    """
    wanted = lines[start:]
    if not wanted:
        return
    before = lines[max(0, start - _LINES_BEFORE) : start]
    code = "\n".join([*before, *wanted])
    found: list[Text] = []
    if language and len(code) <= _LONGEST:
        found = list(Syntax("", language, theme=_theme()).highlight(code).split("\n", allow_blank=True))
    for number, line in enumerate(wanted, len(before)):
        given = found[number] if number < len(found) else None
        # a lexer that tidies its input must not change what is shown
        yield given if given is not None and given.plain == line else Text(visible(line))
