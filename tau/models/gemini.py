"""The provider ``gemini``: Google's Gemini through its developer API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tau.errors import ConfigError
from tau.models.failures import describe
from tau.models.provider import CONNECT_SECONDS, SILENCE_SECONDS, Ready, Request

if TYPE_CHECKING:
    from strands.models import Model

VARIABLES = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
DEFAULT_MODEL = "gemini-flash-latest"
DEFAULT_URL = "https://generativelanguage.googleapis.com"


def check(request: Request) -> Ready:
    """See that the package and the key are there.

    Raises:
        ModelNotReady: One of them is missing.
        ConfigError: ``base_url`` or ``api_key_env`` cannot be used.
    """
    request.need_package("google.genai", "gemini")
    request.key(*VARIABLES)
    return Ready(
        model_id=request.settings.model_id or DEFAULT_MODEL,
        context_window=request.settings.context_window,
        cached_in_input=True,
        elsewhere=request.base_url(DEFAULT_URL) != DEFAULT_URL,
    )


def build(request: Request, ready: Ready) -> tuple[Model, Model]:
    """Gemini, streaming; retries are left to the agent, which announces them.

    Raises:
        ConfigError: ``params`` has what Gemini's generation settings do not take.
    """
    import httpx
    from google import genai
    from strands.models.gemini import GeminiModel

    from tau.models.translated import TranslatedModel

    class Client(httpx.AsyncClient):
        """Keeps its own time limits: the SDK hands down one for connecting and answering alike, or none."""

        def build_request(self, *args: Any, **kwargs: Any) -> httpx.Request:
            kwargs["timeout"] = httpx.Timeout(SILENCE_SECONDS, connect=CONNECT_SECONDS)
            return super().build_request(*args, **kwargs)

    params = dict(request.settings.params)
    if request.settings.max_tokens is not None:
        params.setdefault("max_output_tokens", request.settings.max_tokens)
    try:
        genai.types.GenerateContentConfig(**params)
    except ValueError as error:
        raise ConfigError(f"{request.table} params cannot be used: {describe(error)}") from error
    client = genai.Client(
        vertexai=False,
        api_key=request.key(*VARIABLES),
        http_options=genai.types.HttpOptions(
            base_url=request.base_url(DEFAULT_URL),
            httpx_async_client=Client(),
            retry_options=genai.types.HttpRetryOptions(attempts=1),
        ),
    )
    config: GeminiModel.GeminiConfig = {"model_id": ready.model_id, "params": params}
    if ready.context_window is not None:
        config["context_window_limit"] = ready.context_window
    model = TranslatedModel(GeminiModel(client=client, **config))
    return model, model
