"""The facts that a summary lacks are listed to the letter, within a budget, again and again."""

from __future__ import annotations

import time
import unicodedata
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.facts import ELEVEN, SUMMARY, Fact, facts
from tau.agent.anchor_budget import TOKEN, cost
from tau.agent.anchor_list import HEADINGS, Source
from tau.agent.anchor_reading import SUMMARY_STARTS
from tau.agent.anchors import WIDTHS, anchors
from tau.agent.window_summary import note

Message = dict[str, Any]


def person(text: str) -> Message:
    return {"role": "user", "content": [{"text": text}]}


def model(text: str) -> Message:
    return {"role": "assistant", "content": [{"text": text}]}


def call(name: str, given: Any) -> Message:
    return {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t", "name": name, "input": given}}]}


def result(text: str) -> Message:
    block = {"toolUseId": "t", "status": "success", "content": [{"text": text}]}
    return {"role": "user", "content": [{"toolResult": block}]}


def compacted(listed: str) -> list[Message]:
    """How a compaction's new session begins."""
    return [
        person(f"{SUMMARY_STARTS[0]} (session 20260101-000000-abcd):\n\n{SUMMARY}\n\n{listed}"),
        model("Understood. I will continue from this summary."),
    ]


def turns(stated: list[Fact] | tuple[Fact, ...], *between: Message) -> list[Message]:
    made: list[Message] = []
    for fact in stated:
        made += [person(fact.said), *between, model("Thanks. I go on with the failing job.")]
    return made


def kept(stated: list[Fact] | tuple[Fact, ...], listed: str) -> list[Fact]:
    return [fact for fact in stated if all(value in listed for value in fact.values)]


LOG = result(
    "".join(
        f"2026-05-01 12:00:{at % 60:02} worker-{at} /srv/app/part{at}.py:{at} took {at} ms\n"
        for at in range(900)
    )
)


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("See https://quail.example/a?b=c&d=1#e for more.", "https://quail.example/a?b=c&d=1#e"),
        ("The log goes to /var/log/quail/app.log there.", "/var/log/quail/app.log"),
        ("Look into tau/agent/hooks.py:44, please.", "tau/agent/hooks.py:44"),
        ("It is all in notes.md somewhere.", "notes.md"),
        (r"On Windows it is C:\Users\ana\quail.ini instead.", r"C:\Users\ana\quail.ini"),
        ("It broke in 3f2a91c, I believe.", "3f2a91c"),
        (
            "The key is SHA256:nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8 there.",
            "SHA256:nThbg6kXUpJWGl7E1IGO",
        ),
        ("The run was 6f1c2f0e-4a1b-4b7e-9d53-0f5f0a9f2b11 then.", "6f1c2f0e-4a1b-4b7e-9d53-0f5f0a9f2b11"),
        ("It is due on 2027-03-14, as said.", "2027-03-14"),
        ("It is due on 14 March 2027, as said.", "14 March 2027"),
        ("The call is at 15:30 with them.", "15:30"),
        ("We are on v2.4.1-rc1 for now.", "v2.4.1-rc1"),
        ("It runs on 10.0.3.17:8443 inside.", "10.0.3.17:8443"),
        ("Redis is at cache-host:6379 as ever.", "cache-host:6379"),
        ("It listens on port 5433 here.", "port 5433"),
        ("We keep them 30 days at most.", "30 days"),
        ("The limit is 512 MB for each.", "512 MB"),
        ("We keep them for 30/90 days.", "30/90 days"),
        ("It has 3 replicas now.", "3 replicas"),
        ("All of it lives in eu-central-1 today.", "eu-central-1"),
        ("The job keeps 14 daily and 8 weekly ones.", "14 daily and 8 weekly"),
        ("Rename it to parse_rates everywhere.", "parse_rates"),
        ("Rename it to parseRates everywhere.", "parseRates"),
        ("It needs QUAIL_HOME_DIR to be there.", "QUAIL_HOME_DIR"),
        ("Set $QUAIL_ENV first, then go on.", "$QUAIL_ENV"),
        ("It is quail.rates.Loader that fails.", "quail.rates.Loader"),
        ('The label has to be "Pay now" from today.', '"Pay now"'),
        ("The switch is `strict` there.", "`strict`"),
        ("Then `make dist` has to pass.", "`make dist`"),
        ("I run pytest -x --timeout=30 tests/jobs before that.", "pytest -x --timeout=30 tests/jobs"),
        ("--strict is what it needs.", "--strict"),
        ("Ask Priya Raghavan about it.", "Priya Raghavan"),
        ("Priya Raghavan is our release manager.", "Priya Raghavan"),
        ("You can ask Priya about it.", "Priya"),
        ("Write to ops@quail.example then.", "ops@quail.example"),
        ("It is QUAIL-482 in the tracker.", "QUAIL-482"),
        ("Der Port der Datenbank ist 5433 und bleibt so.", "5433"),
        ("Die Frist läuft am 3. März 2027 ab.", "3. März 2027"),
        ("Frag bitte Herrn Jonas Weber, der kennt das Projekt und die Kunden.", "Jonas Weber"),
        ("数据库端口是5433，名称为 ledger_prod。", "5433"),
        ("到期日是2027年3月14日。", "2027年3月14日"),
        ("区域是「上海二区」。", "上海二区"),
    ],
)
def test_a_fact_of_each_kind_is_found_with_the_words_around_it(said: str, value: str) -> None:
    listed = anchors([person(said)], SUMMARY, tokens=200)

    assert value in listed
    assert listed.startswith(HEADINGS[Source.PERSON])
    assert anchors([person(said)], f"They said: {said}", tokens=200) == ""


