"""The `.session-log/` of a directory: where it is, whether it is used, which contexts it has."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from tau.config.settings import Places
from tau.config.trust import Trust, trust_root
from tau.display import one_line, visible
from tau.errors import JournalRefused

if TYPE_CHECKING:
    from tau.journal.markdown import Change, Keep
    from tau.journal.save import Save

FOLDER = ".session-log"
SHARED = "shared"
CONTEXT, LESSONS = "context.md", "LESSONS.md"

_LONGEST_NAME = 80
LOG_NAME = re.compile(r"(\d{4}-\d\d-\d\d)(?:-part(\d{1,4}))?\.md")
"""The name of a dated log: its day and, from the second one on, its number."""


@dataclass(frozen=True)
class LogPlace:
    """The `.session-log/` for a working directory.

    Attributes:
        folder: Where it is, or would be.
        there: Whether it is there.
        in_home: Whether it is the person's own, for work that is in no project.
        refused: Why it must not be read or written, one line for the person; empty when it may.
        save: What keeps the changes that are made, so that they can be taken back; None where nothing does.
        without: Files that are left alone, by their names below the folder: to `read` they are not there.
    """

    folder: Path
    there: bool = False
    in_home: bool = False
    refused: str = ""
    save: Save | None = field(default=None, compare=False)
    without: Sequence[tuple[str, ...]] = ()

    @property
    def on(self) -> bool:
        """Whether it is there and may be used."""
        return self.there and not self.refused

    def path(self, *names: str) -> Path:
        """A path in it."""
        return self.folder.joinpath(*names)

    def shown(self, *names: str) -> str:
        """A path in it as a person reads it, such as ``.session-log/acme/context.md``."""
        return one_line("/".join(["~/" + FOLDER if self.in_home else FOLDER, *names]))

    def read(self, *names: str) -> bytes | None:
        """A file in it; None when it is not there.

        Raises:
            JournalRefused: It cannot be read, or is reached by a link.
        """
        from tau.journal import markdown

        return None if names in self.without else markdown.read(self.path(*names), root=self.folder)

    def edit(self, *names: str, change: Change, create: bytes | None = None) -> bool:
        """Change a file in it, as `markdown.edit`.

        Raises:
            JournalRefused: It cannot be changed.
        """
        from tau.journal import markdown

        def edit(keep: Keep | None) -> bool:
            return markdown.edit(
                self.path(*names),
                change,
                create=create,
                root=self.folder,
                private=self.in_home,
                keep=keep,
            )

        return self.save.changing("/".join(names), edit) if self.save is not None else edit(None)

    def create(self, *names: str, data: bytes) -> bool:
        """Write a file in it that must not be there yet; False when something has its name.

        Raises:
            JournalRefused: It cannot be written.
        """
        from tau.journal import markdown

        def create(keep: Keep | None) -> bool:
            if keep is not None:
                keep(None, data)
            return markdown.create(self.path(*names), data, root=self.folder, private=self.in_home)

        return self.save.changing("/".join(names), create) if self.save is not None else create(None)

    def contexts(self) -> list[str]:
        """The names of the contexts, sorted; `SHARED` is none. Empty when there is no folder.

        Raises:
            JournalRefused: The folder cannot be read.
        """
        return [name for name in self._folders() if name != SHARED]

    def logs(self, context: str) -> list[str]:
        """The names of the dated logs of a context, oldest first.

        Raises:
            JournalRefused: The folder cannot be read.
        """
        from tau.journal import markdown

        names = markdown.listed(self.path(context), root=self.folder)
        dated = [
            (found[1], int(found[2] or 1), name) for name in names if (found := LOG_NAME.fullmatch(name))
        ]
        return [name for _, _, name in sorted(dated)]

    def _folders(self) -> list[str]:
        try:
            with os.scandir(self.folder) as entries:
                return sorted(
                    entry.name
                    for entry in entries
                    if not unfit(entry.name) and entry.is_dir(follow_symlinks=False)
                )
        except FileNotFoundError:
            return []
        except OSError as error:
            raise JournalRefused(f"{self.shown()} cannot be read: {error.strerror}") from error


def find(directory: Path, places: Places) -> LogPlace:
    """The place for a working directory. Creates nothing.

    It is at the root of the project: the nearest directory up with ``.session-log`` or ``.git``. Work that is
    in no project has that of the home directory.

    Args:
        directory: A real path.
        places: Where the record of trusted directories is.

    Raises:
        ConfigError: That record cannot be used.
    """
    home = _home()
    root = None
    for folder in (directory, *directory.parents):
        if folder == home:
            break
        if os.path.lexists(folder / ".git") or _is_own(folder / FOLDER):
            root = folder
            break
    if root is None:
        if home is None:
            return LogPlace(directory / FOLDER, refused="There is no home directory to keep a session log in")
        return _looked_at(home / FOLDER, home, None)
    return _looked_at(root / FOLDER, None, places)


def unfit(name: str) -> str:
    """Why a context cannot have a name, to follow it; empty when it can."""
    if not name or name.startswith(".") or "/" in name or "\\" in name or name != name.strip():
        return "is no name of a folder"
    if visible(name) != name or re.search(r"[\n\t]", name):
        return "has characters that cannot be shown"
    if len(os.fsencode(name)) > _LONGEST_NAME:
        return f"is longer than {_LONGEST_NAME} bytes"
    return ""


def suggested(directory: Path) -> str:
    """A name for the first context of a directory."""
    name = re.sub(r"\s+", "-", directory.name.strip(" .")) or "work"
    return "work" if unfit(name) else name


def hits(text: str, words: Mapping[str, Sequence[str]]) -> dict[str, dict[str, int]]:
    """Which contexts a text is about: for each the keywords it has, and how often; the best first.

    Args:
        text: What was said.
        words: For each context its keywords; its name is one as well.
    """
    flat = " ".join(text.casefold().split())
    found: dict[str, dict[str, int]] = {}
    for context, listed in words.items():
        counts = {word: _count(flat, word) for word in dict.fromkeys([context, *listed])}
        if there := {word: count for word, count in counts.items() if count}:
            found[context] = there
    order = sorted(found, key=lambda name: (-len(found[name]), -sum(found[name].values()), name))
    return {name: found[name] for name in order}


def _count(flat: str, word: str) -> int:
    wanted = re.escape(" ".join(word.casefold().split()))
    return len(re.findall(rf"(?<!\w){wanted}(?!\w)", flat)) if wanted else 0


def _is_own(folder: Path) -> bool:
    """Whether something is there that is the person's: outside of a project others may have put it there."""
    try:
        return folder.lstat().st_uid == os.geteuid()
    except OSError:
        return False


