"""Directories with memory, on the real file system."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tau.config.settings import Places
from tau.config.trust import Trust, trust_root
from tau.memory.places import MemoryPlaces, find
from tau.memory.project import ensure


@dataclass
class Desk:
    """A disk of its own: tau's places, and a folder under which directories are made.

    Attributes:
        places: Where tau keeps things; nothing of it is there yet.
        top: The folder under which directories are made.
    """

    places: Places
    top: Path

    def directory(self, name: str) -> Path:
        """A directory, made when it is not there."""
        path = self.top / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def find(self, name: str) -> MemoryPlaces:
        return find(self.directory(name), self.places)

    def made(self, name: str) -> MemoryPlaces:
        """The places of a directory whose project folder is there."""
        return ensure(self.find(name))[0]

    def trust(self, directory: Path) -> None:
        Trust(self.places).add(trust_root(directory))

    def repository(self, name: str) -> Path:
        """A git repository with one commit."""
        path = self.directory(name)
        git(path, "init", "-q")
        git(path, "commit", "-q", "--allow-empty", "-m", "x")
        return path


def git(directory: Path, *arguments: str) -> None:
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run(["git", *who, *arguments], cwd=directory, check=True, capture_output=True)


def write(folder: Path, name: str, text: str | bytes, at: int = 0) -> Path:
    """A file of a folder that need not be there; `at` is when it was written, in seconds."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    if at:
        os.utime(path, (at, at))
    return path


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    base = tmp_path.resolve()
    own = base / "own"
    places = Places(data=own / "data", state=own / "state", config=own / "config")
    (base / "w").mkdir()
    return Desk(places, base / "w")


@pytest.fixture
def quick_desk() -> Iterator[Desk]:
    """A desk on a disk in memory where there is one, for tests that wait for the disk hundreds of times."""
    top = Path(tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)).resolve()
    own = top / "own"
    (top / "w").mkdir()
    yield Desk(Places(data=own / "data", state=own / "state", config=own / "config"), top / "w")
    shutil.rmtree(top)
