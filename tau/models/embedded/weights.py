"""The weights tau knows, addressed by content, and which of them are installed on this machine."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import resources
from pathlib import Path

from tau.config.settings import Places
from tau.errors import ModelNotReady, UsageError

SMALL_MEMORY = 4 * 1024**3
"""Bytes of memory below which the smaller model is recommended."""

_MAGIC = b"GGUF"


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """One model file, known by its hash.

    Attributes:
        name: What a person calls it.
        title: The publisher's name of the model.
        sha256: The hash of the whole file, in hexadecimal; also its name on disk.
        size: Bytes of the file.
        memory: Bytes the model takes while it runs, about.
        licence: The SPDX name of its licence.
        url: The publisher's own address of the file, or None.
        lock: Requirement lines with hashes, one for each registry package that carries a part, in order.
        chat: Whether it is good enough to talk to; the others are for tests.
    """

    name: str
    title: str
    sha256: str
    size: int
    memory: int
    licence: str
    url: str | None
    lock: tuple[str, ...]
    chat: bool = True


def _lock(name: str) -> tuple[str, ...]:
    text = resources.files(__package__).joinpath("data", f"{name}.lock").read_text(encoding="ascii")
    return tuple(line for line in text.splitlines() if line)


def _qwen(size: str, sha256: str, length: int, memory: int) -> Weights:
    repository = f"https://huggingface.co/Qwen/Qwen2.5-Coder-{size.upper()}-Instruct-GGUF"
    return Weights(
        name=f"qwen2.5-coder-{size}",
        title=f"Qwen2.5-Coder-{size.upper()}-Instruct (Q4_K_M)",
        sha256=sha256,
        size=length,
        memory=memory,
        licence="Apache-2.0",
        url=f"{repository}/resolve/main/qwen2.5-coder-{size}-instruct-q4_k_m.gguf",
        lock=_lock(f"qwen2.5-coder-{size}"),
    )


@cache
def catalogue() -> tuple[Weights, ...]:
    """All weights that can be installed by name; the default first."""
    return (
        _qwen(
            "1.5b",
            "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            1_117_320_768,
            1_480_000_000,
        ),
        _qwen(
            "0.5b",
            "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
            491_400_064,
            730_000_000,
        ),
        Weights(
            name="smollm2-135m",
            title="SmolLM2-135M-Instruct (Q4_1)",
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            size=98_362_432,
            memory=250_000_000,
            licence="Apache-2.0",
            url=None,
            lock=_lock("smollm2-135m"),
            chat=False,
        ),
    )


def find(name: str) -> Weights:
    """The weights of that name.

    Raises:
        UsageError: There are none; the nearest name, or all names, are given.
    """
    known = {weights.name: weights for weights in catalogue()}
    if name in known:
        return known[name]
    near = get_close_matches(name, known, n=1)
    raise UsageError(
        f"No weights are called '{name}'",
        f"did you mean '{near[0]}'?" if near else "known: " + ", ".join(known),
    )


def folder(places: Places) -> Path:
    """Where weights are kept; created by an installation only."""
    return places.state / "models"


def make_folder(path: Path) -> None:
    """Make a folder and those above it that are missing, for their owner alone."""
    for part in [*reversed(path.parents), path]:
        if not part.exists():
            part.mkdir(mode=0o700, exist_ok=True)
            part.chmod(0o700)


def file_of(weights: Weights, places: Places) -> Path:
    """The file the weights have, or would have, on this machine."""
    return folder(places) / f"{weights.sha256}.gguf"


def kept_prompts(places: Places) -> Path:
    """Where the beginnings of prompts are kept; created by the first of them."""
    return folder(places) / "prompts"


def marker_of(weights: Weights, places: Places) -> Path:
    """The small file that says the weights were verified, and for which size and time of change."""
    return folder(places) / f"{weights.sha256}.verified.json"


def installed(weights: Weights | str, places: Places) -> Path | None:
    """The verified file of these weights, or None. Looks at size and time of change, never hashes.

    Raises:
        UsageError: No weights have this name.
    """
    if isinstance(weights, str):
        weights = find(weights)
    file = file_of(weights, places)
    try:
        found = file.lstat()
        marker = json.loads(marker_of(weights, places).read_bytes())
    except (OSError, ValueError):
        return None
    seen = {"size": found.st_size, "mtime_ns": found.st_mtime_ns}
    return file if stat.S_ISREG(found.st_mode) and marker == seen else None


def interrupted(weights: Weights, places: Places) -> int:
    """Bytes that an interrupted installation left and the next one goes on from; 0 for none."""
    return max(
        (path.stat().st_size for path in folder(places).glob(f"{weights.sha256}.*.partial")), default=0
    )


def memory_size() -> int:
    """Bytes of memory this process may use: the machine's, or the limit of its control group."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
    except OSError:
        return total
    return min(total, int(limit)) if limit.isdigit() else total


def recommended(places: Places, memory: int | None = None) -> Weights:
    """The weights to use when none are named: those installed, else the ones that suit the machine.

    Args:
        places: Where tau keeps things.
        memory: Bytes of memory of the machine; measured when None.
    """
    chat = [weights for weights in catalogue() if weights.chat]
    for weights in chat:
        if installed(weights, places):
            return weights
    small = (memory_size() if memory is None else memory) < SMALL_MEMORY
    return min(chat, key=lambda weights: weights.size) if small else chat[0]


def remove(weights: Weights, places: Places) -> bool:
    """Delete the weights, what an interrupted installation left of them, and the prompts kept for them.

    True if there was anything of the first two.
    """
    from tau.models.embedded import kept  # it needs this package whole

    found = False
    kept.forget(kept_prompts(places), file_of(weights, places))
    for path in folder(places).glob(f"{weights.sha256}.*"):
        if path.suffix != ".lock":
            path.unlink(missing_ok=True)
            found = True
    return found


def check_gguf(path: Path) -> None:
    """See that a file can be read and begins like a GGUF file.

    Raises:
        ModelNotReady: It is missing, unreadable, or something else.
    """
    try:
        with path.open("rb") as file:
            magic = file.read(len(_MAGIC))
    except FileNotFoundError:
        raise ModelNotReady(
            f"There are no weights at {path}", "name a GGUF file, or run: tau model install"
        ) from None
    except OSError as error:
        raise ModelNotReady(f"The weights at {path} cannot be read: {error.strerror}") from error
    if magic != _MAGIC:
        raise ModelNotReady(
            f"{path} is not a GGUF file", "name a GGUF file, or a name that `tau model list` shows"
        )


def size_text(size: int) -> str:
    """Bytes as a person reads them, in powers of ten: ``1.12 GB``, ``98 MB``."""
    if size >= 10**9:
        return f"{size / 10**9:.2f} GB"
    return f"{size / 10**6:.0f} MB" if size >= 10**6 else f"{size / 10**3:.0f} kB"
