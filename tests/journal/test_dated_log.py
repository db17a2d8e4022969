"""Dated logs: a name that is free right before writing, cross-links that lead there, past logs untouched."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest

from tau.journal import dated_log, markdown
from tau.journal.contexts import LogPlace
from tau.journal.dated_log import Done, Record, compose, open_in, says_done, write

DAY = "2026-01-15"
RECORD = Record(
    "Shipped the checkout.",
    decisions=["Took Stripe, not Adyen: fees"],
    open_items=["Test refunds"],
    discoveries=["The sandbox resets at night"],
    assumptions=["Flakiness is timing"],
    files=[("src/pay.py", "the client")],
)


def place(tmp_path: Path) -> LogPlace:
    return LogPlace(tmp_path / ".session-log", there=True)


def test_a_log_has_the_form_of_the_document() -> None:
    assert compose(RECORD, "acme", DAY, [".session-log/beta/2026-01-15.md"]) == (
        "# Session Log — 2026-01-15 · acme\n\n"
        "See also: .session-log/beta/2026-01-15.md\n\n"
        "## What we did\nShipped the checkout.\n\n"
        "## Decisions made\n- Took Stripe, not Adyen: fees\n\n"
        "## Open items\n- [ ] Test refunds\n> As of this day; the list is kept in context.md\n\n"
        "## Discoveries\n- The sandbox resets at night\n\n"
        "## Assumptions to validate\n- Flakiness is timing\n> Their tallies are kept in context.md\n\n"
        "## Files produced\n- `src/pay.py` — the client\n"
    )
    assert "Assumptions" not in compose(Record("x"), "acme", DAY, [])
    assert open_in(compose(RECORD, "acme", DAY, []).encode()) == ["Test refunds"]
    assert open_in(compose(Record("x"), "acme", DAY, []).encode()) == []


BLOCK = "- [x] Rotate the token\n\n  each week\n\n      code kept\n  - [x] part"


def test_a_log_has_all_of_what_is_done_and_none_of_it_is_open() -> None:
    done = [Done("Foo"), Done("Rotate the token", BLOCK), Done("Bar")]
    text = compose(Record("x", open_items=["Baz"], done=done), "acme", DAY, [])
    quoted = "> - [x] Rotate the token\n>\n>   each week\n>\n>       code kept\n>   - [x] part\n"
    assert f"> Done: Foo; Rotate the token; Bar\n>\n{quoted}\n## Discoveries" in text
    assert open_in(text.encode()) == ["Baz"]


def test_logs_say_what_was_done_on_a_day(tmp_path: Path) -> None:
    there = place(tmp_path)
    write(there, {"acme": Record("x", done=[Done("Ship it"), Done("Rotate the token", BLOCK)])}, DAY)
    write(there, {"acme": Record("y", done=[Done("Docs.")]), "beta": Record("z", done=[Done("# 5")])}, DAY)
    assert says_done(there, DAY, "ship it; Docs; \\# 5")
    assert says_done(there, DAY, "Rotate the token")
    for recap, day in (("Ship it; Paid", DAY), ("Ship", DAY), ("each week", DAY), ("Ship it", "2026-01-16")):
        assert not says_done(there, day, recap)
    log = tmp_path / ".session-log/beta/2026-01-15.md"
    log.unlink()
    log.mkdir()
    assert not says_done(there, DAY, "# 5"), "what cannot be read says nothing"


def test_a_second_log_of_a_day_is_a_part_and_the_first_stays(tmp_path: Path) -> None:
    there = place(tmp_path)
    assert write(there, {"acme": RECORD}, DAY) == {"acme": "2026-01-15.md"}
    first = (tmp_path / ".session-log/acme/2026-01-15.md").read_bytes()
    assert write(there, {"acme": Record("Again.")}, DAY) == {"acme": "2026-01-15-part2.md"}
    assert write(there, {"acme": Record("Again.")}, DAY) == {"acme": "2026-01-15-part3.md"}
    assert (tmp_path / ".session-log/acme/2026-01-15.md").read_bytes() == first
    second = (tmp_path / ".session-log/acme/2026-01-15-part2.md").read_text()
    assert "See also: .session-log/acme/2026-01-15.md\n" in second


def test_a_name_that_is_taken_meanwhile_is_left_and_the_links_are_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = place(tmp_path)
    real = markdown.create
    other = tmp_path / ".session-log/beta/2026-01-15.md"

    def create(path: Path, data: bytes, **options: object) -> bool:
        if path.parent.name == "beta" and not other.exists():  # another window saves right before
            other.parent.mkdir()
            other.write_bytes(b"# from another window\n")
        return real(path, data, **options)  # type: ignore[arg-type]  # passed on as they came

    monkeypatch.setattr(markdown, "create", create)
    names = write(there, {"acme": RECORD, "beta": Record("Other work.")}, DAY)
    assert names == {"acme": "2026-01-15.md", "beta": "2026-01-15-part2.md"}
    assert other.read_bytes() == b"# from another window\n"
    acme = (tmp_path / ".session-log/acme/2026-01-15.md").read_text()
    beta = (tmp_path / ".session-log/beta/2026-01-15-part2.md").read_text()
    assert "See also: .session-log/beta/2026-01-15-part2.md\n" in acme
    assert "2026-01-15.md" not in acme.replace("part2", "")
    assert "See also: .session-log/acme/2026-01-15.md\n" in beta


def _write_many(folder: str, who: str, count: int) -> None:
    for number in range(count):
        write(LogPlace(Path(folder), there=True), {"acme": Record(f"{who} {number}")}, DAY)


def test_two_processes_never_share_a_log(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    folder = str(tmp_path / ".session-log")
    workers = [context.Process(target=_write_many, args=(folder, who, 15)) for who in "ab"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    logs = sorted((tmp_path / ".session-log/acme").iterdir())
    assert len(logs) == 30
    said = sorted(
        log.read_text().splitlines()[log.read_text().splitlines().index("## What we did") + 1] for log in logs
    )
    assert said == sorted(f"{who} {number}" for who in "ab" for number in range(15))


def test_the_length_is_said_when_it_is_off() -> None:
    said = "x has 29 lines; under 30 something may have been missed"
    assert dated_log.length("x", b"line\n" * 29, quick=False) == said
    assert dated_log.length("x", b"line\n" * 29, quick=True) == "", "a brief one was wanted"
    assert dated_log.length("x", b"line\n" * 30, quick=False) == ""
    assert dated_log.length("x", b"line\n" * 150, quick=False) == ""
    for quick in (False, True):
        assert (
            dated_log.length("x", b"line\n" * 151, quick=quick)
            == "x has 151 lines; over 150 a log needs cutting"
        )


def test_the_next_part_is_above_all_that_are_there_also_where_one_is_missing(tmp_path: Path) -> None:
    there = place(tmp_path)
    for name in ("2026-01-15.md", "2026-01-15-part5.md", "2026-01-14-part9.md"):
        assert there.create("acme", name, data=b"# earlier\n")
    assert write(there, {"acme": RECORD}, DAY) == {"acme": "2026-01-15-part6.md"}
    log = (tmp_path / ".session-log/acme/2026-01-15-part6.md").read_text()
    assert "See also: .session-log/acme/2026-01-15-part5.md\n" in log


def test_nothing_of_what_a_log_records_is_cut(tmp_path: Path) -> None:
    def long(letter: str) -> str:
        return f"{letter}{' word' * 3_000} end of {letter}"

    parts = [long(letter) for letter in "abcdefghi"]
    record = Record(
        parts[0],
        [parts[1]],
        [parts[2]],
        [parts[3]],
        [parts[4]],
        [(parts[5], parts[6])],
        origin=parts[7],
        done=[Done(parts[8])],
    )
    there = place(tmp_path)
    write(there, {"acme": record}, DAY)
    log = (tmp_path / ".session-log/acme/2026-01-15.md").read_text()
    assert [part[0] for part in parts if part not in log] == []
    assert "…" not in log
    assert says_done(there, DAY, parts[8])
