"""What the app has keys for: every action with its default keys, and where each is in force."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

Place = Literal[
    "anywhere",
    "prompt",
    "conversation",
    "list",
    "sessions",
    "palette",
    "memory",
    "search",
    "find",
    "blocks",
    "question",
]

PLACES: Mapping[Place, str] = {
    "anywhere": "Everywhere",
    "prompt": "While you write",
    "conversation": "In the conversation",
    "list": "In lists, and in what is read",
    "sessions": "Sessions",
    "palette": "The palette",
    "memory": "Memory",
    "find": "The find bar",
    "blocks": "The cursor over the blocks",
    "question": "Questions",
}
"""The headings of the help, by the first place of an action."""

_BEHIND: Mapping[Place, tuple[Place, ...]] = {
    "prompt": ("conversation",),
    "sessions": ("list",),
    "palette": ("list",),
    "memory": ("list",),
    "search": ("list",),
    "find": ("list",),
    "blocks": ("list",),
    "question": ("list",),
}
"""Other places whose keys are in force in a place as well, beside those of `anywhere`.

What lies over the conversation goes before it, and takes nothing from it.
"""


class Action(NamedTuple):
    """Something a key does.

    Attributes:
        name: Its key in ``[keys]``.
        keys: Those that do it by default.
        does: In a few words, for the help.
        places: Where; the help has it under the first.
    """

    name: str
    keys: tuple[str, ...]
    does: str
    places: tuple[Place, ...]


ACTIONS = (
    Action("help", ("f1",), "this help", ("anywhere",)),
    Action(
        "interrupt",
        ("ctrl+c",),
        "copy the selection; else back, put the draft away, cancel, or leave",
        ("anywhere",),
    ),
    Action("leave", ("ctrl+q",), "leave; nothing is lost", ("anywhere",)),
    Action("send", ("enter",), "send", ("prompt",)),
    Action(
        "newline",
        ("ctrl+j", "shift+enter", "alt+enter"),
        "new line",
        ("prompt",),
    ),
    Action("complete", ("tab",), "complete a command or a file", ("prompt",)),
    Action("history", ("ctrl+r",), "search what was sent before", ("prompt", "search")),
    Action("earlier", ("up",), "what was sent before, or what waits", ("prompt",)),
    Action("later", ("down",), "back from there to the draft", ("prompt",)),
    Action("editor", ("ctrl+g",), "go on writing in $VISUAL or $EDITOR", ("prompt",)),
    Action("paste", ("ctrl+v",), "paste an image of the clipboard; else what was copied here", ("prompt",)),
    Action("cancel", ("escape",), "cancel the running turn; what waits comes back", ("conversation",)),
    Action("page-up", ("pageup",), "scroll up; at the top, 20 earlier turns", ("conversation",)),
    Action("page-down", ("pagedown",), "scroll down", ("conversation",)),
    Action("newest", ("end",), "to the newest line, when the prompt is not in use", ("conversation",)),
    Action(
        "block-up",
        ("alt+up",),
        "a cursor over the blocks above; its keys are shown",
        ("conversation", "blocks"),
    ),
    Action("block-down", ("alt+down",), "down with it, and back to the prompt", ("conversation", "blocks")),
    Action("card-next", ("tab",), "on to reasoning and tool cards", ("conversation",)),
    Action("card-back", ("shift+tab",), "back from there", ("conversation",)),
    Action("find", ("ctrl+f",), "find words in the conversation", ("conversation", "find")),
    Action("palette", ("ctrl+p",), "everything there is to do, found by typing", ("conversation", "palette")),
    Action("sessions", ("f2",), "sessions: resume, filter, search, preview", ("conversation", "sessions")),
    Action("new", ("f3",), "new session; this one is kept", ("conversation",)),
    Action("events", ("f4",), "show or fold the events pane", ("conversation",)),
    Action("memory", ("alt+m",), "memory: files, changes, undo", ("conversation", "memory")),
    Action("take-back", ("ctrl+t",), "take back what was just remembered", ("conversation",)),
    Action("accept-model", ("f5",), "while a model is offered: download it", ("conversation",)),
    Action("smaller-model", ("f8",), "while a model is offered: download the smaller one", ("conversation",)),
    Action(
        "decline-model",
        ("f9",),
        "while a model is offered: not now, or stop the download",
        ("conversation",),
    ),
    Action("back", ("escape",), "back; close a list or a bar; at a question cancel the turn", ("list",)),
    Action("choose", ("enter",), "take what the cursor is on; open or fold a card", ("list",)),
    Action("list-up", ("up",), "up; in the find bar the match before", ("list",)),
    Action("list-down", ("down",), "down; in the find bar the next match", ("list",)),
    Action("list-page-up", ("pageup",), "up a page", ("list",)),
    Action("list-page-down", ("pagedown",), "down a page", ("list",)),
    Action("list-top", ("home",), "to the first line of what is read", ("list",)),
    Action("list-end", ("end",), "to the last line of it", ("list",)),
    Action(
        "other-side",
        ("tab",),
        "all directories or this one, also in the search; in memory changes or files",
        ("sessions", "search", "memory"),
    ),
    Action("rename", ("ctrl+r",), "change the name", ("sessions",)),
    Action("unfold", ("right",), "show the sessions that it continues", ("sessions",)),
    Action("fold", ("left",), "fold them", ("sessions",)),
    Action("into-prompt", ("tab",), "put a command into the prompt", ("palette",)),
    Action("memory-filter", ("slash",), "filter", ("memory",)),
    Action("memory-edit", ("e",), "edit the file in $VISUAL or $EDITOR", ("memory",)),
    Action("memory-undo", ("u",), "undo the newest change", ("memory",)),
    Action("memory-accept", ("a",), "accept the changes that wait for your yes", ("memory",)),
    Action("find-before", ("shift+enter",), "the match before", ("find",)),
    Action("find-stay", ("tab",), "stay, with the cursor on the block", ("find",)),
    Action("block-copy", ("c",), "copy its source", ("blocks",)),
    Action("block-code", ("y",), "copy the code in it, or the call of a tool", ("blocks",)),
    Action("block-resend", ("e",), "edit and resend a message of yours", ("blocks",)),
    Action("block-editor", ("o",), "read it in $VISUAL or $EDITOR", ("blocks",)),
    Action("block-quote", ("p",), "put it into the draft", ("blocks",)),
    Action("yes", ("y",), "yes, this once", ("question",)),
    Action("always", ("a",), "yes, and always in this session for the patterns shown", ("question",)),
    Action("no", ("n",), "no", ("question",)),
    Action("no-because", ("r",), "no, with a reason", ("question",)),
    Action("arguments", ("d",), "from the diff to the arguments of the call, and back", ("question",)),
)
"""In the order in which the help shows them."""

BY_NAME: Mapping[str, Action] = {action.name: action for action in ACTIONS}

REQUIRED: Mapping[str, str] = {
    "leave": "no key would leave tau",
    "send": "nothing could be sent",
    "back": "there would be no way out of a list",
    "choose": "nothing could be chosen from a list",
    "yes": "no call could be allowed",
    "no": "no call could be refused",
}
"""Actions that always have a key, and why."""

GIVE_WAY: Mapping[str, str] = {"newest": "end", "earlier": "up", "later": "down"}
"""Actions that leave a key of theirs to the text that is typed, as far as it moves something there."""

ANSWERS = tuple(action.name for action in ACTIONS if action.places[0] == "question")
"""Actions that answer a question about a call."""


def meet(first: Action, second: Action) -> Place | None:
    """Where a key can mean both of two actions; None where it never can."""
    for one in first.places:
        for other in second.places:
            if one == other or one in _BEHIND.get(other, ()) or one == "anywhere":
                return other
            if other in _BEHIND.get(one, ()) or other == "anywhere":
                return one
    return None


def in_force_at(place: Place) -> tuple[str, ...]:
    """The names of the actions whose keys mean something in a place."""
    there = Action("", (), "", (place,))
    return tuple(action.name for action in ACTIONS if meet(action, there) is not None)
