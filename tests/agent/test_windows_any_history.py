"""For any history and any size, a window is one that every provider takes, a restart changes nothing, and
no fact is forgotten."""

from __future__ import annotations

import itertools
import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from strands import Agent
from strands.types.exceptions import ContextWindowOverflowException
from strands.types.session import encode_bytes_values

from tau.agent import tracing, window_base
from tau.agent.history import begins_turn, clean, text_of
from tau.agent.recorder import Recorder
from tau.agent.window_base import Window
from tau.agent.window_cuts import size
from tau.agent.window_summary import INTRODUCTION, is_note
from tau.agent.windows import window
from tau.config.settings import AgentSettings, ContextSettings
from tau.models.script import read_script
from tau.models.scripted_model import Cursor, ScriptedModel
from tau.sessions.memory import open_store
from tau.sessions.store import SessionWriter, StoreContext
from tests.conversation.test_turns import check_request

Message = dict[str, Any]
NOT_LESS = ContextSettings()

IMAGES = st.integers(1, 30_000).map(
    lambda length: {"image": {"format": "png", "source": {"bytes": b"\x89" * length}}}
)
OUTPUTS = st.one_of(
    st.sampled_from(["", " ", "short", "é" * 9_000, "x" * 30_000, "👩‍👩‍👧" * 3_000]).map(
        lambda text: {"text": text}
    ),
    st.integers(0, 4_000).map(lambda count: {"json": {"numbers": [count] * count}}),
    IMAGES,
)
WORDS = st.text(alphabet="ab \n", max_size=12)
TURNS = st.fixed_dictionaries(
    {
        "says": WORDS,
        "image": st.none() | IMAGES,
        "calls": st.lists(st.lists(st.lists(OUTPUTS, max_size=2), min_size=1, max_size=3), max_size=5),
        "answer": st.none() | WORDS,
    }
)

LOOKED_AT: dict[str, Any] = {
    "says": "",
    "image": None,
    "calls": [
        [
            [
                {"json": {"numbers": [1_000] * 1_000}},
                {"image": {"format": "png", "source": {"bytes": b"x" * 5_201}}},
            ]
        ],
        [[]],
    ],
    "answer": None,
}
"""A result that is cut twice, with an image that the first cut leaves a line of."""


def messages(turns: list[dict[str, Any]]) -> list[Message]:
    """The turns as messages; a turn without an answer ends in a call that dangles, or with what was said."""
    made: list[Message] = []
    for number, turn in enumerate(turns):
        said: list[Any] = [{"text": f"request {number} {turn['says']}"}]
        made.append({"role": "user", "content": said + ([turn["image"]] if turn["image"] else [])})
        for at, outputs in enumerate(turn["calls"]):
            ids = [f"t{number}-{at}-{place}" for place in range(len(outputs))]
            calls = [{"toolUse": {"toolUseId": use, "name": "look", "input": {}}} for use in ids]
            made.append({"role": "assistant", "content": calls})
            if at + 1 < len(turn["calls"]) or turn["answer"] is not None:
                results = [
                    {"toolResult": {"toolUseId": use, "status": "success", "content": list(output)}}
                    for use, output in zip(ids, outputs, strict=True)
                ]
                made.append({"role": "user", "content": results})
        if turn["answer"] is not None:
            made.append({"role": "assistant", "content": [{"text": turn["answer"]}]})
    for message in made:
        clean(message)
    return made


def with_facts(turns: list[dict[str, Any]]) -> tuple[list[Message], list[str]]:
    """The same messages, each long enough to be worth a note, and the facts in them: one for each block."""
    made, facts = messages(turns), []
    for number, message in enumerate(made):
        for place, block in enumerate(message["content"]):
            value = f"/srv/part{number}-{place}/page.py"
            if "text" in block:
                block["text"] += f" It is {value} here. {'So it goes on. ' * 80}"
            elif "toolUse" in block:
                block["toolUse"]["input"] = {"path": value, "text": "So it goes on. " * 80}
            elif "toolResult" in block:
                block["toolResult"]["content"].insert(0, {"text": f"{value} {'So it goes on. ' * 80}"})
            else:
                continue
            facts.append(value)
    return made, facts


