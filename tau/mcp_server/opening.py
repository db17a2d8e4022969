"""Opens what is served, and closes it in order."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tau.config.settings import Settings
from tau.errors import TauError
from tau.mcp_server.offers import Offer, offers
from tau.mcp_server.past import Past
from tau.mcp_server.served_tasks import ServedTasks
from tau.sessions.catalog import Catalog
from tau.sessions.registry import open_store

_log = logging.getLogger(__name__)


@contextmanager
def opened(settings: Settings, *, everywhere: bool) -> Iterator[Sequence[Offer]]:
    """The tools of a directory; old tasks are put away meanwhile.

    Args:
        settings: The settings of the run, with the directory.
        everywhere: Whether the sessions of every directory are served.

    Raises:
        TauError: The record cannot be opened.
    """
    tasks = ServedTasks(settings)
    store = open_store(settings, channel="mcp")
    try:
        if not store.capabilities.persistent:
            _log.warning(
                '[sessions] backend = "%s" keeps no sessions beyond the process, so there are none to search',
                settings.sessions.backend,
            )
        catalog = Catalog(store, state_dir=settings.places.state)
        try:
            threading.Thread(target=_collect, args=[tasks], name="tau-mcp-collect", daemon=True).start()
            yield offers(Past(store, catalog, None if everywhere else settings.directory_text), tasks)
        finally:
            catalog.close()
    finally:
        store.close()


def _collect(tasks: ServedTasks) -> None:
    try:
        tasks.collect()
    except TauError as error:  # every call on tasks says it again
        _log.warning("%s", error.line())
