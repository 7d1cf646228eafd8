"""A snapshot goes to another engine as it is: the same integers, the same identity, and so the same noise."""

import json
import tempfile
from pathlib import Path

from errorfloor.catalogue.model import Catalogue, PrivateColumn, PublicColumn
from errorfloor.engines import Engine
from errorfloor.engines.dialects import Dialect
from errorfloor.errors import CatalogueError
from errorfloor.vault.conversion import physical_names
from errorfloor.vault.fixed_point import NOT_WHOLE
from errorfloor.vault.records import PRESENCE
from errorfloor.vault.registration import Entering, Registration
from errorfloor.vault.snapshot import name_of, snapshot
from errorfloor.vault.tallies import make_tallies


def copy(
    catalogue: Catalogue, table_name: str, *, source: Engine, target: Engine, entering: Entering | None = None
) -> Registration:
    """Copy the declared version of a table from one engine to another, opened for writing; what is there stays.

    On the way the rows lie in a file beside the catalogue, in a folder that only its owner can enter. ``entering`` is
    told the note of what is about to be kept.

    Raises CatalogueError if the target has that version with another identity: then it holds other rows, or had to be
    registered again, and its answers differ.

    >>> import inspect
    >>> list(inspect.signature(copy).parameters)
    ['catalogue', 'table_name', 'source', 'target', 'entering']
    """
    if catalogue.tables[table_name].grows_by is not None:
        raise CatalogueError(
            f"{table_name} is kept in parts, which are files: copy the folder of the vault instead, and restore the "
            f"ledger beside it (errorfloor ledger export, errorfloor ledger restore)",
            table=table_name,
        )
    found = snapshot(catalogue, table_name, source)
    name, table = name_of(table_name, found.version), found.table
    fresh = not target.exists(name)
    if fresh:
        facts = json.loads(source.recall(name) or "{}") | {"source": target.identify(table.source)}

        def note(relation: str) -> str:
            return json.dumps(facts | {"tallies": make_tallies(name, table, relation, found.rows, target)})

        from pyarrow import parquet  # loaded where it is needed: it takes a while, and questions do without

        columns = physical_names(table)
        with tempfile.TemporaryDirectory(dir=catalogue.folder, prefix=".copying-") as folder:
            file = Path(folder).resolve() / "rows.parquet"
            parquet.write_table(source.query(f"SELECT {', '.join(columns.values())} FROM {found.relation}"), file)
            with target.reading([str(file)]) as rows:
                declared: dict[str, PrivateColumn | PublicColumn] = {**table.compared, **table.private}
                declared |= {PRESENCE: PublicColumn(type="whole")} if table.hides_records else {}
                kept = [f"{_stored(to, declared[column], target.dialect)} AS {to}" for column, to in columns.items()]
                select = f"SELECT {', '.join(kept)} FROM {rows.relation}"
                if entering is not None:
                    entering(facts)
                target.create(name, select, note)
    there = snapshot(catalogue, table_name, target)
    if there.identity != found.identity:
        raise CatalogueError(
            f"version {found.version!r} of {table_name} was registered on {target.name} separately, and is a "
            f"different snapshot from the one on {source.name}: copy into a vault that does not have it",
            table=table_name,
            version=found.version,
        )
    return Registration(there, fresh)


def _stored(physical: str, column: PrivateColumn | PublicColumn, dialect: Dialect) -> str:
    if isinstance(column, PrivateColumn):
        return dialect.whole(physical, max(map(abs, column.steps)))
    if column.type in ("whole", "number"):
        return dialect.whole(physical, NOT_WHOLE)
    return dialect.typed(physical, column.type)
