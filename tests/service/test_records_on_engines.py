"""Records on three engines: the same rows count, the same groups are answered, the same sums are exact."""

import json

import pytest

from errorfloor.answering.releasing import values_before_noise
from errorfloor.catalogue import load
from errorfloor.engines import open_engine
from errorfloor.identity import KeyRing
from errorfloor.ledger import MemoryLedger
from errorfloor.service import Database
from errorfloor.vault import register
from joined import write_joined
from patients import stored, visits

ASKED = (
    "SELECT count(*) AS n, sum(cost) AS s FROM patients",
    "SELECT sex, region, count(*) AS n, avg(cost) AS m FROM patients WHERE age >= 18 GROUP BY sex, region",
    "SELECT floor(age / 10) AS decade, count(*) FILTER (WHERE cost > 500) AS n FROM patients GROUP BY 1",
    "SELECT sum(abs(cost - 700)) AS a, sum(round(cost / 3)) AS r, sum(ceil(cost)) AS c, median(age) AS m FROM patients",
    "SELECT sex, count(DISTINCT day) AS d, count(DISTINCT region) FILTER (WHERE age > 9) AS r FROM patients GROUP BY 1",
    "SELECT sex, sum(greatest(cost, 10 * age, 7)) AS g, sum(sqrt(age) * sign(cost)) AS q FROM patients GROUP BY sex",
    "SELECT r.district, count(*) AS n, sum(r.income) AS s, sum(r.age * p.age) AS a FROM patients p "
    "JOIN regions r ON p.region = r.region WHERE p.region <> r.district GROUP BY r.district",
    "SELECT b.band, r.coast, count(*) FILTER (WHERE b.weight IS NULL) AS n, avg(b.weight) AS w FROM patients p "
    "LEFT JOIN bands b USING (age) LEFT JOIN regions r ON r.region = p.region GROUP BY b.band, r.coast",
    "SELECT d.budget, count(DISTINCT r.district) AS n FROM patients p JOIN regions r USING (region) "
    "JOIN districts d ON r.district = d.district GROUP BY 1",
    "SELECT date_trunc('month', day) AS m, sum(age * cost) AS s FROM patients WHERE sex <> 'f' GROUP BY 1",
)


def seen_on(place, folder):
    """Rows that count, and of each question groups, labels, exact values and answers."""
    catalogue = load(folder / "errorfloor.toml")
    if place is not None:
        catalogue = catalogue.model_copy(update={"place": place})
        with open_engine(catalogue.place, catalogue.folder, read_only=False) as engine:
            for name in catalogue.tables:
                register(catalogue, name, engine=engine)
    engine = open_engine(catalogue.place, catalogue.folder)
    with Database(catalogue, engine=engine, ledger=MemoryLedger(), keys=KeyRing(folder / "keys.json")) as db:
        rows = sorted(json.dumps(row, default=str, sort_keys=True) for row in stored(db))
        found = []
        for sql in ASKED:
            prepared = db.price(sql, max_error=4_000_000).prepared
            values = [one.high.tolist() for one in values_before_noise(prepared, db._engine)]
            labels = [one.label.encoded for one in prepared.outputs]
            found.append(
                [list(prepared.bounds.groups), labels, values, db.ask(sql, max_error=4_000_000).table.to_pylist()]
            )
        return rows, found


@pytest.fixture(autouse=True)
def same_identities(monkeypatch):
    monkeypatch.setattr("secrets.token_hex", lambda size=16: "5eed" * (size // 2))


def test_rows_groups_sums_and_answers_are_those_of_duckdb(engine_place, tmp_path):
    folder = write_joined(tmp_path / "patients", visits()).parent
    assert seen_on(engine_place.place, folder) == seen_on(None, folder)
