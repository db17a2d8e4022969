"""Installed components: sound, broken in every way, disabled, selected. The packages are real ones."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import PathDistribution
from pathlib import Path
from textwrap import dedent

import pytest

from tau import plugins
from tau.config.load import load_settings
from tau.config.settings import Settings
from tau.errors import ConfigError, PluginError, StoreError, TauError
from tau.sessions.registry import open_store
from tests.conftest import TauEnv

STORES = {
    "sound": "def open_store(context): return context",
    "missing": "import no_such_package_anywhere",
    "leaves": "raise SystemExit('bye')",
    "fails": "raise RuntimeError('two\\nlines \\x1b[31m')",
    "loud": "import sys\nprint('LOUD')\nsys.stdout.write('LOUD')\ndef open_store(context): return None",
    "refuses": "def open_store(context): raise PermissionError(13, 'Permission denied', '/some/place')",
    "crashes": "def open_store(context): return 1 / 0",
    "typed": "import tau.errors as e\ndef open_store(context): raise e.StoreError('no room', 'make some')",
    "constant": "open_store = 3",
}


def install(site: Path, distribution: str, stores: dict[str, str]) -> Path:
    """Install a package that brings session stores, each in a module of its own, into a folder on a path."""
    info = site / f"{distribution.replace('-', '_')}-1.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.2\n")
    modules = {name: f"{distribution.replace('-', '_')}_{name}" for name in stores}
    lines = [f"{name} = {module}:open_store" for name, module in modules.items()]
    (info / "entry_points.txt").write_text("[tau.sessions]\n" + "\n".join(lines) + "\n")
    for name, module in modules.items():
        marker = f"open({str(site / (name + '.imported'))!r}, 'w').close()\n"
        (site / f"{module}.py").write_text(marker + dedent(stores[name]) + "\n")
    return site


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the package `tau-odd`, on the path of this process."""
    folder = install(tmp_path / "site", "tau-odd", STORES)
    monkeypatch.syspath_prepend(str(folder))
    before = set(sys.modules)
    yield folder
    for name in set(sys.modules) - before:
        if name.startswith("tau_odd"):
            del sys.modules[name]


def test_what_is_installed_or_removed_meanwhile_is_known(site: Path) -> None:
    before = plugins.names(plugins.SESSIONS)
    assert {component.name for component in before} >= STORES.keys()
    install(site, "tau-later", {"later": "def open_store(context): return context"})
    assert "later" in [component.name for component in plugins.names(plugins.SESSIONS)]
    shutil.rmtree(site / "tau_later-1.2.dist-info")
    assert plugins.names(plugins.SESSIONS) == before


def imported(site: Path) -> set[str]:
    return {path.stem for path in site.glob("*.imported")}


def settings(tmp_path: Path, backend: str, more: str = "") -> Settings:
    file = tmp_path / "chosen.toml"
    file.write_text(f'[sessions]\nbackend = "{backend}"\n{more}')
    return load_settings(
        config=file, profile=None, directory=tmp_path, environ={"TAU_DATA_DIR": str(tmp_path / "data")}
    ).settings


def test_naming_imports_nothing(site: Path) -> None:
    found = plugins.names(plugins.SESSIONS)
    assert [component.name for component in found[:2]] == ["file", "memory"]
    assert all(component.built_in for component in found[:2])
    odd = next(component for component in found if component.name == "sound")
    assert (odd.distribution, odd.version, odd.built_in) == ("tau-odd", "1.2", False)
    assert imported(site) == set()


def test_loading_one_imports_that_one_only(site: Path) -> None:
    assert plugins.load(plugins.SESSIONS, "sound")("x") == "x"
    assert imported(site) == {"sound"}


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("missing", "ModuleNotFoundError: No module named 'no_such_package_anywhere'"),
        ("leaves", "it tried to end the process (bye)"),
        ("fails", "RuntimeError: two lines \\x1b[31m"),
    ],
)
def test_a_broken_one_is_named_with_its_distribution(site: Path, name: str, reason: str) -> None:
    with pytest.raises(PluginError) as caught:
        plugins.load(plugins.SESSIONS, name)
    assert caught.value.line() == (
        f"tau.sessions:{name} of tau-odd 1.2 does not load: {reason}"
        f' (repair or uninstall tau-odd, or set [plugins] disabled = ["{name}"])'
    )


