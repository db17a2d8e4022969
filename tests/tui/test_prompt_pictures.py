"""The prompt with what can stand over it, as pictures."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import time_machine
from syrupy.assertion import SnapshotAssertion

from tau.config.settings import Settings
from tau.input.drafts import Drafts
from tau.input.history import PromptHistory
from tests.tui.conftest import Start
from tests.tui.pictures import LONG_AGO, Pictured, Size, every_look, picture
from tests.tui.test_completion import write
from tests.tui.test_past import searching

FILES = (
    "quail/jobs/nightly.py",
    "quail/jobs/weekly.py",
    "tests/test_nightly.py",
    "quail/importers/european_central_bank/reference_rates/read_the_published_table_nightly.py",
)
SENT = (
    "why does the nightly job fail?",
    "make the parser read\na line at a time",
    "add a paragraph about numbers, with separators and in every locale, that says what the parser reads",
)

LOOKS = [((80, 24), "dark"), ((120, 40), "light"), ((200, 60), "ansi")]


@pytest.fixture(params=LOOKS, ids=lambda look: f"{look[0]}-{look[1]}")
def begin(request: pytest.FixtureRequest, start: Start, settings_for: Callable[..., Settings]) -> Start:
    """Start the app at one of the sizes, in one of the themes."""
    size, theme = request.param
    return partial(start, settings=settings_for(theme=theme), size=size, name="rook")


async def test_files(begin: Start, work: Path, snapshot: SnapshotAssertion) -> None:
    for name in FILES:
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).touch()
    async with begin() as tau:
        await write(tau, "look at @nightly", shows="test_nightly.py")
        await tau.pilot.press("down")
        await picture(snapshot, tau)


async def test_the_search(begin: Start, work: Path, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    with time_machine.travel(LONG_AGO, tick=False):
        history = PromptHistory(tmp_path / "state", work)
        for text in SENT:
            history.add(text)
        assert history.close()
    async with begin() as tau:
        await searching(tau, "parse")
        await picture(snapshot, tau)


@every_look
async def test_a_draft_that_was_left(
    pictured: Pictured, work: Path, tmp_path: Path, size: Size, theme: str
) -> None:
    with time_machine.travel(LONG_AGO, tick=False):
        drafts = Drafts(tmp_path / "state", work)
        drafts.keep(SENT[2], [SENT[0]])
        assert drafts.close()
    async with pictured(size, theme, name="rook") as tau:
        await tau.shows("⋯ not sent")
