"""Reads a whole shell command with tree-sitter: each simple command, and what is computed, set or defined.

It is the second opinion on what `tau.gate.shell_words` reads, and the only one on commands in which something
is computed. Those ask in any case; here they are taken apart so that a person sees why, and so that ``deny``
finds what they would run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from time import thread_time
from typing import TYPE_CHECKING

from tau.gate.shell_words import PLAIN, Token, Unclear, scan

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

DEEPEST = 60
"""How many nodes may lie in one another, several for each level of the shell's."""

_STRUCTURE = frozenset({
    "program", "list", "pipeline", "subshell", "compound_statement", "negated_command",
    "redirected_statement", "if_statement", "elif_clause", "else_clause", "while_statement", "do_group",
    "command", "command_name", "word", "number", "string", "string_content", "raw_string", "concatenation",
    "test_command", "comment", "unary_expression", "binary_expression", "parenthesized_expression",
    "test_operator", "regex", "file_redirect", "herestring_redirect", "heredoc_redirect", "heredoc_start",
    "heredoc_body", "heredoc_content", "heredoc_end", "file_descriptor", "extglob_pattern",
})  # fmt: skip
_REASONS = {
    "simple_expansion": "an argument is computed",
    "expansion": "an argument is computed",
    "arithmetic_expansion": "an argument is computed",
    "brace_expression": "expands braces",
    "command_substitution": "uses the output of another command",
    "process_substitution": "uses a process substitution",
    "ansi_c_string": "quotes with $'…'",
    "translated_string": 'quotes with $"…"',
    "function_definition": "defines a function",
    "for_statement": "sets a variable in a loop",
    "c_style_for_statement": "sets a variable in a loop",
    "case_statement": "uses case",
    "variable_assignments": "",
    "case_item": "",
    "variable_name": "",
    "special_variable_name": "",
    "subscript": "",
}
_SECONDS = 0.25
"""Seconds of the processor that a command may take; one of 32 kB that is no riddle takes a tenth of it."""

