"""Tables that protect records look alike with and without one owner, whatever is asked."""

import pytest

from errorfloor.ledger import MemoryLedger
from joined import JOINED, open_joined
from patients import CATALOGUE, STATED, open_patients, outside_view, visits

REGIONS = "FROM patients p LEFT JOIN regions r ON p.region = r.region"
INNER = REGIONS.replace("LEFT ", "")
OF_ONE_TABLE = (
    "SELECT count(*) AS n FROM patients",
    "SELECT sex, region, count(*) AS n, sum(cost) AS total FROM patients WHERE age >= 18 GROUP BY sex, region",
    "SELECT floor(age / 10) AS decade, count(*) FILTER (WHERE cost > 500) AS n FROM patients GROUP BY 1",
    "SELECT month(day) AS m, sum(CASE WHEN sex = 'f' THEN age ELSE 0 END) AS s FROM patients GROUP BY 1",
    "SELECT CASE WHEN cost < 100 THEN 'low' ELSE 'high' END AS c, count(*) AS n FROM patients GROUP BY 1",
    "SELECT sex, count(*) AS n FROM patients WHERE region = 'abroad' GROUP BY sex",
    "SELECT avg(cost) FROM patients",
    "SELECT sex, count(*) FROM patients GROUP BY sex HAVING count(*) > 3",
    "SELECT region, count(*) FROM patients WHERE sex = 'F' GROUP BY region",
    "SELECT patient, count(*) FROM patients GROUP BY patient",
    "SELECT day, cost, age, count(*) FROM patients GROUP BY day, cost, age",
    "SELECT median(cost) FROM patients",
    "SELECT cost FROM patients",
)
OF_JOINS = (
    f"SELECT r.district, count(*) AS n, sum(r.income) AS s {INNER} GROUP BY r.district",
    f"SELECT coalesce(r.district, 'none') AS d, count(*) AS n {REGIONS} WHERE r.age > 100 OR p.cost > 5 GROUP BY d",
    "SELECT b.band, avg(b.weight) AS w FROM patients p JOIN bands b ON p.age = b.age WHERE p.sex = 'f' GROUP BY b.band",
    "SELECT b.weight, count(*) AS n FROM patients p LEFT JOIN bands b USING (age) WHERE b.age = 43 GROUP BY 1",
    "SELECT count(*) AS n FROM patients p JOIN bands b ON p.age = b.age WHERE b.weight = 1",
    f"SELECT d.budget, sum(p.cost) AS s {REGIONS} JOIN districts d ON d.district = r.district GROUP BY 1",
    f"SELECT median(r.age) {REGIONS}",
    "SELECT count(*) FROM patients p JOIN bands b ON p.age = b.weight",
    "SELECT count(*) FROM bands b JOIN patients p ON p.age = b.age",
    f"SELECT r.region, p.day, p.age, count(*) {REGIONS} GROUP BY 1, 2, 3",
    f"SELECT sum(1 / r.income) {INNER}",
)


def seen(opened, folder, rows, catalogue, questions):
    """Give all that somebody outside sees of a house with these rows, but for what is drawn at random for it."""
    ledger = MemoryLedger()
    with opened(folder, rows, ledger=ledger, catalogue=catalogue) as db:
        identity = db._known.snapshot(db.catalogue, "patients", db._engine).identity
        return outside_view(db, ledger, questions).replace(identity, "").replace(db.keys[0].id, "")


@pytest.mark.parametrize("catalogue", [CATALOGUE, STATED], ids=["floor", "epsilon"])
def test_tables_with_and_without_one_owner_look_alike(tmp_path, monkeypatch, catalogue):
    monkeypatch.setattr("secrets.token_hex", lambda size=16: "5eed" * (size // 2))
    everybody, views = visits(), []
    for place, rows in enumerate(
        (
            everybody,
            [row for row in everybody if row["patient"] != "P7"],
            [row for row in everybody if row["patient"] == "P7"],
            [],
        )
    ):
        views.append(seen(open_patients, tmp_path / str(place), rows, catalogue, OF_ONE_TABLE))
    assert len(views[0]) > 10_000
    assert all(view == views[0] for view in views[1:])


@pytest.mark.parametrize("catalogue", [JOINED, JOINED.replace(CATALOGUE, STATED)], ids=["floor", "epsilon"])
def test_joins_with_and_without_one_owner_look_alike(tmp_path, monkeypatch, catalogue):
    """Also where the owner alone has a value that is joined, or nobody is there."""
    monkeypatch.setattr("secrets.token_hex", lambda size=16: "5eed" * (size // 2))
    everybody, views = visits(60), []
    alone = [row for row in everybody if row["patient"] == "P7"]
    for place, rows in enumerate((everybody, [row for row in everybody if row not in alone], alone, [])):
        views.append(seen(open_joined, tmp_path / str(place), rows, catalogue, OF_JOINS))
    assert len(views[0]) > 10_000
    assert all(view == views[0] for view in views[1:])
