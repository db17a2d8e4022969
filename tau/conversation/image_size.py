"""How large an image is, from the beginning of its data: png, jpeg, gif and webp."""

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
