"""What a model may answer at the close of a session."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tau.journal.context_answer import read
from tau.journal.wrapping import WrapInvalid


def answer(**part: Any) -> dict[str, Any]:
    return {"contexts": [{"context": "acme", "summary": "x", **part}]}


def test_words_are_taken_however_they_are_set_and_what_is_null_is_left_out() -> None:
    said = read(
        answer(
            open_items=[{"text": "a", "tier": "someday/blocked"}, {"text": "b", "tier": None}],
            assumptions=[{"text": "c", "verdict": "Corroborated", "independent": True, "rule": None}],
            facts=[{"text": "d", "old": None}],
            unknown={"key": 1},
        )
    )
    (part,) = said.contexts
    assert [item.tier for item in part.open_items] == ["Someday / Blocked", ""]
    assert part.assumptions[0].verdict == "corroborated"
    assert part.facts[0].old == ""


def test_secrets_and_what_no_text_has_are_taken_out() -> None:
    (part,) = read(answer(decisions=["a\0b", "the key is sk-abcdefghijklmnopqrstuvwx5678"])).contexts
    assert "\0" not in part.decisions[0]
    assert "sk-abcdef" not in part.decisions[1]


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({}, "contexts"),
        ({"contexts": []}, "names no context"),
        (answer(open_items=[{"text": "a", "tier": "Soon"}]), "tier"),
        (answer(assumptions=[{"text": "a", "verdict": "proven"}]), "verdict"),
        (answer(decisions="one"), "decisions"),
        (answer(decisions=["x"] * 201), "list of 201 entries"),
        (answer(facts=[{"text": "y" * 20_001}]), r"text of 20,001 characters, more than 20,000: “yyy"),
        (json.loads('{"contexts": ' + "[" * 700 + "]" * 700 + "}"), "nested more than 30 deep"),
    ],
)
def test_another_form_is_refused_with_the_place(said: dict[str, Any], why: str) -> None:
    with pytest.raises(WrapInvalid, match=why):
        read(said)
