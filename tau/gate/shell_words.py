"""Reads a shell command word by word where every word is plain text: a strict reader that gives up early.

It knows the part of the shell's language in which nothing is computed: quotes, backslashes, operators,
redirections, here-documents, groups, ``if`` and ``while``. Anything else raises `Unclear`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

OPENERS = frozenset({"if", "then", "elif", "else", "while", "until", "do", "{", "!"})
CLOSERS = frozenset({"fi", "done", "}"})
RESERVED = (
    OPENERS | CLOSERS | {"for", "case", "esac", "select", "function", "coproc", "in", "[[", "]]", "time"}
)
_FOLLOWS = {"then": ("if", "elif"), "elif": ("then",), "else": ("then",), "do": ("while", "until")}
_ENDS = {"fi": ("then", "else"), "done": ("do",), "}": ("{",)}

_OPERATORS = (
    "<<<", "<<-", "&>>", ";;&",
    "&>", "&&", "|&", "||", ";;", ";&", "<<", "<&", "<>", "<(", ">>", ">&", ">|", ">(", "((",
    "&", "|", ";", "<", ">", "(", ")", "\n",
)  # fmt: skip
_REDIRECTIONS = frozenset({"<", ">", ">>", ">|", "<>", "<&", ">&", "&>", "&>>", "<<", "<<-", "<<<"})
_SEPARATORS = frozenset({"\n", ";", "&", "&&", "||", "|", "|&"})
_JOINS = frozenset({"&&", "||", "|", "|&"})
_META = frozenset(" \t\n;&|<>()")
_NUMBER = re.compile(r"[0-9]+(?=[<>])")
PLAIN = re.compile(r"[A-Za-z0-9_./:@%+,=-]+")
"""A piece of a word in which no character means anything to the shell."""

_DELIMITER = re.compile(r"""\\?[A-Za-z0-9_.-]+|'[A-Za-z0-9_.-]+'|"[A-Za-z0-9_.-]+\"""")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\[.*\])?\+?=", re.DOTALL)
_NAME = re.compile(r"\[|[A-Za-z0-9_./:@][A-Za-z0-9_./:+@-]*")
SETTLED_OPTION = re.compile(r"--?[A-Za-z][A-Za-z0-9_-]*=")
"""The start of a word that settles which option it is."""


class Unclear(Exception):
    """The command cannot be read with certainty; the message is a short phrase that says why."""


@dataclass(frozen=True, slots=True)
class Token:
    """One piece of a command.

    Attributes:
        kind: What it is; ``number`` is a file descriptor before a redirection, ``document`` the lines of a
            here-document with the line that ends it.
        start: Where it begins, in characters.
        end: Where it ends.
        raw: As written.
        text: A word after quote removal; else as written.
        loose: Whether a word has a glob or a tilde, so that it may become other words, but no option.
    """

    kind: Literal["word", "operator", "number", "comment", "document"]
    start: int
    end: int
    raw: str
    text: str
    loose: bool = False


@dataclass(slots=True)
class Script:
    """What a command says in plain words.

    Attributes:
        commands: The words of each simple command, in order; never empty.
        redirections: Operator and target of each redirection.
        tokens: All of it.
    """

    commands: list[list[Token]] = field(default_factory=list)
    redirections: list[tuple[str, Token]] = field(default_factory=list)
    tokens: list[Token] = field(default_factory=list)


def script(command: str) -> Script:
    """The simple commands and redirections of a command in which nothing is computed.

    Raises:
        Unclear: Something is computed, set or defined, or it is not understood.
    """
    found = Script(tokens=scan(command))
    segment: list[Token] = []
    opened: list[str] = []
    closed = joined = False
    for token in found.tokens:
        if token.kind in ("comment", "document"):
            continue
        if token.kind != "operator" or token.text in _REDIRECTIONS:
            segment.append(token)
        elif token.text == "(":
            if closed or not all(one.raw in OPENERS for one in segment):
                raise Unclear("has a parenthesis where no command begins")
            _close(segment, found, opened, closed)
            opened.append("(")
            segment, joined = [], False
        elif token.text == ")":
            _close(segment, found, opened, closed)
            if (joined and not segment) or not opened or opened.pop() != "(":
                raise Unclear("cannot be parsed")
            segment, closed, joined = [], True, False
        elif token.text in _SEPARATORS:
            if segment or closed:
                joined = token.text in _JOINS
            elif token.text != "\n":
                raise Unclear("cannot be parsed")
            _close(segment, found, opened, closed)
            segment, closed = [], False
        else:
            raise Unclear(f"uses {token.text}")
    _close(segment, found, opened, closed)
    if opened or (joined and not segment and not closed):
        raise Unclear("cannot be parsed")
    return found


