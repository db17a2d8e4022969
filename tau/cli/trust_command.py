"""`tau trust`: say that a directory's own files may decide what tau does there, or take that back."""

from __future__ import annotations

import os
from pathlib import Path

import click

from tau.display import one_line
from tau.errors import UsageError


@click.command()
@click.argument("directory", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@click.option("--list", "show", is_flag=True, help="List the trusted directories.")
@click.option("--revoke", is_flag=True, help="Trust the directory no longer.")
def trust(directory: Path | None, show: bool, revoke: bool) -> int:
    """Trust a directory (this one unless given): its tau.toml then decides what runs and where data goes.

    Trust is for a whole repository with its worktrees, or for one directory outside of any. What may run
    without a question stays yours to say: a project's file can never approve anything.
    """
    from tau.config.load import real_directory
    from tau.config.places import resolve_places
    from tau.config.project_keys import project_keys
    from tau.config.trust import Trust, trust_root

    record = Trust(resolve_places(os.environ))
    if show:
        if revoke or directory is not None:
            raise UsageError("--list goes alone")
        for trusted in record.directories():
            click.echo(one_line(str(trusted), 4096))
        return 0
    if revoke:
        if directory is not None and not directory.exists():
            root = directory.resolve()
        else:
            root = trust_root(real_directory(directory or Path()))
        removed = record.remove(root)
        said = "no longer trusted" if removed else "was not trusted"
        click.echo(f"{said}: {one_line(str(root), 4096)}")
        return 0
    real = real_directory(directory or Path())
    root = trust_root(real)
    added = record.add(root)
    click.echo(f"{'trusted' if added else 'already trusted'}: {one_line(str(root), 4096)}")
    keys = project_keys(real, os.environ)
    if keys is not None and keys.trusted:
        click.echo(f"its {one_line(str(keys.path), 4096)} now also sets {', '.join(keys.trusted)}")
    if keys is not None and keys.never:
        click.echo(
            f"never counted: {', '.join(keys.never)}; only your own tau.toml can allow (tau config path)"
        )
    return 0
