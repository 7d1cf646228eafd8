"""Questions about different places of a range stand beside each other; those about one place add up, as ever."""

import itertools
import json

import pytest

from errorfloor.errors import AllowanceError
from errorfloor.ledger import MemoryLedger
from errorfloor.service.example import example_database
from town import open_town, write_town


def share_above(threshold, width=2):
    return f"SELECT avg(above(kwh, {threshold}, {width})) AS share FROM meters"


def test_thirty_thresholds_asked_one_by_one_use_what_few_of_them_use():
    with example_database() as db:
        for number in range(1, 31):
            price = db.price(share_above(f"{50 * number / 31:.4f}"), max_error=0.02)
            answer = db.ask(share_above(f"{50 * number / 31:.4f}"), max_error=0.02)
            assert price.standings[0].used == pytest.approx(answer.standings[0].used, rel=1e-12)
        (standing,) = answer.standings
        assert standing.used_by_this < standing.used < 1.5 * standing.used_by_this
        assert db.left()[0].used == pytest.approx(standing.used)
        assert db.ledger.verify().head == db.ledger.head()


def test_averages_add_up_as_before_and_on_top_of_every_place():
    with example_database() as db:
        one = db.ask("SELECT avg(kwh) FROM meters", spend=0.1).standings[0]
        two = db.ask("SELECT avg(kwh * 0.5) FROM meters", spend=0.1).standings[0]
        three = db.ask(share_above(10), spend=0.1).standings[0]
        four = db.ask(share_above(30), spend=0.1).standings[0]
        five = db.ask("SELECT avg(kwh * 2) FROM meters", spend=0.1).standings[0]
    used = [standing.used for standing in (one, two, three, four, five)]
    assert used == pytest.approx([0.1, 0.2, 0.3, 0.3, 0.4], rel=1e-4)
    assert one.charge.profile is two.charge.profile is five.charge.profile is None


def test_a_place_is_refused_when_it_is_full_and_others_are_not():
    with example_database() as db:
        db.ask(share_above(10), spend=0.9)
        with pytest.raises(AllowanceError) as refusal:
            db.ask(share_above("10.01"), spend=0.3)
        assert "90 % of the allowance of meters.kwh was used before, by 1 charge" in str(refusal.value)
        assert db.ask(share_above(30), spend=0.9).standings[0].used <= 1
        least = db.simulate(share_above("10.01"), max_error=0.01).least_max_error["share"]
        assert f"max_error {least:.15g} here" in str(refusal.value)
        assert db.price(share_above("10.01"), max_error=least).affordable
        assert not db.price(share_above("10.01"), max_error=0.98 * least).affordable


@pytest.mark.parametrize("analyst", [None, "ada"])
def test_as_many_answers_as_are_foretold_can_be_given_at_a_place(analyst):
    with example_database(quota={"analyst": 0.5}) as db:
        db.ask(share_above(10), spend=0.3)
        db.ask("SELECT avg(kwh) FROM meters", spend=0.1)
        db.ask(share_above(40), spend=0.45)
        bound = db.price(share_above("10.5"), spend=0.03).max_error["share"]
        foretold = db.simulate(share_above("10.5"), max_error=bound, analyst=analyst)
        room = foretold.to_dict()["accounts"][0]
        assert room["used"] == pytest.approx(0.55, rel=1e-4)
        assert room["used_after_next"] == pytest.approx(0.55, rel=1e-4)
        for number in itertools.count():
            try:
                db.ask(share_above("10.5"), max_error=bound * (1 - number * 1e-9), analyst=analyst)
            except AllowanceError:
                break
        assert foretold.answers == number > 10


def test_quotas_count_by_place():
    with example_database(quota={"analyst": 0.25}) as db:
        for threshold in (10, 20, 30):
            answer = db.ask(share_above(threshold), spend=0.2, analyst="ada")
        assert [quota.used for quota in answer.quotas] == pytest.approx([0.8], rel=1e-4)
        with pytest.raises(AllowanceError, match="requested 80 % of it, remaining 20 %"):
            db.ask(share_above("20.01"), spend=0.2, analyst="ada")


def test_what_is_stated_at_the_amount_spent_is_that_of_the_most_exposed_place():
    with example_database() as db, example_database() as other:
        for threshold in (10, 20, 30):
            several = db.ask(share_above(threshold), spend=0.2).standings[0]
        alone = other.ask(share_above(20), spend=0.2).standings[0]
        assert several.promised == alone.promised
        assert several.told_apart == pytest.approx(alone.told_apart, rel=1e-4)
        assert several.floor == pytest.approx(alone.floor, rel=1e-4)


def test_accounts_are_stated_as_one_number_each_and_history_as_before():
    with example_database() as db:
        answer = db.ask(share_above(10), spend=0.1)
        stated = answer.standings[0].to_dict()
        record = next(one for one in db.history() if one["charges"])
    assert [len(stated[name]) for name in ("charge", "spent", "allowance")] == [3, 3, 3]
    assert set(record["charges"][0]) == {
        *("table", "column", "cell", "holder"),
        *("information", "evaluation", "raised_cosine"),
    }
    assert len(json.dumps(stated)) < 1000


def test_an_answer_that_is_asked_again_is_free_at_every_place():
    with example_database() as db:
        first = db.ask(share_above(10), spend=0.4)
        again = db.ask(share_above(10), spend=0.4)
        assert again.to_arrow() == first.to_arrow()
        assert again.fresh == (False,)
        assert [one.used for one in db.left() if one.account.column == "kwh"] == [first.standings[0].used]


def test_another_version_of_the_table_is_charged_in_full(tmp_path):
    ledger = MemoryLedger()
    write_town(tmp_path)
    with open_town(tmp_path, ledger=ledger) as db:
        db.ask(share_above(10), spend=0.3)
        assert db.ask(share_above(30), spend=0.3).standings[0].used == pytest.approx(0.3, rel=1e-3)
    text = (tmp_path / "errorfloor.toml").read_text()
    (tmp_path / "errorfloor.toml").write_text(text.replace('version = "1"', 'version = "2"'))
    with open_town(tmp_path, ledger=ledger) as db:
        assert db.ask(share_above(40), spend=0.3).standings[0].used == pytest.approx(0.6, rel=1e-3)
        assert db.ask(share_above(20), spend=0.3).standings[0].used == pytest.approx(0.6, rel=1e-3)
        assert sorted(db.ledger.profiles()[db.left()[0].account]) == ["1", "2"]
