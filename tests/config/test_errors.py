"""Every error and warning names file, line, key and what was probably meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from tau.config.load import check
from tests.config.conftest import Desk


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[agent]\nwindow =\n", ':2:9: window has no value that TOML knows (text needs quotes: "…")'),
        (
            "[agent]\ncontext = sliding\n",
            ':2:11: context has no value that TOML knows (text needs quotes: "…")',
        ),
        ("a = 1\n\na = 2\n", ":3:6: a is given twice (keep one of the two)"),
        ("[agent]\n[tui]\n[agent]\n", ":3:7: the table [agent] is given twice (put its keys together)"),
        ("[agent\n", ":1:7: expected ']' at the end of a table declaration"),
        ('[agent]\ninstructions = """never ends\n', ":2:"),
        ("x = [1,\n", ":1:8: "),
        ("x = " + "[" * 3000, ": nested too deeply"),
        ("[component" + ".a" * 5000 + "]\n", ": nested too deeply"),
        ("x = " + "1" * 5000, ": "),
    ],
)
def test_broken_toml_names_line_and_column(desk: Desk, text: str, expected: str) -> None:
    path = desk.user(text)
    line = desk.error()
    assert line.startswith(f"{path}{expected}")
    assert path.read_text() == text


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"[agent]\ninstructions = 'caf\xe9'\n", ":2:20: byte 0xe9 is not UTF-8 (save the file as UTF-8)"),
        ("[agent]\n".encode("utf-16"), ": encoded as UTF-16 (save it as UTF-8)"),
        (b"#" * 256_001, ": larger than 256 kB, so not a configuration file"),
    ],
)
def test_other_encodings_are_named(desk: Desk, data: bytes, expected: str) -> None:
    path = desk.user("")
    path.write_bytes(data)
    assert desk.error() == f"{path}{expected}"


