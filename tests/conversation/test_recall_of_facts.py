"""Facts survive compactions whose summary keeps nothing: in the context, and through `recall`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.facts import ELEVEN, facts
from benchmarks.recall import CHATTER, COMPACT, Run, by_hand, measured

SIXTY = facts(60)


@pytest.mark.parametrize("later", [[], [*CHATTER, COMPACT]], ids=["once", "twice"])
@pytest.mark.parametrize("keep_turns", [0, 3])
async def test_eleven_facts_are_in_the_next_request(
    tmp_path: Path, keep_turns: int, later: list[str]
) -> None:
    lines = [*by_hand(ELEVEN, 1), *later]
    run = Run(facts=ELEVEN, lines=lines, keep_turns=keep_turns, compactions=lines.count(COMPACT))
    outcome = await measured(run, tmp_path)
    assert outcome.compactions == run.compactions
    assert outcome.lacking == []
    assert outcome.unfound == []


@pytest.mark.parametrize("keep_turns", [0, 3])
async def test_sixty_facts_are_found_behind_three_compactions(tmp_path: Path, keep_turns: int) -> None:
    run = Run(facts=SIXTY, lines=by_hand(SIXTY, 3), keep_turns=keep_turns, compactions=3)
    outcome = await measured(run, tmp_path)
    assert outcome.compactions == 3
    assert outcome.unfound == []


async def test_they_are_found_behind_compactions_that_came_by_themselves(tmp_path: Path) -> None:
    said = [fact.said for fact in SIXTY]
    outcome = await measured(
        Run(facts=SIXTY, lines=said, keep_turns=3, compactions=3, window=3_000), tmp_path
    )
    assert outcome.compactions >= 3
    assert outcome.unfound == []


async def test_what_recall_cannot_know_is_counted_as_lost(tmp_path: Path) -> None:
    never_said = replace(SIXTY[0], values=("never said",))
    run = Run(facts=[never_said, SIXTY[1]], lines=by_hand(SIXTY[:2], 1), keep_turns=0, compactions=1)
    outcome = await measured(run, tmp_path)
    assert outcome.lacking == outcome.unfound == [never_said]


async def test_a_summary_that_has_the_words_hides_no_message(tmp_path: Path) -> None:
    named = "\n".join(value for fact in ELEVEN[:4] for value in fact.values)
    spoken = "What remains is the slow query; each row is told of once.\n"
    filler = "It goes on.\n" * 60
    notes = f"{spoken}\n{filler}\nThey named:\n{named}"
    run = Run(facts=ELEVEN, lines=by_hand(ELEVEN, 1), keep_turns=0, compactions=1, summary=notes)
    outcome = await measured(run, tmp_path)
    assert outcome.lacking == []
    assert outcome.unfound == []
