"""Where the prompt keeps its files: private folders in the state directory, one name for each directory."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from tau.config.places import make_private

_PLAIN = re.compile("[^A-Za-z0-9._-]+")
_NAME_CHARACTERS = 40


def directory_key(directory: Path) -> str:
    """A file name for a directory, by its real path: something a person recognises, and a digest."""
    real = os.path.realpath(directory)
    digest = sha256(os.fsencode(real)).hexdigest()[:16]
    name = _PLAIN.sub("-", os.path.basename(real))[:_NAME_CHARACTERS].strip("-.")  # noqa: PTH119  # of a str
    return f"{name or 'root'}-{digest}"


def history_folder(state_dir: Path) -> Path:
    """Where the history is kept."""
    return state_dir / "prompt" / "history"


def drafts_folder(state_dir: Path) -> Path:
    """Where drafts are kept."""
    return state_dir / "prompt" / "drafts"


def images_folder(state_dir: Path) -> Path:
    """Where images are kept that came from the clipboard."""
    return state_dir / "prompt" / "images"


def make_folder(folder: Path) -> None:
    """Make a folder of the prompt's, and those above it up to the state directory, 0700.

    Raises:
        OSError: It cannot be made, or is no directory.
    """
    for place in (folder.parent.parent, folder.parent, folder):
        make_private(place)


@contextmanager
def opened(folder: Path) -> Iterator[int]:
    """A folder open for `tau.sessions.file_system`.

    Raises:
        OSError: It is not there, or may not be opened.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
