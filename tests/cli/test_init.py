"""``errorfloor init``: a catalogue from the schema alone, never over an existing one, and a key file."""

import json
import shlex
import stat

import duckdb
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import errorfloor.cli.init
import errorfloor.cli.register  # noqa: F401  (adds its command)
from errorfloor.catalogue import load
from errorfloor.cli.app import app, loaded, messages
from errorfloor.errors import CatalogueError, EngineError, InputError
from errorfloor.identity import KeyRing
from errorfloor.service import open_database

SECRET = 48151.623


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = pa.table({"household": ["H1", "H2"], "day": pa.array([0, 1], pa.date32()), "kwh": [SECRET, 1.0]})
    pq.write_table(table, tmp_path / "meters.parquet")
    return tmp_path


def init(*arguments):
    return CliRunner().invoke(app, ["init", *arguments])


def problem(*arguments):
    return init(*arguments).exception


def choices(path):
    with pytest.raises(CatalogueError) as caught:
        load(path)
    return [place for place, _ in caught.value.fields["problems"]]


def test_a_catalogue_and_a_key_file_are_written(here):
    shown = init("--source", "meters.parquet")
    assert shown.exit_code == 0, shown.output
    assert "wrote errorfloor.toml: meters" in shown.stdout
    assert "choose what is left open" in shown.stdout
    assert "made the key file" in shown.stderr
    assert choices(here / "errorfloor.toml") == [
        "tables.meters.row_key",
        *(f"tables.meters.private.kwh.{word}" for word in ("range", "resolution", "floor")),
    ]
    assert len(KeyRing(here / "keys.json").keys) == 1
    assert sorted(path.name for path in here.iterdir()) == ["errorfloor.toml", "keys.json", "meters.parquet"]


def test_no_value_reaches_the_catalogue_or_the_messages(here):
    (here / "m.csv").write_text(f"id,kwh\n1,{SECRET}\n2,2.5\n")
    shown = init("--source", "meters.parquet", "--source", "m.csv")
    for text in (shown.output, (here / "errorfloor.toml").read_text()):
        assert "48151" not in text
        assert "H1" not in text


def test_an_existing_catalogue_is_replaced_only_by_force(here):
    (here / "errorfloor.toml").write_text("mine")
    assert isinstance(problem(), InputError)
    assert "exists already: name another file with --output, or replace it with --force" in str(problem())
    assert (here / "errorfloor.toml").read_text() == "mine"
    assert init("--source", "meters.parquet", "--force").exit_code == 0
    assert "[tables.meters]" in (here / "errorfloor.toml").read_text()


def test_a_catalogue_without_a_table_gives_way_to_one_with_a_table(here):
    bare = init()
    assert "name a table next: errorfloor init --source FILE" in bare.stdout
    assert isinstance(problem(), InputError)  # a second bare one would change nothing
    assert init("--source", "meters.parquet").exit_code == 0
    assert "[tables.meters]" in (here / "errorfloor.toml").read_text()
    assert isinstance(problem("--source", "meters.parquet"), InputError)


def test_a_unit_is_proposed_only_where_a_name_tells_one(here):
    (here / "staff.csv").write_text("person,monthly_pay,score\na,1.5,2.5\n")
    init("--source", "staff.csv", "--source", "meters.parquet")
    text = (here / "errorfloor.toml").read_text()
    units = [line for line in text.splitlines() if line.startswith("# unit = ")]
    assert units == ['# unit = "EUR"', '# unit = "…"  # such as "kWh", "EUR" or "days"', '# unit = "kWh"']


def test_a_csv_file_with_a_short_line_or_nothing_in_it_is_refused_by_line(here):
    (here / "m.csv").write_text(f"id,kwh\n1,{SECRET}\n2\n")
    assert "m.csv: line 3 has 1 field, and the first line names 2 columns" in str(problem("--source", "m.csv"))
    (here / "m.csv").write_text("")
    assert "m.csv is empty" in str(problem("--source", "m.csv"))
    assert not (here / "errorfloor.toml").exists()


