"""One conformance suite, every client: twenty questions through each door, on tables and a ledger of their own."""

import shutil

import pytest

import doors
from errorfloor.service import open_database
from serving import served, write_pay

CLIENTS = {
    "psycopg": (doors.with_psycopg, None),
    "psycopg-binary": (doors.with_psycopg_in_binary, None),
    "sqlalchemy-pandas": (doors.with_sqlalchemy_and_pandas, None),
    "adbc": (doors.with_adbc, None),
    "asyncpg": (doors.with_asyncpg, doors.no_asyncpg),
    "psql": (doors.with_psql, doors.no_psql),
    "jdbc": (doors.with_jdbc, doors.no_jdbc),
    "odbc": (doors.with_odbc, doors.no_odbc),
    "r": (doors.with_r, doors.no_r),
    "node": (doors.with_node, doors.no_node),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Tables that were registered once; each client gets a copy, so that the ledgers begin alike."""
    return write_pay(tmp_path_factory.mktemp("home"), floor=10.0).parent


def through(door, home, folder):
    """What a door tells of the questions, and what the ledger then says was charged."""
    shutil.copytree(home, folder / "home")
    with open_database(folder / "home" / "errorfloor.toml") as database, served(database, folder, postgres=0) as server:
        told = door(server, folder) if door is doors.with_r else door(server)
        charged = [(one.name, one.spent) for one in database.left()]
        labels = [(one["label"], one["analyst"]) for one in database.history()]
    return told, charged, labels


def test_jdbc_finds_what_is_declared_and_prepares_what_it_asks_often(home, tmp_path):
    problem = doors.no_jdbc()
    if problem is not None:
        pytest.skip(f"NOT TESTED: the PostgreSQL door with jdbc: {problem}")
    found, _, _ = through(doors.looked_up_with_jdbc, home, tmp_path)
    assert found["tables"] == ["pay"] and found["schemas"] == ["information_schema", "pg_catalog", "public"]
    assert found["columns"] == ["person", "team", "hired", "age", "wage"]
    assert found["types"] == ["int8", "text", "date", "int8", "float8"]
    assert found["comments"] == ["private, within 0 … 1e+09 EUR, with a floor of 10 EUR"]
    assert (found["keys"], found["best"], found["indexes"]) == (["person"], ["person"], ["pay_pkey"])
    assert all(found[none] == [""] for none in ("imported", "exported", "functions", "procedures"))
    assert (found["privileges"], set(found["granted"])) == (["SELECT"], {"SELECT"})
    assert found["described"] == ["n", "int8"] and found["asked"] == ["19", "19", "19"]
    assert sum(map(int, found["fetched"])) == 120


def test_odbc_finds_what_is_declared(home, tmp_path):
    problem = doors.no_odbc()
    if problem is not None:
        pytest.skip(f"NOT TESTED: the PostgreSQL door with odbc: {problem}")

    def look(server):
        with doors.odbc_line(server) as line:
            cursor = line.cursor()
            columns = [row.column_name for row in cursor.columns(table="pay")]
            keys = [row.column_name for row in cursor.primaryKeys("pay")]
            found = [row.table_name for row in cursor.tables(schema="public")]
            return found, columns, keys, len(cursor.statistics("pay").fetchall()), cursor.foreignKeys("pay").fetchall()

    found, _, _ = through(look, home, tmp_path)
    assert found == (["pay"], ["person", "team", "hired", "age", "wage"], ["person"], 1, [])


@pytest.fixture(scope="module")
def over_http(home, tmp_path_factory):
    told = through(doors.over_http, home, tmp_path_factory.mktemp("http"))
    assert sum("error" in one for one in told[0]) == 6 and len(told[0]) == 20
    assert len({round(row[3] - row[2], 6) for row in told[0][3]["rows"]}) == 2  # by a share: bounds follow sizes
    return told


def without_ends_of_constants(mine, theirs):
    """Leave out the intervals that this door has for every private output, and HTTP not for one of no rows."""
    if "error" in mine or "error" in theirs or len(mine["names"]) == len(theirs["names"]):
        return mine
    assert set(mine["names"][1:]) == {"mean_low", "mean_high"} and mine["rows"] == [[None, None, None]]
    return {"names": mine["names"][:1], "rows": [row[:1] for row in mine["rows"]]}


@pytest.mark.parametrize("name", CLIENTS)
def test_every_client_is_told_the_same_as_over_http(name, home, over_http, tmp_path):
    door, missing = CLIENTS[name]
    problem = None if missing is None else missing()
    if problem is not None:
        pytest.skip(f"NOT TESTED: the PostgreSQL door with {name}: {problem}")
    told, charged, labels = through(door, home, tmp_path)
    for mine, theirs, (sql, _) in zip(told, over_http[0], doors.QUESTIONS, strict=True):
        assert without_ends_of_constants(mine, theirs) == theirs, sql
    assert charged == over_http[1]
    assert labels == over_http[2]
