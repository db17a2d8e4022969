"""Commands and blocking tools in a conversation: cancelled, left, and never heard of again."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pexpect
import pytest

from tau.conversation import Conversation
from tau.events import ApprovalAsked, ToolOutputDelta, ToolUseEnded, TurnEnd, TurnEvent
from tests.conftest import TAU
from tests.conversation.conftest import Bench, say
from tests.conversation.test_turns import check_request
from tests.tools.test_shell import alive, marker, until

if TYPE_CHECKING:
    from tests.conftest import TauEnv

__all__ = ["marker"]

Act = Callable[[], Awaitable[None]]


def shell(command: str) -> dict[str, Any]:
    return {"tools": [{"name": "shell", "input": {"command": command}, "id": "t1"}]}


async def allow(
    conversation: Conversation, text: str, once: str = "", act: Act | None = None
) -> list[TurnEvent]:
    """Send a message and allow every call; act once when the output so far has a text in it."""
    events: list[TurnEvent] = []
    output = ""
    acting: asyncio.Task[None] | None = None

    async def run(act: Act) -> None:
        await act()

    async for event in conversation.send(text):
        events.append(event)
        if isinstance(event, ApprovalAsked):
            await conversation.answer(event.approval_id, "yes")
        if isinstance(event, ToolOutputDelta):
            output += event.text
        if act is not None and acting is None and once and once in output:
            acting = asyncio.create_task(run(act))
    if acting is not None:
        await acting
    return events


def ends(events: list[TurnEvent]) -> list[str]:
    return [event.stop_reason for event in events if isinstance(event, TurnEnd)]


async def test_output_comes_while_the_command_runs_and_the_model_gets_it_once(bench: Bench) -> None:
    bench.steps["default"] = [
        shell("echo one; until test -e go; do sleep 0.01; done; echo two"),
        {"text": "done"},
    ]
    async with bench.open(can_ask=True) as conversation:

        async def go() -> None:
            (bench.root / "go").touch()

        events = await allow(conversation, "run it", once="one\n", act=go)
    assert ends(events) == ["end_turn"]
    shown = [event.text for event in events if isinstance(event, ToolOutputDelta)]
    assert "".join(shown) == "one\ntwo\n"
    (ended,) = [event for event in events if isinstance(event, ToolUseEnded)]
    assert (ended.status, ended.approval) == ("success", "approved")
    assert ended.result.startswith("one\ntwo\n[exit 0, ")
    assert str(bench.requests[-1]["messages"]).count("one\\ntwo") == 1


@pytest.mark.parametrize(
    "command",
    [
        "sh -c 'echo begun; sleep 300 & sleep 300'",
        "trap '' TERM; echo begun; while :; do echo late; sleep 0.02; done",
        "echo begun; setsid sh -c 'trap \"\" TERM; while :; do echo late; sleep 0.02; done'",
        "echo begun; sleep 0.2; yes late",
    ],
    ids=["children", "trap", "session", "flood"],
)
async def test_cancelling_frees_the_conversation_and_nothing_comes_later(
    bench: Bench, marker: str, command: str
) -> None:
    bench.steps["default"] = [shell(command), {"text": "it was stopped"}]
    async with bench.open(can_ask=True) as conversation:
        took = 0.0

        async def cancel() -> None:
            nonlocal took
            began = time.monotonic()
            await conversation.cancel()
            took = time.monotonic() - began

        events = await allow(conversation, "run it", once="begun", act=cancel)
        assert ends(events) == ["cancelled"]
        assert took < 3
        await asyncio.to_thread(until, lambda: not alive(marker), 5)
        events = await say(conversation, "what happened?")
        assert ends(events) == ["end_turn"]
        assert not [event for event in events if isinstance(event, (ToolOutputDelta, ToolUseEnded))]
    for request in bench.requests:
        check_request(request["messages"])
    told = str(bench.requests[-1]["messages"])
    assert "The call was interrupted" in told
    assert "may have had effects" in told


async def test_closing_stops_the_command_that_runs(bench: Bench, marker: str) -> None:
    bench.steps["default"] = [shell("trap '' TERM; echo begun; sleep 300; sleep 300")]
    async with bench.open(can_ask=True) as conversation:
        going = asyncio.create_task(allow(conversation, "run it"))
        await asyncio.to_thread(until, lambda: alive(marker))
        began = time.monotonic()
        await conversation.close()
        assert time.monotonic() - began < 5
        assert ends(await going) == ["cancelled"]
    await asyncio.to_thread(until, lambda: not alive(marker), 5)


LINGER = '''
import time
from pathlib import Path

from strands import tool


def tools(context):
    @tool
    def linger() -> str:
        """Wait."""
        (context.directory / "lingers").touch()
        time.sleep(60)
        return "too late"

    linger.tier = 0
    return [linger]
'''


@pytest.fixture
def lingering(tmp_path: Path) -> Path:
    """A directory for PYTHONPATH with a package whose tool blocks for a minute, whatever happens."""
    root = tmp_path / "plugins"
    metadata = root / "linger-1.0.dist-info"
    metadata.mkdir(parents=True)
    (root / "linger.py").write_text(LINGER)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: linger\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[tau.tools]\nlinger = linger:tools\n")
    return root


@pytest.mark.terminal
def test_a_tool_that_blocks_holds_up_neither_the_prompt_nor_the_end(tau_env: TauEnv, lingering: Path) -> None:
    call = {"tools": [{"name": "linger", "input": {}, "id": "t1"}]}
    tau_env.scripted(call, {"text": "I went on."})
    process = pexpect.spawn(
        TAU,
        ["chat"],
        cwd=str(tau_env.directory),
        env={**tau_env.environ, "PYTHONPATH": str(lingering), "PROMPT_TOOLKIT_NO_CPR": "1"},
        encoding="utf-8",
        timeout=60,
        dimensions=(24, 80),
    )
    try:
        process.expect("❯")
        process.send("wait\r")
        until((tau_env.directory / "lingers").exists)
        began = time.monotonic()
        process.sendcontrol("c")
        process.expect_exact("Turn cancelled.")
        assert time.monotonic() - began < 3
        process.send("go on\r")
        process.expect_exact("I went on.")
        process.expect("❯")
        began = time.monotonic()
        process.sendeof()
        process.expect(pexpect.EOF)
        process.close()
        assert time.monotonic() - began < 10
        assert process.exitstatus == 0
    finally:
        process.close(force=True)
    assert "too late" not in str(tau_env.sent())


@pytest.fixture
def marked(tau_env: TauEnv, marker: str) -> TauEnv:
    """A home in which commands carry the marker."""
    tau_env.environ["MARKER_OF_THE_TEST"] = marker
    return tau_env


def test_nothing_is_left_in_the_background_when_tau_ends(marked: TauEnv, marker: str) -> None:
    marked.scripted(
        shell("setsid sleep 300 >/dev/null 2>&1 & sleep 300 & echo begun"),
        {"text": "It runs."},
        more='[approvals]\nallow = ["shell"]\n',
    )
    done = marked.run("run", "start it")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "It runs.\n"
    assert "2 processes still running in the background" in str(marked.sent()[-1])
    assert not alive(marker)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_tau_stops_the_command_that_runs(
    marked: TauEnv, marker: str, number: signal.Signals
) -> None:
    marked.scripted(
        shell("echo $$ > begun; trap '' TERM HUP; sleep 300; sleep 300"),
        more='[approvals]\nallow = ["shell"]\n',
    )
    process = marked.start("run", "start it", stdin=subprocess.DEVNULL)
    until((marked.directory / "begun").exists)
    process.send_signal(number)
    assert process.wait(30) == 128 + number
    commands = [pid for pid in alive(marker) if pid != process.pid]
    assert commands == []
    for pipe in (process.stdout, process.stderr):
        assert pipe is not None
        pipe.close()