def test_a_byte_order_mark_is_accepted(desk: Desk) -> None:
    path = desk.user("")
    path.write_bytes(b"\xef\xbb\xbf[agent]\r\ninstructions = '\xc3\xa9'\r\nwindow_size = 1\r\n")
    assert desk.error() == f"{path}:3: agent.window_size must be a whole number, at least 2"
    path.write_bytes(b"\xef\xbb\xbf[agent]\r\ninstructions = '\xc3\xa9'\r\n")
    assert desk.load().settings.agent.instructions == "é"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[agent]\nwindow_size = "10"\n', "2: agent.window_size must be a whole number, not text in quotes"),
        ("[agent]\nwindow_size = true\n", "2: agent.window_size must be a whole number, not true or false"),
        ("[agent]\n\nwindow_size = 1\n", "3: agent.window_size must be a whole number, at least 2"),
        ("[agent]\nmax_total_tokens = 0\n", "2: agent.max_total_tokens must be a whole number, at least 1"),
        (
            'agent.context = "slidng"\n',
            '1: agent.context must be "sliding" or "summarize", not "slidng" (did you mean "sliding"?)',
        ),
        (
            "[context]\nspill_result_chars = 5200\n",
            "2: context.spill_result_chars must be a whole number, at least 5201",
        ),
        (
            "[context]\nprune_result_chars = 1\n",
            "2: context.prune_result_chars must be a whole number, at least 5201",
        ),
        ("[compaction]\nkeep_turns = -1\n", "2: compaction.keep_turns must be a whole number, at least 0"),
        ("[memory]\nmax_chars = 999\n", "2: memory.max_chars must be a whole number, at least 1000"),
        ('[tui]\nmouse = "yes"\n', "2: tui.mouse must be true or false, not text in quotes"),
        (
            "[plugins]\ndisabled = ['a', 3]\n",
            "2: plugins.disabled item [1] must be text in quotes, not a whole number",
        ),
        ("agent = 3\n", "1: agent must be a table: [agent]"),
        ("[models]\ndefault = 'x'\n", "2: models.default must be a table: [models.default]"),
        ("[models.default]\nparams = 1\n", "2: models.default.params must be a table, not a whole number"),
        ("[models.default]\nprice = 3\n", "2: models.default.price must be a table, not a whole number"),
        (
            "[models.default]\n[models.default.price]\ninput = 3\noutput = '15'\n",
            "4: models.default.price.output must be a number, not text in quotes",
        ),
        (
            "[models.default]\nprice = { input = 3, output = 15, cached = -1 }\n",
            "2: models.default.price.cached must be a number, at least 0",
        ),
        (
            "[models.default]\nprice = { input = nan, output = 15 }\n",
            "2: models.default.price.input must be a number, at least 0",
        ),
        (
            "[models.default]\nprice = { input = 3 }\n",
            "2: models.default.price has no output (US dollars a million tokens)",
        ),
        ("[models.'a b']\n", "1: models.a b must be a plain name (letters, digits, '.', '_' and '-')"),
        (
            "[profiles.p.agent]\nwindow_size = 0\n",
            "2: profiles.p.agent.window_size must be a whole number, at least 2",
        ),
        ("[profiles.p.profiles.q]\n", "1: profiles.p.profiles a profile cannot hold profiles"),
        ("[[models.default]]\n", "1: models.default must be a table: [models.default]"),
        ("[keys]\nnew = 3\n", '2: keys.new must be a key in quotes, or a list of them (such as "ctrl+o")'),
        (
            "[keys]\nnew = 'ctl+o'\n",
            "2: keys.new names no key: 'ctl+o', such as f2, ctrl+o, alt+up or escape",
        ),
        ("[keys]\nnew = ['f3', 'n']\n", "2: keys.new names n, which could not be typed any more"),
        ("[keys]\nnew = 'Ctrl+I'\n", "2: keys.new names Ctrl+I, which a terminal cannot tell from tab"),
        ("[keys]\nnew = 'f6'\nhelp = 'F6'\n", "3: keys.help names F6, which new names as well"),
        (
            "[keys]\nrename = 'f6'\nnew = 'f6'\nback = 'F6'\n",
            "4: keys.back names F6, which rename names as well in the list of sessions",
        ),
        (
            "[keys]\nback = ''\n",
            "2: keys.back must name a key: without one there would be no way out of a list",
        ),
        ("[keys]\nno = []\n", "2: keys.no must name a key: without one no call could be refused"),
        ("[keys]\nrename = 'r'\n", "2: keys.rename names r, which could not be typed any more"),
        ("[keys]\nhelp = '?'\n", "2: keys.help names ?, which could not be typed any more"),
        ("[keys]\nyes = 'Shift+Y'\n", "2: keys.yes names Shift+Y; what is typed is named without Shift"),
        ("[keys]\nyes = 'Ctrl+Enter'\n", "2: keys.yes names Ctrl+Enter, which never answers a question"),
        (
            "[keys]\nback = 'Backspace'\n",
            "2: keys.back names Backspace, without which what is typed could not be edited",
        ),
        ("[keys]\nyes = 'space'\n", "2: keys.yes names space, which never answers a question"),
    ],
)
def test_wrong_values_are_errors(desk: Desk, text: str, expected: str) -> None:
    path = desk.user(text)
    assert desk.error() == f"{path}:{expected}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[agent]\nwindw_size = 3\n", "2: unknown key agent.windw_size (did you mean window_size?)"),
        ("[keys]\nsession = 'f6'\n", "2: unknown key keys.session (did you mean sessions?)"),
        ("[tui]\n\nwindow_size = 3\n", "3: unknown key tui.window_size (window_size belongs under [agent])"),
        ("window_size = 3\n", "1: unknown key window_size (window_size belongs under [agent])"),
        ("[agent]\nmodel_id = 'x'\n", "2: unknown key agent.model_id (model_id belongs under [models.ROLE])"),
        ("[session]\nbackend = 'x'\n", "1: unknown table [session] (did you mean [sessions]?)"),
        ("[agent.tui]\nmouse = true\n", "1: unknown key agent.tui ([tui] is a table of its own)"),
        (
            "[mpc.files]\ncommand = 'x'\n",
            "1: unknown table [mpc] (did you mean [mcp]?)",
        ),
        ("[tui.keys]\nquit = 'x'\n", "1: unknown key tui.keys ([keys] is a table of its own)"),
        (
            "[profiles.p.agent]\nwindw_size = 3\n",
            "2: unknown key profiles.p.agent.windw_size (did you mean window_size?)",
        ),
        (
            "[models.default]\nprice = { input = 3, output = 15, cache = 1 }\n",
            "2: unknown key models.default.price.cache (did you mean cached?)",
        ),
        ("[models.default]\nmodel = 'x'\n", "2: unknown key models.default.model (did you mean model_id?)"),
    ],
)
def test_unknown_and_misplaced_keys_are_warnings(desk: Desk, text: str, expected: str) -> None:
    path = desk.user(text)
    loaded = desk.load()
    assert loaded.warnings == [f"{path}:{expected}"]
    assert loaded.settings.agent.window_size == 60


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            'aproval = "strict"\n',
            "1: unknown key aproval (did you mean [approvals]? As it stands it guards nothing)",
        ),
        (
            "[aprovals]\ndeny = ['shell']\n",
            "1: unknown table [aprovals] (did you mean [approvals]? As it stands it guards nothing)",
        ),
        (
            "[approvals]\nalow = ['shell']\n",
            "2: unknown key approvals.alow (did you mean allow?)",
        ),
        (
            "[approvals]\nallow = ['git status']\n",
            (
                "2: approvals.allow.0 must be a tool, or a tool and a pattern "
                '(such as "shell: git status" or "edit_file: src/**")'
            ),
        ),
        ("[approvals]\ndeny = 'shell'\n", "2: approvals.deny must be a list, not text in quotes"),
        (
            "[mcp.files]\ncomand = 'x'\nurl = 'http://x'\n",
            "2: unknown key mcp.files.comand (did you mean command?)",
        ),
        ("[mcp.files]\ntimeout = 3\n", "1: mcp.files must have either command or url"),
        ("[mcp.files]\ncommand = 'x'\nurl = 'http://x'\n", "1: mcp.files must have either command or url"),
        (
            "[mcp.files]\nurl = 'http://x'\nargs = ['a']\n",
            "1: mcp.files has args or env, which belong to a command, not to a url",
        ),
        (
            "[mcp.files]\nurl = 'ftp://x'\n",
            "2: mcp.files.url must begin with http:// or https:// (a token is named by token_env)",
        ),
        (
            "[mcp.files]\ncommand = 'x'\nenv = ['A B']\n",
            (
                "3: mcp.files.env.0 must be the name of an environment variable, such as OPENAI_API_KEY "
                "(the key itself belongs in the environment)"
            ),
        ),
        ("[trust]\nall = true\n", "2: unknown key trust.all (this version of tau knows no key in [trust])"),
        ("[plugins]\ndisable = ['x']\n", "2: unknown key plugins.disable (did you mean disabled?)"),
        (
            "[profiles.p.approvals]\nx = 1\n",
            ("2: unknown key profiles.p.approvals.x ([profiles.p.approvals] knows allow, ask, deny)"),
        ),
        ("approvals = 'strict'\n", "1: approvals must be a table: [approvals]"),
    ],
)
def test_tables_that_guard_something_are_strict(desk: Desk, text: str, expected: str) -> None:
    path = desk.user(text)
    assert desk.error() == f"{path}:{expected}"


