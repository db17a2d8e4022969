"""Reads the events of a session of the ``file`` store: its lines, and those it lost from the log."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

from tau.sessions import file_system as fs
from tau.sessions.file_damage import DamageSeen
from tau.sessions.file_folder import EVENTS_PART, Folder
from tau.sessions.file_journal import Journal
from tau.sessions.file_journal_lines import EVENT
from tau.sessions.file_records import is_object
from tau.sessions.plain_json import NotJson, decode_object

_TAIL_BYTES = 1 << 16


class FileEvents:
    """The events of a session.

    Args:
        folder: The session's open folder.
        journal: Its log.
        damage: Where it is noted that lines are no events.
    """

    def __init__(self, folder: Folder, journal: Journal, damage: DamageSeen) -> None:
        self._folder = folder
        self._journal = journal
        self._damage = damage

    def read(self, limit: int | None) -> list[dict[str, Any]]:
        """The newest events, at most `limit` of them; None for all."""
        if limit is not None and limit <= 0:
            return []
        missing = self.missing()
        own = None if limit is None else max(limit - len(missing), 0)
        lines = self._lines(own) + missing
        events: list[dict[str, Any]] = []
        bad = 0
        for line in lines:
            try:
                events.append(decode_object(line))
            except NotJson:
                bad += bool(line.strip())
        if bad:
            self._damage.note(EVENTS_PART, f"{bad} lines cut short" if bad > 1 else "1 line cut short")
        return events if limit is None else events[-limit:]

    def missing(self) -> list[bytes]:
        """Lines of events that the log has and ``events.jsonl`` lost, in order."""
        with self._folder.reading(EVENTS_PART):
            last = self._journal.latest(EVENT)
            if last is None:
                return []
            line = last.body + b"\n"
            try:
                descriptor = fs.open_file(EVENTS_PART, self._folder.root)
            except FileNotFoundError:
                there = b""
            else:
                try:
                    if fs.read_at(descriptor, last.header.key, len(line)) == line:
                        return []
                    there = fs.read_all(descriptor)
                finally:
                    os.close(descriptor)
            left = Counter(there.split(b"\n"))
            missing = []
            logged = {
                (header.key, bytes(body)): None
                for header, _begin, body in self._journal.scan_bodies()
                if header.kind == EVENT
            }
            for _key, body in logged:
                if left[body]:
                    left[body] -= 1
                else:
                    missing.append(body)
            return missing

    def _lines(self, limit: int | None) -> list[bytes]:
        """Whole lines of ``events.jsonl``, at least the last `limit` sound ones of them."""
        if limit == 0:
            return []
        with self._folder.reading(EVENTS_PART):
            try:
                descriptor = fs.open_file(EVENTS_PART, self._folder.root)
            except FileNotFoundError:
                return []
            try:
                size = os.fstat(descriptor).st_size
                window = size if limit is None else _TAIL_BYTES
                while True:
                    start = max(0, size - window)
                    lines = fs.read_at(descriptor, start, size - start).split(b"\n")[:-1]
                    if start == 0:
                        return lines
                    lines = lines[1:]
                    if limit is not None and sum(map(is_object, lines[-2 * limit :])) >= limit:
                        return lines[-2 * limit :]
                    window *= 8
            finally:
                os.close(descriptor)
