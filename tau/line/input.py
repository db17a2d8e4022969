"""Where line mode gets its messages from when stdin is no terminal: one line, one message."""

from __future__ import annotations

import asyncio
import os
import select
import stat
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress

_CHUNK = 65_536
_WAITING_LINES = 16


def encoding() -> str:
    """How bytes on stdin are read: as the locale says, and as UTF-8 where the locale knows ASCII only."""
    given = (sys.stdin.encoding or "utf-8").lower()
    return "utf-8" if given in ("ascii", "us-ascii", "ansi_x3.4-1968") else given


def decode(data: bytes) -> str:
    """Bytes of stdin as text; what cannot be read becomes U+FFFD, and a byte order mark goes."""
    return data.decode(encoding(), "replace").removeprefix("\ufeff")


def _byte_lines(fd: int) -> Iterator[bytes]:
    rest = b""
    while chunk := os.read(fd, _CHUNK):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines
    if rest:
        yield rest


async def piped_lines() -> AsyncIterator[str]:
    """The lines of stdin as they come, the last one also without its newline.

    A thread of its own reads them, a few ahead at most; it does not keep the process from ending.

    Raises:
        OSError: stdin cannot be read.
    """
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[bytes | OSError | None] = asyncio.Queue()
    room = threading.Semaphore(_WAITING_LINES)

    def read() -> None:
        last: OSError | None = None
        try:
            for line in _byte_lines(sys.stdin.fileno()):
                room.acquire()
                loop.call_soon_threadsafe(queue.put_nowait, line)
        except OSError as error:
            last = error
        except RuntimeError:
            return  # the loop is closed: nobody asks for lines any more
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(queue.put_nowait, last)

    threading.Thread(target=read, name="tau-stdin", daemon=True).start()
    while (item := await queue.get()) is not None:
        room.release()
        if isinstance(item, OSError):
            raise item
        yield decode(item).rstrip("\r")


def read_all() -> str:
    """Everything on stdin, as text."""
    return decode(sys.stdin.buffer.read())


def attached_text(patience: float) -> str | None:
    """What was piped or redirected into a command that has a prompt already; empty if nothing is.

    Args:
        patience: Seconds to wait for the first byte of a pipe, for it may be one that nobody writes to.

    Returns:
        The text, or None when the pipe stayed silent.
    """
    mode = os.fstat(sys.stdin.fileno()).st_mode
    if stat.S_ISREG(mode):
        return read_all()
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return ""
    ready, _, _ = select.select([sys.stdin], [], [], patience)
    return read_all() if ready else None
