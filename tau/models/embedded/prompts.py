"""The short prompts a small model gets instead of the caller's: one to choose a tool, one to answer."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tau.models.embedded.grammar import NONE

HISTORY_TOKENS = 2_000
"""About how much of earlier turns is repeated in a conversation: more would make the first word late."""

RESULT_CHARS = 6_000
"""How much of one tool result is shown to the model; the middle is left out."""

_TOOL_LIST_CHARS = 600
_DESCRIPTION_CHARS = 70
_DIRECTORY = re.compile(r"^Working directory:", re.MULTILINE)
_KEPT_CHARS = 600
_BEFORE_CHARS = 160
_REQUEST_CHARS = 1_500

_CHOICE = (
    "A tool is needed only to look at or change the files and programs of this computer: then write its name"
    " and its arguments as JSON. For all other requests (talk, knowledge, jokes, translations, new text or"
    f" code) write {NONE}."
)
_FORCED = "Choose the tool for the request. Write its name and its arguments as JSON."

_EXAMPLES: tuple[tuple[str, str, str], ...] = (
    ("list_files", "Which files are here?", '{"path": "."}'),
    (NONE, "What is a tuple in Python?", ""),
    ("fetch_url", "What does https://example.com/a say?", '{"url": "https://example.com/a"}'),
    (NONE, "Who painted the Mona Lisa?", ""),
    ("shell", "Count the words of a.log", '{"command": "wc -w a.log"}'),
    ("read_file", "Sum up docs/notes.md", '{"path": "docs/notes.md"}'),
    ("find_files", "Find all CSS files", '{"pattern": "*.css"}'),
    (NONE, "Write a poem about rain", ""),
    ("search_files", "Where is parse_date defined?", '{"pattern": "def parse_date"}'),
    (NONE, "Hi!", ""),
    ("read_file", "What does setup.py do?", '{"path": "setup.py"}'),
    ("write_file", "Write hello to hi.txt", '{"path": "hi.txt", "content": "hello"}'),
    (NONE, "How do I undo a commit in git?", ""),
    (
        "edit_file",
        "In b.py change x = 1 to x = 2",
        '{"path": "b.py", "edits": [{"old": "x = 1", "new": "x = 2"}]}',
    ),
    (NONE, "How do I say cheese in Spanish?", ""),
    ("remember", "Remember that I use tabs", '{"label": "indentation", "content": "The user uses tabs."}'),
)
"""Requests and their choices; without these a model of this size calls a tool for nearly everything."""

Chat = list[dict[str, str]]
"""Messages as the chat endpoint takes them: ``role`` and ``content``."""


Tool = tuple[str, Mapping[str, Any], str]
"""A tool's name, the JSON schema of its arguments, and the line that offers it."""


@dataclass(slots=True)
class Turn:
    """One request of the person with what came of it.

    Attributes:
        request: What the person wrote.
        results: What tools delivered for it: the call as text, the result as text.
        reply: What the model has said.
    """

    request: str
    results: list[tuple[str, str]] = field(default_factory=list)
    reply: str = ""


def clean(text: str) -> str:
    """The text with surrogate pairs joined and lone surrogates replaced, so that it can be sent as UTF-8."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def turns_of(messages: Sequence[Mapping[str, Any]]) -> list[Turn]:
    """The messages of an agent as turns, oldest first; what is not text is named."""
    turns: list[Turn] = []
    calls: dict[str, str] = {}
    for message in messages:
        texts = [text for block in message["content"] if (text := _text(block))]
        results = [block["toolResult"] for block in message["content"] if "toolResult" in block]
        text = clean("\n\n".join(texts))
        if message["role"] == "assistant":
            for block in message["content"]:
                if "toolUse" in block:
                    use = block["toolUse"]
                    calls[use["toolUseId"]] = clean(
                        f"{use['name']} {json.dumps(use['input'], ensure_ascii=False)}"
                    )
            if not turns:
                turns.append(Turn(""))
            turns[-1].reply = f"{turns[-1].reply}\n\n{text}".strip()
        elif results:
            if not turns:
                turns.append(Turn(""))
            for result in results:
                call = calls.get(result["toolUseId"], "a tool")
                turns[-1].results.append((call, _result_text(result)))
            if text:
                turns[-1].request = f"{turns[-1].request}\n\n{text}".strip()
        elif text:
            turns.append(Turn(text))
    return turns


def _text(block: Mapping[str, Any]) -> str:
    if "text" in block:
        return str(block["text"]).strip()
    for kind in ("image", "document", "video", "audio"):
        if kind in block:
            return f"[{kind}: this model reads text only]"
    return ""


def _result_text(result: Mapping[str, Any]) -> str:
    parts = []
    for item in result.get("content", []):
        if "json" in item:
            parts.append(json.dumps(item["json"], ensure_ascii=False))
        elif text := _text(item):
            parts.append(text)
    text = clean("\n".join(parts)) or "(no output)"
    return f"It failed: {text}" if result.get("status") == "error" else text


def middle_out(text: str, limit: int) -> str:
    """The text, or its beginning and end with a line between them that says how much was left out."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    tail = limit - head
    return f"{text[:head]}\n[… {len(text) - limit} characters left out …]\n{text[-tail:]}"


