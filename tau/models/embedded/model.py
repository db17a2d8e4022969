"""The embedded model as a strands model: it chooses a tool under a grammar, then answers a short prompt."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from copy import copy
from pathlib import Path
from typing import Any, TypedDict, TypeVar, cast
from uuid import uuid4

from pydantic import BaseModel
from strands.models.model import BaseModelConfig, Model
from strands.types.content import Messages, SystemContentBlock
from strands.types.exceptions import ContextWindowOverflowException
from strands.types.streaming import StreamEvent
from strands.types.tools import ToolChoice, ToolSpec

from tau.errors import ModelCallFailed
from tau.models.embedded import grammar, prompts
from tau.models.embedded.calls import Calls
from tau.models.embedded.completion import Overflow, Piece
from tau.models.embedded.kept import Kept
from tau.models.embedded.process import Lease

CHOOSING, ANSWERING, ASIDE = range(3)
"""The child's slots; each keeps the beginning of its last prompt."""

_SAMPLING = {"temperature": 0.3, "top_p": 0.8, "top_k": 20, "repeat_penalty": 1.1}

_LIKELIEST = {"temperature": 0, "repeat_penalty": 1.0}

T = TypeVar("T", bound=BaseModel)


class EmbeddedConfig(BaseModelConfig, total=False):
    """What can be configured while the model is in use.

    Attributes:
        model_id: The name of the weights.
        max_tokens: The longest answer.
        params: Sampling parameters of llama.cpp, over tau's own.
    """

    model_id: str
    max_tokens: int
    params: dict[str, Any]


class _Spent(TypedDict):
    prompt: int
    output: int
    cached: int


