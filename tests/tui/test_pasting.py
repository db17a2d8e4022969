"""Images that are dropped on the terminal or pasted from the clipboard are mentioned, and go along."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

import pytest
from textual.events import Paste

from tests.conversation.test_images import png
from tests.input.test_clipboard_image import program
from tests.tui.conftest import Running, Start


@pytest.fixture
def picture_file(tmp_path: Path) -> Path:
    place = tmp_path / "pictures" / "my photo.png"
    place.parent.mkdir()
    place.write_bytes(png(4, 4))
    return place


async def paste(tau: Running, text: str) -> None:
    tau.screen.prompt.post_message(Paste(text))
    await tau.pilot.pause()


def images_sent(tmp_path: Path) -> int:
    request = json.loads((tmp_path / "requests.jsonl").read_text("utf-8").splitlines()[-1])
    return sum("image" in block for message in request["messages"] for block in message["content"])


@pytest.mark.parametrize("form", ["'{path}'", "{escaped}", "{escaped} ", "file://{quoted}"])
async def test_a_path_that_is_dropped_in_a_line_is_an_image_of_the_message(
    start: Start, tmp_path: Path, picture_file: Path, form: str
) -> None:
    path = str(picture_file)
    typed = form.format(path=path, escaped=path.replace(" ", "\\ "), quoted=quote(path))
    async with start() as tau:
        tau.screen.prompt.insert("look at")
        await paste(tau, typed)
        await tau.until(lambda: tau.screen.prompt.text == f'look at @"{path}" ', "the mention")
        await tau.pilot.press(*"now")
        assert tau.screen.prompt.text == f'look at @"{path}" now'
        await tau.turn("")
        assert "[Image: my photo.png" in tau.text()
    assert images_sent(tmp_path) == 1


async def test_any_other_path_stays_as_it_was_pasted(
    start: Start, tmp_path: Path, picture_file: Path
) -> None:
    (tmp_path / "a.txt").write_text("a")
    async with start() as tau:
        for text in (str(tmp_path / "a.txt"), f"{picture_file} and more", "/tmp", "plan.png"):
            tau.screen.prompt.empty()
            await paste(tau, text)
            await tau.until(lambda: not any(w.group == "pasted" for w in tau.app.workers), "looked at")
            assert tau.screen.prompt.text == text


async def test_the_image_of_the_clipboard_is_pasted(
    start: Start, tmp_path: Path, picture_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, "wl-paste", f'[ "$1" = --list-types ] && echo image/png || cat "{picture_file}"')
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    async with start() as tau:
        tau.screen.prompt.insert("what is")
        await tau.pilot.press("ctrl+v")
        await tau.until(lambda: "@" in tau.screen.prompt.text, "the mention")
        assert tau.screen.prompt.text.startswith("what is @/")
        await tau.turn("")
    assert images_sent(tmp_path) == 1


async def test_without_an_image_what_was_copied_is_pasted_or_it_is_said(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.delenv("DISPLAY", raising=False)
    async with start() as tau:
        await tau.pilot.press("ctrl+v")
        await tau.shows("The clipboard cannot be read: there is no display here")
        program(tmp_path, "wl-paste", "echo text/plain")
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
        await tau.pilot.press("ctrl+v")
        await tau.shows("There is no image in the clipboard")
        tau.screen.prompt.insert("copied")
        await tau.pilot.press("ctrl+x", "ctrl+v")
        await tau.until(lambda: tau.screen.prompt.text.strip() == "copied", "what was cut out")


@pytest.mark.parametrize("key", ["backspace", "ctrl+w"])
async def test_the_mention_of_a_pasted_image_is_deleted_as_one(
    start: Start, tmp_path: Path, picture_file: Path, key: str
) -> None:
    mention = f'@"{picture_file}"'
    async with start() as tau:
        prompt = tau.screen.prompt
        prompt.insert("look at")
        await paste(tau, f"'{picture_file}'")
        await tau.until(lambda: prompt.text == f"look at {mention} ", "the mention")
        await tau.pilot.press("backspace", "left")
        assert prompt.cursor_location == (0, len("look at "))
        await tau.pilot.press("right", key)
        assert prompt.text == "look at "
        await tau.pilot.press("ctrl+z")
        assert prompt.text == f"look at {mention}"
        await tau.turn("")
    assert images_sent(tmp_path) == 1
