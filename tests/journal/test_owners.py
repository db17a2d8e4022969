"""Whatever sessions say: the same words stand in one layer of a context and of what is shared."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tau.journal import assumptions, context_file, lessons_file, open_items
from tau.journal.context_answer import (
    AssumptionSaid,
    ContextSaid,
    FactSaid,
    LessonSaid,
    LogSaid,
    OpenItemSaid,
    SharedSaid,
)
from tau.journal.context_wrap import ContextWrap
from tau.journal.contexts import LogPlace
from tau.journal.markdown import Markdown
from tau.journal.open_items import key
from tau.journal.wrapping import WrapSession

WORDS = ("Alpha one", "Beta two", "Gamma three", "Delta four")
words = st.sampled_from(WORDS)
facts = st.lists(st.builds(FactSaid, words, st.sampled_from(("", *WORDS))), max_size=3)
items = st.lists(st.builds(OpenItemSaid, words, st.sampled_from(("", "Active"))), max_size=2)
verdicts = st.sampled_from(("new", "corroborated", "contradicted", "disproven"))
part = st.fixed_dictionaries(
    {
        "facts": facts,
        "open_items": items,
        "done": st.lists(words, max_size=1),
        "assumptions": st.lists(st.builds(AssumptionSaid, words, verdicts, st.booleans()), max_size=2),
        "lessons": st.lists(st.builds(LessonSaid, st.just("t"), rule=words), max_size=2),
    }
)
shared = st.builds(SharedSaid, facts, items, st.lists(words, max_size=1))
sessions = st.lists(st.tuples(part, st.none() | part, shared, st.sampled_from(("", "fetch_url"))), max_size=4)


def _layers(place: LogPlace) -> list[str]:
    """The words that stand in each layer."""
    found: list[str] = []
    for name in ("acme", "shared"):
        document = Markdown(place.read(name, "context.md") or b"")
        lessons = lessons_file.entries(Markdown(place.read(name, "LESSONS.md") or b""))
        found += {*context_file.fact_keys(document)}
        found += {key(item.text) for item in open_items.items(document)}
        found += {key(tally.text) for tally in assumptions.tallies(document)}
        found += {
            key(text) for entry in lessons for text in (entry.rule, entry.fields.get("fix", "")) if text
        }
    return [text for text in found if text in map(key, WORDS)]


@given(sessions)
@settings(max_examples=60, deadline=None)
def test_after_any_saves_the_same_words_have_one_owner(
    said: list[tuple[dict[str, Any], dict[str, Any] | None, SharedSaid, str]],
) -> None:
    with TemporaryDirectory() as folder:
        place = LogPlace(Path(folder) / ".session-log", there=True)
        for number, (acme, own, across, origin) in enumerate(said):
            parts = [ContextSaid("acme", "s", **acme)]
            parts += [ContextSaid("shared", "s", **own)] if own is not None else []
            session = WrapSession(
                session_id=str(number),
                called="a",
                now=datetime(2026, 1, 15, tzinfo=UTC),
                contexts=tuple(each.context for each in parts),
                origin=origin,
            )
            wrap = ContextWrap(place, session)
            wrap.save(LogSaid(parts, across))
            assert not wrap.refused
            if wrap.waiting is not None:
                agreed = ContextWrap(place, session)
                agreed.agree(wrap.waiting)
                assert not agreed.refused
            layers = _layers(place)
            assert sorted(layers) == sorted(set(layers))
