"""Answers and prices as result sets: which columns they have follows from the question alone."""

import math
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp
from starlette.concurrency import iterate_in_threadpool

from errorfloor.arithmetic.polynomial import Polynomial
from errorfloor.catalogue import Catalogue
from errorfloor.errors import RefusedError
from errorfloor.postgres.values import (
    BOOL,
    DATE,
    DECLARED,
    FLOAT8,
    INT8,
    TEXT,
    TIMESTAMP,
    Kind,
    ResultColumn,
    data_rows,
)
from errorfloor.service import Answer, Price, QuotaStanding, Standing
from errorfloor.sql import parse
from errorfloor.sql.plan import Call, Count, Scalar
from errorfloor.sql.question import CountedQuantile, Derived, Question, is_private, walk
from errorfloor.sql.reading import read_foreign
from errorfloor.sql.sums import Layout, denominator
from errorfloor.sql_text.asked import AskedQuestion

AT_ONCE = 500  # rows that are written at a time
FEW = 100  # rows that are written at once, in the event loop
ENDS = ("_low", "_high")
ARROW = {
    **{BOOL: pa.bool_(), INT8: pa.int64(), FLOAT8: pa.float64(), TEXT: pa.string(), DATE: pa.date32()},
    TIMESTAMP: pa.timestamp("us"),
}
RowWriter = Callable[[Sequence[ResultColumn], Sequence[Sequence[Any]], Sequence[int]], bytes]
PRICED = {"item": TEXT, "name": TEXT, "max_error": FLOAT8, "unit": TEXT, "share": FLOAT8, "used": FLOAT8}
PRICE = tuple(ResultColumn(name, kind) for name, kind in (PRICED | {"affordable": BOOL}).items())


class ResultRows:
    """A result set: its columns, its table, and what is said with it; ``body_iterator`` gives it in parts."""

    def __init__(self, columns: tuple[ResultColumn, ...], table: pa.Table, said: str = "") -> None:
        self.columns, self.table, self.said = columns, table, said
        self.formats: list[int] = [0] * len(columns)
        self.write: RowWriter = data_rows
        self.most = table.num_rows
        self.sent = 0
        self.body_iterator: AsyncIterator[bytes] = self._all()

    def again(self) -> AsyncIterator[bytes]:
        """Give the next rows, after some were sent."""
        return self._all()

    async def _all(self) -> AsyncIterator[bytes]:
        end = min(self.sent + self.most, self.table.num_rows)
        if end - self.sent <= FEW:
            for part in self._parts(end):
                yield part
        else:
            async for part in iterate_in_threadpool(self._parts(end)):
                yield part

    def _parts(self, end: int) -> Iterator[bytes]:
        while self.sent < end:
            count = min(AT_ONCE, end - self.sent)
            values = [column.to_pylist() for column in self.table.slice(self.sent, count).columns]
            self.sent += count
            yield self.write(self.columns, values, self.formats)


def answer_columns(question: Question, *, bounds: bool) -> tuple[ResultColumn, ...]:
    """Give the columns of an answer: those selected, then the certain intervals of all that is private."""
    kinds = {key.name: _kind_of_key(key.value) for key in question.keys}
    kinds |= {one.asked_as: INT8 if isinstance(one.formula, Count) else FLOAT8 for one in question.outputs}
    ends = [f"{name}{end}" for name in _private(question) for end in ENDS] if bounds else []
    return (
        *(ResultColumn(name, kinds[name]) for name in question.selected),
        *(ResultColumn(name, FLOAT8) for name in ends),
    )


def described_columns(question: Question) -> list[dict[str, Any]]:
    """Describe the columns of an answer as plain JSON types."""
    words, private = {kind: word for word, kind in DECLARED.items()}, _private(question)
    return [
        {"name": one.name, "type": words[one.kind], "private": one.name in private}
        for one in answer_columns(question, bounds=True)
    ]


def answer_rows(answer: Answer, asked: AskedQuestion, *, bounds: bool) -> ResultRows:
    """Give an answer as a result set; of what no private value moves the interval is what it is off by."""
    question = answer.prepared.question
    columns, table = answer_columns(question, bounds=bounds or bool(asked.around)), answer.to_arrow()
    found: list[Any] = []
    for one in columns:
        if one.name in table.column_names:
            found.append(table.column(one.name))
            continue
        name, end = next((one.name.removesuffix(end), end) for end in ENDS if one.name.endswith(end))
        off = answer.max_error[name] * (-1 if end == "_low" else 1)
        found.append(pc.add(table.column(name).cast(pa.float64()), pa.scalar(off)))
    said = _stated(answer).summary() if _private(question) or answer.prepared.plan.absent else ""
    if not asked.around:
        return ResultRows(columns, pa.table(found, names=[str(place) for place in range(len(found))]), said)
    cast = [one.cast(ARROW[column.kind]) for one, column in zip(found, columns, strict=True)]
    rows = _around(asked, question, columns, cast, bounds=bounds)
    rows.said = said and f"Of the question inside: {said}"
    return rows


def no_rows(question: Question, asked: AskedQuestion, *, bounds: bool) -> ResultRows:
    """Give the result set of an answer without its rows; raises RefusedError for what is wanted and cannot be."""
    columns = answer_columns(question, bounds=bounds or bool(asked.around))
    none = [pa.array([], ARROW[one.kind]) for one in columns]
    if not asked.around:
        return ResultRows(columns, pa.table(none, names=[str(place) for place in range(len(none))]))
    return _around(asked, question, columns, none, bounds=bounds)


