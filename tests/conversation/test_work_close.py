"""The close of work in `.memory/`: what waits for a yes keeps it open, what is open of its todo, its log."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tau.conversation import Conversation
from tau.journal.work_desk import WorkDesk
from tests.conftest import TauEnv
from tests.conversation.conftest import say
from tests.conversation.test_work_log import files, log, status, written
from tests.conversation.test_wrap import LEARNED, Logged, has_memory, lines, logged, part
from tests.conversation.test_wrap_consent import reads_a_file

TEA = {"scan": "preference", "section": "Preferences", "text": "Likes tea"}


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Logged:
    return logged(tmp_path, monkeypatch)


def distils(bench: Logged, *lessons: dict[str, str], contexts: tuple[dict[str, Any], ...] = ()) -> None:
    """Have the side model answer so at the close."""
    answer = {"memory": {"lessons": [*lessons]}, "session_log": {"contexts": [*contexts]}}
    bench.side = [{"text": json.dumps(answer)}]


async def asked(bench: Logged, conversation: Conversation) -> tuple[Path, list[str]]:
    """Wrap a session up that content from outside came into. Returns its file, and what was said."""
    await say(conversation, "Read the page")
    said = await lines(conversation, "/wrap")
    (file,) = files(bench.root)
    return file, said


async def test_a_session_stays_paused_while_its_lessons_wait_for_a_yes(bench: Logged) -> None:
    long_term = has_memory(bench)
    reads_a_file(bench)
    distils(bench, TEA)
    async with bench.open() as conversation:
        file, said = await asked(bench, conversation)
        stays = (
            f".memory/session/{file.name} stays paused until you answer: /wrap yes or /wrap no sets it done; "
            "should tau end before, the next start offers it"
        )
        assert stays in said
        assert status(file) == "paused"
        assert "; 1 wait for a yes, since content from outside was in this session" in log(file)[-1]
        assert any(f"/session/{file.name} stays paused" in line for line in conversation.lost())
    assert status(file) == "paused"
    assert any(file.name in line for line in WorkDesk(bench.settings()).begin()), "it is offered"
    assert "tea" not in long_term.read_text()


@pytest.mark.parametrize(
    ("answer", "entry"),
    [
        ("yes", "user: /wrap yes — Recorded in Preferences: Likes tea; /work undo takes it back; "),
        ("no", "user: /wrap no — It is left as it is; nothing of it was done; "),
    ],
)
async def test_an_answer_sets_it_done_and_is_in_its_log(bench: Logged, answer: str, entry: str) -> None:
    has_memory(bench)
    reads_a_file(bench)
    distils(bench, TEA)
    async with bench.open() as conversation:
        file, _ = await asked(bench, conversation)
        said = await lines(conversation, f"/wrap {answer}")
        done = f".memory/session/{file.name} is done: it goes at the next start, unless the session goes on"
        assert done in said
        assert status(file) == "done"
        await lines(conversation, "/work")  # comes behind what is to be written
        assert log(file)[-1].startswith(entry)
        assert status(file) == "done"
        if answer == "yes":
            (undone,) = await lines(conversation, "/work undo")
            assert undone.endswith(f".memory/session/{file.name} is in progress again")


async def test_an_answer_leaves_work_that_went_on_meanwhile_in_progress(bench: Logged) -> None:
    has_memory(bench)
    reads_a_file(bench)
    distils(bench, TEA)
    async with bench.open() as conversation:
        file, _ = await asked(bench, conversation)
        await say(conversation, "One more thing")
        said = await lines(conversation, "/wrap yes")
        assert "Recorded in Preferences: Likes tea" in said
        assert not any("is done" in line for line in said)
        assert status(file) == "in-progress"


async def test_an_answer_sets_the_file_done_that_was_wrapped_up_and_no_other(bench: Logged) -> None:
    has_memory(bench)
    reads_a_file(bench)
    distils(bench, TEA)
    async with bench.open() as conversation:
        file, _ = await asked(bench, conversation)
        await lines(conversation, "/work new Something else")
        (other,) = (path for path in files(bench.root) if path != file)
        await lines(conversation, "/wrap yes")
        assert (status(file), status(other)) == ("done", "in-progress")


async def test_with_contexts_it_is_set_done_by_the_yes_and_set_back_by_the_undo_of_the_save(
    bench: Logged,
) -> None:
    has_memory(bench)
    bench.has("acme")
    reads_a_file(bench)
    distils(bench, TEA, contexts=(part("acme"),))
    async with bench.open() as conversation:
        await say(conversation, "Read the page")
        await lines(conversation, "/wrap acme")
        (file,) = files(bench.root)
        assert status(file) == "paused"
        await lines(conversation, "/wrap yes")
        assert status(file) == "done"
        assert f".memory/session/{file.name} is in progress again" in await lines(conversation, "/wrap undo")
        assert status(file) == "in-progress"


async def test_what_is_open_of_the_todo_is_said_when_its_work_is_closed(bench: Logged) -> None:
    has_memory(bench)
    distils(bench, LEARNED)
    async with bench.open() as conversation:
        await say(conversation, "Ship it")
        await lines(conversation, "/todo new Ship it")
        for item in ("build", "test", "sign"):
            await lines(conversation, f"/todo add {item}")
        await lines(conversation, "/todo 1")
        said = await lines(conversation, "/wrap")
        left = (
            "2 items of .memory/todo/ship-it.md are still open; the list stays there: /todo use ship-it.md "
            "goes on with it"
        )
        assert left in said
        (file,) = files(bench.root)
        assert status(file) == "done"
        await lines(conversation, "/work new Something else")
        await lines(conversation, "/todo use ship-it.md")
        await lines(conversation, "/todo 2")
        await lines(conversation, "/work new A third thing")
        assert left.replace("2 items of", "1 item of").replace(" are ", " is ") in await lines(
            conversation, "/work drop 1"
        )


async def test_what_is_done_at_the_desk_is_a_line_of_the_log(bench: Logged) -> None:
    has_memory(bench)
    async with bench.open(name="amber") as conversation:
        await say(conversation, "Fix the job")
        await lines(conversation, "/work task Fix the\tnightly job")
        (first,) = files(bench.root)
        await lines(conversation, "/work new Mend <!-- the rates")
        (second,) = (path for path in files(bench.root) if path != first)
        await lines(conversation, "/work drop 1")
        await lines(conversation, "/work")  # comes behind what is to be written
    assert log(first)[-1] == "user: the current task is Fix the nightly job; it was: Fix the job"
    assert log(second) == [
        "user: began new work: Mend \\<!-- the rates",
        f"user: dropped {first.name}: Fix the nightly job",
    ]


# Real processes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["kill", "quit"])
def test_a_process_that_ends_before_the_yes_leaves_work_that_is_offered(tau_env: TauEnv, end: str) -> None:
    (tau_env.directory / "page.txt").write_text("They like tea")
    side = tau_env.home / "side.json"
    side.write_text(json.dumps([{"text": json.dumps({"memory": {"lessons": [TEA]}})}]))
    call = {"name": "read_file", "input": {"path": "page.txt"}, "id": "t1"}
    tau_env.scripted({"tools": [call]}, {"text": "It says so."}, more=f'side_script = "{side}"\n')
    assert tau_env.run("init", "--memory").returncode == 0
    assert tau_env.run("trust").returncode == 0
    chat = tau_env.start("chat", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert chat.stdin is not None
    chat.stdin.write(b"read it\n/wrap\n")
    chat.stdin.flush()
    file = written(tau_env.directory, "wrapped up: ")
    if end == "kill":
        chat.kill()
    chat.stdin.close()
    assert chat.wait(30) == (-9 if end == "kill" else 0)
    tau_env.scripted({"text": "hello"})
    offered = tau_env.run("chat", "hi").stderr
    assert file.name in offered
    assert "1 wait for a yes" in offered
    assert file.exists()
    assert status(file) == "paused"
