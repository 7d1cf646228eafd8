"""Tools put queries around questions: what is around is done with the released answer, at both doors alike."""

import math

import psycopg
import pytest
import sqlalchemy
from sqlalchemy.dialects import registry

from errorfloor.client import dbapi
from serving import CANARY, PEOPLE, served

registry.register("errorfloor", "errorfloor.client.dialect", "ErrorFloorDialect")
EXACT = 2e6
MEANS = "SELECT team, avg(wage) AS mean, count(*) AS n FROM pay GROUP BY team"
PUBLIC = "SELECT team, hired, count(*) AS n FROM pay GROUP BY team, hired"


class Postgres:
    """The PostgreSQL door."""

    def __init__(self, server, charge):
        who = {"user": "analyst-1", "password": server.tokens["analyst"], "dbname": "errorfloor"}
        self.line = psycopg.connect(host="127.0.0.1", port=server.postgres, autocommit=True, **who)
        self.line.execute(f"SET max_error = {EXACT}")
        self.line.execute(f"SET charge = {'on' if charge else 'off'}")

    def ask(self, sql, parameters=None):
        found = self.line.execute(sql if parameters is None else sql.replace("?", "%s"), parameters)
        return [column.name for column in found.description], found.fetchall()

    def close(self):
        self.line.close()


class OverHttp:
    """The database interface over HTTP."""

    def __init__(self, server, charge):
        self.line = dbapi.connect(server.url, token=server.tokens["analyst"], max_error=EXACT, charge=charge)

    def ask(self, sql, parameters=()):
        found = self.line.cursor().execute(sql, parameters)
        return [column[0] for column in found.description], found.fetchall()

    def close(self):
        self.line.close()


@pytest.fixture(scope="module")
def server(database, tmp_path_factory):
    with served(database, tmp_path_factory.mktemp("wrapped"), postgres=0) as here:
        line = OverHttp(here, True)
        line.ask(MEANS)
        line.close()
        yield here


@pytest.fixture(params=[Postgres, OverHttp])
def door(request, server):
    here = request.param(server, False)
    yield here
    here.close()


@pytest.fixture(params=[Postgres, OverHttp])
def spending(request, server):
    here = request.param(server, True)
    yield here
    here.close()


ALL = ["team", "mean", "n", "mean_low", "mean_high"]
PLAIN = {  # what tools send around a question, and the columns that they get
    "Superset: SQL Lab": (f"SELECT * FROM ({MEANS}) AS inner_qry LIMIT 1001", ALL),
    "Superset: a chart": (
        f'SELECT team AS team, SUM(mean) AS "SUM(mean)"\nFROM\n({MEANS}\n) AS virtual_table\nGROUP BY team\n'
        f'ORDER BY "SUM(mean)" DESC\n LIMIT 10000;',
        ["team", "SUM(mean)", "SUM(mean)_low", "SUM(mean)_high"],
    ),
    "Superset: values of a filter": (
        f"SELECT DISTINCT team AS team FROM ({MEANS}) AS virtual_table LIMIT 1000",
        ["team"],
    ),
    "Metabase: a saved question": (
        f'-- Metabase:: userID: 1 queryType: native\nSELECT "source"."team" AS "team", "source"."mean" AS "mean", '
        f'"source"."mean_low" AS "mean_low", "source"."mean_high" AS "mean_high" '
        f'FROM ({MEANS}) AS "source" LIMIT 1048575',
        ["team", "mean", "mean_low", "mean_high"],
    ),
    "Metabase: a summary": (
        f'SELECT "source"."team" AS "team", SUM("source"."n") AS "sum" FROM ({MEANS}) AS "source" '
        f'GROUP BY "source"."team" ORDER BY "source"."team" ASC',
        ["team", "sum"],
    ),
    "Tableau: a worksheet": (
        f'SELECT CAST("Custom SQL Query"."team" AS TEXT) AS "team",\n'
        f'  AVG("Custom SQL Query"."mean") AS "avg:mean:ok"\n'
        f'FROM (\n  {MEANS}\n) "Custom SQL Query"\nGROUP BY 1',
        ["team", "avg:mean:ok", "avg:mean:ok_low", "avg:mean:ok_high"],
    ),
    "Tableau: the number of rows": (
        f'SELECT SUM(1) AS "sum:Number of Records:ok" FROM ({MEANS}) "Custom SQL Query"',
        ["sum:Number of Records:ok"],
    ),
    "Power BI: a preview": (
        f'select "_"."team", "_"."n" from (select "team", "n" from ({MEANS}) "$Table") "_" limit 1000',
        ["team", "n"],
    ),
    "DBeaver: a page": (f"SELECT x.* FROM ({MEANS}) x ORDER BY x.team OFFSET 1 LIMIT 200", ALL),
    "DBeaver: how many rows": (f"SELECT COUNT(*) FROM ({MEANS}\n) dbvrcnt", ["count"]),
    "dbt: a test": (
        f'/* {{"app": "dbt"}} */\nselect\n      count(*) as failures,\n      count(*) != 0 as should_warn,\n'
        f"      count(*) != 0 as should_error\n    from (\n      select team from ({MEANS}) as q where n < 5\n"
        f"    ) dbt_internal_test",
        ["failures", "should_warn", "should_error"],
    ),
    "dbt: a preview": (f"with means as ({MEANS}) select * from means limit 500", ALL),
}


