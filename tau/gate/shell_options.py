"""The options of well-known programs that a final ``*`` stands for: what is allowed, not what is dangerous.

An option that is not listed may write a file, run a program or be too new to be known, so it asks.
Programs whose whole business is to write, such as ``tee``, are not here: their pattern says what they do.
"""

from __future__ import annotations

import re
from functools import cache

HARMLESS = frozenset({
    "basename", "cat", "cksum", "cmp", "comm", "cut", "df", "diff", "dirname", "du", "echo", "egrep",
    "expand", "fgrep", "fold", "grep", "head", "id", "jq", "ls", "md5sum", "nl", "nproc", "od", "paste",
    "pwd", "readlink", "realpath", "rev", "seq", "sha1sum", "sha256sum", "sha512sum", "sleep", "stat",
    "tac", "tail", "tr", "uname", "wc", "which", "whoami",
})  # fmt: skip
"""Programs that no argument makes write a file or run another program."""

_CARGO = (
    "--release -r -p= --package= --all --workspace --lib --bins --bin= --tests --test= --examples "
    "--example= --benches --bench= --all-targets --all-features --no-default-features --features= -F= "
    "--exclude= -q --quiet -v --verbose --locked --offline --frozen --message-format= --color= -j= --jobs= "
    "--keep-going"
)
_CARGO_TEST = (
    f"{_CARGO} --doc --no-run --no-fail-fast --nocapture --test-threads= --ignored --include-ignored "
    "--exact --show-output --skip="
)
_SCRIPT = (
    "--watch=false --watchAll=false --ci --coverage --verbose --silent --bail --run --runInBand -t= "
    "--testNamePattern= --color --no-color --passWithNoTests"
)
_CC = "-c -g -O# -Os -Wall -Wextra -Werror -pedantic -std= -o -I= -D= -U= -L= -l= -E -S -M -MM -fsyntax-only"

