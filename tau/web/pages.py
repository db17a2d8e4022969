"""What the server hands out: the app's page, the one that takes the key, the one that refuses; the headers.

Everything comes from this machine, and from a short list of files.
"""

from __future__ import annotations

import html
import json
import secrets
from pathlib import Path
from typing import NamedTuple

import textual_serve
from aiohttp import web

_OURS = Path(__file__).with_name("static")
_THEIRS = Path(textual_serve.__file__).with_name("static")


class _File(NamedTuple):
    path: Path
    content_type: str


FILES = {
    "page.js": _File(_OURS / "page.js", "text/javascript"),
    "page.css": _File(_OURS / "page.css", "text/css"),
    "textual.js": _File(_THEIRS / "js" / "textual.js", "text/javascript"),
    "xterm.css": _File(_THEIRS / "css" / "xterm.css", "text/css"),
    "mono.ttf": _File(_THEIRS / "fonts" / "RobotoMono-VariableFont_wght.ttf", "font/ttf"),
    "mono-italic.ttf": _File(_THEIRS / "fonts" / "RobotoMono-Italic-VariableFont_wght.ttf", "font/ttf"),
}
"""The only files there are, by their names below ``/static/``."""

_NOTHING_ELSE = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": _NOTHING_ELSE,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), clipboard-read=(), display-capture=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "Server": "tau",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""What every answer has, unless it says otherwise itself."""

_SMALL = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>tau</title>
<p style="font: 16px/1.5 monospace; margin: 3em; max-width: 40em">{text}</p>{script}</html>
"""


def app_page(host: str) -> web.Response:
    """The page that shows the app.

    Args:
        host: The server as the browser names it; it may be connected to, and nothing else.
    """
    policy = (
        f"{_NOTHING_ELSE}; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self'; "
        f"img-src 'self' data:; connect-src 'self' ws://{host}"
    )  # the terminal makes style elements as it goes
    text = (_OURS / "page.html").read_text(encoding="utf-8")
    return web.Response(text=text, content_type="text/html", headers={"Content-Security-Policy": policy})


def key_page(key: str) -> web.Response:
    """The page that keeps the key and goes on to the app, so that the token is in no history."""
    nonce = secrets.token_urlsafe(16)
    script = (
        f"<script nonce='{nonce}'>localStorage.setItem('tau-key', {json.dumps(key)});"
        "location.replace('/');</script>"
    )
    policy = f"{_NOTHING_ELSE}; script-src 'nonce-{nonce}'; style-src 'unsafe-inline'"
    text = _SMALL.format(text="Opening tau…", script=script)
    return web.Response(text=text, content_type="text/html", headers={"Content-Security-Policy": policy})


def refusal_page(text: str, status: int = 403) -> web.Response:
    """A page that says why not, and what to do."""
    policy = f"{_NOTHING_ELSE}; style-src 'unsafe-inline'"
    return web.Response(
        text=_SMALL.format(text=html.escape(text), script=""),
        content_type="text/html",
        status=status,
        headers={"Content-Security-Policy": policy},
    )


def static_file(name: str) -> web.StreamResponse:
    """One of `FILES`.

    Raises:
        HTTPNotFound: There is none of that name.
    """
    file = FILES.get(name)
    if file is None:
        raise web.HTTPNotFound
    return web.FileResponse(file.path, headers={"Content-Type": file.content_type})
