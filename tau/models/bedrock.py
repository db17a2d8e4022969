"""The provider ``bedrock``: a model on Amazon Bedrock, with the AWS credentials found on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tau import masking
from tau.errors import ConfigError, ModelNotReady
from tau.models.deadline import within
from tau.models.provider import CONNECT_SECONDS, SILENCE_SECONDS, Ready, Request, key_problem

if TYPE_CHECKING:
    from strands.models import Model

DEFAULT_MODEL = "global.anthropic.claude-sonnet-4-6"

PATIENCE_SECONDS = 5.0
"""How long credentials may take that come from a helper program, a container or the machine's own role."""

_HINTS = (
    "AWS_ACCESS_KEY_ID",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_PROFILE",
    "AWS_DEFAULT_PROFILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_CONFIG_FILE",
)
_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK")
_OVER_THE_NETWORK = ("container-role", "iam-role")


@dataclass(frozen=True, slots=True)
class Account:
    """Where requests are signed for: a region, and what the credentials were found by."""

    region: str
    method: str


def hinted(environ: Mapping[str, str]) -> bool:
    """Whether anything points to AWS credentials: a variable, or a file in ``~/.aws``. Imports nothing."""
    if any(environ.get(name) for name in _HINTS):
        return True
    home = environ.get("HOME")
    folder = (Path(home) if home else Path("~").expanduser()) / ".aws"
    return any((folder / name).is_file() for name in ("credentials", "config"))


def check(request: Request) -> Ready:
    """See that credentials and a region resolve.

    Raises:
        ModelNotReady: Something is missing; the message names it.
        ConfigError: ``params`` has a key that Bedrock's model does not take.
    """
    account(request, seconds=PATIENCE_SECONDS, network=True)
    return Ready(
        model_id=request.settings.model_id or DEFAULT_MODEL, context_window=request.settings.context_window
    )


def account(request: Request, *, seconds: float, network: bool) -> Account:
    """Resolve credentials and region as boto does, within a time limit.

    Args:
        request: The role.
        seconds: How long it may take.
        network: Whether a container's or the machine's own role may be asked for.

    Raises:
        ModelNotReady: The credentials or the region are missing.
    """
    for name in _KEYS:
        value = request.environ.get(name)
        if value:
            problem = key_problem(value)
            if problem:
                raise ModelNotReady(f"{request.table} cannot use AWS credentials: {name} {problem}")
            if name != "AWS_ACCESS_KEY_ID":
                masking.remember(value.strip())
    try:
        return within(seconds, lambda: _resolve(request, network=network))
    except TimeoutError:
        raise ModelNotReady(
            f"{request.table} found no AWS credentials within {seconds:g} s",
            "check the profile's credential_process or role",
        ) from None


def build(request: Request, ready: Ready) -> tuple[Model, Model]:
    """The model, streaming, with its prompt cache on where it has one.

    Raises:
        ConfigError: ``params`` has a key that the model does not take.
    """
    from botocore.config import Config
    from strands.models import BedrockModel, CacheConfig

    from tau.models.translated import TranslatedModel

    settings = request.settings
    unknown = sorted(settings.params.keys() - BedrockModel.BedrockConfig.__annotations__.keys())
    if unknown:
        raise ConfigError(
            f"{request.table} params has '{unknown[0]}', which Bedrock's Converse API does not take",
            "fields of the model itself go into params.additional_request_fields",
        )
    config: BedrockModel.BedrockConfig = {
        "cache_config": CacheConfig(strategy="auto"),
        **settings.params,  # type: ignore[typeddict-item]  # its keys were compared with the class above
        "model_id": ready.model_id,
    }
    if settings.max_tokens is not None:
        config["max_tokens"] = settings.max_tokens
    if ready.context_window is not None:
        config["context_window_limit"] = ready.context_window
    model = TranslatedModel(
        BedrockModel(
            region_name=account(request, seconds=PATIENCE_SECONDS, network=True).region,
            endpoint_url=settings.base_url,
            api_key=request.key() if settings.api_key_env is not None else None,
            boto_client_config=Config(
                connect_timeout=CONNECT_SECONDS,
                read_timeout=SILENCE_SECONDS,
                retries={"total_max_attempts": 1, "mode": "standard"},
            ),
            **config,
        )
    )
    return model, model


def _resolve(request: Request, *, network: bool) -> Account:
    from botocore.exceptions import BotoCoreError
    from botocore.session import Session

    session = Session()
    if not network:
        providers = session.get_component("credential_provider")
        for name in _OVER_THE_NETWORK:
            providers.remove(name)
    try:
        region = request.settings.region or request.environ.get("AWS_REGION")
        region = region or session.get_config_variable("region")
        if request.settings.api_key_env is not None:
            request.key()
            method = "api key"
        elif request.environ.get("AWS_BEARER_TOKEN_BEDROCK"):
            method = "AWS_BEARER_TOKEN_BEDROCK"
        else:
            credentials = session.get_credentials()
            method = credentials.method if credentials is not None else ""
    except BotoCoreError as error:
        raise ModelNotReady(f"{request.table} cannot use AWS credentials: {error}") from error
    if not method:
        raise ModelNotReady(
            f"{request.table} found no AWS credentials: AWS_ACCESS_KEY_ID is not set, "
            "and no profile, container or machine role gives any",
            "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or run 'aws configure'",
        )
    if not region:
        raise ModelNotReady(
            f"{request.table} has AWS credentials but no region: AWS_REGION is not set",
            "set region in the table, or AWS_REGION",
        )
    return Account(region, method)
