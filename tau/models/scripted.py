"""The provider ``scripted``: a model that answers from a JSON file, for tests, demos and plugin authors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tau.errors import ConfigError, ModelNotReady
from tau.models.provider import Ready, Request
from tau.models.script import read_script

if TYPE_CHECKING:
    from strands.models import Model


def check(request: Request) -> Ready:
    """Read the scripts and see that the record's folder is there.

    Raises:
        ConfigError: No ``script`` is named, or a script is broken; the message names file and step.
        ModelNotReady: A script or the record's folder is missing.
    """
    settings = request.settings
    if not settings.script:
        raise ConfigError(
            f"{request.table} has provider 'scripted' but no script", 'add script = "FILE.json"'
        )
    for name in (settings.script, settings.side_script):
        if name:
            read_script(request.path(name))
    if settings.record:
        record = request.path(settings.record)
        if not record.parent.is_dir():
            raise ModelNotReady(f"The folder of {request.table} record does not exist: {record.parent}")
    images = settings.params.get("images")
    return Ready(
        model_id=settings.model_id or "scripted",
        context_window=settings.context_window,
        images=images if isinstance(images, bool) else None,
    )


def build(request: Request, ready: Ready) -> tuple[Model, Model]:
    """The scripted model, and one for side calls: it reads ``side_script``, else goes on in ``script``."""
    from tau.models.scripted_model import Cursor, ScriptedModel

    settings = request.settings
    record = request.path(settings.record) if settings.record else None
    cursor = Cursor(read_script(request.path(settings.script or "")))
    side_cursor = Cursor(read_script(request.path(settings.side_script))) if settings.side_script else cursor
    return (
        ScriptedModel(cursor, model_id=ready.model_id, context_window=ready.context_window, record=record),
        ScriptedModel(
            side_cursor,
            model_id=ready.model_id,
            context_window=ready.context_window,
            record=record,
            side=True,
        ),
    )