def _close(segment: list[Token], found: Script, opened: list[str], closed: bool) -> None:
    """Read what stands between two operators: reserved words, then a simple command or redirections."""
    at = 0
    while at < len(segment) and segment[at].kind == "word":
        word = segment[at].raw
        if word in CLOSERS:
            closed = True
            if not opened or opened.pop() not in _ENDS[word]:
                raise Unclear("cannot be parsed")
        elif closed or word not in OPENERS:
            break
        elif word in _FOLLOWS:
            if not opened or opened.pop() not in _FOLLOWS[word]:
                raise Unclear("cannot be parsed")
            opened.append(word)
        elif word != "!":
            opened.append(word)
        at += 1
    words: list[Token] = []
    ended = False
    while at < len(segment):
        token = segment[at]
        if token.kind == "word":
            if ended:
                raise Unclear(f"{token.raw[:20]} is a command for some shells")
            words.append(token)
            at += 1
            continue
        at += token.kind == "number"
        if at + 1 >= len(segment) or segment[at].kind != "operator" or segment[at + 1].kind != "word":
            raise Unclear("cannot be parsed")
        found.redirections.append((segment[at].text, segment[at + 1]))
        ended = ended or segment[at].text in ("&>", "&>>")  # sh runs what is before it in the background
        at += 2
    if words and closed:
        raise Unclear("cannot be parsed")
    if words:
        _check_name(words)
        found.commands.append(words)


def _check_name(words: list[Token]) -> None:
    first = words[0]
    if assignment := _ASSIGNMENT.match(first.raw):
        raise Unclear(f"sets {assignment[1]}")
    if first.raw == "[[":
        if words[-1].raw != "]]":
            raise Unclear("cannot be parsed")
    elif first.raw == "time":
        if len(words) < 2 or words[1].raw in RESERVED:
            raise Unclear("times more than one command")
    elif first.raw in RESERVED:
        raise Unclear(f"uses {first.raw}")
    elif first.loose:
        raise Unclear("the command's name is computed")
    elif not _NAME.fullmatch(first.text):
        raise Unclear("the command's name is not a plain one")


def scan(command: str) -> list[Token]:
    """The tokens of a command.

    Raises:
        Unclear: A word is computed, or a quote or here-document has no end.
    """
    tokens: list[Token] = []
    documents: list[tuple[str, Token]] = []
    at = 0
    while at < len(command):
        here = command[at]
        if here in " \t":
            at += 1
        elif command.startswith("\\\n", at):
            if at and command[at - 1] not in " \t\n":
                raise Unclear("a line is continued inside a word")
            at += 2
        elif here == "#":
            end = command.find("\n", at)
            end = len(command) if end < 0 else end
            tokens.append(_token("comment", command, at, end))
            at = end
        elif number := _NUMBER.match(command, at):
            if len(number[0]) > 1:  # which is a word for some shells
                raise Unclear("redirects a large file descriptor")
            tokens.append(_token("number", command, at, number.end()))
            at = number.end()
        elif here in _META:
            operator = next(each for each in _OPERATORS if command.startswith(each, at))
            if operator in ("<(", ">(", "(("):
                raise Unclear("uses a process substitution" if operator != "((" else "uses arithmetic")
            tokens.append(_token("operator", command, at, at + len(operator)))
            at += len(operator)
            if operator == "\n":
                for dash, word in documents:
                    document = _document(command, at, dash, word)
                    tokens.append(document)
                    at = min(document.end + 1, len(command))
                documents = []
        else:
            word = _word(command, at)
            if tokens and tokens[-1].kind == "operator" and tokens[-1].text in ("<<", "<<-"):
                documents.append((tokens[-1].text, word))
            tokens.append(word)
            at = word.end
    if documents:
        raise Unclear("a here-document has no end")
    return tokens


