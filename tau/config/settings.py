"""The settings tau runs on: frozen, typed, one struct a table of ``tau.toml``, defaults in place.

`tau.config.load` builds them; nothing else reads a configuration file. Field names are the keys.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from tau.display import storable

Count: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=1_000_000_000)]
CountOrZero: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=1_000_000_000)]
Window: TypeAlias = Annotated[int, msgspec.Meta(ge=2, le=1_000_000_000)]
ContextWindow: TypeAlias = Annotated[int, msgspec.Meta(ge=1_000, le=1_000_000_000)]
Dollars: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=1_000_000)]
ResultChars: TypeAlias = Annotated[int, msgspec.Meta(gt=5_200, le=1_000_000_000)]
Days: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=36_500)]
MemoryChars: TypeAlias = Annotated[int, msgspec.Meta(ge=1_000, le=1_000_000_000)]


class AgentSettings(msgspec.Struct, frozen=True, kw_only=True):
    """``[agent]``: the turn and its window."""

    context: Literal["sliding", "summarize"] = "sliding"
    window_size: Window = 60
    max_turns: Count = 50
    max_total_tokens: Count | None = None
    instructions: str = ""


class SessionsSettings(msgspec.Struct, frozen=True, kw_only=True):
    """``[sessions]``: where conversations are kept and which are listed."""

    backend: str = "memory"
    scope: Literal["directory", "all"] = "directory"
    titles: Literal["first", "model"] = "first"


class PriceSettings(msgspec.Struct, frozen=True, kw_only=True):
    """``price`` of ``[models.ROLE]``: US dollars a million tokens.

    `cached` (read from the provider's cache) and `written` (to it) are those of `input` unless given.
    """

    input: Dollars
    output: Dollars
    cached: Dollars | None = None
    written: Dollars | None = None


class ModelSettings(msgspec.Struct, frozen=True, kw_only=True):
    """``[models.ROLE]``: one model a role. `params` goes to the provider as it stands.

    `script`, `side_script` and `record` belong to ``scripted``; `weights` (a name or a path) to ``embedded``.
    """

    provider: str = "auto"
    model_id: str | None = None
    context_window: ContextWindow | None = None
    price: PriceSettings | None = None
    max_tokens: Count | None = None
    params: dict[str, Any] = {}
    api_key_env: str | None = None
    base_url: str | None = None
    region: str | None = None
    script: str | None = None
    side_script: str | None = None
    record: str | None = None
    weights: str | None = None


class ContextSettings(msgspec.Struct, frozen=True, kw_only=True):
    """``[context]``: sizes, in characters, above which tool results are spilled or pruned."""

    spill_result_chars: ResultChars = 32_000
    prune_result_chars: ResultChars = 8_192


class CompactionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """``[compaction]``: how a long conversation is carried into a new session."""

    keep_turns: CountOrZero = 0
    anchors_tokens: CountOrZero = 4_000
    auto: bool = True


class MemorySettings(msgspec.Struct, frozen=True, kw_only=True):
    """``[memory]``: how many characters of memory files a prompt holds, their names and fences included.

    `refine` says whether a conversation is read by itself, now and then, for what memory should keep.
    """

    max_chars: MemoryChars = 24_000
    refine: Literal["auto", "off"] = "off"


class TasksSettings(msgspec.Struct, frozen=True, kw_only=True):
    """``[tasks]``: the days after which finished tasks are purged, and those never begun archived."""

    max_age_days: Days = 30


class TuiSettings(msgspec.Struct, frozen=True, kw_only=True):
    """``[tui]``: the full-screen app."""

    theme: str = "auto"
    mouse: bool = True
    notify: Literal["off", "bell", "desktop"] = "off"


class PluginsSettings(msgspec.Struct, frozen=True, kw_only=True):
    """``[plugins]``: entry points that are not to be loaded, as ``GROUP:NAME`` or ``NAME``."""

    disabled: list[str] = []


class ApprovalSettings(msgspec.Struct, frozen=True, kw_only=True):
    """``[approvals]``: which calls run without a question, which ask, and which are refused.

    Each entry is ``TOOL`` or ``TOOL: PATTERN``. `deny` goes before `ask`, and `ask` before `allow`.
    """

    allow: list[str] = []
    ask: list[str] = []
    deny: list[str] = []


class McpSettings(msgspec.Struct, frozen=True, kw_only=True):
    """``[mcp.NAME]``: a server of tools, started by `command` with `args`, or reached at `url`.

    `env` and `token_env` name environment variables: those a command is given, and the one whose value is
    sent as the bearer token. `timeout` is in seconds. `tiers` lowers tools by name.
    """

    command: str | None = None
    args: list[str] = []
    env: list[str] = []
    url: str | None = None
    token_env: str | None = None
    timeout: Count = 30
    tiers: dict[str, Literal[0, 1, 2]] = {}


class Places(msgspec.Struct, frozen=True, kw_only=True):
    """Where tau keeps things; resolved from the environment and the platform, never created on import.

    `data` holds sessions and logs, `state` what can be rebuilt or is per machine (index, spills, trust,
    weights), `config` the person's own files.
    """

    data: Path
    state: Path
    config: Path

    @property
    def sessions(self) -> Path:
        """The folder of the file store."""
        return self.data / "sessions"

    @property
    def logs(self) -> Path:
        """The folder of ``tau.log``."""
        return self.data / "logs"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """All settings of one run.

    Attributes beside the tables:
        keys: ``[keys]``: the keys of actions, by the names in `tau.config.actions`.
        component: ``[component.NAME]`` tables, handed to the component of that name as they stand.
        profile: The active profile, or the empty string.
        places: Where tau keeps things.
        directory: The real path tau works in.
        trusted: Whether the person trusts `directory`; decides what its files may set and feed into a prompt.
        files: The files these settings came from, strongest first.
    """

    agent: AgentSettings = AgentSettings()
    sessions: SessionsSettings = SessionsSettings()
    models: dict[str, ModelSettings] = {}
    context: ContextSettings = ContextSettings()
    compaction: CompactionSettings = CompactionSettings()
    memory: MemorySettings = MemorySettings()
    tasks: TasksSettings = TasksSettings()
    tui: TuiSettings = TuiSettings()
    plugins: PluginsSettings = PluginsSettings()
    approvals: ApprovalSettings = ApprovalSettings()
    mcp: dict[str, McpSettings] = {}
    keys: dict[str, str | list[str]] = {}
    component: dict[str, dict[str, Any]] = {}
    profile: str = ""
    places: Places
    directory: Path
    trusted: bool = False
    files: tuple[Path, ...] = ()

    @property
    def directory_text(self) -> str:
        """`directory` as sessions have it on record and are asked for by."""
        return storable(str(self.directory))

    def model(self, role: str) -> ModelSettings:
        """The settings of a role; those of an absent ``default`` are ``provider = "auto"``.

        Raises:
            KeyError: No such role.
        """
        if role == "default" and role not in self.models:
            return ModelSettings()
        return self.models[role]

    def roles(self) -> list[str]:
        """The configured roles, ``default`` first."""
        return ["default", *(name for name in self.models if name != "default")]
