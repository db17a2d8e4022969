"""A streaming chat model on any server that speaks OpenAI's chat API."""

from __future__ import annotations

from typing import Any

import openai
from strands.models import Model
from strands.models.openai import OpenAIModel
from strands.types.streaming import StreamEvent

from tau.errors import ModelCallFailed
from tau.models import probe
from tau.models.provider import CONNECT_SECONDS, SILENCE_SECONDS, request_fields
from tau.models.translated import TranslatedModel

NO_FINISH = "end_turn"
"""What strands makes of a stream without a finish reason; no server of this API says it itself."""


class ChatModel(OpenAIModel):
    """strands' model, except that an answer the server broke off is not taken for a complete one."""

    def format_chunk(self, event: dict[str, Any], **kwargs: Any) -> StreamEvent:
        """As strands does.

        Raises:
            ModelCallFailed: The stream ended without a finish reason.
        """
        if event["chunk_type"] == "message_stop" and event["data"] == NO_FINISH:
            raise ModelCallFailed("the server ended its answer before it was complete")
        return super().format_chunk(event, **kwargs)


def chat_model(
    *,
    base_url: str,
    key: str,
    model_id: str,
    params: dict[str, Any],
    context_window: int | None,
) -> Model:
    """The model, with retries left to the agent, which announces them.

    Args:
        base_url: The server's address, with its ``/v1``.
        key: Sent as a bearer token.
        model_id: The server's name for the model.
        params: Fields of every request.
        context_window: Tokens it holds, or None when unknown.
    """
    client = openai.AsyncOpenAI(
        api_key=key,
        base_url=base_url,
        max_retries=0,
        timeout=openai.Timeout(SILENCE_SECONDS, connect=CONNECT_SECONDS),
        http_client=openai.DefaultAsyncHttpxClient(trust_env=False) if probe.is_loopback(base_url) else None,
    )
    config: OpenAIModel.OpenAIConfig = {
        "model_id": model_id,
        "params": request_fields(client.chat.completions.create, params),
    }
    if context_window is not None:
        config["context_window_limit"] = context_window
    return TranslatedModel(ChatModel(client=client, **config))
