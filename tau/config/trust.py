"""Which directories the person trusts, and what a project's file may set before that.

Trust is recorded for real directories: the main root of a repository, or the directory itself outside one.
The record is one JSON file of mode 0600 in the state directory.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from tau.config.actions import ANSWERS
from tau.config.places import make_private, why_unwritable
from tau.config.schema import GUARDS
from tau.config.settings import Places
from tau.config.toml_file import Document
from tau.config.toml_lines import KeyPath
from tau.display import one_line
from tau.errors import ConfigError

FREE = {
    "agent": ("context", "window_size"),
    "sessions": ("scope",),
    "context": ("spill_result_chars", "prune_result_chars"),
    "compaction": ("keep_turns", "anchors_tokens", "auto"),
    "tui": ("theme", "mouse"),
    "approvals": ("ask", "deny"),
}
"""What a project's file may set before its directory is trusted. Whatever is not named here is ignored: it
decides where data goes, what runs, what is spent, or what a model is told."""

FREE_IN_MODELS = ("context_window", "max_tokens", "price")
"""The same for ``[models.ROLE]``."""


def trust_root(directory: Path) -> Path:
    """The directory that trust in `directory` is recorded for.

    That is the root of the repository around it (of the main repository, for a worktree), else itself.

    Args:
        directory: A real path.
    """
    root = repository_root(directory)
    return _main_root(root) if root else directory


def repository_root(directory: Path) -> Path | None:
    """The nearest directory from `directory` up that holds ``.git``; None when there is none.

    The search does not go above the home directory.
    """
    home = _home()
    for folder in (directory, *directory.parents):
        if os.path.lexists(folder / ".git"):
            return folder
        if folder == home:
            return None
    return None


def _home() -> Path | None:
    try:
        return Path.home().resolve()
    except (RuntimeError, OSError):
        return None


def _main_root(root: Path) -> Path:
    """The main repository's root when `root` is one of its worktrees, and the repository says so too."""
    marker = root / ".git"
    try:
        if marker.is_symlink() or not marker.is_file():
            return root
        text = marker.read_text("utf-8", "surrogateescape")[:4096].strip()
        if not text.startswith("gitdir:"):
            return root
        admin = (root / text.removeprefix("gitdir:").strip()).resolve()
        back = Path((admin / "gitdir").read_text("utf-8", "surrogateescape").strip())
        if (admin / back).resolve() != marker or admin.parent.name != "worktrees":
            return root
        common = admin.parent.parent
    except (OSError, ValueError):
        return root
    return common.parent if common.name == ".git" else common


def refused_keys(document: Document, at: KeyPath = ()) -> Iterator[KeyPath]:
    """The keys of a checked project file that count only once the directory is trusted."""
    for table, entries in document.items():
        if table == "profiles":
            for profile, overlay in entries.items():
                yield from refused_keys(overlay, (*at, table, profile))
        elif table == "models":
            for role, model in entries.items():
                yield from ((*at, table, role, key) for key in model if _needs_trust(table, key))
        else:
            yield from ((*at, table, key) for key in entries if _needs_trust(table, key))


def refused_at(path: KeyPath) -> KeyPath | None:
    """The key, or what holds it, that is ignored in a project's file before trust whatever its value.

    Args:
        path: Where something is wrong in the file. In a table that guards something nothing wrong is
            ignored: what was meant to tighten would not.
    """
    match path:
        case ("profiles", profile, *inner) if inner:
            found = refused_at(tuple(inner))
            return None if found is None else ("profiles", profile, *found)
        case ("models", _, key, *_):
            return path[:3] if _needs_trust("models", str(key)) else None
        case (str(table), key, *_) if table not in ("profiles", "models", *GUARDS):
            return path[:2] if _needs_trust(table, str(key)) else None
    return None


def _needs_trust(table: str, key: str) -> bool:
    return key not in (FREE_IN_MODELS if table == "models" else FREE.get(table, ()))


def loosening_keys(document: Document, at: KeyPath = ()) -> Iterator[KeyPath]:
    """The keys of a checked project file that never count, trusted or not: what lets calls run unasked.

    A repository is written by many; trusting it once must not let a later commit approve its own commands,
    nor make the key that a person presses for no one that approves.
    """
    for table, entries in document.items():
        if table == "profiles":
            for profile, overlay in entries.items():
                yield from loosening_keys(overlay, (*at, table, profile))
        elif table == "approvals" and "allow" in entries:
            yield (*at, table, "allow")
        elif table == "keys":
            yield from ((*at, table, name) for name in entries if name in ANSWERS)
        elif table == "mcp":
            yield from ((*at, table, name, "tiers") for name, server in entries.items() if "tiers" in server)


