"""Commands typed with ``!`` in `tau chat`, and images given to `tau run` and mentioned in a message."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conversation.test_images import png
from tests.line.test_json import check, lines
from tests.line.test_terminal import Chats, chats, code

if TYPE_CHECKING:
    from tests.conftest import TauEnv

__all__ = ["chats"]


@pytest.mark.terminal
def test_a_command_runs_at_the_prompt_and_goes_along(tau_env: TauEnv, chats: Chats) -> None:
    tau_env.scripted({"text": "I see."})
    process = chats.at_prompt()
    process.send("!echo $((40 + 2)); printf '\\033]0;t\\007\\001'\r")
    process.expect(r"42\r\n")
    process.expect_exact("\\x01")
    process.expect(r"\[exit 0, [0-9.]+ s\] · goes along with your next message")
    process.expect("❯")
    process.send("!!echo $((50 + 1))\r")
    process.expect(r"51\r\n")
    process.expect(r"\[exit 0, [0-9.]+ s\](\x1b\[22m)?\r\n")
    process.expect("❯")
    process.send("what is it?\r")
    process.expect_exact("I see.")
    process.expect("❯")
    process.sendeof()
    assert code(process) == 0
    shared, said = tau_env.sent()[-1]["messages"][-1]["content"]
    assert "42\n" in shared["text"]
    assert "51" not in shared["text"]
    assert said == {"text": "what is it?"}
    session = tau_env.sessions()[0].name
    process = chats.at_prompt("--resume", session)
    assert "! echo $((40 + 2))" in process.before
    assert "> what is it?" in process.before


@pytest.mark.terminal
@pytest.mark.parametrize("key", ["\x1b", "\x03"], ids=["Esc", "Ctrl-C"])
def test_a_key_stops_the_command(tau_env: TauEnv, chats: Chats, key: str) -> None:
    tau_env.scripted({"text": "I see."})
    process = chats.at_prompt()
    process.send("!echo begun; sleep 300\r")
    process.expect(r"begun\r\n")
    process.send(key)
    process.expect_exact("was interrupted")
    process.expect("❯")
    process.sendeof()
    assert code(process) == 0


def test_what_is_piped_in_or_given_as_an_argument_runs_nothing(tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "No."})
    done = tau_env.run("chat", stdin=b"!touch ran\n")
    assert done.stdout == "No.\n"
    tau_env.run("chat", "!touch ran")
    tau_env.run("run", "!touch ran")
    assert not (tau_env.directory / "ran").exists()
    assert [sent["messages"][0]["content"][0]["text"] for sent in tau_env.sent()] == ["!touch ran"] * 3


def test_images_go_along_with_a_prompt(tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "Red."})
    (tau_env.directory / "a.png").write_bytes(png())
    (tau_env.directory / "b.png").write_bytes(png(4, 4))
    done = tau_env.run("run", "--json", "--image", "a.png", "--image", "b.png", "compare with @a.png")
    assert done.returncode == 0
    found = lines(done.stdout)
    for line in found:
        check(line)
    (started,) = [line for line in found if line["type"] == "turn_started"]
    assert [label.split(" · ")[0] for label in started["images"]] == ["[Image: a.png", "[Image: b.png"]
    content = tau_env.sent()[-1]["messages"][-1]["content"]
    assert [next(iter(block)) for block in content] == ["text", "image", "text", "image", "text"]
    shown = tau_env.run("sessions", "show", tau_env.sessions()[0].name).stdout
    assert "[Image: a.png · 93 B · 3×2]" in shown


def test_an_image_that_cannot_go_along_fails_the_run(tau_env: TauEnv) -> None:
    tau_env.scripted({"text": "Red."})
    done = tau_env.run("run", "--image", "none.png", "look")
    assert (done.returncode, done.stdout) == (1, "")
    assert "none.png cannot be read: No such file or directory; nothing was sent" in done.stderr
    assert tau_env.sent() == []
