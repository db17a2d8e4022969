"""What the arguments of well-known programs do beyond what a pattern with ``*`` means to allow.

The star of ``sort *`` stands for any arguments, but a person who approved it did not mean ``sort -o FILE``.
Whatever turns a program that looks into one that writes a file or runs another program is found here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from tau.gate.shell_command import Command
from tau.gate.shell_options import matching, risky_option
from tau.gate.shell_runners import MOST_LAUNCHERS, SHELLS, is_interpreter, launched


class Effect(NamedTuple):
    """A word that does more than a star means.

    Attributes:
        place: The word's index in the command; a pattern with its star behind that word allows it.
        why: A short phrase.
    """

    place: int
    why: str


def effects(command: Command, depth: int = 0) -> list[Effect]:
    """What a command's arguments do that a star does not stand for.

    Args:
        command: The command.
        depth: How many launchers it is behind.
    """
    words = command.words
    start = launched(words)
    if start:
        return _launched(command, start, depth)
    found: list[Effect] = []
    name = command.name
    for index, word in enumerate(words[1:], 1):
        if (option := risky_option(name, word)) is not None:
            found.append(Effect(index, f"{name} {option} writes a file or runs a program"))
    if special := _SPECIAL.get(name):
        found += special(command)
    if is_interpreter(name):
        found += _code(command)
    return found


def _launched(command: Command, start: int, depth: int) -> list[Effect]:
    words = command.words
    if start >= len(words):
        return []
    if words[start].startswith("-") or depth >= MOST_LAUNCHERS:
        return [Effect(len(words), f"{command.name} hides the program that it runs")]
    below = Command(
        words[start:], frozenset(one - start for one in command.loose if one >= start), command.more
    )
    named = Effect(start, f"{command.name} runs {words[start]}")
    return [named, *(Effect(place + start, why) for place, why in effects(below, depth + 1))]


_GIT_OPTIONS = (
    "--output", "--output-directory", "--ext-diff", "--open-files-in-pager", "--upload-pack", "--exec",
    "--receive-pack", "--extcmd", "--config", "--template", "--edit-description", "--separate-git-dir",
    "--strategy", "--show-signature", "--gpg-sign", "--paginate", "--tool", "--env-filter", "--tree-filter",
    "--index-filter", "--msg-filter", "--commit-filter", "--parent-filter", "--tag-name-filter", "--remote",
    "--html", "--web",
)  # fmt: skip
_GIT_LETTERS = {
    "grep": "-O", "archive": "-o", "format-patch": "-o", "rebase": "-x", "difftool": "-x", "clone": "-c -u",
    "am": "-S", "commit": "-S",
}  # fmt: skip
_GIT_RUNS = (
    "config", "hook", "difftool", "mergetool", "filter-branch", "credential", "daemon", "remote-ext",
    "send-email", "instaweb", "web--browse", "gui", "citool", "shell", "upload-pack", "receive-pack",
    "fast-import", "help", "p4", "svn", "cvsserver", "http-backend", "maintenance", "fsmonitor--daemon",
    "sh-setup", "quiltimport", "request-pull",
)  # fmt: skip


def _git(command: Command) -> list[Effect]:
    found: list[Effect] = []
    words = command.words
    at = 1
    while at < len(words) and words[at].startswith("-"):
        if words[at] not in (
            "--no-pager",
            "--no-optional-locks",
            "--literal-pathspecs",
            "--version",
            "-v",
            "-P",
        ):
            found.append(Effect(len(words), f"git {words[at]} changes what git runs"))
        at += 1
    if at >= len(words):
        return found
    subcommand = words[at]
    if at in command.loose:
        found.append(Effect(len(words), "git's subcommand is computed"))
    if subcommand in _GIT_RUNS:
        found.append(Effect(at, f"git {subcommand} may run another program"))
    letters = _GIT_LETTERS.get(subcommand, "").split()
    for index, word in enumerate(words[at + 1 :], at + 1):
        if (option := matching(word, [*_GIT_OPTIONS, *letters])) is not None:
            found.append(Effect(index, f"git {subcommand} {option} writes a file or runs a program"))
        elif subcommand in _GIT_TRANSPORT and (
            index in command.loose or re.match(r"[A-Za-z0-9+.-]+::", word)
        ):
            found.append(Effect(index, "git runs a helper for the address"))
        elif (subcommand, word) in (("bisect", "run"), ("submodule", "foreach")) and index == at + 1:
            found.append(Effect(len(words), f"git {subcommand} {word} runs a command"))
    return found


_GIT_TRANSPORT = frozenset({"archive", "clone", "fetch", "ls-remote", "pull", "push", "remote", "submodule"})

_ADDRESS = r"(?:[0-9]+|\$|/(?:[^/\\\n]|\\.)*/I?)"
_SED_COMMAND = re.compile(
    rf"[ \t]*(?:{_ADDRESS}(?:,(?:{_ADDRESS}|[+~][0-9]+))?)?[ \t]*!?[ \t]*"
    r"(?:[pdDgGhHnNPx=]|[qQ](?:[ \t]*[0-9]+)?|l"
    r"|s(?P<by>[/|,#@:!%_])(?:(?!(?P=by))[^\\\n]|\\.)*(?P=by)(?:(?!(?P=by))[^\\\n]|\\.)*(?P=by)[gpiI0-9mM]*"
    r"|y/(?:[^/\\\n]|\\.)*/(?:[^/\\\n]|\\.)*/)[ \t]*"
)
_SED_FLAGS = frozenset({
    "--quiet", "--silent", "--regexp-extended", "--null-data", "--separate", "--unbuffered", "--posix",
    "--debug", "--sandbox", "--version", "--help",
})  # fmt: skip


def _sed(command: Command) -> list[Effect]:
    """Sed is taken for a filter only with options and a script of which that is sure."""
    words = command.words
    scripts: list[int] = []
    operands: list[int] = []
    texts: dict[int, str] = {}
    at = 1
    while at < len(words):
        word = words[at]
        if word.startswith("--expression="):
            scripts.append(at)
            texts[at] = word.partition("=")[2]
        elif re.fullmatch(r"-[nErsuz]*e", word) or word == "--expression":
            at += 1
            scripts.append(at)
        elif match := re.match(r"-[nErsuz]*e", word):
            scripts.append(at)
            texts[at] = word[match.end() :]
        elif word.startswith("-") and len(word) > 1:
            if word not in _SED_FLAGS and not re.fullmatch(r"-[nErsuz]+", word):
                return [Effect(at, f"sed {word} is not known to be harmless")]
        else:
            operands.append(at)
        at += 1
    if not scripts:
        scripts = operands[:1]
    for index in scripts:
        text = texts.get(index, words[index] if index < len(words) else "")
        if index in command.loose or not _is_plain_sed(text):
            return [Effect(index, "the script of sed is not known to be harmless")]
    return []


def _is_plain_sed(script: str) -> bool:
    bracketed = re.search(r"\[[^\]]*[/|,#@:!%_]", re.sub(r"\[:[a-z]+:\]", "x", script))
    if len(script) > 400 or bracketed:
        return False  # seds differ on where an expression ends that has its delimiter in brackets
    at = 0
    while True:
        match = _SED_COMMAND.match(script, at)
        if match is None:
            return False
        at = match.end()
        if at == len(script):
            return True
        if script[at] not in ";\n":
            return False
        at += 1


def _awk(command: Command) -> list[Effect]:
    words = command.words
    at = 1
    while at < len(words) and words[at].startswith("-") and len(words[at]) > 1:
        if words[at] in ("-F", "-v"):
            at += 2
        elif words[at].startswith(("-F", "-v")):
            at += 1
        elif words[at] == "--":
            at += 1
            break
        else:
            return [Effect(at, f"awk {words[at]} is not known to be harmless")]
    program = words[at] if at < len(words) else ""
    if any(index <= at for index in command.loose) or re.search(r"system|getline|[|>@]|\\\n", program):
        return [Effect(at, "the program of awk may write a file or run a command")]
    return []


def _second_operand(command: Command) -> list[Effect]:
    """Uniq and xxd write to the second file that they are given."""
    operands = [
        index for index, word in enumerate(command.words) if index and (word == "-" or word[:1] != "-")
    ]
    if len(operands) > 1 or command.loose or "--" in command.words:
        return [Effect(operands[-1] if operands else 1, f"{command.name} may write to its second file")]
    return []


def _printf(command: Command) -> list[Effect]:
    return [
        Effect(index, "printf sets a variable")
        for index, word in enumerate(command.words)
        if index
        and (word.startswith("-v") or index in command.loose or re.search(r"%[-+ #0-9.*'hljztL]*n", word))
    ]


def _make(command: Command) -> list[Effect]:
    return [
        Effect(index, f"make may set {word.partition('=')[0]}")
        for index, word in enumerate(command.words)
        if index and ("=" in word or index in command.loose) and not word.startswith("-")
    ]


def _find(command: Command) -> list[Effect]:
    """Some finds take a place that begins with a dash from an option: what they find looks like options."""
    words = command.words
    at = 1
    while at < len(words) and words[at].startswith("-"):
        if re.fullmatch("-[A-Za-z]*f", words[at]):
            return [Effect(at, "find may look in a place that is named like an option")]
        at += 1
    return []


def _tar(command: Command) -> list[Effect]:
    first = command.words[1] if len(command.words) > 1 else ""
    if 1 in command.loose or (not first.startswith("-") and re.search("[IF]", first)):
        return [Effect(1, "tar may run a program")]
    return []


def _code(command: Command) -> list[Effect]:
    """An interpreter's options, until the file that it runs: only a pattern that names code covers it."""
    if command.name == "deno" and command.words[1:2] == ("eval",):
        return [Effect(len(command.words), "deno eval runs code that it is given")]
    plain = "-[neuvx]+" if command.name in SHELLS else "-[uBsEIO]+" if command.name.startswith("py") else ""
    for word in command.words[1:]:
        if not word.startswith(("-", "+")):
            return []
        if word in ("--version", "-V", "--help") or (plain and re.fullmatch(plain, word)):
            continue
        return [Effect(len(command.words), f"{command.name} {word[:20]} may run code that it is given")]
    return []


_SPECIAL: dict[str, Callable[[Command], list[Effect]]] = {
    "awk": _awk,
    "find": _find,
    "gawk": _awk,
    "gfind": _find,
    "git": _git,
    "gmake": _make,
    "gsed": _sed,
    "make": _make,
    "mawk": _awk,
    "nawk": _awk,
    "printf": _printf,
    "sed": _sed,
    "tar": _tar,
    "uniq": _second_operand,
    "xxd": _second_operand,
}
