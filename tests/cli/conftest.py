"""What tests of the command line share."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


@pytest.fixture
def read_only() -> Iterator[Callable[[Path], None]]:
    """Makes a folder one that takes no writes, also from a superuser, until the test ends."""
    mounted: list[Path] = []
    modes: list[tuple[Path, int]] = []

    def make(folder: Path) -> None:
        if os.geteuid() != 0:
            modes.extend((path, path.stat().st_mode) for path in (folder, *folder.rglob("*")))
            for path, mode in modes:
                path.chmod(mode & 0o555)
            return
        for options in (["--bind", str(folder)], ["-o", "remount,bind,ro"]):
            done = subprocess.run(["mount", *options, str(folder)], capture_output=True, check=False)
            if done.returncode != 0:
                pytest.skip("may not mount a file system")
            mounted.append(folder)

    yield make
    for folder in dict.fromkeys(mounted):
        subprocess.run(["umount", "-l", str(folder)], check=True)
    for path, mode in modes:
        path.chmod(mode)
