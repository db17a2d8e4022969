"""Reads which git branch a directory is on, from `.git/HEAD` alone."""

from __future__ import annotations

from pathlib import Path


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
