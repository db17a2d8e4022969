"""What the arguments of well-known programs do beyond what a pattern with ``*`` means to allow.

The star of ``sort *`` stands for any arguments, but a person who approved it did not mean ``sort -o FILE``.
Whatever may turn a program that looks into one that writes a file or runs another program is found here:
options that are not listed, scripts outside a small grammar, operands that mean more than a file to read.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

from tau.display import one_line
from tau.gate import shell_languages, shell_options
from tau.gate.shell_command import Command, Effect
from tau.gate.shell_git import git_effects
from tau.gate.shell_runners import MOST_LAUNCHERS, SHELLS, find_commands, is_interpreter, launched

MOST_WORDS = 2000
"""How many words a command may have to be looked at one by one."""


def effects(command: Command, depth: int = 0) -> list[Effect]:
    """What a command's arguments do that a star does not stand for.

    Args:
        command: The command.
        depth: How many launchers it is behind.
    """
    words = command.words
    name = one_line(command.name, 40)
    start = launched(words)
    if start:
        return _launched(command, start, depth)
    program = shell_options.canonical(command.name)
    if program in shell_options.HARMLESS:
        return []
    if len(words) > MOST_WORDS:
        return [Effect(len(words), f"{name} has too many arguments")]
    if is_interpreter(command.name):
        return _code(command)
    if special := _SPECIAL.get(program):
        return special(command)
    return _unlisted(command, program)


def _launched(command: Command, start: int, depth: int) -> list[Effect]:
    words = command.words
    if start >= len(words):
        return []
    if words[start].startswith("-") or depth >= MOST_LAUNCHERS:
        return [Effect(len(words), f"{command.name} hides the program that it runs")]
    below = Command(
        words[start:], frozenset(one - start for one in command.loose if one >= start), command.more
    )
    named = Effect(start, f"{one_line(command.name, 40)} runs {one_line(words[start], 40)}")
    return [named, *(Effect(place + start, why) for place, why in effects(below, depth + 1))]


def _harm(name: str, word: str, place: int) -> Effect:
    return Effect(place, f"{one_line(name, 40)} {one_line(word, 40)} is not known to be harmless")


def _unlisted(command: Command, program: str) -> list[Effect]:
    """The options that are not listed; a program that is not listed itself may do what its pattern says."""
    options = shell_options.listed(program)
    if options is None:
        return []
    words = command.words
    shown = command.name
    found: list[Effect] = []
    at = 1
    if shell_options.has_subcommands(program):
        while at < len(words) and words[at][:1] in ("-", "+"):
            if shell_options.unknown(program, words[at], options):
                found.append(_harm(shown, words[at], at))
            at += 1
        if at < len(words):
            if at in command.loose:
                found.append(Effect(len(words), f"the subcommand of {one_line(shown, 40)} is computed"))
            known = shell_options.listed(f"{program} {words[at]}")
            if known is None:
                found.append(_harm(shown, words[at], at))
            options, shown = known or "", f"{shown} {words[at]}"
            at += 1
    return found + [
        _harm(shown, word, index)
        for index, word in enumerate(words[at:], at)
        if shell_options.unknown(program, word, options)
    ]


_SED_FLAG = re.compile(
    r"-[nErsuz]+|--(?:quiet|silent|regexp-extended|null-data|separate|unbuffered|posix|debug)"
)

_SED_IN_PLACE = re.compile(r"-[nErsuz]*i[A-Za-z0-9._~]*|--in-place(?:=[A-Za-z0-9._~]*)?")
_GNU_SED = sys.platform == "linux"


def _sed(command: Command) -> list[Effect]:
    words = command.words
    found: list[Effect] = []
    scripts: list[tuple[int, str]] = []
    operands: list[int] = []
    at = 1
    while at < len(words):
        word = words[at]
        if word.startswith("--expression="):
            scripts.append((at, word.partition("=")[2]))
        elif re.fullmatch("-[nErsuz]*e", word) or word == "--expression":
            at += 1
            scripts.append((at, words[at] if at < len(words) else "?"))
        elif match := re.match("-[nErsuz]*e", word):
            scripts.append((at, word[match.end() :]))
        elif word.startswith("-") and len(word) > 1:
            in_place = _SED_IN_PLACE.fullmatch(word) is not None
            if in_place:
                found.append(_harm("sed", word, at))
            # Other seds than GNU's take the next word to -i, so that the script is another.
            if not (_SED_FLAG.fullmatch(word) or (in_place and (_GNU_SED or word[-1] != "i"))):
                found.append(_harm("sed", word, len(words)))
        else:
            operands.append(at)
        at += 1
    # Some seds end their options at the first operand, which is a script then.
    if operands and (not scripts or operands[0] < scripts[0][0]):
        scripts.append((operands[0], words[operands[0]]))
    return found + [
        Effect(index, "the script of sed is not known to be harmless")
        for index, text in scripts
        if index in command.loose or not shell_languages.is_plain_sed(text)
    ]


def _awk(command: Command) -> list[Effect]:
    words = command.words
    at = 1
    while at < len(words) and words[at].startswith("-") and len(words[at]) > 1:
        word = words[at]
        if word == "--":
            at += 1
            break
        if word[:2] not in ("-F", "-v"):
            return [_harm("awk", word, len(words))]
        at += 1
        if len(word) == 2:
            if at < len(words) and words[at].startswith("-"):
                return [_harm("awk", words[at], len(words))]
            at += 1
    program = words[at] if at < len(words) else "?"
    found: list[Effect] = []
    if any(index <= at for index in command.loose) or not shell_languages.is_plain_awk(program):
        found.append(Effect(at, "the program of awk may write a file or run a command"))
    return found + [
        _harm("awk", word, index)
        for index, word in enumerate(words[at + 1 :], at + 1)
        if (word.startswith("-") and len(word) > 1) or re.search("(^|/)inet[46]?/", word)
    ]


def _second_operand(command: Command) -> list[Effect]:
    """Uniq and xxd write to the second file that they are given."""
    found = _unlisted(command, shell_options.canonical(command.name))
    words = command.words
    first = next((index for index, word in enumerate(words) if index and (word == "-" or word[:1] != "-")), 0)
    # Behind the first file even what looks like an option may be the second.
    if (first and first + 1 < len(words)) or command.loose or "--" in words:
        found.append(Effect(len(words) - 1, f"{one_line(command.name, 40)} may write to its second file"))
    return found


def _setting(command: Command) -> list[Effect]:
    """Date and hostname set what they show when they are given an operand."""
    program = shell_options.canonical(command.name)
    return _unlisted(command, program) + [
        Effect(index, f"{one_line(command.name, 40)} may be set")
        for index, word in enumerate(command.words)
        if index and not word.startswith(("-", "+") if program == "date" else "-")
    ]


def _printf(command: Command) -> list[Effect]:
    words = command.words
    if len(words) > 1 and (
        words[1].startswith("-") or 1 in command.loose or not shell_languages.is_plain_printf(words[1])
    ):
        return [Effect(1, "printf may set a variable")]
    return []


def _make(command: Command) -> list[Effect]:
    return _unlisted(command, "make") + [
        Effect(index, f"make may set {one_line(word.partition('=')[0], 40)}")
        for index, word in enumerate(command.words)
        if index and ("=" in word or index in command.loose) and not word.startswith("-")
    ]


def _find(command: Command) -> list[Effect]:
    """What find looks for; the commands that it runs are judged as commands of their own."""
    words = command.words
    options = shell_options.listed("find") or ""
    run = {index for start, end in find_commands(words)[0] for index in range(start - 1, end)}
    found: list[Effect] = []
    for index, word in enumerate(words):
        if index == 0 or index in run or word[:1] != "-" or len(word) < 2:
            continue
        if word == "-printf" and not shell_languages.is_plain_find_format(
            "".join(words[index + 1 : index + 2])
        ):
            found.append(Effect(index, "the format of find is not known to be harmless"))
        elif not _FIND_VALUE.fullmatch(word) and shell_options.unknown("find", word, options):
            found.append(_harm("find", word, index))
    return found


_FIND_VALUE = re.compile("-(?:[0-9]+[bcwkMG]?|[ugoa]+[=+][rwxst]+)")


def _tar(command: Command) -> list[Effect]:
    words = command.words
    found = _unlisted(command, "tar")
    if len(words) > 1 and not words[1].startswith("-"):
        letters = words[1]
        if 1 in command.loose or not re.fullmatch("[txczjJavfCkpmOhw]+", letters):
            found.append(_harm("tar", letters, 1))
    found += [
        Effect(index, "tar may take a name with a colon for another machine's")
        for index, word in enumerate(words)
        if index and (":" in word or (index in command.loose and not re.match(r"[^*?\[]*/", word)))
    ]
    return found


def _curl(command: Command) -> list[Effect]:
    return _unlisted(command, "curl") + [
        _harm("curl", word, index)
        for index, word in enumerate(command.words)
        if index and "://" in word and not word.casefold().startswith(("http://", "https://"))
    ]


def _yq(command: Command) -> list[Effect]:
    return _unlisted(command, "yq") + [
        Effect(index, "the program of yq is not known to be harmless")
        for index, word in enumerate(command.words)
        if index and not shell_languages.is_path_of_yq(word) and not word.startswith("-")
    ]


def _code(command: Command) -> list[Effect]:
    """An interpreter's options, until the file that it runs: only a pattern that names code covers it."""
    subcommand = command.words[1] if len(command.words) > 1 else ""
    if command.name in ("bun", "deno") and not re.search("[./-]", subcommand):
        never = len(command.words) if subcommand in ("eval", "exec", "x") else 1
        return [Effect(never, f"{command.name} {one_line(subcommand, 20)} may run code that it is given")]
    plain = "-[neuvx]+" if command.name in SHELLS else "-[uBsEIO]+" if command.name.startswith("py") else ""
    for word in command.words[1:]:
        if not word.startswith(("-", "+")):
            return []
        if word in ("--version", "-V", "--help") or (plain and re.fullmatch(plain, word)):
            continue
        shown = f"{one_line(command.name, 40)} {one_line(word, 20)}"
        return [Effect(len(command.words), f"{shown} may run code that it is given")]
    return []


_SPECIAL: dict[str, Callable[[Command], list[Effect]]] = {
    "awk": _awk,
    "curl": _curl,
    "date": _setting,
    "find": _find,
    "git": git_effects,
    "hostname": _setting,
    "make": _make,
    "printf": _printf,
    "sed": _sed,
    "tar": _tar,
    "uniq": _second_operand,
    "xxd": _second_operand,
    "yq": _yq,
}
