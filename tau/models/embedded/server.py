"""The child process: loads the weights and serves them on a loopback port until its parent is gone.

It reads one line of JSON from stdin (see `Start`), answers with one line that begins with `READY` or
`FAILED`, and ends when stdin does. The parent is tau; nobody else starts this module.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import threading
from typing import NoReturn, TypedDict

READY = "tau-embedded ready "
FAILED = "tau-embedded failed "

SLOTS = 3
"""Prompts whose beginnings are kept at once: choosing a tool, answering, side calls."""

BATCH = 64
"""Tokens of a prompt that are read at once; a cancelled prompt ends with its batch."""

SETTINGS = (SLOTS, BATCH)
"""What the saved state of a slot depends on, beside the runtime, the weights and the window."""

_PR_SET_PDEATHSIG = 1


class Start(TypedDict):
    """What the parent says on stdin.

    Attributes:
        weights: The GGUF file.
        window: Tokens of context.
        threads: Threads that compute.
        key: The API key every request must carry.
        kept: The folder where the state of slots is saved and restored from, or the empty string.
        parent: The parent's process id.
    """

    weights: str
    window: int
    threads: int
    key: str
    kept: str
    parent: int


def main() -> None:
    """Serve until stdin ends."""
    start: Start = json.loads(sys.stdin.buffer.readline())
    _die_with(start["parent"])
    os.umask(0o077)
    # Closing stdin ends this process at once, whatever it computes: leaving in an orderly way aborts noisily.
    threading.Thread(target=_watch_stdin, daemon=True).start()
    try:
        from xllamacpp import CommonParams, Server
    except ImportError as error:
        _fail("the runtime xllamacpp does not start here", error)
    try:
        params = CommonParams()
        params.model.path = start["weights"]
        params.n_ctx = start["window"]
        params.n_batch = params.n_ubatch = BATCH
        params.n_parallel = SLOTS
        params.kv_unified = True  # the slots share one window
        params.cache_idle_slots = False
        params.cache_ram_mib = 0
        params.no_extra_bufts = True  # repacked copies of the weights would double the memory
        params.fit_params = False
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = start["threads"]
        params.verbosity = -1
        params.offline = True
        params.endpoint_slots = False
        params.ui = False
        params.hostnames = ["127.0.0.1"]
        params.cors_origins = ""
        params.cors_credentials = False
        params.api_keys = [start["key"]]
        if start["kept"]:
            params.slot_save_path = start["kept"] + "/"
        server = Server(params)
    except Exception as error:  # noqa: BLE001 - whatever it is, the parent is told in one line
        _fail("the file is damaged, or of a kind the runtime does not know", error)
    _say(READY + server.listening_address)
    threading.Event().wait()


def _fail(what: str, error: Exception) -> NoReturn:
    _say(f"{FAILED}{what} ({' '.join(str(error).split()) or type(error).__name__})")
    os._exit(1)


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _watch_stdin() -> None:
    while os.read(sys.stdin.fileno(), 4096):
        continue
    os.kill(os.getpid(), signal.SIGKILL)


def _die_with(parent: int) -> None:
    """Have Linux kill this process with the parent: while it loads, `_watch_stdin` does not get to run."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


if __name__ == "__main__":
    main()
