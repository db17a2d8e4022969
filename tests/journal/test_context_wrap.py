"""Saving from several windows at once: nobody's lessons, items or logs are lost, and no id is given twice."""

from __future__ import annotations

import multiprocessing
import re
from datetime import UTC, datetime
from pathlib import Path

from tau.journal.context_answer import ContextSaid, LessonSaid, LogSaid, OpenItemSaid
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
