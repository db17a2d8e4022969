"""What waits for the person's yes after a save, by session: another one neither agrees to it nor ends it."""

from __future__ import annotations

from collections.abc import Sequence

from tau.conversation.state import CommandResult, Refused, Said
from tau.display import one_line
from tau.errors import TauError
from tau.journal.wrapping import Question

STILL = "What an earlier save has waiting for your yes still waits: /wrap yes writes it, /wrap no leaves it"
STILL_BEHIND = (
    "An earlier save still has something waiting for your yes: /wrap no ends this question first; "
    "to save again leaves that as it is"
)
LOST = "Not written, since tau ended before your /wrap yes, and kept nowhere:"


class Waiting:
    """What waits in one process. A session is named by the first one of those that continue each other."""

    def __init__(self) -> None:
        self._questions: dict[str, list[Question]] = {}

    def put(self, session_id: str, questions: Sequence[Question]) -> bool:
        """Have questions wait in place of those of an earlier save. Returns whether there were any."""
        left = self._questions.pop(session_id, [])
        if questions:
            self._questions[session_id] = [*questions]
        return bool(left)

    def has(self, session_id: str) -> bool:
        """Whether something waits in a session."""
        return session_id in self._questions

    def lost(self) -> list[str]:
        """What is said of all that waits when the process ends, which keeps none of it."""
        waiting = [question.line for questions in list(self._questions.values()) for question in questions]
        return [LOST, *waiting] if waiting else []

    def agree(self, session_id: str) -> CommandResult:
        """Carry out what waits, on a thread; what cannot be done waits on."""
        if not (questions := self._questions.get(session_id, [])):
            return self._nothing("yes")
        lines: list[str] = []
        refused: list[str] = []
        for question in tuple(questions):
            try:
                lines += question.carry_out()
            except TauError as error:
                refused.append(f"Not done, and it waits on: {error.line()}")
            else:
                questions.remove(question)
        if not questions:
            self._questions.pop(session_id, None)
        return Said(lines, refused=refused)

    def decline(self, session_id: str) -> CommandResult:
        """End what waits, with nothing of it done."""
        if not self._questions.pop(session_id, []):
            return self._nothing("answer")
        return Said(["It is left as it is; nothing of it was done"])

    def _nothing(self, wanted: str) -> Refused:
        """That nothing waits in this session; where something does in others, that it is there."""
        if not self._questions:
            return Refused(f"Nothing waits for your {wanted}; /wrap closes the session")
        others = ", ".join(one_line(name, 60) for name in self._questions)
        return Refused(
            f"Nothing waits for your {wanted} in this session; what waits was asked of session {others}: "
            "/resume goes back to it"
        )
