"""What the tests of `tau mcp` share: a home in which two conversations were recorded, in two directories."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.conftest import make_tau_env
from tests.mcp_server.clients import Http, Piped

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import TauEnv

Start = Callable[..., Http]
Pipe = Callable[..., Piped]


class Recorded(NamedTuple):
    """A home with a conversation in its directory, another one elsewhere, and their ids."""

    env: TauEnv
    here: str
    elsewhere: str


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """Two conversations that `tau run` had with a scripted model. Tests make tasks of their own in it."""
    root: Path = tmp_path_factory.mktemp("recorded")
    env = make_tau_env(root)
    other = root / "other"
    other.mkdir()
    env.scripted({"text": "It listens on 8443; the ferry is called bluebird-7781.\x1b[31m"})
    assert env.run("run", "Which port does the gateway use?").returncode == 0
    (here,) = env.sessions()
    env.scripted({"text": "The secret gateway of the other project is at 9999."})
    assert env.run("run", "And the other gateway?", cwd=other).returncode == 0
    (elsewhere,) = set(env.sessions()) - {here}
    return Recorded(env, here.name, elsewhere.name)


@pytest.fixture
def pipe(tau_env: TauEnv) -> Iterator[Pipe]:
    """Starts `tau mcp` on pipes; every one is ended."""
    started: list[Piped] = []

    def one(*arguments: str) -> Piped:
        started.append(Piped(tau_env, *arguments))
        return started[-1]

    yield one
    for each in started:
        each.process.kill()
        each.process.wait()
        for stream in (each.process.stdin, each.process.stdout, each.process.stderr):
            with suppress(BrokenPipeError):
                stream.close()  # type: ignore[union-attr]  # they are pipes


@pytest.fixture
def serve() -> Iterator[Start]:
    """Starts `tau mcp --http` in a home; every one is ended."""
    started: list[Http] = []

    def one(tau_env: TauEnv, *arguments: str) -> Http:
        started.append(Http(tau_env, *arguments))
        return started[-1]

    yield one
    for each in started:
        if each.process.poll() is None:
            each.process.kill()
            each.process.communicate()
