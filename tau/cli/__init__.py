"""The command line: parse, compose, choose a channel, and map every failure to one line and an exit code.

Exit codes: 0; 1 a turn or command failed; 2 usage or configuration; 130 SIGINT; 143 SIGTERM; 129 SIGHUP.
"""

from __future__ import annotations

import gc

from tau.ending import EndsAtOnce

YOUNG = 200_000
"""How many new objects there are before Python looks for garbage: imports make many, and none of it."""


def main() -> int:
    """Run the command line and return its exit code."""
    gc.set_threshold(YOUNG)
    with EndsAtOnce() as ending:
        from tau.cli.root import run

        try:
            return run(ending)
        finally:
            gc.freeze()  # or the interpreter looks through everything before it ends, a tenth of a second
