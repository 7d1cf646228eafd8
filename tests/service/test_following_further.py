"""Standing questions that go on in further blocks, and those about averages."""

import itertools

import numpy as np
import pytest

from errorfloor.errors import AllowanceError, InputError, RefusedError
from errorfloor.following.table import Figures
from followed_house import HORIZON, SUM, House

SHORT = {"since": "2024-01", "until": "2024-03", "max_error": 60.0}
MEAN = "SELECT region, avg(kwh) AS mean FROM meters GROUP BY region"
MEANS = {"since": "2024-01", "until": "2024-12", "max_error": 8.0, "least_rows": 30}


@pytest.fixture
def house(tmp_path):
    made = House(tmp_path)
    made.register("1", 8)
    return made


def cells(table, region):
    return [one for one in table.to_pylist() if one["region"] == region]


def test_an_extension_goes_on_from_the_last_total_and_bounds_add_up(house):
    with house.open() as db:
        found = db.follow(SUM, **SHORT)
        first = found.release("2024-03")
        price = found.price_extension("2024-08", max_error=90.0)
        assert "bounds add up to ±150 kWh" in price.explain() and price.affordable
        spent = db.ledger.accounts()
        longer = found.extend("2024-08", max_error=90.0)
        assert longer.fresh and db.ledger.accounts() != spent
        assert price.standings[0].charge == longer.standings[0].charge
        assert "Every month from 2024-04 to 2024-08 is within ±90 kWh" in longer.explain()
        table = longer.release("2024-08", moving=4)
        for region in "abc":
            lines = cells(table, region)
            assert [one["used"] for one in lines[:3]] == [one["used"] for one in cells(first, region)]
            truth = np.array([house.truth.get((one["month"], region), 0.0) for one in lines])
            names = ("used", "used_total", "used_total_low", "used_total_high")
            used, total, low, high = (np.array([one[name] for one in lines]) for name in names)
            assert (abs(used - truth) <= [60] * 3 + [90] * 5).all()
            assert (abs(total - truth.cumsum()) <= [60] * 3 + [150] * 5).all()
            assert np.allclose(total, used.cumsum(), rtol=0, atol=1e-6)
            assert np.allclose(high - low, [120] * 3 + [300] * 5, rtol=0, atol=1e-6)
            widths = [one["used_moving_high"] - one["used_moving_low"] for one in lines[3:]]
            # months 1–4: both from their beginnings; 2–5 and 3–6: the rest of the first block, the second from its
            # beginning, and one month of the first block alone; 4–7 from the beginning; 5–8 from within
            assert widths == pytest.approx([2 * 150, 2 * (120 + 90), 2 * 150, 2 * 90, 2 * 180])
            moved = np.array([one["used_moving"] for one in lines[3:]])
            real = np.array([truth[end - 4 : end].sum() for end in range(4, 9)])
            assert (abs(moved - real) <= np.array(widths) / 2).all()
        assert [one["max_error"] for one in longer.to_dict()["blocks"]] == [60.0, 90.0]
    with house.open() as db:  # another process finds it extended
        again = db.follow(SUM, **SHORT)
        assert not again.fresh and again.names[-1] == "2024-08"
        assert again.release("2024-08", moving=4) == table
        assert db.following()[0]["until"] == "2024-08"
        assert [one["block"] for one in db.following()[0]["charged"]] == [0, 1]


def test_an_extension_is_charged_once_and_goes_on_once(house):
    with house.open() as one, house.open() as other:
        here, there = one.follow(SUM, **SHORT), other.follow(SUM, **SHORT)
        assert here.extend("2024-08").fresh
        spent = one.ledger.accounts()
        assert not there.extend("2024-08").fresh
        for refused in (lambda: there.extend("2024-09"), lambda: there.price_extension("2024-08", max_error=70.0)):
            with pytest.raises(RefusedError, match="was extended beyond 2024-03 already"):
                refused()
        assert other.ledger.accounts() == spent
        again = one.follow(SUM, **SHORT)
        for bound in (None, 60.0):  # said again, as a client does that got no reply
            assert not again.extend("2024-08", max_error=bound).fresh
            assert again.extend("2024-08", max_error=bound).names == again.names
            assert again.price_extension("2024-08").explain().count("bounds add up to ±120") == 1
        assert other.ledger.accounts() == spent
        assert one.follow(SUM, **{**SHORT, "since": "2024-04", "until": "2024-08"}).fresh  # which is another question
        with pytest.raises(InputError, match="too far from"):
            one.follow(SUM, **SHORT).extend("2024-12", max_error=1e7)
        with pytest.raises(AllowanceError):
            one.follow(SUM, **SHORT).extend("2024-12", max_error=0.5)
        with pytest.raises(InputError, match="until names a later month than 2024-08"):
            one.follow(SUM, **SHORT).extend("2024-02")


