"""The image in the clipboard: read by the program that is there, kept in a private file."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tau.errors import UsageError
from tau.input.clipboard_image import KEPT_SECONDS, clipboard_image, keep_image
from tests.input.test_images import HEADS

PNG = HEADS["png"] + b"pixels\n"


def program(folder: Path, name: str, script: str) -> None:
    """A program of the clipboard, as a script on the path."""
    place = folder / name
    place.write_text(f"#!/bin/sh\n{script}\n")
    place.chmod(0o755)


@pytest.fixture
def bin_folder(tmp_path: Path) -> Path:
    (tmp_path / "image").write_bytes(PNG)
    folder = tmp_path / "bin"
    folder.mkdir()
    return folder


def environment(bin_folder: Path, **more: str) -> dict[str, str]:
    return {"PATH": f"{bin_folder}:/usr/bin:/bin", "IMAGE": str(bin_folder.parent / "image"), **more}


def test_wayland(bin_folder: Path) -> None:
    listed = 'if [ "$1" = --list-types ]; then echo text/plain; echo image/png; else'
    program(bin_folder, "wl-paste", f'{listed} [ "$*" = "--type image/png" ] && cat "$IMAGE"; fi')
    assert clipboard_image(environment(bin_folder, WAYLAND_DISPLAY="wayland-0"), "linux") == PNG


def test_x11_and_a_text(bin_folder: Path) -> None:
    ask = '[ "$*" = "-selection clipboard -out -target'
    script = f'{ask} TARGETS" ] && printf "TARGETS\\nimage/png\\n"; {ask} image/png" ] && cat "$IMAGE"; true'
    program(bin_folder, "xclip", script)
    assert clipboard_image(environment(bin_folder, DISPLAY=":0"), "linux") == PNG
    program(bin_folder, "xclip", "echo UTF8_STRING")
    assert clipboard_image(environment(bin_folder, DISPLAY=":0"), "linux") is None


def test_macos(bin_folder: Path) -> None:
    given = environment(bin_folder)
    program(bin_folder, "osascript", f"echo '«data PNGf{PNG.hex().upper()}»'")
    assert clipboard_image(given, "darwin") == PNG
    program(bin_folder, "pngpaste", "echo No image data found on the clipboard >&2; exit 1")
    assert clipboard_image(given, "darwin") == PNG, "the other one is asked as well"
    program(bin_folder, "pngpaste", '[ "$1" = - ] && cat "$IMAGE"')
    program(bin_folder, "osascript", "exit 1")
    assert clipboard_image(given, "darwin") == PNG


def test_what_is_no_image_is_none(bin_folder: Path) -> None:
    program(bin_folder, "wl-paste", "echo image/png")
    assert clipboard_image(environment(bin_folder, WAYLAND_DISPLAY="w"), "linux") is None


def test_without_a_program_or_a_display_that_is_said(bin_folder: Path) -> None:
    nowhere = {"PATH": str(bin_folder)}
    for given, platform, said in (
        ({}, "linux", "there is no display here"),
        ({"DISPLAY": ":0"}, "linux", "xclip is missing"),
        ({"DISPLAY": ":0", "WAYLAND_DISPLAY": "w"}, "linux", "wl-paste or xclip is missing"),
        ({}, "darwin", "pngpaste or osascript is missing"),
    ):
        with pytest.raises(UsageError, match=said):
            clipboard_image({**nowhere, **given}, platform)


def test_an_image_is_kept_in_a_private_file_for_a_while(tmp_path: Path) -> None:
    first = keep_image(PNG, tmp_path / "state")
    assert first.read_bytes() == PNG
    assert first.suffix == ".png"
    assert stat.S_IMODE(first.stat().st_mode) == 0o600
    assert stat.S_IMODE(first.parent.stat().st_mode) == 0o700
    assert keep_image(PNG, tmp_path / "state") == first
    old = first.stat().st_mtime - KEPT_SECONDS - 60
    os.utime(first, (old, old))
    second = keep_image(HEADS["gif"], tmp_path / "state")
    assert list(first.parent.iterdir()) == [second]
