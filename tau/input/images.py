"""Images dropped on a terminal, which types their paths: quoted, escaped, or as ``file://`` addresses."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote_to_bytes

from tau.input.mentions import mention
from tau.tools.file_types import image_format
from tau.tools.names import named

LONGEST_PASTE = 32_768
"""Characters; a longer paste is a text."""

MOST = 50
"""Images of one paste."""

_WORD = re.compile(r"""\s*+(?P<word>(?:'[^']*+'|"(?:[^"\\]|\\.)*+"|\\.|[^\s'"\\])++)(?=\s|\Z)""", re.DOTALL)
_PART = re.compile(r"""'(?P<single>[^']*)'|"(?P<double>(?:[^"\\]|\\.)*)"|\\(?P<escaped>.)""", re.DOTALL)
_IN_DOUBLE = re.compile(r'\\(["\\$`])')
_HEAD = 16
_DROPPED = re.compile(r"""\s*(?:['"]?(?:/|~/)|['"]?file:)""")


@dataclass(frozen=True)
class Image:
    """An image file.

    Attributes:
        path: Absolute.
        type: ``png``, ``jpeg``, ``gif`` or ``webp``, by its content.
    """

    path: Path
    type: str


def image_type(path: Path) -> str:
    """What kind of image a file is by its first bytes, or the empty string. Reads the disk.

    ``png``, ``jpeg``, ``gif`` and ``webp`` are known, whatever the file is called.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return ""
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        return image_format(os.pread(descriptor, _HEAD, 0))
    except OSError:
        return ""
    finally:
        os.close(descriptor)


def dropped_images(paste: str, directory: Path) -> list[Image]:
    """The images that a paste names, if it is nothing but paths of images. Reads the disk.

    Args:
        paste: As the terminal gave it. One path may have spaces that are neither quoted nor escaped.
        directory: What relative paths start from.

    Returns:
        Empty when a part of the paste is anything else: then it is a text.
    """
    text = paste.strip()
    if not text or len(text) > LONGEST_PASTE or "\0" in text:
        return []
    if "\n" not in text and (whole := _image(text, directory)):
        return [whole]
    if (words := _words(text)) is not None and (found := _all(words, directory)):
        return found
    return _all([line.strip() for line in text.splitlines() if line.strip()], directory)


def may_be_dropped(paste: str) -> bool:
    """Whether a paste begins as terminals write the path of a dropped file; does not read the disk."""
    return len(paste) <= LONGEST_PASTE and _DROPPED.match(paste) is not None


def mentioned_instead(paste: str, directory: Path) -> str:
    """How a message mentions the images of a paste that is nothing but their paths; empty when it is not.

    Reads the disk.

    Args:
        paste: As the terminal gave it.
        directory: What relative paths start from.
    """
    return " ".join(mention(str(image.path)) for image in dropped_images(paste, directory))


def _all(paths: list[str], directory: Path) -> list[Image]:
    found: list[Image] = []
    for path in paths[: MOST + 1]:
        image = _image(path, directory)
        if image is None or len(found) >= MOST:
            return []
        found.append(image)
    return found


def _image(written: str, directory: Path) -> Image | None:
    path = _path(written)
    if not path:
        return None
    try:
        place = directory / Path(named(path)).expanduser()
    except (ValueError, RuntimeError):  # half a surrogate pair; nobody knows where the home is
        return None
    kind = image_type(place)
    return Image(place, kind) if kind else None


def _path(written: str) -> str:
    """The path that a word stands for; empty for the address of something that is not on this machine."""
    if not written.startswith("file:"):
        return written
    rest = written.removeprefix("file:")
    if rest.startswith("//"):
        host, slash, rest = rest[2:].partition("/")
        if host not in ("", "localhost"):
            return ""
        rest = slash + rest
    return os.fsdecode(unquote_to_bytes(rest)).replace("\0", "") if rest.startswith("/") else ""


def _words(text: str) -> list[str] | None:
    """The words as a shell would read them, nothing in them expanded; None when a quote is not closed."""
    words = []
    at = 0
    while at < len(text):
        match = _WORD.match(text, at)
        if match is None:
            return None
        words.append(_PART.sub(_plain, match["word"]))
        at = match.end()
    return words


def _plain(match: re.Match[str]) -> str:
    if match["single"] is not None:
        return match["single"]
    if match["double"] is not None:
        return _IN_DOUBLE.sub(r"\1", match["double"])
    return match["escaped"]
