"""What a channel shows of a conversation: frozen snapshots, handed up whenever they change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

from tau.errors import SessionHeld
from tau.events import AgentEvent, SharedCommandRecord, ToolCallRecord, Usage
from tau.models.info import ModelInfo
from tau.sessions.records import SessionSummary, StoredMessage

if TYPE_CHECKING:
    from tau.conversation.consent import WaitingChange
    from tau.memory.entries import Entry

CompactionOutlook = Literal["later", "next", "after_turn", "never"]


class ConversationState(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation as a status row needs it.

    Attributes:
        session_id: The current session.
        name: Its name (a generated word unless the person gave one).
        called: What leads to it from here: the name that the person gave, else the id.
        title: Its title; empty before the first message.
        directory: The real path that tools, prompt and status row agree on.
        profile: The active profile, or empty.
        role: The model role in force.
        model: The model, or None while it is not ready; `model_problem` then says why, or is empty while
            it is still being prepared.
        model_problem: One line: what is missing.
        held: Why this session is open here for reading only, which is said to who would write; else None.
        persistent: Whether the store keeps sessions beyond this process.
        message_count: Messages recorded.
        in_memory: Messages the model would see.
        context: ``sliding`` or ``summarize``.
        window_size: Of `[agent] window_size`.
        usage: Running totals of the session; `input_tokens` are those that no cache had.
        cost: US dollars of the session's calls so far, as far as prices are known; None while none was.
        context_tokens: Tokens of the last request and reply, or None when unknown.
        compacts_at: Tokens from which on the conversation is compacted by itself, or None when it is not.
        compaction: What becomes of that: it comes once the point is reached (``later``), with the next model
            call (``next``), with the first one behind the running turn, before which there is nothing to
            summarize (``after_turn``), or not any more, since it did not help (``never``).
        busy: Whether a turn or a compaction runs.
        command: The person's own command that runs, or empty.
        shared: The person's own commands whose output goes along with their next message.
        summarizing: Whether what runs is a summary of the conversation, or something else beside its turns.
        aside: What that is, in a word or two.
        unsaved: Why the last turn is not on disk, or empty.
        tool_problems: What there is to know of the tools, such as why a server cannot be used, and of the
            memory, a line each.
        done: Those of the lines that only say what was done or can be, with nothing wrong.
        goal: The goal of the directory in one line, with its state; empty when there is none.
        waits: What a command or a call waits for, once that takes long; empty when it does not.
    """

    session_id: str
    name: str = ""
    called: str = ""
    title: str = ""
    directory: str = ""
    profile: str = ""
    role: str = "default"
    model: ModelInfo | None = None
    model_problem: str = ""
    held: SessionHeld | None = None
    persistent: bool = True
    message_count: int = 0
    in_memory: int = 0
    context: str = "sliding"
    window_size: int = 60
    usage: Usage = msgspec.field(default_factory=Usage)
    turns: int = 0
    cost: float | None = None
    context_tokens: int | None = None
    compacts_at: int | None = None
    compaction: CompactionOutlook = "later"
    busy: bool = False
    command: str = ""
    shared: tuple[SharedCommandRecord, ...] = ()
    summarizing: bool = False
    aside: str = "Summarizing"
    unsaved: str = ""
    tool_problems: tuple[str, ...] = ()
    done: tuple[str, ...] = ()
    goal: str = ""
    waits: str = ""

    @property
    def compacts(self) -> str:
        """What follows `compacts` where the point of compaction is told; empty where there is none."""
        window = self.model.context_window if self.model is not None else None
        if self.compacts_at is None or not window:
            return ""
        if self.summarizing:
            return "now"
        at = f"at {round(100 * self.compacts_at / window)} %"
        words = {"later": at, "next": "next", "after_turn": "after this turn", "never": "no more"}
        return words[self.compaction]

    @property
    def held_by(self) -> str:
        """Who writes this session when it is open here for reading only; else empty."""
        return self.held.holder if self.held is not None else ""

    @property
    def uncounted(self) -> bool:
        """Whether there were turns of this session, and no provider told what any of them took."""
        return self.turns > 0 and self.usage == Usage()


