"""What `/refine` keeps of what a person wants, and what it makes of a model that only repeats.

    python -m benchmarks.refine [--embedded | --role NAME] [--count N] [--tasks]

A person says N preferences in N turns of one conversation, with other turns between: questions about the
work, or with `--tasks` things to do at once, which are harder to tell from what is to be kept. Then a model
refines memory. A preference is kept when its words stand, in any case, in a memory file that was written
since. Lines that were written and belong to none are counted as well.
Without an option the model is a script that answers as a good one would, so that what is left is the work of
code alone; with `--embedded` or `--role` it is the embedded model or a role of the configuration.

After that an echo refines the same conversation five times: it answers with the request that it was sent,
with its instructions, with the files it was shown, with every file as it is, with its instructions as a file.

Prints one table; the exit status is 1 when an echo changed a file, or when the script's proposal was not
kept.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.recall import CHATTER, command, replies, script, turn, writer_of
from tau.config.settings import MemorySettings, ModelSettings, Places, SessionsSettings, Settings
from tau.conversation import Conversation
from tau.conversation.state import OpenRequest
from tau.errors import TauError
from tau.memory.desk import Desk


@dataclass(frozen=True)
class Preference:
    """Something that a person wants from now on.

    Attributes:
        said: The message in which it is stated.
        words: What must stand in memory for it, in any case.
        file: What a good model would write.
    """

    said: str
    words: tuple[str, ...]
    file: str


PREFERENCES = (
    Preference(
        "From now on, always run `make check` before you tell me that something is done.",
        ("make check",),
        "Run `make check` before saying that something is done.",
    ),
    Preference(
        "Please remember that I want commit messages without a trailing period, in the imperative.",
        ("imperative",),
        "Commit messages are in the imperative, without a period at the end.",
    ),
    Preference(
        "I prefer pathlib over os.path everywhere in this project.",
        ("pathlib",),
        "Use pathlib, not os.path.",
    ),
    Preference(
        "Never push to the branch `release`; only Priya does that.",
        ("release", "priya"),
        "Only Priya pushes to the branch `release`.",
    ),
    Preference(
        "Our tests only work with PYTHONHASHSEED=0, keep that in mind for every run.",
        ("pythonhashseed=0",),
        "The tests need PYTHONHASHSEED=0.",
    ),
    Preference(
        "Answer me in short sentences, and leave out the summary at the end. I always read the diff.",
        ("summary",),
        "Short answers, without a summary at the end.",
    ),
    Preference(
        "We decided against an ORM: plain SQL in the folder queries/, and that stays so.",
        ("queries/",),
        "No ORM: plain SQL in queries/.",
    ),
    Preference(
        "Dates in our reports are always ISO 8601, never the American way.",
        ("iso 8601",),
        "Dates in reports are ISO 8601.",
    ),
    Preference(
        "When a test is flaky, fix it or tell me; never mark it with a retry.",
        ("retry",),
        "Flaky tests are fixed or reported, never given a retry.",
    ),
    Preference(
        "The staging server is stage-2.internal; stage-1 is switched off for good.",
        ("stage-2.internal",),
        "The staging server is stage-2.internal.",
    ),
)
TASKS = (
    "Add type hints to the function load.",
    "Translate this text to French, please.",
    "No, that's wrong, undo it.",
    "Explain this error: KeyError: 'rate'",
    "Ok, commit that.",
    "Hm, I don't understand this.",
    "Rename foo to bar in parser.py, please.",
    "Write a function that sorts the rows by date.",
    "Show me the diff.",
    "Thanks, looks good!",
)
"""Turns that hold for nothing but themselves."""

REFINES = 5
SESSION = "benchmark"
BEGUN = "project/begun.md"
"""A memory file that is there before."""


def talk(preferences: Sequence[Preference], between: Sequence[str]) -> list[str]:
    """The messages: a preference each, with one of the others behind it."""
    return [
        line
        for number, each in enumerate(preferences)
        for line in (each.said, between[number % len(between)])
    ]


def good(preferences: Sequence[Preference]) -> str:
    """The answer of a good model."""
    lines = "".join(f"- {each.file}\n" for each in preferences)
    operation = {
        "file": "project/preferences.md",
        "action": "write",
        "content": lines,
        "sentence": "as asked",
    }
    return json.dumps({"operations": [operation]})


def settings_of(place: Path, models: dict[str, ModelSettings]) -> Settings:
    return Settings(
        places=Places(data=place / "data", state=place / "state", config=place / "config"),
        directory=place,
        sessions=SessionsSettings(backend="file"),
        memory=MemorySettings(refine="off"),
        models=models,
    )


async def refined(conversation: Conversation) -> list[str]:
    """Refine by hand, and return what the person is told when that is over."""
    told = len(conversation.state.tool_problems)
    await command(conversation, "/refine")
    while not (news := [line for line in conversation.state.tool_problems[told:] if _is_over(line)]):
        await asyncio.sleep(0.02)
    return news


def _is_over(line: str) -> bool:
    return line.startswith(("Memory was refined", "Memory was not refined", "Memory stays", "Waits for"))


def contents(desk: Desk) -> dict[str, bytes]:
    return {document.title: document.data for document in desk.seen().documents}


async def kept_by(
    place: Path, writer: ModelSettings | None, preferences: Sequence[Preference], between: Sequence[str]
) -> tuple[int, int, float, list[str]]:
    """How many preferences a model keeps, and lines that are none; seconds, and what the person is told."""
    said = talk(preferences, between)
    record = place / "requests.jsonl"
    models = {
        "default": ModelSettings(
            provider="scripted",
            script=script(place / "talk.json", [{"text": text} for text in replies(len(said))]),
            side_script=script(place / "side.json", [{"text": good(preferences)}]),
            record=str(record),
        )
    }
    if writer is not None:
        models["writer"] = writer
    settings = settings_of(place, models)
    desk = Desk(settings)
    desk.begin()
    desk.remember(BEGUN, "The project is written in Python.\n", replace=False, origin="")
    before = contents(desk)
    conversation = Conversation.start(settings, OpenRequest(channel="terminal", session_id=SESSION))
    try:
        for line in said:
            await turn(conversation, line)
        if writer is not None:
            await command(conversation, "/model writer")
        begun = time.monotonic()
        told = await refined(conversation)
        took = time.monotonic() - begun
    finally:
        await conversation.close()
    new = [data for title, data in contents(desk).items() if data != before.get(title)]
    text = b"\n".join(new).decode().lower()
    there = {line.strip() for data in before.values() for line in data.decode().lower().splitlines()}
    lines = [line.strip() for line in text.splitlines() if line.strip() and line.strip() not in there]
    words = [word for each in preferences for word in each.words]
    others = sum(not any(word in line for word in words) for line in lines)
    return sum(all(word in text for word in each.words) for each in preferences), others, took, told


async def changed_by_echo(place: Path) -> tuple[int, list[str]]:
    """How many files five refinements of an echo change, and what the person is told."""
    record = place / "requests.jsonl"
    models = {
        "default": ModelSettings(
            provider="scripted",
            script=script(place / "talk.json", [{"text": "ok"}]),
            side_script=script(place / "echo.json", [{"text": '{"operations": []}'}]),
            record=str(record),
        )
    }
    settings = settings_of(place, models)
    desk = Desk(settings)
    request = OpenRequest(channel="terminal", session_id=SESSION)
    conversation = Conversation.start(settings, request)
    try:
        await conversation.model_ready()
        await refined(conversation)  # to see what the model is sent
    finally:
        await conversation.close()
    with record.open() as sent:
        last = [asked for line in sent if (asked := json.loads(line))["side"]][-1]
    script(place / "echo.json", [{"text": text} for text in echoes(last, contents(desk))])
    before = contents(desk)
    told: list[str] = []
    conversation = Conversation.start(settings, request)
    try:
        await conversation.model_ready()
        for _ in range(REFINES):
            told += await refined(conversation)
    finally:
        await conversation.close()
    after = contents(desk)
    changed = [title for title in before.keys() | after.keys() if before.get(title) != after.get(title)]
    return len(changed), told


def echoes(request: dict[str, Any], files: dict[str, bytes]) -> list[str]:
    """Five answers that only say what the model was told."""
    system = str(request["system"])
    asked = "\n".join(
        block.get("text", "") for message in request["messages"] for block in message["content"]
    )
    shown = asked.partition("The conversation:")[0]
    as_they_are = [write(title, data.decode()) for title, data in files.items()]
    return [
        asked,
        system,
        shown,
        json.dumps({"operations": as_they_are}),
        json.dumps({"operations": [write("project/echo.md", system)]}),
    ]


def write(title: str, content: str) -> dict[str, str]:
    return {"file": title, "action": "write", "content": content, "sentence": "as it was told"}


async def report(
    writer: ModelSettings | None,
    name: str,
    preferences: Sequence[Preference],
    between: Sequence[str],
    say: Callable[[str], None],
) -> int:
    """Say the table and what the person was told; 1 when something required is missing, else 0."""
    place = Path(tempfile.mkdtemp(prefix="tau-refine-"))
    try:
        say("| refined by | refinements | result | seconds |\n|---|---|---|---|")
        kept, others, took, told = await kept_by(place, writer, preferences, between)
        result = f"{kept} of {len(preferences)} preferences kept, {others} other lines written"
        say(f"| {name} | 1 | {result} | {took:.1f} |")
        begun = time.monotonic()
        changed, refused = await changed_by_echo(place)
        took = time.monotonic() - begun
        say(f"| an echo | {REFINES} | {changed} files changed | {took:.1f} |")
    finally:
        shutil.rmtree(place)
    for line in (*told, *refused):
        say(line)
    return int(changed > 0 or (writer is None and kept < len(preferences)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    who = parser.add_mutually_exclusive_group()
    who.add_argument("--embedded", action="store_true", help="let the embedded model refine")
    who.add_argument("--role", metavar="NAME", help="let a model role of the configuration refine")
    most = len(PREFERENCES)
    parser.add_argument("--count", type=int, default=most, choices=range(1, most + 1), metavar="N")
    parser.add_argument("--tasks", action="store_true", help="things to do between, in place of questions")
    options = parser.parse_args()
    logging.disable(logging.ERROR)
    name = (
        "the embedded model" if options.embedded else f"role {options.role}" if options.role else "a script"
    )
    try:
        between = TASKS if options.tasks else CHATTER
        return asyncio.run(report(writer_of(options), name, PREFERENCES[: options.count], between, _say))
    except TauError as error:
        print(error.line(), file=sys.stderr)
        return 2


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
