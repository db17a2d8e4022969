"""One owner for what is said: the same words are a lesson, an assumption, an open item or a fact, once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conversation.conftest import say
from tests.conversation.test_wrap import TEXT, TODAY, Logged, lines, logged, part
from tests.conversation.test_wrap_consent import reads_a_file

LESSON = {"title": "Wait for the event", "fix": "Flaky is timing", "rule": "Always wait"}
ENTRY = "# L\n\n### SL-002 — Wait for the event\n**Fix:** Flaky is timing\n**Prevention rule:** Always wait\n"


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Logged:
    return logged(tmp_path, monkeypatch)


async def saved(bench: Logged, *contexts: dict[str, Any], shared: dict[str, Any] | None = None) -> list[str]:
    """What `/wrap acme` tells of an answer."""
    bench.saves(*contexts, shared=shared)
    async with bench.open() as conversation:
        await say(conversation, "Go on")
        return await lines(conversation, "/wrap acme")


def places(bench: Logged, text: str) -> list[str]:
    """Where words stand, the logs aside."""
    return [
        name
        for name, held in bench.files().items()
        if name.endswith(("context.md", "LESSONS.md"))
        for _ in range(held.count(text))
    ]


async def test_the_same_words_of_one_answer_have_one_owner(bench: Logged) -> None:
    bench.has("acme")
    said = await saved(
        bench,
        part(
            "acme",
            assumptions=[{"text": "Cache is cold"}],
            lessons=[LESSON, {"title": "Bank is slow", "fix": "Ask twice", "rule": "Never ask once"}],
            open_items=[{"text": "Bank is slow"}, {"text": "Write the guide."}],
            facts=[
                {"text": text}
                for text in ("Write the guide", "Flaky is timing", "Always wait", "Bank is slow", "Port is 1")
            ],
        ),
        shared={
            "facts": [{"text": "Cache is cold"}, {"text": "CI is slow"}],
            "open_items": [{"text": "Write the guide"}],
        },
    )
    assert places(bench, "Cache is cold") == ["acme/context.md"]
    assert places(bench, "Write the guide") == ["shared/context.md"]
    for text in ("Flaky is timing", "Always wait", "Bank is slow"):
        assert places(bench, text) == ["acme/LESSONS.md"]
    assert "- [ ] Write the guide\n" in bench.files()["shared/context.md"]
    assert "- CI is slow\n" in bench.files()["shared/context.md"]
    assert "- Port is 1\n" in bench.files()["acme/context.md"]
    left_out = [
        "acme: “Bank is slow” is the lesson “Bank is slow”, so it is no open item",
        "acme: “Write the guide.” is an open item of shared, so it is no open item",
        "shared: “Cache is cold” is an assumption of acme, so it is no fact",
        "acme: “Write the guide” is an open item of shared, so it is no fact",
        "acme: “Flaky is timing” is the lesson “Wait for the event”, so it is no fact",
        "acme: “Always wait” is the lesson “Wait for the event”, so it is no fact",
        "acme: “Bank is slow” is the lesson “Bank is slow”, so it is no fact",
    ]
    assert [line for line in said if ", so it is no " in line] == left_out
    log = bench.files()[f"acme/{TODAY}.md"]
    for line in left_out:
        assert f"> Left out: {line.partition(': ')[2]}\n" in log
    assert "- [ ] Bank is slow" not in log, "the log does not say that context.md keeps it"


async def test_what_stands_keeps_its_words_and_is_named(bench: Logged) -> None:
    acme = bench.has(
        "acme",
        "# acme\n\n## Facts\n- Port is 1\n\n## Open items\n\n### Active\n- [ ] Write the guide\n"
        "\n## Assumptions to validate\n- Cache is cold — seen 1×, last 2026-01-15, 0 counter-examples\n",
    )
    (acme / "LESSONS.md").write_text(ENTRY)
    bench.has("shared", "# shared\n\n## Facts\n- CI is slow\n\n## Open items\n\n### Active\n- [ ] Pay\n")
    before = {
        name: text for name, text in bench.files().items() if name.endswith(("context.md", "LESSONS.md"))
    }
    said = await saved(
        bench,
        part(
            "acme",
            assumptions=[{"text": text} for text in ("Port is 1", "always wait", "CI is slow")],
            lessons=[
                {"title": "t", "fix": f"{text}.", "rule": f"Never {text}"}
                for text in ("Cache is cold", "Pay")
            ],
            open_items=[{"text": text} for text in ("Cache is cold", "Always wait", "CI is slow", "Pay")],
            facts=[{"text": text} for text in ("Write the guide", "Always wait", "Cache is cold", "Pay")],
        ),
        shared={"facts": [{"text": "Write the guide"}], "open_items": [{"text": "Always wait"}]},
    )
    assert sorted(line for line in said if ", so it is no " in line) == sorted(
        [
            "acme: “Port is 1” is a fact already, so it is no assumption",
            "acme: “always wait” is the lesson SL-002 already, so it is no assumption",
            "acme: “CI is slow” is a fact of shared already, so it is no assumption",
            "acme: “t” is an assumption already, so it is no lesson yet",
            "acme: “t” is an open item of shared already, so it is no lesson yet",
            "shared: “Always wait” is the lesson SL-002 of acme already, so it is no open item",
            "acme: “Cache is cold” is an assumption already, so it is no open item",
            "acme: “Always wait” is the lesson SL-002 already, so it is no open item",
            "acme: “CI is slow” is a fact of shared already, so it is no open item",
            "acme: “Pay” is an open item of shared already, so it is no open item",
            "shared: “Write the guide” is an open item of acme already, so it is no fact",
            "acme: “Write the guide” is an open item already, so it is no fact",
            "acme: “Always wait” is the lesson SL-002 already, so it is no fact",
            "acme: “Cache is cold” is an assumption already, so it is no fact",
            "acme: “Pay” is an open item of shared already, so it is no fact",
        ]
    )
    after = bench.files()
    assert after["acme/LESSONS.md"] == before["acme/LESSONS.md"]
    for name in ("acme/context.md", "shared/context.md"):
        assert {line for line in after[name].splitlines() if line} - set(before[name].splitlines()) <= {
            "### Backlog",
            "### Someday / Blocked",
            "## Assumptions to validate",
        }
    log = after[f"acme/{TODAY}.md"]
    assert (
        "> Left out: “t” is an assumption already, so it is no lesson yet. Fix: Cache is cold.. "
        "Prevention rule: Never Cache is cold\n"
    ) in log, "what else it says is nowhere else"


async def test_a_fact_makes_room_for_a_lesson_or_an_item_and_what_is_done_for_a_fact(bench: Logged) -> None:
    bench.has(
        "acme",
        "# acme\n\n## Facts\n- Always wait <!-- Ada -->\n- Write the guide\n- Pay\n  - the bank\n"
        "- a\n- b\n- c\n"
        "\n## Open items\n\n### Active\n- [ ] Deploys are signed\n",
    )
    said = await saved(
        bench,
        part(
            "acme",
            lessons=[LESSON],
            open_items=[{"text": "Write the guide"}, {"text": "Pay"}],
            done=["Deploys are signed"],
            facts=[{"text": "Deploys are signed"}],
        ),
    )
    context = bench.files()["acme/context.md"]
    assert places(bench, "Always wait") == ["acme/LESSONS.md"]
    assert "- [ ] Write the guide\n" in context
    assert "- Write the guide\n" not in context
    assert "- Pay\n  - the bank\n" in context, "what has something nested in it is never taken out"
    assert "[ ] Pay" not in context
    assert "- Deploys are signed\n" in context
    for line in (
        "acme: “Always wait” becomes a lesson, so it is a fact no more",
        "acme: “Always wait <!-- Ada -->” was taken out of the facts",
        "acme: “Write the guide” becomes an open item, so it is a fact no more",
        "acme: “Pay” is a fact already, so it is no open item",
        "acme: “Deploys are signed” is a new fact",
    ):
        assert line in said
    log = bench.files()[f"acme/{TODAY}.md"]
    assert "> Taken out of context.md: Always wait \\<!-- Ada -->\n" in log


async def test_what_waits_is_looked_at_again_and_a_yes_takes_nothing_out_that_was_not_shown(
    bench: Logged,
) -> None:
    bench.has("acme", "# acme\n\n## Facts\n- Port is 1\n")
    reads_a_file(bench)
    bench.saves(part("acme", lessons=[LESSON], facts=[{"text": "Always wait"}, {"text": "CI is slow"}]))
    async with bench.open() as conversation:
        await say(conversation, "Read the page")
        said = await lines(conversation, "/wrap acme")
        (question,) = (line for line in said if line.startswith("Waits for your yes"))
        assert "new fact: Always wait" not in question
        context = bench.log / "acme" / "context.md"
        held = "- Flaky is timing\n- d\n\n## Assumptions to validate\n- CI is slow — seen 1×\n"
        context.write_text(f"# acme\n\n## Facts\n{held}")
        said = await lines(conversation, "/wrap yes")
    assert "acme: “Wait for the event” is a fact already, so it is no lesson yet" in said
    mark = "(noted after content from outside: read_file)"
    assert f"acme: “CI is slow {mark}” is an assumption already, so it is no fact" in said
    assert context.read_text() == f"# acme\n\n## Facts\n{held}"
    assert not (bench.log / "acme" / "LESSONS.md").exists()


@pytest.mark.parametrize("verdict", ["new", "corroborated"])
async def test_an_assumption_that_became_a_lesson_does_not_come_back(bench: Logged, verdict: str) -> None:
    acme = bench.has("acme")
    (acme / "LESSONS.md").write_text(ENTRY.replace("Flaky is timing", TEXT))
    before = bench.files()
    said = await saved(
        bench, part("acme", assumptions=[{"text": TEXT, "verdict": verdict, "independent": True}])
    )
    assert f"acme: “{TEXT}” is the lesson SL-002 already, so it is no assumption" in said
    assert bench.files()["acme/LESSONS.md"] == before["acme/LESSONS.md"]
    assert TEXT not in bench.files()["acme/context.md"]
    log = bench.files()[f"acme/{TODAY}.md"]
    assert "## Assumptions to validate" not in log
    assert f"> Left out: “{TEXT}” is the lesson SL-002 already" in log


@pytest.mark.parametrize("verdict", ["contradicted", "disproven"])
async def test_a_counter_example_to_a_lesson_is_logged_and_said_and_the_lesson_stands(
    bench: Logged, verdict: str
) -> None:
    acme = bench.has("acme")
    (acme / "LESSONS.md").write_text(ENTRY)
    said = await saved(bench, part("acme", assumptions=[{"text": "Flaky is timing", "verdict": verdict}]))
    told = (
        f"“Flaky is timing” was {verdict}, and is the lesson SL-002: "
        "it stays until you change .session-log/acme/LESSONS.md"
    )
    assert f"acme: {told}" in said
    assert not any("is no assumption here" in line for line in said)
    assert f"> Contradicted: {told}\n" in bench.files()[f"acme/{TODAY}.md"]
    assert (acme / "LESSONS.md").read_text() == ENTRY


async def test_a_counter_example_to_what_is_a_lesson_and_still_an_assumption_is_for_both(
    bench: Logged,
) -> None:
    acme = bench.has("acme", "# acme\n\n## Assumptions\n- Flaky is timing — seen 2×\n")
    (acme / "LESSONS.md").write_text(ENTRY)
    said = await saved(
        bench, part("acme", assumptions=[{"text": "Flaky is timing", "verdict": "contradicted"}])
    )
    assert "acme: “Flaky is timing” was contradicted: its count is 0" in said
    assert (
        "> Contradicted: “Flaky is timing” was contradicted, and is the lesson SL-002"
        in (bench.files()[f"acme/{TODAY}.md"])
    )


async def test_a_lesson_that_is_not_written_owns_nothing(bench: Logged) -> None:
    acme = bench.has("acme")
    (acme / "LESSONS.md").write_text("# L\n\n> Frozen: do not append.\n")
    no_rule = {"title": "Port is 1", "fix": "It is"}
    facts = [{"text": "Always wait"}, {"text": "Port is 1"}]
    await saved(bench, part("acme", lessons=[LESSON, no_rule], facts=facts))
    for text in ("Always wait", "Port is 1"):
        assert places(bench, text) == ["acme/context.md"]


async def test_the_words_of_a_fact_that_is_reworded_are_free(bench: Logged) -> None:
    bench.has("acme", "# acme\n\n## Facts\n- Cache is cold\n- b\n- c\n")
    facts = [{"old": "Cache is cold", "text": "Cache is measured"}]
    await saved(bench, part("acme", assumptions=[{"text": "Cache is cold"}], facts=facts))
    context = bench.files()["acme/context.md"]
    assert "- Cache is measured\n" in context
    assert "- Cache is cold — seen 1×" in context


async def test_a_lesson_of_shared_is_not_written_into_a_context_as_well(bench: Logged) -> None:
    bench.has("acme")
    (bench.has("shared") / "LESSONS.md").write_text(ENTRY)
    said = await saved(bench, part("acme", lessons=[{**LESSON, "title": "Mine", "fix": "Another"}]))
    assert "acme: “Mine” is the lesson SL-002 of shared already" in said
    assert "acme/LESSONS.md" not in bench.files()


async def test_a_fact_whose_new_words_stand_elsewhere_goes_all_the_same(bench: Logged) -> None:
    acme = bench.has("acme", "# acme\n\n## Facts\n- Sleep a second\n- b\n- c\n")
    (acme / "LESSONS.md").write_text(ENTRY)
    said = await saved(bench, part("acme", facts=[{"old": "Sleep a second", "text": "Always wait"}]))
    assert "acme: “Always wait” is the lesson SL-002 already, so it is no fact" in said
    assert "acme: “Sleep a second” was taken out of the facts" in said
    assert places(bench, "Sleep a second") == []
    assert "> Taken out of context.md: Sleep a second\n" in bench.files()[f"acme/{TODAY}.md"]


async def test_a_fact_that_is_not_reworded_after_all_makes_room_too(bench: Logged) -> None:
    bench.has("acme", "# acme\n\n## Facts\n- Always wait\n- Port is 1\n- b\n- c\n")
    facts = [{"old": "Always wait", "text": "Port is 1"}]
    said = await saved(bench, part("acme", lessons=[LESSON], facts=facts))
    assert "acme: “Port is 1” stands here already" in said
    assert places(bench, "Always wait") == ["acme/LESSONS.md"]


async def test_a_fact_that_gave_its_words_up_is_none_when_it_is_said_again(bench: Logged) -> None:
    bench.has("acme", "# acme\n\n## Facts\n- Pay the bank\n- b\n- c\n")
    facts = [{"old": "Pay the bank"}, {"text": "Pay the bank"}]
    await saved(bench, part("acme", open_items=[{"text": "Pay the bank"}], facts=facts))
    assert [line for line in bench.files()["acme/context.md"].splitlines() if "Pay the bank" in line] == [
        "- [ ] Pay the bank"
    ]


async def test_a_fact_moves_to_what_is_shared_also_when_that_is_saved_as_a_context(bench: Logged) -> None:
    bench.has("acme", "# acme\n\n## Facts\n- CI is slow <!-- Ada -->\n- b\n- c\n")
    bench.saves(part("acme"), part("shared", facts=[{"text": "CI is slow"}]))
    async with bench.open() as conversation:
        await say(conversation, "Go on")
        await lines(conversation, "/wrap acme shared")
    assert places(bench, "CI is slow") == ["shared/context.md"]
    assert "- CI is slow <!-- Ada -->\n" in bench.files()["shared/context.md"]
