"""A strands model whose failures mean the same whatever the provider: full, throttled, or as they are."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, TypeVar, cast

from pydantic import BaseModel
from strands.models import Model
from strands.types.content import Messages, SystemContentBlock
from strands.types.exceptions import ContextWindowOverflowException, ModelThrottledException
from strands.types.streaming import StreamEvent
from strands.types.tools import ToolSpec

from tau.models.failures import describe, is_out_of_quota, is_overflow, is_throttle

T = TypeVar("T", bound=BaseModel)


class TranslatedModel(Model):
    """Another model, with its overflow and throttling errors recognised by their text and status.

    Args:
        inner: The provider's model.
    """

    def __init__(self, inner: Model) -> None:
        self.inner = inner
        self._supports_structured_output = inner._supports_structured_output

    @property
    def config(self) -> Any:
        """The inner model's configuration, where strands looks for the model's name."""
        return self.inner.get_config()

    @property
    def stateful(self) -> bool:
        """As the inner model."""
        return self.inner.stateful

    def update_config(self, **model_config: Any) -> None:
        """As the inner model."""
        self.inner.update_config(**model_config)

    def get_config(self) -> Any:
        """As the inner model."""
        return self.inner.get_config()

    async def count_tokens(
        self,
        messages: Messages,
        tool_specs: list[ToolSpec] | None = None,
        system_prompt: str | None = None,
        system_prompt_content: list[SystemContentBlock] | None = None,
    ) -> int:
        """As the inner model."""
        return await self.inner.count_tokens(messages, tool_specs, system_prompt, system_prompt_content)

    async def stream(self, *args: Any, **kwargs: Any) -> AsyncGenerator[StreamEvent, None]:
        """As the inner model.

        Raises:
            ContextWindowOverflowException: The request does not fit.
            ModelThrottledException: The provider throttles or is briefly away, and has said nothing yet.
        """
        spoke = False
        events = cast("AsyncGenerator[StreamEvent, None]", self.inner.stream(*args, **kwargs))
        try:
            async with aclosing(events):
                async for event in events:
                    spoke = spoke or "contentBlockDelta" in event
                    yield event
        except Exception as error:
            translated = translate(error, spoke=spoke)
            if translated is error:
                raise
            raise translated from error

    async def structured_output(
        self, output_model: type[T], prompt: Messages, system_prompt: str | None = None, **kwargs: Any
    ) -> AsyncGenerator[dict[str, T | Any], None]:
        """As the inner model, with the errors of `stream`."""
        try:
            async for event in self.inner.structured_output(output_model, prompt, system_prompt, **kwargs):
                yield event
        except Exception as error:
            translated = translate(error, spoke=False)
            if translated is error:
                raise
            raise translated from error


def translate(error: Exception, *, spoke: bool) -> Exception:
    """The strands exception that says what `error` means, or the provider's own.

    Args:
        error: What the provider's model raised.
        spoke: Whether part of the reply was heard; such a call is not to be made again unasked.
    """
    cause = error.__cause__
    if isinstance(error, ModelThrottledException):
        if isinstance(cause, Exception) and is_out_of_quota(cause):
            return cause
        return error
    if isinstance(error, ContextWindowOverflowException):
        return error
    if is_overflow(error):
        return ContextWindowOverflowException(describe(error))
    if is_throttle(error) and not spoke:
        return ModelThrottledException(describe(error))
    return error
