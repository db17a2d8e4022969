"""Secrets are masked in time that grows with the text, and wherever a text is cut."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tau import masking
from tau.masking import MASK, mask, mask_content, settled
from tau.tools import shell
from tests.tools.conftest import agent_with, make_context, results


@pytest.fixture(autouse=True)
def _forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values that a test has masked are so in that test only."""
    monkeypatch.setattr(masking, "_values", set())


# --- time ---------------------------------------------------------------------------------------------------

HOSTILE = [
    "-eyJ", "eyJ", "-eyJaaaaaaaa", "eyJaaaaaaaa.", "-eyJaaaaaaaa.b.", "eyJaaaaaaaa.eyJ", "sk-", "sk", "-sk-",
    "-----BEGIN PRIVATE KEY-----\n", "-----BEGIN ", "-----BEGIN PRIVATE KEY ", "-----END PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----END PRIVATE KEY", "-", "://", "://a:", "://a", ":", "a:", "@", "://:",
    "?key=", "&key=", "Bearer ", "AKIA", "AKIAAAAAAAAAAAAAAAAA", "gh", "ghp_", "xoxb-", "password",
    "password=", "password = ", "token: '", "secret_access_key", "api key ", " ", "\n", "a", "hunter2hunter",
]  # fmt: skip


def seconds(masks: Callable[[str], str], text: str) -> float:
    """Processor time to mask a text, the best of three."""
    times = []
    for _ in range(3):
        began = time.process_time()
        masks(text)
        times.append(time.process_time() - began)
    return min(times)


@pytest.mark.parametrize("unit", HOSTILE)
def test_the_time_grows_with_the_text_only(unit: str) -> None:
    masking.remember("hunter2hunter2")
    small, large = (unit * (size // len(unit)) for size in (50_000, 200_000))
    assert seconds(mask, large) < 10 * max(seconds(mask, small), 0.001)


@pytest.mark.parametrize("unit", HOSTILE)
def test_where_a_text_can_be_cut_is_found_at_once(unit: str) -> None:
    masking.remember("hunter2hunter2")
    began = time.process_time()
    settled(unit * (100_000 // len(unit)))
    assert time.process_time() - began < 0.1


def test_ordinary_text_is_masked_fast() -> None:
    for number in range(20):
        masking.remember(f"value-{number}-of-the-test")
    pages = [page.read_text() for page in (Path(masking.__file__).parent.parent / "docs").glob("*.md")]
    text = "".join(pages)
    text *= 4_000_000 // len(text)
    assert len(text) / seconds(mask_content, text) > 25e6  # a third of what it is when nothing else runs


# --- names --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "PGPASSWORD", "MYSQL_PWD", "SSHPASS", "DB_PASS", "GITHUB_PAT", "PASSPHRASE", "NPM_AUTH",
        "AUTH_HEADER", "accessToken", "OPENAI_APIKEY", "GPG_PASSPHRASE", "npm_config__authToken", "APIKey",
        "dbPassword", "KEY2", "API_KEYS", "X-Api-Key", "GOOGLE_CREDENTIALS", "DBPASSWD", "AUTH_URL_TOKEN",
        "secret",
    ],
)  # fmt: skip
def test_a_name_that_speaks_of_a_secret(name: str) -> None:
    masking.remember_environment({name: "hunter2hunter2"})
    assert mask_content("<hunter2hunter2>") == f"<{MASK}>"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PWD", "/no/such/place/1"),
        ("OLDPWD", "/no/such/place/1"),
        ("SSH_AUTH_SOCK", "/tmp/ssh-1234/agent.1"),
        ("XAUTHORITY", "/no/such/place/1"),
        ("SSH_ASKPASS", "/no/such/place/1"),
        ("TOKEN_PATH", "/no/such/place/1"),
        ("PASS_FILE", "/no/such/place/1"),
        ("SECRET_DIR", "/no/such/place/1"),
        ("API_KEY_ENV", "OPENAI_API_KEY_2"),
        ("GIT_AUTHOR_NAME", "Ana 12345678"),
        ("AUTH_URL", "https://login.example.org/1"),
        ("AUTH_METHOD", "client-credentials-2"),
        ("AUTH_BACKEND", "passwordlessLogin"),
        ("PATTERN", "hunter2hunter2"),
        ("PASSENGERS", "hunter2hunter2"),
        ("BYPASS", "hunter2hunter2"),
        ("TOKENIZERS", "hunter2hunter2"),
        ("MONKEY", "hunter2hunter2"),
        ("DB_PASS", "postgres"),
        ("OPENAI_API_KEY", "x" * 40),
        ("DB_PASS", __file__),
        ("MY_KEY", str(Path(__file__).parent)),
    ],
)
def test_what_is_no_secret_is_not_remembered(name: str, value: str) -> None:
    masking.remember_environment({name: value})
    assert mask_content(f"<{value}>") == f"<{value}>"


def test_a_variable_that_is_named_as_a_key_is_one() -> None:
    masking.remember_environment({"ODD_NAME": "hunter2hunter2\n"}, ["ODD_NAME"])
    assert mask_content("<hunter2hunter2>") == f"<{MASK}>"


# --- shapes -------------------------------------------------------------------------------------------------

TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabcd\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (f"a {TOKEN} b", f"a {MASK} b"),
        (f"jwt-{TOKEN}", f"jwt-{MASK}"),
        (f"-eyJ-eyJ-{TOKEN}", f"-{MASK}"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJ", "eyJhbGciOiJIUzI1NiJ9.eyJ"),
        (f"x{TOKEN}", f"x{TOKEN}"),
        (f"{PEM}\n{PEM} end", f"{MASK}\n{MASK} end"),
        ("-----BEGIN PRIVATE KEY-----\nMIIE", "-----BEGIN PRIVATE KEY-----\nMIIE"),
        ("redis://:s3cret@host/0 http://h:80/ a@b", f"redis://{MASK}@host/0 http://h:80/ a@b"),
        ("Bearer abcdefgh1 Bearer short", f"Bearer {MASK} Bearer short"),
        ("sk-" + "a1" * 8 + ", risk-" + "a1" * 8, f"{MASK}, risk-" + "a1" * 8),
        ("gho_" + "a1" * 8 + " ghx_" + "a1" * 8, f"{MASK} ghx_" + "a1" * 8),
        ("Bearer sk-" + "a1" * 8, f"Bearer {MASK}"),
        ("sk-" + "a1" * 8 + "~more", f"{MASK}~more"),
        ("Bearer sk-" + "a1" * 8 + "~more", f"Bearer {MASK}"),
    ],
)
def test_shapes(text: str, masked: str) -> None:
    assert mask_content(text) == masked


# --- text in pieces -----------------------------------------------------------------------------------------

PARTS = [
    "s", "sk", "sk-", "A1b2C3d4E5f6G7h8", "-", " ", "\n", "word", "risk", "Bearer ", "Bear", "B", "https:",
    "//", "user", ":", "pa55word", "@host", "/", "?", "&", "key=", "AKIA", "IOSFODNN7EXAMPLE", "eyJ",
    "hbGciOiJI", ".", TOKEN, PEM, "-----BEGIN ", "PRIVATE KEY-----", "-----END ", "hunter2", "hunter2hunter2",
    "two\nlines 2 ok", "two\nlines", "'", "gh", "p_",
]  # fmt: skip


@given(st.lists(st.sampled_from(PARTS), max_size=12), st.lists(st.sampled_from(PARTS), max_size=8))
@example(["sk-", "two\nlines 2 ok"], ["A1b2C3d4E5f6G7h8"])  # the mask of the value would go on a key
def test_what_is_settled_is_masked_the_same_whatever_follows(before: list[str], after: list[str]) -> None:
    masking._values.update({"hunter2hunter2", "two\nlines 2 ok", "r2-and-more-1"})
    text, more = "".join(before), "".join(after)
    cut = settled(text)
    whole = mask_content(text + more)
    assert whole.startswith(mask_content(text[:cut])) or cut == 0


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("downloading 10 MB", ""),
        ("Password: ", ""),
        ("risk", ""),
        ("key=sk-ABC", "sk-ABC"),
        ("a s", "s"),
        ("see https://user:pa", "://user:pa"),
        ("see https://host/pat", ""),
        ("Authorization: Bearer ", "Bearer "),
        ("Authorization: Bearer abc", "Bearer abc"),
        ("it is pa55-of", "pa55-of"),
        ("it is pa55-of-the-test", ""),
        ("key\n-----BEGIN PRIVATE KEY-----\nMI", "-----BEGIN PRIVATE KEY-----\nMI"),
        ("key\n-----BEGIN PRIV", "-----BEGIN PRIV"),
        ("key\n---", "---"),
    ],
)
def test_only_what_may_become_a_secret_is_held_back(text: str, rest: str) -> None:
    masking.remember("pa55-of-the-test")
    assert text[settled(text) :] == rest


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("key=sk-ABCDEFGH", "IJKLMNOPQRSTUVWX"),
        ("key=hunter2h", "unter2"),
        ("key=ghp_ABC", "DEFGHIJKLMNOPQRST"),
        ("key=Bearer ", "ABCDEFGHIJKLMNOP"),
        ("key=https:", "//user:ABCDEFGH@host"),
    ],
)
async def test_a_secret_that_a_command_writes_in_two_pieces(tmp_path: Path, first: str, second: str) -> None:
    """The second comes when the first is shown, as far as it is."""
    masking.remember("hunter2hunter2")
    context = make_context(tmp_path / "work")
    wait = "until [ -e go ]; do sleep 0.01; done"
    agent = agent_with(
        shell.tools(context),
        ("shell", {"command": f"printf '{first}'; {wait}; printf '{second}\\n'; seq 20000"}),
    )
    shown = ""
    async for event in agent.stream_async("go"):
        if event.get("type") == "tool_stream" and isinstance(event["tool_stream_event"]["data"], str):
            shown += event["tool_stream_event"]["data"]
            (context.directory / "go").touch()
    (result,) = results(agent)
    kept = result["content"][0]["text"], (context.spill_dir / "0001-shell.txt").read_text()
    for text in (shown, *kept):
        assert text.startswith("key=")
        assert not re.search(r"ABC|hunter|unter2|IJK|DEFG", text)
    for text in kept:
        assert MASK in text.partition("\n")[0]


def test_random_text_is_left_alone() -> None:
    letters = random.Random(7)
    text = "".join(letters.choice("abcdefghij .,\n") for _ in range(50_000))
    assert mask(text) == text
    assert not re.search(re.escape(MASK), text)
