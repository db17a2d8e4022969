"""Whatever a running turn calls, and however much comes back: compacted on the way, it loses nothing."""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tau.config.settings import AgentSettings, CompactionSettings, ContextSettings
from tau.events import TurnEnd
from tau.sessions.file import FileStore, open_store
from tau.sessions.lineage import Messages, whole_chain
from tau.sessions.records import origin_of
from tau.sessions.store import StoreContext
from tests.conversation.conftest import Bench, say
from tests.conversation.test_compaction import NOTES, compacted, texts
from tests.conversation.test_compaction_any_history import check_copies
from tests.conversation.test_turns import check_request

LINES = (1, 60, 150, 400)
"""Lines of the files that are read; of 40 characters each, so that the longest is longer than what is cut."""

ROUNDS = st.lists(
    st.tuples(
        st.lists(st.sampled_from(LINES), min_size=1, max_size=3),  # files that one call of the model asks for
        st.sampled_from(
            [0, 0, 0.3, 0.9, 1.0]
        ),  # share of the window that the provider counts; 0: it does not
    ),
    max_size=5,
)
CASES = st.fixed_dictionaries(
    {
        "turns": st.lists(ROUNDS, min_size=1, max_size=3),
        "keep": st.integers(0, 3),
        "window": st.integers(2, 20),
        "kind": st.sampled_from(["sliding", "summarize"]),
        "tokens": st.sampled_from([8_000, 12_000, 30_000]),
        "prune": st.sampled_from([5_201, 8_192]),
        "side": st.lists(st.sampled_from([NOTES, NOTES, ""]), min_size=1, max_size=3),
    }
)
FULL: dict[str, Any] = {
    "turns": [[], [([400], 0.3), ([1], 0.9), ([60, 1], 0.3), ([400], 1.0)], []],
    "keep": 1,
    "window": 20,
    "kind": "sliding",
    "tokens": 12_000,
    "prune": 8_192,
    "side": [NOTES],
}


def script(turns: list[list[tuple[list[int], float]]], tokens: int) -> list[dict[str, Any]]:
    """The steps of the model: in each turn the calls, then an answer. Every call has an id of its own."""
    steps: list[dict[str, Any]] = []
    for turn, rounds in enumerate(turns):
        for at, (files, share) in enumerate(rounds):
            calls = [
                {"name": "read_file", "input": {"path": f"{lines}.txt"}, "id": f"t{turn}-{at}-{place}"}
                for place, lines in enumerate(files)
            ]
            steps.append({"tools": calls, "usage": {"inputTokens": round(tokens * share), "outputTokens": 0}})
        steps.append({"text": f"answer {turn}."})
    return steps


def everything(bench: Bench, session_id: str) -> dict[str, bytes]:
    """Every message, event and state of a session; not its metadata, to which a compaction adds the link, nor
    the time of its last change, which is written later than what changed."""
    folder = bench.places.data / "sessions" / session_id
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".") and path.name not in ("meta.json", "session.json")
    }


async def drive(bench: Bench, case: dict[str, Any]) -> list[int]:
    """Hold a conversation and check all of it.

    Returns:
        Of each compaction, how many rounds of calls its turn had behind it.
    """
    for lines in LINES:
        (bench.root / f"{lines}.txt").write_text(f"{'word ' * 7}here\n" * lines)
    turns = [*case["turns"], []]
    bench.steps["default"] = script(turns, case["tokens"])
    bench.side = [{"text": text} for text in case["side"]]
    bench.agent = AgentSettings(context=case["kind"], window_size=case["window"])
    bench.context = ContextSettings(prune_result_chars=case["prune"])
    bench.compaction = CompactionSettings(keep_turns=case["keep"], anchors_tokens=200)
    bench.model = {"context_window": case["tokens"]}
    before: dict[str, dict[str, dict[str, bytes]]] = {}
    made, behind, sent = [], [], 0
    create = FileStore.create

    def noted(store: FileStore, session_id: str, **given: Any) -> Any:
        """What every session is, before the next one begins."""
        folder = bench.places.data / "sessions"
        there = [path.name for path in folder.iterdir()] if folder.is_dir() else []
        before[session_id] = {name: everything(bench, name) for name in there}
        return create(store, session_id, **given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FileStore, "create", noted)
        async with bench.open() as conversation:
            first = conversation.state.session_id
            for turn in range(len(turns)):
                request = f"request {turn}."
                events = await say(conversation, request)
                assert isinstance(events[-1], TurnEnd)
                assert (events[-1].stop_reason, events[-1].notice) == ("end_turn", "")
                made += compacted(events)
                for asked in (asked for asked in bench.requests[sent:] if not asked["side"]):
                    assert request in texts(asked["messages"]), "the request of the running turn is in each"
                sent = len(bench.requests)
            newest = conversation.state.session_id
    for asked in bench.requests:
        check_request(asked["messages"])
    for event in made:
        assert everything(bench, event.previous) == before[event.session_id][event.previous]
        kept = bench.messages(event.session_id)[2:]
        copied = [message for message in kept if origin_of(message) is not None]
        last = max(at for at, message in enumerate(copied) if "text" in message["content"][0])
        behind.append(len(copied[last:]) // 2)
    chain = [first, *(event.session_id for event in made)]
    check_nothing_lost(bench, chain, newest, turns)
    return behind


def check_nothing_lost(
    bench: Bench, chain: list[str], newest: str, turns: list[list[tuple[list[int], float]]]
) -> None:
    """Without copies, all that was said is there exactly once, and what reads the chain finds it so."""
    check_copies(bench, chain)
    originals = {
        (session_id, index): message
        for number, session_id in enumerate(chain)
        for index, message in enumerate(bench.messages(session_id))
        if origin_of(message) is None and (number == 0 or index >= 2)
    }
    blocks = [block for message in originals.values() for block in message["content"]]
    said = Counter(block["text"] for block in blocks if "text" in block)
    assert said == Counter(f"{what} {turn}." for turn in range(len(turns)) for what in ("request", "answer"))
    ids = [
        f"t{turn}-{at}-{place}"
        for turn, rounds in enumerate(turns)
        for at, (files, _) in enumerate(rounds)
        for place in range(len(files))
    ]
    assert [block["toolUse"]["toolUseId"] for block in blocks if "toolUse" in block] == ids
    assert [block["toolResult"]["toolUseId"] for block in blocks if "toolResult" in block] == ids
    with closing(open_store(StoreContext(data_dir=bench.places.data, state_dir=bench.places.state))) as store:
        assert whole_chain(store.read, newest) == chain
        found = [(one.session_id, one.stored.index) for one in Messages(store.read, chain)]
    assert len(found) == len(set(found))
    assert set(originals) <= set(found)


@settings(max_examples=15, deadline=None)
@given(case=CASES)
@example(case=FULL)
def test_any_turn_goes_on_and_nothing_is_lost(case: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as place:
        asyncio.run(drive(Bench(Path(place)), case))


async def test_a_turn_is_compacted_on_the_way(bench: Bench) -> None:
    assert any(await drive(bench, FULL)), "else the property above says nothing of running turns"
