"""Completes what is being written in the prompt: asks on a thread, shows what came for the newest letter."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tau.tui.key_line import in_words
from tau.tui.widgets.choices import NO_CHOICE, Choice, Choices

if TYPE_CHECKING:
    from tau.input.completing import Candidate, Option
    from tau.tui.kept import Kept
    from tau.tui.screens.chat import ChatScreen

LISTING_SECONDS = 0.15
"""How often a list is asked for again while the files are still being listed."""

PATIENCE_SECONDS = 0.25
"""How long Enter and Tab wait for what was found for the last letter."""

SESSIONS = 500
"""Sessions that are offered behind a command, the newest."""

WITH_SESSIONS = ("resume", "fork")
"""Commands that take a session."""


@dataclass(frozen=True)
class _Query:
    text: str
    cursor: int
    kind: str
    place: tuple[str, int]  # what is being completed: it stays the same while letters are added
    tree: bool

    @property
    def is_begun(self) -> bool:
        """Whether there is something to find by: not only the sign that it begins with."""
        typed = self.text[self.place[1] : self.cursor]
        return bool(typed.strip('@" ')) and not typed.endswith(("/", '"'))


class Completion:
    """The list of completions over the prompt of a screen. It is the prompt's while it is open.

    A row is chosen when something was typed that is not complete yet, or with Up and Down. Enter takes the
    chosen row, and sends where none is.
    """

    def __init__(self, screen: ChatScreen, kept: Kept) -> None:
        self._screen = screen
        self._kept = kept
        self._wanted: _Query | None = None
        self._shown: _Query | None = None
        self._found: Sequence[Candidate] = ()
        self._put_away: tuple[str, int] | None = None
        self._tree = False
        self._answering = False
        self._news = asyncio.Event()
        self._came = asyncio.Event()
        self._sessions: tuple[str, list[Option]] | None = None

    @property
    def is_open(self) -> bool:
        """Whether the list is on the screen."""
        return self._list.display and self._shown is not None

    @property
    def _list(self) -> Choices:
        return self._screen.query_one("#choices", Choices)

    # What the prompt tells ----------------------------------------------------------------------

    def changed(self) -> None:
        """The text has changed."""
        if self._screen.prompt.is_typed:
            self._look()
        else:
            self._hide()

    def moved(self) -> None:
        """The cursor has moved."""
        wanted = self._wanted
        if wanted is not None and self._screen.prompt.is_typed and (wanted.text, wanted.cursor) != self._at():
            self._look()

    def move(self, step: int) -> None:
        """Choose another row."""
        self._list.move(step)

    def close(self) -> None:
        """Take the list away until something else begins to be typed."""
        self._put_away = self._wanted.place if self._wanted is not None else None
        self._hide()

    async def enter(self) -> bool:
        """Take the chosen row, if one is; whether it did."""
        return self.is_open and await self._fresh() and self._take()

    async def tab(self) -> bool:
        """Open the list, take the chosen row, or show what is in the directory; whether it did anything."""
        if not self.is_open:
            self._put_away = None
            self._look()
            if self._wanted is None:
                return False
            await self._fresh()
            return True
        if not await self._fresh() or self._wanted is None:
            return True
        if not self._take():
            if self._wanted.kind == "file" and not self._tree:
                self._tree = True
                self._look()
                await self._fresh()
            else:
                self._list.move(1)
                if len(self._found) == 1 and self._found[0].kind == "word":
                    self._take()
        return True

    # Asking -------------------------------------------------------------------------------------

    def _at(self) -> tuple[str, int]:
        prompt = self._screen.prompt
        return prompt.text, prompt.cursor_index

    def _look(self) -> None:
        """Ask for what can stand at the cursor."""
        if self._kept.files is None:
            return
        from tau.input.completing import starts_completion
        from tau.input.mentions import begun

        text, cursor = self._at()
        kind = starts_completion(text, cursor)
        if not kind:
            self._put_away = None
            self._hide()
            return
        if kind == "file":
            mention = begun(text, cursor)
            place = (kind, mention[0] if mention is not None else cursor)
        else:
            head = text[:cursor]
            place = (kind, head.index("/") if kind == "command" else head.index(" ", head.index("/")) + 1)
        if self._wanted is not None and self._wanted.place != place:
            self._tree = False
        if place == self._put_away:
            return
        self._put_away = None
        self._wanted = _Query(text, cursor, kind, place, self._tree)
        self._came.clear()
        self._news.set()
        if not self._answering:
            self._answering = True
            self._screen.run_worker(self._answer(), group="complete")

    async def _answer(self) -> None:
        """Find what is wanted until nothing newer is."""
        try:
            while (wanted := self._wanted) is not None:
                self._news.clear()
                found = await self._find(wanted)
                is_complete = await self._is_complete(wanted, found)
                if wanted is not self._wanted:
                    continue
                self._show(wanted, found, is_complete=is_complete)
                if self._is_whole(wanted):
                    break
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._news.wait(), LISTING_SECONDS)
        finally:
            self._answering = False

    def _is_whole(self, query: _Query) -> bool:
        files = self._kept.files
        return query.kind != "file" or query.tree or files is None or files.is_listed

    async def _find(self, query: _Query) -> Sequence[Candidate]:
        from tau.conversation.commands import COMMANDS
        from tau.input.completing import Context, complete, tree

        options = await self._options(query)
        arguments = {name: lambda typed, given=given: given for name, given in options.items()}
        context = Context(COMMANDS, arguments, self._kept.files)
        if query.tree:
            return await asyncio.to_thread(tree, query.text, query.cursor, context)
        return await asyncio.to_thread(complete, query.text, query.cursor, context)

    async def _is_complete(self, query: _Query, found: Sequence[Candidate]) -> bool:
        """Whether what is typed is whole, so that Enter is not to take anything for it."""
        from tau.conversation.commands import COMMANDS
        from tau.errors import TauError
        from tau.input.completing import argument

        if not found:
            return False
        typed = query.text[found[0].start : query.cursor]
        if any(candidate.text == typed for candidate in found):
            return True
        if query.kind == "command":
            return self._is_command(typed)
        if found[0].kind == "word":  # it can be any text
            return True
        if query.kind != "argument":
            return False
        name, given, takes_number = argument(query.text, query.cursor, COMMANDS)
        if takes_number and given.isdecimal():
            return True
        if name not in WITH_SESSIONS or not given:
            return False
        try:
            return await self._screen.conversation.is_called(given)
        except TauError:  # what cannot be read is said by the command itself
            return False

    async def _options(self, query: _Query) -> Mapping[str, list[Option]]:
        """What can stand behind the command that is typed."""
        if query.kind != "argument":
            return {}
        from tau.input.completing import Option
        from tau.models.registry import choices

        name = query.text.lstrip()[1:].partition(" ")[0].lower()
        if name == "model":
            roles = choices(self._screen.settings)
            return {name: [Option(role, f"{provider} {model}".strip()) for role, provider, model in roles]}
        if name == "theme":
            from tau.tui.app import TauApp

            app = self._screen.app
            assert isinstance(app, TauApp)
            return {name: [Option(theme) for theme in app.looks.names()]}
        if name == "tasks":
            return await self._task_options(name, query.text)
        if name in WITH_SESSIONS:
            session = self._screen.conversation.state.session_id
            if self._sessions is None or self._sessions[0] != session or not query.is_begun:
                self._sessions = (session, await self._session_options(session))
            return {name: self._sessions[1]}
        return {}

    async def _task_options(self, command: str, text: str) -> Mapping[str, list[Option]]:
        """The tasks behind a word that takes one; nothing while the word is typed."""
        from tau.errors import TauError
        from tau.input.completing import Option
        from tau.tasks.records import OPEN, when

        _, _, rest = text.lstrip().partition(" ")
        word, space, _ = rest.lstrip().partition(" ")
        if not space or word.lower() not in ("show", "done"):
            return {}
        try:
            tasks = await self._screen.conversation.look_at_tasks(lambda desk: desk.tasks())
        except TauError:  # what cannot be read is said by the command itself
            return {}
        names = [task.name for task in tasks]
        in_work = [task.name for task in tasks if task.state in OPEN]
        options = []
        for task in tasks:
            named = in_work.count(task.name) == 1 if task.state in OPEN else names.count(task.name) == 1
            said = [*([] if named else [task.name]), task.state, when(task.updated_at)]
            if word.lower() == "show" or task.state in OPEN:
                options.append(Option(f"{word} {task.name if named else task.id}", " · ".join(said)))
        return {command: options}

    async def _session_options(self, present: str) -> list[Option]:
        from tau.errors import TauError
        from tau.input.completing import Option
        from tau.sessions.records import ListQuery
        from tau.tui.widgets.start_page import when

        query = ListQuery(
            directory=self._screen.scope_directory(), limit=SESSIONS, exclude=present, fold_chains=True
        )
        try:
            found = await self._screen.conversation.sessions(query)
        except TauError:  # what cannot be listed is said by the command itself
            return []
        names = [summary.text("name") for summary in found]
        return [
            Option(
                name if name and names.count(name) == 1 else summary.session_id,
                " · ".join(part for part in (summary.text("title"), when(summary.updated_at)) if part),
            )
            for name, summary in zip(names, found, strict=True)
        ]

    # Showing ------------------------------------------------------------------------------------

    def _show(self, query: _Query, found: Sequence[Candidate], *, is_complete: bool) -> None:
        self._came.set()
        before = self._chosen()
        moved = self._shown is not None and (self._shown.text, self._shown.cursor) == (
            query.text,
            query.cursor,
        )
        self._shown, self._found = query, found
        if not found:
            self._list.hide()
            return
        is_begun = query.kind == "command" or query.is_begun
        cursor = 0 if is_begun and not is_complete else NO_CHOICE
        if moved and before is not None:  # the same query again, with more files known
            same = (place for place, candidate in enumerate(found) if candidate.text == before.text)
            cursor = next(same, cursor)
        choices = [
            Choice(
                candidate.display,
                candidate.positions,
                candidate.help,
                is_path=candidate.kind in ("file", "directory"),
            )
            for candidate in found
        ]
        take = "take, or open a directory" if query.kind == "file" else "take"
        actions = [("list-up list-down", "choose"), ("complete", take), ("back", "close")]
        self._list.show(choices, cursor, in_words(self._screen.keys, actions))

    def _is_command(self, typed: str) -> bool:
        from tau.conversation.commands import COMMANDS

        name = typed.removeprefix("/").lower()
        return any(name == spec.name or name in spec.aliases for spec in COMMANDS)

    def _hide(self) -> None:
        self._wanted = self._shown = None
        self._tree = False
        self._found = ()
        self._list.hide()
        self._came.set()

    def _chosen(self) -> Candidate | None:
        place = self._list.cursor
        return self._found[place] if 0 <= place < len(self._found) else None

    # Taking -------------------------------------------------------------------------------------

    async def _fresh(self) -> bool:
        """Wait a moment for what was found for the last letter; whether that is on the screen."""
        if self._wanted is not None and self._shown is not self._wanted:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._came.wait(), PATIENCE_SECONDS)
        return self._shown is not None and self._shown is self._wanted

    def _take(self) -> bool:
        """Write the chosen row into the prompt."""
        chosen, files = self._chosen(), self._kept.files
        if chosen is None or self._shown is None:
            return False
        prompt = self._screen.prompt
        text = self._shown.text
        after = "" if text[chosen.end : chosen.end + 1].isspace() else chosen.after
        if chosen.kind == "directory":
            self._tree = True
        else:
            self.close()
        if chosen.kind == "file" and files is not None:
            files.touch(chosen.text.removeprefix("@").strip('"'))
        prompt.write(chosen.text + after, chosen.start, chosen.end)
        return True