@pytest.mark.parametrize(
    "said",
    [
        "Please go on and tell me what you find.",
        "Yes, I think so. However, it is and/or a well-known read-only thing.",
        "1. first this\n2. then that",
        "Das ist der Fehler, und die Lösung ist nicht im Code.",
    ],
)
def test_ordinary_words_are_no_facts(said: str) -> None:
    assert anchors([person(said)], "", tokens=200) == ""


@pytest.mark.parametrize("between", [(), (call("shell", {"command": "cat app.log"}), LOG)])
def test_eleven_facts_of_eleven_turns_are_listed_through_three_rounds(between: tuple[Message, ...]) -> None:
    messages = turns(ELEVEN, *between)
    for _ in range(3):
        listed = anchors(messages, SUMMARY, tokens=1000)
        assert kept(ELEVEN, listed) == list(ELEVEN)
        messages = [*compacted(listed), person("Go on."), *between, model("I do.")]


def test_of_200_facts_over_three_rounds_as_many_are_kept_as_have_room() -> None:
    stated = facts(200)
    for tokens, least in ((1000, 60), (4000, 200)):
        before: list[Message] = []
        for part in (stated[:67], stated[67:134], stated[134:]):
            listed = anchors(before + turns(part), SUMMARY, tokens=tokens)
            before = compacted(listed)
        assert len(kept(stated, listed)) >= least
        assert cost(listed) <= tokens * TOKEN


def test_ten_rounds_neither_change_nor_repeat_nor_nest_the_list() -> None:
    first = anchors(
        [*turns(ELEVEN), call("shell", {"command": "make dist"}), call("read_file", {"path": "a/b.py"})],
        SUMMARY,
        tokens=1000,
    )
    listed = first
    for _ in range(10):
        listed = anchors(compacted(listed), SUMMARY, tokens=1000)
    assert listed == first


