"""The offer of the embedded model, then its download; it takes no keys from the prompt."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from textual.content import Content
from textual.widgets import Static

from tau.display import one_line
from tau.tui.fit import shorten_path, size
from tau.tui.key_line import action_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tau.models.embedded.sources import Progress
    from tau.models.embedded.weights import Weights
    from tau.tui.keys import Keys

QUIET = "$quiet"
ROOM = 24
"""Cells of a bar."""
STOP = "stop; what is downloaded is kept"
SKIP = "skip this; the first answer then takes longer"
PHASES = {
    "downloading": "Downloading",
    "verifying": "Verifying",
    "waiting": "Waiting for another tau that installs",
    "copying": "Copying",
}


class Offer(Static):
    """Some lines above the prompt.

    Args:
        keys: The keys in force.
    """

    def __init__(self, keys: Keys, *, id: str | None = None) -> None:  # noqa: A002  (textual's own name)
        super().__init__("", id=id, markup=False)
        self._keys = keys
        self.offered: Sequence[Weights] = ()
        self.installing = ""
        self._began = 0.0
        self._shown = 0.0

    def offer(self, weights: Sequence[Weights], folder: str) -> None:
        """Offer these weights, the recommended ones first."""
        self.offered = weights
        self.installing = ""
        first = weights[0]
        lines = [
            Content.assemble(("No model is set up. ", "bold"), "One can run here, without an account:"),
            Content.assemble(
                one_line(first.title), (f" · {size(first.size)} · {one_line(first.licence)}", QUIET)
            ),
            Content.assemble((f"kept in {shorten_path(one_line(folder))}", QUIET)),
        ]
        keys = [("accept-model", f"download {size(first.size)}")]
        keys += [("smaller-model", f"the smaller one, {size(other.size)}") for other in weights[1:2]]
        keys.append(("decline-model", "not now"))
        self.update(Content("\n").join([*lines, action_line(self._keys, keys)]))
        self.display = True

    def begin(self, weights: Weights) -> None:
        """The download begins."""
        self.installing = weights.name
        self._began, self._shown = monotonic(), 0.0
        self._write(f"Preparing to download {one_line(weights.title)}", "", keys=STOP)

    def progress(self, now: Progress) -> None:
        """Show how far it is; at most five times a second."""
        if monotonic() - self._shown < 0.2 and now.done < now.total:
            return
        self._shown = monotonic()
        share = 100 * now.done // now.total if now.total else 0
        done = ROOM * share // 100
        phase = PHASES.get(now.phase, now.phase.capitalize())
        seconds = monotonic() - self._began
        pace = f" · {size(now.done / seconds)}/s" if now.phase == "downloading" and seconds > 2 else ""
        figures = f" {share} % · {size(now.done)} of {size(now.total)}{pace}"
        self._write(f"{phase} {self.installing}", figures, "━" * done, "━" * (ROOM - done), keys=STOP)

    def get_ready(self, share: float | None = None) -> None:
        """The weights are there; the model is being loaded, or has read this share of its instructions."""
        if share is None:
            self._write(f"Getting ready… starting {self.installing}", "", keys=SKIP)
        else:
            done = round(ROOM * share)
            figures = f" {100 * share:.0f} %"
            self._write(
                "Getting ready… reading its instructions",
                figures,
                "━" * done,
                "━" * (ROOM - done),
                keys=SKIP,
            )

    def prepare(self) -> None:
        """The conversation takes the model up."""
        self._write("Getting ready…", "")

    def close(self) -> None:
        """Take the offer away."""
        self.offered = ()
        self.installing = ""
        self.display = False

    def _write(self, title: str, figures: str, done: str = "", rest: str = "", *, keys: str = "") -> None:
        first = Content.assemble((title, "bold"), "  ", (done, "$accent"), (rest, "$faint"), (figures, QUIET))
        second = action_line(self._keys, [("decline-model", keys)])
        self.update(Content("\n").join([first, second]) if keys else first)
        self.display = True
