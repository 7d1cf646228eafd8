"""Making tallies: how many rows of a snapshot have which public values, counted once, while the snapshot is made.

A price needs such counts before the private columns may be looked at. Where a tally has all columns that they follow
from, they are added up from it, and the rows are read once only. A tally is a table beside the snapshot's, made and
removed with it; it has the values as the snapshot has them, and the column ``ROWS``.
"""

from collections.abc import Mapping

from errorfloor.catalogue.model import Table
from errorfloor.engines import Engine
from errorfloor.vault.conversion import physical_names

ROWS = "n"
MOST = 125_000  # combinations of values in a tally, as far as can be told before
LARGE = 100_000  # rows: a table of fewer is read so fast that a tally has to be much smaller
EACH, EACH_OF_FEW = 8, 100  # rows for each combination: with fewer, reading the rows takes little longer than a tally


def make_tallies(name: str, table: Table, relation: str, rows: int, engine: Engine) -> list[list[str]]:
    """Count the rows of a snapshot that is being made under a name, and give the columns of each tally.

    Columns with few values go together as long as their combinations are few. Nothing is counted where rows are
    protected: how many there are is a secret then.
    """
    most = min(MOST, rows // (EACH if rows >= LARGE else EACH_OF_FEW))
    if table.hides_records or not most or engine.tally_of(name, 0) is None:
        return []
    columns = physical_names(table)
    tried = [column for column in table.public if table.row_key != (column,)]
    wanted = ", ".join(f"approx_count_distinct({columns[column]}) + 1 AS {columns[column]}" for column in tried)
    values = engine.query(f"SELECT {wanted} FROM {relation}").to_pylist()[0] if tried else {}
    chosen = together({column: values[columns[column]] for column in tried}, most)
    for place, some in enumerate(chosen):
        keys = ", ".join(columns[column] for column in some)
        counted = f"SELECT {keys}, count(*) AS {ROWS} FROM {relation} GROUP BY {keys}"
        engine.execute(f"CREATE TABLE {engine.tally_of(name, place)} AS {counted}")
    return chosen


def together(values: Mapping[str, int], most: int) -> list[list[str]]:
    """Put columns with so many values each into as few sets as first come, none with more combinations than ``most``.

    >>> together({"id": 5000, "tariff": 2, "region": 12, "day": 365}, 1000)
    [['tariff', 'region'], ['day']]
    """
    sets: list[tuple[list[str], int]] = []
    for column, count in sorted(values.items(), key=lambda item: item[1]):
        place = next((at for at, (_, size) in enumerate(sets) if size * count <= most), None)
        if place is not None:
            sets[place] = [*sets[place][0], column], sets[place][1] * count
        elif count <= most:
            sets.append(([column], count))
    return [columns for columns, _ in sets]
