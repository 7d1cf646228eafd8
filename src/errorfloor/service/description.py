"""What everybody may know: what is declared, and what was charged when; nothing private is in either."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from errorfloor.catalogue import Table
from errorfloor.ledger import Ledger, Record


def table_facts(name: str, table: Table, rows: int | None) -> dict[str, Any]:
    """Give what is declared of a table, and its number of rows (None if it is not registered), as plain JSON types.

    Of a table that protects records the number of rows is the declared bound on it.
    """
    return {
        "name": name,
        "version": table.version,
        "rows": rows,
        "row_key": list(table.row_key),
        "private": [
            {
                "name": column,
                "unit": one.unit,
                "range": [float(one.low), float(one.high)],
                "resolution": float(one.resolution),
                "floor": one.floor,
                "distance": one.example,
                "nulls": one.nulls,
                "impute": None if one.impute is None else float(one.impute),
                "prior": None if one.prior is None else {"mean": one.prior.mean, "deviation": one.prior.deviation},
            }
            for column, one in table.private.items()
        ],
        "public": [
            {
                "name": column,
                "type": one.type,
                "unit": one.unit,
                "resolution": None if one.resolution is None else float(one.resolution),
            }
            for column, one in table.public.items()
        ],
        **({"protects": "records", "columns": record_columns(table)} if table.hides_records else {}),
        "owner": None
        if table.owner is None
        else {
            "column": table.owner.column,
            "floor": table.owner.floor,
            "apart": {column: float(distance) for column, distance in table.owner.apart.items()},
            "per": None if table.per is None else table.per.model_dump(),
            "joined": None if table.joined is None else table.joined.model_dump(),
            "register": table.owner.register,
            "life": table.owner.life,
            **({"rows": table.owner.rows} if table.hides_records else {}),
        },
        "account_by": list(table.account_by),
    }


def record_columns(table: Table) -> list[dict[str, Any]]:
    """Give the declared domain of each column of a table that protects records, as plain JSON types."""
    return [
        {
            "name": name,
            "type": one.public.type,
            "unit": one.unit,
            "values": list(one.texts) if one.range is None else None,
            "range": None if one.range is None else [_plain(end) for end in one.range],
            "resolution": None if one.public.step is None else float(one.public.step),
            "rest": None if one.rest is None else _plain(one.rest),
        }
        for name, one in table.columns.items()
    ]


def _plain(value: object) -> str | float:
    return float(value) if isinstance(value, Fraction) else str(value)


def page(records: Iterable[Record]) -> list[dict[str, Any]]:
    """Give records as plain JSON types: number, time, label, what was asked for, what was charged to whom."""
    return [
        {
            "sequence": record.sequence,
            "time": record.time,
            "label": record.labels[0] if record.labels else "",
            **dict.fromkeys(("table", "version", "output", "analyst", "key")),
            **record.note,
            "charges": [
                {**asdict(account), **record.charges[account].rounded_up().amounts()}
                for account in sorted(record.charges)
            ],
            "hash": record.hash,
        }
        for record in records
    ]


def about(record: Mapping[str, Any]) -> str:
    """Give the table or stream that a record of a page is about.

    >>> about({"table": None, "stream": "cars"})
    'cars'
    """
    return str(record.get("table") or record.get("stream") or "")


def answers_from(ledger: Ledger, table: str, versions: Iterable[str]) -> dict[str, int]:
    """Count the records of answers and releases that were made from versions of a table.

    >>> from errorfloor.service.example import example_database
    >>> with example_database() as db:
    ...     _ = db.ask("SELECT avg(kwh) FROM meters", max_error=0.5)
    ...     sum(answers_from(db.ledger, "meters", [db.catalogue.tables["meters"].version]).values())
    1
    """
    found = dict.fromkeys(versions, 0)
    for record in page(ledger.entries()):
        if about(record) == table and "event" not in record:
            parts = [f"{version}, part {part}" for part, version in (record.get("parts") or {}).items()]
            for named in parts or [str(record.get("version"))]:
                if named in found:
                    found[named] += 1
    return found