@pytest.mark.parametrize("name", PLAIN)
def test_what_tools_put_around_a_released_answer_is_free(name, door, database):
    before = [one.spent for one in database.left()]
    sql, columns = PLAIN[name]
    names, rows = door.ask(sql)
    assert names == columns
    inside = {row[0]: row for row in door.ask(MEANS)[1]}
    if "team" in names:
        for row in rows:
            given = dict(zip(names, row, strict=True))
            mine = dict(zip(ALL, inside[given["team"]], strict=True))
            for column, value in given.items():
                if "mean" in column:
                    end = next((end for end in ("_low", "_high") if column.endswith(end)), "")
                    assert value == mine[f"mean{end}"], column
                if column in ("n", "sum"):
                    assert value == mine["n"]
    assert [one.spent for one in database.left()] == before


DBT = "select count(*) as failures, count(*) != 0 as should_warn, count(*) > 10 as should_error from ({}) dbt_test"


@pytest.mark.parametrize(
    ("test", "told"),
    [
        ("select team from pay where team is null", (0, False, False)),
        ("select team from public.pay where age > 63", (2, True, False)),
        (
            "select person as field, count(*) as n from pay where age > 0 group by person having count(*) > 1",
            (0, False, False),
        ),
        (
            "with all_values as (select team as field, count(*) as n from pay group by team) select * from all_values "
            "where field not in ('north', 'a''b')",
            (1, True, False),
        ),
        ("select age, n from (select age, count(*) as n from pay group by age) as t where n < 3", (15, True, True)),
    ],
    ids=["not null", "a condition", "unique", "accepted values", "of an answer"],
)
def test_dbt_counts_failures(door, test, told):
    assert door.ask(DBT.format(test)) == (["failures", "should_warn", "should_error"], [told])


def test_rows_are_those_of_the_answer_in_the_order_that_is_wanted(door):
    team = sorted(row[0] for row in door.ask(MEANS)[1])
    assert door.ask(f"SELECT team FROM ({MEANS}) t ORDER BY team DESC")[1] == [(one,) for one in team[::-1]]
    assert door.ask(f"SELECT team FROM ({MEANS}) t ORDER BY 1 LIMIT 1 OFFSET 1")[1] == [(team[1],)]
    assert door.ask(f"SELECT team FROM ({MEANS}) t ORDER BY n, team FETCH FIRST 1 ROWS ONLY")[1] == [(team[0],)]
    assert door.ask(f"SELECT team FROM ({MEANS}) t WHERE team IN ('{team[2]}', 'x') AND n > 3")[1] == [(team[2],)]
    assert door.ask(f"SELECT count(*) FROM ({MEANS}) t WHERE NOT (n <= 3 OR team IS NULL)")[1] == [(3,)]
    assert door.ask(f"SELECT count(*) FROM ({MEANS}) t WHERE n BETWEEN ? AND ?", (-1, 3))[1] == [(0,)]
    dates = f"SELECT count(*) AS days FROM ({PUBLIC}) t WHERE hired"
    some = door.ask(f"{dates} >= '2001-01-01'")[1]
    assert some == door.ask(f"{dates} >= TO_TIMESTAMP('2001-01-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')")[1]
    assert some == door.ask(f"{dates} >= DATE '2001-01-01'")[1] != door.ask(f"{dates} > '2002-01-01'")[1]


