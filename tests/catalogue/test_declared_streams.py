"""Streams in a catalogue: every mistake is reported with its place and what to write."""

import pytest

from errorfloor.catalogue import load
from errorfloor.errors import CatalogueError

GOOD = """
[tables.people]
source = "people.csv"
version = "1"
row_key = ["person"]
public = { person = "whole" }

[streams.cars]
A = [[1, 1], [0, 1]]
C = [[1, 0]]
horizon = 60
states = ["position", "speed"]
public = ["speed"]
max_loss = 610000

[streams.cars.private.position]
unit = "m"
range = [-5000, 5000]
resolution = 0.1
floor = 20
"""


def loaded(folder, text):
    (folder / "errorfloor.toml").write_text(text)
    return load(folder / "errorfloor.toml")


def test_declared_stream_is_read_exactly(tmp_path):
    cars = loaded(tmp_path, GOOD).streams["cars"]
    assert cars.A == ((1.0, 1.0), (0.0, 1.0)) and cars.C == ((1.0, 0.0),)
    assert (cars.horizon, cars.states, cars.public, cars.max_loss) == (60, ("position", "speed"), ("speed",), 610000.0)
    assert cars.private["position"].floor == 20


@pytest.mark.parametrize(
    ("old", "new", "place", "words"),
    [
        ("A = [[1, 1], [0, 1]]", "A = [[1, 1], [0]]", "streams.cars.A", "a list of rows of equal length"),
        ("A = [[1, 1], [0, 1]]", "A = [[1, 1]]", "streams.cars.A", "must be square, but is 1×2"),
        ("A = [[1, 1], [0, 1]]", "A = [[1, inf], [0, 1]]", "streams.cars.A", "must be a finite number"),
        ("A = [[1, 1], [0, 1]]\n", "", "streams.cars.A", "is missing; give A, C and horizon, or a plan in a file"),
        ("C = [[1, 0]]", "C = [[1]]", "streams.cars.C", "must have 2 columns, one for each state, but has 1"),
        ("horizon = 60", "horizon = 0", "streams.cars.horizon", "must be a whole number from 1 to 100000, got 0"),
        ("horizon = 60", "horizon = 1000000", "streams.cars.horizon", "must be a whole number from 1 to 100000"),
        ("horizon = 60", "horizn = 60", "streams.cars.horizn", "did you mean horizon?"),
        ('"position", "speed"]', '"position"]', "streams.cars.states", "must name the 2 states of A in their order"),
        ('"position", "speed"]', '"position", "position"]', "streams.cars.states", "names 'position' twice"),
        ('"position", "speed"]', '"position", "a b"]', "streams.cars.states", "a name is a letter followed by letters"),
        ('public = ["speed"]\n', "", "streams.cars.public", "must name 'speed' if it may be released exactly"),
        ('["speed"]', '["speed", "position"]', "streams.cars.public", "names 'position', which is declared private"),
        ("private.position", "private.positon", "streams.cars.private", "did you mean position?"),
        ("max_loss = 610000\n", "", "streams.cars.max_loss", "is missing: give it, the mean of"),
        ("max_loss = 610000", "max_loss = -1", "streams.cars.max_loss", "must be more than 0, got -1"),
        ("max_loss", "loss_weight = 1\nmax_loss", "streams.cars.loss_weight", "is given together with max_loss"),
        ("max_loss = 610000", "bound = 0", "streams.cars.bound", "must be positive, or a list of positive numbers"),
        ("max_loss = 610000", "bound = 5\ndeviation = 1", "streams.cars.deviation", "is noise without a bound"),
        ("horizon = 60", 'horizon = 60\nmethod = "bets"', "streams.cars.method", "must be one of product, best"),
        (
            "horizon = 60",
            'horizon = 60\nplan = "x"',
            "streams.cars.A",
            "is given together with plan, which already has it",
        ),
        ("floor = 20", "floor = 20000", "streams.cars.private.position.floor", "must stay below"),
        ("floor = 20", "flor = 20", "streams.cars.private.position.flor", "did you mean floor?"),
        ("floor = 20", 'floor = 20\nnulls = "public"', "streams.cars.private.position.nulls", "columns of tables"),
        ("streams.cars", "streams.People", "streams", "names 'People', and so does a table"),
        ("streams.cars", 'streams."my cars"', "streams", "names a stream 'my cars'; a name is a letter"),
    ],
)
def test_every_mistake_has_its_place_and_words(tmp_path, old, new, place, words):
    assert old in GOOD
    with pytest.raises(CatalogueError) as refused:
        loaded(tmp_path, GOOD.replace(old, new))
    found = refused.value.fields["problems"]
    assert [text for where, text in found if where == place and words in text], found


def test_stream_without_a_private_state_is_a_mistake(tmp_path):
    with pytest.raises(CatalogueError, match=r"streams.cars.private: is missing; give it, such as a section"):
        loaded(tmp_path, GOOD[: GOOD.index("[streams.cars.private")])