def test_an_existing_key_file_is_kept(here):
    before = KeyRing.create(here / "keys.json").current.id
    shown = init("--json")
    assert json.loads(shown.stdout) == {"catalogue": "errorfloor.toml", "tables": {}, "to_choose": 0, "key": None}
    assert KeyRing(here / "keys.json").current.id == before
    assert "which already exists" in shown.stderr


def test_no_key_is_made_where_none_is_wanted(here):
    assert init("--no-keys").exit_code == 0
    assert not (here / "keys.json").exists()


def test_json_names_the_tables_and_the_key(here):
    facts = json.loads(init("--source", "meters.parquet", "--json").stdout)
    assert facts["tables"] == {"meters": "meters.parquet"}
    assert facts["to_choose"] == 4
    assert facts["key"] == KeyRing(here / "keys.json").current.id


def test_sources_are_written_relative_to_the_catalogue(here):
    elsewhere = here / "made" / "for it"
    assert init("--source", "meters.parquet", "--output", str(elsewhere / "c.toml")).exit_code == 0
    text = (elsewhere / "c.toml").read_text()
    assert f'source = "{here / "meters.parquet"}"' in text
    assert (elsewhere / "keys.json").exists()
    (here / "sub").mkdir()
    (here / "meters.parquet").rename(here / "sub" / "meters.parquet")
    init("--source", "sub/meters.parquet")
    assert 'source = "sub/meters.parquet"' in (here / "errorfloor.toml").read_text()


def test_every_kind_of_file_is_understood(here):
    (here / "m.csv").write_text('id,name,when,ok,amount,"x y"\n1,a,2013-01-01,true,2.5,3\n')
    with duckdb.connect(str(here / "store.duckdb")) as store:
        store.execute("CREATE TABLE Wages AS SELECT 1 AS person, DECIMAL '2.50' AS pay, [1] AS several")
    (here / "many").mkdir()
    pq.write_table(pa.table({"a": [1]}), here / "many" / "part.parquet")
    shown = init("--source", "m.csv", "--source", "store.duckdb::Wages", "--source", "many", "--json")
    assert shown.exit_code == 0, shown.exception
    assert json.loads(shown.stdout)["tables"] == {"m": "m.csv", "wages": "store.duckdb::Wages", "many": "many"}
    text = (here / "errorfloor.toml").read_text()
    for line in (
        '# id = "whole"',
        '# name = "text"',
        '# when = "date"',
        '# ok = "flag"',
        "[tables.m.private.amount]",
        'names = { x_y = "x y" }',
        "[tables.wages.private.pay]",
        '# "several" cannot be declared',
        "[tables.many.private.a]",
    ):
        assert f"\n{line}" in text, line


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        (["--source", "none.parquet"], CatalogueError, "there is no such file"),
        (["--source", "wages"], CatalogueError, "name a .parquet, .csv or .xlsx file"),
        (["--source", "store.duckdb::wages"], CatalogueError, "cannot be found"),
        (["--source", "meters.parquet", "--source", "./meters.parquet"], CatalogueError, "both be the table meters"),
        (["--engine", "duckbd"], InputError, "--engine must be one of duckdb, postgresql, spark, got 'duckbd'"),
        (["--engine", "postgresql"], InputError, "--snapshots postgresql://user@host/database"),
        (["--snapshots", "postgresql://me:s3cret@host/db"], InputError, "--engine duckdb needs a file or folder"),
    ],
)
def test_mistakes_are_named_and_nothing_is_written(here, arguments, kind, message):
    found = problem(*arguments)
    assert isinstance(found, kind)
    assert message in str(found)
    assert "s3cret" not in str(found)
    assert [path.name for path in here.iterdir()] == ["meters.parquet"]


def test_a_damaged_file_is_refused_without_its_content(here):
    (here / "bad.parquet").write_text(f"{SECRET}")
    found = problem("--source", "bad.parquet")
    assert isinstance(found, EngineError)
    assert str(SECRET) not in str(found)


