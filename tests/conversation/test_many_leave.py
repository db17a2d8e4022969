"""Thousands of messages leave a window at once: only the next request waits for that, and nothing is lost."""

from __future__ import annotations

import asyncio
import gc
import os
import re
import shutil
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tau.agent import anchors
from tau.agent.anchors import Facts
from tau.config.settings import AgentSettings, CompactionSettings
from tau.conversation import Conversation
from tau.conversation.compacting import CANCELLED
from tau.conversation.state import Refused, Switched
from tau.sessions.file import open_store
from tau.sessions.store import StoreContext
from tests.conversation.conftest import Bench, ending, say
from tests.conversation.test_compaction import NOTES, meta, side_requests, texts

MANY, SOME = 3_000, 400
LOOP_SECONDS = 0.25
"""How long a loop may work on one thing, or stand still: five times what is wanted."""

LOOP_SHARE = 0.4
"""How long it may stand still as a share of the whole, on a machine that is busy with other things."""

MORE = "The person who looks after it is Ada Lovelace. " * 3
FIRST = "The very first port is 4999."


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A place with two long sessions that no window was ever saved for."""
    place = tmp_path_factory.mktemp("recorded")
    store = open_store(StoreContext(data_dir=place / "data", state_dir=place / "state"))
    for session_id, count in (("many", MANY), ("some", SOME)):
        about = {"directory": str(place), "channel": "terminal", "title": "long", "role": "default"}
        with store.create(session_id, meta=about) as writer:
            for index in range(count):
                says = (
                    f"Port {9_000 + index} of ticket ABC-{index} is open in version 1.{index}.3 at 10.0.3.7."
                    if index % 2
                    else f"Please look at /srv/part{index}/page.py on host h{index}.example.com. It goes on."
                )
                text = FIRST if index == 0 else f"{says} {MORE}"
                message = {"role": "assistant" if index % 2 else "user", "content": [{"text": text}]}
                writer.append(index, {**message, "tracking_id": f"id-{index}"})
    return place


@pytest.fixture
def long(bench: Bench, recorded: Path) -> Bench:
    """A bench of one's own with these sessions. Their messages, which nobody changes, are not copied."""

    def copied(source: str, target: str) -> None:
        (os.link if Path(source).parent.name == "messages" else shutil.copy)(source, target)

    shutil.copytree(recorded / "data", bench.root / "data", copy_function=copied)
    return bench


@dataclass
class Gaps:
    """How long a loop has worked without a turn for anything else, and stood still, at most; and the whole.

    Work is counted in time of the processor, so that a busy machine makes no difference.
    """

    worked: float = 0.0
    stood: float = 0.0
    whole: float = 0.0
    stopped: bool = False

    async def watch(self) -> None:
        began = last = time.monotonic()
        while not self.stopped:
            worked = time.thread_time()
            await asyncio.sleep(0.002)
            now = time.monotonic()
            self.worked = max(self.worked, time.thread_time() - worked)
            self.stood, last = max(self.stood, now - last), now
        self.whole = last - began


@asynccontextmanager
async def watching(conversation: Conversation) -> AsyncIterator[None]:
    """See that the engine's loop stays free, and this one, which is what the app's would be."""
    engine, own = Gaps(), Gaps()
    ticking = asyncio.gather(conversation._engine.call(engine.watch()), own.watch())
    gc.disable()  # what other tests left behind is not collected here
    try:
        yield
    finally:
        gc.enable()
        engine.stopped = own.stopped = True
        await ticking
    for gaps in (engine, own):
        assert gaps.worked < LOOP_SECONDS, gaps
        assert gaps.stood < max(LOOP_SECONDS, gaps.whole * LOOP_SHARE), gaps


@dataclass
class Reading:
    """Whoever reads facts, held in the middle of it until `go_on`."""

    read: int = 0
    begun: threading.Event = field(default_factory=threading.Event)
    held: threading.Event = field(default_factory=threading.Event)

    async def in_the_middle(self) -> None:
        assert await asyncio.to_thread(self.begun.wait, 30)

    def go_on(self) -> None:
        self.held.set()


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> Iterator[Reading]:
    seen = Reading()

    class Held(Facts):
        def read(self, message: dict[str, Any]) -> None:
            super().read(message)
            seen.read += 1
            if seen.read == 50:
                seen.begun.set()
                seen.held.wait(30)

    monkeypatch.setattr(anchors, "Facts", Held)
    yield seen
    seen.go_on()


