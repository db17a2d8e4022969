"""Answers of a given shape: a model that can be held to a JSON schema is, any other is left as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from strands.models import Model


@runtime_checkable
class Shapable(Protocol):
    """A model whose answers can be held to a JSON schema, whatever it would rather say."""

    def shaped(self, schema: Mapping[str, Any]) -> Model:
        """The same model; each of its answers is a JSON value that satisfies the schema."""


def shaped(model: Model, schema: Mapping[str, Any]) -> Model:
    """A model that answers with a JSON value of a schema, where it can be held to that; else the model.

    Whoever asks must therefore be ready for any other text.

    Args:
        model: The model.
        schema: The JSON schema.
    """
    return model.shaped(schema) if isinstance(model, Shapable) else model
