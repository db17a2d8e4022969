"""The image in the system's clipboard, by the program that reads it here, and the file that keeps it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from tau.errors import UsageError
from tau.input.places import images_folder, make_folder, opened
from tau.sessions import file_system as fs
from tau.tools.file_types import image_format

SECONDS = 5.0
"""How long a program may take."""

KEPT_SECONDS = 30 * 86_400
"""An image that was pasted is kept for so long: a message that was not sent may still name it."""

_TYPES = ("image/png", "image/jpeg", "image/webp", "image/gif")
_HEX = re.compile(rb"\xabdata PNGf([0-9A-Fa-f]*)\xbb|\xc2\xabdata PNGf([0-9A-Fa-f]*)\xc2\xbb")


class Reader(NamedTuple):
    """A program that reads the clipboard.

    Attributes:
        lists: The command that lists the types there are; empty where it gives PNG or fails.
        reads: The command that writes an image, ``{type}`` standing for its type.
    """

    lists: Sequence[str]
    reads: Sequence[str]


def readers(environment: Mapping[str, str], platform: str) -> list[Reader]:
    """The programs that could work here, the likeliest first."""
    if platform == "darwin":
        return [
            Reader([], ["pngpaste", "-"]),
            Reader([], ["osascript", "-e", "get the clipboard as «class PNGf»"]),
        ]
    found = []
    if environment.get("WAYLAND_DISPLAY"):
        found.append(Reader(["wl-paste", "--list-types"], ["wl-paste", "--type", "{type}"]))
    if environment.get("DISPLAY"):
        xclip = ["xclip", "-selection", "clipboard", "-out", "-target"]
        found.append(Reader([*xclip, "TARGETS"], [*xclip, "{type}"]))
    return found


def clipboard_image(environment: Mapping[str, str], platform: str) -> bytes | None:
    """The image in the clipboard, or None when it holds something else. Blocks.

    Raises:
        UsageError: There is no program here that could tell, or it does not answer.
    """
    known = readers(environment, platform)
    there = [reader for reader in known if shutil.which(reader.reads[0], path=environment.get("PATH"))]
    if not there:
        wanted = " or ".join(dict.fromkeys(reader.reads[0] for reader in known))
        raise UsageError(
            f"The clipboard cannot be read: {wanted} is missing"
            if known
            else "The clipboard cannot be read: there is no display here",
            "name an image with @, or drop its file on the terminal",
        )
    for reader in there:
        kind = _kind(reader, environment)
        data = _run([part.format(type=kind) for part in reader.reads], environment) if kind else b""
        if (escaped := _HEX.search(data)) is not None:
            data = bytes.fromhex((escaped[1] or escaped[2]).decode())
        if image_format(data):
            return data
    return None


def keep_image(data: bytes, state_dir: Path) -> Path:
    """Keep an image in a file of the prompt's, 0600, and let go of those kept long ago. Blocks.

    Raises:
        UsageError: It cannot be written.
    """
    place = images_folder(state_dir)
    name = f"{sha256(data).hexdigest()[:16]}.{image_format(data)}"
    try:
        make_folder(place)
        with opened(place) as folder:
            for old in fs.names(folder):
                with suppress(OSError):
                    changed = os.stat(old, dir_fd=folder, follow_symlinks=False).st_mtime
                    if time.time() - changed > KEPT_SECONDS:
                        os.unlink(old, dir_fd=folder)
            temporary = fs.temporary_name(name)
            fs.write_temporary(temporary, folder, data, sync=True)
            fs.replace(temporary, name, folder)
    except OSError as error:
        raise UsageError(f"The image is not kept: {place}: {error.strerror or error}") from error
    return place / name


def _kind(reader: Reader, environment: Mapping[str, str]) -> str:
    """The type of image to ask for; empty where the clipboard holds none."""
    if not reader.lists:
        return _TYPES[0]
    listed = _run(reader.lists, environment).decode("utf-8", "replace").split()
    return next((kind for kind in _TYPES if kind in listed), "")


def _run(command: Sequence[str], environment: Mapping[str, str]) -> bytes:
    """What a program writes; nothing where it fails.

    Raises:
        UsageError: It does not answer.
    """
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
            env=environment,
        )
    except subprocess.TimeoutExpired as error:
        raise UsageError(f"The clipboard cannot be read: {command[0]} does not answer") from error
    except OSError as error:
        raise UsageError(f"The clipboard cannot be read: {command[0]}: {error.strerror}") from error
    return done.stdout if done.returncode == 0 else b""