def test_a_table_of_postgresql_is_described_by_its_schema(here, postgresql_place):
    url = postgresql_place.place.snapshots
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(
            "CREATE TABLE wages (person text, born date, seen timestamptz, pay numeric, rank int, raw bytea)"
        )
    common = ["--engine", "postgresql", "--snapshots", url]
    shown = init("--source", "public.wages", "--source", "meters.parquet", *common, "--json")
    assert shown.exit_code == 0, shown.exception
    assert json.loads(shown.stdout)["tables"] == {"wages": "public.wages", "meters": "meters.parquet"}
    text = (here / "errorfloor.toml").read_text()
    for line in ('# person = "text"', '# seen = "moment"', "[tables.wages.private.pay]", '# "raw" cannot be declared'):
        assert f"\n{line}" in text, line
    assert stat.S_IMODE((here / "errorfloor.toml").stat().st_mode) == 0o600
    with psycopg.connect(url, autocommit=True) as server:
        made = server.execute("SELECT count(*) FROM information_schema.schemata WHERE schema_name = 'errorfloor'")
        assert made.fetchone() == (0,)
    assert isinstance(problem("--source", "public.wage", *common, "--force"), CatalogueError)


def test_a_csv_without_names_is_refused_and_none_of_it_repeated(here):
    (here / "headless.csv").write_text("P0,Sales,2012-10-06,4878.62\nP1,IT,2013-01-01,500\n")
    shown = init("--source", "headless.csv")
    assert isinstance(shown.exception, InputError | EngineError)
    assert "4878" not in str(shown.exception)
    assert "Sales" not in str(shown.exception)
    assert not (here / "errorfloor.toml").exists()


def test_how_a_file_is_written_is_shown_and_declared(here):
    (here / "pay.csv").write_text("Nr.;Gehalt in €;Tag\n1;1.234,50;01.02.2026\n2;k.A.;28.02.2026\n", encoding="cp1252")
    shown = init("--source", "pay.csv")
    assert shown.exit_code == 0, shown.exception
    assert "reading pay.csv with" in shown.stderr
    for said in ('delimiter ";"', 'decimal ","', 'dates "%d.%m.%Y"', 'nulls ["k.A."]', 'encoding "windows-1252"'):
        assert said in shown.stderr
    assert '\nnames = { nr = "Nr.", gehalt_in_eur = "Gehalt in €", tag = "Tag" }' not in shown.stderr
    text = (here / "errorfloor.toml").read_text()
    for line in (
        'delimiter = ";"',
        'thousands = "."',
        'nulls = ["k.A."]',
        'names = { nr = "Nr.", gehalt_in_eur = "Geh',
    ):
        assert f"\n{line}" in text, line


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("decmal=,", "did you mean decimal?"),
        ("decimal", "is not an option"),
        ("decimal=;", "decimal must be '.' or ','"),
        ("skip=two", "must be a whole number"),
        ("names=x", "is not an option"),
    ],
)
def test_options_of_reading_are_checked(here, option, message):
    (here / "pay.csv").write_text("nr;pay\n1;2\n")
    found = problem("--source", "pay.csv", "--read", option)
    assert isinstance(found, InputError)
    assert message in str(found)


def test_a_value_is_shown_on_a_terminal_and_nowhere_else(here, monkeypatch):
    (here / "pay.csv").write_text("nr,pay\n1,2\n2,x48151\n3,4\n")
    quiet = init("--source", "pay.csv")
    assert "'pay' is taken for text, though most of it is numbers" in quiet.stderr
    assert "line 3, column 'pay'" in quiet.stderr
    assert "48151" not in quiet.output
    monkeypatch.setattr(type(messages), "is_terminal", True)
    shown = init("--source", "pay.csv", "--force")
    assert "shown only on this terminal: 'x48151'" in shown.stderr
    (here / "errorfloor.toml").write_text(
        '[tables.pay]\nsource = "pay.csv"\nversion = "1"\nrow_key = ["nr"]\npublic.nr = "whole"\n'
        "private.pay = { range = [0, 9], resolution = 1, floor = 1 }\n"
    )
    refused = CliRunner().invoke(app, ["register"])
    assert "shown only on this terminal: 'x48151'" in refused.stderr
    assert "48151" not in f"{refused.stdout} {refused.exception} {refused.exception.fields}"
    assert "line 3, column 'pay' does not hold a number" in str(refused.exception)
    monkeypatch.setattr(type(messages), "is_terminal", False)
    assert "48151" not in CliRunner().invoke(app, ["register"]).output


