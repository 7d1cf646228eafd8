"""Tables and versions that are registered while a server runs: it serves them without a new start."""

import subprocess
import sys
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from errorfloor.identity import KeyRing
from monthly import JANUARY, grow, write_catalogue, write_months
from serving import PEOPLE, start_server, write_pay

BONUS = """
[tables.bonus]
source = "bonus.parquet"
version = "1"
row_key = ["person"]
public = { person = "whole" }
private.extra = { unit = "EUR", range = [0, 1000], resolution = 1, floor = 10.0 }
"""


@pytest.fixture
def running(tmp_path):
    catalogue = write_pay(tmp_path, floor=10.0)
    server = start_server(catalogue)
    yield server, catalogue
    assert server.stop() == 0


def register(catalogue):
    command = [sys.executable, "-m", "errorfloor", "register", "--catalogue", str(catalogue)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def ask(client, sql="SELECT avg(wage) AS mean FROM pay"):
    return client.post("/v1/ask", json={"sql": sql, "spend": 0.01})


def wait_for(found):
    until = time.monotonic() + 30
    while not found():
        assert time.monotonic() < until, "the server did not notice"
        time.sleep(0.2)


def test_new_version_and_new_table_are_served_without_a_new_start(running):
    server, catalogue = running
    with server.client() as client:
        process = client.get("/healthz").json()["process"]
        first = ask(client).json()
        changed = pq.read_table(catalogue.parent / "pay.parquet").drop_columns(["wage"])
        changed = changed.append_column("wage", pa.array([50000.0 + i for i in range(PEOPLE)]))
        pq.write_table(changed, catalogue.parent / "pay.parquet")
        extra = pa.table({"person": list(range(50)), "extra": [float(i) for i in range(50)]})
        pq.write_table(extra, catalogue.parent / "bonus.parquet")
        catalogue.write_text(catalogue.read_text().replace('version = "1"', 'version = "2"') + BONUS)
        wait_for(lambda: ask(client) and "not used yet" in server.log.read_text())
        assert ask(client).json()["rows"] == first["rows"]  # the old version, until the new one is registered

        done = register(catalogue)
        assert done.returncode == 0, done.stderr
        wait_for(lambda: len(client.get("/v1/tables").json()["tables"]) == 2)
        second = ask(client).json()
        assert (first["version"], second["version"]) == ("1", "2")
        assert second["accounts"][0]["used"] > 1.9 * first["accounts"][0]["used"]  # the same account, charged again
        assert ask(client, "SELECT sum(extra) AS total FROM bonus").status_code == 200
        assert client.get("/healthz").json()["process"] == process


def test_catalogue_that_cannot_be_used_changes_nothing(running):
    server, catalogue = running
    text = catalogue.read_text()
    with server.client() as client:
        first = ask(client).json()["rows"]
        for changed, reason in {
            text + "[[[": "is not TOML",
            text.replace("resolution = 0.001", "resolution = 0.01"): "resolution",
            '[place]\nledger = "other.sqlite"\n' + text: "restart the server",
        }.items():
            before = server.log.read_text().count("not used yet")
            catalogue.write_text(changed)
            wait_for(lambda before=before: ask(client) and server.log.read_text().count("not used yet") > before)
            assert reason in server.log.read_text().rpartition("not used yet")[2]
            assert ask(client).json()["rows"] == first
    assert not (catalogue.parent / "other.sqlite").exists()


def test_keys_that_were_discarded_draw_nothing_more(running):
    server, catalogue = running
    ring = KeyRing(catalogue.parent / "keys.json")
    with server.client() as client:
        assert ask(client).status_code == 200
        ring.rotate()  # the older key stays, and is used until the next start
        time.sleep(1.1)
        assert ask(client, "SELECT sum(wage) AS total FROM pay").status_code == 200
        ring.rotate(discard=True)
        wait_for(lambda: ask(client).status_code == 503)
        assert "were discarded: restart it" in ask(client).json()["error"]["message"]
        assert client.get("/healthz").status_code == client.get("/metrics").status_code == 200
        assert client.get("/readyz").status_code == 503


def test_new_parts_of_a_table_that_grows_are_served_with_the_same_catalogue(tmp_path):
    write_months(tmp_path, [1, 2])
    write_catalogue(tmp_path)
    grow(tmp_path)
    server = start_server(tmp_path / "errorfloor.toml")
    with server.client() as client:
        wish = {"sql": JANUARY, "max_error": 6}
        first = client.post("/v1/ask", json=wish).json()
        assert client.get("/v1/tables").json()["tables"][0]["rows"] == 200
        write_months(tmp_path, [1, 2, 3])
        done = register(tmp_path / "errorfloor.toml")
        assert done.returncode == 0 and "1 part new: 2024-03" in done.stdout, done.stderr
        wait_for(lambda: client.get("/v1/tables").json()["tables"][0]["rows"] == 300)
        again = client.post("/v1/ask", json=wish).json()
        assert again["rows"] == first["rows"] and again["fresh"] == [False]
    assert server.stop() == 0
