"""Records the run that docs/memory.md shows, from the scripted provider: python scripts/memory_run.py

What a model says is scripted; all else is what the installed commands print, with times made the same.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent.parent / "docs" / "memory.md"
BEGINS, ENDS = "<!-- recorded by scripts/memory_run.py -->\n```\n", "```\n<!-- end of what was recorded -->\n"

TAU = Path(sys.executable).parent / "tau"
DEADLINE = 60.0

Step = dict[str, Any]
Line = tuple[str, str]
"""What the person types, and how the line ends that is waited for before they type on."""


def record(root: Path) -> str:
    """Have a memory learned, refined, found wrong and undone two steps back; what a person sees of that.

    Args:
        root: An empty directory, for a home and a project.
    """
    run = Run(root)
    learned = {"label": "deploy", "content": "Deploy on Fridays.\nUse make deploy.\n"}
    run.chat(
        "one",
        [("Remember: we deploy on Fridays, with make deploy", "I will remember.")],
        says=[{"tools": [{"name": "remember", "input": learned}]}, {"text": "I will remember."}],
    )
    everywhere = {
        "file": "global/days.md",
        "action": "write",
        "sentence": "it holds for every project",
        "content": "Fridays are for deploying.\n",
    }
    ship = edit("Use make deploy.", "Use make ship.", "the target has another name")
    run.chat(
        "two",
        [
            ("The target is called ship now, and Fridays are for deploying in every project", "Noted."),
            ("/refine", "takes it back"),
        ],
        says=[{"text": "Noted."}],
        proposes=[ship, everywhere],
    )
    run.command("memory", "show", "deploy")
    decided = "Tell me when that is decided."
    wrong = "Then /refine undo takes the last change back, and once more the one before."
    run.chat(
        "three",
        [
            ("We may deploy on Mondays some day", decided),
            ("/refine", "takes it back"),
            ("That is wrong, nothing is decided; and ship was on a branch that is gone", wrong),
            ("/refine undo", "put back project/deploy.md"),
            ("/refine undo", "removed global/days.md"),
        ],
        says=[{"text": decided}, {"text": wrong}],
        proposes=[edit("Deploy on Fridays.", "Deploy on Mondays.", "another day")],
    )
    run.command("memory", "show", "deploy")
    run.command("memory", "history")
    return run.text.rstrip() + "\n"


def edit(old: str, new: str, sentence: str) -> Step:
    """A change of the file that was learned."""
    return {"file": "project/deploy.md", "action": "edit", "sentence": sentence, "old": old, "new": new}


class Run:
    """Commands in a home of their own.

    Args:
        root: An empty directory.

    Attributes:
        text: What was typed and printed so far.
    """

    def __init__(self, root: Path) -> None:
        self._home, self._directory = root / "home", root / "quail"
        for each in (self._home, self._directory):
            each.mkdir()
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
        folders = {
            f"XDG_{kind}_HOME": str(self._home / kind) for kind in ("CONFIG", "DATA", "STATE", "CACHE")
        }
        self._environ = {**kept, **folders, "HOME": str(self._home), "PYTHONUTF8": "1"}
        self._configure([{"text": "Hello."}], [])
        self._run("chat", typed="Hello\n")  # what comes with tau is handed over once, and told
        self.text = ""

    def command(self, *arguments: str) -> None:
        """Run a command to its end."""
        self._add(f"$ tau {' '.join(arguments)}\n{self._run(*arguments)}\n")

    def _run(self, *arguments: str, typed: str = "") -> str:
        done = subprocess.run(
            [TAU, *arguments],
            cwd=self._directory,
            env=self._environ,
            input=typed.encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=DEADLINE,
            check=True,
        )
        return done.stdout.decode()

    def chat(
        self, name: str, typed: Sequence[Line], *, says: Sequence[Step], proposes: Sequence[Step] = ()
    ) -> None:
        """Talk in a new session.

        Args:
            name: What it is called.
            typed: What the person types.
            says: What the model says.
            proposes: The operations of each refinement.
        """
        self._configure(says, proposes)
        process = subprocess.Popen(
            [TAU, "chat", "--name", name],
            cwd=self._directory,
            env=self._environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        self._add(f"$ tau chat --name {name}\n")
        for line, end in typed:
            self._add(f"> {line}\n")
            process.stdin.write(f"{line}\n".encode())
            process.stdin.flush()
            self._read(process, end)
        process.stdin.close()
        rest = process.stdout.read().decode()
        self._add(f"{rest}\n")
        if process.wait(DEADLINE):
            raise SystemExit(f"tau chat failed:\n{self.text}")

    def _read(self, process: subprocess.Popen[bytes], end: str) -> None:
        assert process.stdout is not None
        for raw in process.stdout:
            line = raw.decode()
            self._add(line)
            if line.rstrip().endswith(end):
                return
        raise SystemExit(f"tau chat ended before {end!r}:\n{self.text}")

    def _configure(self, says: Sequence[Step], proposes: Sequence[Step]) -> None:
        folder = self._home / "CONFIG" / "tau"
        folder.mkdir(parents=True, exist_ok=True)
        script, side = folder / "says.json", folder / "proposes.json"
        script.write_text(json.dumps(says), "utf-8")
        side.write_text(json.dumps([{"text": json.dumps({"operations": proposes})}]), "utf-8")
        (folder / "tau.toml").write_text(
            '[memory]\nrefine = "off"\n'
            f'[models.default]\nprovider = "scripted"\nscript = "{script}"\nside_script = "{side}"\n',
            "utf-8",
        )

    def _add(self, text: str) -> None:
        text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "2026-11-30 10:15 UTC", text)
        self.text += re.sub(r"\b\d+ ms\b", "2 ms", text)


def page(text: str, run: str) -> str:
    """The page with a run in the place of the one that it shows."""
    before, _, rest = text.partition(BEGINS)
    _, _, after = rest.partition(ENDS)
    return before + BEGINS + run + ENDS + after


def main() -> None:
    """Record the run anew, and put it into the page."""
    with tempfile.TemporaryDirectory() as root:
        run = record(Path(root).resolve())
    PAGE.write_text(page(PAGE.read_text("utf-8"), run), "utf-8")
    print(run, end="")


if __name__ == "__main__":
    main()
