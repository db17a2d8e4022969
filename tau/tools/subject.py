"""What a tool says of itself to the gate, beside its tier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Subject:
    """What a call acts on, for the gate: the argument that names it, and how that is judged.

    ``command`` is a shell command, ``path`` a file or directory, ``url`` an address.
    """

    kind: Literal["command", "path", "url"]
    argument: str