def test_what_is_new_stands_before_what_an_earlier_list_holds_and_both_before_tools() -> None:
    earlier = anchors(
        [person("The old port is 5433 there."), call("shell", {"command": "make old"})], "", tokens=500
    )
    messages = [
        *compacted(earlier),
        person("The new port is 6544 there."),
        model("The file is new/model.py then."),
        call("shell", {"command": "make new"}),
        result("see /found/by/tool.py"),
    ]

    listed = anchors(messages, "", tokens=500)

    order = ["6544", "5433", "new/model.py", "make new", "make old", "/found/by/tool.py"]
    places = [listed.index(value) for value in order]
    assert places == sorted(places)


def test_facts_of_the_summary_are_left_out_and_numbers_count_as_whole_numbers() -> None:
    messages = [
        person("The port is 5433 now."),
        person("The file is tau/a.py then."),
        person("We keep 30 days."),
    ]

    listed = anchors(messages, "Port 15433, TAU/A.PY, tau/a.pyi, kept 30 days.", tokens=500)

    assert "5433" in listed
    assert "tau/a.py" in listed
    assert "30 days" not in listed


def test_a_small_number_is_not_known_because_it_stands_elsewhere() -> None:
    said = person("The backups stay for 30 days.")

    assert "30 days" in anchors([said], "It took 30 minutes to find the cause of the failure.", tokens=200)


def test_a_long_result_does_not_crowd_out_facts() -> None:
    said = person("The port is 5433 now.")
    listed = anchors([said, call("shell", {"command": "cat app.log"}), LOG], "", tokens=1000)

    assert "5433" in listed
    assert "$ cat app.log" in listed
    assert listed.count("/srv/app/") <= 8


def test_under_a_tight_budget_the_last_line_counts_what_is_left_out() -> None:
    listed = anchors(turns(facts(200)), SUMMARY, tokens=100)

    lines = listed.splitlines()
    assert cost(listed) <= 100 * TOKEN
    assert int(lines[-1].split()[2]) == 200 - len(lines) + 2
    assert lines[-1] == f"… and {200 - len(lines) + 2} more; recall finds them"


def test_what_had_no_room_stays_counted_when_the_list_is_carried_on() -> None:
    stated = facts(60)
    listed = ""
    for at in range(0, 60, 6):
        listed = anchors([*compacted(listed), *turns(stated[at : at + 6])], SUMMARY, tokens=150)

    assert cost(listed) <= 150 * TOKEN
    counted = int(listed.splitlines()[-1].split()[2])
    assert counted == 60 - len(kept(stated, listed)) > 40


@pytest.mark.parametrize("facts_too", [True, False])
@pytest.mark.parametrize("after_summary", [True, False])
def test_a_note_on_what_is_not_shown_says_nothing_anybody_said(after_summary: bool, facts_too: bool) -> None:
    said = note(4_812, after_summary=after_summary, facts=facts_too)
    listed = anchors([person("The port is 5433 there.")], "", tokens=200)

    assert anchors([person(f"{said}\n\n{listed}")], "", tokens=200) == listed


@pytest.mark.parametrize("tokens", [0, -1, 5])
def test_no_budget_no_list(tokens: int) -> None:
    assert anchors(turns(ELEVEN), SUMMARY, tokens=tokens) == ""


def test_a_long_sentence_is_cut_to_the_clause_around_its_fact() -> None:
    said = (
        "I have been thinking about it the whole weekend and asked around a little, the billing database "
        "listens on port 5433 in staging, but nobody could tell me why it was ever done that way."
    )

    listed = anchors([person(said)], "", tokens=500)

    line = listed.splitlines()[1]
    assert "billing database listens on port 5433" in line
    assert len(line) <= WIDTHS[0] + 2


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user"},
        {"role": "user", "content": None},
        {"role": "user", "content": "port 5433"},
        person("\n".join([*HEADINGS.values(), "- "])),
        {"content": [None, 3, "text", {}, {"text": None}]},
        {"role": "user", "content": [{"image": {"format": "png", "source": {"bytes": b"1"}}}]},
        {"role": "assistant", "content": [{"reasoningContent": {"reasoningText": {"text": "port 5433"}}}]},
        {"role": "assistant", "content": [{"toolUse": None}, {"toolUse": {"input": "x"}}]},
        {"role": "user", "content": [{"toolResult": {"content": [{"json": {"a": 1}}, None, {"text": 3}]}}]},
        {"role": "user", "content": [{"text": "port 5433 \ud800 \x1b[31m/a/b.py\x07"}]},
    ],
)
def test_any_shape_of_message_is_taken(message: Message) -> None:
    check(anchors([message, person("The file is tau/a.py then.")], "", tokens=500), 500)


