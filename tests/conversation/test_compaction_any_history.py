"""For any history and any sizes a compaction leaves sound requests, exact copies, and nothing lost."""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from strands.types.session import encode_bytes_values

from tau.agent.history import is_summary, text_of
from tau.config.settings import AgentSettings, CompactionSettings, ContextSettings
from tau.conversation.state import Refused, Switched
from tau.sessions.file import open_store
from tau.sessions.lineage import Messages, whole_chain
from tau.sessions.records import origin_of
from tau.sessions.store import StoreContext
from tests.agent.test_windows_any_history import TURNS, with_facts
from tests.conversation.conftest import Bench, say
from tests.conversation.test_compaction import NOTES, files
from tests.conversation.test_turns import check_request

Message = dict[str, Any]

SIZES = st.fixed_dictionaries(
    {
        "keep": st.integers(0, 8),
        "window": st.integers(2, 40),
        "prune": st.sampled_from([5_201, 8_192, 40_000]),
        "kind": st.sampled_from(["sliding", "summarize"]),
        "tokens": st.sampled_from([None, 8_000, 30_000]),
        "rounds": st.integers(1, 3),
    }
)


def record(bench: Bench, history: list[Message]) -> None:
    """A session with this history, as the recorder writes one."""
    context = StoreContext(data_dir=bench.places.data, state_dir=bench.places.state)
    meta = {"directory": str(bench.root), "channel": "terminal", "title": "first", "role": "default"}
    with open_store(context).create("s0", meta=meta) as writer:
        for index, message in enumerate(history):
            writer.append(index, encode_bytes_values({**message, "tracking_id": f"id-{index}"}))
        writer.flush()


def without_origin(message: Message) -> Message:
    metadata = {key: value for key, value in message.get("metadata", {}).items() if key != "custom"}
    return {key: value for key, value in message.items() if key != "metadata"} | (
        {"metadata": metadata} if metadata else {}
    )


@settings(max_examples=40, deadline=None)
@given(turns=st.lists(TURNS, min_size=1, max_size=6), sizes=SIZES)
def test_any_history_is_carried_on_whole(turns: list[dict[str, Any]], sizes: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as place:
        asyncio.run(carry(Bench(Path(place)), *with_facts(turns), sizes))


async def carry(bench: Bench, history: list[Message], facts: list[str], sizes: dict[str, Any]) -> None:
    record(bench, history)
    bench.steps["default"] = [{"text": "on"}]
    bench.side = [{"text": NOTES}]
    bench.agent = AgentSettings(context=sizes["kind"], window_size=sizes["window"])
    bench.context = ContextSettings(prune_result_chars=sizes["prune"])
    bench.compaction = CompactionSettings(keep_turns=sizes["keep"], anchors_tokens=200)
    bench.model = {"context_window": sizes["tokens"]} if sizes["tokens"] else {}
    seen: dict[str, dict[str, bytes]] = {}
    async with bench.open(session_id="s0") as conversation:
        for number in range(sizes["rounds"]):
            old = conversation.state.session_id
            before = files(bench, old)
            result = await conversation.command("/compact")
            if isinstance(result, Refused):
                assert result.line == "Compaction failed: there is nothing to summarize"
                assert conversation.state.session_id == old
            else:
                assert isinstance(result, Switched)
                seen[old] = before
            await say(conversation, f"next {number}")
        newest = conversation.state.session_id
    for request in bench.requests:
        check_request(request["messages"])
        if request["tools"]:  # else it asks for a summary of a part
            check_facts(request["messages"], facts)
    for session_id, content in seen.items():
        assert {name: data for name, data in files(bench, session_id).items() if name in content} == content
    with closing(open_store(StoreContext(data_dir=bench.places.data, state_dir=bench.places.state))) as store:
        chain = whole_chain(store.read, newest)
        check_copies(bench, chain)
        originals = [(found.session_id, found.stored.index) for found in Messages(store.read, chain)]
    assert len(originals) == len(set(originals))
    recorded = {("s0", index) for index in range(len(bench.messages("s0")))}
    assert recorded <= set(originals), "every message that was said is found, once"


def check_facts(sent: list[Message], facts: list[str]) -> None:
    """Each fact is in a request, or counted in what stands before its window as having had no room."""
    text = json.dumps(sent, ensure_ascii=False)
    counts = re.findall(r"^… and (\d+) more; recall finds them$", text_of(sent[0]), re.MULTILINE)
    assert sum(fact not in text for fact in facts) <= sum(map(int, counts))


def check_copies(bench: Bench, chain: list[str]) -> None:
    """Every session of a chain but the first is the summary of one, and exact copies of what was kept."""
    for session_id in chain[1:]:
        seed, acknowledged, *rest = bench.messages(session_id)
        assert is_summary(seed)
        assert acknowledged["role"] == "assistant"
        copies = [(message, origin_of(message)) for message in rest if origin_of(message) is not None]
        assert [message for message, _ in copies] == rest[: len(copies)], "the copies follow the summary"
        places = [origin for _, origin in copies if origin is not None]
        assert places == sorted(places, key=lambda place: (chain.index(place[0]), place[1]))
        for message, origin in copies:
            assert origin is not None
            assert without_origin(message) == without_origin(bench.messages(origin[0])[origin[1]])
