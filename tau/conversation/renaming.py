"""Gives sessions names; one does not move in listings for that."""

from __future__ import annotations

from tau.conversation.in_hand import InHand


def rename(hand: InHand, name: str) -> None:
    """Name the session in hand.

    Raises:
        TauError: The name cannot be used, or the session is held elsewhere.
    """
    if hand.state.held is not None:
        raise hand.state.held
    if name == hand.state.name:  # which the sessions that this one continues have as well
        return
    hand.opener.check_name(name, session_id=hand.state.session_id)
    writer = hand.writer
    assert writer is not None
    writer.patch_meta({"name": name}, touch=False)
    writer.flush()
    hand.index(lambda catalog: catalog.record(writer, []))
    hand.refresh()


def rename_session(hand: InHand, session_id: str, name: str) -> None:
    """Name any session.

    Raises:
        TauError: The name cannot be used, the session is not there, or is held elsewhere.
    """
    if session_id == hand.state.session_id:
        rename(hand, name)
        return
    with hand.read(session_id) as reader:
        directory = str(reader.meta().get("directory") or "")
    hand.opener.check_name(name, session_id=session_id, directory=directory)
    with hand.hold(session_id) as writer:
        writer.patch_meta({"name": name}, touch=False)
        writer.flush()
        hand.index(lambda catalog: catalog.record(writer, []))
