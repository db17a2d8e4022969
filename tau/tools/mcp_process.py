"""The command of a server of tools: started with little, spoken to by pipes, stopped with all it started."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import subprocess
from collections import deque
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Any, TypeAlias

import anyio
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter

from tau.display import one_line
from tau.tools import process_tree
from tau.tools.process_tree import MARK, ProcessTree

Streams: TypeAlias = tuple[Any, Any]
"""What the SDK's client reads messages from and writes them to."""

_NAMES = (
    "PATH", "HOME", "LANG", "TMPDIR", "USER", "LOGNAME", "SHELL", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY",
    "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy", MARK,
)  # fmt: skip
_PREFIXES = ("LC_", "XDG_")

_LONGEST_MESSAGE = 64 << 20
_LONGEST_LINE = 2_000
_KEPT_LINES = 20
_LOGGED_LINES = 200
_GRACE = 0.4
"""Seconds a command has to end by itself once its standard input is closed."""

_log = logging.getLogger(__name__)


def environment(environ: Mapping[str, str], more: Sequence[str]) -> dict[str, str]:
    """What a command is given of an environment: what any program needs, and the variables named."""
    return {
        name: value
        for name, value in environ.items()
        if name in _NAMES or name.startswith(_PREFIXES) or name in more
    }


class Command:
    """One run of a server's command.

    Args:
        name: The server's name, for the log.
        arguments: The command and its arguments.
        directory: Where it runs.
        environ: Its whole environment.

    Attributes:
        gone: Set when nothing more can come from it.
        ending: Once it is over: how it ended, if it did so by itself, and the last line of its standard error
            before it was stopped, if there is any, as a phrase.
    """

    def __init__(
        self, name: str, arguments: Sequence[str], *, directory: Path, environ: Mapping[str, str]
    ) -> None:
        self._name = name
        self._arguments = list(arguments)
        self._directory = directory
        self._environ = environ
        self._said: deque[str] = deque(maxlen=_KEPT_LINES)
        self._logged = 0
        self.gone = asyncio.Event()
        self.ending = ""

    @asynccontextmanager
    async def streams(self) -> AsyncGenerator[Streams, None]:
        """Start the command, and stop it and all it started at the end; its messages as streams.

        Raises:
            OSError: It cannot be started.
        """
        mark = process_tree.fresh_mark(self._environ)
        process = subprocess.Popen(
            self._arguments,
            cwd=self._directory,
            env={**self._environ, MARK: mark},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        tree = ProcessTree(process, mark)
        received_in, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        to_send, to_send_out = anyio.create_memory_object_stream[SessionMessage](0)
        tasks: list[asyncio.Task[None]] = []
        pipes = _Pipes()
        try:
            out = await pipes.reader(process.stdout, _LONGEST_MESSAGE)
            errors = await pipes.reader(process.stderr, _LONGEST_LINE)
            into = await pipes.writer(process.stdin)
            tasks += [
                asyncio.create_task(self._listen(errors)),
                asyncio.create_task(self._receive(out, received_in)),
                asyncio.create_task(self._send(to_send_out, into)),
            ]
            yield received, to_send
        finally:
            left_by_itself = self.gone.is_set()
            self.gone.set()
            for stream in (received_in, received, to_send, to_send_out):
                stream.close()
            if left_by_itself and tasks:
                await _ended(tree)
                await asyncio.wait(tasks, timeout=_GRACE)
            self.ending = self._ending(tree.exit_code if left_by_itself else None)
            pipes.end_input()
            await _ended(tree)
            await self._stop(tree)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            pipes.close()

    def _ending(self, code: int | None) -> str:
        ended = "" if code is None else f"exit code {code}" if code >= 0 else f"ended by signal {-code}"
        last = next((line for line in reversed(self._said) if line), "")
        return ", ".join(filter(None, (ended, last and f"last line on stderr: {last}")))

    async def _stop(self, tree: ProcessTree) -> None:
        left = await asyncio.to_thread(process_tree.stop, [tree])
        if left:
            pids = ", ".join(str(process.pid) for process in left)
            _log.warning("Processes of the MCP server %s are still alive: %s", self._name, pids)
        else:
            tree.reap()

    async def _receive(
        self, out: asyncio.StreamReader, into: anyio.abc.ObjectSendStream[SessionMessage | Exception]
    ) -> None:
        """Hand on what the command says, one message a line; what is no message is logged and dropped."""
        try:
            async for line in out:
                try:
                    message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValueError:
                    self._note(line, "MCP server %s, no message: %s")
                    continue
                await into.send(SessionMessage(message))
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            pass  # the session is over
        except ValueError:  # a line without end
            _log.warning("The MCP server %s wrote a message that is too long", self._name)
        finally:
            into.close()  # type: ignore[attr-defined]  # a memory stream, typed as any stream
            self.gone.set()

    async def _send(
        self, messages: anyio.abc.ObjectReceiveStream[SessionMessage], into: asyncio.StreamWriter
    ) -> None:
        try:
            async for message in messages:
                line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                into.write(line.encode("utf-8") + b"\n")
                await into.drain()
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            pass  # the command is gone, which its standard output tells, too

    async def _listen(self, errors: asyncio.StreamReader) -> None:
        """Keep the last lines of standard error."""
        with contextlib.suppress(OSError):
            while line := await _line(errors):
                self._said.append(self._note(line, "MCP server %s: %s"))

    def _note(self, line: bytes, form: str) -> str:
        """Log a line, unless there were very many, and return it as it can be shown."""
        text = one_line(line[:_LONGEST_LINE].decode("utf-8", "replace"))
        if text and self._logged <= _LOGGED_LINES:
            self._logged += 1
            more = "what follows is not logged" if self._logged > _LOGGED_LINES else ""
            _log.info(form, self._name, more or text)
        return text


async def _ended(tree: ProcessTree) -> None:
    """Give a command whose input has ended a moment to end by itself."""
    loop = asyncio.get_running_loop()
    end = loop.time() + _GRACE
    while not tree.has_ended() and loop.time() < end:
        await asyncio.sleep(0.01)


async def _line(stream: asyncio.StreamReader) -> bytes:
    """The next line, or a piece of one that is very long; empty at the end."""
    try:
        return await stream.readuntil(b"\n")
    except asyncio.IncompleteReadError as error:
        return error.partial
    except asyncio.LimitOverrunError:
        return await stream.read(_LONGEST_LINE)


class _Pipes:
    """The loop's ends of a process's pipes."""

    def __init__(self) -> None:
        self._read: list[asyncio.ReadTransport] = []
        self._written: list[asyncio.WriteTransport] = []

    async def reader(self, pipe: IO[bytes], limit: int) -> asyncio.StreamReader:
        """A pipe to read from, by lines of at most so many bytes."""
        stream = asyncio.StreamReader(limit=limit)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(stream), pipe
        )
        self._read.append(transport)
        return stream

    async def writer(self, pipe: IO[bytes]) -> asyncio.StreamWriter:
        """A pipe to write to."""
        loop = asyncio.get_running_loop()
        transport, protocol = await loop.connect_write_pipe(
            lambda: asyncio.streams.FlowControlMixin(loop=loop), pipe
        )
        self._written.append(transport)
        return asyncio.StreamWriter(transport, protocol, None, loop)

    def end_input(self) -> None:
        """Close what is written to, whatever is still on its way."""
        for transport in self._written:
            if not transport.is_closing():  # the other end may have closed it
                transport.abort()

    def close(self) -> None:
        """Close what is read from."""
        for transport in self._read:
            transport.close()
