"""The window that both kinds have in common: a run of a session's messages, kept, shortened and restored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from strands import Agent
from strands.agent.conversation_manager.conversation_manager import ConversationManager
from strands.hooks import AfterModelCallEvent, BeforeModelCallEvent, HookRegistry
from strands.types.exceptions import ContextWindowOverflowException

from tau.agent.steps import at_once
from tau.agent.window_cuts import cut_by_count, cut_by_size, newest_turn, pruned, size
from tau.agent.window_lead import Lead, facts_room
from tau.agent.window_state import cuts_of, cuts_state, index_or
from tau.agent.window_told import left_out, shortened
from tau.agent.window_unread import AT_ONCE, Unread
from tau.sessions.records import Message
from tau.tools.spill import HEAD, TAIL

ENOUGH_SAVED = 0.25
"""The share that cutting the older results must save for the newest ones to stay whole."""

MOST_TOLD = 0.5
"""What may be told of messages that leave because a request did not fit, as a share of their size."""

FEWEST_CHARS, MOST_CHARS = 3, 5
"""Characters of a token, in code and numbers and in prose, by which a declared window is measured."""

SHORTER = ((5_200, HEAD, TAIL), (2_000, 1_024, 256))
"""How results of a running turn that does not fit are cut: those over so many characters, to which ends."""

STEPS = ((1, 0), (2, 1), (2, 2))
"""The cuts of the older results and of the newest ones, one try after the other; 0 is `prune_chars`."""

CALLS_KEPT = 0.5
"""The share of a running turn's messages that stays when its results are as short as they get."""

FEWEST_KEPT = 2
"""Then only so many messages stay beside the request: the newest call and its result."""

Count = Callable[[], int]
Tell = Callable[[str], None]
CountUsage = Callable[[Mapping[str, Any]], None]
_Before = tuple[list[Message], Lead, Unread | None, int, int, int, list[int]]


