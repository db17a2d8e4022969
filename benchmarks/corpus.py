"""Messages of the size and shape that a coding session has, the same ones for the same seed."""

from __future__ import annotations

import math
import random
from typing import Any

WORDS = """
    the of and to in is for that with on as are this be by from it an at or was not which if return def class
    import error file path test value await session message tool result model agent write read line index
""".split()  # noqa: SIM905 - a list of quoted words is no easier to read
TURN = 4
"""Messages a turn: the prompt, a tool call, its result, the reply."""


def messages(count: int, seed: int = 0) -> list[dict[str, Any]]:
    """`count` messages of 200 bytes to 8 KB; one tool result in five has 50 KB."""
    rng = random.Random(seed)
    pool = " ".join(rng.choice(WORDS) + ("\n" if rng.random() < 0.08 else "") for _ in range(80_000))

    def text(size: int) -> str:
        begin = rng.randrange(len(pool) - size)
        return pool[begin : begin + size]

    made: list[dict[str, Any]] = []
    for index in range(count):
        size = int(math.exp(rng.uniform(math.log(200), math.log(8192))))
        call = f"tooluse_{index - index % TURN:08x}"
        place = index % TURN
        if place == 1:
            use = {"toolUseId": call, "name": "shell", "input": {"command": text(size)}}
            content: list[dict[str, Any]] = [{"text": text(120)}, {"toolUse": use}]
        elif place == 2:
            shown = text(50_000 if rng.random() < 0.2 else size)
            content = [{"toolResult": {"toolUseId": call, "status": "success", "content": [{"text": shown}]}}]
        else:
            content = [{"text": text(size)}]
        made.append({"role": "user" if place in (0, 2) else "assistant", "content": content})
    return made
