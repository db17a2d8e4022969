"""The parent's side of the child process: one for each weights file, started on demand, ended for good."""

from __future__ import annotations

import atexit
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tau.display import one_line
from tau.errors import ModelCallFailed, ModelNotReady
from tau.models.embedded.server import FAILED, READY, Start

_KEPT = re.compile(r"(PATH|HOME|TMPDIR|LANG|LC_\w+|\w*LIBRARY_PATH|PYTHON\w+|VIRTUAL_ENV|(OMP|GGML)_\w+)")
"""Environment variables the child may see: it needs no keys and gets none."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a running child answers, and the key it asks for."""

    url: str
    key: str


class Child:
    """One child process. A thread of ours starts it, reads what it says and reaps it.

    That thread lives exactly as long as the child: Linux ties the child's life to the thread that started it.
    """

    def __init__(self, weights: Path, window: int, kept: Path | None, environ: Mapping[str, str]) -> None:
        self.weights = weights
        self.window = window
        self.kept = kept
        self.environ = environ
        self.ready: Future[Address] = Future()
        self.pid: int | None = None
        self.busy = threading.Lock()
        """Held during a call: the slots share one window, so two long prompts at once break each other."""
        self.beginnings: dict[int, tuple[Sequence[Mapping[str, str]], bool]] = {}
        """What each slot's prompt began with last, and whether that is kept on disk; set under `busy`."""
        self._process: subprocess.Popen[bytes] | None = None
        self._ending = threading.Event()
        self._lock = threading.Lock()
        self._said: deque[str] = deque(maxlen=8)
        self._thread = threading.Thread(target=self._supervise, name="tau-embedded", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether the child runs or is about to."""
        return self._thread.is_alive() and not self._ending.is_set()

    @property
    def ending(self) -> bool:
        """Whether it was told to end."""
        return self._ending.is_set()

    def end(self, timeout: float = 5.0) -> None:
        """Kill the child and wait until it is reaped. Loses nothing: the child keeps no state."""
        with self._lock:
            self._ending.set()
            if self._process is not None and self._process.returncode is None:
                self._process.kill()
        if self._thread is not threading.current_thread():
            self._thread.join(timeout)

    def wait_ended(self, timeout: float) -> bool:
        """Wait until the child is over and reaped; False if it still runs after `timeout` seconds."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def why_ended(self) -> str:
        """How the child ended, in a few words."""
        code = self._process.returncode if self._process else None
        if code is None:
            return "it ended"
        if code < 0:
            try:
                how = f"killed by {signal.Signals(-code).name}"
            except ValueError:
                how = f"killed by signal {-code}"
        else:
            how = f"exit status {code}"
        said = one_line(self._said[-1], 160) if self._said else ""
        return f"{how}: {said}" if said else how

    def _supervise(self) -> None:
        try:
            with self._lock:
                if self._ending.is_set():
                    self.ready.set_exception(ModelCallFailed("The embedded model was closed"))
                    return
                process = self._process = self._spawn()
                self.pid = process.pid
            self._read(process)
        except OSError as error:
            self._fail(ModelNotReady(f"The embedded model cannot be started: {error.strerror or error}"))

    def _spawn(self) -> subprocess.Popen[bytes]:
        environ = {name: value for name, value in self.environ.items() if _KEPT.fullmatch(name)}
        environ["OMP_WAIT_POLICY"] = "PASSIVE"  # threads that wait sleep instead of burning a core
        environ["GGML_NO_BACKTRACE"] = "1"  # an abort ends it at once instead of starting a debugger
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "tau.models.embedded.server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
            env=environ,
            cwd=self.weights.parent,
            start_new_session=True,  # Ctrl-C in the terminal is for tau, not for the child
        )

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        key = secrets.token_urlsafe(32)
        start: Start = {
            "weights": str(self.weights),
            "window": self.window,
            "threads": physical_cores(),
            "key": key,
            "kept": str(self.kept or ""),
            "parent": os.getpid(),
        }
        assert process.stdin is not None
        assert process.stdout is not None
        with process, process.stdout as output:
            with suppress(BrokenPipeError):  # it ended already; what it said is read below
                process.stdin.write(json.dumps(start).encode() + b"\n")
            for raw in output:
                line = raw.decode("utf-8", "replace").rstrip()
                if line.startswith(READY):
                    self.ready.set_result(Address(line.removeprefix(READY), key))
                elif line.startswith(FAILED):
                    said = one_line(line.removeprefix(FAILED), 200)
                    self._fail(ModelNotReady(f"The weights at {self.weights} cannot be loaded: {said}"))
                elif line:
                    self._said.append(line)
            process.wait()
        if self._ending.is_set():
            self._fail(ModelCallFailed("The embedded model was closed while it loaded"))
        self._fail(
            ModelCallFailed(
                f"The embedded model's process ended while it loaded ({self.why_ended()})",
                "if nobody killed it, memory ran out: qwen2.5-coder-0.5b needs half",
            )
        )

    def _fail(self, error: Exception) -> None:
        if not self.ready.done():
            self.ready.set_exception(error)


_children: dict[tuple[Path, int, Path | None], tuple[Child, int]] = {}
_lock = threading.Lock()


class Lease:
    """A model's claim on the child of its weights. The last one that is closed ends the child."""

    def __init__(self, weights: Path, window: int, kept: Path | None, environ: Mapping[str, str]) -> None:
        self._key = (weights, window, kept)
        self._environ = environ
        self._held = False

    def child(self) -> Child:
        """The running child, started now if there is none or the last one is over."""
        with _lock:
            child, holders = _children.get(self._key, (None, 0))
            if child is None or not child.alive or _failed(child):
                child = Child(*self._key, self._environ)
            if not self._held:
                self._held = True
                holders += 1
            _children[self._key] = (child, holders)
            return child

    def close(self) -> None:
        """Give the claim up."""
        with _lock:
            if not self._held:
                return
            self._held = False
            child, holders = _children.pop(self._key, (None, 0))
            if child is not None and holders > 1:
                _children[self._key] = (child, holders - 1)
                return
        if child is not None:
            child.end()


def _failed(child: Child) -> bool:
    return child.ready.done() and child.ready.exception() is not None


def end_all() -> None:
    """End every child of this process; also done at exit."""
    with _lock:
        children = [child for child, _ in _children.values()]
        _children.clear()
    for child in children:
        child.end()


atexit.register(end_all)


def physical_cores() -> int:
    """Cores this process may use, threads of one core counted once: more computing threads slow it down."""
    usable = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))
    cores = set()
    for number in usable:
        siblings = Path(f"/sys/devices/system/cpu/cpu{number}/topology/thread_siblings_list")
        try:
            cores.add(siblings.read_text(encoding="ascii"))
        except OSError:
            cores.add(str(number))
    return max(1, min(len(cores), _quota()))


def _quota() -> int:
    """Whole cores the control group grants; as many as there are without a limit."""
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return os.cpu_count() or 1
    return max(1, round(int(quota) / int(period))) if quota.isdigit() else os.cpu_count() or 1
