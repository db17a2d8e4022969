"""The inside of a paragraph: as styled text, and how much of it no later text can change."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, table
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from rich.style import Style
from rich.text import Text

from tau.display import visible

_LINKED = ("http://", "https://", "mailto:")
_RUNS = re.compile(r"(`+)|(\*+|_+|~+)|(!?\[)|(<)|(&)|(\\)|([^`*_~!\[<&\\]+|.)", re.DOTALL)
_ADDRESS = re.compile(r"<[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]*>")
_MAYBE_ADDRESS = re.compile(r"<[^\s<>]*>?\Z")
_MAYBE_ENTITY = re.compile(r"&#?\w*\Z")

_MOST_OPEN = 100
"""Runs of emphasis marks that are open at a time; what follows more of them waits for its paragraph's end."""

BOLD = Style(bold=True)
DIM = Style(dim=True)
_PLAIN = Style()
_ITALIC = Style(italic=True)
_STRIKE = Style(strike=True)
_CODE = Style(color="cyan")


@cache
def parser() -> MarkdownIt:
    """CommonMark with tables and strikethrough.

    HTML is text. Underlined headings, link definitions and tables whose first line does not begin with ``|``
    are left out: they change what stands before them.
    """
    found = MarkdownIt("gfm-like", {"html": False, "linkify": False}).disable(["lheading", "reference"])
    found.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
    return found


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    begins = state.src[state.bMarks[start] + state.tShift[start] :].startswith("|")
    return begins and table(state, start, end, silent)


def styled(source: str) -> Text:
    """Inline markdown as text; a hard break is a newline in it."""
    return styled_tokens(parser().parseInline(source)[0].children or ())


def styled_tokens(tokens: Iterable[Token]) -> Text:
    """Inline tokens as text.

    A link is followed by its address unless that is what it shows. What the terminal could open (``http``,
    ``https``, ``mailto``) is marked as a link, too.
    """
    text = Text()
    opened: list[Style] = []
    links: list[tuple[str, int]] = []

    def add(words: str, *styles: Style) -> None:
        text.append(visible(words).replace("\t", " "), Style.combine([_PLAIN, *opened, *styles]))

    for token in tokens:
        match token.type:
            case "text":
                add(token.content)
            case "softbreak":
                add(" ")
            case "hardbreak":
                text.append("\n")
            case "code_inline":
                add(token.content.replace("\n", " "), _CODE)
            case "image":
                add(f"[image: {token.content or token.attrs.get('src', '')}]")
            case "em_open":
                opened.append(_ITALIC)
            case "strong_open":
                opened.append(BOLD)
            case "s_open":
                opened.append(_STRIKE)
            case "link_open":
                address = visible(str(token.attrs.get("href", "")))
                links.append((address, len(text)))
                known = address.lower().startswith(_LINKED)
                opened.append(Style(underline=True, link=address if known else None))
            case "link_close":
                opened.pop()
                address, start = links.pop()
                shown = text.plain[start:]
                if shown not in (address, unquote(address), address.removeprefix("mailto:")):
                    text.append(f" ({address})", Style.combine([_PLAIN, *opened, DIM]))
            case "em_close" | "strong_close" | "s_close":
                opened.pop()
            case _:
                add(token.content)
    return text


def settled(source: str) -> str:
    """The beginning of a growing paragraph in which every construct is complete.

    Whatever follows, `styled` of the paragraph begins with `styled` of this. When in doubt it is shorter.
    """
    state = StateInline(source, parser(), {}, [])
    open_runs: list[tuple[str, int, int, bool]] = []  # character, length, place, whether it can close too
    place = 0
    line_ends: set[int] = set()  # where a backslash breaks a line
    while place < len(source):
        found = _RUNS.match(source, place)
        assert found is not None
        ticks, run, bracket, angle, entity, backslash, _ = found.groups()
        after: int | None = found.end()
        if ticks:
            after = _code_end(source, place, len(ticks))
        elif run:
            scanned = state.scanDelims(place, run[0] != "_") if found.end() < len(source) else None
            if scanned is None or not _pair(open_runs, run, place, scanned.can_open, scanned.can_close):
                break
        elif bracket:
            after = _link_end(source, place, found.end())
        elif angle:
            after = _angle_end(source, place)
        elif entity:
            after = None if _MAYBE_ENTITY.match(source, place) else found.end()
        elif backslash:
            after = place + 2 if place + 2 < len(source) else None
            if source.startswith("\n", place + 1):
                line_ends.add(place)
        if after is None:
            break
        place = after
    if open_runs:
        place = min(place, open_runs[0][2])
    complete = source[:place].rstrip()
    while len(complete) - 1 in line_ends:  # without the next line it is a backslash
        complete = complete[:-1].rstrip()
    return complete


def _code_end(source: str, start: int, length: int) -> int | None:
    for closing in re.finditer("`+", source[start + length :]):
        end = start + length + closing.end()
        if closing.end() - closing.start() == length and end < len(source):
            return end
    return None


def _pair(
    open_runs: list[tuple[str, int, int, bool]], run: str, place: int, can_open: bool, can_close: bool
) -> bool:
    """Pair a run of emphasis marks with the one it closes, or keep it; False when that is no plain case."""
    if len(open_runs) == _MOST_OPEN:
        return False
    same = [entry for entry in open_runs if entry[0] == run[0]]
    if can_close and same:
        _, length, _, both = same[-1]
        if length == len(run):
            del open_runs[open_runs.index(same[-1]) :]
            return True
        apart = (both or can_open) and (length + len(run)) % 3 == 0
        if not apart or len(same) > 1 or not can_open:
            return False
    if can_open:
        open_runs.append((run[0], len(run), place, can_close))
    return True


def _link_end(source: str, start: int, inside: int) -> int | None:
    """Where a link or image ends, or where its brackets begin when it is none; None while that is open."""
    end = _closing(source, inside, "[", "]")
    if end is None or end == len(source):
        return None
    if source[end] != "(":
        return inside
    close = _closing(source, end + 1, "(", ")")
    if close is None or close == len(source):
        return None
    found = parser().parseInline(source[start:close])[0].children or []
    if (
        not found
        or found[0].type not in ("link_open", "image")
        or found[-1].type not in ("link_close", "image")
    ):
        return inside
    reaches_out = any(mark in token.content for token in found if token.type == "text" for mark in "`<")
    return None if reaches_out else close


def _closing(source: str, start: int, opening: str, closing: str) -> int | None:
    depth, place = 1, start
    while place < len(source):
        if source[place] == "\\":
            place += 1
        elif source[place] in (opening, closing):
            depth += 1 if source[place] == opening else -1
            if depth == 0:
                return place + 1
        place += 1
    return None


def _angle_end(source: str, start: int) -> int | None:
    if _MAYBE_ADDRESS.match(source, start):
        return None
    found = _ADDRESS.match(source, start)
    return found.end() if found else start + 1
