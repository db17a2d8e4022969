"""`shell`: what a command writes, how it ends, and that nothing of it is left when it is stopped."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from strands import Agent

from tau import masking
from tau.tools import process_tree, read_file, shell
from tau.tools.background import stop_background
from tau.tools.context import ToolContext
from tests.tools.conftest import agent_with, called, make_context, results, text

DEADLINE = 30.0


@pytest.fixture
def marker(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A value in the environment of everything that is started, by which the test finds what is alive."""
    value = uuid.uuid4().hex
    monkeypatch.setenv("MARKER_OF_THE_TEST", value)
    yield value
    for pid in alive(value):
        os.kill(pid, signal.SIGKILL)


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    yield
    stop_background()


def alive(marker: str) -> list[int]:
    """The processes, other than this one, that were started with the marker; zombies have no environment."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            try:
                if marker.encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def until(condition: Any, seconds: float = DEADLINE) -> None:
    ends = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.01)


def run(context: ToolContext, command: str, **more: Any) -> str:
    """The text of a call that ends with its command."""
    result = called(shell.tools(context), "shell", command=command, **more)
    assert result["status"] == "success", result
    return text(result)


def refused(context: ToolContext, command: str, **more: Any) -> str:
    result = called(shell.tools(context), "shell", command=command, **more)
    assert result["status"] == "error"
    return text(result)


def without_time(shown: str) -> str:
    return re.sub(r"\d+\.\d s\]$", "T]", shown)


class Running:
    """A call on a thread of its own, whose command has written ``begun``."""

    def __init__(self, context: ToolContext, command: str) -> None:
        going = context.directory / "going"
        command = f"echo begun; : > going; {command}"
        self.agent: Agent = agent_with(shell.tools(context), ("shell", {"command": command}))
        self._thread = threading.Thread(target=self.agent, args=("go",), daemon=True)
        self._thread.start()
        until(going.exists)

    def join(self) -> dict[str, Any]:
        self._thread.join(DEADLINE)
        assert not self._thread.is_alive()
        return results(self.agent)[0]

    def cancel(self) -> tuple[dict[str, Any], float]:
        """The result, and how long it took to come."""
        began = time.monotonic()
        self.agent.cancel()
        return self.join(), time.monotonic() - began


# How it ends ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("echo hello", "hello\n[exit 0, T]"),
        ("echo no; exit 3", "no\n[exit 3, T]"),
        ("true", "(no output)\n[exit 0, T]"),
        ("false", "(no output)\n[exit 1, T]"),
        ("kill -KILL $$", "(no output)\n[killed by SIGKILL, T]"),
        ("printf 'no newline'", "no newline\n[exit 0, T]"),
        ("printf '  a\\n\\n\\n'", "  a\n[exit 0, T]"),
        ("echo out; echo err >&2; echo out", "out\nerr\nout\n[exit 0, T]"),
        ("cat; echo read", "read\n[exit 0, T]"),
        ("exec >&- 2>&-; exit 4", "(no output)\n[exit 4, T]"),
        ("cd /; pwd", "/\n[exit 0, T]"),
        ("x=$(printf 'a b'); echo \"$x\" | tr a-z A-Z", "A B\n[exit 0, T]"),
        ("echo $TERM $NO_COLOR $PAGER $GIT_PAGER $GIT_TERMINAL_PROMPT", "dumb 1 cat cat 0\n[exit 0, T]"),
    ],
)
def test_what_a_command_gives(context: ToolContext, command: str, shown: str) -> None:
    assert without_time(run(context, command)) == shown


def test_it_runs_in_the_working_directory_with_the_environment_of_tau(
    context: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOMETHING", "else")
    assert run(context, "pwd; echo $SOMETHING").startswith(f"{context.directory}\nelse\n")
    assert run(context, "test -t 0 -o -t 1 || echo none").startswith("none\n")


def test_a_command_that_is_killed_from_outside(context: ToolContext, marker: str) -> None:
    running = Running(context, "exec sleep 300")
    os.kill(alive(marker)[0], signal.SIGTERM)
    result = running.join()
    assert result["status"] == "success"
    assert re.fullmatch(r"begun\n\[killed by SIGTERM, \d+\.\d s\]", text(result))


def test_an_exit_code_that_the_system_does_not_keep_is_not_made_up(context: ToolContext) -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        shown = run(context, "exit 3")
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert shown.startswith("(no output)\n[ended with an unknown exit code, ")


def test_an_unknown_command_says_so(context: ToolContext) -> None:
    shown = run(context, "no-such-command-here")
    assert "not found" in shown
    assert "\n[exit 127, " in shown


def test_a_timeout_stops_everything_and_keeps_the_output(context: ToolContext, marker: str) -> None:
    shown = refused(context, "echo begun; sleep 300 & sleep 300", timeout=2)
    assert re.fullmatch(
        r"begun\n(?:Terminated\n)?\[timed out after \d\.\d s: the command and all it started were stopped\]",
        shown,
    )
    assert not alive(marker)


@pytest.mark.parametrize(
    ("command", "more", "reason"),
    [
        ("", {}, "empty"),
        ("  \n", {}, "empty"),
        ("echo a\0b", {}, "NUL"),
        ("echo \ud83d", {}, "surrogate"),
        ("true", {"timeout": 0}, "more than 0"),
        ("true", {"timeout": 3601}, "at most 3,600 seconds"),
        (": " + "x" * 200_000, {}, "write it to a file"),
    ],
)
def test_what_is_refused(context: ToolContext, command: str, more: dict[str, Any], reason: str) -> None:
    shown = refused(context, command, **more)
    assert reason in shown
    assert "\n" not in shown


def test_a_deleted_directory_is_said(context: ToolContext) -> None:
    tools = shell.tools(context)
    context.directory.rmdir()
    shown = text(called(tools, "shell", command="true"))
    assert shown == f"Error: The working directory {context.directory} is gone; no command can run"


def test_a_bash_in_the_working_directory_is_not_run(
    context: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = context.directory / "bash"
    planted.write_text("#!/bin/sh\ntouch IMPORTED\n")
    planted.chmod(0o755)
    for path in (str(context.directory), "."):
        monkeypatch.setenv("PATH", path)
        assert shell.shell_program(context.directory) == "/bin/sh"


# What it shows ----------------------------------------------------------------------------------------


async def test_output_is_shown_while_it_comes_and_the_result_is_not_shown_again(context: ToolContext) -> None:
    command = "echo one; until test -e go; do sleep 0.01; done; echo two >&2"
    agent = agent_with(shell.tools(context), ("shell", {"command": command}))
    shown: list[str] = []
    async for event in agent.stream_async("go"):
        if event.get("type") == "tool_stream" and isinstance(event["tool_stream_event"]["data"], str):
            shown.append(event["tool_stream_event"]["data"])
            if shown == ["one\n"]:
                (context.directory / "go").touch()
    assert "".join(shown) == "one\ntwo\n"
    assert text(results(agent)[0]).startswith("one\ntwo\n[exit 0, ")


async def test_an_unfinished_line_is_shown_too(context: ToolContext) -> None:
    command = "printf 'sure? '; until test -e go; do sleep 0.01; done"
    agent = agent_with(shell.tools(context), ("shell", {"command": command}))
    async for event in agent.stream_async("go"):
        if event.get("type") == "tool_stream" and event["tool_stream_event"]["data"] == "sure? ":
            (context.directory / "go").touch()
    assert text(results(agent)[0]).startswith("sure?")


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (r"10%\r 20%\r100%\n", "100%"),
        (r"done\r\nnext\r\n", "done\nnext"),
        (r"50%\r", "50%"),
        (r"a\rb\r\r\nc", "b\nc"),
        (r"\033[1;31mred\033[0m \033]0;title\007plain", "red plain"),
        (r"\033]52;c;UFdO\007A\033[2J\033[?1049hB", "AB"),
        (r"caf\351 \377", "caf\\xe9 \\xff"),
        (r"\355\240\275", "\\xed\\xa0\\xbd"),
        (r"a\000b", "[Binary output, 3 bytes; NUL is shown as \\x00.]\na\\x00b"),
        (r"bell \007 back \010", "bell \x07 back \x08"),
    ],
)
def test_output_is_plain_text(context: ToolContext, written: str, shown: str) -> None:
    assert without_time(run(context, f"printf %b '{written}'")) == f"{shown}\n[exit 0, T]"


def test_a_character_that_comes_in_two_pieces_stays_whole(context: ToolContext) -> None:
    assert run(context, r"printf '\303'; sleep 0.2; printf '\251'").startswith("é\n")


def test_six_hundred_thousand_characters_on_one_line(context: ToolContext) -> None:
    command = "head -c 600000 /dev/zero | tr '\\0' x; echo END"
    file = context.spill_dir / "0001-shell.txt"
    tools = [*shell.tools(context), *read_file.tools(context)]
    read = {"path": str(file), "offset": "1:599990"}
    agent = agent_with(tools, ("shell", {"command": command}), ("read_file", read))
    agent("go")
    spilled, last = results(agent)
    head, line, tail, how = text(spilled).split("\n")
    assert head == "x" * 4_096
    assert line == (
        f"[… 594,884 of 600,004 characters (600,004 bytes) are left out here; the whole result is in {file},"
        " which read_file shows from any offset …]"
    )
    assert tail == "x" * 1_020 + "END"
    assert how.startswith("[exit 0, ")
    assert text(last) == "1:599990\t" + "x" * 11 + "END"
    assert file.read_text() == "x" * 600_000 + "END\n"
    assert file.stat().st_mode & 0o777 == 0o600


def test_fifty_thousand_short_lines(context: ToolContext) -> None:
    shown = run(context, "seq 50000")
    assert shown.startswith("1\n2\n3\n")
    assert "\n49999\n50000\n[exit 0, " in shown
    assert (context.spill_dir / "0001-shell.txt").read_text().split() == [str(n + 1) for n in range(50_000)]


def test_a_long_progress_bar_is_no_long_result(context: ToolContext) -> None:
    shown = run(context, "for i in $(seq 20000); do printf '\\rstep %s' $i; done; echo")
    file = context.spill_dir / "0001-shell.txt"
    size = file.stat().st_size
    assert without_time(shown) == (
        "step 20000\n[Escape sequences and overwritten lines are left out;"
        f" {file} has all {size:,} characters.]\n[exit 0, T]"
    )


def test_a_binary_that_is_too_long(context: ToolContext) -> None:
    shown = run(context, "head -c 40000 /dev/zero; echo END")
    assert shown.startswith("[Binary output, 40,004 bytes; NUL is shown as \\x00.]\n\\x00\\x00")
    assert "\0" not in shown
    assert "\\x00END\n[exit 0, " in shown
    assert (context.spill_dir / "0001-shell.txt").read_bytes() == b"\0" * 40_000 + b"END\n"


def test_output_that_cannot_be_kept(context: ToolContext) -> None:
    context.state_dir.write_text("no directory")
    shown = run(context, "seq 50000")
    assert "are left out here and lost, since they could not be kept: " in shown
    assert "\n50000\n[exit 0, " in shown


def test_a_result_is_never_spilled_twice(tmp_path: Path) -> None:
    from tau.config.settings import ContextSettings
    from tau.tools.spill import spill_result

    for size in (3_000, 4_300, 4_450, 4_700, 5_300, 9_000):
        context = make_context(
            tmp_path / f"w{size}", context=ContextSettings(spill_result_chars=5_201), session_id=f"s{size}"
        )
        command = f"yes | head -c {size}; sleep 9 & sleep 8 &"
        result: Any = called(shell.tools(context), "shell", command=command)
        kept: Any = spill_result(result, tool="shell", context=context)
        assert kept is result
        assert "2 processes still running in the background" in text(result)


def test_too_much_output_stops_the_command(
    context: ToolContext, marker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("command", "shell"):
        monkeypatch.setattr(f"tau.tools.{module}.MOST_OUTPUT", 1 << 20)
    shown = refused(context, "yes")
    assert re.search(r"y\n\[stopped after 1 MiB of output, \d+\.\d s\]\Z", shown)
    assert not alive(marker)


async def test_a_flood_neither_blocks_the_loop_nor_fills_the_memory(context: ToolContext) -> None:
    agent = agent_with(shell.tools(context), ("shell", {"command": "yes | head -c 48M"}))
    delays: list[float] = []

    async def tick() -> None:
        while True:
            began = time.monotonic()
            await asyncio.sleep(0.005)
            delays.append(time.monotonic() - began - 0.005)

    Path("/proc/self/clear_refs").write_text("5")
    before = memory("VmRSS")
    ticking = asyncio.create_task(tick())
    async for _ in agent.stream_async("go"):
        pass
    ticking.cancel()
    assert (context.spill_dir / "0001-shell.txt").stat().st_size == 48 << 20
    assert memory("VmHWM") - before < 12 << 20, "a quarter of what was written"
    assert max(delays) < 0.5


def memory(field: str) -> int:
    """A figure of this process's memory, in bytes."""
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field)]
    return int(line.split()[1]) << 10