_OPTIONS = {
    "base64": "-d -D -w= -i --decode --wrap= --ignore-garbage",
    "black": "--check --diff -q --quiet -v --verbose -l= --line-length= -t= --target-version= --color",
    "cargo": "-q --quiet -v --verbose --version -V --locked --offline --frozen --list --help -h",
    "cargo bench": _CARGO_TEST,
    "cargo build": _CARGO,
    "cargo check": _CARGO,
    "cargo clippy": f"{_CARGO} --no-deps -D= -W= -A=",
    "cargo doc": f"{_CARGO} --no-deps --document-private-items",
    "cargo fmt": "--check --all -q --quiet -v --verbose",
    "cargo metadata": f"{_CARGO} --no-deps --format-version= --filter-platform=",
    "cargo test": _CARGO_TEST,
    "cargo tree": (
        f"{_CARGO} -e= --edges= -i= --invert= --prune= --depth= --no-dedupe -d --duplicates -f= --format="
    ),
    "cc": _CC,
    "curl": (
        "-f -s -S -L -I -i -v -g -4 -6 -m= --fail --silent --show-error --location --head --include "
        "--verbose --globoff --compressed --max-time= --connect-timeout= --retry= --http1.1 --http2 "
        "--no-progress-meter"
    ),
    "date": "-u -R -I --utc --universal --rfc-email --iso-8601= --rfc-3339= --date=",
    "docker": "--version -v --help",
    "docker images": "-a --all -q --quiet --no-trunc --digests -f= --filter= --format=",
    "docker inspect": "-f= --format= -s --size --type=",
    "docker logs": "-f --follow -t --timestamps -n= --tail= --since= --until= --details",
    "docker ps": "-a --all -q --quiet -n= -l --latest -s --size --no-trunc -f= --filter= --format=",
    "eslint": "--ext= --quiet --max-warnings= --color --no-color -v --version",
    "fd": (
        "-H -I -u -s -i -g -F -a -L -p -0 -1 -q -d= -t= -e= -E= -c= -S= -j= --hidden --no-ignore "
        "--unrestricted --case-sensitive --ignore-case --glob --fixed-strings --absolute-path --follow "
        "--full-path --print0 --quiet --max-depth= --min-depth= --exact-depth= --type= --extension= "
        "--exclude= --color= --size= --changed-within= --changed-before= --max-results= --no-ignore-vcs "
        "--regex --version --help"
    ),
    "file": (
        "-b -i -I -k -L -h -N -0 -r -v --brief --mime --mime-type --mime-encoding --keep-going "
        "--dereference --no-dereference --extension --version"
    ),
    "find": (
        "-H -L -P -a -and -o -or -not -true -false -empty -executable -readable -writable -type -xtype "
        "-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -lname -ilname "
        "-maxdepth -mindepth -depth -daystart -follow -mount -xdev -noleaf -nogroup -nouser -user -group "
        "-uid -gid -inum -links -samefile -newer -anewer -cnewer -newermt -newerct -newerat -newermm -amin "
        "-atime -cmin -ctime -mmin -mtime -perm -size -used -fstype -print -print0 -printf -ls -prune "
        "-quit -warn -nowarn -ignore_readdir_race"
    ),
    "flake8": (
        "-v -q --verbose --quiet --max-line-length= --max-complexity= --select= --ignore= --extend-ignore= "
        "--extend-select= --exclude= --count --statistics --show-source --version"
    ),
    "gh": "--version --help",
    "gh search": (
        "-L= --limit= --json= -q= --jq= --language= --owner= -R= --repo= --sort= --order= --state= "
        "--author= --assignee= --label= --created= --updated= --stars= --topic= --visibility= --extension= "
        "--filename= --match= --size= --archived --merged --draft --closed --mentions= --commenter= "
        "--involves="
    ),
    "gh status": "-e= --exclude= -o= --org=",
    "go": "",
    "go build": "-v -x -n -race -tags= -trimpath -p=",
    "go doc": "-all -src -short -u -c -cmd",
    "go env": "-json -changed",
    "go list": ("-f= -json= -m -u -e -deps -find -test -retracted -versions -tags= -v -mod=readonly"),
    "go test": (
        "-v -run= -skip= -count= -race -short -timeout= -bench= -benchmem -benchtime= -cover -covermode= "
        "-coverpkg= -json -failfast -p= -parallel= -cpu= -list= -shuffle= -tags= -trimpath -x -n -fullpath"
    ),
    "go version": "-m -v",
    "go vet": "-v -x -n -json -tags=",
    "gofmt": "-l -d -e -s",
    "hostname": (
        "-f -s -i -I -d -A --fqdn --short --long --domain --ip-address --all-ip-addresses --all-fqdns"
    ),
    "iconv": "-f= -t= -l -c -s --from-code= --to-code= --list --silent",
    "isort": "-c -q --check --check-only --diff --quiet --profile= --version",
    "jest": _SCRIPT,
    "journalctl": (
        "-u= -n= -f -e -r -b -k -p= -o= -x -q -S= -U= -t= --unit= --lines= --follow --reverse --boot= "
        "--dmesg --priority= --output= --since= --until= --no-pager --quiet --utc --user --system "
        "--disk-usage --list-boots --identifier= --grep="
    ),
    "kubectl": "",
    "kubectl describe": "-n= --namespace= -A --all-namespaces -l= --selector= --show-events=",
    "kubectl explain": "--recursive --api-version=",
    "kubectl get": (
        "-n= --namespace= -A --all-namespaces -l= --selector= -o= --output= -w --watch --show-labels "
        "--no-headers --sort-by= --field-selector= -L= --label-columns= --ignore-not-found"
    ),
    "kubectl logs": (
        "-n= --namespace= -l= --selector= -c= --container= -f --follow -p --previous --tail= --since= "
        "--timestamps --all-containers --prefix --limit-bytes="
    ),
    "kubectl top": (
        "-n= --namespace= -A --all-namespaces -l= --selector= --sort-by= --no-headers --containers"
    ),
    "less": "-R -S -N -F -X -i -I -n -E -e",
    "make": (
        "-j# -k -n -s -i -B -q -w -r -R -v --jobs --keep-going --dry-run --just-print --silent --quiet "
        "--always-make --question --no-print-directory --print-directory --output-sync --trace --version"
    ),
    "man": "-k -f -w -a",
    "mypy": (
        "--strict --ignore-missing-imports --show-error-codes --hide-error-codes --no-error-summary "
        "--pretty --show-column-numbers --show-error-context --show-traceback -p= -m= --package= --module= "
        "-v -V --verbose --version --no-incremental --python-version= --explicit-package-bases "
        "--namespace-packages --disallow-untyped-defs --disallow-any-generics --check-untyped-defs "
        "--warn-unused-ignores --warn-return-any --warn-unreachable --no-implicit-optional "
        "--follow-imports= --exclude= --no-color-output --strict-optional --platform= --error-summary "
        "--disable-error-code= --enable-error-code="
    ),
    "ninja": "-j# -k# -n -v --verbose --quiet --version",
    "nm": (
        "-a -C -D -g -n -p -P -r -S -u --defined-only --demangle --dynamic --extern-only --undefined-only"
    ),
    "npm": "-s --silent --version -v",
    "npm ls": "--json --depth= --all -a -l --long -g --global --parseable --prod --dev --omit= --silent -s",
    "npm outdated": "--json --depth= --all -a -l --long -g --global --parseable --silent -s",
    "npm run": f"{_SCRIPT} --if-present -s",
    "npm test": f"{_SCRIPT} -s",
    "npm view": "--json --silent -s",
    "objdump": (
        "-a -d -D -f -h -p -r -R -s -S -t -T -x -C -w -j= -M= --all-headers --disassemble --file-headers "
        "--section-headers --syms --source --demangle"
    ),
    "pip": "--version -V",
    "pip check": "-q -v",
    "pip freeze": "-l --local --user --all --exclude= --exclude-editable -q -v",
    "pip list": (
        "-o --outdated -u --uptodate -e --editable -l --local --user --pre --format= --not-required "
        "--exclude= --exclude-editable -q -v --disable-pip-version-check"
    ),
    "pip show": "-f --files -q -v",
    "pnpm": "-s --silent --version -v",
    "pnpm list": "--json --depth= -g --global --long --parseable --prod --dev -P -D -r --recursive",
    "pnpm outdated": "--json --long -g --global -r --recursive --compatible --prod --dev -P -D",
    "pnpm test": f"{_SCRIPT} -s",
    "prettier": "-c -l --check --list-different --no-color --version",
    "pytest": (
        "-x -v -q -s -l -k= -m= -n= -r= --exitfirst --verbose --quiet --showlocals --lf --last-failed --ff "
        "--failed-first --nf --new-first --sw --stepwise --sw-skip --maxfail= --tb= --durations= "
        "--durations-min= --co --collect-only --no-header --no-summary --cov= --no-cov --cov-branch "
        "--cov-report=term --cov-report=term-missing --cov-fail-under= --disable-warnings --strict-markers "
        "--strict-config --capture= --color= --ignore= --ignore-glob= --deselect= --setup-show "
        "--setup-plan --setup-only --fixtures --fixtures-per-test --markers --version -V --help -h "
        "--timeout= --runxfail --hypothesis-seed= --hypothesis-show-statistics --full-trace --cache-show "
        "--show-capture= --continue-on-collection-errors --dist= --reruns= --count="
    ),
    "rg": (
        "-n -N -i -s -S -l -L -c -w -v -o -F -H -I -0 -P -U -x -p -a -q -u -. -b -V -e= -g= -t= -T= -A= "
        "-B= -C= -m= -M= -j= -r= -E= -d= --line-number --no-line-number --ignore-case --case-sensitive "
        "--smart-case --files-with-matches --files-without-match --count --count-matches --word-regexp "
        "--invert-match --only-matching --fixed-strings --with-filename --no-filename --null --pcre2 "
        "--multiline --multiline-dotall --line-regexp --pretty --text --quiet --unrestricted --hidden "
        "--no-hidden --regexp= --glob= --iglob= --type= --type-not= --type-list --type-add= "
        "--after-context= --before-context= --context= --max-count= --max-columns= --max-filesize= "
        "--max-depth= --threads= --replace= --encoding= --files --no-ignore --no-ignore-vcs "
        "--no-ignore-parent --no-config --color= --colors= --heading --no-heading --column --no-messages "
        "--sort= --sortr= --stats --json --vimgrep --trim --follow --passthru --byte-offset --crlf "
        "--no-unicode --engine= --version --help"
    ),
    "rsync": (
        "-a -v -z -n -r -u -h -i -t -l -p -q -c -x --archive --verbose --compress --dry-run --recursive "
        "--update --human-readable --itemize-changes --checksum --exclude= --include= --stats --progress "
        "--times --links --perms --size-only --list-only"
    ),
    "ruff": "--version -V --help -h -q -v -s",
    "ruff check": (
        "--select= --ignore= --extend-select= --extend-ignore= --per-file-ignores= --exclude= -q --quiet "
        "-s --silent -v --verbose --statistics --diff --output-format= --no-cache -n --preview "
        "--no-preview --show-files --show-settings --exit-zero -e --no-fix --line-length= "
        "--target-version= --force-exclude --respect-gitignore --isolated"
    ),
    "ruff format": (
        "--check --diff -q --quiet -v --verbose --line-length= --exclude= --no-cache -n --preview "
        "--force-exclude --target-version="
    ),
    "ruff rule": "--all --output-format=",
    "shuf": "-n= -e -i= -r -z --head-count= --echo --input-range= --repeat --zero-terminated",
    "size": "-A -B -d -o -x -t --format=",
    "sort": (
        "-b -d -f -g -i -M -h -n -R -r -V -c -C -m -s -u -z -k= -t= -S= --parallel= --reverse "
        "--numeric-sort --unique --key= --field-separator= --human-numeric-sort --version-sort "
        "--general-numeric-sort --ignore-case --stable --zero-terminated --check --month-sort "
        "--random-sort --merge --debug --ignore-leading-blanks --dictionary-order --ignore-nonprinting "
        "--buffer-size= --version --help"
    ),
    "strings": "-a -f -n= -t= -e= -# --all --bytes= --print-file-name --radix= --encoding=",
    "tar": (
        "-t -x -c -z -j -J -a -v -f= -C= -k -p -m -O -h -w --list --extract --get --create --gzip --gunzip "
        "--bzip2 --xz --zstd --auto-compress --verbose --file= --directory= --strip-components= --exclude= "
        "--to-stdout --keep-old-files --touch --dereference --no-same-owner --no-same-permissions "
        "--wildcards --no-recursion --full-time --totals --version"
    ),
    "terraform": "-version",
    "terraform fmt": "-check -diff -recursive -list=false -no-color",
    "terraform output": "-json -raw -no-color",
    "terraform plan": "-no-color -compact-warnings -detailed-exitcode -input=false -lock=false",
    "terraform show": "-json -no-color",
    "terraform validate": "-json -no-color",
    "tree": (
        "-L= -a -d -f -I= -P= -s -h -p -u -g -D -C -n -J -X -i -F -t -r -v -l -A -S -Q -N --dirsfirst "
        "--filesfirst --noreport --gitignore --prune --du --si --sort= --charset= --filelimit= --inodes "
        "--device --matchdirs --ignore-case --version --help"
    ),
    "tsc": "--noEmit --pretty --strict --skipLibCheck --listFiles --showConfig --version -v",
    "uniq": (
        "-c -d -D -i -u -z -f# -s# -w# --count --repeated --all-repeated= --group= --ignore-case --unique "
        "--zero-terminated --skip-fields= --skip-chars= --check-chars="
    ),
    "uv": "--version -V -q --quiet -v --verbose --offline",
    "uv lock": "--check --locked --dry-run -q --quiet -v --verbose --offline",
    "uv sync": "--frozen --locked --dry-run --all-extras --all-groups --dev --no-dev -q --quiet --offline",
    "uv tree": "--frozen --locked --depth= --no-dedupe --invert --outdated --package= -q --quiet --offline",
    "vitest": f"{_SCRIPT} --no-watch",
    "wget": (
        "-q -v -nv -S -c -nc --quiet --spider --server-response --timeout= --tries= --continue --no-clobber"
    ),
    "xmllint": "--format --noout --xpath= --nonet --html --pretty --recover --version",
    "xxd": "-a -b -c= -e -E -g= -i -l= -p -ps -plain -r -revert -s= -seek -u -v",
    "yarn": "-s --silent --version -v",
    "yarn list": "--json --depth= --pattern= -s --silent --prod",
    "yarn test": f"{_SCRIPT} -s",
    "yq": (
        "-r -c -n -s -e -M -C -j -P --raw-output --compact-output --no-colors --exit-status --unwrapScalar="
    ),
}
_LIKE = {
    "gawk": "awk", "gsed": "sed", "mawk": "awk", "nawk": "awk", "c++": "cc", "clang": "cc", "clang++": "cc",
    "fdfind": "fd", "g++": "cc", "gcc": "cc",
    "bsdtar": "tar", "gbase64": "base64", "gdate": "date", "gfind": "find", "gmake": "make", "gshuf": "shuf",
    "gsort": "sort", "gtar": "tar", "guniq": "uniq", "py.test": "pytest",
}  # fmt: skip
_NO_OPTIONS = frozenset({
    "ack", "ag", "bat", "cmake", "csplit", "ctags", "delta", "dmesg", "gpg", "hg", "ld", "more",
    "rustc", "scp", "sdiff", "split", "ssh-keygen", "svn", "zip",
})  # fmt: skip
"""Programs whose options are too many, or too mighty, to list: each asks."""

