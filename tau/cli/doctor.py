"""`tau doctor`: looks at everything tau needs, says what is missing, and writes nothing."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from tau.cli.options import given_config, given_profile, shared_options
from tau.cli.output import say
from tau.display import one_line
from tau.errors import TauError

if TYPE_CHECKING:
    from tau.config.settings import Places, Settings
    from tau.sessions.store import Capabilities, SessionStore

Level = Literal["ok", "warn", "fail"]

ENOUGH_SPACE = 200_000_000
"""Bytes free in the data directory below which a warning is given."""

SMALL_LOG = 50_000_000
"""Bytes of log above which something is wrong with its rotation."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report."""

    level: Level
    subject: str
    text: str
    hint: str = ""


@click.command()
@shared_options
def doctor() -> int:
    """Check that everything tau needs is in order.

    Nothing is written, no model is called, and no key is shown. The exit code is 1 when something fails.
    """
    failed = False
    for finding in _all():
        failed = failed or finding.level == "fail"
        hint = f" ({finding.hint})" if finding.hint else ""
        say(f"{finding.level:<5} {finding.subject:<14} {one_line(finding.text + hint, 600)}")
    return 1 if failed else 0


def _all() -> Iterator[Finding]:
    yield from _python()
    yield from _terminal()
    yield from _sqlite()
    yield from _places()
    settings: Settings | None = None
    for item in _configuration():
        if isinstance(item, Finding):
            yield item
        else:
            settings = item
    if settings is None:
        yield Finding("warn", "rest", "not looked at: it depends on the configuration")
        return
    for check in (_plugins, _store, _unfinished, _index, _tasks, _models, _log):
        yield from _guarded(check, settings)


def _guarded(check: Callable[[Settings], Iterator[Finding]], settings: Settings) -> Iterator[Finding]:
    """One check's findings; one that breaks is a finding, too, and keeps no other from running."""
    subject = check.__name__.strip("_")
    try:
        yield from check(settings)
    except TauError as error:
        yield Finding("fail", subject, error.message, error.hint)
    except Exception as error:  # noqa: BLE001  # plugins and broken files may raise anything; the report goes on
        yield Finding("fail", subject, f"{type(error).__name__}: {error}")


def _python() -> Iterator[Finding]:
    from tau import __version__

    version = ".".join(str(part) for part in sys.version_info[:3])
    good = (3, 11) <= sys.version_info < (3, 14)
    yield Finding(
        "ok" if good else "fail",
        "python",
        f"{version} at {sys.executable}",
        "" if good else "tau needs Python 3.11, 3.12 or 3.13",
    )
    yield Finding("ok", "tau", f"{__version__} at {Path(__file__).parents[1]}")


def _terminal() -> Iterator[Finding]:
    encoding = (sys.stdout.encoding or "unknown").lower()
    kind = os.environ.get("TERM", "")
    if not sys.stdout.isatty():
        where = "stdout is no terminal"
    else:
        size = shutil.get_terminal_size()
        where = f"{kind or 'TERM is not set'}, {size.columns}×{size.lines}"
        if size.columns < 60 or size.lines < 15:
            yield Finding(
                "warn", "terminal", f"{size.columns}×{size.lines} is small", "80×24 shows everything"
            )
        if kind in ("", "dumb"):
            yield Finding(
                "warn", "terminal", f"TERM is {kind or 'not set'}: tau tui cannot draw", "use tau chat"
            )
    colour = "no colour (NO_COLOR)" if os.environ.get("NO_COLOR") else "colour"
    if os.environ.get("COLORTERM") in ("truecolor", "24bit"):
        colour += ", 24 bit"
    yield Finding("ok", "terminal", f"{where}, {encoding}, {colour}")
    if not encoding.startswith("utf"):
        yield Finding(
            "warn",
            "terminal",
            f"the locale's encoding is {encoding}: other characters are shown as escapes",
            "set LC_ALL=C.UTF-8",
        )


def _sqlite() -> Iterator[Finding]:
    import sqlite3

    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("CREATE VIRTUAL TABLE words USING fts5(body)")
    except sqlite3.Error:
        yield Finding(
            "warn", "sqlite", f"{sqlite3.sqlite_version} without FTS5: search reads every session", ""
        )
    else:
        yield Finding("ok", "sqlite", f"{sqlite3.sqlite_version} with FTS5")
    finally:
        connection.close()


