"""Puts a conversation on another session: an earlier one, a new one, or a copy; or leaves it where it is."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace

from msgspec import structs

from tau.conversation import history, prompts
from tau.conversation.in_hand import InHand, Look
from tau.conversation.opening import OpenSession
from tau.conversation.state import Opening, Prompt
from tau.conversation.stopping import Stopping
from tau.errors import StoreError, TauError, UsageError
from tau.sessions.lineage import Left
from tau.sessions.store import SessionReader

log = logging.getLogger(__name__)

COPY_CANCELLED = "Copying was cancelled; the session continues."


class Switcher:
    """Goes from session to session. Whoever calls it sees to it that nothing else runs.

    Args:
        hand: The session in hand.
        stopping: Runs the copies, which the person may stop.
    """

    def __init__(self, hand: InHand, stopping: Stopping) -> None:
        self._hand = hand
        self._stopping = stopping

    async def resume(self, target: str, *, everywhere: bool, as_it_is: bool) -> Opening:
        """Go on with an earlier session, or with the one that continues it unless it is wanted as it is.

        Raises:
            TauError: It is not found, cannot be opened, or is the current one.
        """
        hand = self._hand
        way = hand.opener.way_on(hand.found(target, everywhere=everywhere), as_it_is=as_it_is)
        if way.session_id == hand.state.session_id and hand.writer is not None:
            if way.asked == way.session_id:
                raise UsageError(f"Session {way.asked} is the current one")
            raise UsageError(
                f"Session {way.asked} goes on in session {way.session_id}, which is the current one",
                f"/fork {way.asked} goes on from it as it was",
            )
        return await self._switch(hand.opener.resume(way, read_along=hand.request.read_only_ok))

    async def new(self, name: str | None) -> Opening:
        """Begin a new session on the current role.

        Raises:
            TauError: The name is taken, or the store refused.
        """
        return await self._switch(self._hand.opener.create(role=self._hand.state.role, name=name))

    async def rewind(self, prompt: Prompt | None) -> tuple[Opening, str]:
        """Go on from before a prompt, in a copy of the session that it is in; None is the newest.

        The copy takes over the name of the session in hand, so that the name leads to what is said from now
        on. Where that fails, or another process writes the session in hand, this one keeps its name.

        Raises:
            TauError: There is no such prompt, or the messages cannot be copied.
        """
        hand = self._hand
        prompt = prompt or await asyncio.to_thread(prompts.newest, hand.read, hand.state.session_id)
        if prompt is None:
            raise UsageError("There is no turn to go back before")
        with hand.read(prompt.session_id) as source:
            found = source.messages(offset=prompt.index, limit=1)
            if not found:
                raise StoreError(f"Message {prompt.index} of session {prompt.session_id} cannot be read")
            left = Left(hand.state.session_id, hand.reader.count()) if hand.writer is not None else None
            opening = await self._copy(source, before=prompt.index, role=hand.state.role, left=left)
        return opening, history.said(found[0])

    async def fork(self, *, turn: int | None, session: str) -> Opening:
        """Copy the session in hand, or the one that a turn is in up to its end, or another one.

        Raises:
            TauError: There is no such turn or session, nothing to copy, or the copy failed.
        """
        hand = self._hand
        source_id, before = hand.state.session_id, None
        if session and (found := hand.found(session)) != source_id:
            with hand.read(found) as source:
                return await self._copy(source)
        if turn is not None:
            listing = await asyncio.to_thread(prompts.whole, hand.read, source_id)
            prompt = prompts.numbered(listing, turn)
            source_id, before = prompt.session_id, prompts.turn_end(listing, prompt)
        with hand.read(source_id) as source:
            return await self._copy(source, before=before, role=hand.state.role)

    async def follow(self) -> Opening | None:
        """Look again at a session that is held elsewhere; once it is free, take it over or go where it went.

        Returns:
            What is to be shown now; None when nothing changed.
        """
        hand, session = self._hand, self._hand.session
        if session is None or session.writer is not None:
            return None
        session_id = session.reader.session_id
        if not hand.is_held(session_id):
            # Its writer may have gone on in another session, which is then the conversation.
            try:
                way = hand.opener.way_on(session_id)
                opened = hand.opener.resume(way, read_along=True)
            except TauError as error:
                log.info("Session %s is free but cannot be opened: %s", session_id, error.line())
                return None
            if opened.writer is not None or way.session_id != session_id:
                return await self._switch(opened)
            opened.reader.close()
        opening = hand.look_again()
        return structs.replace(opening, state=hand.state) if opening is not None else None

    async def _copy(
        self,
        source: SessionReader,
        *,
        before: int | None = None,
        role: str | None = None,
        left: Left | None = None,
    ) -> Opening:
        copying = self._hand.opener.fork(source, before=before, role=role, left=left)
        opened = await self._stopping.run(copying, TauError(COPY_CANCELLED))
        return await self._switch(opened, takes_name=left is not None)

    async def _switch(self, opened: OpenSession, *, takes_name: bool = False) -> Opening:
        """Everything that can fail comes before the current session is let go of."""
        hand, answerer = self._hand, self._hand.answerer
        prepared, problem = answerer.model, ""
        try:
            look = hand.look_at(opened)
            if prepared is None or opened.role != hand.state.role:
                try:
                    prepared = await answerer.prepare(opened.role)
                except TauError as error:
                    prepared, problem = None, error.line()
            runner = answerer.build(opened, prepared) if prepared is not None else None
            opened.finish()
            if takes_name:
                look = self._take_name(opened, look)
        except BaseException:
            with suppress(StoreError):
                opened.reader.close()
            raise
        hand.show(model=prepared.info if prepared else None, model_problem=problem)
        opening = hand.take(opened, look, runner)
        await answerer.adopt(prepared)
        return structs.replace(opening, state=hand.state)

    def _take_name(self, opened: OpenSession, look: Look) -> Look:
        """Move the name of the session in hand to the one that takes its place; a failure is told.

        The new one has it before the old one loses it, so that there is always a session of that name.

        Returns:
            What is known of the new session now.
        """
        name, old, new = self._hand.state.name, self._hand.writer, opened.writer
        if not name or old is None or new is None:
            return look
        own, meta = look.meta.get("name"), look.meta
        try:
            meta = new.patch_meta({"name": name}, touch=False)
            new.flush()
            old.patch_meta({"name": None}, touch=False)
        except StoreError as error:
            with suppress(StoreError):
                old.patch_meta({"name": name}, touch=False)
            with suppress(StoreError):
                meta = new.patch_meta({"name": own}, touch=False)
            keeps = f"keeps the name {name}" if meta.get("name") == own else f"has the name {name} as well"
            notice = f"Session {old.session_id} {keeps}: {error.line()}"
            log.warning("%s", notice)
            opening = structs.replace(look.opening, notices=[*look.opening.notices, notice])
            return replace(look, opening=opening, meta=meta)
        return replace(look, meta=meta)
