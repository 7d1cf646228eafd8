"""A share is spent evenly: each cell has the bound that its size affords, and is charged for that bound."""

import math

import numpy as np
import pytest
from scipy import stats

from errorfloor.catalogue import load
from errorfloor.errors import InputError
from errorfloor.identity import KeyRing
from errorfloor.noise import RaisedCosine
from errorfloor.noise.lattice import Lattice
from errorfloor.service import open_database
from errorfloor.service.registering import register_all

SIZES = np.geomspace(28, 5000, 96).astype(int)
CATALOGUE = """
[tables.meters]
source = "meters.csv"
version = "1"
row_key = ["id"]
public = {{ id = "whole", place = "whole", home = "whole", small = "whole" }}
{more}

[tables.meters.private.kwh]
unit = "kWh"
range = [0, 50]
resolution = 0.001
floor = 2.0

[tables.meters.private.peak]
range = [0, 10]
resolution = 0.01
floor = 0.5
"""
BY_PLACE = "SELECT place, avg(kwh) AS mean FROM meters GROUP BY place"
OWNER = 'owner = { column = "home", floor = 0.1 }'


@pytest.fixture(scope="module")
def meters(tmp_path_factory):
    """Give what opens the meters anew, and the true averages by place."""
    folder = tmp_path_factory.mktemp("meters")
    place = np.repeat(np.arange(len(SIZES)), SIZES)
    kwh = np.random.default_rng(5).integers(0, 50_001, len(place))
    small = (700 * np.sqrt(np.arange(len(place)) / len(place))).astype(int)  # sizes grow from 1 to 260
    rows = zip(place, np.arange(len(place)) % 2000, small, kwh, strict=True)
    lines = [f"{i},{p},{h},{s},{v / 1000:.3f},{v % 1000 / 100}" for i, (p, h, s, v) in enumerate(rows)]
    (folder / "meters.csv").write_text("id,place,home,small,kwh,peak\n" + "\n".join(lines) + "\n")
    KeyRing.create(folder / "keys.json")
    truth = {
        key: np.bincount(of, weights=kwh / 1000) / np.maximum(np.bincount(of), 1)
        for key, of in (("place", place), ("small", small))
    }
    made = []

    def opened(more="", *, again=False):
        if again:
            made[-1].close()
            made[-1] = open_database(folder / f"{len(made) - 1}.toml")
            return made[-1]
        path = folder / f"{len(made)}.toml"
        place_of = (
            f'[place]\nledger = "{len(made)}.sqlite"\nanchor = "{len(made)}.anchor"\nsnapshots = "{len(made)}.duckdb"\n'
        )
        path.write_text(place_of + CATALOGUE.format(more=more))
        register_all(load(path))
        made.append(open_database(path))
        return made[-1]

    opened.folder = folder
    yield opened, truth
    for one in made:
        one.close()


@pytest.fixture(scope="module")
def database(meters):
    return meters[0]()


def bounds_of(table, name="mean"):
    return (table.column(f"{name}_high").to_numpy() - table.column(f"{name}_low").to_numpy()) / 2


def used_by(price):
    return max(one.used_by_this for one in price.standings)


def test_bounds_are_inverse_to_sizes(database):
    table = database.ask(BY_PLACE, spend=0.02).to_arrow()
    product = bounds_of(table) * SIZES
    assert product.max() / product.min() < 1.01  # lattices are coarser or finer


def test_the_median_bound_is_ten_times_tighter_at_equal_charge(database):
    price = database.price(BY_PLACE, spend=0.02)
    narrow, wide = 0.01, 50.0
    while wide / narrow > 1.001:
        middle = math.sqrt(narrow * wide)
        fits = used_by(database.price(BY_PLACE, max_error=middle)) <= used_by(price)
        narrow, wide = (narrow, middle) if fits else (middle, wide)
    added = price.prepared.outputs[0].added
    assert np.median(added.of_kind("high")[price.prepared.bounds.kind]) <= narrow / 10
    assert added.widest.high <= wide * 1.02  # and the smallest cell loses nothing


@pytest.mark.parametrize("more", ["", OWNER])
@pytest.mark.parametrize(
    "question",
    [
        BY_PLACE,
        "SELECT place, sum(kwh) AS a, var_pop(peak) AS b FROM meters GROUP BY place",
        "SELECT place, avg(kwh) AS a, avg(kwh * kwh) AS b, count(*) AS n FROM meters GROUP BY place",
        "SELECT avg(kwh) AS a FROM meters",
    ],
)
def test_the_scarcest_account_takes_that_share_and_no_more(meters, more, question):
    database = meters[0](more)
    for share in (1.0, 0.1, 0.003):
        assert 0.9995 * share < used_by(database.price(question, spend=share)) <= share


