"""The images that a message names: behind an ``@``, or as a terminal types the path of a dropped file."""

from __future__ import annotations

import re
from pathlib import Path

from tau.input.images import dropped_images, image_type
from tau.input.mentions import absent, mentions

MOST_LINES = 200
"""Lines that are looked at for paths."""

_NAMED = re.compile(r"\.(?:png|jpe?g|gif|webp)\b", re.IGNORECASE)
_CALLED = re.compile(r"\.(?:png|jpe?g|gif|webp)\Z", re.IGNORECASE)


def mentioned_images(text: str, directory: Path) -> list[Path]:
    """The images that a message names, by their content; reads the disk.

    Those are what it mentions with ``@``, and lines that are nothing but paths of images. What it mentions
    with ``@`` and is only called like one, or is not there, is among them: whoever reads it says so.

    Args:
        text: The message.
        directory: What relative paths start from.
    """
    found = [
        mention.path
        for mention in mentions(text, directory)
        if not mention.is_directory and (_CALLED.search(mention.path.name) or image_type(mention.path))
    ]
    found += absent(text, directory, _CALLED)
    for line in text.split("\n")[:MOST_LINES]:
        if _NAMED.search(line):
            found += [image.path for image in dropped_images(line, directory)]
    return list(dict.fromkeys(found))
