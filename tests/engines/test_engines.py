"""One suite for every engine: what is kept, who may write, and that failures say nothing."""

import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from errorfloor.catalogue.model import Place
from errorfloor.engines import open_engine
from errorfloor.engines.duckdb import DuckDBEngine
from errorfloor.engines.duckdb_folder import DuckDBFolder
from errorfloor.errors import CatalogueError, EngineError, MissingExtraError

ROWS = "SELECT 1 AS k, 'one' AS word UNION ALL SELECT 2 AS k, 'two' AS word"
SECRET = "31.41592"


def opened(place, *, read_only):
    return open_engine(place.place, place.folder, read_only=read_only)


def test_table_and_note_are_kept_for_later_readers(engine_place):
    with opened(engine_place, read_only=False) as engine:
        assert engine.name == engine_place.name
        assert engine.known() == []
        engine.create(
            "numbers", ROWS, lambda relation: f"{engine.query(f'SELECT * FROM {relation}').num_rows} rows ’\\'"
        )
        assert engine.exists("numbers")
    with opened(engine_place, read_only=True) as one, opened(engine_place, read_only=True) as other:
        for engine in (one, other):
            assert engine.known() == ["numbers"]
            assert engine.recall("numbers") == "2 rows ’\\'"
            assert engine.recall("letters") is None
            rows = engine.query(f"SELECT n.k, m.word FROM {engine.relation('numbers')} AS n "
                                f"JOIN {engine.relation('numbers')} AS m ON n.k = m.k ORDER BY n.k")  # fmt: skip
            assert rows.to_pydict() == {"k": [1, 2], "word": ["one", "two"]}
            assert engine.query(f"SELECT k FROM {engine.relation('numbers')} WHERE k > 5").num_rows == 0


def test_table_is_never_replaced(engine_place):
    with opened(engine_place, read_only=False) as engine:
        engine.create("numbers", ROWS)
        with pytest.raises(CatalogueError, match="never changed"):
            engine.create("numbers", "SELECT 3 AS k, 'three' AS word")
        assert engine.query(f"SELECT sum(k) AS k FROM {engine.relation('numbers')}").to_pylist() == [{"k": 3}]
        for name in ("Numbers", "n; drop", "", "1n"):
            with pytest.raises(ValueError, match="a table's name"):
                engine.create(name, ROWS)


def test_failing_note_or_select_leaves_nothing(engine_place):
    with opened(engine_place, read_only=False) as engine:

        def fail(relation):
            raise CatalogueError("not like this")

        with pytest.raises(CatalogueError, match="not like this"):
            engine.create("numbers", ROWS, fail)
        with pytest.raises(EngineError):
            engine.create("numbers", "SELECT nothing AS k")
        assert engine.known() == []
        engine.create("numbers", ROWS)
        assert engine.known() == ["numbers"]


def test_reader_cannot_write(engine_place):
    with opened(engine_place, read_only=False) as engine:
        engine.create("numbers", ROWS)
    with opened(engine_place, read_only=True) as engine:
        with pytest.raises(EngineError):
            engine.create("more", ROWS)
        assert engine.known() == ["numbers"]


def test_second_writer_is_told_to_wait(engine_place):
    with opened(engine_place, read_only=False):
        script = (
            "import sys; from pathlib import Path; from errorfloor.catalogue.model import Place\n"
            "from errorfloor.engines import open_engine\n"
            "open_engine(Place.model_validate_json(sys.argv[1]), Path(sys.argv[2]), read_only=False)"
        )
        arguments = [engine_place.place.model_dump_json(), str(engine_place.folder)]
        second = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True)
    assert second.returncode == 1
    assert re.search(r"EngineError: .*(in use|another registration is in progress).*try again", second.stderr)
    opened(engine_place, read_only=False).close()


@pytest.mark.parametrize(
    "statement",
    [
        f"SELECT CAST('private {SECRET}' AS INTEGER) AS k",
        f"SELECT {SECRET} AS k FROM nowhere",
        f"SELEC {SECRET}",
    ],
)
def test_failure_names_its_kind_and_nothing_else(engine_place, statement, capfd):
    with opened(engine_place, read_only=False) as engine:
        for work in (engine.query, lambda sql: engine.create("numbers", sql)):
            with pytest.raises(EngineError, match=rf"^{engine.name} could not [a-z ]+ \([A-Za-z0-9_.]+\)$") as failure:
                work(statement)
            assert SECRET not in repr(failure.value) + repr(failure.value.fields)
            assert failure.value.__context__ is None
            assert failure.value.__cause__ is None
    shown = capfd.readouterr()
    assert SECRET not in shown.out + shown.err


