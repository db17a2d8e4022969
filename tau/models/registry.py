"""Roles to models: finds a role's provider by name, checks that it is ready and builds the model."""

from __future__ import annotations

import asyncio
import importlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

from msgspec import structs

from tau.config.settings import Settings
from tau.errors import ConfigError, ModelNotReady, TauError
from tau.events import Usage
from tau.models import known
from tau.models.failures import describe
from tau.models.info import ModelInfo
from tau.models.provider import Provider, Ready, Request
from tau.models.sight import takes_images
from tau.models.usage import Price, counted

if TYPE_CHECKING:
    from strands.models import Model

logger = logging.getLogger(__name__)

PROVIDERS = {
    "anthropic": "tau.models.anthropic",
    "bedrock": "tau.models.bedrock",
    "embedded": "tau.models.embedded_provider",
    "gemini": "tau.models.gemini",
    "llamacpp": "tau.models.llamacpp",
    "ollama": "tau.models.ollama",
    "openai": "tau.models.openai",
    "scripted": "tau.models.scripted",
}
"""Provider names and the modules that implement them, each imported when a role asks for it."""


@runtime_checkable
class Closable(Protocol):
    """A model that holds something beyond this process's memory."""

    def close(self) -> None:
        """Let go of it; a later call may take it up again."""


@dataclass(frozen=True, slots=True)
class PreparedModel:
    """A role ready to answer.

    Attributes:
        model: The strands model for turns.
        info: What is known of it.
        side_model: The strands model for side calls such as summaries; often the same one.
    """

    model: Model
    info: ModelInfo
    side_model: Model

    def count_usage(self, raw: Mapping[str, Any]) -> Usage:
        """The SDK's usage of a call of either model as tau counts; see `tau.models.usage.counted`."""
        return counted(raw, cached_in_input=self.info.cached_in_input)

    def close(self) -> None:
        """Let go of what the models hold, where they hold anything: the embedded one ends its process."""
        for model in {id(model): model for model in (self.model, self.side_model)}.values():
            if isinstance(model, Closable):
                model.close()


def provider(name: str, table: str = "provider") -> Provider:
    """The module of a provider, imported now.

    Args:
        name: The provider's name.
        table: Where the name was given, for the message.

    Raises:
        ConfigError: There is none of that name.
    """
    module = PROVIDERS.get(name)
    if module is None:
        near = get_close_matches(name, ["auto", *PROVIDERS], n=1)
        raise ConfigError(
            f"{table} names an unknown provider '{name}'",
            f"did you mean '{near[0]}'?" if near else "known: auto, " + ", ".join(PROVIDERS),
        )
    return cast("Provider", importlib.import_module(module))


def choices(settings: Settings) -> list[tuple[str, str, str]]:
    """The configured roles as (role, provider, model id or empty), ``default`` first. Imports nothing."""
    return [
        (role, settings.model(role).provider, settings.model(role).model_id or "")
        for role in settings.roles()
    ]


async def prepare(settings: Settings, role: str, *, environ: Mapping[str, str]) -> PreparedModel:
    """Build the model of a role. Checks, imports and probes run on a worker thread.

    Args:
        settings: The settings of this run.
        role: The role's name.
        environ: The environment, usually ``os.environ``.

    Raises:
        ConfigError: No such role or provider, or its table cannot be used.
        ModelNotReady: A variable, package, server or file is missing; `NoModel` when ``auto`` found nothing.
    """
    return await asyncio.to_thread(_prepare, settings, role, environ)


def look(settings: Settings, role: str, *, environ: Mapping[str, str]) -> ModelInfo:
    """What a role stands for now, checked as far as that is possible without building or calling it.

    May probe servers for a moment, so it belongs on a worker thread.

    Raises:
        See `prepare`.
    """
    return _look(settings, role, environ)[0]


def _look(
    settings: Settings, role: str, environ: Mapping[str, str]
) -> tuple[ModelInfo, Provider, Request, Ready]:
    try:
        table = settings.model(role)
    except KeyError:
        near = get_close_matches(role, settings.roles(), n=1)
        raise ConfigError(
            f"No model role '{role}' is configured",
            f"did you mean '{near[0]}'?" if near else "roles: " + ", ".join(settings.roles()),
        ) from None
    request = Request(
        role=role,
        settings=table,
        places=settings.places,
        directory=settings.directory,
        environ=environ,
    )
    why = ""
    if table.provider == "auto":
        from tau.models import auto

        request, why = auto.choose(request)
    name = request.settings.provider
    chosen = provider(name, request.table)
    ready = chosen.check(request)
    fact = known.find(name, ready.model_id)
    if ready.context_window is None and fact is not None:
        ready = replace(ready, context_window=fact.context_window)
    info = ModelInfo(
        role=role,
        provider=name,
        model_id=ready.model_id,
        why=why,
        context_window=ready.context_window,
        advice=ready.advice,
        price=_price(request, ready, fact),
        images=takes_images(name, ready.model_id, elsewhere=ready.elsewhere)
        if ready.images is None
        else ready.images,
        cached_in_input=ready.cached_in_input,
        reads_memory=ready.reads_memory,
    )
    return info, chosen, request, ready


def _price(request: Request, ready: Ready, fact: known.Known | None) -> Price | None:
    given = request.settings.price
    if given is not None:
        return Price(input=given.input, output=given.output, cached=given.cached, written=given.written)
    return fact.price if fact is not None and not ready.elsewhere else None


def _prepare(settings: Settings, role: str, environ: Mapping[str, str]) -> PreparedModel:
    info, chosen, request, ready = _look(settings, role, environ)
    try:
        model, side_model = chosen.build(request, ready)
    except TauError:
        raise
    except Exception as error:
        logger.exception("the model of role %s cannot be built", role)
        raise ModelNotReady(f"{request.table} cannot be used: {describe(error)}") from error
    window = info.context_window or model.context_window_limit
    return PreparedModel(model, structs.replace(info, context_window=window), side_model)
