"""What waits for the person's yes after a save, by session: another one neither agrees to it nor ends it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from tau.conversation.state import CommandResult, Refused, Said
from tau.display import one_line
from tau.errors import TauError
from tau.journal.wrapping import Question

STILL = "What an earlier save has waiting for your yes still waits: /wrap yes writes it, /wrap no leaves it"
STILL_BEHIND = (
    "An earlier save still has something waiting for your yes: /wrap no ends this question first; "
    "to save again leaves that as it is"
)
ENDED = "What waited for your yes was asked with a save that was taken back, so it waits no more"
LOST = "Not written, since tau ended before your /wrap yes, and kept nowhere:"


def logged(answer: str, result: CommandResult) -> CommandResult:
    """What came of an answer to `/wrap`, with the line that the work log has of it."""
    if not isinstance(result, Said):
        return result
    said = "; ".join([*result.lines, *result.refused])
    return structs.replace(result, logged=f"/wrap {answer} — {said}")


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
        waiting = [question for questions in list(self._questions.values()) for question in questions]
        said = [*(question.line for question in waiting), *(each.lost for each in waiting if each.lost)]
        return [LOST, *said] if waiting else []

    def end_undone(self) -> set[str]:
        """End what was asked with a save that was taken back since, on a thread. Returns whose it was."""
        ended = set()
        for session_id, questions in list(self._questions.items()):
            kept = [question for question in questions if question.stands()]
            if len(kept) < len(questions):
                ended.add(session_id)
                self.put(session_id, kept)
        return ended

    def agree(self, session_id: str) -> CommandResult:
        """Carry out what waits, on a thread; what cannot be done waits on."""
        ended = self.end_undone()
        if not (questions := self._questions.get(session_id, [])):
            return Refused(ENDED) if session_id in ended else self._nothing("yes")
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
        """End what waits, with nothing of it done, on a thread."""
        ended = self.end_undone()
        if not (questions := self._questions.pop(session_id, [])):
            return Refused(ENDED) if session_id in ended else self._nothing("answer")
        more = [line for question in questions for line in question.decline()]
        return Said(["It is left as it is; nothing of it was done", *more])

    def _nothing(self, wanted: str) -> Refused:
        """That nothing waits in this session; where something does in others, that it is there."""
        if not self._questions:
            return Refused(f"Nothing waits for your {wanted}; /wrap closes the session")
        others = ", ".join(one_line(name, 60) for name in self._questions)
        return Refused(
            f"Nothing waits for your {wanted} in this session; what waits was asked of session {others}: "
            "/resume goes back to it"
        )
