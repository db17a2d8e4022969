"""Keeps the SDK's tracer from writing out the whole history when nobody records a trace.

The tracer turns every message into JSON some five times a turn and then offers it to spans that record
nothing. A span that does record, because the person configured OpenTelemetry, still gets everything.
"""

from __future__ import annotations

from typing import Any

from opentelemetry.trace import Span
from strands.telemetry import tracer as sdk_tracer


class _OnlyWhenRecorded(sdk_tracer.Tracer):
    def _add_event_messages(self, span: Span, messages: Any) -> None:
        if span.is_recording():
            super()._add_event_messages(span, messages)

    def _add_system_prompt_event(self, span: Span, *args: Any, **kwargs: Any) -> None:
        if span.is_recording():
            super()._add_system_prompt_event(span, *args, **kwargs)


def install() -> None:
    """Make agents built from now on use it."""
    if not isinstance(sdk_tracer._tracer_instance, _OnlyWhenRecorded):
        sdk_tracer._tracer_instance = _OnlyWhenRecorded()  # type: ignore[assignment]  # declared as None there
