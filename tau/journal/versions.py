"""What a file of a project held before tau changed it, kept in tau's own state: undo puts it back exactly."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from tau.display import one_line
from tau.errors import JournalRefused
from tau.journal.kept_in_state import open_kept, write_kept
from tau.journal.markdown import Markdown, edit
from tau.sessions import file_system as fs

KEPT = 100
"""Changes of a file that can be taken back."""

_DIGITS = 8


class Versions:
    """The changes of one file, newest last. May be used from several processes.

    Args:
        state: The state directory.
        path: The file.
        root: The folder below which no link is followed on the way to it.
    """

    def __init__(self, state: Path, path: Path, root: Path) -> None:
        self._state = state
        self._path = path
        self._root = root
        self._names = ("journal", "versions", sha256(os.fsencode(path)).hexdigest()[:32])

    def keep(self, before: bytes, after: bytes, number: int | None = None) -> int:
        """Keep what a change puts in the place of what, right before it is made.

        Args:
            before: What the file holds.
            after: What it is to hold.
            number: What this returned for the same change, which is made anew; None the first time.

        Returns:
            The number of the change. Nobody else may change the file meanwhile.

        Raises:
            JournalRefused: The state directory cannot be written.
        """
        with self._opened() as folder:
            numbers = self._numbers(folder)
            number = number or max(numbers, default=0) + 1
            self._settle(numbers, before, folder)
            fs.remove_temporary(_undoing(number), folder)
            write_kept(_before(number), folder, before)
            write_kept(_sums(number), folder, _sum(before) + _sum(after))
            write_kept(_after(number), folder, after)
            for old in sorted({*numbers, number})[:-KEPT]:
                self._drop(old, folder)
            return number

    def forget(self, number: int) -> None:
        """Forget a change that was not made."""
        with self._opened() as folder:
            self._drop(number, folder)

    def undo(self) -> tuple[bytes, bytes]:
        """Put back what the file held before the newest change, byte for byte.

        An undo that was interrupted is finished.

        Returns:
            What that change had put in the place of what: before and after it.

        Raises:
            JournalRefused: There is no change to take back, the file was changed since, or what is kept is
                damaged; it is untouched.
            JournalChanged: It is being changed again and again.
        """
        with self._opened() as folder:
            for number in sorted(self._numbers(folder), reverse=True):
                before, after = self._held(number, folder)
                begun = fs.is_taken(_undoing(number), folder)
                write_kept(_undoing(number), folder, b"")
                try:
                    made = self._put_back(number, before, after)
                except BaseException:
                    if not begun:
                        fs.remove_temporary(_undoing(number), folder)
                    raise
                self._drop(number, folder)
                if made or begun:  # one that was kept, and then never made, is passed over
                    return before, after
        raise JournalRefused(f"There is no change of {one_line(str(self._path))} to undo")

    def _put_back(self, number: int, before: bytes, after: bytes) -> bool:
        """Whether the file held what a change left; it then holds what was there before."""

        def put_back(document: Markdown) -> None:
            if document.data not in (before, after):
                raise JournalRefused(
                    f"The newest change of {one_line(str(self._path))} is not undone: it was changed since",
                    f"as it was before that change: {self._shown(_before(number))}",
                )
            document.become(before)

        return edit(self._path, put_back, root=self._root)

    def _held(self, number: int, folder: int) -> tuple[bytes, bytes]:
        """What a change put in the place of what.

        Raises:
            JournalRefused: It is not as it was kept.
        """
        names = (_before(number), _after(number))
        before, after = (fs.read_file(name, folder)[0] for name in names)
        if fs.is_taken(_sums(number), folder):  # those of earlier versions of tau have none
            sums = fs.read_file(_sums(number), folder)[0]
            kept = (sums[: len(sums) // 2], sums[len(sums) // 2 :])
            for name, data, its in zip(names, (before, after), kept, strict=True):
                if _sum(data) != its:
                    raise JournalRefused(
                        f"{self._shown(name)} is damaged, so nothing is undone",
                        "remove it to leave that change; then /work undo takes the one before it back",
                    )
        return before, after

    def _settle(self, numbers: Sequence[int], now: bytes, folder: int) -> None:
        """Forget undos that were interrupted, as another change is made: what the file holds stands."""
        for number in numbers:
            if fs.is_taken(_undoing(number), folder):
                if fs.read_file(_before(number), folder)[0] == now:
                    self._drop(number, folder)
                else:
                    fs.remove_temporary(_undoing(number), folder)

    def _shown(self, name: str) -> str:
        return one_line(str(self._state.joinpath(*self._names, name)))

    @contextmanager
    def _opened(self) -> Iterator[int]:
        try:
            descriptor = open_kept(self._state, self._names)
        except OSError as error:
            shown = one_line(str(self._state))
            raise JournalRefused(
                f"{shown} cannot be written, so nothing was changed: {error.strerror}"
            ) from error
        try:
            yield descriptor
        except OSError as error:
            raise JournalRefused(
                f"{self._shown('')} cannot be used, so nothing was changed: {error.strerror}"
            ) from error
        finally:
            os.close(descriptor)

    def _numbers(self, folder: int) -> list[int]:
        """Of the changes that are whole here."""
        names = set(fs.names(folder))
        return [
            int(name[:_DIGITS])
            for name in names
            if name.endswith(".after") and f"{name[:_DIGITS]}.before" in names and name[:_DIGITS].isdecimal()
        ]

    def _drop(self, number: int, folder: int) -> None:
        for name in (_after(number), _undoing(number), _before(number), _sums(number)):
            fs.remove_temporary(name, folder)


def _undoing(number: int) -> str:
    """Is there while an undo is on the way."""
    return f"{number:0{_DIGITS}}.undoing"


def _sums(number: int) -> str:
    return f"{number:0{_DIGITS}}.sums"


def _sum(data: bytes) -> bytes:
    return sha256(data).hexdigest().encode()


def _before(number: int) -> str:
    return f"{number:0{_DIGITS}}.before"


def _after(number: int) -> str:
    return f"{number:0{_DIGITS}}.after"
