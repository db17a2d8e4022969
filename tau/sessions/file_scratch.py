"""What a session's folder holds of a turn that is not recorded yet: streamed text, and results of calls."""

from __future__ import annotations

import os
from typing import Any

from tau.sessions import file_system as fs
from tau.sessions.file_folder import REPLY_PART, RESULTS_PART, Folder
from tau.sessions.plain_json import NotJson, decode_object


def read_reply(folder: Folder) -> str:
    """The content of ``.reply``; a character cut in two by a kill becomes U+FFFD.

    Raises:
        SessionUnusable: It cannot be read.
    """
    return _read(folder, REPLY_PART).decode("utf-8", "replace")


def read_results(folder: Folder) -> list[dict[str, Any]]:
    """The lines of ``.results``; what is no JSON object, such as a line cut short by a kill, is left out.

    Raises:
        SessionUnusable: It cannot be read.
    """
    results = []
    for line in _read(folder, RESULTS_PART).split(b"\n"):
        try:
            results.append(decode_object(line))
        except NotJson:
            continue
    return results


def _read(folder: Folder, part: str) -> bytes:
    with folder.reading(part):
        try:
            return fs.read_file(part, folder.root)[0]
        except FileNotFoundError:
            return b""


class ScratchFile:
    """One of these files, for the session's writer: made with the first write, never waited for.

    Args:
        folder: The session's open folder.
        part: The file.
    """

    def __init__(self, folder: Folder, part: str) -> None:
        self._folder = folder
        self._part = part
        self._descriptor = -1

    def append(self, data: bytes) -> None:
        """Add to the file: all of the data, or nothing.

        Raises:
            StoreWriteFailed: The disk refused.
        """
        with self._folder.writing(self._part):
            self._append(self._opened(), data)

    def append_line(self, line: bytes) -> None:
        """Add a line; what a kill left of the line before stays on one of its own.

        Raises:
            StoreWriteFailed: The disk refused.
        """
        with self._folder.writing(self._part):
            descriptor = self._opened()
            size = os.fstat(descriptor).st_size
            torn = size > 0 and fs.read_at(descriptor, size - 1, 1) != b"\n"
            self._append(descriptor, (b"\n" if torn else b"") + line + b"\n")

    def clear(self) -> None:
        """Cut the file down to nothing, if there is one and it holds something.

        Raises:
            StoreWriteFailed: The disk refused.
        """
        with self._folder.writing(self._part):
            there = fs.stamp_of(self._part, self._folder.root)
            if there is not None and there.size:
                os.ftruncate(self._opened(), 0)

    def close(self) -> None:
        """Let go of the file. May be called twice."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _opened(self) -> int:
        if self._descriptor < 0:
            self._descriptor = fs.open_for_append(self._part, self._folder.root)
        return self._descriptor

    @staticmethod
    def _append(descriptor: int, data: bytes) -> None:
        size = os.fstat(descriptor).st_size
        try:
            fs.write_all(descriptor, data)
        except BaseException:
            os.ftruncate(descriptor, size)
            raise
