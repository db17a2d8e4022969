"""What the small model is shown: short prompts, the newest request, earlier turns as far as they fit."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from tau.models.embedded import prompts
from tau.models.embedded.prompts import Turn

READ = {
    "name": "read_file",
    "description": "Read a text file. Then a long explanation follows that nobody needs here. " * 20,
    "inputSchema": {
        "json": {
            "type": "object",
            "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}},
            "required": ["path"],
        }
    },
}


def said(role: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "content": list(blocks)}


def tool(name: str) -> dict[str, Any]:
    return {**READ, "name": name}


def test_messages_become_turns_with_the_results_they_led_to() -> None:
    turns = prompts.turns_of(
        [
            said("user", {"text": "Read a.txt"}),
            said(
                "assistant", {"toolUse": {"toolUseId": "1", "name": "read_file", "input": {"path": "a.txt"}}}
            ),
            said(
                "user",
                {"toolResult": {"toolUseId": "1", "status": "success", "content": [{"text": "alpha"}]}},
            ),
            said("assistant", {"text": "It says alpha."}),
            said("user", {"text": "And b?"}, {"image": {"format": "png", "source": {"bytes": b""}}}),
        ]
    )

    assert turns == [
        Turn("Read a.txt", [('read_file {"path": "a.txt"}', "alpha")], "It says alpha."),
        Turn("And b?\n\n[image: this model reads text only]"),
    ]


def test_a_failed_or_empty_result_says_so() -> None:
    failed = {"toolUseId": "1", "status": "error", "content": [{"text": "no such file"}]}
    empty = {"toolUseId": "2", "status": "success", "content": []}
    [turn] = prompts.turns_of(
        [said("user", {"text": "x"}), said("user", {"toolResult": failed}, {"toolResult": empty})]
    )

    assert [text for _, text in turn.results] == ["It failed: no such file", "(no output)"]


def test_half_characters_never_reach_the_wire() -> None:
    assert prompts.clean("ok \ud83d end") == "ok \ufffd end"
    assert prompts.clean("\ud83d\ude42") == "🙂"
    [turn] = prompts.turns_of([said("user", {"text": "ok \ud83d end"})])
    turn.request.encode()


def test_the_newest_request_is_kept_whole_and_old_turns_go_in_steps() -> None:
    turns = [Turn(f"question {n} " + "x" * 300, reply="y" * 300) for n in range(40)]
    first_kept = []
    for count in range(1, 41):
        chat = prompts.answering(turns[:count], "system", 2_000)
        assert chat[-1]["content"] == turns[count - 1].request
        assert sum(prompts.tokens(message["content"]) for message in chat[1:-1]) <= 2_000
        first_kept.append(chat[1]["content"])
    changes = sum(before != after for before, after in pairwise(first_kept))
    assert 1 <= changes <= 9


def test_a_long_result_loses_its_middle_and_the_request_stays() -> None:
    turn = Turn("What is in it?", [("read_file {}", "BEGIN" + "x" * 50_000 + "END")])

    content = prompts.answering([turn], "system", 0)[-1]["content"]

    assert len(content) < 6_500
    assert "Request: What is in it?" in content
    assert "BEGIN" in content
    assert "xEND" in content
    assert "characters left out" in content


def test_the_system_prompt_is_short_and_keeps_directory_and_instructions() -> None:
    given = "You are an agent. " * 300 + "\n\nWorking directory: /home/ada/quail\n\nAlways answer in German."

    prompt = prompts.system_prompt(given, side=False)

    assert "Working directory: /home/ada/quail" in prompt
    assert "Always answer in German." in prompt
    assert "You are an agent." not in prompt
    assert prompts.tokens(prompt) < 400


def test_a_side_call_keeps_its_prompt() -> None:
    given = "Summarize the conversation. " * 100

    assert prompts.system_prompt(given, side=True) == given.strip()


def test_a_side_call_sees_every_result_whole() -> None:
    turns = [Turn("Read a", [("read_file {}", "alpha" + "x" * 20_000)], "It says alpha."), Turn("Summarize.")]

    in_full = prompts.answering(turns, "system", None)
    in_conversation = prompts.answering(turns, "system", 2_000)

    assert "alpha" + "x" * 20_000 in in_full[1]["content"]
    assert in_conversation[1]["content"] == "Read a"


def test_tools_are_offered_in_a_line_each_the_everyday_ones_first() -> None:
    specs = [tool(f"special_{n}") for n in range(40)] + [READ]

    offered = prompts.usable_tools(specs)

    assert offered[0][0] == "read_file"
    assert offered[0][2] == "read_file(path, limit?): Read a text file."
    assert 3 < len(offered) < 20
    assert sum(len(line) for _, _, line in offered) <= 600
    chat = prompts.choosing([Turn("Do it")], offered, False)
    assert chat[-1] == {"role": "user", "content": "Do it"}
    assert {"role": "assistant", "content": 'read_file {"path": "setup.py"}'} in chat
    assert {"role": "assistant", "content": "none"} in chat
    assert prompts.tokens(chat[0]["content"]) < 400


def test_a_forced_choice_shows_no_way_out() -> None:
    chat = prompts.choosing([Turn("Do it")], prompts.usable_tools([READ]), True)

    assert "none" not in "".join(message["content"] for message in chat)


def test_a_request_that_refers_back_is_chosen_with_the_turn_before() -> None:
    turns = [Turn("Is there a README?", reply="Yes, README.md."), Turn("Show it")]

    last = prompts.choosing(turns, prompts.usable_tools([READ]), False)[-1]["content"]

    assert "Is there a README? → Yes, README.md." in last
    assert last.endswith("Show it")
