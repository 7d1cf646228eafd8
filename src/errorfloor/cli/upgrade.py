"""``errorfloor upgrade``: bring a ledger and a vault of an older version to this one."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from errorfloor.catalogue import load
from errorfloor.cli.app import AsJson, app, show
from errorfloor.cli.questions import CatalogueFile
from errorfloor.service.upgrading import upgrade_all


@app.command()
def upgrade(
    catalogue: CatalogueFile = Path("errorfloor.toml"),
    accept: Annotated[
        bool,
        typer.Option(
            "--accept",
            help="Continue without the anchor, or without a version that the vault has lost; you vouch for it.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Bring the ledger and the vault to this version: exported first, balances kept. Stop every server first.

    Earlier answers stay as they are, and free; but those of a ledger of version 3 or older are not repeated: from now
    on the same question gets new noise, and is charged. Running it a second time changes nothing.
    """
    done = upgrade_all(load(catalogue), accept=accept)
    plain = asdict(done)
    show(plain | {"export": plain["export"] and str(plain["export"])}, done.explain(), as_json)
