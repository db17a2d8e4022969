"""A key that is missing is named before anything is sent; nothing of its value is ever shown."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from tau import masking
from tau.errors import ConfigError, ModelNotReady
from tau.models.failures import LONGEST_LINE, describe, is_overflow
from tau.models.registry import choices
from tests.models.calls import MakeSettings, ready
from tests.models.stub_server import Stub

READS: list[tuple[dict[str, Any], str]] = [
    ({"provider": "anthropic"}, "ANTHROPIC_API_KEY"),
    ({"provider": "openai"}, "OPENAI_API_KEY"),
    ({"provider": "gemini"}, "GEMINI_API_KEY"),
    ({"provider": "anthropic", "api_key_env": "MY_KEY"}, "MY_KEY"),
    ({"provider": "openai", "api_key_env": "MY_KEY"}, "MY_KEY"),
    ({"provider": "gemini", "api_key_env": "MY_KEY"}, "MY_KEY"),
    ({"provider": "ollama", "api_key_env": "MY_KEY"}, "MY_KEY"),
    ({"provider": "llamacpp", "api_key_env": "MY_KEY"}, "MY_KEY"),
    ({"provider": "bedrock", "api_key_env": "MY_KEY", "region": "eu-west-1"}, "MY_KEY"),
]


@pytest.mark.parametrize(
    "case",
    [
        (None, "is not set"),
        ("", "is empty"),
        ("  ", "is empty"),
        ("${KEY}", "holds a placeholder"),
        ("$KEY", "holds a placeholder"),
        ("<your key>", "holds a placeholder"),
        ("abc def ghi", "holds characters that no key has"),
        ("schlüssel", "holds characters that no key has"),
    ],
)
@pytest.mark.parametrize(("table", "variable"), READS)
async def test_the_variable_is_named_and_nothing_is_sent(
    make_settings: MakeSettings,
    stub: Stub,
    table: dict[str, Any],
    variable: str,
    case: tuple[str | None, str],
) -> None:
    value, words = case
    address = {} if table["provider"] == "openai" else {"base_url": stub.url}
    settings = make_settings(**table, **address)
    environ = {} if value is None else {variable: value}
    with pytest.raises(ModelNotReady) as caught:
        await ready(settings, environ)
    line = caught.value.line()
    assert f"{variable} {words}" in line
    assert "[models.default]" in line
    if value and value.strip():
        assert value not in line
    assert stub.seen == []


async def test_the_variable_that_is_named_is_the_only_one_read(make_settings: MakeSettings) -> None:
    with pytest.raises(ModelNotReady, match="MY_KEY is not set"):
        await ready(
            make_settings(provider="anthropic", api_key_env="MY_KEY"), {"ANTHROPIC_API_KEY": "k" * 20}
        )


async def test_a_placeholder_in_the_table_is_explained(make_settings: MakeSettings) -> None:
    with pytest.raises(ConfigError) as caught:
        await ready(make_settings(provider="openai", api_key_env="${MY_KEY}"))
    assert 'write api_key_env = "MY_KEY"' in caught.value.line()


async def test_a_key_pasted_into_the_table_is_not_shown(make_settings: MakeSettings) -> None:
    pasted = "sk-quail-1234567890"
    with pytest.raises(ConfigError) as caught:
        await ready(make_settings(provider="openai", api_key_env=pasted))
    assert pasted not in caught.value.line()
    assert "api_key_env" in caught.value.line()


async def test_roles_are_listed_without_keys(make_settings: MakeSettings) -> None:
    settings = make_settings(provider="anthropic", model_id="claude-quail")
    assert choices(settings) == [("default", "anthropic", "claude-quail")]


async def test_an_unknown_provider_is_named_with_the_nearest(make_settings: MakeSettings) -> None:
    with pytest.raises(ConfigError) as caught:
        await ready(make_settings(provider="antropic"))
    assert "unknown provider 'antropic'" in caught.value.line()
    assert "'anthropic'" in caught.value.hint


async def test_an_unknown_role_is_named_with_the_nearest(make_settings: MakeSettings) -> None:
    from tau.models.registry import prepare

    with pytest.raises(ConfigError, match="No model role 'defalt'") as caught:
        await prepare(make_settings(), "defalt", environ={})
    assert "'default'" in caught.value.hint


@pytest.mark.parametrize("provider", ["anthropic", "openai", "gemini", "ollama", "llamacpp"])
def test_a_missing_package_is_named_with_how_to_install_it(provider: str) -> None:
    program = f"""
