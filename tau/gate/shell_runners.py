"""Programs and builtins that run other commands, or change how later commands run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from tau.gate.shell_command import Command
from tau.gate.shell_words import SETTLED_OPTION

CHANGES_THE_SHELL = frozenset({
    ".", "alias", "bind", "compgen", "complete", "compopt", "coproc", "declare", "disown", "enable", "eval",
    "export", "fc", "getopts", "hash", "history", "jobs", "let", "local", "logout", "mapfile", "read",
    "readarray", "readonly", "set", "shopt", "source", "suspend", "trap", "typeset", "ulimit", "umask",
    "unalias", "unset",
})  # fmt: skip
RUNS_ANYTHING = frozenset({
    "R", "ash", "at", "batch", "busybox", "bwrap", "caffeinate", "chronic", "chroot", "chrt", "crontab",
    "csh", "dbus-launch", "dbus-run-session", "dc", "doas", "eatmydata", "ed", "elixir", "elvish", "emacs",
    "entr", "erl", "ex", "expect", "fakeroot", "faketime", "firejail", "fish", "flock", "gdb", "gnuplot",
    "gosu", "groovy", "guile", "hyperfine", "iex", "ionice", "ipython", "irb", "jshell", "julia", "ksh",
    "ksh93", "linux32", "linux64", "lldb", "ltrace", "m4", "mksh", "mosh", "mysql", "nano", "nc", "ncat",
    "netcat", "nsenter", "nu", "numactl", "nvim", "octave", "parallel", "perf", "pkexec", "proot", "psql",
    "pwsh", "racket", "rbash", "rlwrap", "run-parts", "runghc", "runuser", "rvim", "sbcl", "scala", "screen",
    "script", "setarch", "setpriv", "setsid", "sftp", "sg", "socat", "sqlite3", "ssh", "sshpass",
    "start-stop-daemon", "strace", "su", "sudo", "swift", "systemd-run", "taskset", "tcc", "tclsh", "tcsh",
    "tmux", "toybox", "unbuffer", "unshare", "valgrind", "vi", "view", "vim", "vimdiff", "watch", "xonsh",
    "yash", "zsh",
})  # fmt: skip
"""Programs that run other commands in ways of their own. They always ask; what they run is only guessed."""

RUNS_INPUT = "runs what it reads"
"""The end of the phrase that says that a command runs its input."""

MOST_LAUNCHERS = 3
"""How many programs that start the next one are followed in one command."""

SHELLS = frozenset({"bash", "dash", "sh"})
_INTERPRETER = re.compile(
    r"(bash|bun|dash|deno|lua|luajit|node|nodejs|osascript|perl|php|pypy|python|Rscript|ruby|sh)"
    r"[0-9.]*(-[a-z0-9]+)?"
)
LAUNCHERS = {
    "bundle": ("exec",), "bunx": (), "conda": ("run",), "direnv": ("exec",), "hatch": ("run",),
    "mise": ("exec", "x"),
    "npm": ("exec", "x"), "npx": (), "pdm": ("run",), "pipenv": ("run",), "pipx": ("run",),
    "pnpm": ("dlx", "exec"),
    "poetry": ("run",), "rye": ("run",), "uv": ("run",), "uvx": (), "xvfb-run": (), "yarn": ("dlx", "exec"),
}  # fmt: skip
"""Programs, and their subcommands if it takes one, that run the program named next."""

_TESTS = frozenset({"[", "test", "[["})
_FREE = frozenset({"true", "false", ":"}) | _TESTS
_CONTROL = frozenset({"exit", "break", "continue", "wait"})
_ARITHMETIC = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_EVALUATES = frozenset({"-v", "-R"})
_MOST_TEXTS = 24  # how many arguments are looked at as scripts
_IN_SCRIPTS = re.compile(r"[\s;&|`$()<>]")
_DURATION = re.compile(r"[0-9]+(\.[0-9]+)?[smhd]?")


@dataclass(slots=True)
class Look:
    """What a command does besides being itself.

    Attributes:
        free: It needs no approval of its own.
        inner: The commands that it runs; the words as given to it.
        scripts: Shell commands that it runs, as text.
        guesses: Commands that it may run; only ``deny`` looks at them.
        unclear: Why a person must look.
    """

    free: bool = False
    inner: list[Command] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)
    guesses: list[Command] = field(default_factory=list)
    unclear: list[str] = field(default_factory=list)


def is_interpreter(name: str) -> bool:
    """Whether a program runs the code that it is given or reads."""
    return _INTERPRETER.fullmatch(name) is not None


def runs_others(word: str) -> bool:
    """Whether a command's first word is a program or builtin that may run what its arguments name."""
    name = word.rpartition("/")[2]
    return (
        name in CHANGES_THE_SHELL
        or name in RUNS_ANYTHING
        or name in LAUNCHERS
        or name in _WRAPPERS
        or is_interpreter(name)
    )


