"""Opens the person's browser at an address that works once, without showing the address to other people.

The arguments of a process can be seen by everyone on a machine, so the browser is given a file that only the
person can read, and which leads to the address.
"""

from __future__ import annotations

import html
import os
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tau.config.places import make_private

_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={url}"><title>tau</title><p><a href="{url}">Open tau</a></p></html>
"""


class Opener:
    """Opens the browser through a file.

    Args:
        folder: Where the file is while the address is good.
        tell: Says a line at the terminal.
    """

    def __init__(self, folder: Path, tell: Callable[[str], None]) -> None:
        self._file = folder / f"web-{os.getpid()}.html"
        self._tell = tell

    def open(self, url: str) -> None:
        """Open the address, in a thread: some browsers return only when they are closed."""
        try:
            make_private(self._file.parent)
            self.forget()
            descriptor = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123  # a descriptor has no Path
                file.write(_PAGE.format(url=html.escape(url)))
        except OSError as error:
            self._tell(f"No browser was opened: {error.strerror}; open the address yourself")
            return
        threading.Thread(target=self._open_file, daemon=True).start()

    def forget(self) -> None:
        """Remove the file: the address has been used, or is no longer good."""
        with suppress(FileNotFoundError):
            self._file.unlink()

    def _open_file(self) -> None:
        if not webbrowser.open(self._file.as_uri()):
            self._tell("No browser was found; open the address yourself")
