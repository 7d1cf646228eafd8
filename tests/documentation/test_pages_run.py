"""Every block of every page runs, in order, from an empty folder or from the one that the page says it needs."""

import json
import shutil
import tomllib
from pathlib import Path

import pytest

from errorfloor.identity import KeyRing
from errorfloor.service.demo_table import make_demo_tables
from running_pages import blocks_of, run_page

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
APART = ("README.md",)  # as a newcomer runs it: each command a process
ADDRESS = "postgresql://errorfloor@db.example/statistics"
KINDS = {"r", "sh", "python", "pycon", "toml", "json", "text"}
CATALOGUE = """
[tables.meters]
source = "meters.parquet"
version = "2013"
row_key = ["household", "day"]
public = { household = "text", day = "date", tariff = "text" }

[tables.meters.private.kwh]
unit = "kWh"
range = [0, 50]
resolution = 0.001
floor = 2.0
distance = 5
"""


def place_of(page):
    return page.relative_to(ROOT).as_posix()


def tables(folder, households=600, days=30):
    """Readings of households, as the pages have them."""
    make_demo_tables(folder, households=households, days=days)


def catalogue(folder):
    """The same, declared, with a key."""
    tables(folder)
    (folder / "errorfloor.toml").write_text(CATALOGUE)
    KeyRing.create(folder / "keys.json")


def registered(folder):
    """The same, registered, and asked once."""
    from errorfloor.catalogue import load
    from errorfloor.service import open_database
    from errorfloor.service.registering import register_all

    catalogue(folder)
    register_all(load(folder / "errorfloor.toml"))
    with open_database(folder / "errorfloor.toml") as database:
        database.ask("SELECT avg(kwh) AS mean FROM meters", max_error=5)


NEEDS = {
    "docs/how-to-ask.md": catalogue,
    "docs/how-to-audit.md": catalogue,
    "docs/how-to-declare.md": tables,
    "docs/how-to-distributions.md": registered,
    "docs/how-to-keep-the-ledger.md": registered,
    "docs/how-to-operate.md": registered,
    "docs/how-to-plan.md": catalogue,
    "docs/how-to-release.md": catalogue,
    "docs/how-to-running-totals.md": registered,
    "docs/how-to-serve.md": registered,
}
INSTEAD = {
    "README.md": {"make demo": "errorfloor demo --output demo-output > demo.txt 2>&1", ".venv/bin/": ""},
    "docs/how-to-audit.md": {  # an audit of everything takes minutes
        "--runs 50": "",
        " > audit.json": "",
        "audit errorfloor.toml": "audit errorfloor.toml --runs 2 --attack differencing",
    },
}
ON_SERVERS = ("docs/how-to-postgresql.md", "docs/how-to-spark.md")
RUN = [page for page in PAGES if any(block.runs for block in blocks_of(page)) and place_of(page) not in ON_SERVERS]


@pytest.mark.parametrize("page", RUN, ids=place_of)
def test_every_block_of_a_page_runs_in_order(page, tmp_path):
    if "curl" in page.read_text() and shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    NEEDS.get(place_of(page), lambda folder: None)(tmp_path)
    run_page(page, tmp_path, apart=place_of(page) in APART, instead=INSTEAD.get(place_of(page), {}))


def test_the_page_about_postgresql_runs_on_a_real_one(postgresql_place, postgresql_database):
    import psycopg
    import pyarrow.parquet as pq

    tables(postgresql_place.folder)
    rows = pq.read_table(postgresql_place.folder / "meters.parquet").to_pylist()
    with psycopg.connect(postgresql_database) as server, server.cursor() as cursor:
        cursor.execute("CREATE TABLE public.meters (household text, day date, tariff text, kwh float8)")
        with cursor.copy("COPY public.meters FROM STDIN") as copy:
            for row in rows:
                copy.write_row([row[name] for name in ("household", "day", "tariff", "kwh")])
    page = DOCS / "how-to-postgresql.md"
    run_page(page, postgresql_place.folder, apart=False, instead={ADDRESS: postgresql_database})


def test_the_page_about_spark_runs_on_a_real_one(spark_place):
    from errorfloor.engines.spark import new_session

    new_session()  # the one that the page finds running
    tables(spark_place.folder, households=60, days=10)
    run_page(DOCS / "how-to-spark.md", spark_place.folder, apart=False, instead={})


@pytest.mark.parametrize("page", PAGES, ids=place_of)
def test_every_block_says_what_it_is(page):
    text = page.read_text()
    blocks = blocks_of(page)
    assert text.count("\n```") == 2 * len(blocks), "a fence is not closed, or is indented"
    for block in blocks:
        assert block.kind in KINDS, f"{block.kind!r} is none of {KINDS}: {block.text[:60]}"
        if block.kind == "toml":
            tomllib.loads(block.text)
        if block.kind == "json":
            json.loads(block.text)


def test_the_first_command_of_the_readme_is_what_the_tests_run():
    makefile = (ROOT / "Makefile").read_text()
    assert "\tdemo --output demo-output\n".replace("\t", "\t$(BIN)/errorfloor ") in makefile
