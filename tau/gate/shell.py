"""Judges shell commands: what a command would run, and whether approved patterns cover it."""

from tau.gate.shell_command import Command
from tau.gate.shell_patterns import beyond, check_pattern, covers, mentions, offer
from tau.gate.shell_reading import Reading, read

__all__ = ["Command", "Reading", "beyond", "check_pattern", "covers", "mentions", "offer", "read"]
