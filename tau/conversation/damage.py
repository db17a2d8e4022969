"""Says what of a session is damaged, once for each part."""

from __future__ import annotations

from collections.abc import Sequence

from tau.conversation.opening import OpenSession
from tau.sessions.records import Damage


def tell_damage(opened: OpenSession) -> Sequence[str]:
    """One notice a damaged part, once in the life of the session; one that was mended may be told again."""
    damage = opened.reader.damage()
    parts = {item.part for item in damage}
    before = [part for part in str(opened.reader.meta().get("damage_told") or "").split("|") if part]
    still = [part for part in before if part in parts or "/messages/" in part]
    new = [item for item in damage if item.part not in still]
    told = "|".join([*still, *(item.part for item in new)])
    if opened.writer is not None and told != "|".join(before):
        opened.writer.patch_meta({"damage_told": told or None}, touch=False)
    return [_damage_notice(opened.reader.session_id, item) for item in new]


def _damage_notice(session_id: str, item: Damage) -> str:
    if item.index is None:
        kept = "it is made anew, and what was there is kept aside"
    elif item.recovered:
        kept = "it was left as it is, and its content is kept elsewhere"
    else:
        kept = "it was left as it is, and everything else is sound"
    return f"{item.part} of session {session_id} is damaged ({item.reason}); {kept}."