def test_clock_is_universal_time(engine_place):
    setting = "current_timezone()" if engine_place.name == "spark" else "current_setting('TimeZone')"
    with opened(engine_place, read_only=False) as engine:
        engine.create("numbers", ROWS)
        assert engine.query(f"SELECT {setting} AS zone").to_pylist() == [{"zone": "UTC"}]
    with opened(engine_place, read_only=True) as engine:
        assert engine.query(f"SELECT {setting} AS zone").to_pylist() == [{"zone": "UTC"}]


def test_threads_share_a_reader(engine_place):
    with opened(engine_place, read_only=False) as engine:
        engine.create("numbers", ROWS)
    answers = []
    with opened(engine_place, read_only=True) as engine:
        relation = engine.relation("numbers")

        def ask(k):
            answers.append(engine.query(f"SELECT sum(k) + {k} AS k FROM {relation}").column("k")[0].as_py())

        threads = [threading.Thread(target=ask, args=(k,)) for k in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(answers) == list(range(3, 11))


def test_source_says_what_its_columns_hold(engine_place):
    table = pa.table(
        {"a": [1.5], "b": ["x"], "c": [1], "d": [True], "e": pa.array([b"x"]), "f": pa.array([1], pa.uint64())}
    )
    pq.write_table(table, engine_place.folder / "t.parquet")
    with (
        opened(engine_place, read_only=False) as engine,
        engine.reading(["t.parquet"], dict.fromkeys("abcdf", "text")) as source,
    ):
        assert source.kinds == {"a": "number", "b": "text", "c": "whole", "d": "flag", "e": "other", "f": "decimal"}
        row = engine.query(f"SELECT a, b, c, d FROM {source.relation}").to_pylist()
        assert row == [{"a": 1.5, "b": "x", "c": 1, "d": True}]


def test_one_source_has_one_identity(engine_place):
    pq.write_table(pa.table({"a": [1]}), engine_place.folder / "t.parquet")
    (engine_place.folder / "link.parquet").symlink_to(engine_place.folder / "t.parquet")
    with opened(engine_place, read_only=False) as engine:
        names = ("t.parquet", "./t.parquet", "link.parquet", str(engine_place.folder / "t.parquet"))
        assert len({engine.identify([name]) for name in names}) == 1
        assert engine.identify(["missing.parquet"]) != engine.identify(["t.parquet"])


def test_nothing_registered_yet_is_said_so(duckdb_place):
    with pytest.raises(CatalogueError, match="run errorfloor register"):
        opened(duckdb_place, read_only=True)


def test_duckdb_file_open_for_reading_here_is_in_use(duckdb_place):
    file = duckdb_place.folder / "vault.duckdb"  # as older versions made it
    DuckDBEngine(file, duckdb_place.folder, read_only=False).close()
    with opened(duckdb_place, read_only=True), pytest.raises(EngineError, match=r"in use.*one writer"):
        opened(duckdb_place, read_only=False)


def test_reader_of_a_folder_sees_what_is_made_and_destroyed_meanwhile(duckdb_place):
    with opened(duckdb_place, read_only=False) as engine:
        engine.create("numbers", ROWS, lambda _: "first")
    with opened(duckdb_place, read_only=True) as reader:
        total = f"SELECT sum(k) AS k FROM {reader.relation('numbers')}"
        assert (reader.query(total).to_pylist(), reader.recall("more")) == ([{"k": 3}], None)
        with opened(duckdb_place, read_only=False) as writer:
            writer.create("more", "SELECT 7 AS k", lambda _: "second")
        assert (reader.known(), reader.recall("more")) == (["more", "numbers"], "second")
        joined = f"SELECT sum(k) AS k FROM (SELECT k FROM {reader.relation('more')} UNION ALL {total})"
        assert reader.query(joined).to_pylist() == [{"k": 10}]
        with opened(duckdb_place, read_only=False) as writer:
            writer.destroy("numbers")
            assert writer.recall("numbers") is None
            writer.create("numbers", "SELECT 40 AS k", lambda _: "another")
        assert reader.recall("numbers") == "another"
        assert reader.query(total).to_pylist() == [{"k": 40}]
        with opened(duckdb_place, read_only=False) as writer:
            writer.destroy("numbers")
        assert (reader.recall("numbers"), reader.known()) == (None, ["more"])
        with pytest.raises(EngineError):
            reader.query(total)


def test_what_a_killed_writer_left_is_no_table_and_is_cleared_away(duckdb_place):
    folder = duckdb_place.folder / "vault.duckdb"
    with opened(duckdb_place, read_only=False) as engine:
        engine.create("numbers", ROWS)
    left = folder / ".making-s_half.duckdb"
    left.write_bytes(b"private rows")
    with opened(duckdb_place, read_only=True) as reader:
        assert reader.known() == ["numbers"]
    opened(duckdb_place, read_only=False).close()
    assert not left.exists()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o600}


