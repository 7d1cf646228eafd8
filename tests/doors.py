"""The same twenty questions for every client: what each is told must be the same to the last digit."""

import asyncio
import csv
import datetime
import io
import json
import os
import shutil
import subprocess
from pathlib import Path

USER, HOST = "analyst-1", "127.0.0.1"
QUESTIONS = (  # and how exact, as over HTTP
    ("SELECT avg(wage) AS mean FROM pay", {"max_error": 50000.0}),
    ("SELECT team, avg(wage) AS mean, count(*) AS n FROM pay GROUP BY team", {"max_error": 100000.0}),
    ("SELECT sum(wage) AS total FROM pay WHERE age > 30", {"max_error": 2000000.0}),
    ("SELECT age, avg(wage) AS mean FROM pay GROUP BY age ORDER BY age DESC LIMIT 30", {"spend": 0.001}),
    ("SELECT count(*) AS n, avg(age) AS years FROM pay", {}),
    ("SELECT team, count(*) AS n FROM pay WHERE hired < DATE '2002-03-04' GROUP BY team ORDER BY n DESC", {}),
    ("SELECT avg(wage) AS mean, sum(wage) AS total FROM pay", {"max_error": {"mean": 40000.0, "total": 3000000.0}}),
    ("SELECT age, avg(wage) FROM pay GROUP BY age ORDER BY 2 DESC LIMIT 3", {"max_error": 1000000.0}),
    ("SELECT CASE WHEN team = 'süd' THEN 's' END AS at, avg(wage) AS mean FROM pay GROUP BY at", {"max_error": 9e4}),
    ("SELECT avg(wage) AS mean FROM pay WHERE team = 'a''b'", {"max_error": 80000.0}),
    ("SELECT extract(year FROM hired) AS year, avg(wage) AS mean FROM pay GROUP BY year", {"max_error": 500000.0}),
    ("SELECT avg(above(wage, 40000, 20000)) AS share FROM pay", {"max_error": 0.2}),
    ("SELECT 0.5 * avg(wage) + 3 AS half FROM pay", {"max_error": 33333.25}),
    ("SELECT avg(wage) AS mean FROM pay WHERE age > 1000", {"max_error": 50000.0}),  # of no rows
    ("SELECT avg(wage) AS mean FROM pay", {}),  # how exact?
    ("SELECT sum(wage) AS one FROM pay WHERE person = 17", {"max_error": 3.0}),  # breaks the floor
    ("SELECT wage FROM pay", {"max_error": 1.0}),
    ("SELECT max(wage) FROM pay", {"max_error": 1.0}),
    ("SELECT avg(wage) FROM wages", {"max_error": 1.0}),
    ("SELECT avg(wage FROM pay", {"max_error": 1.0}),
)


def hinted(sql, wish):
    """A question as one statement that says itself how exact its answer should be."""
    bound = wish.get("max_error")
    if isinstance(bound, dict):
        return f"/*+ max_error='{', '.join(f'{name}={one!r}' for name, one in bound.items())}' */ {sql}"
    if bound is not None:
        return f"{sql} WITHIN {bound!r}"
    return f"{sql} /*+ spend={wish['spend']!r} */" if wish else sql


STATEMENTS = ("SET charge = on", *(hinted(*one) for one in QUESTIONS))


def plain(value):
    """A value as every client can give it: numbers are doubles, dates their ISO text."""
    if value is None or value in ("null", ""):
        return None
    if isinstance(value, bool):
        return value
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.isoformat()
    if value in ("t", "true", "TRUE", "f", "false", "FALSE"):
        return value[0] in "tT"
    try:
        return float(value)
    except ValueError:
        return value


def table(names, rows):
    return {"names": list(names), "rows": [[plain(cell) for cell in row] for row in rows]}


def refusal(said):
    return {"error": said}


# -- the doors: each gives what it is told of each question


def over_http(server):
    client = server.client("analyst")
    told = []
    for sql, wish in QUESTIONS:
        reply = client.post("/v1/ask", json={"sql": sql, **wish})
        found = reply.json()
        if "error" in found:
            told.append(refusal(found["error"]["message"]))
            continue
        private = [one["name"] for one in found["outputs"] if not one["exact"]]
        ends = [f"{name}{end}" for name in private for end in ("_low", "_high")]
        order = [*(name for name in found["columns"] if name not in ends), *ends]
        places = [found["columns"].index(name) for name in order]
        told.append(table(order, [[row[place] for place in places] for row in found["rows"]]))
    return told