import sys
from importlib.machinery import PathFinder
from pathlib import Path

class Without:
    def find_spec(self, name, path=None, target=None):
        if name in ("anthropic", "openai", "google", "google.genai", "ollama"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Without())
from tau.config.settings import ModelSettings, Places
from tau.errors import ModelNotReady
from tau.models.provider import Request
from tau.models.registry import provider
here = Path("/nonexistent")
request = Request(role="fast", settings=ModelSettings(provider="{provider}"),
                  places=Places(data=here, state=here, config=here), directory=here, environ={{}})
try:
    provider("{provider}").check(request)
except ModelNotReady as error:
    print(error.line())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    extra = {"llamacpp": "openai"}.get(provider, provider)
    assert "[models.fast] needs the package" in done.stdout
    assert f"pip install 'tau-terminal[{extra}]'" in done.stdout


HEAVY = (
    "strands",
    "boto3",
    "botocore",
    "textual",
    "mcp",
    "pydantic",
    "openai",
    "anthropic",
    "httpx",
    "google",
)


def test_naming_providers_and_choosing_roles_loads_nothing_heavy() -> None:
    program = f"""
import sys
import tau.models.registry, tau.models.failures, tau.models.auto
from tau.models.registry import PROVIDERS, provider
for name in PROVIDERS:
    provider(name)
print([name for name in {HEAVY!r} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "text",
    [
        "key sk-proj-abcdefghijklmnop rest",
        "key sk-ant-api03-abcdefghijklmnop rest",
        "key AIzaSyA1234567890abcdefghijk rest",
        "key AKIAIOSFODNN7EXAMPLE rest",
        "Authorization: Bearer abcdefgh12345678 rest",
        '{"x-api-key": "abcdefgh12345678"} rest',
        "GET /v1?key=abcdefgh12345678&x=1 rest",
    ],
)
def test_whatever_has_the_shape_of_a_key_is_masked(text: str) -> None:
    line = describe(RuntimeError(text))
    assert masking.MASK in line
    assert "rest" in line
    for piece in ("abcdefgh", "1234567890", "IOSFODNN"):
        assert piece not in line


@pytest.mark.parametrize(
    "text",
    [
        "commit 3f2a91c4d5e6f708192a3b4c5d6e7f8091a2b3c4",
        "id 123e4567-e89b-42d3-a456-426614174000",
        "risk-free",
    ],
)
def test_hashes_and_words_are_left_alone(text: str) -> None:
    assert describe(RuntimeError(text)) == text


def test_a_description_is_one_short_line_without_controls() -> None:
    line = describe(RuntimeError("first\n\x1b[31msecond\u202e " + "x" * 5000 + " end"))
    assert "\n" not in line
    assert "\x1b" not in line
    assert "\u202e" not in line
    assert len(line) <= LONGEST_LINE + 3
    assert line.startswith("first")
    assert line.endswith("end")


@pytest.mark.parametrize("text", ["context_window must be positive", "unknown field 'context_size'"])
def test_a_word_about_the_context_is_not_an_overflow(text: str) -> None:
    assert not is_overflow(RuntimeError(text))


def test_an_ordinary_word_given_as_a_key_is_not_masked() -> None:
    masking.remember("lm-studio")
    assert describe(RuntimeError("lm-studio is away")) == "lm-studio is away"


def test_an_error_without_words_is_named_by_its_kind() -> None:
    assert describe(ValueError()) == "ValueError"
