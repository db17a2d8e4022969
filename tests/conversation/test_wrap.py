"""`/wrap` and `/load` on the real engine, store and files, with a scripted model beside the conversation."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tau.config.trust import Trust
from tau.conversation import Conversation
from tau.conversation.state import Refused, Said
from tau.errors import TauError
from tau.events import Notice, TurnEnd, TurnStarted
from tau.journal import durable, work_place
from tau.journal.work_place import WorkPlace
from tau.memory.desk import Desk
from tests.conversation.conftest import Bench, ending, say
from tests.conversation.test_compaction import side_requests

T = TypeVar("T")

TODAY = f"{datetime.now().astimezone():%Y-%m-%d}"
TEXT = "Checkout flakiness is timing-dependent"


@dataclass
class Logged(Bench):
    """A bench in a trusted project with a session log."""

    @property
    def log(self) -> Path:
        return self.root / ".session-log"

    def has(self, name: str, text: str = "") -> Path:
        folder = self.log / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "context.md").write_text(text or f"# {name}\n\nKeywords: {name}ish\n")
        return folder

    def saves(self, *contexts: dict[str, Any], shared: dict[str, Any] | None = None, **step: Any) -> None:
        """Have the side model answer so at the close."""
        answer = {"session_log": {"contexts": list(contexts), **({"shared": shared} if shared else {})}}
        self.side = [{"text": json.dumps(answer), **step}]

    def files(self) -> dict[str, str]:
        return {
            str(path.relative_to(self.log)): path.read_text()
            for path in sorted(self.log.rglob("*"))
            if path.is_file()
        }


def logged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Logged:
    """A bench on a disk that lasts."""
    mounts = tmp_path / "mountinfo"
    mounts.write_text("22 27 0:21 / / rw,relatime - ext4 /dev/sda rw\n")
    monkeypatch.setattr(durable, "MOUNTS", mounts)
    made = Logged(tmp_path)
    (tmp_path / ".git").mkdir()
    Trust(made.places).add(tmp_path)
    return made


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Logged:
    return logged(tmp_path, monkeypatch)


def part(context: str, **more: Any) -> dict[str, Any]:
    return {"context": context, "summary": f"Worked on {context}.", **more}


async def lines(conversation: Conversation, line: str) -> list[str]:
    result = await conversation.command(line)
    assert isinstance(result, Said), result
    return [*result.lines, *result.refused]


async def until(condition: Callable[[], T]) -> T:
    """What a condition says once it holds."""
    async with asyncio.timeout(10):
        while not (found := condition()):
            await asyncio.sleep(0.01)
    return found


async def refused(conversation: Conversation, line: str) -> str:
    result = await conversation.command(line)
    assert isinstance(result, Refused), result
    return result.line


FULL = part(
    "acme",
    decisions=["Took Stripe, not Adyen: fees"],
    open_items=[
        {"text": "Test refunds", "tier": "Active"},
        {"text": "Write docs", "tier": "Someday / Blocked"},
    ],
    discoveries=["The sandbox resets at night"],
    assumptions=[{"text": TEXT, "verdict": "new"}],
    files=[{"path": "src/pay.py", "about": "the client"}],
    facts=[{"text": "Payments go through Stripe"}],
    lessons=[
        {
            "title": "Freeze the clock in tests that wait for time to pass",
            "fix": "Freeze it",
            "rule": "Always freeze",
        }
    ],
    keywords=["checkout", "stripe"],
)


async def test_a_named_context_is_saved_and_confirmed_in_the_words_of_the_document(bench: Logged) -> None:
    bench.saves(FULL, shared={"facts": [{"text": "CI is slow on Mondays"}]})
    async with bench.open() as conversation:
        await say(conversation, "We took Stripe. My key is sk-abcdefghijklmnopqrstuvwx5678")
        said = await lines(conversation, "/wrap new acme")
    assert (
        f"Saved session log to .session-log/acme/{TODAY}.md and updated context. "
        "Open items: Test refunds; Write docs. Lessons extracted: 1."
    ) in said
    assert ".session-log/shared/context.md was updated" in said
    new = "acme: a new context; .session-log/acme/context.md lists the keywords it is known by:"
    assert f"{new} checkout, stripe" in said
    files = bench.files()
    assert sorted(files) == [f"acme/{TODAY}.md", "acme/LESSONS.md", "acme/context.md", "shared/context.md"]
    log = files[f"acme/{TODAY}.md"]
    assert log.startswith(f"# Session Log — {TODAY} · acme\n\n## What we did\nWorked on acme.\n")
    for each in (
        "Took Stripe, not Adyen: fees",
        "- [ ] Test refunds",
        "sandbox resets",
        TEXT,
        "`src/pay.py` — the client",
    ):
        assert each in log
    assert "seen" not in log, "the tally has its place in context.md"
    context = files["acme/context.md"]
    assert context.startswith("# acme\n\nKeywords: checkout, stripe\n")
    assert (
        "### Active\n\n- [ ] Test refunds\n\n### Backlog\n\n### Someday / Blocked\n\n- [ ] Write docs\n"
        in context
    )
    assert f"- {TEXT} — seen 1×, last {TODAY}, 0 counter-examples <!-- sessions: " in context
    assert "- Payments go through Stripe" in context
    assert "CI is slow on Mondays" in files["shared/context.md"]
    assert "### SL-001 — Freeze the clock in tests that wait for" in files["acme/LESSONS.md"]
    (request,) = side_requests(bench)
    assert request["tools"] == []
    assert "sk-abcdefghijklmnopqrstuvwx" not in json.dumps(request)


async def test_a_short_log_is_said_unless_a_brief_one_was_wanted(bench: Logged) -> None:
    bench.saves(part("acme"))
    async with bench.open() as conversation:
        await say(conversation, "Go on")
        said = await lines(conversation, "/wrap new acme")
        quick = await lines(conversation, "/wrap quick acme")
    log = f".session-log/acme/{TODAY}.md has 16 lines; under 30 something may have been missed"
    assert [line for line in said if "something may have been missed" in line] == [log]
    assert not any("something may have been missed" in line for line in quick), "a brief log may be short"


async def test_content_finds_the_context_and_nothing_is_written_before_a_yes(bench: Logged) -> None:
    bench.has("acme", "# acme\n\nKeywords: checkout, stripe\n")
    bench.has("beta", "# beta\n\nKeywords: telescope\n")
    bench.saves(part("acme"))
    before = bench.files()
    async with bench.open() as conversation:
        await say(conversation, "The checkout with Stripe is flaky")
        said = await lines(conversation, "/wrap")
        assert said == [
            "This session is about acme: acme by checkout ×1, stripe ×1",
            "/wrap yes saves it there; /wrap NAME takes another one: acme, beta, shared; /wrap no leaves it",
        ]
        assert bench.files() == before
        assert side_requests(bench) == []
        said = await lines(conversation, "/wrap yes")
        assert any(line.startswith(f"Saved session log to .session-log/acme/{TODAY}.md") for line in said)
        assert (
            await refused(conversation, "/wrap yes") == "Nothing waits for your yes; /wrap closes the session"
        )


async def test_an_unclear_context_is_asked_once_with_the_names(bench: Logged) -> None:
    bench.has("acme")
    bench.has("beta")
    async with bench.open() as conversation:
        await say(conversation, "Something else")
        assert await lines(conversation, "/wrap") == [
            "Which context is this session about? acme, beta, shared",
            "/wrap NAME saves it there, several names in several, /wrap new NAME begins one",
        ]
        begins = "/wrap new acne begins one"
        assert await lines(conversation, "/wrap acne") == [
            "There is no context acne; did you mean acme?",
            f"Nothing was saved yet: /wrap yes saves the session to acme; {begins}; /wrap no leaves it",
        ]
        assert "is no name of a context" in await refused(conversation, "/wrap ../out")
        assert await refused(conversation, "/wrap yes please") == (
            "/wrap yes takes nothing more; /wrap new NAME begins a context"
        )
        assert sorted(path.name for path in bench.log.iterdir()) == ["acme", "beta"]


@pytest.mark.parametrize("answer", ["no", "NO", "cancel"])
async def test_no_ends_what_was_asked_with_nothing_written(bench: Logged, answer: str) -> None:
    bench.has("acme", "# acme\n\nKeywords: checkout, stripe\n")
    work_place.switched_on(bench.root, bench.places)
    bench.saves(part("acme"))
    before = bench.files()
    async with bench.open() as conversation:
        await say(conversation, "The checkout with Stripe is flaky")
        await lines(conversation, "/wrap")
        assert await lines(conversation, f"/wrap {answer}") == ["Nothing was saved, and no context was begun"]
        assert "Nothing waits" in await refused(conversation, f"/wrap {answer}")
        assert "Nothing waits" in await refused(conversation, "/wrap yes")
        await conversation.command("/work")  # comes behind what is to be written
        (session,) = (bench.root / ".memory" / "session").iterdir()
        assert "- Status: in-progress" in session.read_text()
    assert bench.files() == before
    assert side_requests(bench) == []


async def test_answers_are_never_names_of_contexts(bench: Logged) -> None:
    bench.has("acme")
    async with bench.open() as conversation:
        await say(conversation, "Hello")
        assert "/wrap new NAME begins" in await refused(conversation, "/wrap new")
        for named in ("acme no", "new no", "new yes", "acme quick", "quick cancel", "acme new", "new new"):
            said = await refused(conversation, f"/wrap {named}")
            assert "is an answer to /wrap, so it is no name of a context" in said
    assert [path.name for path in bench.log.iterdir()] == ["acme"]
    assert side_requests(bench) == []


async def test_a_name_that_is_not_known_is_asked_about_and_yes_goes_on_with_it(bench: Logged) -> None:
    bench.has("acme")
    answers = [{"session_log": {"contexts": [part(name)]}} for name in ("telescope", "acme")]
    bench.side = [{"text": json.dumps(answer)} for answer in answers]
    async with bench.open() as conversation:
        await say(conversation, "Hello")
        begins = "telescope (which begins then)"
        assert await lines(conversation, "/wrap telescope") == [
            "There is no context telescope yet",
            f"Nothing was saved yet: /wrap yes saves the session to {begins}; /wrap no leaves it",
        ]
        assert [path.name for path in bench.log.iterdir()] == ["acme"]
        said = await lines(conversation, "/wrap yes")
        assert any(line.startswith("Saved session log to .session-log/telescope/") for line in said)
        await lines(conversation, "/wrap acmee")
        said = await lines(conversation, "/wrap yes")
        assert any(line.startswith("Saved session log to .session-log/acme/") for line in said)
    assert sorted(path.name for path in bench.log.iterdir()) == ["acme", "telescope"]


async def test_a_session_on_two_contexts_has_a_log_in_each_and_links(bench: Logged) -> None:
    bench.has("acme")
    (bench.has("beta") / f"{TODAY}.md").write_text("earlier\n")
    bench.saves(part("acme"), part("beta"), part("gamma"))
    async with bench.open() as conversation:
        await say(conversation, "Two things")
        said = await lines(conversation, "/wrap acme beta")
    assert "Not written, since you did not confirm it: a log of gamma" in said
    files = bench.files()
    assert f"See also: .session-log/beta/{TODAY}-part2.md\n" in files[f"acme/{TODAY}.md"]
    assert f"See also: .session-log/acme/{TODAY}.md\n" in files[f"beta/{TODAY}-part2.md"]
    assert files[f"beta/{TODAY}.md"] == "earlier\n"
    assert not (bench.log / "gamma").exists()


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("I saved everything!", "the answer is not JSON"),
        ("[]", "no JSON object"),
        ('{"session_log": []}', "no object under session_log"),
        ('{"session_log": {"contexts": [{"context": "acme", "summary": 3}]}}', "another form"),
        ('{"session_log": {"contexts": [{"context": "other", "summary": "x"}]}}', "says nothing of acme"),
        ('{"session_log": {"contexts": []}}', "names no context"),
    ],
)
async def test_junk_writes_nothing_and_is_said(bench: Logged, answer: str, why: str) -> None:
    bench.has("acme")
    before = bench.files()
    bench.side = [{"text": answer}]
    async with bench.open() as conversation:
        await say(conversation, "Hello")
        said = await refused(conversation, "/wrap acme")
        assert said.startswith("Nothing was saved: ")
        assert why in said
        assert (await ending(conversation, "Go on")).stop_reason == "end_turn"
    assert bench.files() == before


async def test_esc_stops_it_and_nothing_is_written(bench: Logged) -> None:
    bench.has("acme")
    before = bench.files()
    bench.saves(part("acme"), chunks=2, delay=60)
    async with bench.open() as conversation:
        await say(conversation, "Hello")
        wrapping = asyncio.create_task(conversation.command("/wrap acme"))
        async with asyncio.timeout(10):
            while not side_requests(bench):
                await asyncio.sleep(0.01)
        ran = conversation.state
        assert ran.busy
        await conversation.cancel()
        result = await asyncio.wait_for(wrapping, 10)
        assert result == Refused("The wrap-up was cancelled; nothing was written")
        assert not conversation.state.busy
    assert bench.files() == before


async def test_three_sessions_make_a_lesson_of_an_assumption_and_one_session_never_does(
    bench: Logged,
) -> None:
    seen = {"text": TEXT, "verdict": "corroborated", "independent": True, "rule": "Always wait for the event"}
    bench.has(
        "acme",
        f"# acme\n\n## Assumptions to validate\n- {TEXT} — seen 1×, last 2026-01-15, 0 counter-examples\n",
    )
    bench.saves(part("acme", assumptions=[seen]))
    async with bench.open() as conversation:
        await say(conversation, "It held")
        await lines(conversation, "/wrap acme")
        said = await lines(conversation, "/wrap acme")
        assert any("this session had its say already" in line for line in said)
        await conversation.command("/compact")  # goes on in another session, which is the same one to a tally
        said = await lines(conversation, "/wrap acme")
        assert any("this session had its say already" in line for line in said)
    assert "seen 2×" in bench.files()["acme/context.md"]
    assert "acme/LESSONS.md" not in bench.files()
    async with bench.open() as conversation:
        await say(conversation, "It held again")
        said = await lines(conversation, "/wrap acme")
    assert f"acme: “{TEXT}” became the lesson SL-001" in said
    assert any(line.endswith("Lessons extracted: 1.") for line in said)
    files = bench.files()
    assert TEXT not in files["acme/context.md"]
    assert f"**Fix:** {TEXT}\n**Prevention rule:** Always wait for the event\n" in files["acme/LESSONS.md"]


async def test_what_could_not_have_disagreed_and_what_was_contradicted(bench: Logged) -> None:
    held = f"# acme\n\n## Assumptions to validate\n- {TEXT} — seen 2×, last 2026-01-15, 0 counter-examples\n"
    bench.has("acme", held)
    bench.saves(part("acme", assumptions=[{"text": TEXT, "verdict": "corroborated", "independent": False}]))
    async with bench.open() as conversation:
        await say(conversation, "It held")
        said = await lines(conversation, "/wrap acme")
        assert any("nothing could have disagreed" in line for line in said)
    assert "seen 2×" in bench.files()["acme/context.md"]
    bench.saves(part("acme", assumptions=[{"text": TEXT, "verdict": "contradicted"}]))
    async with bench.open() as conversation:
        await say(conversation, "It did not hold")
        await lines(conversation, "/wrap acme")
    assert f"{TEXT} — seen 0×, last {TODAY}, 1 counter-examples" in bench.files()["acme/context.md"]


async def test_an_assumption_is_no_lesson_at_once(bench: Logged) -> None:
    lesson = {"title": "x", "fix": TEXT, "rule": "Always wait"}
    bench.saves(part("acme", assumptions=[{"text": TEXT}], lessons=[lesson]))
    async with bench.open() as conversation:
        await say(conversation, "I believe so")
        said = await lines(conversation, "/wrap new acme")
    assert "acme: “x” is an assumption, so it is no lesson yet" in said
    assert "acme/LESSONS.md" not in bench.files()


async def test_a_crash_between_the_two_files_of_a_graduation_loses_nothing(bench: Logged) -> None:
    folder = bench.has(
        "acme",
        f"# acme\n\n## Assumptions to validate\n- {TEXT} — seen 3×, last 2026-01-15, 0 counter-examples\n",
    )
    (folder / "LESSONS.md").write_text(
        f"# Lessons\n\n### SL-007 — x\n**Fix:** {TEXT}\n**Prevention rule:** y\n"
    )
    bench.saves(part("acme"))
    async with bench.open() as conversation:
        await say(conversation, "Go on")
        said = await lines(conversation, "/wrap acme")
    assert f"acme: “{TEXT}” is the lesson SL-007 already, and no assumption any more" in said
    assert TEXT not in (folder / "context.md").read_text()
    assert (folder / "LESSONS.md").read_text().count("###") == 1


async def test_a_file_that_takes_no_lessons_keeps_the_assumption(bench: Logged) -> None:
    held = f"# acme\n\n## Assumptions to validate\n- {TEXT} — seen 3×, last 2026-01-15, 0 counter-examples\n"
    folder = bench.has("acme", held)
    (folder / "LESSONS.md").write_text("# Lessons\n\n> Frozen: do not append.\n")
    bench.saves(FULL)
    async with bench.open() as conversation:
        await say(conversation, "Go on")
        said = await lines(conversation, "/wrap acme")
    assert ".session-log/acme/LESSONS.md takes no lessons, as it says itself: do not append" in said
    assert TEXT in (folder / "context.md").read_text()
    assert (folder / "LESSONS.md").read_text() == "# Lessons\n\n> Frozen: do not append.\n"


async def test_a_lesson_that_held_becomes_a_rule_with_consent_and_at_most_two(bench: Logged) -> None:
    old = f"{datetime.now().astimezone() - timedelta(days=40):%Y-%m-%d}"
    entries = "".join(
        f"### SL-00{n} — t{n}\n**Date:** {old}\n**Fix:** f{n}\n**Prevention rule:** Never guess {n}\n\n"
        for n in (1, 2, 3, 4)
    )
    folder = bench.has("acme")
    (folder / "LESSONS.md").write_text(f"# Lessons\n\n{entries}")
    wanted = [{"id": "SL-001"}, {"id": "SL-002", "narrows": True}, {"id": "SL-003"}, {"id": "SL-004"}]
    bench.saves(part("acme", compact=wanted))
    async with bench.open() as conversation:
        await say(conversation, "Go on")
        where = Desk(bench.settings()).where()
        rules = where.memory / "rules.md"
        rules.write_text("# Rules\n\n- Mine\n")
        said = await lines(conversation, "/wrap acme")
        assert "Waits for your yes: SL-001 becomes a rule in rules.md: Never guess 1" in said
        assert "SL-002 would narrow or soften a rule, so it was left: Never guess 2" in said
        assert "SL-004 is for another wrap-up: at most 2 become standing rules at once" in said
        assert rules.read_text() == "# Rules\n\n- Mine\n"
        said = await lines(conversation, "/wrap yes")
        assert said[:2] == [
            "project/rules.md has a new rule; /memory undo takes it back",
            "SL-001 was moved to the archive of .session-log/acme/LESSONS.md. /wrap undo takes it back",
        ]
        assert rules.read_text() == "# Rules\n\n- Mine\n- Never guess 1\n- Never guess 3\n"
        text = (folder / "LESSONS.md").read_text()
        assert text.index("### SL-002") < text.index("## Archived — compacted") < text.index("### SL-001")
        await conversation.command("/memory undo")
        assert rules.read_text() == "# Rules\n\n- Mine\n- Never guess 1\n"


def held_lesson(bench: Logged) -> tuple[Path, str]:
    """A context with a lesson that has held, which the model makes a rule of; its folder and its lessons."""
    old = f"{datetime.now().astimezone() - timedelta(days=40):%Y-%m-%d}"
    folder = bench.has("acme")
    text = f"# Lessons\n\n### SL-001 — t\n**Date:** {old}\n**Prevention rule:** Never guess\n"
    (folder / "LESSONS.md").write_text(text)
    bench.saves(part("acme", compact=[{"id": "SL-001"}]))
    return folder, text


async def test_a_lesson_that_was_changed_meanwhile_becomes_no_rule(bench: Logged) -> None:
    folder, text = held_lesson(bench)
    async with bench.open() as conversation:
        await say(conversation, "Go on")
        await lines(conversation, "/wrap acme")
        for now in (text.replace("SL-001", "SL-009"), text.replace("Never guess", "Guess")):
            (folder / "LESSONS.md").write_text(now)
            (said,) = await lines(conversation, "/wrap yes")
            assert said.startswith("Not done, and it waits on: SL-001 becomes no standing rule: ")
            assert (folder / "LESSONS.md").read_text() == now
            assert not (Desk(bench.settings()).where().memory / "rules.md").exists()


async def test_a_rule_that_cannot_be_written_waits_on_and_its_lesson_stays(bench: Logged) -> None:
    folder, text = held_lesson(bench)
    async with bench.open() as conversation:
        await say(conversation, "Go on")
        await lines(conversation, "/wrap acme")
        rules = Desk(bench.settings()).where().memory / "rules.md"
        rules.symlink_to(bench.root / "elsewhere")
        (said,) = await lines(conversation, "/wrap yes")
        assert said.startswith("Not done, and it waits on: ")
        assert (folder / "LESSONS.md").read_text() == text
        rules.unlink()
        assert (await lines(conversation, "/wrap yes"))[1].startswith("SL-001 was moved to the archive")
        assert rules.read_text() == "# Standing rules\n\n- Never guess\n"


async def test_done_items_are_a_quote_and_others_stay_where_the_person_put_them(bench: Logged) -> None:
    bench.has(
        "acme",
        "# acme\r\n\r\n## Open items\r\n* [ ] ship it\r\n* [ ] keep me\r\n\r\n## Own\r\nmine".replace(
            "\r", ""
        ),
    )
    bench.saves(part("acme", done=["Ship it", "unknown"]))
    async with bench.open() as conversation:
        await say(conversation, "Shipped")
        said = await lines(conversation, "/wrap quick acme")
    assert "acme: “unknown” is no open item here" in said
    context = bench.files()["acme/context.md"]
    assert f"> Done {TODAY}: ship it\n" in context
    assert "### Backlog\n* [ ] keep me" in context.replace("\n\n", "\n")
    assert "## Own\nmine" in context


async def test_a_place_that_will_not_last_is_said_before_anything_is_saved(bench: Logged) -> None:
    durable.MOUNTS.write_text("22 27 0:21 / / rw - tmpfs tmpfs rw\n")
    bench.saves(part("acme"))
    async with bench.open() as conversation:
        await say(conversation, "Hello")
        said = await lines(conversation, "/wrap new acme")
        assert said[0].startswith(f"Memory cannot persist here: {bench.log} lies in memory (tmpfs)")
        assert said[1] == "Nothing was saved; /wrap yes saves it there all the same, /wrap no leaves it"
        assert not bench.log.exists()
        said = await lines(conversation, "/wrap yes")
        assert any(line.startswith("Saved session log") for line in said)
        said = await lines(conversation, "/wrap")
        assert said[0].startswith(f"Memory cannot persist here: {bench.log} lies in memory (tmpfs)")
        assert said[1].startswith("This session is about acme")


async def test_in_a_hurry_a_brief_log_is_asked_for(bench: Logged) -> None:
    bench.has("acme")
    bench.saves(part("acme"))
    async with bench.open() as conversation:
        await say(conversation, "Hello")
        await lines(conversation, "/wrap quick acme")
        await lines(conversation, "/wrap acme")
    quick, whole = (request["system"] for request in side_requests(bench))
    assert "Keep it brief: the summary, what is open, what was decided." in quick
    assert "30 to 150 lines" not in quick
    assert "Keep it brief" not in whole
    assert "A log should have 30 to 150 lines." in whole


async def test_without_trust_nothing_is_read_or_written(bench: Logged) -> None:
    Trust(bench.places).remove(bench.root)
    bench.has("acme", "# acme\n\n## Facts\n- planted\n")
    before = bench.files()
    async with bench.open() as conversation:
        await say(conversation, "wrap up")
        assert "tau trust" in await refused(conversation, "/load acme")
        assert "tau trust" in await refused(conversation, "/wrap acme")
        assert (
            sum("tau trust" in line and ".session-log" in line for line in conversation.state.tool_problems)
            == 1
        )
        assert not any("/wrap" in line for line in conversation.state.tool_problems)
    assert bench.files() == before
    assert "planted" not in json.dumps(bench.requests)


# Loading --------------------------------------------------------------------------------------------

STATE = """# acme

