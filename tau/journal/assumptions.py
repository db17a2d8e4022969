"""Assumptions with their tallies: what counts as seen once more, what sets them back, what makes a lesson."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Literal

from tau.display import one_line
from tau.journal.markdown import WHOLE, Item, Markdown, Section, as_line
from tau.journal.open_items import key

TITLE = "Assumptions to validate"
_TITLES = (TITLE.casefold(), "assumptions")

ENOUGH = 3
"""Independent corroborations without a counter-example that make a lesson of an assumption."""

Verdict = Literal["new", "corroborated", "contradicted", "disproven"]

_MOST_SESSIONS = 20

_FORM = re.compile(
    r"(?P<text>.*?)\s+[—–-]+\s+seen\s+(?P<seen>\d{1,6})\s*[×x](?:,\s*last\s+(?P<last>\d{4}-\d\d-\d\d))?"
    r"(?:,\s*(?P<against>\d{1,6}|no)\s+counter-?examples?\b(?P<tail>(?:(?!\bseen\s+\d).)*+))?[\s.]*",
    re.IGNORECASE,
)
_OPENS = re.compile(r"(?<!\\)<!--")
_SESSIONS = re.compile(r"sessions:(?P<sessions>.*)", re.IGNORECASE)
_SESSIONS_WITHIN = re.compile(r" ?<!-- ?(sessions:[^<>]*)-->", re.IGNORECASE)
_RULE = re.compile(r"rule:\s*(?P<rule>.+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Tally:
    """An assumption and what speaks for it.

    Attributes:
        text: What is assumed, on one line, as the file has it.
        seen: Independent corroborations since the last counter-example.
        last: The day of the newest observation, or empty.
        against: Counter-examples.
        sessions: Marks of the sessions that had a say; each has one.
        tail: What somebody wrote behind the counter-examples, with what parts it from them.
        comments: What stands in other comments behind it.
        rule: What is to be done by it, should it become a lesson; empty when nobody said.
    """

    text: str
    seen: int = 0
    last: str = ""
    against: int = 0
    sessions: tuple[str, ...] = ()
    tail: str = ""
    comments: tuple[str, ...] = ()
    rule: str = ""

    @property
    def graduates(self) -> bool:
        """Whether it has become a lesson."""
        return self.seen >= ENOUGH and not self.against

    @property
    def line(self) -> str:
        """As it stands in a file, without the marker of an item."""
        day = f", last {self.last}" if self.last else ""
        heard = [f"sessions: {' '.join(self.sessions)}"] if self.sessions else []
        rule = [f"rule: {one_line(self.rule.replace('-->', '-- >'), WHOLE)}"] if self.rule else []
        comments = "".join(f" <!-- {comment} -->" for comment in [*self.comments, *rule, *heard])
        tally = f"seen {self.seen}×{day}, {self.against} counter-examples{self.tail}"
        return f"{self.text} — {tally}{comments}"

    def corroborated(self, session: str, day: str) -> Tally:
        """Seen once more, unless this session had its say already: what it sees again is the same thing."""
        if session in self.sessions:
            return self
        return replace(self, seen=self.seen + 1, last=day, sessions=self._with(session))

    def contradicted(self, session: str, day: str) -> Tally:
        """Set back: one counter-example outweighs what was seen before it. A session says so once."""
        if session in self.sessions and not self.seen and self.against:
            return self
        return replace(self, seen=0, last=day, against=self.against + 1, sessions=self._with(session))

    def _with(self, session: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*self.sessions, session]))[-_MOST_SESSIONS:]


def mark(session_id: str) -> str:
    """What stands for a session in a tally."""
    return sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()[:10]


def read(text: str) -> Tally:
    """An assumption as a file has it; without a tally it was never seen."""
    flat = " ".join(text.split())
    flat, said = _parted(flat)
    comments = tuple(each for each in said if not (_SESSIONS.fullmatch(each) or _RULE.fullmatch(each)))
    rule = next((of["rule"] for each in said if (of := _RULE.fullmatch(each))), "")
    found = _FORM.fullmatch(flat)
    tail = found["tail"] or "" if found is not None else ""
    said = [*_SESSIONS_WITHIN.findall(tail), *said]
    tail = _SESSIONS_WITHIN.sub("", tail)
    heard = [mark for each in said if (of := _SESSIONS.fullmatch(each)) for mark in of["sessions"].split()]
    if found is None:
        return Tally(flat, sessions=tuple(dict.fromkeys(heard)), comments=comments, rule=rule)
    return Tally(
        found["text"],
        int(found["seen"]),
        found["last"] or "",
        int(found["against"]) if (found["against"] or "").isdecimal() else 0,
        tuple(dict.fromkeys(heard)),
        tail.rstrip(),
        comments,
        rule,
    )


def _parted(line: str) -> tuple[str, list[str]]:
    """What stands before the comments with which a line ends, and what they say."""
    said: list[str] = []
    begin = end = 0
    while opens := _OPENS.search(line, end):
        if not said or line[end : opens.start()].strip(" ."):
            begin, said = opens.start(), []
        closes = line.find("-->", opens.end())
        if closes < 0:
            return line, []
        said.append(line[opens.end() : closes].strip())
        end = closes + len("-->")
    return (line[:begin].rstrip(), said) if said and not line[end:].strip(" .") else (line, [])


def tallies(document: Markdown) -> list[Tally]:
    """The assumptions of a context."""
    return [tally for _, tally in _found(document)]


def sections(document: Markdown) -> list[Section]:
    """The sections that assumptions stand in, also where the heading says no more than that they are some."""
    return [each for each in document.sections() if each.title.strip().casefold() in _TITLES]


def judge(document: Markdown, text: str, verdict: Verdict, *, session: str, day: str, rule: str = "") -> str:
    """Take what a session says of an assumption.

    Args:
        document: Of the context.
        text: The assumption, in the words that it has there if it is there.
        verdict: What is said of it. One that is not there yet is new, seen once.
        session: The mark of the session.
        day: Today.
        rule: What is to be done by it, where that was said; it is kept with one that has none.

    Returns:
        Why it did not count, or the empty string.
    """
    found = next(((item, tally) for item, tally in _found(document) if key(tally.text) == key(text)), None)
    if found is None:
        if verdict in ("contradicted", "disproven"):
            return f"“{text}” is no assumption here"
        section = next(iter(sections(document)), None) or document.add_section(TITLE, 2)
        new = Tally(as_line(text, WHOLE), rule=rule).corroborated(session, day)
        document.append(section, f"- {new.line}")
        return ""
    item, tally = found
    match verdict:
        case "disproven":
            if item.holds_more:
                return f"“{tally.text}” was disproven and stays: it has something nested in it"
            document.remove(item)
            return ""
        case "contradicted":
            now = tally.contradicted(session, day)
        case "corroborated":
            now = tally.corroborated(session, day)
        case "new":
            return f"“{tally.text}” is an assumption here already"
    if now == tally:
        return f"“{tally.text}” was not counted once more: this session had its say already"
    document.replace(item, replace(now, rule=now.rule or rule).line)
    return ""


def graduates(document: Markdown) -> list[Tally]:
    """The assumptions that have become lessons."""
    return [tally for item, tally in _found(document) if tally.graduates and not item.holds_more]


def held_back(document: Markdown) -> list[Tally]:
    """Those that would have become lessons, but for what is nested in them and would go with them."""
    return [tally for item, tally in _found(document) if tally.graduates and item.holds_more]


def drop(document: Markdown, text: str) -> str:
    """Take out an assumption that has become a lesson, if it still is one.

    Returns:
        Why it stays, in a word; empty when it is out.
    """
    for item, tally in _found(document):
        if key(tally.text) == key(text):
            if not tally.graduates:
                return "contradicted"
            if item.holds_more:
                return "added to"
            document.remove(item)
            return ""
    return ""


def _found(document: Markdown) -> list[tuple[Item, Tally]]:
    listed = {item.first: item for section in sections(document) for item in document.items(section)}
    return [(item, read(item.text)) for item in listed.values() if not item.depth and item.text.strip()]