def test_file_that_is_no_duckdb_file_is_named(duckdb_place):
    (duckdb_place.folder / "vault.duckdb").write_text("something else, and long enough to have a header" * 100)
    with pytest.raises(EngineError, match="is it a DuckDB file"):
        opened(duckdb_place, read_only=True)


@pytest.mark.parametrize(("writer", "advice"), [("v9.9.9", "pip install 'duckdb==9.9.9'"), (None, "is damaged")])
def test_file_of_another_duckdb_is_refused_with_both_versions(duckdb_place, writer, advice):
    with opened(duckdb_place, read_only=False) as engine:
        engine.create("numbers", ROWS)
    (file,) = duckdb_place.folder.glob("vault.duckdb/*.duckdb")
    bytes_ = bytearray(file.read_bytes())
    bytes_[12:20] = (10**6).to_bytes(8, "little")  # a format that no release reads
    if writer:
        bytes_[52:84] = writer.encode().ljust(32, b"\0")
    file.write_bytes(bytes_)
    with pytest.raises(EngineError) as refused:
        opened(duckdb_place, read_only=True)
    assert advice in str(refused.value) and duckdb.__version__ in str(refused.value)


def test_a_file_is_opened_when_a_statement_first_names_it(duckdb_place):
    with opened(duckdb_place, read_only=False) as engine:
        for name in ("numbers", "others"):
            engine.create(name, ROWS, lambda relation, name=name: f"about {name}")
    with opened(duckdb_place, read_only=True) as engine:
        assert engine.recall_all() == {"numbers": "about numbers", "others": "about others"}
        files = "SELECT count(*) AS n FROM duckdb_databases() WHERE path LIKE '%.duckdb'"
        assert engine.query(files).column("n").to_pylist() == [0]
        engine.query(f"SELECT * FROM {engine.relation('others')}")
        assert engine.query(files).column("n").to_pylist() == [1]


def test_more_threads_are_used_when_a_larger_file_is_opened(duckdb_place):
    with opened(duckdb_place, read_only=False) as engine:
        engine.create("few", ROWS)
        engine.create("many", "SELECT hash(range) AS n FROM range(300000)")
    with opened(duckdb_place, read_only=True) as engine:
        used = []
        for name in ("few", "many"):
            engine.query(f"SELECT count(*) AS n FROM {engine.relation(name)}")
            used += engine.query("SELECT current_setting('threads') AS n").column("n").to_pylist()
        assert used == [1, min(3, engine._most_threads)]


def test_the_copy_of_a_note_is_not_believed_of_a_file_that_was_written_over(duckdb_place):
    notes = iter("AB")
    for _ in range(2):
        with opened(duckdb_place, read_only=False) as engine:
            engine.create("numbers", ROWS, lambda relation: next(notes))
        (file,) = duckdb_place.folder.glob("vault.duckdb/*.duckdb")
        if not (duckdb_place.folder / "A").exists():
            shutil.copy2(file, duckdb_place.folder / "A")
            file.unlink()
    then = file.stat()
    file.write_bytes((duckdb_place.folder / "A").read_bytes())  # the same inode
    os.utime(file, ns=(then.st_atime_ns, then.st_mtime_ns))
    assert file.stat().st_size == then.st_size
    with opened(duckdb_place, read_only=True) as engine:
        assert engine.recall("numbers") == "A" and engine.recall_all() == {"numbers": "A"}


def replace_numbers(folder):
    """Put another file in the place of that of the numbers, as from a backup."""
    (file,) = folder.glob("vault.duckdb/numbers.duckdb")
    made = folder / "made"
    shutil.move(file, made)
    with DuckDBFolder(folder / "vault.duckdb", folder, read_only=False) as engine:
        engine.create("numbers", "SELECT 99 AS whole", lambda relation: "other rows")
    return made, file


