"""``errorfloor ledger forget``: drop answers that are kept, which changes nothing that was charged."""

from typing import Annotated

import typer

from errorfloor.cli.app import AsJson, counted, print_json
from errorfloor.cli.ledger import FILE, CatalogueFile, ledger, opened
from errorfloor.errors import InputError


@ledger.command()
def forget(
    catalogue: CatalogueFile = FILE,
    answer: Annotated[int | None, typer.Option("--answer", min=1, help="The number of one kept answer.")] = None,
    before: Annotated[
        str | None, typer.Option("--before", help="All that were kept before this day, YYYY-MM-DD.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All of them.")] = False,
    as_json: AsJson = False,
) -> None:
    """Forget kept answers. What was charged stays charged; asked again, they are drawn as they were, free of charge.

    For that the key and the snapshot have to be there still.
    """
    if sum((answer is not None, before is not None, everything)) != 1:
        raise InputError("say which answers to forget: one of --answer, --before and --all")
    with opened(catalogue)[1] as book:
        gone = book.forget(lambda one: everything or one.number == answer or (before is not None and one.time < before))
    if as_json:
        print_json({"forgotten": gone})
    else:
        print(f"forgot {counted(gone, 'kept answer')}")
