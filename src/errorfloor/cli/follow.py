"""``errorfloor follow``: a sum or an average for every month to come, paid for once; list, extend and cancel them."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from errorfloor.accounts import percent
from errorfloor.answering.releasing import without_formulas
from errorfloor.cli.app import AsJson, app, counted, messages, print_json, show
from errorfloor.cli.questions import CatalogueFile, OverLimit, within_limit
from errorfloor.display import MOST_SHOWN, printable, text_table
from errorfloor.errors import InputError
from errorfloor.service import Database, open_database


@app.command()
def follow(
    question: Annotated[
        str | None,
        typer.Argument(metavar="[QUESTION]", help="SELECT … FROM …, in quotes; - reads it from standard input."),
    ] = None,
    since: Annotated[str | None, typer.Option(help="The first month, or other period, such as 2024-01.")] = None,
    until: Annotated[str | None, typer.Option(help="The last one, such as 2030-12.")] = None,
    max_error: Annotated[
        float | None, typer.Option(help="No month, and no running total, is off by more than this.")
    ] = None,
    through: Annotated[
        str | None, typer.Option(help="Release all periods up to this one, whose rows are complete; without it, none.")
    ] = None,
    part: Annotated[
        str | None, typer.Option(help="What a period is: day, week, month (the default), quarter, year.")
    ] = None,
    column: Annotated[
        str | None, typer.Option(help="The public date of the row key that says which period a row is in.")
    ] = None,
    owner_rows: Annotated[int | None, typer.Option(help="How many rows an owner has in one period at most.")] = None,
    least_rows: Annotated[
        int | None, typer.Option(help="For avg(x): the fewest rows of an average; over fewer, its bound is wider.")
    ] = None,
    moving: Annotated[
        int | None, typer.Option(help="Also give totals of this many periods, within twice the bound.")
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="List the standing questions, what they released and what they cost.")
    ] = False,
    name: Annotated[
        str | None,
        typer.Option("--id", help="Instead of QUESTION: a standing question, by the name that --list shows."),
    ] = None,
    extend: Annotated[
        str | None,
        typer.Option(
            help="Extend it up to this period: charged anew, by default with the same bound; bounds of totals add up."
        ),
    ] = None,
    cancel: Annotated[bool, typer.Option("--cancel", help="Release nothing more; what was charged stays.")] = False,
    price: Annotated[
        bool, typer.Option("--price", help="Only say what it, or its extension, would cost; nothing is charged.")
    ] = False,
    over_limit: OverLimit = False,
    catalogue: CatalogueFile = Path("errorfloor.toml"),
    as_json: AsJson = False,
) -> None:
    """Pay once for a sum or an average in every month to come, and for its running totals; releases are free.

    A month is read in the version that is registered when it is first released, and never in another one; its figures
    are kept.
    """
    with open_database(catalogue) as database, within_limit(database, over_limit):
        if listed:
            _list(database, as_json)
            return
        if (question is None) == (name is None):
            raise InputError("give a question to follow, or the name of a standing question (--id); --list shows those")
        if name is not None:
            found = database.followed(name)
        else:
            text = sys.stdin.read() if question == "-" else question
            words = {"sql": text, "since": since, "until": until, "max_error": max_error}
            missing = [option for option, value in words.items() if value is None]
            if missing:
                options = ", ".join(f"--{one.replace('_', '-')}" for one in missing)
                raise InputError(f"a question is followed from a first period to a last one, within a bound: {options}")
            more = {"part": part, "column": column, "owner_rows": owner_rows, "least_rows": least_rows}
            given: dict[str, Any] = {**words, **more}
            if price and extend is None:
                offered = database.follow_price(**given)
                show(offered.to_dict(), offered.explain(), as_json)
                return
            found = database.follow(**given)
        if extend is not None:
            offered = found.price_extension(extend, max_error=max_error if name is not None else None)
            if price:
                show(offered.to_dict(), offered.explain(), as_json)
                return
            messages.say(f"{offered.explain()}\n")
            found = found.extend(extend, max_error=max_error if name is not None else None)
        if cancel:
            found.cancel()
        is_read = through is None and name is not None
        table = found.figures(moving=moving) if is_read else None
        if through is not None:
            table = found.release(through, moving=moving)
        wider = found.wider() if table is not None else []
        released = found.released
    if as_json:
        rows = [] if table is None else table.to_pylist()
        accounts = [one.to_dict() for one in found.standings]
        said = {"id": found.name, "fresh": found.fresh, "released": list(released), "rows": rows, "wider": wider}
        print_json({**said, "accounts": accounts})
        return
    if table is not None and table.num_rows:
        print(text_table(without_formulas(table), found.outputs(), None if not sys.stdout.isatty() else MOST_SHOWN))
    ended = " It is cancelled." if cancel else ""
    messages.say("\n".join(["", *wider, f"{found.name}: {found.explain()}{ended}"]))


def _list(database: Database, as_json: bool) -> None:
    every = database.following()
    if as_json:
        print_json(every)
        return
    for one in every:
        who = "" if one["analyst"] is None else f" by {one['analyst']}"
        so_far = f"{counted(len(one['released']), one['part'])} released"
        if one["released"]:
            so_far += f" (up to {one['released'][-1]})"
        ends = "; cancelled" if one["cancelled"] else "; the ledger was accepted since" if one["outlived"] else ""
        cost = ", ".join(f"{percent(took['share'])} of {took['name']}" for took in one["charged"])
        print(printable(f"{one['id']}: {one['since']} … {one['until']}{who}, {so_far}{ends}; took {cost}"))
        print(printable(f"   {one['question']}"))
    if not every:
        messages.say("nothing is followed")