def test_averages_are_within_their_bound_over_enough_rows(house):
    with house.open() as db:
        found = db.follow(MEAN, **MEANS)
        assert "over at least 30 rows, and every one over all rows so far, is within ±8 kWh" in found.explain()
        table = found.release("2024-06", moving=3)
        assert table.column_names == [
            "month", "region", "mean", "mean_low", "mean_high", "mean_total", "mean_total_low", "mean_total_high",
            "mean_rows", "mean_moving", "mean_moving_low", "mean_moving_high",
        ]  # fmt: skip
        for region in "abc":
            lines = cells(table, region)
            sums = np.array([house.truth.get((one["month"], region), 0.0) for one in lines])
            rows = np.array([one["mean_rows"] for one in lines])
            assert rows.tolist() == [0 if region == "c" and place < 2 else 30 for place in range(6)]
            for place, one in enumerate(lines):
                for name, first in (("mean", place), ("mean_total", 0), ("mean_moving", place - 2)):
                    if first < 0 or not rows[first : place + 1].sum():
                        assert one[name] is one[f"{name}_low"] is None
                        continue
                    real = sums[first : place + 1].sum() / rows[first : place + 1].sum()
                    assert 0 <= one[f"{name}_low"] <= real <= one[f"{name}_high"] <= 10 + 1e-9
                    times = 2 if name == "mean_moving" else 1
                    assert abs(one[name] - real) <= 8 * times * 30 / rows[first : place + 1].sum()
        assert found.wider() == []
        assert db.follow(MEAN, **MEANS).figures().column("mean") == table.column("mean")


def test_an_average_over_fewer_rows_has_a_wider_bound_and_says_so(house):
    with house.open() as db:
        found = db.follow(MEAN, **{**MEANS, "least_rows": 45, "max_error": 2.0})
        lines = cells(found.release("2024-03"), "a")
        assert found.wider()[0] == (
            "2024-01: 2 of 3 groups have fewer than 45 rows; averages there are within up to ±3 instead of ±2."
        )
        sums = np.array([house.truth[one["month"], "a"] for one in lines])
        for place, one in enumerate(lines):
            assert abs(one["mean"] - sums[place] / 30) <= 3.0
            assert one["mean_low"] <= sums[place] / 30 <= one["mean_high"]
            assert abs(one["mean_total"] - sums[: place + 1].sum() / (30 * (place + 1))) <= 3.0 / (place + 1)


def test_an_average_costs_what_its_sum_costs(house):
    with house.open() as db:
        mean = db.follow_price(MEAN, **MEANS)
        total = db.follow_price(SUM, since="2024-01", until="2024-12", max_error=240.0)
        assert mean.standings[0].charge == total.standings[0].charge
        assert mean.affordable and "paid for" in mean.explain()
        assert db.ledger.accounts() == {} and db.following() == []


@pytest.mark.parametrize("least", [None, 0, 2.5, True, "30"])
def test_an_average_needs_its_least_rows(house, least):
    with house.open() as db, pytest.raises(InputError, match="least_rows is how many rows a group has at least"):
        db.follow(MEAN, **{**MEANS, "least_rows": least})


def test_least_rows_are_for_averages(house):
    with house.open() as db:
        with pytest.raises(InputError, match="least_rows is for an average"):
            db.follow(SUM, **HORIZON, least_rows=3)
        with pytest.raises(RefusedError, match="a column mean_rows comes along"):
            db.follow("SELECT region AS mean_rows, avg(kwh) AS mean FROM meters GROUP BY region", **MEANS)


def test_windows_are_bounded_block_by_block(house):
    """No sum of neighbouring months is farther off than is said, whatever the blocks: against the joint bounds."""
    with house.open() as db:
        found = db.follow(SUM, **SHORT).extend("2024-05", max_error=90.0).extend("2024-08", max_error=120.0)
        found.release("2024-08")
        figures = Figures(found.shape, found._of, found._periods)
    tags = np.arange(4000, dtype="<u8").reshape(-1, 2)
    noise = np.concatenate([block.noise(tags) for block in found.blocks], axis=1)
    for first, last in itertools.combinations_with_replacement(range(8), 2):
        assert abs(noise[:, first : last + 1].sum(axis=1)).max() <= figures._off(first, last)
