"""Where `.session-log/` is, what it holds, and whether it will last."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tau.config.settings import Places
from tau.config.trust import Trust
from tau.errors import JournalRefused
from tau.journal import contexts, durable
from tau.journal.context_file import (
    FactChange,
    facts,
    give_up,
    keywords,
    left_out,
    lengths,
    new_context,
    note_keywords,
    revise,
    shown,
    summary,
)
from tau.journal.markdown import Markdown


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    return Places(data=tmp_path / "data", state=tmp_path / "state", config=tmp_path / "config")


def project(tmp_path: Path) -> Path:
    root = tmp_path / "home" / "src" / "quail"
    (root / ".git").mkdir(parents=True)
    (root / "sub" / "deep").mkdir(parents=True)
    return root


def test_it_is_at_the_root_of_the_project_and_needs_trust(tmp_path: Path, places: Places) -> None:
    root = project(tmp_path)
    place = contexts.find(root / "sub" / "deep", places)
    assert place.folder == root / ".session-log"
    assert not place.on
    assert "tau trust" in place.refused
    Trust(places).add(root)
    contexts.make(contexts.find(root, places))
    place = contexts.find(root / "sub", places)
    assert place.on
    assert place.shown("acme", "context.md") == ".session-log/acme/context.md"
    assert place.contexts() == []
    assert (root / ".session-log/shared/context.md").read_bytes() == new_context("shared", [])
    assert contexts.make(place) == []


def test_outside_a_project_it_is_in_the_home_directory(tmp_path: Path, places: Places) -> None:
    for folder in (tmp_path / "home" / "notes", tmp_path / "elsewhere"):
        folder.mkdir()
        place = contexts.find(folder, places)
        assert place.folder == tmp_path / "home" / ".session-log"
        assert place.in_home
        assert not place.refused
    contexts.make(place)
    assert (tmp_path / "home" / ".session-log").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "home/.session-log/shared/context.md").stat().st_mode & 0o777 == 0o600
    for mode in (0o777, 0o770):
        place.folder.chmod(mode)
        assert "others can write in it" in contexts.find(tmp_path / "elsewhere", places).refused


def test_no_link_is_followed(tmp_path: Path, places: Places) -> None:
    root = project(tmp_path)
    Trust(places).add(root)
    (tmp_path / "outside" / "acme").mkdir(parents=True)
    (tmp_path / "outside" / "context.md").write_text("secret")
    (root / ".session-log").symlink_to(tmp_path / "outside")
    assert "is a link" in contexts.find(root, places).refused
    (root / ".session-log").unlink()
    (root / ".session-log" / "real").mkdir(parents=True)
    (root / ".session-log" / "linked").symlink_to(tmp_path / "outside" / "acme")
    (root / ".session-log" / "real" / "context.md").symlink_to(tmp_path / "outside" / "context.md")
    place = contexts.find(root, places)
    assert place.contexts() == ["real"]
    with pytest.raises(JournalRefused, match="symbolic link"):
        place.read("real", "context.md")


def test_logs_are_listed_in_the_order_of_their_days_and_parts(tmp_path: Path, places: Places) -> None:
    root = project(tmp_path)
    Trust(places).add(root)
    folder = root / ".session-log" / "acme"
    folder.mkdir(parents=True)
    for name in ("2026-01-15-part10.md", "2026-01-15.md", "2026-01-15-part2.md", "2025-12-31.md", "notes.md"):
        (folder / name).write_text("x")
    assert contexts.find(root, places).logs("acme") == [
        "2025-12-31.md",
        "2026-01-15.md",
        "2026-01-15-part2.md",
        "2026-01-15-part10.md",
    ]


@pytest.mark.parametrize(
    "name", ["", ".hidden", "a/b", "..", "a\nb", "x\x1b[2J", " padded", "é" * 41, "a\\b"]
)
def test_names_that_are_none(name: str) -> None:
    assert contexts.unfit(name)


@pytest.mark.parametrize("name", ["acme", "Acme Corp", "C++", "größe", "a.b"])
def test_names_that_are(name: str) -> None:
    assert not contexts.unfit(name)


@pytest.mark.parametrize(
    "line",
    ["Keywords: checkout, stripe", "**Keywords:** checkout, `stripe`", "- keywords: checkout; stripe."],
)
def test_keywords_are_read_as_people_write_them(line: str) -> None:
    assert keywords(f"# acme\n\n{line}\n".encode()) == ["checkout", "stripe"]


def test_keywords_in_code_are_none() -> None:
    document = Markdown(b"---\nowner: Ada\n---\n\n```\nKeywords:\nKeywords: x\n```\n\n## Facts\n")
    assert keywords(document.data) == []
    assert note_keywords(document, ["checkout"])
    assert keywords(document.data) == ["checkout"]
    assert b"```\nKeywords:\nKeywords: x\n```\n" in document.data


def test_content_is_matched_by_whole_words() -> None:
    words = {"acme": ["checkout", "C++"], "beta": ["check", "rate limit"], "gamma": []}
    assert contexts.hits("The Checkout of C++ code, checkout again. Rate\n limit", words) == {
        "acme": {"checkout": 2, "C++": 1},
        "beta": {"rate limit": 1},
    }


# What lasts -----------------------------------------------------------------------------------------


@pytest.fixture
def mounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "mountinfo"
    monkeypatch.setattr(durable, "MOUNTS", file)
    return file


def line(point: Path | str, kind: str) -> str:
    shown = str(point).replace(" ", "\\040")
    return f"22 27 0:21 / {shown} rw,relatime shared:1 - {kind} {kind} rw\n"


@pytest.mark.parametrize(
    ("kind", "said"), [("tmpfs", "lies in memory"), ("overlay", "layer of a container"), ("ext4", "")]
)
def test_places_that_will_not_last_are_known_by_their_mount(
    tmp_path: Path, mounts: Path, kind: str, said: str
) -> None:
    folder = tmp_path / "a b"
    folder.mkdir()
    mounts.write_text(line("/", "ext4") + "broken\n" + line(folder, kind) + line(tmp_path / "a", "tmpfs"))
    assert said in durable.doubt(folder / "not" / "there")
    assert bool(durable.doubt(folder)) == bool(said)


def test_a_volume_in_a_container_lasts(tmp_path: Path, mounts: Path) -> None:
    (tmp_path / "vol").mkdir()
    mounts.write_text(line("/", "overlay") + line(tmp_path / "vol", "ext4"))
    assert durable.doubt(tmp_path / "vol" / "x") == ""
    assert "container" in durable.doubt(tmp_path)
    mounts.unlink()
    assert durable.doubt(tmp_path) == ""


def test_a_folder_that_takes_no_writes(tmp_path: Path) -> None:
    assert durable.read_only(tmp_path / "new" / "x") == ""
    assert durable.read_only(Path("/proc/self"))  # nobody, not even root, writes there
    if os.geteuid():
        tmp_path.chmod(0o500)
        assert "takes no writes" in durable.read_only(tmp_path)


# The running state ----------------------------------------------------------------------------------


def test_a_fact_has_one_owner() -> None:
    document = Markdown(
        b"# acme\n\n## Facts\n- Port is 8000\n- Uses Stripe\n\n## Open items\n- [ ] not a fact\n"
    )
    told = revise(
        document,
        [
            FactChange("Port is 9000, not 8000", old="port is 8000."),
            FactChange("CI runs on Mondays"),
            FactChange("uses stripe"),
            FactChange("", old="never there"),
            FactChange("Deploys from main"),
        ],
        ["CI runs on Mondays."],
    )
    assert [item.text for item in facts(document)] == [
        "Port is 9000, not 8000",
        "Uses Stripe",
        "Deploys from main",
    ]
    assert told == [
        "“Port is 8000” is now “Port is 9000, not 8000”",
        "“CI runs on Mondays” has its place in another file already",
        "“uses stripe” stands here already",
        "“never there” is no fact here, so it was not changed",
        "“Deploys from main” is a new fact",
    ]
    assert give_up(document, ["USES STRIPE"]) == ["Uses Stripe"]
    assert document.data == (
        b"# acme\n\n## Facts\n- Port is 9000, not 8000\n- Deploys from main\n\n"
        b"## Open items\n- [ ] not a fact\n"
    )


def test_a_fact_that_holds_others_is_not_taken_out_and_what_is_taken_out_is_said() -> None:
    document = Markdown(
        b"# acme\n\n## Facts\n- Payments\n  - Stripe, since May\n- Old\n- Long\n\n  more of it\n"
    )
    wanted = [FactChange("", old=name) for name in ("Payments", "Old", "Long")]
    assert revise(document, wanted, []) == [
        "“Payments” stays: it has something nested in it",
        "“Old” was taken out of the facts",
        "“Long” stays: it has something nested in it",
    ]
    assert give_up(document, ["Payments", "Long"]) == []
    assert document.data == b"# acme\n\n## Facts\n- Payments\n  - Stripe, since May\n- Long\n\n  more of it\n"


def test_a_comment_that_a_fact_speaks_of_is_one_of_its_words() -> None:
    document = Markdown(b"# acme\n\n## Facts\n")
    change = FactChange("Mark parts with <!-- gen -->")
    revise(document, [change], [])
    assert revise(document, [change], []) == ["“Mark parts with <!-- gen -->” stands here already"]
    revise(document, [FactChange("", old=change.text)], [])
    assert facts(document) == []


def test_a_fact_that_moves_takes_no_twin_with_something_nested_along() -> None:
    document = Markdown(
        b"# acme\n\n- On Mondays\n  - not in May\n- Port is 1\n- On Mondays\n- port is 1.\n- End\n"
    )
    assert give_up(document, ["On Mondays", "Port is 1"]) == ["Port is 1", "On Mondays", "port is 1."]
    assert document.data == b"# acme\n\n- On Mondays\n  - not in May\n- End\n"


def test_what_is_too_long_is_said() -> None:
    data = new_context("acme", []) + b"\n".join(b"filler" for _ in range(150))
    assert "it should stay under 150" in lengths("context.md", data)[0]
    told = "context.md has 150 lines; it should stay under 150: take out what no longer holds"
    assert lengths("context.md", b"- fact\n" * 150) == [told]
    assert lengths("context.md", b"- fact\n" * 149) == []
    many = b"## Open items\n### Active\n" + b"".join(b"- [ ] item %d\n" % n for n in range(8))
    assert lengths("context.md", many) == [
        "context.md has 8 active items: if everything is active, nothing is"
    ]
    assert lengths("context.md", new_context("acme", [])) == []


def test_what_is_to_be_done_and_the_keywords_are_no_facts_wherever_they_stand() -> None:
    data = (
        b"# acme\n\n- **Keywords:** checkout,\n  stripe\n\n## Facts\n- Port is 8000 <!-- Ada -->\n\n"
        b"## Next steps\n- [ ] Renew the certificate\n  - by hand\n- [x] Paid\n\n## Open items\n"
    )
    document = Markdown(data)
    wanted = [
        "Keywords: checkout, stripe",
        "**Keywords:** checkout, stripe",
        "Renew the certificate",
        "by hand",
    ]
    told = revise(document, [FactChange("", old=text) for text in [*wanted, "Paid"]], [])
    assert len([line for line in told if "is no fact here" in line]) == 5
    assert give_up(document, [*wanted, "Paid"]) == []
    assert document.data == data
    assert [item.text for item in facts(document)] == ["Port is 8000 <!-- Ada -->"]
    assert "To be done, outside of Open items (1):" in summary(data)
    assert "  Renew the certificate" in summary(data)
    assert revise(document, [FactChange("", old="port is 8000")], []) == [
        "“Port is 8000 <!-- Ada -->” was taken out of the facts"
    ], "what a comment says belongs to no fact's words"


LINES = [
    "Port is 8000",
    "Keywords: checkout",
    "**keywords**: a, b",
    "[ ] box",
    "[x] ticked",
    "[ ] Keywords: c",
]


@given(
    st.lists(st.sampled_from(LINES), max_size=8),
    st.lists(st.tuples(st.sampled_from(["", "new", *LINES]), st.sampled_from(LINES)), max_size=12),
    st.sampled_from(["\n", "\r\n"]),
)
@settings(max_examples=150, deadline=None)
def test_whatever_changes_boxes_and_keywords_stay(
    there: list[str], changes: list[tuple[str, str]], end: str
) -> None:
    lines = ["# acme", "", "## Facts", *(f"- {text}" for text in there), "", "## Open items", ""]
    document = Markdown(end.join(lines).encode())
    for text, old in changes:
        revise(document, [FactChange(text, old=old)], [])
        give_up(document, [old])
    now = Counter(document.data.decode().splitlines())
    kept = Counter(f"- {text}" for text in there if text != "Port is 8000")
    assert not kept - now, "only a fact that was named is gone"


def test_prompts_hold_no_marks_of_sessions_and_what_is_active_of_a_long_file() -> None:
    assert "sessions" not in shown(b"- x \xe2\x80\x94 seen 1\xc3\x97 <!-- sessions: ab cd -->\n", 100)
    many = "".join(f"- [ ] {{}} {number} of some words\n" for number in range(40))
    facts_ = "".join(f"- fact {number} of some words\n" for number in range(40))
    data = (
        f"# acme\n\nKeywords: checkout\n\n## Facts\n{facts_}\n## Open items\n### Active\n- [ ] SHIP\n"
        f"  - [ ] part\n### Backlog\n{many.replace('{}', 'backlog')}### Someday / Blocked\n"
        f"{many.replace('{}', 'someday')}"
    ).encode()
    assert shown(data, len(data)) == data.decode().strip()
    assert left_out(shown(data, len(data))) == ""
    text = shown(data, 1_800)
    kept = text.count("- [ ] backlog")
    assert left_out(text) == f"40 lines of Someday / Blocked, {40 - kept} lines of Backlog"
    assert text.startswith(f"[not loaded: {left_out(text)}]\n# acme\n\nKeywords: checkout\n")
    assert "- [ ] SHIP\n  - [ ] part\n" in text
    assert "- fact 39 " in text
    assert 0 < kept < 40
    assert f"backlog {kept - 1} " in text, "they go from the end"
    text = shown(data, 700)
    assert ("- fact 3 " in text, "- fact 30 " in text) == (True, False)
    assert "- [ ] SHIP\n  - [ ] part\n" in text
    assert len(text) <= 700
    text = shown(data, 280)
    assert ("fact" in text, "Keywords: checkout" in text, "SHIP" in text) == (False, True, True)
    text = shown(data.partition(b"- [ ] someday")[0], 1_800)
    assert left_out(text) == f"{40 - kept} lines of Backlog", "of what holds nothing nothing is said"
    text = shown(b"Keywords: " + b"x" * 2_000, 300)
    assert (left_out(text), len(text)) == ("its end", 300)


def test_what_others_put_above_is_no_project(
    tmp_path: Path, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "public" / "mine").mkdir(parents=True)
    (tmp_path / "public" / ".session-log").mkdir()
    there = contexts.find(tmp_path / "public" / "mine", places)
    assert there.folder == tmp_path / "public" / ".session-log"
    monkeypatch.setattr(os, "geteuid", lambda: 12345)  # the folder is somebody else's then
    assert contexts.find(tmp_path / "public" / "mine", places).in_home


def test_a_directory_without_a_session_log_starts_without_its_modules() -> None:
    code = (
        "import sys, tau.conversation.core\n"
        "late = ('markdown_it', 'tau.journal.context_', 'tau.journal.markdown')\n"
        "print([name for name in sys.modules if name.startswith(late)])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['tau.journal.context_desk']"
