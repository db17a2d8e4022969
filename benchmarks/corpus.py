"""Messages of the size and shape that a coding session has, the same ones for the same seed."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

WORDS = """
    the of and to in is for that with on as are this be by from it an at or was not which if return def class
    import error file path test value await session message tool result model agent write read line index
""".split()  # noqa: SIM905 - a list of quoted words is no easier to read
ACCENTED_WORDS = (
    WORDS
    + """
    le la les de des du et est dans une pour que qui pas sur avec ce au par plus il ne se en un vous nous
    der die und das den von zu mit sich auf ist im dem nicht ein eine als auch es an werden aus er hat dass
    fonction erreur ligne valeur commande texte session projet changement Funktion Fehler Zeile Wert Befehl
    été même après déjà modèle fichier créé répertoire où ça « » — … für können größe prüfen öffnen müssen
    “so” don’t 設定 ファイル ✓ 🎉
""".split()  # noqa: SIM905 - as above
)
"""French and German among the words of code, some typography, CJK and emoji: 1 letter in 20 is not ASCII."""

TURN = 4
"""Messages a turn: the prompt, a tool call, its result, the reply."""


def messages(count: int, seed: int = 0, words: Sequence[str] = WORDS) -> list[dict[str, Any]]:
    """`count` messages of 200 to 8,192 characters; one tool result in five has 50,000."""
    rng = random.Random(seed)
    pool = " ".join(rng.choice(words) + ("\n" if rng.random() < 0.08 else "") for _ in range(80_000))

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
