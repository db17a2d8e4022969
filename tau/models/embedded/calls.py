"""Calls of the child process, one at a time, each with what is kept of its prompt's beginning."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from tau.display import one_line
from tau.errors import ModelCallFailed
from tau.models.embedded.completion import Lost, Piece, Refused, complete, move_state
from tau.models.embedded.kept import Head, Kept
from tau.models.embedded.process import Address, Child, Lease

_LOST_SECONDS = 2.0


class Calls:
    """The calls of one model.

    Args:
        lease: The claim on the child.
        kept: The beginnings of prompts kept on disk; None when none are.
    """

    def __init__(self, lease: Lease, kept: Kept | None) -> None:
        self._lease = lease
        self._kept = kept

    async def run(self, body: Mapping[str, Any], *, keep: Head | None = None) -> AsyncGenerator[Piece, None]:
        """Stream a completion. Leaving the generator stops the computation.

        Args:
            body: The request, with its slot as ``id_slot``.
            keep: The beginning that was read; what the slot holds afterwards is kept for it.

        Raises:
            Overflow: The prompt does not fit.
            ModelNotReady: The weights cannot be loaded.
            ModelCallFailed: The child ended or refused.
        """
        child = self._lease.child()
        address = await _loaded(child)
        slot: int = body["id_slot"]
        try:
            async with _turn(child):
                async with aclosing(complete(address, body)) as pieces:
                    async for piece in pieces:
                        yield piece
                if self._kept is None or keep is None:
                    return
                # Before the next call puts a conversation into the slot.
                saved = await _save(self._kept, address, slot)
                child.beginnings[slot] = (keep, True)
        except Lost as error:
            raise await _lost(child) from error
        except Refused as error:
            said = one_line(str(error), 200)
            raise ModelCallFailed(f"The embedded model refused the request: {said}") from error
        if saved is not None:
            await asyncio.to_thread(self._kept.accept, *saved, slot, keep)

    async def restore(self, slot: int, head: Head) -> bool:
        """Put what is kept of a prompt's beginning into its slot, unless the slot has it already.

        A file that the runtime refuses, or that ends it, is removed; the prompt is read then.

        Returns:
            Whether all of the beginning is kept.

        Raises:
            ModelNotReady: The weights cannot be loaded.
            ModelCallFailed: The child was closed meanwhile.
        """
        if self._kept is None:
            return False
        child = self._lease.child()
        last, whole = child.beginnings.get(slot, (None, False))
        if last == head:
            return whole
        found = await asyncio.to_thread(self._kept.find, slot, head)  # while the child loads
        address = await _loaded(child)
        async with _turn(child):
            last, whole = child.beginnings.get(slot, (None, False))
            if last == head:
                return whole
            whole = False
            if found is not None:
                path, whole = found
                try:
                    await move_state(address, slot, "restore", path.name)
                except Refused as error:
                    self._kept.drop(path, f"the runtime refused it ({one_line(str(error), 120)})")
                    whole = False
                except Lost as error:
                    if child.ending:
                        raise await _lost(child) from error
                    self._kept.drop(path, "the runtime ended or hung over it")
                    await asyncio.to_thread(child.end)
                    return False
            child.beginnings[slot] = (head, whole)
            return whole


async def _save(kept: Kept, address: Address, slot: int) -> tuple[Path, int] | None:
    """Have the child write down what a slot holds: the file, to be accepted yet, and its size."""
    partial = await asyncio.to_thread(kept.partial)
    if partial is None:
        return None
    try:
        return partial, await move_state(address, slot, "save", partial.name)
    except Refused as error:
        kept.give_up(partial, one_line(str(error), 120))
    except Lost:
        kept.give_up(partial, "the runtime ended or hung over it")
        raise
    return None


@asynccontextmanager
async def _turn(child: Child) -> AsyncGenerator[None, None]:
    """Wait until no other call computes; calls may come from several loops, hence no asyncio lock."""
    while not child.busy.acquire(blocking=False):
        await asyncio.sleep(0.02)
    try:
        yield
    finally:
        child.busy.release()


async def _loaded(child: Child) -> Address:
    # Not asyncio.wrap_future: cancelling that would cancel the load for every other caller.
    loop, done = asyncio.get_running_loop(), asyncio.Event()

    def wake(_: object) -> None:
        with suppress(RuntimeError):  # the loop was closed meanwhile: nobody waits any more
            loop.call_soon_threadsafe(done.set)

    child.ready.add_done_callback(wake)
    await done.wait()
    return child.ready.result()


async def _lost(child: Child) -> ModelCallFailed:
    over = await asyncio.to_thread(child.wait_ended, _LOST_SECONDS)
    how = child.why_ended() if over else "its connection broke"
    return ModelCallFailed(
        f"The embedded model stopped in the middle of the answer ({how})",
        "it is started again by the next message",
    )
