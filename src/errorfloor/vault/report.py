"""What clamping and rounding did to a source: for its custodian alone, since every number here is private."""

import os
from pathlib import Path
from typing import Any

from errorfloor.catalogue.model import Catalogue, Table
from errorfloor.engines import Engine
from errorfloor.errors import InputError
from errorfloor.vault.conversion import columns_read
from errorfloor.vault.records import common_type, outside_sql, read_as
from errorfloor.vault.snapshot import declared, snapshot


def source_report(catalogue: Catalogue, table_name: str, engine: Engine) -> dict[str, dict[str, Any]]:
    """Compare each private column of a registered table with its source.

    Counts of values below and above the range, of nulls, and of values between two multiples of the resolution; and the
    mean of the source beside that of what is stored, which answers are about.
    """
    table = declared(catalogue, table_name)
    stored = snapshot(catalogue, table_name, engine)
    if table.hides_records:
        return _records_report(table, stored.relation, engine)
    found: dict[str, dict[str, Any]] = {}
    with engine.reading(table.source, columns_read(table), table.read) as source:
        for name, column in table.private.items():
            called = table.read.called(name)
            value = engine.as_double(engine.dialect.identifier(called), source.kinds[called])
            number = engine.dialect.number
            step = number(float(column.resolution))
            rest = f"abs(x / {step} - round(x / {step}))"
            null = f"x IS NULL OR {engine.dialect.not_a_number('x')}"
            counts = {
                "below": f"x < {number(float(column.low))}",
                "above": f"x > {number(float(column.high))}",
                "nulls": null,
                "rounded": f"NOT ({null}) AND {rest} > {number(1e-6)}",
            }
            wanted = [f"sum(CASE WHEN {test} THEN 1 ELSE 0 END) AS {word}" for word, test in counts.items()]
            mean = f"avg(CASE WHEN {null} THEN NULL ELSE x END) AS mean"
            values = f"(SELECT {value} AS x FROM {source.relation}) AS s"
            facts = engine.query(f"SELECT count(*) AS n, {', '.join(wanted)}, {mean} FROM {values}").to_pylist()[0]
            kept = f"SELECT avg({engine.dialect.double(stored.columns[name])}) AS mean FROM {stored.relation}"
            after = engine.query(kept).column("mean")[0].as_py()
            found[name] = {
                "unit": column.unit,
                "range": [float(column.low), float(column.high)],
                "rows": int(facts["n"]),
                **{word: int(facts[word] or 0) for word in counts},
                "mean_of_source": None if facts["mean"] is None else float(facts["mean"]),
                "mean_as_stored": None if after is None else float(after) * float(column.resolution),
            }
    return found


def _records_report(table: Table, relation: str, engine: Engine) -> dict[str, dict[str, Any]]:
    """Count the rows of the source and those that count, and in each column what is outside its domain or missing."""
    dialect = engine.dialect
    with engine.reading(table.source, columns_read(table), table.read) as source:
        wanted = ["count(*) AS n"]
        for place, (name, one) in enumerate(table.columns.items()):
            x = common_type(table.read.called(name), read_as(one), source, engine)
            missing = f"{x} IS NULL" if one.public.step is None else f"{x} IS NULL OR {dialect.not_a_number(x)}"
            counts = {"missing": missing, "outside": f"NOT ({missing}) AND ({outside_sql(x, one, dialect)})"}
            wanted += [f"sum(CASE WHEN {test} THEN 1 ELSE 0 END) AS {word}_{place}" for word, test in counts.items()]
        facts = engine.query(f"SELECT {', '.join(wanted)} FROM {source.relation}").to_pylist()[0]
    kept = int(engine.query(f"SELECT count(*) AS n FROM {relation}").column("n")[0].as_py())
    found: dict[str, dict[str, Any]] = {"": {"rows": int(facts["n"]), "rows_that_count": kept}}
    for place, name in enumerate(table.columns):
        found[name] = {word: int(facts[f"{word}_{place}"] or 0) for word in ("missing", "outside")}
    return found


def write_for_owner(path: Path, text: str) -> None:
    """Write a new file that only its owner may read.

    Raises InputError if there is a file of that name.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise InputError(f"{path} exists already: name another file for the report") from None
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