def sent(bench: Bench) -> list[dict[str, Any]]:
    """The messages of the newest request of the conversation itself."""
    return list([request for request in bench.requests if not request["side"]][-1]["messages"])


def left(text: str) -> int:
    found = re.search(r"that are no longer shown here: (\d+)\. ", text)
    assert found is not None, text[:200]
    return int(found[1])


def listed(text: str) -> int:
    """How many facts a list accounts for: its lines, and those it says it has no room for."""
    more = re.search(r"^… and (\d+) more", text, re.MULTILINE)
    return len(re.findall("^- ", text, re.MULTILINE)) + (int(more[1]) if more else 0)


def check_all_accounted_for(bench: Bench, count: int) -> None:
    """The request stands for all messages of the record before it, whose facts are in it or counted."""
    lead, _, *shown = texts(sent(bench))
    assert left(lead) + len(shown) == count
    # What the person said comes first in the list, the newest before the older; each message has a line.
    newest = count - len(shown) - 1
    assert any(f"/srv/part{index}/page.py" in lead for index in range(newest - 3, newest + 1))
    assert listed(lead) >= left(lead)


@pytest.mark.parametrize("way", ["fork", "open"])
async def test_the_loops_stay_free_when_a_long_session_is_opened(long: Bench, way: str) -> None:
    opened_first = {} if way == "fork" else {"session_id": "many"}
    async with long.open(directory=None, **opened_first) as conversation:
        async with watching(conversation):
            if way == "fork":
                await say(conversation, "hello")
                assert isinstance(await conversation.command("/fork many"), Switched)
            await conversation.model_ready()
            opened = conversation.state
            assert opened.in_memory == AgentSettings().window_size
            assert opened.context_tokens is not None
            ended = await ending(conversation, "and now?")
        assert ended.stop_reason == "end_turn"
        check_all_accounted_for(long, MANY + 1)
        now = conversation.state.context_tokens
        assert now is not None
        assert abs(now - opened.context_tokens) < 0.15 * now, "what still comes was counted in"


async def test_the_loops_stay_free_when_a_summary_of_thousands_fails(long: Bench) -> None:
    long.agent = AgentSettings(context="summarize")
    long.steps["default"] = [{"error": "overflow"}, {"error": "overflow"}, {"text": "ok"}]
    long.side = [{"text": " "}]
    async with long.open(session_id="many") as conversation:
        await conversation.model_ready()
        async with watching(conversation):
            ended = await ending(conversation, "and now?")
        assert ended.stop_reason == "end_turn"
        check_all_accounted_for(long, MANY + 1)


async def test_a_cancel_stops_the_reading_at_once_and_the_next_turn_has_it_all(
    long: Bench, reading: Reading
) -> None:
    async with long.open(session_id="some") as conversation:
        await conversation.model_ready()
        turn = asyncio.create_task(ending(conversation, "What is /srv/cancelled/page.py?"))
        await reading.in_the_middle()
        await asyncio.wait_for(conversation.cancel(), 10)
        assert (await turn).stop_reason == "cancelled"
        assert long.requests == []
        size = AgentSettings().window_size  # it begins with a person's message
        assert size - 2 < conversation.state.in_memory <= size
        reading.go_on()
        assert (await ending(conversation, "and now?")).stop_reason == "end_turn"
        assert reading.read < SOME + 50, "the first reading ended with what was held"
        request = texts(sent(long))
        assert "/srv/cancelled/page.py" in "".join(request)
        check_all_accounted_for(long, SOME + 3)
    before = reading.read
    async with long.open(session_id="some") as again:
        await again.model_ready()
        await say(again, "again")
        assert left(texts(sent(long))[0]) == left(request[0]) + 2
        assert reading.read - before < 5, "only what left since, and the list"


