"""Opens the session a channel asks for: a new one, an earlier one, or one held elsewhere for reading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from tau.config.places import is_directory
from tau.config.settings import Settings
from tau.conversation.continuing import Way, stay, way_on
from tau.conversation.copying import copy_cuts, copy_messages
from tau.conversation.state import OpenRequest
from tau.errors import (
    SessionError,
    SessionExists,
    SessionHeld,
    SessionMismatch,
    SessionNotFound,
    StoreError,
    TauError,
    UsageError,
)
from tau.sessions.catalog import Catalog
from tau.sessions.lineage import WENT_BACK_COUNT, WENT_BACK_FROM, Left
from tau.sessions.records import ONE_SHOT, Meta, MetaValue, new_id
from tau.sessions.store import SessionReader, SessionStore, SessionWriter

INTERACTIVE = ("tui", "terminal")
"""Channels whose sessions get a generated name."""

MANAGERS = {"sliding": "SlidingWindowConversationManager", "summarize": "SummarizingConversationManager"}
"""The window's mode and the name a session remembers it by."""

NAMED_LOST = 10
"""So many of the messages that could not be copied are named one by one."""


@dataclass(frozen=True, slots=True)
class OpenSession:
    """A session in hand.

    Attributes:
        reader: The session; the same object as `writer` where it is held.
        writer: Set when this process may write.
        held: Why it may not, otherwise.
        role: The model role it comes back on.
        notices: What the person is told once.
        unfinished: Whether it was only just made and is marked as unfinished, which `finish` ends.
    """

    reader: SessionReader
    writer: SessionWriter | None
    held: SessionHeld | None
    role: str
    notices: Sequence[str] = ()
    unfinished: bool = False

    def finish(self) -> None:
        """Take the mark from a session that was only just made: from now on it is listed.

        Raises:
            StoreError: It could not, and is still there.
        """
        if not self.unfinished or self.writer is None:
            return
        try:
            self.writer.patch_meta({"unfinished": None})
            self.writer.flush()
        except StoreError:
            with suppress(StoreError):
                self.writer.patch_meta({"unfinished": True})
            raise


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
        self._directory = settings.directory_text

    def open(self, request: OpenRequest) -> OpenSession:
        """Open what the request names.

        Raises:
            SessionNotFound: There is nothing to resume, here or by that name.
            SessionHeld: Another process writes it and the channel does not read along.
            SessionMismatch: It was recorded under another ``[agent] context``; nothing was written.
            UsageError: The name is taken, or cannot be one.
        """
        try:
            return self._open(request)
        except SessionMismatch as error:
            command = "tau tui" if request.channel == "tui" else "tau chat"
            hint = f"`{command}`, then /fork {error.session_id}, goes on with it in a new session"
            raise SessionMismatch(error.session_id, error.message, hint) from None

    def _open(self, request: OpenRequest) -> OpenSession:
        if request.resume is not None:
            everywhere = request.all_directories or self._settings.sessions.scope == "all"
            found = self._catalog.resolve(
                request.resume,
                directory=None if everywhere else self._directory,
                one_shots=request.one_shot,
            )
        elif request.session_id is not None:
            found = request.session_id
        else:
            one_shot = request.one_shot and request.name is None
            return self.create(
                role=request.role, name=request.name, more={ONE_SHOT: True} if one_shot else None
            )
        try:
            way = self.way_on(found)
        except SessionNotFound:
            if request.session_id is None:
                raise
            if self._catalog.name_taken(found, self._directory):
                raise UsageError(
                    f"A session of this directory is named {found}; its id is another",
                    f"go on with it: --resume {found}",
                ) from None
            return self.create(session_id=found, role=request.role, name=request.name)
        return self.resume(way, role=request.role, read_along=request.read_only_ok, name=request.name)

    def way_on(self, session_id: str, *, as_it_is: bool = False) -> Way:
        """The session in which the conversation of this one goes on; itself where it is wanted as it is."""
        return (stay if as_it_is else way_on)(self._store.read, session_id)

    def create(
        self,
        *,
        session_id: str | None = None,
        role: str | None = None,
        name: str | None = None,
        more: Mapping[str, MetaValue] | None = None,
    ) -> OpenSession:
        """Begin a session; a fresh id is tried again in the rare case that it is taken.

        Args:
            session_id: Exactly this id; None makes one.
            role: The model role; None is the default one.
            name: Its name; None generates one where the channel's sessions have names.
            more: Metadata beside what every session has.
        """
        if name is not None:
            self.check_name(name)
        elif self._channel in INTERACTIVE and "name" not in (more or {}):
            name = self._catalog.fresh_name(self._directory)
        meta: dict[str, MetaValue] = {
            "channel": self._channel,
            "profile": self._settings.profile,
            "role": role or "default",
            "directory": self._directory,
            ONE_SHOT: False,
            **(more or {}),
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
            return OpenSession(writer, writer, None, role or "default")

    async def fork(
        self,
        source: SessionReader,
        *,
        before: int | None = None,
        role: str | None = None,
        left: Left | None = None,
    ) -> OpenSession:
        """Begin a session with a copy of another one's messages. Nothing is written to the other one.

        Whoever takes it over finishes it. One that is cancelled or fails stays unfinished: it is not listed.

        Args:
            source: Open for reading; it may be held elsewhere, or recorded under another window.
            before: Index of the first message that is left out; None copies all of them.
            role: The model role; None is the one that the other session was last on, which is then told of
                like a session that is resumed.
            left: The session that the conversation is in, where it goes on in the new one; None for a fork,
                which is a conversation of its own.

        Raises:
            UsageError: There is nothing to copy.
            StoreError: A message cannot be written, or the other session not be read at all.
        """
        meta = source.meta()
        notices: list[str] = []
        if role is None:
            role, notices = self._role_of(meta)
            notices += self._elsewhere(meta)
        end = source.count() if before is None else before
        if before is None and not end:
            raise UsageError(f"Session {source.session_id} has no messages to copy")
        more: dict[str, MetaValue] = {
            "forked_from": source.session_id,
            "from_count": end,
            "unfinished": True,
        }
        if left is not None:
            more |= {WENT_BACK_FROM: left.session_id, WENT_BACK_COUNT: left.count}
        if end and meta.get("title"):
            more["title"] = meta["title"]
        opened = self.create(role=role, more=more)
        writer = opened.writer
        assert writer is not None
        try:
            lost = await copy_messages(source, writer, end=end)
            if state := source.agent_state():
                name = MANAGERS[self._settings.agent.context]
                copy_cuts(state.conversation_manager_state, writer, name=name, end=end)
            writer.flush()
        except TauError as error:
            with suppress(StoreError):
                writer.close()
            raise StoreError(
                f"Session {source.session_id} could not be copied: {error.message}",
                f"it is as it was; what was copied is session {writer.session_id}",
            ) from error
        except BaseException:
            with suppress(StoreError):
                writer.close()
            raise
        if lost:
            notices.append(lost_notice(source.session_id, lost))
        return replace(opened, notices=notices, unfinished=True)

    def resume(
        self, way: Way, *, role: str | None = None, read_along: bool = False, name: str | None = None
    ) -> OpenSession:
        """Hold the session to which a way leads, or read it while another process holds it.

        Raises:
            See `open`; the message says how it came to this session, where it is not the one asked for.
        """
        try:
            opened = self._resume(way.session_id, role=role, read_along=read_along, name=name)
        except SessionError as error:
            if way.session_id != way.asked:
                error.message = f"Session {way.asked} goes on in session {way.session_id}. {error.message}"
            raise
        return replace(opened, notices=[*way.notices, *opened.notices])

    def _resume(
        self, session_id: str, *, role: str | None, read_along: bool, name: str | None
    ) -> OpenSession:
        # Before it is held: that writes its lock, and what its log has over its files.
        with self._store.read(session_id) as found:
            self._check_window(found)
        try:
            writer = self._store.hold(session_id)
        except SessionHeld as held:
            if not read_along:
                raise
            reader = self._store.read(session_id)
            return OpenSession(
                reader, None, held.with_traceback(None), role or self._role_of(reader.meta())[0]
            )
        try:
            return self._go_on(writer, role, name)
        except BaseException:
            with suppress(StoreError):
                writer.close()
            raise

    def _go_on(self, writer: SessionWriter, role: str | None, name: str | None) -> OpenSession:
        meta = writer.meta()
        if name is not None and name != meta.get("name"):  # which the sessions before it have as well
            self.check_name(name, session_id=writer.session_id)
        stored_role, notices = self._role_of(meta)
        role = role or stored_role
        changes: dict[str, MetaValue] = {
            "channel": self._channel,
            "profile": self._settings.profile,
            "role": role,
            ONE_SHOT: False,
        }
        if "directory" not in meta:
            changes["directory"] = self._directory
        if name is not None:
            changes["name"] = name
        writer.patch_meta(changes)
        notices += self._elsewhere(meta)
        return OpenSession(writer, writer, None, role, notices)

    def _check_window(self, reader: SessionReader) -> None:
        state = reader.agent_state()
        recorded = state.conversation_manager_state.get("__name__") if state else None
        if recorded is not None and recorded != MANAGERS[self._settings.agent.context]:
            known = next((mode for mode, manager in MANAGERS.items() if manager == recorded), "sliding")
            raise SessionMismatch(
                reader.session_id,
                f"Session {reader.session_id} was recorded with a different [agent] context setting; "
                f"set it back to {known} or start a new session",
                f"/fork {reader.session_id} goes on with it in a new session",
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

    def check_name(self, name: str, *, session_id: str | None = None, directory: str | None = None) -> None:
        """Refuse a name that cannot be used.

        Args:
            name: The name.
            session_id: The session that is to have it, if there is one already.
            directory: The directory it belongs to; None for the one tau works in.

        Raises:
            UsageError: Blank, too long, not printable, a whole number, the id of another session, or taken by
                another conversation of this directory.
        """
        if not name.strip() or len(name) > 60 or not name.isprintable():
            raise UsageError("A session's name is 1 to 60 printable characters")
        if name.strip().isdecimal():
            raise UsageError(
                f"{name} cannot be a session's name: /resume and /fork take a number for a place in a list",
                f"put a word to it: session-{name.strip()}",
            )
        if name != session_id and self._catalog.is_id(name):
            raise UsageError(
                f"{name} is the id of another session",
                f"choose another name; --resume {name} goes on with that one",
            )
        if self._catalog.name_taken(name, directory or self._directory, except_id=session_id):
            raise UsageError(
                f"Another session of this directory is named {name}", f"go on with it: --resume {name}"
            )


def lost_notice(session_id: str, lost: Sequence[int]) -> str:
    """Told when messages of a session could not be copied; `lost` are their indexes, at least one."""
    named = ", ".join(map(str, lost[:NAMED_LOST]))
    rest = f" and {len(lost) - NAMED_LOST} more" if len(lost) > NAMED_LOST else ""
    which, it = ("Message", "it") if len(lost) == 1 else ("Messages", "each")
    return (
        f"{which} {named}{rest} of session {session_id} could not be read; "
        f"a line in place of {it} says so in this session."
    )
