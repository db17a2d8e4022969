"""What is left of what a person said after compactions: in the model's context, and through `recall`.

    python -m benchmarks.recall [--embedded | --role NAME]

Eleven facts are said in eleven turns, and 200 over three compactions in a row: by hand under the window that
tau ships, and by itself under one that holds everything until it is full. The 200 are said under the shipped
window without a compaction too, and with one less, so that what left the window since then is asked for as
well. Then a model is asked about all of them: a fact is in the context when its values stand, to the letter,
in the first request that it is sent, and is found when they stand in what `recall` returns for the words of
the question.

Without an option the summary keeps nothing, so that what is left is the work of code alone. With `--embedded`
or `--role` the embedded model or a role of the configuration writes the summaries of the same conversation.
Prints one table; the exit status is 1 when a compaction failed and, without an option, when one of the eleven
facts is not in the context or any fact is not found.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import logging
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.facts import ELEVEN, SUMMARY, Fact, facts
from tau.config.load import load_settings
from tau.config.places import resolve_places
from tau.config.settings import (
    AgentSettings,
    CompactionSettings,
    ModelSettings,
    Places,
    PluginsSettings,
    SessionsSettings,
    Settings,
)
from tau.conversation import Conversation
from tau.conversation.state import OpenRequest, Refused
from tau.errors import TauError, UsageError
from tau.events import Compacted, ToolUseEnded, TurnEnd, TurnEvent
from tau.models import embedded
from tau.plugins import TOOLS, names

REPLIES = """\
Noted. I have read the job and its tests meanwhile; the import is what fails, and only under the scheduler.
I would rather change as little as possible here and keep the old behaviour until somebody has tried it.
Good to know. The first of the tests passes now; the second one waits for a file that nobody writes any more.
Done. I moved the check before the loop, so that a broken row is told of once instead of each time.
I see. Then the order matters: the rows are read, then they are sorted, and only then anything is sent.
All right. The warning is gone; what remains is the slow query, which I would look at next.
""".splitlines()
"""What the model says in between. Nothing in it is asked about."""

CHATTER = (
    "How far are you with the tests?",
    "And is the warning gone?",
    "Then look at the slow query, please.",
)
"""Turns without a fact."""

COMPACT = "/compact"
ASKED = "Let us look back at what I told you."
CALLS = 10
"""Calls of `recall` in one answer."""

TWO_THIRDS = 133
"""Of 200 facts, said before the second of two compactions."""

FILLED_THREE_TIMES = 6_700
"""Tokens of a window that 200 facts and the answers to them fill three times; `recall` is the only tool."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """A conversation in which facts are said, and how it is compacted.

    Attributes:
        facts: What is said, and asked about in the end.
        lines: Messages and commands in their order.
        keep_turns: Turns that a compaction keeps word for word.
        compactions: How many there are at least.
        name: What the table calls it.
        summary: What the summaries say, unless another model writes them.
        window: Tokens of a declared window in which the conversation is compacted by itself, or None.
        all_in_context: Whether every fact has to be in the context.
        all_found: Whether every fact has to be found by `recall`.
    """

    facts: Sequence[Fact]
    lines: Sequence[str]
    keep_turns: int
    compactions: int
    name: str = ""
    summary: str = SUMMARY
    window: int | None = None
    all_in_context: bool = False
    all_found: bool = False


@dataclass(frozen=True)
class Outcome:
    """What came of a run.

    Attributes:
        compactions: How many there were.
        failures: Why others failed.
        lacking: The facts that are not in the context.
        unfound: Those that `recall` does not return.
        first: How many it returns as the first passage.
    """

    compactions: int
    failures: Sequence[str]
    lacking: Sequence[Fact]
    unfound: Sequence[Fact]
    first: int

    def good(self, run: Run) -> bool:
        """Whether the run has what is required of it."""
        lost = (run.all_in_context and self.lacking) or (run.all_found and self.unfound)
        return not lost and self.compactions >= run.compactions


def by_hand(said: Sequence[Fact], times: int) -> list[str]:
    """The facts in `times` parts of about the same length, with a compaction after each."""
    edges = [len(said) * number // times for number in range(times + 1)]
    return [
        line
        for start, end in itertools.pairwise(edges)
        for line in (*(fact.said for fact in said[start:end]), COMPACT)
    ]


def runs(*, scripted: bool) -> list[Run]:
    """All runs, those with few facts first: another model may take long over each summary.

    Args:
        scripted: Whether the summary keeps nothing: then the bars hold, and there are more runs, which would
            only cost another model's time.
    """
    many = facts(200)
    made: list[Run] = []
    for keep in (3, 0):
        eleven = Run(
            name="11 facts, /compact",
            facts=ELEVEN,
            lines=by_hand(ELEVEN, 1),
            keep_turns=keep,
            compactions=1,
            all_in_context=scripted,
            all_found=scripted,
        )
        made.append(eleven)
        if scripted:
            lines = [*eleven.lines, *CHATTER, COMPACT]
            made.append(
                replace(eleven, name="11 facts, /compact, later /compact again", lines=lines, compactions=2)
            )
        by_three = Run(
            name="200 facts, /compact three times",
            facts=many,
            lines=by_hand(many, 3),
            keep_turns=keep,
            compactions=3,
            all_found=scripted,
        )
        made.append(by_three)
        if scripted and keep:  # by itself it keeps at least the running turn, so that 0 is much the same
            said = [fact.said for fact in many]
            name = "200 facts, no compaction"
            made.append(replace(by_three, name=name, lines=said, compactions=0))
            name = "200 facts, /compact twice, the last third after it"
            lines = [*by_hand(many[:TWO_THIRDS], 2), *said[TWO_THIRDS:]]
            made.append(replace(by_three, name=name, lines=lines, compactions=2))
            name = "200 facts, compacted by itself"
            made.append(replace(by_three, name=name, lines=said, window=FILLED_THREE_TIMES))
    return sorted(made, key=lambda run: len(run.facts))


async def measured(run: Run, place: Path, writer: ModelSettings | None = None) -> Outcome:
    """Hold a conversation in an empty folder, and look at what is left of it.

    Args:
        run: The conversation.
        place: Its store is under it.
        writer: The model that writes the summaries; None: they say what the run has them say.
    """
    place.mkdir(parents=True, exist_ok=True)
    record = place / "requests.jsonl"
    questions = [fact.question for fact in run.facts]
    models = {
        "default": ModelSettings(
            provider="scripted",
            script=script(place / "talk.json", [{"text": text} for text in replies(len(run.lines))]),
            side_script=script(place / "side.json", [{"text": run.summary}]),
            context_window=run.window,
        ),
        "asks": ModelSettings(
            provider="scripted", script=script(place / "asks.json", asking(questions)), record=str(record)
        ),
    }
    if writer is not None:
        models["writer"] = writer
    settings = Settings(
        places=Places(data=place / "data", state=place / "state", config=place / "config"),
        directory=place,
        sessions=SessionsSettings(backend="file"),
        models=models,
        plugins=PluginsSettings(disabled=[tool.name for tool in names(TOOLS) if tool.name != "recall"]),
        agent=AgentSettings(context="summarize" if run.window else "sliding"),
        compaction=CompactionSettings(keep_turns=run.keep_turns, auto=run.window is not None),
    )
    conversation = Conversation.start(settings, OpenRequest(channel="terminal"))
    compactions, failures = 0, []
    try:
        for line in run.lines:
            if line == COMPACT:
                failure = await compact(conversation, "writer" if writer is not None else "default")
                failures += [failure] if failure else []
                compactions += not failure
            else:
                events = await turn(conversation, line)
                compactions += sum(isinstance(event, Compacted) for event in events)
        await command(conversation, "/model asks")
        events = await turn(conversation, ASKED)
    finally:
        await conversation.close()
    answers = [event.result for event in events if isinstance(event, ToolUseEnded)]
    with record.open() as lines:
        context = text_of(json.loads(next(lines))["messages"])
    return Outcome(
        compactions,
        failures,
        [fact for fact in run.facts if not stands(fact, context)],
        [fact for fact, answer in zip(run.facts, answers, strict=True) if not stands(fact, answer)],
        sum(stands(fact, first_passage(answer)) for fact, answer in zip(run.facts, answers, strict=True)),
    )


def script(path: Path, steps: list[dict[str, Any]]) -> str:
    path.write_text(json.dumps(steps))
    return str(path)


def replies(count: int) -> list[str]:
    return list(itertools.islice(itertools.cycle(REPLIES), count))


def asking(questions: Sequence[str]) -> list[dict[str, Any]]:
    """The steps of a model that looks every question up."""
    calls = [{"name": "recall", "input": {"query": question}} for question in questions]
    steps = [{"tools": calls[at : at + CALLS]} for at in range(0, len(calls), CALLS)]
    return [*steps, {"text": "That is all of it."}]


async def turn(conversation: Conversation, text: str) -> list[TurnEvent]:
    events = [event async for event in conversation.send(text)]
    end = events[-1]
    if not isinstance(end, TurnEnd) or end.stop_reason != "end_turn":
        raise UsageError(f"A turn did not end well: {end}")
    return events


async def compact(conversation: Conversation, role: str) -> str:
    """Compact by hand, with the model of a role. Returns why that failed, or the empty string."""
    await command(conversation, f"/model {role}")
    result = await conversation.command(COMPACT)
    await command(conversation, "/model default")
    return result.line if isinstance(result, Refused) else ""


async def command(conversation: Conversation, line: str) -> None:
    result = await conversation.command(line)
    if isinstance(result, Refused):
        raise UsageError(result.line)


def text_of(messages: Sequence[dict[str, Any]]) -> str:
    return "\n".join(block.get("text", "") for message in messages for block in message["content"])


def first_passage(answer: str) -> str:
    """The first one of an answer of `recall`, without the line above it."""
    return re.split(r"^\[session .*$", answer, maxsplit=2, flags=re.MULTILINE)[1]


def stands(fact: Fact, text: str) -> bool:
    """Whether each value of a fact stands in a text, and not as a part of a longer one."""
    return all(re.search(rf"(?<![\w.]){re.escape(value)}(?!\w)", text) for value in fact.values)


def writer_of(options: argparse.Namespace) -> ModelSettings | None:
    """The model that writes the summaries, its weights found where they are installed.

    Raises:
        TauError: There is no such role, or no weights.
    """
    settings = load_settings(config=None, profile=None, directory=Path.cwd(), environ=os.environ).settings
    if options.embedded:
        _, weights = embedded.weights_of(ModelSettings(), resolve_places(os.environ))
        return ModelSettings(provider="embedded", weights=str(weights))
    if options.role is None:
        return None
    if options.role not in settings.roles():
        raise UsageError(f"There is no model role {options.role}", f"known: {', '.join(settings.roles())}")
    return settings.model(options.role)


async def report(writer: ModelSettings | None) -> int:
    """Print the table, a row as soon as it is there; 1 when a run lacks what is required, else 0."""
    heads = (
        "conversation",
        "keep_turns",
        "compactions",
        "in the context",
        "found by recall",
        "in its first passage",
        "",
    )
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    good = True
    lost: list[str] = []
    for run in runs(scripted=writer is None):
        place = Path(tempfile.mkdtemp(prefix="tau-recall-"))
        try:
            outcome = await measured(run, place, writer)
        finally:
            shutil.rmtree(place)
        count = len(run.facts)
        cells = (
            run.name,
            str(run.keep_turns),
            str(outcome.compactions),
            f"{count - len(outcome.lacking)} of {count}",
            f"{count - len(outcome.unfound)} of {count}",
            f"{outcome.first} of {count}",
            "ok" if outcome.good(run) else "MISSED",
        )
        print(f"| {' | '.join(cells)} |", flush=True)
        good = good and outcome.good(run)
        lines = [*outcome.failures, *(f"not found: {fact.question}" for fact in outcome.unfound)]
        if run.all_in_context:
            lines += [f"not in the context: {fact.said}" for fact in outcome.lacking]
        lost += [f"{run.name}, keep_turns {run.keep_turns}: {line}" for line in lines]
    for line in lost:
        print(line)
    return 0 if good else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    who = parser.add_mutually_exclusive_group()
    who.add_argument("--embedded", action="store_true", help="let the embedded model write the summaries")
    who.add_argument("--role", metavar="NAME", help="let a model role of the configuration write them")
    options = parser.parse_args()
    logging.disable(logging.ERROR)
    try:
        return asyncio.run(report(writer_of(options)))
    except TauError as error:
        print(error.line(), file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
