"""`tau components`: what is installed, from which package, and whether it loads."""

from __future__ import annotations

import click

from tau.cli.options import load_settings, shared_options
from tau.display import one_line


@click.command()
@shared_options
def components() -> int:
    """List installed components; exit 2 when the selected one cannot be used."""
    from tau import plugins
    from tau.sessions.registry import check_backend

    settings = load_settings()
    selected = {plugins.SESSIONS: settings.sessions.backend}
    rows = [("GROUP", "NAME", "PACKAGE", "VERSION", "STATE")]
    reasons: list[str] = []
    failed = False
    for group in plugins.GROUPS:
        for outcome in plugins.outcomes(group, disabled=settings.plugins.disabled):
            component = outcome.component
            chosen = component.name == selected.get(group) and outcome.state != "refused"
            failed = failed or (chosen and outcome.state != "loads")
            state = "built-in" if component.built_in and outcome.state == "loads" else outcome.state
            rows.append(
                (
                    group,
                    component.name,
                    component.distribution,
                    component.version,
                    state + ", selected" * chosen,
                )
            )
            if outcome.reason:
                reasons.append(outcome.reason)
    shown = [[one_line(cell, 60) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in shown) for column in range(len(rows[0]))]
    for row in shown:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    for reason in reasons:
        click.echo(f"{reason}")
    check_backend(settings)
    return 2 if failed else 0
