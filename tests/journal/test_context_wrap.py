"""Saving from several windows at once: nobody's lessons, items or logs are lost, and no id is given twice."""

from __future__ import annotations

import multiprocessing
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tau.journal import dated_log
from tau.journal.context_answer import AssumptionSaid, ContextSaid, LessonSaid, LogSaid, OpenItemSaid
from tau.journal.context_wrap import ContextWrap
from tau.journal.contexts import LogPlace
from tau.journal.wrapping import WrapSession

NOW = datetime(2026, 1, 15, tzinfo=UTC)
ROUNDS = 6


def _save_many(folder: str, who: str, context: str) -> None:
    for number in range(ROUNDS):
        said = ContextSaid(
            context,
            summary=f"{who} {number}",
            open_items=[OpenItemSaid(f"item of {who} {number}", "Active")],
            lessons=[
                LessonSaid(f"lesson {who} {number}", fix=f"fix {who} {number}", rule=f"rule {who} {number}")
            ],
        )
        session = WrapSession(session_id=f"{who}{number}", called=who, now=NOW, contexts=(context,))
        ContextWrap(LogPlace(Path(folder), there=True), session).save(LogSaid([said]))


def test_four_windows_save_into_two_contexts_at_once(tmp_path: Path) -> None:
    folder = tmp_path / ".session-log"
    start = multiprocessing.get_context("spawn")
    jobs = [("a", "acme"), ("b", "acme"), ("c", "beta"), ("d", "beta")]
    workers = [start.Process(target=_save_many, args=(str(folder), who, context)) for who, context in jobs]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(90)
        assert worker.exitcode == 0
    prefixes = set()
    for context, names in (("acme", "ab"), ("beta", "cd")):
        lessons = (folder / context / "LESSONS.md").read_text()
        ids = re.findall(r"^### ([A-Z]+)-(\d+) — lesson", lessons, re.MULTILINE)
        assert sorted(int(number) for _, number in ids) == list(range(1, 2 * ROUNDS + 1))
        prefixes.add(ids[0][0])
        assert len({prefix for prefix, _ in ids}) == 1
        state = (folder / context / "context.md").read_text()
        assert all(f"- [ ] item of {who} {number}\n" in state for who in names for number in range(ROUNDS))
        assert len(list((folder / context).glob("2026-01-15*.md"))) == 2 * ROUNDS
    assert len(prefixes) == 2, "no two files share a prefix"
    assert not [path for path in folder.rglob("*") if path.name.startswith(".")]


def _saved(folder: Path, *said: ContextSaid, who: str = "a") -> list[str]:
    names = tuple(part.context for part in said)
    wrap = ContextWrap(
        LogPlace(folder, there=True),
        WrapSession(session_id=who, called=who, now=NOW, contexts=names),
    )
    wrap.save(LogSaid(list(said)))
    return [*wrap.lines, *wrap.refused]


def _has(folder: Path, context: str, state: str, lessons: str = "") -> Path:
    (folder / context).mkdir(parents=True)
    (folder / context / "context.md").write_text(state)
    if lessons:
        (folder / context / "LESSONS.md").write_text(lessons)
    return folder / context


def test_two_files_of_one_prefix_never_get_one_id(tmp_path: Path) -> None:
    folder = tmp_path / ".session-log"
    acme = _has(folder, "acme", "# acme\n", "# L\n\nPrefix: ACME\n\n### ACME-4 — x\n**Fix:** a\n")
    beta = _has(folder, "beta", "# beta\n", "# L\n\n### ACME-004 — z\n**Fix:** b\n")
    parts = [
        ContextSaid(name, "s", lessons=[LessonSaid(f"t {name}", fix=name, rule=f"Always {name}")])
        for name in ("acme", "beta")
    ]
    said = _saved(folder, *parts)
    heads = [
        re.findall(r"^### (\S+)", (each / "LESSONS.md").read_text(), re.MULTILINE) for each in (acme, beta)
    ]
    assert heads == [["ACME-4", "ACME-005"], ["ACME-004", "SL-001"]]
    path = ".session-log/{}/LESSONS.md"
    told = "new ids here begin with SL, since .session-log/acme/LESSONS.md has ACME as well"
    assert f"{path.format('beta')}: {told}" in said
    (beta / "LESSONS.md").write_text("# L\n\nIds: ACME-###\n\n### ACME-009 — z\n**Fix:** b\n")
    parts = [
        ContextSaid(name, "s", lessons=[LessonSaid(f"u {name}", fix=f"{name} 2", rule=f"Never {name}")])
        for name in ("acme", "beta")
    ]
    said = _saved(folder, *parts, who="b")
    assert "### ACME-010 — u acme" in (acme / "LESSONS.md").read_text()
    assert "### ACME-011 — u beta" in (beta / "LESSONS.md").read_text()
    for one, other in (("acme", "beta"), ("beta", "acme")):
        told = (
            f"ACME is the prefix of {path.format(other)} as well, as its head says: give one of them another"
        )
        assert f"{path.format(one)}: {told}" in said


