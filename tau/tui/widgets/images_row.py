"""The images that went along with a message, named under it."""

from __future__ import annotations

from tau.tui.widgets.blocks import LinesRow


class ImagesRow(LinesRow):
    """Labels of images, a line each."""

    NAME = "images"
