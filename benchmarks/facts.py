"""Facts that a conversation states and a compaction must not lose: eleven, and any number more."""

from __future__ import annotations

import random
from dataclasses import dataclass

SUMMARY = "The conversation went on."
"""A summary that keeps nothing."""


@dataclass(frozen=True)
class Fact:
    """Something that a person says once.

    Attributes:
        said: The message in which it is stated.
        values: What must be found again to the letter.
        question: What is asked for it later; its words find it in a search.
    """

    said: str
    values: tuple[str, ...]
    question: str


ELEVEN = (
    Fact(
        "Before I forget: the deploy key's fingerprint is SHA256:nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8."
        " The host will ask for it the first time.",
        ("SHA256:nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8",),
        "What is the fingerprint of the deploy key?",
    ),
    Fact(
        "Staging is a bit odd, somebody moved it last year. The staging database listens on port 5433 and is "
        "called ledger_staging, so do not take the defaults.",
        ("5433", "ledger_staging"),
        "Which port does the staging database listen on, and what is it called?",
    ),
    Fact(
        "We have some time. Our certificate expires on 2027-03-14, and I want this done well before.",
        ("2027-03-14",),
        "When does the certificate expire?",
    ),
    Fact(
        "Legal was clear about it: everything has to stay in eu-central-1 because of the contract.",
        ("eu-central-1",),
        "Which region does everything have to stay in?",
    ),
    Fact(
        "About the backups, nothing fancy there. The job keeps 14 daily and 8 weekly ones.",
        ("14 daily and 8 weekly",),
        "How many daily and weekly backups does the job keep?",
    ),
    Fact(
        "Anyone who wants access has to ask Priya Raghavan, our release manager. She answers the same day.",
        ("Priya Raghavan",),
        "Who is the release manager to ask for access?",
    ),
    Fact(
        "Somebody has reported it already, the ticket is QUAIL-482. Please mention it in the commit.",
        ("QUAIL-482",),
        "Which ticket is it?",
    ),
    Fact(
        "I had a quick look myself. It crashes in quail/jobs/nightly.py:88, right after the import.",
        ("quail/jobs/nightly.py:88",),
        "Where does it crash?",
    ),
    Fact(
        "You can see the effect on the dashboard at https://grafana.quail.example/d/9fk2/latency?from=now-7d,"
        " it is the second panel.",
        ("https://grafana.quail.example/d/9fk2/latency?from=now-7d",),
        "What is the address of the dashboard?",
    ),
    Fact(
        "Before every push I run pytest -x --timeout=30 tests/jobs and that is enough for me.",
        ("pytest -x --timeout=30 tests/jobs",),
        "Which command runs before every push?",
    ),
    Fact(
        "One more thing. We are pinned to quail-rates 1.62.3 until their fix is out.",
        ("1.62.3",),
        "Which version of quail-rates are we pinned to?",
    ),
)
"""A fingerprint, a port and a name, a date, a region, a retention pair, a person, a ticket, a place in a
file, an address, a command and a version, one a turn."""

_THINGS = """
    billing ledger search mail invoice export report session cache upload thumbnail gateway audit payroll
    metrics webhook import archive quota refund catalog checkout pricing identity consent
""".split()  # noqa: SIM905 - a list of quoted words is no easier to read
_PLACES = ("eu-central-1", "eu-west-3", "us-east-2", "ap-south-1", "sa-east-1", "ca-central-1", "me-south-1")
_FIRST = (
    "Ana",
    "Bram",
    "Chidi",
    "Dunja",
    "Emre",
    "Fiona",
    "Goran",
    "Hana",
    "Ivo",
    "Jonas",
    "Kaveh",
    "Lena",
    "Mira",
)
_LAST = (
    "Okafor",
    "Lindqvist",
    "Moreau",
    "Petrov",
    "Sato",
    "Varga",
    "Whitlock",
    "Yilmaz",
    "Zeman",
    "Amadi",
    "Borg",
)
_BEFORE = (
    "Thanks, that helps.",
    "Fine, go on.",
    "I looked it up for you.",
    "Good so far, let us keep the pace.",
    "Somebody asked me about this yesterday.",
    "This is only for later.",
)
_AFTER = (
    "Nothing else changes.",
    "Go on with what you were doing.",
    "We come back to it.",
    "The rest is as before.",
    "That should be enough.",
)


def facts(count: int, seed: int = 0) -> list[Fact]:
    """`count` facts of ten kinds in turn, each with values of its own; the same ones for the same seed."""
    rng = random.Random(seed)
    made: list[Fact] = []
    taken: set[str] = set()
    while len(made) < count:
        number = len(made)
        thing = f"{_THINGS[number // 10 % len(_THINGS)]} service"
        if number >= 10 * len(_THINGS):
            thing += f" {number // (10 * len(_THINGS)) + 1}"
        stated, value, question = _stated(number % 10, thing, rng)
        if value in taken:
            continue
        taken.add(value)
        made.append(Fact(f"{rng.choice(_BEFORE)} {stated} {rng.choice(_AFTER)}", (value,), question))
    return made


def _stated(kind: int, thing: str, rng: random.Random) -> tuple[str, str, str]:
    name = thing.replace(" ", "_")
    if kind == 0:
        value = str(rng.randrange(2_000, 60_000))
        return f"The {thing} listens on port {value}.", value, f"Which port does the {thing} listen on?"
    if kind == 1:
        value = f"20{rng.randrange(27, 40)}-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}"
        return (
            f"The license of the {thing} ends on {value}.",
            value,
            f"When does the license of the {thing} end?",
        )
    if kind == 2:
        value = f"{rng.getrandbits(40):010x}"[:9] + "7"
        return (
            f"The {thing} was last good at commit {value}.",
            value,
            f"At which commit was the {thing} last good?",
        )
    if kind == 3:
        value = f"{rng.choice(_FIRST)} {rng.choice(_LAST)}"
        return f"For the {thing} we always ask {value}, who wrote it.", value, f"Who wrote the {thing}?"
    if kind == 4:
        value = f"OPS-{rng.randrange(100, 9_999)}"
        return (
            f"The outage of the {thing} is in {value}.",
            value,
            f"In which ticket is the outage of the {thing}?",
        )
    if kind == 5:
        value = f"services/{name}/handlers_{rng.randrange(10, 99)}.py:{rng.randrange(10, 900)}"
        return f"The slow part of the {thing} is {value}.", value, f"Where is the slow part of the {thing}?"
    if kind == 6:
        value = f"https://wiki.quail.example/{name}/{rng.randrange(1_000, 99_999)}"
        return (
            f"How to restart the {thing} is described at {value}.",
            value,
            f"Where is the {thing}'s restart described?",
        )
    if kind == 7:
        value = f"{rng.choice(_PLACES)}{rng.choice('abc')}"
        value = f"{name}-{rng.randrange(10, 99)}.{value}"
        return f"The standby of the {thing} is {value}.", value, f"Which is the standby of the {thing}?"
    if kind == 8:
        value = f"{rng.randrange(1, 9)}.{rng.randrange(0, 40)}.{rng.randrange(0, 90)}"
        return f"We keep the {thing} at version {value}.", value, f"At which version do we keep the {thing}?"
    value = f"{rng.randrange(11, 999)} MB"
    return f"Uploads to the {thing} may have {value}.", value, f"How many MB may uploads to the {thing} have?"
