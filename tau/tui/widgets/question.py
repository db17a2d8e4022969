"""A question about a tool call, in place of the prompt: what would happen, whole, and the answering keys."""

from __future__ import annotations

from math import ceil
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import Input, Static

from tau.calls import asks_to
from tau.config.actions import ANSWERS
from tau.diff_reader import parse
from tau.display import one_line, spelled_out
from tau.events import ApprovalAsked, Decision
from tau.tui.fit import folded, shorten_middle, spread
from tau.tui.key_line import in_words
from tau.tui.keys import Keys, bound, by_key, done_by, rebind
from tau.tui.messages import Answered, LinesMoved
from tau.tui.widgets.call_lines import CallLines, OfferLines, marked
from tau.tui.widgets.diff import DiffLines, counts
from tau.tui.widgets.filter_field import Field
from tau.tui.widgets.letter_answers import OF_THE_DRAFT, LetterAnswers
from tau.tui.widgets.lines import Lines, LinesView, Listed, Stacked

WARNINGS = 4
"""Lines of warnings that stand under the call; more stand above it and scroll with it."""

ROOM_ABOVE = 7
"""Rows of the screen that a question leaves to what stands above and below it."""

TALL_FROM = 30
"""Rows of the screen from which on there are blank lines around a question's parts."""

SMALL_BELOW = 18
"""Rows of the screen below which warnings scroll with the call, and patterns have a view of their own."""

LEAST_ABOVE = 3
"""Rows that what stands above and below a question takes on the smallest screen."""

LEAST_LINES = 4
"""Lines of the call that are in sight unless the screen is smaller still."""

COUNTS = 12
"""Cells that the title keeps for the counts of a diff."""

LISTED_OFFERS = 5
"""Lines of patterns that stand under the keys; more are read before they can be approved."""


