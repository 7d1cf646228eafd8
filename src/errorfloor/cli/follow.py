"""``errorfloor follow``: a sum for every month to come, paid for once."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from errorfloor.cli.app import AsJson, app, messages, print_json
from errorfloor.cli.questions import CatalogueFile, OverLimit, Question, within_limit
from errorfloor.display import MOST_SHOWN, text_table
from errorfloor.service import open_database
from errorfloor.service.releasing import without_formulas


@app.command()
def follow(
    question: Question,
    since: Annotated[str, typer.Option("--since", help="The first month, or other period, such as 2024-01.")],
    until: Annotated[str, typer.Option("--until", help="The last one, such as 2030-12.")],
    max_error: Annotated[
        float, typer.Option("--max-error", help="No month, and no running total, is off by more than this.")
    ],
    through: Annotated[
        str | None,
        typer.Option(
            "--through", help="Release all periods up to this one, whose rows are complete; without it, none."
        ),
    ] = None,
    part: Annotated[
        str | None, typer.Option("--part", help="What a period is: day, week, month (the default), quarter, year.")
    ] = None,
    column: Annotated[
        str | None, typer.Option("--column", help="The public date of the row key that says which period a row is in.")
    ] = None,
    owner_rows: Annotated[
        int | None, typer.Option("--owner-rows", help="How many rows an owner has in one period at most.")
    ] = None,
    moving: Annotated[
        int | None, typer.Option("--moving", help="Also totals of so many periods, within twice the bound.")
    ] = None,
    cancel: Annotated[bool, typer.Option("--cancel", help="Release nothing more; what was charged stays.")] = False,
    over_limit: OverLimit = False,
    catalogue: CatalogueFile = Path("errorfloor.toml"),
    as_json: AsJson = False,
) -> None:
    """Pay once for a sum in every month to come and for its running totals; the same again is free, and releases are.

    A month is read in the version that is registered when it is first released, and never in another one.
    """
    text = sys.stdin.read() if question == "-" else question
    with open_database(catalogue) as database, within_limit(database, over_limit):
        found = database.follow(
            text, since=since, until=until, max_error=max_error, part=part, column=column, owner_rows=owner_rows
        )
        if cancel:
            found.cancel()
        table = None if through is None else found.release(through, moving=moving)
        released = found.released
    if as_json:
        rows = [] if table is None else table.to_pylist()
        accounts = [one.to_dict() for one in found.standings]
        print_json({"fresh": found.fresh, "released": list(released), "rows": rows, "accounts": accounts})
        return
    if table is not None:
        print(text_table(without_formulas(table), found.outputs(), None if not sys.stdout.isatty() else MOST_SHOWN))
    messages.say(f"\n{found.explain()}" + (" It is cancelled." if cancel else ""))
