"""Every key of a text field does in the prompt what it does in a text field, but for those named here."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.app import App, ComposeResult
from textual.widgets import TextArea

from tau.config.actions import BY_NAME, in_force_at
from tests.tui.conftest import Start

KEYS = sorted(key for binding in TextArea.BINDINGS for key in binding.key.split(","))  # type: ignore[union-attr]
"""All that textual gives its editor; a new one has to be looked at here."""

REPLACED = {
    "pageup": "scrolls the conversation; Ctrl+Home goes to the beginning of a long text",
    "pagedown": "scrolls the conversation; Ctrl+End goes to the end",
}

TEXT = "one two three\nfour five six\nseven eight nine"
AT = (1, 7)


class Plain(App[None]):
    """A text field of textual's, and nothing else."""

    def compose(self) -> ComposeResult:
        yield TextArea(TEXT, soft_wrap=True, tab_behavior="focus")


async def plainly(*keys: str) -> tuple[str, object, str]:
    """What the keys make of the text, of the selection and of the clipboard."""
    app = Plain()
    async with app.run_test(size=(100, 30)) as pilot:
        field = app.query_one(TextArea)
        field.move_cursor(AT)
        await pilot.press(*keys)
        await pilot.pause()
        return field.text, field.selection, app.clipboard


async def test_each_key_of_the_editor_works_in_the_prompt(start: Start) -> None:
    different = {}
    async with start(size=(100, 30)) as tau:
        prompt = tau.screen.prompt
        for key in KEYS:
            before: tuple[str, ...] = ()
            if key in ("ctrl+c", "super+c", "ctrl+x", "super+x", "backspace", "delete"):
                before = ("shift+left", "shift+left")
            elif key in ("ctrl+z", "super+z"):
                before = ("x", "left", "y")
            elif key in ("ctrl+y", "super+y"):
                before = ("x", "left", "y", "ctrl+z")
            elif key == "ctrl+v":
                before = ("shift+left", "shift+left", "ctrl+x", "home")
            expected = await plainly(*before, key)
            tau.app._clipboard = ""
            prompt.load_text(TEXT)
            prompt.move_cursor(AT)
            await tau.pilot.press(*before, key)
            await tau.pilot.pause()
            if (prompt.text, prompt.selection, tau.app.clipboard) != expected:
                different[key] = (prompt.text, prompt.selection, tau.app.clipboard), expected
            assert tau.app.screen is tau.screen, f"{key} opened something"
    assert set(different) == set(REPLACED), different


@pytest.mark.parametrize("key", sorted(REPLACED))
def test_what_is_replaced_is_said(key: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "tui.md").read_text("utf-8")
    (paragraph,) = [part for part in page.split("\n\n") if part.startswith("All the editing keys")]
    assert {"pageup": "PageUp", "pagedown": "PageDown"}[key] in paragraph


def test_no_key_of_ours_is_one_of_the_editors() -> None:
    ours = {key for name in in_force_at("prompt") for key in BY_NAME[name].keys}
    # Ctrl+C copies what is selected and Ctrl+V pastes, as in an editor; End, Up and Down are the editor's,
    # the last two until they can move no further
    assert ours & set(KEYS) == {*REPLACED, "ctrl+c", "ctrl+v", "end", "up", "down"}


async def test_alt_d_deletes_a_word_as_alt_delete_does(start: Start) -> None:
    async with start() as tau:
        for key in ("alt+d", "alt+delete"):
            tau.screen.prompt.load_text("one two")
            await tau.pilot.press("home", key)
            assert tau.screen.prompt.text == " two"


async def test_the_beginning_and_the_end_of_a_long_text(start: Start) -> None:
    async with start() as tau:
        tau.screen.prompt.load_text("a line\n" * 30 + "end")
        await tau.pilot.press("ctrl+end", "x", "ctrl+home", "y")
        assert tau.screen.prompt.text.startswith("ya line")
        assert tau.screen.prompt.text.endswith("endx")
