"""Assumptions: independence counted by code, set back by a counter-example, lessons at three."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tau.journal.assumptions import ENOUGH, drop, graduates, held_back, judge, mark, read, tallies
from tau.journal.markdown import Markdown

DAY = "2026-01-15"
TEXT = "Checkout test flakiness is timing-dependent, not data-dependent"
LINE = f"{TEXT} — seen 2×, last 2026-01-15, 0 counter-examples"


def test_the_line_of_the_document_is_read_and_written() -> None:
    tally = read(LINE)
    assert (tally.text, tally.seen, tally.last, tally.against) == (TEXT, 2, DAY, 0)
    assert tally.line == LINE


@pytest.mark.parametrize(
    "rule", ["Always purge", "Never write <!-- in a list", "- Always `x`", "1. Never -- y"]
)
def test_a_rule_stays_as_it_was_said_however_often_it_is_counted(rule: str) -> None:
    line = replace(read(LINE), rule=rule).line
    for session in ("s1", "s2", "s3"):
        line = read(line).corroborated(session, DAY).line
    assert read(line).rule == rule


@pytest.mark.parametrize(
    ("line", "seen", "against"),
    [
        ("x - seen 3x, last 2026-01-01, 1 counter-example", 3, 1),
        ("x — seen 1×", 1, 0),
        ("just believed", 0, 0),
        ("a — b — seen 4×, last 2026-01-01, 0 counter-examples <!-- sessions: a b -->", 4, 0),
        ("x — seen 2×, last 2026-01-15, 0 counter-examples.", 2, 0),
        ("x — seen 2×, last 2026-01-15, 1 counter-example (see log)", 2, 1),
        ("x — seen 2×, last 2026-01-15, no counter-examples <!-- sessions: a -->", 2, 0),
        ("x — Seen 2×, last 2026-01-15, 2 counter-examples, both by Ann.", 2, 2),
        ("the cache — seen 3x faster", 0, 0),
        ("the cache — seen 3×, as it seems", 0, 0),
    ],
)
def test_lines_that_people_write(line: str, seen: int, against: int) -> None:
    tally = read(line)
    assert (tally.seen, tally.against) == (seen, against)
    if seen:
        again = read(tally.line)
        assert again == tally, "what it says is written as it was read"


def test_what_somebody_wrote_behind_a_tally_stays() -> None:
    document = Markdown(f"## Assumptions to validate\n- {LINE} (see log)\n".encode())
    assert judge(document, TEXT, "corroborated", session=mark("s"), day="2026-02-01") == ""
    assert "seen 3×, last 2026-02-01, 0 counter-examples (see log) <!-- sessions: " in document.data.decode()


BEHIND = "; Ada saw it on staging (PR 12), as seen by Lin"


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        (f"{LINE}{BEHIND}", [BEHIND]),
        (f"{LINE} <!-- Ada: PR 12 -->", ["<!-- Ada: PR 12 -->"]),
        (f"{LINE} <!-- sessions: aa -->  <!-- from outside -->", ["<!-- from outside -->", "aa"]),
        (f"{LINE}{BEHIND} <!-- a --> <!-- sessions: aa --> <!-- b -->", [BEHIND, "<!-- a -->", "<!-- b -->"]),
        (f"{TEXT} <!-- Ada: PR 12 -->", ["<!-- Ada: PR 12 -->"]),
        (f"{TEXT} <!-- sessions: aa bb -->", ["<!-- sessions: aa bb "]),
        (
            f"{LINE} – ask Bob <!-- sessions: aa -->",
            ["seen 3×", " counter-examples – ask Bob <!-- sessions: aa "],
        ),
        (f"{LINE} ask Bob", [" counter-examples ask Bob <!--"]),
        (f"{LINE} <!-- sessions: aa --> see #12", ["counter-examples see #12 <!-- sessions: aa "]),
        (
            "X <!-- see ADR 4 --> for Y — seen 1×, last 2026-01-15, 0 counter-examples",
            ["- X <!-- see ADR 4 --> for Y — seen 2×"],
        ),
        ("Use \\<!-- for it — seen 1×, 0 counter-examples", ["- Use \\<!-- for it — seen 2×"]),
        (
            f"{'x' * 3_000} end — seen 2×, last 2026-01-15, 0 counter-examples",
            ["x" * 3_000, " end — seen 3×"],
        ),
    ],
)
def test_nothing_of_a_line_is_lost_when_it_is_counted_once_more(line: str, kept: list[str]) -> None:
    document = Markdown(f"## Assumptions to validate\n- {line}\n".encode())
    [was] = tallies(document)
    assert judge(document, was.text, "corroborated", session=mark("s"), day="2026-02-01") == ""
    [now] = tallies(document)
    assert (now.text, now.seen) == (was.text, was.seen + 1)
    assert [part for part in kept if part not in document.data.decode()] == []
    assert mark("s") in now.sessions
    assert read(now.line) == now


def test_looking_three_times_in_one_session_is_one_observation() -> None:
    document = Markdown(b"## Assumptions to validate\n")
    judge(document, TEXT, "new", session=mark("s1"), day=DAY)
    for _ in range(3):
        assert "was not counted" in judge(document, TEXT, "corroborated", session=mark("s1"), day=DAY)
    assert [tally.seen for tally in tallies(document)] == [1]
    assert graduates(document) == []


def test_three_sessions_make_a_lesson_and_a_counter_example_sets_back() -> None:
    document = Markdown(f"## Assumptions to validate\r\n- {LINE}\r\n\r\n## Notes\r\nstay".encode())
    assert judge(document, TEXT.upper(), "corroborated", session=mark("s3"), day="2026-02-01") == ""
    assert [(tally.text, tally.seen, tally.last) for tally in graduates(document)] == [
        (TEXT, 3, "2026-02-01")
    ]
    assert judge(document, TEXT, "contradicted", session=mark("s4"), day="2026-02-02") == ""
    assert graduates(document) == []
    assert drop(document, TEXT) == "contradicted", "what was contradicted meanwhile is not taken out"
    [tally] = tallies(document)
    assert (tally.seen, tally.against, tally.last) == (0, 1, "2026-02-02")
    assert document.data.endswith(b"\r\n\r\n## Notes\r\nstay")


def test_a_counter_example_stays_on_record_whatever_is_seen_after_it() -> None:
    document = Markdown(f"## Assumptions to validate\n- {LINE}\n".encode())
    judge(document, TEXT, "contradicted", session=mark("s0"), day=DAY)
    for number in range(1, ENOUGH + 3):
        assert judge(document, TEXT, "corroborated", session=mark(f"s{number}"), day=DAY) == ""
    [tally] = tallies(document)
    assert (tally.seen, tally.against) == (ENOUGH + 2, 1)
    assert graduates(document) == []
    assert drop(document, TEXT) == "contradicted"
    nested = Markdown(f"## Assumptions to validate\n- {tally.line}\n  - as Ann saw\n".encode())
    assert held_back(nested) == [], "nor would it become one without what is nested in it"


def test_one_that_holds_others_stays_with_them() -> None:
    data = f"## Assumptions to validate\n- {TEXT} — seen 3×\n  - as Ann saw\n".encode()
    document = Markdown(data)
    assert graduates(document) == []
    assert [tally.text for tally in held_back(document)] == [TEXT]
    assert drop(document, TEXT) == "added to"
    assert "something nested" in judge(document, TEXT, "disproven", session=mark("s"), day=DAY)
    assert document.data == data


def test_what_is_clearly_wrong_goes() -> None:
    document = Markdown(f"## Assumptions to validate\n- {LINE}\n- other\n".encode())
    assert judge(document, TEXT, "disproven", session=mark("s"), day=DAY) == ""
    assert [tally.text for tally in tallies(document)] == ["other"]


verdicts = st.lists(
    st.tuples(
        st.sampled_from(["new", "corroborated", "contradicted", "disproven"]),
        st.sampled_from(["s1", "s2", "s3", "s4", "s5"]),
        st.sampled_from(["C", "C++", "<!-- sessions: x -->", "a — seen 9×", "# h"]),
    ),
    max_size=30,
)


@given(verdicts)
@settings(max_examples=200, deadline=None)
def test_tallies_under_any_order_of_events(happened: list[tuple[str, str, str]]) -> None:
    document = Markdown(b"# acme\n\n## Facts\n- fact\n")
    model: dict[str, tuple[int, int, set[str]]] = {}
    for verdict, session, text in happened:
        judge(document, text, verdict, session=mark(session), day=DAY)  # type: ignore[arg-type]  # drawn from the verdicts
        if text not in model:
            if verdict in ("new", "corroborated"):
                model[text] = (1, 0, {session})
        elif verdict == "disproven":
            del model[text]
        else:
            seen, against, heard = model[text]
            if verdict == "corroborated" and session not in heard:
                model[text] = (seen + 1, against, heard | {session})
            elif verdict == "contradicted" and not (session in heard and not seen and against):
                model[text] = (0, against + 1, heard | {session})
        there = tallies(document)
        assert sorted((tally.seen, tally.against) for tally in there) == sorted(
            (seen, against) for seen, against, _ in model.values()
        )
        for tally in there:
            assert tally.seen <= len(tally.sessions), "never more than one corroboration a session"
        ready = [text for text, (seen, against, _) in model.items() if seen >= ENOUGH and not against]
        assert len(graduates(document)) == len(ready)
        assert held_back(document) == []
    assert b"## Facts\n- fact\n" in document.data
    for line in document.data.decode().splitlines():
        if "seen" in line:
            assert re.search(
                r"seen \d+×, last 2026-01-15, \d+ counter-examples <!-- sessions: [0-9a-f ]+ -->$", line
            )
