"""`/refine` on the real engine, store and history, with a scripted model beside the conversation."""

from __future__ import annotations

import asyncio
import json
import shutil
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest

from tau.config.settings import MemorySettings, Settings
from tau.conversation import Conversation, consent, refining
from tau.conversation.own_commands import OwnCommand
from tau.conversation.state import MemoryListing, Refused, Said, Switched
from tau.events import NoticeRecord
from tau.memory import files, proposals
from tau.memory.desk import Desk
from tau.memory.entries import Entry
from tau.memory.history import History
from tau.memory.shipped import SEEDED
from tests.conversation.conftest import Bench, ending, say
from tests.conversation.test_compaction import NOTES, meta, side_requests, usage

HINT = "/refine undo takes it back"


@dataclass
class Refined(Bench):
    """A bench with memory.

    Attributes:
        refine: ``[memory] refine``.
    """

    refine: Literal["auto", "off"] = "off"

    def settings(self, directory: Path | None = None) -> Settings:
        return msgspec.structs.replace(super().settings(directory), memory=MemorySettings(refine=self.refine))

    @property
    def desk(self) -> Desk:
        return Desk(self.settings())

    def entries(self) -> list[Entry]:
        return self.desk.history().entries()

    def files(self) -> dict[str, bytes]:
        """Every memory file by its title."""
        where = self.desk.where()
        return {
            f"{scope}/{path.name}": path.read_bytes()
            for scope, folder in (("global", where.shared), ("project", where.memory))
            for path in folder.glob("[!.]*")
        }

    def path(self, title: str) -> Path:
        where = self.desk.where()
        scope, _, name = title.partition("/")
        return (where.shared if scope == "global" else where.memory) / name

    def refines_after(self, turns: int, monkeypatch: pytest.MonkeyPatch) -> None:
        """Have it refine by itself, after so many turns."""
        monkeypatch.setattr(refining, "TURNS", turns)
        self.refine = "auto"

    def proposes(self, *answers: Sequence[dict[str, str]], **step: Any) -> None:
        """Have the side model answer with operations, one answer after the other."""
        self.side = [{"text": json.dumps({"operations": list(each)}), **step} for each in answers]


@pytest.fixture
def bench(tmp_path: Path) -> Refined:
    made = Refined(tmp_path)
    desk = made.desk
    (desk.where().shared / SEEDED).unlink()  # what comes with tau is handed over after all
    desk.begin()
    return made


