"""How keys are named, and which are in force."""

from __future__ import annotations

import re
from itertools import combinations, groupby
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.config.actions import ACTIONS, BY_NAME, PLACES, REQUIRED, Action, meet
from tau.config.keys import KeyProblem, in_force, left_without, listed, not_given, read_key, read_keys, twice


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
        ("Ctrl+G", "ctrl+g"),
    ],
)
def test_keys_are_read_as_people_write_them(written: str, key: str) -> None:
    assert read_key(written) == key


@pytest.mark.parametrize(
    "written",
    ["", "x", "X", "É", "shift+x", "backspace", "left", "space", "ctrl", "ctrl+", "hyper+x", "f25", "ctrl+m"],
)
def test_what_is_no_key_or_would_take_a_letter_away_is_refused(written: str) -> None:
    with pytest.raises(KeyProblem):
        read_key(written)


def test_every_default_is_a_key_and_none_does_two_things_at_the_same_time() -> None:
    for action in ACTIONS:
        assert read_keys(action.keys, action) == action.keys
    both = {
        (one.name, other.name, key)
        for one, other in combinations(ACTIONS, 2)
        if meet(one, other)
        for key in {*one.keys} & {*other.keys}
    }
    assert both == {("complete", "card-next", "tab")}  # the second where there is nothing to complete


def test_every_action_is_under_one_heading_of_the_help() -> None:
    places = [place for place, _ in groupby(ACTIONS, key=lambda action: action.places[0])]
    assert places == list(PLACES)


def test_the_documentation_names_every_action_with_its_keys() -> None:
    page = (Path(__file__).parents[2] / "docs" / "tui.md").read_text("utf-8")
    rows = {
        name: keys
        for keys, name in re.findall(r"^\| ([^|]+) \| [^|]+ \| `([a-z-]+)` \|$", page, re.MULTILINE)
    }
    assert rows == {action.name: listed(action.keys) for action in ACTIONS}


def test_a_key_that_is_given_to_an_action_is_taken_from_those_it_could_mean_as_well() -> None:
    keys = in_force({"sessions": ["f3", "Ctrl+O"], "events": ""})
    assert keys["sessions"] == ("f3", "ctrl+o")
    assert keys["new"] == ()
    assert keys["events"] == ()
    assert keys["help"] == ("f1",)
    assert listed(keys["sessions"]) == "F3, Ctrl+O"
    keys = in_force({"history": "up", "find": "tab", "yes": "escape", "block-code": "p"})
    assert keys["earlier"] == ()
    assert keys["list-up"] == ()  # the search of what was sent is a list as well
    assert keys["complete"] == keys["card-next"] == keys["find-stay"] == ()
    assert keys["other-side"] == keys["into-prompt"] == ("tab",)
    assert keys["block-quote"] == ()


def test_places_that_are_never_in_force_together_share_keys() -> None:
    keys = in_force(
        {"rename": "ctrl+g", "history": "ctrl+r", "cancel": "f6", "block-copy": "y", "memory-edit": "y"}
    )
    assert keys["editor"] == ("ctrl+g",)
    assert keys["back"] == ("escape",)
    assert keys["yes"] == ("y",)
    assert keys["block-code"] == ()


def test_an_action_that_is_given_its_own_key_takes_it_from_nobody() -> None:
    keys = in_force({"complete": "tab", "card-next": ["tab", "f6"]})
    assert keys["complete"] == ("tab",)
    assert keys["card-next"] == ("tab", "f6")
    assert twice({"complete": "tab", "card-next": "tab"}) == []


@pytest.mark.parametrize(
    ("settings", "kept", "lost"),
    [
        ({"other-side": "esc"}, {"back": ("escape",)}, [("other-side", "escape", "back")]),
        ({"newline": ["enter", "f6"]}, {"send": ("enter",)}, [("newline", "enter", "send")]),
        ({"back": "enter"}, {"back": ("escape",), "choose": ("enter",)}, [("back", "enter", "choose")]),
        ({"always": "n"}, {"no": ("n",), "always": ()}, [("always", "n", "no")]),
        ({"help": "f6", "leave": "f6"}, {"leave": ("f6",), "help": ()}, [("help", "f6", "leave")]),
        ({"yes": "n", "no": "n"}, {"yes": ("y",), "no": ("n",)}, [("yes", "n", "no")]),
    ],
)
def test_an_action_that_is_needed_keeps_a_key(
    settings: dict[str, str], kept: dict[str, tuple[str, ...]], lost: list[tuple[str, str, str]]
) -> None:
    keys = in_force(settings)
    assert {name: keys[name] for name in kept} == kept
    assert not_given(settings) == lost