_WHOLE = frozenset({"find", "go", "gofmt", "terraform", "tsc", "xxd"})
"""Programs to which a dash and several letters is one option; elsewhere they are a cluster."""

_ARGUMENT_FILES = frozenset(
    {"cc", "curl", "flake8", "mypy", "nm", "objdump", "pytest", "ruff", "size", "strings", "tsc"}
)
_PLUS = frozenset({"cargo", "less", "man", "more", "sort", "uniq", "xxd"})
"""Programs to which a word with a plus before it is an option."""


def canonical(name: str) -> str:
    """The name under which a program is listed: ``gsort`` and ``SORT`` are sort, ``pip3.11`` is pip."""
    name = name.casefold()
    name = _LIKE.get(name, name)
    if name in _PROGRAMS:
        return name
    bare = re.sub(r"-?[0-9.]+$", "", name)
    bare = _LIKE.get(bare, bare)
    return bare if bare in _PROGRAMS else name


def has_subcommands(program: str) -> bool:
    """Whether the options of a program, by its canonical name, depend on its first operand."""
    return program in _WITH_SUBCOMMANDS


def listed(program: str) -> str | None:
    """The options of a program, or of ``PROGRAM SUBCOMMAND``; None where nothing is known of it.

    Returns:
        Options, separated by spaces. ``-x=`` and ``--long=`` take any value, ``-x#`` a number; ``-#`` is one.
    """
    return "" if program in _NO_OPTIONS else _OPTIONS.get(program)