def is_sound(history: list[Message]) -> bool:
    """Whether a history can be sent as it is recorded: nothing dangles but the end."""
    return all(
        before["role"] != after["role"] and results([after]) == calls([before])
        for before, after in itertools.pairwise(history)
    )


def calls(history: list[Message]) -> set[str]:
    return ids(history, "toolUse")


def results(history: list[Message]) -> set[str]:
    return ids(history, "toolResult")


def ids(history: list[Message], kind: str) -> set[str]:
    return {block[kind]["toolUseId"] for message in history for block in message["content"] if kind in block}


@pytest.fixture(scope="module", autouse=True)
def _as_tau_traces() -> None:
    """As in a conversation, nothing writes the histories out for a trace that nobody records."""
    tracing.install()


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("script") / "script.json"
    path.write_text(json.dumps([{"text": "ok"}]))
    return path


class Session:
    """A recorded history, opened as often as one likes."""

    def __init__(
        self, history: list[Message], kind: Any, size: int, script: Path, anchors_tokens: int = 1_000
    ) -> None:
        store = open_store(StoreContext(data_dir=script.parent, state_dir=script.parent))
        self.writer: SessionWriter = store.create("s", meta={})
        for index, message in enumerate(history):
            self.writer.append(index, encode_bytes_values(message))
        self.settings = AgentSettings(context=kind, window_size=size)
        self.script = script
        self.anchors_tokens = anchors_tokens

    def open(self) -> tuple[Agent, Recorder]:
        recorder = Recorder(self.writer, on_unsaved=lambda reason: None)
        agent = Agent(
            model=ScriptedModel(Cursor(read_script(self.script))),
            agent_id="tau",
            callback_handler=None,
            conversation_manager=window(
                self.settings,
                NOT_LESS,
                anchors_tokens=self.anchors_tokens,
                count=self.writer.count,
                tell=lambda text: None,
            ),
            session_manager=recorder,
        )
        return agent, recorder


async def before_a_request(agent: Agent) -> None:
    """What the window does before each model call."""
    window = agent.conversation_manager
    assert isinstance(window, Window)
    await window.read_unread(agent)


def shown(agent: Agent) -> list[Message]:
    """The messages of the session in the window, without what stands before them."""
    seen = plain(agent)
    opening = text_of(seen[0]).split("\n")[0]
    return seen[2:] if opening == INTRODUCTION or is_note(opening) else seen


def counted(agent: Agent) -> int:
    """How many facts the lead says that it has no room for."""
    before = plain(agent)[: len(plain(agent)) - len(shown(agent))]
    return sum(map(int, re.findall(r"^… and (\d+) more", "\n".join(map(text_of, before)), re.MULTILINE)))


def plain(agent: Agent) -> list[Message]:
    return [{"role": message["role"], "content": list(message["content"])} for message in agent.messages]


@settings(max_examples=150, deadline=None)
@given(turns=st.lists(TURNS, min_size=1, max_size=6), most=st.integers(2, 40))
async def test_a_window_holds_the_newest_request_and_survives_a_restart(
    script: Path, turns: list[dict[str, Any]], most: int
) -> None:
    history = messages(turns)
    session = Session(history, "sliding", most, script)
    agent, recorder = session.open()
    await before_a_request(agent)
    seen = plain(agent)
    check_request(seen)
    assert begins_turn(shown(agent)[0])
    if is_sound(history):  # else a request may stand beside results, which take their calls along
        assert len(shown(agent)) <= max(most, 3)
    newest = next(text_of(message) for message in reversed(history) if begins_turn(message))
    assert newest in [text_of(message) for message in seen]
    agent.conversation_manager.apply_management(agent)
    assert plain(agent) == seen, "nothing is left to do"
    recorder.sync_agent(agent)
    again, _ = session.open()
    if is_sound(history):
        assert plain(again) == seen
    check_request(plain(again))
    assert newest in [text_of(message) for message in plain(again)]