def _places() -> Iterator[Finding]:
    from tau.config.places import override_of, resolve_places

    try:
        places = resolve_places(os.environ)
    except TauError as error:
        yield Finding("fail", "places", error.message, error.hint)
        return
    for subject, place in (("data", places.data), ("state", places.state), ("config", places.config)):
        yield from _place(subject, place, override_of(subject, places))
    yield from _space(places)


def _place(subject: str, place: Path, override: str) -> Iterator[Finding]:
    from tau.config.places import is_there, why_unwritable

    problem = why_unwritable(place)
    if problem:
        level: Level = "warn" if subject == "config" else "fail"
        named = problem if problem.startswith(f"{place} ") else f"{place}: {problem}"
        yield Finding(level, subject, named, override)
        return
    if not is_there(place):
        yield Finding("ok", subject, f"{place}, made when it is needed")
        return
    found = place.stat()
    mode = stat.S_IMODE(found.st_mode)
    if found.st_uid != os.geteuid():
        yield Finding("warn", subject, f"{place} belongs to user {found.st_uid}, not to you")
    elif subject != "config" and mode & 0o077:
        yield Finding("warn", subject, f"{place} is open to others ({mode:04o})", f"chmod 700 {place}")
    else:
        yield Finding("ok", subject, f"{place}, {mode:04o}")


def _space(places: Places) -> Iterator[Finding]:
    from tau.config.places import is_there

    at = places.data
    while not is_there(at) and at != at.parent:
        at = at.parent
    free = shutil.disk_usage(at).free
    yield Finding(
        "ok" if free >= ENOUGH_SPACE else "warn",
        "disk",
        f"{_size(free)} free at {at}",
        "" if free >= ENOUGH_SPACE else "make room: what cannot be written is not saved",
    )


def _configuration() -> Iterator[Finding | Settings]:
    from tau.config.load import check

    try:
        findings = check(config=given_config(), profile=given_profile(), directory=Path(), environ=os.environ)
    except TauError as error:
        yield Finding("fail", "configuration", error.message, error.hint)
        return
    for line in findings.errors:
        yield Finding("fail", "configuration", line)
    for line in findings.warnings:
        yield Finding("warn", "configuration", line)
    if findings.loaded is None:
        return
    settings = findings.loaded.settings
    profile = f", profile {settings.profile}" if settings.profile else ""
    yield Finding("ok", "configuration", ", ".join(str(path) for path in settings.files) + profile)
    yield Finding(
        "ok",
        "trust",
        f"{settings.directory} is "
        + ("trusted" if settings.trusted else "not trusted: its files feed no prompt"),
    )
    yield settings


def _plugins(settings: Settings) -> Iterator[Finding]:
    from tau import plugins

    for group in plugins.GROUPS:
        loaded, warnings = plugins.load_all(group, disabled=settings.plugins.disabled)
        for warning in warnings:
            yield Finding("warn", "components", warning)
        yield Finding("ok", "components", f"{group}: {', '.join(sorted(loaded)) or 'none'}")


def _store(settings: Settings) -> Iterator[Finding]:
    from tau.sessions.registry import open_store

    store = open_store(settings, channel="")
    try:
        count = sum(1 for _ in store.session_ids())
        where = store.capabilities.location
        text = f"{settings.sessions.backend}, {count} session{'' if count == 1 else 's'}" + (
            f" at {where}" if where else ""
        )
        if problem := _unwritable_store(store.capabilities):
            yield Finding("fail", "store", f"{text}; {problem}", "what is there can be read")
        elif store.capabilities.persistent:
            yield Finding("ok", "store", text)
        else:
            hint = 'set [sessions] backend = "file"'
            yield Finding("warn", "store", f"{text}; sessions end with the process", hint)
    finally:
        store.close()


def _unfinished(settings: Settings) -> Iterator[Finding]:
    """What is left of sessions that were begun and never made whole. Nothing leads to any of it."""
    from tau.sessions.registry import open_store

    store = open_store(settings, channel="")
    try:
        for session_id in sorted(store.session_ids()):
            try:
                with store.read(session_id) as reader:
                    meta = reader.meta()
                if not meta.get("unfinished") or store.holder(session_id) is not None:
                    continue
            except TauError:  # whoever lists sessions is told
                continue
            source, made = meta.get("compacted_from"), "to go on after a summary of"
            if not source:
                source, made = meta.get("forked_from"), "as a copy of"
            begun, hint = "", "nothing says what it was made from, so what is in it may be nowhere else"
            if isinstance(source, str) and source:
                begun, hint = f", begun {made} session {source},", _what_of(source, store)
            place = _place_of(session_id, store.capabilities)
            yield Finding("warn", "unfinished", f"session {session_id}{begun} is not whole: {place}", hint)
        for place in store.remains():
            hint = "it may be deleted while no tau runs"
            yield Finding("warn", "unfinished", f"{place} is left of a session that was never made", hint)
    finally:
        store.close()


