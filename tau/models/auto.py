"""The provider ``auto``: the first provider that is ready, and why it was taken."""

from __future__ import annotations

import dataclasses

import msgspec

from tau.errors import ConfigError, ModelNotReady, NoModel
from tau.models import bedrock, embedded, ollama, registry
from tau.models.provider import Request, key_problem

VARIABLE = "TAU_MODEL"

KEYS = (
    ("anthropic", ("ANTHROPIC_API_KEY",)),
    ("openai", ("OPENAI_API_KEY",)),
    ("gemini", ("GEMINI_API_KEY", "GOOGLE_API_KEY")),
)
"""The providers that a key in the environment stands for, in the order they are tried."""

OLLAMA_SECONDS = 0.3
BEDROCK_SECONDS = 1.5

_NEEDS_A_PROVIDER = ("model_id", "base_url", "api_key_env", "region")


def choose(request: Request) -> tuple[Request, str]:
    """The request with its provider decided, and one sentence that says which and why.

    Args:
        request: A role whose provider is ``auto``.

    Raises:
        ConfigError: ``TAU_MODEL`` names no provider, or the table sets what only a named provider has.
        ModelNotReady: What ``TAU_MODEL`` names is not ready; nothing else is tried.
        NoModel: None is ready.
    """
    named = request.environ.get(VARIABLE, "").strip()
    if named and named != "auto":
        name, _, model_id = named.partition(":")
        chosen = _with(request, name, model_id)
        try:
            registry.provider(name, VARIABLE).check(chosen)
        except ModelNotReady as error:
            raise ModelNotReady(f"{VARIABLE} names {named}: {error.message}", error.hint) from error
        return chosen, f"{VARIABLE} names {named}."
    for key in _NEEDS_A_PROVIDER:
        if getattr(request.settings, key) is not None:
            raise ConfigError(
                f"{request.table} sets {key}, but its provider is 'auto'",
                f'name the provider, as in provider = "openai", or remove {key}',
            )
    passed_over: list[str] = []
    for name, variables in KEYS:
        variable = next((v for v in variables if not key_problem(request.environ.get(v))), None)
        if variable is None:
            continue
        chosen = _with(request, name)
        if _ready(chosen, passed_over):
            return chosen, _why(f"{variable} is set: took {name}", passed_over)
    if bedrock.hinted(request.environ):
        chosen = _with(request, "bedrock")
        try:
            account = bedrock.account(chosen, seconds=BEDROCK_SECONDS, network=False)
        except ModelNotReady as error:
            passed_over.append(error.message)
        else:
            found = f"AWS credentials ({account.method}) and region {account.region} were found"
            return chosen, _why(f"{found}: took bedrock", passed_over)
    chosen = _with(request, "ollama")
    try:
        ready = ollama.check(chosen, seconds=OLLAMA_SECONDS)
    except ModelNotReady as error:
        if "OLLAMA_HOST" in request.environ:
            passed_over.append(error.message)
    else:
        server = ollama.server_url(chosen)
        chosen = _with(request, "ollama", ready.model_id)
        return chosen, _why(f"Ollama runs at {server}: took its model {ready.model_id}", passed_over)
    chosen = _with(request, "embedded")
    try:
        registry.provider("embedded").check(chosen)
    except ModelNotReady as error:
        reasons = "; ".join(passed_over)
        none = NoModel(
            f"No model is ready ({reasons})" if reasons else "No model is ready",
            f"run {error.hint} for one that runs here; or set ANTHROPIC_API_KEY, OPENAI_API_KEY or "
            f"GEMINI_API_KEY; or start Ollama; or name one in tau.toml or {VARIABLE}",
        )
        none.can_install = embedded.has_runtime()
        raise none from error
    return chosen, _why("No key or server was found: took the embedded model", passed_over)


def _with(request: Request, provider: str, model_id: str = "") -> Request:
    changes = {"provider": provider, "model_id": model_id or request.settings.model_id}
    return dataclasses.replace(request, settings=msgspec.structs.replace(request.settings, **changes))


def _ready(request: Request, passed_over: list[str]) -> bool:
    try:
        registry.provider(request.settings.provider).check(request)
    except ModelNotReady as error:
        passed_over.append(error.message)
        return False
    return True


def _why(reason: str, passed_over: list[str]) -> str:
    return f"{reason} (passed over: {'; '.join(passed_over)})." if passed_over else f"{reason}."