@example(turns=[LOOKED_AT], most=4, rounds=2)
@settings(max_examples=150, deadline=None)
@given(
    turns=st.lists(TURNS, min_size=1, max_size=6),
    most=st.integers(2, 40),
    rounds=st.integers(1, 8),
)
async def test_each_reduction_shrinks_the_window_or_says_that_it_cannot(
    script: Path, turns: list[dict[str, Any]], most: int, rounds: int
) -> None:
    history = messages(turns)
    session = Session(history, "sliding", most, script)
    agent, recorder = session.open()
    newest = next(text_of(message) for message in reversed(history) if begins_turn(message))
    await before_a_request(agent)
    answered = results(plain(agent))
    for _ in range(rounds):
        before = size(plain(agent))
        try:
            agent.conversation_manager.reduce_context(agent, e=ContextWindowOverflowException("full"))
        except ContextWindowOverflowException:
            assert size(plain(agent)) == before
            assert sum(begins_turn(message) for message in shown(agent)) == 1
            break
        await before_a_request(agent)
        seen = plain(agent)
        assert size(seen) < before
        check_request(seen)
        assert begins_turn(shown(agent)[0])
        assert newest in [text_of(message) for message in seen]
        assert results(seen) <= answered, "a cut result still answers its call"
        recorder.sync_agent(agent)
        again, _ = session.open()
        if is_sound(history):
            assert plain(again) == seen
        check_request(plain(again))
    for index, stored in enumerate(session.writer.messages()):
        assert stored.message == encode_bytes_values(history[index]), "the record is what it was"


@settings(max_examples=100, deadline=None)
@given(
    turns=st.lists(TURNS, min_size=1, max_size=5),
    most=st.integers(2, 12),
    overflows=st.integers(1, 4),
)
async def test_a_summary_stands_before_whole_turns(
    script: Path, turns: list[dict[str, Any]], most: int, overflows: int
) -> None:
    history = messages(turns)
    session = Session(history, "summarize", most, script)
    agent, recorder = session.open()
    agent.model = Overflowing(overflows, script)
    prompt: Any = [{"role": "assistant", "content": [{"text": "(notice)"}]}] if dangles(history) else []
    try:
        await agent.invoke_async([*prompt, {"role": "user", "content": [{"text": "the newest"}]}])
    except ContextWindowOverflowException:
        pass
    else:
        assert plain(agent)[-1]["role"] == "assistant"
    seen = plain(agent)
    check_request(seen)
    assert "the newest" in [text_of(message) for message in seen]
    recorder.sync_agent(agent)
    again, _ = session.open()
    if is_sound(history):
        assert plain(again) == seen
    check_request(plain(again))


@settings(max_examples=100, deadline=None)
@given(
    turns=st.lists(TURNS, min_size=1, max_size=5),
    kind=st.sampled_from(["sliding", "summarize"]),
    most=st.integers(2, 12),
    tokens=st.sampled_from([200, 1_000]),
    steps=st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=1, max_size=6),
)
async def test_a_fact_of_what_left_is_in_the_lead_or_counted_whatever_happens(
    *,
    script: Path,
    turns: list[dict[str, Any]],
    kind: str,
    most: int,
    tokens: int,
    steps: list[tuple[int, bool]],
) -> None:
    """Each step is a turn: how often its request does not fit at first, and whether tau stops after it."""
    history, facts = with_facts(turns)
    stays, stops = (Session(history, kind, most, script, tokens) for _ in range(2))
    agent, recorder = stays.open()
    other, _ = stops.open()
    for number, (overflows, restarts) in enumerate(steps):
        facts.append(f"/srv/step{number}/page.py")
        request = {"text": f"It is {facts[-1]} now. {'So it goes on. ' * 80}"}
        if restarts:
            other, _ = stops.open()
        for each in (agent, other):
            each.model = Overflowing(overflows, script)
            notice = {"role": "assistant", "content": [{"text": "(notice)"}]}
            prompt: Any = [notice] if dangles(plain(each)) else []
            with suppress(ContextWindowOverflowException):
                await each.invoke_async([*prompt, {"role": "user", "content": [dict(request)]}])
        for each in (agent, other):
            await before_a_request(each)
            check_request(plain(each))
            text = json.dumps(encode_bytes_values(plain(each)), ensure_ascii=False)
            assert sum(fact not in text for fact in facts) <= counted(each)
            assert len(text_of(plain(each)[0])) < 8_000 or kind == "summarize"
        if is_sound(history):
            assert plain(agent) == plain(other)
    assert recorder.unsaved == ""


