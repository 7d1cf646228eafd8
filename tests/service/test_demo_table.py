"""The generated tables: like the real thing within stated windows, the same each time, accepted by the catalogue."""

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from errorfloor.catalogue import allowance, load, owner_allowance
from errorfloor.errors import InputError
from errorfloor.service.demo_table import demo_catalogue, make_demo_tables

HOUSEHOLDS, DAYS = 5000, 365


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    paths = make_demo_tables(folder)
    return folder, {name: pq.read_table(path) for name, path in paths.items()}


@pytest.fixture(scope="module")
def kwh(made):
    return made[1]["meters"]["kwh"].to_numpy().reshape(HOUSEHOLDS, DAYS)


def within(value, low, high):
    assert low <= value <= high, value


def test_readings_spread_like_those_of_london(kwh):
    within(kwh.mean(), 9.9, 10.9)
    within(kwh.std(), 8.5, 10.5)
    for share, low, high in [(0.05, 1.9, 2.5), (0.25, 4.5, 5.2), (0.5, 7.5, 8.5), (0.75, 12.2, 13.3), (0.99, 44, 50)]:
        within(np.quantile(kwh, share), low, high)
    within((kwh > 50).mean(), 0.006, 0.011)
    within((kwh == 0).mean(), 0.002, 0.006)
    assert kwh.min() == 0.0


def test_households_differ_more_than_their_days_do(kwh):
    means = kwh.mean(axis=1)
    within(np.log(means[means > 0]).std(), 0.58, 0.72)
    within(means.var() / kwh.var(), 0.55, 0.72)


def test_consumption_follows_season_week_and_the_day_before(kwh):
    days = np.arange("2013-01-01", "2014-01-01", dtype="datetime64[D]")
    daily = kwh.mean(axis=0)
    months = days.astype("datetime64[M]").astype(int) % 12
    within(daily[months == 0].mean() / daily[months == 6].mean(), 1.45, 1.7)
    weekend = np.isin(days.astype("datetime64[D]").astype(int) % 7, [2, 3])  # day 0 of 1970 was a Thursday
    assert days[weekend][0] == np.datetime64("2013-01-05")
    within(daily[weekend].mean() / daily[~weekend].mean(), 1.03, 1.08)
    centred = kwh - kwh.mean(axis=1, keepdims=True)
    scale = (centred**2).mean(axis=1)
    for lag, low, high in [(1, 0.45, 0.58), (7, 0.27, 0.45)]:
        products = (centred[:, lag:] * centred[:, :-lag]).mean(axis=1)
        within((products[scale > 0] / scale[scale > 0]).mean(), low, high)


def test_classes_and_tariffs_have_their_shares_and_means(made, kwh):
    households = made[1]["households"].to_pydict()
    means = kwh.mean(axis=1)
    for name, share, mean in [("affluent", 0.40, 11.7), ("comfortable", 0.27, 10.6), ("adversity", 0.33, 8.6)]:
        chosen = np.array(households["class"]) == name
        assert chosen.mean() == pytest.approx(share, abs=0.03)
        assert means[chosen].mean() == pytest.approx(mean, rel=0.08)
    tou = np.array(households["tariff"]) == "ToU"
    within(tou.mean(), 0.17, 0.24)
    within(means[~tou].mean() - means[tou].mean(), 0.8, 2.5)
    rooms = np.array(households["rooms"])
    assert set(rooms) <= set(range(1, 10))
    within(np.corrcoef(rooms, means)[0, 1], 0.25, 0.6)


def test_rows_have_unique_keys_and_agree_with_the_public_table(made):
    meters, households = made[1]["meters"], made[1]["households"]
    assert meters.num_rows == HOUSEHOLDS * DAYS
    assert meters.group_by(["household", "day"]).aggregate([]).num_rows == meters.num_rows
    assert len(set(households["household"].to_pylist())) == HOUSEHOLDS
    every = meters.group_by(["household", "class", "tariff"]).aggregate([]).sort_by("household")
    assert every.select(["household", "class", "tariff"]).equals(households.select(["household", "class", "tariff"]))
    assert not any(column.null_count for column in (*meters.columns, *households.columns))


def test_readings_are_whole_watt_hours(kwh):
    assert np.abs(kwh * 1000 - np.rint(kwh * 1000)).max() < 1e-6


def test_the_same_seed_gives_the_same_tables_and_another_does_not(tmp_path):
    first, again, other = (
        {name: pq.read_table(path) for name, path in make_demo_tables(tmp_path / folder, 50, 20, seed).items()}
        for folder, seed in [("a", 7), ("b", 7), ("c", 8)]
    )
    assert first["meters"].equals(again["meters"])
    assert first["households"].equals(again["households"])
    assert not first["meters"]["kwh"].equals(other["meters"]["kwh"])


def test_the_catalogue_loads_and_describes_the_tables(made):
    folder, tables = made
    file = folder / "errorfloor.toml"
    file.write_text(demo_catalogue(folder))
    catalogue = load(file)
    meters = catalogue.tables["meters"]
    assert set(catalogue.tables) == {"meters", "households"}
    for name, table in catalogue.tables.items():
        assert {*table.private, *table.public} == set(tables[name].column_names)
        assert all((folder / source).is_file() for source in table.source)
    kwh = meters.private["kwh"]
    assert (float(kwh.low), float(kwh.high), kwh.floor, kwh.distance) == (0.0, 50.0, 2.0, 5.0)
    assert allowance(kwh)[0] > 0.1
    assert owner_allowance(meters.owner)[0] > 1.6
    above = pc.mean(pc.greater(tables["meters"]["kwh"], 50)).as_py()
    assert above == pytest.approx(0.008, abs=0.002)  # as the catalogue's comment says


def test_mistakes_are_named(tmp_path):
    with pytest.raises(InputError, match=r"no meters.parquet in .*make_demo_tables"):
        demo_catalogue(tmp_path)
    with pytest.raises(InputError, match="households must be a whole number of at least 1, got 0"):
        make_demo_tables(tmp_path, households=0)
    with pytest.raises(InputError, match="at most a million households"):
        make_demo_tables(tmp_path, households=10**7)
