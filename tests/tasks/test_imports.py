"""What files of each language import, and which files of the project that is."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from tau.errors import TaskRefused
from tau.tasks.desk import TaskDesk
from tau.tasks.imports.project import ProjectFiles
from tests.tasks.conftest import Home

Ahead = Callable[..., list[str]]

PYTHON = {
    "absolute": ("import pkg.a\nimport os, pkg.sub.c as c\n", ["pkg/a.py", "pkg/sub/c.py"]),
    "a package itself": ("import pkg\nfrom pkg import NAME\n", ["pkg/__init__.py"]),
    "a module from its package": ("from pkg import a, sub\n", ["pkg/a.py", "pkg/sub/__init__.py"]),
    "a name from a module": ("from pkg.a import thing\n", ["pkg/a.py"]),
    "everything": ("from pkg.a import *\n", ["pkg/a.py"]),
    "a folder without __init__": ("from space.ship import fly\nimport space\n", ["space/ship.py"]),
    "below src": ("import layout.inner\n", ["src/layout/inner.py"]),
    "only stubs": ("import stubbed\n", ["stubbed.pyi"]),
    "within functions and types": (
        "if TYPE_CHECKING:\n  import pkg.a\ndef f():\n  import pkg.sub\n",
        ["pkg/a.py", "pkg/sub/__init__.py"],
    ),
    "nothing of the project": ("import sys\nfrom .. import x\nfrom ...y import z\n", []),
}  # fmt: skip


@pytest.mark.parametrize("case", PYTHON)
def test_python(home: Home, ahead: Ahead, case: str) -> None:
    text, expected = PYTHON[case]
    home.write(dict.fromkeys(
        ["pkg/__init__.py", "pkg/a.py", "pkg/sub/__init__.py", "pkg/sub/c.py", "space/ship.py",
         "src/layout/__init__.py", "src/layout/inner.py", "stubbed.pyi"], "",
    ))  # fmt: skip
    home.write({"main.py": text})
    assert ahead("main.py") == expected


def test_python_relative(home: Home, ahead: Ahead) -> None:
    home.write(dict.fromkeys(["src/q/__init__.py", "src/q/a.py", "src/q/s/__init__.py", "src/q/s/b.py"], ""))
    home.write({"src/q/s/m.py": "from . import b\nfrom .. import a\nfrom ..a import x\nfrom .b import y\n"})
    assert ahead("src/q/s/m.py") == ["src/q/a.py", "src/q/s/b.py"]
    home.write({"src/q/a.py": "import q.s.b\nimport q\nfrom .s import nothing\n"})
    assert ahead("src/q/a.py") == ["src/q/__init__.py", "src/q/s/__init__.py", "src/q/s/b.py"]


def test_a_module_does_not_hide_the_standard_library_in_its_package(home: Home, ahead: Ahead) -> None:
    home.write({"p/__init__.py": "", "p/json.py": "", "p/m.py": "import json\n"})
    assert ahead("p/m.py") == []


def tree(text: str) -> dict[str, str]:
    """Files written one after the other, each after a line with its path: ``== src/a.rs``."""
    parts = text.strip("\n").split("== ")[1:]
    return {path: rest for path, _, rest in (part.partition("\n") for part in parts)}


SCRIPT = """
== b.js
== c.mjs
== d.jsx
== e.cjs
== f.ts
== g.ts
== h.tsx
== types.d.ts
== data.json
== s.css
== one.ts
== lib/index.js
== app/src/x.ts
== app/src/util/y.ts
== app/base.json
{"compilerOptions": {"baseUrl": "src"}}
== app/tsconfig.json
{
  // names begin at src
  "extends": "./base",
  "compilerOptions": { "paths": { "@lib/*": ["./nowhere/*", "./*"], "@one": ["../../one.ts"], }, /* two */ },
}
== forms.js
import x from "./b"; import "./c.mjs"; export * from "./d";
const e = require("./e"); await import("./lib"); require(variable); import y from "left-pad"
== forms.ts
import type { T } from "./types"; import f = require("./f"); export { g } from "./g.js";
import h from "./h"; import data from "./data.json"; import style from "./s.css?inline"
== view.tsx
import { H } from "./h"; const v = <H a={1}>x</H>; const l = import("./lib/")
== app/deep/paths.ts
import "@lib/x"; import "@one"; import "util/y"; import "react"
== app/deep/out.js
import "../../b"; import "../../../outside"; import "."
"""


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("forms.js", ["b.js", "c.mjs", "d.jsx", "e.cjs", "lib/index.js"]),
        ("forms.ts", ["data.json", "f.ts", "g.ts", "h.tsx", "s.css", "types.d.ts"]),
        ("view.tsx", ["h.tsx", "lib/index.js"]),
        ("app/deep/paths.ts", ["app/src/util/y.ts", "app/src/x.ts", "one.ts"]),
        ("app/deep/out.js", ["b.js"]),
    ],
)
def test_javascript_and_typescript(home: Home, ahead: Ahead, path: str, expected: list[str]) -> None:
    home.write(tree(SCRIPT))
    assert ahead(path) == expected


WORKSPACE = """
== package.json
{"name": "acme", "private": true, "workspaces": ["packages/*", "!packages/old", "tools/**"]}
== packages/rates/package.json
{"name": "@acme/rates", "main": "dist/index.js", "types": "dist/index.d.ts"}
== packages/rates/src/index.ts
== packages/rates/src/table.ts
== packages/rates/test/helper.ts
== packages/money/package.json
{"name": "@acme/money", "exports": {
  ".": {"types": "./dist/types/main.d.ts", "import": {"default": "./dist/esm/main.mjs"}},
  "./round/*": "./build/rounding/*.js", "./plain": "./plain.js"},
 "imports": {"#tax": {"node": "./src/tax/node.js", "default": "./src/tax/web.js"},
  "#in/*.js": "./src/in/*.js"}}
