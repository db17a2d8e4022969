"""`LESSONS.md`: ids that never collide, the banner that wins, the archive."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tau.journal import assumptions, lessons_file
from tau.journal.lessons_file import (
    Lesson,
    append,
    archive,
    candidate,
    entries,
    free_prefix,
    of_assumption,
    prefix,
    prefix_beside,
    says_already,
)
from tau.journal.markdown import Markdown

DAY = "2026-01-15"
LESSON = Lesson(
    "Pin the clock in time based tests", "Mending checkout", "", "Freeze time", "Always freeze time"
)
FORM = """### SL-003 — Pin the clock in time based tests
**Date:** 2026-01-15
**Context:** Mending checkout
**What failed:** N/A — validated pattern
**Fix:** Freeze time
**Prevention rule:** Always freeze time

---
"""
FILE = b"""# Lessons

### SL-001 \xe2\x80\x94 First
**Date:** 2025-11-01
**Fix:** a
**Prevention rule:** Never guess
---

## Archived \xe2\x80\x94 compacted

### SL-002 \xe2\x80\x94 Second
**Prevention rule:** Old
"""


def test_an_entry_has_the_form_of_the_document_and_an_id_that_is_free_in_the_archive_too() -> None:
    document = Markdown(FILE)
    assert append(document, LESSON, "SL", DAY) == "SL-003"
    before, _, after = document.data.decode().partition(FORM)
    assert (before + after).replace("\n", "") == FILE.decode().replace("\n", "")
    assert after.lstrip().startswith("## Archived")
    assert [entry.id for entry in entries(document)] == ["SL-001", "SL-003", "SL-002"]
    assert [entry.archived for entry in entries(document)] == [False, False, True]


def test_the_banner_wins_over_entries_and_entries_over_the_default() -> None:
    assert prefix(Markdown(FILE)) == "SL"
    assert prefix(Markdown(b"# Lessons\n\n> Ids here: ACME-###\n\n### SL-001 - x\n")) == "ACME"
    assert prefix(Markdown(b"# Lessons\n\nPrefix: `ACME`, see ISO-8601\n\n### SL-001 - x\n")) == "ACME"
    assert prefix(Markdown(b"# Lessons\n\nThe ids go on from ACME-041.\n")) == "ACME"
    assert prefix(Markdown(b"# Lessons\n\nEach id is unique, see README.\n")) == ""
    assert prefix(Markdown(b"# Lessons\n\nIds: MY-APP-###\n")) == "MY-APP"
    assert prefix(Markdown(b"# Lessons\n\nIds: acme-###\n\n### SL-001 - x\n")) == "acme"
    assert prefix(Markdown(b"# Lessons\n\nPrefix: `acme`\n")) == "acme"
    assert (
        prefix(Markdown(b"# Lessons\n\nThe prefix of this file is free.\n\n### my-app-007 - x\n")) == "my-app"
    )
    assert prefix(Markdown(b"# Lessons\n\nThe ids go on from my-app-041.\n")) == "my-app"
    for closed in (
        "Do not add new lessons here",
        "Please do not append to this file",
        "**Do not add anything**",
        "Do not add lessons to this file.",
        "Do not append entries to this file without asking Ann.",
        "Do not add more lessons here until the review is over.",
        "This file is frozen",
        "No new lessons here, please.",
    ):
        assert lessons_file.closed(Markdown(f"# Lessons\n\n> {closed}\n".encode())), closed
    for open_ in (
        "Do not add secrets or customer names.",
        "Do not add lessons about customers.",
        "Do not add lessons to this file that name customers.",
        "Do not add lessons here before reading those that are there.",
        "Do not append to the list by hand.",
        "Do not add entries below the archive.",
        "No new lessons about customers.",
    ):
        assert not lessons_file.closed(Markdown(f"# Lessons\n\n> {open_}\n".encode())), open_
    assert lessons_file.closed(Markdown(b"# Lessons\n\n> Frozen. Do not append.\n"))
    assert not lessons_file.closed(Markdown(FILE + b"\nThis file is frozen\n"))
    assert not lessons_file.closed(Markdown(b"# Lessons of Frozen Foods\n\nDo not edit past entries.\n"))


def test_an_id_that_is_in_the_file_in_any_form_is_not_given_again() -> None:
    archived = b"\n## Archived\n\n- SL-002 \xe2\x80\x94 old\n- sl-007: older\n- XSL-050, SL-60x\n"
    document = Markdown(b"# Lessons\n\n### SL-001 - x\n" + archived)
    assert append(document, LESSON, "SL", DAY) == "SL-008"
    document = Markdown(b"# Lessons\n\nIds: my-app-###\n\n### my-app-3 - x\n")
    assert append(document, LESSON, "my-app", DAY) == "my-app-004"
    assert [entry.id for entry in entries(document)] == ["my-app-3", "my-app-004"]


@pytest.mark.parametrize("failed", ["", "N/A", "n/a.", "N/A – validated pattern", "None"])
def test_what_did_not_fail_has_the_words_of_the_document(failed: str) -> None:
    document = Markdown(FILE)
    append(document, replace(LESSON, failed=failed), "SL", DAY)
    assert FORM in document.data.decode()


def test_a_title_has_at_most_eight_words() -> None:
    document = Markdown(FILE)
    append(document, replace(LESSON, title="one two three four five six seven eight nine"), "SL", DAY)
    assert [entry.title for entry in entries(document)][1] == "one two three four five six seven eight"


def test_no_two_files_share_a_prefix() -> None:
    assert free_prefix("acme", ["sl"]) == "ACME"
    assert free_prefix("acme", []) == "SL"
    assert free_prefix("Acme Corp", ["SL"]) == "ACMECORP"
    assert free_prefix("acme", ["SL", "ACME"]) == "ACME1"
    assert free_prefix("größe 2", ["SL"]) == "GRSSE2"
    assert free_prefix("日本", ["SL"]) == "L"


@pytest.mark.parametrize(
    ("own", "other", "prefix", "identity", "said"),
    [
        ("", "", "SL", "SL-001", ""),
        ("### SL-004 - x", "### ACME-9 - x", "SL", "SL-005", ""),
        ("### ACME-004 - x", "Ids: ACME-###", "SL", "SL-001", "beta has ACME as well"),
        ("### SL-004 - x", "### sl-009 - x", "ACME", "ACME-001", "beta has SL as well"),
        ("### SL-1 - x\n### ACME-1 - y", "### SL-9 - x", "ACME", "ACME-002", ""),
        ("Ids: ACME-###\n\n### ACME-004 - x", "### ACME-009 - x", "ACME", "ACME-010", ""),
        ("Ids: ACME-###", "Prefix: `acme`\n\n### acme-7 - x", "ACME", "ACME-008", "prefix of beta as well"),
        ("## Archived\n\n### SL-003 - x", "Ids: SL-###", "ACME", "ACME-001", "beta has SL as well"),
    ],
)
def test_what_two_files_do_when_they_have_one_prefix(
    own: str, other: str, prefix: str, identity: str, said: str
) -> None:
    document, others = Markdown(f"# L\n\n{own}\n".encode()), {"beta": Markdown(f"# L\n\n{other}\n".encode())}
    found, clash = prefix_beside(document, "acme", others)
    assert (found, bool(clash)) == (prefix, bool(said))
    assert said in clash
    assert append(document, LESSON, found, DAY, others.values()) == identity
    assert prefix_beside(document, "acme", others)[0] == found, "the next one has it, too"


def test_all_that_stood_behind_an_assumption_is_in_its_lesson() -> None:
    line = (
        "Cache is cold at boot — seen 3×, last 2026-01-15, 0 counter-examples; Ada saw it (PR 12), Lin too "
        "<!-- sessions: aa bb --> <!-- noted after content from outside -->"
    )
    document = Markdown(b"# L\n")
    lesson = of_assumption(assumptions.read(line), "")
    append(document, lesson, "SL", DAY)
    assert (
        "**Context:** An assumption that held 3× independently, last 2026-01-15; Ada saw it (PR 12), Lin too"
        "; noted after content from outside\n"
    ) in document.data.decode()
    assert "**Fix:** Cache is cold at boot\n" in document.data.decode()
    assert "**Prevention rule:** Always count on this: Cache is cold at boot\n" in document.data.decode()
    assert says_already(document, lesson) == "SL-001"
    assert of_assumption(assumptions.read(line), "Always warm it").rule == "Always warm it"
    assert of_assumption(assumptions.read("Never fork a pool"), "").rule == "Never fork a pool"
    long = of_assumption(assumptions.read(line.replace("Ada saw it", "x" * 3_000)), "")
    append(document, long, "SL", DAY)
    assert "x" * 3_000 + " (PR 12), Lin too" in document.data.decode()


def test_a_new_file_names_its_prefix() -> None:
    document = Markdown(lessons_file.new_file("acme", "ACME"))
    assert prefix(document) == "ACME"
    assert append(document, LESSON, "ACME", DAY) == "ACME-001"


def test_what_is_there_is_not_written_again() -> None:
    document = Markdown(FILE)
    assert says_already(document, Lesson("Other", "", "", "b", "never GUESS")) == "SL-001"
    assert says_already(document, Lesson("Other", "", "", "a", "x")) == "", "what worked once has two rules"
    assert says_already(document, Lesson("Other", "", "", "A", "x", graduated=True)) == "SL-001"
    assert says_already(document, LESSON) == ""
    graduated = Lesson("Other", "", "", "b", "Never guess", graduated=True)
    assert says_already(document, graduated) == "", "an assumption is in the file only by its own words"


def test_an_entry_is_archived_with_its_id_and_a_note() -> None:
    document = Markdown(FILE)
    assert archive(document, "SL-001", DAY)
    assert not archive(document, "SL-001", DAY)
    text = document.data.decode()
    assert text.index("## Archived") < text.index("### SL-002") < text.index("### SL-001")
    assert "### SL-001 — First\nCompacted into rules.md on 2026-01-15\n**Date:** 2025-11-01\n" in text
    assert append(document, LESSON, "SL", DAY) == "SL-003"


FENCED = """# Lessons