def test_rows_of_a_file_that_was_replaced_are_not_taken_for_those_of_its_note(duckdb_place):
    with opened(duckdb_place, read_only=False) as engine:
        engine.create("numbers", ROWS, lambda relation: "rows")
    with opened(duckdb_place, read_only=True) as reader:
        assert reader.recall_all() == {"numbers": "rows"}
        made, file = replace_numbers(duckdb_place.folder)
        for _ in range(2):
            with pytest.raises(EngineError, match="was replaced while it was in use"):
                reader.query(f"SELECT * FROM {reader.relation('numbers')}")
        assert reader.recall("numbers") == "other rows"  # whoever looks anew may read it
        assert reader.query(f"SELECT * FROM {reader.relation('numbers')}").num_rows == 1
    with opened(duckdb_place, read_only=True) as reader:
        assert reader.recall_all() == {"numbers": "other rows"}
        shutil.copy2(made, file)  # written over: the same inode
        with pytest.raises(EngineError, match="was replaced"):
            reader.query(f"SELECT * FROM {reader.relation('numbers')}")


def test_a_file_that_was_linked_or_copied_back_is_still_the_same(duckdb_place):
    """A backup by hard links changes the time of change, and nothing else."""
    with opened(duckdb_place, read_only=False) as engine:
        engine.create("numbers", ROWS, lambda relation: "rows")
    file = duckdb_place.folder / "vault.duckdb" / "numbers.duckdb"
    with opened(duckdb_place, read_only=True) as reader:
        assert reader.recall_all() == {"numbers": "rows"}
        os.link(file, duckdb_place.folder / "backup")
        assert reader.query(f"SELECT * FROM {reader.relation('numbers')}").num_rows > 1
    with opened(duckdb_place, read_only=True) as reader:
        assert reader.recall_all() == {"numbers": "rows"}
        file.unlink()
        shutil.copy2(duckdb_place.folder / "backup", file)
        assert reader.query(f"SELECT * FROM {reader.relation('numbers')}").num_rows > 1


def test_a_file_that_is_replaced_while_it_is_attached_is_attached_again(duckdb_place, monkeypatch):
    with opened(duckdb_place, read_only=False) as engine:
        engine.create("numbers", ROWS, lambda relation: "rows")
    stamp, calls = DuckDBFolder._stamp, []

    def racing(self, name):
        calls.append(name)
        found = stamp(self, name)
        if len(calls) == 3:  # the stamp before attaching was taken
            monkeypatch.setattr(DuckDBFolder, "_stamp", stamp)
            replace_numbers(duckdb_place.folder)
        return found

    with opened(duckdb_place, read_only=True) as reader:
        monkeypatch.setattr(DuckDBFolder, "_stamp", racing)
        calls += ["", ""]
        assert reader.recall("numbers") == "other rows"
        assert reader.query(f"SELECT * FROM {reader.relation('numbers')}").num_rows == 1


def test_a_text_in_a_question_opens_no_file(duckdb_place):
    with opened(duckdb_place, read_only=False) as engine:
        engine.create("numbers", ROWS)
    with opened(duckdb_place, read_only=True) as engine:
        files = "SELECT count(*) AS n FROM duckdb_databases() WHERE path LIKE '%.duckdb'"
        named = engine.relation("numbers")
        for text in (f"'{named}'", f"'it''s {named}'", f'1 AS "{named.replace(chr(34), chr(34) * 2)}"'):
            engine.query(f"SELECT {text}")
            assert engine.query(files).column("n").to_pylist() == [0]
        engine.query(f"""SELECT 'it''s' AS "o'clock" FROM {named}""")
        assert engine.query(files).column("n").to_pylist() == [1]


@pytest.mark.parametrize("spoilt", [b"", b"[]", b'{"numbers": 7}', b'{"numbers": [1, 2]}', b"\xff"])
def test_copies_of_notes_that_cannot_be_read_are_not_needed(duckdb_place, spoilt):
    with opened(duckdb_place, read_only=False) as engine:
        engine.create("numbers", ROWS, lambda relation: "A")
    (duckdb_place.folder / "vault.duckdb" / ".notes").write_bytes(spoilt)
    with opened(duckdb_place, read_only=True) as engine:
        assert engine.recall_all() == {"numbers": "A"}