def check(listed: str, tokens: int) -> None:
    assert cost(listed) <= max(tokens, 0) * TOKEN
    assert len(listed) <= max(tokens, 0) * 3
    for line in listed.split("\n"):
        assert all(unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Zl", "Zp") for char in line)
        assert line == "" or line in HEADINGS.values() or line.startswith(("- ", "… and "))


PIECES = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        [
            "port 5433",
            "tau/a.py:4",
            "`x y`",
            '"Pay now"',
            "Priya Raghavan",
            "- ",
            "\n",
            ". ",
            ", ",
            "5",
            "SHA256:abcdef12",
        ]
        + [f"\n{heading}\n- " for heading in HEADINGS.values()]
    ),
)
TEXTS = st.lists(PIECES, max_size=12).map(" ".join)
MESSAGES = st.lists(
    st.one_of(
        TEXTS.map(person),
        TEXTS.map(model),
        TEXTS.map(result),
        TEXTS.map(lambda text: call("shell", {"command": text, "other": text})),
    ),
    max_size=8,
)


@settings(max_examples=150, deadline=None)
@given(MESSAGES, TEXTS, st.integers(-1, 400))
def test_any_messages_give_a_clean_list_within_its_budget(
    messages: list[Message], summary: str, tokens: int
) -> None:
    listed = anchors(messages, summary, tokens=tokens)

    check(listed, tokens)
    assert listed == anchors(messages, summary, tokens=tokens)
    again = anchors(compacted(listed), summary, tokens=tokens)
    check(again, tokens)
    lines = [line for line in again.split("\n") if line]
    assert len(lines) == len(set(lines))


@settings(max_examples=50, deadline=None)
@given(st.sets(st.integers(0, 199), min_size=1, max_size=20), st.data())
def test_nothing_that_the_summary_has_is_repeated(chosen: set[int], data: st.DataObject) -> None:
    stated = [facts(200)[at] for at in sorted(chosen)]
    told = data.draw(st.lists(st.sampled_from(stated), unique=True))

    listed = anchors(turns(stated), " ".join(fact.said for fact in told), tokens=4000)

    for fact in stated:
        assert (fact.values[0] in listed) == (fact not in told)


def test_two_megabytes_of_results_take_no_long_time() -> None:
    words = "error /srv/app/module_{0}.py:{0} in handler{0} at 10.0.0.{1}: took {0} ms, see build-{0}.log\n"
    messages = [
        result("".join(words.format(at * 100 + line, line) for line in range(100))) for at in range(250)
    ]
    assert sum(len(each["content"][0]["toolResult"]["content"][0]["text"]) for each in messages) > 2_000_000

    began = time.process_time()
    check(anchors(messages, SUMMARY, tokens=1000), 1000)

    assert time.process_time() - began < 4


@pytest.mark.parametrize(
    "piece",
    ["a", "/", "1", "`", " ", ".", '"', "'", "-", "\n", "(", "A b ", "a.b", "a=", "git -f ", "端", "a@"],
)
def test_no_text_takes_more_than_time_in_proportion(piece: str) -> None:
    text = piece * (300_000 // len(piece))

    began = time.process_time()
    for message in (person(text), model(text), result(text), call("shell", {"command": text, "text": text})):
        check(anchors([message], "", tokens=1000), 1000)
    check(anchors(turns(ELEVEN), text, tokens=1000), 1000)

    assert time.process_time() - began < 4
