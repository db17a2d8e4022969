"""Shows which git branch the session's directory is on, read from `.git/HEAD` alone."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from tau.tui.widgets.bars import HeaderBar

if TYPE_CHECKING:
    from tau.tui.screens.chat import ChatScreen


class Place:
    """The directory of the session on a screen.

    Args:
        screen: Whose header shows the branch.
        directory: Where tau runs: the directory of a session that has none.
    """

    def __init__(self, screen: ChatScreen, directory: Path) -> None:
        self._screen = screen
        self._directory = directory
        self._gone = False

    def read(self) -> None:
        """Show the branch it is on now; say when it is gone."""
        self._screen.run_worker(self._read(), group="branch", exclusive=True)

    async def _read(self) -> None:
        screen = self._screen
        path = Path(screen.conversation.state.directory or self._directory)
        gone = not await asyncio.to_thread(path.is_dir)
        if gone and not self._gone:
            await screen.notice(f"The directory {path} is gone; tools that work in it will fail.", "warning")
        self._gone = gone
        screen.query_one("#header", HeaderBar).branch = await asyncio.to_thread(git_branch, path)


def git_branch(directory: Path) -> str:
    """The branch of the repository that holds `directory`, seven characters of a detached commit, or empty.

    Blocks on the disk: call it off the UI loop.
    """
    for folder in (directory, *directory.parents):
        entry = folder / ".git"
        try:
            if entry.is_file():  # a worktree or submodule: "gitdir: PATH"
                target = entry.read_text("utf-8", "replace").partition("gitdir:")[2].strip()
                head = (folder / target / "HEAD").read_text("utf-8", "replace").strip()
            elif entry.is_dir():
                head = (entry / "HEAD").read_text("utf-8", "replace").strip()
            else:
                continue
        except OSError:
            return ""
        reference, _, branch = head.partition("refs/heads/")
        return branch if reference == "ref: " else head[:7]
    return ""
