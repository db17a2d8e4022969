"""The provider ``anthropic``: Claude through Anthropic's API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tau.models.provider import CONNECT_SECONDS, SILENCE_SECONDS, Ready, Request, request_fields

if TYPE_CHECKING:
    from strands.models import Model

VARIABLES = ("ANTHROPIC_API_KEY",)
DEFAULT_MODEL = "claude-sonnet-5"
DEFAULT_URL = "https://api.anthropic.com"

DEFAULT_MAX_TOKENS = 16_384
"""The API wants a limit with every request."""


def check(request: Request) -> Ready:
    """See that the package and the key are there.

    Raises:
        ModelNotReady: One of them is missing.
        ConfigError: ``base_url`` or ``api_key_env`` cannot be used.
    """
    request.need_package("anthropic", "anthropic")
    request.key(*VARIABLES)
    return Ready(
        model_id=request.settings.model_id or DEFAULT_MODEL,
        context_window=request.settings.context_window,
        elsewhere=_url(request) != DEFAULT_URL,
    )


def build(request: Request, ready: Ready) -> tuple[Model, Model]:
    """Claude, streaming, with its prompt cache on; retries are left to the agent, which announces them."""
    import anthropic
    from anthropic.resources.messages import AsyncMessages
    from strands.models import CacheConfig
    from strands.models.anthropic import AnthropicModel

    from tau.models.translated import TranslatedModel

    config: AnthropicModel.AnthropicConfig = {
        "model_id": ready.model_id,
        "max_tokens": request.settings.max_tokens or DEFAULT_MAX_TOKENS,
        "params": request_fields(AsyncMessages.stream, request.settings.params),
        "cache_config": CacheConfig(strategy="auto"),
    }
    if ready.context_window is not None:
        config["context_window_limit"] = ready.context_window
    client_args = {
        "api_key": request.key(*VARIABLES),
        "base_url": _url(request),
        "max_retries": 0,
        "timeout": anthropic.Timeout(SILENCE_SECONDS, connect=CONNECT_SECONDS),
    }
    model = TranslatedModel(AnthropicModel(client_args=client_args, **config))
    return model, model


def _url(request: Request) -> str:
    return request.base_url(request.environ.get("ANTHROPIC_BASE_URL") or DEFAULT_URL)