@settings(max_examples=40, deadline=None)
@given(
    turns=st.lists(TURNS, min_size=1, max_size=4),
    kind=st.sampled_from(["sliding", "summarize"]),
    most=st.integers(2, 12),
    tokens=st.sampled_from([200, 1_000]),
    summaries=st.booleans(),
    long=st.booleans(),
    steps=st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=1, max_size=4),
)
async def test_facts_that_are_read_later_make_the_same_window_as_those_read_at_once(
    *,
    script: Path,
    turns: list[dict[str, Any]],
    kind: str,
    most: int,
    tokens: int,
    summaries: bool,
    long: bool,
    steps: list[tuple[int, bool]],
) -> None:
    """Each step is a turn: how often its request does not fit at first, and whether tau stops after it."""
    answered = [turn | {"answer": turn["answer"] or "yes"} for turn in turns]
    history = with_facts(answered)[0] if long else messages(answered)
    rest = "So it goes on. " * (80 if long else 0)
    made = []
    for limit in (-1, 10**9):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(window_base, "AT_ONCE", limit)
            session = Session(history, kind, most, script, tokens)
            sent: list[Any] = []
            agent, recorder = session.open()
            for number, (overflows, restarts) in enumerate(steps):
                if restarts:
                    agent, recorder = session.open()
                agent.model = Overflowing(overflows, script, summaries=summaries, sent=sent)
                request = {"text": f"It is /srv/step{number}/page.py now. {rest}"}
                notice = {"role": "assistant", "content": [{"text": "(notice)"}]}
                prompt: Any = [notice] if dangles(plain(agent)) else []
                with suppress(ContextWindowOverflowException):
                    await agent.invoke_async([*prompt, {"role": "user", "content": [request]}])
            await before_a_request(agent)
            recorder.sync_agent(agent)
        made.append((sent, plain(agent), agent.conversation_manager.get_state()))
        kept = session.writer.agent_state()
        assert kept is not None
        assert kept.conversation_manager_state == encode_bytes_values(made[-1][2])
    assert made[0] == made[1]


def dangles(history: list[Message]) -> bool:
    return history[-1]["role"] == "user" or any("toolUse" in block for block in history[-1]["content"])


class Overflowing(ScriptedModel):
    """A model whose requests do not fit so many times; each request is checked, and added to `sent`."""

    def __init__(
        self, times: int, script: Path, *, summaries: bool = True, sent: list[Any] | None = None
    ) -> None:
        super().__init__(Cursor(read_script(script)))
        self.left = times
        self.summaries = summaries
        self.sent = sent

    async def stream(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        check_request(messages)
        if self.sent is not None:
            self.sent.append([(each["role"], [*each["content"]]) for each in messages])
        summary = "<transcript>" in text_of(messages[0])
        if summary and not self.summaries:
            raise RuntimeError("no summary today")
        if self.left and not summary:
            self.left -= 1
            raise ContextWindowOverflowException("full")
        async for event in super().stream(messages, *args, **kwargs):
            yield event
