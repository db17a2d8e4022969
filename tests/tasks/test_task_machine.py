"""Tasks against a plain model: whatever is done in whatever order, both hold the same."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tau.errors import TaskRefused
from tau.tasks import lifecycle
from tests.tasks.conftest import make_home

DAY = 86_400_000
MAX_AGE = 3
FILES = [f"{letter}.py" for letter in "abcdef"]
PATHS = st.sampled_from(FILES)
STATUS = st.sampled_from(["explored", "skipped", "flagged"])
OPEN = ("created", "active")


@dataclass
class Model:
    """A task as it should be."""

    name: str
    state: str
    updated_at: int
    files: dict[str, str] = field(default_factory=dict)

    def change(self, state: str, at: int) -> None:
        self.state, self.updated_at = state, at


class Tasks(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        in_memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.top = Path(tempfile.mkdtemp(dir=in_memory)).resolve()
        self.home = make_home(self.top)
        self.desk = self.home.desk(max_age_days=MAX_AGE)
        self.clock = 1_800_000_000_000
        self.patch = mock.patch.object(lifecycle, "now", self.now)
        self.patch.start()
        self.tasks: dict[str, Model] = {}
        self.imports: dict[str, frozenset[str]] = {}
        self.writes = 0
        for number, path in enumerate(FILES):
            self.written(path, frozenset({FILES[number - 1], FILES[number - 2]}))
        self.tasks[self.desk.create("one").task.id] = Model("one", "created", self.clock)

    def now(self) -> int:
        return self.clock

    def written(self, path: str, imported: frozenset[str]) -> None:
        """A file comes or changes; its size is another each time, so that each change is seen."""
        self.writes += 1
        names = [target.removesuffix(".py") for target in sorted(imported)]
        text = "".join(f"import {name}\n" for name in names) + "#" * self.writes
        (self.home.directory / path).write_text(text)
        self.imports[path] = imported - {path}

    def teardown(self) -> None:
        self.patch.stop()
        shutil.rmtree(self.top)

    def collect(self) -> None:
        """What a creation and a listing do first."""
        due = self.clock - MAX_AGE * DAY
        for task_id, task in list(self.tasks.items()):
            if task.updated_at <= due and task.state in ("completed", "archived"):
                del self.tasks[task_id]
            elif task.updated_at <= due and task.state == "created":
                task.change("archived", self.clock)

    def meant(self, name: str) -> str | None:
        """The id of the task that a name means, or None where it means none or several."""
        named = [task_id for task_id, task in self.tasks.items() if task.name == name]
        found = [task_id for task_id in named if self.tasks[task_id].state in OPEN] or named
        return found[0] if len(found) == 1 else None

    def frontier(self, task: Model) -> dict[str, set[str]]:
        explored = {path for path, status in task.files.items() if status == "explored"}
        skipped = {path for path, status in task.files.items() if status == "skipped"}
        ahead: dict[str, set[str]] = {}
        for path in explored & set(self.imports):
            for target in self.imports[path] - explored - skipped:
                if target in self.imports:
                    ahead.setdefault(target, set()).add(path)
        return ahead

    @rule(name=st.sampled_from(["one", "two"]))
    def create(self, name: str) -> None:
        made = self.desk.create(name)
        self.collect()
        assert {task.id for task in made.others} == {
            task_id for task_id, task in self.tasks.items() if task.name == name and task.state in OPEN
        }
        self.tasks[made.task.id] = Model(name, "created", self.clock)

    @rule(name=st.sampled_from(["one", "two"]), path=PATHS, status=STATUS)
    def mark(self, name: str, path: str, status: str) -> None:
        task_id = self.meant(name)
        if task_id is None or self.tasks[task_id].state not in OPEN:
            with pytest.raises(TaskRefused):
                self.desk.mark(name, path, status)
            return
        task = self.tasks[task_id]
        marked = self.desk.mark(name, path, status)
        assert (marked.begun, marked.missing) == (task.state == "created", path not in self.imports)
        task.files[path] = status
        task.change("active", self.clock)

    @precondition(lambda self: self.tasks)
    @rule(data=st.data())
    def complete(self, data: st.DataObject) -> None:
        ids = list(self.tasks)  # in the order of their creation: ids are others each time
        task_id = ids[data.draw(st.integers(0, len(ids) - 1))]
        task = self.tasks[task_id]
        if task.state == "archived":
            with pytest.raises(TaskRefused, match="archived"):
                self.desk.complete(task_id)
            return
        assert self.desk.complete(task_id)[1] is (task.state != "completed")
        if task.state != "completed":
            task.change("completed", self.clock)

    @rule(hours=st.sampled_from([1, 20, 71, 72]))
    def time_passes(self, hours: int) -> None:
        self.clock += hours * 3_600_000

    @rule(path=PATHS, imported=st.frozensets(PATHS, max_size=4))
    def write(self, path: str, imported: frozenset[str]) -> None:
        self.written(path, imported)

    @precondition(lambda self: self.imports)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        path = data.draw(st.sampled_from(sorted(self.imports)))
        (self.home.directory / path).unlink()
        del self.imports[path]

    @rule()
    def list_them(self) -> None:
        listing = self.desk.listing()
        self.collect()
        assert {row.task.id: row.task.state for row in listing.rows} == {
            task_id: task.state for task_id, task in self.tasks.items()
        }
        for row in listing.rows:
            task = self.tasks[row.task.id]
            marked = [row.counts.explored, row.counts.skipped, row.counts.flagged]
            assert marked == [
                list(task.files.values()).count(status) for status in ("explored", "skipped", "flagged")
            ]
            assert row.ahead == (len(self.frontier(task)) if task.state in OPEN else None)
            assert row.task.updated_at == task.updated_at

    @invariant()
    def open_tasks_are_those_that_a_collection_would_leave(self) -> None:
        due = self.clock - MAX_AGE * DAY
        assert {task.id for task, _ in self.desk.open_tasks()} == {
            task_id
            for task_id, task in self.tasks.items()
            if task.state == "active" or (task.state == "created" and task.updated_at > due)
        }

    @invariant()
    def each_task_is_as_the_model_has_it(self) -> None:
        for task_id, task in self.tasks.items():
            view = self.desk.view(task_id)
            assert view.task.state == task.state
            assert {file.path: file.status for file in view.files} == task.files
            ahead = {each.path: set(each.importers) for each in view.frontier.ahead}
            assert ahead == self.frontier(task)
            assert {each.path for each in view.frontier.ahead if each.flagged} == {
                path for path in ahead if task.files.get(path) == "flagged"
            }


def test_any_order_of_events() -> None:
    run_state_machine_as_test(
        Tasks,
        settings=settings(
            max_examples=40,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
        ),
    )
