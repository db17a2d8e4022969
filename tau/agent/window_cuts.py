"""Where a window may be cut, and how a long tool result is shortened; messages are read, never changed."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from tau.agent.history import begins_turn
from tau.sessions.attached import with_outputs
from tau.sessions.records import Message
from tau.tools.cutting import boundary
from tau.tools.spill import HEAD, TAIL

BINARY_CHARS = 6_000
"""What an image or a document counts for in a size: about as many tokens as text of this length."""

_GONE = re.compile(r"\n\[… ([\d,]+) characters are left out here …\]\n")
_GONE_BYTES = re.compile(r"\[(?:\w{1,20} )?(?:image|document|video), [\d,]+ bytes, is left out here\]")
_NEAR = 64
"""So far from its place at most is the line that an earlier cut has left."""


def size(messages: Sequence[Message]) -> int:
    """About how much a model has to read, in characters: texts, arguments, results; images at a flat rate."""
    return sum(_size(block) for message in messages for block in message["content"])


def _size(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, bytes):
        return min(len(value), BINARY_CHARS)
    if isinstance(value, dict):
        if "json" in value:
            return len(_text(value) or "")  # as it would be cut
        return sum(len(key) + _size(item) for key, item in value.items())
    if isinstance(value, list):
        return sum(map(_size, value))
    return len(str(value))


def newest_turn(messages: Sequence[Message]) -> int:
    """Where the newest turn begins: at the person's newest request, or at 0 when there is none."""
    return next((at for at in reversed(range(len(messages))) if begins_turn(messages[at])), 0)


def cut_by_count(messages: Sequence[Message], most: int) -> tuple[int, int]:
    """Where the last `most` messages are cut off from those before, so that calls keep their results.

    The window is the message at ``first`` and all from ``rest`` on. It begins with a person's message. Where
    the cut falls inside a turn, that is the turn's request, and its messages up to ``rest`` are left out.

    Args:
        messages: A history with alternating roles whose calls are answered in the message after them.
        most: Messages wanted, at least 2. One more is kept where the last two are a call and its result.

    Returns:
        ``first`` and ``rest``, with ``rest > first``; ``(0, 1)`` when nothing is to be left out.
    """
    cut = len(messages) - most
    if cut <= 0:
        return 0, 1
    if begins_turn(messages[cut]):
        return cut, cut + 1
    first = newest_turn(messages[:cut])
    following = next((at for at in range(cut, len(messages)) if begins_turn(messages[at])), len(messages))
    rest = next((at for at in range(cut + 1, following) if messages[at]["role"] == "assistant"), None)
    if rest is None and following < len(messages):
        return following, following + 1
    if rest is None:  # a call and its result, which stay together
        rest = max(len(messages) - 2, first + 1)
    # In a mended history a request may stand beside the results of calls that were cut off before it.
    spoken = next((at for at in reversed(range(len(messages))) if _speaks(messages[at])), 0)
    return first, rest if begins_turn(messages[spoken]) else max(min(rest, spoken - 1), first + 1)


def _speaks(message: Message) -> bool:
    return message["role"] == "user" and any("toolResult" not in block for block in message["content"])


def cut_by_size(messages: Sequence[Message], most: int) -> int:
    """The oldest turn from which on the messages have a `size` of at most `most`: at least one turn goes.

    Returns:
        Where that turn begins; the newest turn always stays. 0 when there is only that one.
    """
    newest = newest_turn(messages)
    left = size(messages)
    for at in range(1, newest + 1):
        left -= size(messages[at - 1 : at])
        if begins_turn(messages[at]) and (left <= most or at == newest):
            return at
    return 0


def pruned(message: Message, limit: int, head: int = HEAD, tail: int = TAIL) -> Message | None:
    """A copy of the message in which every tool result over `limit` is cut, or None when none is.

    Its first `head` characters stay, and its last `tail`.

    So is every output of a command that the person shared.

    Text and JSON of a result are measured and cut together, in characters; an image or a document, whose
    limit is in bytes, leaves a line in its place. The result stays the answer to its call.
    """
    short = with_outputs(message, lambda output: cut_text(output, limit, head, tail))
    blocks = [_pruned_block(block, limit, head, tail) for block in short["content"]]
    if all(new is old for new, old in zip(blocks, message["content"], strict=True)):
        return None
    return {**message, "content": blocks}


def _pruned_block(block: dict[str, Any], limit: int, head: int, tail: int) -> dict[str, Any]:
    result = block.get("toolResult")
    if result is None:
        return block
    texts = [text for item in result["content"] if (text := _text(item)) is not None]
    whole = "\n".join(texts)
    short = cut_text(whole, limit, head, tail)
    others = [item for item in result["content"] if _text(item) is None]
    kept = [_without_bytes(item, limit) for item in others]
    if short is whole and all(new is old for new, old in zip(kept, others, strict=True)):
        return block
    shown = [{"text": short}] if texts else []
    return {**block, "toolResult": {**result, "content": [*shown, *kept]}}


def _text(item: dict[str, Any]) -> str | None:
    if "text" in item:
        text = str(item["text"])
        return None if _GONE_BYTES.fullmatch(text) else text  # else a second cut would take it for the tail
    return json.dumps(item["json"], ensure_ascii=False, default=str) if "json" in item else None


def cut_text(text: str, limit: int, head: int = HEAD, tail: int = TAIL) -> str:
    """The text itself; when it has more than `limit` characters, its two ends and a line on what is gone.

    The line counts what an earlier and longer cut has left out, too.
    """
    if len(text) <= limit:
        return text
    first, last = boundary(text, head), boundary(text, len(text) - tail)
    gone, before = last - first, _GONE.search(text, HEAD - _NEAR, HEAD + _NEAR)
    if before is not None and first <= before.start() and before.end() <= last:
        gone += int(before[1].replace(",", "")) - len(before[0])
    cut = f"{text[:first]}\n[… {gone:,} characters are left out here …]\n{text[last:]}"
    return cut if len(cut) < len(text) else text


def _without_bytes(item: dict[str, Any], limit: int) -> dict[str, Any]:
    for kind in ("image", "document", "video"):
        source = item[kind].get("source") if isinstance(item.get(kind), dict) else None
        data = source.get("bytes") if isinstance(source, dict) else None
        if isinstance(data, bytes) and len(data) > limit:
            form = item[kind].get("format", "")
            return {"text": f"[{form} {kind}, {len(data):,} bytes, is left out here]".replace("[ ", "[")}
    return item
