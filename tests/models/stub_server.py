"""A small HTTP server on loopback that records what it is asked and answers as a test tells it to."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[["Exchange"], None]


@dataclass
class Seen:
    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


class Exchange:
    """One request being answered."""

    def __init__(self, handler: BaseHTTPRequestHandler, seen: Seen) -> None:
        self._handler = handler
        self.seen = seen

    def json(self, value: Any, status: int = 200) -> None:
        self.text(json.dumps(value), status, "application/json")

    def text(self, text: str, status: int = 200, kind: str = "text/html") -> None:
        content = text.encode()
        self._handler.send_response(status)
        self._handler.send_header("Content-Type", kind)
        self._handler.send_header("Content-Length", str(len(content)))
        self._handler.end_headers()
        self._handler.wfile.write(content)

    def start_stream(self, kind: str = "text/event-stream") -> None:
        self._handler.send_response(200)
        self._handler.send_header("Content-Type", kind)
        self._handler.send_header("Transfer-Encoding", "chunked")
        self._handler.end_headers()

    def chunk(self, text: str | bytes) -> None:
        content = text.encode() if isinstance(text, str) else text
        self._handler.wfile.write(f"{len(content):x}\r\n".encode() + content + b"\r\n")
        self._handler.wfile.flush()

    def event(self, value: Any, name: str = "") -> None:
        self.chunk((f"event: {name}\n" if name else "") + f"data: {json.dumps(value)}\n\n")

    def end_stream(self) -> None:
        self._handler.wfile.write(b"0\r\n\r\n")

    def break_off(self) -> None:
        """Close the connection in the middle of a stream."""
        self._handler.close_connection = True


@dataclass
class Stub:
    """A running server. `answers` maps a path (without its query) to what answers it."""

    port: int = 0
    seen: list[Seen] = field(default_factory=list)
    answers: dict[str, Answer] = field(default_factory=dict)
    released: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def asked(self, path: str) -> Seen:
        """The newest request for a path."""
        return next(seen for seen in reversed(self.seen) if seen.path.split("?")[0] == path)


@contextmanager
def serving() -> Iterator[Stub]:
    stub = Stub()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
            pass

        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            content = self.rfile.read(length)
            headers = {name.lower(): value for name, value in self.headers.items()}
            seen = Seen(self.command, self.path, headers, json.loads(content) if content else None)
            stub.seen.append(seen)
            answer = stub.answers.get(self.path.split("?")[0])
            exchange = Exchange(self, seen)
            if answer is None:
                exchange.json({"error": {"message": f"nothing at {self.path}"}}, 404)
            else:
                answer(exchange)

        do_GET = do_POST = _answer  # noqa: N815 - the names the base class looks for

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    stub.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield stub
    finally:
        stub.released.set()
        server.shutdown()
        thread.join()
        server.server_close()