PAY = "nr,site,pay,hours\n" + "".join(f"{i},north,{1000 + i},{i % 40}\n" for i in range(60)) + "60,north,999999,\n"
FLAGS = ["--private", "pay=0..5000,resolution=0.01,floor=100,unit=EUR", "--public", "site", "--row-key", "nr"]


def test_flags_leave_nothing_to_choose_and_the_first_mean_takes_three_commands(here):
    (here / "pay.csv").write_text(PAY)
    shown = init("--source", "pay.csv", *FLAGS)
    assert shown.exit_code == 0, shown.exception
    assert "check it; then errorfloor register" in shown.stdout
    assert "left out, and never read: hours;" in shown.stderr
    table = load(here / "errorfloor.toml").tables["pay"]
    assert (table.row_key, set(table.public), set(table.private)) == (("nr",), {"nr", "site"}, {"pay"})
    registered = CliRunner().invoke(app, ["register"])
    assert registered.exit_code == 0
    loaded("ask")
    suggested = shlex.split(registered.stderr.splitlines()[-1].partition(" ask ")[2])
    first = CliRunner().invoke(app, ["ask", *suggested])  # what is suggested is answered
    assert first.exit_code == 0, first.exception
    assert "a first question" not in CliRunner().invoke(app, ["register"]).stderr  # nothing is new
    asked = CliRunner().invoke(app, ["ask", "SELECT avg(pay) AS mean FROM pay WHERE nr > 0", "--max-error", "300"])
    assert asked.exit_code == 0, asked.exception
    assert "± 300 EUR" in asked.stdout


def test_questions_are_asked_until_they_are_answered(here):
    (here / "pay.csv").write_text(PAY)
    lines = ["u", "p", "u", "p", "50", "0..5000", "x", "0.01", "9000", "250", "EUR", "no", "l", "", ""]
    refused = CliRunner().invoke(app, ["init", "--source", "pay.csv", "--ask"], input="\n".join(lines) + "\n")
    assert "only numbers can be private" in refused.stderr
    assert "a range is written low..high" in refused.stderr and "a number is needed" in refused.stderr
    assert "the floor must stay below" in refused.stderr and refused.exit_code == 0, refused.exception
    lines = ["", "", "", "0..5000", "", "", "", "", "l", ""]
    shown = CliRunner().invoke(app, ["init", "--source", "pay.csv", "--ask", "--force"], input="\n".join(lines) + "\n")
    assert shown.exit_code == 0, shown.exception
    assert "any estimate of one pay is off by at least 250 EUR" in shown.stderr
    table = load(here / "errorfloor.toml").tables["pay"]
    assert (table.row_key, table.private["pay"].floor) == (("nr",), 250.0)
    assert "999999" not in shown.output


def test_what_is_promised_when_asked_is_what_answers_promise(here):
    """Both follow from the floor and from how charges are counted, which must be the same."""
    (here / "pay.csv").write_text(PAY)
    lines = ["", "", "", "0..5000", "", "", "", "", "l", ""]
    shown = CliRunner().invoke(app, ["init", "--source", "pay.csv", "--ask"], input="\n".join(lines) + "\n")
    assert CliRunner().invoke(app, ["register"]).exit_code == 0
    with open_database(here / "errorfloor.toml") as database:
        (standing,) = database.price("SELECT avg(pay) AS mean FROM pay", max_error=300).standings
    assert f"the true one is told at most {standing.promised.times} times in 100" in shown.stderr