class EmbeddedModel(Model):
    """A model that runs on this machine, in a child process.

    The child is started by the first call (or `prepare`) and again after it was killed. Closing the
    generator of a call, or cancelling its task, closes the connection, and the child stops computing.

    Args:
        weights: The GGUF file.
        model_id: What to call it.
        window: Tokens of context, shared by prompt and answer.
        max_tokens: The longest answer.
        params: Sampling parameters of llama.cpp, over tau's own.
        environ: The environment of the child; only what it needs is passed on.
        kept: The folder where `prepare` keeps the beginnings of prompts for later starts; nowhere when None.
    """

    def __init__(
        self,
        weights: Path,
        *,
        model_id: str,
        window: int,
        max_tokens: int,
        params: Mapping[str, Any],
        environ: Mapping[str, str],
        kept: Path | None = None,
    ) -> None:
        self._config = EmbeddedConfig(
            model_id=model_id, max_tokens=max_tokens, params=dict(params), context_window_limit=window
        )
        self._window = window
        self._lease = Lease(weights, window, kept, environ)
        self._calls = Calls(self._lease, Kept(kept, weights, window) if kept else None)
        self._side = False
        self._grammar = ""

    def aside(self) -> EmbeddedModel:
        """The same model for side calls such as summaries.

        It keeps the caller's prompt and leaves nothing of the history out: what does not fit is an overflow.
        """
        other = copy(self)
        other._config = self._config.copy()
        other._side = True
        other._calls = Calls(self._lease, None)
        return other

    def shaped(self, schema: Mapping[str, Any]) -> EmbeddedModel:
        """The same model; what it says is a JSON value that satisfies the schema, the likeliest one."""
        other = copy(self)
        other._config = self._config.copy()
        other._grammar = grammar.for_schema(schema)
        return other

    def update_config(self, **model_config: Any) -> None:
        """Change the configuration; the window is fixed."""
        self._config.update(cast("EmbeddedConfig", model_config))

    def get_config(self) -> EmbeddedConfig:
        """The configuration."""
        return self._config

    async def prepare(
        self,
        tool_specs: list[ToolSpec] | None = None,
        system_prompt: str | None = None,
        *,
        progress: Callable[[float], None] = lambda share: None,
    ) -> None:
        """Load the weights and read the beginnings of the prompts, so that the first answer comes sooner.

        What was read is kept on disk; the next start restores it.

        Args:
            tool_specs: The tools that will be offered.
            system_prompt: The system prompt that will be given.
            progress: Told how much is read, from 0 to 1, once the weights are loaded.

        Raises:
            ModelNotReady: The weights cannot be loaded.
            ModelCallFailed: The child ended.
        """
        system = prompts.system_prompt(system_prompt, side=self._side)
        heads: list[tuple[int, prompts.Chat]] = [(self._slot, prompts.answering_head(system))]
        if tools := prompts.usable_tools(tool_specs or []):
            heads.insert(0, (CHOOSING, prompts.choosing_head(tools, False)))
        lengths = [sum(len(message["content"]) for message in head) for _, head in heads]
        for number, (slot, head) in enumerate(heads):
            whole = await self._calls.restore(slot, head)
            progress(sum(lengths[:number]) / sum(lengths))
            if not whole:
                asked = [*head, {"role": "user", "content": "…"}]
                body = {"messages": asked, "max_tokens": 1, "id_slot": slot, "return_progress": True}
                async with aclosing(self._calls.run(body, keep=head)) as pieces:
                    async for piece in pieces:
                        if piece.read is not None:
                            read = sum(lengths[:number]) + piece.read * lengths[number]
                            progress(read / sum(lengths))
        progress(1.0)

    def close(self) -> None:
        """End the child, unless another model uses it too. A later call starts it again."""
        self._lease.close()

    async def stream(
        self,
        messages: Messages,
        tool_specs: list[ToolSpec] | None = None,
        system_prompt: str | None = None,
        *,
        tool_choice: ToolChoice | None = None,
        system_prompt_content: list[SystemContentBlock] | None = None,
        **kwargs: Any,
    ) -> AsyncGenerator[StreamEvent, None]:
        """Stream the next message of a conversation.

        Args:
            messages: The history; the newest message is served, as much as fits of the others is sent along.
            tool_specs: Tools the model may call, one at a time, and only before it has seen a result.
            system_prompt: Kept by `aside`; else only its directory and the person's instructions are.
            tool_choice: ``any`` and ``tool`` force a call.
            system_prompt_content: Not looked at; `system_prompt` says the same.
            kwargs: Not looked at.

        Raises:
            ContextWindowOverflowException: The newest message alone does not fit into the window.
            ModelNotReady: The weights cannot be loaded.
            ModelCallFailed: The child ended or refused, or a tool call was cut off.
        """
        started = time.monotonic()
        spent = _Spent(prompt=0, output=0, cached=0)
        turns = prompts.turns_of(messages) or [prompts.Turn("…")]
        forced = _forced(tool_choice)
        offered = [spec for spec in tool_specs or [] if forced in (None, "", spec["name"])]
        yield {"messageStart": {"role": "assistant"}}
        choice, reason = "", "stop"
        if offered and (forced is not None or not _has_result(messages)):
            choice, reason = await self._choose(turns, offered, forced is not None, spent)
        if reason == "length":
            raise ModelCallFailed(
                f"The embedded model's tool call was longer than max_tokens = {self._config['max_tokens']}",
                "raise max_tokens in the model's table, or ask for less at once",
            )
        if choice and choice != grammar.NONE:
            for event in _call(choice):
                yield event
        else:
            async with aclosing(self._answer(turns, system_prompt, spent)) as answer:
                async for event in answer:
                    yield event
        yield {
            "metadata": {
                "usage": {
                    "inputTokens": spent["prompt"],
                    "outputTokens": spent["output"],
                    "totalTokens": spent["prompt"] + spent["output"],
                    "cacheReadInputTokens": spent["cached"],
                },
                "metrics": {"latencyMs": int((time.monotonic() - started) * 1000)},
            }
        }

    async def structured_output(
        self, output_model: type[T], prompt: Messages, system_prompt: str | None = None, **kwargs: Any
    ) -> AsyncGenerator[dict[str, T | Any], None]:
        """Answer with an instance of a pydantic model, under a grammar made from its schema.

        Raises:
            ModelCallFailed: The answer was cut off or is not valid.
        """
        spent = _Spent(prompt=0, output=0, cached=0)
        system = prompts.system_prompt(system_prompt, side=True)
        chat = prompts.answering(prompts.turns_of(prompt), system, None)
        body = {**self._body(chat, ASIDE), "grammar": grammar.for_schema(output_model.model_json_schema())}
        text, _ = await self._collect(body, spent)
        try:
            yield {"output": output_model.model_validate_json(text)}
        except ValueError as error:
            raise ModelCallFailed(f"The embedded model gave no valid {output_model.__name__}") from error

    async def _choose(
        self, turns: list[prompts.Turn], offered: list[ToolSpec], forced: bool, spent: _Spent
    ) -> tuple[str, str]:
        tools = prompts.usable_tools(offered)
        rules = grammar.for_tools([(name, schema) for name, schema, _ in tools], may_decline=not forced)
        body = self._body(prompts.choosing(turns, tools, forced), CHOOSING)
        await self._calls.restore(CHOOSING, prompts.choosing_head(tools, forced))
        return await self._collect({**body, **_LIKELIEST, "grammar": rules}, spent)

    async def _answer(
        self, turns: list[prompts.Turn], system_prompt: str | None, spent: _Spent
    ) -> AsyncGenerator[StreamEvent, None]:
        system = prompts.system_prompt(system_prompt, side=self._side)
        room = max(self._window - self._config["max_tokens"] - 1_000, 0)
        tries = (None,) if self._side else (min(prompts.HISTORY_TOKENS, room), 0)
        yield {"contentBlockStart": {"start": {}}}
        finish, begun = "", False
        await self._calls.restore(self._slot, prompts.answering_head(system))
        for history in tries:
            body = self._body(prompts.answering(turns, system, history), self._slot)
            if self._grammar:
                body |= {**_LIKELIEST, "grammar": self._grammar}
            try:
                async with aclosing(self._calls.run(body)) as pieces:
                    async for piece in pieces:
                        _count(piece, spent)
                        finish = piece.finish or finish
                        if piece.text:
                            begun = True
                            yield {"contentBlockDelta": {"delta": {"text": piece.text}}}
                break
            except Overflow as error:
                if begun or not history:
                    raise self._overflow() from error
        yield {"contentBlockStop": {}}
        yield _stop("max_tokens" if finish == "length" else "end_turn")

    @property
    def _slot(self) -> int:
        return ASIDE if self._side else ANSWERING

    def _overflow(self) -> ContextWindowOverflowException:
        what = "The request" if self._side else "The newest message"
        return ContextWindowOverflowException(
            f"{what} does not fit into the {self._window} tokens of the embedded model"
        )

    def _body(self, chat: prompts.Chat, slot: int) -> dict[str, Any]:
        return {
            **_SAMPLING,
            **self._config["params"],
            "messages": chat,
            "max_tokens": self._config["max_tokens"],
            "id_slot": slot,
            "cache_prompt": True,
        }

    async def _collect(self, body: Mapping[str, Any], spent: _Spent) -> tuple[str, str]:
        texts, finish = [], ""
        try:
            async with aclosing(self._calls.run(body)) as pieces:
                async for piece in pieces:
                    _count(piece, spent)
                    texts.append(piece.text)
                    finish = piece.finish or finish
        except Overflow as error:
            raise self._overflow() from error
        return "".join(texts), finish


def _forced(choice: ToolChoice | None) -> str | None:
    """None when no tool is forced, "" when any is, else the name of the one that is."""
    given = cast("Mapping[str, Any]", choice or {})
    if "tool" in given:
        return str(given["tool"]["name"])
    return "" if "any" in given else None


def _has_result(messages: Messages) -> bool:
    return bool(messages) and any("toolResult" in block for block in messages[-1]["content"])


def _call(choice: str) -> list[StreamEvent]:
    name, _, arguments = choice.partition(" ")
    arguments = json.dumps(json.loads(arguments))
    return [
        {
            "contentBlockStart": {
                "start": {"toolUse": {"name": name, "toolUseId": f"call_{uuid4().hex[:12]}"}}
            }
        },
        {"contentBlockDelta": {"delta": {"toolUse": {"input": arguments}}}},
        {"contentBlockStop": {}},
        _stop("tool_use"),
    ]


def _stop(reason: str) -> StreamEvent:
    return cast("StreamEvent", {"messageStop": {"stopReason": reason}})


def _count(piece: Piece, spent: _Spent) -> None:
    spent["prompt"] += piece.prompt_tokens
    spent["output"] += piece.output_tokens
    spent["cached"] += piece.cached_tokens
