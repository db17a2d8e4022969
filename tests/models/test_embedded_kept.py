"""Beginnings of prompts are kept on disk: a later start restores them, and no file on disk can break it."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import random
import resource
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from strands.types.content import Messages

from tau.config.settings import ModelSettings, Places
from tau.errors import ModelCallFailed
from tau.models import embedded
from tau.models.embedded import kept
from tau.models.embedded.kept import Kept
from tau.models.embedded.model import ANSWERING, EmbeddedModel
from tau.models.embedded.weights import Weights, file_of, find, kept_prompts, remove
from tests.models.test_embedded_model import small_places  # noqa: F401 - a fixture

HEAD = [{"role": "system", "content": "You are tau."}]
SYSTEM = "Working directory: /home/ada/quail"
HELLO: Messages = [{"role": "user", "content": [{"text": "Say hello."}]}]


def places_in(folder: Path) -> Places:
    return Places(data=folder / "data", state=folder / "state", config=folder / "config")


@pytest.fixture
def store(tmp_path: Path) -> Kept:
    """A folder and weights of a few bytes; what is kept there is no runtime's."""
    weights = tmp_path / "w.gguf"
    weights.write_bytes(b"GGUF")
    return Kept(tmp_path / "prompts", weights, 4096)


def put(store: Kept, content: bytes, head: list[dict[str, str]] | None = None, slot: int = 0) -> Path:
    """Keep some bytes as the runtime would, and return their file."""
    partial = store.partial()
    assert partial is not None
    partial.write_bytes(content)
    store.accept(partial, len(content), slot, HEAD if head is None else head)
    [path] = store.folder.glob(f"*-{hashlib.sha256(content).hexdigest()}.prompt")
    return path


def said(text: str) -> list[dict[str, str]]:
    return [{"role": "system", "content": text}]


def test_the_same_beginning_is_found_first_and_another_one_if_need_be(store: Kept) -> None:
    assert store.find(0, HEAD) is None
    mine, other = put(store, b"mine"), put(store, b"other", said("else"))

    assert store.find(0, HEAD) == (mine, True)
    assert store.find(0, said("else")) == (other, True)
    assert store.find(0, said("new")) in ((mine, False), (other, False))
    assert store.find(1, HEAD) is None


def test_other_weights_and_another_window_find_nothing(store: Kept, tmp_path: Path) -> None:
    put(store, b"state")
    weights = tmp_path / "w.gguf"
    elsewhere = tmp_path / "v.gguf"
    elsewhere.write_bytes(b"GGUF")

    assert Kept(store.folder, weights, 8192).find(0, HEAD) is None
    assert Kept(store.folder, elsewhere, 4096).find(0, HEAD) is None
    weights.write_bytes(b"GGUF, changed")
    assert store.find(0, HEAD) is None


def link(path: Path) -> None:
    target = path.parent / "target"
    path.rename(target)
    path.symlink_to(target)


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b"sta"),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"STATE"),
        link,
    ],
    ids=["truncated", "empty", "other", "link"],
)
def test_a_file_that_is_not_what_its_name_says_is_removed(
    store: Kept, damage: Callable[[Path], object]
) -> None:
    path = put(store, b"state")
    damage(path)

    assert store.find(0, HEAD) is None
    assert not os.path.lexists(path)


def test_only_the_newest_of_each_weights_file_stay(store: Kept, tmp_path: Path) -> None:
    weights = tmp_path / "v.gguf"
    weights.write_bytes(b"GGUF")
    other = put(Kept(store.folder, weights, 4096), b"of other weights")
    os.utime(other, (1, 1))
    paths = []
    for number in range(kept.MOST_FILES):
        paths.append(put(store, b"state %d" % number, said(str(number))))
        os.utime(paths[-1], (100 + number, 100 + number))
    assert store.find(0, said("0")) == (paths[0], True)  # used: now the newest

    newest = put(store, b"one more", said("one more"))

    left = {path for path in [*paths, newest, other] if path.exists()}
    assert left == {other, paths[0], *paths[2:], newest}