def _environment(server):
    return {**os.environ, "PGPASSWORD": server.tokens["analyst"]}


def with_psql(server):
    told = []
    for one in STATEMENTS[1:]:
        where = f"host={HOST} port={server.postgres} user={USER} dbname=errorfloor"
        command = ["psql", where, "--no-psqlrc", "--quiet", "--csv", "-c", STATEMENTS[0], "-c", one]
        done = subprocess.run(command, capture_output=True, text=True, env=_environment(server), timeout=60)
        error = [line for line in done.stderr.splitlines() if line.startswith("ERROR:  ")]
        if error:
            told.append(refusal(error[0].removeprefix("ERROR:  ")))
            continue
        names, *rows = csv.reader(io.StringIO(done.stdout))
        told.append(table(names, rows))
    return told


def with_psycopg(server, **options):
    import psycopg

    told = []
    place = {"host": HOST, "port": server.postgres, "user": USER, "password": server.tokens["analyst"]}
    with psycopg.connect(**place, dbname="errorfloor", autocommit=True) as line:
        for one in STATEMENTS:
            try:
                found = line.execute(one, **options)
            except psycopg.Error as problem:
                told.append(refusal(problem.diag.message_primary))
                continue
            told.append(
                table(
                    [] if found.description is None else [c.name for c in found.description],
                    found.fetchall() if found.description else [],
                )
            )
    return told[1:]


def with_psycopg_in_binary(server):
    return with_psycopg(server, binary=True)


def with_asyncpg(server):
    import asyncpg

    async def ask():
        told = []
        password = server.tokens["analyst"]
        line = await asyncpg.connect(host=HOST, port=server.postgres, user=USER, password=password, database="x")
        for one in STATEMENTS:
            try:
                statement = await line.prepare(one)
                rows = await statement.fetch()
                told.append(table([c.name for c in statement.get_attributes()], [tuple(row) for row in rows]))
            except asyncpg.PostgresError as problem:
                told.append(refusal(problem.as_dict()["message"]))
        await line.close()
        return told[1:]

    return asyncio.run(ask())


def with_adbc(server):
    """ADBC's driver, which copies rows in binary into Arrow."""
    from urllib.parse import quote

    from adbc_driver_manager import Error
    from adbc_driver_postgresql import dbapi

    told = []
    password = quote(server.tokens["analyst"], safe="")
    with dbapi.connect(f"postgresql://{USER}:{password}@{HOST}:{server.postgres}/errorfloor", autocommit=True) as line:
        for one in STATEMENTS:
            with line.cursor() as cursor:
                try:
                    cursor.execute(one)
                    found = cursor.fetch_arrow_table()
                except Error as problem:
                    told.append(refusal(_after_error(str(problem))))
                    continue
                rows = zip(*(column.to_pylist() for column in found.columns), strict=True)
                told.append(table(found.column_names, rows))
    return told[1:]


def _after_error(text):
    return text.partition("ERROR: ")[2].partition("\n")[0].strip()


def with_sqlalchemy_and_pandas(server):
    import pandas
    import sqlalchemy

    url = sqlalchemy.URL.create(
        "postgresql+psycopg", USER, server.tokens["analyst"], HOST, server.postgres, "errorfloor"
    )
    engine = sqlalchemy.create_engine(url, isolation_level="AUTOCOMMIT")
    told = []
    with engine.connect() as line:
        line.execute(sqlalchemy.text(STATEMENTS[0]))
        for one in STATEMENTS[1:]:
            try:
                found = pandas.read_sql(sqlalchemy.text(one.replace(":", "\\:")), line)
            except sqlalchemy.exc.DBAPIError as problem:
                told.append(refusal(problem.orig.diag.message_primary))
                continue
            told.append(table(found.columns, found.astype(object).where(found.notna(), None).values.tolist()))
    engine.dispose()
    return told


