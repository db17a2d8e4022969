"""No text from outside takes time that grows faster than its length.

A regular expression lets no other thread in, so one that tries again and again stops the whole screen. Each
text here is what such a search is slowest at; the lengths are such that one that came back would show within
seconds. Time is that of the processor, so that a busy machine does not matter.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tau.agent.anchors import anchors
from tau.agent.titles import plain_title
from tau.conversation import phrases, wrap_answer
from tau.errors import TauError
from tau.journal import assumptions, context_file, lessons_file, open_items, session_file
from tau.journal.markdown import Markdown
from tau.line.markdown_inline import settled
from tau.memory import claims, elisions, gist, junk
from tau.models import failures
from tau.tasks.imports.found import Imported
from tau.tasks.imports.project import ProjectFiles
from tau.tasks.imports.resolving import resolve

SECONDS = 0.4
LONG = 16_000


def _facts(text: str) -> object:
    return context_file.fact_keys(Markdown(f"## Facts\n\n- {text}".encode()))


def _keys_of_lines(text: str) -> object:
    return claims.repeated(text, [claims.Claim("a.md", "a page", text.upper().replace("X", "Y"))])


def _said(text: str) -> object:
    return anchors([{"role": "user", "content": [{"text": text}]}], "", tokens=1_000)


def _session(line: str) -> object:
    return session_file.read("a.md", f"# a\n\n{line}\n".encode())


def _proposed(text: str) -> object:
    return junk.reason(text, text, "", (), whole=False, old="\n" * LONG)


def _changed(text: str) -> object:
    return gist.gist(text.encode(), "\n".join(sorted(text.split("\n"))).encode())


def _lessons(line: str) -> object:
    return lessons_file.entries(Markdown(f"## SL-1 — {line}\n".encode()))


def _items(text: str) -> object:
    document = Markdown(f"## Open items\n\n{text}".encode())
    open_items.complete(document)
    return open_items.items(document)


CASES: dict[str, tuple[Callable[[str], object], str]] = {
    "a path": (_said, f"see /{'a' * 26}&b"),
    "an elision of blanks": (elisions.is_elision, f"({' ' * 1_000}x"),
    "an elision of marks": (elisions.is_elision, f"{'/*' * 4_000}x"),
    "comments without end": (assumptions.read, "a " + "<!--" * (LONG // 2)),
    "a tally with dots": (assumptions.read, f"a — seen 1×, 1 counter-examples ({'.' * LONG} seen 1"),
    "a row without end": (_session, f"|Status|{' ' * 1_000}x"),
    "a field with blanks": (_session, f"Status: a{' ' * LONG}x{' ' * LONG}y"),
    "a fact with blanks": (_facts, f"a{' ' * LONG}b"),
    "a context with blanks": (lambda text: context_file.shown(text.encode(), 100), f"a{' ' * (3 * LONG)}b"),
    "a lesson of hashes": (_lessons, f"a{'#' * LONG}b"),
    "many open items": (_items, "- [ ] item\n" * 400),
    "a fence of blanks": (_proposed, f"```\n{' ' * LONG}x"),
    "claims of many lines": (_keys_of_lines, "\n".join(f"x{number}" for number in range(LONG // 2))),
    "a change of lines of two kinds": (_changed, "a\na\nb\n" * 660),
    "politeness": (lambda text: phrases.wish(text, str), "please " * (LONG // 2)),
    "fences without end": (wrap_answer.parsed, "```a\n" * LONG),
    "a title of dashes": (plain_title, f"{'-' * LONG}x"),
    "a page of titles": (lambda text: failures.describe(ValueError(text)), "<title>" * LONG),
    "open emphasis": (settled, "a*_" * 4_000),
}


@pytest.mark.parametrize(("door", "text"), CASES.values(), ids=CASES)
def test_a_long_text_takes_no_time(door: Callable[[str], object], text: str) -> None:
    assert _seconds(lambda: door(text)) < SECONDS


@pytest.mark.parametrize(
    ("name", "text", "source", "imported"),
    [
        ("tsconfig.json", '"\\' * LONG, "a.ts", Imported("path", "b")),
        ("tsconfig.json", "/* " * LONG, "a.ts", Imported("path", "b")),
        ("go.mod", "\n" * LONG, "a.go", Imported("path", "b")),
    ],
    ids=["quotes", "comments", "lines"],
)
def test_a_long_file_of_a_project_takes_no_time(
    tmp_path: Path, name: str, text: str, source: str, imported: Imported
) -> None:
    (tmp_path / name).write_text(text)
    project = ProjectFiles(tmp_path)
    language = "Go" if name == "go.mod" else "TypeScript"
    assert _seconds(lambda: resolve(source, language, [imported], project)) < SECONDS


def _seconds(call: Callable[[], object]) -> float:
    begin = time.process_time()
    with suppress(TauError):  # some of it is refused
        call()
    return time.process_time() - begin
