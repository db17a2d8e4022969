"""What the arguments of git do beyond what a final ``*`` stands for: each subcommand's options, listed."""

from __future__ import annotations

import re

from tau.display import one_line
from tau.gate.shell_command import Command, Effect
from tau.gate.shell_options import allowed

_GLOBAL = "--no-pager --no-optional-locks --literal-pathspecs --version -v -P"
_DIFF = (
    "-p -u -s -U# --patch --no-patch --unified= --raw --patch-with-raw --minimal --patience --histogram "
    "--diff-algorithm= --stat= --numstat --shortstat --dirstat= --summary --compact-summary -z --name-only "
    "--name-status --color= --no-color --color-moved= --color-words= --word-diff= --no-renames -M= -C= -B= "
    "--find-renames= --find-copies= --find-copies-harder --break-rewrites= --diff-filter= -S= -G= "
    "--pickaxe-all --pickaxe-regex -R --relative= --no-relative -a --text --ignore-cr-at-eol "
    "--ignore-space-at-eol -b --ignore-space-change -w --ignore-all-space --ignore-blank-lines "
    "--inter-hunk-context= -W --function-context --exit-code --quiet -q --no-ext-diff --no-textconv "
    "--ignore-submodules= --submodule= --src-prefix= --dst-prefix= --no-prefix --abbrev= --full-index "
    "--binary --cached --staged --merge-base --cc -c --combined-all-paths --no-index -t -D "
    "--irreversible-delete --output-indicator-new= --output-indicator-old= --output-indicator-context= "
    "--check --ws-error-highlight="
)
_LOG = (
    f"{_DIFF} -n= -# --max-count= --skip= --since= --after= --until= --before= --author= --committer= "
    "--grep= --all-match --invert-grep -i --regexp-ignore-case -E --extended-regexp -F --fixed-strings "
    "--perl-regexp --merges --no-merges --first-parent --not --all --branches= --tags= --remotes= --glob= "
    "--exclude= --reflog -g --walk-reflogs --cherry --cherry-pick --cherry-mark --left-only --right-only "
    "--left-right --boundary --simplify-by-decoration --full-history --dense --sparse --ancestry-path "
    "--date-order --author-date-order --topo-order --reverse --oneline --abbrev-commit --no-abbrev-commit "
    "--date= --relative-date --parents --children --graph --decorate= --no-decorate --decorate-refs= "
    "--source --follow --full-diff -L= -m --format= --pretty= --no-notes --encoding= --no-walk "
    "--no-mailmap --use-mailmap --expand-tabs --no-expand-tabs"
)
_MESSAGE = "-m= --message= --no-edit"
_OPTIONS = {
    "add": (
        "-A -u -n -v -N -f --all --update --dry-run --verbose --intent-to-add --force --ignore-errors "
        "--ignore-missing --renormalize --refresh --no-all"
    ),
    "blame": (
        "-b -l -t -s -e -f -n -w -c -p -L= -M= -C= --root --line-porcelain --porcelain --show-name "
        "--show-number --show-email --date= --since= --abbrev= --reverse --first-parent --color-lines "
        "--color-by-age --ignore-rev="
    ),
    "branch": (
        "-a -r -v -d -D -m -M -c -C -l -f -i -q -u= -t --all --remotes --verbose --list --delete --move "
        "--copy --force --show-current --contains= --no-contains= --merged= --no-merged= --points-at= "
        "--sort= --column --no-column --color= --no-color --abbrev= --set-upstream-to= --unset-upstream "
        "--track --no-track --ignore-case --quiet --format="
    ),
    "cat-file": "-t -s -e -p --batch-check --batch",
    "checkout": (
        "-b -B -q -f -t --quiet --force --track --no-track --detach --ours --theirs --guess --no-guess"
    ),
    "cherry-pick": "-x -n -m= --no-commit --abort --continue --skip --quit",
    "clean": "-n -f -d -x -X -q --dry-run --force --quiet",
    "clone": (
        "-q -v -b= -n -l --quiet --verbose --depth= --branch= --single-branch --no-tags --bare --no-checkout"
    ),
    "commit": (
        f"{_MESSAGE} -a -q -v -n -s -i -o -z --all --quiet --verbose --signoff --no-verify --amend "
        "--allow-empty --dry-run --short --porcelain --long --author= --date= --no-signoff --only "
        "--include --no-gpg-sign --reset-author --status --no-status"
    ),
    "describe": (
        "--all --tags --contains --long --always --abbrev= --match= --exclude= --exact-match --dirty= "
        "--broken= --first-parent --candidates="
    ),
    "diff": f"{_DIFF} -0 -1 -2 -3 --base --ours --theirs",
    "fetch": (
        "-a -p -t -n -q -v -f -k -4 -6 --all --prune --tags --no-tags --quiet --verbose --force --depth= "
        "--deepen= --unshallow --dry-run --append --prune-tags --progress --keep --shallow-since="
    ),
    "grep": (
        "-n -i -I -w -v -h -H -E -G -P -F -l -L -c -o -p -q -a -z -r -W -e= -A= -B= -C= -m= -# --cached "
        "--untracked --no-index --no-exclude-standard --exclude-standard --line-number --column "
        "--ignore-case --word-regexp --invert-match --full-name --extended-regexp --basic-regexp "
        "--perl-regexp --fixed-strings --files-with-matches --files-without-match --name-only --count "
        "--color= --no-color --break --heading --show-function --function-context --context= "
        "--after-context= --before-context= --max-count= --max-depth= --threads= --and --or --not "
        "--all-match --quiet --null --text --only-matching --recursive --no-recursive --no-textconv"
    ),
    "init": "-q --quiet --bare -b= --initial-branch=",
    "log": _LOG,
    "ls-files": (
        "-c -d -o -i -s -u -k -m -t -v -z -f -x= --cached --deleted --others --ignored --stage --unmerged "
        "--killed --modified --exclude= --exclude-standard --error-unmatch --full-name --abbrev= --eol "
        "--directory --no-empty-directory --deduplicate --recurse-submodules"
    ),
    "ls-remote": "-h -t -q --heads --tags --refs --quiet --exit-code --symref --branches",
    "ls-tree": (
        "-d -r -t -l -z --long --name-only --name-status --object-only --full-name --full-tree --abbrev="
    ),
    "merge": (
        f"{_MESSAGE} -n -q -v --ff --no-ff --ff-only --squash --no-commit --commit --abort --quit --stat "
        "--no-stat --quiet --verbose --no-verify-signatures"
    ),
    "merge-base": "-a --all --octopus --independent --is-ancestor --fork-point",
    "mv": "-f -k -n -v --force --dry-run --verbose",
    "pull": (
        "-q -v -p -t --quiet --verbose --ff-only --no-ff --ff --rebase --no-rebase --prune --tags "
        "--no-tags --depth= --no-edit --all"
    ),
    "push": (
        "-u -f -n -q -v -d --set-upstream --force --force-with-lease= --force-if-includes --tags "
        "--follow-tags --all --dry-run --quiet --verbose --delete --porcelain --progress --no-verify"
    ),
    "reflog": "--all -n= -# --oneline --date=",
    "remote": "-v --verbose --push --all",
    "reset": "-q -N --quiet --soft --mixed --hard --merge --keep",
    "restore": "-s= -S -W -q --source= --staged --worktree --quiet --ours --theirs",
    "rev-list": f"{_LOG} --count --objects --disk-usage --header --timestamp --no-object-names",
    "rev-parse": (
        "-q --quiet --verify --short= --abbrev-ref= --symbolic --symbolic-full-name --show-toplevel "
        "--show-prefix --show-cdup --git-dir --git-common-dir --absolute-git-dir --is-inside-work-tree "
        "--is-inside-git-dir --is-bare-repository --is-shallow-repository --all --branches= --tags= "
        "--remotes= --revs-only --no-revs --flags --no-flags --show-object-format --not"
    ),
    "rm": "-r -f -n -q --cached --force --dry-run --quiet --ignore-unmatch",
    "shortlog": (
        "-n -s -e -c --numbered --summary --email --committer --group= --since= --after= --until= "
        "--before= --author= --no-merges --merges --all --branches= --tags= --first-parent --no-mailmap"
    ),
    "show": _LOG,
    "show-ref": (
        "--head --heads --tags --branches -d --dereference -s --hash= --verify --abbrev= -q --quiet"
    ),
    "stash": (
        "-u -a -k -q -m= --include-untracked --all --keep-index --no-keep-index --quiet --message= --stat "
        "--index --name-only"
    ),
    "status": (
        "-s -b -v -u= -z --short --branch --show-stash --porcelain= --long --verbose --untracked-files= "
        "--ignored= --ignore-submodules= --column= --no-column --ahead-behind --no-ahead-behind --renames "
        "--no-renames --find-renames="
    ),
    "switch": (
        "-c -C -d -q -f -t --create --force-create --detach --quiet --discard-changes --track --no-track "
        "--guess --no-guess"
    ),
    "tag": (
        "-l -n# -d -f -m= --list --delete --force --contains= --no-contains= --merged= --no-merged= "
        "--points-at= --sort= --column --no-column --ignore-case --message= --color="
    ),
    "worktree": "-b -B -f --force --porcelain --detach -v --verbose -q --quiet",
}
_TRANSPORT = frozenset({
    "archive", "clone", "fetch", "ls-remote", "pull", "push", "remote", "submodule",
})  # fmt: skip
_RUNS = frozenset({("bisect", "run"), ("submodule", "foreach")})
_HELPER = re.compile(r"[+]?[A-Za-z0-9+.-]*::")

