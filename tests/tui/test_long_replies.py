"""A long reply while it comes and when it is whole: it never holds the screen up and ends as one document."""

from __future__ import annotations

from pathlib import Path

import pytest

from tau.sessions.store import SessionStore
from tau.tui.markdown import lay_out, parse
from tau.tui.widgets.reply import READING_WIDTH, Reply
from tests.longest_block import longest_block
from tests.tui.conftest import Running, Start
from tests.tui.recorded import answered, record, said

CODE = (
    "```python\n" + "".join(f"value_{n} = compute({n}, 'text')  # a line\n" for n in range(24_000)) + "```\n"
)
LIST = "".join(f"- entry {n} with [a link](https://example.org/{n})\n" for n in range(4_800))
MIXED = "".join(f"## Part {n}\n\nWords of *part {n}*.\n\n- a\n- b\n\n```\nx\n```\n\n" for n in range(1_600))
LATE = "[one] and [two].\n\n" * 700 + "[one]: https://one.example\n\n[two]: https://two.example\n"

LONGEST = 0.15
"""Seconds of the processor: 0.04 at most were measured; 0.23 at least with the text read on the loop."""


def shown(reply: Reply) -> list[str]:
    return [row.text for row in reply.rows(opened=True)]


def as_one_document(text: str, width: int) -> list[str]:
    lines = lay_out(parse(text).blocks, min(width, READING_WIDTH), begins=True)
    return [line.content.plain.rstrip() for line in lines]


def drawn(reply: Reply) -> list[str]:
    settled, last = reply._laid_out_lines()
    return [line.content.plain.rstrip() for line in settled + last]


async def whole(tau: Running, text: str) -> Reply:
    """The reply once it is read as one document."""
    await tau.idle()
    reply = tau.screen.query(Reply).last()
    await tau.until(lambda: drawn(reply) == as_one_document(text, reply.size.width), "one document")
    return reply


@pytest.mark.parametrize("text", [CODE, LIST, MIXED], ids=["code", "list", "mixed"])
async def test_the_screen_is_never_held_up(start: Start, text: str) -> None:
    async with start([{"text": text, "chunks": 600, "delay": 0.001}]) as tau:
        async with longest_block() as longest:
            await tau.send("write it")
            await tau.until(lambda: len(tau.screen.query(Reply)), "the reply begins")
            await tau.until(lambda: not tau.screen.busy, "the turn ends", 60)
        assert longest[0] < LONGEST
        reply = await whole(tau, text)
        assert reply.source == text


@pytest.mark.parametrize("text", [CODE, LIST, MIXED], ids=["code", "list", "mixed"])
async def test_a_stored_one_does_not_hold_it_up_either(
    start: Start, store: SessionStore, work: Path, text: str
) -> None:
    record(store, "long", [said("write it"), answered(text)], directory=str(work))
    async with start() as tau:
        async with longest_block() as longest:
            await tau.send("/resume long")
            await tau.until(lambda: len(tau.screen.query(Reply)), "the reply is there")
            await tau.rest()
        assert longest[0] < LONGEST
        reply = await whole(tau, text)
        assert reply.source == text


async def test_what_stands_at_the_end_counts_for_the_beginning(start: Start) -> None:
    async with start([{"text": LATE, "chunks": 100, "delay": 0.001}]) as tau:
        await tau.send("write it")
        reply = await whole(tau, LATE)
        assert "[one]" not in shown(reply)[0]
        assert len(reply._links) == 1_400


async def test_a_resize_while_it_is_read(start: Start) -> None:
    async with start([{"text": CODE, "chunks": 60, "delay": 0.001}], size=(120, 40)) as tau:
        await tau.send("write it")
        await tau.until(lambda: len(tau.screen.query(Reply)), "the reply begins")
        for width in (80, 200, 60, 90):
            await tau.pilot.resize_terminal(width, 40)
        reply = await whole(tau, CODE)
        assert "value_23999" in tau.text()
        assert reply.size.width <= 90


async def test_a_long_reply_that_is_cancelled_keeps_what_came(start: Start) -> None:
    async with start([{"text": CODE, "chunks": 200, "delay": 0.02}]) as tau:
        await tau.send("write it")
        await tau.shows("value_")
        await tau.until(lambda: len(tau.screen.query(Reply).last().source) > 20_000, "much of it has come")
        await tau.pilot.press("escape")
        await tau.idle()
        reply = tau.screen.query(Reply).last()
        await tau.until(lambda: drawn(reply)[-1].strip() in reply.source[-60:], "its end is shown")
        assert CODE.startswith(reply.source.removesuffix("\n\n[interrupted]"))
