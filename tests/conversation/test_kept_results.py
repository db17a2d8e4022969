"""What was left out of a long result is within the model's reach after a restart, if the person says so."""

from __future__ import annotations

import re
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from tau.conversation import Conversation
from tau.conversation.state import Switched
from tau.events import ApprovalAsked, TurnEvent
from tests.conversation.conftest import Bench, say
from tests.conversation.test_approvals import answered
from tests.conversation.test_compaction import NOTES

LEFT_OUT = "the middle is line 9999"
COMMAND = "seq -f 'the middle is line %.0f' 20000"


def step(name: str, **arguments: Any) -> dict[str, Any]:
    return {"tools": [{"name": name, "input": arguments, "id": f"{name}-{abs(hash(str(arguments)))}"}]}


def look(path: str) -> dict[str, Any]:
    return step("read_file", path=path, offset=9_990, limit=20)


def ask(path: str) -> dict[str, Any]:
    return step("request_file_grant", path=path, reason="the middle is needed")


def results(bench: Bench) -> list[str]:
    """The results of the newest turn, as the model was last sent them."""
    found: list[str] = []
    for message in bench.requests[-1]["messages"]:
        blocks = [block["toolResult"] for block in message["content"] if "toolResult" in block]
        if message["role"] == "user" and not blocks:
            found = []
        found += [block["content"][0]["text"] for block in blocks]
    return found


async def spilled(bench: Bench, conversation: Conversation) -> str:
    """Run a command with a long result; the path of the whole, as the model was told it."""
    bench.side = [{"text": NOTES}]
    await answered(conversation, "run it", ("yes", ""))
    (result,) = results(bench)
    assert LEFT_OUT not in result
    found = re.search(r"the whole result is in (\S+),", result)
    assert found is not None, result
    return found[1]


def opened(bench: Bench, **request: Any) -> AbstractAsyncContextManager[Conversation]:
    """A conversation with somebody to ask, in a directory that has none of tau's own files in it."""
    directory = bench.root / "work"
    directory.mkdir(exist_ok=True)
    return bench.open(directory=directory, can_ask=True, **request)


def begin(bench: Bench) -> None:
    bench.steps["default"] = [step("shell", command=COMMAND), {"text": "done"}]


async def asked_for(conversation: Conversation, *answers: Any) -> tuple[list[str], list[TurnEvent]]:
    events = await answered(conversation, "what is in the middle?", *answers)
    return [event.preview for event in events if isinstance(event, ApprovalAsked)], events


@pytest.mark.parametrize("moves", [[], ["/compact"], ["/compact", "/undo"], ["/fork"]])
async def test_after_a_restart_the_person_may_open_it(bench: Bench, moves: list[str]) -> None:
    begin(bench)
    async with opened(bench) as conversation:
        path = await spilled(bench, conversation)
        for move in moves:
            assert isinstance(await conversation.command(move), Switched)
            await say(conversation, "on")
        session_id = conversation.state.session_id
    bench.steps["default"] = [look(path), ask(path), look(path), {"text": "so it is"}]
    for _ in range(2):  # nothing of it is kept: the next run asks again
        async with opened(bench, session_id=session_id) as conversation:
            previews, _ = await asked_for(conversation, ("yes", ""))
        assert previews == [f"{path} is a file in which tau kept a long result."]
        refused, granted, shown = results(bench)
        assert "not granted; request_file_grant asks the person to open it" in refused
        assert granted == (
            f"The person opened {path} for this run: read_file shows it. It cannot be changed."
        )
        assert LEFT_OUT in shown


async def test_without_a_yes_it_stays_closed(bench: Bench) -> None:
    begin(bench)
    async with opened(bench) as conversation:
        path = await spilled(bench, conversation)
    bench.steps["default"] = [ask(path), look(path), {"text": "a pity"}]
    async with opened(bench, resume="") as conversation:
        await asked_for(conversation, ("no", ""))
    assert LEFT_OUT not in "".join(results(bench))
    assert "not granted" in results(bench)[-1]


async def test_what_was_opened_is_not_changed(bench: Bench) -> None:
    begin(bench)
    async with opened(bench) as conversation:
        path = await spilled(bench, conversation)
    before = Path(path).read_bytes()
    bench.steps["default"] = [ask(path), step("write_file", path=path, content="x"), {"text": "no"}]
    async with opened(bench, resume="") as conversation:
        await asked_for(conversation, ("yes", ""))
    assert "where tau keeps its own files; they are not changed" in results(bench)[-1]
    assert Path(path).read_bytes() == before


async def test_every_other_file_of_tau_stays_closed(bench: Bench) -> None:
    begin(bench)
    async with opened(bench) as conversation:
        other = await spilled(bench, conversation)
    async with opened(bench) as conversation:
        own = Path(await spilled(bench, conversation))
        session_id = conversation.state.session_id
    (own.parent / "notes.txt").write_text("put there by somebody")
    (own.parent / "0002-shell.txt").symlink_to(bench.places.state / "trust.toml")
    (own.parent / "0003-shell.txt").mkdir()
    (bench.places.state / "trust.toml").write_text("")
    message = bench.places.data / "sessions" / session_id / "agents/tau/messages/000000.json"
    closed = [
        other,
        str(own.parent),
        str(own.parent.parent),
        str(own.parent / "notes.txt"),
        str(own.parent / "0002-shell.txt"),
        str(own.parent / "0003-shell.txt"),
        str(own.parent / "0004-shell.txt"),
        str(bench.places.state / "trust.toml"),
        str(message),
    ]
    bench.steps["default"] = [*map(ask, closed), {"text": "none of them"}]
    async with opened(bench, session_id=session_id) as conversation:
        previews, _ = await asked_for(conversation)
    assert previews == []
    assert len(results(bench)) == len(closed)
    assert all("tau's own files are not opened" in result for result in results(bench)), results(bench)
