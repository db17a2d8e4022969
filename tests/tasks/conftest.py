"""A directory with a task desk on it, in places of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from tau.config.settings import Places, Settings, TasksSettings
from tau.tasks.desk import TaskDesk


@dataclass(frozen=True)
class Home:
    """Places below `root`, and a directory to work in.

    Attributes:
        root: Everything is under it.
        directory: Where the desk works; its real path.
    """

    root: Path
    directory: Path

    @property
    def places(self) -> Places:
        return Places(data=self.root / "data", state=self.root / "state", config=self.root / "config")

    def settings(self, *, max_age_days: int = 30) -> Settings:
        tasks = TasksSettings(max_age_days=max_age_days)
        return Settings(places=self.places, directory=self.directory, tasks=tasks)

    def desk(self, *, max_age_days: int = 30, directory: Path | None = None) -> TaskDesk:
        settings = self.settings(max_age_days=max_age_days)
        return TaskDesk(msgspec.structs.replace(settings, directory=directory or self.directory))

    def write(self, files: Mapping[str, str]) -> None:
        """Write files of the project, by their paths in it."""
        for path, text in files.items():
            place = self.directory / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)


def make_home(root: Path) -> Home:
    directory = root / "work"
    directory.mkdir()
    return Home(root, directory.resolve())


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return make_home(tmp_path)


@pytest.fixture
def ahead(home: Home) -> Callable[..., list[str]]:
    """The frontier of a new task in which some files were explored, by path."""

    def of(*explored: str) -> list[str]:
        desk = home.desk()
        task = desk.create("t").task.id
        for path in explored:
            desk.mark(task, path)
        return sorted(each.path for each in desk.view(task).frontier.ahead)

    return of
