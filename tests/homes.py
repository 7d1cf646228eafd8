"""A small town on an engine and in Python: rows of every type, with NULLs, and a table to join."""

import datetime
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from math import floor

import mpmath

from errorfloor.arithmetic.arrow import RAISED
from errorfloor.arithmetic.polynomial import Polynomial
from errorfloor.catalogue.model import Table
from errorfloor.engines import Engine, open_engine
from errorfloor.sql import Layout, denominator, needed, scan, stored_layout
from errorfloor.sql.plan import Always, Compare, Literal, Missing, Not, TableColumn, all_of
from errorfloor.sql.question import GroupKey, Question, QuestionOutput
from errorfloor.vault import Snapshot
from exact_formulas import exact_value
from plan_values import FUNCTIONS, number, real, scalar, truth

ALWAYS = Always()
NEVER = Compare("=", Polynomial.constant(1), Polynomial.constant(2))

ID = TableColumn(0, "id", "number", step=Fraction(1))
TOWN = TableColumn(0, "town", "text", nullable=True)
ROOMS = TableColumn(0, "rooms", "number", step=Fraction(1), nullable=True)
AREA = TableColumn(0, "area", "number", step=Fraction(3, 8), nullable=True)
DAY = TableColumn(0, "day", "date", nullable=True)
READ = TableColumn(0, "read", "moment", nullable=True)
SOLAR = TableColumn(0, "solar", "flag", nullable=True)
KWH = TableColumn(0, "kwh", "number", private=True, step=Fraction(1, 1000))
PEAK = TableColumn(0, "peak", "number", private=True, step=Fraction(1, 7), nullable=True)
HOMES = [ID, TOWN, ROOMS, AREA, DAY, READ, SOLAR, KWH, PEAK]

SIZE = TableColumn(1, "size", "number", step=Fraction(3, 4))
CLASS = TableColumn(1, "class", "text", nullable=True)
PRICE = TableColumn(1, "price", "number", step=Fraction(1, 100), nullable=True)
CLASSES = [SIZE, CLASS, PRICE]

TYPES = {"text": "text_type", "date": "date_type", "moment": "moment_type", "flag": "flag_type"}
TOWNS = [None, "", "Bath", "bath", "it's", "a\\b", "Zürich", "😀", "ab%", "a_b"]


def homes(count=120):
    """Rows with every kind of value, and NULL wherever it is allowed."""
    chance = random.Random(20240229)
    rows = []
    for j in range(count):
        start = datetime.datetime(2019, 12, 20) + datetime.timedelta(hours=chance.randrange(24 * 400))
        moment = start + datetime.timedelta(minutes=chance.randrange(60), microseconds=chance.randrange(10**6))
        row = {
            (0, "id"): Fraction(j),
            (0, "town"): chance.choice(TOWNS),
            (0, "rooms"): Fraction(chance.randrange(-3, 7)),
            (0, "area"): Fraction(3, 8) * chance.randrange(-20, 400),
            (0, "day"): moment.date(),
            (0, "read"): moment,
            (0, "solar"): chance.random() < 0.5,
            (0, "kwh"): Fraction(chance.randrange(-(10**4), 5 * 10**4), 1000),
            (0, "peak"): Fraction(chance.randrange(1, 2**36), 7),
        }
        for column in HOMES:
            if column.nullable and chance.random() < 0.15:
                row[0, column.name] = None
        rows.append(row)
    rows[0] |= {(0, "kwh"): Fraction(-10), (0, "peak"): Fraction(0), (0, "area"): Fraction(0)}  # ends of the ranges
    rows[1] |= {(0, "kwh"): Fraction(50), (0, "peak"): Fraction(2**36, 7), (0, "area"): Fraction(30)}
    return rows


def classes():
    return [
        {(1, "size"): Fraction(3, 4) * k, (1, "class"): name, (1, "price"): price}
        for k, name, price in [
            (0, "none", Fraction(0)),
            (4, "small", Fraction(-5, 4)),
            (-4, None, None),
            (8, "large", Fraction(7, 100)),
            (5, "odd", Fraction(9)),
        ]
    ]


def physical(column, columns):
    group = [other for other in columns if other.private == column.private]
    return f"{'x' if column.private else 'p'}{group.index(column)}"


def constant(value, column, dialect):
    """A value of a row as it is stored."""
    wide = "BIGINT" if column is PEAK or not column.private else dialect.integer_type(1)
    kind = wide if column.type == "number" else getattr(dialect, TYPES[column.type])
    if value is None:
        return f"CAST(NULL AS {kind})"
    if column.type == "number":
        steps = value / column.step
        assert steps.denominator == 1
        return f"CAST({dialect.integer(int(steps))} AS {kind})"
    return f"CAST({dialect.literal(value)} AS {kind})"


