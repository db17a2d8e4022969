"""The command line: parse, compose, choose a channel, and map every failure to one line and an exit code.

Exit codes: 0; 1 a turn or command failed; 2 usage or configuration; 130 SIGINT; 143 SIGTERM; 129 SIGHUP.
"""

from __future__ import annotations

from tau.ending import EndsAtOnce


def main() -> int:
    """Run the command line and return its exit code."""
    with EndsAtOnce() as ending:
        from tau.cli.root import run

        return run(ending)