def test_a_cell_is_charged_for_its_own_noise(database):
    """The charge by hand: the largest of I/n² over the cells, I = 4π²/width² of the noise that is drawn."""
    price = database.price(BY_PLACE, spend=0.021)
    added, kind = price.prepared.outputs[0].added, price.prepared.bounds.kind
    widths = np.array([one.noise.support.width for one in added.each])[added.level[kind]]
    by_hand = (4 * math.pi**2 / widths**2 / SIZES**2.0).max()
    charge = price.standings[0].charge
    assert charge.information + charge.raised_cosine == pytest.approx(by_hand, rel=1e-9)


def test_released_numbers_have_the_law_that_is_stated(meters):
    """700 cells of many sizes: a Kolmogorov–Smirnov test against the unit's cdf, false alarm below 1e-9."""
    opened, truth = meters
    answer = opened().ask("SELECT small, avg(kwh) AS mean FROM meters GROUP BY small", spend=0.05)
    table, added = answer.to_arrow(), answer.prepared.outputs[0].added
    assert len(added.each) > 100
    off = table.column("mean").to_numpy() - truth["small"][table.column("small").to_numpy()]
    bounds = added.of_kind("high")[answer.prepared.bounds.kind]
    assert (np.abs(off) <= bounds * (1 + 1e-12)).all()
    assert [one["outputs"]["mean"]["max_error"] for one in answer.cells()] == bounds.tolist()
    half = np.array([one.noise.support.width / 2 for one in added.each])[added.level[answer.prepared.bounds.kind]]
    unit = RaisedCosine(-1.0, 1.0)
    assert stats.kstest(np.clip(off / half, -1, 1), unit.cdf).pvalue > 1e-9
    assert stats.kstest(off / half.max(), unit.cdf).pvalue < 1e-9  # one law for all would be noticed


def test_every_number_lies_on_the_lattice_of_its_own_bound(database):
    table = database.ask(BY_PLACE, spend=0.02).to_arrow()
    steps = [Lattice.for_width(2 * bound).size for bound in bounds_of(table)]
    assert len(set(steps)) > 1
    for value, step in zip(table.column("mean").to_pylist(), steps, strict=True):
        assert value / step == pytest.approx(round(value / step), abs=1e-6)


def test_the_same_share_again_is_the_same_answer_and_free(meters):
    database = meters[0]()
    first = database.ask(BY_PLACE, spend=0.02)
    again = database.ask(f"{BY_PLACE} ORDER BY place", spend=0.02)
    assert again.fresh == (False,)
    assert again.to_arrow() == first.to_arrow()
    other = database.ask(BY_PLACE, spend=0.03)
    assert other.fresh == (True,)
    ratios = (other.to_arrow().column("mean").to_numpy() - first.to_arrow().column("mean").to_numpy()) / bounds_of(
        first.to_arrow()
    )
    assert np.ptp(ratios) > 0.5  # its noise is not the first one's, scaled


@pytest.mark.parametrize("more", ["", OWNER])
def test_read_again_from_the_shelf_each_cell_states_the_same_bound(meters, more):
    """Also once the database was closed, in another order, and beside what was kept of another question."""
    question = "SELECT place, avg(kwh) AS mean, count(*) AS n FROM meters GROUP BY place"
    database = meters[0](more)
    database.ask("SELECT place, count(*) AS n FROM meters GROUP BY place")
    first = database.ask(question, spend=0.02)
    stated = list(first.cells())
    again = meters[0](again=True)
    read = again.ask(question, spend=0.02)
    turned = again.ask(f"{question} ORDER BY place DESC", spend=0.02)
    assert read.prepared.is_kept and turned.prepared.is_kept and read.fresh == (False,)
    assert read.to_arrow() == first.to_arrow()
    assert turned.to_arrow().to_pylist() == first.to_arrow().to_pylist()[::-1]
    assert list(read.cells()) == stated
    assert read.to_dict()["outputs"] == first.to_dict()["outputs"]
    assert read.prepared.outputs[0].added.law == first.prepared.outputs[0].added.law


