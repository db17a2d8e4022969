"""The model picker: the roles, the model each stands for, and what those that cannot be used are missing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from textual import work
from textual.content import Content

from tau.conversation.state import ModelChoice
from tau.display import one_line
from tau.errors import TauError
from tau.input.fuzzy import Match, ranked
from tau.tui.fit import tokens
from tau.tui.screens.picker import FilterPicker
from tau.tui.widgets.row_list import CURSOR, GAP, Row

Found = tuple[ModelChoice, Match]
MOST_ROLE = 24
"""Cells of the column of roles at most."""


class ModelPicker(FilterPicker[Found, str]):
    """Chooses a model role; the result is its name, or None.

    Args:
        choices: The roles, as far as they are known at once.
        look_up: Tells more of them.
    """

    heading = "Model roles"
    keys = (("choose", "switch"), ("back", "back"))
    widest = 96
    more_lines = 3

    def __init__(
        self, choices: Sequence[ModelChoice], look_up: Callable[[], Awaitable[Sequence[ModelChoice]]]
    ) -> None:
        super().__init__()
        self._choices = choices
        self._look_up = look_up
        self._looked = False

    def on_mount(self) -> None:
        """Fill the list, and find out more."""
        super().on_mount()
        self._find_out()

    @work
    async def _find_out(self) -> None:
        try:
            self._choices = await self._look_up()
        except TauError as error:
            self.more(error.line())
            return
        self._looked = True
        self.show_entries(cursor=self.rows.cursor)

    def found(self, typed: str) -> Sequence[Found | str]:
        """The roles that are found by their names, models and providers."""
        return ranked(
            typed,
            self._choices,
            lambda choice: one_line(choice.role),
            limit=len(self._choices),
            others=lambda choice: [one_line(choice.model_id), one_line(choice.provider)],
        )

    def first_cursor(self) -> int | None:
        """The role in force."""
        return next((place for place, choice in enumerate(self._choices) if choice.current), 0)

    def describe(self) -> str:
        """Whether more is being found out."""
        return "" if self._looked else "looking…"

    def row(self, entry: Found) -> Row:
        """A role with its model, and what it holds and costs."""
        choice, lies = entry
        width = max(len(one_line(other.role)) for other in self._choices) + 2
        model = one_line(choice.model_id or "its default model")
        note = f"{model} · {one_line(choice.provider)}"
        column = min(width, MOST_ROLE)
        needed = column + GAP + Content(note).cell_length
        return Row(
            one_line(choice.role),
            right=self._facts(choice, needed),
            marks=lies.positions,
            note=note,
            note_at=column,
            quiet=bool(choice.problem),
        )

    def _facts(self, choice: ModelChoice, needed: int) -> str:
        """What it holds and costs and how it stands; figures give way to model and provider."""
        figures = [] if choice.problem else [fact for fact in (_window(choice), _price(choice)) if fact]
        state = ["cannot be used"] if choice.problem else []
        state += ["in force"] if choice.current else []
        room = self.rows.scrollable_content_region.width - len(CURSOR) - needed - GAP
        while figures and len(" · ".join([*figures, *state])) > room:
            figures.pop()
        return " · ".join([*figures, *state])

    def reached(self, entry: Found | None) -> None:
        """What the role under the cursor is missing; else its figures, for which its row may have no room."""
        if entry is None:
            self.more("")
        else:
            figures = [fact for fact in (_window(entry[0]), _price(entry[0])) if fact]
            self.more(one_line(entry[0].problem) or " · ".join(figures))

    def choose(self, entry: Found) -> None:
        """Take it; whether it can be used is found out then."""
        self.dismiss(entry[0].role)


def _window(choice: ModelChoice) -> str:
    return f"{tokens(choice.window)} tokens" if choice.window else ""


def _price(choice: ModelChoice) -> str:
    """What a million tokens cost, sent and answered."""
    if choice.price is None:
        return ""
    sent, answered = (f"${amount:,.2f}".removesuffix(".00") for amount in choice.price)
    return f"{sent} in, {answered} out"
