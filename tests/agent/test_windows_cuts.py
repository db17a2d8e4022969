"""How results are cut, and what a summarizer reads of messages that are too long for it."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tau.agent.summarizer import parts
from tau.agent.window_cuts import cut_text, pruned

LIMIT = 8_192


def answer(*content: dict[str, Any]) -> dict[str, Any]:
    result = {"toolUseId": "t1", "status": "error", "content": list(content)}
    return {"role": "user", "content": [{"toolResult": result}]}


def picture(length: int) -> dict[str, Any]:
    return {"image": {"format": "png", "source": {"bytes": b"\x89" * length}}}


def test_text_and_json_of_a_result_are_cut_together_and_large_images_leave_a_line() -> None:
    message = answer({"text": "a" * 5_000}, {"json": {"b": "b" * 5_000}}, picture(9_000), picture(90))
    before = copy.deepcopy(message)
    cut = pruned(message, LIMIT)
    assert message == before, "the message itself is not touched"
    assert cut is not None
    result = cut["content"][0]["toolResult"]
    assert (result["toolUseId"], result["status"]) == ("t1", "error")
    text, large, small = result["content"]
    whole = "a" * 5_000 + '\n{"b": "' + "b" * 5_000 + '"}'
    gone = len(whole) - 5_120
    assert text == {"text": f"{whole[:4096]}\n[… {gone:,} characters are left out here …]\n{whole[-1024:]}"}
    assert large == {"text": "[png image, 9,000 bytes, is left out here]"}
    assert small == picture(90)
    assert pruned(cut, LIMIT) is None, "once is enough"


@pytest.mark.parametrize(
    "message",
    [
        answer({"text": "x" * LIMIT}),
        answer({"json": {"a": 1}}, picture(90)),
        {"role": "user", "content": [{"text": "x" * 50_000}, picture(50_000)]},
        {"role": "assistant", "content": [{"text": "x" * 50_000}]},
    ],
)
def test_short_results_and_what_people_and_models_say_stay_whole(message: dict[str, Any]) -> None:
    assert pruned(message, LIMIT) is None


@pytest.mark.parametrize("text", ["x" * 5_202, "é" * 6_000, "👩‍👩‍👧" * 2_000, "\n" * 7_000])
def test_a_cut_text_is_never_cut_again(text: str) -> None:
    least = 5_201
    cut = cut_text(text, least)
    assert len(cut) < len(text)
    assert cut_text(cut, least) == cut


def test_a_transcript_keeps_to_its_room_and_keeps_its_beginning_and_its_end() -> None:
    messages = [
        {"role": "user" if at % 2 == 0 else "assistant", "content": [{"text": f"[{at}] " + "word " * 400}]}
        for at in range(40)
    ]
    for room in (1_000, 5_000, 20_000, 60_000):
        (text,) = parts(messages, limit=LIMIT, room=room, most=1)
        assert len(text) <= room
        assert "[0]" in text
        assert "[39]" in text
    (whole,) = parts(messages, limit=LIMIT, room=None, most=1)
    assert len(whole) > 80_000
    assert parts(messages, limit=LIMIT, room=100_000, most=12) == [whole]
    in_parts = parts(messages, limit=LIMIT, room=20_000, most=12)
    assert len(in_parts) == 5, "a transcript that fits into its parts keeps every word"
    assert "\n\n".join(in_parts) == whole
    assert all(len(part) <= 20_000 for part in in_parts)
