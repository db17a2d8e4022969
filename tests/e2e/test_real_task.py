"""A real task in a terminal: a broken package is looked through, mended, tested and reported on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.terminal import Open, Terminal

if TYPE_CHECKING:
    from tests.conftest import TauEnv

pytestmark = pytest.mark.terminal

RATES = '''"""Exchange rates."""


def convert(amount: float, rate: float) -> float:
    """An amount in another currency."""
    return amount / rate


def total(amounts: list[float], rate: float) -> float:
    """A sum in another currency."""
    return sum(convert(amount, rate) for amount in amounts[1:])
'''
TESTS = """from quail.rates import convert, total


def test_convert() -> None:
    assert convert(10, 2) == 20


def test_total() -> None:
    assert total([1, 2, 3], 2) == 12
"""
CHECK = f"{sys.executable} -m pytest -q tests"
REPORT = "Both bugs are mended: the rate was divided by, and the first amount was left out."


@pytest.fixture
def package(tau_env: TauEnv) -> Path:
    """A small package whose tests fail, as a repository."""
    root = tau_env.directory
    (root / ".git").mkdir()
    (root / "quail").mkdir()
    (root / "quail" / "__init__.py").touch()
    (root / "quail" / "rates.py").write_text(RATES)
    (root / "tests").mkdir()
    (root / "tests" / "test_rates.py").write_text(TESTS)
    (root / "pyproject.toml").write_text('[tool.pytest.ini_options]\npythonpath = ["."]\n')
    return root


def call(identity: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"tools": [{"name": name, "input": arguments, "id": identity}]}


def mended(package: Path) -> bool:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "tests"], cwd=package, capture_output=True, check=False
    )
    return done.returncode == 0


def question(app: Terminal, *texts: str) -> None:
    """Wait until a question is there whose keys count."""
    for text in texts:
        app.shows(text)
    app.shows("no, because")


def test_a_broken_package_is_mended(tau_env: TauEnv, terminal: Open, package: Path) -> None:
    edits = [
        {"old": "    return amount / rate", "new": "    return amount * rate"},
        {"old": "for amount in amounts[1:])", "new": "for amount in amounts)"},
    ]
    tau_env.scripted(
        call("t1", "search_files", pattern="def (convert|total)"),
        call("t2", "shell", command=CHECK),
        call("t3", "read_file", path="quail/rates.py"),
        call("t4", "edit_file", path="quail/rates.py", edits=edits),
        call("t5", "shell", command=CHECK),
        {"text": REPORT, "chunks": 5},
    )
    assert not mended(package)
    app = terminal("tui")
    app.ready()
    app.send("The tests of quail fail. Mend it.\r")

    question(app, "pytest -q tests")
    app.press("y")
    question(app, "quail/rates.py", "amount * rate")
    assert "amount / rate" in (package / "quail" / "rates.py").read_text(), "nothing before the yes"
    app.press("y")
    question(app, "pytest -q tests")
    app.press("y")
    app.shows("Both bugs are mended")
    app.ready()
    assert mended(package)
    app.send("\x11")
    assert app.ended() == 0

    results = [
        block["toolResult"]
        for message in tau_env.sent()[-1]["messages"]
        for block in message["content"]
        if "toolResult" in block
    ]
    texts = ["".join(item.get("text", "") for item in result["content"]) for result in results]
    assert "quail/rates.py:4" in texts[0]
    assert "2 failed" in texts[1]
    assert "[exit 1" in texts[1]
    assert "+    return amount * rate" in texts[3]
    assert "2 passed" in texts[4]

    again = terminal("tui", "--resume")
    again.ready()
    again.shows("Both bugs are mended")
    again.send("\x11")
    assert again.ended() == 0

    (session,) = tau_env.sessions()
    events = [json.loads(line) for line in (session / "events.jsonl").read_text().splitlines()]
    assert [(event["tool"], event["approval"]) for event in events if event["kind"] == "tool_call"] == [
        ("search_files", "not_needed"),
        ("shell", "approved"),
        ("read_file", "not_needed"),
        ("edit_file", "approved"),
        ("shell", "approved"),
    ]
    assert [event["decision"] for event in events if event["kind"] == "approval"] == ["yes"] * 3


def test_a_no_leaves_the_package_as_it_was(tau_env: TauEnv, terminal: Open, package: Path) -> None:
    tau_env.scripted(
        call("t1", "write_file", path="quail/new.py", content="print('hello')\n"),
        {"text": "Understood, I leave it."},
    )
    app = terminal("tui")
    app.ready()
    app.send("Add a module.\r")
    question(app, "quail/new.py", "hello")
    app.press("r")
    app.send("no new modules, please\r")
    app.shows("Understood, I leave it.")
    assert not (package / "quail" / "new.py").exists()
    assert "no new modules, please" in json.dumps(tau_env.sent()[-1]["messages"])
    app.send("\x11")
    assert app.ended() == 0
