"""Copies text with the system's own clipboard program where there is one, and says what happened."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Mapping, Sequence

TERMINAL_LIMIT = 74_994
"""Bytes of base64 that many terminals take in an OSC 52; with more, some copy nothing at all."""


def in_terminal(text: str) -> int:
    """How many bytes the text takes on its way to the terminal's clipboard, which is base64."""
    return -(-len(text.encode("utf-8", "replace")) // 3) * 4


def programs(environment: Mapping[str, str], platform: str) -> list[Sequence[str]]:
    """The clipboard programs that could work here, the likeliest first."""
    if platform == "darwin":
        return [["pbcopy"]]
    found: list[Sequence[str]] = []
    if environment.get("WAYLAND_DISPLAY"):
        found.append(["wl-copy"])
    if environment.get("DISPLAY"):
        found += [["xclip", "-selection", "clipboard"], ["xsel", "--clipboard", "--input"]]
    return found


async def copy_with_program(text: str) -> str:
    """Copy the text; the name of the program that took it, or empty when none did."""
    for program in programs(os.environ, sys.platform):
        if shutil.which(program[0]) is None:
            continue
        process = await asyncio.create_subprocess_exec(
            *program,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            await asyncio.wait_for(process.communicate(text.encode("utf-8", "replace")), 2)
        except TimeoutError:
            process.kill()
            continue
        if process.returncode == 0:
            return program[0]
    return ""
