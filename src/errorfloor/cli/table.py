"""``errorfloor table``: a cross table with margins that add up, as one question."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from errorfloor.answering.stating import stated
from errorfloor.cli.app import AsJson, app, print_json
from errorfloor.cli.cross_table import CrossTable
from errorfloor.cli.questions import (
    Analyst,
    CatalogueFile,
    Dry,
    Explain,
    MaxError,
    MaxLoss,
    Noise,
    OldKey,
    OverLimit,
    Spend,
    in_options,
    say_of,
    wish_of,
    within_limit,
)
from errorfloor.errors import InputError
from errorfloor.service import open_database


@app.command()
def table(
    name: Annotated[str, typer.Argument(metavar="TABLE", help="The declared table.")],
    rows: Annotated[list[str], typer.Option(help="The key of the rows: tariff. Repeat for subtotals.")],
    value: Annotated[list[str], typer.Option(help="What is shown: 'sum(kwh)', 'avg(kwh)', 'count(*)'.")],
    columns: Annotated[list[str] | None, typer.Option(help="The key of the columns, if any.")] = None,
    where: Annotated[str | None, typer.Option(help="Which rows count: \"day < '2014-01-01'\".")] = None,
    catalogue: CatalogueFile = Path("errorfloor.toml"),
    max_error: MaxError = None,
    spend: Spend = None,
    noise: Noise = None,
    max_loss: MaxLoss = None,
    analyst: Analyst = None,
    key: OldKey = None,
    dry: Dry = False,
    over_limit: OverLimit = False,
    price: Annotated[bool, typer.Option("--price", help="Only say what it would cost; nothing is charged.")] = False,
    explain: Explain = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the numbers as CSV.")] = False,
    as_html: Annotated[bool, typer.Option("--html", help="Print a table for a page.")] = False,
    as_json: AsJson = False,
) -> None:
    """Answer a cross table: sums, averages or counts by rows and columns, with margins that add up.

    It is one question, GROUP BY CUBE of both keys, and one charge: the margins are made of the released cells, so that
    sums add up to the last digit. The same table again is free. Exit code 3 means that the answer would break a
    declared floor or exceed a quota: nothing was charged.

    Example: errorfloor table meters --rows tariff --columns region --value 'sum(kwh)' --max-error 500
    """
    if as_csv + as_html + as_json > 1:
        raise InputError("give at most one of --csv, --html and --json")
    _check_keys("--rows", rows)
    _check_keys("--columns", columns or ())
    sql, wish = question(name, rows, columns or [], value, where), wish_of(max_error, spend, noise, max_loss)
    with open_database(catalogue, dry=dry, key=key) as database, in_options():
        if price:
            said = database.price(sql, analyst=analyst, **wish)
            print_json(stated(said)) if as_json else print(said.explain() if explain else said.summary())
            return
        with within_limit(database, over_limit):
            answer = database.ask(sql, analyst=analyst, **wish)
    keys, cells = answer.table.column_names[: len(rows) + len(columns or [])], answer.table.to_pylist()
    tables = [CrossTable(one, keys[: len(rows)], keys[len(rows) :], cells) for one in answer.outputs()]
    if as_json:
        print_json(stated(answer) | {"tables": [one.to_dict() for one in tables]})
    elif as_csv or as_html:
        print("\n".join(one.csv() if as_csv else one.html() for one in tables), end="")
    else:
        print("\n\n".join(one.text() for one in tables))
    if not as_json:
        say_of(answer, explain)


def question(table: str, rows: list[str], columns: list[str], values: list[str], where: str | None) -> str:
    """Write a cross table as a question.

    Several keys of one side have subtotals from the left to the right.

    >>> question("meters", ["tariff"], ["region"], ["sum(kwh)"], None)
    'SELECT tariff, region, sum(kwh) FROM meters GROUP BY CUBE (1, 2)'
    >>> question("meters", ["region", "town"], ["tariff"], ["avg(kwh)"], "rooms > 2")
    'SELECT region, town, tariff, avg(kwh) FROM meters WHERE rooms > 2 GROUP BY ROLLUP (1, 2), ROLLUP (3)'
    """
    places = [str(place + 1) for place in range(len(rows) + len(columns))]
    sides = [", ".join(side) for side in (places[: len(rows)], places[len(rows) :]) if side]
    groups = (
        f"CUBE ({', '.join(places)})" if len(places) == 2 == len(sides) else ", ".join(f"ROLLUP ({s})" for s in sides)
    )
    chosen = f" WHERE {where}" if where else ""
    return f"SELECT {', '.join([*rows, *columns, *values])} FROM {table}{chosen} GROUP BY {groups}"


def _check_keys(option: str, keys: Sequence[str]) -> None:
    for key in keys:
        outside, before = key, ""
        while outside != before:
            outside, before = re.sub(r"\([^()]*\)|'[^']*'", "", outside), outside
        if "," in outside or not outside.strip():
            raise InputError(f"{option} takes one key, got {key!r}: repeat the option for each, {option} a {option} b")
