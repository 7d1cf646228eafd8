"""PEP 249 and SQLAlchemy over HTTP: the same numbers, charges and refusals, for tools that know nothing else."""

import datetime
import shutil

import pandas
import pytest
import sqlalchemy
from sqlalchemy.dialects import registry

import doors
from errorfloor.client import dbapi
from errorfloor.errors import AllowanceError, RefusedError
from errorfloor.service import open_database
from serving import served, write_pay

registry.register("errorfloor", "errorfloor.client.dialect", "ErrorFloorDialect")  # where it is not installed anew
MEAN = "SELECT avg(wage) AS mean FROM pay"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return write_pay(tmp_path_factory.mktemp("home"), floor=10.0).parent


def through(door, home, folder):
    shutil.copytree(home, folder / "home")
    with open_database(folder / "home" / "errorfloor.toml") as database, served(database, folder) as server:
        return door(server), [(one.name, one.spent) for one in database.left()]


@pytest.fixture(scope="module")
def over_http(home, tmp_path_factory):
    return through(doors.over_http, home, tmp_path_factory.mktemp("http"))


def with_dbapi(server):
    told = []
    with dbapi.connect(server.url, token=server.tokens["analyst"], charge=True) as line:
        for one in doors.STATEMENTS[1:]:
            cursor = line.cursor()
            try:
                cursor.execute(one)
            except dbapi.DatabaseError as problem:
                told.append(doors.refusal(str(problem)))
                continue
            told.append(doors.table([column[0] for column in cursor.description], cursor.fetchall()))
    return told


def address(server, role="analyst", **query):
    place = server.url.removeprefix("http://")
    host, port = place.split(":")
    return sqlalchemy.URL.create("errorfloor", role, server.tokens[role], host, int(port), query=query)


def with_the_dialect(server):
    engine = sqlalchemy.create_engine(address(server, charge="on"))
    told = []
    with engine.connect() as line:
        for one in doors.STATEMENTS[1:]:
            try:
                found = pandas.read_sql(sqlalchemy.text(one), line)
            except sqlalchemy.exc.DBAPIError as problem:
                told.append(doors.refusal(str(problem.orig)))
                continue
            told.append(doors.table(found.columns, found.astype(object).where(found.notna(), None).values.tolist()))
    engine.dispose()
    return told


@pytest.mark.parametrize("door", [with_dbapi, with_the_dialect])
def test_twenty_questions_are_answered_as_over_http(door, home, over_http, tmp_path):
    told, charged = through(door, home, tmp_path)
    for mine, theirs, (sql, _) in zip(told, over_http[0], doors.QUESTIONS, strict=True):
        assert mine == theirs, sql
    assert charged == over_http[1]


