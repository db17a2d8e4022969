"""Open items in three tiers: moved by horizon, never dropped, done ones in a quote."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from tau.journal.context_file import new_context
from tau.journal.markdown import Markdown
from tau.journal.open_items import (
    ACTIVE,
    BACKLOG,
    SOMEDAY,
    TIERS,
    add,
    complete,
    finished,
    items,
    move,
    resolve,
)

DAY = "2026-01-15"


def in_a_log(day: str, recap: str) -> bool:
    """As where every day has a log with what was done on it."""
    return True


texts = st.sampled_from(
    ["fix C", "fix C++", "fix C#", "a: b", "# sharp", "- dashed", "ship it", "Ask [Ann]", "1. one"]
)
events = st.lists(
    st.tuples(st.sampled_from(["add", "move", "done", "tick", "complete"]), texts, st.sampled_from(TIERS)),
    max_size=25,
)
FILES = [
    b"",
    new_context("acme", ["checkout"]),
    b"# acme\r\n\r\n## Open items\r\n- [ ] flat one\r\n- [ ] flat two\r\n\r\n## Notes\r\nstay",
    b"# a\n\n## Open items\n\n### Someday/Blocked\n- [ ] waits\n\n#### Theme\n- [ ] themed\n  - [ ] nested\n",
    (
        b"---\nx: 1\n---\n### OPEN items ###\n1. first\n   - [ ] part\n2. second\n\n"
        b"> Done 2025-01-01: old\n\n```\nopen"
    ),
    (
        b"Open items\n----------\n### Backlog\n- [ ] only\n### Active\n- [x] ticked\n  - [ ] part\n"
        b"# After\n- no item"
    ),
    b"## Open items\n### Active\n* [ ] starred\n### Odd\n- [ ] stray\n## Assumptions to validate\n- x\n",
]


def headings(document: Markdown) -> list[str]:
    section = document.section("Open items")
    assert section is not None
    return [
        found.title.replace("Someday/B", "Someday / B")
        for found in document.sections(under=section)
        if found.title.replace("/", " / ").replace("  ", " ") in TIERS
    ]


@given(st.sampled_from(FILES), events)
@settings(max_examples=150, deadline=None)
def test_under_any_order_of_events_no_item_is_lost(data: bytes, happened: list[tuple[str, str, str]]) -> None:
    document = Markdown(data)
    expected = Counter(item.text for item in items(document))
    complete(document)
    done: Counter[str] = Counter()
    for what, text, tier in happened:
        there = [item for item in items(document) if item.text.replace("\\", "") == text]
        if what == "add":
            add(document, text, tier)
            expected[text] = 1
        elif what == "move":
            move(document, text, tier)
            assert not there or any(
                item.tier == tier for item in items(document) if item.text.replace("\\", "") == text
            )
        elif what == "tick" and there:
            document.tick(there[0].item, True)
        elif what == "complete":
            complete(document)
        elif what == "done":
            whole = [document.block(each.item) for each in finished(document, [text])[0]]
            gone, _ = resolve(document, [text], DAY, logged=in_a_log)
            assert len(whole) == len(gone), "what a log can have of it is known before it goes"
            for each in gone:
                assert expected.pop(each.replace("\\", "")) == 1
                done[each] += 1
        assert Counter(item.text.replace("\\", "") for item in items(document)) == +expected
        assert sorted(headings(document)) == sorted(TIERS), "all three, each once, in the order of the file"
    quoted = [line.text for line in document.lines() if line.text.startswith("> Done")]
    for each in done:
        assert any(each.replace("\\", "") in line.replace("\\", "") for line in quoted)
    if data.endswith(b"stay"):
        assert b"## Notes\r\nstay" in document.data


def test_a_short_list_gets_all_three_headings_and_flat_items_go_to_the_backlog() -> None:
    document = Markdown(
        b"# acme\n\n## Open items\n\n- [ ] one thing\n  - [ ] a part of it\n\n## Notes\n\nkept\n"
    )
    complete(document)
    assert document.data == (
        b"# acme\n\n## Open items\n\n### Active\n\n### Backlog\n\n- [ ] one thing\n  - [ ] a part of it\n\n"
        b"### Someday / Blocked\n\n## Notes\n\nkept\n"
    )


def test_a_heading_that_has_no_room_below_it_is_raised() -> None:
    document = Markdown(b"# acme\n\n###### Open items\n\n- [ ] x\n")
    complete(document)
    assert [(each.level, each.title) for each in document.headings()] == [
        (1, "acme"),
        (5, "Open items"),
        *((6, tier) for tier in TIERS),
    ]
    assert [(item.text, item.tier) for item in items(document)] == [("x", BACKLOG)]


def test_what_is_done_is_a_quote_and_no_bullet() -> None:
    document = Markdown(new_context("acme", []))
    add(document, "ship it", ACTIVE)
    add(document, "write docs", BACKLOG)
    gone, left = resolve(document, ["ship it", "never there"], DAY, logged=in_a_log)
    assert gone == ["ship it"]
    assert left == ["“never there” is no open item here"]
    assert [item.text for item in items(document)] == ["write docs"]
    assert b"> Done 2026-01-15: ship it\n" in document.data
    resolve(document, ["write docs"], DAY, logged=in_a_log)
    assert b"> Done 2026-01-15: ship it; write docs\n" in document.data
    add(document, "later", SOMEDAY)
    resolve(document, ["later"], "2026-01-16", logged=in_a_log)
    assert b"2026-01-15" not in document.data
    assert b"> Done 2026-01-16: later\n" in document.data


def test_items_under_a_theme_are_of_the_tier_around_it() -> None:
    document = Markdown(
        b"## Open items\n### Active\n- [ ] one\n#### Checkout\n- [ ] themed\n### Backlog\n"
        b"#### Docs\n- [ ] write\n### Someday / Blocked\n"
    )
    found = [(item.text, item.tier) for item in items(document)]
    assert found == [("one", ACTIVE), ("themed", ACTIVE), ("write", BACKLOG)]
    assert not add(document, "themed", ACTIVE), "it is there already"
    assert add(document, "write", SOMEDAY)
    assert [(item.text, item.tier) for item in items(document)][2] == ("write", SOMEDAY)
    assert b"#### Docs\n" in document.data


def test_an_item_with_an_open_part_stays() -> None:
    document = Markdown(
        b"## Open items\n### Active\n- [x] outer\n  - [ ] inner\n### Backlog\n### Someday / Blocked\n"
    )
    gone, left = resolve(document, ["outer"], DAY, logged=in_a_log)
    assert gone == []
    assert left == ["“outer” stays: something in it is still open"]
    assert [item.text for item in items(document)] == ["outer"]


def test_a_part_without_a_box_is_open_too() -> None:
    data = b"## Open items\n### Active\n- Ship it\n  - Write the docs\n### Backlog\n### Someday / Blocked\n"
    document = Markdown(data)
    stays: tuple[list[str], list[str]] = ([], ["“Ship it” stays: something in it is still open"])
    assert resolve(document, ["Ship it"], DAY, logged=in_a_log) == stays
    assert document.data == data


def test_several_items_are_done_at_once_ticked_ones_too() -> None:
    document = Markdown(
        b"## Open items\n### Active\n- [ ] one\n- [x] two\n- [ ] three\n### Backlog\n- [ ] four\n"
    )
    complete(document)
    gone, left = resolve(document, ["four", "one"], DAY, logged=in_a_log)
    assert (gone, left) == (["one", "two", "four"], [])
    assert [item.text for item in items(document)] == ["three"]
    assert b"> Done 2026-01-15: one; two; four\n" in document.data


def test_a_quote_goes_only_when_a_log_has_what_it_says() -> None:
    by_hand = "> Done 2026-01-10: Paid the invoice, receipt 88123"
    long = "> Done 2026-01-11: Moved the host\n> from db-6 to db-7"
    document = Markdown(f"## Open items\n{by_hand}\n{long}\n\n### Active\n- [ ] x\n- [ ] y\n".encode())
    complete(document)
    asked: list[tuple[str, str]] = []

    def logged(day: str, recap: str) -> bool:
        asked.append((day, recap))
        return len(asked) > 1

    resolve(document, ["x"], DAY, logged=logged)
    assert f"{by_hand}\n{long}\n" in document.data.decode()
    assert asked == [("2026-01-10", "Paid the invoice, receipt 88123")]
    resolve(document, ["y"], "2026-01-16", logged=logged)
    assert asked[1:] == [("2026-01-10", "Paid the invoice, receipt 88123"), (DAY, "x")]
    text = document.data.decode()
    assert (by_hand in text, "> Done 2026-01-15" in text, long in text) == (False, False, True)
    assert "> Done 2026-01-16: y\n" in text
