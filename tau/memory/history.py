"""The one way to change memory files: lock, keep what is there, change each file whole, log; and undo.

An entry is complete on disk, with copies of all files, before the first file is changed, and says so; it is
called changed when the last one is. What a process that ended in between left is settled by the next one that
holds the lock: files stay as they are, and the entry is made to list those that were changed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from tau.display import one_line
from tau.errors import MemoryRefused
from tau.memory import applying, documents, entries, entry_copies, files, project, refined_last
from tau.memory.applying import MemoryChanged, Step
from tau.memory.documents import Document
from tau.memory.entries import FILES, META, NEXT, WRITTEN, Change, Entry, Kind, Source, digest
from tau.memory.entry_store import EntryStore
from tau.memory.hand_edit import look
from tau.memory.places import MemoryPlaces
from tau.memory.undone import NotNewest, Undone, UndoRefused
from tau.sessions import file_system as fs


@dataclass(frozen=True)
class Write:
    """What a file is to hold.

    Attributes:
        data: Its bytes; None to remove it.
        sentence: Why, for the log.
    """

    data: bytes | None
    sentence: str


class Contents:
    """The memory files as they are while the lock is held.

    Args:
        where: The memory.

    Attributes:
        documents: Those that can be loaded.
    """

    def __init__(self, where: MemoryPlaces) -> None:
        self._where = where
        self.documents: list[Document] = documents.read(where)[0]

    def read(self, title: str) -> bytes | None:
        """A file's bytes, also of one that is too large to be loaded; None when it is not there.

        Raises:
            MemoryRefused: It is no regular file, or cannot be read.
        """
        try:
            return applying.read(self._where, title)
        except OSError as error:
            path = _shown(applying.path_of(self._where, title))
            raise MemoryRefused(f"{path} cannot be read: {files.reason(error)}") from error


class History:
    """The changes of one memory.

    Args:
        where: The memory. Its project's folder is made with the first file that needs it.
        state: The state directory.
        telling: Told of what goes along with a change.

    Attributes:
        where: The memory, with the project's folder as it was made.
    """

    def __init__(self, where: MemoryPlaces, state: Path, telling: files.Telling = files.NOBODY) -> None:
        self.where = where
        self._state = state
        self._telling = telling
        self._store = EntryStore(where, state)

    @property
    def folder(self) -> Path:
        """Where the entries are kept."""
        return self._store.folder

    @property
    def problems(self) -> list[str]:
        """What the last look at the entries could not use, a line each."""
        return self._store.problems

    def change(
        self,
        wanted: Mapping[str, bytes | None],
        *,
        sentences: Mapping[str, str],
        source: Source,
        expected: Mapping[str, str | None] | None = None,
        given_up: Callable[[], bool] = files.never,
    ) -> Entry | None:
        """Change files together.

        Args:
            wanted: For each title what it is to hold; None to remove it.
            sentences: For titles why, for the log.
            source: What the change comes from.
            expected: For titles the digest of what they must hold; None for a file that must not be there.
            given_up: Whether nobody waits for it any more; once it has begun it is carried out.

        Returns:
            The entry; None when the files hold that already.

        Raises:
            MemoryChanged: A file does not hold what is expected; nothing was touched.
            GivenUp: `given_up` said so before it began.
            MemoryRefused: The files or their history cannot be written; says what is how.
        """

        def decide(contents: Contents) -> dict[str, Write]:
            for title, must in (expected or {}).items():
                if digest(contents.read(title)) != must:
                    raise MemoryChanged(title)
            return {title: Write(data, sentences.get(title, "")) for title, data in wanted.items()}

        return self.changing(decide, titles=wanted, source=source, given_up=given_up)

    def changing(
        self,
        decide: Callable[[Contents], Mapping[str, Write]],
        *,
        titles: Iterable[str],
        source: Source,
        given_up: Callable[[], bool] = files.never,
    ) -> Entry | None:
        """Change files by what they hold now: nobody else changes them between that look and the change.

        Args:
            decide: Says for titles what they are to hold. Whatever it raises stops the change.
            titles: The titles it may name.
            source: What the change comes from.
            given_up: Whether nobody waits for it any more; once it has begun it is carried out.

        Returns:
            The entry; None when nothing differs.

        Raises:
            MemoryRefused: The files or their history cannot be written; says what is how.
        """
        scopes = {entries.split(title)[0] for title in titles}
        with files.locked(self.where, given_up, self._telling):
            if "project" in scopes:
                self.where = project.ensured(self.where, self._telling)
                self._store = EntryStore(self.where, self._state)
            with self._store.opened() as history:
                self._store.settle(history)
                contents = Contents(self.where)
                writes = decide(contents)
                steps = [
                    Step(title, before, write.data)
                    for title, write in sorted(writes.items())
                    if (before := contents.read(title)) != write.data
                ]
                if not steps:
                    return None
                changes = tuple(
                    Change(
                        step.title,
                        _kind(digest(step.before), digest(step.after)),
                        one_line(writes[step.title].sentence),
                        digest(step.before),
                        digest(step.after),
                    )
                    for step in steps
                )
                return self._change(history, steps, changes, contents, source)

    def begin_refining(self, rest: float) -> float:
        """Note that a refinement begins now, unless one began less than `rest` seconds ago.

        Returns:
            Seconds until one may begin; 0.0 when it was noted.

        Raises:
            MemoryRefused: It cannot be noted; says what is how.
        """
        with self._store.opened() as history:
            return refined_last.claim(history, rest)

    def entries(self, limit: int | None = None) -> list[Entry]:
        """The entries, newest first. What cannot be used is named in `problems`.

        Args:
            limit: How many at most.
        """
        return list(islice(self._store.standing(), limit))

    def undo(
        self,
        *,
        peek: bool = False,
        only: str = "",
        going_over: Source | None = None,
        given_up: Callable[[], bool] = files.never,
    ) -> Undone:
        """Take back the newest change that was not taken back yet: each of its files, byte for byte.

        Args:
            peek: Only say what would be done.
            only: The id of the change that it must be; empty for whichever it is.
            going_over: Files that were edited by hand since are taken back as well; their edits are kept in
                the history first, as coming from this. None refuses then.
            given_up: Whether nobody waits for it any more; once it has begun it is carried out.

        Raises:
            GivenUp: `given_up` said so before it began.
            NotNewest: It is another one; nothing was touched.
            UndoRefused: A file holds something else by now; nothing was touched.
            MemoryRefused: There is nothing to undo, a copy is damaged, or the disk refused.
        """
        if peek:
            return self._undo_of(self._newest(only))[0]
        with files.locked(self.where, given_up, self._telling), self._store.opened() as history:
            self._store.settle(history)
            entry = self._newest(only)
            undone, steps = self._undo_of(entry, going_over=going_over is not None)
            if any(entries.split(step.title)[0] == "project" for step in steps):
                self.where = project.ensured(self.where, self._telling)
            kept = self._keep_edits(entry, steps, going_over, history) if going_over else None
            try:
                self._take_back(entry, steps, history)
            except applying.LeftInPart:
                raise
            except BaseException:
                if kept is not None and self._stand(steps):
                    entry_copies.drop(kept.id, history)
                raise
        return replace(undone, entry=replace(entry, undone=True), kept=kept)

    def _take_back(self, entry: Entry, steps: Sequence[Step], history: int) -> None:
        inner = fs.open_directory(entry.id, history)
        try:
            fs.write_temporary(NEXT, inner, entries.to_meta(entry, "undone"), sync=True)
            with applying.prepared(self.where, self._store.tag(entry.id), steps) as ready:
                ready.take()
                _finish(inner, ready)
        finally:
            fs.remove_temporary(NEXT, inner)  # gone already where all went well
            os.close(inner)

    def _stand(self, steps: Sequence[Step]) -> bool:
        """Whether every file still holds what it held before the steps."""
        try:
            return all(applying.read(self.where, step.title) == step.before for step in steps)
        except OSError:
            return False

    def _keep_edits(self, entry: Entry, steps: Sequence[Step], source: Source, history: int) -> Entry | None:
        """Keep what was edited by hand since a change, as an entry that never stands; None without edits."""
        left = {change.title: change for change in entry.changes}
        edits = [step for step in steps if digest(step.before) != left[step.title].after]
        if not edits:
            return None
        changes = tuple(_by_hand(left[step.title], digest(step.before)) for step in edits)
        newest = max(self._store.ids(), default="")
        kept = self._new(changes, source, newest, undone=True)
        before = {document.title: document.data for document in Contents(self.where).documents}
        for step in edits:
            before.pop(step.title, None)
            copy = entry_copies.kept_bytes(left[step.title].copy(WRITTEN, entry.folder))
            if copy is not None:
                before[step.title] = copy
        written = {step.title: step.before for step in edits if step.before is not None}
        fresh = f".{kept.id}{entry_copies.TEMPORARY}"
        inner = fs.make_directory(fresh, history)
        try:
            entry_copies.copy_all(inner, before, written, history, newest)
            fs.write_new(META, inner, entries.to_meta(kept, "undone"), sync=True)
            files.sync(inner)
            fs.replace(fresh, kept.id, history)
            files.sync(history)
        except BaseException:
            entry_copies.drop(fresh, history)
            raise
        finally:
            os.close(inner)
        return kept

    def _new(
        self, changes: tuple[Change, ...], source: Source, newest: str, *, undone: bool = False
    ) -> Entry:
        """An entry that is made now."""
        now = datetime.now(UTC)
        name = entries.next_id(now, newest)
        return Entry(
            name, now.replace(microsecond=0), source, changes, undone=undone, folder=self.folder / name
        )

    def diff(self, entry: Entry) -> str:
        """What a change did, as a unified diff a file, safe to show."""
        return "\n".join(
            line for change in entry.changes for line in entry_copies.difference(change, entry.folder)
        )

    def written(self) -> set[tuple[str, str]]:
        """Titles with digests of files that tau wrote from their beginning; any other is a person's.

        A file that came with tau or that a person wrote stays theirs, also when tau has changed it since.
        """
        own: set[tuple[str, str]] = set()
        for entry in reversed(self.entries()):
            for change in () if entry.undone else entry.changes:
                if change.after and (change.before is None or (change.title, change.before) in own):
                    own.add((change.title, change.after))
        return own

    def _change(
        self,
        history: int,
        steps: Sequence[Step],
        changes: tuple[Change, ...],
        contents: Contents,
        source: Source,
    ) -> Entry:
        newest = max(self._store.ids(), default="")
        entry = self._new(changes, source, newest)
        name = entry.id
        fresh = f".{name}{entry_copies.TEMPORARY}"
        inner = fs.make_directory(fresh, history)
        try:
            entry_copies.copy_all(
                inner,
                {document.title: document.data for document in contents.documents}
                | {step.title: step.before for step in steps if step.before is not None},
                {step.title: step.after for step in steps if step.after is not None},
                history,
                newest,
            )
            fs.write_new(META, inner, entries.to_meta(entry, "changing"), sync=True)
            fs.write_new(NEXT, inner, entries.to_meta(entry, "changed"), sync=True)
            files.sync(inner)
            with applying.prepared(self.where, self._store.tag(name), steps) as ready:
                fs.replace(fresh, name, history)
                fresh = name
                files.sync(history)
                ready.take()
                _finish(inner, ready)
        except applying.LeftInPart:
            raise
        except BaseException:
            if fresh != name or fs.is_taken(NEXT, inner):
                entry_copies.drop(fresh, history)
            raise
        finally:
            os.close(inner)
        return entry

    def _newest(self, only: str) -> Entry:
        for entry in self._store.standing():
            if not entry.undone:
                if only not in ("", entry.id):
                    raise NotNewest(only, self.entries())
                return entry
        if only:
            raise NotNewest(only, self.entries())
        damaged = f" ({self.problems[0]})" if self.problems else ""
        raise MemoryRefused(f"There is no change of memory to undo{damaged}")

    def _undo_of(self, entry: Entry, *, going_over: bool = False) -> tuple[Undone, list[Step]]:
        """What undoing an entry does, and the steps; nothing is touched."""
        undone = Undone(entry)
        steps, differing, unreadable = [], [], False
        for change in entry.changes:
            try:
                now = applying.read(self.where, change.title)
            except OSError:  # something else is in its place
                differing.append(change)
                unreadable = True
                continue
            if digest(now) == change.before:
                undone.already.append(change.title)
                continue
            if digest(now) != change.after:
                differing.append(change)
                if not going_over:
                    continue
            steps.append(Step(change.title, now, self._before(change, entry)))
            (undone.restored if change.before else undone.removed).append(change.title)
        if differing and (unreadable or not going_over):
            raise UndoRefused(entry, [look(self.where, entry, change) for change in differing])
        return undone, steps

    def _before(self, change: Change, entry: Entry) -> bytes | None:
        if change.before is None:
            return None
        path = change.copy(FILES, entry.folder)
        data = entry_copies.kept_bytes(path)
        if digest(data) != change.before:
            raise MemoryRefused(
                f"The change of {entry.when} is not undone: the copy {_shown(path)} is damaged or gone",
                f"nothing was touched; `tau memory edit` changes {one_line(change.title)} by hand",
            )
        return data


def _finish(inner: int, ready: applying.Prepared) -> None:
    """Say in the entry that its files are changed, which takes no room; or change them back.

    That is not flushed: where a power cut takes it back, the next change finds out by the files.
    """
    try:
        fs.replace(NEXT, META, inner)
    except BaseException as error:
        ready.go_back(error)
        raise


def _by_hand(change: Change, now: str | None) -> Change:
    """What a person made of a file that a change had left, by its digest now."""
    return Change(change.title, _kind(change.after, now), "by hand", change.after, now)


def _kind(before: str | None, after: str | None) -> Kind:
    """What became of a file with these digests."""
    if before is None:
        return "added"
    return "removed" if after is None else "updated"


def _shown(path: Path) -> str:
    return one_line(str(path), 1_000)
