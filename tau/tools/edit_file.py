"""The tool `edit_file`: exact replacements in a file, all of them or none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from strands.types.tools import AgentTool

from tau.tools import near_misses, paths, replacing, text_form
from tau.tools.call_arguments import Edit, edits_argument, text_argument
from tau.tools.changing import Change, check_known, check_masked, declared, notes
from tau.tools.context import ToolContext
from tau.tools.refusals import Refused
from tau.tools.unified_diff import difference

MOST_PLACES = 10
"""Places that are named when a text stands in a file more than once."""

DESCRIPTION = (
    "Change parts of a text file. Each edit replaces old, which must be in the file exactly once, with new. "
    "Copy old from the file character for character, with its indentation and without line numbers, and take "
    "in as many lines as make it unique. Edits are made in order, all or none. "
    "The result shows what changed as a unified diff."
)
ARGUMENTS: dict[str, Any] = {
    "path": {"type": "string", "description": "The file, relative to the working directory."},
    "edits": {
        "type": "array",
        "minItems": 1,
        "description": "What to replace, in order.",
        "items": {
            "type": "object",
            "properties": {
                "old": {"type": "string", "description": "Text that is in the file exactly once."},
                "new": {"type": "string", "description": "Text to put in its place; empty to remove it."},
            },
            "required": ["old", "new"],
        },
    },
}


def tools(context: ToolContext) -> Sequence[AgentTool]:
    """The factory behind the entry point."""
    return [declared(context, plan, name="edit_file", description=DESCRIPTION, arguments=ARGUMENTS)]


def plan(context: ToolContext, use: Mapping[str, Any]) -> Change:
    """The change that a call asks for.

    Args:
        context: Where files may be written, what the model knows of them, and what the call is held to.
        use: The call: ``toolUseId``, and ``input``, its arguments as the model gave them.

    Raises:
        Refused: It cannot be carried out.
    """
    arguments = use["input"]
    path, edits = text_argument(arguments, "path"), edits_argument(arguments)
    real = paths.held(context, use["toolUseId"], paths.writable(context, path))
    name = paths.display(context, real)
    before = replacing.current(context, real)
    if before.data is None:
        raise Refused(f"{paths.missing(context, real)} (write_file makes new files)")
    old, form = text_form.decode(before.data, name)
    check_known(context, real, name, before.data, whole=False)
    new = edited(old, [Edit(form.plain(edit.old), form.plain(edit.new)) for edit in edits], name)
    if new == old:
        raise Refused(f"The edits undo each other: {name} would stay as it is")
    check_masked(old, new)
    made = difference(form.whole(old), form.whole(new), name)
    count = "1 edit" if len(edits) == 1 else f"{len(edits):,} edits"
    summary = f"Edited {name}: {count}, {made.counts()}."
    return Change(real, name, before, form.encoded(new), made, summary + notes(context, real, before))


def edited(text: str, edits: Sequence[Edit], name: str) -> str:
    r"""The text with all edits made, one after the other.

    Line endings do not count when `old` is looked for, and are kept: ``\n`` stands for whatever the file has.

    Args:
        text: With the line endings of the file.
        edits: At least one.
        name: The file, as results name it.

    Raises:
        Refused: One of them cannot be made.
    """
    original = text
    for number, edit in enumerate(edits, 1):
        which = "" if len(edits) == 1 else f"Edit {number} of {len(edits)}: "
        text_form.check(edit.old, f"{which}old")
        text_form.check(edit.new, f"{which}new")
        old, new = text_form.with_newlines(edit.old), text_form.with_newlines(edit.new)
        if not old:
            raise Refused(
                f"{which}old is empty; give text of the file that has the place in it."
                " write_file writes whole files"
            )
        if old == new:
            raise Refused(f"{which}old and new are the same, up to line endings; there is nothing to change")
        there = text_form.with_newlines(text)
        places = _places(there, old)
        if not places:
            earlier = number > 1 and old in text_form.with_newlines(original)
            why = (
                "It was, before the edits that come earlier in this call."
                if earlier
                else text_form.showable(near_misses.explain(there, old, new))
            )
            raise Refused(f"{which}old is not in {name}; nothing was written. {why}")
        if len(places) > 1:
            raise Refused(f"{which}{_several(there, places, name)}")
        text = text_form.substituted(text, at=places[0], old=old, new=new)
    return text


def _places(text: str, old: str) -> list[int]:
    """Where a text stands in another, overlapping ones too; one more than `MOST_PLACES` at most."""
    places: list[int] = []
    at = text.find(old)
    while at >= 0 and len(places) <= MOST_PLACES:
        places.append(at)
        at = text.find(old, at + 1)
    return places


def _several(text: str, places: Sequence[int], name: str) -> str:
    numbers = list(dict.fromkeys(text.count("\n", 0, at) for at in places[:MOST_PLACES]))
    more = len(places) > MOST_PLACES
    count = f"more than {MOST_PLACES} times, first" if more else f"{len(places)} times,"
    lines = near_misses.numbered(text.split("\n"), numbers)
    return (
        f"old is in {name} {count} on these lines; nothing was written. Take in more of the text around each"
        f" place you mean, so that old is there once:\n{text_form.showable(lines)}"
    )
