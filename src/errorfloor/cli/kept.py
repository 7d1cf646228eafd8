"""``errorfloor ledger known`` and ``forget``: what was released and is kept, and can be asked again for nothing."""

from typing import Annotated, Any

import typer

from errorfloor.answering.keeping import Keeper
from errorfloor.cli.app import AsJson, counted, print_json, show
from errorfloor.cli.ledger import FILE, CatalogueFile, ledger, opened
from errorfloor.display import printable
from errorfloor.errors import InputError
from errorfloor.identity import KeyRing
from errorfloor.service.listing import every_known


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
    before: Annotated[str | None, typer.Option(help="All that were kept before this day, YYYY-MM-DD.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All of them.")] = False,
    as_json: AsJson = False,
) -> None:
    """Forget kept answers. What was charged stays charged; asked again, they are drawn as they were, free of charge.

    For that the key and the snapshot have to be there still. What standing questions released stays, unless it is named
    by its number.
    """
    if sum((answer is not None, before is not None, everything)) != 1:
        raise InputError("say which answers to forget: one of --answer, --before and --all")
    with opened(catalogue)[1] as book:
        gone = book.forget(
            lambda one: (
                one.number == answer or (not one.lasts and (everything or (before is not None and one.time < before)))
            )
        )
    show({"forgotten": gone}, f"forgot {counted(gone, 'kept answer')}", as_json)
