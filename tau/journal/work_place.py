"""Where the `.memory/` of a checkout is, whether it is used, what lies in it, and how it is made."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from tau.config.settings import Places
from tau.config.trust import Trust, repository_root, trust_root
from tau.display import one_line
from tau.errors import JournalRefused
from tau.journal.encoding import check_encoding
from tau.sessions import file_system as fs

FOLDER = ".memory"
LONG_TERM = "long-term.md"
SESSION, PLAN, TODO, REVIEWS = "session", "plan", "todo", "reviews"
FOLDERS = (SESSION, PLAN, TODO, REVIEWS)

SHOWN = f"{FOLDER}/{LONG_TERM}"
"""The long-term memory as it is named to the person and the model."""

SECTIONS: dict[str, str] = {
    "Preferences": "what the person likes or wants, in general",
    "Always and Never": "what is always, or never, to be done here",
    "Corrections": "the preference or rule behind something that the person changed or turned back",
    "Learned Rules": "what did not work here, and why",
    "Project Notes": "decisions on the project's structure and architecture, each with its reason",
    "Code Observations": "what was found in the code, checked by reading it",
}
"""The six sections of the long-term memory, each with what belongs there."""

WISHES = ("Preferences", "Always and Never")
"""The sections of what the person wants."""

LARGEST = 1_000_000
"""Bytes of a file that are read."""

LARGEST_SESSION = 10_000_000
"""The same of a session's file that cannot be known by its beginning and its end."""

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True)
class WorkPlace:
    """The `.memory/` of a checkout.

    Attributes:
        root: The root of the checkout, a real path.
        on: Whether the folder is there and may be read and written.
        notice: Why it may not although it is there, one line for the person; else empty.
    """

    root: Path
    on: bool = False
    notice: str = ""

    @property
    def folder(self) -> Path:
        """The folder itself."""
        return self.root / FOLDER

    @property
    def long_term(self) -> Path:
        """The file of what holds for every conversation."""
        return self.folder / LONG_TERM

    @contextmanager
    def opened(self, *names: str) -> Iterator[int]:
        """An open folder below the root of the checkout, reached without following a link.

        Raises:
            OSError: It is not there, a link or no folder, or may not be opened.
        """
        descriptor = os.open(self.root, _DIRECTORY)
        try:
            for name in names:
                inner = fs.open_directory(name, descriptor)
                os.close(descriptor)
                descriptor = inner
            yield descriptor
        finally:
            os.close(descriptor)

    def read(self, path: str, largest: int = LARGEST) -> bytes:
        """A file below the root of the checkout, reached without following a link.

        Args:
            path: Relative to the root, with slashes; no part of it is ``..``.
            largest: Bytes at most.

        Raises:
            FileNotFoundError: It is not there.
            JournalRefused: It is something else, no text, too large, or cannot be read.
        """
        *folders, name = path.split("/")
        shown = one_line(path)
        try:
            with self.opened(*folders) as folder:
                data, _ = fs.read_file(name, folder, most=largest + 1)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise JournalRefused(f"{shown} cannot be read: {error.strerror}") from error
        if len(data) > largest:
            raise JournalRefused(f"{shown} is larger than {largest // 1000:,} kB, so it is not read")
        check_encoding(data, shown)
        return data

    def ends(self, path: str, each: int) -> tuple[bytes, bytes] | None:
        """The beginning and the end of a long file, as of `read`; None where it is not longer than both.

        Args:
            path: As of `read`.
            each: Bytes of the beginning, and of the end.

        Raises:
            FileNotFoundError: It is not there.
            JournalRefused: As `read`.
        """
        *folders, name = path.split("/")
        try:
            with self.opened(*folders) as folder:
                descriptor = fs.open_file(name, folder)
                try:
                    size = os.fstat(descriptor).st_size
                    if size <= 2 * each:
                        return None
                    return fs.read_at(descriptor, 0, each), fs.read_at(descriptor, size - each, each)
                finally:
                    os.close(descriptor)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise JournalRefused(f"{one_line(path)} cannot be read: {error.strerror}") from error

    def files(self, kind: str) -> list[str]:
        """The names of the markdown files of `.memory/KIND`, sorted; links and hidden ones are none.

        Raises:
            JournalRefused: The folder cannot be read.
        """
        try:
            with self.opened(FOLDER, kind) as folder:
                return sorted(
                    name
                    for name in fs.names(folder)
                    if name.endswith(".md") and not name.startswith(".") and _is_file(name, folder)
                )
        except FileNotFoundError:
            return []
        except OSError as error:
            raise JournalRefused(f"{FOLDER}/{kind} cannot be read: {error.strerror}") from error

    def shown(self, path: Path) -> str:
        """A path below the root as the person reads it."""
        return one_line(path.relative_to(self.root).as_posix())