def _from_lines(text):
    told, names, rows, error = [], [], [], None
    for line in text.splitlines():
        kind, *cells = line.split("\t")
        if kind == "names":
            names = cells
        elif kind == "row":
            rows.append(cells)
        elif kind == "error":
            error = cells[1]
        elif kind == "end":
            told.append(refusal(error) if error is not None else table(names, rows))
            names, rows, error = [], [], None
    return told


def _run(command, given, server):
    done = subprocess.run(command, input=given.encode(), capture_output=True, env=_environment(server), timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def with_jdbc(server):
    place = f"jdbc:postgresql://{HOST}:{server.postgres}/errorfloor"
    command = ["java", "-cp", JDBC, str(CLIENTS / "Ask.java"), place, USER, server.tokens["analyst"]]
    return _from_lines(_run(command, "\0".join(STATEMENTS), server))[1:]


def looked_up_with_jdbc(server):
    """What tools on JDBC look up, by name."""
    place = f"jdbc:postgresql://{HOST}:{server.postgres}/errorfloor"
    command = ["java", "-cp", JDBC, str(CLIENTS / "Look.java"), place, USER, server.tokens["analyst"]]
    lines = [line.split("\t") for line in _run(command, "", server).splitlines()]
    return {what: values for what, *values in lines}


def odbc_line(server):
    import pyodbc

    place = f"Server={HOST};Port={server.postgres};Database=errorfloor;UID={USER};PWD={server.tokens['analyst']}"
    return pyodbc.connect(f"DRIVER={ODBC};{place}", autocommit=True)


def with_odbc(server):
    import pyodbc

    told = []
    line = odbc_line(server)
    for one in STATEMENTS:
        try:
            found = line.execute(one)
        except pyodbc.Error as problem:
            told.append(refusal(problem.args[1].partition("ERROR: ")[2].partition(";\n")[0].partition("\n")[0].strip()))
            continue
        told.append(table([c[0] for c in found.description or ()], found.fetchall() if found.description else []))
    line.close()
    return told[1:]


def with_r(server, folder):
    file = folder / "statements.sql"
    file.write_text("\n--\n".join(STATEMENTS) + "\n", encoding="utf-8")
    command = ["Rscript", str(CLIENTS / "ask.R"), str(file), str(server.postgres), USER]
    return _from_lines(_run(command, "", server))[1:]


def with_node(server):
    command = ["node", "--no-warnings", str(CLIENTS / "ask.mjs"), str(NODE), str(server.postgres), USER]
    lines = _run(command, "\0".join(STATEMENTS), server).splitlines()
    found = [json.loads(line) for line in lines[1:]]
    return [refusal(one["error"]) if "error" in one else table(one["names"], one["rows"]) for one in found]


# -- what is installed

CLIENTS = Path(__file__).parent / "clients"
JDBC = "/usr/share/java/postgresql.jar"
ODBC = next(map(str, Path("/usr/lib").glob("*/odbc/psqlodbcw.so")), "")
NODE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "errorfloor-tests" / "node-postgres-8"


def no_asyncpg():
    return _no_module("asyncpg", "pip install asyncpg")


def no_psql():
    return None if shutil.which("psql") else "psql is missing (apt-get install postgresql-client)"


def no_jdbc():
    if shutil.which("javac") is None or not Path(JDBC).exists():
        return "JDBC is missing (apt-get install default-jdk-headless libpostgresql-jdbc-java)"
    return None


def no_odbc():
    if not ODBC:
        return "ODBC is missing (apt-get install odbc-postgresql unixodbc)"
    return _no_module("pyodbc", "pip install pyodbc")


def no_r():
    if shutil.which("Rscript") is None or not Path("/usr/lib/R/site-library/RPostgreSQL").exists():
        return "R is missing (apt-get install r-cran-rpostgresql)"
    return None


def no_node():
    if shutil.which("node") is None or shutil.which("npm") is None:
        return "node and npm are missing"
    if not (NODE / "node_modules" / "pg" / "package.json").exists():
        NODE.mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(NODE), "pg@8"]
        try:
            done = subprocess.run(command, capture_output=True, timeout=120)
        except subprocess.TimeoutExpired:
            done = None
        if done is None or done.returncode:
            return "npm could not install pg@8"
    return None


def _no_module(name, command):
    import importlib.util

    return None if importlib.util.find_spec(name) else f"{name} is missing ({command})"
