"""``errorfloor ledger known`` and ``forget``: what was released and is kept, and can be asked again for nothing."""

import datetime
import re
from typing import Annotated, Any

import typer

from errorfloor.answering.keeping import Keeper
from errorfloor.cli.app import AsJson, counted, print_json, show
from errorfloor.cli.ledger import FILE, CatalogueFile, ledger, opened
from errorfloor.display import printable
from errorfloor.errors import InputError
from errorfloor.identity import KeyRing
from errorfloor.ledger import Kept
from errorfloor.service.listing import every_known
from errorfloor.vault.snapshot import declared as check_declared

MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?(Z|[+-][0-9]{2}:[0-9]{2})?)?"
)


@ledger.command()
def known(
    catalogue: CatalogueFile = FILE,
    table: Annotated[str | None, typer.Option(help="Only what was asked of this table.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the answers that are kept, with their bounds; asked again, they are free."""
    declared, book = opened(catalogue, read_only=True)
    with book:
        keeper = Keeper(book, KeyRing(declared.folder / declared.place.keys).keys[::-1])
        found = [one for one in every_known(keeper) if table in (None, one["table"])]
    if table is not None and not found:  # of a table that is no longer declared there may be some
        check_declared(declared, table)
    if as_json:
        print_json(found)
        return
    for one in found:
        who = "" if one["analyst"] is None else f" by {one['analyst']}"
        outputs = ", ".join(f"{output['name']} {_within(output)}" for output in one["outputs"])
        what = f"version {one['version']}, {counted(one['cells'], 'group')}"
        print(printable(f"{one['number']}: {one['time']}{who}, {what}: {outputs}"))
        print(printable(f"   {one['question']}"))


def _within(output: dict[str, Any]) -> str:
    """Write the bounds of an output.

    >>> _within({"exact": True}), _within({"exact": False, "low": -0.5, "high": 0.5, "unit": "kWh"})
    ('exactly', 'within ±0.5 kWh')
    >>> _within({"exact": False, "low": None, "high": None, "unit": ""})
    'within intervals'
    """
    if output["exact"]:
        return "exactly"
    low, high = output["low"], output["high"]
    if low is None:
        return "within intervals"
    width = f"±{high:g}" if high == -low else f"{low:+g} … {'' if high is None else f'{high:+g}'}".rstrip()
    return f"within {width} {output['unit'] or ''}".rstrip()


@ledger.command()
def forget(
    catalogue: CatalogueFile = FILE,
    answer: Annotated[int | None, typer.Option(min=1, help="The number of one kept answer.")] = None,
    before: Annotated[
        str | None, typer.Option(help="All that were kept before this day, YYYY-MM-DD, or time, as the list has it.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All of them.")] = False,
    as_json: AsJson = False,
) -> None:
    """Forget kept answers. What was charged stays charged; asked again, they are drawn as they were, free of charge.

    For that the key and the snapshot have to be there still. What standing questions released stays, unless it is named
    by its number.
    """
    if sum((answer is not None, before is not None, everything)) != 1:
        raise InputError("say which answers to forget: one of --answer, --before and --all")
    moment = None if before is None else _moment(before)
    with opened(catalogue)[1] as book:
        if moment is not None and moment > datetime.datetime.fromisoformat(book.time()):
            raise InputError(
                f"--before {before} is still to come, and would be all of them: say --all if you mean that"
            )

        def is_chosen(one: Kept) -> bool:
            if answer is not None:
                return one.number == answer
            return not one.lasts and (moment is None or datetime.datetime.fromisoformat(one.time) < moment)

        gone = book.forget(is_chosen)
    show({"forgotten": gone}, f"forgot {counted(gone, 'kept answer')}", as_json)


def _moment(text: str) -> datetime.datetime:
    """Read a day or a time; one without a zone is in universal time, as all times of a ledger are.

    >>> print(_moment("2026-01-01"), _moment("2026-01-01T12:30:00+02:00"), sep=", ")
    2026-01-01 00:00:00+00:00, 2026-01-01 12:30:00+02:00
    >>> _moment("yesterday")
    Traceback (most recent call last):
    errorfloor.errors.InputError: --before must be a day such as 2026-01-01, or a time such as \
2026-01-01T12:30:00+00:00, got 'yesterday'; nothing was forgotten: errorfloor ledger known lists the times
    """
    try:
        found = datetime.datetime.fromisoformat(text) if MOMENT.fullmatch(text) else None
    except ValueError:  # no such day
        found = None
    if found is None:
        raise InputError(
            f"--before must be a day such as 2026-01-01, or a time such as 2026-01-01T12:30:00+00:00, got {text!r}; "
            f"nothing was forgotten: errorfloor ledger known lists the times"
        )
    return found if found.tzinfo is not None else found.replace(tzinfo=datetime.UTC)
