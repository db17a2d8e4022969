"""What a provider module is given and gives back: the door between a model role and one provider."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from tau import masking
from tau.config.settings import ModelSettings, Places
from tau.errors import ConfigError, ModelNotReady

if TYPE_CHECKING:
    from strands.models import Model

CONNECT_SECONDS = 10.0
"""How long a client waits for a server to accept the connection."""

SILENCE_SECONDS = 300.0
"""How long a client waits for the next byte of an answer; local servers read long prompts in silence."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLACEHOLDER = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?|\{\{.*\}\}|<.*>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A role to be made into a model.

    Attributes:
        role: The role's name.
        settings: Its table, with the provider already decided.
        places: Where tau keeps things.
        directory: The directory tau works in; relative paths of the table start here.
        environ: The environment keys are read from.
    """

    role: str
    settings: ModelSettings
    places: Places
    directory: Path
    environ: Mapping[str, str]

    @property
    def table(self) -> str:
        """The table's heading in ``tau.toml``, for messages."""
        return f"[models.{self.role}]"

    def path(self, given: str) -> Path:
        """A path of the table: absolute, from the home directory (``~``), or from `directory`."""
        return self.directory / Path(given).expanduser()

    def need_package(self, module: str, extra: str) -> None:
        """Make sure a provider's package is installed, without importing it.

        Raises:
            ModelNotReady: It is not; the message names the package and how to install it.
        """
        try:
            found = find_spec(module) is not None
        except ModuleNotFoundError:
            found = False
        if not found:
            raise ModelNotReady(
                f"{self.table} needs the package '{module}', which is not installed",
                f"pip install 'tau-terminal[{extra}]'",
            )

    def key(self, *variables: str) -> str:
        """The API key: that of ``api_key_env``, else of the first of `variables` that holds one.

        Raises:
            ModelNotReady: The variable is unset, empty or an unexpanded placeholder. Its name is in the
                message, its value never is.
            ConfigError: ``api_key_env`` is not the name of a variable.
        """
        names = self._named_variable() or variables
        problems = []
        for name in names:
            value = self.environ.get(name, "").strip()
            problem = key_problem(self.environ.get(name))
            if not problem:
                masking.remember(value)
                return value
            problems.append(f"{name} {problem}")
        raise ModelNotReady(
            f"{self.table} reads its API key from {' or '.join(names)}: {', '.join(problems)}",
            f"export {names[0]}=… and start again",
        )

    def base_url(self, default: str) -> str:
        """The server's address, without a slash at the end.

        Raises:
            ConfigError: ``base_url`` is not an address with a scheme and a host.
        """
        given = self.settings.base_url or default
        parts = urlsplit(given)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(
                f"{self.table} base_url is not an address: {given}", "as in http://127.0.0.1:8080/v1"
            )
        return given.rstrip("/")

    def _named_variable(self) -> tuple[str, ...]:
        named = self.settings.api_key_env
        if named is None:
            return ()
        if _VARIABLE.fullmatch(named):
            return (named,)
        placeholder = _PLACEHOLDER.fullmatch(named)
        if placeholder and placeholder.group(1):
            inner = placeholder.group(1)
            raise ConfigError(
                f"{self.table} api_key_env holds a placeholder for {inner}, not the name of a variable",
                f'write api_key_env = "{inner}"',
            )
        raise ConfigError(
            f"{self.table} api_key_env is not the name of an environment variable",
            'put the key into a variable and write its name, as in api_key_env = "MY_API_KEY"',
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """What a check found: the model that a build will give.

    Attributes:
        model_id: The provider's name for it.
        context_window: Tokens it holds, or None when unknown.
        advice: What the person should know about it once, or empty.
        cached_in_input: Whether the ``inputTokens`` that the SDK reports for it include those of the cache.
        images: Whether it takes images; None leaves that to its name.
        elsewhere: Whether another server than the provider's own answers, which has prices of its own.
        reads_memory: Whether it has room for memory files in its prompt.
    """

    model_id: str
    context_window: int | None = None
    advice: str = ""
    cached_in_input: bool = False
    images: bool | None = None
    elsewhere: bool = False
    reads_memory: bool = True


class Provider(Protocol):
    """What each provider module offers."""

    def check(self, request: Request) -> Ready:
        """See that nothing is missing, without importing strands or calling the model.

        Raises:
            ModelNotReady: A variable, package, server or file is missing.
            ConfigError: The table asks for what the provider cannot do.
        """

    def build(self, request: Request, ready: Ready) -> tuple[Model, Model]:
        """The model for turns and the one for side calls (summaries); often the same one."""


def request_fields(call: Callable[..., Any], params: Mapping[str, Any]) -> dict[str, Any]:
    """`params` for an SDK's `call`; what it does not know by name goes into the request's body."""
    import inspect

    known = inspect.signature(call).parameters
    fields = {name: value for name, value in params.items() if name in known}
    others = {name: value for name, value in params.items() if name not in known}
    if others:
        fields["extra_body"] = {**others, **fields.get("extra_body", {})}
    return fields


def key_problem(value: str | None) -> str:
    """Why a variable's value is no API key, in words that do not show it; empty when it may be one."""
    if value is None:
        return "is not set"
    value = value.strip()
    if not value:
        return "is empty"
    if _PLACEHOLDER.fullmatch(value):
        return "holds a placeholder that was not filled in"
    if not value.isascii() or not value.isprintable() or " " in value:
        return "holds characters that no key has"
    return ""
