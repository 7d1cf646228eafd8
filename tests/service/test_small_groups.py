"""Guard rails: small groups are left out before pricing, prices name what sets them, refusals say what advice costs."""

import re

import pytest

from errorfloor.catalogue import load
from errorfloor.errors import AllowanceError, CatalogueError
from errorfloor.identity import KeyRing
from errorfloor.service import open_database
from houses import register_house

SIZES = {"hamlet": 1, "village": 30, "town": 400, "city": 3000}
CATALOGUE = """
[tables.meters]
source = "meters.csv"
version = "1"
row_key = ["id"]
public = {{ id = "whole", place = "text", street = "whole" }}
{more}

[tables.meters.private.kwh]
unit = "kWh"
range = [0, 50]
resolution = 0.001
floor = 2.0
"""
BY_PLACE = "SELECT place, avg(kwh) AS mean, count(*) AS n FROM meters GROUP BY place"


@pytest.fixture
def opened(tmp_path):
    """Give what opens the meters with more declared of the table."""
    rows = [place for place, size in SIZES.items() for _ in range(size)]
    lines = "".join(f"{i},{place},{i % 3},{i % 50}\n" for i, place in enumerate(rows))
    (tmp_path / "meters.csv").write_text(f"id,place,street,kwh\n{lines}")
    databases = []

    def declare(more=""):
        path = tmp_path / "errorfloor.toml"
        path.write_text(CATALOGUE.format(more=more))
        if not databases:
            register_house(load(path))
            KeyRing.create(tmp_path / "keys.json")
        databases.append(open_database(path))
        return databases[-1]

    yield declare
    for database in databases:
        database.close()


def used(database):
    return database.left()[-1].used


def test_small_groups_are_left_out_before_pricing(opened):
    db = opened()
    whole, part = (db.price(f"{BY_PLACE}{having}", max_error=0.5) for having in ("", " HAVING count(*) >= 400"))
    alone = db.price("SELECT place, avg(kwh) FROM meters WHERE place IN ('town', 'city') GROUP BY place", max_error=0.5)
    assert part.charge == alone.charge
    assert max(s.used_by_this for s in whole.standings) > 1e5 * max(s.used_by_this for s in part.standings)
    answer = db.ask(f"{BY_PLACE} HAVING 400 <= count(*)", max_error=0.5)
    assert answer.to_arrow().column("place").to_pylist() == ["city", "town"]
    assert "2 groups of fewer than 400 rows are left out." in answer.explain()
    assert answer.to_dict()["left_out"] == 2


@pytest.mark.parametrize("having", ["count(*) > 399", "n >= 400", "399 < count(*)", "count(id) >= 400"])
def test_every_way_to_say_it_is_the_same_question(opened, having):
    db = opened()
    db.ask(f"{BY_PLACE} HAVING count(*) >= 400", max_error=0.5)
    assert db.ask(f"{BY_PLACE} HAVING {having}", max_error=0.5).fresh == (False,)


def test_a_question_that_leaves_groups_out_does_not_pay_for_one_that_does_not(opened):
    db = opened()
    with_few = db.ask(f"{BY_PLACE} HAVING count(*) >= 2", max_error=20.0)
    without = db.ask(f"{BY_PLACE} HAVING count(*) >= 400", max_error=20.0)
    assert without.fresh == (True,) == with_few.fresh
    common = [row["mean"] for row in with_few.to_arrow().to_pylist() if row["place"] in ("city", "town")]
    assert common != without.to_arrow().column("mean").to_pylist()
    with pytest.raises(AllowanceError):
        db.ask(BY_PLACE, max_error=0.5)


def test_a_filter_that_leaves_nothing_out_changes_nothing(opened):
    db = opened()
    first = db.ask(BY_PLACE, max_error=40.0)
    again = db.ask(f"{BY_PLACE} HAVING count(*) >= 1", max_error=40.0)
    assert again.fresh == (False,)
    assert again.to_arrow() == first.to_arrow()


def test_a_question_whose_every_group_is_too_small_is_empty_and_free(opened):
    db = opened("min_group = 31")
    for sql in (
        "SELECT avg(kwh) AS mean FROM meters WHERE place = 'hamlet'",
        "SELECT street, avg(kwh) AS mean FROM meters WHERE place = 'village' GROUP BY street",
    ):
        answer = db.ask(sql, max_error=0.5)
        assert answer.to_arrow().num_rows == 0
        assert used(db) == 0
        assert "fewer than 31 rows" in answer.explain()


def test_the_declared_least_holds_for_every_question_about_private_columns(opened):
    db = opened("min_group = 31")
    assert db.ask(BY_PLACE, max_error=0.5).to_arrow().column("place").to_pylist() == ["city", "town"]
    assert db.ask(f"{BY_PLACE} HAVING count(*) >= 5", max_error=0.5).fresh == (False,)
    counts = db.ask("SELECT place, count(*) AS n FROM meters GROUP BY place")
    assert counts.to_arrow().num_rows == len(SIZES)  # counts are public


def test_the_declared_least_may_rise_and_not_fall(opened):
    opened("min_group = 20").ask(BY_PLACE, max_error=20.0)
    higher = opened("min_group = 31")
    assert higher.ask(BY_PLACE, max_error=0.5).to_arrow().num_rows == 2
    for lower in ("min_group = 30", ""):
        with pytest.raises(CatalogueError, match="min_group may rise but must not fall"):
            opened(lower).ask(BY_PLACE, max_error=20.0)


