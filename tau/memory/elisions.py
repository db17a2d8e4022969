"""Lines that stand for others which are not there: `[... existing entries ...]`, `(keep everything else)`.

A model that writes a file anew leaves out what it does not care to repeat, and says so in a line of its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

AROUND = "[](){}<>*_/#!-.…~ \t"
"""What may stand around the words of a line that says nothing by itself."""

_WITHIN = r"[^*\[\](){}<>\s-]|\*(?!/[\s.*_~]*\Z)"
# Nothing in it can match in two ways, so that a long line is read once.
_BRACKETED = (
    r"(?:[\s>*_+#/;~-]*+(<!--|[\[({<])|(?:[\s>*_+#;~-]|/(?!\*))*+/\*)"
    rf"[\s-]*+((?:{_WITHIN}|[\s-]++(?={_WITHIN}))*+)[\s-]*+(?:\*/|[\])}}>])[\s.*_~]*"
)
_DOTS = r"\.\.\.|…"
_OF = r"( of (the |this )?(file|contents?|document|text|memory|notes|list|entries|lines)| of it)?"
_LINES = (
    r"(contents?|lines?|text|sections?|entries|items?|notes|rules|bullets|points|memory|memories|information)"
)
_REST = rf"((all )?(the |my |your )?(rest|remainder){_OF}|(everything|all|anything) else)"
_OTHERS = rf"({_REST}|(all )?(the |my |your )?(other|previous|existing|old|remaining|earlier|prior) {_LINES})"
_AS_IT_IS = (
    r"(unchanged|untouched|the same|as before|as (it |they )?(is|are|was|were)|here|omitted|above|below"
    r"|preserved|intact)"
)
_SAID = (
    rf"(?i){_OTHERS}( is| are| was| were)?( stays?| remains?| kept| left| continues)? {_AS_IT_IS}"
    r"|unchanged|same as (before|above)"
    rf"|(keep|leave|preserve|retain) ({_REST}|{_OTHERS} {_AS_IT_IS})"
    r"|((the|new|whole|full|updated|file) ){0,3}(content|contents|text)( of the file)?( goes| go)? here"
)
_PERHAPS = (
    r"(?i).*\b(rest|remainder|else|others?|existing|previous|remaining|earlier|prior|old)\b.*"
    rf"\b({_AS_IT_IS}|kept)\b.*|.*\b(etc|and so on|and so forth|and more)\W*"
)
_LONGEST = 120
"""Characters of the longest line that is one."""

_MOSTLY = 0.6
"""The share of such words from which on a line in brackets, or with dots, is made of them."""

_OF_OTHERS = (
    "existing previous prior other others rest remaining remainder keep kept unchanged omitted snip snipped "
    "truncated retained preserved untouched continued"
)
_OF_MORE = "earlier more above before same everything old original else etc continues further"
_PARTS_OF_FILES = (
    "line lines content contents entry entries note notes text section sections file files memory memories "
    "item items rule rules bullet bullets point points document part parts list lists data information"
)
_BETWEEN = (
    "the a an of all and any your my this that as is are it they was were stay stays remain remains see here "
    "in place for brevity no not change changes changed shown so on goes go"
)
_STRONG = frozenset(_OF_OTHERS.split())
_SIGNS = _STRONG | frozenset(_OF_MORE.split())
_PARTS = frozenset(_PARTS_OF_FILES.split())
_WORDS = _SIGNS | _PARTS | frozenset(_BETWEEN.split())
_ALONE = frozenset(("existing", "unchanged", "omitted", "snip", "snipped", "truncated", "remaining"))


def is_elision(line: str) -> bool:
    """Whether a line stands for others that are not there, as nothing that a person keeps does."""
    words = line.strip(AROUND)
    if not words:
        return re.search(_DOTS, line.replace(" ", "")) is not None
    if len(words) > _LONGEST:
        return False
    if re.fullmatch(_SAID, words):
        return True
    said = re.findall(r"\w+", words.casefold())
    bracketed = re.fullmatch(_BRACKETED, line)
    if _dotted(line, bracketed) and (bracketed or _share(said) >= _MOSTLY):
        return any(word in _SIGNS for word in said)
    if bracketed is None or not any(word in _STRONG for word in said):
        return False
    if bracketed.group(1) == "[" and len(said) == 1:  # it may be the name of a section
        return said[0] in _ALONE
    return _share(said) == 1 or (_share(said) >= _MOSTLY and any(word in _PARTS for word in said))


def may_be_elision(line: str) -> bool:
    """Whether a line may stand for others, as it may as well be what a person keeps."""
    if len(line) > _LONGEST:
        return False
    said = re.findall(r"\w+", line.casefold())
    bracketed = re.fullmatch(_BRACKETED, line)
    if _dotted(line, bracketed):
        return True
    if bracketed or _share(said) == 1:
        return any(word in _STRONG for word in said)
    return re.fullmatch(_PERHAPS, line) is not None


def _dotted(line: str, bracketed: re.Match[str] | None) -> bool:
    """Whether three dots stand at an end of a line, or of what is in its brackets."""
    within = bracketed.group(2) if bracketed else line.strip("[](){}<>*_/#!-~; \t")
    return re.match(_DOTS, within) is not None or re.search(rf"({_DOTS})$", within) is not None


def _share(said: Sequence[str]) -> float:
    """Which share of words is of those that an elision is made of."""
    return sum(word in _WORDS for word in said) / len(said) if said else 0.0
