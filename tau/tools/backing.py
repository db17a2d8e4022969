"""Whether files were read in a session and are as they were read: what backs an observation about code."""

from __future__ import annotations

import os
from collections.abc import Sequence

from tau.tools import paths
from tau.tools.context import DIGEST, MOST_CHANGED_BYTES, ToolContext
from tau.tools.refusals import Refused

_PIECE = 1 << 20


def parted(context: ToolContext, files: Sequence[str]) -> tuple[list[str], list[str]]:
    """Files that the model knows as they are now, and those that it does not. Reads them; blocks.

    Args:
        context: What the model knows of files.
        files: Paths as the model gives them.
    """
    read: list[str] = []
    unread: list[str] = []
    for name in files:
        (read if _is_known(context, name) else unread).append(name)
    return read, unread


def _is_known(context: ToolContext, name: str) -> bool:
    try:
        real = paths.readable(context, name)
        known = context.seen.digest(real)
        if not known:
            return False
        descriptor = paths.open_file(context, real)
    except Refused:
        return False
    digest = DIGEST()
    try:
        if os.fstat(descriptor).st_size > MOST_CHANGED_BYTES:
            return False
        while piece := os.read(descriptor, _PIECE):
            digest.update(piece)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return known == digest.hexdigest()
