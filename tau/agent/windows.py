"""The context window: which messages a model is sent, and what gives way when they do not fit."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, cast

from strands import Agent
from strands.agent.conversation_manager.conversation_manager import ConversationManager
from strands.hooks import AfterModelCallEvent, BeforeModelCallEvent, HookRegistry
from strands.models import Model
from strands.types.exceptions import ContextWindowOverflowException

from tau.agent.history import begins_turn, is_summary
from tau.agent.summarizer import Summarizer, SummaryFailed
from tau.agent.window_cuts import cut_by_count, cut_by_size, newest_turn, pruned, size
from tau.agent.window_summary import summary_messages
from tau.config.settings import AgentSettings, ContextSettings
from tau.masking import mask_content
from tau.sessions.records import Message

log = logging.getLogger(__name__)

KEPT_SHARES = (0.75, 0.5, 0.0)
"""What may stay when a request did not fit, the first time, the second and the third in a row."""

SUMMARY_SHARES = (0.5, 0.0)
"""The same beside a summary."""

ENOUGH_SAVED = 0.25
"""The share that cutting the older results must save for the newest ones to stay whole."""

FEWEST_CHARS, MOST_CHARS = 3, 5
"""Characters of a token, in code and numbers and in prose, by which a declared window is measured."""

TRANSCRIPT_SHARE = 0.6
"""What a transcript to be summarized may take of the window; where none is declared, of what did not fit."""

LEAST_TRANSCRIPT = 20_000
"""Characters that a transcript may always have where no window is declared."""

Count = Callable[[], int]
Tell = Callable[[str], None]
CountUsage = Callable[[Mapping[str, Any]], None]
_Before = tuple[list[Message], list[Message], int, int, int]


class Window(ConversationManager):
    """A run of a session's messages, of which the oldest may be left out and long results shown cut.

    The window is the recorded message `removed_message_count` and those from `_rest` on. Restoring this
    state gives the same window; the record itself is never changed. Messages that went because a request did
    not fit come back when none of the shorter requests was answered either.

    Args:
        window_size: Messages that are kept.
        prune_chars: Size from which on a tool result is cut when a request did not fit.
        count: How many messages the session has on record.
        tell: Called with a sentence for the person when messages leave the window because they do not fit.
        count_usage: Told what the call for a summary took.
    """

    def __init__(
        self, *, window_size: int, prune_chars: int, count: Count, tell: Tell, count_usage: CountUsage
    ) -> None:
        super().__init__()
        self.window_size = window_size
        self.prune_chars = prune_chars
        self._count = count
        self._tell = tell
        self._count_usage = count_usage
        self._lead: list[Message] = []
        self._rest = 1
        self._pruned_before = 0
        self._inserted = 0
        self._restored_from: int | None = 0
        self._tried = False
        self._drops = 0
        self._gone = 0
        self._before: _Before | None = None
        self._moved = False

    # What the SDK calls --------------------------------------------------------------------------

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        """Be told of every model call."""
        registry.add_callback(AfterModelCallEvent, self._after_model_call)

    def get_state(self) -> dict[str, Any]:
        """What `restore_from_session` needs, as plain JSON."""
        return {
            **super().get_state(),
            "rest_from": self._rest,
            "pruned_before": self._pruned_before,
            "summary_message": self._lead[0] if self._lead else None,
        }

    def restore_from_session(self, state: dict[str, Any]) -> list[Any] | None:
        """Take up a recorded state; the next `apply_management` brings the messages into that window.

        Returns:
            The summary as it stands before the session's messages, or None.

        Raises:
            ValueError: It is the state of another kind of window.
        """
        super().restore_from_session(state)
        self._restored_from = self.removed_message_count
        self._rest = _index_or(state.get("rest_from"), self.removed_message_count + 1)
        self._pruned_before = _index_or(state.get("pruned_before"), 0)
        summary = state.get("summary_message")
        if isinstance(summary, dict) and isinstance(summary.get("content"), list):
            self._lead = [summary, *summary_messages("")[1:]]
        return [*self._lead] or None

    def apply_management(self, agent: Agent, **kwargs: Any) -> None:
        """Bring the messages into the window: a restored one first, and after each turn."""
        if self._restored_from is not None:
            self._take_up(agent)
        self._hold_summary(agent)
        if self._before is not None:
            self._put_back(agent, self._before)
        self._settle()

    def reduce_context(self, agent: Agent, e: Exception | None = None, **kwargs: Any) -> None:
        """Make a request smaller that did not fit: long results are cut, and only then messages go.

        Raises:
            ContextWindowOverflowException: Nothing more can go: the newest request and what followed stay.
        """
        if e is None:
            self.apply_management(agent)
            return
        smaller = self._prune(agent)
        if smaller and self._may_fit(agent):
            self._drops += self._tried  # tries without a drop count from the second on
            self._tried = True
            return
        messages = _messages(agent)
        if newest_turn(messages) > len(self._lead):
            if self._before is None:
                removed = self.removed_message_count
                self._before = ([*messages], self._lead, removed, self._rest, self._inserted)
            self._make_room(agent)
        elif not smaller:
            raise ContextWindowOverflowException(str(e)) from e

    # What compaction calls ------------------------------------------------------------------------

    @property
    def lead(self) -> int:
        """Messages at the beginning that are a summary of what is not in the window."""
        return len(self._lead)

    def prune_before(self, agent: Agent, end: int) -> bool:
        """Show the long results of the messages before a position cut, from now on.

        Returns:
            Whether that made the request smaller.
        """
        before = size(_messages(agent))
        self._prune_before(agent, end)
        return size(_messages(agent)) < before

    def summary_failed(self) -> None:
        """Take note that no summary can be made at present, until a request is answered.

        A window that makes none has nothing to do.
        """

    def restart(self) -> None:
        """Forget this window: the next `apply_management` begins that of another session."""
        self._lead = []
        self.removed_message_count, self._rest = 0, 1
        self._pruned_before = self._inserted = 0
        self._restored_from = 0
        self._before = None
        self._moved = True
        self._settle()

    # ---------------------------------------------------------------------------------------------

    def _hold_summary(self, agent: Agent) -> None:
        """Hold on to the summary that a session begins with, whatever else leaves the window."""
        messages = _messages(agent)
        if self._lead or self.removed_message_count or len(messages) <= 2 or not is_summary(messages[0]):
            return
        self._lead = messages[:2]
        self.removed_message_count, self._rest = 2, 3

    def _make_room(self, agent: Agent) -> None:
        """Leave out messages before the newest turn, of which there are some, or see to it."""
        raise NotImplementedError

    def _after_model_call(self, event: AfterModelCallEvent) -> None:
        if event.stop_response is not None:  # it did fit
            if self._gone:
                self._tell(left_out(self._gone))
            self._settle()

    def _settle(self) -> None:
        """The window is what it is now; the next request that does not fit is another story."""
        self._before = None
        self._tried = False
        self._drops = self._gone = 0

    def _put_back(self, agent: Agent, before: _Before) -> None:
        """Bring back the messages that went for nothing."""
        _messages(agent)[:], self._lead, self.removed_message_count, self._rest, self._inserted = before
        self._prune_remembered(agent)

    def _take_up(self, agent: Agent) -> None:
        """Bring the messages of the record, from the first one of the window on, into the restored window."""
        trusted = self._restored_from == self.removed_message_count
        self._restored_from = None
        self._hold_summary(agent)
        messages, first = _messages(agent), len(self._lead)
        rest = first + self._rest - self.removed_message_count
        if trusted and first + 1 < rest < len(messages) and messages[rest]["role"] == "assistant":
            del messages[first + 1 : rest]
        else:
            self._rest = self.removed_message_count + 1
        self._inserted = max(0, len(messages) - first - (1 + self._count() - self._rest))
        self._prune_remembered(agent)

    def _index(self, at: int) -> int:
        """The index in the record of the message at a position of the window, or a smaller one.

        A damaged history is mended with messages that are not on record. They are held to be the first ones:
        what is left out is counted low, so that no message of the record is hidden for them.
        """
        at -= len(self._lead)
        return max(self._rest + at - 1 - self._inserted if at else 0, self.removed_message_count)

    def _prune_remembered(self, agent: Agent) -> None:
        """Show cut what was shown cut before."""
        end = len(self._lead)
        if self._pruned_before > self.removed_message_count:
            end += 1 + max(self._pruned_before - self._rest, 0)
        self._prune_before(agent, min(end, len(agent.messages)))

    def _prune(self, agent: Agent) -> bool:
        """Cut long results, the older ones first. Returns whether that made the request smaller."""
        messages = _messages(agent)
        before = size(messages)
        self._prune_before(agent, len(messages) - 1)
        if before - size(messages) < before * ENOUGH_SAVED:
            self._prune_before(agent, len(messages))
        return size(messages) < before

    def _prune_before(self, agent: Agent, end: int) -> None:
        """Show the long results of all messages before a position cut, and remember it."""
        messages = _messages(agent)
        for at in range(len(self._lead), end):
            cut = pruned(messages[at], self.prune_chars)
            if cut is not None:
                messages[at] = cut
                self._pruned_before = max(self._pruned_before, self._index(at) + 1)

    def _may_fit(self, agent: Agent) -> bool:
        """Whether the messages may fit into the model's declared window; where none is, they may."""
        tokens = agent.model.context_window_limit
        return not tokens or size(_messages(agent)) <= tokens * MOST_CHARS

    def _share_cut(self, agent: Agent, shares: tuple[float, ...]) -> int:
        """The position before which messages go, by what may stay this time."""
        share = shares[min(self._drops, len(shares) - 1)]
        self._drops += 1
        messages, room = _messages(agent)[len(self._lead) :], _room(agent)
        most = int(size(messages) * share)
        return len(self._lead) + cut_by_size(messages, most if room is None else min(most, room))

    def _give_up(self, agent: Agent, cut: int) -> None:
        """Leave out the messages before position `cut`, since they do not fit."""
        self._gone += cut - len(self._lead)
        self._leave_out(agent, cut, cut + 1)

    def _leave_out(self, agent: Agent, first: int, rest: int) -> None:
        """Leave out the messages before position `first`, and those after it and before position `rest`."""
        from_first, from_rest = self._index(first), self._index(rest)
        messages = _messages(agent)
        before = len(messages)
        del messages[first + 1 : rest]
        del messages[len(self._lead) : first]
        self._inserted = max(0, self._inserted - (before - len(messages)))
        self.removed_message_count, self._rest = from_first, max(from_rest, from_first + 1)


