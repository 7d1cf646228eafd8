"""Tools look tables up in PostgreSQL's system catalogue; what they find is what is declared."""

import subprocess

import psycopg
import pytest
import sqlalchemy

import doors
from errorfloor.server import Role, TokenFile
from errorfloor.server.token import Terms
from serving import served

BY_HAND = {  # what tools that cannot be installed here ask, written after their sources and documentation
    "Metabase: tables": """
        SELECT n.nspname AS schema, c.relname AS name, CASE c.relkind WHEN 'r' THEN 'TABLE' WHEN 'v' THEN 'VIEW'
        ELSE NULL END AS type, d.description, stat.n_live_tup AS estimated_row_count FROM pg_catalog.pg_class AS c
        INNER JOIN pg_catalog.pg_namespace AS n ON c.relnamespace = n.oid LEFT JOIN pg_catalog.pg_description AS d
        ON c.oid = d.objoid AND d.objsubid = 0 AND d.classoid = 'pg_class'::regclass LEFT JOIN pg_stat_user_tables
        AS stat ON n.nspname = stat.schemaname AND c.relname = stat.relname WHERE c.relnamespace = n.oid AND
        n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' AND c.relkind in ('r', 'p', 'v', 'f', 'm') AND
        n.nspname IN ('public') ORDER BY type ASC, schema ASC, name ASC""",
    "Metabase: fields": """
        SELECT c.column_name AS name, CASE WHEN c.udt_schema IN ('public', 'pg_catalog') THEN FORMAT('%s',
        c.udt_name) ELSE FORMAT('"%s"."%s"', c.udt_schema, c.udt_name) END AS "database-type", c.ordinal_position -
        1 AS "database-position", c.table_name AS "table-name", pk.column_name IS NOT NULL AS "pk?",
        COL_DESCRIPTION(CAST(CAST(FORMAT('%I.%I', CAST(c.table_schema AS TEXT), CAST(c.table_name AS TEXT)) AS
        REGCLASS) AS OID), c.ordinal_position) AS "field-comment", (column_default IS NULL) AND (is_nullable = 'NO')
        AS "database-required" FROM information_schema.columns AS c LEFT JOIN (SELECT tc.table_schema,
        tc.table_name, kc.column_name FROM information_schema.table_constraints AS tc INNER JOIN
        information_schema.key_column_usage AS kc ON tc.constraint_name = kc.constraint_name AND tc.table_schema =
        kc.table_schema WHERE tc.constraint_type = 'PRIMARY KEY') AS pk ON c.table_schema = pk.table_schema AND
        c.table_name = pk.table_name AND c.column_name = pk.column_name WHERE c.table_schema !~
        '^information_schema|catalog_history|pg_' AND c.table_name IN ('pay') ORDER BY "table-name",
        "database-position" """,
    "Metabase: privileges": """
        SELECT NULL AS role, t.schemaname AS schema, t.objectname AS "table",
        pg_catalog.has_any_column_privilege(current_user, '"' || t.schemaname || '"."' || t.objectname || '"',
        'update') AS "update", pg_catalog.has_table_privilege(current_user, t.objectname, 'SELECT') AS "select" FROM
        (SELECT schemaname, tablename AS objectname FROM pg_catalog.pg_tables UNION SELECT schemaname, viewname AS
        objectname FROM pg_catalog.pg_views) AS t WHERE t.schemaname !~ '^pg_' AND t.schemaname <>
        'information_schema' AND pg_catalog.has_schema_privilege(current_user, t.schemaname, 'USAGE')""",
    "Metabase: enumerations": """
        SELECT nspname, typname FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE t.oid IN (SELECT
        DISTINCT enumtypid FROM pg_enum e)""",
    "DBeaver: schemas": """
        SELECT n.oid, n.*, d.description FROM pg_catalog.pg_namespace n LEFT OUTER JOIN pg_catalog.pg_description d
        ON d.objoid = n.oid AND d.objsubid = 0 AND d.classoid = 'pg_namespace'::regclass ORDER BY nspname""",
    "DBeaver: tables": """
        SELECT c.oid, c.*, d.description, pg_catalog.pg_get_expr(c.relpartbound, c.oid) AS partition_expr, (SELECT
        array_agg(i.inhparent) FROM pg_catalog.pg_inherits i WHERE i.inhrelid = c.oid) AS parents FROM
        pg_catalog.pg_class c LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = 0 AND
        d.classoid = 'pg_class'::regclass WHERE c.relnamespace = 2200 AND c.relkind NOT IN ('i', 'I', 'c')""",
    "DBeaver: columns": """
        SELECT c.relname, a.*, pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) AS def_value, dsc.description,
        dep.objid FROM pg_catalog.pg_attribute a INNER JOIN pg_catalog.pg_class c ON (a.attrelid = c.oid) LEFT OUTER
        JOIN pg_catalog.pg_attrdef ad ON (a.attrelid = ad.adrelid AND a.attnum = ad.adnum) LEFT OUTER JOIN
        pg_catalog.pg_description dsc ON (c.oid = dsc.objoid AND a.attnum = dsc.objsubid) LEFT OUTER JOIN pg_depend
        dep ON dep.refobjid = a.attrelid AND dep.deptype = 'i' AND dep.refobjsubid = a.attnum WHERE NOT
        a.attisdropped AND c.relkind NOT IN ('i', 'I', 'c') AND c.oid = 16384 ORDER BY a.attnum""",
    "DBeaver: constraints": """
        SELECT c.oid, c.*, t.relname AS tabrelname, rt.relnamespace AS refnamespace, d.description,
        pg_catalog.pg_get_constraintdef(c.oid) AS definition FROM pg_catalog.pg_constraint c INNER JOIN
        pg_catalog.pg_class t ON t.oid = c.conrelid LEFT OUTER JOIN pg_catalog.pg_class rt ON rt.oid = c.confrelid
        LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = 0 WHERE c.conrelid = 16384
        ORDER BY c.oid""",
    "DBeaver: databases": """
        SELECT db.oid, db.* FROM pg_catalog.pg_database db WHERE 1 = 1 AND datallowconn ORDER BY db.datname""",
    "DBeaver: session": """
        SELECT current_schema(), session_user""",
    "Tableau: tables": """
        SELECT NULL, n.nspname, c.relname FROM pg_catalog.pg_class c, pg_catalog.pg_namespace n WHERE n.oid =
        c.relnamespace AND c.relkind IN ('r', 'v', 'm', 'f', 'p') AND n.nspname NOT IN ('pg_catalog',
        'information_schema', 'pg_toast') ORDER BY nspname, relname""",
    "Tableau: columns": """
        SELECT n.nspname, c.relname, a.attname, a.atttypid, t.typname, a.attnum, a.attlen, a.atttypmod, a.attnotnull,
        c.relhasrules, c.relkind, c.oid, pg_get_expr(d.adbin, d.adrelid), CASE t.typtype WHEN 'd' THEN t.typbasetype
        ELSE 0 END, t.typtypmod FROM (((pg_catalog.pg_class c INNER JOIN pg_catalog.pg_namespace n ON n.oid =
        c.relnamespace AND c.relname = 'pay' AND n.nspname = 'public') INNER JOIN pg_catalog.pg_attribute a ON (NOT
        a.attisdropped) AND a.attnum > 0 AND a.attrelid = c.oid) INNER JOIN pg_catalog.pg_type t ON t.oid =
        a.atttypid) LEFT OUTER JOIN pg_attrdef d ON a.atthasdef AND d.adrelid = a.attrelid AND d.adnum = a.attnum
        ORDER BY n.nspname, c.relname, attnum""",
    "Tableau: keys": """
        SELECT ta.attname, ia.attnum, ic.relname, n.nspname, tc.relname FROM pg_catalog.pg_attribute ta,
        pg_catalog.pg_attribute ia, pg_catalog.pg_class tc, pg_catalog.pg_index i, pg_catalog.pg_namespace n,
        pg_catalog.pg_class ic WHERE tc.relname = 'pay' AND n.nspname = 'public' AND tc.oid = i.indrelid AND n.oid =
        tc.relnamespace AND i.indisprimary = 't' AND ia.attrelid = i.indexrelid AND ta.attrelid = i.indrelid AND
        ta.attnum = i.indkey[ia.attnum-1] AND (NOT ta.attisdropped) AND (NOT ia.attisdropped) AND ic.oid =
        i.indexrelid ORDER BY ia.attnum""",
    "Tableau: a temporary table": """
        SELECT COUNT(*) FROM information_schema.tables WHERE table_type = 'LOCAL TEMPORARY'""",
    "DBeaver: settings": """
        SELECT version(), current_database(), pg_catalog.pg_is_in_recovery()""",
    "DBeaver: types": """
        SELECT t.oid, t.*, c.relkind, format_type(nullif(t.typbasetype, 0), t.typtypmod) AS base_type_name FROM
        pg_catalog.pg_type t LEFT OUTER JOIN pg_catalog.pg_class c ON c.oid = t.typrelid WHERE t.typname = 'float8'
        ORDER BY t.oid""",
    "DBeaver: indexes": """
        SELECT i.*, i.indkey AS keys, c.relname, c.relnamespace, c.relam, tc.relname AS tabrelname,
        pg_catalog.pg_get_expr(i.indpred, i.indrelid, true) AS pred_expr FROM pg_catalog.pg_index i INNER JOIN
        pg_catalog.pg_class c ON c.oid = i.indexrelid INNER JOIN pg_catalog.pg_class tc ON tc.oid = i.indrelid WHERE
        i.indrelid = 16384 ORDER BY tabrelname, c.relname""",
    "Metabase: keys to others": """
        SELECT fk_ns.nspname AS "fk-table-schema", fk_table.relname AS "fk-table-name", fk_column.attname AS
        "fk-column-name", pk_table.relname AS "pk-table-name" FROM pg_constraint AS c JOIN pg_class AS fk_table ON
        c.conrelid = fk_table.oid JOIN pg_namespace AS fk_ns ON c.connamespace = fk_ns.oid JOIN pg_attribute AS
        fk_column ON c.conrelid = fk_column.attrelid JOIN pg_class AS pk_table ON c.confrelid = pk_table.oid WHERE
        fk_ns.nspname !~ '^information_schema|catalog_history|pg_' AND c.contype = 'f' AND fk_column.attnum =
        ANY(c.conkey)""",
    "Metabase: the zone": "SHOW TimeZone",
    "Superset: schemas": """
        SELECT nspname FROM pg_catalog.pg_namespace WHERE nspname NOT LIKE 'pg\\_%' ORDER BY nspname""",
    "Superset: databases": """
        SELECT datname FROM pg_database WHERE datistemplate = false""",
    "dbt: dependencies": """
        select distinct a.nspname as schema, b.relname as name from pg_class as b join pg_namespace as a on a.oid =
        b.relnamespace join pg_depend as d on d.refobjid = b.oid and d.classid = 'pg_rewrite'::regclass and
        d.refclassid = 'pg_class'::regclass and d.deptype = 'i' where a.nspname not like 'pg\\_%' order by schema""",
    "dbt: relations": """
        select 'errorfloor' as database, tablename as name, schemaname as schema, 'table' as type from pg_tables where
        schemaname ilike 'public' union all select 'errorfloor' as database, viewname as name, schemaname as schema,
        'view' as type from pg_views where schemaname ilike 'public' union all select 'errorfloor' as database,
        matviewname as name, schemaname as schema, 'materialized_view' as type from pg_matviews where schemaname ilike
        'public'""",
    "dbt: catalogue": """
        select 'errorfloor' as table_database, s.nspname as table_schema, t.relname as table_name, case t.relkind when
        'v' then 'VIEW' when 'm' then 'MATERIALIZED VIEW' else 'BASE TABLE' end as table_type, c.attname as
        column_name, c.attnum as column_index, pg_catalog.format_type(c.atttypid, c.atttypmod) as column_type,
        pg_get_userbyid(t.relowner) as table_owner from pg_catalog.pg_namespace s join pg_catalog.pg_class t on
        t.relnamespace = s.oid join pg_catalog.pg_attribute c on c.attrelid = t.oid where ((upper(s.nspname) =
        upper('public') and upper(t.relname) = upper('pay'))) and not pg_is_other_temp_schema(s.oid) and
        t.relpersistence in ('p', 'u') and t.relkind in ('r', 'v', 'f', 'p', 'm') and c.attnum > 0 and not
        c.attisdropped order by s.nspname, t.relname, c.attnum""",
    "dbt: columns": """
        select column_name, data_type, character_maximum_length, numeric_precision, numeric_scale from
        "errorfloor".INFORMATION_SCHEMA.columns where table_name = 'pay' and table_schema = 'public' order by
        ordinal_position""",
    "Power BI: types": """
        SELECT ns.nspname, t.oid, t.typname, t.typtype, t.typnotnull, t.elemtypoid FROM ( SELECT typ.oid,
        typ.typnamespace, typ.typname, typ.typtype, typ.typrelid, typ.typnotnull, typ.relkind, elemtyp.oid AS
        elemtypoid, elemtyp.typname AS elemtypname, elemcls.relkind AS elemrelkind, CASE WHEN elemproc.proname =
        'array_recv' THEN 'a' ELSE elemtyp.typtype END AS elemtyptype FROM ( SELECT typ.oid, typnamespace, typname,
        typrelid, typnotnull, relkind, typelem AS elemoid, CASE WHEN proc.proname = 'array_recv' THEN 'a' ELSE
        typ.typtype END AS typtype, CASE WHEN proc.proname = 'array_recv' THEN typ.typelem WHEN typ.typtype = 'r'
        THEN rngsubtype END AS elemtypoid FROM pg_type AS typ LEFT JOIN pg_class AS cls ON (cls.oid = typ.typrelid)
        LEFT JOIN pg_proc AS proc ON proc.oid = typ.typreceive LEFT JOIN pg_range ON (pg_range.rngtypid = typ.oid))
        AS typ LEFT JOIN pg_type AS elemtyp ON elemtyp.oid = elemtypoid LEFT JOIN pg_class AS elemcls ON
        (elemcls.oid = elemtyp.typrelid) LEFT JOIN pg_proc AS elemproc ON elemproc.oid = elemtyp.typreceive) AS t
        JOIN pg_namespace AS ns ON (ns.oid = typnamespace) WHERE typtype IN ('b', 'r', 'm', 'e', 'd') OR (typtype =
        'a' AND elemtyptype IN ('b', 'r', 'm', 'e', 'd')) ORDER BY CASE WHEN typtype IN ('b', 'e', 'p') THEN 0 WHEN
        typtype = 'a' THEN 5 END""",
    "ADBC: types": """
        SELECT oid, typname, typreceive, typbasetype, typarray, typrelid FROM pg_catalog.pg_type WHERE (typreceive != 0
        OR typsend != 0) AND typtype != 'r' AND typreceive::TEXT != 'array_recv'""",
    "Power BI: tables": """
        SELECT table_schema, table_name, table_type FROM information_schema.tables WHERE table_schema NOT IN
        ('information_schema', 'pg_catalog') ORDER BY table_schema, table_name""",
    "Power BI: keys": """
        SELECT i.constraint_schema || '_' || i.constraint_name, ii.column_name, ii.ordinal_position FROM
        information_schema.table_constraints i INNER JOIN information_schema.key_column_usage ii ON
        i.constraint_schema = ii.constraint_schema AND i.constraint_name = ii.constraint_name WHERE i.table_name =
        'pay' AND i.constraint_type IN ('PRIMARY KEY', 'UNIQUE')""",
}
ROWS = {
    "ADBC: types": 18,
    "Metabase: enumerations": 0,
    "Metabase: fields": 5,
    "DBeaver: columns": 5,
    "Tableau: columns": 5,
    "Metabase: keys to others": 0,
    "Superset: schemas": 2,
    "dbt: dependencies": 0,
    "dbt: catalogue": 5,
    "dbt: columns": 5,
    "DBeaver: schemas": 3,
}


