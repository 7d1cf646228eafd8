"""Which parts a question reads: never fewer than those that have a row for it."""

import datetime
import random

import duckdb
import pytest

from errorfloor.catalogue import Catalogue
from errorfloor.catalogue.model import Growth
from errorfloor.errors import RefusedError
from errorfloor.sql import parse
from errorfloor.sql.parts_read import parts_read
from repeated import rounds

TABLE = {
    "source": "t",
    "version": "1",
    "row_key": ["id", "day", "read"],
    "public": {"id": "whole", "day": "date", "read": "moment", "town": "text"},
    "private": {"x": {"range": [0, 1], "resolution": 0.1, "floor": 0.1}},
}
PARTS = ["day", "week", "month", "quarter", "year"]
PIECES = [
    "{c} < '{d}'",
    "{c} >= '{d}'",
    "'{d}' = {c}",
    "{c} <> '{d}'",
    "{c} BETWEEN '{d}' AND '{e}'",
    "{c} IN ('{d}', '{e}')",
    "{c} NOT IN ('{d}', '{e}')",
    "year({c}) = {y}",
    "month({c}) <= {m}",
    "quarter({c}) <> {q}",
    "extract(doy FROM {c}) < {n}",
    "extract(week FROM {c}) = {m}",
    "day({c}) = {m}",
    "date_trunc('{u}', {c}) = date_trunc('{u}', {c})",
    "date_trunc('{u}', {c}) < '{d}'",
    "CAST({c} AS DATE) > '{d}'",
    "{c} IS NULL",
    "town = 'Bath'",
    "id < {n}",
]


def condition(chance, column, depth=2):
    if depth and chance.random() < 0.6:
        inner = [condition(chance, column, depth - 1) for _ in range(2)]
        return chance.choice(["({} AND {})", "({} OR {})", "(NOT {0})"]).format(*inner)
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(days=chance.randrange(1100)) for _ in range(2)]
    return chance.choice(PIECES).format(
        c=column,
        d=min(days),
        e=max(days),
        y=chance.randrange(2019, 2024),
        m=chance.randrange(1, 13),
        q=chance.randrange(1, 5),
        n=chance.randrange(1, 367),
        u=chance.choice(PARTS),
    )


@pytest.mark.parametrize("column", ["day", "read"])
@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_is_not_read_has_no_row_for_which_the_condition_is_true(column, part):
    """A thousand days, each hour of which some row may be in, compared with what DuckDB finds."""
    catalogue = Catalogue.model_validate({"tables": {"t": TABLE}})
    growth, chance = Growth(column=column, part=part), random.Random(f"{column} {part}")
    with duckdb.connect() as connection:
        start = "TIMESTAMP '2020-01-01' + 6 * hours * INTERVAL 1 HOUR"
        connection.execute(
            f"CREATE TABLE t AS SELECT hours AS id, CAST({start} AS DATE) AS day, {start} AS read, "
            "CASE hours % 3 WHEN 0 THEN 'Bath' WHEN 1 THEN 'York' END AS town FROM range(4400) AS s(hours)"
        )
        names = dict.fromkeys(growth.name(day) for (day,) in connection.execute("SELECT day FROM t").fetchall())
        tight = 0
        for _ in range(rounds(25)):
            where = condition(chance, column)
            try:
                question = parse(f"SELECT count(*) AS n FROM t WHERE {where}", catalogue)
            except RefusedError:  # it is never true, for one
                continue
            read = set(parts_read(question.where, growth, catalogue.tables["t"].public[column], names))
            found = {growth.name(day) for (day,) in connection.execute(f"SELECT day FROM t WHERE {where}").fetchall()}
            assert found <= read, where
            tight += len(read) < len(names)
        assert tight  # some conditions leave parts out