def test_secrets_are_masked_in_the_result_and_in_the_file(context: ToolContext) -> None:
    masking.remember("s3cret-value-of-the-test")
    padding = "x" * 70
    command = f"for i in $(seq 1000); do echo {padding} s3cret-value-of-the-test; done"
    shown = run(context, command)
    assert "*** " in shown.replace("\n", " ")
    assert "s3cret" not in shown
    file = (context.spill_dir / "0001-shell.txt").read_text()
    assert file == f"{padding} ***\n" * 1000


# What it leaves running -------------------------------------------------------------------------------


def test_a_process_in_the_background_goes_on_until_it_is_stopped(context: ToolContext, marker: str) -> None:
    named = "until grep -q sleep /proc/$!/comm; do sleep 0.01; done"
    shown = run(context, f"sleep 300 & {named}; echo started")
    (pid,) = alive(marker)
    assert shown.startswith(
        f"started\n[1 process still running in the background: sleep ({pid}). Stopped at the latest when"
    )
    assert run(context, "echo next").startswith("next\n[exit 0, ")
    assert alive(marker) == [pid]
    assert stop_background(["another-session"]) == []
    assert alive(marker) == [pid]
    assert stop_background([context.session_id]) == []
    assert not alive(marker)


def test_what_the_background_writes_later_does_not_end_it(context: ToolContext, marker: str) -> None:
    later = "until test -e go; do sleep 0.01; done; head -c 300000 /dev/zero && touch wrote"
    shown = run(context, f"({later}) &")
    assert shown.startswith("(no output)\n[")
    (context.directory / "go").touch()
    until((context.directory / "wrote").exists)
    until(lambda: not alive(marker))