def test_under_a_newer_key_and_off_the_shelf_it_is_drawn_again_alike(meters):
    """What was charged under an older key, and is no longer kept, has the same bounds and numbers, and is free."""
    opened, _ = meters
    first = opened().ask(BY_PLACE, spend=0.02)
    ring = KeyRing(opened.folder / "keys.json")
    ring.rotate()
    again = opened(again=True)
    assert again.ask(BY_PLACE, spend=0.02).to_arrow() == first.to_arrow()  # from the shelf
    again.ledger.forget(lambda _: True)
    drawn = opened(again=True).ask(BY_PLACE, spend=0.02)
    assert not drawn.prepared.is_kept and drawn.fresh == (False,)
    assert drawn.to_arrow() == first.to_arrow()
    assert drawn.to_dict()["cells"] == first.to_dict()["cells"]


def test_parts_with_bounds_of_their_own_are_never_put_together(meters):
    database = meters[0]()
    database.ask("SELECT place, home, avg(kwh) AS mean FROM meters GROUP BY place, home", spend=0.1)
    assert database.ask(BY_PLACE, max_error=49.0).fresh == (True,)
    database.ask("SELECT place, small, avg(kwh) AS mean FROM meters GROUP BY place, small", max_error=20.0)
    assert database.ask("SELECT small, avg(kwh) AS mean FROM meters GROUP BY small", spend=1e-4).fresh == (True,)


def test_a_share_and_a_bound_are_never_taken_for_each_other(meters):
    """The same text and the same number, as a share and as a bound: two questions, whichever comes first."""
    wishes = [{"spend": 0.5}, {"max_error": 0.5}]
    for order in (wishes, wishes[::-1]):
        database = meters[0]()
        first = [database.ask(f"{BY_PLACE} HAVING count(*) >= 1000", **wish) for wish in order]
        again = [database.ask(f"{BY_PLACE} HAVING count(*) >= 1000", **wish) for wish in order]
        assert [one.fresh for one in first] == [(True,), (True,)]
        for one, other in zip(first, again, strict=True):
            assert other.fresh == (False,) and other.to_arrow() == one.to_arrow()
        assert first[0].to_arrow() != first[1].to_arrow()


def test_less_than_the_least_charge_is_refused(database):
    with pytest.raises(InputError, match=r"every output takes at least 1e-06 of the allowance: .* at least 2e-06"):
        database.price("SELECT place, avg(kwh) AS a, avg(peak) AS b FROM meters GROUP BY place", spend=1.9e-6)


def test_equal_sizes_are_the_question_with_that_bound(meters):
    """Where all cells afford the same bound, asking by share and by bound are one question."""
    database = meters[0]()
    question = "SELECT avg(kwh) AS mean FROM meters"
    by_share = database.ask(question, spend=0.01)
    same = database.ask(question, max_error=by_share.max_error["mean"])
    assert same.fresh == (False,)
    assert same.to_arrow() == by_share.to_arrow()


def test_tables_and_cells_state_the_bound_of_each(database):
    answer = database.ask(BY_PLACE, spend=0.02)
    lines = answer.text().splitlines()[:-1]
    for cell, line, row in zip(answer.cells(), lines[2:], answer.to_arrow().to_pylist(), strict=False):
        low, high = cell["outputs"]["mean"]["certain_interval"]
        assert (low, high) == (row["mean_low"], row["mean_high"])
        bound = float(line.split(" ± ")[1].removesuffix(" kWh"))
        assert (high - low) / 2 * (1 - 1e-9) <= bound <= (high - low) / 2 * 1.01
        assert cell["outputs"]["mean"]["standard_error"] == pytest.approx((high - low) / 2 * 0.3615, rel=0.01)
    output = answer.to_dict()["outputs"][0]
    assert output["least"] == pytest.approx(bounds_of(answer.to_arrow()).min(), rel=1e-9)
    assert output["high"] == answer.max_error["mean"]
    assert "by group" in answer.explain()


def test_a_share_that_cannot_be_had_names_one_that_can(meters):
    database = meters[0]()
    database.ask(BY_PLACE, spend=0.7)
    with pytest.raises(Exception, match="ask with a spend of at most") as refused:
        database.ask(f"{BY_PLACE} HAVING count(*) > 50", spend=0.5)
    share = float(str(refused.value).split("ask with a spend of at most ")[1].split(";")[0])
    assert 0.25 < share <= 0.31
    database.ask(f"{BY_PLACE} HAVING count(*) > 50", spend=share)