class SlidingWindowConversationManager(Window):
    """The last messages of a session. The name is the SDK's, by which a session remembers its window."""

    def apply_management(self, agent: Agent, **kwargs: Any) -> None:
        """Leave out what is older than the last `window_size` messages."""
        super().apply_management(agent)
        if self._moved:  # to another session, perhaps in the middle of a turn, which stays whole
            self._moved = False
            return
        lead, messages = self.lead, _messages(agent)
        if len(messages) - lead > self.window_size:
            first, rest = cut_by_count(messages[lead:], self.window_size)
            self._leave_out(agent, lead + first, lead + rest)

    def _make_room(self, agent: Agent) -> None:
        self._give_up(agent, self._share_cut(agent, KEPT_SHARES))


class SummarizingConversationManager(Window):
    """A summary of the older messages, and the newest ones. The name is the SDK's, as above.

    The SDK reduces a window in a plain call, during which its loop stands still. So the call only notes that
    a summary is due, and the hook before the next model call, which is awaited, makes it.

    Args:
        window_size: Messages that are kept beside a summary, unless the newest turn has more.
        prune_chars: Size from which on a tool result is cut when a request did not fit.
        count: How many messages the session has on record.
        tell: Called with a sentence for the person when messages leave the window.
        count_usage: Told what the call for a summary took.
    """

    def __init__(
        self, *, window_size: int, prune_chars: int, count: Count, tell: Tell, count_usage: CountUsage
    ) -> None:
        super().__init__(
            window_size=window_size,
            prune_chars=prune_chars,
            count=count,
            tell=tell,
            count_usage=count_usage,
        )
        self._due = False
        self._failed = False

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        """Be told of every model call, and awaited before it."""
        super().register_hooks(registry)
        registry.add_callback(BeforeModelCallEvent, self._before_model_call)

    def summary_failed(self) -> None:
        """Know that no summary can be made at present: messages leave without one."""
        self._failed = True

    def _make_room(self, agent: Agent) -> None:
        self._due = True

    def _settle(self) -> None:
        super()._settle()
        self._due = self._failed = False

    async def _before_model_call(self, event: BeforeModelCallEvent) -> None:
        if not self._due:
            return
        self._due = False  # whatever comes of it: a cancelled turn leaves nothing behind
        agent, messages = event.agent, _messages(event.agent)
        cut = self._share_cut(agent, SUMMARY_SHARES)
        newest, fewest = newest_turn(messages), len(messages) - self.window_size
        cut = next(at for at in range(min(max(cut, fewest), newest), newest + 1) if begins_turn(messages[at]))
        if not self._failed:
            self._tell(summarizing(cut - len(self._lead)))
            try:
                lead = await self._summary(agent, cut)
            except SummaryFailed as error:
                log.info("The older messages were not summarized: %s", error)
                self._failed = True
                cut = newest if error.overflow else cut
                self._tell(not_summarized(error.message))
            else:
                self._leave_out(agent, cut, cut + 1)
                messages[: len(self._lead)] = lead
                self._lead = lead
                return
        self._give_up(agent, cut)

    async def _summary(self, agent: Agent, cut: int) -> list[Message]:
        """What stands for the messages before a position.

        Raises:
            SummaryFailed: There is no summary, or it is no shorter.
        """
        older, room = _messages(agent)[:cut], transcript_room(agent.model)
        whole = max(int(size(_messages(agent)) * TRANSCRIPT_SHARE), LEAST_TRANSCRIPT)
        summarizer = Summarizer(agent.aux_model, limit=self.prune_chars, count_usage=self._count_usage)
        text = await summarizer.summarize(older, room=whole if room is None else room, most_parts=1)
        if len(text) >= size(older):
            raise SummaryFailed("it would be no shorter than what it sums up")
        return summary_messages(mask_content(text))


