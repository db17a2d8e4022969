"""What stands beside the list of the memory screen: a file, a change with its diff, or a few lines."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from tau.conversation.consent import WaitingChange
from tau.conversation.state import MemoryFile
from tau.diff_reader import Diff, parse
from tau.display import one_line, visible
from tau.errors import TauError
from tau.memory.undone import MOST_FILES, UndoRefused
from tau.tui.fit import folded, shorten_middle, shorten_path
from tau.tui.widgets.diff import DiffLines
from tau.tui.widgets.lines import LayOut, Lines, LinesView, Listed, Stacked

SHOWN_LINES = 2_000
TAB = 4


class MemoryView(LinesView):
    """The lines; they fill what room there is."""

    def __init__(self) -> None:
        super().__init__(of_lines(()))
        self.id = "memory-view"

    def show(self, lay_out: LayOut) -> None:
        """Show other lines, from their beginning."""
        super().show(lay_out)
        self._lay_out(self.scrollable_content_region.width)


def of_file(file: MemoryFile) -> LayOut:
    """A file: where it is, what of it is loaded, and its lines with their numbers."""

    def lay_out(width: int) -> Lines:
        head = [
            *_folded(one_line(file.title), width, "bold"),
            Content.styled(shorten_middle(shorten_path(one_line(file.path, 1_000)), width), "$quiet"),
        ]
        for fact in facts(file):
            head += _folded(fact, width, "$warning" if fact == not_loaded(file) else "$quiet")
        return Stacked([Listed([*head, Content("")]), Listed(_numbered(file, width))])

    return lay_out


def facts(file: MemoryFile) -> list[str]:
    """What there is to know of a file beside its text, a line each."""
    lines = f"{file.lines:,} line{'' if file.lines == 1 else 's'}"
    found = [not_loaded(file) or f"{lines}, all of it in every prompt"]
    if file.own:
        found.append("the project's own: tau reads it and never writes it")
    if file.builtin:
        found.append("came with tau; without its line `builtin: true` it is yours")
    if file.origin:
        found.append(f"noted after content from outside: {file.origin}")
    return found


def not_loaded(file: MemoryFile) -> str:
    """What of a file stands in no prompt, as a sentence; empty when all of it does."""
    if not file.missing:
        return ""
    if file.first_loaded > file.last_loaded:
        return "not loaded: it stands in no prompt"
    return f"not loaded: {file.missing} of {file.lines:,}"


def of_change(head: Sequence[str], diff: Diff | None, trouble: Sequence[str | Diff] = ()) -> LayOut:
    """A change of memory: what the log says of it, and what it did.

    Args:
        head: What the log says, a line each.
        diff: What it did; None while that is being read, or where it was nothing that has lines.
        trouble: Why it could not be undone, above all else: lines, and what differs.
    """

    def lay_out(width: int) -> Lines:
        above: list[Content] = []
        for number, line in enumerate(head):
            above += _folded(line.strip(), width, "" if number else "bold")
        parts: list[Lines] = []
        for part in trouble:
            if isinstance(part, Diff):
                parts += _drawn(part, width)
            else:
                parts.append(Listed(_folded(part, width, "$warning")))
        if trouble:
            parts.append(Listed([Content("")]))
        parts.append(Listed([*above, Content("")]))
        return Stacked([*parts, *(_drawn(diff, width) if diff is not None else ())])

    return lay_out


def of_waiting(change: WaitingChange, others: int) -> LayOut:
    """A change that waits for the person's yes: why, and what it would do.

    Args:
        change: The change.
        others: How many wait with it.
    """
    head = [change.title, change.sentence, f"waits for your yes: {change.reason}"]
    if others:
        head.append(f"your yes is for all {others + 1} changes that wait")
    diff = parse(change.difference)
    return of_change(head if diff else [*head, *change.difference.splitlines()], diff)


def of_lines(lines: Sequence[str]) -> LayOut:
    """A few lines as they are."""
    return lambda width: Listed([part for line in lines for part in _folded(line.strip(), width)])


def why_not(error: TauError, anyway: str) -> list[str | Diff]:
    """Why a change is not undone: what can be done, then what differs and where each version is.

    Args:
        error: The refusal.
        anyway: The command that takes the change back all the same.
    """
    if not isinstance(error, UndoRefused):
        return [error.line()]
    more = [f"{one_line(edit.title)} was changed since as well." for edit in error.edits[MOST_FILES:]]
    told: list[str | Diff] = []
    for edit in error.edits[:MOST_FILES]:
        told += [f"Not undone: {one_line(edit.title)} was changed since."]
        told += error.ways(anyway) if edit is error.edits[0] else []
        for heading, difference in edit.differences:
            text = "\n".join(difference)
            told += ["", heading, parse(text) or text]
        told.append("")
        told += [f"{name}: {path}" for name, path in edit.kept]
    return [*told, *more]


def _drawn(diff: Diff, width: int) -> list[Lines]:
    return [_plain(diff.before, width), DiffLines(diff, width), _plain(diff.after, width)]


def _plain(text: str, width: int) -> Lines:
    lines = visible(text).splitlines() if text.strip() else []
    return Listed([part for line in lines for part in _folded(line, width, "$quiet")])


def _numbered(file: MemoryFile, width: int) -> list[Content]:
    """The lines with their numbers; those that are not loaded step back, under a line that says so."""
    if not file.text.strip():
        return [Content.styled("It is empty.", "$quiet")]
    digits = max(2, len(str(file.lines)))
    room = max(8, width - digits - 2)
    shown: list[Content] = []
    said: bool | None = None if file.missing and file.first_loaded <= file.last_loaded else True
    texts = file.text.removesuffix("\n").split("\n")
    for number, text in enumerate(texts[:SHOWN_LINES], 1):
        loaded = file.first_loaded <= number <= file.last_loaded
        if said is None or (said != loaded and file.first_loaded <= file.last_loaded):
            shown.append(Content.styled(f"{'⋯':>{digits}}  {'loaded' if loaded else 'not loaded'}", "$quiet"))
            said = loaded
        style = "" if loaded or file.first_loaded > file.last_loaded else "$quiet"
        for place, part in enumerate(folded(text.expandtabs(TAB), room)):
            at = "" if place else str(number)
            shown.append(Content.assemble((f"{at:>{digits}}  ", "$quiet"), (part, style)))
    more = file.lines - min(len(texts), SHOWN_LINES)
    if more > 0:
        lines = f"{more:,} more line{'' if more == 1 else 's'}"
        shown.append(Content.styled(f"{'…':>{digits}}  {lines}", "$quiet"))
    return shown


def _folded(text: str, width: int, style: str = "") -> list[Content]:
    return [Content.styled(part.rstrip(), style) for part in folded(text, max(8, width))]
