"""Lays out what is in sight, so that a frame costs the same however much stands above it."""

from __future__ import annotations

from textual._compositor import Compositor, CompositorMap, ReflowResult
from textual.geometry import Size
from textual.scrollbar import ScrollBar
from textual.widget import Widget


class InSight(Compositor):
    """Textual's compositor, without the widgets that are scrolled out of sight.

    Textual visits every widget of the screen at each layout, which in a long transcript is most of a frame,
    and leaves a map of them behind as a reference cycle. It has a shorter way for scrolling, which is taken
    here for every layout; where a widget out of sight is, Textual works out when someone asks.
    """

    def __init__(self) -> None:
        super().__init__()
        self._on_screen: CompositorMap = {}
        self._places: dict[ScrollBar, float] = {}

    def reflow(self, parent: Widget, size: Size) -> ReflowResult:
        """Lay out the widgets in sight; those that came into sight count as shown."""
        known, before = self.widgets, self._on_screen
        exposed = self.reflow_visible(parent, size)
        resized = {
            widget
            for widget, place in self._on_screen.items()
            if widget in before and before[widget].region.size != place.region.size
        }
        return ReflowResult(hidden=known - self.widgets, shown=exposed, resized=resized)

    def reflow_visible(self, parent: Widget, size: Size) -> set[Widget]:
        """Lay out the widgets in sight after a scroll.

        Returns:
            Those that came into sight.
        """
        exposed = super().reflow_visible(parent, size)
        self._on_screen = self._visible_map or {}
        self._draw_moved_bars()
        return exposed

    @property
    def full_map(self) -> CompositorMap:
        """Where every widget is, also out of sight.

        Working that out, Textual forgets where those in sight were laid out. What is drawn again before the
        next layout would then stand where that puts it, and the layout would find nothing that moved.
        """
        places = super().full_map
        self._visible_map = self._on_screen
        return places

    def _draw_moved_bars(self) -> None:
        """Have bars drawn again that Textual moved as it laid out what follows its bottom: it draws none."""
        bars = [widget for widget in self._on_screen if isinstance(widget, ScrollBar)]
        for bar in bars:
            if self._places.get(bar) != bar.position:
                bar.refresh()
        self._places = {bar: bar.position for bar in bars}

    def clear(self) -> None:
        """Forget every widget."""
        super().clear()
        self._on_screen = {}
        self._places = {}