_WORDS = frozenset({"word", "string", "raw_string", "concatenation", "number"})
_NO_WORDS = frozenset({"variable_assignment", "file_redirect", "herestring_redirect", "heredoc_redirect"})
_DECLARATIONS = frozenset({"declaration_command", "unset_command"})
_ANSI = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
_ESCAPE = re.compile(
    r"\\(?:x(?P<byte>[0-9A-Fa-f]{1,2})|u(?P<short>[0-9A-Fa-f]{1,4})|U(?P<long>[0-9A-Fa-f]{1,8})"
    r"|(?P<octal>[0-7]{1,3})|.)",
    re.DOTALL,
)
_NAMED = {"a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


@dataclass(slots=True)
class Sketch:
    """What tree-sitter makes of a command.

    Attributes:
        commands: The words of each simple command, in order; a computed one is loose, and roughly as written.
        redirections: Operator and target of each redirection.
        comments: Where each comment begins and ends, in characters.
        documents: Where the line that ends each here-document does.
        reasons: Why the command is not plain, a phrase each.
        whole: Whether all of it was parsed.
    """

    commands: list[list[Token]] = field(default_factory=list)
    redirections: list[tuple[str, Token]] = field(default_factory=list)
    comments: list[tuple[int, int]] = field(default_factory=list)
    documents: list[int] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    whole: bool = True


def sketch(command: str) -> Sketch:
    """What a command would run, read with tree-sitter.

    Raises:
        Unclear: It takes too long to be read, as some take time that grows with the square of their length.
    """
    source = command.encode()
    parser = _parser()
    ends = thread_time() + _SECONDS
    try:
        # Asked on its way, it lets other threads in as well.
        tree = parser.parse(
            lambda offset, _: source[offset:], progress_callback=lambda _, __: thread_time() > ends
        )
    except ValueError:
        parser.reset()
        raise Unclear("takes too long to be read") from None
    return _Walk(command, source).over(tree.root_node)


@cache
def _parser() -> Parser:
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


class _Walk:
    """One pass over the tree, in the order of the text."""

    def __init__(self, command: str, source: bytes) -> None:
        self._command = command
        self._found = Sketch()
        self._characters: list[int] | None = None
        if len(source) != len(command):
            self._characters = [
                index for index, one in enumerate(command) for _ in range(len(one.encode()))
            ] + [len(command)]

    def over(self, root: Node) -> Sketch:
        if root.has_error:
            self._found.whole = False
            self._because("cannot be parsed")
        stack: list[tuple[Node, int, list[Token] | None]] = [(root, 0, None)]
        while stack:
            node, depth, owner = stack.pop()
            if depth > DEEPEST:
                self._because("is nested too deeply")
                continue
            owner = self._visit(node, owner)
            stack += [(child, depth + 1, owner) for child in reversed(node.named_children)]
        return self._found

    def _visit(self, node: Node, owner: list[Token] | None) -> list[Token] | None:
        """Take down what a node says; the words that further words below it belong to."""
        kind = node.type
        if kind in _REASONS:
            self._because(_REASONS[kind])
        elif kind == "variable_assignment":
            self._because(f"sets {self._token(node).raw.partition('=')[0].rstrip('+')[:40]}")
        elif kind in _DECLARATIONS:
            self._found.commands.append(self._words(node.children))
            return None
        elif kind not in _STRUCTURE and not node.is_error:
            self._because("cannot be understood")
        if kind == "redirected_statement":
            words: list[Token] = []
            body = node.child_by_field_name("body")
            # A command's words may go on behind its redirections.
            return words if body is not None and body.type in ("command", "test_command") else None
        if kind == "command":
            words = owner if owner is not None else []
            words += self._words([child for child in node.children if child.type not in _NO_WORDS])
            if words:
                self._found.commands.append(words)
            return words
        if kind == "test_command":
            words = owner if owner is not None else []
            words += self._test(node)
            self._found.commands.append(words)
            return None
        if kind in ("file_redirect", "herestring_redirect"):
            self._redirection(node, owner)
        elif kind == "heredoc_redirect":
            return self._document(node, owner)
        elif kind == "comment":
            self._found.comments.append(self._span(node))
        return None

    def _redirection(self, node: Node, owner: list[Token] | None) -> None:
        operator = ""
        targets = []
        for child in node.children:
            if not child.is_named and not operator:
                operator = child.type
            elif child.type != "file_descriptor":
                targets.append(child)
        if not targets:  # such as 2>&-
            self._found.redirections.append((operator.removesuffix("-"), Token("word", -1, -1, "-", "-")))
            return
        words = self._words(targets)
        self._found.redirections.append((operator, words[0]))
        if owner is not None:
            owner += words[1:]
        elif len(words) > 1:
            self._because("cannot be understood")

    def _document(self, node: Node, owner: list[Token] | None) -> list[Token] | None:
        for child in node.named_children:
            if child.type == "heredoc_start":
                self._found.redirections.append(("<<", self._token(child)))
            elif child.type == "heredoc_end":
                self._found.documents.append(self._span(child)[1])
            elif owner is not None and child.type in _WORDS:
                owner += self._words([child])
        return owner

    def _test(self, node: Node) -> list[Token]:
        start, end = self._span(node)
        try:
            return [
                Token("word", one.start + start, one.end + start, one.raw, one.text, one.loose)
                for one in scan(self._command[start:end])
            ]
        except Unclear:
            return [Token("word", start, end, self._command[start:end], "[", loose=True)]

    def _words(self, nodes: list[Node]) -> list[Token]:
        """Words as tokens; pieces that touch are one word, as they are for the shell."""
        spans: list[tuple[int, int]] = []
        for node in nodes:
            start, end = self._span(node)
            if spans and spans[-1][1] == start:
                spans[-1] = (spans[-1][0], end)
            else:
                spans.append((start, end))
        return [_read(self._command[start:end], start) for start, end in spans]

    def _token(self, node: Node) -> Token:
        start, end = self._span(node)
        return _read(self._command[start:end], start)

    def _span(self, node: Node) -> tuple[int, int]:
        if self._characters is None:
            return node.start_byte, node.end_byte
        return self._characters[node.start_byte], self._characters[node.end_byte]

    def _because(self, reason: str) -> None:
        if reason and reason not in self._found.reasons:
            self._found.reasons.append(reason)


def _read(raw: str, start: int) -> Token:
    """A word, exactly where it is plain, else roughly."""
    if PLAIN.fullmatch(raw):
        return Token("word", start, start + len(raw), raw, raw)
    try:
        [token] = scan(raw)
    except (Unclear, ValueError):
        text = _ANSI.sub(lambda quoted: _decoded(quoted[1]), raw.replace("\\\n", ""))
        return Token("word", start, start + len(raw), raw, re.sub(r"[\"'\\]", "", text), loose=True)
    return Token("word", start, start + len(raw), raw, token.text, token.loose)


def _decoded(text: str) -> str:
    """What stands between ``$'`` and ``'``, with the escapes that make characters resolved."""
    return _ESCAPE.sub(_character, text)


def _character(escape: re.Match[str]) -> str:
    digits = escape["byte"] or escape["short"] or escape["long"]
    if not digits and not escape["octal"]:
        return _NAMED.get(escape[0][1], escape[0][1])
    code = int(digits, 16) if digits else int(escape["octal"], 8)
    return chr(code) if code < 0xD800 else "?"