def ignored(usage: Mapping[str, Any]) -> None:
    """Nobody counts what a call took."""


def window(
    settings: AgentSettings,
    context: ContextSettings,
    *,
    count: Count,
    tell: Tell,
    count_usage: CountUsage = ignored,
) -> Window:
    """The manager of the window that the configuration asks for.

    Args:
        settings: Kind and size of the window.
        context: From which size on a tool result is cut.
        count: How many messages the session has on record.
        tell: Called with a sentence for the person when messages leave the window because they do not fit.
        count_usage: Told what the call for a summary took.
    """
    kinds: dict[str, type[Window]] = {
        "sliding": SlidingWindowConversationManager,
        "summarize": SummarizingConversationManager,
    }
    return kinds[settings.context](
        window_size=settings.window_size,
        prune_chars=context.prune_result_chars,
        count=count,
        tell=tell,
        count_usage=count_usage,
    )


def left_out(count: int) -> str:
    """Told when `count` messages leave the window."""
    return (
        "The request did not fit the model's context window: the model no longer sees the oldest "
        f"{_messages_of(count)}, which stay in the session."
    )


def summarizing(count: int) -> str:
    """Told when `count` messages are to be summarized."""
    return (
        f"The request did not fit the model's context window: summarizing the oldest {_messages_of(count)}…"
    )


def not_summarized(reason: str) -> str:
    """Told when messages leave the window without a summary."""
    return f"The oldest messages could not be summarized: {reason}"


def _messages_of(count: int) -> str:
    return f"{count} messages" if count != 1 else "message"


def _messages(agent: Agent) -> list[Message]:
    """The messages of an agent, as the plain dicts they are."""
    return cast("list[Message]", agent.messages)


def _room(agent: Agent) -> int | None:
    """Characters that the model's declared window holds in any case, or None."""
    tokens = agent.model.context_window_limit
    return tokens * FEWEST_CHARS if tokens else None


def transcript_room(model: Model) -> int | None:
    """Characters that a model may be sent to summarize, or None when its window is not declared."""
    tokens = model.context_window_limit
    return int(tokens * FEWEST_CHARS * TRANSCRIPT_SHARE) if tokens else None


def _index_or(value: Any, default: int) -> int:
    return value if isinstance(value, int) and value >= 0 else default
