"""How keys are named, and which are in force."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tau.config.keys import ACTIONS, KeyProblem, in_force, listed, read_key


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("F2", "f2"),
        ("Ctrl+PgUp", "ctrl+pageup"),
        ("shift + ctrl + x", "ctrl+shift+x"),
        ("Esc", "escape"),
        ("alt+up", "alt+up"),
        ("Ctrl+Alt+Up", "alt+ctrl+up"),
        ("ctrl+space", "ctrl+space"),
        ("tab", "tab"),
    ],
)
def test_keys_are_read_as_people_write_them(written: str, key: str) -> None:
    assert read_key(written) == key


@pytest.mark.parametrize(
    "written", ["", "x", "X", "shift+x", "space", "ctrl", "ctrl+", "hyper+x", "f25", "ctrl+m"]
)
def test_what_is_no_key_or_would_take_a_letter_away_is_refused(written: str) -> None:
    with pytest.raises(KeyProblem):
        read_key(written)


def test_every_default_is_a_key_and_none_does_two_things() -> None:
    keys = [key for action in ACTIONS for key in action.keys]
    assert [read_key(key) for key in keys] == keys
    assert len(set(keys)) == len(keys)


def test_the_documentation_names_every_action_with_its_keys() -> None:
    page = (Path(__file__).parents[2] / "docs" / "tui.md").read_text("utf-8")
    rows = {
        name: keys
        for keys, name in re.findall(r"^\| ([^|]+) \| [^|]+ \| `([a-z-]+)` \|$", page, re.MULTILINE)
    }
    assert rows == {action.name: listed(action.keys) for action in ACTIONS}


def test_a_key_that_is_given_to_an_action_is_taken_from_the_others() -> None:
    keys = in_force({"sessions": ["f3", "Ctrl+O"], "events": ""})
    assert keys["sessions"] == ("f3", "ctrl+o")
    assert keys["new"] == ()
    assert keys["events"] == ()
    assert keys["help"] == ("f1",)
    assert listed(keys["sessions"]) == "F3, Ctrl+O"
