"""Context windows and prices of models that publishers list, for roles whose table declares none.

Windows are those of the SDK's own table and the publishers' model pages; prices are standard on-demand ones
in US dollars a million tokens, with the five-minute cache where a publisher has several. They were gathered
on 30 November 2026 from what was then on record of the price pages (platform.claude.com,
developers.openai.com, ai.google.dev, aws.amazon.com/bedrock), some of it months old and some at second hand,
and prices move: the figure tau shows is an estimate, no bill. A model whose price was not found has none
here; `price` in the role's table always wins.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from tau.models.usage import Price


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a model: tokens of its context window, and its price or None."""

    context_window: int
    price: Price | None = None


def find(provider: str, model_id: str) -> Known | None:
    """What is known of a provider's model.

    The id is looked for as it stands, then without the path before it and without what tells releases of one
    model apart: dates, revisions, ``-latest``, ``-preview``. Anything else in a name is another model.

    Args:
        provider: ``anthropic``, ``openai``, ``gemini`` or ``bedrock``; of others nothing is known.
        model_id: The provider's name for the model.
    """
    name = model_id.rpartition("/")[2]
    if provider == "bedrock":
        return _on_bedrock(name)
    return _named(_LISTS.get(provider, {}), name)


def _named(listed: dict[str, Known], name: str) -> Known | None:
    while name not in listed:
        shorter = _RELEASE.sub("", name)
        if shorter == name:
            return None
        name = shorter
    return listed[name]


def _on_bedrock(name: str) -> Known | None:
    found = _BEDROCK_ID.match(name)
    if found is None:
        return None
    region, publisher, name = found.groups()
    if publisher == "amazon":
        return _named(_NOVA, name)
    known = _named(_CLAUDE, name)
    if known is None or known.price is None or _named(_CLAUDE_LIKE_DIRECT, name) is None:
        return known and replace(known, price=None)
    price = known.price
    if region != "global" and _named(_CLAUDE_DEARER_IN_REGIONS, name) is not None:
        price = _times(price, 1.1)
    return replace(known, price=price)


_RELEASE = re.compile(
    r"(?:-20\d{6}|@20\d{6}|-20\d\d-\d\d-\d\d|-v\d+(?::\d+)?(?::\d+k)?|-00\d|-latest|-preview|\[1m\])\Z"
)
_BEDROCK_ID = re.compile(r"(?:([a-z-]+)\.)?(anthropic|amazon)\.(.+)\Z")


def _times(price: Price, factor: float) -> Price:
    def scaled(dollars: float | None) -> float | None:
        return None if dollars is None else round(dollars * factor, 6)

    return Price(
        input=round(price.input * factor, 6),
        output=round(price.output * factor, 6),
        cached=scaled(price.cached),
        written=scaled(price.written),
    )


def _claude(window: int, into: float, out: float, cached: float) -> Known:
    """Writing to the cache for five minutes costs a quarter more than input, with every Claude."""
    return Known(window, Price(input=into, output=out, cached=cached, written=into * 1.25))


def _gpt(into: float, out: float, cached: float | None, *, writes: bool = True) -> Known:
    """A model of the long window: above 272,000 tokens sent, input is twice as dear, output by half."""
    written = into * 1.25 if writes else None
    long = Price(
        input=into * 2,
        output=out * 1.5,
        cached=None if cached is None else cached * 2,
        written=None if written is None else written * 2,
    )
    price = Price(input=into, output=out, cached=cached, written=written, long=long, long_from=272_000)
    return Known(1_050_000, price)


def _plain(window: int, into: float, out: float, cached: float | None = None) -> Known:
    return Known(window, Price(input=into, output=out, cached=cached))


def _gemini_pro(into: float, out: float, cached: float, *, long_out: float) -> Known:
    """Above 200,000 tokens sent, input is twice as dear."""
    long = Price(input=into * 2, output=long_out, cached=cached * 2)
    return Known(_GEMINI, Price(input=into, output=out, cached=cached, long=long, long_from=200_000))


_OPUS = _claude(1_000_000, 5, 25, 0.5)
_OPUS_200K = _claude(200_000, 5, 25, 0.5)
_OLD_OPUS = _claude(200_000, 15, 75, 1.5)
_SONNET = _claude(200_000, 3, 15, 0.3)
_HAIKU_5_5 = Known(
    1_000_000,
    Price(
        input=0.1,
        output=0.5,
        cached=0.01,
        written=0.125,
        long=Price(input=0.5, output=2.5, cached=0.05, written=0.625),
        long_from=100_000,
    ),
)

# Claude Sonnet 4 and 4.5 hold a million tokens only for requests that ask for it, which tau does not.
_CLAUDE_DEARER_IN_REGIONS = {
    "claude-opus-4-8": _OPUS,
    "claude-opus-4-7": _OPUS,
    "claude-opus-4-6": _OPUS,
    "claude-opus-4-5": _OPUS_200K,
    "claude-sonnet-4-6": _claude(1_000_000, 3, 15, 0.3),
    "claude-sonnet-4-5": _SONNET,
    "claude-haiku-4-5": _claude(200_000, 1, 5, 0.1),
}
"""Those for which Bedrock asks a tenth more than Anthropic, except through ``global.`` ids."""