def _looked_at(folder: Path, home: Path | None, places: Places | None) -> LogPlace:
    shown = one_line(str(folder))
    in_home = home is not None
    try:
        state = folder.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return LogPlace(folder, in_home=in_home, refused=_untrusted(folder, places))
    except OSError as error:
        return LogPlace(folder, in_home=in_home, refused=f"{shown} is not used: {error.strerror}")
    refused = ""
    if stat.S_ISLNK(state.st_mode):
        refused = f"{shown} is a link, so it is not used"
    elif not stat.S_ISDIR(state.st_mode):
        refused = f"{shown} is not used: it is no folder"
    elif in_home and (state.st_uid != os.geteuid() or state.st_mode & (stat.S_IWOTH | stat.S_IWGRP)):
        refused = f"{shown} is not used: others can write in it"
    return LogPlace(folder, True, in_home, refused or _untrusted(folder, places))


def _untrusted(folder: Path, places: Places | None) -> str:
    if places is None or Trust(places).trusts(folder.parent):
        return ""
    command = f"tau trust {quote(one_line(str(trust_root(folder.parent))))}"
    return f"Until you trust this directory, nothing is read or written in {one_line(str(folder))}: {command}"


def make(place: LogPlace) -> list[Path]:
    """Make the folder, with an empty `shared/context.md`. What is there stays as it is.

    Returns:
        What was made.

    Raises:
        JournalRefused: It cannot be made, or is a link.
    """
    from tau.journal import markdown
    from tau.journal.context_file import new_context

    path = place.path(SHARED, CONTEXT)
    made = markdown.create(path, new_context(SHARED, ()), root=place.folder, private=place.in_home)
    return [path] if made else []


def _home() -> Path | None:
    try:
        return Path.home().resolve()
    except (RuntimeError, OSError):
        return None