@pytest.fixture(scope="module")
def server(home, tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    shutil.copytree(home, folder / "home")
    with open_database(folder / "home" / "errorfloor.toml") as database, served(database, folder) as here:
        yield here


@pytest.fixture
def line(server):
    with dbapi.connect(server.url, token=server.tokens["analyst"], max_error=1e6) as here:
        yield here


def test_connection_answers_only_what_is_free_unless_it_may_be_charged(server, line):
    with pytest.raises(dbapi.OperationalError, match="never released") as refused:
        line.cursor().execute(MEAN)
    assert isinstance(refused.value.__cause__, AllowanceError)
    with dbapi.connect(server.url, token=server.tokens["analyst"], charge=True, bounds=False) as spends:
        row = spends.cursor().execute(f"{MEAN} WITHIN 1000000").fetchall()
    assert line.cursor().execute(MEAN).fetchone()[:1] == row[0]


def test_cursor_does_what_the_standard_says(line):
    cursor = line.cursor()
    assert (cursor.description, cursor.rowcount) == (None, -1)
    with pytest.raises(dbapi.InterfaceError, match="no rows"):
        cursor.fetchone()
    cursor.execute(
        "SELECT team, hired, count(*) AS n FROM pay WHERE age > ? AND team <> ? GROUP BY team, hired", (30, "x?")
    )
    assert [column[0] for column in cursor.description] == ["team", "hired", "n"]
    kinds = [column[1] for column in cursor.description]
    assert kinds[0] == dbapi.STRING and kinds[1] == dbapi.DATETIME and kinds[2] == dbapi.NUMBER
    assert kinds[0] != dbapi.NUMBER
    first, rest = cursor.fetchone(), cursor.fetchmany(2)
    assert isinstance(first[1], datetime.date) and len(rest) == 2
    assert len(list(cursor)) == cursor.rowcount - 3 and cursor.fetchall() == []
    assert cursor.fetch_arrow_table().num_rows == cursor.rowcount
    with pytest.raises(dbapi.ProgrammingError) as refused:
        cursor.execute("SELECT max(wage) FROM pay")
    assert isinstance(refused.value.__cause__, RefusedError)
    with pytest.raises(dbapi.ProgrammingError, match="2 question marks for values, and 1 values"):
        cursor.execute("SELECT count(*) FROM pay WHERE age > ? AND age < ?", (1,))
    with pytest.raises(dbapi.ProgrammingError, match="one question is asked at a time"):
        cursor.execute("SELECT count(*) FROM pay; SELECT 1")
    with pytest.raises(dbapi.NotSupportedError):
        cursor.executemany("SELECT 1", [()])
    line.commit()
    line.rollback()
    line.close()
    with pytest.raises(dbapi.InterfaceError, match="closed"):
        line.cursor()


def test_dialect_reflects_tables_and_compiles_questions(server):
    engine = sqlalchemy.create_engine(address(server, "reader"))
    found = sqlalchemy.inspect(engine)
    assert found.get_table_names() == ["pay"] and found.has_table("pay") and not found.has_table("wages")
    table = sqlalchemy.Table("pay", sqlalchemy.MetaData(), autoload_with=engine)
    assert {column.name: str(column.type) for column in table.columns}["hired"] == "DATE"
    assert [column.name for column in table.primary_key] == ["person"]
    with pytest.raises(sqlalchemy.exc.NoSuchTableError):
        sqlalchemy.Table("wages", sqlalchemy.MetaData(), autoload_with=engine)
    asked = sqlalchemy.select(table.c.team, sqlalchemy.func.count().label("n"))
    asked = asked.where(table.c.age > 40, table.c.team != "a'b").group_by(table.c.team).limit(1)
    with engine.connect() as line:
        assert line.execute(asked).all() == [("north", 19)]
    engine.dispose()


@pytest.mark.parametrize("query", [{"charg": "on"}, {"charge": "perhaps"}, {"max_error": "-1"}])
def test_address_that_says_something_else_is_refused(server, query):
    with pytest.raises(ValueError, match=r"mean nothing here|is on, off, or a share|must be a number above 0"):
        sqlalchemy.create_engine(address(server, **query)).connect()


def test_superset_finds_and_asks_through_the_dialect(server):
    """What Superset calls when a database is added, a dataset made, and SQL Lab used."""
    engine = sqlalchemy.create_engine(address(server, "reader"))
    with engine.raw_connection() as line:
        assert engine.dialect.do_ping(line.dbapi_connection)
    found = sqlalchemy.inspect(engine)
    assert found.default_schema_name == "public" and found.get_schema_names() == ["public"]
    assert found.get_table_names("public") == ["pay"] and found.get_table_names("other") == []
    assert found.has_table("pay", schema="public") and not found.has_table("pay", schema="other")
    for none in (found.get_view_names, found.get_materialized_view_names, found.get_sequence_names):
        assert none("public") == []
    for none in (found.get_indexes, found.get_unique_constraints, found.get_check_constraints, found.get_foreign_keys):
        assert none("pay", schema="public") == []
    assert found.get_table_comment("pay", schema="public") == {"text": "private: wage"}
    comments = {column["name"]: column["comment"] for column in found.get_columns("pay", schema="public")}
    assert comments["team"] == "public" and comments["wage"] == "private, within 0 … 1e+09 EUR"
    table = sqlalchemy.Table("pay", sqlalchemy.MetaData(), schema="public", autoload_with=engine)
    asked = sqlalchemy.select(table.c.team, sqlalchemy.func.count().label("n")).group_by(table.c.team)
    text = str(asked.compile(engine, compile_kwargs={"literal_binds": True}))
    assert "FROM public.pay" in text
    with engine.raw_connection() as line:
        cursor = line.cursor()
        cursor.execute(f"SELECT * FROM ({text}) AS inner_qry LIMIT 1001")
        assert [column[0] for column in cursor.description] == ["team", "n"] and len(cursor.fetchall()) == 3
    assert len(pandas.read_sql(f"-- a chart\n{text}\nLIMIT 2;", engine)) == 2
    engine.dispose()
