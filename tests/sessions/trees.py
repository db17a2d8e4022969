"""Trees of sessions as conversations make them: gone on with, forked, rewound and compacted, in any order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from tau.sessions.records import Message, MetaValue, with_origin
from tau.sessions.store import SessionStore

Place = tuple[str, int]

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["say", "fork", "compact"]), st.integers(0, 30), st.integers(0, 30), st.integers(0, 4)
    ),
    min_size=1,
    max_size=9,
)
"""What is done, in which session, where it begins, and how much is said or kept."""


@dataclass
class _Session:
    """A session of a tree: its messages, and where it goes on from which other one."""

    session_id: str
    messages: list[Message] = field(default_factory=list)
    source: _Session | None = None
    count: int = 0
    kept: int | None = None

    def path(self, end: int) -> list[Place]:
        """The messages of the conversation that the first `end` messages of the session stand for."""
        if self.source is None:
            return [(self.session_id, index) for index in range(end)]
        own = 0 if self.kept is not None else self.count
        if self.kept is None:
            behind = self.source.path(min(self.count, end))
        else:
            own = 2 + self.kept
            summarized = self.count - self.kept
            behind = self.source.path(summarized + min(self.kept, max(0, end - 2))) if end else []
            behind += [(self.session_id, index) for index in range(min(2, end))]
        return behind + [(self.session_id, index) for index in range(own, end)]


class Tree:
    """Carries out steps in a store.

    Args:
        store: Empty.
        counted: Whether each session records how many messages of the one before it goes on from.

    Attributes:
        texts: What each message says that is no copy.
    """

    def __init__(self, store: SessionStore, *, counted: bool) -> None:
        self.texts: dict[Place, str] = {}
        self._store = store
        self._counted = counted
        self._sessions = [self._begin(_Session("s0"), {})]
        self._say(self._sessions[0], 3)

    def do(self, steps: list[tuple[str, int, int, int]]) -> tuple[str, list[Place]]:
        """Carry out steps.

        Returns:
            The session that was made last, and the messages of its conversation.
        """
        for what, which, where, much in steps:
            at = self._sessions[which % len(self._sessions)]
            if what == "say":
                self._say(at, much)
            elif what == "fork":
                self._fork(at, where % (len(at.messages) + 1), much)
            elif at.messages:
                self._compact(at, much)
        last = self._sessions[-1]
        return last.session_id, last.path(len(last.messages))

    def _fork(self, at: _Session, end: int, more: int) -> None:
        new = _Session(self._name(), source=at, count=end)
        self._begin(new, {"forked_from": at.session_id, "from_count": end})
        self._copy(at, new, 0, end)
        self._say(new, more)

    def _compact(self, at: _Session, kept: int) -> None:
        count = len(at.messages)
        kept = min(kept, count)
        new = _Session(self._name(), source=at, count=count, kept=kept)
        self._begin(new, {"compacted_from": at.session_id, "from_count": count})
        self._say(new, 2)
        self._copy(at, new, count - kept, count)
        with self._store.hold(at.session_id) as writer:
            writer.patch_meta({"compacted_to": new.session_id})

    def _name(self) -> str:
        return f"s{len(self._sessions)}"

    def _begin(self, new: _Session, meta: dict[str, MetaValue]) -> _Session:
        known = {key: value for key, value in meta.items() if key != "from_count" or self._counted}
        self._store.create(new.session_id, meta=known).close()
        if new.source is not None:
            self._sessions.append(new)
        return new

    def _say(self, at: _Session, count: int) -> None:
        for _ in range(count):
            index = len(at.messages)
            text = f"heron {at.session_id}x{index}y"
            self.texts[at.session_id, index] = text
            self._append(at, [{"role": "assistant" if index % 2 else "user", "content": [{"text": text}]}])

    def _copy(self, source: _Session, new: _Session, start: int, end: int) -> None:
        self._append(
            new,
            [with_origin(source.messages[index], source.session_id, index) for index in range(start, end)],
        )

    def _append(self, at: _Session, messages: list[dict[str, Any]]) -> None:
        with self._store.hold(at.session_id) as writer:
            for message in messages:
                writer.append(len(at.messages), message)
                at.messages.append(message)