def launched(words: Sequence[str]) -> int:
    """The index of the program that a launcher, such as ``uv run`` or ``python -m``, starts; else 0."""
    name = words[0].rpartition("/")[2]
    if name.startswith(("python", "pypy")) and is_interpreter(name) and tuple(words[1:2]) == ("-m",):
        return 2
    if name not in LAUNCHERS:
        return 0
    subcommands = LAUNCHERS[name]
    if not subcommands:
        return 1
    return 2 if len(words) > 1 and words[1] in subcommands else 0


def look(command: Command, depth: int = 0) -> Look:
    """See through a command that runs others, and say what cannot be seen through.

    Args:
        command: The command.
        depth: How many launchers it is behind.
    """
    name = command.name
    if 0 in command.loose:
        return _guessed(command, 1, "the command's name is computed")
    if name in CHANGES_THE_SHELL:
        found = _guessed(command, 1, f"{name} changes how later commands run")
        if name == "eval":
            found.scripts = [" ".join(command.words[1:])]
        return found
    if name in RUNS_ANYTHING:
        return _guessed(command, 1, f"{name} runs another command")
    if name in _FREE or name in _CONTROL:
        found = _test(command) if name in _TESTS else Look(free=name in _FREE or _counts(command))
    elif name in _WRAPPERS:
        found = _WRAPPERS[name](command)
    elif start := launched(command.words):
        found = _launch(command, start, depth)
    elif is_interpreter(name):
        found = _interpreter(command)
    else:
        found = Look()
    if command.words[0] not in (name, f"/bin/{name}", f"/usr/bin/{name}"):
        found.free = False  # a program of this name somewhere else may be anything
    return found


def _from(command: Command, start: int, *, more: bool = False) -> Command:
    """The command that begins at a word of another."""
    return Command(
        command.words[start:],
        frozenset(index - start for index in command.loose if index >= start),
        more or command.more,
    )


def _suffixes(command: Command, start: int) -> list[Command]:
    """Every command that may begin at a word, for programs whose options are not known."""
    return [
        _from(command, index)
        for index in range(start, min(len(command.words), start + 12))
        if not command.words[index].startswith("-")
    ]


def _through(command: Command, start: int) -> Look:
    """A wrapper without an effect of its own, whose command begins at `start`."""
    if start >= len(command.words):
        return Look(unclear=[f"{command.name} has no command"])
    if command.words[start].startswith("-"):
        return _strange(command, 1, "has options that are not known")
    return Look(free=True, inner=[_from(command, start)])


def _strange(command: Command, start: int, what: str) -> Look:
    return _guessed(command, start, f"{command.name} {what}")


def _guessed(command: Command, start: int, why: str) -> Look:
    return Look(unclear=[why], guesses=_suffixes(command, start), scripts=_texts(command.words[start:]))


def _texts(words: Sequence[str]) -> list[str]:
    """What may be a script among arguments: a whole word, or what an option or a name is set to."""
    found = []
    for word in words[:_MOST_TEXTS]:
        if not _IN_SCRIPTS.search(word):
            continue
        if not word.startswith("-"):
            found.append(word)
        elif not word.startswith("--"):
            found.append(word[2:])
        if "=" in word:
            found.append(word.partition("=")[2])
    return found


