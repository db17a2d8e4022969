"""`tau sessions` on records that the installed command made."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conftest import make_tau_env
from tests.sessions.planted import plant

if TYPE_CHECKING:
    from tests.conftest import TauEnv


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> TauEnv:
    """Two sessions of this directory, `older` and `newer`, for tests that leave them as they are."""
    return record(make_tau_env(tmp_path_factory.mktemp("recorded")))


def record(tau_env: TauEnv) -> TauEnv:
    nests = "The quail nests in A\x1b[2JB."
    tau_env.configure('[sessions]\nbackend = "file"\n')
    tau_env.record("s1", "Where does the quail nest?", nests, "And the owl?", "Nothing of it.", name="older")
    tau_env.record("s2", "Hello", nests, name="newer")
    return tau_env


def state_of(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "logs" not in path.parts
    }


def ids(tau_env: TauEnv) -> dict[str, str]:
    found = [
        json.loads(line) for line in tau_env.run("sessions", "list", "--all", "--json").stdout.splitlines()
    ]
    return {entry["meta"]["name"]: entry["session_id"] for entry in found}


def test_list_is_newest_first_and_reading_changes_nothing(recorded: TauEnv) -> None:
    before = state_of(recorded.data)
    done = recorded.run("sessions", "list")
    assert done.returncode == 0
    first, second = done.stdout.splitlines()
    assert first.startswith("1. ")
    assert first.endswith(" terminal Hello (2 messages)")
    assert second.startswith("2. ")
    assert second.endswith(" terminal Where does the quail nest? (4 messages)")
    assert recorded.run("sessions", "show", "older").returncode == 0
    assert recorded.run("sessions", "search", "quail").returncode == 0
    assert recorded.run("sessions", "export", "older").returncode == 0
    assert state_of(recorded.data) == before
    assert len(recorded.run("sessions", "list", "--limit", "1").stdout.splitlines()) == 1


def test_json_lines_carry_the_metadata(recorded: TauEnv) -> None:
    first = json.loads(recorded.run("sessions", "list", "--json").stdout.splitlines()[0])
    assert first["meta"]["name"] == "newer"
    assert first["meta"]["directory"] == str(recorded.directory)
    assert first["message_count"] == 2


def test_a_directory_has_its_own_sessions(recorded: TauEnv, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    done = recorded.run("sessions", "list", cwd=other)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"tau: No sessions of {other.resolve()} (--all lists those of every directory)\n"
    assert len(recorded.run("sessions", "list", "--all", cwd=other).stdout.splitlines()) == 2
    assert recorded.run("sessions", "show", "older", cwd=other).returncode == 1
    assert recorded.run("sessions", "show", "older", "--all", cwd=other).returncode == 0
    assert recorded.run("sessions", "show", ids(recorded)["older"], cwd=other).returncode == 0


def test_show_prints_the_newest_or_the_named_one_safely(recorded: TauEnv) -> None:
    newest = recorded.run("sessions", "show").stdout
    assert "Hello" in newest
    assert "(newer)" in newest
    shown = recorded.run("sessions", "show", "older").stdout
    assert "Where does the quail nest?" in shown
    assert "A\\x1b[2JB." in shown
    assert "\x1b" not in shown
    last = recorded.run("sessions", "show", "older", "--limit", "1").stdout
    assert "… 3 earlier messages" in last
    assert "Where does the quail nest?" not in last.partition("…")[2]


def test_search_finds_messages_by_their_words(recorded: TauEnv) -> None:
    lines = recorded.run("sessions", "search", "quail", "nests").stdout.splitlines()
    assert {line.split()[0] for line in lines} == set(ids(recorded).values())
    hit = json.loads(recorded.run("sessions", "search", "owl", "--json").stdout)
    assert (hit["session_id"], hit["role"], hit["index"]) == (ids(recorded)["older"], "user", 2)
    nothing = recorded.run("sessions", "search", "pelican")
    assert (nothing.returncode, nothing.stdout) == (0, "")
    assert "Nothing found" in nothing.stderr


def test_export_to_stdout_and_to_a_file(recorded: TauEnv, tmp_path: Path) -> None:
    markdown = recorded.run("sessions", "export", "older").stdout
    assert "Where does the quail nest?" in markdown
    assert "4 of 4 messages." in markdown
    exported = json.loads(recorded.run("sessions", "export", "older", "--format", "json").stdout)
    (session,) = exported["sessions"]
    assert [entry["index"] for entry in session["messages"]] == [0, 1, 2, 3]
    file = tmp_path / "quail.json"
    done = recorded.run("sessions", "export", "older", "-o", str(file))
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"tau: Exported 4 messages to {file}\n"
    assert json.loads(file.read_text(encoding="utf-8")) == exported
    assert file.stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["quail.json"]


def test_a_chain_is_shown_and_exported(tau_env: TauEnv, tmp_path: Path) -> None:
    tau_env.scripted({"text": "The quail nests in May."}, {"text": "Nothing of it."})
    done = tau_env.run(
        "chat", "--name", "first", stdin=b"Where does the quail nest?\nAnd the owl?\n/undo\nAnd?\n"
    )
    assert done.returncode == 0, done.stderr
    old, new = sorted(line.split()[1] for line in tau_env.run("sessions", "list").stdout.splitlines())
    if f"Forked from {old}\n" not in tau_env.run("sessions", "show", new).stdout:
        old, new = new, old
    shown = tau_env.run("sessions", "show", new).stdout
    assert f"\nForked from {old}\n" in shown
    assert "Forked" not in tau_env.run("sessions", "show", old).stdout
    file = tmp_path / "all.html"
    done = tau_env.run("sessions", "export", new, "--chain", "-o", str(file))
    assert done.stderr == f"tau: Exported 4 messages to {file}\n"
    page = file.read_text(encoding="utf-8")
    assert "And the owl?" not in page, "that was undone"
    assert page.startswith("<!DOCTYPE html>")
    assert page.count('class="text">Where does the quail nest?<') == 1
    alone = json.loads(tau_env.run("sessions", "export", new, "--format", "json").stdout)
    assert len(alone["sessions"]) == 1
    (tau_env.data / "sessions" / old).rename(tmp_path / "gone")
    done = tau_env.run("sessions", "export", new, "--chain")
    assert done.returncode == 0
    assert done.stderr == f"tau: Session {old} comes before this one and cannot be read: left out\n"


@pytest.fixture(scope="module")
def compacted(tmp_path_factory: pytest.TempPathFactory) -> tuple[TauEnv, str, str, str]:
    """A conversation that was compacted, and then forked, for tests that leave it as it is; and the ids.

    The oldest is first.
    """
    tau_env = make_tau_env(tmp_path_factory.mktemp("compacted"))
    side = tau_env.home / "side.json"
    side.write_text(json.dumps([{"text": "Notes on the quail."}]))
    more = f'side_script = "{side}"\n[compaction]\nkeep_turns = 1\nanchors_tokens = 0\n'
    tau_env.scripted({"text": "It nests in May."}, more=more)
    words = b"Where does the quail nest?\nAnd the owl?\n/compact\nAnd the wren?\n/fork\n"
    done = tau_env.run("chat", "--name", "amber", stdin=words)
    assert done.returncode == 0, done.stderr
    links = {}
    for folder in tau_env.sessions():
        meta = json.loads((folder / "meta.json").read_text())
        key = next((key for key in ("forked_from", "compacted_from", "compacted_to") if meta.get(key)), "")
        links[key] = folder.name
    return tau_env, links["compacted_to"], links["compacted_from"], links["forked_from"]


def test_a_conversation_is_one_row_and_found_once(compacted: tuple[TauEnv, str, str, str]) -> None:
    tau_env, old, new, fork = compacted
    lines = tau_env.run("sessions", "list").stdout.splitlines()
    assert [line.split()[1] for line in lines] == [fork, new]
    assert lines[0].endswith(f" messages) · forked from {new}")
    assert lines[1].endswith(f" messages) · continues {old}")
    listed = [json.loads(line) for line in tau_env.run("sessions", "list", "--json").stdout.splitlines()]
    links = [(entry["compacted_from"], entry["compacted_to"], entry["forked_from"]) for entry in listed]
    assert links == [(None, None, new), (old, None, None)]
    for words, place in (("nest?", (old, 0, "user")), ("owl", (old, 2, "user")), ("wren", (new, 4, "user"))):
        (hit,) = [
            json.loads(line)
            for line in tau_env.run("sessions", "search", words, "--json").stdout.splitlines()
        ]
        assert (hit["session_id"], hit["index"], hit["role"]) == place
        ((begin, end),) = hit["marks"]
        assert hit["snippet"][begin:end].casefold() == words
        assert hit["compacted_to"] == (new if place[0] == old else None)
        assert hit["forked_from"] is None
    notes = tau_env.run("sessions", "search", "notes").stdout.splitlines()
    assert [line.split("  ")[:2] for line in notes] == [[new, "summary 0"]]


def test_a_summary_is_not_shown_as_a_word_of_the_persons(compacted: tuple[TauEnv, str, str, str]) -> None:
    tau_env, old, new, fork = compacted
    for session in (new, fork):
        shown = tau_env.run("sessions", "show", session).stdout
        assert f"── Summary of session {old} · 0 · " in shown
        assert shown.count("── You") == 2
        exported = tau_env.run("sessions", "export", session).stdout
        assert f"## 0 · Summary of session {old} · " in exported
    assert "Summary of session" not in tau_env.run("sessions", "show", old).stdout


def test_results_of_tools_are_not_shown_as_a_word_of_the_persons(tau_env: TauEnv) -> None:
    (tau_env.directory / "nest.txt").write_text("May")
    call = {"name": "read_file", "input": {"path": "nest.txt"}, "id": "t1"}
    tau_env.scripted({"tools": [call]}, {"text": "In May."})
    assert tau_env.run("chat", "When does it nest?").returncode == 0
    shown = tau_env.run("sessions", "show").stdout
    heads = [line.split(" · ")[0] for line in shown.splitlines() if line.startswith("── ")]
    assert heads == ["── You", "── tau", "── Tool results", "── tau"]


@pytest.mark.parametrize(("key", "said"), [("compacted_from", "Continues"), ("compacted_to", "Continued by")])
def test_show_says_what_a_session_is_linked_to(tau_env: TauEnv, key: str, said: str) -> None:
    plant(tau_env.data, "s", meta={"directory": str(tau_env.directory), "channel": "tui", key: "other\x1b"})
    assert f"\n{said} other\\x1b\n" in tau_env.run("sessions", "show", "s").stdout


def test_export_replaces_a_file_only_by_force(recorded: TauEnv, tmp_path: Path) -> None:
    file = tmp_path / "kept.md"
    file.write_text("mine")
    done = recorded.run("sessions", "export", "older", "-o", str(file))
    assert done.returncode == 2
    assert done.stderr == f"tau: {file} exists; nothing was written (--force replaces it)\n"
    assert file.read_text() == "mine"
    assert recorded.run("sessions", "export", "older", "-o", str(file), "--force").returncode == 0
    assert "quail" in file.read_text(encoding="utf-8")
    for place in (str(tmp_path / "nowhere" / "x.md"), str(tmp_path), "/dev/full"):
        refused = recorded.run("sessions", "export", "older", "-o", place, "--force")
        assert refused.returncode in (1, 2)
        assert len(refused.stderr.splitlines()) == 1
    assert Path("/dev/full").is_char_device()
    assert os.listdir(tmp_path) == ["kept.md"]


def test_an_ending_that_says_no_form_is_refused(recorded: TauEnv, tmp_path: Path) -> None:
    done = recorded.run("sessions", "export", "older", "-o", str(tmp_path / "kills.pdf"))
    assert done.returncode == 2
    assert done.stderr == (
        "tau: An export is named .md, .html or .json, and kills.pdf is not"
        " (--format says the form whatever the file is called)\n"
    )
    assert os.listdir(tmp_path) == []
    named = str(tmp_path / "talk.txt")
    assert recorded.run("sessions", "export", "older", "-o", named, "--format", "html").returncode == 0
    assert recorded.run("sessions", "export", "older", "-o", str(tmp_path / "talk")).returncode == 0
    assert (tmp_path / "talk").read_text(encoding="utf-8").startswith("# ")
    assert "<html" in (tmp_path / "talk.txt").read_text(encoding="utf-8")


def test_a_full_stdout_is_a_failure(recorded: TauEnv) -> None:
    with open("/dev/full", "wb") as full:
        process = recorded.start("sessions", "export", "older", stdout=full)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert said.decode() == "tau: Output could not be written: No space left on device\n"


def test_an_export_is_utf8_in_any_locale(tau_env: TauEnv) -> None:
    tau_env.configure('[sessions]\nbackend = "file"\n')
    tau_env.record("20260901-120000-abcd", "ça", "→ é 漢字", name="words")
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for form in ("markdown", "html", "json"):
        done = tau_env.run("sessions", "export", "words", "--format", form, environ=ascii_only)
        assert "→ é 漢字" in done.stdout


@pytest.mark.parametrize("command", ["show", "export"])
def test_what_is_not_there_is_one_line(recorded: TauEnv, command: str) -> None:
    done = recorded.run("sessions", command, "nothing-like-it")
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1
    assert "nothing-like-it" in done.stderr


def test_damage_is_named_and_the_rest_is_shown(tau_env: TauEnv) -> None:
    recorded = record(tau_env)
    folder = recorded.data / "sessions" / ids(recorded)["older"]
    for path in folder.iterdir():
        if path.is_file() and "journal" in path.name:
            path.unlink()
    broken = folder / "agents" / "tau" / "messages" / "000001.json"
    broken.write_bytes(b"")
    done = recorded.run("sessions", "show", "older")
    assert done.returncode == 0
    assert "And the owl?" in done.stdout
    assert "000001.json is damaged" in done.stderr
    assert broken.read_bytes() == b""


def test_a_store_in_memory_says_that_it_keeps_nothing(tau_env: TauEnv) -> None:
    tau_env.configure('[sessions]\nbackend = "memory"\n')
    done = tau_env.run("sessions", "list")
    assert (done.returncode, done.stdout) == (0, "")
    assert 'backend = "memory" keeps no sessions' in done.stderr