class Gate:
    """Has what a model answered wait, each time until `open` is called; then it is read as ever."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._turns = threading.Semaphore(0)
        real = proposals.parse

        def parse(answer: str) -> list[proposals.Operation]:
            assert self._turns.acquire(timeout=10)
            return real(answer)

        monkeypatch.setattr(proposals, "parse", parse)

    def open(self) -> None:
        self._turns.release()


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Gate:
    return Gate(monkeypatch)


def wrote(title: str, content: str, sentence: str = "says how it is built") -> dict[str, str]:
    return {"file": title, "action": "write", "content": content, "sentence": sentence}


def edited(title: str, old: str, new: str, sentence: str = "corrects it") -> dict[str, str]:
    return {"file": title, "action": "edit", "old": old, "new": new, "sentence": sentence}


def deleted(title: str) -> dict[str, str]:
    return {"file": title, "action": "delete", "sentence": "no longer true"}


def told(conversation: Conversation) -> str:
    return "\n".join(conversation.state.tool_problems)


async def until(seen: Callable[[], bool]) -> None:
    async def poll() -> None:
        while not seen():
            await asyncio.sleep(0.01)

    await asyncio.wait_for(poll(), 10)


async def refine(conversation: Conversation, line: str = "/refine") -> str:
    """Run `/refine` and return what was first said of what came of it."""

    def news() -> list[str]:
        told = conversation.state.tool_problems[len(before) :]
        return [line for line in told if line.startswith(("Memory ", "Waits "))]

    before = conversation.state.tool_problems
    begun = await conversation.command(line)
    assert isinstance(begun, Said), begun
    assert begun.lines[0] == refining.BEGUN
    await until(lambda: bool(news()))
    return news()[0]


async def lines(conversation: Conversation, line: str) -> list[str]:
    result = await conversation.command(line)
    assert isinstance(result, Said), result
    return list(result.lines)


async def test_a_refinement_changes_memory_says_so_and_is_undone(bench: Refined) -> None:
    bench.proposes([wrote("project/build.md", "Build with make all."), wrote("global/tone.md", "Be brief.")])
    async with bench.open(name="amber") as conversation:
        await say(conversation, "We build with make all, and be brief")
        before = bench.files()
        assert await refine(conversation) == (
            "Memory was refined (manual):\n"
            "    added global/tone.md — says how it is built\n"
            f"    added project/build.md — says how it is built\n{HINT}"
        )
        after = {**before, "project/build.md": b"Build with make all.\n", "global/tone.md": b"Be brief.\n"}
        assert bench.files() == after
        await say(conversation, "And now?")
        assert "Build with make all." in bench.requests[-1]["system"]
        log = await lines(conversation, "/refine history")
        assert log[0].endswith(" UTC · session 'amber' · after 2 messages · manual")
        assert log[1:] == [
            "    added global/tone.md — says how it is built",
            "    added project/build.md — says how it is built",
        ]
        undone = await lines(conversation, "/refine undo")
        assert undone[1:] == ["    removed global/tone.md", "    removed project/build.md"]
        assert bench.files() == before
        await say(conversation, "And now?")
        assert "Build with make all." not in bench.requests[-1]["system"]
        assert (await lines(conversation, "/refine history"))[0].endswith("manual (undone)")
        assert isinstance(await conversation.command("/refine undo"), Refused)


async def test_an_undo_over_a_hand_edit_is_shown_first_and_loses_nothing(bench: Refined) -> None:
    bench.proposes([wrote("project/build.md", "Build with make all.")])
    async with bench.open(name="amber") as conversation:
        await say(conversation, "We build with make all")
        before = bench.files()
        await refine(conversation)
        path = bench.path("project/build.md")
        path.write_text("Build with make.\nNever on Fridays.\x1b[2J\n")
        for command in ("/refine undo", "/memory undo"):
            refused = await conversation.command(command)
            assert isinstance(refused, Refused)
            said = refused.line.splitlines()
            assert "+Never on Fridays.\\x1b[2J" in said
            assert "-Never on Fridays.\\x1b[2J" in said
            assert said[-1].endswith(
                "or /memory undo anyway goes over the edit, which is kept in the history."
            )
        assert path.read_text().startswith("Build with make.\n")
        undone = await lines(conversation, "/refine undo anyway")
        assert undone[1] == "    removed project/build.md"
        assert Path(undone[2].partition(" is kept: ")[2]).read_text().startswith("Build with make.\n")
        assert bench.files() == before
        log = await lines(conversation, "/memory history")
        assert log[0].endswith(" UTC · session 'amber' · after 2 messages · edit (kept)")
        await say(conversation, "And now?")
        assert "make" not in bench.requests[-1]["system"].partition("~~~memory project/build.md")[2]
        assert isinstance(await conversation.command("/memory undo sometimes"), Refused)


async def test_anyway_takes_back_only_the_change_whose_edits_were_shown(bench: Refined) -> None:
    bench.proposes([wrote("project/build.md", "Build with make all.")])
    async with bench.open(name="amber") as conversation:
        await say(conversation, "We build with make all")
        before = bench.files()
        await refine(conversation)
        path = bench.path("project/build.md")
        path.write_text("Build with make.\n")
        nothing = await conversation.command("/memory undo anyway")
        assert isinstance(nothing, Refused)
        assert nothing.line.startswith("No undo was refused here that could go over an edit")
        refused = await conversation.command("/memory undo")
        assert isinstance(refused, Refused)
        assert "+Build with make." in refused.line
        bench.desk.remember("other", "from another window", replace=False, origin="")
        other = bench.path("project/other.md")
        newer = await conversation.command("/memory undo anyway")
        assert isinstance(newer, Refused)
        assert "memory was changed again since, by session 'none' (project/other.md)" in newer.line
        assert other.exists()
        assert path.read_text() == "Build with make.\n"
        assert (await lines(conversation, "/memory undo"))[1] == "    removed project/other.md"
        assert (await lines(conversation, "/memory undo anyway"))[1] == "    removed project/build.md"
        assert bench.files() == before
        again = await conversation.command("/memory undo anyway")
        assert isinstance(again, Refused)
        assert again.line == nothing.line


async def test_the_model_has_no_tools_and_sees_session_files_and_focus(bench: Refined) -> None:
    bench.steps["default"] = [
        {"tools": [{"name": "list_files", "input": {"path": "."}}]},
        {"text": "A folder."},
        {"text": "As you say."},
    ]
    bench.proposes([])
    bench.path("project/tone.md").write_text("Answer briefly.\n")
    bench.path("project/door.md").write_text("The door opens with sk-abcdefghijklmnopqrstuvwx1234.\n")
    async with bench.open() as conversation:
        await say(conversation, "What is here? My key is sk-abcdefghijklmnopqrstuvwx5678")
        assert await refine(conversation, "/refine the build") == refining.NOTHING
    (request,) = side_requests(bench)
    assert request["tools"] == []
    (message,) = request["messages"]
    (block,) = message["content"]
    text = block["text"]
    assert "What is here?" in text
    assert "[calls list_files with" in text
    assert "~~~memory project/tone.md\nAnswer briefly.\n~~~" in text
    assert "The person asks to look at this above all: the build" in text
    assert "must not be named: project/door.md" in text
    assert "sk-abcdefghijklmnopqrstuvwx" not in json.dumps(request)
    assert bench.entries() == []


async def test_what_a_file_learned_among_foreign_content_names_it(bench: Refined) -> None:
    bench.steps["default"] = [
        {"tools": [{"name": "list_files", "input": {"path": "."}}, {"name": "agent_info", "input": {}}]},
        {"text": "A folder."},
    ]
    bench.proposes([wrote("project/build.md", "Build with make all.")])
    async with bench.open() as conversation:
        await say(conversation, "What is here?")
        await refine(conversation)
    assert bench.files()["project/build.md"] == b"---\norigin: list_files\n---\nBuild with make all.\n"


async def test_a_file_of_the_persons_that_counts_as_from_outside_now_is_told(bench: Refined) -> None:
    bench.path("project/rules.md").write_text("Never push to main.\nUse tabs.\n")
    bench.steps["default"] = [
        {"tools": [{"name": "list_files", "input": {"path": "."}}]},
        {"text": "A folder."},
    ]
    bench.proposes(
        *([edited("project/rules.md", old, new)] for old, new in (("tabs", "spaces"), ("Use", "use")))
    )
    outside = "(all of it counts as noted after content from outside now: list_files)"
    async with bench.open() as conversation:
        await say(conversation, "What is here?")
        told = await refine(conversation)
        assert f"updated project/rules.md — corrects it {outside}" in told
        assert bench.files()["project/rules.md"].startswith(b"---\norigin: list_files\n---\n")
        await say(conversation, "And?")
        assert "counts as" not in await refine(conversation), "it did so before"


async def test_what_is_moved_from_a_file_with_an_origin_keeps_it(bench: Refined) -> None:
    bench.path("project/page.md").write_text("---\norigin: fetch_url\n---\nAlways run it.\n")
    bench.path("project/rules.md").write_text("---\norigin: a page\n---\nRule one is long enough.\nTwo\n")
    bench.steps["default"] = [
        {"tools": [{"name": "list_files", "input": {"path": "."}}]},
        {"text": "A folder."},
    ]
    bench.proposes([wrote("project/new.md", "Always run it."), edited("project/rules.md", "Two", "2")])
    async with bench.open() as conversation:
        await say(conversation, "What is here?")
        await refine(conversation)
    assert bench.files()["project/new.md"] == (
        b"---\norigin: list_files, fetch_url, a page\n---\nAlways run it.\n"
    )
    kept = b"---\norigin: a page, list_files, fetch_url\n---\nRule one is long enough.\n2\n"
    assert bench.files()["project/rules.md"] == kept


async def test_the_output_of_a_command_that_was_shared_is_an_origin(bench: Refined) -> None:
    bench.proposes([wrote("project/build.md", "Build with make all.")])
    async with bench.open() as conversation:
        await conversation.model_ready()
        async for _ in conversation.run(OwnCommand("echo remember to obey", shared=True)):
            pass
        await say(conversation, "What do you think?")
        await refine(conversation)
    assert bench.files()["project/build.md"].startswith(b"---\norigin: a shared command\n---\n")


async def test_no_secret_is_written_or_asked_for(bench: Refined) -> None:
    secret = "sk-abcdefghijklmnopqrstuvwx1234"
    bench.path("project/port.md").write_text("The port is 8000, and the door is open.\n")
    bench.proposes(
        [
            wrote("project/key.md", f"The key is {secret}.", f"they said {secret}"),
            edited("project/port.md", "8000", f"9000 with {secret}", f"it is {secret}"),
        ]
    )
    async with bench.open() as conversation:
        await say(conversation, "Keep it")
        await refine(conversation, f"/refine what {secret} opens")
        assert "added project/key.md" in told(conversation)
        assert secret not in told(conversation)
    (entry,) = bench.entries()
    assert len(entry.changes) == 2
    assert all(secret not in change.sentence for change in entry.changes)
    assert all(secret.encode() not in data for data in bench.files().values())
    assert "above all: what" in json.dumps(side_requests(bench))
    assert secret not in json.dumps(side_requests(bench))


async def test_a_turn_runs_while_memory_is_refined_and_is_not_read(bench: Refined, gate: Gate) -> None:
    bench.proposes([wrote("project/build.md", "Build with make all.")])
    async with bench.open() as conversation:
        await say(conversation, "We build with make all")
        await conversation.command("/refine")
        assert not conversation.state.busy
        assert isinstance(await conversation.command("/refine"), Refused)
        assert (await ending(conversation, "And the tests?")).stop_reason == "end_turn"
        assert bench.entries() == [], "the turn was over before the refinement"
        gate.open()
        await until(lambda: HINT in told(conversation))
        assert bench.entries()[0].source.messages == 2
    assert "And the tests?" not in json.dumps(side_requests(bench))


async def test_leaving_does_not_wait_and_leaves_memory_as_it_is(bench: Refined) -> None:
    bench.proposes([wrote("project/build.md", "Build with make all.")], chunks=2, delay=60)
    async with bench.open() as conversation:
        await say(conversation, "We build with make all")
        before = bench.files()
        await conversation.command("/refine")
        await until(lambda: bool(side_requests(bench)))
        await asyncio.wait_for(conversation.close(), 10)
        await until(lambda: "tau was left before that was over" in told(conversation))
    assert bench.files() == before
    assert bench.entries() == []


async def left_meanwhile(conversation: Conversation, go: threading.Event) -> None:
    """Close a conversation while a change of memory stands still, which goes on when that is known."""
    (task,) = conversation._core._stopping._running
    closing = asyncio.create_task(conversation.close())
    await until(lambda: task.cancelling() > 0)
    go.set()
    await asyncio.wait_for(closing, 10)


def held_write(monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Event, threading.Event]:
    """Have the next change of memory stand still when it has begun; that it has, and what lets it go on."""
    begun, go = threading.Event(), threading.Event()
    real = History.change

    def change(self: History, *given: Any, **more: Any) -> Entry | None:
        begun.set()
        assert go.wait(10)
        return real(self, *given, **{**more, "given_up": files.never})  # as where the lock was had just now

    monkeypatch.setattr(History, "change", change)
    return begun, go


@pytest.mark.parametrize("how", ["manual", "automatic"])
async def test_leaving_ends_a_write_that_has_begun_and_tells_of_it(
    bench: Refined, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    begun, go = held_write(monkeypatch)
    monkeypatch.setattr(refining, "TURNS", 1)
    bench.refine = "auto" if how == "automatic" else "off"
    bench.proposes([wrote("project/build.md", "Build with make all.")])
    async with bench.open() as conversation:
        await say(conversation, "We build with make all")
        if how == "manual":
            await conversation.command("/refine")
        await until(begun.is_set)
        closing = asyncio.create_task(conversation.close())
        running = conversation._core.refining
        await until(lambda: running._task is None)  # it was asked to end
        go.set()
        await asyncio.wait_for(closing, 10)
        await until(lambda: f"Memory was refined ({how}):\n    added project/build.md" in told(conversation))
        assert "not refined" not in told(conversation)
    assert bench.files()["project/build.md"] == b"Build with make all.\n"
    assert len(bench.entries()) == 1


async def test_leaving_does_not_wait_for_another_who_changes_memory(bench: Refined) -> None:
    bench.proposes([wrote("project/build.md", "Build with make all.")])
    async with bench.open() as conversation:
        await say(conversation, "We build with make all")
        before = bench.files()
        with files.locked(bench.desk.where()):
            await conversation.command("/refine")
            await until(lambda: bool(side_requests(bench)))
            await asyncio.wait_for(conversation.close(), 5)
            await until(lambda: "Memory was not refined: tau was left" in told(conversation))
    assert bench.files() == before
    assert bench.entries() == []


async def test_what_it_takes_is_counted_for_the_session_it_read(bench: Refined) -> None:
    bench.proposes([], chunks=2, delay=0.3, **usage(7_000))
    async with bench.open() as conversation:
        await say(conversation, "We build with make all")
        old = conversation.state.session_id
        context = conversation.state.context_tokens
        await conversation.command("/refine")
        await until(lambda: bool(side_requests(bench)))
        assert isinstance(await conversation.command("/new"), Switched)
        await until(lambda: meta(bench, old).get("tokens_in") == 7_000)
        assert conversation.state.usage.input_tokens == 0
        assert isinstance(await conversation.command(f"/resume {old}"), Switched)
        assert conversation.state.usage.input_tokens == 7_000
        assert conversation.state.context_tokens == context


# Edits by hand -------------------------------------------------------------------------------------


async def test_an_edit_by_hand_meanwhile_stays_and_memory_is_read_again(bench: Refined, gate: Gate) -> None:
    path = bench.path("project/build.md")
    path.write_text("Build with make.\nTest with make test.\n")
    change = edited("project/build.md", "Build with make.", "Build with make all.")
    bench.proposes([change], [change])
    async with bench.open() as conversation:
        await say(conversation, "We build with make all")
        await conversation.command("/refine")
        await until(lambda: bool(side_requests(bench)))
        path.write_text("Build with make.\nTest with make check.\n")
        gate.open()
        gate.open()
        await until(lambda: HINT in told(conversation))
        assert conversation.state.tool_problems[-2] == (
            "project/build.md was changed while memory was refined: that stays, and it is read again"
        )
        assert path.read_bytes() == b"Build with make all.\nTest with make check.\n"
        await conversation.command("/refine undo")
        assert path.read_bytes() == b"Build with make.\nTest with make check.\n"
    assert "make check" in side_requests(bench)[1]["messages"][0]["content"][0]["text"]


async def test_edits_by_hand_over_and_over_end_it(bench: Refined, gate: Gate) -> None:
    path = bench.path("project/build.md")
    path.write_text("Build with make.\nTest\n")
    change = edited("project/build.md", "Build with make.", "Build with make all.")
    bench.proposes([change], [change])
    async with bench.open() as conversation:
        await say(conversation, "We build with make all")
        await conversation.command("/refine")
        for number in (1, 2):
            await until(lambda: len(side_requests(bench)) == number)  # noqa: B023  # awaited right here
            path.write_text(f"Build with make.\nEdit {number}\n")
            gate.open()
        await until(lambda: "once more" in told(conversation))
        assert path.read_text() == "Build with make.\nEdit 2\n"
        assert bench.entries() == []


# Consent -------------------------------------------------------------------------------------------

TEN = "".join(f"Line {number} of what the person wrote.\n" for number in range(10))


async def test_a_large_loss_waits_for_a_yes(bench: Refined) -> None:
    path = bench.path("project/long.md")
    path.write_text(TEN)
    bench.proposes(
        [wrote("project/long.md", "Line 1 of what the person wrote."), wrote("project/a.md", "A fact.")], []
    )
    async with bench.open() as conversation:
        await say(conversation, "Most of it is wrong")
        await refine(conversation)
        assert path.read_text() == TEN
        assert bench.files()["project/a.md"] == b"A fact.\n"
        await until(lambda: "Waits for your yes" in told(conversation))
        waits = "Waits for your yes: project/long.md, it would lose 9 of its 10 lines — says how it is built"
        assert waits in told(conversation)
        assert "-Line 9 of what the person wrote." in told(conversation)
        listed = await lines(conversation, "/refine")
        assert listed[0] == refining.BEGUN
        assert listed[1] == waits
        assert listed[-1] == "/refine accept carries it out"
        await until(lambda: refining.NOTHING in told(conversation))
        assert path.read_text() == TEN
        assert await lines(conversation, "/refine accept") == [
            "Memory was changed:",
            "    updated project/long.md — says how it is built",
            HINT,
        ]
        assert path.read_text() == "Line 1 of what the person wrote.\n"
        assert isinstance(await conversation.command("/refine accept"), Refused)
        await conversation.command("/refine undo")
        assert path.read_text() == TEN


async def test_all_of_the_difference_is_shown_before_a_yes(bench: Refined) -> None:
    path = bench.path("project/long.md")
    path.write_text("".join(f"Line {number} of what the person wrote.\n" for number in range(200)))
    bench.proposes([wrote("project/long.md", "It is gone.")])
    async with bench.open() as conversation:
        await say(conversation, "All of it is wrong")
        text = await refine(conversation)
    assert all(f"-Line {number} of what the person wrote." in text for number in range(200))
    assert "+It is gone." in text


async def test_one_long_line_is_not_lost_unasked(bench: Refined) -> None:
    path = bench.path("project/release.md")
    before = "Never release on a Friday, and ask Priya before. " * 280
    path.write_text(before)
    bench.proposes([wrote("project/release.md", "Releases need care.")])
    async with bench.open() as conversation:
        await say(conversation, "How do we release?")
        assert "project/release.md, it would lose 1" in await refine(conversation)
        assert path.read_text() == before


async def test_what_is_changed_without_a_yes_waits_no_longer(bench: Refined) -> None:
    path = bench.path("project/long.md")
    path.write_text(TEN)
    bench.proposes(
        [wrote("project/long.md", "Line 1.")], [edited("project/long.md", "Line 3 of", "Line three of")]
    )
    async with bench.open() as conversation:
        await say(conversation, "Most of it is wrong")
        assert (await refine(conversation)).startswith("Waits for your yes")
        assert (await refine(conversation)).startswith("Memory was refined")
        assert isinstance(await conversation.command("/refine accept"), Refused)
        assert path.read_text() == TEN.replace("Line 3 of", "Line three of")


async def test_a_yes_is_for_the_file_as_it_was_shown(bench: Refined) -> None:
    path = bench.path("project/mine.md")
    path.write_text("By hand.\n")
    bench.proposes([deleted("project/mine.md"), deleted("global/task-discipline.md")])
    async with bench.open() as conversation:
        await say(conversation, "That is wrong")
        text = await refine(conversation)
        assert "project/mine.md, you wrote it, and it would be deleted" in text
        assert "global/task-discipline.md, it came with tau and would be deleted" in text
        path.write_text("By hand, and again.\n")
        assert await lines(conversation, "/refine accept") == [
            "project/mine.md was changed since, so it was left as it is",
            "    and global/task-discipline.md with it: these changes go together",
        ]
        assert path.read_text() == "By hand, and again.\n"
        assert "global/task-discipline.md" in bench.files()
        assert isinstance(await conversation.command("/refine accept"), Refused)


async def test_what_is_moved_into_a_file_that_waits_waits_with_it(bench: Refined) -> None:
    bench.desk.remember("port", "The port is 8000.", replace=False, origin="")
    mine, port = bench.path("project/mine.md"), bench.path("project/port.md")
    mine.write_text(TEN)
    moved = [
        wrote("project/mine.md", "The port is 8000."),
        deleted("project/port.md"),
        wrote("project/new.md", "A fact."),
    ]
    bench.proposes(moved)
    async with bench.open() as conversation:
        await say(conversation, "One file is enough")
        await refine(conversation)
        assert port.read_text() == "The port is 8000.\n"
        assert bench.files()["project/new.md"] == b"A fact.\n", "what only adds waits for nothing"
        await until(lambda: "Waits for your yes" in told(conversation))
        assert (
            "Waits for your yes: project/port.md, it would lose 1 of its 1 lines,"
            " and another part of the same change waits — no longer true"
        ) in told(conversation)
        assert await lines(conversation, "/refine accept") == [
            "Memory was changed:",
            "    updated project/mine.md — says how it is built",
            "    removed project/port.md — no longer true",
            HINT,
        ]
        assert not port.exists()
        assert mine.read_text() == "The port is 8000.\n"
        await conversation.command("/refine undo")
        assert port.exists()
        assert mine.read_text() == TEN


async def test_a_file_does_not_go_when_what_took_its_place_is_gone(bench: Refined) -> None:
    mine = bench.path("project/mine.md")
    mine.write_text("The port is 8000.\n")
    bench.proposes([deleted("project/mine.md"), wrote("project/ports.md", "The port is 8000.")])
    async with bench.open() as conversation:
        await say(conversation, "One file is enough")
        await refine(conversation)
        await until(lambda: "Waits for your yes: project/mine.md" in told(conversation))
        await conversation.command("/refine undo")
        assert "project/ports.md" not in bench.files()
        listed = await lines(conversation, "/refine")
        assert "it, or a file it goes with, was changed since" in "\n".join(listed)
        assert await lines(conversation, "/refine accept") == [
            "project/ports.md was changed since, so it was left as it is",
            "    and project/mine.md with it: these changes go together",
        ]
    assert mine.read_text() == "The port is 8000.\n"


async def test_a_file_does_not_go_when_what_took_its_place_goes_while_a_yes_waits(bench: Refined) -> None:
    mine, ports = bench.path("project/mine.md"), bench.path("project/ports.md")
    mine.write_text("The port is 8000.\n")
    bench.proposes([deleted("project/mine.md"), wrote("project/ports.md", "The port is 8000.")])
    async with bench.open() as conversation:
        await say(conversation, "One file is enough")
        await refine(conversation)
        await until(lambda: "Waits for your yes: project/mine.md" in told(conversation))
        with files.locked(bench.desk.where()):
            accepting = asyncio.create_task(conversation.command("/refine accept"))
            await until(lambda: bool(conversation.state.waits))
            ports.unlink()
        said = await accepting
        assert isinstance(said, Said)
        assert said.lines == [
            "project/ports.md was changed since, so it was left as it is",
            "    and project/mine.md with it: these changes go together",
        ]
        assert isinstance(await conversation.command("/refine accept"), Refused)
    assert mine.read_text() == "The port is 8000.\n"


async def test_a_yes_is_for_what_was_listed(bench: Refined) -> None:
    mine = bench.path("project/mine.md")
    mine.write_text(TEN)
    bench.proposes([wrote("project/mine.md", "Line 1.")], [deleted("project/mine.md")])
    async with bench.open() as conversation:
        await say(conversation, "Most of it is wrong")
        await refine(conversation)
        listed = await conversation.waiting_changes()
        assert [change.sentence for change in listed] == ["says how it is built"]
        assert "no longer true" in await refine(conversation)
        refused = await conversation.accept_changes(listed)
        assert isinstance(refused, Refused)
        assert refused.line.startswith("What waits for your yes is not what you were shown")
        assert mine.read_text() == TEN
        said = await conversation.accept_changes(await conversation.waiting_changes())
        assert isinstance(said, Said)
        assert said.lines[1] == "    removed project/mine.md — no longer true"
    assert not mine.exists()


async def test_a_yes_that_is_typed_is_for_what_was_told(
    bench: Refined, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = bench.path("project/mine.md")
    mine.write_text(TEN)
    bench.proposes([wrote("project/mine.md", "Line 1.")], [deleted("project/mine.md")])
    async with bench.open() as conversation:
        await say(conversation, "Most of it is wrong")
        await refine(conversation)
        waits, tell = threading.Event(), threading.Event()
        real = consent.Waiting.lines

        def lines_later(waiting: consent.Waiting, titles: Collection[str] | None = None) -> list[str]:
            if titles is not None:
                waits.set()
                assert tell.wait(10)
            return real(waiting, titles)

        monkeypatch.setattr(consent.Waiting, "lines", lines_later)
        await conversation.command("/refine")
        await until(waits.is_set)
        refused = await conversation.command("/refine accept")
        tell.set()
        assert isinstance(refused, Refused)
        assert "Waits for your yes: project/mine.md, you wrote it, and it would be deleted" in refused.line
        assert mine.read_text() == TEN
        assert isinstance(await conversation.command("/refine accept"), Said)
    assert not mine.exists()


async def test_a_new_proposal_for_one_file_ends_all_that_waits_with_it(bench: Refined) -> None:
    mine, other = bench.path("project/mine.md"), bench.path("project/other.md")
    mine.write_text("By hand.\n")
    other.write_text("By hand, too.\n")
    bench.proposes(
        [deleted("project/mine.md"), deleted("project/other.md")],
        [edited("project/mine.md", "By hand.", "By hand.\nAnd more.")],
    )
    async with bench.open() as conversation:
        await say(conversation, "That is wrong")
        await refine(conversation)
        await refine(conversation)
        ended = "project/other.md: the change that waited for your yes is ended, as this one has its files"
        await until(lambda: ended in told(conversation))
        assert isinstance(await conversation.command("/refine accept"), Refused)
    assert other.read_text() == "By hand, too.\n"


async def test_what_waits_is_in_the_list_of_memory_and_said_to_be_dropped_at_leaving(bench: Refined) -> None:
    bench.path("project/mine.md").write_text("By hand.\n")
    bench.proposes([deleted("project/mine.md")])
    async with bench.open() as conversation:
        await say(conversation, "That is wrong")
        await refine(conversation)
        listing = await conversation.command("/memory")
        assert isinstance(listing, MemoryListing)
        (change,) = listing.waiting
        assert change.title == "project/mine.md"
        assert "-By hand." in change.difference.splitlines()
        assert listing.lines[-1] == "/refine accept carries it out"
        assert f"Waits for your yes: {change.line}" in listing.lines
        assert conversation.told_at_closing() == []
        await conversation.close()
        assert conversation.told_at_closing() == [f"{consent.LOST}\n    project/mine.md — no longer true"]
    assert bench.path("project/mine.md").exists()


async def test_a_yes_that_is_being_carried_out_is_told_of_when_tau_is_left(
    bench: Refined, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = bench.path("project/mine.md")
    path.write_text("By hand.\n")
    bench.proposes([deleted("project/mine.md")])
    async with bench.open() as conversation:
        await say(conversation, "That is wrong")
        await refine(conversation)
        begun, go = held_write(monkeypatch)
        accepting = asyncio.create_task(conversation.command("/refine accept"))
        await until(begun.is_set)
        await left_meanwhile(conversation, go)
        await until(lambda: "Memory was changed:\n    removed project/mine.md" in told(conversation))
        accepting.cancel()
        await asyncio.wait({accepting})
    assert not path.exists()


async def test_a_yes_does_not_wait_for_another_who_changes_memory_when_tau_is_left(bench: Refined) -> None:
    path = bench.path("project/mine.md")
    path.write_text("By hand.\n")
    bench.proposes([deleted("project/mine.md")])
    async with bench.open() as conversation:
        await say(conversation, "That is wrong")
        await refine(conversation)
        with files.locked(bench.desk.where()):
            accepting = asyncio.create_task(conversation.command("/refine accept"))
            await asyncio.sleep(0)
            await asyncio.wait_for(conversation.close(), 5)
            accepting.cancel()
            await asyncio.wait({accepting})
    assert path.exists()
    assert bench.entries() == []


async def test_a_persons_file_that_was_refined_is_still_theirs(bench: Refined) -> None:
    path = bench.path("project/mine.md")
    path.write_text("By hand.\nTwo lines.\n")
    bench.proposes(
        [edited("project/mine.md", "Two", "2")],
        [deleted("project/mine.md")],
        [wrote("project/own.md", "It.")],
    )
    async with bench.open() as conversation:
        await say(conversation, "That is wrong")
        await refine(conversation)
        assert path.read_text() == "By hand.\n2 lines.\n"
        assert "you wrote it, and it would be deleted" in await refine(conversation)
        assert path.exists()
    bench.proposes([wrote("project/own.md", "It.")], [deleted("project/own.md")])
    async with bench.open() as conversation:
        await say(conversation, "And this")
        await refine(conversation)
        assert "removed project/own.md" in await refine(conversation)


# Answers that are none -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        ({"text": "Nothing needs to change."}, "the answer is not JSON"),
        ({"text": '{"operations": [{"file": "project/a.md", "action": "write"}]}'}, "operation 1 does not"),
        ({"text": "  "}, "the proposal was empty"),
        ({"error": "refused", "message": "no"}, "no"),
        ({"text": '{"operations": [', "error": "max_tokens"}, "was not finished (max_tokens)"),
        ({"tools": [{"name": "remember", "input": {"label": "a", "content": "b"}}]}, "a tool call came"),
        (
            {"text": json.dumps([wrote("project/a.md", "Here is the updated file:\n\nA fact.")])},
            "talk about the answer",
        ),
        ({"text": json.dumps([wrote("project/door.md", "It is open.")])}, "which it was not shown"),
    ],
)
async def test_an_answer_that_is_none_changes_nothing_and_is_said(
    bench: Refined, step: dict[str, Any], reason: str
) -> None:
    bench.side = [step]
    bench.path("project/door.md").write_text("The door opens with sk-abcdefghijklmnopqrstuvwx1234.\n")
    async with bench.open() as conversation:
        await say(conversation, "We build with make all")
        before = bench.files()
        text = await refine(conversation)
        assert text.startswith("Memory was not refined: ")
        assert reason in text
        assert bench.files() == before
        assert bench.entries() == []
        assert (await ending(conversation, "Go on")).stop_reason == "end_turn"


async def test_a_model_that_only_repeats_changes_no_file(bench: Refined) -> None:
    bench.path("project/tone.md").write_text("Answer briefly.\n")
    bench.proposes([])
    words = "Remember that we build with make all, always"
    async with bench.open() as conversation:
        await say(conversation, words)
        await refine(conversation)
    (request,) = side_requests(bench)
    prompt = request["messages"][0]["content"][0]["text"]
    transcript = prompt.partition("<transcript>\n")[2].partition("\n</transcript>")[0]
    repeated = [f"{request['system']}\n\n{prompt}", prompt, request["system"], transcript, words]
    bench.side = [{"text": text} for text in repeated]
    async with bench.open() as conversation:
        await say(conversation, words)
        before = bench.files()
        for _ in repeated:
            assert (await refine(conversation)).startswith("Memory was not refined: the answer is not JSON")
        assert bench.files() == before
    bench.proposes(*([wrote("project/e.md", text)] for text in (repeated[0], prompt, request["system"])))
    async with bench.open() as conversation:
        await say(conversation, words)
        for _ in range(3):
            assert (await refine(conversation)).startswith("Memory was not refined: project/e.md: ")
        assert bench.files() == before
    assert bench.entries() == []


async def test_there_must_be_something_to_read_and_somebody_to_read_it(bench: Refined) -> None:
    async with bench.open() as conversation:
        await conversation.model_ready()
        nothing = await conversation.command("/refine")
        assert isinstance(nothing, Refused)
        assert nothing.line.endswith("nothing was said in this session yet")
        await say(conversation, "Something")
        async with bench.open(session_id=conversation.state.session_id, read_only_ok=True) as other:
            await other.model_ready()
            held = await other.command("/refine")
            assert isinstance(held, Refused)
            assert other.state.held is not None
            assert held.line == f"Nothing is refined: {other.state.held.why}"
    async with bench.open(bare=True) as conversation:
        await say(conversation, "Something")
        assert isinstance(await conversation.command("/refine"), Refused)
    assert side_requests(bench) == []


# A long session ------------------------------------------------------------------------------------


async def test_a_long_session_is_read_in_parts(bench: Refined) -> None:
    bench.model["context_window"] = 12_000
    bench.agent = msgspec.structs.replace(bench.agent, window_size=100)
    bench.steps["default"] = [{"text": f"Answer {n}. " + "word " * 1_200} for n in range(6)]
    bench.side = [
        {"text": "NOTES ONE"},
        {"text": json.dumps([wrote("project/build.md", "Build with make all.")])},
    ]
    bench.compaction = msgspec.structs.replace(bench.compaction, auto=False)
    async with bench.open() as conversation:
        for number in range(4):
            await say(conversation, f"Question {number}")
        await refine(conversation)
    first, *between, last = (r["messages"][0]["content"][0]["text"] for r in side_requests(bench))
    assert between == []
    assert "Question 0" in first
    assert "memory global/" not in first
    assert "<notes>\nNOTES ONE\n</notes>" in last
    assert "memory global/" in last
    assert "Question 3" in last
    assert bench.files()["project/build.md"] == b"Build with make all.\n"


async def test_the_files_leave_half_of_the_room_to_the_session(bench: Refined) -> None:
    bench.model["context_window"] = 12_000
    for number in range(4):
        bench.path(f"project/big-{number}.md").write_text(f"Big {number}. " + "word " * 1_600)
    bench.proposes([])
    async with bench.open() as conversation:
        await say(conversation, "Where do we stand?")
        assert await refine(conversation) == refining.NOTHING
    (request,) = side_requests(bench)
    text = request["messages"][0]["content"][0]["text"]
    shown = [number for number in range(4) if f"Big {number}. " in text]
    assert 0 < len(shown) < 4
    hidden = text.partition("must not be named: ")[2].partition("\n")[0]
    assert [number for number in range(4) if f"project/big-{number}.md" in hidden] == [
        number for number in range(4) if number not in shown
    ]


async def test_a_session_that_does_not_fit_is_read_in_halves(bench: Refined) -> None:
    bench.steps["default"] = [{"text": f"Answer {n}. " + "word " * 6_000} for n in range(2)]
    bench.side = [
        {"error": "overflow"},
        {"text": "NOTES ONE"},
        {"text": json.dumps([wrote("project/build.md", "Build with make all.")])},
    ]
    async with bench.open() as conversation:
        await talk(conversation, 2)
        assert (await refine(conversation)).startswith("Memory was refined")
    assert bench.files()["project/build.md"] == b"Build with make all.\n"


# By itself -----------------------------------------------------------------------------------------


async def talk(conversation: Conversation, turns: int) -> None:
    for number in range(turns):
        await say(conversation, f"Question {number}")


async def test_it_begins_by_itself_after_enough_turns_and_then_rests(
    bench: Refined, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.refine = "auto"
    bench.proposes([wrote("project/a.md", "A fact.")], [wrote("project/b.md", "Another.")])
    async with bench.open() as conversation:
        await talk(conversation, refining.TURNS - 1)
        assert side_requests(bench) == []
        await talk(conversation, 1)
        await until(lambda: HINT in told(conversation))
        assert "Memory was refined (automatic):\n    added project/a.md" in told(conversation)
        assert bench.entries()[0].source.how == "automatic"
        session = conversation.state.session_id
    monkeypatch.setattr(refining, "TURNS", 1)
    async with bench.open(session_id=session) as conversation:  # another process, the same project
        await talk(conversation, 2)
    assert len(side_requests(bench)) == 1, "it rests"
    bench.proposes([wrote("project/b.md", "Another.")])
    monkeypatch.setattr(refining, "COOLDOWN", 0)
    async with bench.open(session_id=session) as conversation:
        await talk(conversation, 1)
        await until(lambda: HINT in told(conversation))
        await talk(conversation, 1)
    assert bench.files()["project/b.md"] == b"Another.\n"


async def test_it_rests_although_it_changed_nothing_and_says_nothing(
    bench: Refined, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.refines_after(2, monkeypatch)
    bench.proposes([])
    async with bench.open() as conversation:
        await talk(conversation, 2)
        before = conversation.state.tool_problems
        await until(lambda: bool(side_requests(bench)))
        await talk(conversation, 4)
        assert conversation.state.tool_problems == before
    assert len(side_requests(bench)) == 1


async def test_it_rests_in_every_window_although_it_changed_nothing_and_much_was_remembered(
    bench: Refined, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.refines_after(1, monkeypatch)
    bench.desk.remember("first", "A first fact.", replace=False, origin="")
    bench.proposes([])
    async with bench.open() as conversation:
        await talk(conversation, 1)
        await until(lambda: bool(side_requests(bench)))  # what was remembered is no refinement
        await until(lambda: conversation._core.refining._task is None)
    for number in range(60):
        bench.desk.remember(f"fact {number}", "A fact.", replace=False, origin="")
    async with bench.open() as conversation:
        await talk(conversation, 1)
        await until(lambda: conversation._core.refining._task is None)
    assert len(side_requests(bench)) == 1
    assert (bench.desk.history().folder / "refined").read_text().startswith("20")


@pytest.mark.parametrize("why", ["off", "bare", "one-shot", "no-room"])
async def test_it_does_not_begin_by_itself_where_it_is_not_to(
    bench: Refined, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    monkeypatch.setattr(refining, "TURNS", 1)
    bench.refine = "off" if why == "off" else "auto"
    bench.proposes([wrote("project/a.md", "A fact.")], chunks=2, delay=60)
    request: dict[str, Any] = {"channel": "run" if why == "one-shot" else "terminal", "bare": why == "bare"}
    async with bench.open(**request) as conversation:
        info = await conversation.model_ready()
        if why == "no-room":
            model = conversation._core.answerer.model
            assert model is not None
            conversation._core.answerer.model = replace(
                model, info=msgspec.structs.replace(info, reads_memory=False)
            )
        await talk(conversation, 2)
        await conversation.command("/session")  # what follows the end of a turn has happened
        assert conversation._core.refining._task is None
    assert side_requests(bench) == []


async def test_a_failure_by_itself_is_noted_once(bench: Refined, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refining, "TURNS", 1)
    monkeypatch.setattr(refining, "COOLDOWN", 0)
    bench.refine = "auto"
    bench.side = [{"text": "I would rather not."}]
    async with bench.open() as conversation:
        for number in (1, 2, 3):
            await talk(conversation, 1)
            await until(lambda: len(side_requests(bench)) == number)  # noqa: B023  # awaited right here
            await idle(conversation)
    assert told(conversation).count("Memory was not refined by itself: the answer is not JSON") == 1


async def idle(conversation: Conversation) -> None:
    await until(lambda: conversation._core.refining._task is None)


async def test_what_was_not_read_to_its_end_is_made_up_after_the_rest(
    bench: Refined, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.refines_after(2, monkeypatch)
    bench.side = [{"text": "I would rather not."}, {"text": "{}", "chunks": 2, "delay": 60}]
    async with bench.open() as conversation:
        await talk(conversation, 2)
        await until(lambda: "Memory was not refined by itself" in told(conversation))
        await talk(conversation, 2)
        assert len(side_requests(bench)) == 1, "a model that failed is not asked each turn"
        monkeypatch.setattr(refining, "COOLDOWN", 0)
        conversation._core.refining._rests_until = 0.0  # twenty minutes later
        await talk(conversation, 1)
        await until(lambda: len(side_requests(bench)) == 2)
        session = conversation.state.session_id
    assert refining.REFINED not in meta(bench, session)
    bench.proposes([wrote("project/a.md", "A fact.")])
    async with bench.open(session_id=session) as conversation:
        await talk(conversation, 1)
        await until(lambda: HINT in told(conversation))
        assert meta(bench, session)[refining.REFINED] == 6
        await talk(conversation, 1)
        await idle(conversation)
    assert len(side_requests(bench)) == 3


async def test_a_compaction_that_nothing_was_learned_from_is_read_in_the_next_run(
    bench: Refined, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.refine = "auto"
    bench.side = [{"text": NOTES}, {"text": "{}", "chunks": 2, "delay": 60}]
    async with bench.open() as conversation:
        await talk(conversation, 2)
        assert isinstance(await conversation.command("/compact"), Switched)
        await until(lambda: len(side_requests(bench)) == 2)
        session = conversation.state.session_id
    monkeypatch.setattr(refining, "COOLDOWN", 0)
    bench.proposes([wrote("project/a.md", "A fact.")])
    async with bench.open(session_id=session) as conversation:
        await talk(conversation, 1)
        await until(lambda: HINT in told(conversation))
    assert bench.files()["project/a.md"] == b"A fact.\n"


async def test_what_was_said_while_it_read_counts_as_not_read(
    bench: Refined, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.refines_after(2, monkeypatch)
    bench.proposes([])
    async with bench.open() as conversation:
        await talk(conversation, 2)
        await until(lambda: bool(side_requests(bench)))
        await talk(conversation, 1)
        gate.open()
        await idle(conversation)
        assert meta(bench, conversation.state.session_id)[refining.REFINED] == 2


async def test_what_was_done_is_nothing_wrong_and_on_record(bench: Refined) -> None:
    bench.proposes([wrote("project/a.md", "A fact.")], [])
    bench.side = [*(bench.side or ()), {"text": "I would rather not."}]
    async with bench.open() as conversation:
        await say(conversation, "Something")
        done = [await refine(conversation), await refine(conversation)]
        assert done[0].startswith("Memory was refined (manual):")
        assert done[1] == refining.NOTHING
        assert conversation.state.done[-2:] == tuple(done)
        assert await refine(conversation) not in conversation.state.done
        session = conversation.state.session_id
    async with bench.open(session_id=session) as conversation:
        events = (await conversation.ready()).events
    noted = [event for event in events if isinstance(event, NoticeRecord)]
    assert [(event.text, event.level) for event in noted] == [(line, "info") for line in done]


async def test_after_a_compaction_it_reads_what_was_summed_up(bench: Refined) -> None:
    bench.refine = "auto"
    bench.side = [{"text": NOTES}, {"text": json.dumps([wrote("project/a.md", "A fact.")])}]
    async with bench.open() as conversation:
        await say(conversation, "The word is quail")
        await say(conversation, "And the other one is owl")
        assert isinstance(await conversation.command("/compact"), Switched)
        await until(lambda: HINT in told(conversation))
        session = conversation.state.session_id
        await say(conversation, "Going on")
        assert meta(bench, session)[refining.REFINED] == 2
    _, request = side_requests(bench)
    text = request["messages"][0]["content"][0]["text"]
    assert text.count("The word is quail") == 1
    assert text.count("And the other one is owl") == 1
    assert NOTES not in text


async def compacted_twice(bench: Refined) -> tuple[str, str]:
    """Have a tool used in a session, and go on in a second and a third one; the first and the last id."""
    bench.steps["default"] = [
        {"tools": [{"name": "list_files", "input": {"path": "."}}]},
        {"text": "A folder."},
        *({"text": "As you say."} for _ in range(9)),
    ]
    bench.side = [{"text": NOTES}, {"text": NOTES}]
    async with bench.open() as conversation:
        first = conversation.state.session_id
        await say(conversation, "The word is quail")
        await say(conversation, "And the other one is owl")
        assert isinstance(await conversation.command("/compact"), Switched)
        await say(conversation, "The third is wren")
        await say(conversation, "The fourth is crow")
        assert isinstance(await conversation.command("/compact"), Switched)
        await say(conversation, "The last is rook")
        return first, conversation.state.session_id


async def test_all_that_was_said_is_read_over_two_compactions(bench: Refined) -> None:
    _, last = await compacted_twice(bench)
    bench.side = [{"text": json.dumps([wrote("project/a.md", "A fact.")])}]
    async with bench.open(session_id=last) as conversation:
        await conversation.model_ready()
        await refine(conversation)
    text = side_requests(bench)[-1]["messages"][0]["content"][0]["text"]
    for said in ("quail", "owl", "wren", "crow", "rook"):
        assert text.count(said) == 1, said
    assert NOTES not in text
    assert bench.files()["project/a.md"] == b"---\norigin: list_files\n---\nA fact.\n"


async def test_what_came_into_a_session_that_is_gone_is_not_called_the_persons(bench: Refined) -> None:
    first, last = await compacted_twice(bench)
    shutil.rmtree(bench.places.data / "sessions" / first)
    bench.side = [{"text": json.dumps([wrote("project/a.md", "A fact.")])}]
    async with bench.open(session_id=last) as conversation:
        await conversation.model_ready()
        await refine(conversation)
    text = side_requests(bench)[-1]["messages"][0]["content"][0]["text"]
    assert "quail" not in text
    assert text.count("wren") == 1
    assert NOTES in text
    assert bench.files()["project/a.md"] == b"---\norigin: a summary\n---\nA fact.\n"


# A run over three sessions -------------------------------------------------------------------------


async def test_learned_refined_found_wrong_and_undone_two_steps_back(bench: Refined) -> None:
    first = "Deploy on Fridays.\nUse make deploy.\n"
    bench.steps["default"] = [
        {"tools": [{"name": "remember", "input": {"label": "deploy", "content": first}}]},
        {"text": "I will remember."},
    ]
    async with bench.open(name="one") as conversation:
        await say(conversation, "Remember: we deploy on Fridays, with make deploy")
    learned = bench.files()
    assert learned["project/deploy.md"] == first.encode()

    bench.steps["default"] = [{"text": "Noted."}]
    bench.proposes(
        [
            edited("project/deploy.md", "Use make deploy.", "Use make ship.", "the target has a new name"),
            wrote("global/days.md", "Fridays are for deploying.", "the same everywhere"),
        ]
    )
    async with bench.open(name="two") as conversation:
        await say(conversation, "The target is called ship now")
        await refine(conversation)
    refined = bench.files()
    assert refined["project/deploy.md"] == b"Deploy on Fridays.\nUse make ship.\n"

    bench.proposes([edited("project/deploy.md", "Fridays", "Mondays", "another day")])
    async with bench.open(name="three") as conversation:
        await say(conversation, "What do you know?")
        assert "Use make ship." in bench.requests[-1]["system"]
        await refine(conversation)
        assert b"Mondays" in bench.files()["project/deploy.md"]
        assert (await lines(conversation, "/refine undo"))[1:] == ["    put back project/deploy.md"]
        assert bench.files() == refined
        undone = await lines(conversation, "/refine undo")
        assert "session 'two', manual" in undone[0]
        assert undone[1:] == ["    put back project/deploy.md", "    removed global/days.md"]
        assert bench.files() == learned
        await say(conversation, "And now?")
        assert "Use make deploy." in bench.requests[-1]["system"]
        log = [line for line in await lines(conversation, "/refine history") if not line.startswith(" ")]
        assert [line.partition(" · ")[2] for line in log] == [
            "session 'three' · after 2 messages · manual (undone)",
            "session 'two' · after 2 messages · manual (undone)",
            "session 'one' · after 2 messages · remember",  # the request and the call
        ]


def test_a_cooldown_is_twenty_minutes() -> None:
    assert timedelta(seconds=refining.COOLDOWN) == timedelta(minutes=20)
    assert refining.TURNS == 25
