"""``tau model``: install, list and remove the weights of the embedded model."""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tau.errors import NoModel, TauError, UsageError

if TYPE_CHECKING:
    from tau.config.settings import Places
    from tau.models.embedded.sources import Progress
    from tau.models.embedded.weights import Weights


@click.group()
def model() -> None:
    """Install, list and remove the weights of the embedded model."""


@model.command()
@click.argument("name", required=False)
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Take this file instead of downloading; it must be these very weights.",
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option("--if-needed", is_flag=True, help="Only when no other model is ready.")
def install(name: str | None, source: Path | None, yes: bool, if_needed: bool) -> None:
    """Install weights: NAME, or those that suit this machine. An interrupted download is resumed."""
    from tau.models.embedded import install as installer
    from tau.models.embedded import weights as known

    if if_needed and not _is_needed():
        return
    places = _places()
    weights = known.find(name) if name else known.recommended(places)
    if path := known.installed(weights, places):
        click.echo(f"{weights.name} is installed at {path}.")
        return
    click.echo(
        f"{weights.name}: {weights.title}, {known.size_text(weights.size)}, licence {weights.licence};"
        f" takes about {known.size_text(weights.memory)} of memory. It goes to {known.folder(places)}.",
        err=True,
    )
    _ask(f"Install {weights.name}?", yes)
    meter = _Meter()
    try:
        path = installer.install(weights, places, source=source, progress=meter)
    except KeyboardInterrupt:
        meter.end()
        click.echo("Stopped. What was downloaded is kept; run it again to go on.", err=True)
        raise
    except BaseException:
        meter.end()
        raise
    meter.end()
    click.echo(f"{weights.name} is installed at {path}.")
    _read_prompts(weights)


@model.command("list")
def list_weights() -> None:
    """List weights that are installed or can be."""
    from tau.models.embedded import weights as known

    places = _places()
    taken = known.recommended(places)
    for weights in known.catalogue():
        state = _state(weights, places)
        role = "default" if weights.name == taken.name else "" if weights.chat else "for tests"
        columns = f"{weights.name:<20} {known.size_text(weights.size):>8}  {weights.licence:<10}  {state}"
        click.echo(f"{columns} · {role}" if role else columns)


@model.command()
@click.argument("name")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
def remove(name: str, yes: bool) -> None:
    """Remove the weights NAME and what an interrupted installation left of them."""
    from tau.models.embedded import weights as known

    places = _places()
    weights = known.find(name)
    if _state(weights, places) == "available":
        click.echo(f"{weights.name} is not installed.")
        return
    _ask(f"Remove {weights.name} from {known.folder(places)}?", yes)
    known.remove(weights, places)
    click.echo(f"{weights.name} was removed.")


def _read_prompts(weights: Weights) -> None:
    """Have the model read what every conversation begins with; it is kept on disk for all of them."""
    click.echo("It reads its instructions once, so that answers come soon…", err=True)
    try:
        from tau.agent.first_reading import FirstReading
        from tau.cli.options import load_settings

        reading = FirstReading(load_settings(), weights.name)
        try:
            reading.run()
        finally:
            reading.close()
    except KeyboardInterrupt:
        click.echo("Stopped. The model can be used; its first answer takes longer.", err=True)
        raise
    except TauError as error:
        click.echo(f"It could not be tried: {error.line()}", err=True)


def _is_needed() -> bool:
    """Whether the default role finds no model; other troubles are for whoever uses the model to tell."""
    from tau.cli.options import load_settings
    from tau.models.registry import look

    try:
        look(load_settings(), "default", environ=os.environ)
    except NoModel:
        return True
    except TauError:
        return False
    return False


def _places() -> Places:
    from tau.config.places import resolve_places

    return resolve_places(os.environ)


def _state(weights: Weights, places: Places) -> str:
    from tau.models.embedded import weights as known

    if known.installed(weights, places):
        return "installed"
    kept = known.interrupted(weights, places)
    return f"interrupted at {100 * kept // weights.size} %" if kept else "available"


def _ask(question: str, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError(f"{question} Nobody is there to answer", "add --yes")
    if not click.confirm(question, default=True, err=True):
        click.echo("Nothing was changed.", err=True)
        raise click.exceptions.Exit(1)


class _Meter:
    """Shows progress on stderr: one line that is rewritten in a terminal, else a line for every tenth."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._phase = ""
        self._since = 0.0
        self._start = 0
        self._tenth = -1
        self._drawn = 0.0

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if progress.phase != self._phase:
            self.end()
            self._phase, self._since, self._start, self._tenth = progress.phase, now, progress.done, -1
        if self._live and now - self._drawn >= 0.1:
            self._drawn = now
            width = shutil.get_terminal_size().columns - 1
            click.echo(f"\r\x1b[K{self._text(progress, now)[:width]}", nl=False, err=True)
        tenth = 10 * progress.done // max(progress.total, 1)
        if not self._live and tenth != self._tenth:
            self._tenth = tenth
            click.echo(self._text(progress, now), err=True)

    def end(self) -> None:
        """Leave the rewritten line."""
        if self._live and self._phase:
            click.echo("", err=True)
        self._phase = ""

    def _text(self, progress: Progress, now: float) -> str:
        from tau.models.embedded.weights import size_text

        if progress.phase == "waiting":
            return "Waiting for another installation of the same weights…"
        share = progress.done / max(progress.total, 1)
        bar = "█" * round(share * 24) + "░" * (24 - round(share * 24))
        if "utf" not in (sys.stderr.encoding or "").lower():
            bar = "#" * round(share * 24) + "-" * (24 - round(share * 24))
        speed = (progress.done - self._start) / max(now - self._since, 0.1)
        source = f" from {progress.source}" if progress.source else ""
        return (
            f"{progress.phase.capitalize()} {bar} {share:4.0%}  {size_text(progress.done)} of"
            f" {size_text(progress.total)}, {size_text(int(speed))}/s{source}"
        )