```md
## Archived example
### SL-050 — Title
```

### SL-001 — A
**Date:** 2026-01-01
**Fix:** run this:
```sh
# first purge
## Archived by hand
purge --all
```
**Prevention rule:** Always purge

---

### SL-002 — B
**Prevention rule:** Always back up
"""


def test_what_stands_in_code_is_no_heading_and_tears_nothing_apart() -> None:
    document = Markdown(FENCED.encode())
    first, second = entries(document)
    assert (first.id, first.rule, first.archived, second.archived) == ("SL-001", "Always purge", False, False)
    assert append(document, LESSON, "SL", DAY) == "SL-051"
    assert document.data.decode() == f"{FENCED}\n{FORM.replace('SL-003', 'SL-051')}"
    document = Markdown(FENCED.encode())
    assert archive(document, "SL-001", DAY)
    body = FENCED[FENCED.index("**Date:**") : FENCED.index("\n---")]
    assert f"### SL-001 — A\nCompacted into rules.md on {DAY}\n{body}" in document.data.decode()
    assert [(entry.id, entry.archived) for entry in entries(document)] == [
        ("SL-002", False),
        ("SL-001", True),
    ]


def test_code_that_is_not_closed_hides_no_entry() -> None:
    document = Markdown(b"# L\n\n### SL-001 - A\n```\n### SL-002 - B\n**Prevention rule:** Always b\n")
    assert [(entry.id, entry.rule) for entry in entries(document)] == [("SL-001", ""), ("SL-002", "Always b")]


def test_only_what_has_held_for_thirty_days_becomes_a_rule() -> None:
    document = Markdown(FILE)
    entry, why = candidate(document, "SL-001", date(2025, 12, 1))
    assert entry is not None
    assert not why
    assert "is only 29 days old" in candidate(document, "SL-001", date(2025, 11, 30))[1]
    assert "not archived" in candidate(document, "SL-002", date(2026, 1, 1))[1]
    assert "not archived" in candidate(document, "SL-009", date(2026, 1, 1))[1]


@given(st.lists(st.sampled_from(["append", "archive first", "archive last"]), max_size=12), st.booleans())
@settings(max_examples=80, deadline=None)
def test_ids_never_collide(happened: list[str], crlf: bool) -> None:
    data = FILE.replace(b"\n", b"\r\n") if crlf else FILE
    document = Markdown(data)
    given_out = {"SL-001", "SL-002"}
    for number, what in enumerate(happened):
        live = [entry.id for entry in entries(document) if not entry.archived]
        if what == "append":
            identity = append(document, Lesson(f"t{number}", "", "", f"f{number}", f"r{number}"), "SL", DAY)
            assert identity not in given_out
            given_out.add(identity)
        elif live:
            assert archive(document, live[0 if what.endswith("first") else -1], DAY)
        ids = [entry.id for entry in entries(document)]
        assert sorted(ids) == sorted(given_out)
        assert len(set(ids)) == len(ids)