def test_an_empty_line_is_answered_and_signs_in_names_propose_units_and_ranges(here):
    text = "nr;Lohn in €;Anteil (%);score\n" + "".join(f"a{i};{i},5;{i};{i}\n" for i in range(9))
    (here / "staff.csv").write_text(text)
    lines = ["", "", "", "0..9000", "", "", "", "", "", "", "", "", "", "", "l", ""]
    shown = CliRunner().invoke(app, ["init", "--source", "staff.csv", "--ask"], input="\n".join(lines) + "\n")
    assert shown.exit_code == 0, shown.exception
    assert "  a range is written low..high, such as 0..50\n" in shown.stderr
    private = load(here / "errorfloor.toml").tables["staff"].private
    assert private["lohn_in_eur"].unit == "EUR"
    assert (private["anteil_percent"].low, private["anteil_percent"].high) == (0, 100)


def test_all_columns_with_nulls_are_named_at_once(here):
    (here / "pay.csv").write_text("nr,pay,hours,age\na,1,,3\nb,,2,3\n")
    rules = [word for name in ("pay", "hours", "age") for word in ("--private", f"{name}=0..99,resolution=1,floor=9")]
    assert init("pay.csv", *rules, "--row-key", "nr").exit_code == 0
    refused = CliRunner().invoke(app, ["register"]).exception
    assert "the source has nulls in pay and hours, declared with nulls = 'forbidden': write" in str(refused)


def test_what_is_advised_asks_about_the_same_table(here):
    (here / "pay.csv").write_text(PAY)
    shown = init("--source", "pay.csv")
    drafted = (here / "errorfloor.toml").read_text()
    assert "errorfloor init --source pay.csv --ask --force; then" in shown.stdout
    assert "--ask needs a table to ask about" in str(problem("--ask", "--force"))
    assert (here / "errorfloor.toml").read_text() == drafted


def test_a_first_question_is_suggested_after_a_registration_that_failed(here):
    (here / "pay.csv").write_text(PAY + "99,x,,\n")
    init("--source", "pay.csv", *FLAGS)
    assert "has nulls" in str(CliRunner().invoke(app, ["register"]).exception)
    (here / "pay.csv").write_text(PAY)
    assert "a first question" in CliRunner().invoke(app, ["register"]).stderr


def test_a_person_and_a_date_are_proposed_as_the_key_of_many_rows(here):
    (here / "pay.csv").write_text("person,region,paid,pay\na,n,2025-01-31,9\na,n,2025-02-28,9\na,n,2025-02-28,9\n")
    init("--source", "pay.csv")
    assert 'such as ["person", "paid"]' in (here / "errorfloor.toml").read_text()


def test_what_clamping_did_is_for_the_custodian_alone(here):
    (here / "pay.csv").write_text(PAY)
    init("--source", "pay.csv", *FLAGS)
    shown = CliRunner().invoke(app, ["register", "--report", "report.json"])
    assert shown.exit_code == 0, shown.exception
    assert stat.S_IMODE((here / "report.json").stat().st_mode) == 0o600
    found = json.loads((here / "report.json").read_text())["pay"]["pay"]
    assert (found["rows"], found["below"], found["above"], found["nulls"], found["rounded"]) == (61, 0, 1, 0, 0)
    assert found["mean_of_source"] == pytest.approx((sum(range(1000, 1060)) + 999999) / 61)
    assert found["mean_as_stored"] == pytest.approx((sum(range(1000, 1060)) + 5000) / 61)
    assert "999999" not in shown.output and "above" not in shown.output
    again = CliRunner().invoke(app, ["register", "--report", "report.json"])
    assert "exists already" in str(again.exception)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--private", "pay"], "needs a range, such as pay=0..50"),
        (["--private", "pay=0..9"], "needs resolution="),
        (["--private", "pay=0..9,resolution=1,flor=2", "--row-key", "nr"], "did you mean floor?"),
        (["--private", "pai=0..9,resolution=1,floor=2", "--row-key", "nr"], "did you mean pay?"),
        (["--private", "pay=0..9,resolution=1,floor=2"], "--row-key person"),
        (["--private", "pay=9..0,resolution=1,floor=2", "--row-key", "nr"], "needs low < high"),
        (["--public", "site", "--row-key", "nr", "--ask"], "not with --ask"),
    ],
)
def test_flags_that_cannot_be_are_refused(here, flags, message):
    (here / "pay.csv").write_text(PAY)
    found = problem("--source", "pay.csv", *flags)
    assert isinstance(found, InputError)
    assert message in str(found)
    assert not (here / "errorfloor.toml").exists()


