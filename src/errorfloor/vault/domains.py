"""Every combination of values that columns of records can have, as a relation: what groups there are is declared."""

from collections.abc import Sequence

from errorfloor.catalogue.model import RecordColumn, Table
from errorfloor.engines.dialects import Dialect
from errorfloor.vault.records import ONES, record_names


def domain_sql(table: Table, columns: Sequence[str], dialect: Dialect) -> str:
    """Write a relation with every combination of values that some columns can have, and presence 0.

    The other columns have one value that they can have: no sum reads it, since presence is 0.

    *Guarantee*: it follows from the declaration alone.
    """
    names = record_names(table)
    shown, parts = [], []
    for place, (name, one) in enumerate(table.columns.items()):
        if name in columns:
            shown.append(f"{_typed(f'd{place}.v', one, dialect)} AS {names[name]}")
            parts.append(_domain(one, f"d{place}", dialect))
        else:
            shown.append(f"{_typed(_first(one, dialect), one, dialect)} AS {names[name]}")
    shown.append(f"{dialect.whole('0', 1)} AS {ONES}")
    return f"SELECT {', '.join(shown)}{' FROM ' + ' CROSS JOIN '.join(parts) if parts else ''}"


def _domain(one: RecordColumn, alias: str, dialect: Dialect) -> str:
    match one.public.type:
        case "text":
            rows = ", ".join(f"({dialect.literal(text)})" for text in one.texts)
            return f"(VALUES {rows}) AS {alias}(v)"
        case "date":
            days = (one.days[1] - one.days[0]).days
            inner = f"SELECT {dialect.day_after(one.days[0], 'n')} AS v FROM {dialect.series(0, days, 'n')}"
            return f"({inner}) AS {alias}"
    return f"(SELECT n AS v FROM {dialect.series(*one.steps, 'n')}) AS {alias}"


def _first(one: RecordColumn, dialect: Dialect) -> str:
    match one.public.type:
        case "text":
            return dialect.literal(one.texts[0])
        case "date":
            return dialect.literal(one.days[0])
    return dialect.integer(one.steps[0])


def _typed(value: str, one: RecordColumn, dialect: Dialect) -> str:
    """Give a value in the type in which the snapshot has it."""
    type = one.public.type
    return dialect.typed(value, type) if type in ("text", "date") else dialect.whole(value, max(map(abs, one.steps)))
