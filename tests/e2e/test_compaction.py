"""The installed command killed while it compacts: the session is whole, and no half one is listed."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tau.sessions.file import open_store
from tau.sessions.store import StoreContext
from tests.e2e.test_cut_off import until
from tests.terminal import Open

if TYPE_CHECKING:
    from tests.conftest import TauEnv

pytestmark = pytest.mark.terminal

TURNS = 400
NOTES = {"text": "The person asks questions."}


def scripted(tau_env: TauEnv, summary: dict[str, Any], more: str = "") -> None:
    """A model, and another script for its summaries."""
    side = tau_env.home / "side.json"
    side.write_text(json.dumps([summary]), encoding="utf-8")
    tau_env.scripted({"text": "noted"}, more=f'side_script = "{side}"\n{more}')


def record(tau_env: TauEnv, session_id: str, turns: int) -> None:
    """Write a session of so many turns."""
    store = open_store(StoreContext(data_dir=tau_env.data, state_dir=tau_env.state))
    meta = {"directory": str(tau_env.directory), "channel": "tui", "title": "question 0"}
    with store.create(session_id, meta=meta) as writer:
        for number in range(turns):
            writer.append(2 * number, {"role": "user", "content": [{"text": f"question {number}"}]})
            writer.append(2 * number + 1, {"role": "assistant", "content": [{"text": f"answer {number}"}]})


def messages(session: Path) -> dict[str, bytes]:
    folder = session / "agents" / "tau" / "messages"
    return {path.name: path.read_bytes() for path in sorted(folder.glob("[0-9]*.json"))}


def meta(session: Path) -> dict[str, Any]:
    return dict(json.loads((session / "meta.json").read_text()))


def listed(tau_env: TauEnv) -> list[str]:
    """The ids that are listed, with their numbers of messages and their links."""
    done = tau_env.run("sessions", "list")
    assert done.returncode == 0, done.stderr
    return [f"{line.split()[1]} {line.rpartition('(')[2]}" for line in done.stdout.splitlines()]


def test_killed_while_it_is_summarized(tau_env: TauEnv, terminal: Open) -> None:
    scripted(tau_env, {"text": "never", "silent": 600})
    record(tau_env, "old", 3)
    (session,) = tau_env.sessions()
    before = messages(session)
    app = terminal("tui", "--resume", "old")
    app.ready()
    app.send("/compact\r")
    app.shows("Summarizing…")
    app.process.kill(signal.SIGKILL)
    app.ended()
    assert tau_env.sessions() == [session]
    assert messages(session) == before
    assert "compacted_to" not in meta(session)
    assert listed(tau_env) == ["old 6 messages)"]
    scripted(tau_env, NOTES)
    again = terminal("tui", "--resume")
    again.ready()
    assert "answer 2" in again.text()
    assert "Summarizing" not in again.text()
    again.send("and now?\r")
    again.shows("noted")
    again.ready()
    again.send("/compact\r")
    again.shows("Compacted 2 messages into a summary.")  # the last three turns follow word for word
    again.ready()
    again.send("\x11")
    assert again.ended() == 0
    assert messages(session).items() > before.items()


def test_killed_while_the_new_session_is_written(tau_env: TauEnv, terminal: Open) -> None:
    scripted(tau_env, NOTES, more=f"[compaction]\nkeep_turns = {TURNS - 1}\n")
    record(tau_env, "old", TURNS)
    (session,) = tau_env.sessions()
    before = messages(session)
    app = terminal("tui", "--resume", "old")
    app.ready()
    app.send("/compact\r")

    def begun() -> bool:
        app.read()
        return len(tau_env.sessions()) == 2

    until(begun, "the new session")
    app.process.kill(signal.SIGKILL)
    app.ended()
    assert messages(session) == before
    (new,) = [folder for folder in tau_env.sessions() if folder != session]
    finished = (new / "meta.json").exists() and not meta(new).get("unfinished")
    assert ("compacted_to" in meta(session)) <= finished, "nothing leads to what is not whole"
    whole = [f"{new.name} {len(messages(new))} messages) · continues old"] if finished else []
    if "compacted_to" not in meta(session):  # else the new one stands for it
        whole.append(f"old {2 * TURNS} messages)")
    assert sorted(listed(tau_env)) == sorted(whole)
    again = terminal("tui", "--resume", "old")
    again.ready()
    assert f"answer {TURNS - 1}" in again.text()
    again.send("and now?\r")
    again.shows("noted")
    again.ready()
    again.send("\x11")
    assert again.ended() == 0
