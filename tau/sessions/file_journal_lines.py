"""The lines of a session's log: how one is written, read back and found.

A line is

    CRC ["KIND",KEY,SIZE,MTIME,COUNT,STAMP,BOOT,SESSION,META,AGENT,EVENT] <tab> BODY <newline>

without the spaces: the checksum (hexadecimal, seeded with the session's id, over all that follows it), the
kind of record, its key (a message's index, an event's place in ``events.jsonl``), size and time of
modification (ns) of the file as it was written, the number of messages and the session's `updated_at`
(microseconds) as of this line, in which run of the kernel it was written, and where in this file of the log
the latest record of each other kind begins (-1: nowhere). So the last line alone answers what a listing asks,
and damage to one line hides no other. The body is the content of the file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from zlib import crc32

import msgspec

from tau.sessions.boot import boot_number

MESSAGE = "m"
SESSION = "s"
META = "t"
AGENT = "a"
EVENT = "e"

LINKED = (SESSION, META, AGENT, EVENT)
"""The kinds whose latest record each line points to, in this order."""

_CRC = 8
_CHUNK = 1 << 18
_SEAL = 777
"""Nanoseconds that a clock does not happen to show."""


class Header(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a line says of its body, in the order of the module's description."""

    kind: str
    key: int
    size: int
    mtime_ns: int
    count: int
    stamp: int
    boot: int
    session: int
    meta: int
    agent: int
    event: int

    def links(self) -> list[int]:
        """Where the latest record of each kind but `MESSAGE` begins, before this one."""
        return [self.session, self.meta, self.agent, self.event]


_HEADERS = msgspec.json.Decoder(Header)


@dataclass(frozen=True, slots=True)
class Record:
    """One line of the log; `begin` is where it begins in its file."""

    header: Header
    begin: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Entry:
    """What `append` is given: a record without its place."""

    kind: str
    key: int
    size: int
    mtime_ns: int
    count: int
    stamp: int
    body: bytes


def make_line(entry: Entry, links: list[int], seed: int) -> bytes:
    """The line of a record, with its newline; `links` are the places of the latest records in this file."""
    header = Header(
        entry.kind, entry.key, entry.size, entry.mtime_ns, entry.count, entry.stamp, boot_number(), *links
    )
    rest = msgspec.json.encode(header) + b"\t" + entry.body
    return b"%08x%b\n" % (crc32(rest, seed), rest)


def parse_line(line: bytes, begin: int, seed: int) -> Record | None:
    """The record of a line without its newline, or None when the line is not sound."""
    tab = line.find(b"\t")
    try:
        if tab < 0 or int(line[:_CRC], 16) != crc32(memoryview(line)[_CRC:], seed):
            return None
        return Record(_HEADERS.decode(memoryview(line)[_CRC:tab]), begin, line[tab + 1 :])
    except (ValueError, msgspec.DecodeError):
        return None


def seal_of(header: Header) -> int:
    """The time of modification (ns) that a file of the log with this last record is given when closed."""
    return header.stamp * 1000 + _SEAL


def is_sound(descriptor: int, seed: int) -> bool:
    """Whether each line of one file of the log is sound."""
    ends = offset = 0
    while piece := os.pread(descriptor, _CHUNK, offset):
        ends += piece.count(b"\n")
        offset += len(piece)
    return ends == sum(1 for _ in scan_lines(descriptor, seed))


def scan_lines(
    descriptor: int, seed: int, *, trusted: bool = False, size: int = _CHUNK
) -> Iterator[tuple[Header, int, memoryview]]:
    """The sound lines of one file of the log; a piece of it is in memory at a time.

    Args:
        descriptor: The open file.
        seed: The seed of the checksums.
        trusted: Whether to go without looking at them.
        size: How long the file is, where that is known: less memory is taken for a short one.

    Yields:
        Header, begin of the body in the file, and the body, valid until the next one.
    """
    buffer = bytearray(min(size + 1, _CHUNK))
    view = memoryview(buffer)
    filled = offset = 0
    decode = _HEADERS.decode
    while got := os.preadv(descriptor, [view[filled:]], offset + filled):
        filled += got
        find = buffer.find
        begin = 0
        while (end := find(b"\n", begin, filled)) >= 0:
            tab = find(b"\t", begin, end)
            if tab > 0:
                try:
                    if trusted or int(buffer[begin : begin + _CRC], 16) == crc32(
                        view[begin + _CRC : end], seed
                    ):
                        yield decode(view[begin + _CRC : tab]), offset + tab + 1, view[tab + 1 : end]
                except (ValueError, msgspec.DecodeError):
                    pass  # a damaged line hides no other
            begin = end + 1
        filled -= begin
        offset += begin
        if filled == len(buffer):
            buffer = buffer + bytearray(len(buffer) * 3)
            view = memoryview(buffer)
        elif begin:
            view[:filled] = view[begin : begin + filled]
