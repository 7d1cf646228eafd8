"""The form on which a custodian says what each column is: which fields it has, and what was filled in.

It shows names and types of columns, and no value: what proposals follow from is what ``errorfloor init`` writes into
its draft.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from errorfloor.catalogue import Schema
from errorfloor.catalogue.draft import Chosen
from errorfloor.catalogue.proposals import range_of, unit_of
from errorfloor.cli.choosing import (
    chosen,
    plain_range,
    promised,
    proposed_floor,
    proposed_step,
    read_number,
    read_range,
)
from errorfloor.engines.sources import format_of
from errorfloor.errors import InputError

NUMERIC = ("whole", "number")
NEEDED = {
    "low": "the least value possible",
    "high": "the greatest value possible",
    "resolution": "the steps it is kept in",
}


@dataclass(frozen=True)
class ColumnFields:
    """The fields of one column, and what stands in them."""

    id: str
    name: str
    column: str
    kind: str
    filled: Mapping[str, str]
    problem: str = ""

    @property
    def is_numeric(self) -> bool:
        """Only numbers can be private."""
        return self.kind in NUMERIC


@dataclass(frozen=True)
class TableFields:
    """The fields of one table."""

    id: str
    name: str
    source: str
    columns: tuple[ColumnFields, ...]
    can_number: bool
    numbered: bool
    left_out: tuple[str, ...]
    problem: str = ""


@dataclass(frozen=True)
class FilledForm:
    """What a filled form says: the schemas with all that was chosen, or what is wrong, beside its fields."""

    tables: tuple[TableFields, ...]
    schemas: tuple[Schema, ...]
    promises: tuple[str, ...]

    @property
    def is_whole(self) -> bool:
        """Whether nothing is wrong."""
        return not any(table.problem or any(one.problem for one in table.columns) for table in self.tables)


def proposed(schemas: Sequence[Schema]) -> tuple[TableFields, ...]:
    """Give the form with what names and types propose.

    Most ranges are left open, for only the custodian knows them.

    >>> (table,) = proposed([Schema("pay.csv", {"person": "whole", "pay": "number"}, unique=frozenset({"person"}))])
    >>> [(one.name, one.filled["role"], one.filled.get("key", "")) for one in table.columns]
    [('person', 'public', 'on'), ('pay', 'private', '')]
    """
    return tuple(_table(number, schema, None) for number, schema in enumerate(schemas))


def read(schemas: Sequence[Schema], form: Mapping[str, str]) -> FilledForm:
    """Read a filled form; every mistake is said beside the field it is in."""
    tables, filled, promises = [], [], []
    for number, schema in enumerate(schemas):
        table = _table(number, schema, form)
        problems: dict[str, str] = {}
        rules = {}
        for one in table.columns:
            if one.filled["role"] == "private":
                try:
                    rules[one.name] = _rule(one)
                    promises.append(f"{table.name}.{one.name}: {promised(one.name, rules[one.name])}.")
                except InputError as problem:
                    problems[one.name] = str(problem)
        choice, wrong = _chosen(schema, table, rules)
        if choice is not None:
            filled.append(schema.filled(choice))
        columns = tuple(replace(one, problem=problems.get(one.name, "")) for one in table.columns)
        tables.append(replace(table, columns=columns, problem="" if problems else wrong))
    return FilledForm(tuple(tables), tuple(filled), tuple(promises))


def _table(number: int, schema: Schema, form: Mapping[str, str] | None) -> TableFields:
    can_number = format_of(schema.source) in ("text", "sheet")
    numbered = can_number and not schema.unique if form is None else bool(form.get(f"t{number}-number"))
    names = schema.names.items()
    return TableFields(
        id=f"t{number}",
        name=schema.name,
        source=schema.source,
        columns=tuple(
            _column(f"t{number}-c{place}", schema, name, form, numbered=numbered)
            for place, (name, column) in enumerate(names)
            if schema.columns[column] is not None
        ),
        can_number=can_number,
        numbered=can_number and numbered,
        left_out=tuple(column for _, column in names if schema.columns[column] is None),
    )


def _column(id: str, schema: Schema, name: str, form: Mapping[str, str] | None, *, numbered: bool) -> ColumnFields:
    column = schema.names[name]
    kind = str(schema.columns[column])
    if form is None:
        filled = {
            "role": "private" if schema.is_private(name) else "public",
            "key": "on" if name in schema.proposed_key and not schema.is_private(name) and not numbered else "",
            "resolution": proposed_step(whole=kind == "whole"),
            "unit": unit_of(name),
            **dict(zip(("low", "high"), map(str, range_of(name) or ()), strict=False)),
        }
    else:
        words = ("role", "key", "low", "high", "resolution", "floor", "unit", "nulls")
        filled = {word: form.get(f"{id}-{word}", "").strip() for word in words}
        if filled["role"] not in ("public", "private" if kind in NUMERIC else "public"):
            filled["role"] = "left out"
    return ColumnFields(id, name, column, kind, filled)


def _rule(column: ColumnFields) -> dict[str, object]:
    """Read the words of a private column; a floor that is left open is the proposed one."""
    given = column.filled
    for word, meaning in NEEDED.items():
        if not given[word]:
            known = "" if word == "resolution" else ", from what is known about such data, not from the data"
            raise InputError(f"{column.name}: fill in {meaning}{known}")
    low, high = read_range(f"{given['low']}..{given['high']}")
    if not low < high:
        raise InputError(f"{column.name}: the range must rise, and {given['low']} … {given['high']} does not")
    words: dict[str, object] = {"range": plain_range(low, high), "resolution": read_number(given["resolution"])}
    words["floor"] = read_number(given["floor"] or proposed_floor(low, high))
    more = {"unit": given["unit"], "nulls": given["nulls"] and "public"}
    return words | {word: said for word, said in more.items() if said}


def _chosen(schema: Schema, table: TableFields, rules: Mapping[str, Mapping[str, object]]) -> tuple[Chosen | None, str]:
    """Give what was chosen of a table, or what is wrong with it."""
    public = [one.name for one in table.columns if one.filled["role"] == "public"]
    key = [one.name for one in table.columns if one.filled["key"]]
    hidden = [name for name in key if name not in public]
    if hidden:
        return None, f"{hidden[0]} is part of the row key, so it must be public: everybody may know which row is which"
    if key and table.numbered:
        return None, "either columns identify a row, or its number does: choose one of both"
    try:
        return chosen(schema, rules, public, key, number=table.numbered), ""
    except InputError:
        return None, "choose the public columns that together identify a row" + (
            ", or number the rows" if table.can_number else ""
        )
