"""Tokens of a text are the runs of letters and digits in it, and single characters of unspaced scripts."""

from __future__ import annotations

import re
import sys

from hypothesis import given
from hypothesis import strategies as st

from tau.sessions.searching import fold, index_text, tokens_of

TOKEN = re.compile("[a-z0-9\u0080-\U0010ffff]+")


@given(text=st.text())
def test_tokens_are_what_the_index_is_given(text: str) -> None:
    assert tokens_of(fold(text)) == TOKEN.findall(index_text(text))


def test_each_character_is_in_a_token_or_between_two() -> None:
    for block in range(0, sys.maxunicode + 1, 4096):
        text = "".join(f"a{chr(code)}b " for code in range(block, min(block + 4096, sys.maxunicode + 1)))
        assert tokens_of(fold(text)) == TOKEN.findall(index_text(text))
