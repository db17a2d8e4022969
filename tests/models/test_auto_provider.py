from __future__ import annotations

import os
import socket
import time
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from strands.types.exceptions import ContextWindowOverflowException, ModelThrottledException

from tau.errors import ConfigError, ModelNotReady, NoModel
from tau.models.failures import describe
from tau.models.translated import translate
from tests.models.calls import MakeSettings, ready
from tests.models.stub_server import Exchange, Stub
from tests.models.test_ollama_provider import holding

KEY = "quail-key-123456"
AWS = {"AWS_ACCESS_KEY_ID": "AKIAQUAILQUAILQUAIL", "AWS_SECRET_ACCESS_KEY": "quail/secret+quail/secret"}
NO_SERVER = {"OLLAMA_HOST": "127.0.0.1:9"}


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, str]:
    """The process environment, where boto looks, without credentials of the machine; tests add to it."""
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")

    class Environ(dict[str, str]):
        def update(self, variables: dict[str, str]) -> None:  # type: ignore[override]  # only what tests need
            super().update(variables)
            for name, value in variables.items():
                monkeypatch.setenv(name, value)

    return Environ(HOME=str(tmp_path), **NO_SERVER)


def setting(environ: dict[str, str], **variables: str) -> dict[str, str]:
    environ.update(variables)
    return environ


async def test_nothing_ready_offers_ways_on_and_is_quick(make_settings: MakeSettings, tmp_path: Path) -> None:
    settings = make_settings()
    await ready_or_error(settings, {"HOME": str(tmp_path), **NO_SERVER})  # imports are not what is timed
    begun = time.perf_counter()
    error = await ready_or_error(settings, {"HOME": str(tmp_path), **NO_SERVER})
    assert time.perf_counter() - begun < 2.5
    assert isinstance(error, NoModel)
    for way in ("tau model install", "ANTHROPIC_API_KEY", "Ollama", "TAU_MODEL"):
        assert way in error.hint


async def ready_or_error(settings: Any, environ: dict[str, str]) -> Exception | str:
    try:
        return (await ready(settings, environ)).info.provider
    except ModelNotReady as error:
        return error


async def test_keys_come_in_order_and_before_a_server(stub: Stub, make_settings: MakeSettings) -> None:
    holding(stub, able=["tools"])
    environ = {
        "ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY, "GEMINI_API_KEY": KEY,
        "OLLAMA_HOST": f"127.0.0.1:{stub.port}",
    }  # fmt: skip
    taken = []
    for variable in list(environ):
        info = (await ready(make_settings(), environ)).info
        assert (variable if variable != "OLLAMA_HOST" else "Ollama") in info.why
        assert info.provider in info.why.lower()
        taken.append(info.provider)
        del environ[variable]
    assert taken == ["anthropic", "openai", "gemini", "ollama"]


async def test_a_placeholder_is_no_key(stub: Stub, make_settings: MakeSettings) -> None:
    holding(stub, able=["tools"])
    environ = {
        "ANTHROPIC_API_KEY": "${KEY}", "OPENAI_API_KEY": "", "OLLAMA_HOST": f"127.0.0.1:{stub.port}",
    }  # fmt: skip
    info = (await ready(make_settings(), environ)).info
    assert (info.provider, info.model_id) == ("ollama", "able:latest")


async def test_what_was_passed_over_is_said(stub: Stub, make_settings: MakeSettings) -> None:
    holding(stub, able=["tools"])
    environ = {
        "OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
        "OLLAMA_HOST": f"127.0.0.1:{stub.port}",
    }  # fmt: skip
    info = (await ready(make_settings(), environ)).info
    assert info.provider == "ollama"
    assert "passed over" in info.why
    assert "http://127.0.0.1:9/v1" in info.why


@pytest.mark.parametrize("drips", [False, True])
async def test_a_server_that_does_not_answer_is_given_up(
    stub: Stub, make_settings: MakeSettings, tmp_path: Path, drips: bool
) -> None:
    def never(exchange: Exchange) -> None:
        if drips:
            exchange.start_stream("application/json")
            while not stub.released.wait(0.05):
                exchange.chunk(" ")
        else:
            stub.released.wait(30)

    stub.answers["/api/tags"] = never
    environ = {"HOME": str(tmp_path), "OLLAMA_HOST": f"127.0.0.1:{stub.port}"}
    await ready_or_error(make_settings(), {"HOME": str(tmp_path), **NO_SERVER})  # imports are not timed
    begun = time.perf_counter()
    error = await ready_or_error(make_settings(), environ)
    took = time.perf_counter() - begun
    assert isinstance(error, NoModel)
    assert "no answer in time" in error.message
    assert took < 5 * 0.3


