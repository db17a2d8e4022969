"""The provider ``embedded``: the model that runs inside tau, as a role asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from tau.config.settings import ModelSettings
from tau.models import embedded
from tau.models.provider import Ready, Request

if TYPE_CHECKING:
    from strands.models import Model


def check(request: Request) -> Ready:
    """See that the runtime and the weights are there.

    Raises:
        ModelNotReady: One of them is missing; the hint is the command that installs it.
        UsageError: There are no weights of that name.
    """
    settings = _settings(request)
    embedded.check(settings, request.places, request.environ)
    name, _ = embedded.weights_of(settings, request.places)
    return Ready(
        model_id=name,
        context_window=settings.context_window or embedded.WINDOW,
        advice=embedded.advice(settings, request.places),
        cached_in_input=True,
        reads_memory=False,
    )


def build(request: Request, ready: Ready) -> tuple[Model, Model]:
    """The model; its process starts with the first call."""
    model = embedded.build(_settings(request), request.places, request.environ)
    return model, model.aside()


def _settings(request: Request) -> ModelSettings:
    """The table, with a relative path to weights made absolute as every path of a table is."""
    weights = request.settings.weights
    if weights and ("/" in weights or weights.endswith(".gguf")):
        return msgspec.structs.replace(request.settings, weights=str(request.path(weights)))
    return request.settings
