"""Where memory lives for a directory: the folder around it, and the project's folder, known by its real path.

Everything below a root is reached folder by folder, and no link is followed there.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from tau.config.places import make_private
from tau.config.settings import Places
from tau.config.trust import Trust, repository_root, trust_root
from tau.display import one_line
from tau.errors import MemoryRefused
from tau.memory.labels import Scope
from tau.sessions import file_system as fs

WORKSPACE = ".tau"
"""The folder that holds memory where a directory has one."""

SHARED, PROJECTS = "memory", "projects"

RECORD = "directory"
"""The file in a project's folder that says whose folder it is."""

_LONGEST_NAME = 200
_LONGEST_PATH = 8_192
_HASHES = (6, 12, 40)
_TAKEN = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR, errno.EISDIR, errno.EBUSY)


@dataclass(frozen=True)
class MemoryPlaces:
    """Where memory lives for a directory. Nothing of it needs to exist.

    Attributes:
        root: The ``.tau`` folder, or the configuration directory.
        project: The project's folder.
        real: The real path of the directory that the project is known by: the main repository's root.
        ignored: The nearest ``.tau`` folder that is not used.
        notice: Why it is not, and what is wrong with the project's folder, in one line for the person; empty
            when there is nothing to say.
    """

    root: Path
    project: Path
    real: Path
    ignored: Path | None = None
    notice: str = ""

    @property
    def workspace(self) -> bool:
        """Whether the root is a ``.tau`` folder."""
        return self.root.name == WORKSPACE

    @property
    def shared(self) -> Path:
        """The folder of what holds everywhere."""
        return self.root / SHARED

    @property
    def memory(self) -> Path:
        """The folder of what holds in this project."""
        return self.project / SHARED

    def folder(self, scope: Scope) -> Path:
        """The folder of the files of a scope."""
        return self.shared if scope == "global" else self.memory

    def folder_names(self, scope: Scope) -> tuple[str, ...]:
        """The same as names below `root`, for `open_folder`."""
        return self.folder(scope).relative_to(self.root).parts


def find(directory: Path, places: Places) -> MemoryPlaces:
    """Where memory lives for a directory. Creates nothing.

    That is the nearest ``.tau`` folder from the directory up that may be used: its directory is trusted, it
    is no link, it is the person's own, and not everybody can write in it. Else it is the configuration
    directory. A worktree looks where its main repository would look, then where it is itself.

    Raises:
        ConfigError: The record of trusted directories cannot be used.
    """
    real = Path(os.path.realpath(directory))
    root, ignored, notice = places.config, None, ""
    for holder in _holders(real):
        folder = holder / WORKSPACE
        if not os.path.lexists(folder):
            continue
        reason = _unusable(folder, holder, places)
        if not reason:
            root = folder
            break
        if ignored is None:
            ignored, notice = folder, f"{one_line(str(folder))} {reason}"
    owner = trust_root(real)
    project, unknown = _project(root, owner)
    if unknown:
        notice = f"{notice}; {unknown}" if notice else unknown
    return MemoryPlaces(root, project, owner, ignored, notice)


def outside_workspaces(where: MemoryPlaces, places: Places) -> MemoryPlaces:
    """The places in the configuration directory, which count where no ``.tau`` folder is used."""
    project, _ = _project(places.config, where.real)
    return MemoryPlaces(places.config, project, where.real)


def make_project(where: MemoryPlaces, contents: Mapping[str, bytes | None]) -> tuple[MemoryPlaces, bool]:
    """Make the project's folder where it is not there yet: whole beside its place, then renamed into it.

    Args:
        where: The places, as `find` gave them.
        contents: What it holds beside its record: paths in it, each with the bytes of a file, or None for a
            folder. A folder stands before what is in it.

    Returns:
        The places, whose project folder is another when its name was taken since; and whether this call
        made it.

    Raises:
        MemoryRefused: It cannot be made.
    """
    where, made = _found_again(where)
    if made:
        return where, False
    try:
        with _opened_or_made(where, PROJECTS) as projects:
            fresh = _fresh_folder(where, projects, contents)
            try:
                for _ in range(len(_HASHES) + 2):
                    try:
                        os.rename(fresh, where.project.name, src_dir_fd=projects, dst_dir_fd=projects)
                    except OSError as error:
                        if error.errno not in _TAKEN:
                            raise
                    else:
                        os.fsync(projects)
                        return where, True
                    where, made = _found_again(where)
                    if made:
                        return where, False
            finally:
                shutil.rmtree(fresh, ignore_errors=True, dir_fd=projects)
    except OSError as error:
        shown = one_line(str(where.project))
        raise MemoryRefused(f"The project's folder {shown} cannot be made: {error.strerror}") from error
    shown = one_line(str(where.project))
    raise MemoryRefused(f"The project's folder {shown} cannot be made: something else has its name")


def name_of(path: Path) -> str:
    """The name of a project's folder: the path with its slashes turned into dashes.

    Of a name longer than 200 bytes the end is kept, after a hash of all of it.
    """
    name = os.fsencode(path).replace(b"/", b"-")
    if len(name) > _LONGEST_NAME:
        digest = sha256(os.fsencode(path)).hexdigest()[: _HASHES[0]].encode()
        name = digest + b"-" + _without_torn_start(name[-(_LONGEST_NAME - len(digest) - 1) :])
    return os.fsdecode(name)


