"""Opens the session a channel asks for: a new one, an earlier one, or one held elsewhere for reading."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tau.config.places import is_directory
from tau.config.settings import Settings
from tau.conversation.state import OpenRequest
from tau.errors import SessionExists, SessionHeld, SessionMismatch, SessionNotFound, UsageError
from tau.sessions.catalog import Catalog
from tau.sessions.records import Meta, MetaValue, new_id
from tau.sessions.store import SessionReader, SessionStore, SessionWriter

INTERACTIVE = ("tui", "terminal")
"""Channels whose sessions get a generated name."""

MANAGERS = {"sliding": "SlidingWindowConversationManager", "summarize": "SummarizingConversationManager"}
"""The window's mode and the name a session remembers it by."""


@dataclass(frozen=True, slots=True)
class OpenSession:
    """A session in hand.

    Attributes:
        reader: The session; the same object as `writer` where it is held.
        writer: Set when this process may write.
        held_by: Who writes it otherwise.
        role: The model role it comes back on.
        notices: What the person is told once.
    """

    reader: SessionReader
    writer: SessionWriter | None
    held_by: str
    role: str
    notices: Sequence[str] = ()


class SessionOpener:
    """Opens sessions of one store for one channel.

    Args:
        store: Where they are kept.
        catalog: Finds them by name, and names new ones.
        settings: Directory, profile and roles.
        channel: As recorded in a session's metadata.
    """

    def __init__(self, store: SessionStore, catalog: Catalog, settings: Settings, channel: str) -> None:
        self._store = store
        self._catalog = catalog
        self._settings = settings
        self._channel = channel
        self._directory = str(settings.directory)

    def open(self, request: OpenRequest) -> OpenSession:
        """Open what the request names.

        Raises:
            SessionNotFound: There is nothing to resume, here or by that name.
            SessionHeld: Another process writes it and the channel does not read along.
            SessionMismatch: It was recorded under another ``[agent] context``; nothing was written.
            UsageError: The name is taken.
        """
        if request.resume is not None:
            everywhere = request.all_directories or self._settings.sessions.scope == "all"
            found = self._catalog.resolve(request.resume, directory=None if everywhere else self._directory)
            return self.resume(found, role=request.role, read_along=request.read_only_ok, name=request.name)
        if request.session_id is not None:
            try:
                return self.resume(
                    request.session_id, role=request.role, read_along=request.read_only_ok, name=request.name
                )
            except SessionNotFound:
                if self._catalog.name_taken(request.session_id, self._directory):
                    raise UsageError(
                        f"A session of this directory is named {request.session_id}; its id is another",
                        f"go on with it: --resume {request.session_id}",
                    ) from None
                return self.create(session_id=request.session_id, role=request.role, name=request.name)
        return self.create(role=request.role, name=request.name)

    def create(
        self, *, session_id: str | None = None, role: str | None = None, name: str | None = None
    ) -> OpenSession:
        """Begin a session; a fresh id is tried again in the rare case that it is taken."""
        if name is not None:
            self.check_name(name)
        elif self._channel in INTERACTIVE:
            name = self._catalog.fresh_name(self._directory)
        meta: dict[str, MetaValue] = {
            "channel": self._channel,
            "profile": self._settings.profile,
            "role": role or "default",
            "directory": self._directory,
        }
        if name:
            meta["name"] = name
        while True:
            try:
                writer = self._store.create(session_id or new_id(), meta=meta)
            except SessionExists:
                if session_id is not None:
                    raise
                continue
            return OpenSession(writer, writer, "", role or "default")

    def fork(self, source: SessionReader, *, before: int, role: str) -> OpenSession:
        """Begin a session with the messages of another one up to an index; the other one is untouched.

        Raises:
            StoreError: A message cannot be read or written.
        """
        opened = self.create(role=role)
        writer = opened.writer
        assert writer is not None
        try:
            for index, stored in enumerate(source.messages(limit=before)):
                writer.append(index, stored.message)
            meta = source.meta()
            changes: dict[str, MetaValue] = {"forked_from": source.session_id}
            if before and meta.get("title"):
                changes["title"] = meta["title"]
            writer.patch_meta(changes)
            writer.flush()
        except BaseException:
            writer.close()
            raise
        return opened

    def resume(
        self, session_id: str, *, role: str | None = None, read_along: bool = False, name: str | None = None
    ) -> OpenSession:
        """Hold a recorded session, or read it while another process does.

        Raises:
            See `open`.
        """
        try:
            writer = self._store.hold(session_id)
        except SessionHeld as held:
            if not read_along:
                raise
            reader = self._store.read(session_id)
            return OpenSession(reader, None, held.holder, role or self._role_of(reader.meta())[0])
        try:
            return self._resume(writer, role, name)
        except BaseException:
            writer.close()
            raise

    def _resume(self, writer: SessionWriter, role: str | None, name: str | None) -> OpenSession:
        self._check_window(writer)
        if name is not None:
            self.check_name(name, session_id=writer.session_id)
        meta = writer.meta()
        stored_role, notices = self._role_of(meta)
        role = role or stored_role
        changes: dict[str, MetaValue] = {
            "channel": self._channel,
            "profile": self._settings.profile,
            "role": role,
        }
        if "directory" not in meta:
            changes["directory"] = self._directory
        if name is not None:
            changes["name"] = name
        writer.patch_meta(changes)
        notices += self._elsewhere(meta)
        return OpenSession(writer, writer, "", role, notices)

    def _check_window(self, writer: SessionWriter) -> None:
        state = writer.agent_state()
        recorded = state.conversation_manager_state.get("__name__") if state else None
        if recorded is not None and recorded != MANAGERS[self._settings.agent.context]:
            known = next((mode for mode, manager in MANAGERS.items() if manager == recorded), "sliding")
            raise SessionMismatch(
                writer.session_id,
                f"Session {writer.session_id} was recorded with a different [agent] context setting; "
                f"set it back to {known} or start a new session",
            )

    def _role_of(self, meta: Meta) -> tuple[str, list[str]]:
        role = meta.get("role")
        if not isinstance(role, str) or role in self._settings.roles():
            return (role if isinstance(role, str) else "default"), []
        return "default", [f"The model role '{role}' of this session is no longer configured; using default."]

    def _elsewhere(self, meta: Meta) -> list[str]:
        recorded = meta.get("directory")
        if not isinstance(recorded, str) or recorded == self._directory:
            return []
        gone = "" if is_directory(Path(recorded)) else ", which is gone"
        return [f"This session was recorded in {recorded}{gone}; it now works in {self._directory}."]

    def check_name(self, name: str, *, session_id: str | None = None) -> None:
        """Refuse a name that cannot be used.

        Raises:
            UsageError: Blank, too long, not printable, or taken by another session of this directory.
        """
        if not name.strip() or len(name) > 60 or not name.isprintable():
            raise UsageError("A session's name is 1 to 60 printable characters")
        if self._catalog.name_taken(name, self._directory, except_id=session_id):
            raise UsageError(
                f"Another session of this directory is named {name}", f"go on with it: --resume {name}"
            )
