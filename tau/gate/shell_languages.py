"""Small languages in which arguments are written: the scripts of sed and awk, the formats of printf and find.

What is taken for harmless is a small grammar that the whole text has to match, in which every version of a
program reads the same. Anything outside it may write a file or run a command.
"""

from __future__ import annotations

import re

LONGEST_PROGRAM = 400
"""How many characters a script may have to be looked at."""

# Within brackets stands nothing that ends them, escapes or is a delimiter, so that where they end is certain.
_BRACKETS = r"\[\^?(?:[A-Za-z0-9 _.*+?$()<>=;&'\"{}-]|\[:[a-z]{5,6}:\])+\]"
_ESCAPED = r"\\[].*^$+?(){}|/&0-9ntwsWSbB<>'\"\[-]"

_PLAIN = r"[A-Za-z0-9 _.*^$+?(){}<>=;&'\"~!%@#:,|-]"


def _until(delimiter: str) -> str:
    """What stands before a delimiter, in an expression."""
    end = re.escape(delimiter)
    return rf"(?:(?!{end})(?:{_PLAIN}|/)|(?!\\{end}){_ESCAPED}|\\{end}|{_BRACKETS})*"


def _replacement(delimiter: str) -> str:
    end = re.escape(delimiter)
    return rf"(?:(?!{end})(?:{_PLAIN}|[/\[\]])|(?!\\{end})(?:{_ESCAPED}|\\[ULElu])|\\{end})*"


_ADDRESS = rf"(?:[0-9]{{1,9}}(?:~[0-9]{{1,9}})?|\$|/(?:{_until('/')})/I?)"
_SUBSTITUTION = "|".join(
    rf"s{re.escape(one)}{_until(one)}{re.escape(one)}{_replacement(one)}{re.escape(one)}[gpiI0-9]{{0,8}}"
    for one in "/|,#:@"
)
_SED_COMMAND = re.compile(
    rf" {{0,8}}(?:{_ADDRESS}(?:,(?:{_ADDRESS}|[+~][0-9]{{1,9}}))?)? ?!? ?"
    rf"(?:[pdDgGhHnNPxl=]|[qQ](?:[0-9]{{1,3}})?|{_SUBSTITUTION}"
    r"|y/[A-Za-z0-9 _.-]+/[A-Za-z0-9 _.-]+/) {0,8}"
)


def is_plain_sed(script: str) -> bool:
    """Whether a script of sed only selects, deletes and replaces text on its way to the output."""
    if len(script) > LONGEST_PROGRAM:
        return False
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


_AWK_TOKEN = re.compile(
    r"(?P<space>[ \n]+)"
    r"|(?P<number>[0-9]{1,15}(?:\.[0-9]{1,15})?)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<string>\"(?:[ -!#-\[\]-~]|\\[ntr\\\"/])*\")"
    r"|(?P<operator>\+\+|--|[-+*%^=!<>]=|&&|\|\||[-+*%^=!<~?:{}()\[\];,$])"
)
_AWK_EXPRESSION = re.compile(rf"/(?:(?!/){_PLAIN}|{_ESCAPED}|{_BRACKETS})+/")
_AWK_KEYWORDS = frozenset({
    "BEGIN", "END", "print", "printf", "if", "else", "for", "while", "do", "next", "exit", "in", "length",
    "substr", "split", "sub", "gsub", "index", "match", "tolower", "toupper", "sprintf", "int", "delete",
    "break", "continue",
})  # fmt: skip
_AWK_VARIABLES = frozenset({
    "NR", "NF", "FS", "OFS", "ORS", "RS", "FILENAME", "FNR", "SUBSEP", "RSTART", "RLENGTH", "sum", "total",
    "count", "max", "min", "avg", "line", "lines", "key", "name", "value", "val", "seen", "arr", "prev",
    "last", "first", "num", "found", "flag", "col", "row", "len", "str", "out", "sep", "size", "words",
})  # fmt: skip
_AWK_SHORT = re.compile("[A-Za-z][A-Za-z0-9]?")


def is_plain_awk(program: str) -> bool:
    """Whether a program of awk only computes and prints.

    Every word has to be a known one or as short as no function's name is, since some awks call a function
    whose name stands there alone. A comparison with ``>`` is not told from a redirection.
    """
    if len(program) > LONGEST_PROGRAM:
        return False
    at = 0
    before = ""  # what the last token was; where no operand was, a slash begins an expression
    while at < len(program):
        if program[at] == "/":
            if before in ("name", "number", "]"):
                at, before = at + 1, "/"
                continue
            match = _AWK_EXPRESSION.match(program, at)
            if match is None or before not in ("", "{", "}", ";", "(", ",", "~", "!", "&&", "||"):
                return False
            at, before = match.end(), "expression"
            continue
        match = _AWK_TOKEN.match(program, at)
        if match is None:
            return False
        at = match.end()
        text = match[0]
        if match.lastgroup == "space":
            if "\n" in text and before in ("name", "number", "]"):
                before = "line"  # what a slash behind it begins is not the same for every awk
        elif match.lastgroup == "operator":
            before = text
        elif match.lastgroup != "name":
            before = str(match.lastgroup)
        elif text in _AWK_KEYWORDS:
            before = "keyword"
        elif text in _AWK_VARIABLES or (_AWK_SHORT.fullmatch(text) and program[at : at + 1] != "("):
            before = "name"
        else:
            return False
    return True


_PRINTF = re.compile(
    r"(?:[^%\\]|\\[abefnrtv0-7\\'\"]|%[-+ #0]{0,5}[0-9]{0,4}(?:\.[0-9]{0,4})?[diouxXeEfFgGcsbq%])*"
)
_FIND_FORMAT = re.compile(
    r"(?:[^%\\]|\\[abfnrtv0-7\\]|%[-+ #0]{0,5}[0-9]{0,4}(?:\.[0-9]{0,4})?"
    r"(?:[%abcdDfFgGhHiklmMnpPsStuUyYZ]|[ABCT][@A-Za-z+]))*"
)
_YQ = re.compile(r"[A-Za-z0-9_.\[\]\" -]*")


def is_plain_printf(text: str) -> bool:
    """Whether a format of printf only prints; ``%n`` sets a variable."""
    return len(text) <= LONGEST_PROGRAM and _PRINTF.fullmatch(text) is not None


def is_plain_find_format(text: str) -> bool:
    """Whether a format of find's ``-printf`` is one that every find reads alike."""
    return len(text) <= LONGEST_PROGRAM and _FIND_FORMAT.fullmatch(text) is not None


def is_path_of_yq(text: str) -> bool:
    """Whether a program of yq, or a file's name, only names what to print."""
    return len(text) <= LONGEST_PROGRAM and _YQ.fullmatch(text) is not None
