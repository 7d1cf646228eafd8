"""Accounts count raised-cosine noise by the adversary's game, unless a table is declared for any noise."""

import math

import pytest

from errorfloor import HalfLine, Interval
from errorfloor.accounts import Account, Charge
from errorfloor.bulk.charging import Exposure, charges
from errorfloor.bulk.columns import ReleasedColumn
from errorfloor.catalogue import PrivateColumn, allowed, promise
from errorfloor.errors import AllowanceError, CatalogueError
from errorfloor.floors.adversary import best_success
from errorfloor.floors.worst_case import minimax
from errorfloor.ledger import Entry, MemoryLedger
from errorfloor.noise import Gaussian, Laplace
from town import open_town, write_town

AVERAGE = "SELECT avg(kwh) AS mean FROM meters"
KWH = Account("meters", "kwh", "")
OWNERS = Account("meters", "", "")


@pytest.fixture
def town(tmp_path):
    """Give a function that opens the town, its accounts exact or not, on one ledger or another."""
    opened = []

    def make(*, exact=True, owner=False, ledger=None):
        folder = tmp_path / f"town-{exact}-{owner}"
        write_town(folder, owner=owner)
        if not exact:
            text = (folder / "errorfloor.toml").read_text()
            told = text.replace("[tables.meters]\n", '[tables.meters]\nnoises = "any"\n')
            (folder / "errorfloor.toml").write_text(told)
        opened.append(open_town(folder, ledger=ledger))
        return opened[-1]

    yield make
    for database in opened:
        database.close()


def answers_until_refused(database, max_error):
    """Ask for averages over ever other rooms and days, all of one price, until one is refused."""
    asked = 0
    while True:
        try:
            database.ask(f"SELECT avg(kwh) AS mean FROM meters WHERE rooms <> {asked + 100}", max_error=max_error)
        except AllowanceError:
            return asked
        asked += 1


def test_the_same_floor_lasts_for_nearly_twice_the_answers(town):
    before = answers_until_refused(town(exact=False), 0.012)
    after = answers_until_refused(town(), 0.012)
    assert before > 10
    assert after >= 1.85 * before


def test_raised_cosine_answers_are_booked_in_a_sum_of_their_own(town):
    ledger = MemoryLedger()
    database = town(owner=True, ledger=ledger)
    answer = database.ask(AVERAGE, max_error=5.0)
    spent = ledger.spent([KWH, OWNERS])
    assert spent[KWH].raised_cosine > 0 == spent[KWH].information
    assert spent[OWNERS].raised_cosine > 0 == spent[OWNERS].information
    record = next(iter(ledger.entries()))
    assert {coordinate for total in record.charges.values() for coordinate in total.amounts} == {"A1", "E"}
    assert record.charges[OWNERS].amounts.keys() == {"A1"}
    assert answer.standings[1].to_dict()["charge"][2] == spent[KWH].raised_cosine
    ledger.verify()


def test_a_share_is_that_of_the_sum_for_raised_cosine_noise(town):
    database = town(owner=True)
    answer = database.ask(AVERAGE, spend=0.25)
    assert 0.249 < max(one.used for one in answer.standings) <= 0.25
    whole = allowed(database.catalogue.tables["meters"], "kwh")
    assert answer.standings[1].allowance == whole
    assert whole.information == pytest.approx(whole.raised_cosine / 500)


def test_one_sided_answers_are_booked_as_raised_cosines_that_tell_more(town):
    ledger, total, support = MemoryLedger(), "SELECT sum(kwh) AS total FROM meters", HalfLine(0.0)
    database = town(ledger=ledger)
    answer = database.ask(total, support=support, max_loss=1e6)
    spent = ledger.spent([KWH])[KWH]
    plain = town(exact=False).price(total, support=support, max_loss=1e6).charge[KWH]
    assert spent.information == 0
    assert spent.raised_cosine == pytest.approx(1.56 * plain.information)
    assert spent.evaluation == pytest.approx(1.56 * plain.evaluation)
    limit = allowed(database.catalogue.tables["meters"], "kwh")
    assert answer.standings[0].used == pytest.approx(spent.raised_cosine / limit.raised_cosine)
    with pytest.raises(AllowanceError):
        database.ask(total, support=support, max_loss=1e-2)
    assert 0.499 < database.ask(AVERAGE, spend=0.5).standings[0].used_by_this <= 0.5


def test_what_is_promised_is_the_declared_floor_at_all_three_limits(town):
    table = town(owner=True).catalogue.tables["meters"]
    for name, column in table.private.items():
        limit = allowed(table, name)
        spacing = float(column.resolution) if column.resolution * 10 > column.floor else None
        found = math.sqrt(minimax(width=float(column.width), spacing=spacing, **limit.amounts()))
        assert column.floor <= found < 1.03 * column.floor
    limit = allowed(table, "")
    assert promise(table, "").told_apart == best_success(limit.raised_cosine, limit.information)
    assert 0.949 < promise(table, "").told_apart <= 0.95


