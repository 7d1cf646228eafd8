"""The ledger goes away and comes back: 503 with what to do, nothing answered without a charge, then as before."""

import shutil
from pathlib import Path

import pytest

from errorfloor.service import open_database
from serving import served, write_pay

POSTGRESQL = any(Path("/usr/lib/postgresql").glob("*/bin/initdb")) or shutil.which("initdb") is not None
PLACES = [pytest.param("postgresql")] if POSTGRESQL else []


@pytest.mark.parametrize("place", PLACES)
def test_ledger_on_postgresql_goes_and_comes_back(place, postgresql_database, postgresql_server, tmp_path):
    import psycopg

    name = postgresql_database.partition("///")[2].partition("?")[0]
    question = {"sql": "SELECT avg(wage) AS mean FROM pay", "max_error": 5e6}
    catalogue = write_pay(tmp_path, ledger=postgresql_database)
    with open_database(catalogue) as database, served(database, tmp_path) as server:
        client = server.client("analyst")
        assert client.post("/v1/ask", json=question).status_code == 200
        with psycopg.connect(postgresql_server, autocommit=True) as administrator:
            administrator.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
            administrator.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
            gone = client.post("/v1/ask", json=question | {"max_error": 4e6})
            assert gone.status_code == 503
            assert gone.json()["error"]["code"] == "ledger"
            assert "asking again charges it once at most" in gone.json()["error"]["message"]
            assert gone.headers["retry-after"] == "5"
            assert client.get("/healthz").status_code == 200
            administrator.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
        back = client.post("/v1/ask", json=question | {"max_error": 4e6})
        assert (back.status_code, back.json()["fresh"]) == (200, [True])


def test_ledger_without_its_anchor_is_refused_while_serving_and_served_again(tmp_path):
    catalogue = write_pay(tmp_path)
    with open_database(catalogue) as database, served(database, tmp_path) as server:
        client = server.client("analyst")
        ask = {"sql": "SELECT avg(wage) AS mean FROM pay", "max_error": 5e6}
        assert client.post("/v1/ask", json=ask).status_code == 200
        anchor = tmp_path / "ledger.anchor"
        before = anchor.read_bytes()
        anchor.unlink()
        refused = client.post("/v1/ask", json=ask | {"max_error": 4e6})
        assert refused.status_code == 503
        assert refused.json()["error"]["code"] == "ledger"
        assert str(tmp_path) not in refused.text  # where it lies is nobody's business
        anchor.write_bytes(before)
        assert client.post("/v1/ask", json=ask | {"max_error": 4e6}).status_code == 200