def test_what_stands_in_a_done_item_is_in_the_log_and_a_quote_by_hand_stays(tmp_path: Path) -> None:
    folder = tmp_path / ".session-log"
    quote = "> Done 2026-01-10: Paid the invoice of May, receipt no. 88123"
    acme = _has(
        folder,
        "acme",
        f"# acme\n\n## Open items\n\n{quote}\n\n### Active\n\n- [x] Foo\n\n  the token rotates weekly\n\n"
        "      code kept\n\n- [ ] Bar\n",
    )
    _saved(folder, ContextSaid("acme", "s"))
    log = (acme / "2026-01-15.md").read_text()
    assert "> Done: Foo\n>\n> - [x] Foo\n>\n>   the token rotates weekly\n>\n>       code kept\n" in log
    state = (acme / "context.md").read_text()
    assert f"{quote}\n" in state
    assert "> Done 2026-01-15: Foo\n" in state
    assert "weekly" not in state
    (acme / "2026-01-10.md").write_text(f"# Log\n\n## Open items\n> Done: {quote.partition(': ')[2]}\n")
    _saved(folder, ContextSaid("acme", "s", done=["Bar"]), who="b")
    assert quote not in (acme / "context.md").read_text(), "its log has it now"


def test_what_is_ticked_once_the_log_is_written_stays_for_the_next_save(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / ".session-log"
    acme = _has(folder, "acme", "# acme\n\n## Open items\n\n### Active\n\n- [ ] Foo\n\n  ask for Eve\n")
    state = acme / "context.md"
    write = dated_log.write

    def ticked(*given: Any) -> dict[str, str]:
        logs = write(*given)
        state.write_text(state.read_text().replace("- [ ] Foo", "- [x] Foo"))
        return logs

    with monkeypatch.context() as patched:
        patched.setattr(dated_log, "write", ticked)
        said = _saved(folder, ContextSaid("acme", "s"))
    assert "acme: “Foo” stays: it was changed while this was saved" in said
    assert "- [x] Foo\n\n  ask for Eve\n" in state.read_text()
    _saved(folder, ContextSaid("acme", "s"), who="b")
    assert "Eve" not in state.read_text()
    assert "> Done: Foo\n>\n> - [x] Foo\n>\n>   ask for Eve\n" in (acme / "2026-01-15-part2.md").read_text()


TEXT = "Cache is cold at boot"
HELD = (
    f"# acme\n\n## Assumptions to validate\n- {TEXT} — seen 3×, last 2026-01-14, 0 counter-examples; "
    "Ada saw it on staging (PR 12), Lin on prod\n"
)


def test_an_assumption_whose_lesson_cannot_be_written_stays(tmp_path: Path) -> None:
    folder = tmp_path / ".session-log"
    acme = _has(folder, "acme", HELD)
    (acme / "LESSONS.md").mkdir()
    said = _saved(folder, ContextSaid("acme", "s"))
    assert any("was not saved whole" in line and "LESSONS.md" in line for line in said)
    assert not any(line.startswith("Saved session log") for line in said)
    assert HELD.rpartition("\n- ")[2] in (acme / "context.md").read_text()


CRASHES = """
import os, sys
from pathlib import Path
from tests.journal.test_context_wrap import _saved
from tau.journal.context_answer import ContextSaid
left = int(sys.argv[2])
def hook(event, args):
    global left
    if event in ("os.rename", "os.link"):
        left -= 1
        if left < 0:
            os._exit(9)
sys.addaudithook(hook)
_saved(Path(sys.argv[1]), ContextSaid("acme", "s", done=["Ship it"]))
"""


def test_a_graduation_that_is_cut_short_anywhere_loses_nothing(tmp_path: Path) -> None:
    """The process ends right before each write in turn: what was believed and noted is in one of them."""
    ended = []
    for number in range(12):
        folder = tmp_path / str(number) / ".session-log"
        acme = _has(folder, "acme", f"{HELD}\n## Open items\n### Active\n- [ ] Ship it\n")
        ended.append(
            subprocess.run([sys.executable, "-c", CRASHES, str(folder), str(number)], check=False).returncode
        )
        kept = "".join(path.read_text() for path in sorted(acme.glob("*.md")))
        assert TEXT in (acme / "context.md").read_text() + kept.partition("# Lessons")[2]
        assert "Ada saw it on staging (PR 12), Lin on prod" in kept
        assert "Ship it" in kept
        if not ended[-1]:
            break
    assert len(ended) > 3
    assert ended == [9] * (len(ended) - 1) + [0]
    _saved(folder.parent.parent / "0" / ".session-log", ContextSaid("acme", "s"), who="b")
    acme = tmp_path / "0" / ".session-log" / "acme"
    assert TEXT not in (acme / "context.md").read_text()
    assert (acme / "LESSONS.md").read_text().count("###") == 1


def test_three_times_after_a_counter_example_is_no_lesson(tmp_path: Path) -> None:
    folder = tmp_path / ".session-log"
    acme = _has(folder, "acme", HELD)
    _saved(folder, ContextSaid("acme", "s", assumptions=[AssumptionSaid(TEXT, "contradicted")]))
    for who in ("b", "c", "d", "e"):
        seen = AssumptionSaid(TEXT, "corroborated", independent=True, rule="Always warm it")
        _saved(folder, ContextSaid("acme", "s", assumptions=[seen]), who=who)
    assert f"{TEXT} — seen 4×, last 2026-01-15, 1 counter-examples; Ada" in (acme / "context.md").read_text()
    assert not (acme / "LESSONS.md").exists()
