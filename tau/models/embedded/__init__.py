"""The embedded model: weights that tau installs, and a model that runs on this machine with them.

Importing this package loads neither strands nor the runtime.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tau.config.settings import ModelSettings, Places
from tau.errors import ConfigError, ModelNotReady, UsageError
from tau.models.embedded.weights import (
    Weights,
    catalogue,
    check_gguf,
    find,
    installed,
    kept_prompts,
    recommended,
    size_text,
)

if TYPE_CHECKING:
    from tau.models.embedded.model import EmbeddedModel

__all__ = [
    "ADVICE",
    "Weights",
    "advice",
    "build",
    "catalogue",
    "check",
    "has_runtime",
    "installed",
    "recommended",
    "weights_of",
]

WINDOW = 8_192
"""Tokens of context unless ``context_window`` says otherwise."""

MAX_TOKENS = 2_048
"""The longest answer unless ``max_tokens`` says otherwise."""

RUNTIME = "xllamacpp"
"""The package that runs the weights."""

ADVICE = (
    "{name} runs on this machine: nothing you write leaves it. It can chat, explain simple code and make one"
    " simple tool call at a time; it is often wrong and forgets long conversations, so check what it says."
    " For a stronger model set ANTHROPIC_API_KEY, OPENAI_API_KEY or another provider's key,"
    " or [models.default] in tau.toml."
)
"""What a person is told once, with ``{name}`` for the weights."""


def advice(settings: ModelSettings, places: Places) -> str:
    """`ADVICE` for the weights these settings stand for."""
    return ADVICE.format(name=weights_of(settings, places)[0])


def weights_of(settings: ModelSettings, places: Places) -> tuple[str, Path]:
    """The name and the file of the weights these settings stand for, checked.

    ``weights`` (or ``model_id``) names weights of the catalogue or a GGUF file; without it the
    recommended ones are taken. A relative path starts at the current directory.

    Raises:
        ModelNotReady: They are not installed, or the file is missing, unreadable or no GGUF file.
        ConfigError: There are no weights of that name.
    """
    given = settings.weights or settings.model_id
    if given and ("/" in given or given.endswith(".gguf")):
        path = Path(given).expanduser().absolute()
        check_gguf(path)
        return path.stem, path
    try:
        weights = find(given) if given else recommended(places)
    except UsageError as error:
        raise ConfigError(f"{error.message}, as the model's table asks for", error.hint) from error
    file = installed(weights, places)
    if file is None:
        name = f" {weights.name}" if given else ""
        raise ModelNotReady(
            f"The weights {weights.name} ({size_text(weights.size)}) are not installed",
            f"tau model install{name}",
        )
    check_gguf(file)
    return weights.name, file


def has_runtime() -> bool:
    """Whether the package that runs weights is installed. Does not import it."""
    return find_spec(RUNTIME) is not None


def check(settings: ModelSettings, places: Places, environ: Mapping[str, str]) -> None:
    """See that the runtime and the weights are there. Starts nothing and imports neither.

    Args:
        settings: The role's table.
        places: Where tau keeps things.
        environ: Not looked at; every provider is given it.

    Raises:
        ModelNotReady: Something is missing; the message names it and the hint is the command that fixes it.
        ConfigError: There are no weights of that name.
    """
    if not has_runtime():
        raise ModelNotReady(
            f"The embedded model needs the package '{RUNTIME}', which is not installed",
            "pip install 'tau-terminal[embedded]'",
        )
    weights_of(settings, places)


def build(settings: ModelSettings, places: Places, environ: Mapping[str, str]) -> EmbeddedModel:
    """The model of these settings. Its child process starts with the first call.

    Args:
        settings: The role's table.
        places: Where tau keeps things.
        environ: The environment; the child gets only what it needs of it.

    Raises:
        ModelNotReady: Something is missing, as in `check`.
        ConfigError: There are no weights of that name.
    """
    check(settings, places, environ)
    from tau.models.embedded.model import EmbeddedModel

    name, file = weights_of(settings, places)
    window = settings.context_window or WINDOW
    return EmbeddedModel(
        file,
        model_id=name,
        window=window,
        max_tokens=min(settings.max_tokens or MAX_TOKENS, window // 2),
        params=settings.params,
        kept=kept_prompts(places),
        environ=environ,
    )
