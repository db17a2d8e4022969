"""`recall`: what was said is found by phrase, words and near words, read whole, and nothing else is."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tau.sessions.file import open_store
from tau.sessions.lineage import Record
from tau.sessions.memory import open_store as open_memory
from tau.sessions.records import Message, MetaValue, with_origin
from tau.sessions.store import SessionStore, StoreContext
from tau.tools import recall
from tau.tools.context import ToolContext
from tau.tools.refusals import Cancelled, Refused, Watch
from tau.tools.registry import build_tools
from tests.tools.conftest import called, make_context, text, watch

OPENS = {"file": open_store, "memory": open_memory}
HEAD = re.compile(r"^\[session (\S+), message (\d+), (\w+), (\d{4}-\d\d-\d\d \d\d:\d\d)(.*)\]$", re.MULTILINE)


@pytest.fixture(params=list(OPENS))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SessionStore]:
    context = StoreContext(data_dir=tmp_path / "data", state_dir=tmp_path / "tau-state")
    opened = OPENS[request.param](context)
    yield opened
    opened.close()


def user(words: str) -> Message:
    return {"role": "user", "content": [{"text": words}]}


def model(words: str) -> Message:
    return {"role": "assistant", "content": [{"text": words}]}


def calls(tool: str, use_id: str, **given: Any) -> Message:
    return {
        "role": "assistant",
        "content": [{"toolUse": {"name": tool, "toolUseId": use_id, "input": given}}],
    }


def result(use_id: str, *blocks: dict[str, Any]) -> Message:
    answer = {"toolUseId": use_id, "status": "success", "content": list(blocks)}
    return {"role": "user", "content": [{"toolResult": answer}]}


def record(store: SessionStore, session_id: str, *messages: Message, **meta: MetaValue) -> None:
    with store.create(session_id, meta=meta) as writer:
        for index, message in enumerate(messages):
            writer.append(index, message)
        writer.flush()


def asked(
    store: SessionStore,
    query: str = "",
    session: str = "",
    wanted: str = "",
    *,
    here: str = "c",
    room: int = 9_000,
) -> str:
    return recall.answer(Record(store.read, here), query, session, wanted, room=room, watch=watch())


def places(answer: str) -> list[tuple[str, int]]:
    return [(found[1], int(found[2])) for found in HEAD.finditer(answer)]


@pytest.fixture
def chain(store: SessionStore) -> SessionStore:
    """Session ``c`` goes on with a summary of ``b``, which was forked from ``a``; ``z`` is another's."""
    said = [
        user("The gateway of the Kowalenko branch listens on port 48613.\nWrite that down."),
        model("Noted: retry_budget_ms is 2500 and the owner is Zoë Ångström."),
        calls("shell", "t1", command='grep -n "quota" a.cfg\necho done'),
        result("t1", {"text": "12: quota = 77 GiB\ndone"}, {"json": {"exit": 0, "key": "nested-value-91"}}),
    ]
    record(store, "a", *said, compacted_to="b")
    record(
        store,
        "b",
        *(with_origin(message, "a", index) for index, message in enumerate(said)),
        user("数据库的密码是小鸟七号。我们用 C++ 写。"),
        model("The port of the test server is 9000; the gateway is another matter."),
        forked_from="a",
    )
    record(
        store,
        "c",
        user("Summary of the conversation so far: a gateway was talked about."),
        model("Understood."),
        user("Which port does the gateway of Kowalenko use?"),
        calls("recall", "t1", query="gateway port Kowalenko"),
        compacted_from="b",
    )
    record(store, "z", user("The gateway of somebody else has port 1."))
    return store


def test_a_model_calls_it(chain: SessionStore, tmp_path: Path) -> None:
    context = make_context(tmp_path / "work", record=Record(chain.read, "c"))
    tools = [tool for tool in build_tools(context) if tool.tool_name == "recall"]
    assert [getattr(tool, "tier", None) for tool in tools] == [0]
    found = called(tools, "recall", query="port 48613")
    assert found["status"] == "success"
    assert "Kowalenko branch listens on port 48613." in text(found)
    for whole in (0, "0", "0-0"):
        read = called(tools, "recall", range=whole, session="a")
        assert "listens on port 48613.\nWrite that down." in text(read)
    nothing = called(tools, "recall")
    assert (nothing["status"], "Give query" in text(nothing)) == ("error", True)


def test_without_a_record_it_is_not_offered(context: ToolContext) -> None:
    assert "recall" not in [tool.tool_name for tool in build_tools(context)]


