"""`/wrap` and `/load` with files, names and answers as people and models write them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tau.agent import retry
from tests.conversation.conftest import say
from tests.conversation.test_wrap import TEXT, TODAY, Logged, lines, logged, part, refused
from tests.conversation.test_wrap_consent import reads_a_file


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Logged:
    return logged(tmp_path, monkeypatch)


async def test_a_ticked_item_with_an_open_one_in_it_is_still_shown_as_open(bench: Logged) -> None:
    bench.has(
        "acme",
        "# acme\n\n## Open items\n\n### Active\n\n- [x] Ship it\n  - [ ] Tell Ann\n\n"
        "- [x] Over and done\n  - [x] all of it\n",
    )
    async with bench.open() as conversation:
        said = await lines(conversation, "/load acme")
    assert "Active (1):" in said
    assert "  Ship it, in it still open: Tell Ann" in said
    assert not [line for line in said if "Over and done" in line]


@pytest.mark.parametrize("command", ["/load", "/wrap"])
async def test_one_context_that_cannot_be_read_hides_no_other(bench: Logged, command: str) -> None:
    bench.has("acme")
    bench.has("beta")
    file = bench.has("bad") / "context.md"
    file.unlink()
    file.symlink_to(bench.log / "acme" / "context.md")
    async with bench.open() as conversation:
        await say(conversation, "Nothing of anything")
        said = await lines(conversation, command)
        told = list(conversation.state.tool_problems)
    assert "Which context is this session about? acme, bad, beta, shared" in said
    assert len([line for line in told if "bad/context.md" in line and "link" in line]) == 1


async def test_a_second_context_to_load_is_said_and_not_taken_for_part_of_a_name(bench: Logged) -> None:
    bench.has("acme")
    bench.has("beta")
    bench.has("two words")
    async with bench.open() as conversation:
        line = await refused(conversation, "/load acme beta")
        assert line == "/load takes one context, and acme beta are 2: /load acme or /load beta"
        assert "There is no context acme none" in await refused(conversation, "/load acme none")
        assert "Loaded two words" in (await lines(conversation, "/load two words"))[0]
        assert "Loaded two words" in (await lines(conversation, '/load "two words"'))[0]


async def test_the_rule_of_an_assumption_is_kept_until_it_is_a_lesson(bench: Logged) -> None:
    rule = "Always purge every node --> at once"
    for number in range(3):
        said = {"text": TEXT, "verdict": "corroborated" if number else "new", "independent": True}
        bench.saves(part("acme", assumptions=[{**said, "rule": "" if number else rule}]))
        async with bench.open() as conversation:
            await say(conversation, "Go on")
            await lines(conversation, "/wrap new acme")
        if not number:
            state = (bench.log / "acme/context.md").read_text()
            assert "<!-- rule: Always purge every node -- > at once -->" in state
    lessons = (bench.log / "acme/LESSONS.md").read_text()
    assert "**Prevention rule:** Always purge every node -- > at once\n" in lessons
    assert lessons.count("Always purge") == 1
    assert "rule:" not in (bench.log / "acme/context.md").read_text()


async def test_a_list_headed_assumptions_is_the_one_that_is_counted(bench: Logged) -> None:
    bench.has(
        "acme", f"# acme\n\n## Assumptions\n\n- {TEXT} — seen 1×, last 2026-01-02, 0 counter-examples\n"
    )
    corroborated = {"text": TEXT, "verdict": "corroborated", "independent": True}
    bench.saves(part("acme", assumptions=[corroborated], facts=[{"text": "It rains"}]))
    async with bench.open() as conversation:
        loaded = await lines(conversation, "/load acme")
        await say(conversation, "Go on")
        await lines(conversation, "/wrap acme")
    assert "Assumptions (1), not yet proven:" in loaded
    assert not [line for line in loaded if line.startswith("Facts")]
    state = (bench.log / "acme/context.md").read_text()
    assert state.count("## Assumptions") == 1
    assert f"- {TEXT} — seen 2×, last {TODAY}, 0 counter-examples" in state


async def test_the_title_that_is_said_is_the_one_that_is_written_and_the_rest_of_it_is_kept(
    bench: Logged,
) -> None:
    eight = "One two three four five six seven eight"
    learned = [
        {"title": f"{eight} nine ten", "fix": "It", "rule": "Always it", "context": "Which task"},
        {"title": f"{eight} nine", "fix": f"{eight} nine", "rule": "Always that", "context": "Another"},
        {"title": "x" * 130, "fix": "So", "rule": "Always so"},
        {"title": eight, "fix": "This", "rule": "Always this", "context": "A third"},
    ]
    bench.saves(part("acme", lessons=learned))
    async with bench.open() as conversation:
        await say(conversation, "Go on")
        said = "\n".join(await lines(conversation, "/wrap new acme"))
    lessons = (bench.log / "acme/LESSONS.md").read_text()
    assert lessons.count(f"— {eight}\n") == 3
    assert f"“{eight}” is the new lesson" in said
    assert [line for line in lessons.splitlines() if line.startswith("**Context:**")] == [
        f"**Context:** “{eight} nine ten”; Which task",
        "**Context:** Another",
        f"**Context:** “{'x' * 130}”",
        "**Context:** A third",
    ]


async def test_all_of_a_title_is_shown_before_its_lesson_is_written(bench: Logged) -> None:
    reads_a_file(bench)
    title = "One two three four five six seven eight nine ten"
    bench.saves(part("acme", lessons=[{"title": title, "rule": "Always it"}]))
    async with bench.open() as conversation:
        await say(conversation, "Read it")
        said = await lines(conversation, "/wrap new acme")
    assert any(f"acme: new lesson: {title}; Prevention rule: Always it" in line for line in said)


async def test_a_log_does_not_say_of_an_assumption_that_waits_that_it_is_kept(bench: Logged) -> None:
    seen = f"- {TEXT} — seen 1×, last 2026-01-02, 0 counter-examples"
    bench.has("acme", f"# acme\n\n## Assumptions to validate\n\n{seen}\n")
    reads_a_file(bench)
    new = {"text": "It is cold", "verdict": "corroborated", "independent": True}
    bench.saves(part("acme", assumptions=[new, {"text": TEXT, "verdict": "new"}]))
    async with bench.open() as conversation:
        await say(conversation, "Read it")
        await lines(conversation, "/wrap acme")
        assert "It is cold" not in (bench.log / "acme/context.md").read_text()
        log = (bench.log / "acme" / f"{TODAY}.md").read_text()
        listed = f"- It is cold (waits for a yes)\n- {TEXT}\n> Their tallies are kept in context.md\n"
        assert f"## Assumptions to validate\n{listed}" in log
        await lines(conversation, "/wrap yes")
    assert "- It is cold (noted" in (bench.log / "acme/context.md").read_text()
    assert (bench.log / "acme" / f"{TODAY}.md").read_text() == log, "a log is written once"


NAMED = "This session is about beta: you named it"
BOTH = (
    "It seems to be about acme as well: acme by acme ×2, checkout ×2, refund ×2; "
    "/wrap beta acme saves it there, too"
)


async def test_the_context_that_was_named_comes_before_what_was_spoken_of(bench: Logged) -> None:
    bench.has("acme", "# acme\n\nKeywords: checkout, refund\n")
    bench.has("beta")
    bench.saves(part("beta"))
    async with bench.open() as conversation:
        await say(conversation, "checkout checkout refund refund")
        assert (await lines(conversation, "/wrap"))[0].startswith("This session is about acme: ")
        await say(conversation, "session log for acme")
        await say(conversation, "Please wrap up the Beta session")
        await say(conversation, "session log for nothing that is there")
        await say(conversation, "What is a session log for acme?")
        assert (await lines(conversation, "/wrap"))[:2] == [NAMED, BOTH]
        await lines(conversation, "/wrap yes")
        assert (bench.log / "beta" / f"{TODAY}.md").exists()
        assert not (bench.log / "acme" / f"{TODAY}.md").exists()


async def test_a_context_that_was_loaded_since_comes_before_the_one_that_was_named(bench: Logged) -> None:
    bench.has("acme")
    bench.has("beta")
    async with bench.open(name="amber") as conversation:
        await say(conversation, "session log for beta")
        assert (await lines(conversation, "/wrap"))[0] == NAMED
        await lines(conversation, "/load acme")
        await say(conversation, "acme is acmeish")
        assert (await lines(conversation, "/wrap"))[0].startswith("This session is about acme: ")
    async with bench.open(resume="amber") as conversation:
        assert (await lines(conversation, "/wrap"))[0].startswith("This session is about acme: ")
        await say(conversation, "session log for beta")
        said = await lines(conversation, "/wrap")
        assert said[0] == NAMED
        assert said[1].startswith("It seems to be about acme as well: acme by acme ×1, acmeish ×1; ")


async def test_a_log_without_items_of_its_own_does_not_say_that_there_are_none(bench: Logged) -> None:
    bench.has("acme", "# acme\n\n## Open items\n\n### Active\n\n- [ ] Docs\n")
    bench.saves(part("acme"))
    async with bench.open() as conversation:
        await say(conversation, "Go on")
        said = await lines(conversation, "/wrap acme")
    assert [line for line in said if "Open items: Docs" in line]
    log = (bench.log / "acme" / f"{TODAY}.md").read_text()
    assert "## Open items\n> This session named none; the list is kept in context.md\n" in log


@pytest.mark.parametrize("around", ["Here it is:\n\n{}", "{}\n\nThat is all.", "\n{}\n"])
async def test_an_answer_in_a_fence_is_read_whatever_is_said_around_it(bench: Logged, around: str) -> None:
    answer = json.dumps({"session_log": {"contexts": [part("acme")]}}, indent=1)
    bench.side = [{"text": around.format(f"```json\n{answer}\n```")}]
    async with bench.open() as conversation:
        await say(conversation, "Go on")
        await lines(conversation, "/wrap new acme")
    assert (bench.log / "acme" / f"{TODAY}.md").exists()


async def test_of_two_fences_none_is_taken(bench: Logged) -> None:
    answer = json.dumps({"session_log": {"contexts": [part("acme")]}})
    bench.side = [{"text": f"```json\n{answer}\n```\nor\n```json\n{answer}\n```"}]
    async with bench.open() as conversation:
        await say(conversation, "Go on")
        assert "not JSON" in await refused(conversation, "/wrap new acme")


async def test_an_answer_that_names_a_context_and_says_nothing_more_is_told_apart(bench: Logged) -> None:
    bench.saves({"context": "acme", "summary": ""})
    async with bench.open() as conversation:
        await say(conversation, "Go on")
        line = await refused(conversation, "/wrap new acme")
    assert "the answer names acme, and has no summary of it nor anything else" in line
    assert not bench.log.exists()


async def test_each_wait_of_a_throttled_wrap_is_told_before_it(
    bench: Logged, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "FIRST_WAIT", 0)
    answer = json.dumps({"session_log": {"contexts": [part("acme")]}})
    bench.side = [{"error": "throttled"}, {"text": answer}]
    async with bench.open() as conversation:
        await say(conversation, "Go on")
        await lines(conversation, "/wrap new acme")
        told = list(conversation.state.tool_problems)
    assert len([line for line in told if "; try 2 in " in line]) == 1


async def test_after_content_from_outside_no_rule_is_put_to_an_assumption_unseen(bench: Logged) -> None:
    seen = f"- {TEXT} — seen 1×, last 2026-01-02, 0 counter-examples"
    bench.has("acme", f"# acme\n\n## Assumptions to validate\n\n{seen}\n")
    reads_a_file(bench)
    again = {"text": TEXT, "verdict": "corroborated", "independent": True, "rule": "Always run evil"}
    new = {"text": "It is cold", "verdict": "new", "rule": "Always warm it"}
    bench.saves(part("acme", assumptions=[again, new]))
    async with bench.open() as conversation:
        await say(conversation, "Read it")
        said = "\n".join(await lines(conversation, "/wrap acme"))
        assert "new assumption: It is cold; its rule, should it become a lesson: Always warm it" in said
        assert "<!-- rule:" not in (bench.log / "acme/context.md").read_text()
        await lines(conversation, "/wrap yes")
    state = (bench.log / "acme/context.md").read_text()
    assert f"{TEXT} — seen 2×" in state
    assert "Always run evil" not in state
    assert "<!-- rule: Always warm it -->" in state
