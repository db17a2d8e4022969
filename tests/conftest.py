"""What every test shares: no test sees the real home, and the installed command runs in a sealed one."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from tau import masking
from tau.config.settings import Places
from tau.memory import shipped
from tau.memory.places import SHARED, find, make_project
from tau.sessions.file import open_store
from tau.sessions.records import Message
from tau.sessions.store import StoreContext

if TYPE_CHECKING:
    from tests.terminal import Open, Terminal

TAU = str(Path(sys.executable).with_name("tau"))
"""The installed command."""

_PREFIXES = (
    "TAU_", "XDG_", "LC_", "AWS_", "ANTHROPIC_", "OPENAI_", "GEMINI_", "GOOGLE_", "OLLAMA_", "MISTRAL_",
    "COHERE_", "GROQ_", "LLAMA", "HF_", "TEXTUAL",
)  # fmt: skip
_NAMES = ("HOME", "LANG", "LANGUAGE", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "TERM", "PYTHONUTF8",
          "PYTHONIOENCODING", "PYTHONCOERCECLOCALE", "PAGER")  # fmt: skip


_YOUNG = 10_000
"""How many new objects there are before Python looks for garbage in the tests' own process."""

# The same examples each time: what lands does not depend on luck. HYPOTHESIS_PROFILE=search looks for others.
settings.register_profile("same", derandomize=True)
settings.register_profile("search", database=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

gc.disable()  # collecting tests makes many objects, and next to no garbage


def pytest_collection_finish() -> None:
    """Keep the thousands of collected tests out of each later search for garbage."""
    gc.freeze()
    gc.set_threshold(_YOUNG)
    gc.enable()


_LONGEST_ID = 60
"""Characters of a parameter that stand in the name of its test."""


def pytest_make_parametrize_id(val: object) -> str | None:
    """Cut texts that are long: each name is sent to each worker, and reported three times."""
    return f"{val[:_LONGEST_ID]!a}..." if isinstance(val, (str, bytes)) and len(val) > _LONGEST_ID else None


def sealed_environ(home: Path) -> dict[str, str]:
    """The environment of this process without anything of the person who runs the tests."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in _NAMES and not name.startswith(_PREFIXES) and not name.endswith("_API_KEY")
    }
    return {
        **kept,
        "HOME": str(home),
        "XDG_DATA_HOME": str(home / "share"),
        "XDG_STATE_HOME": str(home / "state"),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_CACHE_HOME": str(home / "cache"),
        "LC_ALL": "C.UTF-8",
        "TERM": "xterm-256color",
    }


@pytest.fixture(scope="session", autouse=True)
def _sealed_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Code that runs inside the tests' own process finds a home of the tests, too."""
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(sealed_environ(tmp_path_factory.mktemp("home")))
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(autouse=True)
def _nobodys_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one test gives for a key is an ordinary word in the next, as it is in another process."""
    monkeypatch.setattr(masking, "_values", set())


def with_memory_begun(config: Path, directory: Path) -> None:
    """Leave nothing to be handed over or made by the first conversation in a directory: its memory is empty.

    Args:
        config: The configuration directory; made where it is not there.
        directory: Where conversations work.
    """
    shared = config / SHARED
    shared.mkdir(parents=True, exist_ok=True, mode=0o700)
    names = sorted(path.name for path in shipped.FOLDER.glob("*.md"))
    (shared / shipped.SEEDED).write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    made = Places(data=config, state=config, config=config)
    make_project(find(directory, made), {SHARED: None})


@dataclass
class TauEnv:
    """A home, a data directory and a working directory of their own, and the installed command in them.

    Attributes:
        home: The home directory.
        directory: Where commands run.
        data: `TAU_DATA_DIR`.
        environ: The environment of commands; tests may change it.
    """

    home: Path
    directory: Path
    data: Path
    environ: dict[str, str] = field(default_factory=dict)

    @property
    def state(self) -> Path:
        """Where tau keeps what can be rebuilt."""
        return self.home / "state" / "tau"

    @property
    def user_config(self) -> Path:
        """The person's own tau.toml."""
        return self.home / "config" / "tau" / "tau.toml"

    @property
    def requests(self) -> Path:
        """The file in which the scripted model records what it was sent."""
        return self.home / "requests.jsonl"

    def configure(self, text: str) -> None:
        """Write the person's own tau.toml."""
        self.user_config.parent.mkdir(parents=True, exist_ok=True)
        self.user_config.write_text(text, encoding="utf-8")

    def scripted(self, *steps: dict[str, Any], more: str = "") -> None:
        """Make the file store and a scripted model the person's own configuration; memory is refined by hand.

        Args:
            steps: The script; the last step repeats.
            more: TOML that is added.
        """
        script = self.home / "script.json"
        script.write_text(json.dumps(steps), encoding="utf-8")
        self.configure(
            '[sessions]\nbackend = "file"\n[memory]\nrefine = "off"\n'
            f'[models.default]\nprovider = "scripted"\nscript = "{script}"\n'
            f'record = "{self.requests}"\n{more}'
        )

    def sent(self) -> list[dict[str, Any]]:
        """The requests the scripted model got, in order."""
        if not self.requests.exists():
            return []
        return [json.loads(line) for line in self.requests.read_text(encoding="utf-8").splitlines()]

    def record(self, session_id: str, *said: str, **meta: str) -> Path:
        """Write a session of this directory into the file store, as `tau chat` leaves it; its folder.

        Args:
            session_id: The id.
            said: One text a message, the person's and the model's in turn.
            meta: More of what is known of it, such as its name.
        """
        store = open_store(StoreContext(data_dir=self.data, state_dir=self.state))
        about = {"directory": str(self.directory), "channel": "terminal", "title": said[0], **meta}
        with store.create(session_id, meta=about) as writer:
            for index, text in enumerate(said):
                message: Message = {"role": ("user", "assistant")[index % 2], "content": [{"text": text}]}
                writer.append(index, message)
        store.close()
        return self.data / "sessions" / session_id

    def run(
        self,
        *arguments: str,
        stdin: bytes | None = None,
        cwd: Path | None = None,
        timeout: float = 60,
        environ: dict[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run the installed command to its end; stdin is empty unless given. Output is read as UTF-8."""
        done = subprocess.run(
            [TAU, *arguments],
            input=stdin if stdin is not None else b"",
            capture_output=True,
            cwd=cwd or self.directory,
            env={**self.environ, **(environ or {})},
            timeout=timeout,
            check=False,
        )
        return subprocess.CompletedProcess(
            done.args, done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8")
        )

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
        """Start the installed command with pipes on stdin, stdout and stderr."""
        given = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        return subprocess.Popen([TAU, *arguments], cwd=self.directory, env=self.environ, **given)

    def sessions(self) -> Sequence[Path]:
        """The folders of the file store, oldest id first."""
        folder = self.data / "sessions"
        return sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []


def make_tau_env(root: Path) -> TauEnv:
    """A sealed home, data and working directory below `root`; nothing is configured."""
    home, directory, data = root / "home", root / "work", root / "data"
    home.mkdir()
    directory.mkdir()
    environ = {**sealed_environ(home), "TAU_DATA_DIR": str(data)}
    with_memory_begun(home / "config" / "tau", directory)
    return TauEnv(home=home, directory=directory.resolve(), data=data, environ=environ)


@pytest.fixture
def tau_env(tmp_path: Path) -> TauEnv:
    """A sealed home and the installed command in it; nothing is configured."""
    return make_tau_env(tmp_path)


@pytest.fixture
def terminal(tau_env: TauEnv) -> Iterator[Open]:
    """Opens the installed command in pseudo-terminals, in the sealed home."""
    from tests.terminal import Terminal

    opened: list[Terminal] = []

    def open_one(*arguments: str, command: str = TAU) -> Terminal:
        opened.append(Terminal(tau_env, *arguments, command=command))
        return opened[-1]

    yield open_one
    for one in opened:
        with contextlib.suppress(OSError):  # its end of the terminal is closed already
            one.process.close(force=True)
