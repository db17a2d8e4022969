"""Memory against a plain dictionary: whatever is done in whatever order, they hold the same."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tau.config.settings import Places
from tau.errors import MemoryRefused
from tau.memory import documents, proposals
from tau.memory.applying import MemoryChanged
from tau.memory.entries import WRITTEN, Source
from tau.memory.history import History
from tau.memory.places import find
from tau.memory.project import ensure
from tau.memory.remembering import remember
from tau.memory.undone import UndoRefused
from tests.memory.test_history import on_disk

Files = dict[str, bytes]

TITLES = st.sampled_from(["global/a.md", "project/a.md", "project/b.md"])
TEXTS = st.sampled_from(["one", "two\nlines", "one\n\n", "three\r\nlines", "ü"])
NOT_UTF_8 = b"\xff\x00"
BYTES = st.sampled_from([b"", b"one\n", b"one", b"two\r\nlines\r\n", NOT_UTF_8])
SOURCE = Source("s", 1, "manual")
EDIT = Source("s", 1, "edit")


@dataclass
class Made:
    """A change that was made: what its files held before and after; absent when they were not there."""

    before: dict[str, bytes | None]
    after: dict[str, bytes | None]
    undone: bool = False


def written(text: str, before: bytes | None) -> bytes:
    """What a text is in a file, which ends its lines as the one before did."""
    data = text.replace("\r\n", "\n").strip("\n").encode() + b"\n"
    returns = before is not None and before.count(b"\n") == before.count(b"\r\n") > 0
    return data.replace(b"\n", b"\r\n") if returns else data


class Memory(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        in_memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.top = Path(tempfile.mkdtemp(dir=in_memory)).resolve()
        (self.top / "p").mkdir()
        self.history = self.opened()
        (self.history.where.memory / "project.md").unlink()
        self.files: Files = {}
        self.made: list[Made] = []

    def opened(self) -> History:
        places = Places(data=self.top / "data", state=self.top / "state", config=self.top / "config")
        return History(ensure(find(self.top / "p", places))[0], places.state)

    def teardown(self) -> None:
        shutil.rmtree(self.top)

    def path(self, title: str) -> Path:
        scope, name = title.split("/")
        return (self.history.where.shared if scope == "global" else self.history.where.memory) / name

    def changed(self, after: dict[str, bytes | None]) -> None:
        """Tell the model of a change that was made."""
        before = {title: self.files.get(title) for title in after}
        self.made.append(Made(before, after))
        self.put(after)

    def put(self, contents: dict[str, bytes | None]) -> None:
        for title, data in contents.items():
            if data is None:
                self.files.pop(title, None)
            else:
                self.files[title] = data

    @rule(title=TITLES, text=TEXTS, replace=st.booleans())
    def remember(self, title: str, text: str, replace: bool) -> None:
        before = self.files.get(title)
        data = written(text, before)
        if before is not None and not replace and data != before:
            with pytest.raises(MemoryRefused, match="already"):
                remember(self.history, title, text, replace=False, source=SOURCE)
            return
        if before == NOT_UTF_8:
            with pytest.raises(MemoryRefused, match="not UTF-8"):
                remember(self.history, title, text, replace=True, source=SOURCE)
            return
        done = remember(self.history, title, text, replace=replace, source=SOURCE)
        if data == before:
            assert (done.kind, done.entry) == ("unchanged", None)
            return
        assert done.kind == ("added" if before is None else "updated")
        self.changed({title: data})

    @rule(title=TITLES)
    def forget(self, title: str) -> None:
        if title not in self.files:
            with pytest.raises(MemoryRefused, match="to delete"):
                remember(self.history, title, "", replace=False, source=SOURCE)
            return
        assert remember(self.history, title, "", replace=False, source=SOURCE).kind == "removed"
        self.changed({title: None})

    @rule(title=TITLES, data=BYTES)
    def edit_by_hand(self, title: str, data: bytes) -> None:
        self.path(title).parent.mkdir(parents=True, exist_ok=True)
        self.path(title).write_bytes(data)
        self.files[title] = data

    @rule(title=TITLES)
    def delete_by_hand(self, title: str) -> None:
        self.path(title).unlink(missing_ok=True)
        self.files.pop(title, None)

    @rule(
        wanted=st.dictionaries(TITLES, TEXTS | st.none(), min_size=1),
        by_hand=st.none() | st.tuples(TITLES, BYTES),
    )
    def refine(self, wanted: dict[str, str | None], by_hand: tuple[str, bytes] | None) -> None:
        """A refinement reads, a person may write meanwhile, and then it is carried out, or refused."""
        read = documents.read(self.history.where)[0]
        operations: list[dict[str, str]] = []
        expected: dict[str, bytes | None] = {}
        for title, text in wanted.items():
            before = self.files.get(title)
            operation = {"file": title, "action": "delete", "sentence": "mended"}
            if text is not None:
                operation |= {"action": "write", "content": text}
                if before is None or before.strip() != written(text, before).strip():
                    expected[title] = written(text, before)
            elif before is not None:
                expected[title] = None
            else:
                continue
            operations.append(operation)
        proposed = proposals.parse(json.dumps(operations))
        if any(self.files.get(operation.title) == NOT_UTF_8 for operation in proposed):
            with pytest.raises(proposals.ProposalInvalid, match="is not UTF-8"):
                proposals.check(proposed, read)
            return
        checked = proposals.check(proposed, read)
        assert checked.wanted == expected
        if by_hand is not None:
            self.edit_by_hand(*by_hand)
        stale = by_hand is not None and by_hand[0] in expected and by_hand[1] != self.before(read, by_hand[0])

        def carry_out() -> object:
            return self.history.change(
                checked.wanted, sentences=checked.sentences, source=SOURCE, expected=checked.expected
            )

        if stale:
            with pytest.raises(MemoryChanged):
                carry_out()
        elif expected:
            assert carry_out() is not None
            self.changed(expected)
        else:
            assert carry_out() is None

    def before(self, read: list[documents.Document], title: str) -> bytes | None:
        return next((document.data for document in read if document.title == title), None)

    @precondition(lambda self: self.made)
    @rule()
    def walk_back(self) -> None:
        """As far as it goes."""
        while (made := self.standing()) and not self.differing(made):
            self.undo(peek=False)
        self.undo(peek=False)

    def standing(self) -> Made | None:
        return next((each for each in reversed(self.made) if not each.undone), None)

    def differing(self, made: Made) -> list[str]:
        return [t for t in made.after if self.files.get(t) not in (made.before[t], made.after[t])]

    @precondition(lambda self: self.made)
    @rule(peek=st.booleans())
    def undo(self, peek: bool) -> None:
        made = self.standing()
        if made is None:
            with pytest.raises(MemoryRefused, match="no change of memory to undo"):
                self.history.undo(peek=peek)
            return
        now = {title: self.files.get(title) for title in made.after}
        if differing := self.differing(made):
            with pytest.raises(UndoRefused) as refused:
                self.history.undo(peek=peek)
            assert [edit.title for edit in refused.value.edits] == sorted(differing)
            for edit in refused.value.edits:
                for path, kept in ((edit.path_written, made.after), (edit.path_before, made.before)):
                    assert (path.read_bytes() if path else None) == kept[edit.title]
            return
        undone = self.history.undo(peek=peek)
        changing = {t for t in now if now[t] != made.before[t]}
        assert {*undone.restored} == {t for t in changing if made.before[t] is not None}
        assert {*undone.removed} == {t for t in changing if made.before[t] is None}
        assert {*undone.already} == {*now} - changing
        if not peek:
            made.undone = True
            self.put(made.before)

    @precondition(lambda self: self.standing())
    @rule()
    def undo_over_edits(self) -> None:
        """The change is gone, and what was edited since is kept byte for byte."""
        made = self.standing()
        assert made is not None
        edited = {title: self.files.get(title) for title in self.differing(made)}
        kept = self.history.undo(going_over=EDIT).kept
        made.undone = True
        self.put(made.before)
        if not edited:
            assert kept is None
            return
        assert kept is not None
        for change in kept.changes:
            path = change.copy(WRITTEN, kept.folder)
            assert (path.read_bytes() if path.exists() else None) == edited[change.title]
        left = {title: made.after[title] for title in edited}
        self.made.append(Made(left, edited, undone=True))

    @rule()
    def reopen(self) -> None:
        self.history = self.opened()

    @invariant()
    def files_are_the_models(self) -> None:
        assert on_disk(self.history.where) == self.files

    @invariant()
    def the_log_is_the_models(self) -> None:
        found = self.history.entries()
        assert self.history.problems == []
        assert [entry.undone for entry in found] == [made.undone for made in reversed(self.made)]
        for entry, made in zip(found, reversed(self.made), strict=True):
            assert [change.title for change in entry.changes] == sorted(made.after)
            assert not entry.interrupted


def test_memory_is_what_a_dictionary_would_be() -> None:
    run_state_machine_as_test(
        Memory,
        settings=settings(
            max_examples=30,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
        ),
    )