def _options(command: Command, flags: Sequence[str], values: Sequence[str]) -> int | None:
    """The index of the first word behind known options; None when an option is not known.

    Args:
        command: The wrapper.
        flags: Options without a value.
        values: Options with a value, in the same word or, where they are one letter, in the next.
    """
    at = 1
    while at < len(command.words):
        word = command.words[at]
        if word == "--" or not word.startswith("-"):
            at += word == "--"
            break
        if word in flags:
            at += 1
        elif word in values:
            at += 2
        elif any(word.startswith(f"{value}=" if value.startswith("--") else value) for value in values):
            at += 1
        else:
            return None
    return None if any(index < at for index in command.loose) else at


def _counts(command: Command) -> bool:
    """Whether all arguments are plain numbers."""
    return (
        not command.loose
        and not command.more
        and all(re.fullmatch("[0-9]{1,6}", word) for word in command.words[1:])
    )


def _launch(command: Command, start: int, depth: int) -> Look:
    """The program that a launcher starts is part of its own pattern; what that program would run is not."""
    if start >= len(command.words):
        return Look()
    if depth >= MOST_LAUNCHERS:
        return Look(unclear=["is nested too deeply"])
    below = look(_from(command, start), depth + 1)
    guesses = [*_suffixes(command, start), *below.guesses]
    scripts = below.scripts
    if command.words[start].startswith("-"):
        scripts = [*scripts, *_texts(command.words[start:])]
    return Look(inner=below.inner, scripts=scripts, guesses=guesses, unclear=below.unclear)


def _interpreter(command: Command) -> Look:
    arguments = command.words[1:]
    if any(word in ("--version", "-V", "--help") for word in arguments[:1]):
        return Look()
    reads = any(word == "-" or re.search("(^|/)(dev|proc)/", word) for word in arguments)
    if reads or all(word.startswith("-") for word in arguments):
        return Look(unclear=[f"{command.name} {RUNS_INPUT}"])
    return Look()


def _nice(command: Command) -> Look:
    words = command.words
    if len(words) > 1 and re.fullmatch(r"-[0-9]+", words[1]):
        return _through(command, 2)
    start = _options(command, (), ("-n", "--adjustment"))
    return (
        _strange(command, 1, "has options that are not known") if start is None else _through(command, start)
    )


def _plain(command: Command) -> Look:
    """nohup, builtin, and exec: without options."""
    if len(command.words) > 1 and command.words[1].startswith("-"):
        return _strange(command, 1, "has options that are not known")
    return _through(command, 1)


def _time(command: Command) -> Look:
    start = 2 if len(command.words) > 1 and command.words[1] == "-p" else 1
    if start < len(command.words) and command.words[start].startswith("-"):
        return _strange(command, start, "has options that are not known")
    if start < len(command.words) and "=" in command.words[start]:
        return _strange(command, start, f"sets {command.words[start].partition('=')[0]}")
    return _through(command, start)


def _command(command: Command) -> Look:
    if len(command.words) > 1 and command.words[1] in ("-v", "-V"):
        return Look(free=True)
    return _plain(command)


def _env(command: Command) -> Look:
    if len(command.words) == 1:
        return Look()
    if command.words[1].startswith("-"):
        return _strange(command, 1, "changes the environment")
    if "=" in command.words[1]:
        return _strange(command, 1, f"sets {command.words[1].partition('=')[0]}")
    return _through(command, 1)


def _timeout(command: Command) -> Look:
    start = _options(
        command,
        ("--preserve-status", "--foreground", "-v", "--verbose"),
        ("-k", "--kill-after", "-s", "--signal"),
    )
    if start is None or start >= len(command.words) or not _DURATION.fullmatch(command.words[start]):
        return _strange(command, 1, "has options that are not known")
    return _through(command, start + 1)


def _stdbuf(command: Command) -> Look:
    start = _options(command, (), ("-i", "-o", "-e", "--input", "--output", "--error"))
    return (
        _strange(command, 1, "has options that are not known") if start is None else _through(command, start)
    )


