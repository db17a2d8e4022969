"""The output of a command as it comes: decoded, without secrets, within bounds, in a file when it is long."""

from __future__ import annotations

import codecs
import logging

from tau.masking import LONGEST, mask_content, settled
from tau.tools.context import ToolContext
from tau.tools.cutting import boundary
from tau.tools.refusals import os_reason
from tau.tools.spill import HEAD, TAIL, SpillFile, binary_line, left_out
from tau.tools.terminal_text import Overwritten, Unescaped

_log = logging.getLogger(__name__)

NOTES = 800
"""Characters that what is said about the output may have, below the size from which results are spilled."""

_LINE = 300
_CLUSTER = 64


class Output:
    r"""What a command writes, from its first byte to its last.

    The result is plain text: without escape sequences, of each line only what stands after its last ``\r``,
    bytes that are no UTF-8 as ``\xe9``, NUL as ``\x00``. What is too long for it goes as it is to a file.
    Memory is bounded by the size from which results are spilled.

    Args:
        tool: The tool's name, which becomes part of the file's.
        context: Where results are kept and from which size on; is granted the file.

    Attributes:
        size: Bytes so far.
    """

    def __init__(self, *, tool: str, context: ToolContext) -> None:
        self.size = 0
        self._tool = tool
        self._context = context
        self._room = context.context.spill_result_chars - NOTES
        self._head = min(HEAD, self._room - TAIL - _LINE)
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        self._secrets = _WithoutSecrets()
        self._unescaped = Unescaped()
        self._kept = Overwritten(self._room, TAIL + _CLUSTER)
        self._binary = False
        self._start: list[str] = []
        self._characters = self._longest = 0
        self._file: SpillFile | None = None
        self._lost = ""

    def feed(self, data: bytes) -> str:
        """Take what came. Returns what can be shown of it now; the end of an unfinished line may follow."""
        self.size += len(data)
        return self._take(self._secrets.feed(self._decoder.decode(data)))

    def settle(self) -> str:
        """Nothing more came for a moment. Returns the unfinished line, but for what may become a secret."""
        return self._take(self._secrets.settle())

    def finish(self) -> str:
        """Nothing more will come. Returns the last piece to be shown."""
        text = self._take(self._secrets.feed(self._decoder.decode(b"", final=True)) + self._secrets.rest())
        text += self._show(self._unescaped.rest())
        if self._file is not None:
            self._file.close()
        return text

    def text(self) -> str:
        """The result, which leaves `NOTES` below the size that is spilled; called once, after `finish`."""
        ends = self._kept.text()
        binary = binary_line(self.size) if self._binary else ""
        path = self._file.path if self._file is not None else None
        if ends.length <= self._room:
            whole = binary + ends.head
            if path is None:
                return whole
            return (
                f"{whole.rstrip()}\n[Escape sequences and overwritten lines are left out;"
                f" {path} has all {self._characters:,} characters.]"
            )
        head = boundary(ends.head[: self._head + _CLUSTER], self._head)
        tail = ends.tail[boundary(ends.tail, len(ends.tail) - TAIL) :]
        gone = ends.length - head - len(tail)
        line = left_out(gone, ends.length, self.size, path=path, lost=self._lost)
        return f"{binary}{ends.head[:head]}\n{line}\n{tail}"

    def _take(self, text: str) -> str:
        if not text:
            return ""
        plain = self._show(self._unescaped.feed(text))
        self._characters += len(text)
        self._longest += max(len(text), len(plain))
        self._keep(text)
        return plain

    def _show(self, plain: str) -> str:
        if "\0" in plain:
            self._binary = True
            plain = plain.replace("\0", "\\x00")
        self._kept.feed(plain)
        return plain

    def _keep(self, text: str) -> None:
        """Hold the text until there is too much for the result; then everything goes to the file."""
        if self._lost:
            return
        try:
            if self._file is not None:
                self._file.write(text)
                return
            self._start.append(text)
            if self._longest > self._room:
                self._file = SpillFile("".join(self._start), tool=self._tool, context=self._context)
                self._start.clear()
        except OSError as error:
            self._start.clear()
            self._lost = os_reason(error)
            _log.warning("The output of %s could not be kept: %s", self._tool, self._lost)


class _WithoutSecrets:
    """Masks secrets in text that comes in pieces, so that none is missed because it came in two."""

    _LONGEST_LINE = 4_096

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> str:
        """Whole lines, and of a very long one what no secret can go on behind."""
        self._held += text
        lines = max(self._held.rfind("\n"), self._held.rfind("\r")) + 1
        return self._up_to(len(self._held) if len(self._held) - lines > self._LONGEST_LINE else lines)

    def settle(self) -> str:
        """Of an unfinished line what no secret can go on behind: what may become one is still held."""
        return self._up_to(len(self._held))

    def rest(self) -> str:
        """What is held, at the end."""
        held, self._held = self._held, ""
        return mask_content(held)

    def _up_to(self, end: int) -> str:
        cut = settled(self._held[:end])
        if end - cut > LONGEST:
            cut = end
        text, self._held = self._held[:cut], self._held[cut:]
        return mask_content(text)
