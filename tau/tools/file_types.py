"""What a file is, by its first bytes: an image a model can look at, text in some encoding, or neither."""

from __future__ import annotations

import codecs

SAMPLE = 65_536
"""Bytes from the beginning of a file that are enough to tell."""

_BINARY = (
    (b"\x7fELF", "an ELF executable or library"),
    (b"MZ", "a Windows executable or library"),
    (b"\xcf\xfa\xed\xfe", "a Mach-O executable or library"),
    (b"\xca\xfe\xba\xbe", "a Java class or universal executable"),
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive (or a document packed as one)"),
    (b"\x1f\x8b", "gzip-compressed data"),
    (b"BZh", "bzip2-compressed data"),
    (b"\xfd7zXZ\x00", "xz-compressed data"),
    (b"\x28\xb5\x2f\xfd", "zstandard-compressed data"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"\x00\x61\x73\x6d", "a WebAssembly module"),
    (b"BM", "a BMP image"),
    (b"II*\x00", "a TIFF image"),
    (b"MM\x00*", "a TIFF image"),
    (b"\x00\x00\x01\x00", "an icon"),
    (b"ID3", "MP3 audio"),
    (b"OggS", "Ogg audio or video"),
    (b"fLaC", "FLAC audio"),
    (b"wOFF", "a web font"),
    (b"wOF2", "a web font"),
)
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def image_format(head: bytes) -> str:
    """``png``, ``jpeg``, ``gif`` or ``webp``, or the empty string for anything else."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "png"
    if head.startswith(b"\xff\xd8\xff"):
        return "jpeg"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "gif"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "webp"
    return ""


def encoding(head: bytes) -> str:
    """The codec for a file that begins so: by its byte order mark, else ``utf-8``; empty for binary."""
    for mark, codec in _MARKS:
        if head.startswith(mark):
            return codec
    return "" if b"\0" in head else "utf-8"


def binary_type(head: bytes) -> str:
    """What kind of binary data begins so, as a noun phrase."""
    if kind := image_format(head):
        return f"a {kind.upper()} image"
    if head[4:8] == b"ftyp":
        return "MP4 or HEIF media"
    return next((name for magic, name in _BINARY if head.startswith(magic)), "binary data")