def without(document: Document, paths: list[KeyPath]) -> Document:
    """A copy of a document without the values at `paths`."""
    kept = dict(document)
    for key in {str(path[0]) for path in paths}:
        inner = [path[1:] for path in paths if path[0] == key]
        if () in inner:
            del kept[key]
        else:
            kept[key] = without(kept[key], inner)
    return kept


class Trust:
    """The record of trusted directories.

    Args:
        places: Where it is kept: ``trusted.json`` in the state directory.
    """

    def __init__(self, places: Places) -> None:
        self.path = places.state / "trusted.json"

    def directories(self) -> list[Path]:
        """The trusted directories, sorted. Empty when none was ever recorded.

        Raises:
            ConfigError: The record is damaged, or others than the person can write it.
        """
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise self._unusable(f"cannot be read: {error.strerror}") from error
        with open(descriptor, encoding="utf-8", errors="strict") as file:  # noqa: PTH123  # a descriptor has no Path
            state = os.fstat(descriptor)
            if not stat.S_ISREG(state.st_mode):
                raise self._unusable("is not a file")
            if state.st_uid != os.geteuid() or state.st_mode & 0o022:
                raise self._unusable("can be written by others")
            try:
                record = json.load(file)
            except (ValueError, RecursionError) as error:
                raise self._unusable("is not JSON") from error
        if not isinstance(record, dict) or set(record) != {"directories"}:
            raise self._unusable("does not hold the key 'directories' alone")
        listed = record["directories"]
        if not isinstance(listed, list) or not all(isinstance(item, str) for item in listed):
            raise self._unusable("does not list directories")
        return sorted(Path(item) for item in listed)

    def trusts(self, directory: Path) -> bool:
        """Whether `directory` (a real path) belongs to a trusted one.

        Raises:
            ConfigError: The record cannot be used.
        """
        directories = self.directories()
        return bool(directories) and trust_root(directory) in directories

    def add(self, root: Path) -> bool:
        """Trust a root of `trust_root`; False when it was trusted already.

        Raises:
            ConfigError: `root` is a folder that everybody shares, or the record cannot be used or written.
        """
        with contextlib.suppress(OSError):
            if root.stat().st_mode & (stat.S_ISVTX | stat.S_IWOTH) == stat.S_ISVTX | stat.S_IWOTH:
                raise ConfigError(
                    f"{one_line(str(root))} is shared by everybody on this machine, so it cannot be trusted",
                    "work in a directory of your own",
                )
        with self._changing() as directories:
            if root in directories:
                return False
            self._write([*directories, root])
            return True

    def remove(self, root: Path) -> bool:
        """Trust a root no longer; False when it was not trusted.

        Raises:
            ConfigError: The record cannot be used or written.
        """
        with self._changing() as directories:
            if root not in directories:
                return False
            self._write([item for item in directories if item != root])
            return True

    @contextlib.contextmanager
    def _changing(self) -> Iterator[list[Path]]:
        """Hold the record against other processes, and hand over what it lists."""
        from filelock import FileLock

        try:
            make_private(self.path.parent)
            lock = FileLock(self.path.with_suffix(".lock"), mode=0o600, timeout=10)
            lock.acquire()
        except OSError as error:
            why = why_unwritable(self.path.parent) or f"{self.path}: {error.strerror or error}"
            raise self._unusable(f"cannot be written: {one_line(why)}") from error
        try:
            yield self.directories()
        finally:
            lock.release()

    def _write(self, directories: list[Path]) -> None:
        text = json.dumps({"directories": sorted(str(path) for path in directories)}, indent=1) + "\n"
        fresh = self.path.with_suffix(f".{os.getpid()}.new")
        try:
            descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with open(descriptor, "w", encoding="ascii") as file:  # noqa: PTH123  # a descriptor has no Path
                os.fchmod(descriptor, 0o600)
                file.write(text)
                file.flush()
                os.fsync(descriptor)
            fresh.replace(self.path)
        except OSError as error:
            fresh.unlink(missing_ok=True)
            raise self._unusable(f"cannot be written: {error.strerror}") from error

    def _unusable(self, why: str) -> ConfigError:
        return ConfigError(
            f"The record of trusted directories {one_line(str(self.path))} {why}",
            "remove it and trust your directories again with tau trust",
        )