def _xargs(command: Command) -> Look:
    start = _options(
        command,
        ("-0", "--null", "-r", "--no-run-if-empty", "-t", "--verbose", "-x", "--exit"),
        ("-n", "--max-args", "-P", "--max-procs", "-L", "-I", "-d", "--delimiter"),
    )
    if start is None:
        return _strange(command, 1, "has options that are not known")
    if start >= len(command.words):
        if command.more:
            return Look(unclear=["xargs has no command"])
        return Look(free=True, inner=[Command(("echo",), more=True)])
    inner = _from(command, start, more=True)
    places = {
        command.words[index + 1] if word == "-I" else word[2:]
        for index, word in enumerate(command.words[:start])
        if word.startswith("-I")
    }
    computed = [index for index, word in enumerate(inner.words) if any(place in word for place in places)]
    inner = Command(inner.words, inner.loose | frozenset(computed), more=True)
    return Look(free=True, inner=[inner])


def find_commands(words: Sequence[str]) -> tuple[list[tuple[int, int]], bool]:
    """Where each command that find runs begins and ends, and whether all of them have an end."""
    found: list[tuple[int, int]] = []
    at = 1
    while at < len(words):
        if words[at] not in ("-exec", "-execdir", "-ok", "-okdir"):
            at += 1
            continue
        end = at + 1
        while end < len(words) and words[end] != ";" and not (words[end] == "+" and words[end - 1] == "{}"):
            end += 1
        if end >= len(words) or end == at + 1:
            return found, False
        found.append((at + 1, end))
        at = end + 1
    return found, True


def _find(command: Command) -> Look:
    found = Look()
    words = command.words
    places, whole = find_commands(words)
    if not whole:
        found.unclear.append("find runs a command that has no end")
        last = places[-1][1] + 1 if places else 1
        found.guesses += _suffixes(command, last)
        found.scripts += _texts(words[last:])
    for start, end in places:
        computed = {index - start for index in range(start, end) if "{}" in words[index]}
        if any(
            "{}" in word and word[0] in "-+" and not SETTLED_OPTION.match(word) for word in words[start:end]
        ):
            found.unclear.append("a file's name may become an option")
        loose = {index - start for index in command.loose if start <= index < end}
        found.inner.append(Command(words[start:end], frozenset(computed | loose), command.more))
    return found


def _shell(command: Command) -> Look:
    """``sh -c SCRIPT``: the script is read as a command; anything else is a program that runs a file."""
    words = command.words
    if len(words) > 2 and re.fullmatch(r"-[eux]*c", words[1]) and not words[2].startswith(("-", "+")):
        unclear = ["an argument is computed"] if command.loose or command.more else []
        return Look(free=True, scripts=[words[2]], unclear=unclear)
    if any(word.startswith(("-", "+")) and not re.fullmatch("-[neuvx]+", word) for word in words[1:2]):
        scripts = [word for word in words[2 : 2 + _MOST_TEXTS] if not word.startswith("-")]
        return Look(unclear=[f"{command.name} has options that are not known"], scripts=scripts)
    return _interpreter(command)


def _test(command: Command) -> Look:
    words = command.words[1:]
    if any(word in _EVALUATES for word in words) or command.loose or command.more:
        return Look(unclear=[f"{command.name} may evaluate what it is given"])
    if command.name == "[[" and any(word in _ARITHMETIC for word in words):
        return Look(unclear=["[[ evaluates arithmetic"])
    return Look(free=True)


_WRAPPERS = {
    "builtin": _plain,
    "command": _command,
    "dash": _shell,
    "bash": _shell,
    "env": _env,
    "exec": _plain,
    "find": _find,
    "gfind": _find,
    "gtimeout": _timeout,
    "nice": _nice,
    "nohup": _plain,
    "sh": _shell,
    "stdbuf": _stdbuf,
    "time": _time,
    "timeout": _timeout,
    "xargs": _xargs,
}