def open_folder(where: MemoryPlaces, *names: str) -> int:
    """Open a folder below the root for `tau.sessions.file_system`; the caller closes it.

    Raises:
        FileNotFoundError: It is not there.
        OSError: It, or a folder above it, is a link or no folder, or may not be opened.
    """
    return _open(where.root, names, make=False)


def make_folder(where: MemoryPlaces, *names: str) -> int:
    """As `open_folder`; folders that are not there are made, 0700 whatever the umask.

    Raises:
        OSError: As there, or it cannot be made.
    """
    make_private(where.root)
    return _open(where.root, names, make=True)


def _holders(directory: Path) -> Iterator[Path]:
    """The directories that may hold the ``.tau`` folder of `directory`, nearest first."""
    starts = [directory]
    root = repository_root(directory)
    if root is not None and (main := trust_root(directory)) != root:
        starts.insert(0, main / directory.relative_to(root))
    home = _home()
    for start in starts:
        for folder in (start, *start.parents):
            yield folder
            if folder == home:
                break


def _home() -> Path | None:
    try:
        return Path.home().resolve()
    except (RuntimeError, OSError):
        return None


def _unusable(folder: Path, holder: Path, places: Places) -> str:
    """Why a ``.tau`` folder is not used, to stand behind its path; empty when it may be."""
    from shlex import quote

    try:
        state = folder.lstat()
    except OSError as error:
        return f"is not used: {error.strerror}"
    if stat.S_ISLNK(state.st_mode):
        return "is a link, so it is not used"
    if not stat.S_ISDIR(state.st_mode):
        return "is not a folder, so it is not used"
    if state.st_uid != os.geteuid():
        return "belongs to another user, so it is not used"
    if state.st_mode & stat.S_IWOTH:
        return "can be written by everybody, so it is not used: chmod o-w " + quote(one_line(str(folder)))
    if not Trust(places).trusts(holder):
        return "is not used until you trust its directory: tau trust " + quote(
            one_line(str(trust_root(holder)))
        )
    return ""


def _project(root: Path, real: Path) -> tuple[Path, str]:
    """The folder of the project at `real`: that with its record, or the first free name; and what is odd."""
    base = name_of(real)
    wanted = os.fsencode(real)
    digest = sha256(wanted).hexdigest()
    names = [base, *(f"{base}-{digest[:length]}" for length in _HASHES)]
    records = {name: _record(root, name) for name in names}
    unrecorded = [name for name in names if records[name] == b""]
    odd = ""
    if unrecorded:
        path = one_line(str(root / PROJECTS / unrecorded[0]))
        odd = (
            f"{path} is not used: it is no folder with a file `{RECORD}` that says whose memory it is;"
            f" if it is this project's, make that file hold {one_line(str(real))}, else move it away"
        )
    for name in names:
        if records[name] == wanted:
            return root / PROJECTS / name, ""
    for name in names:
        if records[name] is None:
            return root / PROJECTS / name, odd
    return root / PROJECTS / names[-1], odd


def _found_again(where: MemoryPlaces) -> tuple[MemoryPlaces, bool]:
    """The places with the project's folder as it is called now, and whether it is there."""
    project, _ = _project(where.root, where.real)
    found = replace(where, project=project)
    return found, _record(where.root, project.name) == os.fsencode(where.real)


def _record(root: Path, name: str) -> bytes | None:
    """The path that a project's folder belongs to; empty when none says so, None when the name is free."""
    try:
        folder = _open(root, (PROJECTS, name), make=False)
    except FileNotFoundError:
        return None
    except OSError:
        return b""
    try:
        descriptor = fs.open_file(RECORD, folder)
        try:
            if os.fstat(descriptor).st_uid != os.geteuid():
                return b""
            return fs.read_at(descriptor, 0, _LONGEST_PATH).removesuffix(b"\n")
        finally:
            os.close(descriptor)
    except OSError:
        return b""
    finally:
        os.close(folder)


def _fresh_folder(where: MemoryPlaces, projects: int, contents: Mapping[str, bytes | None]) -> str:
    """Make a project's folder under a name that nobody looks at; that name."""
    name = f".{os.getpid()}-{os.urandom(4).hex()}.new"
    opened = {"": fs.make_directory(name, projects)}
    try:
        for path, data in {RECORD: os.fsencode(where.real) + b"\n", **contents}.items():
            above, _, last = path.rpartition("/")
            if data is None:
                opened[path] = fs.make_directory(last, opened[above])
            else:
                fs.write_new(last, opened[above], data, sync=True)
        for descriptor in opened.values():
            os.fsync(descriptor)
    except OSError:
        shutil.rmtree(name, ignore_errors=True, dir_fd=projects)
        raise
    finally:
        for descriptor in opened.values():
            os.close(descriptor)
    return name


@contextlib.contextmanager
def _opened_or_made(where: MemoryPlaces, *names: str) -> Iterator[int]:
    descriptor = make_folder(where, *names)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _open(root: Path, names: tuple[str, ...], *, make: bool) -> int:
    # The configuration directory may be a link of the person's own; a `.tau` may not, not even by now.
    no_link = os.O_NOFOLLOW if root.name == WORKSPACE else 0
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | no_link)
    for name in names:
        try:
            if make:
                inner, _ = fs.open_or_make_directory(name, descriptor)
            else:
                inner = fs.open_directory(name, descriptor)
        finally:
            os.close(descriptor)
        descriptor = inner
    return descriptor


def _without_torn_start(name: bytes) -> bytes:
    """The bytes without what is left of a character that was cut through."""
    while name and name[0] & 0xC0 == 0x80:
        name = name[1:]
    return name
