"""Two histories of an owner are told apart no better than its floor allows, and always where no owner is declared."""

from contextlib import contextmanager

import pytest

from errorfloor.attacks import World, judge, owner_attacks
from errorfloor.attacks.best_play import BestPlay
from errorfloor.attacks.judgement import threshold
from errorfloor.attacks.owner_secret import OwnerSecret
from errorfloor.attacks.repetition import AdaptiveStopping, OwnerRows
from errorfloor.catalogue import Catalogue
from errorfloor.errors import InputError
from errorfloor.ledger import MemoryLedger
from errorfloor.service import Database
from errorfloor.service.dummy import dummy_rows

KWH = {"range": [0, 50], "resolution": 0.001, "floor": 2.0, "unit": "kWh"}
METERS = {
    "source": "-",
    "version": "1",
    "row_key": ["home", "day"],
    "public": {"home": "whole", "day": "date"},
    "private": {"kwh": KWH, "gas": KWH | {"range": [-10, 30]}},
    "owner": {"column": "home", "floor": 0.2},
}
CATALOGUE = Catalogue(tables={"meters": METERS})
RUNS = 62  # 0.8 to this power is below a millionth: whoever is always right has won
ROWS = {"meters": dummy_rows(CATALOGUE.tables["meters"]).slice(0, 200)}  # six or seven days of every home


class OwnerlessWorld(World):
    """Servers of a custodian who forgot to say whose the numbers are: every entry is protected, and nothing else."""

    @contextmanager
    def server(self, coin, **given):
        catalogue, engine = self._copies[coin]
        meters = catalogue.tables["meters"].model_copy(update={"owner": None})
        declared = catalogue.model_copy(update={"tables": {"meters": meters}})
        yield Database(declared, engine=engine, ledger=MemoryLedger(), keys=self.fresh_key())


@pytest.fixture(scope="module")
def world():
    with World(CATALOGUE, "meters", None, ROWS, seed=2) as made:
        yield made


def test_the_two_histories_differ_in_every_number_of_one_owner_and_in_nothing_else(world):
    secret = world.secret
    first, second = (secret.rows_with(coin).to_pylist() for coin in range(2))
    owner = first[secret.victim]["home"]
    for one, two in zip(first, second, strict=True):
        if one["home"] == owner:
            assert (one["kwh"], two["kwh"], one["gas"], two["gas"]) == (0.0, 50.0, -10.0, 30.0)
        else:
            assert one == two
    assert secret.values == (0.0, 50.0 * len(secret.mine))
    assert len(secret.mine) >= 6
    assert secret.promised == pytest.approx(0.8, abs=1e-9)


# one who stops early is played with drawn noise in test_stopping.py, which takes seconds in place of a minute
SPENDING = [one for one in owner_attacks() if not isinstance(one, AdaptiveStopping | BestPlay)]


@pytest.mark.parametrize("attack", SPENDING, ids=lambda attack: attack.name)
def test_no_adversary_beats_the_floor_of_an_owner(attack, world):
    finding = judge(attack, world, runs=40, seed=11)
    assert finding.right < threshold(40, finding.promised, 1e-3) <= 40, finding


def test_the_adversary_spends_what_the_owner_has(world):
    for attack in SPENDING:
        with world.stage(1) as (door, secret):
            attack.guess(door, secret, world.shadows)
            owners = next(one for one in door.left() if one.to_dict()["owner"])
            assert owners.used > 0.98


@pytest.mark.parametrize("attack", owner_attacks(), ids=lambda attack: attack.name)
def test_each_beats_a_server_on_which_no_owner_is_declared(attack):
    with OwnerlessWorld(CATALOGUE, "meters", None, ROWS, seed=2) as careless:
        assert judge(attack, careless, runs=RUNS, seed=5).beaten


def test_cells_of_an_owner_are_weighed_as_their_sum_of_squares(world):
    """Row by row, an owner is charged the sum of the squares of what rows move; for a total, the square of the sum."""
    secret = world.secret
    assert isinstance(secret, OwnerSecret)
    with world.stage(0) as (door, _):
        rows, total = (
            door.price(sql, max_error=1e4).standings for sql in (secret.question_by_row(1), secret.question(times=1))
        )
    by_row, at_once = (
        next(one.used_by_this for one in standings if one.to_dict()["owner"]) for standings in (rows, total)
    )
    assert at_once / by_row == pytest.approx(len(secret.mine), rel=1e-5)  # evaluation may be off by so little


def test_a_table_without_an_owner_has_no_history_at_stake():
    plain = CATALOGUE.tables["meters"].model_copy(update={"owner": None})
    with pytest.raises(InputError, match="meters declares no owner"):
        World(Catalogue(tables={"meters": plain}), "meters", None)


def test_rows_of_an_entry_are_not_an_owners(world):
    from errorfloor.attacks.secret import Secret

    secret = world.secret
    entry = Secret(secret.table, secret.declared, "kwh", secret.rows, secret.victim, (1.0, 2.0))
    assert OwnerRows().guess(None, entry, world.shadows) == 0.0
