"""Images dropped on a terminal: every form in which terminals type a path, and nothing that is a text."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

import pytest

from tau.input.images import Image, dropped_images, image_type

HEADS = {
    "png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    "jpeg": b"\xff\xd8\xff\xe0\0\x10JFIF",
    "gif": b"GIF89a\1\0\1\0",
    "webp": b"RIFF\x24\0\0\0WEBPVP8 ",
}


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    for name, kind in (
        ("a.png", "png"),
        ("my photo.jpg", "jpeg"),
        ("it's (1).gif", "gif"),
        ("no suffix", "webp"),
    ):
        (tmp_path / name).write_bytes(HEADS[kind])
    (tmp_path / "text.png").write_text("not an image")
    return tmp_path


def test_by_content_and_not_by_name(pictures: Path) -> None:
    assert image_type(pictures / "a.png") == "png"
    assert image_type(pictures / "no suffix") == "webp"
    assert image_type(pictures / "text.png") == ""
    assert image_type(pictures) == ""
    assert image_type(pictures / "missing") == ""
    assert image_type(Path("\0")) == ""
    os.mkfifo(pictures / "pipe.png")
    assert image_type(pictures / "pipe.png") == ""  # and does not wait for a writer


@pytest.mark.parametrize(
    "form",
    [
        "{path}",
        "{path} ",
        "'{path}'",
        '"{path}"',
        "{escaped}",
        "{escaped} ",
        "file://{quoted}",
        "file://localhost{quoted}\r\n",
        "file:{quoted}",
        "\n'{path}'\n",
    ],
)
def test_every_form_of_a_dropped_path(pictures: Path, form: str) -> None:
    path = str(pictures / "my photo.jpg")
    paste = form.format(path=path, escaped=path.replace(" ", "\\ "), quoted=quote(path))
    assert dropped_images(paste, Path("/")) == [Image(Path(path), "jpeg")]


def test_several_at_once(pictures: Path) -> None:
    wanted = [Image(pictures / "a.png", "png"), Image(pictures / "it's (1).gif", "gif")]
    first, second = (str(image.path) for image in wanted)
    escaped = second.replace(" ", "\\ ").replace("'", "\\'").replace("(", "\\(").replace(")", "\\)")
    assert dropped_images(f"{first} {escaped}", Path("/")) == wanted
    assert dropped_images(f'"{first}" "{second}"', Path("/")) == wanted
    assert dropped_images(f"file://{quote(first)}\nfile://{quote(second)}\n", Path("/")) == wanted
    assert dropped_images(f"{first}\n{second}", Path("/")) == wanted


def test_a_quote_in_single_quotes_as_shells_write_it(pictures: Path) -> None:
    path = str(pictures / "it's (1).gif")
    paste = "'" + path.replace("'", "'\\''") + "'"
    assert dropped_images(paste, Path("/")) == [Image(Path(path), "gif")]


def test_relative_and_home(pictures: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(pictures))
    assert dropped_images("a.png", pictures) == [Image(pictures / "a.png", "png")]
    assert dropped_images("~/a.png", Path("/")) == [Image(pictures / "a.png", "png")]


@pytest.mark.parametrize(
    "paste",
    [
        "",
        "hello",
        "look at a.png",
        "a.png and more",
        "a.png missing.png",
        "text.png",
        "'a.png",
        "a.png\0",
        "file://elsewhere/a.png",
        "file:a.png",
        "https://example.org/a.png",
        "\ud83d",
        "a.png " * 60,
        "x" * 600_000,
    ],
)
def test_anything_else_is_a_text(pictures: Path, paste: str) -> None:
    assert dropped_images(paste, pictures) == []
