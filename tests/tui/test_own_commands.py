"""Commands typed with ``!`` on the screen: run, shown, stopped, and there again after a resume."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from tau.config.settings import Settings
from tau.errors import StoreWriteFailed
from tau.sessions.file_writer import FileWriter
from tau.tui.widgets.blocks import UserRow
from tau.tui.widgets.command_card import CommandCard
from tau.tui.widgets.images_row import ImagesRow
from tests.conversation.test_images import png
from tests.tui.conftest import Running, Start


def order(tau: Running) -> list[str]:
    """The blocks of the chat in order."""
    kinds = (CommandCard, UserRow, ImagesRow)
    return [type(widget).__name__ for widget in tau.screen.chat.children if isinstance(widget, kinds)]


async def test_a_command_runs_live_and_its_output_is_there_after_a_resume(start: Start, work: Path) -> None:
    async with start([{"text": "I see"}]) as tau:
        await tau.send("!echo begun; until test -e go; do sleep 0.01; done; echo over")
        await tau.shows("begun")
        await tau.until(lambda: "Running your command" in tau.screen.status.activity, "the activity")
        assert "over" not in tau.text().replace("echo over", "")
        await tau.send("what is it?")  # waits for the end of the command
        assert len(tau.screen.outbox) == 1
        (work / "go").touch()
        await tau.shows("I see")
        await tau.idle()
        assert order(tau) == ["CommandCard", "UserRow"]
        assert tau.screen.conversation.state.shared == ()
        shown = tau.text()
        assert "exit 0" not in shown
        assert "!  " in shown
        session = tau.screen.conversation.state.session_id
    async with start([{"text": "again"}], resume=session) as tau:
        await tau.shows("what is it?")
        assert order(tau) == ["CommandCard", "UserRow"]
        card = tau.screen.chat.query_one(CommandCard)
        assert card.source.startswith("begun\nover\n[exit 0, ")


async def test_an_exclamation_mark_alone_is_no_message(start: Start) -> None:
    async with start([{"text": "I see"}]) as tau:
        await tau.send("!")
        await tau.shows("There is no command behind the !")
        await tau.until(lambda: tau.screen.prompt.text == "!", "it is in the prompt again")
        assert order(tau) == []
        assert tau.screen.conversation.state.message_count == 0


async def test_what_waits_for_the_next_message_is_shown_again(start: Start) -> None:
    async with start([{"text": "hello"}]) as tau:
        await tau.turn("hi")
        await tau.send("!echo waits")
        await tau.until(lambda: tau.screen.conversation.state.shared, "the command is over")
        session = tau.screen.conversation.state.session_id
    async with start([{"text": "fine"}], resume=session) as tau:
        await tau.until(lambda: order(tau) == ["UserRow", "CommandCard"], "the card")


async def test_esc_stops_the_command(start: Start) -> None:
    async with start([{"text": "hello"}]) as tau:
        await tau.send("!!echo begun; sleep 300")
        await tau.shows("begun")
        await tau.pilot.press("escape")
        await tau.until(lambda: not tau.screen.own_command.running, "it is over")
        await tau.until(lambda: "cancelled" in tau.text(), "how it ended")
        assert tau.screen.conversation.state.shared == ()
        await tau.ready()


async def test_during_a_turn_it_goes_back_into_the_prompt(start: Start, work: Path) -> None:
    async with start([{"text": "one two three", "chunks": 13, "delay": 0.2}]) as tau:
        await tau.send("go")
        await tau.shows("one")
        await tau.send("!touch ran")
        await tau.shows("I am still answering the previous turn.")
        await tau.until(lambda: tau.screen.prompt.text == "!touch ran", "the draft")
        await tau.pilot.press("escape")
        await tau.idle()
        assert not (work / "ran").exists()


async def test_a_mentioned_image_is_named_under_the_message(start: Start, work: Path) -> None:
    (work / "shot.png").write_bytes(png())
    async with start([{"text": "a red square"}]) as tau:
        await tau.turn("look at @shot.png now")
        await tau.shows("[Image: shot.png · 93 B · 3×2]")
        assert order(tau) == ["UserRow", "ImagesRow"]
        session = tau.screen.conversation.state.session_id
    async with start([{"text": "again"}], resume=session) as tau:
        await tau.shows("[Image: shot.png · 93 B · 3×2]")
        assert order(tau) == ["UserRow", "ImagesRow"]


async def test_controls_in_an_output_do_not_reach_the_terminal(start: Start) -> None:
    async with start([{"text": "hello"}]) as tau:
        await tau.send("!printf 'a\\033]0;title\\007b\\001[/red]c\\n'")
        await tau.until(lambda: tau.screen.conversation.state.shared, "the command is over")
        await tau.pilot.press("f4")
        card = tau.screen.chat.query_one(CommandCard)
        card.action_turn()
        await tau.shows("ab\\x01[/red]c")


async def test_ctrl_c_stops_the_command_and_leaves_only_then(start: Start) -> None:
    async with start() as tau:
        await tau.send("!!echo begun; sleep 300")
        await tau.shows("begun")
        await tau.pilot.press("ctrl+c")
        await tau.until(lambda: not tau.screen.own_command.running, "it is over")
        await tau.shows("cancelled")
        assert "again leaves" not in tau.text()
        await tau.ready()
        await tau.pilot.press("ctrl+c")
        await tau.shows("Ctrl+C again leaves")


async def test_the_keys_that_are_named_are_those_in_force(
    start: Start, settings_for: Callable[..., Settings]
) -> None:
    settings = msgspec.structs.replace(settings_for(), keys={"cancel": "f12", "interrupt": "f11"})
    async with start(settings=settings, size=(120, 30)) as tau:
        await tau.send("!!sleep 300")
        await tau.shows("Running your command… 0 s · F12 cancels")
        await tau.send("!!echo second")
        await tau.shows("A command is running; F12 stops it.")
        await tau.pilot.press("f11", "f12")  # the draft, then the command
        await tau.until(lambda: not tau.screen.own_command.running, "it is over")
        await tau.pilot.press("f11")
        await tau.shows("F11 again leaves")


async def test_the_end_of_the_output_stays_until_something_else_comes(start: Start) -> None:
    async with start([{"text": "I see"}]) as tau:
        await tau.send("!seq 101 130")
        await tau.until(lambda: tau.screen.conversation.state.shared, "the command is over")
        await tau.ready()
        await tau.shows("… 20 lines above · Enter shows all")
        rows = re.findall(r"^ +(1\d\d)\b", tau.text(), re.MULTILINE)
        assert rows == [str(number) for number in range(121, 131)]
        await tau.send("!true")
        await tau.until(lambda: len(tau.screen.conversation.state.shared) == 2, "the next one is over")
        await tau.until(lambda: "130" not in tau.text().replace("seq 101 130", ""), "the first one is folded")
        await tau.send("!echo seen")
        await tau.shows("  seen")
        await tau.turn("what is it?")
        await tau.shows("I see")
        assert "seen" not in tau.text().replace("echo seen", "")


async def test_that_an_output_is_not_saved_does_not_fold_it(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise StoreWriteFailed("No space left")

    async with start() as tau:
        await tau.turn("hi")
        with monkeypatch.context() as disk:
            disk.setattr(FileWriter, "append_event", refused)
            await tau.send("!echo seen")
            await tau.shows("No space left")
            await tau.ready()
        assert "seen" in tau.text().replace("echo seen", "")