async def test_a_cancel_while_what_a_failed_summary_let_go_is_read_brings_it_back(
    long: Bench, reading: Reading
) -> None:
    long.agent = AgentSettings(context="summarize")
    long.steps["default"] = [{"error": "overflow"}, {"text": "ok"}]
    long.side = [{"text": " "}]
    async with long.open(session_id="some") as conversation:
        await conversation.model_ready()
        turn = asyncio.create_task(ending(conversation, "hello"))
        await reading.in_the_middle()
        await asyncio.wait_for(conversation.cancel(), 10)
        assert (await turn).stop_reason == "cancelled"
        reading.go_on()
        assert (await ending(conversation, "and now?")).stop_reason == "end_turn"
        request = texts(sent(long))
        assert len(request) == SOME + 3
        assert request[0] == FIRST


async def test_what_was_not_read_when_tau_was_killed_is_read_by_the_next(
    long: Bench, reading: Reading, tmp_path: Path
) -> None:
    killed = Bench(tmp_path / "killed")
    async with long.open(session_id="some") as conversation:
        await conversation.model_ready()
        turn = asyncio.create_task(ending(conversation, "hello"))
        await reading.in_the_middle()
        shutil.copytree(long.root / "data", killed.root / "data")
        reading.go_on()
        assert (await turn).stop_reason == "end_turn"
    async with killed.open(session_id="some") as conversation:
        assert (await ending(conversation, "and now?")).stop_reason == "end_turn"
        check_all_accounted_for(killed, SOME + 3)  # with the request, and a note in the place of its reply


async def test_a_session_that_was_only_opened_lets_go_of_the_same_when_it_is_opened_again(
    long: Bench,
) -> None:
    for _ in range(2):
        async with long.open(session_id="some") as conversation:
            await conversation.model_ready()
            assert conversation.state.in_memory == AgentSettings().window_size
    async with long.open(session_id="some") as conversation:
        await say(conversation, "and now?")
        check_all_accounted_for(long, SOME + 1)


async def test_compact_right_after_opening_knows_the_facts_of_what_left(long: Bench) -> None:
    long.side = [{"text": NOTES}]
    long.compaction = CompactionSettings(keep_turns=1, anchors_tokens=40_000)
    async with long.open(session_id="some") as conversation:
        await conversation.model_ready()
        result = await conversation.command("/compact")
        assert isinstance(result, Switched), result
        kept = AgentSettings().window_size
        assert f"Compacted {kept - 2} messages" in result.line
        (request,) = side_requests(long)
        (transcript,) = texts(request["messages"])
        assert left(transcript) == SOME - kept
        for text in (transcript, result.summary):
            assert FIRST.removesuffix(".") in text
            assert all(f"/srv/part{index}/page.py" in text for index in range(2, SOME - 2, 2))


async def test_a_compaction_that_comes_by_itself_in_the_first_turn_knows_them_too(long: Bench) -> None:
    long.side = [{"text": NOTES}]
    long.model = {"context_window": 6_000}
    long.compaction = CompactionSettings(keep_turns=1)
    async with long.open(session_id="some") as conversation:
        assert (await ending(conversation, "and now?")).stop_reason == "end_turn"
        assert meta(long, "some")["compacted_to"] == conversation.state.session_id
        first, *_ = side_requests(long)
        (transcript,) = texts(first["messages"])
        assert left(transcript) == SOME - AgentSettings().window_size
        assert listed(transcript) >= left(transcript)


async def test_a_compaction_that_is_stopped_while_it_reads_leaves_the_session(
    long: Bench, reading: Reading
) -> None:
    long.side = [{"text": NOTES}]
    async with long.open(session_id="some") as conversation:
        await conversation.model_ready()
        compacting = asyncio.create_task(conversation.command("/compact"))
        await reading.in_the_middle()
        await asyncio.wait_for(conversation.cancel(), 10)
        result = await compacting
        assert isinstance(result, Refused)
        assert result.line == CANCELLED
        assert not conversation.state.busy
        assert conversation.state.session_id == "some"
        assert "compacted_to" not in meta(long, "some")
        assert long.requests == []
        reading.go_on()
        await say(conversation, "and now?")
        check_all_accounted_for(long, SOME + 1)