def find(directory: Path, places: Places) -> WorkPlace:
    """The place for a working directory. Creates nothing, and reads nothing in it.

    Args:
        directory: A real path.
        places: Where the record of trusted directories is.

    Raises:
        ConfigError: That record cannot be used.
    """
    root = root_of(directory)
    folder = root / FOLDER
    shown = one_line(str(folder))
    try:
        state = folder.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return WorkPlace(root)
    except OSError as error:
        return WorkPlace(root, notice=f"{shown} is not used: {error.strerror}")
    if stat.S_ISLNK(state.st_mode):
        return WorkPlace(root, notice=f"{shown} is a link, so it is not used")
    if not stat.S_ISDIR(state.st_mode):
        return WorkPlace(root, notice=f"{shown} is not used: it is no folder")
    if not Trust(places).trusts(root):
        return WorkPlace(root, notice=_untrusted(root))
    return WorkPlace(root, on=True)


def root_of(directory: Path) -> Path:
    """The root of the checkout that a directory is in: the nearest one up with ``.git``, else itself."""
    return repository_root(directory) or directory


def make(place: WorkPlace) -> list[Path]:
    """Make what is missing of the layout. What is there stays as it is.

    Returns:
        What was made.

    Raises:
        JournalRefused: It cannot be made, or something else has a name of it.
    """
    from tau.journal import markdown

    made: list[Path] = []
    try:
        with place.opened() as root:
            if _made_folder(FOLDER, root):
                made.append(place.folder)
        with place.opened(FOLDER) as folder:
            made += [place.folder / name for name in FOLDERS if _made_folder(name, folder)]
        if markdown.create(place.long_term, empty_long_term(), root=place.root):
            made.append(place.long_term)
    except OSError as error:
        shown = one_line(str(place.folder))
        raise JournalRefused(f"{shown} cannot be made whole: {error.strerror}") from error
    return made


def switched_on(directory: Path, places: Places) -> tuple[list[Path], str]:
    """Make the layout for a working directory, as the person asks for it.

    Returns:
        What was made, and what is still to be done until it is used; empty when nothing is.

    Raises:
        JournalRefused: It cannot be made, or is a link.
        ConfigError: The record of trusted directories cannot be used.
    """
    place = WorkPlace(root_of(directory))
    made = make(place)
    return made, find(directory, places).notice


def empty_long_term() -> bytes:
    """The long-term memory as it is made: the six sections, nothing in them."""
    return ("# Long-Term Memory\n" + "".join(f"\n## {title}\n" for title in SECTIONS)).encode()


def write_new(place: WorkPlace, kind: str, name: str, data: bytes) -> None:
    """Write a file of `.memory/KIND` that must not be there yet.

    Raises:
        FileExistsError: The name is taken.
        JournalRefused: It cannot be written.
    """
    from tau.journal import markdown

    if not markdown.create(place.folder / kind / name, data, root=place.root):
        raise FileExistsError(name)


def links(place: WorkPlace, kind: str, limit: int) -> list[str]:
    """The newest files of `.memory/KIND`, newest first, as paths from the root of the checkout.

    Raises:
        JournalRefused: The folder cannot be read.
    """
    names = place.files(kind)
    try:
        with place.opened(FOLDER, kind) as folder:
            stamps = {name: fs.stamp_of(name, folder) for name in names}
    except FileNotFoundError:
        return []
    except OSError as error:
        raise JournalRefused(f"{FOLDER}/{kind} cannot be read: {error.strerror}") from error
    there = [name for name in names if stamps[name] is not None]
    there.sort(key=lambda name: (stamp.mtime_ns if (stamp := stamps[name]) else 0, name), reverse=True)
    return [f"{FOLDER}/{kind}/{name}" for name in there[:limit]]


def inside(place: WorkPlace, path: Path) -> Sequence[str]:
    """The parts of an absolute path below the root of the checkout; empty when it is not below it."""
    try:
        parts = path.relative_to(place.root).parts
    except ValueError:
        return ()
    return () if ".." in parts else parts


def _untrusted(root: Path) -> str:
    command = f"tau trust {quote(one_line(str(trust_root(root))))}"
    shown = one_line(str(root / FOLDER))
    return f"Until you trust this directory, nothing is read or written in {shown}: {command}"


def _made_folder(name: str, parent: int) -> bool:
    """Make a folder with the modes of the person's other files; False when there is one."""
    try:
        os.mkdir(name, 0o777, dir_fd=parent)
    except FileExistsError:
        os.close(fs.open_directory(name, parent))
        return False
    return True


def _is_file(name: str, folder: int) -> bool:
    try:
        return fs.stamp_of(name, folder) is not None
    except OSError:
        return False
