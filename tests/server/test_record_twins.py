"""Over HTTP a table with one patient and one without say the same, released numbers apart."""

import json
import re

import pytest

from errorfloor.service import open_database
from patients import visits, write_patients
from serving import served
from twins import RELEASED

ASKED = (
    "SELECT count(*) AS n FROM patients WHERE age = 43",
    "SELECT region, count(*) AS n, sum(cost) AS s FROM patients WHERE sex = 'f' GROUP BY region ORDER BY region",
    "SELECT age, count(*) AS n FROM patients GROUP BY age",
    "SELECT count(*) FILTER (WHERE 1 / (age - 43) > 0) AS n FROM patients",
    "SELECT sum(CASE WHEN age = 43 THEN 1e30 ELSE 0 END) AS n FROM patients",
    "SELECT sum(cost * cost * cost * cost * cost * cost) AS n FROM patients",
    "SELECT sex, count(*) AS n FROM patients WHERE sex = 'F' GROUP BY sex",
    "SELECT sex, count(*) AS n FROM patients GROUP BY sex HAVING count(*) > 0",
    "SELECT DISTINCT age FROM patients",
    "SELECT max(age) FROM patients",
    "SELECT count(*) AS n FROM patients WHERE patient = 'P7'",
    "SELECT count(*) AS n FROM patients a JOIN patients b ON a.age = b.age",
    "SELECT count(*) AS n FROM patients LIMIT 0",
)
SAID = re.compile(r"\"(id|label|labels|hash|request|time|identity|key)\": ?(\"[^\"]*\"|\[[^]]*\])")


def plain(body):
    """Give a reply without what is drawn at random, and without released numbers."""
    said = json.loads(body)
    for cell in said.get("cells", []) if isinstance(said, dict) else []:
        for output in cell["outputs"].values():
            output.update({name: 0 for name in RELEASED if name in output})
    if isinstance(said, dict) and "cells" in said:
        said["rows"] = [len(row) for row in said["rows"]]
    return SAID.sub("", json.dumps(said, sort_keys=True))


def outside(path, folder):
    """Everything that an analyst's token obtains."""
    seen = []
    folder.mkdir()
    with open_database(path) as database, served(database, folder) as here, here.client("analyst") as client:
        for sql in ASKED:
            for wish in ({"max_error": 5000}, {"spend": 0.002}, {"max_error": 2}, {"max_error": 100, "dry": True}):
                for door in ("price", "simulate", "ask"):
                    if door == "ask" and wish.get("max_error") == 2:
                        continue
                    reply = client.post(f"/v1/{door}", json={"sql": sql, **wish})
                    size = sorted(set(reply.headers) - {"content-length"})
                    seen.append((door, sql, reply.status_code, size, plain(reply.content)))
        for place in (
            "/v1/tables",
            "/v1/ledger",
            "/v1/ledger/entries",
            "/v1/ledger/known",
            "/v1/streams",
            "/v1/openapi.json",
        ):
            reply = client.get(place)
            body = re.sub(r"\"bytes\": ?\d+", "", plain(reply.content)) if reply.status_code == 200 else ""
            seen.append((place, reply.status_code, body))
    return seen


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_nothing_but_released_numbers_tells_whether_a_patient_is_there(tmp_path):
    everybody = visits()
    assert any(row["patient"] == "P7" for row in everybody)
    with_them = write_patients(tmp_path / "with" / "here", everybody)
    without = write_patients(tmp_path / "less" / "here", [row for row in everybody if row["patient"] != "P7"])
    first, second = (outside(path, tmp_path / name) for path, name in ((with_them, "one"), (without, "two")))
    for one, two in zip(first, second, strict=True):
        assert one == two
    assert sum(one[2] == 200 for one in first) > 20
