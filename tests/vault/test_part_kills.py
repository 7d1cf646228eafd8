"""Registration of parts that is killed, or raced: each part is there whole or not at all, and the next run goes on."""

import subprocess
import sys

import pytest

import errorfloor as ef
from errorfloor.engines import open_engine
from errorfloor.errors import CatalogueError
from monthly import ALL, JANUARY, corrected, grow, write_catalogue, write_months

KILL = """
import os, sys
from errorfloor.catalogue import load
from errorfloor.engines.duckdb_folder import DuckDBFolder
from errorfloor.identity import private_file
from errorfloor.service import registering

moment, calls = sys.argv[2], []
make, keep = DuckDBFolder._make, private_file.settle

def making(self, name, select, note):
    def noted(relation):
        if moment == "inside" and len(calls) == 1:
            os._exit(9)
        return note(relation)
    if moment == "before":
        os._exit(9)
    make(self, name, select, noted)
    calls.append(name)

def keeping(folder):
    if moment == "renamed" and len(calls) == 1:
        os._exit(9)
    keep(folder)

DuckDBFolder._make, private_file.settle = making, keeping
list(registering.registering(load(sys.argv[1])))
"""


@pytest.mark.parametrize(("moment", "made"), [("before", 1), ("inside", 2), ("renamed", 3)])
def test_killed_anywhere_in_a_registration_the_next_one_goes_on(tmp_path, moment, made):
    write_months(tmp_path, [1])
    declared = write_catalogue(tmp_path)
    grow(tmp_path)
    with ef.open(tmp_path / "errorfloor.toml") as db:
        first = db.ask(JANUARY, max_error=4).to_arrow()
    write_months(tmp_path, [1, 2, 3, 4])
    command = [sys.executable, "-c", KILL, str(tmp_path / "errorfloor.toml"), moment]
    assert subprocess.run(command, timeout=60, check=False).returncode == 9
    with open_engine(declared.place, declared.folder) as engine:
        assert len(engine.known()) == made
    with ef.open(tmp_path / "errorfloor.toml") as db:  # what is there can be asked
        assert db.tables()[0]["rows"] == 100 * made
        assert db.ask(JANUARY, max_error=4).to_arrow() == first
        assert db.ask(ALL, max_error=4).fresh == (True,)
    found = grow(tmp_path)
    assert len(found.unchanged) == made and len(found.new) == 4 - made
    with ef.open(tmp_path / "errorfloor.toml") as db:
        again = db.ask(JANUARY, max_error=4)
        assert again.to_arrow() == first and again.fresh == (False,)
        assert db.tables()[0]["rows"] == 400
        assert len(db.history()) == 2
    assert not list((tmp_path / "vault.duckdb").glob(".making*"))


@pytest.mark.parametrize("moment", ["inside", "renamed"])
def test_killed_in_a_correction_the_old_part_or_the_new_one_is_there_and_the_next_run_goes_on(tmp_path, moment):
    """Two parts are corrected; the kill comes while, or just after, the second is made."""
    write_months(tmp_path, [1, 2])
    write_catalogue(tmp_path)
    grow(tmp_path)
    with ef.open(tmp_path / "errorfloor.toml") as db:
        first = db.ask(JANUARY, max_error=4).to_arrow()
    write_months(tmp_path, [1, 2], changed={(1, 7), (2, 7)})
    write_catalogue(tmp_path, corrected(m01="2", m02="2"))
    script = KILL.replace("load(sys.argv[1])", "load(sys.argv[1]), corrections=True")
    command = [sys.executable, "-c", script, str(tmp_path / "errorfloor.toml"), moment]
    assert subprocess.run(command, timeout=60, check=False).returncode == 9
    write_catalogue(tmp_path)  # under the old declaration nothing has changed
    with ef.open(tmp_path / "errorfloor.toml") as db:
        assert db.ask(JANUARY, max_error=4).to_arrow() == first
        assert db.tables()[0]["rows"] == 200
    declared = write_catalogue(tmp_path, corrected(m01="2", m02="2"))
    if moment == "inside":
        said = "part 2024-02 of table meters is not registered in version '2'"
        with ef.open(tmp_path / "errorfloor.toml") as db, pytest.raises(CatalogueError, match=said):
            db.ask(ALL, max_error=4)
    found = grow(tmp_path, declared, corrections=True)
    assert "2024-01" in found.unchanged and found.corrected == (("2024-02",) if moment == "inside" else ())
    with ef.open(tmp_path / "errorfloor.toml") as db:
        again = db.ask(JANUARY, max_error=4)
        assert again.fresh == (True,) and again.to_arrow() != first
        assert db.tables()[0]["rows"] == 200


def test_of_two_processes_that_register_at_once_each_part_is_made_once(tmp_path):
    write_months(tmp_path, range(1, 13))
    declared = write_catalogue(tmp_path)
    command = [sys.executable, "-m", "errorfloor", "register", "--catalogue", str(tmp_path / "errorfloor.toml")]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
    said = [one.communicate(timeout=120)[1].decode() for one in running]
    codes = [one.returncode for one in running]
    assert 0 in codes
    for code, text in zip(codes, said, strict=True):
        assert code == 0 or "in use" in text, text
    with open_engine(declared.place, declared.folder) as engine:
        assert len(engine.known()) == 12
    assert len(grow(tmp_path).unchanged) == 12
    with ef.open(tmp_path / "errorfloor.toml") as db:
        assert db.ask(ALL, max_error=4).fresh == (True,)
