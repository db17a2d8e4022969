"""What is known of a prepared model, free of strands, for status rows and listings."""

from __future__ import annotations

import msgspec

from tau.models.usage import Price


class ModelInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The model a role stands for.

    Attributes:
        role: The role of the configuration.
        provider: The provider taken (never ``auto``).
        model_id: The provider's name for the model.
        why: One sentence saying why it was taken, for ``auto``; else empty.
        context_window: Tokens it can hold, or None when unknown.
        advice: What the person should know about it once (the embedded model's limits), or empty.
        price: What its tokens cost, or None when unknown.
        images: Whether it takes images; None when that is not known.
        cached_in_input: Whether the ``inputTokens`` that the SDK reports for it include those of the cache.
        reads_memory: Whether it has room for memory files in its prompt.
    """

    role: str
    provider: str
    model_id: str
    why: str = ""
    context_window: int | None = None
    advice: str = ""
    price: Price | None = None
    images: bool | None = None
    cached_in_input: bool = False
    reads_memory: bool = True
