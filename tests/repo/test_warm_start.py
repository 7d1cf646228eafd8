"""What a question loads is budgeted in modules, not in seconds: a laptop's clock proves nothing."""

import json
import subprocess
import sys

HEAVY = {
    "pandas",
    "scipy",
    "matplotlib",
    "numba",
    "fastapi",
    "uvicorn",
    "clarabel",
    "pyspark",
    "skfem",
    "flint",
    "mpmath",
}
ASKED = """
import json, sys
from errorfloor.service.example import example_database
with example_database() as db:
    db.ask("SELECT tariff, avg(kwh) AS mean, count(*) AS n FROM meters GROUP BY tariff ORDER BY mean", max_error=0.5)
print(json.dumps(sorted(sys.modules)))
"""
HELPED = """
import json, sys
from errorfloor.cli import main
sys.argv = ["errorfloor", "--help"]
try:
    main()
except SystemExit:
    pass
print(json.dumps(sorted(sys.modules)))
"""


def loaded(script: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120)
    return json.loads(done.stdout.splitlines()[-1])


def test_a_question_is_answered_without_libraries_that_it_does_not_need():
    modules = loaded(ASKED)
    assert "duckdb" in modules and "pyarrow" in modules
    assert not HEAVY & {name.partition(".")[0] for name in modules}
    assert len(modules) < 950


def test_help_loads_neither_engines_nor_arrays():
    modules = {name.partition(".")[0] for name in loaded(HELPED)}
    assert "typer" in modules
    assert not (HEAVY | {"numpy", "pyarrow", "duckdb", "sqlalchemy", "sqlglot"}) & modules
