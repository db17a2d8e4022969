"""The history a model is sent: kept clean as it grows, and mended in memory when its record is damaged."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from tau.masking import mask_all, mask_content
from tau.sessions.records import SUMMARY_OPENING, Message, StoredMessage

INTERRUPTED_RESULT = "The call was interrupted; its outcome is unknown and it may have had effects."
NO_OUTPUT = "(no output)"
NO_REPLY = "(no reply)"
UNFINISHED_NOTICE = "The previous turn did not finish."
SUMMARY_HEAD, SUMMARY_TAIL = 1_600, 400
"""Characters of a long tool result that its event keeps, from its beginning and its end."""

LOST_REQUEST = "(The message before this reply could not be saved.)"
CUT_MARK = "[interrupted]"
"""Ends a reply that was cut off while the person could already read it."""


class History(list[Message]):
    """A list of messages that copies cheaply.

    The SDK deep-copies the whole history twice for each model call, so that providers may change blank
    texts and tool names. Copying messages, content lists and the first level of each block gives the same
    protection at a cost that does not grow with the size of the texts.
    """

    def __deepcopy__(self, memo: dict[int, Any]) -> History:
        return History(
            {**message, "content": [_copy_block(block) for block in message["content"]]} for message in self
        )


def _copy_block(block: dict[str, Any]) -> dict[str, Any]:
    return {key: copy.copy(value) if isinstance(value, dict) else value for key, value in block.items()}


def clean_text(text: str) -> str:
    """The text with surrogate pairs joined and lone surrogates, which UTF-8 cannot carry, as U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _clean_value(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {clean_text(key): _clean_value(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_clean_value(item) for item in value]
    return value


def clean(message: Message) -> None:
    """Make a message one that every provider takes and every store can keep, in place.

    No lone surrogates, no blank text, no empty content; a tool result without output says so.
    """
    blocks: list[dict[str, Any]] = []
    for block in _clean_value(message.get("content") or []):
        if "text" in block and not (block["text"] or "").strip():
            continue
        result = block.get("toolResult")
        if result is not None and not any(_says_something(item) for item in result.get("content") or []):
            result["content"] = [{"text": NO_OUTPUT}]
        blocks.append(block)
    message["content"] = blocks or [{"text": NO_REPLY}]


def _says_something(item: dict[str, Any]) -> bool:
    return bool((item["text"] or "").strip()) if "text" in item else bool(item)


def without_secrets(message: Message) -> Message:
    """A model's message as it is recorded: no secret in its texts, arguments and reasoning.

    Reasoning that held one goes as a whole, since its provider signs it.
    """
    blocks = [
        block if "reasoningContent" in block else mask_all(block)
        for block in message["content"]
        if "reasoningContent" not in block or _kept_reasoning(block)
    ]
    return {**message, "content": blocks or [{"text": NO_REPLY}]}


def _kept_reasoning(block: dict[str, Any]) -> bool:
    text = block["reasoningContent"].get("reasoningText", {}).get("text") or ""
    return mask_content(text) == text


def tool_use_ids(message: Message) -> list[str]:
    """The ids of the calls a message makes, in order."""
    return [block["toolUse"]["toolUseId"] for block in message["content"] if "toolUse" in block]


def tool_results(message: Message) -> dict[str, dict[str, Any]]:
    """The result blocks of a message by the id of the call they answer."""
    return {block["toolResult"]["toolUseId"]: block for block in message["content"] if "toolResult" in block}


def text_of(message: Message) -> str:
    """The plain text of a message, its text blocks joined by blank lines."""
    return "\n\n".join(block["text"] for block in message["content"] if block.get("text"))


def holds(message: Message, text: str) -> bool:
    """Whether a message has this text in it, however its blocks divide it."""
    whole = "".join(block["text"] for block in message["content"] if block.get("text"))
    return "".join(text.split()) in "".join(whole.split())


def begins_turn(message: Message) -> bool:
    """Whether a message is a person's, and so begins a turn: a user message that answers no call."""
    content = message.get("content")
    return message.get("role") == "user" and not any(
        isinstance(block, dict) and "toolResult" in block
        for block in (content if isinstance(content, list) else ())
    )


def is_summary(message: Message) -> bool:
    """Whether a message is the summary that a session goes on from, and so no word of the person's."""
    content = message.get("content")
    first = content[0] if isinstance(content, list) and content else None
    text = first.get("text") if isinstance(first, dict) else None
    return message.get("role") == "user" and isinstance(text, str) and text.startswith(SUMMARY_OPENING)


def cut_off(shown: str) -> str:
    """A reply as the history keeps it when it was cut off: what was shown, and the mark."""
    return f"{shown.rstrip()}\n\n{CUT_MARK}" if shown.strip() else CUT_MARK


def interrupted_result(tool_use_id: str) -> dict[str, Any]:
    """The result block of a call that was cut off."""
    return {
        "toolResult": {
            "toolUseId": tool_use_id,
            "status": "error",
            "content": [{"text": INTERRUPTED_RESULT}],
        }
    }


def recorded_result(event: dict[str, Any]) -> dict[str, Any]:
    """The ``toolResult`` of a call from its event, which keeps the `summary` of a result."""
    use_id = str(event["tool_use_id"])
    if event.get("status") not in ("success", "error"):
        return dict(interrupted_result(use_id)["toolResult"])
    text = str(event.get("result") or "") or NO_OUTPUT
    return {"toolUseId": use_id, "status": event["status"], "content": [{"text": text}]}


def summary(result: str) -> str:
    """A result as its event keeps it: whole, or its two ends; the message keeps all of a long one."""
    if len(result) <= SUMMARY_HEAD + SUMMARY_TAIL:
        return result
    gone = len(result) - SUMMARY_HEAD - SUMMARY_TAIL
    return f"{result[:SUMMARY_HEAD]}\n[… {gone:,} characters are not kept here …]\n{result[-SUMMARY_TAIL:]}"


def event_holds(result: dict[str, Any]) -> bool:
    """Whether the event of a call keeps all of its result, as `recorded_result` makes it: one short text."""
    content = result["content"]
    return (
        result.keys() == {"toolUseId", "status", "content"}
        and len(content) <= 1
        and all(item.keys() == {"text"} and item["text"] == summary(item["text"]) for item in content)
    )


def kept_result(kept: Sequence[dict[str, Any]], use_id: str, message: str) -> dict[str, Any] | None:
    """The ``toolResult`` of a call from what the recorder kept of its turn, or None.

    Args:
        kept: What was kept, in order: each a result and the ``tracking_id`` of the message that asks for it.
        use_id: The call. Some providers count their calls anew in every turn, so that is not enough.
        message: The ``tracking_id`` of the message that asks for it.
    """
    for item in reversed(kept):
        result = item.get("result")
        if (
            item.get("message") == message
            and _is_sound({"toolResult": result})
            and result["toolUseId"] == use_id
            and result.get("status") in ("success", "error")
        ):
            return dict(result)
    return None


def mend(stored: Sequence[StoredMessage], *, first: int, count: int) -> History:
    """The stored messages `first` to `count`, made a history a provider takes; the record is untouched.

    A message that could not be read becomes a placeholder, calls and results are paired, roles alternate
    and a user message comes first. A dangling call at the very end is left: the next prompt answers it.

    Args:
        stored: The messages that could be read, in order.
        first: Index the history starts at.
        count: Messages recorded; the history ends before this index.
    """
    return _alternate(_pair(_fill(stored, first, count)))


def _fill(stored: Sequence[StoredMessage], first: int, count: int) -> list[Message]:
    known = {item.index: item.message for item in stored if _has_role(item.message)}
    filled: list[Message] = []
    for index in range(first, count):
        message = known.get(index)
        if message is not None:
            lost = {"text": f"[A part of message {index} could not be read.]"}
            message = {
                **message,
                "content": [block if _is_sound(block) else lost for block in message["content"]],
            }
            clean(message)
        else:
            follows = (
                filled[-1]["role"] if filled else _opposite(known.get(index + 1, {}).get("role", "assistant"))
            )
            role = _opposite(follows) if filled else follows
            message = {"role": role, "content": [{"text": f"[Message {index} could not be read.]"}]}
        filled.append(message)
    return filled


def _has_role(message: Message) -> bool:
    return message.get("role") in ("user", "assistant") and isinstance(message.get("content"), list)


def _is_sound(block: Any) -> bool:
    """Whether a block has the shape that its kind has; kinds that are not looked into pass."""
    if not isinstance(block, dict) or not block:
        return False
    if "text" in block:
        return isinstance(block["text"], str)
    if "toolUse" in block:
        use = block["toolUse"]
        return isinstance(use, dict) and all(isinstance(use.get(key), str) for key in ("toolUseId", "name"))
    if "toolResult" in block:
        result = block["toolResult"]
        items = result.get("content", []) if isinstance(result, dict) else None
        return (
            isinstance(items, list)
            and isinstance(result.get("toolUseId"), str)
            and all(isinstance(item, dict) for item in items)
            and all(isinstance(item["text"], str) for item in items if "text" in item)
        )
    return True


def _opposite(role: str) -> str:
    return "assistant" if role == "user" else "user"


def _pair(messages: list[Message]) -> list[Message]:
    paired: list[Message] = []
    asked: list[str] = []
    for original in messages:
        message = original
        if asked and message["role"] != "user":
            paired.append({"role": "user", "content": [interrupted_result(call) for call in asked]})
            asked = []
        results = tool_results(message)
        if asked or results:
            rest = [
                _as_text(block) if "toolResult" in block else block
                for block in message["content"]
                if "toolResult" not in block or block["toolResult"]["toolUseId"] not in asked
            ]
            answers = [results.get(call, interrupted_result(call)) for call in asked]
            message = {**message, "content": [*answers, *rest]}
        asked = tool_use_ids(message) if message["role"] == "assistant" else []
        paired.append(message)
    return paired


def _as_text(block: dict[str, Any]) -> dict[str, Any]:
    content = block["toolResult"].get("content") or []
    words = "\n".join(item["text"] for item in content if isinstance(item, dict) and item.get("text"))
    return {"text": f"[Result of a call that could not be read]\n{words}"}


def _alternate(messages: list[Message]) -> History:
    history = History()
    if messages and messages[0]["role"] != "user":
        history.append({"role": "user", "content": [{"text": "[The conversation so far is not shown.]"}]})
    for message in messages:
        if history and history[-1]["role"] == message["role"]:
            filler = f"({UNFINISHED_NOTICE})" if message["role"] == "user" else "[continued]"
            history.append({"role": _opposite(message["role"]), "content": [{"text": filler}]})
        history.append(message)
    return history
