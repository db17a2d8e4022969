"""The session's file that a conversation has in hand: begun, taken up, switched, paused, changed."""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from tau.config.settings import Settings
from tau.display import one_line
from tau.errors import JournalRefused, TauError
from tau.journal import work_place, work_shown
from tau.journal.session_file import DATE, LAST_ACTIVE, STATUS, TASK, LogLine, WorkSession, as_task, task_of
from tau.journal.work_log import WorkLog, path_of
from tau.journal.work_place import FOLDER, WorkPlace, root_of
from tau.journal.work_shown import Offer

_DAY = re.compile(r"\A\d{4}-\d\d-\d\d-")

OFF = (
    f"There is no work log here: the project has no {FOLDER}/ that is in use (`tau init --memory` makes one; "
    "it is used where the directory is trusted)"
)


@dataclass(frozen=True)
class _Resumed:
    """A session's file that the conversation took up, and what it said then."""

    name: str
    log: tuple[str, ...]


class WorkSessions:
    """The sessions of the checkout a conversation works in. May be used from any thread.

    Args:
        settings: The directory and the places.
        place: The checkout as it is now.

    Attributes:
        place: As given.
        others: What `offers` found of files with a status that is none of the three, in a line; or empty.
        current: The name of the file in hand; empty while there is none.
        lock: Held while the file in hand is changed, which may wait for other processes; prompts do not wait
            for it: see `glance`.
    """

    def __init__(self, settings: Settings, place: Callable[[], WorkPlace]) -> None:
        self._settings = settings
        self.place = place
        self.others = ""
        self.current = ""
        self.lock = threading.RLock()
        self._resumed: _Resumed | None = None
        self._listed: list[str] = []
        self._log: WorkLog | None = None
        self._troubles: deque[str] = deque()
        self._unread: list[str] = []

    def in_use(self) -> WorkPlace:
        """The same, where it is in use.

        Raises:
            JournalRefused: It is not.
            ConfigError: As `place`.
        """
        place = self.place()
        if not place.on:
            raise JournalRefused(place.notice or OFF)
        return place

    def take_troubles(self) -> list[str]:
        """What the person is to be told since the last call of files let go of or not read, a line each."""
        troubles: list[str] = []
        with suppress(IndexError):
            while True:
                troubles.append(self._troubles.popleft())
        return troubles

    def drop_done(self, place: WorkPlace) -> None:
        """Delete the files that are done, as `WorkLog.drop_done`."""
        self._work_log(place).drop_done()

    def glance(self) -> tuple[WorkSession | None, tuple[str, ...]]:
        """The file in hand as it is on the disk, and the last entries it had when it was taken up.

        Waits for no change that is under way. There are no entries of a file that was begun here.

        Raises:
            TauError: It cannot be read.
        """
        name, resumed = self.current, self._resumed
        if not name:
            return None, ()
        session = WorkLog(self.in_use(), self._settings.places.state).read(name)
        return session, resumed.log if resumed is not None and resumed.name == name else ()

    def note(self, lines: Sequence[LogLine], *, called: str, request: str = "") -> str:
        """Log what happened, in the session's file in hand; one is begun where there is none.

        Args:
            lines: At least one.
            called: The conversation's name or id, after which a new file is named.
            request: What the person asked for, when they did: the session is in progress then, and it is the
                current task of a file that says none.

        Returns:
            The name of the file; empty where the folder was not in use and is not.

        Raises:
            TauError: It cannot be written, also since the folder is not in use any more.
        """
        with self.lock:
            place = self.place()
            if not place.on and self.current:
                raise JournalRefused(place.notice or f"{one_line(str(place.folder))} is not there any more")
            if not place.on:
                return ""
            log = self._work_log(place)
            if not self.current:
                if not request:
                    return ""  # nothing was asked for yet that this could belong to
                self.current = log.begin(called, task_of(request), lines[-1].at)
            fields = {LAST_ACTIVE: lines[-1].at.strftime(DATE)}
            if request:
                fields[STATUS] = "in-progress"
            log.write(self.current, lines=lines, fields=fields, task=task_of(request))
            return self.current

    @property
    def kept_as(self) -> str:
        """What leads back to the file in hand, for `adopt`; empty while there is none."""
        name = self.current
        return str(root_of(self._settings.directory) / path_of(name)) if name else ""

    def adopt(self, kept: str) -> bool:
        """Go on with the file that an earlier run of this conversation wrote, where nobody else does.

        Args:
            kept: `kept_as` of that run. A file of another checkout is left alone.

        Raises:
            TauError: The state directory cannot be written.
        """
        with self.lock:
            place = self.place()
            above, _, name = kept.rpartition("/")
            here = above == str(place.folder / work_place.SESSION)
            if not place.on or not here or name not in place.files(work_place.SESSION):
                return False
            if not self._work_log(place).hold(name):
                return False
            self.current = name
            return True

    def leave(self) -> None:
        """Let go of the file in hand: work that is in progress is paused.

        Raises:
            TauError: It cannot be written; it is let go of all the same.
        """
        with self.lock:
            name, self.current, self._resumed = self.current, "", None
            if not name or self._log is None:
                return
            log = self._log
            try:
                if self.place().on and log.read(name).status != "done":
                    log.set_status(name, "paused", only_from="in-progress")
            finally:
                log.release(name)

    def offers(self) -> list[Offer]:
        """Work to resume: paused or in progress, and in no living conversation.

        The newest is first; what was paused after a single request, without a todo, as one-shots leave it,
        comes behind all else.

        Raises:
            TauError: The folder cannot be read.
        """
        with self.lock:
            return self._offers(self.in_use())

    def resume(self, which: str) -> Offer:
        """Take up another session's file; the one in hand is paused.

        Args:
            which: Its number in the list that was shown last, the name of its file, with or without ``.md``
                and the day, or the name that its title says, such as ``amber`` of ``Session amber``.

        Returns:
            What it says.

        Raises:
            TauError: There is none, it is held by another conversation, or cannot be written.
        """
        with self.lock:
            place = self.in_use()
            log = self._work_log(place)
            name = self._named(place, which)
            if name == self.current:
                raise JournalRefused(f"{one_line(path_of(name))} is the work in hand")
            offer = work_shown.offer(place, log.read(name))
            if not log.hold(name):
                raise JournalRefused(
                    f"{one_line(path_of(name))} is written by another window of tau",
                    "leave it there, or /work new here",
                )
            try:
                log.set_status(name, "in-progress")
            except BaseException:
                log.release(name)
                raise
            self._leave_for(name)
            self._resumed = _Resumed(name, offer.last)
            return offer

    def drop(self, which: str) -> Offer:
        """Set another session's file done, so that it is offered no more and goes at the next start.

        Args:
            which: As of `resume`.

        Returns:
            What it said.

        Raises:
            TauError: There is none, it is in hand, held by another conversation, or cannot be written.
        """
        with self.lock:
            place = self.in_use()
            log = self._work_log(place)
            name = self._named(place, which)
            shown = one_line(path_of(name))
            if name == self.current:
                raise JournalRefused(f"{shown} is the work in hand", "/wrap closes it")
            if not log.hold(name):
                raise JournalRefused(f"{shown} is written by another window of tau")
            try:
                offer = work_shown.offer(place, log.read(name))
                log.set_status(name, "done")
            finally:
                log.release(name)
            return offer

    def new(self, called: str, task: str) -> str:
        """Begin a session's file; the one in hand is paused. Returns its path.

        Raises:
            TauError: It cannot be written; the one in hand stays in hand.
        """
        with self.lock:
            log = self._work_log(self.in_use())
            name = log.begin(called, task, datetime.now().astimezone())
            self._leave_for(name)
            return path_of(name)

    def set_task(self, called: str, task: str) -> tuple[str, str]:
        """Say what the current task is. Returns the path of the file, and what it was before.

        Raises:
            TauError: It cannot be written.
        """
        with self.lock:
            session = self.session()
            return self.put(called, TASK, as_task(task)), session.task if session is not None else ""

    def session(self) -> WorkSession | None:
        """What the file in hand says; None while there is none.

        Raises:
            TauError: It cannot be read.
        """
        with self.lock:
            place = self.in_use()
            return self._work_log(place).read(self.current) if self.current else None

    def put(self, called: str, field: str, value: str) -> str:
        """Change a field of the file in hand; one is begun where there is none. Returns its path.

        Raises:
            TauError: It cannot be written.
        """
        with self.lock:
            log = self._work_log(self.in_use())
            if not self.current:
                self.current = log.begin(called, "", datetime.now().astimezone())
            log.write(self.current, fields={field: value})
            return path_of(self.current)

    def close(self, said: LogLine, *, waits: bool = False) -> str:
        """Log a last line in the file in hand, and set it done. Returns its path; empty where there is none.

        Args:
            said: The line.
            waits: Whether something waits for the person's answer, so that it is paused until `finish`.

        Raises:
            TauError: It cannot be written.
        """
        with self.lock:
            if not self.current:
                return ""
            fields = {STATUS: "paused" if waits else "done", LAST_ACTIVE: said.at.strftime(DATE)}
            self._work_log(self.in_use()).write(self.current, lines=[said], fields=fields)
            return path_of(self.current)

    def finish(self, path: str) -> bool:
        """Set a file done that `close` paused. Returns whether it is; not where work went on in it.

        Args:
            path: As of `path_of`.

        Raises:
            TauError: As `reopen`.
        """
        return self._set_from("paused", path, "done")

    def reopen(self, path: str) -> str:
        """Take back that a file was set done. Returns its status; empty where it is not done any more.

        Args:
            path: As of `path_of`.

        Raises:
            TauError: It is not there any more, held by another conversation, or cannot be written.
        """
        with self.lock:
            status = "in-progress" if path.rpartition("/")[2] == self.current else "paused"
            return status if self._set_from("done", path, status) else ""

    def _set_from(self, before: str, path: str, status: str) -> bool:
        with self.lock:
            log, name = self._work_log(self.in_use()), path.rpartition("/")[2]
            if not log.hold(name):
                raise JournalRefused("it is written by another window of tau")
            try:
                return log.set_status(name, status, only_from=before)
            finally:
                if name != self.current:
                    log.release(name)

    # ----------------------------------------------------------------------------------------------

    def _work_log(self, place: WorkPlace) -> WorkLog:
        if self._log is None:
            self._log = WorkLog(place, self._settings.places.state)
        return self._log

    def _offers(self, place: WorkPlace) -> list[Offer]:
        log = self._work_log(place)
        listed, unread = log.sessions()
        self._troubles.extend(line for line in unread if line not in self._unread)
        self._unread = unread
        self.others = work_shown.others(
            [each for each in listed if each.status is None and each.was_kept and each.name != self.current]
        )
        open_work = [
            work_shown.offer(place, session)
            for session in listed
            if session.status in ("paused", "in-progress")
            and session.name != self.current
            and not log.is_held(session.name)
        ]
        open_work.sort(key=lambda offer: offer.session.was_one_request)
        self._listed = [offer.session.name for offer in open_work]
        return open_work

    def _leave_for(self, name: str) -> None:
        """Have another file in hand, which is held already; that the one before is not paused is told."""
        try:
            self.leave()
        except TauError as error:
            self._troubles.append(error.line())
        self.current = name

    def _named(self, place: WorkPlace, which: str) -> str:
        which = which.strip()
        if which.isdecimal() and len(which) < 5:
            listed = self._listed or [offer.session.name for offer in self._offers(place)]
            if not 1 <= int(which) <= len(listed):
                raise JournalRefused(f"There is no work {which} in the list", "/work prints it")
            return listed[int(which) - 1]
        there = place.files(work_place.SESSION)
        wanted = which.rpartition("/")[2]
        for name in (wanted, f"{wanted}.md"):
            if name in there:
                return name
        said = {f"session {which}".casefold(), which.casefold()}
        titled = [
            each
            for each in self._work_log(place).sessions()[0]
            if each.title.casefold() in said or _DAY.sub("", each.name).removesuffix(".md").casefold() in said
        ]
        if len(titled) == 1:
            return titled[0].name
        if titled:
            raise JournalRefused(
                f'Several session files are called "{one_line(which, 80)}"',
                f"name one: {', '.join(one_line(each.name) for each in titled[:5])}",
            )
        raise JournalRefused(
            f'There is no session file "{one_line(which, 80)}" in {FOLDER}/session', "/work lists them"
        )