def test_loading_all_keeps_what_is_sound_and_names_the_rest_once(
    site: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    loaded, warnings = plugins.load_all(plugins.SESSIONS, disabled=["crashes", "tau.sessions:typed"])
    assert {"memory", "file", "sound", "loud", "refuses", "constant"} <= set(loaded)
    assert [line.split(" ")[0] for line in warnings] == [
        "tau.sessions:fails",
        "tau.sessions:leaves",
        "tau.sessions:missing",
    ]
    assert capfd.readouterr().out == ""
    assert not {"crashes", "typed"} & imported(site)


def test_a_disabled_one_is_not_imported(site: Path) -> None:
    for disabled in (["leaves"], ["tau.sessions:leaves"]):
        with pytest.raises(PluginError, match=r"tau.sessions:leaves of tau-odd 1.2 is disabled"):
            plugins.load(plugins.SESSIONS, "leaves", disabled=disabled)
    assert imported(site) == set()


def test_another_package_cannot_take_a_name_of_taus(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(
        str(install(tmp_path / "thief", "tau-aaa", {"memory": "open_store = 'stolen'"}))
    )
    assert plugins.load(plugins.SESSIONS, "memory") != "stolen"
    loaded, warnings = plugins.load_all(plugins.SESSIONS)
    assert loaded["memory"] != "stolen"
    assert (
        "tau.sessions:memory of tau-aaa 1.2 is not used: tau has a component of that name itself" in warnings
    )
    assert imported(tmp_path / "thief") == set()


def test_a_name_that_two_packages_claim_is_refused(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(install(tmp_path / "rival", "tau-rival", {"sound": "open_store = 1"})))
    with pytest.raises(PluginError, match=r"tau.sessions:sound is claimed by tau-odd 1.2 and tau-rival 1.2"):
        plugins.load(plugins.SESSIONS, "sound")
    assert imported(site) == imported(tmp_path / "rival") == set()


@pytest.mark.parametrize(
    ("backend", "kind", "line"),
    [
        ("flie", ConfigError, 'backend = "flie": there is no such backend (did you mean file? installed: '),
        ("leaves", PluginError, 'backend = "leaves": tau.sessions:leaves of tau-odd 1.2 does not load'),
        (
            "loud",
            PluginError,
            "The session backend 'loud' is no session store: its factory returned NoneType",
        ),
        ("constant", PluginError, "The session backend 'constant' points to no factory"),
        (
            "refuses",
            StoreError,
            "Sessions cannot be kept: /some/place: Permission denied (set TAU_DATA_DIR to",
        ),
        (
            "crashes",
            PluginError,
            "The session backend 'crashes' does not open: ZeroDivisionError: division by",
        ),
        ("typed", StoreError, "no room (make some)"),
    ],
)
def test_a_selected_backend_that_fails_is_a_failure(
    site: Path, tmp_path: Path, backend: str, kind: type[TauError], line: str
) -> None:
    with pytest.raises(kind) as caught:
        open_store(settings(tmp_path, backend), channel="run")
    assert line in caught.value.line()
    assert "\n" not in caught.value.line()


def test_a_store_is_given_its_table_and_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = """
        from tau.sessions.memory import open_store as inner
        def open_store(context):
            store = inner(context)
            store.given = context
            return store
    """
    monkeypatch.syspath_prepend(str(install(tmp_path / "site", "tau-given", {"given": source})))
    chosen = settings(tmp_path, "given", "[component.given]\nfolder = 'x'\n[component.other]\ny = 1\n")
    store = open_store(chosen, channel="tui")
    context = store.given  # type: ignore[attr-defined]  # set by the fixture package above
    assert (context.options, context.channel) == ({"folder": "x"}, "tui")
    assert (context.data_dir, context.state_dir) == (chosen.places.data, chosen.places.state)
    store.close()


def test_what_a_distribution_says_of_itself_is_not_read_for_each_component(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reads: list[str] = []
    read = PathDistribution.read_text

    def noted(distribution: PathDistribution, filename: str) -> str | None:
        reads.append(filename)
        return read(distribution, filename)

    monkeypatch.setattr(PathDistribution, "read_text", noted)
    found = plugins.names(plugins.TOOLS)
    distributions = {component.distribution for component in found}
    assert 0 < reads.count("METADATA") <= 2 * len(distributions) < len(found)


def test_the_command_lists_components_and_their_state(tau_env: TauEnv, tmp_path: Path) -> None:
    folder = install(tmp_path / "odd", "tau-odd", STORES)
    tau_env.environ["PYTHONPATH"] = str(folder)
    tau_env.configure('[plugins]\ndisabled = ["fails"]\n')
    done = tau_env.run("components")
    assert done.returncode == 0
    assert "LOUD" not in done.stdout
    rows = {
        line.split()[1]: line.split()[2:] for line in done.stdout.splitlines() if line.startswith("tau.s")
    }
    assert rows["file"][-2:] == ["built-in,", "selected"]
    assert rows["memory"][-1] == "built-in"
    assert rows["sound"] == ["tau-odd", "1.2", "loads"]
    assert rows["leaves"] == ["tau-odd", "1.2", "broken"]
    assert rows["fails"] == ["tau-odd", "1.2", "disabled"]
    assert "it tried to end the process (bye)" in done.stdout
    assert "fails" not in imported(folder)


@pytest.mark.parametrize("backend", ["leaves", "missing", "fiel"])
def test_the_command_fails_when_the_selected_one_is_broken(
    tau_env: TauEnv, tmp_path: Path, backend: str
) -> None:
    tau_env.environ["PYTHONPATH"] = str(install(tmp_path / "odd", "tau-odd", STORES))
    tau_env.configure(f'[sessions]\nbackend = "{backend}"\n')
    done = tau_env.run("components")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    listed = tau_env.run("sessions", "list")
    assert listed.returncode == 2
    assert backend in listed.stderr
    assert listed.stderr.count("\n") == 1
    assert not (tau_env.data / "sessions").exists()


def test_other_threads_keep_their_stdout_while_a_component_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = """
        import sys, threading
        print("MINE")
        sys.stdout.buffer.write(b"MINE")
        other = threading.Thread(target=print, args=("THEIRS",))
        other.start()
        other.join()
        open_store = sys.stdout
    """
    monkeypatch.syspath_prepend(str(install(tmp_path / "site", "tau-talk", {"talk": source})))
    before = sys.stdout
    kept = plugins.load(plugins.SESSIONS, "talk")
    assert sys.stdout is before
    print("AFTER", file=kept)
    assert capsys.readouterr().out == "THEIRS\nAFTER\n"


def test_a_channel_is_warned_once_of_each_backend_that_does_not_load(
    site: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    chosen = settings(tmp_path, "memory", '[plugins]\ndisabled = ["fails"]\n')
    open_store(chosen, channel="").close()
    assert caplog.messages == []
    assert imported(site) == set()
    open_store(chosen, channel="terminal").close()
    assert [line.partition(" does not load")[0] for line in caplog.messages] == [
        "tau.sessions:leaves of tau-odd 1.2",
        "tau.sessions:missing of tau-odd 1.2",
    ]
    assert "fails" not in imported(site)
    assert capfd.readouterr().out == ""


def test_a_broken_component_that_is_not_selected_disturbs_nothing(tau_env: TauEnv, tmp_path: Path) -> None:
    folder = install(tmp_path / "odd", "tau-odd", STORES)
    tau_env.environ["PYTHONPATH"] = str(folder)
    done = tau_env.run("sessions", "list")
    assert (done.returncode, done.stdout.count("LOUD")) == (0, 0)
    assert imported(folder) == set()
