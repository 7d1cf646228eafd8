"""Whose rows are erased: a person named by the owner's column or the row key, in snapshots and in the source."""

import datetime
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from errorfloor.catalogue.model import Table
from errorfloor.engines import Engine
from errorfloor.errors import CatalogueError, EngineError, InputError
from errorfloor.vault.conversion import columns_read, conversion_sql, physical_names


def check_person(table_name: str, table: Table, person: Mapping[str, str]) -> None:
    """Refuse a person who is not named by the owner's column or by the row key."""
    allowed = {*table.row_key, *([] if table.owner is None else [table.owner.column])}
    for column in person:
        if column not in allowed:
            raise InputError(
                f"a person is named by the owner's column or by the row key of {table_name}, which are "
                f"{', '.join(sorted(allowed))}; got {column!r}"
            )
    if not person:
        raise InputError(f"name a person by {' or '.join(sorted(allowed))} of {table_name}")


def check_one_owner(
    table_name: str,
    table: Table,
    holding: Mapping[str, Mapping[str, Any]],
    person: Mapping[str, str],
    engine: Engine,
) -> None:
    """Where accounts are divided by when owners joined, refuse to erase rows of several owners at once.

    Nothing then says when an owner joined who had rows only there: all of them could come back as new ones.
    """
    if table.owner is None or table.joined is None:
        return
    owner = table.owner.column
    each = [
        f"SELECT {engine.dialect.text(note['columns'][owner])} AS o FROM {engine.relation(key)} AS r "
        f"WHERE {matching(table, note['columns'], person, engine)}"
        for key, note in holding.items()
        if owner in note["columns"]
    ]
    if each and engine.query(f"SELECT DISTINCT o FROM ({' UNION ALL '.join(each)}) AS p LIMIT 2").num_rows > 1:
        raise InputError(
            f"these are rows of more than one {owner} of {table_name}, whose accounts are divided by when owners "
            f"joined: nothing would say when those joined who have no other rows, and they could come back with "
            f"another allowance. Erase one {owner} at a time, named by {owner}. Nothing was erased"
        )


def check_source(table_name: str, table: Table, person: Mapping[str, str], engine: Engine) -> str:
    """Say whether the source is free of the person; refuse if it is not: the next version would bring them back."""
    try:
        with engine.reading(table.source, columns_read(table), table.read) as source:
            select = conversion_sql(table_name, table, source, engine)
            found = count(f"({select}) AS source", physical_names(table), table, person, engine)
    except (CatalogueError, EngineError):
        return "cannot be read"
    if found:
        raise CatalogueError(
            f"the source of {table_name} still has these rows, and the next version would bring them back: erase them "
            f"there first",
            table=table_name,
        )
    return "has no such row"


def count(relation: str, columns: Mapping[str, str], table: Table, person: Mapping[str, str], engine: Engine) -> int:
    """Count the rows of a person."""
    if not set(person) <= set(columns):
        raise CatalogueError("an older version does not have the columns that name the person: use other columns")
    sql = f"SELECT count(*) AS n FROM {relation} WHERE {matching(table, columns, person, engine)}"
    return int(engine.query(sql).column("n")[0].as_py())


def matching(table: Table, columns: Mapping[str, str], person: Mapping[str, str], engine: Engine) -> str:
    """Write the condition that a row is the person's."""
    return " AND ".join(f"{columns[name]} = {_stored(table, name, value, engine)}" for name, value in person.items())


def others(matching: str) -> str:
    """Write the condition that a row is somebody else's; one that is unknown is."""
    return f"CASE WHEN {matching} THEN 1 ELSE 0 END = 0"


def _stored(table: Table, name: str, value: str, engine: Engine) -> Any:
    """Give a value as a snapshot keeps it."""
    column = table.public[name]
    try:
        match column.type:
            case "whole" | "number":
                steps = Fraction(value) / (column.step or 1)
                if steps.denominator != 1:
                    raise ValueError
                return str(steps.numerator)
            case "date":
                return engine.dialect.literal(datetime.date.fromisoformat(value))
            case "moment":
                return engine.dialect.literal(datetime.datetime.fromisoformat(value))
            case "flag":
                return engine.dialect.literal({"true": True, "false": False}[value.lower()])
            case _:
                return engine.dialect.literal(value)
    except (ValueError, KeyError, ZeroDivisionError):
        raise InputError(f"{value!r} is not a value of {name}, which is declared {column.type!r}") from None