def no_rows_of_table(catalogue: Catalogue, asked: AskedQuestion) -> ResultRows:
    """Give the columns of a declared table without rows; raises RefusedError for a table that is not declared."""
    named = parse(f'SELECT count(*) FROM "{asked.table}"', catalogue).table
    table = catalogue.tables[named]
    kinds = {name: DECLARED[one.type] for name, one in table.compared.items()} | dict.fromkeys(table.private, FLOAT8)
    none = {name: pa.array([], ARROW[kind]) for name, kind in kinds.items()}
    return _result(asked.shown(pa.table(none), [], bounds=False))


def _around(
    asked: AskedQuestion, question: Question, columns: Sequence[ResultColumn], found: Sequence[Any], *, bounds: bool
) -> ResultRows:
    names = [one.name for one in columns]
    if len({*names}) != len(names):
        raise RefusedError("two columns of the answer have the same name: rename one with AS", reason="column")
    derived = {
        one.name: isinstance(one, CountedQuantile) or one.in_rows
        for one in question.quantiles
        if isinstance(one, (CountedQuantile, Derived))
    }
    return _result(asked.shown(pa.table(found, names=names), _private(question), derived, bounds=bounds))


def _result(table: pa.Table) -> ResultRows:
    kinds = {kind: one for one, kind in ARROW.items()}
    return ResultRows(tuple(ResultColumn(one.name, kinds.get(one.type, TEXT)) for one in table.schema), table)


def _private(question: Question) -> list[str]:
    return list(dict.fromkeys(one.asked_as for one in question.outputs if is_private(one.formula)))


def _stated(price: Price) -> Price:
    return replace(price, unused=())  # bounds by name are those of SET, for all questions of a session


def price_rows(price: Price) -> ResultRows:
    """Give a price as rows: one for each output, account and quota."""
    units = price.prepared.units
    rows: list[tuple[Any, ...]] = [
        ("output", name, None if math.isinf(bound) else bound, units[name], None, None, None)
        for name, bound in price.max_error.items()
    ]
    standings: list[tuple[str, Standing | QuotaStanding]] = [("account", one) for one in price.standings]
    standings += [("quota", one) for one in price.quotas]
    rows += [(kind, one.name, None, None, one.used_by_this, one.used, one.used <= 1) for kind, one in standings]
    table = pa.table([pa.array(list(column)) for column in zip(*rows, strict=True)], names=[one.name for one in PRICE])
    return ResultRows(PRICE, table, _stated(price).explain())


def text_rows(found: Mapping[str, list[str]]) -> ResultRows:
    """Give columns of texts as a result set."""
    table = pa.table({name: pa.array(values, pa.string()) for name, values in found.items()})
    return ResultRows(tuple(ResultColumn(name, TEXT) for name in found), table)


def _kind_of_key(scalar: Scalar) -> Kind:
    if not isinstance(scalar, Polynomial):
        return DECLARED[scalar.type]
    is_whole = not any(isinstance(part, Call) for part in walk(scalar)) and denominator(scalar, Layout({}, {}, 1)) == 1
    return INT8 if is_whole else FLOAT8


def parameter_kinds(text: str, count: int, catalogue: Catalogue, *, in_functions: Kind = FLOAT8) -> list[Kind]:
    """Say of which type each parameter is, from what it is compared with, or that it is given to a function.

    >>> parameter_kinds("SELECT 1 WHERE $1 < 5 LIMIT $2", 2, Catalogue(tables={}))[1].name
    'int8'
    """
    found = [TEXT] * count
    if not count:
        return found
    declared: dict[str, Kind] = {}
    for table in catalogue.tables.values():
        declared |= {name.lower(): FLOAT8 for name in table.private}
        declared |= {name.lower(): DECLARED[one.type] for name, one in table.compared.items()}
    try:
        tree = read_foreign(text, "postgres")
    except RefusedError:  # what is asked is refused later, in better words
        return found
    for one in tree.find_all(exp.Parameter, exp.Placeholder):
        number = one.name
        if number.isdigit() and 1 <= int(number) <= count:
            found[int(number) - 1] = _beside(one, declared, in_functions)
    return found


def _beside(parameter: exp.Expression, declared: Mapping[str, Kind], in_functions: Kind) -> Kind:
    above = parameter.parent
    while isinstance(above, (exp.Paren, exp.Neg)):
        above = above.parent
    if isinstance(above, exp.Cast):
        names = {"DATE": "date", "TIMESTAMP": "moment", "BOOLEAN": "flag", "DOUBLE": "number", "DECIMAL": "number"}
        whole = above.to.is_type(*exp.DataType.INTEGER_TYPES)
        return INT8 if whole else DECLARED[names.get(str(getattr(above.to.this, "value", "")), "text")]
    if isinstance(above, exp.Limit):
        return INT8
    if isinstance(above, (exp.Predicate, exp.In, exp.Between, exp.Tuple)):
        column = next((one for one in above.find_all(exp.Column) if one.name.lower() in declared), None)
        return TEXT if column is None else declared[column.name.lower()]
    return in_functions if isinstance(above, (exp.Binary, exp.Func)) else TEXT
