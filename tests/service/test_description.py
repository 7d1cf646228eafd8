"""What everybody may know of the tables and of the ledger; nothing private is in either."""

import json

import pytest

from errorfloor.errors import InputError
from town import open_town, write_town

AVERAGE = "SELECT tariff, avg(kwh) AS mean FROM meters GROUP BY tariff"


def test_tables_say_what_is_declared(towns):
    town = towns("plain", owner=True)
    meters, homes = town.tables()
    assert (meters["name"], meters["version"], meters["rows"]) == ("meters", "1", 720)
    assert meters["row_key"] == ["household", "day"]
    kwh, peak = meters["private"]
    assert kwh == {
        "name": "kwh", "unit": "kWh", "range": [0.0, 50.0], "resolution": 0.001, "floor": 0.5, "distance": 5.0,
        "nulls": "public", "impute": None, "prior": None,
    }  # fmt: skip
    assert (peak["nulls"], peak["impute"]) == ("impute", 1.0)
    assert {"name": "area", "type": "number", "unit": "", "resolution": 0.1} in meters["public"]
    none = dict.fromkeys(("per", "joined", "register", "life"))
    assert meters["owner"] == {"column": "household", "floor": 0.05, "apart": {}, **none}
    assert (homes["private"], homes["owner"], homes["account_by"], homes["rows"]) == ([], None, [], 24)
    assert json.loads(json.dumps(town.tables())) == town.tables()


def test_tables_do_not_depend_on_private_values(towns):
    assert towns("low").tables() == towns("high").tables()


def test_a_table_that_is_not_registered_has_no_rows_yet(tmp_path):
    folder = tmp_path / "town"
    write_town(folder)
    open_town(folder).close()
    file = folder / "errorfloor.toml"
    file.write_text(file.read_text().replace('version = "1"', 'version = "2"'))
    with open_town(folder, make=False) as town:
        assert [table["rows"] for table in town.tables()] == [None, 24]


def test_history_comes_by_the_page_in_order(town):
    for place in range(5):
        town.ask(AVERAGE, max_error=5.5 - place)
    whole = town.history()
    assert [record["sequence"] for record in whole] == [1, 2, 3, 4, 5]
    assert town.history(after=2, limit=2) == whole[2:4]
    assert town.history(after=5) == []
    first = whole[0]
    assert (first["table"], first["version"], first["output"], first["key"]) == (
        "meters",
        "1",
        "mean",
        "feedfacefeedface",
    )
    assert len(first["label"]) == 64
    (charge,) = first["charges"]
    assert (charge["table"], charge["column"], charge["cell"], charge["holder"]) == ("meters", "kwh", "", "")
    assert charge["information"] == town.ask(AVERAGE, max_error=0.5).prepared.charges.popitem()[1].information
    assert json.loads(json.dumps(whole)) == whole


@pytest.mark.parametrize("wrong", [{"after": -1}, {"limit": 0}, {"limit": 1001}, {"after": "1"}])
def test_pages_that_are_none_are_refused(town, wrong):
    with pytest.raises(InputError, match="after must be at least 0 and limit 1 to 1000"):
        town.history(**wrong)