def test_a_normal_end_of_the_interpreter_stops_what_is_left(tmp_path: Path, marker: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\nfrom pathlib import Path\nsys.path.insert(0, sys.argv[1])\n"
        "from tests.tools.conftest import called, make_context\nfrom tau.tools import shell\n"
        "context = make_context(Path(sys.argv[2]))\n"
        "print(called(shell.tools(context), 'shell', command='setsid sleep 300 & sleep 300 & echo begun'))\n"
    )
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, str(script), root, str(tmp_path / "work")],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert "2 processes still running" in done.stdout
    assert not alive(marker)


# How it is stopped ------------------------------------------------------------------------------------

STUBBORN = {
    "children": "sh -c 'sleep 300 & sleep 300'",
    "a trap": "trap '' TERM; sleep 300; sleep 300",
    "a trap in a child": "(trap '' TERM; while :; do sleep 1; done) & wait",
    "another session": "setsid sleep 300 & sleep 300",
    "a double fork": "(setsid sh -c 'sleep 300 & exec sleep 300' &) ; sleep 300",
    "python": f"{sys.executable} -c 'import time; time.sleep(300)'",
    "job control": "set -m; sleep 300 & sleep 300",
    "stopped": "sleep 300 & kill -STOP $!; kill -STOP $$",
    "a flood": "yes",
    "a flood of errors": "while :; do echo failed >&2; done",
}


