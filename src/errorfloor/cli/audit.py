"""``errorfloor audit``: adversaries against a catalogue's own declarations, or against a server that runs."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import errorfloor as ef
from errorfloor.attacks import Audit, ServerAudit, audit_server
from errorfloor.attacks import audit as run_audit
from errorfloor.catalogue import load
from errorfloor.cli.app import AsJson, app, messages, print_json
from errorfloor.errors import InputError
from errorfloor.plots import save
from errorfloor.plots.answers import findings


@app.command()
def audit(
    catalogue: Annotated[
        Path | None, typer.Argument(help="The catalogue to audit; default: errorfloor.toml.", show_default=False)
    ] = None,
    runs: Annotated[int, typer.Option(help="How often each attack is played.")] = 200,
    attack: Annotated[list[str] | None, typer.Option(help="An attack to play, by name; default: all.")] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            help="Seed of coins, drawn numbers and the noise on generated rows: it repeats an audit. Drawn at random "
            "if not given.",
            show_default=False,
        ),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(
            help="Instead of a catalogue, a running server: test what can be tested without knowing its rows."
        ),
    ] = None,
    token: Annotated[
        str | None, typer.Option(envvar="ERRORFLOOR_TOKEN", help="With --url: an analyst's token.", show_envvar=True)
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Write a picture: audit.png, .svg or .pdf.")] = None,
    as_json: AsJson = False,
) -> None:
    """Let adversaries try to beat every declared floor, on generated rows; nothing of yours is touched or spent.

    Each adversary sees what an analyst sees, knows every other entry, spends the whole allowance and guesses one entry.
    The exit code is 1 if any is right significantly more often than its floor allows.

    With --url a running server is tested instead: the same question gets the same answer, look-alikes do not, and
    prices and refusals depend on public facts alone. This spends at most 1 % of any column's allowance.
    """
    if url is not None:
        if catalogue is not None or attack or plot is not None:
            raise InputError("--url takes only --token and --json: leave out the catalogue, --attack and --plot")
        _running(url, token, as_json)
        return

    declared = load(catalogue or Path("errorfloor.toml"))
    with _progress() as progress:
        found = run_audit(declared, runs=runs, seed=seed, only=attack or (), progress=progress)
    if plot is not None:
        many = len(found.findings) > 1
        rows = [
            (f"{place}: {one.attack}" if many else one.attack, one)
            for place, here in found.findings.items()
            for one in here
        ]
        save(findings([one for _, one in rows], names=[name for name, _ in rows]), plot)
    if as_json:
        print_json(found.to_dict())
    else:
        _print_findings(found)
    if found.beaten:
        raise typer.Exit(1)


def _running(url: str, token: str | None, as_json: bool) -> None:
    """Audit a server that already runs."""
    if token is None:
        raise InputError("--url needs --token: the text that errorfloor tokens create printed, for an analyst")
    with ef.connect(url, token=token) as door, _progress() as progress:
        found = audit_server(door, progress=progress)
    if as_json:
        print_json(found.to_dict())
    else:
        _print_checks(found)
    if found.broken:
        raise typer.Exit(1)


@contextmanager
def _progress() -> Iterator[Any]:
    with Progress(console=messages, transient=True) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda words, share: bar.update(task, description=words, completed=share)


def _print_findings(found: Audit) -> None:
    for place, here in found.findings.items():
        table = Table("attack", "right", "allowed", "error / floor", title=f"{place}, {here[0].runs} runs each")
        for one in here:
            low, high = one.interval
            most = "∞" if math.isinf(high) else f"{high:.2f}"
            verdict = f"{one.ratio:.2f} ({low:.2f} … {most}){'  BEATEN' if one.beaten else ''}"
            table.add_row(one.attack, f"{one.success:.1%}", f"{one.promised:.1%}", verdict)
        Console().print(table)
    for name, why in found.skipped:
        print(f"not played: {name}: {why}")
    print(found.explain())
    if found.seed is not None:
        print(f"Repeat it with --seed {found.seed}.")


def _print_checks(found: ServerAudit) -> None:
    table = Table("column", "promise", "", "seen")
    for one in found.checks:
        table.add_row(one.column, one.name, "kept" if one.kept else "BROKEN", one.seen)
    Console().print(table)
    for name, why in found.skipped:
        print(f"not tried: {name}: {why}")
    print(found.explain())