@pytest.fixture(scope="module")
def server(database, tmp_path_factory):
    with served(database, tmp_path_factory.mktemp("postgres"), postgres=0) as here:
        yield here


@pytest.fixture(scope="module")
def line(server):
    who = {"user": "reader-1", "password": server.tokens["reader"], "dbname": "errorfloor"}
    with psycopg.connect(host="127.0.0.1", port=server.postgres, autocommit=True, **who) as here:
        yield here


@pytest.mark.parametrize("name", BY_HAND)
def test_recorded_query_is_answered_from_the_declarations(name, line):
    found = line.execute(BY_HAND[name]).fetchall()
    if name == "Power BI: types":
        assert {"text", "float8", "int8", "date"} <= {row[2] for row in found}
    else:
        assert len(found) == ROWS.get(name, 1)


def test_vectors_are_written_as_the_drivers_read_them(line):
    assert line.execute("SELECT indkey, indoption FROM pg_index").fetchall() == [("1", "0")]


def test_types_are_received_by_functions_with_names(line):
    found = {row[1]: row[2] for row in line.execute(BY_HAND["ADBC: types"]).fetchall()}
    assert (found["float8"], found["date"], found["text"]) == ("float8recv", "date_recv", "textrecv")


def test_metabase_sees_what_is_private_and_in_which_range(line):
    rows = line.execute(BY_HAND["Metabase: fields"]).fetchall()
    comments = {row[0]: row[5] for row in rows}
    assert comments["team"] == "public"
    assert comments["wage"] == "private, within 0 … 1e+09 EUR, with a floor of 10 EUR"
    assert [row[0] for row in rows if row[4]] == ["person"]


