"""Brings the running state of a context up to date: items, assumptions and facts, a line for each change."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from tau.journal import assumptions, context_file, dated_log, open_items
from tau.journal.context_answer import AssumptionSaid, ContextSaid, FactSaid, OpenItemSaid
from tau.journal.context_file import FactChange
from tau.journal.contexts import LogPlace
from tau.journal.dated_log import Done
from tau.journal.markdown import Markdown
from tau.journal.open_items import OpenItem, key
from tau.journal.wrapping import whole


class StateChange:
    """What one session changes.

    Args:
        place: The `.session-log/`, whose logs are read.
        session_id: The session.
        day: Today.
    """

    def __init__(self, place: LogPlace, session_id: str, day: str) -> None:
        self._place = place
        self._mark = assumptions.mark(session_id)
        self._day = day

    def items(
        self,
        document: Markdown,
        wanted: Sequence[OpenItemSaid],
        done: Sequence[str],
        recorded: Container[Done],
    ) -> list[str]:
        """Add items, move them, and take out what is done.

        Args:
            document: Of the context, or what holds across contexts.
            wanted: Items that are to be there.
            done: What the session finished.
            recorded: What the session's logs have; what is ticked or changed since stays for another save.
        """
        open_items.complete(document)
        logged = partial(dated_log.says_done, self._place)

        def has(item: OpenItem) -> bool:
            return Done.of(document, item) in recorded

        gone, told = open_items.resolve(document, done, self._day, logged=logged, recorded=has)
        told += [f"“{whole(text)}” is done" for text in gone]
        for each in wanted:
            if key(each.text) in map(key, gone):
                continue
            there = open_items.find(document, each.text)
            tier = each.tier or open_items.BACKLOG
            if there is None and open_items.add(document, each.text, tier):
                told.append(f"“{whole(each.text)}” is a new open item in {tier}")
            elif there is not None and each.tier and open_items.move(document, each.text, tier):
                told.append(f"“{whole(each.text)}” moved from {there.tier or 'no tier'} to {tier}")
        return told

    def believe(self, document: Markdown, part: ContextSaid, owned: Sequence[str]) -> list[str]:
        """Count what speaks for and against assumptions, and change what holds.

        Args:
            document: Of the context.
            part: What the session says of it.
            owned: Facts that the shared file has.
        """
        told = [line for each in part.assumptions for line in self.judge(document, each)]
        return [*told, *revise(document, part.facts, owned)]

    def judge(self, document: Markdown, said: AssumptionSaid) -> list[str]:
        """Count what the session says of one assumption."""
        if not said.text:
            return []
        is_new = key(said.text) not in {key(tally.text) for tally in assumptions.tallies(document)}
        if said.verdict == "corroborated" and not said.independent and not is_new:
            return [f"“{whole(said.text)}” was not counted once more: nothing could have disagreed"]
        refused = assumptions.judge(
            document, said.text, said.verdict, session=self._mark, day=self._day, rule=said.rule
        )
        became = {
            "new": "is a new assumption",
            "corroborated": "is a new assumption" if is_new else "was seen once more",
            "contradicted": "was contradicted: its count is 0",
            "disproven": "was disproven, so it is no assumption any more",
        }
        return [refused or f"“{whole(said.text)}” {became[said.verdict]}"]


def revise(
    document: Markdown,
    facts: Sequence[FactSaid],
    owned: Sequence[str],
    behind: Mapping[str, str] = MappingProxyType({}),
) -> list[str]:
    """Change what holds, as `context_file.revise`.

    Args:
        document: Of the context, or what holds across contexts.
        facts: What to change.
        owned: Facts that other files own.
        behind: What stands behind facts in the files that they move here from, by `key`.
    """
    changes = [
        FactChange(fact.text, fact.old, fact.section, behind.get(key(fact.text), "")) for fact in facts
    ]
    return context_file.revise(document, changes, owned)