== packages/money/src/main.ts
import "#tax"; import "#in/a.js"; import "#nothing"; import "@acme/money/plain"; import "#in/"
== packages/money/src/rounding/half.ts
== packages/money/src/tax/web.ts
== packages/money/src/in/a.ts
== packages/money/plain.js
== packages/old/package.json
{"name": "old"}
== packages/old/index.js
== tools/lint/rules/package.json
{"name": "rules", "exports": "./rules.js"}
== tools/lint/rules/rules.js
== tools/bare/package.json
{"name": "bare"}
== tools/bare/index.tsx
== tools/broken/package.json
{"name": "broken", "exports": [[[
== app/use.ts
import "@acme/rates"; import "@acme/rates/table"; import "@acme/rates/test/helper"; import "@acme/money";
import "@acme/money/round/half"; import "rules"; import "bare"; import "old"; import "broken"; import "react";
import "node:fs"; import "@acme"; import "@acme/"; import "#tax"; import "@/x"; import "rates"
"""

USED = [
    "packages/money/src/main.ts", "packages/money/src/rounding/half.ts", "packages/rates/src/index.ts",
    "packages/rates/src/table.ts", "packages/rates/test/helper.ts", "tools/bare/index.tsx",
    "tools/lint/rules/rules.js",
]  # fmt: skip


def test_packages_of_a_workspace_are_files_of_the_project(home: Home, ahead: Ahead) -> None:
    home.write(tree(WORKSPACE))
    assert ahead("app/use.ts") == USED
    assert ahead("packages/money/src/main.ts") == [
        "packages/money/plain.js", "packages/money/src/in/a.ts", "packages/money/src/tax/web.ts",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "listed",
    [
        "packages:\n - 'packages/*'\n - tools/lint/*  # rules\n\n - \"tools/*\"\n - '!**/old'\nx: y\n",
        "# pnpm\r\npackages: # all\r\n- packages/*\r\n- ./tools/**\r\n- '!packages/old'\r\n- ../beside/*\r\n",
    ],
)
def test_packages_of_pnpm(home: Home, ahead: Ahead, listed: str) -> None:
    files = tree(WORKSPACE)
    files["package.json"] = '{"name": "acme"}'
    home.write({**files, "pnpm-workspace.yaml": listed})
    assert ahead("app/use.ts") == USED


def test_a_link_among_what_is_installed_leads_to_its_package_and_the_rest_is_not_followed(
    home: Home, ahead: Ahead
) -> None:
    files = tree(WORKSPACE)
    files["package.json"] = '{"name": "acme"}'
    files["node_modules/react/package.json"] = '{"name": "react", "main": "index.js"}'
    files["node_modules/react/index.js"] = ""
    home.write(files)
    installed = home.directory / "node_modules"
    (installed / "@acme").mkdir()
    (installed / "@acme/rates").symlink_to("../../packages/rates", target_is_directory=True)
    (installed / "bare").symlink_to("/etc", target_is_directory=True)
    assert ahead("app/use.ts") == [path for path in USED if "rates" in path]


def test_a_workspace_of_any_size_is_looked_through_within_bounds(
    home: Home, ahead: Ahead, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed: list[str] = []
    folders = ProjectFiles.folders

    def counted(self: ProjectFiles, folder: str) -> list[str]:
        listed.append(folder)
        return folders(self, folder)

    monkeypatch.setattr(ProjectFiles, "folders", counted)
    home.write({f"d{first}/e{second}/x": "" for first in range(20) for second in range(80)})
    home.write({"package.json": '{"workspaces": [' + '"*/*/**", ' * 200 + '"*"]}', "use.ts": 'import "a"'})
    assert ahead("use.ts") == []
    assert 0 < len(listed) <= 1_000
    lines = [
        "  - a" + " " * 500_000 + "'",
        "  - '" + "#" * 500_000,
        "  - " + "\\' " * 100_000,
        "  - packages/*",
    ]
    home.write({"package.json": "{}", "pnpm-workspace.yaml": "\n".join(["packages:", *lines])})
    home.write({"packages/a/package.json": '{"name": "a"}', "packages/a/index.ts": ""})
    assert ahead("use.ts") == ["packages/a/index.ts"], "within the time that a test has"


@pytest.mark.parametrize(
    "manifest",
    [
        "[]", "7", '{"workspaces": 7}',
        '{"workspaces": {"packages": [7, "", "..", "../*", "/*", "\\u0000*"]}}',
        '{"workspaces": ["*"], "exports": {".": [7, null, {"a": "../../out.ts"}], "./*": "./*"}}',
        '{"exports": {".": ' + '{"a": ' * 900 + '"./x.ts"' + "}" * 902, '{"name": ["b"], "imports": ["#a"]}',
        '{"name": "b", "exports": "./../../../etc/passwd"}', '{"name": "b", "main": "/etc/passwd"}',
        '{"workspaces": ["' + "*/" * 40 + '*"]}',
    ],
)  # fmt: skip
def test_any_manifest_leaves_the_others_found(home: Home, ahead: Ahead, manifest: str) -> None:
    home.write({"package.json": manifest, "a/package.json": manifest, "z.ts": "", "a/b/c.ts": ""})
    home.write({"a/use.ts": 'import "b"; import "#a"; import "b/c"; import "../z"'})
    assert "z.ts" in ahead("a/use.ts")


GO = """
== go.mod
module example.com/app // the app

go 1.22

replace (
	example.com/near v1.0.0 => ./near
)
== cmd/main.go
package main
import "fmt"
import (
	r "example.com/app/rates"
	. "example.com/near/in"
	"example.com/other"
)
== rates/a.go
package rates
== rates/b.go
package rates
== rates/a_test.go
package rates
== near/in/x.go
package in
== near/in/notes.md
== x.go
package app
import "example.com/app"
== y.go
package app
== tool/go.mod
module example.com/tool
== tool/m.go
package m
import "example.com/app/rates"
"""


def test_go(home: Home, ahead: Ahead) -> None:
    home.write(tree(GO))
    assert ahead("cmd/main.go") == ["near/in/x.go", "rates/a.go", "rates/b.go"]
    assert ahead("x.go") == ["y.go"]
    assert ahead("tool/m.go") == [], "that is another module"


RUST = """
== Cargo.toml
[workspace]
members = ["app", "near"]
[workspace.dependencies]
near-by = { path = "near" }
== near/Cargo.toml
[package]
name = "near-by"
== near/src/lib.rs
== app/Cargo.toml
[package]
name = "the-app"
[dependencies]
near-by = { workspace = true }
serde = "1"
== app/src/lib.rs
== app/src/main.rs
mod a;
pub mod b;
mod inner { mod c; }
#[cfg(x)]
#[path = "odd/name.rs"]
mod odd;
mod whole { fn f() {} }
== app/src/a.rs
use crate::b::{self, deep::{Thing, other}, x as y};
use super::b::*;
use serde::Serialize;
== app/src/b/mod.rs
pub mod deep;
use self::deep::Thing;
use crate::r#a;
use near_by::Far;
== app/src/b/deep.rs
use super::Item;
use super::super::a::x;
mod tests { use super::*; use super::super::b; }
== app/src/inner/c.rs
== app/src/odd/name.rs
== app/tests/it.rs
use the_app::b::deep;
mod common;
== app/tests/common/mod.rs
"""


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("src/main.rs", ["src/a.rs", "src/b/mod.rs", "src/inner/c.rs", "src/odd/name.rs"]),
        ("src/a.rs", ["src/b/deep.rs", "src/b/mod.rs"]),
        ("src/b/mod.rs", ["near/src/lib.rs", "src/a.rs", "src/b/deep.rs"]),
        ("src/b/deep.rs", ["src/a.rs", "src/b/mod.rs"]),
        ("tests/it.rs", ["src/b/deep.rs", "tests/common/mod.rs"]),
    ],
)
def test_rust(home: Home, ahead: Ahead, path: str, expected: list[str]) -> None:
    home.write(tree(RUST))
    assert sorted(file.removeprefix("app/") for file in ahead(f"app/{path}")) == expected


JAVA = """
== core/src/main/java/com/acme/Rate.java
== core/src/main/java/com/acme/util/A.java
== core/src/main/java/com/acme/util/B.java
== core/src/test/java/com/acme/RateTest.java
package com.acme;
import com.acme.Rate;
import java.util.List;
import com.acme.util.*;
import static com.acme.Rate.of;
== core/src/main/java/com/acme/Use.java
package com.acme;
import com.acme.util.A.Inner;
import static com.acme.Rate.*;
"""


def test_java(home: Home, ahead: Ahead) -> None:
    home.write(tree(JAVA))
    main = "core/src/main/java/com/acme"
    assert ahead("core/src/test/java/com/acme/RateTest.java") == [
        f"{main}/Rate.java",
        f"{main}/util/A.java",
        f"{main}/util/B.java",
    ]
    assert ahead(f"{main}/Use.java") == [f"{main}/Rate.java", f"{main}/util/A.java"]


C = """
== src/near.h
== include/lib/far.h
== root.h
== src/deep/twice.hpp
== src/own.h
== src/main.c
#include <stdio.h>
#include "near.h"
#include <lib/far.h>
#ifdef X
#include "root.h"
#endif
#include MACRO
== src/deep/x.cpp
#include "twice.hpp"
namespace n {
#include "../near.h"
}
class C { int x = 3; };
== src/deep/c.h
extern "C" {
#include "own.h"
}
#include "c.h"
template <class T> class Q {};
"""


def test_c_and_cpp(home: Home, ahead: Ahead) -> None:
    home.write(tree(C))
    assert ahead("src/main.c") == ["include/lib/far.h", "root.h", "src/near.h"]
    assert ahead("src/deep/x.cpp") == ["src/deep/twice.hpp", "src/near.h"]
    assert ahead("src/deep/c.h") == ["src/own.h"]


PROBLEMS: dict[str, tuple[str, bytes | None, str]] = {
    "no Python": ("a.py", b"def broken(:\n", "it is no Python of this version, line 1"),
    "NUL": ("a.py", b"import os\0\n", "it is no Python"),
    "brackets without end": ("a.py", b"x = " + b"(" * 100_000, "it is no Python"),
    "signs without end": ("a.py", b"x = " + b"-" * 300_000 + b"1", "it is no Python"),
    "names without end": ("a.py", b"x = a" + b".a" * 300_000, "it is no Python"),
    "calls without end": ("a.js", b"f(" * 100_000, ""),
    "another language": ("a.rb", b"require 'x'\n", "imports of such files are not read"),
    "no Go": ("a.go", b"\xff\xfe\0broken {{{", ""),
    "a cut end": ("a.ts", b"import './b", ""),
    "too large": ("a.js", b"x" * 2_000_001, "it is larger than 2,000,000 bytes"),
    "not there": ("a.c", None, "it is not there"),
}


@pytest.mark.parametrize("case", PROBLEMS)
def test_what_cannot_be_read_is_said(home: Home, case: str) -> None:
    path, data, problem = PROBLEMS[case]
    home.write({"b.py": ""})
    if data is not None:
        (home.directory / path).write_bytes(data)
    desk = home.desk()
    task = desk.create("t").task.id
    assert desk.mark(task, path).missing == (data is None)
    view = desk.view(task)
    assert view.frontier.ahead == ()
    assert view.frontier.unread.get(path, "").startswith(problem)
    assert bool(view.frontier.unread) == bool(problem)


def test_nothing_outside_the_directory_is_read_or_named(home: Home, ahead: Ahead) -> None:
    outside = home.root / "outside.py"
    outside.write_text("import secret\n")
    (home.root / "secret.py").write_text("")
    (home.directory / "linked.py").symlink_to(outside)
    (home.directory / "inner.py").symlink_to("real.py")
    home.write({"real.py": "", "m.py": "import linked\nimport inner\nfrom .. import secret\n"})
    assert ahead("m.py") == ["real.py"], "a link within the directory leads to the file's own name"
    for path in ("../outside.py", "linked.py"):
        with pytest.raises(TaskRefused, match="leads out of"):
            ahead(path)


def test_without_a_grammar_it_is_said(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    from tau.tasks.imports import languages

    languages._language.cache_clear()
    monkeypatch.setitem(sys.modules, "tree_sitter_go", None)
    home.write({"m.go": 'import "x"\n'})
    desk = home.desk()
    task = desk.create("t").task.id
    desk.mark(task, "m.go")
    assert desk.view(task).frontier.unread == {
        "m.go": "the package tree-sitter-go is not installed, so imports of Go are not read"
    }


def frontier(desk: TaskDesk, task: str) -> list[str]:
    return [each.path for each in desk.view(task).frontier.ahead]


def test_a_changed_file_is_read_again_and_a_damaged_cache_begun_anew(home: Home) -> None:
    home.write({"m.py": "import a\n", "a.py": "", "b.py": ""})
    desk = home.desk()
    task = desk.create("t").task.id
    desk.mark(task, "m.py")
    assert frontier(desk, task) == ["a.py"]
    assert frontier(desk, task) == ["a.py"]
    home.write({"m.py": "import b\n"})
    assert frontier(desk, task) == ["b.py"]
    (home.directory / "b.py").unlink()
    assert frontier(desk, task) == [], "where files are is looked up each time"
    home.write({"b.py": ""})
    (cache,) = (home.places.state / "imports").glob("*.sqlite")
    cache.write_bytes(b"damaged" * 1000)
    assert frontier(desk, task) == ["b.py"]
    assert frontier(desk, task) == ["b.py"]
    assert len(list((home.places.state / "imports").glob("*.sqlite"))) == 1


def test_a_cache_that_cannot_be_written_costs_time_alone(home: Home) -> None:
    home.write({"m.py": "import a\n", "a.py": ""})
    home.places.state.mkdir()
    (home.places.state / "imports").write_text("a file where the folder would be")
    desk = home.desk()
    task = desk.create("t").task.id
    desk.mark(task, "m.py")
    assert frontier(desk, task) == ["a.py"]