def _token(
    kind: Literal["operator", "number", "comment", "document"], command: str, start: int, end: int
) -> Token:
    raw = command[start:end]
    return Token(kind, start, end, raw, raw)


def _document(command: str, start: int, operator: str, word: Token) -> Token:
    """The body of a here-document and the line that ends it, without that line's end."""
    if not _DELIMITER.fullmatch(word.raw):
        raise Unclear("a here-document's end is not plain")
    at = start
    while True:
        end = command.find("\n", at)
        line = command[at:] if end < 0 else command[at:end]
        if (line.lstrip("\t") if operator == "<<-" else line) == word.text:
            break
        if end < 0:
            raise Unclear("a here-document has no end")
        at = end + 1
    body = command[start:at]
    if word.raw == word.text and re.search(r"[$`]|\\\n", body):
        raise Unclear("a here-document is computed")
    return _token("document", command, start, at + len(line))


def _word(command: str, start: int) -> Token:
    plain = PLAIN.match(command, start)
    if plain and (plain.end() == len(command) or command[plain.end()] in " \t\n;&|"):
        return Token("word", start, plain.end(), plain[0], plain[0])
    at = start
    text: list[str] = []
    glob: int | None = None
    tilde = brace = False
    while at < len(command) and command[at] not in _META:
        here = command[at]
        if here == "\\":
            if at + 1 >= len(command) or command[at + 1] == "\n":
                raise Unclear("a line is continued inside a word")
            text.append(command[at + 1])
            at += 2
            continue
        if here == "'":
            end = command.find("'", at + 1)
            if end < 0:
                raise Unclear("a quote has no end")
            text.append(command[at + 1 : end])
            at = end + 1
            continue
        if here == '"':
            at = _double_quoted(command, at + 1, text)
            continue
        if here == "`":
            raise Unclear("uses the output of another command")
        if here == "$" and at + 1 < len(command) and command[at + 1] not in " \t\n":
            raise Unclear("an argument is computed")
        if here in "*?[":
            glob = sum(map(len, text)) if glob is None else glob
        elif here == "~":
            tilde = tilde or at == start or command[at - 1] in "=:"
        elif here == "{":
            brace = True
        text.append(here)
        at += 1
    raw, whole = command[start:at], "".join(text)
    if at < len(command) and command[at] == "(":
        raise Unclear("has a parenthesis inside a word")
    if at < len(command) and command[at] in "<>" and re.fullmatch(r"\{\w+\}", raw):
        raise Unclear("sets a variable to a file descriptor")
    if brace and ("," in raw or ".." in raw):
        raise Unclear("expands braces")
    if glob is not None and not ("*" in raw or "?" in raw or raw.find("[") < raw.rfind("]")):
        glob = None  # a bracket that is never closed stands for itself
    if glob is not None:
        _check_glob(whole[:glob])
    return Token("word", start, at, raw, whole, loose=glob is not None or tilde)


def _check_glob(prefix: str) -> None:
    """A file's name may be an option; what stands before the glob has to settle that it is none, or which."""
    if not prefix or (prefix[0] in "-+" and not SETTLED_OPTION.match(prefix)):
        raise Unclear("a file's name may become an option")


def _double_quoted(command: str, at: int, text: list[str]) -> int:
    """Append what stands between double quotes to `text`; where the word goes on."""
    while at < len(command):
        here = command[at]
        following = command[at + 1 : at + 2]
        if here == '"':
            return at + 1
        if here == "\\" and following:
            if following == "\n":
                pass
            elif following in '$`"\\':
                text.append(following)
            else:
                text.append(here + following)
            at += 2
            continue
        if here == "`":
            raise Unclear("uses the output of another command")
        if here == "$" and following not in ('"', " ", "|", ")", "\\"):
            raise Unclear("an argument is computed")
        text.append(here)
        at += 1
    raise Unclear("a quote has no end")
