"""What tests share that compare a screen with its picture: sizes and themes, sessions, the comparison."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import time_machine
from pytest_textual_snapshot import SVGImageExtension
from syrupy.assertion import SnapshotAssertion
from textual._compositor import LayoutUpdate
from textual.strip import Strip
from textual.widgets import Input

from tau.events import AgentEvent, NoticeRecord, ToolCallRecord
from tau.sessions.store import SessionStore
from tests.tui.recorded import answered, called, exchanges, record, result, said

if TYPE_CHECKING:
    from tests.tui.conftest import Running

Size = tuple[int, int]
Pictured = Callable[..., AbstractAsyncContextManager["Running"]]
"""What the fixture ``pictured`` gives."""

SIZES = [(80, 24), (120, 40)]
LONG_AGO = "2020-09-29T15:30:12+00:00"

every_theme = pytest.mark.parametrize("theme", ["dark", "light", "ansi"])
LOOKS = [(size, theme) for size in [*SIZES, (200, 60)] for theme in ("dark", "light")]
"""Every size that the screen is designed at, dark and light."""

every_look = pytest.mark.parametrize(("size", "theme"), LOOKS, ids=str)
each_size = pytest.mark.parametrize("size", SIZES, ids=str)

REPLY = """The job imports `quail.rates`, which **moved** to `quail.money` in 3f2a91c. Three things follow:

1. the import fails at start
2. the run stops before it writes anything
3. nobody is told, because the alert is sent *at the end*

```python
from quail.money import rates


def run(day: date) -> None:
    rates.load(day)
```

| file | state |
|---|---|
| `nightly.py` | broken since Tuesday |
| `weekly.py` | fine |

See [the commit](https://example.org/3f2a91c)."""

MESSAGES = [
    said("Why does the nightly job fail since Tuesday?"),
    {
        "role": "assistant",
        "content": [
            {"reasoningContent": {"reasoningText": {"text": "The log says ModuleNotFoundError."}}},
            {"text": "I look at the job and run its test."},
            called("t1", "read_file", path="quail/jobs/nightly.py"),
            called("t2", "shell", command="pytest -x tests/test_nightly.py"),
        ],
    },
    result("t1", "from quail import rates"),
    result("t2", "E   ModuleNotFoundError: No module named 'quail.rates'", status="error"),
    answered(REPLY),
]

EVENTS: list[AgentEvent] = [
    ToolCallRecord(
        "read_file", 0, {"path": "quail/jobs/nightly.py"}, "success", "", "not_needed", 0.012, "t1",
        at=LONG_AGO,
    ),
    ToolCallRecord(
        "shell", 2, {"command": "pytest -x tests/test_nightly.py"}, "error", "", "approved", 1.8, "t2",
        at="2020-09-29T15:30:20+00:00",
    ),
    NoticeRecord("The reply hit the length limit; say so if you want me to continue.", at=LONG_AGO),
]  # fmt: skip


def record_sessions(store: SessionStore, work: Path) -> None:
    """A project with three earlier sessions."""
    (work / ".git").mkdir()
    (work / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    with time_machine.travel(LONG_AGO, tick=False):
        record(store, "20200927-100000-aaaa", exchanges(4), directory=str(work), name="heron")
        record(store, "20200928-100000-bbbb", exchanges(11), directory=str(work), name="wren")
    with time_machine.travel("2020-10-02T09:12:00+00:00", tick=False):
        record(
            store, "20201002-091200-cccc", MESSAGES, directory=str(work), events=EVENTS, name="amber",
            tokens_in=41_200, tokens_out=3_100, turns=1, context_tokens=68_000,
        )  # fmt: skip


async def picture(snapshot: SnapshotAssertion, tau: Running) -> None:
    """Compare the screen once it has come to rest; no cursor blinks."""
    for field in tau.app.screen.query(Input):
        field.cursor_blink = False
        field._cursor_visible = True
    before: list[list[Strip]] = []
    while before != (now := strips(tau)):
        before = now
        await tau.pilot.pause(0.05)  # everything that is queued is handled
    assert snapshot(extension_class=SVGImageExtension) == tau.app.export_screenshot()


async def pictures_of(
    snapshot: SnapshotAssertion, tau: Running, walk: Mapping[str, Callable[[Running], Awaitable[None]]]
) -> None:
    """Bring about one state after the other, and compare the screen in each of them."""
    for name, see in walk.items():
        await see(tau)
        await picture(partial(snapshot, name=name), tau)  # type: ignore[arg-type]  # called the same way


def strips(tau: Running) -> list[list[Strip]]:
    """All that a picture is made of, row by row, in a tenth of the time that the picture takes."""
    update = tau.app.screen._compositor.render_update(full=True, screen_stack=tau.app._background_screens)
    assert isinstance(update, LayoutUpdate)
    return [list(row) for row in update.strips]