class Question(LetterAnswers):
    """One question. Posts `Answered`, and `TypedOn` for keys that belong to the draft.

    Args:
        asked: The question.
        keys: The keys in force.
    """

    BINDINGS: ClassVar[list[BindingType]] = [*bound({"back": "back"})]

    def __init__(self, asked: ApprovalAsked, keys: Keys) -> None:
        super().__init__(id="question")
        rebind(self, keys)
        self.asked = asked
        self._in_force = keys
        self._answers = by_key(keys, ANSWERS)
        self._diff = parse(asked.preview) if asked.preview else None
        creates = self._diff is not None and self._diff.creates
        self._asks = asks_to(asked.tool, asked.arguments, creates=creates)
        self._raw = False
        self._reading_offers = False
        self._end_seen = False
        self._offers_end_seen = False
        self._laid_out = (False, False)
        self._small = False
        self._title_full = False
        self._note = ""
        self._title = Static("", id="question-title", markup=False)
        self._lines = LinesView(self._what_would_happen)
        self._unclear = Static("", id="question-unclear", markup=False)
        self._reason = Field(placeholder="why not", id="reason", compact=True)
        self._keys = Static("", id="question-keys", markup=False)
        self._answered = False

    def compose(self) -> ComposeResult:
        """What would happen, what a person should know, the keys."""
        yield self._title
        yield self._lines
        yield self._unclear
        self._unclear.display = False
        self._reason.display = False
        yield self._reason
        yield self._keys

    def on_mount(self) -> None:
        """Take the keys, from the moment the question is on the screen."""
        self._small = self.app.size.height < SMALL_BELOW
        self._lines.focus()
        self.come_into_sight()

    def come_into_sight(self) -> None:
        """The question is being shown, at first or again; keys answer it a moment later."""
        self.be_quiet()

    def on_resize(self) -> None:
        """Draw for the new size."""
        small = self.app.size.height < SMALL_BELOW
        if small != self._small:
            self._small = small
            self._show_lines()
        self._draw_around()

    # What is shown -----------------------------------------------------------------------------

    @property
    def _width(self) -> int:
        return max(8, self.scrollable_content_region.width)

    def _what_would_happen(self, width: int) -> Lines:
        """The lines above the keys."""
        self._laid_out = (self._raw, self._reading_offers)
        if self._reading_offers:
            return OfferLines(self.asked.offers, width)
        parts: list[Lines] = []
        warnings = self._warning_lines(width)
        if warnings and not self._lists_warnings(warnings):
            parts += [Listed(warnings), Listed([Content("")])]
        if self._diff is None or self._raw:
            if self.asked.preview and self._diff is None:
                parts += [Listed(_text_lines(self.asked.preview, width)), Listed([Content("")])]
            parts.append(CallLines(self.asked.tool, self.asked.arguments, width))
            return Stacked(parts)
        target = self._target()
        if target and shorten_middle(target, self._room_for_target()) != target:
            name = self._asks.argument
            parts.append(CallLines("", {name: self.asked.arguments[name]}, width))
        for text in (self._diff.before, self._diff.after):
            parts.append(Listed(_text_lines(text, width) if text.strip() else []))
        parts.insert(len(parts) - 1, DiffLines(self._diff, width))
        return Stacked(parts)

    def _warning_lines(self, width: int) -> list[Content]:
        lines: list[Content] = []
        for phrase in self.asked.unclear:
            first, *rest = folded(one_line(phrase, 2_000), max(4, width - 2))
            lines.append(Content.assemble(("! ", "$warning"), first))
            lines += [Content(f"  {piece}") for piece in rest]
        return lines

    def _lists_warnings(self, warnings: list[Content]) -> bool:
        return len(warnings) <= WARNINGS and not self._small

    def _target(self) -> str:
        """What the title names; empty when it names nothing."""
        return spelled_out(self._asks.target).replace("\n", "\\n")

    def _room_for_target(self) -> int:
        """Cells for the target: the verb, the place and the counts are in sight whatever it is."""
        asks = self._asks
        others = f"{one_line(self.asked.tool, 60)} asks to {asks.verb}  {asks.where}"
        return max(8, self._width - len(others) - COUNTS)

    @on(LinesMoved)
    def _lines_moved(self, event: LinesMoved) -> None:
        event.stop()
        self._draw_around()

    def _draw_around(self) -> None:
        """Draw what stands around the lines: title, warnings, keys."""
        if not self.is_attached:
            return
        first, last = self._lines.in_sight
        left, right = self._title_left(), self._title_right(first, last)
        self._title_full = left.cell_length + right.cell_length + 2 > self._width
        if self._title_full:
            right = self._title_right(first, last, place=False)
        self._title.update(spread(left, right, self._width))
        warnings = self._warning_lines(self._width)
        listed = bool(warnings) and self._lists_warnings(warnings)
        self._unclear.display = listed and not self._reading_offers
        self._unclear.update(Content("\n").join(warnings))
        self._see_end(last)
        keys = self._key_lines()
        self._keys.update(Content("\n").join(keys))
        tall = self.app.size.height >= TALL_FROM
        self.set_class(tall, "-tall")
        self.set_class(self._small, "-small")
        key_rows = sum(ceil(max(1, line.cell_length) / self._width) for line in keys)
        around = 1 + 2 * tall + (len(warnings) + 1) * self._unclear.display + key_rows + (not self._small)
        height = self.app.size.height
        most = max(LEAST_LINES, min(height - ROOM_ABOVE - around, height * 3 // 5))
        self._lines.styles.max_height = max(1, min(most, height - LEAST_ABOVE - around))

    def _see_end(self, last: int) -> None:
        """Note that the last line was in sight, once the lines have the room they get."""
        most = self._lines.styles.max_height
        if most is None or self._lines.size.height > most.value:
            return
        if self._laid_out == (self._raw, self._reading_offers) and last >= self._lines.line_count > 0:
            if self._reading_offers:
                self._offers_end_seen = True
            else:
                self._end_seen = True

    def _title_left(self) -> Content:
        if self._reading_offers:
            return Content.assemble(("Always allow in this session", "bold"))
        parts: list[tuple[str, str]] = [
            (one_line(self.asked.tool, 60), "$accent bold"),
            (f" asks to {self._asks.verb}", "bold"),
        ]
        if target := self._target():
            parts.append((f" {shorten_middle(target, self._room_for_target())}", "bold"))
        if self._asks.where:
            parts.append((f" {self._asks.where}", "bold"))
        return Content.assemble(*parts)

    def _title_right(self, first: int, last: int, *, place: bool = True) -> Content:
        parts = []
        if self._diff is not None and not self._reading_offers:
            parts.append(counts(self._diff))
        if place and self._lines.overflows and not self._small:
            parts.append(Content.assemble((self._where(first, last), "$quiet")))
        return Content.assemble(("  ", "")).join(parts)

    def _where(self, first: int, last: int) -> str:
        return f"lines {first:,}–{last:,} of {self._lines.line_count:,}"

    def _key_lines(self) -> list[Content]:
        """The keys, in as few lines as there is room for, and the patterns that are not among them."""
        actions, below = self._actions_offered()
        note = [("", self._note)] if self._note else []
        if not note and self._lines.overflows and (self._small or self._title_full):
            actions.append(("list-page-down", self._where(*self._lines.in_sight)))
        elif not note and self._lines.overflows and not self._reading_offers:
            actions.append(("list-page-down list-end", "scroll"))
        keys = [*in_words(self._in_force, actions), *note]
        lines: list[list[tuple[str, str]]] = [[]]
        for key in keys:
            if lines[-1] and _key_line([*lines[-1], key]).cell_length > self._width:
                lines.append([])
            lines[-1].append(key)
        held = self._key_of(self.held_answer) if self.held_answer else ""
        return [*(_key_line(line, held) for line in lines), *below]

    def _actions_offered(self) -> tuple[list[tuple[str, str]], list[Content]]:
        """The actions whose keys are named, and the patterns that stand under them."""
        offers = self.asked.offers
        if self._reason.display:
            return [("choose", "no, for this reason"), ("back", "back")], []
        if self._reading_offers:
            patterns = _patterns(len(offers))
            if self._offers_end_seen:
                return [("always", f"allow {patterns}"), ("back", "back")], []
            return [("list-page-down list-end", f"read {patterns} first"), ("back", "back")], []
        actions = [("yes", "once"), ("no", "no"), ("no-because", "no, because…")]
        if self._diff is not None:
            actions.append(("arguments", "diff" if self._raw else "arguments"))
        if not offers or not self._in_force["always"]:
            return actions, []
        listed = OfferLines(offers, self._width)
        if not self._lists_offers(listed):
            of_what = "…" if self._small else f" this session, {_patterns(len(offers))}…"
            actions.insert(1, ("always", f"always{of_what}"))
            return actions, []
        always = ("always", f"always this session: {listed.line(0).plain.strip()}")
        if len(listed) == 1 and _key_line(in_words(self._in_force, [always])).cell_length <= self._width:
            actions.insert(1, always)
            return actions, []
        below = [listed.line(number).stylize_before("$quiet") for number in range(len(listed))]
        return [*actions, ("always", "always this session:")], below

    def _key_of(self, action: str) -> str:
        return in_words(self._in_force, [(action, "")])[0][0]

    def _lists_offers(self, listed: OfferLines) -> bool:
        return len(listed) <= (1 if self._small else LISTED_OFFERS)

    # Keys ---------------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        """Answer with a key that stands alone; what is typed besides belongs to the draft."""
        self.take_key(event)

    def take_key(self, event: events.Key) -> None:
        """Handle a key, wherever the focus is."""
        if self._reason.has_focus:
            return
        if not (event.is_printable or event.key in OF_THE_DRAFT or event.key in self._answers):
            self.let_go()
            return
        event.stop()
        event.prevent_default()
        if self._reason.display:
            self._reason.focus()
            return
        self._lines.focus()
        self.take_typed(event)

    def letters_changed(self, *, written: bool = False) -> None:
        """See `LetterAnswers`."""
        if written:
            self._note = "what you type goes into the draft"
        elif self.held_answer:
            self._note = ""
        self._draw_around()

    def answer_of(self, event: events.Key) -> str:
        """See `LetterAnswers`."""
        action = done_by(event, self._answers)
        if self._reading_offers:
            answers = action == "always" and self._offers_end_seen
        elif action == "always":
            answers = bool(self.asked.offers)
        else:
            answers = action != "arguments" or self._diff is not None
        return action if answers else ""

    def take_answer(self, answer: str) -> None:
        """See `LetterAnswers`."""
        if answer in ("yes", "always") and not self._end_seen:
            self._show_end(answer)
            return
        match answer:
            case "yes":
                self._answer("yes")
            case "always" if self._reading_offers:
                self._answer("always")
            case "always":
                self._always()
            case "no":
                self._answer("no")
            case "no-because":
                self._ask_reason(shown=True)
            case "arguments":
                self._raw = not self._raw
                self._show_lines()

    def _show_end(self, answer: str) -> None:
        """Nobody approves what was not in sight: show its end first."""
        self._note = f"that was all of it: {self._key_of(answer)} again"
        self._draw_around()
        self.come_into_sight()
        self.call_after_refresh(self._lines.scroll_end, animate=False, immediate=True)

    def on_paste(self, event: events.Paste) -> None:
        """A paste is never an answer: it goes into the draft."""
        event.stop()
        self.take_pasted(event)
        self._note = "what you paste goes into the draft"
        self._draw_around()

    @on(Input.Submitted)
    def _reason_given(self, event: Input.Submitted) -> None:
        event.stop()
        self._answer("no", event.value.strip())

    @property
    def goes_back(self) -> bool:
        """Whether the reason or the patterns have the keys, which are left before anything is cancelled."""
        return self._reason.display or self._reading_offers

    async def action_back(self) -> None:
        """Leave the reason or the patterns, or cancel the turn."""
        if self._reason.display:
            self._ask_reason(shown=False)
        elif self._reading_offers:
            self._reading_offers = False
            self._show_lines()
        else:
            await self.run_action("screen.cancel")

    def _always(self) -> None:
        """Approve the patterns that are in sight; those that are not are shown first."""
        if self._lists_offers(OfferLines(self.asked.offers, self._width)):
            self._answer("always")
            return
        self._reading_offers = True
        self._offers_end_seen = False
        self._show_lines()

    def _show_lines(self) -> None:
        self._note = ""
        self._lines.show(self._what_would_happen)
        self.come_into_sight()
        self._draw_around()

    def _ask_reason(self, *, shown: bool) -> None:
        self._reason.display = shown
        (self._reason if shown else self._lines).focus()
        self._draw_around()

    def _answer(self, decision: Decision, reason: str = "") -> None:
        if not self._answered:
            self._answered = True
            self.post_message(Answered(self.asked.approval_id, decision, reason))


def _key_line(keys: list[tuple[str, str]], held: str = "") -> Content:
    """Keys and what each does; the one that is held stands out. What has no key is said to the person."""
    parts = []
    for key, does in keys:
        if not key:
            parts.append(Content.assemble((does, "$warning")))
            continue
        chosen = " reverse" if key == held else ""
        parts.append(Content.assemble((key, f"$accent bold{chosen}"), (f" {does}", f"$quiet{chosen}")))
    return Content.assemble((" · ", "$faint")).join(parts)


def _patterns(count: int) -> str:
    return "this pattern" if count == 1 else f"these {count:,} patterns"


def _text_lines(text: str, width: int) -> list[Content]:
    lines = spelled_out(text).strip("\n").split("\n")
    return [marked(piece) for line in lines for piece in folded(line.expandtabs(4), width)]