class HistoryPage(msgspec.Struct, frozen=True, kw_only=True):
    """A run of whole turns of the stored history, oldest first.

    Attributes:
        messages: The messages of these turns, in order.
        first_index: Index of the first message returned.
        more: Whether anything lies before `first_index`.
        session_id: The session they are of.
        events: What is on record of the calls they make.
        previous: Where it goes on once there is no `more`: the session that this one summarizes, and the
            index in it before which nothing has been shown; None when nothing came before.
    """

    messages: Sequence[StoredMessage]
    first_index: int
    more: bool
    session_id: str = ""
    events: Sequence[ToolCallRecord] = ()
    previous: tuple[str, int] | None = None


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """What a channel needs to draw a session it has just opened or switched to.

    Attributes:
        state: The conversation as it now is.
        history: Its newest turns.
        events: Its stored agent events, the newest last (bounded).
        notices: Sentences to show once: damage found, another directory, a missing role.
    """

    state: ConversationState
    history: HistoryPage
    events: Sequence[AgentEvent] = ()
    notices: Sequence[str] = ()


# Results of slash commands; a channel renders each kind its own way ---------------------------------


class Said(msgspec.Struct, frozen=True):
    """Plain lines, and behind them what of the command was not done, a line each.

    Attributes:
        lines: As long as they come.
        refused: What was not done.
        laid_out: Lays the same out in so many columns; None where lines are folded wherever they end.
        logged: What the person did, as the work log has it; empty where it has no line of it.
    """

    lines: Sequence[str]
    refused: Sequence[str] = ()
    laid_out: Callable[[int], Sequence[str]] | None = None
    logged: str = ""

    def within(self, columns: int | None) -> Sequence[str]:
        """The lines for a channel that has so many columns, or None where what it writes has no width."""
        return self.lines if columns is None or self.laid_out is None else self.laid_out(columns)


class Refused(msgspec.Struct, frozen=True):
    """The command did nothing; `line` says why and what to do."""

    line: str


class Help(msgspec.Struct, frozen=True):
    """The commands, as (usage, one-line help)."""

    commands: Sequence[tuple[str, str]]


class SessionListing(msgspec.Struct, frozen=True):
    """``/sessions``: numbered from 1 in this order; `lines` is the line-mode form."""

    sessions: Sequence[SessionSummary]
    lines: Sequence[str]


class ModelChoice(msgspec.Struct, frozen=True):
    """A role of ``/model``.

    Attributes:
        role: Its name.
        provider: Of its model; ``auto`` where that is not looked up.
        model_id: Empty where it is not known.
        current: Whether it is the one in force.
        window: Tokens that the model holds; None where they are not known.
        price: What a million tokens sent and a million answered cost in US dollars; None likewise.
        problem: Why it cannot be used, with what is missing; empty when it can or that was not looked up.
    """

    role: str
    provider: str
    model_id: str
    current: bool
    window: int | None = None
    price: tuple[float, float] | None = None
    problem: str = ""


class ModelListing(msgspec.Struct, frozen=True):
    """``/model`` without a role."""

    choices: Sequence[ModelChoice]
    lines: Sequence[str]


class ToolInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that the model may use.

    Attributes:
        name: What it is called by.
        tier: 0 looks, 1 writes tau's own state, 2 changes the machine or leaves it.
        asks: Whether a person answers every single call.
        description: As models read it.
        package: The package that brings it; empty for tau's own and those of servers.
        server: The MCP server that it is of, or empty.
    """

    name: str
    tier: int
    asks: bool = False
    description: str = ""
    package: str = ""
    server: str = ""


class ServerInfo(msgspec.Struct, frozen=True):
    """How an MCP server stands; `reason` says why it failed, with what to do."""

    name: str
    state: Literal["waiting", "connecting", "connected", "failed"]
    reason: str = ""
    tools: int = 0


class ToolListing(msgspec.Struct, frozen=True):
    """``/tools``; `lines` is the line-mode form; `settled`: no server is on its way any more."""

    tools: Sequence[ToolInfo]
    servers: Sequence[ServerInfo]
    lines: Sequence[str]
    settled: bool = True


class MemoryFile(msgspec.Struct, frozen=True, kw_only=True):
    """A memory file, or a file of the project's own.

    Attributes:
        title: ``global/NAME.md``, ``project/NAME.md``, or the name of a project's file.
        path: Where it is. Neither is safe to show as it is.
        text: What it says, safe to show; of a long one the beginning.
        lines: How many lines it has.
        first_loaded: The first line that stands in prompts, from 1; `lines` + 1 when none does.
        last_loaded: The last one.
        missing: What does not stand in prompts, in a few words; empty when all of it does.
        builtin: Whether it came with tau and was not made the person's own.
        origin: Where its content came from when it came from outside; empty otherwise.
        own: Whether it is the project's own, which tau never writes.
    """

    title: str
    path: str
    text: str
    lines: int
    first_loaded: int
    last_loaded: int
    missing: str = ""
    builtin: bool = False
    origin: str = ""
    own: bool = False


class MemoryListing(msgspec.Struct, frozen=True, kw_only=True):
    """``/memory``; `lines` is the line-mode form.

    Attributes:
        files: The memory files, and before them those of the project's own.
        changes: The newest changes that tau made, newest first.
        more_changes: Whether there are older ones.
        goal: The goal of the directory as the status row shows it, and what was noted of it, a line each.
        problems: What the person should know, such as what could not be read.
        shared: Where the files of every project are.
        project: Where those of this project are.
        bare: Whether nothing of it is loaded, since tau runs with ``--bare``.
        work_log: What of the project's work log is loaded beside it, in one line; empty when nothing is.
        waiting: Changes that wait for the person's yes.
        lines: All of it for line mode.
    """

    files: Sequence[MemoryFile]
    changes: Sequence[Entry]
    more_changes: bool = False
    goal: Sequence[str] = ()
    problems: Sequence[str] = ()
    shared: str = ""
    project: str = ""
    bare: bool = False
    work_log: str = ""
    waiting: Sequence[WaitingChange] = ()
    lines: Sequence[str] = ()


class Themes(msgspec.Struct, frozen=True):
    """``/theme``: a channel that has themes shows them, or takes the one of this name."""

    name: str = ""


class Prompt(msgspec.Struct, frozen=True):
    """A message of the person's.

    Attributes:
        number: Its number among those of the conversation, from 1; 0 while that is not known.
        index: Its index among all messages of its session.
        text: Its beginning, on one line.
        at: When it was said, ISO 8601, UTC; empty where only the moment of a copy is known.
        session_id: The session that it is in.
    """

    number: int
    index: int
    text: str
    at: str
    session_id: str = ""


class PromptListing(msgspec.Struct, frozen=True, kw_only=True):
    """``/rewind`` without a number: what the person said in the conversation, oldest first.

    Attributes:
        prompts: Without those that were not read yet. They have numbers once all were read.
        session_id: The session in hand. What comes before its summary is in other sessions.
        earlier: The session and the index before which more is to be read; None when nothing is.
        ends: The sessions that were looked into so far, each with the index at which it ends here.
        unread: Why what was said before could not be read, or empty.
    """

    prompts: Sequence[Prompt] = ()
    session_id: str = ""
    earlier: tuple[str, int] | None = None
    ends: Mapping[str, int] = msgspec.field(default_factory=dict)
    unread: str = ""


class Switched(msgspec.Struct, frozen=True):
    """The conversation is now on another session (``/resume``, ``/new``, ``/fork``).

    Attributes:
        opening: The session.
        line: What is said about it.
        draft: A prompt that was gone back before, whole, to be edited and sent again; else empty.
        summary: The summary that the session begins with, when it was just written; else empty.
    """

    opening: Opening
    line: str = ""
    draft: str = ""
    summary: str = ""


class Cleared(msgspec.Struct, frozen=True):
    """``/clear``: the channel empties its view; the session is untouched."""


class Quit(msgspec.Struct, frozen=True):
    """The channel ends."""


CommandResult = (
    Said
    | Refused
    | Help
    | SessionListing
    | ModelListing
    | PromptListing
    | ToolListing
    | MemoryListing
    | Themes
    | Switched
    | Cleared
    | Quit
)


class OpenRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a channel asks for when it opens a conversation.

    Attributes:
        channel: ``tui``, ``terminal``, ``run`` or ``json``.
        resume: None: a new session. Empty: the newest one. Else an id, or a name of this directory.
        session_id: Open or create exactly this id.
        name: The name to give the session.
        role: The model role, over the stored one.
        all_directories: Look for `resume` in every directory.
        read_only_ok: Whether a session held elsewhere may be opened for reading (the TUI) or is an error.
        bare: Load no files of the person or project into the prompt.
        can_ask: Whether the channel can put a question to a person; without it, calls that need an answer
            are refused.
        configuration: ``--config`` and ``--profile`` as the command line gave them, each with its value.
    """

    channel: str
    resume: str | None = None
    session_id: str | None = None
    name: str | None = None
    role: str | None = None
    all_directories: bool = False
    read_only_ok: bool = False
    bare: bool = False
    can_ask: bool = False
    configuration: Sequence[tuple[str, str]] = ()

    @property
    def one_shot(self) -> bool:
        """Whether the conversation is a single turn, which has everything ready before it begins."""
        return self.channel in ("run", "json")


class CommandSpec(msgspec.Struct, frozen=True):
    """A slash command: its name without the slash, usage, one-line help, and other names."""

    name: str
    usage: str
    help: str
    aliases: Sequence[str] = msgspec.field(default_factory=tuple)