def test_keys_that_are_needed_can_change_places() -> None:
    settings = {"back": "enter", "choose": "esc", "yes": "n", "no": "y"}
    assert not_given(settings) == []
    assert twice(settings) == []
    assert {name: in_force(settings)[name] for name in settings} == {
        "back": ("enter",),
        "choose": ("escape",),
        "yes": ("n",),
        "no": ("y",),
    }


@pytest.mark.parametrize("action", [action for action in ACTIONS if action.name not in REQUIRED], ids=str)
def test_what_is_not_needed_may_have_no_key(action: Action) -> None:
    assert in_force({action.name: ""})[action.name] == ()


def test_what_takes_a_letter_is_where_nothing_is_typed() -> None:
    for action in ACTIONS:
        typed = not {*action.places} <= {"memory", "blocks", "question"}
        for letter in ("x", "7", "/", "slash"):
            if typed:
                with pytest.raises(KeyProblem, match="could not be typed any more"):
                    read_key(letter, action)
            else:
                assert read_key(letter, action) in ("x", "7", "slash")


def test_a_capital_letter_is_another_key_than_the_small_one() -> None:
    settings = {"memory-edit": "E", "block-copy": "E", "yes": "Y"}
    assert twice(settings) == []
    keys = in_force(settings)
    assert {name: keys[name] for name in settings} == {name: (key,) for name, key in settings.items()}
    assert keys["block-resend"] == ("e",)
    assert listed(["E", "e", "ctrl+e"]) == "E, e, Ctrl+E"


@pytest.mark.parametrize("key", ["backspace", "delete", "left", "right", "home", "end"])
def test_a_key_that_edits_what_is_typed_is_for_places_where_nothing_is(key: str) -> None:
    for name in ("send", "earlier", "palette", "help", "find-stay", "into-prompt"):
        with pytest.raises(KeyProblem, match="without which what is typed could not be edited"):
            read_key(key, BY_NAME[name])
    assert read_key(key, BY_NAME["block-copy"]) == key
    assert read_key(f"ctrl+{key}", BY_NAME["send"]) == f"ctrl+{key}"
    assert read_key("end", BY_NAME["newest"]) == "end", "in the prompt it is the editor's all the same"


def test_answers_are_told_apart_with_caps_lock_on_too() -> None:
    assert twice({"always": "Y", "yes": "y"}) == [("yes", "y", "always", "in a question")]
    settings = {"yes": ["y", "N"]}
    assert in_force(settings)["yes"] == ("y",)
    assert in_force(settings)["no"] == ("n",)
    assert not_given(settings) == [("yes", "N", "no")]
    assert in_force({"always": "R"})["no-because"] == ()


@given(
    st.dictionaries(
        st.sampled_from([action.name for action in ACTIONS if "question" not in action.places]),
        st.lists(
            st.sampled_from(["enter", "escape", "tab", "up", "ctrl+q", "f6", "f7"]), max_size=3, unique=True
        ),
    )
)
def test_whatever_is_set_there_is_a_way_out_of_everything(settings: dict[str, list[str]]) -> None:
    given_keys = {name: keys for name, keys in settings.items() if keys or name not in REQUIRED}
    keys = in_force(given_keys)
    for name in REQUIRED:
        # of two that are both to have a key, as two files can say, one that is needed has it
        others = [other for other in REQUIRED if other != name and meet(BY_NAME[other], BY_NAME[name])]
        assert set(keys[name]) - {key for other in others for key in keys[other]}, (name, keys)
        for action in ACTIONS:
            if action.name not in REQUIRED and meet(action, BY_NAME[name]):
                assert not {*keys[name]} <= {*keys[action.name]}, (name, action.name)
    left_without(given_keys)


@pytest.mark.parametrize("text", ["f99\ntau: trust me", "x" * 5_000, "f99\x1b[2J"])
def test_a_key_that_is_none_is_named_on_one_line(text: str) -> None:
    with pytest.raises(KeyProblem) as caught:
        read_key(text)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 150
