"""Guesses what a command that cannot be read may run, so that ``deny`` finds what hides in it.

No parser is used and no limit of the readers holds: the text is cut wherever a command may begin, once with
its quotes taken away and once with each quote as a cut. It finds too much rather than too little.
"""

from __future__ import annotations

import re

from tau.gate.shell_command import Command
from tau.gate.shell_runners import runs_others
from tau.gate.shell_words import OPENERS

_LONGEST = 256 * 1024  # characters; what stands behind them is not looked at
_MOST = 3000  # different commands
_MOST_WORDS = 24  # of one command
_CUT = re.compile(r"[;&|\n(){}`<>]+")
_CUT_AND_QUOTES = re.compile(r"[;&|\n(){}`<>'\"]+")
_QUOTES = re.compile(r"\\\n|[\\'\"$]")
_NO_NAME = re.compile(r"-.*|[A-Za-z_]\w*\+?=.*|[0-9]+", re.DOTALL)


def guesses(text: str) -> tuple[Command, ...]:
    """Commands that a text may run, each once, in time that grows with its length alone.

    Args:
        text: Of any length and content.
    """
    text = text[:_LONGEST]
    found: dict[tuple[str, ...], None] = {}
    for cut in (_CUT, _CUT_AND_QUOTES):
        for piece in cut.split(text):
            words = _QUOTES.sub("", piece).split(None, _MOST_WORDS)[:_MOST_WORDS]
            start = 0
            while start < len(words) and (words[start] in OPENERS or _NO_NAME.fullmatch(words[start])):
                start += 1
            for index in range(start, len(words)):
                if not words[index].startswith("-"):
                    found[tuple(words[index:])] = None
                if not runs_others(words[start]):
                    break
            if len(found) > _MOST:
                return tuple(Command(each, free=True) for each in found)
    return tuple(Command(each, free=True) for each in found)