def test_a_passage_says_where_it_is_and_what_was_found(chain: SessionStore) -> None:
    answer = asked(chain, "quota")
    head = HEAD.search(answer)
    assert head is not None
    assert head.group(1, 2, 3) == ("a", "3", "tool")
    assert head[5] == "; has: quota"
    assert "12: quota = 77 GiB" in answer
    assert answer.splitlines()[-1].startswith("[9 messages in 3 sessions were searched.")


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("48613", ("a", 0)),
        ("PORT 48613", ("a", 0)),
        ("48613 kowalenko", ("a", 0)),
        ("listens on port 48613. Write that", ("a", 0)),
        ('"retry_budget_ms is 2500"', ("a", 1)),
        ("zoe angstrom", ("a", 1)),
        ("retryBudgetMs", ("a", 1)),
        ("quotas", ("a", 3)),
        ("Kovalenco's gatway", ("a", 0)),
        ("Who is the owner?", ("a", 1)),
        ("Welchen Port hat das Gateway von Kowalenko?", ("a", 0)),
        ("nested-value-91", ("a", 3)),
        ('grep -n "quota"', ("a", 2)),
        ("数据库密码", ("b", 4)),
        ("小鸟", ("b", 4)),
        ("C++", ("b", 4)),
        ("test server", ("b", 5)),
    ],
)
def test_what_was_said_is_found_first(chain: SessionStore, query: str, place: tuple[str, int]) -> None:
    assert places(asked(chain, query))[:1] == [place]


def test_near_words_are_marked(chain: SessionStore) -> None:
    answer = asked(chain, "Kovalenco gatway")
    assert "near match: kowalenko (for kovalenco), gateway (for gatway)" in answer
    assert answer.startswith("[No message has all of these words.")
    exact = asked(chain, "Kowalenko gateway")
    assert "near match" not in exact.split("\n\n")[0]
    assert not exact.startswith("[No message")


def test_a_phrase_goes_before_words_and_the_newest_first(store: SessionStore) -> None:
    words = ["blue heron flies", "heron is blue", "a blue heron again", "the heron was never blue at all"]
    record(store, "a", *map(user, words))
    record(store, "c", user("old blue heron"), user("now"), compacted_from="a")
    found = places(asked(store, "blue heron"))
    assert found[:3] == [("c", 0), ("a", 2), ("a", 0)]
    assert sorted(found[3:]) == [("a", 1), ("a", 3)]


def test_stop_words_hide_nothing(store: SessionStore) -> None:
    chatter = [user(f"what is the state of the thing number {number}?") for number in range(60)]
    record(store, "a", *chatter, user("Deploys go to mallow-7 on Fridays"), *chatter)
    record(store, "c", user("now"), compacted_from="a")
    assert places(asked(store, "what is the name of the server that deploys go to?"))[0] == ("a", 60)


def test_the_request_itself_and_earlier_searches_are_not_found(chain: SessionStore) -> None:
    assert ("c", 2) not in places(asked(chain, "Which port does the gateway of Kowalenko use?"))
    assert ("c", 3) not in places(asked(chain, "gateway port Kowalenko"))
    with chain.hold("c") as writer:
        writer.append(4, result("t1", {"text": "[session a, message 0] port 48613"}))
        writer.append(5, calls("read_file", "t1", path="48613.txt"))
        writer.append(6, result("t1", {"text": "notes about 48613"}))
        writer.flush()
    assert places(asked(chain, "48613")) == [("c", 6), ("c", 5), ("a", 0)]


def test_messages_of_this_session_are_found(chain: SessionStore) -> None:
    assert ("c", 0) in places(asked(chain, "talked about"))


def test_one_session_can_be_searched_and_no_foreign_one(chain: SessionStore) -> None:
    assert places(asked(chain, "gateway", "b")) == [("b", 5), ("b", 0)]
    for query, wanted in (("gateway", ""), ("", "0")):
        with pytest.raises(Refused, match=r"z is no session of this conversation.*its sessions are c, b, a$"):
            asked(chain, query, "z", wanted)
    assert "somebody else" not in asked(chain, "gateway of somebody else")


def test_nothing_found_says_what_was_searched(chain: SessionStore) -> None:
    assert asked(chain, "xylophone\x1b[2J 12345").startswith(
        r'[Nothing found for "xylophone\x1b[2J 12345"; 9 messages in 3 sessions were searched.'
    )


@pytest.mark.parametrize(
    ("query", "wanted", "why"),
    [
        (" ", "", "Give query"),
        ("port", "1-2", "not both"),
        ("", "two", "is no range"),
        ("", "-1", "is no range"),
        ("", "3-1", "ends before it begins"),
        ("", "44", "has messages 0 to 3, so there is no message 44"),
        ("", "0:9999", "Message 0 has 63 characters"),
    ],
)
def test_what_cannot_be_done_is_refused(chain: SessionStore, query: str, wanted: str, why: str) -> None:
    with pytest.raises(Refused, match=why):
        asked(chain, query, wanted=wanted)


