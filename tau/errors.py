"""The errors tau shows to a person: one sentence that names the thing, and a hint about what to do.

    TauError
    ├── ConfigError              a configuration file, key or value
    ├── SessionError             anything about one session
    │   ├── InvalidSessionId     not a plain name
    │   ├── SessionNotFound      no such session here
    │   ├── SessionExists        the id is taken
    │   ├── SessionHeld          another process writes it
    │   │   └── SessionReadOnly  nobody can: its place takes no writes (a StoreWriteFailed, too)
    │   ├── SessionMismatch      recorded under another [agent] context
    │   └── SessionUnusable      present, but cannot be opened at all
    ├── StoreError               a session store as a whole (place, disk, permission)
    │   ├── MessageExists        an append would overwrite
    │   └── StoreWriteFailed     the disk refused; nothing was counted
    ├── MemoryRefused            a memory file that is not read or changed
    ├── TaskRefused              task memory that is not read or changed
    ├── JournalRefused           a file of .memory/ or .session-log/ that is not read or changed
    │   └── JournalChanged       somebody else changes it all the time
    ├── PluginError              an entry point that does not load
    ├── ModelError               a model that cannot be used
    │   ├── ModelNotReady        a key, package, server or file is missing
    │   │   └── NoModel          nothing was named and nothing is ready
    │   └── ModelCallFailed      the provider refused or broke off
    └── UsageError               a command typed wrongly

Only these reach a channel as a plain line; anything else is a defect and is logged with its traceback.
"""

from __future__ import annotations


class TauError(Exception):
    """A failure a person can act on.

    Args:
        message: One sentence naming the file, key or session concerned. No trailing period is added.
        hint: What to do about it, or the empty string when the message says it already.
    """

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def line(self) -> str:
        """The error as the one line a channel prints: message, then the hint in parentheses."""
        return f"{self.message} ({self.hint})" if self.hint else self.message


class UsageError(TauError):
    """A command, option or argument that tau does not understand."""

    exit_code = 2


class ConfigError(TauError):
    """A configuration file that cannot be used. The message names file, line and key where known."""

    exit_code = 2


class PluginError(TauError):
    """An entry point that is missing, does not import, or does not do what its group asks for."""

    exit_code = 2


class MemoryRefused(TauError):
    """A memory file, or the folder of one, that cannot be read or changed as asked."""


class JournalRefused(TauError):
    """A file of `.memory/` or `.session-log/` that cannot be read or changed as asked."""


class JournalChanged(JournalRefused):
    """A file that somebody else changes whenever it is about to be written; nothing was written."""


class TaskRefused(TauError):
    """A task, or the database of tasks, that cannot be read or changed as asked."""


class StoreError(TauError):
    """A session store that cannot do what was asked."""


class MessageExists(StoreError):
    """A message with this index is already recorded; nothing was written."""


class StoreWriteFailed(StoreError):
    """The disk refused a write. What was acknowledged before stands; this write is not counted."""


class SessionError(TauError):
    """A failure that concerns one session.

    Args:
        session_id: The id as it was given.
        message: One sentence.
        hint: What to do.
    """

    def __init__(self, session_id: str, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.session_id = session_id


class InvalidSessionId(SessionError):
    """The id is not a plain name (letters, digits, ``.``, ``_``, ``-``; first a letter or digit)."""

    exit_code = 2


class SessionNotFound(SessionError):
    """No session of that id or name is recorded where tau looked."""


class SessionExists(SessionError):
    """A session of that id is already recorded."""


class SessionUnusable(SessionError):
    """The session is there but cannot be opened, even in part."""


class SessionMismatch(SessionError):
    """The session was recorded under another ``[agent] context`` setting."""


class SessionHeld(SessionError):
    """Another process is writing this session.

    Args:
        session_id: The id.
        holder: Who holds it, as a short phrase (``tau tui, process 4711 since 15:30``).

    Attributes:
        why: Why it can only be read, to stand behind ``Read-only:``.
        way_on: How to go on all the same.
    """

    way_on = "/fork goes on in a new session"

    def __init__(self, session_id: str, holder: str) -> None:
        super().__init__(
            session_id,
            f"Session {session_id} is open in another window: {holder}",
            "it can be read here; close it there to write",
        )
        self.holder = holder
        self.why = f"this session is open in {holder}"


class SessionReadOnly(SessionHeld, StoreWriteFailed):
    """The session is in a place that takes no writes, so it can only be read.

    Args:
        session_id: The id.
        path: The file that could not be opened for writing.
        reason: Why, in the system's words.
    """

    way_on = "with TAU_DATA_DIR tau records elsewhere"

    def __init__(self, session_id: str, path: str, reason: str) -> None:
        super().__init__(session_id, f"a place that cannot be written ({reason})")
        self.why = f"this session is in {self.holder}"
        self.message = f"Session {session_id} cannot be gone on with: {path} cannot be written ({reason})"
        self.hint = f"`tau sessions show {session_id}` prints it; with TAU_DATA_DIR tau records elsewhere"


class ModelError(TauError):
    """A model that cannot answer."""


class ModelNotReady(ModelError):
    """Something a model needs is missing. The message names the variable, package, server or file."""


class NoModel(ModelNotReady):
    """No model was named and none is ready.

    Attributes:
        can_install: Whether the embedded one only lacks its weights, which a channel may offer to install.
    """

    can_install = False


class CompactionFailed(TauError):
    """A conversation that was not compacted; it goes on as it was."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"Compaction failed: {reason}")


class CompactionCancelled(TauError):
    """A compaction that the person stopped; the conversation goes on as it was."""


class ModelCallFailed(ModelError):
    """A model call that failed after it was made."""