def test_sqlalchemy_reflects_the_declared_tables(server):
    url = sqlalchemy.URL.create(
        "postgresql+psycopg", "reader-1", server.tokens["reader"], "127.0.0.1", server.postgres, "errorfloor"
    )
    engine = sqlalchemy.create_engine(url)
    found = sqlalchemy.inspect(engine)
    assert found.get_table_names() == ["pay"] and found.has_table("pay") and not found.has_table("nothing")
    kinds = {column["name"]: str(column["type"]) for column in found.get_columns("pay")}
    assert kinds == {
        "person": "BIGINT", "team": "TEXT", "hired": "DATE", "age": "BIGINT", "wage": "DOUBLE PRECISION"
    }  # fmt: skip
    assert found.get_pk_constraint("pay")["constrained_columns"] == ["person"]
    assert (found.get_foreign_keys("pay"), found.get_indexes("pay"), found.get_view_names()) == ([], [], [])
    everything = sqlalchemy.MetaData()
    everything.reflect(engine)
    table = everything.tables["pay"]
    with engine.connect() as line:
        count = sqlalchemy.select(sqlalchemy.func.count().label("n")).select_from(table).where(table.c.age > 40)
        assert line.execute(count).scalar() == 57
    engine.dispose()


@pytest.mark.skipif(doors.no_psql() is not None, reason="NOT TESTED: the PostgreSQL door with psql: it is missing")
@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (r"\d", " public | pay  | table | errorfloor"),
        (r"\d pay", '"pay_pkey" PRIMARY KEY, btree (person)'),
        (r"\d+ pay", "private, within 0"),
        (r"\dt+", "private: wage"),
        (r"\dn", " public | errorfloor"),
        (r"\l", " errorfloor | errorfloor | UTF8"),
        (r"\du", " errorfloor"),
        (r"\di", " pay_pkey "),
        (r"\df", "(0 rows)"),
        (r"\dv", "Did not find any relations."),
        (r"\dp", " pay "),
    ],
)
def test_psql_describes_what_is_declared(server, command, shown):
    place = f"host=127.0.0.1 port={server.postgres} user=analyst-1 dbname=errorfloor"
    done = subprocess.run(
        ["psql", place, "--no-psqlrc", "-c", command], capture_output=True, text=True, env=doors._environment(server)
    )
    assert shown in done.stdout + done.stderr and "ERROR" not in done.stderr


def test_token_for_some_tables_finds_no_others(database, tmp_path):
    tokens = TokenFile(None)
    _, text = tokens.create("blind", Role.READER, Terms(tables=("others",)))
    with served(database, tmp_path, postgres=0, tokens=tokens) as server:
        who = {"user": "blind", "password": text, "dbname": "errorfloor", "autocommit": True}
        with psycopg.connect(host="127.0.0.1", port=server.postgres, **who) as line:
            for name, query in BY_HAND.items():
                if "tables" in name or "columns" in name or "fields" in name:
                    assert line.execute(query).fetchall() == [], name
            assert line.execute("SELECT 'pay'::regclass").fetchone() == (None,)