async def test_a_socket_nobody_accepts_from_is_given_up(make_settings: MakeSettings, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        environ = {"HOME": str(tmp_path), "OLLAMA_HOST": f"127.0.0.1:{server.getsockname()[1]}"}
        begun = time.perf_counter()
        assert isinstance(await ready_or_error(make_settings(), environ), NoModel)
        assert time.perf_counter() - begun < 5 * 0.3


async def test_tau_model_is_taken_before_any_key(stub: Stub, make_settings: MakeSettings) -> None:
    environ = {"TAU_MODEL": "openai:gpt-quail", "OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY}
    info = (await ready(make_settings(), environ)).info
    assert (info.provider, info.model_id) == ("openai", "gpt-quail")
    assert info.why == "TAU_MODEL names openai:gpt-quail."


async def test_what_tau_model_names_is_never_swapped_for_another(make_settings: MakeSettings) -> None:
    with pytest.raises(ModelNotReady, match=r"TAU_MODEL names openai: .*OPENAI_API_KEY is not set"):
        await ready(make_settings(), {"TAU_MODEL": "openai", "ANTHROPIC_API_KEY": KEY})
    with pytest.raises(ConfigError, match="TAU_MODEL names an unknown provider 'opnai'"):
        await ready(make_settings(), {"TAU_MODEL": "opnai", "ANTHROPIC_API_KEY": KEY})


async def test_a_model_id_may_hold_colons(stub: Stub, make_settings: MakeSettings) -> None:
    holding(stub, able=["tools"])
    environ = {"TAU_MODEL": "ollama:able:latest", "OLLAMA_HOST": f"127.0.0.1:{stub.port}"}
    assert (await ready(make_settings(), environ)).info.model_id == "able:latest"


async def test_a_named_provider_is_not_changed_by_tau_model(make_settings: MakeSettings) -> None:
    environ = {"TAU_MODEL": "openai", "OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY}
    info = (await ready(make_settings(provider="anthropic"), environ)).info
    assert (info.provider, info.why) == ("anthropic", "")


@pytest.mark.parametrize("key", ["model_id", "base_url", "api_key_env", "region"])
async def test_keys_of_a_named_provider_are_refused_with_auto(make_settings: MakeSettings, key: str) -> None:
    with pytest.raises(ConfigError, match=f"sets {key}, but its provider is 'auto'"):
        await ready(make_settings(**{key: "x"}), {"ANTHROPIC_API_KEY": KEY})


async def test_other_settings_go_to_the_provider_taken(make_settings: MakeSettings) -> None:
    prepared = await ready(make_settings(max_tokens=5, context_window=9_000), {"ANTHROPIC_API_KEY": KEY})
    assert prepared.info.context_window == 9_000
    assert prepared.model.get_config()["max_tokens"] == 5


async def test_installed_weights_are_taken_last(make_settings: MakeSettings, tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    (tmp_path / "quail.gguf").write_bytes(b"GGUF and more")
    info = (await ready(make_settings(weights="./quail.gguf"), {"HOME": str(tmp_path), **NO_SERVER})).info
    assert (info.provider, info.model_id) == ("embedded", "quail")
    assert "took the embedded model" in info.why
    assert info.advice
    assert info.context_window


async def test_missing_weights_are_named_with_the_way_to_get_them(
    make_settings: MakeSettings, tmp_path: Path
) -> None:
    pytest.importorskip("xllamacpp")
    with pytest.raises(ModelNotReady, match="not installed") as caught:
        await ready(make_settings(provider="embedded"))
    assert caught.value.hint == "tau model install"
    with pytest.raises(ModelNotReady, match=f"no weights at {tmp_path}/far/quail.gguf"):
        await ready(make_settings(provider="embedded", weights="far/quail.gguf"))


async def test_bedrock_is_taken_when_credentials_and_region_resolve(
    make_settings: MakeSettings, aws: dict[str, str]
) -> None:
    setting(aws, **AWS, AWS_DEFAULT_REGION="eu-west-1")
    info = (await ready(make_settings(), aws)).info
    assert info.provider == "bedrock"
    assert "eu-west-1" in info.why
    assert info.context_window
    assert AWS["AWS_ACCESS_KEY_ID"] not in info.why


async def test_bedrock_without_a_region_is_passed_over(
    make_settings: MakeSettings, aws: dict[str, str]
) -> None:
    setting(aws, **AWS)
    error = await ready_or_error(make_settings(), aws)
    assert isinstance(error, NoModel)
    assert "AWS credentials but no region: AWS_REGION is not set" in error.message


async def test_bedrock_reads_a_profile(
    make_settings: MakeSettings, aws: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "credentials").write_text(
        "[quail]\naws_access_key_id = AKIAQUAILQUAILQUAIL\naws_secret_access_key = abcdefgh\n"
    )
    (tmp_path / ".aws" / "config").write_text("[profile quail]\nregion = us-east-2\n")
    setting(aws, AWS_PROFILE="quail")
    prepared = await ready(make_settings(), aws)
    assert prepared.info.provider == "bedrock"
    assert prepared.model.inner.client.meta.region_name == "us-east-2"  # type: ignore[attr-defined]  # the wrapped strands model


async def test_a_credential_helper_that_hangs_is_given_up(
    make_settings: MakeSettings, aws: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "config").write_text(
        "[default]\nregion = us-east-2\ncredential_process = /bin/sleep 8\n"
    )
    begun = time.perf_counter()
    error = await ready_or_error(make_settings(), aws)
    assert isinstance(error, NoModel)
    assert "found no AWS credentials within" in error.message
    assert time.perf_counter() - begun < 6


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({}, "AWS_ACCESS_KEY_ID is not set"),
        ({"AWS_ACCESS_KEY_ID": ""}, "AWS_ACCESS_KEY_ID is not set"),
        ({"AWS_ACCESS_KEY_ID": "${KEY}"}, "AWS_ACCESS_KEY_ID holds a placeholder"),
        ({"AWS_ACCESS_KEY_ID": "AKIAQUAILQUAILQUAIL"}, "AWS_SECRET_ACCESS_KEY"),
        ({**AWS, "AWS_SECRET_ACCESS_KEY": "${SECRET}"}, "AWS_SECRET_ACCESS_KEY holds a placeholder"),
        ({"AWS_PROFILE": "nobody"}, "nobody"),
    ],
)
async def test_bedrock_by_name_says_what_is_missing(
    make_settings: MakeSettings, aws: dict[str, str], variables: dict[str, str], words: str
) -> None:
    setting(aws, AWS_REGION="eu-west-1", **variables)
    with pytest.raises(ModelNotReady) as caught:
        await ready(make_settings(provider="bedrock"), aws)
    assert words in caught.value.message
    assert "[models.default]" in caught.value.message


async def test_bedrocks_table_reaches_its_client(make_settings: MakeSettings, aws: dict[str, str]) -> None:
    setting(aws, **AWS, AWS_REGION="eu-west-1")
    settings = make_settings(
        provider="bedrock",
        region="ap-south-1",
        model_id="quail.model-1",
        max_tokens=9,
        params={"temperature": 0.2},
        context_window=1_000,
    )
    prepared = await ready(settings, aws)
    config = prepared.model.get_config()
    assert (config["model_id"], config["max_tokens"], config["temperature"]) == ("quail.model-1", 9, 0.2)
    client = prepared.model.inner.client  # type: ignore[attr-defined]  # the wrapped strands model
    assert client.meta.region_name == "ap-south-1"
    assert client.meta.config.connect_timeout == 10
    with pytest.raises(ConfigError, match="params has 'temprature'"):
        await ready(make_settings(provider="bedrock", params={"temprature": 1}), aws)


async def test_a_model_that_cannot_be_built_is_a_plain_line(
    make_settings: MakeSettings, aws: dict[str, str]
) -> None:
    setting(aws, **AWS)
    with pytest.raises(ModelNotReady) as caught:
        await ready(make_settings(provider="bedrock", region="no region at all"), aws)
    assert "[models.default] cannot be used: " in caught.value.message
    assert "no region at all" in caught.value.message


def bedrock_error(code: str, message: str, status: int) -> ClientError:
    answer = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(answer, "ConverseStream")


def test_bedrocks_errors_mean_what_they_say() -> None:
    denied = bedrock_error("AccessDeniedException", "You don't have access to the model", 403)
    assert translate(denied, spoke=False) is denied
    assert describe(denied) == (
        "AccessDeniedException: You don't have access to the model (HTTP 403 Forbidden)"
    )
    full = bedrock_error("ValidationException", "Input is too long for requested model.", 400)
    assert isinstance(translate(full, spoke=False), ContextWindowOverflowException)
    busy = bedrock_error("ServiceUnavailableException", "Bedrock is unable to process your request.", 503)
    assert isinstance(translate(busy, spoke=False), ModelThrottledException)
    assert translate(busy, spoke=True) is busy