_FORMAT_NAMES = frozenset({"oneline", "short", "medium", "full", "fuller", "reference", "email", "raw"})
_FORMAT = re.compile(
    r"(?:t?format:)?(?:[^%]|%(?:[HhTtPpSsfbBNemnDd%]|a[nNeElLdDrtiIsh]|c[nNeElLdDrtiIsh]|g[dDnNeEs]"
    r"|C(?:red|green|blue|reset|\([A-Za-z0-9 ,#]*\))|x[0-9A-Fa-f]{2}|[<>]{1,2}\([0-9]{1,4}(?:,m?trunc)?\)))*"
)
_REF_FORMAT = re.compile(
    r"(?:[^%]|%\((?:HEAD|refname|objectname|objecttype|upstream|push|subject|contents:subject|authorname"
    r"|authoremail|authordate|committername|committerdate|creatordate|taggerdate)(?::[a-z]{1,20})?\))*"
)


def git_effects(command: Command) -> list[Effect]:
    """What the arguments of a git command do that a star does not stand for.

    Args:
        command: A command whose program is git.
    """
    words = command.words
    never = len(words)
    found: list[Effect] = []
    at = 1
    while at < len(words) and words[at].startswith("-"):
        if words[at] not in _GLOBAL.split():
            found.append(Effect(never, f"git {one_line(words[at], 40)} changes what git runs"))
        at += 1
    if found or at >= len(words):
        return found
    subcommand = words[at]
    shown = f"git {one_line(subcommand, 40)}"
    if at in command.loose:
        found.append(Effect(never, "git's subcommand is computed"))
    options = _OPTIONS.get(subcommand)
    if options is None:
        found.append(Effect(at, f"{shown} is not known to be harmless"))
    if tuple(words[at : at + 2]) in _RUNS:
        found.append(Effect(never, f"{shown} {words[at + 1]} runs a command"))
    for index, word in enumerate(words[at + 1 :], at + 1):
        if len(word) > 1 and word[0] == "-" and word != "--":
            if not _is_plain(subcommand, word, options or ""):
                found.append(Effect(index, f"{shown} {one_line(word, 40)} is not known to be harmless"))
        elif subcommand in _TRANSPORT and (index in command.loose or _HELPER.match(word)):
            found.append(Effect(index, "git runs a helper for the address"))
    if subcommand == "commit" and not _has_message(words[at + 1 :]):
        found.append(Effect(never, "git commit starts an editor"))
    return found


def _is_plain(subcommand: str, word: str, options: str) -> bool:
    name, _, value = word.partition("=")
    if name in ("--format", "--pretty") and allowed(word, options):
        if subcommand == "branch":
            return _REF_FORMAT.fullmatch(value) is not None
        alias = "%" not in value and ":" not in value
        return value in _FORMAT_NAMES if alias else _FORMAT.fullmatch(value) is not None
    return allowed(word, options)


def _has_message(arguments: tuple[str, ...]) -> bool:
    """Whether a commit needs no editor."""
    return any(
        word.startswith(("-m", "--message=")) or word in ("--message", "--no-edit", "--dry-run")
        for word in arguments
    ) or any(re.fullmatch("-[aqvnsioz]*m.*", word, re.DOTALL) for word in arguments)