def unknown(program: str, word: str, options: str) -> bool:
    """Whether an argument is, or may be, an option that is not listed.

    A word is judged wherever it stands: behind ``--`` and as another option's value too, since whether it is
    one depends on the version of the program.

    Args:
        program: Its canonical name.
        word: The argument.
        options: As `listed` gives them.
    """
    if word.startswith("@"):
        return program in _ARGUMENT_FILES
    if word.startswith("+"):
        return program in _PLUS
    if len(word) < 2 or word[0] != "-" or word == "--":
        return False
    return not allowed(word, options, clusters=program not in _WHOLE)


def allowed(word: str, options: str, *, clusters: bool = True) -> bool:
    """Whether a word that begins with a dash is one of the options, with or without a value.

    Args:
        word: The whole word; a long option counts only when it is written out.
        options: As `listed` gives them.
        clusters: Whether a dash and several letters may be several options.
    """
    known = _set(options)
    name = word.partition("=")[0]
    if word in known or f"{name}=" in known:
        return True
    if re.fullmatch("-[0-9]+", word):
        return "-#" in known
    if word.startswith("--") or not clusters:
        return False
    for index, letter in enumerate(word[1:], 2):
        if f"-{letter}=" in known:
            return True
        if f"-{letter}#" in known:
            return re.fullmatch("[0-9]*", word[index:]) is not None
        if f"-{letter}" not in known:
            return False
    return True


@cache
def _set(options: str) -> frozenset[str]:
    return frozenset(options.split())


_WITH_SUBCOMMANDS = frozenset(key.partition(" ")[0] for key in _OPTIONS if " " in key) | {"git"}
_PROGRAMS = (
    frozenset(key.partition(" ")[0] for key in _OPTIONS)
    | _NO_OPTIONS
    | HARMLESS
    | {"git", "sed", "awk", "printf"}
)