def test_the_copy_of_a_note_goes_before_the_file_that_is_destroyed(duckdb_place, monkeypatch):
    copies = duckdb_place.folder / "vault.duckdb" / ".notes"
    with opened(duckdb_place, read_only=False) as engine:
        engine.create("numbers", ROWS, lambda relation: "A")
        engine.create("others", ROWS, lambda relation: "B")
    assert '"B"' in copies.read_text() and copies.stat().st_mode & 0o777 == 0o600
    with opened(duckdb_place, read_only=False) as engine:
        engine.destroy("others")
        assert not copies.exists()
    assert "numbers" in copies.read_text() and '"B"' not in copies.read_text()


def test_duckdb_reader_reaches_no_other_file(duckdb_place):
    opened(duckdb_place, read_only=False).close()
    (duckdb_place.folder / "t.csv").write_text("a\n1\n")
    with opened(duckdb_place, read_only=True) as engine, pytest.raises(EngineError, match="PermissionException"):
        engine.query(f"SELECT * FROM read_csv('{duckdb_place.folder / 't.csv'}')")


HEAD = "person,site,pay\n"
LINES = [f"p{number},north,{SECRET}" for number in range(5)]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([*LINES, "p9,north"], "line 7 has 2 fields, and the first line names 3 columns"),
        ([LINES[0], f"p9,north,{SECRET},5", *LINES], "line 3 has 4 fields, and the first line names 3 columns"),
    ],
)
def test_a_csv_line_that_does_not_fit_is_named_and_not_quoted(engine_place, lines, words):
    (engine_place.folder / "pay.csv").write_text(HEAD + "\n".join(lines) + "\n")
    with (
        opened(engine_place, read_only=False) as engine,
        pytest.raises(CatalogueError, match=rf"pay\.csv: {words}: correct it") as told,
        engine.reading(["pay.csv"]) as source,
    ):
        engine.query(f"SELECT person, pay FROM {source.relation}")
    assert SECRET not in str(told.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", r"pay\.csv is empty: the first line of a CSV names its columns"),
        (b"\n\n", r"pay\.csv has an empty first line"),
        (b"pay,site,pay\n1,2,3\n", "names columns 1 and 3 with the same name: rename one"),
        (b"person,site\np1,north,3\np2,north,3\n", "line 2 has 3 fields, and the first line names 2 columns"),
        (HEAD.encode() + b'p1,"north,3\n', "line 2 has a quotation mark that is not closed"),
        (b"person,pay\r\n" + b"p1,3\r\n" * 9 + b"p2,3\n", "line 11 ends with LF, and the first one with CR LF"),
        (HEAD.encode() + "p1,süd,3\n".encode("latin-1"), "line 2 is not text in UTF-8"),
        ("père,site\n".encode("latin-1"), "line 1 is not text in UTF-8"),
    ],
)
def test_a_csv_file_that_duckdb_would_misread_is_refused(duckdb_place, content, words):
    (duckdb_place.folder / "pay.csv").write_bytes(content)
    with (
        opened(duckdb_place, read_only=False) as engine,
        pytest.raises(CatalogueError, match=words),
        engine.reading(["pay.csv"]) as source,
    ):
        engine.query(f"SELECT * FROM {source.relation}")


def test_a_failure_that_no_line_of_a_csv_file_explains_stays_the_engines(duckdb_place):
    (duckdb_place.folder / "pay.csv").write_text(HEAD + "\n".join(LINES))
    with (
        opened(duckdb_place, read_only=False) as engine,
        pytest.raises(EngineError, match="could not answer a query"),
        engine.reading(["pay.csv"]) as source,
    ):
        engine.query(f"SELECT CAST(site AS INTEGER) AS n FROM {source.relation}")


def test_table_of_another_duckdb_file_is_a_source(duckdb_place):
    with DuckDBEngine(duckdb_place.folder / "other.duckdb", duckdb_place.folder, read_only=False) as other:
        other.create("numbers", ROWS)
    with opened(duckdb_place, read_only=False) as engine:
        for name in ("other.duckdb::numbers", "other.duckdb::main.numbers"):
            with engine.reading([name]) as source:
                assert engine.query(f"SELECT sum(k) AS k FROM {source.relation}").to_pylist() == [{"k": 3}]
        assert len({engine.identify([name]) for name in ("other.duckdb::numbers", "./other.duckdb::MAIN.Numbers")}) == 1
        with pytest.raises(CatalogueError, match="cannot be found"), engine.reading(["none.duckdb::numbers"]):
            pass


