"""The model roles as they are chosen from: what each stands for now, or what it is missing."""

from __future__ import annotations

import asyncio
import logging
import os

from tau.config.settings import Settings
from tau.conversation.state import ConversationState, ModelChoice
from tau.errors import TauError
from tau.models.info import ModelInfo
from tau.models.registry import choices, look

log = logging.getLogger(__name__)


async def looked_up(settings: Settings, state: ConversationState) -> list[ModelChoice]:
    """The roles with what is known of their models. Servers may be probed, on threads.

    Args:
        settings: The settings of this run.
        state: The conversation, which knows its own model.
    """
    roles = choices(settings)
    found = await asyncio.gather(*(asyncio.to_thread(_look, settings, role) for role, _, _ in roles))
    listed = []
    for (role, provider, model_id), looked in zip(roles, found, strict=True):
        current = role == state.role
        info = (state.model if current else None) or looked
        if isinstance(info, ModelInfo):
            price = (info.price.input, info.price.output) if info.price else None
            listed.append(
                ModelChoice(role, info.provider, info.model_id, current, info.context_window, price)
            )
        else:
            listed.append(ModelChoice(role, provider, model_id, current, problem=info))
    return listed


def _look(settings: Settings, role: str) -> ModelInfo | str:
    """What a role stands for, or in a line why it cannot be used."""
    try:
        return look(settings, role, environ=os.environ)
    except TauError as error:
        return error.line()
    except Exception as error:  # a library of a provider may raise anything
        log.warning("Role %s cannot be looked up", role, exc_info=error)
        return f"The provider cannot be asked ({type(error).__name__})"
