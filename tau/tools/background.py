"""The commands of this process's sessions, so that none outlives the conversation or tau."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Collection

from tau.tools import process_tree
from tau.tools.process_tree import Process, ProcessTree

_lock = threading.Lock()
_trees: dict[str, list[ProcessTree]] = {}


def hold(session_id: str, tree: ProcessTree) -> None:
    """A command was started: it is stopped with the conversation, or when the interpreter ends."""
    with _lock:
        atexit.unregister(stop_background)
        atexit.register(stop_background)
        _trees.setdefault(session_id, []).append(tree)


def let_go_of_ended(session_id: str) -> None:
    """Forget the commands of a session of which nothing is left."""
    with _lock:
        held = _trees.get(session_id, [])
        table = process_tree.scan() if held else []
        for tree in list(held):
            if tree.has_ended() and not tree.members(table):
                tree.reap()
                held.remove(tree)


def stop_background(session_ids: Collection[str] | None = None) -> list[Process]:
    """Stop everything that commands of some sessions have left running, and commands that run.

    Blocks until it is gone: at once when there is nothing, half a second where processes do not end by
    SIGTERM, 3.5 seconds at most.

    Args:
        session_ids: The sessions; None for all of them.

    Returns:
        Processes that could not be stopped.
    """
    with _lock:
        wanted = [key for key in _trees if session_ids is None or key in session_ids]
        trees = [tree for key in wanted for tree in _trees.pop(key)]
    left = process_tree.stop(trees) if trees else []
    for tree in trees:
        tree.reap()
    return left
