"""Which models take images, as far as their publishers' names for them tell."""

from __future__ import annotations

import re

_TAKE = {
    "anthropic": re.compile(r"claude-"),
    "bedrock": re.compile(r"(?:[a-z-]+\.)?(?:anthropic\.claude-|amazon\.nova-(?:lite|pro|premier|2))"),
    "gemini": re.compile(r"(?:models/)?gemini-"),
    "openai": re.compile(r"(?:gpt-4o|gpt-4\.1|gpt-4-turbo|gpt-[5-9]|o1(?!-mini|-preview)|o3(?!-mini)|o4)"),
    "scripted": re.compile(""),
}
_TAKE_NONE = {
    "anthropic": re.compile(r"claude-(?:2|instant)"),
    "bedrock": re.compile(r"(?:[a-z-]+\.)?(?:anthropic\.claude-(?:v2|instant)|amazon\.nova-micro)"),
    "embedded": re.compile(""),
    "openai": re.compile(r"(?:gpt-3\.5|gpt-4(?:-0\d{3}|-32k.*)?\Z|o1-mini|o1-preview|o3-mini)"),
}
"""Looked at before the other."""


def takes_images(provider: str, model_id: str, *, elsewhere: bool = False) -> bool | None:
    """Whether a model takes images; None when its name does not tell.

    Args:
        provider: The provider's name.
        model_id: The provider's name for the model.
        elsewhere: Whether another server than the provider's own answers, which may have other models.
    """
    for known, answer in ((_TAKE_NONE, False), (_TAKE, True)):
        pattern = known.get(provider)
        if pattern is not None and pattern.match(model_id) and not elsewhere:
            return answer
    return None
