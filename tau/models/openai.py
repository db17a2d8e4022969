"""The provider ``openai``: OpenAI's chat API, or any server that speaks it at ``base_url``."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from tau.errors import ModelNotReady
from tau.models import probe
from tau.models.deadline import within
from tau.models.provider import Ready, Request

if TYPE_CHECKING:
    from strands.models import Model

VARIABLES = ("OPENAI_API_KEY",)
DEFAULT_MODEL = "gpt-5.6-sol"
DEFAULT_URL = "https://api.openai.com/v1"

NO_KEY = "none"
"""What a server is sent that asks for no key; OpenAI's own key never goes to another server unasked."""

PATIENCE_SECONDS = 3.0
"""How long a server may take to name its models."""


def check(request: Request) -> Ready:
    """See that the package, the key, a model and, on this machine, the server are there.

    A ``base_url`` without an ``api_key_env`` means a server that needs no key. A server other than OpenAI's
    is asked for its model when the table names none.

    Raises:
        ModelNotReady: One of them is missing.
        ConfigError: ``base_url`` or ``api_key_env`` cannot be used.
    """
    request.need_package("openai", "openai")
    key = _key(request)
    url = _url(request)
    model_id = request.settings.model_id or (DEFAULT_MODEL if url == DEFAULT_URL else None)
    if model_id is None or probe.is_loopback(url):
        served = _served(request, url, key)
        model_id = model_id or _only_model(request, url, served)
    return Ready(
        model_id=model_id,
        context_window=request.settings.context_window,
        cached_in_input=True,
        elsewhere=url != DEFAULT_URL,
    )


def build(request: Request, ready: Ready) -> tuple[Model, Model]:
    """The chat model, streaming."""
    from tau.models.openai_model import chat_model

    url = _url(request)
    params = dict(request.settings.params)
    if request.settings.max_tokens is not None:
        # OpenAI's newer models refuse the old name; other servers know no other.
        params.setdefault(
            "max_completion_tokens" if url == DEFAULT_URL else "max_tokens", request.settings.max_tokens
        )
    model = chat_model(
        base_url=url,
        key=_key(request),
        model_id=ready.model_id,
        params=params,
        context_window=ready.context_window,
    )
    return model, model


def _served(request: Request, url: str, key: str) -> list[str]:
    deadline = monotonic() + PATIENCE_SECONDS
    try:
        _, answer = within(PATIENCE_SECONDS, lambda: probe.ask(url, "/models", deadline=deadline, key=key))
    except TimeoutError:
        return []  # it accepts connections: busy, not missing
    except OSError as error:
        raise ModelNotReady(
            f"{request.table} has no server at {url}: {probe.reason(error)}",
            "start it, or change base_url" if probe.is_loopback(url) else "set model_id, or change base_url",
        ) from error
    models = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(models, list):
        return []
    return [str(model["id"]) for model in models if isinstance(model, dict) and "id" in model]


def _only_model(request: Request, url: str, served: list[str]) -> str:
    if len(served) == 1:
        return served[0]
    raise ModelNotReady(
        f"{request.table} names no model_id for the server at {url}",
        f"it has {', '.join(served[:5])}{', …' if len(served) > 5 else ''}" if served else "set model_id",
    )


def _url(request: Request) -> str:
    return request.base_url(request.environ.get("OPENAI_BASE_URL") or DEFAULT_URL)


def _key(request: Request) -> str:
    if request.settings.base_url and request.settings.api_key_env is None:
        return NO_KEY
    return request.key(*VARIABLES)