def keep(engine, name, columns, rows, private=None):
    """Put rows on the engine as a snapshot would be there."""
    place = columns[0].place
    values = ", ".join(
        f"({', '.join(constant(row[place, column.name], column, engine.dialect) for column in columns)})"
        for row in rows
    )
    names = {column.name: physical(column, columns) for column in columns}
    engine.create(name, f"SELECT * FROM (VALUES {values}) AS v({', '.join(names.values())})")
    public = {
        column.name: {"type": "number", "resolution": str(column.step)} if column.type == "number" else column.type
        for column in columns
        if not column.private
    }
    table = Table.model_validate(
        {"source": "-", "version": "1", "row_key": [columns[0].name], "public": public, "private": private or {}}
    )
    extent = {}
    for column in columns:
        stored = [int(row[place, column.name] / column.step) for row in rows if _number(row[place, column.name])]
        if column.type == "number" and not column.private and stored:
            extent[column.name] = (min(stored), max(stored))
    return Snapshot(name, "1", table, engine.relation(name), len(rows), names, extent)


def _number(value):
    return isinstance(value, Fraction)


PRIVATE = {
    "kwh": {"range": [-10, 50], "resolution": "0.001", "floor": 1},
    "peak": {"range": [0, "68719476736/7"], "resolution": "1/7", "floor": 1, "nulls": "public"},
}


@dataclass
class Town:
    """The same rows on an engine and in Python."""

    engine: Engine
    snapshots: list[Snapshot]
    rows: list[dict]

    def layout(self, question, calls=()):
        stored = stored_layout(question, self.snapshots)
        largest, bits = dict(stored.largest), {}
        for call in calls:  # inner ones first
            bits[call] = self._bits(call)
            largest[call] = 2**40
        return Layout(largest, bits, stored.rows)

    @mpmath.workdps(60)
    def _bits(self, call):
        reach = max(
            abs(FUNCTIONS[call.function](real(number(call.argument, row)), *map(real, call.parameters)))
            for row in self.rows
            if number(call.argument, row) is not None
        )
        return 39 - floor(mpmath.log(reach, 2))

    def ask(self, question, calls=(), layout=None):
        """Give {group: {output: value}} from the sums that the server would read."""
        layout = layout or self.layout(question, calls)
        wanted = list(dict.fromkeys(w for output in question.outputs for w in needed(output.formula)))
        table = self.engine.query(scan(question, self.snapshots, wanted, layout, self.engine.dialect))
        answer = {}
        for line in table.to_pylist():
            sums = {w: exact_integer(line[f"s{j}"]) for j, w in enumerate(wanted)}
            group = self.group(question, line, layout)
            assert group not in answer
            answer[group] = {output.name: exact_value(output.formula, sums, layout) for output in question.outputs}
        assert list(answer) == sorted(answer, key=lambda group: list(map(canonical, group)))
        return answer

    def group(self, question, line, layout):
        return tuple(value_of(line[f"k{j}"], key.value, layout) for j, key in enumerate(question.keys))

    def groups(self, question):
        """Give {group: rows} in Python."""
        found = {} if question.keys else {(): []}
        for row in self.joined(question):
            if truth(question.where, row) is True:
                group = tuple(scalar(key.value, row) for key in question.keys)
                found.setdefault(group, []).append(row)
        return found

    def joined(self, question):
        for row in self.rows:
            if not question.joins:
                yield row
                continue
            (join,) = question.joins
            met = [
                other
                for other in classes()
                if all(row[0, one.name] is not None and row[0, one.name] == other[1, two.name] for one, two in join.on)
            ]
            assert len(met) <= 1
            if met or join.keep_unmatched:
                yield row | (met[0] if met else {(1, column.name): None for column in CLASSES})


def value_of(raw, scalar_or_column, layout):
    polynomial = Polynomial.atom(scalar_or_column) if isinstance(scalar_or_column, TableColumn) else scalar_or_column
    if raw is None or scalar_or_column_type(scalar_or_column) != "number":
        return raw
    return Fraction(exact_integer(raw), denominator(polynomial, layout))


def canonical(value):
    """Rank a key: NULL first, texts by their bytes."""
    return value is not None, 0 if value is None else value.encode() if isinstance(value, str) else value


def exact_integer(raw):
    """Give a whole number as an engine wrote it: as such, or raised and as text."""
    if raw is None:
        return None
    return int(raw) - RAISED if isinstance(raw, str) else int(raw)


def scalar_or_column_type(value):
    return "number" if isinstance(value, Polynomial) else value.type


@contextmanager
def open_homes(place) -> Iterator[Town]:
    """Put the town on an engine."""
    with open_engine(place.place, place.folder, read_only=False) as engine:
        rows = homes()
        snapshots = [keep(engine, "homes", HOMES, rows, PRIVATE), keep(engine, "classes", CLASSES, classes())]
        yield Town(engine, snapshots, rows)


def question(outputs=(), keys=(), where=ALWAYS, joins=()):
    return Question(
        "homes",
        "1",
        tuple(joins),
        where,
        tuple(GroupKey(f"key{j}", value) for j, value in enumerate(keys)),
        tuple(QuestionOutput(f"out{j}", formula, "") for j, formula in enumerate(outputs)),
        (),
        (),
        None,
    )


def present(*columns):
    return all_of([Not(Missing(Polynomial.atom(c) if c.type == "number" else c)) for c in columns])


def of(atom):
    return Polynomial.atom(atom)


def text(value):
    return Literal(value, "text")


kwh, peak, rooms, area = of(KWH), of(PEAK), of(ROOMS), of(AREA)
