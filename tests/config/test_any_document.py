"""Whatever a file says, loading ends in settings or in one line, and trust is never got around."""

from __future__ import annotations

from typing import Any

import msgspec
import tomli_w
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tau.config.load import check
from tau.config.schema import GUARDS, NAMED_TABLES, TABLES
from tau.config.settings import ModelSettings, Settings
from tau.config.trust import FREE_IN_MODELS
from tau.errors import ConfigError
from tests.config.conftest import Desk

STRUCTS: list[type[msgspec.Struct]] = [*TABLES.values(), ModelSettings]
KEYS = sorted({key for kind in STRUCTS for key in kind.__struct_fields__})
NAMES = st.sampled_from([*KEYS, *TABLES, *NAMED_TABLES, *GUARDS, "default", "odd", "a b", "api_key", ""])
SCALARS = st.one_of(
    st.integers(-3, 10_000),
    st.booleans(),
    st.floats(allow_nan=False),
    st.dates(),
    st.sampled_from(["sliding", "directory", "all", "file", "${KEY}", "sk-0123456789abcdef", "a/b", "~", ""]),
    st.text(max_size=5),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
TABLE = st.dictionaries(NAMES, VALUES, max_size=4)
DOCUMENTS = st.one_of(
    TABLE,
    st.fixed_dictionaries({}, optional=dict.fromkeys(TABLES, TABLE)),
    st.fixed_dictionaries({"models": st.dictionaries(NAMES, TABLE, max_size=2)}),
    st.fixed_dictionaries({"profiles": st.fixed_dictionaries({"p": TABLE})}),
)
IN_ONE_DESK = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@IN_ONE_DESK
@given(DOCUMENTS, st.sampled_from([None, "p"]))
def test_any_document_loads_or_is_refused_in_one_line(
    desk: Desk, document: dict[str, Any], profile: str | None
) -> None:
    desk.user(tomli_w.dumps(document))
    findings = check(config=None, profile=profile, directory=desk.repository, environ=desk.environ)
    for line in findings.errors + findings.warnings:
        assert "\n" not in line
        assert line.startswith(f"{desk.user_file}:") or "There is no profile" in line
    if findings.errors:
        assert desk.error(profile=profile).startswith(findings.errors[0].partition(" (")[0])
    else:
        assert isinstance(desk.load(profile=profile).settings, Settings)


@IN_ONE_DESK
@given(DOCUMENTS, st.sampled_from([None, "p"]))
def test_no_project_reaches_what_needs_trust(
    desk: Desk, document: dict[str, Any], profile: str | None
) -> None:
    desk.user("[profiles.p]\n[models.default]\nbase_url = 'https://mine'\nprovider = 'openai'\n")
    mine = desk.load(profile=profile).settings
    desk.project(tomli_w.dumps(document))
    try:
        theirs = desk.load(profile=profile).settings
    except ConfigError:
        return
    finally:
        desk.project_file.unlink()
    assert theirs.sessions.backend == mine.sessions.backend
    assert (theirs.component, theirs.plugins) == (mine.component, mine.plugins)
    assert theirs.agent.instructions == mine.agent.instructions
    assert theirs.agent.max_turns == mine.agent.max_turns
    for role, model in theirs.models.items():
        base = mine.models.get(role, ModelSettings())
        for key in ModelSettings.__struct_fields__:
            if key not in FREE_IN_MODELS:
                assert getattr(model, key) == getattr(base, key)