def test_totals_have_intervals_that_are_certain(door):
    rows = door.ask(MEANS)[1]
    names, found = door.ask(f"SELECT sum(mean) AS s, min(mean) AS least, avg(mean) AS m, max(n) AS k FROM ({MEANS}) t")
    given = dict(zip(names, found[0], strict=True))
    assert names == ["s", "least", "m", "k", "s_low", "s_high", "least_low", "least_high", "m_low", "m_high"]
    assert given["s"] == math.fsum(row[1] for row in rows) and given["k"] == max(row[2] for row in rows)
    assert given["s_low"] <= math.fsum(row[3] for row in rows) and given["s_high"] >= math.fsum(row[4] for row in rows)
    assert given["s_low"] == pytest.approx(math.fsum(row[3] for row in rows), rel=1e-12)
    assert (given["least_low"], given["least_high"]) == (min(row[3] for row in rows), min(row[4] for row in rows))
    wages = [float(CANARY) if i == 17 else 30000.0 + 137.25 * i for i in range(PEOPLE)]
    assert given["m_low"] <= sum(wages) / PEOPLE <= given["m_high"]  # the mean of means of equally large teams
    assert door.ask(f"SELECT sum(n) AS n FROM ({MEANS}) t WHERE 1 = 0")[1] == [(None,)]


FRESH = "SELECT team, avg(wage) AS mean FROM pay WHERE age > {} GROUP BY team"


@pytest.mark.parametrize(
    "probe",
    [
        "SELECT * FROM ({}) AS t LIMIT 0",
        "SELECT * FROM ({}) t WHERE 1=0",
        "SELECT * FROM ({}) t WHERE FALSE AND team = 'x'",
        'SELECT "team", "mean" FROM (SELECT * FROM ({}) "Custom SQL Query" LIMIT 0) "t" LIMIT 10',
    ],
)
def test_columns_are_told_without_asking(probe, spending, database):
    before = [one.spent for one in database.left()]
    names, rows = spending.ask(probe.format(FRESH.format(21)))
    assert (names, rows) == (["team", "mean", "mean_low", "mean_high"], [])
    assert [one.spent for one in database.left()] == before


def test_question_inside_is_charged_as_it_is_by_itself(spending, database):
    asked = FRESH.format(31 if isinstance(spending, Postgres) else 32)
    wrapped = f"SELECT mean FROM ({asked} WITHIN 3000000) t ORDER BY mean LIMIT 1"
    first = spending.ask(wrapped)[1]
    before = [one.spent for one in database.left()]
    by_itself = spending.ask(f"{asked} WITHIN 3000000")[1]
    assert first == [min((row[1], row[2], row[3]) for row in by_itself)]
    assert [one.spent for one in database.left()] == before


REFUSED = {
    "SELECT mean + 1 FROM ({}) t": "'+' is not read in this place",
    "SELECT wage FROM ({}) t": "'wage' is not a column of the question: it has team, mean",
    "SELECT u.mean FROM ({}) t": "'u' is no table: the question is 't'",
    "SELECT * FROM ({}) t JOIN pay USING (team)": "'JOIN' is not read",
    "SELECT * FROM ({}) t, pay": "',' is not read",
    "SELECT team, max(mean) FROM ({}) t": "team is neither in GROUP BY nor a total",
    "SELECT team, sum(mean) FROM ({}) t GROUP BY team HAVING sum(mean) > 3": "'HAVING' is not read",
    "SELECT mean, sum(mean) OVER () FROM ({}) t": "'(' is not read",
    "SELECT upper(team) FROM ({}) t": "'upper' is not read",
    "SELECT sum(team) FROM ({}) t": "sum needs numbers",
    "SELECT mean::text FROM ({}) t": "would change its type",
    "SELECT team FROM ({}) t WHERE mean > 'x'": "of another type",
    "SELECT team FROM ({}) t WHERE team = 3": "of another type",
    "SELECT mean, mean FROM ({}) t": "two columns have the same name",
    "SELECT * FROM ({}) t GROUP BY 1": "GROUP BY needs the columns by name",
    "SELECT team FROM ({}) t ORDER BY 7": "7 is not the place of a column",
    "SELECT team FROM ({}) t UNION SELECT 'x'": "UNION",
    "SELECT * FROM ({}) t LIMIT -1": "'-' is not read",
}


