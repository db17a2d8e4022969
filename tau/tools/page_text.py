"""HTML as Markdown: what a person would see of a page, and nothing that is hidden from them.

As a program it reads from standard input a line with the address and the page, in UTF-8, and writes title and
text as JSON. That is how pages are converted: one that is made to take for ever is stopped with the process.
"""

from __future__ import annotations

import json
import re
import signal
import sys
from collections.abc import Sequence
from typing import Any
from urllib.parse import urljoin, urlsplit

from bs4 import BeautifulSoup, Tag
from bs4.element import NavigableString, PreformattedString
from markdownify import MarkdownConverter

from tau.display import one_line, visible

_NEVER_SEEN = (
    "script", "style", "template", "noscript", "head", "title", "iframe", "object", "embed", "canvas", "svg",
    "math", "audio", "video", "map", "datalist", "input", "select", "textarea", "button", "rp",
)  # fmt: skip
_HIDING_STYLE = re.compile(
    r"display:none|visibility:(?:hidden|collapse)|content-visibility:hidden|color:transparent|transform:scale\(0"
    r"|(?<![a-z-])(?:opacity|font-size|max-height):0*\.?0*(?:[a-z]{2,3}|%)?(?:[;!]|\Z)"
    r"|(?:text-indent|left|top|right|bottom):-\d{3,}|clip:rect\((?:0|1px)|clip-path:inset\((?:50|100)%"
)
_STYLE_NOISE = re.compile(r"\s+|/\*.*?\*/", re.DOTALL)
_UNSEEN = re.compile("[\u00ad\u180e\u200b\u2060-\u2064\ufeff\U000e0000-\U000e007f]")
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n){2,}")
_LANGUAGE = re.compile(r"(?:language|lang|highlight-source|brush)[-:]([A-Za-z0-9+#]{1,20})\Z")

_MOST_TAGS = 200_000
_MOST_CHARS = 10_000_000

# HTML lets authors leave out end tags, which the parser does not know. For the elements whose start implies
# an end: what ends, and what bounds the search for it.
_BLOCKS = (
    "address", "article", "aside", "blockquote", "details", "div", "dl", "fieldset", "figcaption", "figure",
    "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "main", "menu", "nav", "ol", "p",
    "pre", "section", "table", "ul",
)  # fmt: skip
_CELL = (("td", "th"), ("tr", "table"))
_ENTRY = (("dt", "dd"), ("dl",))
_GROUP = (("thead", "tbody", "tfoot"), ("table",))
_PARAGRAPH = (("p",), ("td", "th", "caption", "table", "body"))
_ENDED_BY = {
    "li": (("li",), ("ul", "ol", "menu")),
    "dt": _ENTRY,
    "dd": _ENTRY,
    "tr": (("tr",), ("table",)),
    "td": _CELL,
    "th": _CELL,
    "thead": _GROUP,
    "tbody": _GROUP,
    "tfoot": _GROUP,
    **dict.fromkeys(_BLOCKS, _PARAGRAPH),
}


class TooLarge(ValueError):
    """The page has too many elements or too much text to be read; the message says which."""


def markdown(html: str, *, base: str) -> tuple[str, str]:
    """The title and the text of a page.

    Scripts, styles, comments, form fields, elements that an attribute or their own style hides and characters
    that cannot be seen are left out. Links and images have absolute addresses; those that lead to no other
    page become plain text. A page that is nested too deeply loses its structure, but not its text.

    Args:
        html: The page.
        base: Its address.

    Raises:
        TooLarge: It is unreasonably large.
    """
    soup = _Soup(html)
    title = one_line(_UNSEEN.sub("", soup.title.get_text()), 300) if soup.title else ""
    try:
        text = str(_Converter(_base(soup, base)).convert_soup(soup))
    except RecursionError:
        text = _plain(soup)
    text = visible(_UNSEEN.sub("", text).replace("\xa0", " "))
    return title, _BLANK_LINES.sub("\n\n", text).strip()


class _Soup(BeautifulSoup):
    """A parsed page, with the end tags that its author left out."""

    def __init__(self, html: str) -> None:
        self._tags = 0
        super().__init__(html, "html.parser")

    def handle_starttag(self, name: str, *arguments: Any, **more: Any) -> Tag | None:
        """Called by the parser for the start of every element."""
        self._tags += 1
        if self._tags > _MOST_TAGS:
            raise TooLarge(f"The page has more than {_MOST_TAGS:,} elements, too many to be read")
        ended, bounds = _ENDED_BY.get(name, ((), ()))
        if any(self.open_tag_counter[other] for other in ended):
            open_tag = self.currentTag
            while open_tag is not None and open_tag.name not in bounds:
                if open_tag.name in ended:
                    self.handle_endtag(open_tag.name)
                    break
                open_tag = open_tag.parent
        return super().handle_starttag(name, *arguments, **more)