def test_their_size_is_bounded_but_one_stays(store: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST_BYTES", 10)
    old = put(store, b"12345", said("old"))
    os.utime(old, (1, 1))

    new = put(store, b"123456789012", said("new"))

    assert new.exists()
    assert not old.exists()


def test_what_was_not_written_whole_is_not_kept(store: Kept, caplog: pytest.LogCaptureFixture) -> None:
    left = store.folder / "0123.partial"
    partial = store.partial()
    assert partial is not None
    partial.write_bytes(b"sta")
    left.write_bytes(b"of a tau that was killed")
    os.utime(left, (1, 1))

    with caplog.at_level(logging.WARNING):
        store.accept(partial, 5, 0, HEAD)
    assert "3 of 5 bytes were written" in caplog.text
    assert store.find(0, HEAD) is None
    assert not partial.exists()

    put(store, b"state")
    assert not left.exists()


def test_removing_weights_removes_what_is_kept_for_them(tmp_path: Path) -> None:
    places = places_in(tmp_path)

    def keep(weights: Weights) -> Path:
        file = file_of(weights, places)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"GGUF")
        return put(Kept(kept_prompts(places), file, 4096), weights.name.encode())

    gone, stays = keep(find("smollm2-135m")), keep(find("qwen2.5-coder-0.5b"))

    assert remove(find("smollm2-135m"), places)
    assert not gone.exists()
    assert stays.exists()


def built(weights: Path, folder: Path) -> EmbeddedModel:
    settings = ModelSettings(weights=str(weights), context_window=2048, max_tokens=5)
    return embedded.build(settings, places_in(folder), os.environ)


@pytest.fixture(scope="module")
def weights(small_places: Places) -> Path:  # noqa: F811 - the fixture
    path = embedded.installed("smollm2-135m", small_places)
    assert path is not None
    return path


