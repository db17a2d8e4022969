"""The provider ``llamacpp``: a running llama.cpp server, spoken to through its OpenAI-compatible API.

strands has a provider of that name; it hands over an answer only when it is complete and gives up after 30
seconds, so the streaming one is used.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

from tau.errors import ModelNotReady
from tau.models import probe
from tau.models.deadline import within
from tau.models.openai import NO_KEY
from tau.models.provider import Ready, Request

if TYPE_CHECKING:
    from strands.models import Model

DEFAULT_URL = "http://127.0.0.1:8080"
PATIENCE_SECONDS = 3.0


def check(request: Request) -> Ready:
    """Ask the server whether it is ready, and how large its window is.

    Raises:
        ModelNotReady: The package or the server is missing, it is still loading, or it refuses the key.
        ConfigError: ``base_url`` or ``api_key_env`` cannot be used.
    """
    request.need_package("openai", "openai")
    url = _url(request)
    key = _key(request)
    deadline = monotonic() + PATIENCE_SECONDS
    try:
        status, answer = within(
            PATIENCE_SECONDS, lambda: probe.ask(url, "/props", deadline=deadline, key=key)
        )
    except OSError as error:
        raise ModelNotReady(
            f"{request.table} has no llama.cpp server at {url}: {probe.reason(error)}",
            "start llama-server, or set base_url",
        ) from error
    if status == 503:
        raise ModelNotReady(f"The llama.cpp server at {url} is still loading its model", "try again shortly")
    if status in (401, 403):
        raise ModelNotReady(
            f"The llama.cpp server at {url} wants an API key", "name its variable in api_key_env"
        )
    properties: dict[str, Any] = answer if isinstance(answer, dict) else {}
    name = str(properties.get("model_alias") or properties.get("model_path") or "default").rpartition("/")[2]
    return Ready(
        model_id=request.settings.model_id or name,
        context_window=request.settings.context_window or _window(properties),
        cached_in_input=True,
        images=_images(properties),
    )


def build(request: Request, ready: Ready) -> tuple[Model, Model]:
    """The server's model, streaming."""
    from tau.models.openai_model import chat_model

    params = dict(request.settings.params)
    if request.settings.max_tokens is not None:
        params.setdefault("max_tokens", request.settings.max_tokens)
    model = chat_model(
        base_url=_url(request) + "/v1",
        key=_key(request) or NO_KEY,
        model_id=ready.model_id,
        params=params,
        context_window=ready.context_window,
    )
    return model, model


def _window(properties: dict[str, Any]) -> int | None:
    settings = properties.get("default_generation_settings")
    window = settings.get("n_ctx") if isinstance(settings, dict) else None
    return window if isinstance(window, int) and window > 0 else None


def _images(properties: dict[str, Any]) -> bool | None:
    modalities = properties.get("modalities")
    vision = modalities.get("vision") if isinstance(modalities, dict) else None
    return vision if isinstance(vision, bool) else None


def _url(request: Request) -> str:
    return request.base_url(DEFAULT_URL).removesuffix("/v1")


def _key(request: Request) -> str:
    return request.key() if request.settings.api_key_env is not None else ""
