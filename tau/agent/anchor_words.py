"""The word lists by which facts in a text are told from ordinary words."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


COMMANDS = _words(
    """
    alembic ansible ansible-playbook apt apt-get aws az brew bun bundle cargo cat chmod chown cmake
    composer conda curl deno dig django-admin docker docker-compose dotnet ffmpeg find flask gcloud
    gh git go gradle grep gunicorn helm journalctl jq just kill kubectl ln ls make mvn mypy mysql
    nginx node npm npx openssl pg_dump pg_restore php pip pip3 pipx pnpm poetry pre-commit psql
    pytest python python3 rails rake redis-cli rg rm rsync ruff rustc scp sed sqlite3 ssh sudo
    systemctl tail tar tau terraform tox uv uvicorn uvx virtualenv wget yarn
    """
)
"""Programs that begin a command in a sentence."""

LINKS = _words(
    """
    al bin da de del den der di dos du el la le of ter van von zu
    """
)
"""Small words inside a name."""

NO_NAMES = _words(
    """
    a aber about after again all also although am an and any are as at auch auf be because before
    bei bitte both but by can could dann das dass dem den der des did die do does done each ein eine
    einen einer either er es et every few finally first for from für haben hat have hello here hi
    how however i i'd i'll i'm i've ich if ihr im in instead is ist it it's its la last later le les
    let let's like mais make many maybe mit more most my nach neither never next nicht no noch nor
    not note nothing now nur oder of ok okay on once one only or ou our out please remember same
    second see she should sie since sind so some still such sure thank thanks that that's the their
    then there there's these they this those though three to today todo tomorrow two un und under
    une unless until use used vom von war warum was we we'll we're we've weil well wenn wer were
    what when where whether which while who why wie will wir with without wo would yes yesterday yet
    you you'll you're your zum zur
    """
)
"""Words that may be capitalised where no name begins."""

ACRONYMS = _words(
    """
    AND API ASCII AST BUT CLI CPU CRUD CSS CSV DEBUG DNS DOM EOF ERROR FALSE FAQ FIXME GET GNU GPU
    GUI HTML HTTP HTTPS IDE INFO JSON JWT LLM MCP NONE NOT NOTE NULL OOM ORM PDF POSIX POST PUT RAM
    README REST SDK SQL SSH SSL TCP TLS TODO TRUE TTY TUI UDP URI URL USB UTC UTF UUID WARNING WIP
    XML YAML YES
    """
)
"""Words in capitals that name nothing in particular."""

FILLERS = _words(
    """
    a aber also an and as at auch but by das dass der die for if is it of on or please so that the
    then to und with
    """
)
"""Words that a clause neither begins nor ends with."""

EXTENSIONS = _words(
    """
    bash bat bin bz2 c cc cfg cmake conf cpp crt cs css csv dart db deb diff dll doc docx ejs env ex
    exe exs fish gif go gradle graphql gz h hpp htm html ico ini ipynb jar java jpeg jpg js json
    jsonl jsx key kt lock log lua m4 mak md mdx mjs mk mp3 mp4 nix odt org out parquet patch pdf pem
    php pl plist png po proto ps1 pub py pyc pyi r rb rpm rs rst sass scala scss service sh so sock
    sql sqlite sqlite3 svelte svg swift tar tcss tex tf tfvars tgz timer toml ts tsv tsx ttf txt vue
    wasm whl woff2 xls xlsx xml xz yaml yml zig zip zsh zst
    """
)
"""What follows the last dot of a file name."""

SMALL_WORDS = _words(
    """
    a an and as at by de du en et for from in la le of off on or out per so the to und up via vs
    with x y
    """
)
"""Parts of everyday compounds, such as end-to-end."""

EVERYDAY = _words(
    """
    e.g github gitlab i.e ios javascript linkedin macos typescript youtube
    """
)
"""Words with the form of an identifier that are none."""