@pytest.fixture(scope="module")
def prepared(weights: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an earlier start, with one kept beginning."""
    folder = tmp_path_factory.mktemp("earlier")
    model = built(weights, folder)
    try:
        asyncio.run(model.prepare(None, SYSTEM))
    finally:
        model.close()
    return folder


@pytest.fixture
async def model(weights: Path, prepared: Path, tmp_path: Path) -> AsyncIterator[EmbeddedModel]:
    """A new start after the earlier one; its files are its own."""
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    made = built(weights, tmp_path)
    yield made
    made.close()


async def usage(model: EmbeddedModel) -> tuple[int, int]:
    """Answer, and return how many tokens the prompt had and how many of them were not read again."""
    events = [event async for event in model.stream(HELLO, None, SYSTEM)]
    assert any("contentBlockDelta" in event for event in events)
    spent = events[-1]["metadata"]["usage"]
    return spent["inputTokens"], spent["cacheReadInputTokens"]


def files_in(folder: Path) -> list[Path]:
    return sorted(kept_prompts(places_in(folder)).iterdir())


@pytest.mark.embedded
async def test_a_later_start_does_not_read_the_beginning_again(model: EmbeddedModel, tmp_path: Path) -> None:
    [file] = files_in(tmp_path)
    before = file.read_bytes()

    read, cached = await usage(model)

    assert read - cached < 20 < cached
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    await model.prepare(None, SYSTEM)
    assert files_in(tmp_path) == [file]
    assert file.read_bytes() == before


@pytest.mark.embedded
async def test_another_directory_uses_what_is_the_same(model: EmbeddedModel, tmp_path: Path) -> None:
    await model.prepare(None, "Working directory: /tmp")

    assert len(files_in(tmp_path)) == 2


@pytest.mark.embedded
async def test_nothing_of_a_question_is_kept(weights: Path, prepared: Path, tmp_path: Path) -> None:
    model = built(weights, tmp_path)
    try:
        await usage(model)
        assert not kept_prompts(places_in(tmp_path)).exists()
        await model.prepare(None, SYSTEM)
    finally:
        model.close()

    [file], [before_any_question] = files_in(tmp_path), files_in(prepared)
    # The file begins with a count of tokens, then the tokens; only the last, which was generated, may differ.
    count = int.from_bytes(file.read_bytes()[8:12], "little")
    assert file.stat().st_size == before_any_question.stat().st_size
    tokens = slice(8, 12 + 4 * (count - 1))
    assert file.read_bytes()[tokens] == before_any_question.read_bytes()[tokens]


def renamed(path: Path, content: bytes) -> Path:
    """Other content under a name that fits it, as if the runtime had written it."""
    digest = hashlib.sha256(content).hexdigest()
    new = path.with_name(f"{path.stem.rpartition('-')[0]}-{digest}.prompt")
    path.rename(new)
    new.write_bytes(content)
    return new


@pytest.mark.embedded
@pytest.mark.parametrize("named", [False, True], ids=["damaged", "named so"])
@pytest.mark.parametrize("kind", ["truncated", "random"])
async def test_a_bad_file_costs_nothing_but_time(
    model: EmbeddedModel, tmp_path: Path, kind: str, named: bool
) -> None:
    [file] = files_in(tmp_path)
    content = file.read_bytes()
    bad = content[: len(content) // 2] if kind == "truncated" else random.Random(7).randbytes(len(content))
    if named:
        file = renamed(file, bad)
    else:
        file.write_bytes(bad)
    child = model._lease.child()

    read, cached = await usage(model)

    assert cached < 5 < read
    assert files_in(tmp_path) == []
    # The runtime aborts on a file that ends too early; it never sees one whose name does not fit.
    assert child.alive == (not named or kind == "random")
    await model.prepare(None, SYSTEM)
    assert len(files_in(tmp_path)) == 1


@pytest.mark.embedded
@pytest.mark.parametrize("trouble", ["no folder", "full disk"])
async def test_where_nothing_can_be_kept_it_works_and_says_so_in_the_log(
    weights: Path, tmp_path: Path, trouble: str, caplog: pytest.LogCaptureFixture
) -> None:
    folder = kept_prompts(places_in(tmp_path))
    folder.parent.mkdir(parents=True)
    model = built(weights, tmp_path)
    try:
        child = model._lease.child()
        if trouble == "no folder":
            folder.write_bytes(b"in the way")
        else:
            await asyncio.wrap_future(child.ready)
            assert child.pid is not None
            resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (100_000, 100_000))
        with caplog.at_level(logging.WARNING):
            await model.prepare(None, SYSTEM)
            read, cached = await usage(model)
        assert child.alive
    finally:
        model.close()

    assert "A prompt cannot be kept in" in caplog.text
    assert read - cached < 20
    assert folder.is_file() or list(folder.iterdir()) == []


@pytest.mark.embedded
async def test_closing_while_a_prompt_is_restored_keeps_the_file(
    model: EmbeddedModel, tmp_path: Path
) -> None:
    child = model._lease.child()
    await asyncio.wrap_future(child.ready)
    assert child.pid is not None
    os.kill(child.pid, signal.SIGSTOP)  # it never answers
    restoring = asyncio.create_task(model._calls.restore(ANSWERING, HEAD))
    async with asyncio.timeout(20):
        while not child.busy.locked():
            await asyncio.sleep(0.005)
    model.close()

    with pytest.raises(ModelCallFailed):
        await restoring
    assert not child.busy.locked()
    assert len(files_in(tmp_path)) == 1


PREPARE = """
import asyncio, os, sys
from pathlib import Path
from tests.models.test_embedded_kept import SYSTEM, built, usage

model = built(Path(sys.argv[1]), Path(sys.argv[2]))
asyncio.run(model.prepare(None, SYSTEM))
model.close()
"""


@pytest.mark.embedded
async def test_two_processes_may_keep_the_same_at_once(weights: Path, tmp_path: Path) -> None:
    both = [subprocess.Popen([sys.executable, "-c", PREPARE, str(weights), str(tmp_path)]) for _ in "ab"]
    assert [await asyncio.to_thread(one.wait) for one in both] == [0, 0]

    assert {path.suffix for path in files_in(tmp_path)} == {".prompt"}
    model = built(weights, tmp_path)
    try:
        read, cached = await usage(model)
    finally:
        model.close()
    assert read - cached < 20 < cached
