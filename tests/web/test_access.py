"""Nobody but the person's browser gets in: the token, the cookie, the key, the names, the pages of others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from tau.web.access import LOOPBACK_NAMES, Access
from tests.web.conftest import Serve, Visit
from tests.web.served import Visitor

if TYPE_CHECKING:
    from tests.conftest import TauEnv

PATHS = ["/", "/ws", "/alive", "/static/", "/static/textual.js", "/static/page.js", "/download/0", "/nothing"]
HOSTS = [
    "evil.example",
    "evil.example:80",
    "127.0.0.1.evil.example",
    "localhost:x",
    "[::2]:80",
    "a@localhost",
]
PAGES_OF_OTHERS: list[dict[str, Any]] = [
    {"headers": {"Origin": "http://evil.example"}},
    {"headers": {"Origin": "http://127.0.0.1:1"}},
    {"headers": {"Origin": "https://127.0.0.1"}},
    {"headers": {"Origin": "null"}},
    {"headers": {"Origin": ""}},
    {"protocols": ()},
    {"protocols": ("tau",)},
    {"protocols": ("tau", "A" * 43)},
]


async def test_nothing_is_open_without_the_cookie(serve: Serve) -> None:
    served = await serve()
    stranger = Visitor(served)
    for path in PATHS:
        answer, text = await stranger.get(path)
        assert answer.status == 403, path
        assert "has not been let in" in text
        assert not answer.cookies
    await stranger.close()


async def test_the_address_works_once(serve: Serve) -> None:
    served = await serve()
    first, second = Visitor(served), Visitor(served)
    wrong, _ = await second.get("/?token=" + "A" * 43)
    assert (wrong.status, bool(wrong.cookies)) == (403, False)
    answer = await first.use_door()
    assert answer.status == 200
    (cookie,) = answer.cookies.values()
    assert cookie["httponly"]
    assert cookie["samesite"] == "Strict"
    assert cookie["path"] == "/"
    assert served.url.query["token"] not in cookie.value
    again = await second.use_door()
    assert (again.status, bool(again.cookies), second.key) == (403, False, "")
    assert (await second.get("/"))[0].status == 403
    page, _ = await first.get("/")
    assert page.status == 200
    known, _ = await first.get(str(served.url.relative()))  # the person's own bookmark of it
    assert (known.status, known.headers["Location"]) == (303, "/")
    await first.close()
    await second.close()


async def test_no_secret_is_written_anywhere(serve: Serve, visit: Visit, tau_env: TauEnv) -> None:
    served = await serve("--verbose")
    visitor = await visit(served)
    screen = await visitor.screen()
    await screen.shows("Ready")
    token = served.url.query["token"]
    _, page = await visitor.get("/")
    assert token not in page
    assert visitor.key not in page
    await served.end()
    assert served.out.count(token) == 1
    kept = [path.read_bytes() for path in tau_env.home.parent.rglob("*") if path.is_file()]
    for secret in (token, visitor.key):
        assert secret not in served.err
        assert not any(secret.encode() in content for content in kept)


async def test_another_name_for_this_machine_is_refused(serve: Serve, visit: Visit) -> None:
    served = await serve()
    visitor = await visit(served)
    for host in HOSTS:
        answer, _ = await visitor.get("/", headers={"Host": host})
        assert answer.status == 421, host
    assert (await visitor.get("/", headers={"Host": "localhost:9000"}))[0].status == 200  # a tunnel


async def test_a_line_of_another_page_is_refused(serve: Serve, visit: Visit) -> None:
    served = await serve()
    visitor = await visit(served)
    for changes in PAGES_OF_OTHERS:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await visitor.connect(**changes)
        assert refused.value.status == 403, changes
    assert served.apps() == []


async def test_the_cookie_alone_or_the_key_alone_runs_nothing(serve: Serve, visit: Visit) -> None:
    served = await serve()
    visitor = await visit(served)
    other = Visitor(served)
    other.key = visitor.key
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await other.connect()
    assert refused.value.status == 403
    await other.close()
    for tab in ("", "../../x", "A" * 20, "a" * 41):
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await visitor.connect(tab)
        assert refused.value.status == 400
    assert served.apps() == []


async def test_what_every_answer_says_to_the_browser(serve: Serve, visit: Visit) -> None:
    served = await serve()
    visitor = await visit(served)
    for path in ("/", "/?token=x", "/static/page.js", "/static/mono.ttf", "/alive", "/nothing"):
        answer, _ = await visitor.get(path)
        headers = answer.headers
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Content-Security-Policy"].startswith("default-src 'none'; base-uri 'none'")
        assert "unsafe-eval" not in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
        assert headers["Cache-Control"] == "no-store"
        assert headers["Server"] == "tau"
    policy = (await visitor.get("/"))[0].headers["Content-Security-Policy"]
    assert "script-src 'self';" in policy
    assert f"connect-src 'self' ws://127.0.0.1:{served.page.port}" in policy


async def test_there_are_no_other_files(serve: Serve, visit: Visit) -> None:
    served = await serve()
    visitor = await visit(served)
    for path in (
        "/static/",
        "/static/page.html",
        "/static/..%2fserver.py",
        "/static/../server.py",
        "/download/x",
    ):
        answer, text = await visitor.get(path)
        assert answer.status == 404, path
        assert "page.js" not in text
    assert (await visitor.get("/static/textual.js"))[0].content_type == "text/javascript"
    _, page = await visitor.get("/")
    assert "http://www.w3.org" in page
    assert page.count("http") == page.count("http://www.w3.org") + page.count("http-equiv")


def test_names_where_others_can_reach_the_server() -> None:
    closed = Access(LOOPBACK_NAMES)
    assert [closed.is_our_host(host) for host in ("localhost", "LOCALHOST:1", "[::1]:8", "127.0.0.1")] == [
        True
    ] * 4
    assert not closed.is_our_host("10.0.0.7:80")
    open_ = Access({"box.lan"}, any_address=True)
    assert open_.is_our_host("10.0.0.7:80")
    assert open_.is_our_host("[fe80::1]")
    assert open_.is_our_host("box.lan:8000")
    assert not open_.is_our_host("evil.example")
    assert open_.is_our_page("http://box.lan:8000", "box.lan:8000")
    assert not open_.is_our_page("http://box.lan:8000", "box.lan:8001")
    assert not open_.is_our_page("http://evil.example", "evil.example")


def test_a_new_address_ends_the_one_before() -> None:
    access = Access(LOOPBACK_NAMES)
    assert access.trade("") is None
    first = access.new_token()
    second = access.new_token()
    assert access.trade(first) is None
    cookie = access.trade(second)
    assert cookie is not None
    assert access.knows(cookie)
    assert access.trade(second) is None
    assert not access.knows("")