def _what_of(source: str, store: SessionStore) -> str:
    """What to do about an unfinished session that was made from this one: deleted may be what is a copy."""
    try:
        with store.read(source) as reader:
            deque(reader.stream(), maxlen=0)  # what is damaged is met on the way
            missing = [item for item in reader.damage() if item.index is not None and not item.recovered]
        problem = f"{missing[0].part} of session {source} is damaged ({missing[0].reason})" if missing else ""
    except TauError as error:
        problem = error.message
    if problem:
        return f"{problem}, so what is in this one may be nowhere else"
    return f"session {source} is as it was, and this one may be deleted"


def _place_of(session_id: str, capabilities: Capabilities) -> str:
    """Where a session is: its folder where the store keeps them so, else where the store is."""
    folder = Path(capabilities.location) / session_id
    return str(folder) if folder.is_dir() else capabilities.location


def _unwritable_store(capabilities: Capabilities) -> str:
    """Why nothing can be recorded in a store that keeps files; empty when it can, or is none of these."""
    from tau.config.places import why_unwritable

    place = Path(capabilities.location)
    return why_unwritable(place) if capabilities.persistent and place.is_absolute() else ""


def _tasks(settings: Settings) -> Iterator[Finding]:
    from tau.tasks.desk import TaskDesk

    path = TaskDesk(settings).path
    if not path.exists():
        yield Finding("ok", "tasks", f"{path}, made when it is needed")
    elif problem := _unreadable(path):
        hint = f"move {path.name} away with the files beside it that begin so, and tau begins a new one"
        yield Finding("fail", "tasks", f"{path} cannot be read: {problem}", hint)
    else:
        yield Finding("ok", "tasks", f"{path}, {_size(path.stat().st_size)}")


def _unreadable(path: Path) -> str:
    """Why a database cannot be read, or empty. Looking makes no log or lock files beside it."""
    import sqlite3

    try:
        connection = sqlite3.connect(f"{path.as_uri()}?immutable=1", uri=True)
        try:
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        finally:
            connection.close()
    except sqlite3.Error as error:
        return str(error)
    return ""


def _index(settings: Settings) -> Iterator[Finding]:
    from tau.config.places import override_of, why_unwritable

    folder = settings.places.state / "index"
    files = sorted(folder.rglob("*.sqlite"))
    places = {folder, *(path.parent for path in files)}
    problem = next(filter(None, map(why_unwritable, sorted(places))), "") or next(
        (f"{path} cannot be written" for path in files if not os.access(path, os.W_OK)), ""
    )
    if problem:
        slower = f"{problem}: listing and search go on without it, more slowly"
        yield Finding("warn", "index", slower, override_of("state", settings.places))
        return
    for path in files:
        if unreadable := _unreadable(path):
            hint = "it is rebuilt from the record when it is needed next"
            yield Finding("warn", "index", f"{path} cannot be read: {unreadable}", hint)
    if files:
        yield Finding("ok", "index", f"{folder}, {_size(sum(path.stat().st_size for path in files))}")
    else:
        yield Finding("ok", "index", f"{folder}, made when it is needed")


def _models(settings: Settings) -> Iterator[Finding]:
    from tau.models.registry import look

    for role in settings.roles():
        subject = f"model {role}"
        try:
            info = look(settings, role, environ=os.environ)
        except TauError as error:
            yield Finding("fail" if role == "default" else "warn", subject, error.message, error.hint)
        else:
            why = f" · {info.why}" if info.why else ""
            yield Finding("ok", subject, f"{info.provider} · {info.model_id}{why}")


def _log(settings: Settings) -> Iterator[Finding]:
    from tau.config.places import is_there, override_of, why_unwritable

    path = settings.places.logs / "tau.log"
    if problem := why_unwritable(settings.places.logs):
        yield Finding("warn", "log", f"{path}: {problem}", override_of("data", settings.places))
    elif not is_there(path):
        yield Finding("ok", "log", f"{path}, made when it is needed")
    elif not os.access(path, os.W_OK):
        yield Finding("warn", "log", f"{path} cannot be written")
    else:
        size = path.stat().st_size
        yield Finding("ok" if size < SMALL_LOG else "warn", "log", f"{path}, {_size(size)}")


def _size(count: int) -> str:
    size, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if size < 1000:
            break
        size, unit = size / 1000, larger
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