Keywords: checkout

## Facts
- Port is 9000 ~~~ and more

## Open items

### Active
- [ ] Test refunds

### Backlog
- [ ] Write docs

### Someday / Blocked

## Assumptions to validate
- It is timing — seen 1×, last 2026-01-15, 0 counter-examples <!-- sessions: abc -->
"""


async def test_load_says_what_was_loaded_and_the_context_stands_in_prompts_from_then_on(
    bench: Logged,
) -> None:
    folder = bench.has("acme", STATE)
    bench.has("beta")
    (folder / "2026-01-14.md").write_text("# old\n\n## Open items\n- [ ] older\n")
    (folder / "2026-01-15.md").write_text("# new\n\n## Open items\n- [ ] Test refunds\n- [ ] Ask Ann\n")
    async with bench.open(name="amber") as conversation:
        assert await lines(conversation, "/load") == [
            "Which context is this session about? acme, beta, shared",
            "/load NAME reads it",
        ]
        assert await lines(conversation, "/load ACME") == [
            "Loaded acme: .session-log/acme/context.md (19 lines), .session-log/acme/2026-01-15.md",
            "Active (1):",
            "  Test refunds",
            "Backlog (1):",
            "  Write docs",
            "Assumptions (1), not yet proven:",
            "  It is timing — seen 1×, 0 against",
            "Facts (1):",
            "  Port is 9000 ~~~ and more",
            "Open in that log, and not in context.md:",
            "  Ask Ann",
            "What should we work on?",
        ]
        await say(conversation, "Hello")
        system = bench.requests[-1]["system"]
        assert "~~~~file .session-log/acme/context.md\n# acme" in system
        assert "sessions: abc" not in system
        await conversation.command("/compact")
        await say(conversation, "Still there?")
        assert "Port is 9000" in bench.requests[-1]["system"]
    async with bench.open(resume="amber") as conversation:
        await say(conversation, "And now?")
        assert "Port is 9000" in bench.requests[-1]["system"]
        assert (await lines(conversation, "/load"))[0].startswith("Loaded acme")
    async with bench.open() as conversation:
        await say(conversation, "Another session")
        assert "Port is 9000" not in bench.requests[-1]["system"], "contexts do not bleed into each other"


async def test_what_another_context_holds_stands_in_no_prompt(bench: Logged) -> None:
    for name in ("acme", "beta"):
        bench.has(name, f"# {name}\n\nKeywords: {name}ish\n\n## Facts\n- secret of {name}\n")
    bench.saves(part("acme"), part("beta"))
    async with bench.open() as conversation:
        await say(conversation, "Hello")
        assert "secret of" not in bench.requests[-1]["system"]
        for name, other in (("acme", "beta"), ("beta", "acme")):
            await lines(conversation, f"/load {name}")
            await say(conversation, "Go on")
            system = bench.requests[-1]["system"]
            assert f"secret of {name}" in system
            assert f"secret of {other}" not in system
        await lines(conversation, "/wrap acme")
    [asked] = side_requests(bench)
    assert "secret of acme" in json.dumps(asked)
    assert "secret of beta" not in json.dumps(asked)


async def test_load_without_files_says_so_and_offers_to_set_up_at_the_end(bench: Logged) -> None:
    async with bench.open() as conversation:
        (said,) = await lines(conversation, "/load")
        assert said.startswith(
            f"There is no session log yet: {bench.log} was not found; at the end of the session"
        )
        assert "/wrap new NAME sets one up" in said


async def test_load_of_a_name_without_any_context_says_so_as_load_alone_does(bench: Logged) -> None:
    bench.log.mkdir()
    async with bench.open() as conversation:
        (alone,) = await lines(conversation, "/load")
        named = await refused(conversation, "/load acme")
    at_the_end = alone.removeprefix("There is no context yet: ")
    assert named == (
        "There is no context acme: .session-log/acme was looked for; there is none yet: " + at_the_end
    )


async def test_a_session_that_is_continued_says_which_context_it_is_about(bench: Logged) -> None:
    bench.has("acme")
    async with bench.open() as conversation:
        await say(conversation, "Hello")
        await lines(conversation, "/load acme")
    async with bench.open(resume="") as conversation:
        told = "This session is about the context acme (.session-log/acme); /load NAME takes another"
        await until(lambda: told in conversation.state.tool_problems)


async def test_a_failed_read_says_what_was_tried_and_no_theory(bench: Logged) -> None:
    bench.has("acme")
    async with bench.open() as conversation:
        assert await refused(conversation, "/load gamma") == (
            "There is no context gamma: .session-log/gamma was looked for; there are: acme, shared"
        )
        (bench.log / "acme" / "context.md").unlink()
        said = await lines(conversation, "/load acme")
        assert said[:3] == [
            "Nothing of acme was loaded",
            ".session-log/acme/context.md was not found; why is not known",
            ".session-log/acme has no dated log yet",
        ]
        (bench.log / "acme" / "context.md").mkdir()
        assert "cannot be read: not a regular file" in await refused(conversation, "/load acme")


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("Wrap up, please.", "/wrap saves"),
        ("session log for Acme", "/wrap acme saves"),
        ("save what we did", "/wrap saves"),
        ("OK, end of session", "/wrap saves what was done in this session, /wrap quick briefly"),
        ("Pick up where we left off!", "/load reads"),
        ("load my context", "/load reads"),
        ("What did we work on last time?", "/load reads"),
        ("what's the status of acme", "/load acme reads"),
        ("what is the status of acme?", "/load acme reads"),
        ("Whats the status on the Acme", "/load acme reads"),
        ("load my acme context", "/load acme reads"),
        ("Load the context of acme.", "/load acme reads"),
        ("pick up where we left off with acme", "/load acme reads"),
        ("let's wrap this up", "/wrap saves"),
        ("Can we wrap things up for today?", "/wrap saves"),
        ("Wrap up this session", "/wrap saves"),
        ("wrap acme up", "/wrap acme saves"),
        ("Let’s wrap up the acme session", "/wrap acme saves"),
        ("What’s the status of the build?", ""),
        ("what is the status of beta", ""),
        ("wrap the present up", ""),
        ("load my settings", ""),
        ("remember this", ""),
        ("Wrap up the function in a class", ""),
    ],
)
async def test_phrases_offer_the_command_and_are_sent_all_the_same(
    bench: Logged, text: str, offered: str
) -> None:
    bench.has("acme")
    async with bench.open() as conversation:
        events = await say(conversation, text)
        assert isinstance(events[-1], TurnEnd)
        assert events[-1].stop_reason == "end_turn"
        told = [each.text for each in events if isinstance(each, Notice)]
        assert len(told) == bool(offered)
        assert all(line.startswith(offered) for line in told)
        assert isinstance(events[0], TurnStarted), "it is said below the message"
    assert text in json.dumps(bench.requests[-1]["messages"], ensure_ascii=False)


async def test_the_contexts_are_offered_at_the_start_unless_one_is_loaded(bench: Logged) -> None:
    bench.has("acme")
    bench.has("beta")
    offered = "Session log of acme, beta: /load NAME reads what was left open"
    async with bench.open(name="amber") as conversation:
        await say(conversation, "Hello")
        assert list(conversation.state.tool_problems).count(offered) == 1
        await lines(conversation, "/load acme")
    async with bench.open(resume="amber") as conversation:
        await say(conversation, "Hello")
        assert offered not in conversation.state.tool_problems


async def test_of_a_context_that_is_too_long_for_prompts_what_can_wait_is_left_out_and_said(
    bench: Logged,
) -> None:
    facts = "".join(f"- fact {number} {'x' * 60}\n" for number in range(100))
    backlog = "".join(f"- [ ] later {number} {'x' * 60}\n" for number in range(180))
    bench.has(
        "acme",
        f"# acme\n\nKeywords: checkout\n\n## Facts\n{facts}\n## Open items\n\n### Active\n"
        f"- [ ] SHIP TODAY\n\n### Backlog\n{backlog}\n### Someday / Blocked\n- [ ] some day\n",
    )
    async with bench.open() as conversation:
        await lines(conversation, "/load acme")
        await say(conversation, "Hello")
        system = bench.requests[-1]["system"]
        assert all(
            there in system for there in ("Keywords: checkout", "- fact 99 ", "SHIP TODAY", "later 0 ")
        )
        assert "later 179 " not in system
        assert "some day" not in system
        [told] = [line for line in conversation.state.tool_problems if line.startswith("Not loaded of")]
    gone = 180 - system.count("- [ ] later ")
    assert told == (
        "Not loaded of .session-log/acme/context.md, which is longer than 12,000 characters: "
        f"1 line of Someday / Blocked, {gone} lines of Backlog"
    )


# Both memories, and what cannot be written ----------------------------------------------------------


def has_memory(bench: Logged) -> Path:
    work_place.make(WorkPlace(bench.root))
    return bench.root / ".memory" / "long-term.md"


LEARNED = {"scan": "struggle", "section": "Learned Rules", "text": "Always freeze the clock"}


async def test_one_wrap_closes_both_and_a_lesson_has_one_owner(bench: Logged) -> None:
    long_term = has_memory(bench)
    bench.has("acme")
    lessons = [
        {"title": "x", "fix": "y", "rule": "always freeze the clock."},
        {"title": "Refunds", "fix": "Use the second endpoint", "rule": "Never refund twice"},
    ]
    answer = {
        "memory": {"lessons": [LEARNED], "prune": []},
        "session_log": {"contexts": [part("ACME", lessons=lessons)]},
    }
    bench.side = [{"text": json.dumps(answer)}]
    async with bench.open() as conversation:
        await say(conversation, "Freeze the clock, always")
        said = await lines(conversation, "/wrap acme")
    (request,) = side_requests(bench)
    assert 'The key "memory":' in request["system"]
    assert 'The key "session_log":' in request["system"]
    assert "Always freeze the clock" in long_term.read_text()
    assert any(line.startswith("Saved session log to .session-log/acme/") for line in said)
    assert any(line.endswith("Lessons extracted: 1.") for line in said)
    assert "Never refund twice" in bench.files()["acme/LESSONS.md"]
    assert "freeze" not in bench.files()["acme/LESSONS.md"]


async def test_with_memory_alone_no_context_is_asked_for(bench: Logged) -> None:
    long_term = has_memory(bench)
    bench.side = [{"text": json.dumps({"memory": {"lessons": [LEARNED], "prune": []}})}]
    async with bench.open() as conversation:
        await say(conversation, "Freeze the clock, always")
        await lines(conversation, "/wrap")
    assert "Always freeze the clock" in long_term.read_text()
    assert not bench.log.exists()


async def test_with_neither_the_ways_to_begin_are_named(bench: Logged) -> None:
    async with bench.open() as conversation:
        assert (
            await refused(conversation, "/wrap") == "Nothing is saved: nothing was said in this session yet"
        )
        await say(conversation, "Hello")
        said = await refused(conversation, "/wrap")
        assert said.startswith("There is nothing to save into yet: /wrap ")
        assert said.endswith("tau init --memory makes .memory/")


async def test_a_file_that_takes_no_writes_is_said_with_what_was_saved(bench: Logged) -> None:
    folder = bench.has("acme")
    (folder / "context.md").chmod(0o444)
    bench.saves(FULL)
    async with bench.open() as conversation:
        await say(conversation, "Hello")
        said = await lines(conversation, "/wrap acme")
    assert f".session-log/acme/{TODAY}.md was written" in said
    assert any("was not saved whole" in line and "write-protected" in line for line in said)
    assert not any(line.startswith("Saved session log") for line in said)


async def test_a_session_that_cannot_be_set_done_is_said_with_what_was_saved(bench: Logged) -> None:
    long_term = has_memory(bench)
    bench.side = [{"text": json.dumps({"memory": {"lessons": [LEARNED], "prune": []}})}]
    async with bench.open() as conversation:
        await say(conversation, "Freeze the clock, always")
        (file,) = await until(lambda: list((bench.root / ".memory" / "session").glob("*.md")))
        await lines(conversation, "/work")  # what is to be logged is
        file.chmod(0o444)
        said = await lines(conversation, "/wrap")
        file.chmod(0o644)
    assert "Always freeze the clock" in long_term.read_text()
    assert "Recorded in Learned Rules: Always freeze the clock" in said
    assert any(
        line.startswith("Not saved: The session is not set done: ") and "write-protected" in line
        for line in said
    )
    assert not any("Nothing was saved" in line for line in said)


async def test_no_desk_writes_when_the_part_of_another_cannot_be_used(bench: Logged) -> None:
    long_term = has_memory(bench)
    bench.has("acme")
    before = bench.files(), long_term.read_bytes()
    answer = {"memory": {"lessons": [LEARNED], "prune": []}, "session_log": {"contexts": [{"context": 3}]}}
    bench.side = [{"text": json.dumps(answer)}]
    async with bench.open() as conversation:
        await say(conversation, "Freeze the clock, always")
        assert (await refused(conversation, "/wrap acme")).startswith("Nothing was saved: ")
        (file,) = (bench.root / ".memory" / "session").glob("*.md")
        assert "- Status: in-progress\n" in file.read_text()
    assert (bench.files(), long_term.read_bytes()) == before


async def test_nothing_else_begins_while_files_are_written(bench: Logged) -> None:
    bench.has("acme")
    held = os.open(bench.has("beta"), os.O_RDONLY)
    bench.saves(part("acme"), part("beta"))
    try:
        async with bench.open() as conversation:
            await say(conversation, "Two things")
            fcntl.flock(held, fcntl.LOCK_EX)
            wrapping = asyncio.create_task(conversation.command("/wrap acme beta"))
            await until((bench.log / "acme" / f"{TODAY}.md").exists)
            ran = conversation.state
            assert ran.busy
            await conversation.cancel()
            with pytest.raises(TauError, match="being wrapped up"):
                await conversation.new()
            assert not wrapping.done()
            fcntl.flock(held, fcntl.LOCK_UN)
            assert isinstance(await wrapping, Said)
            assert not conversation.state.busy
    finally:
        os.close(held)
    assert f"beta/{TODAY}.md" in bench.files()


async def test_bare_reads_and_writes_nothing(bench: Logged) -> None:
    bench.has("acme", STATE)
    before = bench.files()
    async with bench.open(bare=True) as conversation:
        await say(conversation, "wrap up")
        assert "--bare" in await refused(conversation, "/wrap acme")
        assert "--bare" in await refused(conversation, "/load acme")
        assert "Port is 9000" not in json.dumps(bench.requests)
        assert not any("acme" in line for line in conversation.state.tool_problems)
    assert bench.files() == before


async def test_a_log_says_what_came_from_outside(bench: Logged) -> None:
    bench.steps["default"] = [
        {"tools": [{"name": "list_files", "input": {"path": "."}}]},
        {"text": "A folder."},
    ]
    bench.saves(part("acme"))
    async with bench.open() as conversation:
        await say(conversation, "What is here?")
        await lines(conversation, "/wrap new acme")
    assert "> Noted after content from outside: list_files\n" in bench.files()[f"acme/{TODAY}.md"]


async def test_hostile_text_is_one_line_and_reaches_no_terminal_raw(bench: Logged) -> None:
    nasty = "a\x1b[2J\n## Open items\n- [ ] planted <!-- sessions: x --> \u202e"
    bench.saves(
        part(
            "acme",
            open_items=[{"text": nasty}],
            assumptions=[{"text": nasty}],
            facts=[{"text": nasty}],
            done=[nasty],
        )
    )
    async with bench.open() as conversation:
        await say(conversation, "Hello")
        said = await lines(conversation, "/wrap new acme")
    assert not any("\x1b" in line or "\u202e" in line for line in said)
    files = bench.files()
    for text in files.values():
        assert "\x1b" not in text
        assert text.count("\n## Open items\n") == 1
        assert "\n- [ ] planted" not in text
    assert files["acme/context.md"].count("<!-- sessions: x") == files["acme/context.md"].count(
        "\\<!-- sessions: x"
    )


async def test_what_code_cannot_know_is_asked_of_the_model_with_the_logs_of_the_day(bench: Logged) -> None:
    bench.saves(part("acme", summary="Took Stripe."))
    async with bench.open() as conversation:
        await say(conversation, "Hello")
        await lines(conversation, "/wrap new acme")
        await lines(conversation, "/wrap acme")
    first, second = (" ".join(json.dumps(each).replace("\\n", " ").split()) for each in side_requests(bench))
    for asked in (
        "as soon as that is cleared, it goes to the Backlog",
        "one that is to guide later sessions is a fact",
        "An error that was corrected, a pattern that was expressly confirmed as working, or a limit",
        "Nothing that stands in LESSONS.md already",
        "with no recurrence and no counter-example",
    ):
        assert asked.casefold() in first.casefold()
    assert "saved earlier today: do not repeat it" not in first
    assert f".session-log/acme/{TODAY}.md, saved earlier today: do not repeat it" in second
    assert "Took Stripe." in second


async def test_the_whole_conversation_is_read_also_before_a_summary(bench: Logged) -> None:
    bench.has("acme")
    answer = {"session_log": {"contexts": [part("acme")]}}
    bench.side = [{"text": "They spoke of a bird."}, {"text": "Of birds."}, {"text": json.dumps(answer)}]
    async with bench.open() as conversation:
        for text in ("The quokka is a marsupial", "The bilby is one, too"):
            await say(conversation, text)
            await conversation.command("/compact")
        await say(conversation, "And the numbat")
        await lines(conversation, "/wrap acme")
    asked = side_requests(bench)[-1]["messages"][0]["content"][0]["text"]
    assert [asked.count(word) for word in ("quokka", "bilby", "numbat")] == [1, 1, 1]
    assert "birds" not in asked, "what was said stands in place of its summaries"


async def test_a_fact_that_becomes_shared_leaves_its_context(bench: Logged) -> None:
    bench.has("acme", "# acme\n\n## Facts\n- CI is slow on Mondays\n- Port is 9000\n")
    fact = {"text": "CI is slow on Mondays."}
    bench.saves(part("acme", facts=[fact]), shared={"facts": [fact]})
    async with bench.open() as conversation:
        await say(conversation, "It is so everywhere")
        said = await lines(conversation, "/wrap acme")
    files = bench.files()
    assert "Mondays" not in files["acme/context.md"]
    assert "- Port is 9000\n" in files["acme/context.md"]
    assert files["shared/context.md"].count("Mondays") == 1
    assert "acme: “CI is slow on Mondays” moved to .session-log/shared/context.md" in said


async def test_a_fact_that_shared_does_not_take_stays_where_it_is(bench: Logged) -> None:
    bench.has("acme", "# acme\n\n## Facts\n- CI is slow on Mondays\n")
    fact = {"text": "CI is slow on Mondays", "old": "no such fact"}
    bench.saves(part("acme", facts=[{"text": "Port is 9000"}]), shared={"facts": [fact]})
    async with bench.open() as conversation:
        await say(conversation, "It is so everywhere")
        said = await lines(conversation, "/wrap acme")
    assert "- CI is slow on Mondays\n" in bench.files()["acme/context.md"]
    assert not any("moved to" in line for line in said)
    assert "shared: “no such fact” is no fact here, so it was not changed" in said
    assert "acme: “Port is 9000” is a new fact" in said


async def test_a_shared_fact_is_not_written_into_a_context_as_well(bench: Logged) -> None:
    bench.has("acme")
    bench.has("shared", "# shared\n\n## Facts\n- CI is slow on Mondays\n")
    new = {"text": "Deploys from main"}
    bench.saves(part("acme", facts=[{"text": "CI is slow on Mondays."}, new]), shared={"facts": [new]})
    async with bench.open() as conversation:
        await say(conversation, "It is so everywhere")
        said = await lines(conversation, "/wrap acme")
    files = bench.files()
    assert "Mondays" not in files["acme/context.md"]
    assert "Deploys" not in files["acme/context.md"]
    assert files["shared/context.md"].count("Deploys") == 1
    assert "acme: “CI is slow on Mondays.” has its place in another file already" in said


async def test_every_change_is_a_line(bench: Logged) -> None:
    bench.has(
        "acme",
        "# acme\n\n## Facts\n- Port is 8000\n- Old\n- Kept\n- Kept, too\n"
        "\n## Open items\n\n### Active\n- [ ] ship it\n- [ ] write docs\n"
        f"\n## Assumptions to validate\n- {TEXT} — seen 1×\n",
    )
    bench.saves(
        part(
            "acme",
            keywords=["stripe"],
            facts=[{"text": "Port is 9000", "old": "Port is 8000"}, {"old": "Old"}],
            done=["ship it"],
            open_items=[{"text": "write docs", "tier": "Backlog"}, {"text": "call Ann"}],
            assumptions=[{"text": TEXT, "verdict": "corroborated", "independent": True}],
            lessons=[{"title": "Freeze it", "fix": "Freeze", "rule": "Always freeze"}],
        )
    )
    async with bench.open() as conversation:
        await say(conversation, "Go on")
        said = await lines(conversation, "/wrap quick acme")
    saved = (
        f"Saved session log to .session-log/acme/{TODAY}.md and updated context. "
        "Open items: write docs; call Ann. Lessons extracted: 1."
    )
    assert said == [
        "acme: “Freeze it” is the new lesson SL-001: Always freeze",
        "acme: it is known by its keywords from now on: stripe",
        "acme: “ship it” is done",
        "acme: “write docs” moved from Active to Backlog",
        "acme: “call Ann” is a new open item in Backlog",
        f"acme: “{TEXT}” was seen once more",
        "acme: “Port is 8000” is now “Port is 9000”",
        "acme: “Old” was taken out of the facts",
        saved,
        "/wrap undo takes it back",
    ]
    files = bench.files()
    assert "> Done: ship it\n" in files[f"acme/{TODAY}.md"], "the quote in context.md goes with another day's"
    assert "write docs" in files[f"acme/{TODAY}.md"]


async def test_what_shared_has_done_is_in_a_log(bench: Logged) -> None:
    bench.has("acme")
    bench.has(
        "shared", "# shared\n\n## Open items\n\n### Active\n- [ ] renew the domain\n- [x] ticked by hand\n"
    )
    bench.saves(part("acme"), shared={"done": ["Renew the domain"]})
    async with bench.open() as conversation:
        await say(conversation, "Renewed")
        said = await lines(conversation, "/wrap acme")
    files = bench.files()
    assert "shared: “renew the domain” is done" in said
    assert said[-2].startswith("Saved session log"), "that comes last"
    assert said[-1] == "/wrap undo takes it back"
    assert f"> Done {TODAY}: renew the domain; ticked by hand\n" in files["shared/context.md"]
    assert "> Done: renew the domain; ticked by hand\n" in files[f"acme/{TODAY}.md"]


async def test_what_was_ticked_in_shared_is_in_a_log_when_only_facts_are_said_of_it(bench: Logged) -> None:
    bench.has("acme")
    bench.has("shared", "# shared\n\n## Open items\n\n### Active\n- [x] ticked by hand\n")
    bench.saves(part("acme"), shared={"facts": [{"text": "CI is slow"}]})
    async with bench.open() as conversation:
        await say(conversation, "Hello")
        await lines(conversation, "/wrap acme")
    files = bench.files()
    assert "[x] ticked by hand" not in files["shared/context.md"]
    assert "> Done: ticked by hand\n" in files[f"acme/{TODAY}.md"]


async def test_what_is_kept_after_content_from_outside_is_to_be_looked_at(bench: Logged) -> None:
    bench.steps["default"] = [
        {"tools": [{"name": "list_files", "input": {"path": "."}}]},
        {"text": "A folder."},
    ]
    bench.saves(part("acme", facts=[{"text": "Port is 9000"}]))
    told = "Look at what was recorded: in this session content came from outside (list_files)"
    async with bench.open() as conversation:
        await say(conversation, "What is here?")
        assert told in await lines(conversation, "/wrap new acme")
    async with bench.open() as conversation:
        await say(conversation, "Hello")
        assert told not in await lines(conversation, "/wrap acme")


async def test_what_a_part_says_without_a_summary_is_kept(bench: Logged) -> None:
    bench.has("acme")
    bench.saves({"context": "acme", "decisions": ["Took Stripe"], "open_items": [{"text": "call Ann"}]})
    async with bench.open() as conversation:
        await say(conversation, "Hello")
        said = await lines(conversation, "/wrap acme")
    assert "acme: the model gave no summary; the rest of its answer is in the log" in said
    files = bench.files()
    assert "## What we did\nNone.\n\n## Decisions made\n- Took Stripe\n" in files[f"acme/{TODAY}.md"]
    assert "- [ ] call Ann\n" in files["acme/context.md"]


async def test_an_unknown_assumption_is_new_whatever_it_is_called_and_an_item_stays_in_its_tier(
    bench: Logged,
) -> None:
    bench.has("acme", "# acme\n\n## Open items\n\n### Active\n- [ ] call Ann\n")
    bench.saves(
        part(
            "acme",
            assumptions=[{"text": TEXT, "verdict": "corroborated"}],
            open_items=[{"text": "Call Ann"}],
        )
    )
    async with bench.open() as conversation:
        await say(conversation, "Hello")
        said = await lines(conversation, "/wrap acme")
    files = bench.files()
    assert f"acme: “{TEXT}” is a new assumption" in said
    assert f"- {TEXT} — seen 1×, last {TODAY}, 0 counter-examples" in files["acme/context.md"]
    assert f"## Assumptions to validate\n- {TEXT}\n" in files[f"acme/{TODAY}.md"]
    assert "### Active\n- [ ] call Ann\n" in files["acme/context.md"]


async def test_all_of_a_rule_is_shown_before_it_becomes_one(bench: Logged) -> None:
    old = f"{datetime.now().astimezone() - timedelta(days=40):%Y-%m-%d}"
    rule, longer = "Never " + "x" * 1_500 + " at the end", "Never " + "y" * 2_000
    (bench.has("acme") / "LESSONS.md").write_text(
        f"# Lessons\n\n### SL-001 — t\n**Date:** {old}\n**Prevention rule:** {rule}\n\n---\n"
        f"\n### SL-002 — t\n**Date:** {old}\n**Prevention rule:** {longer}\n"
    )
    bench.saves(part("acme", compact=[{"id": "SL-001"}, {"id": "SL-002"}]))
    async with bench.open() as conversation:
        await say(conversation, "Go on")
        said = await lines(conversation, "/wrap acme")
    assert f"Waits for your yes: SL-001 becomes a rule in rules.md: {rule}" in said
    assert "Not made a standing rule: the rule of SL-002 is longer than 2,000 characters" in said


async def test_files_leave_the_conversation_room_in_a_small_window(bench: Logged) -> None:
    long_term = has_memory(bench)
    long_term.write_text("## Preferences\n\n- the first\n" + "- kept ~~~ entry\n" * 4_000 + "- the last\n")
    facts = "".join(f"- fact {number}\n" for number in range(900))
    bench.has("acme", f"# acme\n\n## Facts\n{facts}\n## Open items\n\n### Active\n- [ ] the newest\n")
    bench.has("shared", "# shared\n\n## Facts\n- a short one\n")
    bench.model["context_window"] = 8_000
    answer = {"memory": {"lessons": [], "prune": []}, "session_log": {"contexts": [part("acme")]}}
    bench.side = [{"text": json.dumps(answer)}]
    async with bench.open() as conversation:
        await say(conversation, "The quokka is a marsupial")
        assert any(line.startswith("Saved session log") for line in await lines(conversation, "/wrap acme"))
    asked = side_requests(bench)[-1]["messages"][0]["content"][0]["text"]
    assert len(asked) < 8_000 * 2
    for kept in ("the last", "the newest", "# shared", "a short one", "quokka"):
        assert kept in asked
    assert asked.count("[the beginning is left out]") == 2
    assert "- the first" not in asked
    fences = [line for line in asked.splitlines() if line.startswith("~~~")]
    assert len(fences) % 2 == 0, "what is shortened is closed"


async def test_what_shared_cannot_take_is_said_and_the_contexts_are_saved(bench: Logged) -> None:
    bench.has("acme", "# acme\n\n## Facts\n- CI is slow on Mondays\n")
    (bench.has("shared") / "context.md").chmod(0o444)
    bench.saves(
        part("acme", open_items=[{"text": "call Ann"}]), shared={"facts": [{"text": "CI is slow on Mondays"}]}
    )
    async with bench.open() as conversation:
        await say(conversation, "It is so everywhere")
        said = await lines(conversation, "/wrap acme")
    assert any("was not saved whole" in line and "write-protected" in line for line in said)
    assert any(line.startswith("Saved session log to .session-log/acme/") for line in said)
    context = bench.files()["acme/context.md"]
    assert "- [ ] call Ann\n" in context
    assert "- CI is slow on Mondays\n" in context