SECRET = "sk-ant-REDACTED-0123456789abcdef"


@pytest.mark.parametrize(
    "text",
    [
        f"[models.default]\napi_key = '{SECRET}'\n",
        f"api_key = '{SECRET}'\n",
        f"[models.default]\napi_key_env = '{SECRET}'\n",
        f"[models.default.params]\napi_key = '{SECRET}'\n",
        f"[models.default]\nparams = {{ headers = [{{ x-api-key = '{SECRET}' }}] }}\n",
        f"[component.jot]\npassword = '{SECRET}'\n",
        "[models.default]\nparams = { a = '${ANTHROPIC_API_KEY}' }\n",
        "[models.default]\nbase_url = 'https://x/?k=${KEY}'\n",
        "[models.default]\nmodel_id = '$MODEL'\n",
        "[component.jot]\nurl = '${URL}'\n",
    ],
)
def test_secrets_and_placeholders_are_refused_and_not_repeated(desk: Desk, text: str) -> None:
    path = desk.user(text)
    line = desk.error()
    assert line.startswith(f"{path}:")
    assert "environment" in line
    assert SECRET not in line


def test_instructions_may_speak_of_variables(desk: Desk) -> None:
    desk.user("[agent]\ninstructions = 'Use ${HOME} in scripts; password = secret.'\n")
    assert "${HOME}" in desk.load().settings.agent.instructions


def test_foreign_text_is_shown_harmless(desk: Desk) -> None:
    desk.user('"\\u001b[31mred\\u202e" = 1\n')
    (warning,) = desk.load().warnings
    assert "\x1b" not in warning
    assert "\u202e" not in warning


def test_the_first_error_is_raised_and_the_rest_counted(desk: Desk) -> None:
    user = desk.user("[agent]\nwindow_size = 1\nmax_turns = 0\n")
    project = desk.project("window =\n")
    assert desk.error().startswith(f"{project}:1:9: ")
    assert desk.error().endswith("; 2 more: tau config check)")
    findings = check(config=None, profile=None, directory=desk.repository, environ=desk.environ)
    assert [line.split(" ")[0] for line in findings.errors] == [f"{project}:1:9:", f"{user}:2:", f"{user}:3:"]
    assert findings.loaded is None


def test_a_flood_of_unknown_keys_is_cut_short(desk: Desk) -> None:
    path = desk.project("".join(f"key{number} = 1\n" for number in range(2_000)))
    warnings = desk.load().warnings
    assert len(warnings) == 21
    assert warnings[19].startswith(f"{path}:20: unknown key key19 ")
    assert warnings[20] == "1980 more warnings about tau.toml: tau config check"


def test_a_file_that_cannot_be_read_is_named(desk: Desk) -> None:
    desk.user_file.mkdir(parents=True)
    assert desk.error() == f"{desk.user_file}: cannot be read: Is a directory"


def test_a_damaged_record_of_trust_is_an_error(desk: Desk) -> None:
    record = desk.load().settings.places.state / "trusted.json"
    record.parent.mkdir(parents=True)
    for text, why in (
        ("{", "is not JSON"),
        ('{"directories": ["/"], "all": true}', "does not hold the key 'directories' alone"),
        ('{"directories": "/"}', "does not list directories"),
    ):
        record.write_text(text)
        record.chmod(0o600)
        assert f"{record} {why}" in desk.error()
    record.chmod(0o666)
    assert "can be written by others" in desk.error()
    record.unlink()
    record.symlink_to(Path("/dev/null"))
    assert "cannot be read" in desk.error()
