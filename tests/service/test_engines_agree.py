"""The same town on three engines: the same prices and labels to the last bit, the same exact sums."""

import json
from fractions import Fraction

import pytest

from errorfloor.errors import ErrorFloorError
from errorfloor.service.scanning import exact_values
from questions import ANSWERED, EXACT, REFUSED, ROUNDED
from town import open_town, write_town


def seen_by(database):
    prices, values, released = {}, {}, {}
    for question in ANSWERED:
        price = database.price(question, max_error=500.0)
        prices[question] = json.dumps(
            [price.to_dict(), [o.label.encoded.hex() for o in price.prepared.outputs if o.label]]
        )
        values[question] = exact_values(price.prepared, database._engine)
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
    with open_town(folder, engine_place.place if hasattr(engine_place, "place") else engine_place) as database:
        prices, values, released = seen_by(database)
    assert prices == reference[0]
    for question in EXACT:
        assert values[question] == reference[1][question]
        assert released[question] == reference[2][question]
    for question in ROUNDED:
        for mine, theirs in zip(values[question], reference[1][question], strict=True):
            for one, two in zip(mine, theirs, strict=True):
                assert abs(Fraction(one) - Fraction(two)) <= Fraction(1, 10**12) * abs(Fraction(two))
