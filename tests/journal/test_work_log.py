"""Session files: their form and those of others, who holds them, what is offered, deleted, resumed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tau.config.settings import Settings
from tau.config.trust import Trust
from tau.errors import JournalRefused
from tau.journal import session_file
from tau.journal.markdown import Markdown
from tau.journal.session_file import LogLine
from tau.journal.work_desk import WorkDesk
from tau.journal.work_log import WorkLog
from tau.journal.work_place import WorkPlace, switched_on
from tests.journal.conftest import Checkout

NOW = datetime(2026, 8, 12, 9, 5).astimezone()
TODAY = datetime.now().astimezone().strftime("%Y-%m-%d")


def said(text: str = "hello", actor: str = "user", at: datetime = NOW) -> list[LogLine]:
    return [LogLine(at, actor, text)]


def files(checkout: Checkout) -> list[str]:
    return sorted(path.name for path in (checkout.memory / "session").iterdir())


def text(checkout: Checkout, name: str) -> str:
    return (checkout.memory / "session" / name).read_text()


def test_the_first_request_begins_a_file_and_each_line_has_time_and_actor(checkout: Checkout) -> None:
    desk = checkout.desk()
    assert desk.sessions.note(said("nothing yet", "agent"), called="amber") == ""
    assert files(checkout) == []
    desk.sessions.note(said("Fix the\nnightly job"), called="amber", request="Fix the\nnightly job")
    desk.sessions.note(said("# done <!-- \x1b[2J \0", "agent", NOW + timedelta(minutes=2)), called="amber")
    assert files(checkout) == ["2026-08-12-amber.md"]
    assert text(checkout, "2026-08-12-amber.md") == (
        "# Session amber\n\n- Status: in-progress\n- Last Active: 2026-08-12\n"
        "- Current Task: Fix the nightly job\n- Active Todo:\n\n## Log\n\n"
        "- 2026-08-12 09:05 user: Fix the nightly job\n"
        "- 2026-08-12 09:07 agent: # done \\<!-- \\x1b[2J \\x00\n"
    )


def test_times_are_those_that_date_gives(checkout: Checkout) -> None:
    line = LogLine(datetime.now().astimezone(), "user", "x").line
    form = ["date", "+%Y-%m-%d %H:%M"]
    given = {subprocess.run(form, capture_output=True, text=True, check=True).stdout.strip()}
    later = LogLine(datetime.now().astimezone(), "user", "x").line
    assert given & {line[:16], later[:16]}
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d user: x", line)


def test_two_windows_have_two_files_and_neither_takes_the_others(checkout: Checkout) -> None:
    one, two = checkout.desk(), checkout.desk()
    one.sessions.note(said(), called="amber", request="one")
    two.sessions.note(said(), called="amber", request="two")
    assert files(checkout) == ["2026-08-12-amber-2.md", "2026-08-12-amber.md"]
    assert two.sessions.offers() == []
    with pytest.raises(JournalRefused, match="another window"):
        two.sessions.resume("2026-08-12-amber")
    one.sessions.leave()
    assert [offer.session.status for offer in two.sessions.offers()] == ["paused"]
    two.sessions.resume("1")
    assert "Status: paused" in text(checkout, "2026-08-12-amber-2.md")
    assert "Status: in-progress" in text(checkout, "2026-08-12-amber.md")


OPEN = "# S\n\n- Status: {}\n- Current Task: {}\n- Active Todo: {}\n\n## Log\n\n{}"


def test_the_offer_has_the_task_five_entries_and_what_is_open(checkout: Checkout) -> None:
    log = "".join(f"- 2026-08-01 10:0{number} user: entry {number}\n" for number in range(8))
    todo = checkout.write(".memory/todo/t.md", "# T\n\n- [ ] one\n  - [x] two\n* [ ] three\n")
    checkout.write(".memory/session/a.md", OPEN.format("paused", "Fix A", todo, log))
    checkout.write(".memory/session/b.md", OPEN.format("in-progress", "Fix B", "../todo/gone.md", ""))
    checkout.write(".memory/session/c.md", OPEN.format("somewhere", "Fix C", "", ""))
    (offer,) = checkout.desk().begin()
    assert "Work to resume in .memory/session (2):" in offer
    assert "paused · Fix A  (a.md)" in offer
    assert "in-progress · Fix B  (b.md)" in offer
    assert "Fix C" not in offer
    assert "entry 2" not in offer
    assert [f"entry {number}" in offer for number in range(3, 8)] == [True] * 5
    assert "[ ] one" in offer
    assert "[ ] three" in offer
    assert "two" not in offer
    assert 'There is no todo file "../todo/gone.md"' in offer
    assert "/work resume N" in offer


@pytest.mark.parametrize(
    "status",
    ["Paused ✅", "**paused**, waits for Ann", "PAUSED.", "✅ in progress since Tuesday", "in_progress!"],
)
def test_work_is_known_by_the_first_word_of_its_status(checkout: Checkout, status: str) -> None:
    checkout.write(".memory/session/a.md", f"# S\n\n**Status:** {status}\n**Current Task:** Fix A\n")
    desk = checkout.desk()
    (offer,) = desk.begin()
    assert "Fix A  (a.md)" in offer
    assert offer.splitlines()[1].startswith(
        "  1. paused" if "aused" in status.casefold() else "  1. in-progress"
    )


@pytest.mark.parametrize(
    "status", ["Done ✅", "__DONE__.", "done", "[x] done", "done <!-- paused, for Bob -->"]
)
def test_what_says_done_and_no_more_goes(checkout: Checkout, status: str) -> None:
    checkout.write(".memory/session/2026-01-05-a.md", f"# S\n\n- Status: {status}\n")
    assert checkout.desk().begin() == []
    assert files(checkout) == []


LOGGED = "\n## Log\n\n- 2026-01-01 10:00 user: a\n"
NOT_DONE = {
    "a box": "- Status: [ ] done\n- Current Task: quail\n",
    "a box in a section": "## Status\n\n- [ ] done\n",
    "a question": "- Status: done?\n",
    "struck out": "- Status: ~~done~~\n",
    "one part of two": "## A\n\n- Status: done\n- Current Task: a\n\n"
    "## B\n\n- Status: in-progress\n- Current Task: b\n",
    "a part": "Still at it.\n\n## A\n\n- Status: done\n- Last Active: 2026-01-01\n",
    "a section of a part": "## A\n\n### Status\n\ndone\n\n## B\n\nStill at it.\n",
    "another part goes on": "- Status: done\n\n## B\n\n### Status\n\npaused\n",
    "more in the section": "## Status\n\ndone\n\nThe tests are left.\n",
    "more in the row": "| Field | Value | Note |\n|---|---|---|\n| Status | done | but for the tests |\n",
}


@pytest.mark.parametrize("form", NOT_DONE)
def test_what_is_not_done_as_a_whole_stays(checkout: Checkout, form: str) -> None:
    path = checkout.write(".memory/session/2026-01-05-a.md", f"# S\n\n{NOT_DONE[form]}{LOGGED}")
    before = path.read_bytes()
    (line,) = checkout.desk().begin()
    assert "1 file has another status" in line
    assert path.read_bytes() == before


def test_a_copy_is_kept_of_what_is_deleted(checkout: Checkout) -> None:
    kept = checkout.places.state / "journal" / "done"
    long_name = f"2026-01-05-{'é' * 115}.md"
    for number, name in enumerate(["2026-01-05-a.md", "2026-01-05-a.md", long_name], 1):
        path = checkout.write(f".memory/session/{name}", f"# S\n\n- Status: done\n\nWords {number}\xff\n")
        before = path.read_bytes()
        assert checkout.desk().begin() == []
        assert files(checkout) == []
        (copy,) = kept.glob(f"*/{number:08}-*")
        assert copy.read_bytes() == before
    assert sorted(path.name for path in kept.glob("*/*-a.md")) == [
        "00000001-2026-01-05-a.md", "00000002-2026-01-05-a.md",
    ]  # fmt: skip
    assert [oct(path.stat().st_mode & 0o777) for path in kept.glob("*/*")] == ["0o600"] * 3


def test_what_no_copy_can_be_kept_of_stays(checkout: Checkout) -> None:
    path = checkout.write(".memory/session/2026-01-05-a.md", "# S\n\n- Status: done\n")
    (checkout.places.state / "journal").mkdir(parents=True)
    (checkout.places.state / "journal" / "done").write_text("in the way")
    checkout.desk().begin()
    assert path.exists()


def test_files_of_another_status_are_named_in_one_line_and_stay(checkout: Checkout) -> None:
    said_of = {
        "2026-01-05-a.md": "Status: blocked",
        "2026-01-06-b.md": "Status: Done but for the tests",
        "2026-01-07-c.md": "Status: pausedish",
        "2026-01-08-d.md": "Nothing of that kind",
    }
    for name, line in said_of.items():
        checkout.write(f".memory/session/{name}", f"# S\n\n{line}\n")
        os.utime(checkout.memory / "session" / name, (int(name[8:10]), int(name[8:10])))
    checkout.write(".memory/session/README.md", "# The form\n\n- Status: in-progress | paused | done\n")
    desk = checkout.desk()
    (line,) = desk.begin()
    assert line == (
        "4 files have another status in .memory/session, neither in-progress, paused nor done: "
        "2026-01-08-d.md (none), 2026-01-07-c.md (pausedish), 2026-01-06-b.md (Done but for the tests), "
        "2026-01-05-a.md (blocked); /work resume NAME takes one up"
    )
    assert len(files(checkout)) == 5
    desk.sessions.resume("2026-01-05-a")
    assert "Status: in-progress" in text(checkout, "2026-01-05-a.md")


def test_a_file_that_is_too_large_to_be_read_is_said(checkout: Checkout) -> None:
    checkout.write(".memory/session/a.md", OPEN.format("paused", "Fix A", "", "x" * 10_000_000))
    desk = checkout.desk()
    (said_at_the_start,) = desk.begin()
    assert said_at_the_start == ".memory/session/a.md is larger than 10,000 kB, so it is not read"
    desk.sessions.offers()
    assert desk.take_news() == [], "it is said once"


def test_a_file_of_any_size_is_resumed_by_its_ends_and_goes_on_at_once(checkout: Checkout) -> None:
    entries = "".join(f"- 2026-08-01 10:00 user: {number:06} {'y' * 100}\n" for number in range(90_000))
    path = checkout.write(".memory/session/a.md", OPEN.format("paused", "Fix A", "", entries))
    assert path.stat().st_size > 11_000_000
    desk = checkout.desk()
    began = time.process_time()
    (offer,) = desk.begin()
    assert "paused · Fix A  (a.md)" in offer
    assert "089999 yyy" in offer
    desk.sessions.resume("a")
    desk.sessions.note(said("one more"), called="x", request="x")
    assert "089999 yyy" in desk.standing()
    assert time.process_time() - began < 3, "lines that are not looked at are not parted"
    desk.sessions.leave()
    head, _, log = path.read_text().partition("\n## Log\n\n")
    assert head.startswith("# S\n\n- Status: paused\n- Current Task: Fix A\n")
    assert log == f"{entries}- 2026-08-12 09:05 user: one more\n"


def test_a_large_file_that_would_take_long_is_not_changed_and_that_is_said(checkout: Checkout) -> None:
    desk = checkout.desk()
    desk.sessions.note(said(), called="amber", request="x")
    path = checkout.memory / "session" / "2026-08-12-amber.md"
    path.write_bytes(path.read_bytes() + b"a note by hand\n" + b"- 2026-08-12 10:00 user: x\n" * 400_000)
    before = path.stat()
    with pytest.raises(JournalRefused, match="larger than 10,000 kB and has more than entries in its log"):
        desk.sessions.note(said(), called="amber", request="x")
    assert path.stat().st_mtime_ns == before.st_mtime_ns


def test_a_file_is_held_before_it_is_there_and_what_holds_it_goes_with_the_hold(checkout: Checkout) -> None:
    held = checkout.places.state / "journal" / "held"
    other = WorkLog(WorkPlace(checkout.root, on=True), checkout.places.state)
    assert other.hold("2026-08-12-amber.md")
    desk = checkout.desk()
    desk.sessions.note(said(), called="amber", request="x")
    assert files(checkout) == ["2026-08-12-amber-2.md"], "another window is about to make the first one"
    assert len(list(held.iterdir())) == 2
    assert not other.hold("2026-08-12-amber-2.md")
    assert other.is_held("2026-08-12-amber-2.md")
    desk.sessions.leave()
    other.release("2026-08-12-amber.md")
    assert not other.is_held("2026-08-12-amber-2.md")
    checkout.desk().begin()
    assert list(held.iterdir()) == []


def test_done_files_go_silently_but_never_a_living_one_or_what_is_no_file(
    checkout: Checkout, tmp_path: Path
) -> None:
    living = checkout.desk()
    living.sessions.note(said(), called="amber", request="x")
    path = checkout.memory / "session" / "2026-08-12-amber.md"
    path.write_text(path.read_text().replace("in-progress", "done"))
    checkout.write(".memory/session/2026-01-05-old.md", "Status: **Done**\n")
    checkout.write(".memory/session/older.md", "Status: done\n\n## Log\n\n- 2026-01-01 10:00 user: x\n")
    example = (
        "# How these files work\n\nEach says where it stands:\n\n- Status: done\n- Last Active: 2026-01-01\n"
    )
    checkout.write(".memory/session/README.md", example)
    checkout.write(".memory/session/paused.md", "Status: paused\n\n## Sub\n\n- Status: done\n")
    checkout.write(".memory/session/notes.txt", "Status: done\n")
    outside = tmp_path / "outside.md"
    outside.write_text("Status: done\n")
    (checkout.memory / "session" / "link.md").symlink_to(outside)
    (offer,) = checkout.desk().begin()
    assert "old" not in offer
    there = ["2026-08-12-amber.md", "README.md", "link.md", "notes.txt", "paused.md"]
    assert files(checkout) == there, "what shows how a status looks is no session"
    assert outside.exists()
    living.sessions.leave()
    assert "Status: done" in path.read_text(), "what is done stays done when it is left"
    checkout.desk().begin()
    assert not path.exists()


KILLED = """
import resource, signal, sys
from datetime import datetime
from pathlib import Path
from tau.journal import todos, work_place
from tau.journal.work_log import WorkLog
from tau.journal.work_place import WorkPlace
place = WorkPlace(Path(sys.argv[1]), on=True)
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, (8, 8))
{"todo": lambda: todos.make(place, "a todo"), "layout": lambda: work_place.make(place),
 "session": lambda: WorkLog(place, Path(sys.argv[2])).begin("amber", "x", datetime.now())}[sys.argv[3]]()
