"""What tools do that people do not: try a connection, ask for columns without rows, list values, ask dozens at once."""

import datetime
import json
import sys
import time
import types
from pathlib import Path

import psycopg
import pytest

from errorfloor.client import dbapi, superset
from serving import served

KEPT = json.loads(Path(__file__).with_name("tool_queries.json").read_text(encoding="utf-8"))["questions of Superset"]
BY_TEAM = "SELECT team, count(*) AS n FROM pay {} GROUP BY team"


@pytest.fixture(scope="module")
def server(database, tmp_path_factory):
    with served(database, tmp_path_factory.mktemp("habits"), postgres=0) as here:
        yield here


def connect(server, **options):
    who = {"user": "reader-1", "password": server.tokens["reader"], "dbname": "errorfloor", "autocommit": True}
    return psycopg.connect(host="127.0.0.1", port=server.postgres, **{**who, **options})


@pytest.fixture(params=["PostgreSQL", "HTTP"])
def ask(request, server):
    """Ask as a reader who says nothing about exactness; give names and rows."""
    if request.param == "HTTP":
        with dbapi.connect(server.url, token=server.tokens["reader"]) as line:
            cursor = line.cursor()
            yield lambda sql: ([one[0] for one in cursor.execute(sql).description], cursor.fetchall())
    else:
        with connect(server) as line, line.cursor() as cursor:
            yield lambda sql: ([one.name for one in cursor.execute(sql).description], cursor.fetchall())


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT 1", (["?column?"], [(1,)])),
        ("SELECT 1 LIMIT 1001", (["?column?"], [(1,)])),
        ("SELECT 1 AS one, 'it''s' AS two", (["one", "two"], [(1, "it's")])),
    ],
)
def test_connection_is_tried_with_constants(ask, sql, expected):
    assert ask(sql) == expected


COLUMNS = ["person", "team", "hired", "age", "wage"]


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT * FROM pay WHERE 1 = 0", COLUMNS),
        ('SELECT * FROM "public"."pay" LIMIT 0', COLUMNS),
        ('SELECT t.* FROM "public"."pay" AS t WHERE 1=0', COLUMNS),
        ("SELECT wage, team AS t FROM public.pay x WHERE 0 = 1 LIMIT 1", ["wage", "t"]),
        ('SELECT TRUE AS "_" FROM "public"."pay" WHERE 1 <> 1 LIMIT 0', ["_"]),
    ],
)
def test_columns_of_a_table_are_given_without_rows(ask, sql, names):
    assert ask(sql) == (names, [])


def test_columns_of_a_table_that_is_not_declared_are_refused(ask):
    with pytest.raises((psycopg.Error, dbapi.Error), match="is not a declared table"):
        ask("SELECT * FROM wages WHERE 1 = 0")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT DISTINCT team FROM pay",
        "SELECT DISTINCT team FROM public.pay ORDER BY team LIMIT 10000",
        'SELECT "public"."pay"."team" AS "team" FROM "public"."pay" GROUP BY "public"."pay"."team" ORDER BY "team" ASC',
        "SELECT team FROM pay WHERE age > 21 GROUP BY team",
        "SELECT DISTINCT team AS team FROM pay p",
    ],
)
def test_values_of_a_public_column_are_listed_for_a_filter(ask, sql):
    names, rows = ask(sql)
    assert names == ["team"] and sorted(rows) == [("a'b",), ("north",), ("süd",)]


def test_lists_of_several_columns_and_of_periods(ask):
    names, rows = ask("SELECT DISTINCT team, date_trunc('year', hired) AS year FROM pay")
    assert names == ["team", "year"] and ("north", datetime.date(2001, 1, 1)) in rows and len({*rows}) == len(rows)
    assert ask("SELECT DISTINCT team FROM pay LIMIT 0") == (["team"], [])


def test_values_of_a_private_column_are_not_listed(ask):
    for sql in ("SELECT DISTINCT wage FROM pay", "SELECT wage FROM pay GROUP BY wage", "SELECT DISTINCT * FROM pay"):
        with pytest.raises((psycopg.Error, dbapi.Error)):
            ask(sql)


