"""``errorfloor erase``: remove a person from the vault, and say what that does not reach."""

from pathlib import Path
from typing import Annotated, Any

import typer

from errorfloor.catalogue import load
from errorfloor.cli.app import AsJson, app, counted, print_json
from errorfloor.cli.questions import CatalogueFile
from errorfloor.engines import open_engine
from errorfloor.errors import InputError
from errorfloor.ledger import open_ledger
from errorfloor.service.listing import answers_from
from errorfloor.service.registering import erase_with
from errorfloor.vault import plan_erasure


@app.command()
def erase(
    table: Annotated[str, typer.Option(help="The table that has the person's rows.")],
    where: Annotated[list[str], typer.Option(help="COLUMN=VALUE of the owner, or of the row key; all must hold.")],
    catalogue: CatalogueFile = Path("errorfloor.toml"),
    base: Annotated[
        str | None, typer.Option(help="The version to make the new one from, if several are registered.")
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do it; without this the command only says what it would do.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Erase a person: make the declared version without their rows, then destroy every snapshot that has them.

    First erase them in the source, and declare a new version in the catalogue. What was charged stays charged, and what
    was answered stays answered. If it is killed half-way, the same command finishes the work.

    Example: errorfloor erase --table meters --where household=H0042 --yes
    """
    declared, person = load(catalogue), _person(where)
    with open_ledger(declared.place, declared.folder) as ledger:
        with open_engine(declared.place, declared.folder, read_only=False) as engine:
            if yes:
                done = erase_with(ledger, declared, table, person, engine=engine, base=base)
            else:
                done = plan_erasure(declared, table, person, engine=engine, base=base)
        answers = answers_from(ledger, table, done.holding)
    if as_json:
        plain: dict[str, Any] = {"table": table, "version": done.version, "base": done.base, "made": done.made}
        print_json({**plain, "done": yes, "holding": dict(done.holding), "source": done.source, "answers": answers})
        return
    would = "" if yes else "would be "
    if done.made and done.base is None:
        print(f"parts of {table} in the versions that are declared for them: {would}made without these rows")
    elif done.made:
        print(f"version {done.version!r} of {table}: {would}made from {done.base!r} without these rows")
    for version, rows in done.holding.items():
        given = answers[version]
        print(f"version {version!r}: {counted(rows, 'such row')}, {would}destroyed")
        print(
            f"  {counted(given, 'answer')} from it stay charged, and can no longer be repeated: nothing is kept of them"
        )
    print(f"the source: {done.source}")
    print("not reached: backups of the vault, copies, files that were released, and what people have kept")
    print("running servers close what was destroyed within seconds; sessions in Python keep it open until they end")
    if not yes:
        print("nothing was changed; to do it, add --yes")


def _person(where: list[str]) -> dict[str, str]:
    """Read what names a person.

    >>> _person(["household=H0042", "day=2013-01-01"])
    {'household': 'H0042', 'day': '2013-01-01'}
    """
    found = {}
    for text in where:
        column, mark, value = text.partition("=")
        if not mark or column in found:
            raise InputError(f"--where takes COLUMN=VALUE, each column once; got {text!r}")
        found[column] = value
    return found
