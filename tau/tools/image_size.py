"""How large an image is, and whether all of it is there, from its data: png, jpeg, gif and webp."""

from __future__ import annotations

import struct

_NO_FRAMES = (0xC4, 0xC8, 0xCC)
_STANDALONE = (0x01, *range(0xD0, 0xD8))


def image_size(kind: str, data: bytes) -> tuple[int, int] | None:
    """Width and height in pixels; None for data that is not such an image, or breaks off before it says so.

    Args:
        kind: ``png``, ``jpeg``, ``gif`` or ``webp``.
        data: The image.
    """
    try:
        found = {"png": _png, "jpeg": _jpeg, "gif": _gif, "webp": _webp}[kind](data)
    except (struct.error, IndexError):
        return None
    return found if found is not None and min(found) > 0 else None


def _png(data: bytes) -> tuple[int, int] | None:
    if data[12:16] != b"IHDR":
        return None
    width, height = struct.unpack_from(">II", data, 16)
    return width, height


def _gif(data: bytes) -> tuple[int, int] | None:
    width, height = struct.unpack_from("<HH", data, 6)
    return width, height


def _jpeg(data: bytes) -> tuple[int, int] | None:
    at = 2
    while True:
        if data[at] != 0xFF:
            return None
        while data[at] == 0xFF:  # a marker may be padded
            at += 1
        marker = data[at]
        at += 1
        if marker in _STANDALONE:
            continue
        (length,) = struct.unpack_from(">H", data, at)
        if 0xC0 <= marker <= 0xCF and marker not in _NO_FRAMES:
            height, width = struct.unpack_from(">HH", data, at + 3)
            return width, height
        if marker in (0xD9, 0xDA) or length < 2:  # the pixels begin, or it ends, and no frame came
            return None
        at += length


def _webp(data: bytes) -> tuple[int, int] | None:
    form = data[12:16]
    if form == b"VP8X":
        return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    if form == b"VP8L" and data[20] == 0x2F:
        (bits,) = struct.unpack_from("<I", data, 21)
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if form == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        width, height = struct.unpack_from("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF
    return None


def is_whole(kind: str, data: bytes) -> bool:
    """Whether an image begins with a size and goes on to its end; what stands behind that does not matter.

    Args:
        kind: ``png``, ``jpeg``, ``gif`` or ``webp``.
        data: The image.
    """
    if image_size(kind, data) is None:
        return False
    try:
        return {"png": _png_ends, "jpeg": _jpeg_ends, "gif": _gif_ends, "webp": _webp_ends}[kind](data)
    except (struct.error, IndexError):
        return False


def _png_ends(data: bytes) -> bool:
    at, pixels = 8, False
    while True:
        length, name = struct.unpack_from(">I4s", data, at)
        at += 12 + length
        if name == b"IEND":
            return pixels and at <= len(data)
        pixels = pixels or name == b"IDAT"


def _jpeg_ends(data: bytes) -> bool:
    at = 2
    while data[at + 1] != 0xDA:  # until the pixels begin, whose bytes are never an end
        if data[at] != 0xFF:
            return False
        if data[at + 1] == 0xFF or data[at + 1] in _STANDALONE:
            at += 1 if data[at + 1] == 0xFF else 2
            continue
        if data[at + 1] == 0xD9:
            return False
        at += 2 + int(struct.unpack_from(">H", data, at + 2)[0])
    return data.find(b"\xff\xd9", at) >= 0


def _gif_ends(data: bytes) -> bool:
    at = 13 + _colours(data[10])
    while data[at] != 0x3B:
        if data[at] == 0x2C:
            at += 11 + _colours(data[at + 9])
        elif data[at] == 0x21:
            at += 2
        else:
            return False
        while data[at]:  # blocks, each behind its length
            at += 1 + data[at]
        at += 1
    return True


def _colours(flags: int) -> int:
    """Bytes of the table of colours that stands behind these flags."""
    return 3 << (flags & 7) + 1 if flags & 0x80 else 0


def _webp_ends(data: bytes) -> bool:
    (size,) = struct.unpack_from("<I", data, 4)
    return int(size) > 12 and 8 + int(size) <= len(data)
