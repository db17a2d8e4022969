"""What no refinement may write, and what is like it and a person may truly want to keep."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tau.agent.refiner import INSTRUCTIONS
from tau.memory.documents import Document
from tau.memory.proposals import Checked, ProposalInvalid, check, parse

DEPLOY = "# Deploy\n\nThe target is called boat.\nNever on Friday.\n"
TITLE = "project/d.md"

LEFT_OUT = [
    "[previous lines]",
    "[... existing entries ...]",
    "[... existing notes ...]",
    "[existing content]",
    "[existing port entries]",
    "[...]",
    "[unchanged]",
    "[rest of the file]",
    "(keep everything else)",
    "(keep the rest)",
    "(other entries)",
    "(all other lines as before)",
    "(rest unchanged)",
    "- (the remaining items)",
    "> [previous entries kept]",
    "*(existing rules)*",
    "<!-- existing content unchanged -->",
    "<!-- rest -->",
    "/* previous lines */",
    "# ... existing content ...",
    "... (rest unchanged)",
    "... existing entries ...",
    "… other notes …",
    "...and the rest",
    "...",
    ". . .",
    "…",
    "The rest of the file stays as it is.",
    "The rest of the content is unchanged.",
    "Everything else stays the same.",
    "All other lines unchanged",
    "Keep all other entries unchanged.",
    "- same as before",
]

REFUSALS = [
    "I'm sorry, but I can't help with that.",
    "I’m sorry, but I can’t assist with that request.",
    "Sorry, I cannot do this.",
    "I am very sorry, I am unable to comply.",
    "Unfortunately, I can't fulfill that request.",
    "I apologize, but I cannot provide that content.",
    "I apologize for the confusion.",
    "I can't help with that",
    "I cannot continue with this task.",
    "I cannot determine any memory from this conversation.",
    "I do not have enough context to update it.",
    "I'm not able to see the conversation.",
    "As an AI language model, I cannot remember things.",
]

NO_NEWS = [
    "No new information to add.",
    "There is nothing worth keeping in this conversation.",
    "Nothing to remember.",
    "Nothing new was learned in this session.",
    "There are no changes to be made.",
    "No updates needed at this time.",
    "No memory updates are required.",
    "No further changes necessary.",
    "This conversation contains nothing to remember.",
    "*No relevant information found.*",
]

OF_THE_CALL = [
    '{"operations": []}',
    '"operations": [',
    '[{"file": "project/x.md", "action": "write", "content": "x", "sentence": "x"}]',
    "<transcript>",
    "</transcript>",
    "<think>the person likes tea</think>",
    "<thinking>",
    "<|im_start|>assistant",
    "[INST] do it",
    "[assistant]: ok",
    "[user] do it",
    "PERSON:",
    "MODEL:",
    '[calls read_file with {"path": "a.py"}]',
]

TALK = [
    "Sure, here is the updated file:",
    "Here's the updated memory file:",
    "Here is the updated content:",
    "Here’s the new version of project/d.md:",
    "Below is the revised version of the memory file.",
    "Okay, below you find it.",
    "This is the updated document:",
    "Updated content:",
    "Updated memory file:",
    "Based on the conversation, here is what I learned:",
    "Let me know if you want anything else!",
    "Please let me know if you need any changes.",
    "Feel free to ask if you have any questions.",
    "I hope this helps.",
    "Is there anything else I should keep?",
]

ANYWHERE = [*LEFT_OUT, *REFUSALS, *NO_NEWS, *OF_THE_CALL, *TALK]

FIRST = [
    "Sure, I can do that.",
    "Certainly!",
    "Here is the content:",
    "This is the complete file:",
    "I have updated the deploy file as requested.",
    "I've rewritten the memory to hold it.",
]

LAST = ["Let me know.", "Would you like me to keep more?", "Please feel free to reach out."]

KEPT = [
    "The rest of the API stays unchanged.",
    "Answer 'I can't help with that' to nobody: say what is missing instead.",
    "When a tool says \"I'm sorry, but I can't help with that\", ask another model.",
    "I can't work on Fridays.",
    "I cannot tell red from green, so use shapes in charts.",
    "I can't help with reviews before ten.",
    "I do not have admin rights on build-2.",
    "Sorry screens are in errors/, one a code.",
    "Unfortunately the cache cannot be cleared from outside.",
    "Let me know before you push.",
    "Let me know when a test is slow.",
    "Tell me if you need to touch the schema.",
    "Here the build needs Java 21.",
    "Here is the layout: src/ for code, spec/ for tests.",
    "Here are the names of the servers: quail, wren, crow.",
    "Below 3 GB of free disk the build fails.",
    "This is the file that everybody forgets: config/limits.toml.",
    "OK means that the check ran, green that it passed.",
    "Sure-fire way to break the build: rebase on a Friday.",
    "Of course not everything is tested; billing/ must be.",
    "New files go to src/parts/, never to src/.",
    "Updated content goes through the press office first.",
    "Updated: 2026-03-01",
    "Edited files are formatted with `make format`.",
    "Based on Debian 12; the images are built with kaniko.",
    "Nothing is deployed on Fridays.",
    "Nothing in `vendor/` is to be changed by hand.",
    "No changes to the schema without a migration.",
    "No new dependency without a word in the log.",
    "No information about customers may stand in logs.",
    "There is nothing in /opt that we need.",
    "There are no tests for the parser; write them first.",
    "None of the tests may sleep.",
    "Keep the changelog in the present tense.",
    "Keep functions short.",
    "Keep old migrations: the tests run all of them.",
    "Previous releases are in the archive, not in git.",
    "Existing tests must stay as they are when a bug is mended.",
    "The other team owns `gateway/`; ask Priya.",
    "Other languages come after German.",
    "Everything else in that folder is generated.",
    "The remaining port is 8443.",
    "The rest client lives in net/rest.py.",
    "Wait for ... then go on.",
    "Use `...` in stubs, never `pass`.",
    "The old name was boat, the new one is ship.",
    "- [ ] move the other jobs to the new queue",
    "- [x] keep the tests of the old parser",
    "[the other docs](docs/other.md)",
    "[keep](https://keep.example/) holds the lists.",
    "[rest]",
    "[other]",
    "(see docs/ports.md)",
    "(only on machines with a GPU)",
    "<kbd>Esc</kbd> leaves every screen.",
    '<div class="rest"> is what the theme styles.',
    '{"port": 8000, "action": "start"} is what the starter sends.',
    "user: postgres, database: quail",
    "User: the one who pays; customer: the one who uses it.",
    "Assistant: Kim, on weekdays until five.",
    "Model: ST-40, firmware 2.1",
    "As an admin, run `quail reset`; as a user you cannot.",
    "I hope to move to Python 3.13 by summer.",
    "Would be nice: a dark theme.",
    "Is there anything on port 9000? Then the tests fail.",
    "Ask before deleting, again and again if need be.",
    "ha ha ha is what the mascot says",
    "| 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 |",
    "| yes | no | yes | no | yes | no |",
    "0000000000000000000000000000000000000000 is the hash of a branch that is new.",
    "日本語のメモ",
    "Никогда не выкладывать в пятницу.",
    "Antworten bitte auf Deutsch, und kurz.",
    "The prompt ends with `</transcript>`, which the reader escapes.",
    'The file says `{"operations": []}` when nothing changes.',
    "> Simple is better than complex.",
    "# The rest of the week",
    "## New files",
    "TODO comments name an issue.",
]


def checked(*operations: dict[str, str], there: str | None = DEPLOY) -> Checked:
    documents = [Document("project", "d.md", Path("/m/d.md"), there.encode(), 1)] if there else []
    return check(parse(json.dumps({"operations": operations})), documents, instructions=INSTRUCTIONS)


def operation(**fields: Any) -> dict[str, str]:
    return {"file": TITLE, "action": "write", "sentence": "says how it is built", **fields}


def ways(line: str) -> dict[str, tuple[str | None, dict[str, str]]]:
    """Every way in which a line can come into a file: what is there, and the operation."""
    return {
        "alone": (None, operation(content=line)),
        "behind a heading": (None, operation(content=f"# Deploy\n\n{line}\n\nThe target is called ship.")),
        "in the middle": (DEPLOY, operation(content=f"{DEPLOY}{line}\nThe port is 8000.\n")),
        "at the end": (None, operation(content=f"The target is called ship.\n{line}")),
        "in an edit": (DEPLOY, operation(action="edit", old="boat", new=f"boat.\n{line}\nThe port is 8000")),
        "in place of a line": (DEPLOY, operation(action="edit", old="Never on Friday.", new=line)),
        "behind a line": (
            DEPLOY,
            operation(action="edit", old="Never on Friday.", new=f"Never on Friday.\n{line}"),
        ),
    }


def refused(line: str, only: tuple[str, ...] = ()) -> set[str]:
    """The ways in which a line is refused."""
    found = set()
    for way, (there, given) in ways(line).items():
        if only and way not in only:
            continue
        try:
            checked(given, there=there)
        except ProposalInvalid:
            found.add(way)
    return found


@pytest.mark.parametrize("line", ANYWHERE)
def test_what_belongs_in_no_file_gets_into_none_wherever_it_stands(line: str) -> None:
    assert refused(line) == set(ways(line))


@pytest.mark.parametrize("line", FIRST)
def test_no_talk_stands_before_a_text_also_behind_its_heading(line: str) -> None:
    only = ("alone", "behind a heading")
    assert refused(line, only) == set(only)


@pytest.mark.parametrize("line", LAST)
def test_no_talk_stands_behind_a_text(line: str) -> None:
    only = ("alone", "at the end", "in place of a line", "behind a line")
    assert refused(line, only) == set(only)


def test_what_a_person_may_keep_gets_in_wherever_it_stands() -> None:
    assert len(KEPT) >= 60
    assert {line: ways for line in KEPT if (ways := refused(line))} == {}


def test_the_lines_of_these_docs_could_stand_in_memory() -> None:
    root = Path(__file__).parents[2]
    pages = [*sorted((root / "docs").glob("*.md")), *sorted((root / "adr").glob("*.md"))]
    lines = {
        line for page in pages for text in page.read_text("utf-8").splitlines() if (line := text.strip())
    }
    only = ("behind a heading", "in place of a line")
    found = {line for line in lines if refused(line, only)}
    assert len(lines) > 2_000
    said_so = {line for line in found if line == "…" or line.startswith(('{"operations"', '{"file"'))}
    assert found == said_so, "nothing but the sign for lines left out, and the form of a proposal"


@pytest.mark.parametrize(
    "content",
    [
        "tea " * 4_000,
        "The port is 8000.\n" + "go on. " * 12,
        "we ship on monday. we ship on monday. " * 8,
        "ha" * 40,
        "x" * 400,
        "はい" * 30,
        "word\n" * 30,
    ],
)
def test_what_says_the_same_again_and_again_is_no_text(content: str) -> None:
    with pytest.raises(ProposalInvalid, match=r"project/d\.md: it repeats the same words"):
        checked(operation(content=content), there=None)
    with pytest.raises(ProposalInvalid, match="it repeats the same words"):
        checked(operation(action="edit", old="boat", new=content))
    assert checked(operation(content=f"{content}\nand one more"), there=content).wanted, (
        "it was there already"
    )


def test_a_conversation_that_is_written_down_is_no_memory() -> None:
    with pytest.raises(ProposalInvalid, match="writes the conversation down"):
        checked(operation(content="User: which port?\nAssistant: 8000."), there=None)
    with pytest.raises(ProposalInvalid, match="writes the conversation down"):
        checked(operation(content="**Human:** which port?\n\n**AI:** 8000."), there=None)


def test_an_edit_brings_no_fence_around_its_text() -> None:
    for language in ("", "markdown", "text"):
        fenced = f"```{language}\nThe target is called ship.\n```"
        with pytest.raises(ProposalInvalid, match="what is new in it is in a code fence"):
            checked(operation(action="edit", old="The target is called boat.", new=fenced))
    command = "```sh\nmake ship\n```"
    assert checked(operation(action="edit", old="The target is called boat.", new=command)).wanted
    there = "# Deploy\n\n```\nmake boat\n```\nNever on Friday.\n"
    edit = operation(action="edit", old="```\nmake boat\n```", new="```\nmake ship\n```")
    assert checked(edit, there=there).wanted == {TITLE: there.replace("boat", "ship").encode()}


@pytest.mark.parametrize(
    "line",
    [
        "The rest of the ports stays as it is.",
        "(for the other team)",
        "(see the previous release for port numbers)",
        "Ports 8003 to 8007 ...",
        "Other lines of the table are the same.",
        "8001, 8002, and so on",
        "[other]",
        "Keep the old entries.",
    ],
)
def test_a_loss_beside_what_may_stand_for_it_needs_a_yes(line: str) -> None:
    ports = "".join(f"Port {8000 + number} is for job {number}.\n" for number in range(8))
    adds = checked(operation(content=f"{ports}{line}\n"), there=ports)
    assert adds.consent == {}, "nothing is lost"
    loses = checked(operation(content=f"{ports.replace('Port 8005 is for job 5.', line)}"), there=ports)
    reason = loses.consent[TITLE]
    assert reason.startswith("it would lose 1 of its 8 lines, and a new one may stand for them: ")
    known = checked(operation(content=f"{line}\n{ports[25:]}"), there=f"{line}\n{ports}")
    assert known.consent == {}, "it stood there before"
