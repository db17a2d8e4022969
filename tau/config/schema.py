"""What a tau.toml may say: which tables and keys exist, which of them guard something, and what is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal

import msgspec

from tau.config.actions import BY_NAME
from tau.config.keys import KeyProblem, read_keys, shown, twice
from tau.config.settings import (
    AgentSettings,
    ApprovalSettings,
    CompactionSettings,
    ContextSettings,
    McpSettings,
    MemorySettings,
    ModelSettings,
    PluginsSettings,
    PriceSettings,
    SessionsSettings,
    TasksSettings,
    TuiSettings,
)
from tau.config.toml_file import Document, TomlFile
from tau.config.toml_lines import KeyPath
from tau.display import one_line

TABLES: dict[str, type[msgspec.Struct]] = {
    "agent": AgentSettings,
    "sessions": SessionsSettings,
    "context": ContextSettings,
    "compaction": CompactionSettings,
    "memory": MemorySettings,
    "tasks": TasksSettings,
    "tui": TuiSettings,
    "plugins": PluginsSettings,
    "approvals": ApprovalSettings,
}
NAMED_TABLES = ("models", "mcp", "component", "profiles")
"""Tables whose keys are names of the person's: roles, servers, components, profiles."""

KEYS = "keys"
"""The table of the keys of the app."""

GUARDS = ("approvals", "trust", "plugins")
"""Tables that guard something: what tau does not understand there is an error, never a warning."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")
_APPROVAL = re.compile(r"[A-Za-z0-9_-]{1,64}\Z|[A-Za-z0-9_-]{1,64}:\s*\S")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_PLACEHOLDER = re.compile(r"\$\{[^}]*\}|\A\$[A-Za-z_][A-Za-z0-9_]*\Z")
_SECRET_KEY = re.compile(
    r"(?:\A|[_-])(?:(?:api|secret|access|private)[_-]?key|secret|token|password|passwd|authorization)\Z",
    re.IGNORECASE,
)
_SECRET_VALUE = re.compile(r"(?:sk-|AKIA|ASIA|ghp_|github_pat_|hf_|AIza|gsk_|xox[a-z]-)[A-Za-z0-9_-]{12}")
_EXPECTED = re.compile(r"Expected `([^`]*)`(?:, got `([^`]*)`| (of length )?(>=|<=|>|<) (-?\d+))?")
_PLAIN = {
    "int": "a whole number",
    "float": "a number",
    "str": "text in quotes",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
}
_HINTS = {"context_window": "the tokens that the model takes in at once, as its provider says"}
_BOUNDS = {">=": "at least", ">": "above", "<=": "at most", "<": "below"}


class Problem(msgspec.Struct, frozen=True):
    """Something wrong with a file, as a line for people."""

    level: Literal["error", "warning"]
    path: KeyPath
    message: str
    hint: str = ""

    def line(self) -> str:
        """Message, then the hint in parentheses."""
        return f"{self.message} ({self.hint})" if self.hint else self.message


def problems(file: TomlFile) -> list[Problem]:
    """Everything wrong with a file, in the order of its lines. An empty list when it can be used as it is."""
    found = list(_Check(file).document((), file.document))
    return sorted(found, key=lambda problem: file.line(problem.path) or 0) if len(found) > 1 else found


def known(document: Document) -> Document:
    """A copy of a checked document without the keys and tables tau does not know."""
    kept: Document = {}
    for name, table in document.items():
        if name in TABLES:
            kept[name] = {key: value for key, value in table.items() if key in _fields(TABLES[name])}
        elif name == "models":
            kept[name] = {
                role: {key: value for key, value in model.items() if key in _fields(ModelSettings)}
                for role, model in table.items()
            }
        elif name == KEYS:
            kept[name] = {action: keys for action, keys in table.items() if action in BY_NAME}
        elif name in ("component", "mcp"):
            kept[name] = dict(table)
        elif name == "profiles":
            kept[name] = {profile: known(overlay) for profile, overlay in table.items()}
    return kept


def nearest(word: str, known_words: Iterable[str]) -> str:
    """The known word that `word` was probably meant to be, or the empty string."""
    from difflib import get_close_matches

    near = get_close_matches(word.lower(), list(known_words), n=1, cutoff=0.6)
    return near[0] if near else ""


def dotted(path: KeyPath) -> str:
    """A key's path as people write it, safe to show."""
    return one_line(".".join(str(part) for part in path), 120)


