"""Another wording of a question is free and has the same answer, or it is charged; another question is another draw."""

import pytest

from errorfloor.attacks import World
from errorfloor.attacks.collisions import rewordings
from errorfloor.catalogue import Catalogue
from errorfloor.errors import AllowanceError

KWH = {"range": [0, 50], "resolution": 0.001, "floor": 2.0, "unit": "kWh"}
METERS = {
    "source": "-",
    "version": "1",
    "row_key": ["home", "day"],
    "public": {"home": "whole", "day": "whole", "tariff": "text"},
    "private": {"kwh": KWH},
}
WORDINGS = (
    "the output's name",
    "the table's name",
    "capitals and spaces",
    "the order of a conjunction",
    "the order of a disjunction",
    "the order of the outputs",
    "a group's name",
    "the order of the rows",
    "the order of the groups",
)


@pytest.fixture(scope="module")
def world():
    with World(Catalogue(tables={"meters": METERS}), "meters", "kwh", seed=1) as made:
        yield made


def number(answer):
    ((output, _),) = answer.max_error.items()
    return answer.to_arrow()[output][0].as_py()


def test_all_wordings_are_tried(world):
    assert [what for what, *_ in rewordings(world.secret)] == list(WORDINGS)


@pytest.mark.parametrize("what", WORDINGS)
def test_a_wording_is_free_with_the_same_number_or_is_charged(what, world):
    first, second = next(pair for name, *pair in rewordings(world.secret) if name == what)
    assert first != second
    with world.stage(1) as (door, _):
        answer = door.ask(first, spend=0.2)
        (bound,) = answer.max_error.values()
        used = door.left()[0].used
        try:
            again = door.ask(second, max_error=bound, charge=False)
        except AllowanceError:
            door.ask(second, max_error=bound)
            assert door.left()[0].used == pytest.approx(2 * used)
        else:
            assert number(again) == number(answer)
            assert door.left()[0].used == used


def test_cells_keep_their_noise_when_groups_change_places_and_none_takes_anothers(world):
    """Cell (1, 2) of GROUP BY home, day is not cell (1, 2) of GROUP BY day, home."""
    where = "WHERE home BETWEEN 1 AND 3 AND day BETWEEN 1 AND 3"
    with world.stage(1) as (door, secret):
        known = {
            (row["home"], row["day"]): row["kwh"]
            for row in secret.rows_with(1).select(["home", "day", "kwh"]).to_pylist()
        }
        asked = [
            door.ask(f"SELECT {cells}, sum(kwh) AS answer FROM meters {where} GROUP BY {cells}", max_error=40.0)
            for cells in ("home, day", "day, home")
        ]
        noises = [
            {
                (row["home"], row["day"]): row["answer"] - known[row["home"], row["day"]]
                for row in answer.to_arrow().to_pylist()
            }
            for answer in asked
        ]
    assert not any(asked[1].fresh)
    assert noises[0] == noises[1]
    assert len(noises[0]) == 9
    for home, day in ((1, 2), (1, 3), (2, 3)):
        assert abs(noises[0][home, day] - noises[0][day, home]) > 0.2  # a shared draw would differ by rounding alone
