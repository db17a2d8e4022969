"""What the tests of `tau web` share: a server, and clients that are no browsers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING

import pytest

from tests.web.served import Served, Visitor

if TYPE_CHECKING:
    from tests.conftest import TauEnv

Serve = Callable[..., Awaitable[Served]]
Visit = Callable[[Served], Awaitable[Visitor]]


@pytest.fixture
async def serve(tau_env: TauEnv) -> AsyncIterator[Serve]:
    """Starts `tau web` with arguments, on a scripted model unless another was set; every one is ended."""
    started: list[Served] = []

    async def one(*arguments: str) -> Served:
        if not tau_env.user_config.exists():
            tau_env.scripted({"text": "noted"})
        started.append(await Served.start(tau_env, *arguments))
        return started[-1]

    yield one
    for served in started:
        await served.end()


@pytest.fixture
async def visit() -> AsyncIterator[Visit]:
    """Makes clients that were let in."""
    made: list[Visitor] = []

    async def one(served: Served) -> Visitor:
        made.append(Visitor(served))
        assert (await made[-1].use_door()).status == 200
        return made[-1]

    yield one
    for visitor in made:
        await visitor.close()