def test_keys_and_codes_are_proposed_as_public(here):
    (here / "pay.csv").write_text(PAY)
    init("--source", "pay.csv")
    text = (here / "errorfloor.toml").read_text()
    assert "private.nr]" not in text and "private.pay]" in text
    assert 'row_key = "choose"  # such as ["nr"]' in text
    assert "[0, 50]" not in text.split("[tables.pay]")[1]


KEYLESS = "city;amount\nBonn;3,5\nBonn;3,5\nKoeln;4\n"
RULE = "amount=0..10,resolution=0.5,floor=1"


def test_rows_without_a_key_are_numbered(here):
    (here / "spent.csv").write_text(KEYLESS)
    shown = init("spent.csv", "--private", RULE, "--public", "city", "--number-rows")
    assert shown.exit_code == 0, shown.output
    assert "no column of spent.csv differs in every row" in shown.stderr and "shuffle a file" in shown.stderr
    declared = load(here / "errorfloor.toml").tables["spent"]
    assert declared.row_key == ("row_no",) and declared.read.number == "row_no" and "row_no" in declared.public
    done = CliRunner().invoke(app, ["register"])
    assert done.exit_code == 0, done.output
    with open_database(here / "errorfloor.toml") as database:
        answer = database.ask("SELECT row_no, city, count(*) AS n FROM spent GROUP BY row_no, city")
        assert [row["city"] for row in answer.to_arrow().to_pylist()] == ["Bonn", "Bonn", "Koeln"]
        assert database.ask("SELECT avg(amount) AS mean FROM spent", max_error=9.0).max_error == {"mean": 9.0}


def test_rows_of_several_files_are_numbered_through(here):
    for number in (1, 2):
        (here / f"part{number}.csv").write_text(KEYLESS)
    init("part*.csv", "--private", RULE, "--public", "city", "--number-rows")
    assert CliRunner().invoke(app, ["register"]).exit_code == 0
    with open_database(here / "errorfloor.toml") as database:
        (name,) = database.catalogue.tables
        counted = database.ask(f"SELECT count(*) AS n FROM {name} WHERE row_no > 2 AND row_no < 6")
        assert counted.to_arrow().to_pylist() == [{"n": 3}]


def test_numbering_is_offered_where_there_is_no_key(here):
    (here / "spent.csv").write_text(KEYLESS)
    said = "u\np\n0..10\n0.5\n1\nnone\nno\n\n"
    shown = CliRunner().invoke(app, ["init", "spent.csv", "--ask"], input=said)
    assert shown.exit_code == 0, shown.output
    assert "# numbers the rows, if none do" in shown.output
    assert load(here / "errorfloor.toml").tables["spent"].row_key == ("row_no",)


def test_numbering_is_refused_where_it_cannot_be(here):
    refused = problem("meters.parquet", "--number-rows", "--private", "kwh=0..50,resolution=0.1,floor=2")
    assert isinstance(refused, InputError)
    assert "is for text files and sheets, and meters.parquet is none" in str(refused)
    (here / "spent.csv").write_text(KEYLESS)
    both = problem("spent.csv", "--number-rows", "--row-key", "city", "--private", RULE)
    assert "or, if there are none, number the rows of a text file or sheet with --number-rows" in str(both)
    init("spent.csv", "--private", RULE, "--public", "city", "--number-rows")
    file = here / "errorfloor.toml"
    file.write_text(file.read_text().replace("row_no", "amount2"))
    (here / "spent.csv").write_text("city;amount;amount2\nBonn;1;2\n")
    done = CliRunner().invoke(app, ["register"])
    assert "has a column 'amount2' itself: give the column that numbers its rows another name" in str(done.exception)
