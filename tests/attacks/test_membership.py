"""Whether somebody is in a table: hidden as promised where records are protected, and by nothing where values are."""

import pytest

from errorfloor.attacks.audit import audit
from errorfloor.attacks.best_play import BestPlay
from errorfloor.attacks.judgement import judge, threshold
from errorfloor.attacks.likelihood import log_odds
from errorfloor.attacks.repetition import OwnerTotal
from errorfloor.attacks.world import World
from errorfloor.catalogue import Catalogue, load
from errorfloor.identity import KeyRing
from errorfloor.service import open_database
from errorfloor.service.registering import register_all

PEOPLE = {
    "source": "-",
    "version": "1",
    "protects": "records",
    "owner": {"column": "person", "rows": 2, "floor": 0.3},
    "most_rows": 5000,
    "columns": {
        "sex": {"values": ["f", "m"], "rest": "other"},
        "age": {"range": [0, 110]},
        "debt": {"range": [0, 5000], "resolution": 0.5},
    },
}

ATTACKS = (
    "SELECT count(*) FILTER (WHERE {alike}) AS answer FROM people",  # a rare combination
    "SELECT sum(age) AS answer FROM people WHERE {alike}",
    "SELECT sex, age, count(*) AS answer FROM people GROUP BY sex, age",  # small cells
)
VALUES = """
[tables.people]
source = "people.csv"
version = "1"
row_key = ["person"]
public = { person = "whole", sex = "text", age = "whole" }
private = { debt = { range = [0, 5000], resolution = 0.5, floor = 200 } }
"""


@pytest.fixture(scope="module")
def catalogue():
    return Catalogue.model_validate({"tables": {"people": PEOPLE}})


@pytest.mark.parametrize("owner", [{}, {"max_delta": 1e-4, "max_epsilon": 3}], ids=["floor", "epsilon"])
def test_no_attack_tells_presence_better_than_promised(owner):
    people = PEOPLE | {"owner": PEOPLE["owner"] | owner}
    catalogue = Catalogue.model_validate({"tables": {"people": people}})
    with World(catalogue, "people", None, seed=5) as world:
        played = [
            (runs, judge(attack, world, runs=runs, seed=5)) for attack, runs in ((OwnerTotal(), 80), (BestPlay(), 22))
        ]
    assert all(one.right < threshold(runs, one.promised, 1e-3) for runs, one in played)  # keys are fixed
    best = max(one.success for _, one in played)
    assert 0.55 < best <= 0.8, "an adversary who learns nothing would show nothing"


@pytest.mark.parametrize("sql", ATTACKS)
def test_rare_values_and_small_cells_do_not_help(catalogue, sql):
    right, runs = 0, 80
    with World(catalogue, "people", None, seed=8) as world:
        asked = sql.format(alike=world.secret.condition())
        for run in range(runs):
            with world.server(run % 2) as door:
                answer = door.ask(asked, spend=0.98)
            table = answer.to_arrow()
            row = world.secret.mine.to_pylist()[0]
            cells = [
                place
                for place, cell in enumerate(table.to_pylist())
                if all(cell.get(name, row[name]) == row[name] for name in ("sex", "age"))
            ]
            here = cells[0] if cells else 0
            low = sum_of(world, asked, 0)
            odds = log_odds(answer, "answer", low, low + moved(asked, row), cell=here)
            right += (odds > 0) == (run % 2) if odds else 0.5
    assert right < threshold(runs, world.secret.promised, 1e-3)  # keys are fixed: what is found once is found always


def sum_of(world, asked, coin):
    """The truth without the owner, which the adversary knows: rows of others that are alike."""
    row, rows = world.secret.mine.to_pylist()[0], world.secret.rows_with(coin).to_pylist()
    names = ("sex", "age") if "GROUP BY" in asked else ("sex", "age", "debt")
    alike = [one for one in rows if all(one[name] == row[name] for name in names)]
    return sum(one["age"] for one in alike) if "sum(age)" in asked else len(alike)


def moved(asked, row):
    return 2 * row["age"] if "sum(age)" in asked else 2


def test_an_audit_plays_for_presence(catalogue):
    found = audit(catalogue, runs=3, seed=1, only=["best play"])
    assert list(found.findings) == ["owners of people"]
    assert found.findings["owners of people"][0].unit == "rows"


@pytest.mark.parametrize("sql", ATTACKS)
def test_where_values_are_protected_the_same_attacks_always_succeed(tmp_path, sql):
    """Who is there is public then, as documented: counts, sums of public columns and small cells are exact."""
    people = [(number, "fm"[number % 2], number % 60, 100.0 * number) for number in range(200)]
    secret, said = (999, "f", 77, 4000.0), []
    for is_there in (False, True):
        folder = tmp_path / str(is_there)
        folder.mkdir()
        rows = "".join(f"{','.join(map(str, row))}\n" for row in [*people, *[secret] * is_there])
        (folder / "people.csv").write_text("person,sex,age,debt\n" + rows)
        (folder / "errorfloor.toml").write_text(VALUES)
        KeyRing.create(folder / "keys.json")
        register_all(load(folder / "errorfloor.toml"))
        with open_database(folder / "errorfloor.toml") as door:
            answer = door.ask(sql.format(alike="sex = 'f' AND age = 77"))
            cells = [row for row in answer.to_arrow().to_pylist() if row.get("age", 77) == 77]
            said.append(sum(row["answer"] or 0 for row in cells))
            assert not answer.charge
    assert said[0] == 0 < said[1]


def test_where_values_are_protected_presence_is_no_secret():
    kwh = {"range": [0, 50], "resolution": 0.001, "floor": 2.0}
    meters = {"source": "-", "version": "1", "row_key": ["id"], "public": {"id": "whole"}, "private": {"kwh": kwh}}
    declared = Catalogue.model_validate({"tables": {"meters": meters}})
    with World(declared, "meters", "kwh", seed=1) as world, world.server(0) as door:
        assert door.ask("SELECT count(*) AS n FROM meters WHERE id = 7").to_arrow()["n"].to_pylist() == [1]
