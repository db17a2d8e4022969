"""Tool cards: a line a call, live output, what failed, what changed; the same when a session is resumed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from textual import events

from tau.agent.notices import DENIED_BEFORE
from tau.config.settings import Settings
from tau.events import (
    AgentEvent,
    Approval,
    ApprovalAsked,
    ApprovalClosed,
    ApprovalRecord,
    ToolCallRecord,
    ToolOutputDelta,
    ToolStatus,
    ToolUseEnded,
    ToolUseStarted,
    TurnEnd,
    TurnStarted,
)
from tau.sessions.store import SessionStore
from tau.tui.turn_view import TurnView
from tau.tui.widgets.events_pane import EventsPane, entry_of
from tau.tui.widgets.tool_card import ToolCard
from tests.tui.conftest import Running, Start
from tests.tui.recorded import called, record, result, said
from tests.tui.test_diff import NEW, OLD, diff_of

EDITED = f"Edited a.py: 1 edit, 2 lines added, 1 removed.\n{diff_of(OLD, NEW)}"
FAILED = "".join(f"line {n}\n" for n in range(40)) + "[exit 3, 1.8 s]"


async def view(tau: Running) -> TurnView:
    """A turn that tests feed with events."""
    turn = TurnView(tau.screen.chat, tau.screen.events_pane, 0)
    await turn.show(TurnStarted("go"))
    return turn


async def begin(turn: TurnView, name: str, arguments: Mapping[str, Any]) -> None:
    await turn.show(ToolUseStarted("t1", name, arguments, 2))


async def end(
    turn: TurnView, name: str, text: str, *, status: ToolStatus = "success", approval: Approval = "approved"
) -> None:
    await turn.show(ToolUseEnded("t1", name, status, text, 1.8, approval))


def lines(tau: Running) -> list[str]:
    """The lines of the card."""
    return [line.rstrip() for line in tau.screen.query_one(ToolCard).render().plain.split("\n")]


async def shown(tau: Running) -> list[str]:
    await tau.pilot.pause()
    return lines(tau)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=str)
async def test_a_call_that_worked_is_one_line(start: Start, size: tuple[int, int]) -> None:
    async with start(size=size) as tau:
        turn = await view(tau)
        command = "pytest -x\necho " + "very " * 40 + "long END"
        await begin(turn, "shell", {"command": command, "timeout": 9})
        await end(turn, "shell", "all is well\n[exit 0, 1.8 s]")
        (line,) = await shown(tau)
        assert line.startswith("▸ shell         pytest -x ⏎ echo very")
        assert line.split()[-5:] == ["END", "approved", "·", "1.8", "s"]
        assert len(line) == tau.screen.query_one(ToolCard).size.width
        tau.screen.query_one(ToolCard).action_turn()
        opened = "".join(row.strip() + " " for row in await shown(tau))
        assert "command: pytest -x echo very" in opened
        assert "timeout: 9 all is well" in opened
        assert "exit 0" not in opened


async def test_a_command_that_failed_shows_its_last_lines(start: Start) -> None:
    async with start() as tau:
        turn = await view(tau)
        await begin(turn, "shell", {"command": "make"})
        await end(turn, "shell", FAILED)
        title, above, *rest = await shown(tau)
        assert title.startswith("✗ shell         make")
        assert title.endswith("approved · exit 3 · 1.8 s")
        assert above == "  … 32 lines above · Enter shows all"
        assert rest == [f"  line {n}" for n in range(32, 40)]
        tau.screen.query_one(ToolCard).focus()
        await tau.pilot.press("enter")
        assert (await shown(tau))[1:] == [f"  line {n}" for n in range(40)]
        await tau.pilot.press("enter")
        assert (await shown(tau))[1] == above
        assert tau.screen.query_one(EventsPane).entries[-1].outcome == "exit 3 · 1.8 s · approved"


@pytest.mark.parametrize(
    ("status", "approval", "text", "line"),
    [
        ("error", "", "No such file", "✗ shell         make                failed · 1.8 s"),
        ("error", "denied", "The person said no", "⊘ shell         make                        denied"),
        ("error", "denied", DENIED_BEFORE, "⊘ shell         make                     not asked"),
        ("success", "allowed", "[killed by SIGKILL, 1 s]",
         "✗ shell make allowed · killed by SIGKILL · 1.8 s"),
        ("cancelled", "approved", "", "■ shell         make  approved · cancelled · 1.8 s"),
        ("success", "not_needed", "", "▸ shell         make                         1.8 s"),
    ],
)  # fmt: skip
async def test_how_a_call_ended(
    start: Start, status: ToolStatus, approval: Approval, text: str, line: str
) -> None:
    async with start() as tau:
        turn = await view(tau)
        await begin(turn, "shell", {"command": "make"})
        await end(turn, "shell", text, status=status, approval=approval)
        assert (await shown(tau))[0].split() == line.split()


async def test_only_the_shell_has_an_exit_code(start: Start) -> None:
    async with start() as tau:
        turn = await view(tau)
        await begin(turn, "read_file", {"path": "log.txt"})
        await end(turn, "read_file", "1\tmake\n[exit 1, 2 s]", approval="not_needed")
        assert (await shown(tau))[0].split() == ["▸", "read_file", "log.txt", "1.8", "s"]


async def test_a_change_is_a_diff_and_a_long_one_is_folded(start: Start) -> None:
    async with start() as tau:
        turn = await view(tau)
        await begin(turn, "edit_file", {"path": "a.py", "edits": [{"old": "two", "new": "2"}]})
        await end(turn, "edit_file", EDITED)
        title, *rest = await shown(tau)
        assert title.endswith("+2 −1 · approved · 1.8 s")
        assert [row.strip() for row in rest] == [
            "1   one", "2 - two", "2 + 2", "3   three", "4   four", "5 + five"
        ]  # fmt: skip
        await tau.screen.query_one(ToolCard).remove()
        await begin(turn, "write_file", {"path": "b.py", "content": "x"})
        await end(turn, "write_file", diff_of("", "".join(f"line {n}\n" for n in range(100))))
        rows = await shown(tau)
        assert len(rows) == 16
        assert rows[-1] == "  … 86 more lines · Enter shows them"
        tau.screen.query_one(ToolCard).action_turn()
        assert len(await shown(tau)) == 101


async def test_live_output_is_its_last_lines(start: Start) -> None:
    async with start() as tau:
        turn = await view(tau)
        await begin(turn, "shell", {"command": "make"})
        await turn.show(ToolOutputDelta("t1", "".join(f"line {n}\n" for n in range(60))))
        await turn.show(ToolOutputDelta("t1", "10 %\r20 %\r\x1b[32m30 %\x1b[0m \x1b[2J"))
        await tau.shows("30 %")
        title, *rest = lines(tau)
        assert title.split() == ["●", "shell", "make", "60", "lines", "·", "running"]
        assert rest == [*(f"  line {n}" for n in range(53, 60)), "  30 % \\x1b[2J"]
        await turn.show(TurnEnd("cancelled", duration=2.0))
        title, *rest = await shown(tau)
        assert "cancelled" in title
        assert any("30 %" in row for row in rest), "what it said before it was stopped"


@pytest.mark.parametrize("piece", ["x" * 20_000, "line\n" * 4_000], ids=["one line", "many lines"])
async def test_much_output_costs_no_more_than_a_little(start: Start, piece: str) -> None:
    async with start() as tau:
        turn = await view(tau)
        await begin(turn, "shell", {"command": "make"})
        card = tau.screen.query_one(ToolCard)
        spent = []
        for _ in range(100):  # 2 MB
            began = time.thread_time()
            card.add_output(piece)
            card._show_output()
            lines(tau)
            spent.append(time.thread_time() - began)
        assert sorted(spent)[90] < 0.005
        assert sum(spent[-30:]) < 3 * sum(spent[:30])
        card.add_output("\nEND\n")
        await tau.shows("END")
        began = time.thread_time()
        await end(turn, "shell", piece * 4 + "\nEND\n[exit 1, 2 s]")
        await tau.shows("exit 1")
        card.action_turn()
        await tau.until(lambda: card.size.height > 100, "it is open")
        assert time.thread_time() - began < 1
        opened = await shown(tau)
        assert any("not shown; tau sessions export has them" in row for row in opened)
        assert opened[-1] == "  END"


async def test_output_is_drawn_at_most_ten_times_a_second(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with start() as tau:
        turn = await view(tau)
        await begin(turn, "shell", {"command": "make"})
        card = tau.screen.query_one(ToolCard)
        times: list[float] = []
        draw = card._show_output

        def drawing() -> None:
            times.append(time.monotonic())
            draw()

        monkeypatch.setattr(card, "_show_output", drawing)
        while len(times) < 4:
            await turn.show(ToolOutputDelta("t1", "more\n"))
            await tau.pilot.pause(0.005)
        assert all(after - before > 0.08 for before, after in pairwise(times))


async def test_a_resumed_session_shows_the_same(start: Start, store: SessionStore, work: Path) -> None:
    shell = {"command": "make"}
    edit = {"path": "a.py", "edits": []}
    messages = [
        said("go"),
        {"role": "assistant", "content": [called("t1", "shell", **shell), called("t2", "edit_file", **edit)]},
        result("t1", FAILED),
        result("t2", EDITED),
    ]
    done: list[AgentEvent] = [
        ApprovalRecord("shell", shell, "always", "t1", patterns=("shell: make *",)),
        ToolCallRecord("shell", 2, shell, "success", FAILED, "approved", 1.8, "t1"),
        ApprovalRecord("edit_file", edit, "no", "t9", reason="not yet"),
        ToolCallRecord("edit_file", 2, edit, "success", EDITED, "allowed", 1.8, "t2"),
    ]
    record(store, "s1", messages, directory=str(work), events=done)
    async with start(resume="s1") as tau:
        await tau.until(lambda: len(tau.screen.query(ToolCard)) == 2)
        resumed = [card.render().plain for card in tau.screen.query(ToolCard)]
        pane = tau.screen.query_one(EventsPane)
        assert [entry.outcome for entry in pane.entries] == [
            "always", "exit 3 · 1.8 s · approved", "denied", "allowed · 1.8 s"
        ]  # fmt: skip
        await tau.shows("always: shell: make *")
        await tau.shows("denied: not yet")
    async with start() as tau:
        turn = await view(tau)
        await begin(turn, "shell", shell)
        await end(turn, "shell", FAILED)
        await turn.show(ToolUseStarted("t2", "edit_file", edit, 2))
        await turn.show(ToolUseEnded("t2", "edit_file", "success", EDITED, 1.8, "allowed"))
        await tau.pilot.pause()
        assert [card.render().plain for card in tau.screen.query(ToolCard)] == resumed


async def test_decisions_stand_in_the_events_pane_as_they_are_made(start: Start) -> None:
    async with start() as tau:
        turn = await view(tau)
        for decision, reason in (("always", ""), ("no", "not now"), ("yes", "")):
            asked = ApprovalAsked("a1", "shell", {"command": "make"}, ("shell: make *",))
            await turn.show(asked)
            await turn.show(ApprovalClosed("a1", decision, reason))  # type: ignore[arg-type]  # from a loop
        await tau.shows("always: shell: make *")
        await tau.shows("denied: not now")
        entries = tau.screen.query_one(EventsPane).entries
        assert [entry.outcome for entry in entries] == ["always", "denied", "approved"]
        stored = ApprovalRecord("shell", {"command": "make"}, "no", "t1", "not now")
        assert entry_of(stored).more == entries[1].more


async def test_a_real_command_in_a_turn(start: Start, tmp_path: Path) -> None:
    command = "seq 200; printf 'a \\033[31mred\\033[0m end'; sleep 0.3; exit 4"
    call = {"name": "shell", "input": {"command": command}, "id": "t1"}
    async with start([{"tools": [call]}, {"text": "done"}], can_ask=True) as tau:
        await tau.send("go")
        await tau.until(lambda: tau.screen.questions.panel is not None, "the question")
        panel = tau.screen.questions.panel
        assert panel is not None
        await tau.until(lambda: time.monotonic() > panel._quiet_until, "keys answer it")
        await tau.pilot.press("y")
        await tau.shows("a red end")
        await tau.idle()
        card = lines(tau)
        assert "exit 4" in card[0]
        assert card[-1] == "  a red end"
        told = json.loads((tmp_path / "requests.jsonl").read_text("utf-8").splitlines()[-1])
        assert "[exit 4" in json.dumps(told["messages"][-1])


async def test_a_click_opens_and_a_selection_does_not(start: Start) -> None:
    async with start() as tau:
        turn = await view(tau)
        await begin(turn, "shell", {"command": "make"})
        await end(turn, "shell", "fine\n[exit 0, 1 s]")
        await tau.pilot.pause()
        await tau.pilot.click(ToolCard)
        assert "  fine" in await shown(tau)
        card = tau.screen.query_one(ToolCard)
        card.text_select_all()
        await tau.pilot.pause()
        assert "fine" in (tau.screen.get_selected_text() or "")
        card.post_message(events.Click(card, 1, 0, 0, 0, 1, shift=False, meta=False, ctrl=False))
        assert "  fine" in await shown(tau)


@pytest.mark.parametrize("theme", ["nord", "textual-light", "ansi-dark", "monokai"])
async def test_a_diff_has_colours_in_a_theme_that_does_not_know_them(
    start: Start, settings_for: Callable[..., Settings], theme: str
) -> None:
    async with start(settings=settings_for(theme=theme)) as tau:
        turn = await view(tau)
        await begin(turn, "edit_file", {"path": "a.py"})
        await end(turn, "edit_file", EDITED)
        await tau.shows("5 + five")
        card = tau.screen.query_one(ToolCard)
        colours = {
            segment.text.strip(): segment.style.color
            for y in range(card.size.height)
            for segment in card.render_line(y)
            if segment.style is not None
        }
        assert len({str(colours[sign]) for sign in ("+", "-", "three")}) >= 2
        assert colours["+"] != colours["-"]


async def test_calls_of_a_turn_whose_ids_repeat_end_one_by_one(start: Start) -> None:
    async with start() as tau:
        turn = await view(tau)
        await begin(turn, "shell", {"command": "one"})
        await end(turn, "shell", "one\n[exit 1, 1 s]")
        await begin(turn, "shell", {"command": "two"})
        await end(turn, "shell", "two\n[exit 0, 1 s]", approval="allowed")
        await tau.pilot.pause()
        first, second = (card.render().plain.split("\n")[0] for card in tau.screen.query(ToolCard))
        assert "exit 1" in first
        assert "allowed" in second
        assert "exit" not in second
