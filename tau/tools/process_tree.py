"""A command's processes, all of them: found by group, session, parents and a mark, and stopped together."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

MARK = "TAU_CALL"
"""The environment variable by which a command's processes are known, wherever they have gone.

Its value has one part for each tau that the process runs under, so that an outer tau finds what the commands
of an inner one have started.
"""

GRACE = 0.5
"""Seconds a process has to end by itself after SIGTERM."""

BOUND = 3.0
"""Seconds after which processes that do not end even by SIGKILL are given up."""

_POLL = 0.01
_PROC = Path("/proc")
_GONE = frozenset("ZX")


class Process(NamedTuple):
    """A process of the system, as a scan found it.

    Attributes:
        pid: Its id.
        parent: The id of its parent.
        group: The id of its process group.
        session: The id of its session; 0 where the system does not tell.
        name: The name of its program, cut to 15 characters by some systems.
    """

    pid: int
    parent: int
    group: int
    session: int
    name: str


def fresh_mark(environ: Mapping[str, str]) -> str:
    """A value for `MARK`; its last part is new."""
    return ".".join(filter(None, (environ.get(MARK, ""), secrets.token_hex(8))))


class ProcessTree:
    """A started command and everything that descends from it.

    A process is found that is in the command's group or session, descends from one that is, or carries its
    mark. Only one that has left all three (``env -i setsid``, and its parent gone) is not.

    Args:
        process: Started as the leader of a session of its own.
        mark: The value of `MARK` in its environment.

    Attributes:
        leader: The id of the command's own process, and of its group and session.
        exit_code: Once it has ended: its exit code, or minus the number of a signal; None when the system
            does not tell.
    """

    def __init__(self, process: subprocess.Popen[bytes], mark: str) -> None:
        self.leader = process.pid
        self._mark = mark.rpartition(".")[2].encode()
        self.exit_code: int | None = None
        self._process = process
        self._ended = False

    def has_ended(self) -> bool:
        """Whether the command itself has ended, whatever else it has started.

        Where the system can, the ended process stays a zombie until `reap`, so that its id, which is also
        its group's, cannot come to mean another one.
        """
        if self._ended:
            return True
        if not hasattr(os, "waitid"):
            self.exit_code = self._process.poll()
            return self.exit_code is not None
        try:
            ended = os.waitid(os.P_PID, self.leader, os.WEXITED | os.WNOWAIT | os.WNOHANG)
        except ChildProcessError:  # it is reaped; or SIGCHLD is ignored, and the system keeps no exit codes
            self.exit_code = self._process.returncode
            self._ended = True
        else:
            if ended is not None:
                exited = ended.si_code == os.CLD_EXITED
                self.exit_code = ended.si_status if exited else -ended.si_status
                self._ended = True
        return self._ended

    def members(self, table: Iterable[Process] | None = None, known: Collection[int] = ()) -> list[Process]:
        """Its processes that are alive, in the order of their ids.

        Args:
            table: From `scan`; made when it is not given.
            known: Ids of processes that were members a moment ago.
        """
        table = list(scan() if table is None else table)
        own = {
            process.pid
            for process in table
            if self.leader in (process.pid, process.group, process.session)
            or process.pid in known
            or _carries(process.pid, self._mark)
        }
        found = len(own) - 1
        while found < len(own):
            found = len(own)
            own.update(process.pid for process in table if process.parent in own)
        return sorted(process for process in table if process.pid in own)

    def reap(self) -> None:
        """Let the system forget the command, which has ended; called when none of its processes is left."""
        self._process.poll()


def stop(trees: Sequence[ProcessTree]) -> list[Process]:
    """End every process of some commands: SIGTERM, after `GRACE` SIGKILL, until none is found.

    Blocks for 3.5 seconds at most.

    Returns:
        What is still alive after `BOUND`.
    """
    began = time.monotonic()
    asked: set[int] = set()
    empty = 0
    while True:
        table = scan()
        found = {process for tree in trees for process in tree.members(table, known=asked)}
        passed = time.monotonic() - began
        if not found:
            # A process that is just being replaced by another program shows no mark for an instant.
            empty += 1
            if empty == 2:
                return []
        elif passed > BOUND:
            return sorted(found)
        else:
            empty = 0
            _end(found, asked, leaders={tree.leader for tree in trees}, at_once=passed >= GRACE)
        time.sleep(_POLL)


def _end(found: set[Process], asked: set[int], *, leaders: set[int], at_once: bool) -> None:
    if at_once:
        for group in leaders & {process.group for process in found}:
            _signal(os.killpg, group, signal.SIGKILL)
    for process in found:
        if at_once:
            _signal(os.kill, process.pid, signal.SIGKILL)
        elif process.pid not in asked:
            asked.add(process.pid)
            _signal(os.kill, process.pid, signal.SIGTERM)
            _signal(os.kill, process.pid, signal.SIGCONT)  # a stopped process can clean up, too


def _signal(send: Callable[[int, int], None], target: int, number: signal.Signals) -> None:
    # It is gone already, or runs as another user: the next scan shows it.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        send(target, number)


def scan() -> list[Process]:
    """The processes of the system that are alive, as far as this one may see them."""
    return list(_from_proc() if sys.platform == "linux" else from_ps())


def _from_proc() -> Iterable[Process]:
    for entry in os.scandir(_PROC):
        if not entry.name.isdecimal():
            continue
        try:
            status = (_PROC / entry.name / "stat").read_bytes()
        except OSError:  # gone since
            continue
        before, _, rest = status.rpartition(b")")
        state, parent, group, session, *_ = rest.split()
        if state.decode() not in _GONE:
            name = before.partition(b"(")[2].decode("utf-8", "backslashreplace")
            yield Process(int(entry.name), int(parent), int(group), int(session), name)


def from_ps() -> Iterable[Process]:
    """What `scan` finds where there is no ``/proc``."""
    listed = subprocess.run(
        ["/bin/ps", "-axo", "pid=,ppid=,pgid=,stat=,comm="], capture_output=True, check=False
    )
    for line in listed.stdout.decode("utf-8", "backslashreplace").splitlines():
        pid, parent, group, state, *name = line.split(None, 4)
        if state[0] not in _GONE:
            yield Process(int(pid), int(parent), int(group), 0, "".join(name).rpartition("/")[2])


def _carries(pid: int, mark: bytes) -> bool:
    """Whether a process has a mark in its environment; False where that cannot be read."""
    try:
        return mark in (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return False