@pytest.mark.parametrize("command", STUBBORN.values(), ids=STUBBORN.keys())
def test_cancelling_leaves_no_process(context: ToolContext, marker: str, command: str) -> None:
    running = Running(context, command)
    if "while" not in command:
        expected = 1 if command in (STUBBORN["python"], STUBBORN["a flood"]) else 2
        until(lambda: len(alive(marker)) >= expected)
    result, seconds = running.cancel()
    assert not alive(marker)
    assert seconds < 3
    assert result["status"] == "error"
    assert re.search(
        r"\n\[The call was interrupted after \d+\.\d s; it was stopped and may have had effects\.\]\Z",
        text(result),
    )
    assert text(result).startswith(("begun\n", "failed\n"))


def test_cancelling_ends_a_process_that_dropped_its_environment(context: ToolContext, marker: str) -> None:
    hidden = """env -i setsid sh -c "trap '' TERM; echo \\$\\$ > pid; while :; do sleep 1; done" """
    running = Running(context, f"{hidden} & sleep 300")
    file = context.directory / "pid"
    until(lambda: file.exists() and file.read_text().strip())
    running.cancel()
    assert int(file.read_text()) not in {process.pid for process in process_tree.scan()}
    assert not alive(marker)


def test_a_cancelled_task_leaves_no_process(context: ToolContext, marker: str) -> None:
    command = "trap '' TERM; : > going; sleep 300"

    async def cancel() -> None:
        agent = agent_with(shell.tools(context), ("shell", {"command": command}))
        task = asyncio.create_task(agent.invoke_async("go"))
        while not (context.directory / "going").exists():
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.wait({task}, timeout=DEADLINE)
        assert task.cancelled()

    asyncio.run(cancel())
    until(lambda: not alive(marker), seconds=5)