class Window(ConversationManager):
    """A run of a session's messages, of which the oldest may be left out and long results shown cut.

    The window is the recorded message `removed_message_count` and those from `_rest` on. Before them stands
    its lead: a summary, and what code took from the messages that left without one. Restoring this state
    gives the same window; the record itself is never changed. Messages that went because a request did not
    fit come back when none of the shorter requests was answered either.

    Of many messages that leave at once, the facts are read off the loop before the next request is made.
    Until then the state is what it was before, so that nothing is lost should it not come to that.

    Args:
        window_size: Messages that are kept.
        prune_chars: Size from which on a tool result is cut when a request did not fit.
        anchors_tokens: Room for the facts of messages that the window does not show.
        count: How many messages the session has on record.
        tell: Called with a sentence for the person when messages leave the window because they do not fit.
        count_usage: Told what the call for a summary took.
    """

    def __init__(
        self,
        *,
        window_size: int,
        prune_chars: int,
        anchors_tokens: int,
        count: Count,
        tell: Tell,
        count_usage: CountUsage,
    ) -> None:
        super().__init__()
        self.window_size = window_size
        self.prune_chars = prune_chars
        self.anchors_tokens = anchors_tokens
        self._count = count
        self._tell = tell
        self._count_usage = count_usage
        self._lead = Lead()
        self._unread: Unread | None = None
        self._rest = 1
        self._cut_before = [0] * (1 + len(SHORTER))
        self._shortened = self._told_shortened = self._halved = False
        self._inserted = 0
        self._restored_from: int | None = 0
        self._tried = False
        self._drops = 0
        self._gone = 0
        self._before: _Before | None = None
        self._moved = False

    # What the SDK calls --------------------------------------------------------------------------

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        """Be awaited before every model call, ahead of hooks of the agent's own, and told of its end."""
        registry.add_callback(BeforeModelCallEvent, self._before_model_call)
        registry.add_callback(AfterModelCallEvent, self._after_model_call)

    def get_state(self) -> dict[str, Any]:
        """What `restore_from_session` needs, as plain JSON."""
        if self._unread is not None:
            return self._unread.state
        return {
            **super().get_state(),
            "rest_from": self._rest,
            **cuts_state(self._cut_before),
            **self._lead.state,
        }

    def restore_from_session(self, state: dict[str, Any]) -> list[Any] | None:
        """Take up a recorded state; the next `apply_management` brings the messages into that window.

        Returns:
            The lead as it stands before the session's messages, or None.

        Raises:
            ValueError: It is the state of another kind of window.
        """
        super().restore_from_session(state)
        self._restored_from = self.removed_message_count
        self._rest = index_or(state.get("rest_from"), self.removed_message_count + 1)
        levels = len(self._cut_before)
        self._cut_before = [*cuts_of(state), *([0] * levels)][:levels]
        self._lead, self._unread = Lead.restored(state), None
        return [*self._lead.messages] or None

    def apply_management(self, agent: Agent, **kwargs: Any) -> None:
        """Bring the messages into the window: a restored one first, and after each turn."""
        if self._restored_from is not None:
            self._take_up(agent)
        self._hold_summary(agent)
        if self._before is not None:
            self._put_back(agent, self._before)
        self._settle()
        self._told_shortened = False

    def reduce_context(self, agent: Agent, e: Exception | None = None, **kwargs: Any) -> None:
        """Make a request smaller that did not fit: long results are cut, and only then messages go.

        Where only the running turn is left, its results are cut shorter, and then its first calls go.

        Raises:
            ContextWindowOverflowException: Nothing more can go: the newest request and the last call stay.
        """
        if e is None:
            self.apply_management(agent)
            return
        smaller = self._prune(agent)
        if smaller and self._may_fit(agent):
            self._drops += self._tried  # tries without a drop count from the second on
            self._tried = True
            return
        self._remember(agent)
        if newest_turn(messages_of(agent)) > self.lead:
            self._make_room(agent)
            return
        while self._shorten(agent):
            smaller = True
            if self._may_fit(agent):
                return
        if not self._let_calls_go(agent) and not smaller:
            raise ContextWindowOverflowException(str(e)) from e

    # What compaction calls ------------------------------------------------------------------------

    @property
    def lead(self) -> int:
        """Messages at the beginning that stand for what is not in the window."""
        return 2 if self._lead.text else 0

    @property
    def unrecorded(self) -> int:
        """Those of them that are not on record; a summary that the session begins with is."""
        return self.lead if not self._lead.on_record else 0

    @property
    def unread_chars(self) -> int:
        """About how many characters `read_unread` will add."""
        return self._unread.chars if self._unread is not None else 0

    async def read_unread(self, agent: Agent) -> None:
        """Read the facts of messages that have left before a request is made of those that are here.

        The loop stays free. A cancelled task leaves all as it was.
        """
        if self._unread is not None:
            lead = await self._unread.read()
            self._unread = None
            self._begin_with(agent, lead)

    def prune_before(self, agent: Agent, end: int) -> bool:
        """Show the long results of the messages before a position cut, from now on.

        Returns:
            Whether that made the request smaller.
        """
        before = size(messages_of(agent))
        self._cut_results(agent, end)
        return size(messages_of(agent)) < before

    def fit(self, agent: Agent, too_long: Callable[[], bool]) -> None:
        """Cut results before a request is sent that does not fit by all that is known.

        Args:
            agent: Whose request it is.
            too_long: Whether the request as it stands is longer than the model's window.
        """
        while too_long() and (self._prune(agent) or self._shorten(agent)):
            self._shortened = True
        self._tell_shortened()

    def summary_failed(self) -> None:
        """Take note that no summary can be made at present, until a request is answered.

        A window that makes none has nothing to do.
        """

    def restart(self) -> None:
        """Forget this window: the next `apply_management` begins that of another session."""
        self._lead, self._unread = Lead(), None
        self.removed_message_count, self._rest = 0, 1
        self._cut_before = [0] * len(self._cut_before)
        self._inserted = 0
        self._restored_from = 0
        self._before = None
        self._moved = True
        self._settle()

    # ---------------------------------------------------------------------------------------------

    def _hold_summary(self, agent: Agent) -> None:
        """Hold on to the summary that a session begins with, whatever else leaves the window."""
        messages = messages_of(agent)
        if self._lead.text or self.removed_message_count or len(messages) <= 2:
            return
        self._lead = Lead.beginning(messages)
        if self._lead.text:
            self.removed_message_count, self._rest = 2, 3

    def _make_room(self, agent: Agent) -> None:
        """Leave out messages before the newest turn, of which there are some, or see to it."""
        raise NotImplementedError

    async def _before_model_call(self, event: BeforeModelCallEvent) -> None:
        await self.read_unread(event.agent)

    def _after_model_call(self, event: AfterModelCallEvent) -> None:
        if event.stop_response is not None:  # it did fit
            if self._gone:
                self._tell(left_out(self._gone))
            self._tell_shortened()
            self._settle()

    def _settle(self) -> None:
        """The window is what it is now; the next request that does not fit is another story."""
        self._before = None
        self._tried = self._shortened = self._halved = False
        self._drops = self._gone = 0

    def _tell_shortened(self) -> None:
        if self._shortened and not self._told_shortened:
            self._told_shortened = True
            self._tell(shortened())
        self._shortened = False

    def _remember(self, agent: Agent) -> None:
        """Hold on to the window as it was before anything went that comes back when it went for nothing."""
        if self._before is None:
            held, lead = [*messages_of(agent)], (self._lead, self._unread)
            place = (self.removed_message_count, self._rest, self._inserted)
            self._before = (held, *lead, *place, [*self._cut_before])

    def _put_back(self, agent: Agent, before: _Before) -> None:
        """Bring back the messages that went for nothing."""
        held, self._lead, self._unread, *place, cut_before = before
        self.removed_message_count, self._rest, self._inserted = place
        messages_of(agent)[:] = held
        self._cut_before[1:] = cut_before[1:]
        self._cut_remembered(agent)

    def _take_up(self, agent: Agent) -> None:
        """Bring the messages of the record, from the first one of the window on, into the restored window."""
        trusted = self._restored_from == self.removed_message_count
        self._restored_from = None
        self._hold_summary(agent)
        if not trusted:
            self._begin_with(agent, self._lead.alone())
        messages, first = messages_of(agent), self.lead
        rest = first + self._rest - self.removed_message_count
        if trusted and first + 1 < rest < len(messages) and messages[rest]["role"] == "assistant":
            del messages[first + 1 : rest]
        else:
            self._rest = self.removed_message_count + 1
        self._inserted = max(0, len(messages) - first - (1 + self._count() - self._rest))
        self._cut_remembered(agent)

    def _index(self, at: int) -> int:
        """The index in the record of the message at a position of the window, or a smaller one.

        A damaged history is mended with messages that are not on record. They are held to be the first ones:
        what is left out is counted low, so that no message of the record is hidden for them.
        """
        at -= self.lead
        return max(self._rest + at - 1 - self._inserted if at else 0, self.removed_message_count)

    def _cut_remembered(self, agent: Agent) -> None:
        """Show cut what was shown cut before."""
        for level, before in reversed([*enumerate(self._cut_before)]):
            end = self.lead
            if before > self.removed_message_count:
                end += 1 + max(before - self._rest, 0)
            self._cut_results(agent, min(end, len(agent.messages)), level)

    def _prune(self, agent: Agent) -> bool:
        """Cut long results, the older ones first. Returns whether that made the request smaller."""
        messages = messages_of(agent)
        before = size(messages)
        self._cut_results(agent, len(messages) - 1)
        if before - size(messages) < before * ENOUGH_SAVED:
            self._cut_results(agent, len(messages))
        return size(messages) < before

    def _shorten(self, agent: Agent) -> bool:
        """Cut results shorter than `_prune` does, by the first step that makes the request smaller."""
        messages = messages_of(agent)
        before = size(messages)
        for older, newest in STEPS:
            self._cut_results(agent, len(messages) - 1, older)
            self._cut_results(agent, len(messages), newest)
            if size(messages) < before:
                self._shortened = True
                return True
        return False

    def _cut_results(self, agent: Agent, end: int, level: int = 0) -> None:
        """Show the long results of all messages before a position cut, and remember it."""
        messages = messages_of(agent)
        for at in range(self.lead, end):
            cut = self._cut_result(messages[at], level)
            if cut is not None:
                messages[at] = cut
                self._cut_before[level] = max(self._cut_before[level], self._index(at) + 1)

    def _cut_result(self, message: Message, level: int) -> Message | None:
        """A copy of the message, cut as every level up to this one does, or None when none cuts anything."""
        cut = pruned(message, self.prune_chars)
        for limit, head, tail in SHORTER[:level]:
            cut = pruned(cut or message, limit, head, tail) or cut
        return cut

    def _may_fit(self, agent: Agent) -> bool:
        """Whether the messages may fit into the model's declared window; where none is, they may."""
        tokens = agent.model.context_window_limit
        return not tokens or size(messages_of(agent)) + self.unread_chars <= tokens * MOST_CHARS

    def _share_cut(self, agent: Agent, shares: tuple[float, ...]) -> int:
        """The position before which messages go, by what may stay this time."""
        share = shares[min(self._drops, len(shares) - 1)]
        self._drops += 1
        messages, tokens = messages_of(agent)[self.lead :], agent.model.context_window_limit
        most = int(size(messages) * share)
        if tokens:
            most = min(most, tokens * FEWEST_CHARS - size(self._lead.messages))
        return self.lead + cut_by_size(messages, most)

    def _give_up(self, agent: Agent, cut: int) -> None:
        """Leave out the messages before position `cut`, since they do not fit."""
        going = messages_of(agent)[self.lead : cut]
        self._gone += len(going)
        self._let_go(agent, cut, cut + 1, int(size(going) * MOST_TOLD))

    def _let_calls_go(self, agent: Agent) -> bool:
        """Leave out the first calls of the running turn, whose request stays. Returns whether any went."""
        messages = messages_of(agent)
        before = size(messages)
        shares, self._halved = ((0.0,) if self._halved else (CALLS_KEPT, 0.0)), True
        for share in shares:
            lead = self.lead
            most = max(int((len(messages) - lead) * share), FEWEST_KEPT)
            first, rest = cut_by_count(messages[lead:], most)
            going = messages[lead + first + 1 : lead + rest]
            if going:
                self._gone += len(going)
                self._let_go(agent, lead + first, lead + rest, int(size(going) * MOST_TOLD))
                if self._may_fit(agent):
                    break
        return size(messages) < before

    def _let_go(self, agent: Agent, first: int, rest: int, growth: int | None = None) -> None:
        """Leave out messages as `_leave_out` does, and keep their facts in a lead that grows by `growth`."""
        messages = messages_of(agent)
        going = [*messages[self.lead : first], *messages[first + 1 : rest]]
        if not going:
            return
        tokens = facts_room(self.anchors_tokens, agent.model)
        if tokens and (self._unread is not None or size(going) > AT_ONCE):
            unread = self._unread or Unread(self._lead, self.get_state())
            self._unread = unread.with_more(going, tokens=tokens, growth=growth)
            lead = self._lead.awaiting(len(going))
        else:
            lead = at_once(self._lead.grown(going, tokens=tokens, growth=growth))
        self._leave_out(agent, first, rest, lead)

    def _leave_out(self, agent: Agent, first: int, rest: int, lead: Lead) -> None:
        """Have `lead` stand for the messages before `first`, and for those after it and before `rest`."""
        from_first, from_rest = self._index(first), self._index(rest)
        messages = messages_of(agent)
        before = len(messages)
        del messages[first + 1 : rest]
        del messages[self.lead : first]
        self._inserted = max(0, self._inserted - (before - len(messages)))
        self.removed_message_count, self._rest = from_first, max(from_rest, from_first + 1)
        self._begin_with(agent, lead)

    def _begin_with(self, agent: Agent, lead: Lead) -> None:
        """Put a lead in the place of the one before."""
        messages_of(agent)[: self.lead] = lead.messages
        self._lead = lead


def messages_of(agent: Agent) -> list[Message]:
    """The messages of an agent, as the plain dicts they are."""
    return cast("list[Message]", agent.messages)
