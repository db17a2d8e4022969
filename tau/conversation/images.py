"""Images that go along with a message: read, checked by their content, and labelled."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

from tau.display import one_line
from tau.errors import UsageError
from tau.models.info import ModelInfo
from tau.sessions.attached import Attached
from tau.tools.file_types import SAMPLE, binary_type, encoding, image_format
from tau.tools.image_size import image_size, is_whole

MOST_BYTES = 3_932_160
"""The largest image that goes along: 5 MiB once it is written as base64, which is what providers take."""

MOST_PIXELS = 8_000
"""The longest side that goes along; providers refuse longer ones."""

MOST_IMAGES = 20
"""Images of one message at most."""

PASTED = "pasted image"
"""The name of an image that came without one."""

Given: TypeAlias = Path | bytes
"""An image: its file, or what is in it."""


def read_images(given: Iterable[Given], directory: Path) -> list[Attached]:
    """Read images; blocks on the disk.

    Args:
        given: The images; relative paths start from `directory`.
        directory: The working directory.

    Raises:
        UsageError: One is none, or is too large, or there are too many; the message names it and the limit.
    """
    images = list(given)
    if len(images) > MOST_IMAGES:
        raise UsageError(
            f"{len(images)} images are more than go along with one message, which is {MOST_IMAGES}; "
            "nothing was sent"
        )
    try:
        return [_read(image, directory) for image in images]
    except UsageError as error:
        raise UsageError(f"{error.message}; nothing was sent", error.hint) from error


def check_takes_images(model: ModelInfo) -> None:
    """Refuse images for a model that is known to take none.

    Raises:
        UsageError: It takes none.
    """
    if model.images is False:
        raise UsageError(
            f"{model.provider} · {model.model_id} takes no images; nothing was sent",
            "/model lists the other roles, or send the message without images",
        )


def read_mentioned(
    mentioned: Iterable[Path], directory: Path, given: Sequence[Given], model: ModelInfo
) -> tuple[list[Attached], list[str]]:
    """The images that a message mentions, where the model takes images; blocks on the disk.

    An image that cannot go along does not hold the message up: its path is in the text.

    Args:
        mentioned: The images.
        directory: The working directory.
        given: Images that go along already.
        model: Who answers.

    Returns:
        The images, and what the person is to know of those that do not go along, a line each.
    """
    taken = {os.path.realpath(directory / image) for image in given if isinstance(image, Path)}
    paths: dict[str, Path] = {}
    for path in mentioned:
        if (real := os.path.realpath(path)) not in taken:
            paths.setdefault(real, path)
    if paths and not model.images:
        why = "takes no images" if model.images is False else "is not known to take images"
        names = ", ".join(one_line(path.name, 60) for path in list(paths.values())[:3])
        more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
        return [], [f"{names}{more}: only named, since {model.provider} · {model.model_id} {why}."]
    images: list[Attached] = []
    told: list[str] = []
    for path in paths.values():
        try:
            if len(images) + len(given) >= MOST_IMAGES:
                raise UsageError(f"{MOST_IMAGES} images go along with one message at most")
            images.append(_read(path, directory))
        except UsageError as error:
            told.append(f"{one_line(path.name, 60)} is only named: {error.message}.")
    return images, told


def _read(given: Given, directory: Path) -> Attached:
    if isinstance(given, bytes):
        return _image(PASTED, given)
    name, data = one_line(given.name, 100) or "(no name)", b""
    try:
        descriptor = os.open(directory / given.expanduser(), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            state = os.fstat(descriptor)
            if not stat.S_ISREG(state.st_mode):
                raise UsageError(f"{one_line(str(given))} is not a file")
            if image_format(os.pread(descriptor, SAMPLE, 0)):
                _check_bytes(name, state.st_size)
            # Read to its end and no further, should it grow meanwhile.
            with os.fdopen(os.dup(descriptor), "rb") as file:
                data = file.read(MOST_BYTES + 1)
        finally:
            os.close(descriptor)
    except (OSError, ValueError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UsageError(f"{one_line(str(given))} cannot be read: {reason}") from error
    return _image(name, data)


def _image(name: str, data: bytes) -> Attached:
    kind = image_format(data)
    if not kind:
        what = "text" if encoding(data[:SAMPLE]) else binary_type(data)
        what = "empty" if not data else what
        raise UsageError(f"{name} is {what}, not a png, jpeg, gif or webp image")
    _check_bytes(name, len(data))
    size = image_size(kind, data)
    if size is None:
        raise UsageError(f"{name} begins as a {kind} image and is none")
    if not is_whole(kind, data):
        raise UsageError(f"{name} is a {kind} image that breaks off")
    width, height = size
    if max(size) > MOST_PIXELS:
        raise UsageError(
            f"{name} has {width:,}×{height:,} pixels; a side may have {MOST_PIXELS:,}",
            "scale it down",
        )
    label = f"[Image: {name} · {_amount(len(data))} · {width}×{height}]"
    return Attached("image", label, data={"image": {"format": kind, "source": {"bytes": data}}})


def _check_bytes(name: str, size: int) -> None:
    if size > MOST_BYTES:
        raise UsageError(
            f"{name} has {size:,} bytes; an image may have {MOST_BYTES:,}",
            "scale it down, or save it with more compression",
        )


def _amount(size: int) -> str:
    return f"{size:,} B" if size < 1_000 else f"{round(size / 1_000):,} kB"