def test_nothing_runs_once_the_turn_is_cancelled(context: ToolContext) -> None:
    agent = agent_with(shell.tools(context), ("shell", {"command": "touch RAN"}))
    (tool,) = shell.tools(context)
    agent.cancel()

    async def call() -> list[Any]:
        use: Any = {"toolUseId": "t1", "name": "shell", "input": {"command": "touch RAN"}}
        return [event async for event in tool.stream(use, {"agent": agent})]

    (event,) = asyncio.run(call())
    assert "The call was cancelled" in str(event)
    assert not (context.directory / "RAN").exists()


def test_descendants_are_found_by_ps_as_by_proc() -> None:
    started = subprocess.Popen(["sh", "-c", "sleep 300 & sleep 300"], start_new_session=True)
    tree = process_tree.ProcessTree(started, "none.ffff")
    try:
        until(lambda: [process.name for process in tree.members()] == ["sh", "sleep", "sleep"])
        by_ps = tree.members(process_tree.from_ps())
        assert [process._replace(session=0) for process in tree.members()] == by_ps
        assert [process.name for process in by_ps] == ["sh", "sleep", "sleep"]
    finally:
        assert process_tree.stop([tree]) == []
    assert tree.has_ended()
    # The shell may see its command end first, and then ends by itself with the code for that.
    assert tree.exit_code in (-signal.SIGTERM, 128 + signal.SIGTERM)
    tree.reap()


def test_a_mark_tells_of_every_tau_around_it() -> None:
    outer = process_tree.fresh_mark({})
    inner = process_tree.fresh_mark({process_tree.MARK: outer})
    assert inner.startswith(f"{outer}.")
    assert inner != process_tree.fresh_mark({process_tree.MARK: outer})