_CLAUDE_LIKE_DIRECT = {
    **_CLAUDE_DEARER_IN_REGIONS,
    "claude-opus-4-1": _OLD_OPUS,
    "claude-opus-4": _OLD_OPUS,
    "claude-sonnet-4": _SONNET,
    "claude-3-7-sonnet": _SONNET,
    "claude-3-5-sonnet": _SONNET,
    "claude-3-5-haiku": _claude(200_000, 0.8, 4, 0.08),
    "claude-3-opus": _OLD_OPUS,
    "claude-3-haiku": Known(200_000, Price(input=0.25, output=1.25, cached=0.03, written=0.3)),
}
"""Those for which Bedrock's prices are known: Anthropic's own, a region's surcharge aside."""

_CLAUDE = {
    **_CLAUDE_LIKE_DIRECT,
    "claude-opus-4-0": _OLD_OPUS,
    "claude-sonnet-4-0": _SONNET,
    "claude-fable-5-1": _claude(1_000_000, 10, 50, 0.25),
    "claude-fable-5": _claude(1_000_000, 10, 50, 1),
    "claude-opus-5-5": _claude(1_000_000, 4, 20, 0.2),
    "claude-opus-5": _OPUS,
    "claude-sonnet-5-5": _claude(1_000_000, 2, 10, 0.1),
    "claude-sonnet-5": _claude(1_000_000, 2, 10, 0.2),
    "claude-haiku-5-5": _HAIKU_5_5,
}

_GPT = {
    "gpt-6-astra": _gpt(10, 50, 1),
    "gpt-6.1-sol": _gpt(2, 10, 0.1),
    "gpt-6-sol": _gpt(2, 10, 0.2),
    "gpt-6-luna": _gpt(0.1, 0.5, 0.01),
    "gpt-5.6": _gpt(4, 20, 0.4),
    "gpt-5.6-sol": _gpt(4, 20, 0.4),
    "gpt-5.6-terra": _gpt(2, 12, 0.2),
    "gpt-5.6-luna": _gpt(0.2, 1.2, 0.02),
    "gpt-5.5": _gpt(5, 30, 0.5, writes=False),
    "gpt-5.4": _gpt(2.5, 15, 0.25, writes=False),
    "gpt-5.4-mini": _plain(272_000, 0.75, 4.5, 0.075),
    "gpt-5.4-nano": Known(272_000),
    "gpt-5.2": _plain(272_000, 1.75, 14, 0.175),
    "gpt-5.1": _plain(272_000, 1.25, 10, 0.125),
    "gpt-5": _plain(272_000, 1.25, 10, 0.125),
    "gpt-5-mini": _plain(272_000, 0.25, 2, 0.025),
    "gpt-5-nano": _plain(272_000, 0.05, 0.4, 0.005),
    "gpt-4.1": _plain(1_047_576, 2, 8, 0.5),
    "gpt-4.1-mini": _plain(1_047_576, 0.4, 1.6, 0.1),
    "gpt-4.1-nano": _plain(1_047_576, 0.1, 0.4, 0.025),
    "gpt-4o": _plain(128_000, 2.5, 10, 1.25),
    "gpt-4o-2024-05-13": _plain(128_000, 5, 15),
    "gpt-4o-mini": _plain(128_000, 0.15, 0.6, 0.075),
    "gpt-4-turbo": _plain(128_000, 10, 30),
    "o1": _plain(200_000, 15, 60, 7.5),
    "o3": _plain(200_000, 2, 8, 0.5),
    "o3-mini": _plain(200_000, 1.1, 4.4, 0.55),
    "o4-mini": _plain(200_000, 1.1, 4.4, 0.275),
}

_GEMINI = 1_048_576

_GEMINIS = {
    "gemini-3.6-flash": Known(_GEMINI),
    "gemini-3.5-flash": _plain(_GEMINI, 1.5, 9, 0.15),
    "gemini-3.5-flash-lite": Known(_GEMINI),
    "gemini-3.1-pro": _gemini_pro(2, 12, 0.2, long_out=18),
    "gemini-3.1-flash-lite": _plain(_GEMINI, 0.25, 1.5, 0.025),
    "gemini-3-pro": _gemini_pro(2, 12, 0.2, long_out=18),
    "gemini-3-flash": _plain(_GEMINI, 0.5, 3, 0.05),
    "gemini-2.5-pro": _gemini_pro(1.25, 10, 0.125, long_out=15),
    "gemini-2.5-flash": _plain(_GEMINI, 0.3, 2.5, 0.03),
    "gemini-2.5-flash-lite": _plain(_GEMINI, 0.1, 0.4, 0.01),
    "gemini-2.0-flash": _plain(_GEMINI, 0.1, 0.4, 0.025),
    "gemini-2.0-flash-lite": _plain(_GEMINI, 0.075, 0.3),
    # These stand for another model every few months, so no price is theirs.
    "gemini-flash-latest": Known(_GEMINI),
    "gemini-pro-latest": Known(_GEMINI),
}

_NOVA = {
    "nova-premier": _plain(1_000_000, 2.5, 12.5),
    "nova-pro": _plain(300_000, 0.8, 3.2, 0.2),
    "nova-lite": _plain(300_000, 0.06, 0.24, 0.015),
    "nova-micro": _plain(128_000, 0.035, 0.14, 0.00875),
}

_LISTS = {"anthropic": _CLAUDE, "openai": _GPT, "gemini": _GEMINIS}
