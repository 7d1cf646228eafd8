"""``errorfloor release``: a copy of a table in which some columns carry noise."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from errorfloor.bulk import Column, Release
from errorfloor.bulk import release as perform
from errorfloor.cli.app import AsJson, app, messages, print_json
from errorfloor.cli.supports import parse_range, parse_side
from errorfloor.errors import InputError
from errorfloor.policies import Policy, from_dict
from errorfloor.support import Interval


@app.command()
def release(
    source: Annotated[
        Path,
        typer.Argument(
            help="Table to read: .parquet, .csv, .arrow, .feather or .duckdb; or the catalogue that declares it, .toml."
        ),
    ],
    target: Annotated[Path, typer.Argument(help="Table to write, in any of these formats.")],
    batch: Annotated[str, typer.Option(help="A name that no release of other data has used: 2013-q1.")],
    column: Annotated[list[str] | None, typer.Option(help="Column that gets noise; repeat for more.")] = None,
    noise: Annotated[
        list[str] | None, typer.Option(help="Interval that the noise of that column never leaves: 0..0.5.")
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(help="Column whose numbers a saved policy draws: kwh=policy.json; counts after every --column."),
    ] = None,
    key: Annotated[
        str | None, typer.Option(help="Columns that together identify a row, separated by commas: household,day.")
    ] = None,
    keys: Annotated[Path | None, typer.Option(help="Key file; make one with errorfloor keys create.")] = None,
    unit: Annotated[list[str] | None, typer.Option(help="Unit of that column.")] = None,
    ranges: Annotated[list[str] | None, typer.Option("--range", help="Declared range of that column: 0..50.")] = None,
    step: Annotated[list[str] | None, typer.Option(help="Released numbers are multiples of this: 0.01.")] = None,
    out_of_range: Annotated[
        str | None, typer.Option(help="refuse (the default) or clamp values outside the range.")
    ] = None,
    nulls: Annotated[str | None, typer.Option(help="keep (the default) or refuse nulls.")] = None,
    table: Annotated[str | None, typer.Option(help="Table to read in a DuckDB file or a catalogue.")] = None,
    target_table: Annotated[str | None, typer.Option(help="Table to write in a DuckDB file.")] = None,
    public: Annotated[
        str | None, typer.Option(help="Columns published as they are, separated by commas: tariff,area.")
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Allow a second draw of the same data: another answer.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing target.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a copy of a table whose chosen columns carry bounded noise, and say what nobody can learn from it.

    Options that belong to a column are given once for each --column, in the same order, or once for all of them. A
    --policy, as saved by its to_dict, releases a column whose numbers must stay in a set, such as those ≥ 0; its column
    counts after every --column, without --step, and its range is the policy's unless --range says less. Making the same
    release again gives the same file; it appears whole or not at all. Rows are written in the order of their key, and
    columns that are neither key, nor released, nor declared public are left out.

    If the source is a catalogue, one of its registered tables is released: the release is charged to the table's
    accounts before a private column is read, and the catalogue says what --key, --keys, --unit, --range,
    --out-of-range, --nulls and --public say for a file. Exit code 3 means that it would break a declared floor: nothing
    was charged or written.

    Example: errorfloor release meters.parquet out.parquet --column kwh --noise 0..0.5 --unit kWh --range 0..50
    --key household,day --batch 2013-q1 --keys keys.json

    Example: errorfloor release errorfloor.toml out.parquet --table meters --column kwh --noise=-20..20 --batch 2013-q1
    """
    declared = source.suffix.lower() == ".toml"
    missing = [option for option, given in (("--key", key), ("--keys", keys)) if given is None]
    if missing and not declared:
        raise InputError(f"{source} needs {' and '.join(missing)}: name the row key and the key file")
    noisy, policies = column or [], [_policy(text) for text in policy or ()]
    if bool(noisy) != bool(noise) or not (noisy or policies):
        raise InputError("name each --column with its --noise, or a --policy such as kwh=policy.json, or both")
    every = [*noisy, *(name for name, _ in policies)]
    if len(set(every)) < len(every):
        raise InputError(f"a column is released once, got {', '.join(every)}")
    intervals = {name: _interval(text) for name, text in _each("--noise", noisy, noise).items()}
    steps, units = _each("--step", noisy, step), _each("--unit", every, unit)
    allowed = {name: parse_range(text) for name, text in _each("--range", every, ranges).items()}
    chosen: list[tuple[str, Interval | Policy]] = [*intervals.items(), *policies]
    columns = {
        name: Column(
            wanted,
            range=allowed.get(name),
            unit=units.get(name, ""),
            step=steps.get(name),
            out_of_range=out_of_range or "refuse",
            nulls=nulls or "keep",
        )
        for name, wanted in chosen
    }
    settled: dict[str, object] = {
        "--key": key,
        "--keys": keys,
        "--unit": unit,
        "--range": ranges,
        "--out-of-range": out_of_range,
    }
    settled |= {"--nulls": nulls, "--public": public, "--again": again}
    extra = [option for option, given in settled.items() if given]
    if declared and extra:
        raise InputError(f"the catalogue decides how a declared table is released: leave out {', '.join(extra)}")
    inlet, outlet = _table(source, None if declared else table), _table(target, target_table)
    with Progress(
        TextColumn("releasing"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("rows"),
        TimeElapsedColumn(),
        console=messages,
        transient=True,
    ) as bar:
        task = bar.add_task("", total=None)
        common: dict[str, Any] = {
            "columns": columns,
            "batch": batch,
            "overwrite": overwrite,
            "progress": lambda rows: bar.update(task, completed=rows),
        }
        report: Release
        if declared:
            from errorfloor.service import open_database  # files are released without what questions need

            if table is None:
                raise InputError(f"name the table to release: {source} declares it, --table")
            with open_database(source) as database:
                report = database.release(table, outlet, **common)
        else:
            report = perform(
                inlet,
                outlet,
                key=[part.strip() for part in key.split(",")] if key is not None else (),
                keys=keys,
                public=[part.strip() for part in public.split(",")] if public else [],
                allow=["again"] if again else [],
                **common,
            )
    if as_json:
        print_json(report.to_dict())
    else:
        print(f"{target}: {report.rows:,} rows\n{report.explain()}")
        if source.suffix != ".toml":
            messages.say("Charged to no ledger: give the catalogue as source to charge a declared table.")


def _table(file: Path, table: str | None) -> Path:
    return file if table is None else file.with_name(f"{file.name}::{table}")


def _each(option: str, columns: Sequence[str], values: Sequence[str] | None) -> dict[str, str]:
    """Pair columns with the values of an option: one each, in order, or one for all."""
    if not values:
        return {}
    if len(values) not in (1, len(columns)):
        raise InputError(
            f"{option} is given {len(values)} times for {len(columns)} columns: once for all, or once each"
        )
    return dict(zip(columns, values if len(values) > 1 else list(values) * len(columns), strict=True))


def _policy(text: str) -> "tuple[str, Policy]":
    name, separator, file = text.partition("=")
    if not (name and separator and file):
        raise InputError(f"--policy takes a column and a file, such as kwh=policy.json; got {text!r}")
    try:
        plain = json.loads(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise InputError(f"cannot read a policy from {file}: {problem}") from None
    return name, from_dict(plain)


def _interval(text: str) -> Interval:
    side = parse_side(text)
    if not isinstance(side, Interval):
        raise InputError(f"--noise must be a bounded interval such as 0..0.5, got {text!r}")
    return side