def test_raising_it_past_no_group_keeps_answers_free(opened):
    first = opened("min_group = 20").ask(BY_PLACE, max_error=20.0)
    again = opened("min_group = 29").ask(BY_PLACE, max_error=20.0)
    assert again.fresh == (False,)
    assert again.to_arrow() == first.to_arrow()


def test_a_price_names_the_group_that_sets_it(opened):
    price = opened().price(BY_PLACE, max_error=0.5)
    assert price.to_dict()["set_by"]["keys"] == {"place": "hamlet"}
    assert "Of 4 groups, the one with place = hamlet (1 rows) sets the price" in price.explain()


def test_the_price_without_small_groups_is_the_price_of_the_question_without_them(opened):
    db = opened()
    without = db.price(BY_PLACE, max_error=0.5).to_dict()["set_by"]["without"]
    assert without["least"] == 200  # all under it hold less than a tenth of the rows
    other = db.price(f"{BY_PLACE} HAVING count(*) >= {without['least']}", max_error=0.5)
    assert without["used_by_this"] == max(s.used_by_this for s in other.standings)
    assert without["groups"] == other.to_dict()["groups"]


def test_the_group_that_sets_it_is_the_one_whose_price_alone_is_that(opened):
    db = opened('owner = { column = "street", floor = 0.1 }')
    for sql in ("SELECT place, sum(kwh) AS a FROM meters GROUP BY place", BY_PLACE):
        price = db.price(sql, max_error=5000.0)
        scarcest = max(price.standings, key=lambda one: one.used_by_this)
        alone = {
            place: {
                s.account: s.used_by_this
                for s in db.price(sql.replace("GROUP", f"WHERE place = '{place}' GROUP"), max_error=5000.0).standings
            }[scarcest.account]
            for place in SIZES
        }
        assert price.setting.keys["place"] == max(alone, key=alone.__getitem__)


def test_a_refusal_says_what_its_advice_takes_and_what_was_charged_before(opened):
    db = opened()
    town = "SELECT avg(kwh) AS mean FROM meters WHERE place = 'town'"
    with pytest.raises(AllowanceError, match=r"nothing of the allowance of meters\.kwh was used before"):
        db.ask(town, max_error=0.001)
    for more in (1, 2):
        db.ask(town.replace("kwh", f"kwh + {more}"), max_error=0.1)
    before = used(db)
    with pytest.raises(AllowanceError) as refused:
        db.ask(town, max_error=0.001)
    said = re.search(
        r"\(max_error (\S+) here\), which takes ([\d.]+) % of the allowance; ([\d.]+) % of the allowance of meters.kwh "
        r"was used before, by 2 charges$",
        str(refused.value),
    )
    assert float(said[3]) == pytest.approx(100 * before, abs=0.1)
    db.ask(town, max_error=float(said[1]))
    assert 100 * (used(db) - before) == pytest.approx(float(said[2]), abs=0.2)


def test_no_refusal_advises_a_bound_beyond_the_range(opened):
    db = opened()
    db.ask("SELECT avg(kwh) AS mean FROM meters WHERE place = 'town'", spend=0.95)
    before = used(db)
    with pytest.raises(AllowanceError, match="no bound within the range of the answer is wide enough") as refused:
        db.ask(BY_PLACE, max_error=0.5)
    least, taken = re.search(r"HAVING count\(\*\) >= (\d+)\), which takes (\S+) %", str(refused.value)).groups()
    db.ask(f"{BY_PLACE} HAVING count(*) >= {least}", max_error=0.5)
    assert 100 * (used(db) - before) == pytest.approx(float(taken), abs=0.1)
    with pytest.raises(AllowanceError, match="ask about larger groups; "):
        db.ask("SELECT avg(kwh) AS mean FROM meters WHERE id = 7", max_error=0.5)
    assert db.simulate("SELECT avg(kwh) AS mean FROM meters WHERE id = 7", max_error=0.5).least_max_error is None


@pytest.mark.parametrize(("more", "having"), [("", " HAVING count(*) >= 20"), ("min_group = 20", "")])
@pytest.mark.parametrize("aggregate", ["sum(kwh)", "avg(kwh)"])
def test_an_answer_that_left_groups_out_is_never_the_parts_of_a_whole(opened, aggregate, more, having):
    db = opened(more)
    fine = f"SELECT place, street, {aggregate} AS y FROM meters GROUP BY place, street{{}}"
    whole = {
        "": f"SELECT {aggregate} AS y FROM meters",
        "place": f"SELECT place, {aggregate} AS y FROM meters GROUP BY place",
    }
    assert (
        db.ask(fine.format(having), max_error=300).to_dict()["left_out"] == 4
    )  # the hamlet, and streets of the village
    for text in whole.values():
        priced = db.price(text + having, max_error=5000)
        assert "from" not in priced.to_dict()["outputs"][0]
        assert "from" not in db.price(text, max_error=5000).to_dict()["outputs"][0]
        assert db.ask(text + having, max_error=5000).fresh == (True,)


def test_an_answer_that_left_nothing_out_is_the_parts_of_the_same_question_by_fewer_keys(opened):
    db = opened("min_group = 10")
    where = "FROM meters WHERE place <> 'hamlet' GROUP BY place"
    assert db.ask(f"SELECT place, street, sum(kwh) AS y {where}, street", max_error=300).to_dict()["left_out"] == 0
    assert db.ask(f"SELECT place, sum(kwh) AS y {where}", max_error=900, charge=False).fresh == (False,)