def usable_tools(tool_specs: Sequence[Mapping[str, Any]]) -> list[Tool]:
    """Names, schemas and lines of the tools that fit into the prompt; those with an example first."""
    shown = [name for name, _, _ in _EXAMPLES]
    rank = {name: place for place, name in reversed(list(enumerate(shown)))}
    ranked = sorted(tool_specs, key=lambda spec: rank.get(spec["name"], len(shown)))
    fitting: list[Tool] = []
    used = 0
    for spec in ranked:
        schema = spec.get("inputSchema", {})
        schema = schema.get("json", schema)
        line = f"{spec['name']}({_parameters(schema)}): {_first_sentence(spec.get('description', ''))}"
        if fitting and used + len(line) > _TOOL_LIST_CHARS:
            break
        used += len(line)
        fitting.append((spec["name"], schema, clean(line)))
    return fitting


def _parameters(schema: Mapping[str, Any]) -> str:
    required = schema.get("required", [])
    names = [name if name in required else f"{name}?" for name in schema.get("properties", {})]
    return ", ".join(names)


def _first_sentence(text: str) -> str:
    sentence = re.split(r"(?<=[.!?])\s|\n", " ".join(text.strip().split(" ")), maxsplit=1)[0].strip()
    return sentence if len(sentence) <= _DESCRIPTION_CHARS else sentence[: _DESCRIPTION_CHARS - 1] + "…"


def choosing(turns: Sequence[Turn], tools: Sequence[Tool], forced: bool) -> Chat:
    """The messages that make the model choose: ``none``, or a tool and its arguments.

    Args:
        turns: The conversation; the last turn is the one to serve.
        tools: What `usable_tools` gave.
        forced: Whether a tool must be called.
    """
    chat = choosing_head(tools, forced)
    request = middle_out(turns[-1].request, _REQUEST_CHARS)
    if len(turns) > 1:
        before = f"{turns[-2].request} → {turns[-2].reply}"
        request = f"(Before: {middle_out(' '.join(before.split()), _BEFORE_CHARS)})\n{request}"
    chat.append({"role": "user", "content": request})
    return chat


def choosing_head(tools: Sequence[Tool], forced: bool) -> Chat:
    """The part of `choosing` that is the same for every request of a conversation."""
    lines = "\n".join(line for _, _, line in tools)
    system = f"{_FORCED if forced else _CHOICE}\nTools:\n{lines}"
    chat = [{"role": "system", "content": system}]
    offered = {name for name, _, _ in tools}
    for name, request, arguments in _EXAMPLES:
        if name in offered or (name == NONE and not forced):
            chat += _pair(request, f"{name} {arguments}".strip())
    return chat


def _pair(request: str, answer: str) -> Chat:
    return [{"role": "user", "content": request}, {"role": "assistant", "content": answer}]


def system_prompt(given: str | None, *, side: bool) -> str:
    """The system prompt of an answer, under 400 tokens.

    In a conversation tau's long prompt is replaced, except for the directory and the person's own
    instructions that follow it. A side call keeps its prompt, which says what the call is for.
    """
    given = clean(given or "").strip()
    if given and side:
        return given
    directory = _DIRECTORY.search(given)
    kept = given[directory.start() if directory else 0 :][:_KEPT_CHARS].strip()
    return "\n".join(
        [
            "You are tau, a helpful assistant for programming and writing, running in a terminal.",
            "Answer in the language of the request, briefly and exactly, in Markdown.",
            "If you do not know something or have not seen a file, say so; never invent it.",
            *([kept] if kept else []),
        ]
    )


def answering_head(system: str) -> Chat:
    """The part of `answering` that is the same for every request of a conversation."""
    return [{"role": "system", "content": system}]


def answering(turns: Sequence[Turn], system: str, history: int | None) -> Chat:
    """The messages that make the model answer the last turn.

    Args:
        turns: The conversation; the last turn is the one to answer.
        system: The system prompt.
        history: About how many tokens of earlier turns are repeated, without the results of their tools, and
            the last result is cut to `RESULT_CHARS`; nothing is left out when None.
    """
    chat = answering_head(system)
    if history is None:
        for turn in turns[:-1]:
            asked = "\n\n".join([turn.request, *_shown(turn, None)]).strip()
            chat += _pair(asked or "(…)", turn.reply or "(no answer)")
    else:
        for turn in recent(turns[:-1], history):
            chat += _pair(turn.request or "(…)", turn.reply or "(no answer)")
    last = turns[-1]
    request = last.request
    if last.results:
        shown = _shown(last, None if history is None else RESULT_CHARS)
        request = "\n\n".join([f"Request: {request}", *shown, "Now answer the request from this result."])
    chat.append({"role": "user", "content": request})
    return chat


def _shown(turn: Turn, limit: int | None) -> list[str]:
    """The results of a turn, which share `limit` characters; each whole when None."""
    share = None if limit is None else max(limit // max(len(turn.results), 1), 400)
    return [
        f"Result of {call if share is None else middle_out(call, 300)}\n"
        f"```\n{text if share is None else middle_out(text, share)}\n```"
        for call, text in turn.results
    ]


def tokens(text: str) -> int:
    """A count that is rather too high: three bytes a token."""
    return len(text.encode("utf-8", "replace")) // 3 + 4


def recent(turns: Sequence[Turn], limit: int) -> Sequence[Turn]:
    """The newest whole turns within `limit` tokens.

    The cut moves in steps of half the limit, so that the beginning of the prompt stays the same for several
    turns and need not be read again.
    """
    starts, total = [], 0
    for turn in turns:
        starts.append(total)
        total += tokens(turn.request) + tokens(turn.reply)
    excess = total - limit
    if excess <= 0:
        return turns
    step = max(limit // 2, 1)
    cut = -(-excess // step) * step
    return [turn for turn, start in zip(turns, starts, strict=True) if start >= cut]