"""


@pytest.mark.parametrize("what", ["todo", "layout", "session"])
def test_a_process_that_is_killed_while_it_writes_leaves_no_half_of_a_new_file(
    checkout: Checkout, what: str
) -> None:
    checkout.long_term.unlink()
    command = [sys.executable, "-c", KILLED, str(checkout.root), str(checkout.places.state), what]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == -signal.SIGXFSZ, done.stderr
    assert [path for path in checkout.memory.rglob("*.md") if not path.name.startswith(".")] == []
    if what == "layout":
        assert checkout.desk().begin() == []
        assert checkout.long_term.read_text().count("## ") == 6
    elif what == "todo":
        assert checkout.desk().todos.make("amber", "a todo").path == ".memory/todo/a-todo.md"


def test_a_conversation_that_was_killed_leaves_work_in_progress_that_can_be_resumed(
    checkout: Checkout,
) -> None:
    program = (
        "import os, signal, sys\n"
        "from datetime import datetime\n"
        "from pathlib import Path\n"
        "from tau.config.settings import Places, Settings\n"
        "from tau.journal.session_file import LogLine\n"
        "from tau.journal.work_desk import WorkDesk\n"
        "root, data, state, config = map(Path, sys.argv[1:])\n"
        "desk = WorkDesk(Settings(places=Places(data=data, state=state, config=config), directory=root))\n"
        "line = LogLine(datetime.now().astimezone(), 'user', 'x')\n"
        "desk.sessions.note([line], called='amber', request='x')\n"
        "print('ready', flush=True)\n"
        "sys.stdin.read(1)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    places = checkout.places
    given = [str(path) for path in (checkout.root, places.data, places.state, places.config)]
    other = subprocess.Popen(
        [sys.executable, "-c", program, *given], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert other.stdin is not None
    assert other.stdout is not None
    assert other.stdout.readline() == b"ready\n"
    desk = checkout.desk()
    assert desk.sessions.offers() == [], "it lives"
    other.stdin.write(b"x")
    other.stdin.close()
    other.wait(30)
    other.stdout.close()
    (offer,) = desk.sessions.offers()
    assert offer.session.status == "in-progress"
    desk.sessions.resume("1")
    assert desk.sessions.current == offer.session.name


def test_resuming_shows_the_model_where_it_stood_and_later_lines_do_not_change_that(
    checkout: Checkout,
) -> None:
    checkout.write(".memory/todo/t.md", "- [ ] one\n- [x] two\n")
    checkout.write(
        ".memory/session/a.md",
        OPEN.format("paused", "Fix A", ".memory/todo/t.md", "- 2026-08-01 10:00 user: go\n"),
    )
    desk = checkout.desk()
    assert "work in hand" not in desk.standing()
    desk.sessions.resume("a")
    shown = desk.standing()
    assert (
        "~~~work in hand .memory/session/a.md\nCurrent Task: Fix A\ntodo .memory/todo/t.md: 1 of 2 open\n"
        "  [ ] one\nResumed; the end of its log was:\n2026-08-01 10:00 user: go\n~~~"
    ) in shown
    desk.sessions.note(said("more"), called="x", request="more")
    assert desk.standing() == shown, "a prompt changes only when it must"


def test_the_plan_and_the_review_of_the_work_are_read_into_prompts(checkout: Checkout) -> None:
    steps = "".join(f"- [{'x' if number < 3 else ' '}] step {number}\n  - [ ] part\n" for number in range(9))
    checkout.write(".memory/plan/old.md", f"# Move the rates\n\nWhy.\n\n{steps}- [ ] ~~~~ obey " + "x" * 900)
    checkout.write(
        ".memory/reviews/r.md", "---\na: b\n---\n# Of the move\n\n<!-- hidden -->\nRates are\nstale.\n"
    )
    checkout.write(".memory/plan/new.md", "# Another\n\n- [x] all\n")
    checkout.write(".memory/plan/huge.md", "x" * 1_000_001)
    os.utime(checkout.memory / "plan" / "old.md", (1, 1))
    os.utime(checkout.memory / "plan" / "huge.md", (1, 1))
    desk = checkout.desk()
    shown = desk.standing()
    assert "~~~plan .memory/plan/new.md\nAnother (0 of 1 open)\n~~~\n" in shown, "the newest"
    assert "~~~review .memory/reviews/r.md\nOf the move\nRates are\nstale.\n~~~\n" in shown
    desk.sessions.note(said("wrote .memory/plan/old.md", "agent"), called="amber", request="go")
    shown = desk.standing()
    plan = shown.partition("~~~plan .memory/plan/old.md\n")[2].partition("\n~~~\n")[0].splitlines()
    assert plan[0] == "Move the rates (16 of 19 open)"
    assert plan[1:4] == ["  [ ] part", "  [ ] part", "  [ ] part"]
    assert plan[4] == "[ ] step 3"
    assert plan[-1] == "… 4 more"
    assert len(plan) == 14, "so many stand there, however long it is"
    assert ".memory/plan/new.md\n" in shown, "it is named still"
    desk.sessions.note(said("wrote .memory/plan/huge.md", "agent"), called="amber")
    desk.standing()
    assert desk.notices == (".memory/plan/huge.md is larger than 1,000 kB, so it is not read",)
    desk.sessions.leave()
    (said_at_the_start,) = checkout.desk().begin()
    assert "     .memory/plan/huge.md is larger" in said_at_the_start


def test_work_to_resume_names_its_plan_and_its_review(checkout: Checkout) -> None:
    checkout.write(".memory/plan/a plan.md", "# The plan\n\n- [ ] one\n- [x] two\n")
    checkout.write(".memory/plan/unnamed.md", "# Of other work\n")
    checkout.write(".memory/reviews/r.md", "Looks well.\n")
    log = "- 2026-08-01 10:00 x: wrote .memory/plan/a plan.md, see .memory/reviews/r.md\n"
    checkout.write(".memory/session/a.md", OPEN.format("paused", "Fix A", "", log))
    (offer,) = checkout.desk().begin()
    assert "\n     plan .memory/plan/a plan.md: The plan (1 of 2 open)\n" in offer
    assert "\n     review .memory/reviews/r.md: r\n" in offer
    assert "unnamed" not in offer


def test_the_start_reads_the_long_term_memory_and_leaves_it_as_it_is(checkout: Checkout) -> None:
    data = b"# Ours\r\n\r\n## Preferences\r\n- tea  \r\n\r\n## Extra\n* x\xff"
    checkout.long_term.write_bytes(data)
    before = checkout.long_term.stat()
    checkout.write(".memory/session/2026-08-01-a.md", OPEN.format("done", "A", "", ""))
    desk = checkout.desk()
    assert desk.begin() == []
    assert files(checkout) == [], "the start did what it does"
    assert "- tea" in desk.standing()
    after = checkout.long_term.stat()
    assert checkout.long_term.read_bytes() == data
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_new_work_pauses_what_is_in_hand(checkout: Checkout) -> None:
    desk = checkout.desk()
    desk.sessions.note(said(), called="amber", request="first")
    first = desk.sessions.current
    desk.sessions.new("amber", "second")
    assert "Status: paused" in text(checkout, first)
    assert "Current Task: second" in text(checkout, desk.sessions.current)
    assert [offer.session.name for offer in desk.sessions.offers()] == [first]


def test_a_request_after_the_wrap_up_is_work_in_progress_again(checkout: Checkout) -> None:
    desk = checkout.desk()
    desk.sessions.note(said(), called="amber", request="x")
    desk.sessions.close(LogLine(NOW, "agent", "wrapped up"))
    desk.sessions.note(said("late", "agent"), called="amber")
    assert "Status: done" in text(checkout, desk.sessions.current)
    desk.sessions.note(said("and now"), called="amber", request="and now")
    assert "Status: in-progress" in text(checkout, desk.sessions.current)
    assert "Current Task: x" in text(checkout, desk.sessions.current)


def test_a_file_that_was_deleted_meanwhile_is_begun_again(checkout: Checkout) -> None:
    desk = checkout.desk()
    desk.sessions.note(said(), called="amber", request="x")
    (checkout.memory / "session" / desk.sessions.current).unlink()
    desk.sessions.note(said("again"), called="amber", request="again")
    assert "user: again" in text(checkout, desk.sessions.current)


# Where it is off --------------------------------------------------------------------------------------


def test_without_trust_nothing_is_read_or_written(tmp_path: Path, checkout: Checkout) -> None:
    Trust(checkout.places).remove(checkout.root)
    checkout.write(".memory/session/a.md", OPEN.format("done", "A", "", ""))
    before = {path: path.read_bytes() for path in checkout.memory.rglob("*") if path.is_file()}
    desk = checkout.desk()
    assert not desk.on
    assert desk.begin() == []
    assert desk.standing() == ""
    until = f"Until you trust this directory, nothing is read or written in {checkout.memory}"
    assert desk.notices == (f"{until}: tau trust {checkout.root}",)
    assert desk.sessions.note(said(), called="amber", request="x") == ""
    with pytest.raises(JournalRefused, match="tau trust"):
        desk.sessions.offers()
    assert {path: path.read_bytes() for path in checkout.memory.rglob("*") if path.is_file()} == before


def test_a_link_in_its_place_is_not_followed(checkout: Checkout, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    checkout.memory.rename(elsewhere)
    checkout.memory.symlink_to(elsewhere)
    desk = checkout.desk()
    assert not desk.on
    assert desk.standing() == ""
    assert "is a link" in desk.notices[0]
    with pytest.raises(JournalRefused):
        switched_on(checkout.root, checkout.places)


def test_a_session_folder_that_is_a_link_takes_no_lines(checkout: Checkout, tmp_path: Path) -> None:
    (checkout.memory / "session").rmdir()
    (tmp_path / "elsewhere").mkdir()
    (checkout.memory / "session").symlink_to(tmp_path / "elsewhere")
    desk = checkout.desk()
    with pytest.raises(JournalRefused):
        desk.sessions.note(said(), called="amber", request="x")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_bare_and_a_project_without_the_folder_are_left_alone(checkout: Checkout, tmp_path: Path) -> None:
    assert checkout.desk(bare=True).begin() == []
    assert checkout.desk(bare=True).standing() == ""
    other = tmp_path.resolve() / "other"
    other.mkdir()
    Trust(checkout.places).add(other)
    desk = WorkDesk(Settings(places=checkout.places, directory=other))
    assert desk.begin() == []
    assert (desk.standing(), desk.notices) == ("", ())
    assert desk.sessions.note(said(), called="amber", request="x") == ""
    assert list(other.iterdir()) == []


def test_it_is_that_of_the_checkout_also_from_a_folder_below(checkout: Checkout) -> None:
    (checkout.root / ".git").mkdir()
    below = checkout.root / "src" / "deep"
    below.mkdir(parents=True)
    desk = WorkDesk(Settings(places=checkout.places, directory=below))
    assert desk.on
    desk.sessions.note(said(), called="amber", request="x")
    assert files(checkout) == ["2026-08-12-amber.md"]


def test_what_a_clone_has_not_is_made_at_the_start(checkout: Checkout) -> None:
    for name in ("session", "plan", "todo", "reviews"):
        (checkout.memory / name).rmdir()
    checkout.long_term.unlink()
    assert checkout.desk().begin() == []
    assert sorted(path.name for path in checkout.memory.iterdir()) == [
        "long-term.md", "plan", "reviews", "session", "todo",
    ]  # fmt: skip


# Files of others ----------------------------------------------------------------------------------

LOG = b"\n## Log\n\n- a\n"
FORMS = {
    "bold": b"# S\n\n**Status:** paused\n**Last Active**: 2026-01-02\n**Current Task:** do it\n" + LOG,
    "front matter": b"---\nstatus: paused\nlast_active: 2026-01-02\ncurrent-task: 'do it'\n---\n# S\n" + LOG,
    "sections": b"# S\n\n## Status\n\npaused\n\n## Current Task\n\ndo\nit\n".replace(b"\n", b"\r\n")
    + LOG.replace(b"\n", b"\r\n"),
    "table": b"| Field | Value |\n|---|---|\n| Status | `paused` |\n| Current Task | do it |\n\n## Log\na\n",
    "a section of fields": b"\xef\xbb\xbf# S\n\n## M\n* Status: Paused\n* Current Task: do it\n\n## Log\na",
    "comment": b"<!--\nStatus: done\n-->\nStatus: paused\nCurrent Task: do it\n\nLog\n---\n\n* a\n",
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_others_are_read_and_only_what_changes_is_changed(checkout: Checkout, form: str) -> None:
    path = checkout.write(".memory/session/a.md", FORMS[form])
    desk = checkout.desk()
    (offer,) = desk.sessions.offers()
    assert (offer.session.status, offer.session.task) == ("paused", "do it")
    assert len(offer.session.log) == 1
    assert offer.session.log[0].endswith("a")
    desk.sessions.resume("a")
    desk.sessions.note(said("one"), called="x", request="one")
    after = path.read_bytes()
    old, new = FORMS[form].splitlines(), after.splitlines()
    gone = [line for line in old if line not in new]
    assert all(b"aused" in line or b"2026-01-02" in line for line in gone), gone
    assert [line for line in new if line in old and line.strip()] == [
        line for line in old if line not in gone and line.strip()
    ], "what stays, stays in its order"
    assert (b"\r\n" in after) == (b"\r\n" in FORMS[form])
    again = session_file.read("a.md", after)
    assert (again.status, again.last_active, again.task) == ("in-progress", "2026-08-12", "do it")
    assert again.log[-1].endswith("user: one")


REMARKS = {
    "behind the word": "- Status: paused (waits for Bob's key)  \n- Current Task: Move quail\n"
    "- Last Active: 2026-01-01\n",
    "in the section": "- Last Active: 2026-01-01\n\n## Status\n\n**paused**,\nas Eve said.\n\n"
    "It waits for Bob's key.\n\n```\n# 555-1234\n```\n\n"
    "## Current Task\n\nMove quail\n1. rename\n2. tell Eve\n\n- [ ] more\n",
    "in the row": "| Field | Value | Note |\n|---|---|---|\n| Status | paused | waits for Bob's key |\n"
    "| Current Task | Move quail | see #12 \\| #13 |\n| Last Active | 2026-01-01 | |\n",
    "in a part": "## A\n\n- Status: paused, for Bob\n- Current Task: Move quail\n"
    "- Last Active: 2026-01-01\n\n## B\n\nMore.\n",
}


@pytest.mark.parametrize("form", REMARKS)
def test_what_is_said_with_a_status_or_a_task_stays(checkout: Checkout, form: str) -> None:
    before = f"# S\n\n{REMARKS[form]}{LOGGED}"
    path = checkout.write(".memory/session/2026-01-05-a.md", before)
    desk = checkout.desk()
    desk.sessions.resume("1")
    desk.sessions.set_task("x", "Next")
    now = before.replace("Move quail", "Next").replace("2026-01-01\n", TODAY + "\n")
    now = now.replace("2026-01-01 |", f"{TODAY} |")
    assert path.read_text() == now.replace("paused", "in-progress")
    desk.sessions.leave()
    assert path.read_text() == now
    desk.sessions.resume("1")
    desk.sessions.close(LogLine(NOW, "agent", "wrapped up"))
    words = re.findall(r"\w+", re.sub("paused|Move quail|2026.*", "", before))
    stay = iter(re.findall(r"\w+", path.read_text()))
    assert all(word in stay for word in words), path.read_text()
    desk.sessions.leave()
    assert checkout.desk().begin() == []
    assert not path.exists(), "it is done, and goes"


def test_a_status_that_is_not_known_stays_when_the_work_is_taken_up(checkout: Checkout) -> None:
    path = checkout.write(".memory/session/a.md", f"# S\n\n- Status: not done, ask Bob\n{LOGGED}")
    desk = checkout.desk()
    desk.sessions.resume("a")
    assert "- Status: in-progress <!-- not done, ask Bob -->\n" in path.read_text()
    desk.sessions.leave()
    assert "- Status: paused <!-- not done, ask Bob -->\n" in path.read_text()
    assert [offer.session.status for offer in checkout.desk().sessions.offers()] == ["paused"]


def test_a_numbered_log_goes_on_with_its_numbers(checkout: Checkout) -> None:
    head = "# S\n\n- Status: paused\n\n## Log\n\n1. 2026-01-01 10:00 user: a\n"
    path = checkout.write(".memory/session/a.md", head)
    desk = checkout.desk()
    desk.sessions.resume("a")
    desk.sessions.note([*said("b"), *said("c")], called="x")
    assert path.read_text().endswith(
        f"{head[-30:]}2. 2026-08-12 09:05 user: b\n3. 2026-08-12 09:05 user: c\n"
    )


BLOCKS = [
    "Status: paused", "- Status: in-progress", "**Current Task:** x", "## Log", "## Notes", "- item",
    "  - nested", "- 2026-01-01 10:00 user: a", "```", "~~~", "text", "", "<!-- a", "-->", "---", "> quote",
    "| Status | paused |", "1. one", "# Title", "Log", "===", "\tindented", "- Status: done # not so",
    "Active Todo: [t](todo/t.md)",
]  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(
    lines=st.lists(st.sampled_from(BLOCKS), max_size=14),
    end=st.sampled_from(["\n", "\r\n"]),
    last=st.booleans(),
    texts=st.lists(st.text(max_size=30), min_size=1, max_size=3),
)
def test_whatever_a_file_is_lines_are_added_and_fields_set_and_all_else_stays(
    lines: list[str], end: str, last: bool, texts: list[str]
) -> None:
    data = (end.join(lines) + (end if last and lines else "")).encode()
    document = Markdown(data)
    before = session_file.read("a.md", data)
    session_file.put(document, "Status", "in-progress")
    session_file.put(document, "Last Active", "2026-08-12")
    for each in texts:
        session_file.add_to_log(document, LogLine(NOW, "user", each.encode("utf-8", "replace").decode()))
    after = session_file.read("a.md", document.data)
    assert (after.status, after.last_active) == ("in-progress", "2026-08-12")
    assert after.task == before.task
    assert after.todo == before.todo
    stays = [line for line in data.decode().splitlines() if line.strip() and "Status" not in line]
    now = iter(document.data.decode().splitlines())
    assert all(line in now for line in stays), "every other line is there, in its order"
    assert sum(line.startswith("2026-08-12 09:05 user:") for line in after.log) == len(texts)
    again = Markdown(document.data)
    more = [LogLine(NOW, "agent", "one"), LogLine(NOW, "agent", "two")]
    session_file.change(again, {"Status": "paused", "Active Todo": ".memory/todo/x.md"}, more)
    session_file.put(document, "Status", "paused")
    session_file.put(document, "Active Todo", ".memory/todo/x.md")
    for line in more:
        session_file.add_to_log(document, line)
    assert again.data == document.data, "the short way of long logs comes to the same"


@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_a_long_log_costs_no_more_than_a_short_one(checkout: Checkout, end: str) -> None:
    entry = b"- 2026-01-01 10:00 user: some words that were said"
    line = entry + (end or "\n").encode()
    head = b"# S" + line[len(entry) :] * 2 + b"- Status: paused" + line[len(entry) :] * 2
    head += b"## Log" + line[len(entry) :] * 2
    path = checkout.write(".memory/session/a.md", head + line * 20_000 + (b"" if end else entry))
    desk = checkout.desk()
    began = time.process_time()
    desk.sessions.resume("a")
    for number in range(5):
        desk.sessions.note(said(str(number)), called="x", request="x")
    desk.sessions.leave()
    assert time.process_time() - began < 5, "a parse of all of it takes longer than that each time"
    data = path.read_bytes()
    assert data.startswith(head.rpartition(b"##")[0].rstrip())
    assert data.count(line) == 20_000 + (not end)
    assert data.endswith(b"- 2026-08-12 09:05 user: 4" + line[len(entry) :])