def _fields(table: type[msgspec.Struct]) -> tuple[str, ...]:
    return table.__struct_fields__


class _Check:
    def __init__(self, file: TomlFile) -> None:
        self.file = file

    def document(self, at: KeyPath, document: Document) -> Iterator[Problem]:
        for name, value in document.items():
            path = (*at, name)
            if name in (*TABLES, *NAMED_TABLES, *GUARDS, KEYS):
                if not isinstance(value, dict):
                    yield self._wrong(path, f"must be a table: [{dotted(path)}]")
                elif name in TABLES:
                    yield from self._struct(path, value, TABLES[name], guards=name in GUARDS)
                elif name == KEYS:
                    yield from self._keys(path, value)
                elif name == "profiles" and at:
                    yield self._wrong(path, "a profile cannot hold profiles")
                elif name in NAMED_TABLES:
                    yield from self._named(path, name, value)
                else:
                    for key in value:
                        yield self._unknown_in_guard((*path, key), ())
            else:
                yield self._unknown_at_top(path, value)

    def _named(self, path: KeyPath, table: str, entries: Document) -> Iterator[Problem]:
        for name, value in entries.items():
            inner = (*path, name)
            if not isinstance(value, dict):
                yield self._wrong(inner, f"must be a table: [{dotted(inner)}]")
            elif _NAME.match(name) is None:
                yield self._wrong(inner, "must be a plain name", "letters, digits, '.', '_' and '-'")
            elif table == "models":
                yield from self._struct(inner, value, ModelSettings)
            elif table == "mcp":
                yield from self._struct(inner, value, McpSettings, guards=True)
                yield from self._server(inner, value)
            elif table == "component":
                yield from self._texts(inner, value)
            else:
                yield from self.document(inner, value)

    def _keys(self, path: KeyPath, table: Document) -> Iterator[Problem]:
        usable: dict[str, str | list[str]] = {}
        for name, value in table.items():
            inner = (*path, name)
            if name not in BY_NAME:
                yield self._unknown(inner, tuple(BY_NAME))
            elif not (isinstance(value, str) or _all_text(value)):
                yield self._wrong(inner, "must be a key in quotes, or a list of them", 'such as "ctrl+o"')
            else:
                try:
                    read_keys(value, BY_NAME[name])
                except KeyProblem as problem:
                    yield self._wrong(inner, str(problem))
                else:
                    usable[name] = value
        for name, key, first, place in twice(usable):
            where = f" {place}" if place else ""
            yield self._wrong((*path, name), f"names {shown(key)}, which {first} names as well{where}")

    def _struct(
        self, path: KeyPath, table: Document, kind: type[msgspec.Struct], *, guards: bool = False
    ) -> Iterator[Problem]:
        for key, value in table.items():
            inner = (*path, key)
            if key not in _fields(kind):
                if self._holds_secret(key, value):
                    yield self._secret(inner)
                elif guards:
                    yield self._unknown_in_guard(inner, _fields(kind))
                else:
                    yield self._unknown(inner, _fields(kind))
                continue
            if key == "price" and kind is ModelSettings and isinstance(value, dict):
                yield from self._price(inner, value)
                continue
            try:
                msgspec.convert({key: value}, kind)
            except msgspec.ValidationError as error:
                yield self._mistyped(inner, kind, str(error), value)
            else:
                yield from self._texts(inner, value)
                if kind is ApprovalSettings:
                    yield from self._approvals(inner, value)
        yield from self._variable_names(path, table)

    def _price(self, path: KeyPath, price: Document) -> Iterator[Problem]:
        """What a price must have beside what each of its keys must be."""
        given = dict.fromkeys(("input", "output"), 0.0)
        for key, value in price.items():
            try:
                msgspec.convert({**given, key: value}, PriceSettings)
            except msgspec.ValidationError as error:
                yield self._mistyped((*path, key), PriceSettings, str(error), value)
            else:
                if key not in _fields(PriceSettings):
                    yield self._unknown((*path, key), _fields(PriceSettings))
        missing = [key for key in given if key not in price]
        if missing:
            yield self._wrong(path, f"has no {' and no '.join(missing)}", "US dollars a million tokens")

    def _variable_names(self, path: KeyPath, table: Document) -> Iterator[Problem]:
        given = [((*path, key), table[key]) for key in ("api_key_env", "token_env") if key in table]
        if isinstance(table.get("env"), list):
            given += [((*path, "env", place), name) for place, name in enumerate(table["env"])]
        for at, variable in given:
            if isinstance(variable, str) and _VARIABLE.match(variable) is None:
                yield self._wrong(
                    at,
                    "must be the name of an environment variable, such as OPENAI_API_KEY",
                    "the key itself belongs in the environment",
                )

    def _approvals(self, path: KeyPath, entries: list[str]) -> Iterator[Problem]:
        for place, entry in enumerate(entries):
            if _APPROVAL.match(entry) is None:
                yield self._wrong(
                    (*path, place),
                    "must be a tool, or a tool and a pattern",
                    'such as "shell: git status" or "edit_file: src/**"',
                )

    def _server(self, path: KeyPath, server: Document) -> Iterator[Problem]:
        """What no field's type says: a server is started or reached, not both and not neither."""
        if ("command" in server) == ("url" in server):
            yield self._wrong(path, "must have either command or url")
        if "url" in server and any(key in server for key in ("args", "env")):
            yield self._wrong(path, "has args or env, which belong to a command, not to a url")
        url = server.get("url")
        if isinstance(url, str) and re.match(r"https?://[^\s/@]+(?:/|\Z)", url) is None:
            yield self._wrong(
                (*path, "url"), "must begin with http:// or https://", "a token is named by token_env"
            )

    def _texts(self, path: KeyPath, value: Any) -> Iterator[Problem]:
        """Look at every text inside a value for secrets and for placeholders that nothing would fill."""
        if isinstance(value, dict):
            for key, inner in value.items():
                if self._holds_secret(key, inner):
                    yield self._secret((*path, key))
                else:
                    yield from self._texts((*path, key), inner)
        elif isinstance(value, list):
            for index, inner in enumerate(value):
                yield from self._texts((*path, index), inner)
        elif not isinstance(value, str) or path[-1] == "instructions":
            return
        elif _SECRET_VALUE.match(value):
            yield self._secret(path)
        elif _PLACEHOLDER.search(value):
            yield self._wrong(
                path,
                "holds a placeholder, and tau fills in none",
                "keys come from the environment: api_key_env names the variable",
            )

    def _holds_secret(self, key: str, value: Any) -> bool:
        return isinstance(value, str) and bool(value) and _SECRET_KEY.search(key) is not None

    def _secret(self, path: KeyPath) -> Problem:
        return self._wrong(
            path,
            "holds a secret, and tau.toml must not",
            "put it in the environment and remove it here; [models.ROLE] api_key_env names the variable",
        )

    def _mistyped(self, path: KeyPath, kind: type[msgspec.Struct], complaint: str, value: Any) -> Problem:
        choices = _choices(kind, str(path[-1]))
        if choices and isinstance(value, str):
            near = nearest(value, choices)
            listed = " or ".join(f'"{choice}"' for choice in choices)
            given = one_line(value, 40)
            return self._wrong(
                path, f'must be {listed}, not "{given}"', f'did you mean "{near}"?' if near else ""
            )
        inner = re.search(r"\$\.[^`\[]*((?:\[\d+\])*)", complaint)
        place = inner.group(1) if inner else ""
        must = f"{'item ' + place + ' ' if place else ''}must be {_must_be(complaint)}"
        return self._wrong(path, must, _HINTS.get(str(path[-1]), "") if kind is ModelSettings else "")

    def _unknown_in_guard(self, path: KeyPath, fields: tuple[str, ...]) -> Problem:
        near = nearest(str(path[-1]), fields)
        table = dotted(path[:-1])
        hint = f"did you mean {near}?" if near else _listed(fields, table)
        return Problem("error", path, f"{self.file.where(path)}: unknown key {dotted(path)}", hint)

    def _unknown(self, path: KeyPath, fields: tuple[str, ...]) -> Problem:
        key = str(path[-1])
        homes = [f"[{name}]" for name, kind in TABLES.items() if key in _fields(kind)]
        if key in _fields(ModelSettings):
            homes.append("[models.ROLE]")
        near = nearest(key, fields)
        if key in (*TABLES, *NAMED_TABLES, *GUARDS, KEYS):
            hint = f"[{key}] is a table of its own"
        elif homes:
            hint = f"{key} belongs under {' or '.join(homes)}"
        else:
            hint = f"did you mean {near}?" if near else _listed(fields, dotted(path[:-1]))
        return Problem("warning", path, f"{self.file.where(path)}: unknown key {dotted(path)}", hint)

    def _unknown_at_top(self, path: KeyPath, value: Any) -> Problem:
        if self._holds_secret(str(path[-1]), value):
            return self._secret(path)
        name = str(path[-1])
        tables = (*TABLES, *NAMED_TABLES, *GUARDS, KEYS)
        keys = sorted({*_fields(ModelSettings), *(key for kind in TABLES.values() for key in _fields(kind))})
        if not isinstance(value, dict) and name in keys:
            return self._unknown(path, ())
        near = nearest(name, tables)
        near_key = "" if near or isinstance(value, dict) else nearest(name, keys)
        what = f"unknown table [{dotted(path)}]" if isinstance(value, dict) else f"unknown key {dotted(path)}"
        if near in GUARDS:
            hint = f"did you mean [{near}]? As it stands it guards nothing"
            return Problem("error", path, f"{self.file.where(path)}: {what}", hint)
        if near:
            hint = f"did you mean [{near}]?"
        elif near_key:
            hint = f"did you mean {near_key}?"
        else:
            hint = "this version of tau does not know it"
        return Problem("warning", path, f"{self.file.where(path)}: {what}", hint)

    def _wrong(self, path: KeyPath, what: str, hint: str = "") -> Problem:
        return Problem("error", path, f"{self.file.where(path)}: {dotted(path)} {what}", hint)


def _all_text(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _listed(fields: tuple[str, ...], table: str) -> str:
    return (
        f"[{table}] knows {', '.join(fields)}" if fields else f"this version of tau knows no key in [{table}]"
    )


def _choices(kind: type[msgspec.Struct], key: str) -> tuple[str, ...]:
    from typing import get_args, get_origin, get_type_hints

    hint = get_type_hints(kind)[key]
    return get_args(hint) if get_origin(hint) is Literal else ()


def _must_be(complaint: str) -> str:
    """What msgspec expected, in words."""
    found = _EXPECTED.search(complaint)
    if found is None:
        return one_line(complaint)
    expected, got, _, bound, limit = found.groups()
    kinds = [_PLAIN.get(kind, kind) for kind in expected.split(" | ") if kind != "null"]
    words = " or ".join(kinds)
    if bound:
        return f"{words}, {_BOUNDS[bound]} {limit}"
    return f"{words}, not {_PLAIN.get(got, got)}" if got else words
