"""The history a model is sent satisfies every provider's rules, whatever the record looks like."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tau.agent.history import (
    NO_OUTPUT,
    NO_REPLY,
    History,
    clean,
    clean_text,
    mend,
    tool_results,
    tool_use_ids,
)
from tau.sessions.records import Message, StoredMessage


def user(text: str) -> Message:
    return {"role": "user", "content": [{"text": text}]}


def assistant(text: str) -> Message:
    return {"role": "assistant", "content": [{"text": text}]}


def calls(*ids: str) -> Message:
    blocks = [{"toolUse": {"toolUseId": call, "name": "look", "input": {}}} for call in ids]
    return {"role": "assistant", "content": blocks}


def answers(*ids: str) -> Message:
    blocks = [
        {"toolResult": {"toolUseId": call, "status": "success", "content": [{"text": f"of {call}"}]}}
        for call in ids
    ]
    return {"role": "user", "content": blocks}


def stored(*messages: Message, missing: tuple[int, ...] = ()) -> list[StoredMessage]:
    return [
        StoredMessage(index, message, "2026-01-01T00:00:00+00:00")
        for index, message in enumerate(messages)
        if index not in missing
    ]


def check_rules(history: list[Message]) -> None:
    """Paired calls, alternating roles, a user message first, nothing blank; only the end may dangle."""
    assert not history or history[0]["role"] == "user"
    for index, message in enumerate(history):
        assert message["content"]
        for block in message["content"]:
            assert "text" not in block or block["text"].strip()
        if index:
            assert message["role"] != history[index - 1]["role"]
        asked = tool_use_ids(history[index - 1]) if index else []
        assert sorted(tool_results(message)) == sorted(asked)


CONVERSATION = [
    user("find it"),
    calls("t1", "t2"),
    answers("t1", "t2"),
    calls("t3"),
    answers("t3"),
    assistant("found"),
    user("thanks"),
    assistant("welcome"),
]


def test_a_sound_record_is_sent_as_it_is() -> None:
    assert mend(stored(*CONVERSATION), first=0, count=8) == CONVERSATION


@pytest.mark.parametrize("index", range(len(CONVERSATION)))
def test_one_unreadable_message_leaves_the_others(index: int) -> None:
    history = mend(stored(*CONVERSATION, missing=(index,)), first=0, count=8)
    check_rules(history)
    words = str(history)
    assert f"Message {index} could not be read" in words
    for other, message in enumerate(CONVERSATION):
        for block in message["content"]:
            if other != index and "text" in block:
                assert block["text"] in words


def test_a_prompt_without_a_reply_is_followed_by_a_notice() -> None:
    history = mend(stored(user("lost prompt"), user("next")), first=0, count=2)
    check_rules(history)
    assert history[0] == user("lost prompt")
    assert "did not finish" in str(history[1])


def test_a_dangling_call_at_the_end_waits_for_the_next_prompt() -> None:
    history = mend(stored(user("go"), calls("t1")), first=0, count=2)
    assert history == [user("go"), calls("t1")]


IDS = st.sampled_from(["t1", "t2", "t3"])
TEXT = st.sampled_from(["", " ", "a", "b"]).map(lambda text: {"text": text})
CALL = IDS.map(lambda call: calls(call)["content"][0])
ANSWER = IDS.map(lambda call: answers(call)["content"][0])


def message(role: str, block: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[Message]:
    blocks = st.lists(st.one_of(TEXT, block), max_size=3, unique_by=str)
    return blocks.map(lambda content: {"role": role, "content": content})


MESSAGES = st.one_of(message("user", ANSWER), message("assistant", CALL))


@given(st.lists(MESSAGES, max_size=8), st.sets(st.integers(0, 7)))
@settings(max_examples=300)
def test_any_record_becomes_a_history_providers_take(record: list[Message], missing: set[int]) -> None:
    before = copy.deepcopy(record)
    history = mend(stored(*record, missing=tuple(missing)), first=0, count=len(record))
    check_rules(history)
    assert record == before, "the record itself is not changed"


def test_blank_content_never_stays() -> None:
    empty: Message = {"role": "assistant", "content": []}
    clean(empty)
    assert empty["content"] == [{"text": NO_REPLY}]
    blank_before_call: Message = {"role": "assistant", "content": [{"text": " "}, calls("t1")["content"][0]]}
    clean(blank_before_call)
    assert blank_before_call == calls("t1")
    silent = answers("t1")
    silent["content"][0]["toolResult"]["content"] = [{"text": ""}]
    clean(silent)
    assert silent["content"][0]["toolResult"]["content"] == [{"text": NO_OUTPUT}]


@given(st.text(alphabet=st.characters()))
def test_cleaned_text_can_always_be_written(text: str) -> None:
    assert clean_text(clean_text(text)) == clean_text(text)
    assert clean_text(text).encode().decode() == clean_text(text)


def test_half_an_emoji_becomes_a_mark_and_two_halves_an_emoji() -> None:
    assert clean_text("ok \ud83d end") == "ok \ufffd end"
    assert clean_text("\ud83d\ude00") == "😀"


def test_a_copied_history_protects_the_original_from_what_providers_change() -> None:
    history = History([calls("t1"), assistant("  ")])
    copied: Any = copy.deepcopy(history)
    copied[0]["content"][0]["toolUse"]["name"] = "changed"
    copied[1]["content"][0]["text"] = "changed"
    copied[1]["content"].append({"text": "more"})
    assert history == [calls("t1"), assistant("  ")]
    assert isinstance(copied, History)
