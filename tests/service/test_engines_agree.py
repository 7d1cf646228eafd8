"""The same town on three engines: the same prices and labels to the last bit, the same exact sums."""

import json
from fractions import Fraction

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from errorfloor.errors import ErrorFloorError
from exact_formulas import values_seen
from questions import ANSWERED, EXACT, REFUSED, ROUNDED
from town import open_town, write_town

ASKED = EXACT[::4]  # a released number follows from the label and the value, which are compared for all


def seen_by(database):
    prices, values, released = {}, {}, {}
    for question in ANSWERED:
        price = database.price(question, max_error=500.0)
        prices[question] = json.dumps(
            [price.to_dict(), [o.label.encoded.hex() for o in price.prepared.outputs if o.label]]
        )
        values[question] = values_seen(price.prepared, database._engine)
        if question in ASKED:
            released[question] = database.ask(question, max_error=500.0).to_arrow().to_pylist()
    for question in REFUSED:
        try:
            database.ask(question, max_error=500.0)
        except ErrorFloorError as problem:
            prices[question] = f"{problem.code}: {problem}"
    return prices, values, released


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reference") / "town"
    write_town(folder, "nasty")
    with open_town(folder) as database:
        return seen_by(database)


def test_prices_labels_and_exact_sums_are_those_of_duckdb(engine_place, reference, tmp_path):
    folder = tmp_path / "town"
    write_town(folder, "nasty")
    with open_town(folder, engine_place.place) as database:
        prices, values, released = seen_by(database)
    assert prices == reference[0]
    assert released == reference[2]
    for question in EXACT:
        assert values[question] == reference[1][question]
    for question in ROUNDED:
        for mine, theirs in zip(values[question], reference[1][question], strict=True):
            for one, two in zip(mine, theirs, strict=True):
                assert abs(Fraction(one) - Fraction(two)) <= Fraction(1, 10**12) * abs(Fraction(two))


def test_moving_one_reading_moves_no_answer_by_more_than_its_slope(duckdb_place, tmp_path):
    """Values and derivatives of every kind of expression: two versions that differ in one row.

    Other engines give the same values, as the test above has it.
    """
    folder = tmp_path / "town"
    values, bounds = [], {}
    for version in ("1", "2"):
        write_town(folder)
        table = pq.read_table(folder / "meters.parquet").to_pydict()
        if version == "2":
            table["kwh"][0], table["peak"][0] = 37.125, 6.5
        else:
            table["kwh"][0], table["peak"][0] = 36.625, 6.25
        pq.write_table(pa.table(table), folder / "meters.parquet")
        catalogue = folder / "errorfloor.toml"
        catalogue.write_text(catalogue.read_text().replace('version = "1"', f'version = "{version}"'))
        with open_town(folder, duckdb_place.place) as database:
            found = {}
            for question in ANSWERED:
                prepared = database.price(question, max_error=500.0).prepared
                found[question], bounds[question] = values_seen(prepared, database._engine), prepared.bounds.outputs
            values.append(found)
    moved = 0
    for question in ANSWERED:
        for before, after, bound in zip(values[0][question], values[1][question], bounds[question], strict=True):
            for group, (one, two) in enumerate(zip(before, after, strict=True)):
                if one is None:
                    continue
                reach = sum(
                    step * float(bound.slopes[name][group].max())
                    for name, step in (("kwh", 0.5), ("peak", 0.25))
                    if name in bound.slopes
                )
                assert abs(Fraction(two) - Fraction(one)) <= Fraction(reach) + 2 * Fraction(float(bound.error[group]))
                moved += one != two
    assert moved >= len(ANSWERED) - 2
