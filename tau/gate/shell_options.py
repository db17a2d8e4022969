"""Options with which well-known programs that look write files or run other programs instead.

Programs whose whole business is to write, such as ``tee``, are not here: their pattern says what they do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

HARMLESS = frozenset({
    "basename", "cat", "cksum", "cmp", "comm", "cut", "df", "diff", "dirname", "du", "echo", "egrep",
    "expand", "fgrep", "fold", "grep", "head", "id", "jq", "ls", "md5sum", "nl", "nproc", "od", "paste",
    "pwd", "readlink", "realpath", "rev", "seq", "sha1sum", "sha256sum", "sha512sum", "sleep", "stat",
    "tac", "tail", "tr", "uname", "wc", "which", "whoami",
})  # fmt: skip
"""Programs that no argument makes write a file or run another program."""

_WHOLE = frozenset({"find", "gfind", "go", "gofmt", "terraform"})
_ARGUMENT_FILES = frozenset(
    {"flake8", "mypy", "nm", "objdump", "py.test", "pytest", "ruff", "size", "strings", "tsc"}
)
_UNABBREVIATED = frozenset({"cargo", "fd", "fdfind", "py.test", "pytest", "rg", "ruff", "uv"})
# Elsewhere an option of one letter is also found in a cluster, a long one also abbreviated.
_OPTIONS = {
    "ack": "--pager --output",
    "ag": "--pager",
    "base64": "-o --output",
    "bat": "--pager --config-file --map-syntax",
    "black": "--config",
    "cargo": "--config --manifest-path --target-dir --artifact-dir --out-dir -Z -C --fix --open +",
    "cmake": (
        "-P -E -C -S -B --build --install --open --preset --toolchain --graphviz --profiling-output "
        "--trace-redirect"
    ),
    "ctags": "-o -f --options --output",
    "curl": (
        "-o -O -K -J -c -D -T -F -d -X -Q -E -e --output --output-dir --remote-name --remote-name-all "
        "--config --cookie-jar --dump-header --trace --trace-ascii --stderr --upload-file --data "
        "--data-binary --data-raw --json --data-urlencode --data-ascii --form --form-string --request "
        "--quote --hsts --alt-svc --etag-save --libcurl --engine --proxy --socks5 --unix-socket --netrc "
        "--netrc-file --url-query --remote-header-name --url @ --create-dirs --ssl-sessions "
        "--expand-output --expand-output-dir --expand-config --expand-data --expand-json --expand-form "
        "--expand-upload-file --expand-cookie-jar --expand-dump-header --expand-trace --expand-stderr"
    ),
    "date": "-s --set",
    "delta": "--pager",
    "dmesg": "-c -C -D -E -n --clear --read-clear --console-level --console-on --console-off",
    "docker": "-H --host --config --context",
    "eslint": (
        "-o -c -f --output-file --fix --fix-dry-run --config --rulesdir --plugin --parser --format --init "
        "--resolve-plugins-relative-to --cache-file --cache-location --fix-type"
    ),
    "fd": "-x -X --exec --exec-batch",
    "fdfind": "-x -X --exec --exec-batch",
    "file": "-C --compile",
    "find": "-delete -fprint -fprint0 -fprintf -fls -files0-from",
    "flake8": "--output-file --tee --config --append-config --install-hook",
    "gh": "--editor --web",
    "go": (
        "-c -http -exec -toolexec -o -C -overlay -modfile -vettool -ldflags -gcflags -asmflags "
        "-gccgoflags -pkgdir -coverprofile -cpuprofile -memprofile -blockprofile -mutexprofile -trace "
        "-outputdir -compiler -fix --exec --toolexec --o --C --overlay --modfile --vettool --ldflags "
        "--gcflags --asmflags --coverprofile --cpuprofile --memprofile --blockprofile --mutexprofile "
        "--trace --outputdir --compiler -w -u -test.coverprofile -test.cpuprofile"
    ),
    "gofmt": "-w -cpuprofile --w --cpuprofile",
    "gpg": "-o --output --options --homedir --log-file --exec-path --photo-viewer",
    "hg": "-R --config --cwd --repository --debugger --output -o --profile --config-file",
    "hostname": "-F --file -b",
    "iconv": "-o --output",
    "isort": "--settings-path --settings-file --config-root",
    "jest": (
        "--config -c --rootDir --outputFile --reporters -u --updateSnapshot --globalSetup --runner "
        "--testRunner --setupFiles --setupFilesAfterEnv --transform --resolver --coverageDirectory "
        "--cacheDirectory --preset --environment"
    ),
    "journalctl": (
        "--vacuum-size --vacuum-time --vacuum-files --rotate --flush --sync --relinquish-var --setup-keys "
        "--update-catalog --cursor-file --smart-relinquish-var"
    ),
    "kubectl": (
        "--kubeconfig --profile --profile-output --cache-dir --log-file --log-dir --server --as --token -s"
    ),
    "less": "-o -O -k -T + --log-file --LOG-FILE --lesskey-file --lesskey-src --lesskey-content --tag-file",
    "make": (
        "-f -C -I -E -o -W --file --makefile --eval --directory --include-dir --old-file --new-file --what-if"
    ),
    "man": (
        "-P -H -C -M -T -X -Z --pager --html --config-file --gxditview --ditroff --troff-device --manpath "
        "--preprocessor"
    ),
    "more": "+",
    "mypy": (
        "--install-types --mypyc-annotation-file --python-executable --config-file --cache-dir "
        "--shadow-file --junit-xml --html-report --txt-report --xml-report --xslt-html-report "
        "--xslt-txt-report --any-exprs-report --cobertura-xml-report --linecount-report "
        "--linecoverage-report --lineprecision-report --custom-typing-module"
    ),
    "ninja": "-C -f -t",
    "nm": "--plugin",
    "npm": (
        "-C --prefix --script-shell --node-options --userconfig --globalconfig --shell --git "
        "--init-module --viewer --cache --global-prefix --location --editor --browser --call --package -c "
        "--registry --logs-dir --tmp"
    ),
    "objdump": "--plugin",
    "pip": (
        "-t --target --prefix --root --log --cache-dir --python --config-settings --global-option --src "
        "--report --proxy --cert --index-url --extra-index-url --find-links -i -f"
    ),
    "pnpm": "-C --dir --prefix --script-shell --shell --shell-emulator --config --node-options --shell-mode",
    "prettier": "-w --write --config --plugin --plugin-search-dir --cache-location --resolve-config",
    "pytest": (
        "-p -c -o -W --basetemp --config-file --rootdir --junitxml --junit-xml --result-log --report-log "
        "--log-file --cov-report --cov-config --html --debug --pastebin --override-ini --pdbcls "
        "--resultlog --pythonwarnings --import-mode --doctest-modules --confcutdir --csv "
        "--json-report-file --snapshot-update --inline-snapshot --profile --profile-svg --alluredir "
        "--memray-bin-path --benchmark-json --benchmark-save --tx --rsyncdir --store-durations "
        "--durations-path --splitting-algorithm --force-regen --regen-all"
    ),
    "rg": "--pre --hostname-bin -z --search-zip",
    "rsync": (
        "-e -M --rsh --rsync-path --remote-option --log-file --write-batch --only-write-batch "
        "--password-file --temp-dir -T --backup-dir --partial-dir --early-input"
    ),
    "ruff": "-o --output-file --fix --fix-only --add-noqa --config --cache-dir --watch",
    "scp": "-S -o -F -J -D",
    "sdiff": "-o --output",
    "shuf": "-o --output",
    "size": "--plugin",
    "sort": "-o -T --output --compress-program --temporary-directory",
    "ssh-keygen": "-f -D -w -P",
    "strings": "--plugin",
    "svn": "--diff-cmd --diff3-cmd --editor-cmd --config-option --config-dir",
    "tar": (
        "-I -F --to-command --use-compress-program --checkpoint-action --rsh-command --info-script "
        "--new-volume-script --rmt-command --index-file"
    ),
    "terraform": "-chdir",
    "tree": "-o -R --output",
    "tsc": "-p --project --build -b --outDir --outFile --plugins --generateTrace --generateCpuProfile",
    "uv": (
        "--directory --project --config-file --cache-dir --python -p --target --prefix --index "
        "--index-url --default-index --extra-index-url --find-links -f"
    ),
    "vitest": "--config -c --root --outputFile --reporter -u --update --globalSetup",
    "wget": (
        "-O -o -a -e -i -P -x --output-document --output-file --append-output --execute --input-file "
        "--directory-prefix --use-askpass --post-data --post-file --body-data --body-file --method "
        "--config --save-cookies --warc-file --hsts-file --load-cookies --rejected-log "
        "--preferred-location"
    ),
    "xmllint": "-o --output --shell --load-trace",
    "yarn": "--cwd --use-yarnrc --script-shell --modules-folder --cache-folder --global-folder",
    "yq": "-i -s --inplace --in-place --split-exp --split-exp-file --yml-output --yaml-output",
    "zip": "-T -O -b --test --unzip-command --output-file --temp-path --logfile-path -lf",
}
_OPTIONS |= {
    "gmake": _OPTIONS["make"],
    "py.test": _OPTIONS["pytest"],
    "gtar": _OPTIONS["tar"],
    "bsdtar": _OPTIONS["tar"],
    "gsort": _OPTIONS["sort"],
    "gfind": _OPTIONS["find"],
}


def risky_option(name: str, word: str) -> str | None:
    """The option, by which a program writes a file or runs a program, that a word is or may be.

    Args:
        name: The program's.
        word: One of its arguments.
    """
    known = _OPTIONS.get(re.sub(r"[0-9.]+$", "", name), _OPTIONS.get(name, "")).split()
    if word.startswith("@") and name in _ARGUMENT_FILES:
        return word[:20]
    if name in _WHOLE or (name in _UNABBREVIATED and word.startswith("--")):
        return next((each for each in known if each == word.partition("=")[0]), None)
    return matching(word, known)


def matching(word: str, options: Sequence[str]) -> str | None:
    """The option that a word is or may be: abbreviated, with its value, or in a cluster of letters."""
    if len(word) < 2 or word[0] not in "-+":
        return None
    given = word.partition("=")[0]
    for option in options:
        if option.startswith("--"):
            if len(given) > 2 and (option.startswith(given) or given.startswith(f"{option}.")):
                return option
        elif len(option) == 2 and option[0] == "-":
            if word[0] == "-" and word[1] != "-" and option[1] in word:
                return option
        elif given == option or (option == "+" and word[0] == "+"):
            return option
    return None
