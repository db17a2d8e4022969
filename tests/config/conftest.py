"""A home, a repository and a way to load the settings that hold in it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from tau.config.load import Loaded, load_settings
from tau.errors import ConfigError


@dataclass
class Desk:
    """A repository and the person's own files, with loading in this process.

    Attributes:
        repository: The project's root; it holds `.git`.
        data: `TAU_DATA_DIR`.
        user_file: The person's own tau.toml.
        environ: What is handed to the loader as the environment.
    """

    repository: Path
    data: Path
    user_file: Path
    environ: dict[str, str]

    @property
    def project_file(self) -> Path:
        return self.repository / "tau.toml"

    def user(self, text: str) -> Path:
        self.user_file.parent.mkdir(parents=True, exist_ok=True)
        self.user_file.write_text(text, encoding="utf-8")
        return self.user_file

    def project(self, text: str) -> Path:
        self.project_file.write_text(text, encoding="utf-8")
        return self.project_file

    def load(
        self, *, config: Path | None = None, profile: str | None = None, directory: Path | None = None
    ) -> Loaded:
        return load_settings(
            config=config, profile=profile, directory=directory or self.repository, environ=self.environ
        )

    def error(self, *, config: Path | None = None, profile: str | None = None) -> str:
        with pytest.raises(ConfigError) as caught:
            self.load(config=config, profile=profile)
        assert caught.value.exit_code == 2
        line = caught.value.line()
        assert "\n" not in line
        return line


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    home = tmp_path / "home"
    repository = tmp_path / "project"
    (repository / ".git").mkdir(parents=True)
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for kind in ("CONFIG", "STATE", "DATA"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(home / kind.lower()))
    data = tmp_path / "data"
    return Desk(
        repository=repository.resolve(),
        data=data,
        user_file=home / "config" / "tau" / "tau.toml",
        environ={"TAU_DATA_DIR": str(data)},
    )