@pytest.mark.parametrize("query", REFUSED)
def test_whatever_else_is_refused_before_anything_is_charged(query, spending, database):
    before = [one.spent for one in database.left()]
    with pytest.raises((psycopg.Error, dbapi.ProgrammingError)) as refused:
        spending.ask(query.format(FRESH.format(41)))
    assert REFUSED[query] in str(refused.value)
    assert [one.spent for one in database.left()] == before


def test_nested_tables_that_filter_and_rename_are_read_by_the_language(door):
    count = door.ask("SELECT count(*) AS n FROM (SELECT age AS years FROM pay WHERE age > 40) AS t WHERE years < 60")[1]
    assert count == door.ask("SELECT count(*) AS n FROM pay WHERE age > 40 AND age < 60")[1]


def test_queries_around_each_other_and_long_ones_are_bounded(door):
    sql = MEANS
    for _ in range(12):
        sql = f"SELECT * FROM ({sql}) t"
    for query, said in (
        (sql, "does more than filter and rename"),
        (f"SELECT * FROM ({MEANS}) t WHERE {'(' * 3000}1=0{')' * 3000}", "more than 100 conditions"),
        (f"SELECT * FROM ({MEANS}) t WHERE {'NOT ' * 3000} n = 1", "more than 100 conditions"),
        (f"SELECT {'CAST(' * 1000}n{')' * 1000} FROM ({MEANS}) t", "not read"),
        (f"SELECT {'sum(' * 1000}n{')' * 1000} FROM ({MEANS}) t", "not read"),
        (f"SELECT * FROM ({MEANS}) t WHERE n = {'(' * 1000}1{')' * 1000}", "not read"),
    ):
        with pytest.raises((psycopg.Error, dbapi.ProgrammingError), match=said):
            door.ask(query)


def test_copies_prices_and_descriptions_are_those_of_the_question_inside(server, database):
    here = Postgres(server, False)
    with here.line.cursor().copy(f"COPY (SELECT team, n FROM ({MEANS}) t ORDER BY team LIMIT 1) TO STDOUT") as copy:
        assert b"".join(copy) == b"a'b\t40\n"
    before = [one.spent for one in database.left()]
    priced = f"SELECT * FROM ({FRESH.format(51)}) t LIMIT 3 WITHIN 1000000"
    found = here.line.execute(f"PRICE {priced}").fetchall()
    assert found == here.line.execute(f"PRICE {FRESH.format(51)} WITHIN 1000000").fetchall()
    assert [one.spent for one in database.left()] == before
    said = []
    here.line.add_notice_handler(lambda notice: said.append(notice.message_primary))
    here.ask(f"SELECT * FROM ({MEANS}) t")
    assert said[0].startswith("Of the question inside: mean is certainly within")
    here.close()


def test_superset_charts_are_compiled_by_sqlalchemy(server):
    """What Superset builds for a chart on a virtual dataset, with the dialect over HTTP."""
    place = server.url.removeprefix("http://").split(":")
    url = sqlalchemy.URL.create("errorfloor", "x", server.tokens["reader"], place[0], int(place[1]))
    engine = sqlalchemy.create_engine(url.update_query_dict({"max_error": str(EXACT)}))
    inner = sqlalchemy.text(MEANS).columns(*(sqlalchemy.column(name) for name in ("team", "mean", "n")))
    dataset = inner.alias("virtual_table")
    total = sqlalchemy.func.sum(sqlalchemy.column("mean")).label("SUM(mean)")
    query = sqlalchemy.select(sqlalchemy.column("team").label("team"), total).select_from(dataset)
    query = query.where(sqlalchemy.column("n") > 3).group_by(sqlalchemy.column("team")).order_by(total.desc()).limit(2)
    with engine.connect() as line:
        found = line.execute(query)
        assert list(found.keys()) == ["team", "SUM(mean)", "SUM(mean)_low", "SUM(mean)_high"]
        assert len(found.all()) == 2
    engine.dispose()
