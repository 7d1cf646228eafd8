"""``errorfloor audit``: adversaries against a catalogue's own declarations."""

from pathlib import Path
from typing import Annotated

import typer

from errorfloor.cli.app import AsJson, app, messages, print_json


@app.command()
def audit(
    catalogue: Annotated[Path, typer.Argument(help="The catalogue to audit.")] = Path("errorfloor.toml"),
    runs: Annotated[int, typer.Option(help="How often each attack is played.")] = 200,
    attack: Annotated[
        list[str] | None, typer.Option("--attack", help="An attack to play, by name; all of them if none.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the coins that choose the victim's value.")] = 1,
    plot: Annotated[Path | None, typer.Option(help="Write a picture: audit.png, .svg or .pdf.")] = None,
    as_json: AsJson = False,
) -> None:
    """Let adversaries try to beat every declared floor, on generated rows; nothing of yours is touched or spent.

    Each adversary sees what an analyst sees, knows every other entry, spends the whole allowance and guesses which of
    two values one entry has. The exit code is 1 if any is right significantly more often than its floor allows.
    """
    from rich.progress import Progress
    from rich.table import Table

    from errorfloor.attacks import audit as run_audit
    from errorfloor.catalogue import load

    declared = load(catalogue)
    with Progress(console=messages, transient=True) as bar:
        task = bar.add_task("", total=1.0)
        found = run_audit(
            declared,
            runs=runs,
            seed=seed,
            only=attack or (),
            progress=lambda words, share: bar.update(task, description=words, completed=share),
        )
    if plot is not None:
        from errorfloor.plots import save
        from errorfloor.plots.attacks import findings

        save(findings([one for here in found.findings.values() for one in here]), plot)
    if as_json:
        print_json(found.to_dict())
    else:
        for column, here in found.findings.items():
            table = Table("attack", "right", "allowed", "error / floor", title=f"{column}, {runs} runs each")
            for one in here:
                low, high = one.interval
                verdict = f"{one.ratio:.2f} ({low:.2f} … {high:.2f}){'  BEATEN' if one.beaten else ''}"
                table.add_row(one.attack, f"{one.success:.1%}", f"{one.promised:.1%}", verdict)
            _print(table)
        print(found.explain())
    if found.beaten:
        raise typer.Exit(1)


def _print(table: object) -> None:
    from rich.console import Console

    Console().print(table)
