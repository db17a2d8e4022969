"""Which language a file is written in, and reading its imports: Python by `ast`, others by their grammars."""

from __future__ import annotations

import functools
import re
from importlib import import_module
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from tau.tasks.imports import python
from tau.tasks.imports.found import MOST_IMPORTS, Found, Imported

if TYPE_CHECKING:
    from tree_sitter import Language, Node


class Grammar(NamedTuple):
    """A grammar of tree-sitter, and what in its trees imports something.

    Attributes:
        package: The module that has it.
        function: The function in it that gives the language.
        query: Captures the imports; the name of a capture is the kind of the import.
    """

    package: str
    function: str
    query: str


_SCRIPT = """
(import_statement source: (string) @path)
(export_statement source: (string) @path)
(call_expression function: (identifier) @_require arguments: (arguments . (string) @path)
    (#eq? @_require "require"))
(call_expression function: (import) arguments: (arguments . (string) @path))
"""
_TYPED = _SCRIPT + "(import_require_clause source: (string) @path)"
_INCLUDE = """
(preproc_include path: (string_literal) @quoted)
(preproc_include path: (system_lib_string) @angled)
"""

GRAMMARS = {
    "JavaScript": Grammar("tree_sitter_javascript", "language", _SCRIPT),
    "TypeScript": Grammar("tree_sitter_typescript", "language_typescript", _TYPED),
    "TSX": Grammar("tree_sitter_typescript", "language_tsx", _TYPED),
    "Go": Grammar("tree_sitter_go", "language", "(import_spec path: (_) @path)"),
    "Rust": Grammar("tree_sitter_rust", "language", "(mod_item !body) @mod (use_declaration) @use"),
    "Java": Grammar("tree_sitter_java", "language", "(import_declaration) @import"),
    "C": Grammar("tree_sitter_c", "language", _INCLUDE),
    "C++": Grammar("tree_sitter_cpp", "language", _INCLUDE),
}

_LANGUAGES = {
    "Python": ".py .pyi",
    "JavaScript": ".js .jsx .mjs .cjs",
    "TypeScript": ".ts .mts .cts",
    "TSX": ".tsx",
    "Go": ".go",
    "Rust": ".rs",
    "Java": ".java",
    "C": ".c",
    "C++": ".h .cc .cpp .cxx .c++ .hh .hpp .hxx .h++ .inl .ipp .tpp",
}
"""The endings of files; a header may be C or C++, and what it includes is written alike in both."""

_BY_ENDING = {ending: name for name, endings in _LANGUAGES.items() for ending in endings.split()}


def language_of(path: str) -> str:
    """The language of a file, by its ending; empty for one whose imports are not read."""
    return _BY_ENDING.get(PurePosixPath(path).suffix.lower(), "")


def missing_grammar(language: str) -> str:
    """Why the imports of a language cannot be read here, in a few words; empty when they can."""
    grammar = GRAMMARS.get(language)
    if grammar is None:
        return ""
    try:
        _language(language)
    except ImportError:
        package = grammar.package.replace("_", "-")
        return f"the package {package} is not installed, so imports of {language} are not read"
    return ""


def imports_of(data: bytes, language: str) -> Found:
    """What a file imports.

    Args:
        data: Its content.
        language: As `language_of` gives it, and `missing_grammar` has nothing against.
    """
    if language == "Python":
        return python.imports_of(data)
    from tree_sitter import Parser, Query, QueryCursor

    grammar = _language(language)
    tree = Parser(grammar).parse(data)
    captures = QueryCursor(Query(grammar, GRAMMARS[language].query)).captures(tree.root_node)
    nodes = sorted(
        ((node.start_byte, kind, node) for kind, found in captures.items() for node in found),
        key=lambda each: each[:2],
    )
    imports: dict[Imported, None] = {}
    for _, kind, node in nodes:
        if not kind.startswith("_"):
            imports.update(dict.fromkeys(_READERS.get(language, _literal)(kind, node)))
    taken = tuple(imports)[:MOST_IMPORTS]
    return Found(taken, f"only {MOST_IMPORTS:,} imports were read" if len(imports) > MOST_IMPORTS else "")


@functools.cache
def _language(name: str) -> Language:
    from tree_sitter import Language

    grammar = GRAMMARS[name]
    return Language(getattr(import_module(grammar.package), grammar.function)())


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _literal(kind: str, node: Node) -> list[Imported]:
    """A text in quotes, or a header between angle brackets."""
    text = _text(node)[1:-1]
    return [Imported(kind, text)] if text and "\\" not in text else []


def _rust(kind: str, node: Node) -> list[Imported]:
    """``mod`` with the modules around it; ``path`` with what its attribute says; ``use`` by its names."""
    around = _modules_around(node)
    if kind == "use":
        argument = node.child_by_field_name("argument")
        used = _used(argument, "") if argument is not None else []
        return [Imported("use", _from_file(path, around)) for path in used]
    before = node.prev_named_sibling
    while before is not None and before.type in ("attribute_item", "line_comment", "block_comment"):
        if placed := _PATH.match(_text(before)):
            return [Imported("path", placed.group(1))]
        before = before.prev_named_sibling
    return [Imported("mod", "/".join([*around, _text(node.child_by_field_name("name") or node)]))]


def _modules_around(node: Node) -> list[str]:
    """The modules that a declaration stands in within its file, the outermost first."""
    around: list[str] = []
    parent = node.parent
    while parent is not None:
        if parent.type == "mod_item":
            around.insert(0, _text(parent.child_by_field_name("name") or parent))
        parent = parent.parent
    return around


def _from_file(path: str, around: list[str]) -> str:
    """A path of ``use`` as the module of the whole file would write it."""
    names = [name.removeprefix("r#") for name in path.removeprefix("::").split("::")]
    if not around or names[0] not in ("self", "super"):
        return "::".join(names)
    names = names[names[0] == "self" :]
    while names and names[0] == "super" and around:
        names, around = names[1:], around[:-1]
    return "::".join(names if names and names[0] == "super" else ["self", *around, *names])


def _used(node: Node, prefix: str) -> list[str]:
    """The paths that a ``use`` names, its lists taken apart."""
    match node.type:
        case "use_list":
            return [path for child in node.named_children for path in _used(child, prefix)]
        case "scoped_use_list":
            path, inner = node.child_by_field_name("path"), node.child_by_field_name("list")
            within = _joined(prefix, _text(path)) if path is not None else prefix
            return _used(inner, within) if inner is not None else []
        case "use_as_clause":
            path = node.child_by_field_name("path")
            return [_joined(prefix, _text(path))] if path is not None else []
        case "use_wildcard":
            inner = node.named_children[0] if node.named_children else None
            return [_joined(prefix, _text(inner))] if inner is not None else [prefix]
        case "self":
            return [prefix or "self"]
        case "line_comment" | "block_comment":
            return []
    return [_joined(prefix, _text(node))]


def _joined(prefix: str, path: str) -> str:
    return "::".join(filter(None, [prefix, "".join(path.split())]))


def _java(kind: str, node: Node) -> list[Imported]:
    """``import`` with the name of a class, or ``wildcard`` with that of a package or class."""
    words = [child for child in node.children if child.type in ("scoped_identifier", "identifier")]
    if not words:
        return []
    name = "".join(_text(words[0]).split())
    return [Imported("wildcard" if any(child.type == "asterisk" for child in node.children) else kind, name)]


_PATH = re.compile(r'#\s*\[\s*path\s*=\s*"([^"\\]+)"')

_READERS = {"Rust": _rust, "Java": _java}
