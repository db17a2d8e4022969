"""`tau web`: the full-screen app in a browser on this machine."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from tau.cli.options import conversation_options, given_config, given_profile, load_for, open_request, verbose
from tau.cli.output import say, tell
from tau.errors import TauError, UsageError

if TYPE_CHECKING:
    from tau.config.settings import Settings
    from tau.conversation.state import OpenRequest
    from tau.web.app_process import View

_PACKAGES = ("textual_serve", "aiohttp")

_START = "import sys; from tau.cli import main; sys.exit(main())"
"""What a tab's process runs; with ``-P`` no file of the working directory is taken for a module."""


def _size(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, int] | None:
    if value is None:
        return None
    width, _, height = value.partition("x")
    if not (width.isdecimal() and height.isdecimal()):
        raise click.BadParameter("give columns and rows, as in 80x24")
    return int(width), int(height)


@click.command()
@click.option("--open", "open_browser", is_flag=True, help="Open the address in your browser.")
@click.option(
    "--host", default="127.0.0.1", metavar="ADDRESS", show_default=True, help="Listen on this address."
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="N",
    help="Listen on this port; else a free one.",
)
@click.option(
    "--allow-network",
    is_flag=True,
    help="Let --host be an address that others can reach; nothing is encrypted.",
)
@click.option("--tab", hidden=True, callback=_size, help="Be the app of one tab, on pipes.")
@conversation_options
def web(
    *,
    tab: tuple[int, int] | None,
    host: str,
    port: int,
    open_browser: bool,
    allow_network: bool,
    **options: Any,
) -> int:
    """Serve the full-screen app to a browser on this machine.

    Prints an address that works once. Every tab of the browser is an app of its own. Ctrl-C ends it; every
    session is kept.
    """
    request = open_request("tui", read_only_ok=True, **options)
    if tab is not None:
        return _be_tab(request, tab)
    _need_packages()
    from tau.web.access import is_loopback
    from tau.web.browser import Opener
    from tau.web.server import Address, serve

    if not is_loopback(host):
        if not allow_network:
            raise UsageError(
                f"{host} can be reached by others, who would have your terminal",
                "from another machine: ssh -L 8000:127.0.0.1:8000, and --port 8000 here; "
                "--allow-network serves it all the same",
            )
        tell(f"others can reach {host}, and what goes to them is not encrypted")
    loaded = load_for("web")
    for line in (*loaded.warnings, *loaded.log_problems):
        tell(line)
    _look_up(loaded.settings, request)

    def tell_lines(text: str) -> None:
        for line in text.splitlines():
            tell(line.removeprefix("tau: "))

    opener = Opener(loaded.settings.places.state, tell) if open_browser else None
    return serve(Address(host, port), _Launch(request), opener=opener, say=say, tell=tell_lines)


class _Launch:
    """How the app is started for a tab, from the options of the command line.

    A name can be given to one session only, so the first tab gets it.

    Args:
        request: What the command line asks for.
    """

    def __init__(self, request: OpenRequest) -> None:
        self._request = request
        self._name = request.name
        self._shared = [
            *(["--verbose"] if verbose() else []),
            *([f"--config={config.absolute()}"] if (config := given_config()) else []),
            *([f"--profile={profile}"] if (profile := given_profile()) else []),
            *(["--bare"] if request.bare else []),
            *([f"--role={request.role}"] if request.role else []),
        ]

    def __call__(self, view: View, *, resume: str, fresh: bool) -> Sequence[str]:
        """The command of one tab; see `tau.web.tabs.Launch`."""
        request = self._request
        which: list[str] = []
        if resume:
            which = [f"--resume={resume}", "--all"]
        elif not fresh:
            if request.resume is not None:
                which.append(f"--resume={request.resume}" if request.resume else "--resume")
            if request.session_id is not None:
                which.append(f"--session={request.session_id}")
            if request.all_directories:
                which.append("--all")
            if self._name is not None:
                which.append(f"--name={self._name}")
                self._name = None
        size = f"--tab={view.width}x{view.height}"
        return [sys.executable, "-P", "-c", _START, "web", size, *self._shared, *which]


def _be_tab(request: OpenRequest, size: tuple[int, int]) -> int:
    if sys.stdin.isatty() or sys.stdout.isatty():
        raise UsageError("--tab is for the server", "leave it out")
    loaded = load_for(request.channel)
    from tau.web.tab import run_tab

    return run_tab(loaded.settings, request, size, warnings=[*loaded.warnings, *loaded.log_problems])


def _need_packages() -> None:
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        raise TauError(
            f"tau web needs the package '{missing[0]}', which is not installed",
            "pip install 'tau-terminal[web]'",
        )


def _look_up(settings: Settings, request: OpenRequest) -> None:
    """Say at once that there is no such session, and not only in the browser.

    Raises:
        SessionNotFound: There is nothing to resume, here or by that name.
        InvalidSessionId: The id is not a plain name.
    """
    if request.resume is None and request.session_id is None:
        return
    from tau.errors import SessionNotFound
    from tau.sessions.catalog import Catalog
    from tau.sessions.registry import open_store

    store = open_store(settings, channel="")
    catalog = Catalog(store, state_dir=settings.places.state)
    try:
        if request.resume is not None:
            everywhere = request.all_directories or settings.sessions.scope == "all"
            catalog.resolve(request.resume, directory=None if everywhere else settings.directory_text)
        elif request.session_id is not None:
            with suppress(SessionNotFound):  # it is made
                store.read(request.session_id).close()
    finally:
        catalog.close()
        store.close()