class _Converter(MarkdownConverter):
    """The library's conversion of what can be seen, with absolute addresses."""

    def __init__(self, base: str) -> None:
        super().__init__(
            heading_style="ATX",
            bullets="-",
            escape_asterisks=False,
            escape_underscores=False,
            code_language_callback=_language,
        )
        self._base = base

    def process_tag(self, node: Tag, parent_tags: Any = None) -> str:
        """Called for every element, from the innermost out."""
        if _is_hidden(node):
            return ""
        if len(str(node.attrs.get("colspan", ""))) > 1:  # a wide cell is written out as so many cells
            del node["colspan"]
        text = str(super().process_tag(node, parent_tags=parent_tags))  # type: ignore[misc]  # not in its stubs
        if len(text) > _MOST_CHARS:
            raise TooLarge(f"The page has more than {_MOST_CHARS:,} characters as text, too many to be read")
        return text

    def process_text(self, el: NavigableString, parent_tags: Any = None) -> str:
        """Called for every text."""
        if isinstance(el, PreformattedString):  # comments and the like
            return ""
        return str(super().process_text(el, parent_tags=parent_tags))  # type: ignore[misc]  # not in its stubs

    def convert_a(self, el: Tag, text: str, parent_tags: Any) -> str:
        """Called for links."""
        el.attrs = {"href": _absolute(self._base, el)}
        return str(super().convert_a(el, text, parent_tags))  # type: ignore[misc]  # not in its stubs

    def convert_img(self, el: Tag, text: str, parent_tags: Any) -> str:
        """Called for images; those without a description are decoration."""
        alt = one_line(str(el.attrs.get("alt", "")), 300)
        source = _absolute(self._base, el, "src")
        if not alt or not source:
            return alt
        el.attrs = {"alt": alt, "src": source}
        return str(super().convert_img(el, text, parent_tags))  # type: ignore[misc]  # not in its stubs


def _is_hidden(tag: Tag) -> bool:
    attributes = tag.attrs
    if tag.name in _NEVER_SEEN or "hidden" in attributes:
        return True
    if str(attributes.get("aria-hidden", "")).strip().lower() == "true":
        return True
    if tag.name == "dialog" and "open" not in attributes:
        return True
    style = attributes.get("style")
    return bool(style) and _HIDING_STYLE.search(_STYLE_NOISE.sub("", str(style).lower())) is not None


def _base(soup: BeautifulSoup, address: str) -> str:
    """What the addresses of a page are relative to."""
    found = soup.find("base", href=True)
    return (_absolute(address, found) if isinstance(found, Tag) else "") or address


def _absolute(base: str, tag: Tag, attribute: str = "href") -> str:
    """An address of an element as an absolute one, or the empty string where it leads to no other page."""
    given = "".join(str(tag.attrs.get(attribute, "")).split())
    if not given or given.startswith("#"):
        return ""
    try:
        joined = urljoin(base, given)
        scheme = urlsplit(joined).scheme
    except ValueError:
        return ""
    if scheme not in ("http", "https", "mailto"):
        return ""
    return joined.replace("(", "%28").replace(")", "%29").replace("<", "%3C").replace(">", "%3E")


def _language(pre: Tag) -> str:
    """The language that a block of code is marked with, or the empty string."""
    for tag in (pre, pre.find("code"), pre.parent):
        names = tag.get("class") if isinstance(tag, Tag) else None
        for name in names or ():
            if match := _LANGUAGE.match(name):
                return match.group(1)
    return ""


def _plain(soup: BeautifulSoup) -> str:
    """The text that can be seen, a line for each piece; for pages that are nested too deeply."""
    pieces = []
    open_nodes: list[Any] = [soup]
    while open_nodes:
        node = open_nodes.pop()
        if isinstance(node, Tag):
            if not _is_hidden(node):
                open_nodes.extend(reversed(node.contents))
        elif not isinstance(node, PreformattedString) and (piece := node.strip()):
            pieces.append(piece)
    return "\n".join(pieces)


def main(arguments: Sequence[str]) -> int:
    """Convert standard input; the argument is the number of seconds that it may take."""
    signal.alarm(int(arguments[0]))  # ends this process also when the one that started it is gone
    base, _, html = sys.stdin.buffer.read().decode("utf-8", "replace").partition("\n")
    try:
        title, text = markdown(html, base=base)
    except TooLarge as error:
        sys.stdout.write(json.dumps({"refused": str(error)}))
    else:
        sys.stdout.write(json.dumps({"title": title, "text": text}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
