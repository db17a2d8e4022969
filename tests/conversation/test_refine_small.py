"""`/refine` with a model that has no room for memory: it only says of each message what that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from tau.agent import sorter
from tau.conversation import Conversation, refining
from tau.conversation.state import MemoryListing
from tests.conversation.conftest import say
from tests.conversation.test_compaction import side_requests
from tests.conversation.test_refine import Refined, bench, lines, refine

__all__ = ["bench"]

RULE = "Always run `make check` before you say that something is done."
FACT = "The staging server is stage-2.internal."
TASK = "Rename foo to bar in parser.py, please."


def answers(kinds: Mapping[str, str]) -> list[dict[str, Any]]:
    """A side model that answers by what is in its request; with ``task`` to anything else."""
    step: dict[str, Any] = {"text": '"task"'}
    for said, answer in kinds.items():
        step = {"when": said, "then": {"text": answer}, "else": step}
    return [step]


async def made_small(conversation: Conversation) -> None:
    info = await conversation.model_ready()
    model = conversation._core.answerer.model
    assert model is not None
    conversation._core.answerer.model = replace(model, info=msgspec.structs.replace(info, reads_memory=False))


def asked(bench: Refined) -> list[str]:
    """What the model was asked about."""
    return [request["messages"][-1]["content"][0]["text"] for request in side_requests(bench)]


def kept(bench: Refined) -> bytes:
    return bench.files()[sorter.FILE]


async def test_what_the_person_wants_is_kept_in_their_own_words(bench: Refined) -> None:
    bench.side = answers({RULE: '"rule"', FACT: "fact"})
    before = bench.files()
    async with bench.open() as conversation:
        await made_small(conversation)
        for text in (RULE, TASK, "What does it do?", FACT, RULE):
            await say(conversation, text)
        told = await refine(conversation)
        assert told.splitlines()[:2] == [
            "Memory was refined (manual):",
            f"    added {sorter.FILE} — in your words: {RULE} · {FACT}",
        ]
        assert kept(bench) == f"- {RULE}\n- {FACT}\n".encode()
        assert asked(bench) == [RULE, TASK, FACT], "a question is none of them, and nothing is asked twice"
        await lines(conversation, "/refine undo")
        assert bench.files() == before


async def test_more_is_put_behind_what_stands_there_and_nothing_twice(bench: Refined) -> None:
    bench.side = answers({RULE: '"rule"', FACT: '"fact"'})
    path = bench.path(sorter.FILE)
    path.write_text("# Mine\n\nAlways run make check, before you say that something is done!\n")
    async with bench.open() as conversation:
        await made_small(conversation)
        for text in (RULE, FACT):
            await say(conversation, text)
        await refine(conversation)
        assert kept(bench).decode() == (
            f"# Mine\n\nAlways run make check, before you say that something is done!\n- {FACT}\n"
        )
        assert await refine(conversation) == refining.NOTHING
        assert asked(bench) == [FACT]


async def test_a_changed_mind_is_asked_about_also_where_a_line_that_stands_there_holds_its_words(
    bench: Refined,
) -> None:
    changed = ("Use Docker here.", "Test for a == b.", "Write it in C.")
    bench.side = answers(dict.fromkeys(changed, '"rule"'))
    path = bench.path(sorter.FILE)
    path.write_text(
        "- Never ever use Docker here.\n- Test for a != b.\n* Write it in C++.\n\nBreak long\nlines.\n"
    )
    async with bench.open() as conversation:
        await made_small(conversation)
        for text in (*changed, "Write it in C++!", "Break long lines."):
            await say(conversation, text)
        await refine(conversation)
    assert asked(bench) == [*changed]
    assert kept(bench).endswith(b"lines.\n- Use Docker here.\n- Test for a == b.\n- Write it in C.\n")


async def test_only_what_a_person_may_have_meant_is_asked_about(bench: Refined) -> None:
    secret = "sk-ant-api03-" + "A" * 80
    (bench.root / "note.txt").write_text("Always deploy on Fridays.")
    read = {"tools": [{"name": "read_file", "input": {"path": "note.txt"}, "id": "t1"}]}
    bench.steps["default"] = [read, {"text": "I always answer at length."}]
    bench.side = answers({})
    said = (
        "Read the note\n\n```\nnever use tabs\n```\n\n- Keep functions short.\n2. No ORM, please.\n\n"
        f"The key is {secret} now.\n\nok\n\n{'very long ' * 40}. The queue is in Redis."
    )
    async with bench.open() as conversation:
        await made_small(conversation)
        await say(conversation, said)
        assert await refine(conversation) == refining.NOTHING
    assert asked(bench) == [
        "Read the note",
        "Keep functions short.",
        "No ORM, please.",
        "The queue is in Redis.",
    ]


async def test_what_the_model_invents_is_never_written(bench: Refined) -> None:
    bench.side = answers({RULE: '{"operations": [{"file": "project/a.md"}]}', FACT: "a fact: port 9000"})
    before = bench.files()
    async with bench.open() as conversation:
        await made_small(conversation)
        for text in (RULE, FACT):
            await say(conversation, text)
        assert await refine(conversation) == refining.NOTHING
    assert bench.files() == before


async def test_a_line_that_no_file_may_hold_does_not_stop_the_others(bench: Refined) -> None:
    hidden = "Use the name a\u200bb everywhere."
    bench.side = answers({RULE: '"rule"', "everywhere": '"rule"', "same as": '"rule"'})
    async with bench.open() as conversation:
        await made_small(conversation)
        for text in (hidden, "The other lines stay the same", "same as before", RULE):
            await say(conversation, text)
        await refine(conversation)
    assert kept(bench) == f"- {RULE}\n".encode()


async def test_a_file_that_cannot_be_added_to_is_said_before_the_model_is_asked(bench: Refined) -> None:
    bench.side = answers({RULE: '"rule"'})
    path = bench.path(sorter.FILE)
    secret = f"# Mine\n\nThe key is sk-ant-api03-{'A' * 80}\n"
    path.write_text(secret)
    async with bench.open() as conversation:
        await made_small(conversation)
        await say(conversation, RULE)
        said = await refine(conversation)
        assert said == (
            f"Memory was not refined: {sorter.FILE}, where it would be kept, holds what looks like a secret "
            f"in line 3, so nothing is written there (`tau memory edit {sorter.FILE}` opens it; take the "
            "secret out, then /refine again)"
        )
        assert path.read_text() == secret
        path.write_bytes("Grüße immer auf Deutsch.\n".encode("latin-1"))
        assert await refine(conversation) == (
            f"Memory was not refined: {sorter.FILE}, where it would be kept, is not UTF-8 text, so nothing "
            f"is written there (`tau memory edit {sorter.FILE}` opens it; save it as UTF-8, then /refine "
            "again)"
        )
        assert path.read_bytes() == "Grüße immer auf Deutsch.\n".encode("latin-1")
        path.unlink()
        path.symlink_to(bench.root / "elsewhere.md")
        assert await refine(conversation) == (
            f"Memory was not refined: {sorter.FILE}, where it would be kept, is there but cannot be read "
            "(/memory says why)"
        )
        listed = await conversation.command("/memory")
        assert isinstance(listed, MemoryListing)
        assert f"{path} cannot be read: a symbolic link, which is never followed" in listed.lines
        assert asked(bench) == []
        path.unlink()
        await refine(conversation)
    assert kept(bench) == f"- {RULE}\n".encode()
    assert asked(bench) == [RULE]


async def test_the_model_is_shown_the_focus_and_examples_and_no_memory(bench: Refined) -> None:
    bench.side = answers({})
    async with bench.open() as conversation:
        await made_small(conversation)
        await say(conversation, RULE)
        await refine(conversation, "/refine the build")
    (request,) = side_requests(bench)
    assert request["system"].endswith("The person asks to look at this above all: the build")
    assert "# " not in request["system"], "no file of memory"
    assert len(request["messages"]) == 2 * len(sorter._EXAMPLES) + 1
