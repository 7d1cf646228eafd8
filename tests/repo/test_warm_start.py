"""What a question loads is budgeted in modules, not in seconds: a laptop's clock proves nothing."""

import json
import subprocess
import sys

import pytest

from errorfloor.catalogue import load
from errorfloor.identity import KeyRing
from errorfloor.service.example import CATALOGUE
from errorfloor.service.registering import register_all

HEAVY = {
    "asyncio",
    "clarabel",
    "fastapi",
    "flint",
    "matplotlib",
    "mpmath",
    "multiprocessing",
    "pandas",
    "psycopg",
    "pyspark",
    "scipy",
    "skfem",
    "sqlalchemy",
    "uvicorn",
}
QUESTION = "SELECT tariff, avg(kwh) AS mean, count(*) AS n FROM meters GROUP BY tariff ORDER BY mean"
OPENED = """
import errorfloor as ef
with ef.open("errorfloor.toml") as db:
    db.ask(sys.argv[1], max_error=0.5)
"""
OF_EVERY_KIND = """
import errorfloor as ef
with ef.open("errorfloor.toml") as db:
    for text in sys.argv[1:]:
        str(db.ask(text, max_error=5.0))
"""
KINDS = (
    "SELECT tariff, sum(kwh) AS s, count(*) AS n FROM meters GROUP BY ROLLUP (tariff)",
    "SELECT tariff, sum(kwh) AS s, sum(sum(kwh)) OVER (ORDER BY tariff) AS r FROM meters GROUP BY tariff",
    "SELECT median(kwh) AS m, histogram(kwh, 10, 15) AS h, stddev_pop(kwh) AS d FROM meters WHERE tariff <> 'no'",
)
COMMAND = """
from errorfloor.cli import run
sys.argv[0] = "errorfloor"
try:
    run()
except SystemExit:
    pass
"""


def loaded(script, *arguments, folder=None):
    """Give the modules that a fresh Python has after it ran a script."""
    whole = f"import json, sys\n{script}\nprint(json.dumps(sorted(sys.modules)))"
    command = [sys.executable, "-c", whole, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120, cwd=folder)
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("warm")
    rows = "".join(f"{i},{'ToU' if i % 4 == 0 else 'Std'},{7 + i % 13}\n" for i in range(100))
    (folder / "meters.csv").write_text(f"household,tariff,kwh\n{rows}")
    (folder / "errorfloor.toml").write_text(CATALOGUE.replace("floor = 2.0", "floor = 0.1"))
    KeyRing.create(folder / "keys.json")
    register_all(load(folder / "errorfloor.toml"))
    return folder


def test_a_question_is_answered_without_libraries_that_it_does_not_need(home):
    modules = loaded(OPENED, QUESTION, folder=home)
    assert "duckdb" in modules and "pyarrow" in modules
    assert not HEAVY & {name.partition(".")[0] for name in modules}
    assert not {"numpy.ma", "pyarrow.dataset", "pyarrow.parquet", "errorfloor.designer"} & set(modules)
    assert "numpy.polynomial" not in modules  # its quadratures wake every core, and are computed when they are wanted
    assert len(modules) < 700


@pytest.mark.parametrize("collects", [True, False])
def test_whether_garbage_is_collected_is_left_as_it_was(collects):
    script = f"import gc, errorfloor as ef\n(gc.enable if {collects} else gc.disable)()\nef.open\nimport sys"
    modules = loaded(f"{script}\nassert gc.isenabled() is {collects}")
    assert "errorfloor.service" in modules


def test_totals_quantiles_and_the_like_load_no_library_beyond_that_of_joint_noise(home):
    modules = loaded(OF_EVERY_KIND, *KINDS, folder=home)
    assert not (HEAVY - {"scipy"}) & {name.partition(".")[0] for name in modules}


def test_the_command_that_asks_loads_little_besides(home):
    modules = loaded(COMMAND, "ask", QUESTION, "--max-error", "0.6", folder=home)
    assert "duckdb" in modules and "typer" in modules
    assert not HEAVY & {name.partition(".")[0] for name in modules}
    assert len(modules) < 795


def test_help_loads_neither_engines_nor_arrays():
    modules = loaded(COMMAND, "--help")
    tops = {name.partition(".")[0] for name in modules}
    assert "typer" in tops
    assert not (HEAVY | {"numpy", "pyarrow", "duckdb", "sqlglot", "pydantic"}) & tops
    assert len(modules) < 350