def test_statements_at_the_amount_spent_use_the_game(town):
    owners, standing = town(owner=True).ask(AVERAGE, spend=0.5).standings
    plain = town(exact=False, owner=True).ask(AVERAGE, spend=0.5).standings[1]
    assert owners.told_apart == best_success(owners.spent.raised_cosine) < owners.promised.told_apart
    assert standing.floor > standing.promised.floor
    assert standing.floor == pytest.approx(plain.floor, rel=0.1)  # half of a larger allowance, counted more closely
    assert "Whatever is asked" in standing.explain()


@pytest.mark.parametrize("first", [True, False])
def test_how_noises_are_counted_is_fixed_with_the_first_charge(town, first):
    ledger = MemoryLedger()
    town(exact=first, ledger=ledger).ask(AVERAGE, max_error=1.0)
    declare = "leave noises out" if first else 'declare noises = "any"'
    with pytest.raises(CatalogueError, match=rf"raised-cosine noise was counted .*{declare} for meters"):
        town(exact=not first, ledger=ledger).ask(AVERAGE, max_error=2.0)


@pytest.mark.parametrize(
    "charge", [Charge(1.1, 0.0, 0.1), Charge(0.1, 1.1, 0.1), Charge(0.1, 0.1, 1.1)], ids=["A2", "E", "A1"]
)
def test_each_sum_has_its_own_limit_and_none_makes_up_for_another(charge):
    ledger, terms = MemoryLedger(), {"meters": {"noises": "raised cosine"}}
    with pytest.raises(AllowanceError, match=r"requested 1.1, remaining 1 of 1"):
        ledger.charge([Entry("ab" * 32, {KWH: charge}, {})], {KWH: Charge(1.0, 1.0, 1.0)}, terms)
    ledger.charge([Entry("ab" * 32, {KWH: Charge(1.0, 1.0, 1.0)}, {})], {KWH: Charge(1.0, 1.0, 1.0)}, terms)
    assert ledger.spent([KWH])[KWH] == Charge(1.0, 1.0, 1.0)


@pytest.mark.parametrize("exact", [True, False])
def test_a_released_column_is_booked_by_its_noise(exact):
    rules = {"range": (0.0, 50.0), "out_of_range": "clamp", "nulls": "keep"}
    kwh, shown = PrivateColumn(range=(0, 50), resolution=0.001, floor=0.1), Exposure(((),), {"": 30})
    for noise, apart in ((Interval(-1, 1), exact), (Gaussian(1.0), exact), (Laplace(1.0), False)):
        cost = charges(ReleasedColumn.plan("kwh", noise, **rules), kwh, "meters", shown, exact=exact)
        for charge in cost.values():
            assert (charge.raised_cosine > 0, charge.information > 0) == (apart, not apart)


def test_no_sum_grows_while_another_is_above_its_limit():
    """A floor was raised after more had been spent by other noises than it allows: the limits hold together."""
    ledger, terms = MemoryLedger(), {"meters": {"noises": "raised cosine"}}
    ledger.charge([Entry("ab" * 32, {KWH: Charge(0.5, 0.0)}, {})], {KWH: Charge(1.0, 1.0, 9.0)}, terms)
    with pytest.raises(AllowanceError, match="nothing was charged"):
        ledger.charge([Entry("cd" * 32, {KWH: Charge(0.0, 0.0, 0.1)}, {})], {KWH: Charge(0.4, 1.0, 5.0)}, terms)
    ledger.charge([Entry("cd" * 32, {KWH: Charge(0.0, 0.0, 0.1)}, {})], {KWH: Charge(0.5, 1.0, 5.0)}, terms)


def test_a_sum_without_a_limit_takes_no_charge():
    with pytest.raises(AllowanceError, match=r"raised cosine requested 0.001, remaining 0 of 0"):
        entry = Entry("ab" * 32, {KWH: Charge(0.0, 0.0, 0.001)}, {})
        MemoryLedger().charge([entry], {KWH: Charge(5.0, 1.0)}, {"meters": {}})


def test_prices_do_not_depend_on_what_was_asked(town):
    database = town()
    before = database.price(AVERAGE, spend=0.1).max_error
    database.ask("SELECT sum(kwh) AS total FROM meters", spend=0.3)
    assert database.price(AVERAGE, spend=0.1).max_error == before


def test_history_and_answers_carry_all_three_sums(town):
    database = town(owner=True)
    answer = database.ask(AVERAGE, max_error=5.0)
    charged = {one["column"]: one for one in database.history()[-1]["charges"]}
    assert charged["kwh"]["raised_cosine"] == answer.standings[1].charge.raised_cosine > 0
    assert [len(one.to_dict()["allowance"]) for one in answer.standings] == [3, 3]
    assert answer.promised.raised_cosine.tolist() == [answer.standings[1].allowance.raised_cosine]
    assert answer.promised.any_estimator[0] >= 0.5
