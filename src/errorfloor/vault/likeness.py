"""Tables that seem to be about the same owners: under two names they would have two accounts."""

from collections.abc import Mapping

from errorfloor.catalogue.model import Table
from errorfloor.engines import Engine
from errorfloor.errors import CatalogueError
from errorfloor.vault.conversion import physical_names
from errorfloor.vault.snapshot import notes, settled

SHARED = 10  # one of so many owners of the smaller table is enough


def check_no_copy(table_name: str, table: Table, relation: str, others: Mapping[str, str], engine: Engine) -> None:
    """Refuse rows whose owners are, a tenth of them or more, those of another table; ``others`` has its owner column.

    Owners are the same if their column has one type and resolution, and equal values. Those of tables that protect
    records are not compared: their snapshots do not say whose rows are whose.
    """
    if table.owner is None or table.hides_records:
        return
    type, mine = settled(table)["public"][table.owner.column], physical_names(table)[table.owner.column]
    for key, note in notes(engine).items():
        column = others.get(note["table"])
        if column is None or note["declaration"]["public"].get(column) != type:
            continue
        there = engine.relation(key)
        one, two = (
            f"SELECT DISTINCT {named} AS o FROM {rows} WHERE {named} IS NOT NULL"
            for named, rows in ((mine, relation), (note["columns"][column], there))
        )
        both = f"SELECT a.o FROM ({one}) AS a JOIN ({two}) AS b ON a.o = b.o"
        shared, *each = (_count(sql, engine) for sql in (both, one, two))
        if shared and shared * SHARED >= min(each):
            raise _likely_copy(table_name, table, str(note["table"]))


def _count(sql: str, engine: Engine) -> int:
    return int(engine.query(f"SELECT count(*) AS n FROM ({sql}) AS owners").column("n")[0].as_py())


def _likely_copy(table_name: str, table: Table, other: str) -> CatalogueError:
    assert table.owner is not None
    register = table.owner.register or f"{table.owner.column}s"
    return CatalogueError(
        f"owners of {table_name} are owners of {other}, too, a tenth of them or more: under two names the same people "
        f'would have two allowances. Declare register = "{register}" under owner for {table_name} and for {other}, so '
        f"that they have one account; if they are other people who happen to have the same names or numbers, declare "
        f"a register of its own for each. Nothing was registered",
        table=table_name,
        other=other,
    )