def test_numeric_column_of_postgresql_reaches_beyond_doubles(postgresql_place):
    import psycopg

    with psycopg.connect(postgresql_place.place.snapshots) as connection:
        connection.execute('CREATE TABLE "Odd" (n numeric, m money, w varchar(9))')
        connection.execute(
            "INSERT INTO \"Odd\" VALUES ('NaN'), ('Infinity'), ('1e400'), ('-1e400'), ('1e-400'), (0.1), (NULL)"
        )
    with opened(postgresql_place, read_only=False) as engine, engine.reading(["public.Odd"]) as source:
        assert source.kinds == {"n": "decimal", "m": "other", "w": "text"}
        doubles = engine.query(f"SELECT {engine.as_double('n', 'decimal')} AS x FROM {source.relation}").column("x")
        assert [str(x) for x in doubles.to_pylist()] == ["nan", "inf", "inf", "-inf", "0.0", "0.1", "None"]


def test_unreachable_server_is_told_without_its_password(tmp_path):
    place = Place(engine="postgresql", snapshots="postgresql://me:hunter2@127.0.0.1:1/nothing?connect_timeout=2")
    with pytest.raises(EngineError, match="is the server running") as failure:
        open_engine(place, tmp_path)
    assert "hunter2" not in repr(failure.value)
    assert failure.value.__context__ is None


@pytest.mark.parametrize(
    ("place", "package", "extra"),
    [
        (Place(), "duckdb", "sql"),
        (Place(engine="postgresql", snapshots="postgresql:///vault"), "adbc_driver_postgresql", "postgres"),
        (Place(engine="spark", snapshots="vault"), "pyspark", "spark"),
    ],
)
def test_missing_package_prints_its_install_command(place, package, extra, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, package, None)
    for module in (f"errorfloor.engines.{place.engine}", "errorfloor.engines.spark"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    with pytest.raises(MissingExtraError, match=re.escape(f"pip install 'errorfloor[{extra}]'")):
        open_engine(place, tmp_path)


def test_spark_listens_on_this_machine_only(spark_place):
    with opened(spark_place, read_only=False) as engine:
        process = engine._session.sparkContext._gateway.proc.pid
        sockets = {str(link.readlink()) for link in Path(f"/proc/{process}/fd").iterdir() if link.is_symlink()}
    inodes = {name[8:-1] for name in sockets if name.startswith("socket:")}
    rows = [line.split() for kind in ("tcp", "tcp6") for line in Path(f"/proc/net/{kind}").read_text().splitlines()[1:]]
    listening = [row[1].partition(":")[0] for row in rows if row[3] == "0A" and row[9] in inodes]
    assert listening
    here = ("0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000")
    assert set(listening) <= set(here)


def run_spark(folder, *under, **environment):
    script = (
        "import sys; from pathlib import Path; from errorfloor.catalogue.model import Place\n"
        "from errorfloor.engines import open_engine\n"
        "with open_engine(Place(engine='spark', snapshots='v'), Path(sys.argv[1]), read_only=False) as engine:\n"
        "    print(engine.query('SELECT 7 AS k').to_pylist())"
    )
    command = [*under, sys.executable, "-W", "error", "-c", script, str(folder)]
    own = {name: value for name, value in os.environ.items() if name != "SPARK_LOCAL_IP"}
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=own | environment)


def test_spark_starts_without_a_word(spark_place):
    temporary = spark_place.folder / "temporary"
    temporary.mkdir()
    done = run_spark(spark_place.folder, TMPDIR=str(temporary))
    assert (done.stdout, done.stderr) == ("[{'k': 7}]\n", "")
    assert sorted(path.name for path in spark_place.folder.iterdir()) == ["temporary", "v"]
    assert list(temporary.iterdir()) == []


def test_spark_without_java_says_what_is_missing(tmp_path):
    done = run_spark(tmp_path, JAVA_HOME=str(tmp_path))
    assert done.returncode == 1
    assert "EngineError: spark could not start: is Java 17 or newer installed?" in done.stderr


def test_spark_starts_on_a_machine_whose_name_has_no_address(spark_place):
    renamed = ["unshare", "--uts", "sh", "-c", 'hostname nowhere.invalid && exec "$@"', "renamed"]
    if subprocess.run([*renamed, "true"], capture_output=True).returncode:
        pytest.skip("only root may rename the machine for a test")
    done = run_spark(spark_place.folder, *renamed)
    assert done.stdout == "[{'k': 7}]\n", done.stderr