def test_a_range_is_whole(chain: SessionStore) -> None:
    answer = asked(chain, session="a", wanted="1-9")
    assert '[calls shell]\ncommand: grep -n "quota" a.cfg\necho done' in answer
    assert '[result: success]\n12: quota = 77 GiB\ndone\n{"exit": 0, "key": "nested-value-91"}' in answer
    assert re.findall(r"\[message (\d+), (\w+), ", answer) == [
        ("1", "assistant"),
        ("2", "assistant"),
        ("3", "tool"),
    ]
    assert answer.endswith("[Messages 1 to 3 of session a, which has 4, counted from 0.]")
    assert "Summary of the conversation" in asked(chain, wanted="0")


LETTERS = ["a", " ", "\n", "é", "e\u0301", "漢", "🦆", "👩‍👩‍👧", "]", "%"]


@settings(max_examples=40, deadline=None)
@given(
    texts=st.lists(st.lists(st.sampled_from(LETTERS), max_size=900).map("".join), min_size=1, max_size=6),
    room=st.integers(300, 1_500),
)
def test_any_range_can_be_read_to_its_end(texts: list[str], room: int) -> None:
    store = open_memory(StoreContext(data_dir=Path("unused"), state_dir=Path("unused")))
    record(store, "c", *map(user, texts))
    wanted, read = f"0-{len(texts) - 1}", dict.fromkeys(range(len(texts)), "")
    while wanted:
        answer = asked(store, wanted=wanted, room=room)
        assert len(answer) <= room + 200
        body, _, end = answer.rpartition("\n[Message")
        for piece in re.split(r"(?:^|\n)(?=\[message \d+, user, )", body)[1:]:
            head, _, shown = piece.partition("\n")
            read[int(head.split()[1].rstrip(","))] += shown.replace("…", "")
        more = re.search(r'range="([^"]+)"', end)
        assert more is None or more[1] != wanted
        wanted = more[1] if more else ""
    assert list(read.values()) == texts


def test_a_result_is_bounded_and_counts_the_rest(store: SessionStore) -> None:
    record(store, "a", *(user(f"heron {number} " + "and more words " * 60) for number in range(80)))
    record(store, "c", user("now"), compacted_from="a")
    answer = asked(store, "heron", room=4_400)
    shown = places(answer)
    assert shown == [("a", number) for number in range(79, 79 - len(shown), -1)]
    assert len(answer) <= 4_400 + 800
    assert f"{80 - len(shown)} more messages found and not shown" in answer


def test_nothing_that_steers_a_terminal_comes_through(store: SessionStore) -> None:
    bad = "heron \x1b]0;title\x07 \x00 \u202e tail"
    record(store, "c", user(bad), user("now"))
    for answer in (asked(store, "heron"), asked(store, wanted="0")):
        assert not set(answer) & set("\x1b\x07\x00\u202e")
        assert r"heron \x1b]0;title\x07 \x00 \u202e tail" in answer


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    store = open_store(StoreContext(data_dir=tmp_path / "data", state_dir=tmp_path / "s"))
    record(store, "b", user("heron one"), user("heron two"), compacted_from="gone")
    record(store, "c", user("now"), compacted_from="b")
    session = tmp_path / "data" / "sessions" / "b"
    (session / "agents" / "tau" / "messages" / "000001.json").write_text("{")
    for log in session.glob(".*journal*"):
        log.unlink()
    answer = asked(store, "heron")
    assert places(answer) == [("b", 0)]
    assert re.search(r"Could not be read: session gone \(.*\); message 1 of session b \(.*\)\.", answer)
    assert "[message 1 cannot be read: " in asked(store, session="b", wanted="0-1")
    store.close()


def test_a_cancelled_search_ends_and_a_late_one_says_so(chain: SessionStore) -> None:
    stopped = threading.Event()
    stopped.set()
    for query, wanted in (("port", ""), ("", "0")):
        with pytest.raises(Cancelled):
            recall.answer(Record(chain.read, "c"), query, "", wanted, room=9_000, watch=Watch(stopped, 60))
    late = recall.answer(Record(chain.read, "c"), "port", "", "", room=9_000, watch=Watch(None, -1))
    assert late.startswith("[Stopped after")


def test_the_session_in_hand_may_change(chain: SessionStore) -> None:
    held = Record(chain.read, "a")
    assert places(recall.answer(held, "test server", "", "", room=9_000, watch=watch())) == []
    held.session_id = "c"
    assert places(recall.answer(held, "test server", "", "", room=9_000, watch=watch())) == [("b", 5)]