@pytest.mark.parametrize(
    "where",
    [
        "WHERE hired < '2001-03-01 00:00:00.000000'",
        "WHERE hired < TIMESTAMP '2001-03-01 00:00:00'",
        "WHERE hired < TO_DATE('2001-03-01', 'YYYY-MM-DD')",
        "WHERE hired < to_timestamp('2001-03-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')",
    ],
)
def test_dates_are_read_as_tools_write_them(ask, where):
    assert ask(BY_TEAM.format(where)) == ask(BY_TEAM.format("WHERE hired < DATE '2001-03-01'"))


@pytest.mark.parametrize(
    "where", ["WHERE hired < '2001-03-01 00:00:01'", "WHERE hired < TO_DATE('01.03.2001', 'DD.MM.YYYY')"]
)
def test_moments_that_are_no_dates_are_refused(ask, where):
    with pytest.raises((psycopg.Error, dbapi.Error)):
        ask(BY_TEAM.format(where))


def test_least_number_of_rows_may_stand_in_parentheses(ask):
    assert ask(f"{BY_TEAM.format('')} HAVING ( COUNT(*) > 5 )") == ask(BY_TEAM.format(""))


def test_hint_is_read_with_a_space_before_its_plus(ask):
    with pytest.raises((psycopg.Error, dbapi.Error), match="never released"):
        ask("SELECT avg(wage) AS mean FROM pay /* + max_error=1000000 */ LIMIT 1001")
    with pytest.raises((psycopg.Error, dbapi.Error), match="give one of max_error"):
        ask("SELECT avg(wage) AS mean FROM pay /* max_error=1000000 */ LIMIT 1001")


@pytest.mark.parametrize("question", KEPT)
def test_superset_is_answered_over_http(question, server):
    limits = {"max_error": 1e6, "charge": 0.01, "charge_per_day": 0.9}
    with dbapi.connect(server.url, token=server.tokens["analyst"], **limits) as line:
        if isinstance(KEPT[question], str):
            with pytest.raises(dbapi.ProgrammingError, match=KEPT[question]):
                line.cursor().execute(question)
        else:
            assert len(line.cursor().execute(question).fetchall()) == KEPT[question]


def test_superset_learns_periods_and_how_sql_is_read(monkeypatch):
    """With stand-ins for the parts of Superset that are used; it was tried with Superset itself."""
    parts = {
        "superset.sql.parse": {"SQLGLOT_DIALECTS": {}},
        "superset.db_engine_specs.base": {"BaseEngineSpec": object},
    }
    for name, content in parts.items():
        monkeypatch.setitem(sys.modules, name, types.SimpleNamespace(**content))
    for name in ("superset", "superset.sql", "superset.db_engine_specs"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    found = superset.ErrorFloorEngineSpec
    assert (found.engine, found._time_grain_expressions["P1M"]) == ("errorfloor", "DATE_TRUNC('month', {col})")
    assert found.convert_dttm("DATE", datetime.datetime(2001, 1, 31)) == "DATE '2001-01-31'"
    assert parts["superset.sql.parse"]["SQLGLOT_DIALECTS"] == {"errorfloor": "postgres"}
    with pytest.raises(AttributeError):
        superset.nothing  # noqa: B018


# -- dozens of statements at once


def test_statements_above_the_rate_wait_for_their_turn(database, tmp_path):
    with served(database, tmp_path, postgres=0, rate=40.0, burst=20) as server, connect(server) as line:
        began = time.monotonic()
        for _ in range(50):
            assert line.execute("SELECT 1").fetchone() == (1,)
        assert time.monotonic() - began >= 1.0  # 20 at once, and 40 a second after that


def test_a_statement_that_would_wait_long_is_refused(database, tmp_path):
    with served(database, tmp_path, postgres=0, rate=0.05, burst=2) as server, connect(server) as line:
        with pytest.raises(psycopg.Error, match="requests per second: wait"):
            for _ in range(3):
                line.execute("SELECT 1")
        assert not line.closed
