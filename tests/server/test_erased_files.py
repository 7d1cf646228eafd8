"""What was erased beside a running server is open nowhere, also if nobody asks the server anything."""

import subprocess
import sys
import time
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

from errorfloor.catalogue import load
from errorfloor.engines import open_engine
from errorfloor.service import open_database
from serving import served, write_pay


def open_files(folder):
    """Name the files below a folder that this process has open; removed ones end in ``(deleted)``."""
    found = []
    for one in Path("/proc/self/fd").iterdir():
        try:
            found.append(str(one.readlink()))
        except OSError:  # closed since
            continue
    return [name for name in found if name.startswith(str(folder)) and ".duckdb" in name]


def erase_one_person(catalogue):
    source = catalogue.parent / "pay.parquet"
    rows = pq.read_table(source)
    pq.write_table(rows.filter(pc.not_equal(rows["person"], 17)), source)
    catalogue.write_text(catalogue.read_text().replace('version = "1"', 'version = "2"'))
    given = ["erase", "--catalogue", str(catalogue), "--table", "pay", "--where", "person=17", "--yes"]
    done = subprocess.run([sys.executable, "-m", "errorfloor", *given], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_running_server_closes_what_was_erased_though_nobody_asks(tmp_path):
    catalogue = write_pay(tmp_path)
    with open_database(catalogue) as database, served(database, tmp_path, following=catalogue):
        assert not open_files(tmp_path)  # until a question names the table
        database.price("SELECT avg(wage) FROM pay", max_error=5000)
        assert len(open_files(tmp_path)) == 1
        said = erase_one_person(catalogue)
        assert "running servers close what was destroyed within seconds" in said
        until = time.monotonic() + 30
        while any(name.endswith("(deleted)") for name in open_files(tmp_path)):
            assert time.monotonic() < until, "the erased file is still open"
            time.sleep(0.1)


def test_readers_close_files_that_were_removed_or_replaced_and_keep_the_others(tmp_path):
    declared = load(write_pay(tmp_path))
    with open_engine(declared.place, declared.folder, read_only=False) as writer:
        for name in ("kept", "removed", "replaced"):
            writer.create(name, "SELECT 1 AS one")
    with open_engine(declared.place, declared.folder, read_only=True) as reader:
        for name in ("kept", "removed", "replaced"):
            assert reader.query(f"SELECT one FROM {reader.relation(name)}").num_rows == 1
        reader.file_of("removed").unlink()
        (tmp_path / "copy").write_bytes(reader.file_of("replaced").read_bytes())
        (tmp_path / "copy").chmod(0o600)
        (tmp_path / "copy").rename(reader.file_of("replaced"))
        assert sum(name.endswith("(deleted)") for name in open_files(tmp_path)) == 2
        reader.let_go()
        assert not any(name.endswith("(deleted)") for name in open_files(tmp_path))
        assert str(reader.file_of("kept")) in open_files(tmp_path)
        assert reader.query(f"SELECT one FROM {reader.relation('replaced')}").num_rows == 1
