"""The provider ``ollama``: a model of a running Ollama server that can call tools."""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any

from tau.errors import ConfigError, ModelNotReady
from tau.models import probe
from tau.models.deadline import within
from tau.models.provider import CONNECT_SECONDS, SILENCE_SECONDS, Ready, Request

if TYPE_CHECKING:
    from strands.models import Model

DEFAULT_PORT = 11434
DEFAULT_URL = f"http://127.0.0.1:{DEFAULT_PORT}"

DEFAULT_WINDOW = 16_384
"""Tokens asked for when the table names none: the server's own default cuts prompts silently."""

PATIENCE_SECONDS = 3.0


def check(request: Request, *, seconds: float = PATIENCE_SECONDS) -> Ready:
    """Find the model on the server: the one named, else the newest that can call tools.

    Args:
        request: The role.
        seconds: How long the server may take in all.

    Raises:
        ModelNotReady: The package, the server, or such a model is missing.
        ConfigError: ``base_url`` is no address.
    """
    request.need_package("ollama", "ollama")
    url = server_url(request)
    deadline = monotonic() + seconds
    try:
        return within(seconds, lambda: _find(request, url, deadline))
    except OSError as error:
        raise ModelNotReady(
            f"{request.table} has no Ollama server at {url}: {probe.reason(error)}",
            "start it with 'ollama serve', or set base_url",
        ) from error


def build(request: Request, ready: Ready) -> tuple[Model, Model]:
    """The model, streaming, with the window said to the server."""
    import httpx
    from strands.models.ollama import OllamaModel

    from tau.models.translated import TranslatedModel

    url = server_url(request)
    options: dict[str, Any] = {"num_ctx": ready.context_window, **request.settings.params}
    config: OllamaModel.OllamaConfig = {
        "model_id": ready.model_id,
        "options": options,
        "context_window_limit": options["num_ctx"],
    }
    if request.settings.max_tokens is not None:
        config["max_tokens"] = request.settings.max_tokens
    client_args = {
        "timeout": httpx.Timeout(SILENCE_SECONDS, connect=CONNECT_SECONDS),
        "trust_env": not probe.is_loopback(url),
    }
    if request.settings.api_key_env is not None:
        client_args["headers"] = {"Authorization": f"Bearer {request.key()}"}
    model = TranslatedModel(OllamaModel(url, ollama_client_args=client_args, **config))
    return model, model


def server_url(request: Request) -> str:
    """The server's address: ``base_url``, ``OLLAMA_HOST`` (a host, a port or both), or the default."""
    given = request.environ.get("OLLAMA_HOST", "").strip()
    if not given or request.settings.base_url:
        return request.base_url(DEFAULT_URL)
    if "://" not in given:
        host, _, port = given.rpartition(":") if ":" in given else (given, "", "")
        given = f"http://{host or '127.0.0.1'}:{port or DEFAULT_PORT}"
    # A server told to listen everywhere is reached on this machine.
    return request.base_url(given.replace("//0.0.0.0", "//127.0.0.1"))


def _find(request: Request, url: str, deadline: float) -> Ready:
    key = request.key() if request.settings.api_key_env is not None else ""
    status, answer = probe.ask(url, "/api/tags", deadline=deadline, key=key)
    models = answer.get("models") if isinstance(answer, dict) else None
    if status != 200 or not isinstance(models, list):
        raise ModelNotReady(f"The server at {url} does not answer as Ollama does (HTTP {status})")
    names = [str(model["name"]) for model in models if isinstance(model, dict) and "name" in model]
    wanted = request.settings.model_id
    if wanted is not None:
        found = next((name for name in names if name in (wanted, f"{wanted}:latest")), None)
        if found is None:
            raise ModelNotReady(
                f"The Ollama server at {url} has no model '{wanted}'", f"ollama pull {wanted}"
            )
        details = _details(url, found, deadline, key)
        if not _calls_tools(details):
            raise ModelNotReady(
                f"The Ollama model '{found}' cannot call tools",
                "choose one that can, such as qwen3 or llama3.1",
            )
        return _ready(request, found, details)
    for name in names:
        details = _details(url, name, deadline, key)
        if _calls_tools(details):
            return _ready(request, name, details)
    raise ModelNotReady(
        f"The Ollama server at {url} has no model that can call tools", "ollama pull qwen3, for example"
    )


def _details(url: str, name: str, deadline: float, key: str) -> Mapping[str, Any]:
    _, answer = probe.ask(url, "/api/show", deadline=deadline, body={"model": name}, key=key)
    return answer if isinstance(answer, dict) else {}


def _ready(request: Request, name: str, details: Mapping[str, Any]) -> Ready:
    capabilities = details["capabilities"]  # it can call tools, so they are said
    return Ready(model_id=name, context_window=_window(request, details), images="vision" in capabilities)


def _calls_tools(details: Mapping[str, Any]) -> bool:
    capabilities = details.get("capabilities")
    return isinstance(capabilities, list) and "tools" in capabilities


def _window(request: Request, details: Mapping[str, Any]) -> int:
    information = details.get("model_info")
    largest = next(
        (
            value
            for key, value in (information.items() if isinstance(information, dict) else ())
            if key.endswith(".context_length") and isinstance(value, int)
        ),
        None,
    )
    given = request.settings.context_window
    if given is not None:
        if largest is not None and given > largest:
            raise ConfigError(
                f"{request.table} context_window is {given}, but the model holds {largest} tokens at most"
            )
        return given
    return min(DEFAULT_WINDOW, largest or DEFAULT_WINDOW)
