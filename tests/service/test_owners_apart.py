"""Owners whose two histories are declared to be near each other: another promise, said in every sentence, for less."""

import pytest

import errorfloor as ef
from errorfloor.accounts import Account
from errorfloor.attacks import World, judge
from errorfloor.attacks.repetition import OwnerRows, OwnerTotal
from errorfloor.catalogue import Catalogue, promise
from errorfloor.errors import AllowanceError, CatalogueError
from errorfloor.ledger import MemoryLedger
from errorfloor.server.pages.sheet import guarantee
from errorfloor.service.dummy import dummy_rows
from town import open_town, write_town

AVERAGE = "SELECT avg(kwh) AS mean FROM meters"
OWNERS = Account("meters", "", "")
HISTORIES = "two histories of one household that differ by at most 5 kWh in each kwh"


@pytest.fixture
def town(tmp_path):
    """Give a function that opens the town with owners whose histories are some distance apart, or any."""
    opened = []

    def make(apart, ledger=None):
        folder = tmp_path / f"town-{len(opened)}"
        write_town(folder, owner=True)
        file = folder / "errorfloor.toml"
        if apart:
            file.write_text(
                file.read_text().replace("[tables.meters.owner]\n", f"[tables.meters.owner]\napart = {{ {apart} }}\n")
            )
        opened.append(open_town(folder, ledger=ledger))
        return opened[-1]

    yield make
    for database in opened:
        database.close()


def charged(database, sql, **bound):
    return database.price(sql, **bound).charge[OWNERS].raised_cosine


def test_owners_are_charged_the_distance_of_their_histories(town):
    whole, near = charged(town(""), AVERAGE, max_error=5.0), charged(town("kwh = 5"), AVERAGE, max_error=5.0)
    assert near == pytest.approx(whole * (5.001 / 50) ** 2, rel=1e-6)  # rounding may put them one more step apart


def test_bars_between_near_histories_are_fewer(town):
    bars = [f"avg(between(kwh, {low}, {low + 10}, 2)) AS b{low}" for low in range(0, 50, 10)]
    curve = "SELECT " + ", ".join(bars) + " FROM meters"
    whole, near = (charged(town(apart), curve, max_error=1.0) for apart in ("", "kwh = 1"))
    assert near < 0.8 * whole


def test_every_sentence_says_which_histories_are_meant(town):
    database = town("kwh = 5")
    assert (
        f"cannot tell which of {HISTORIES}, both within the declared ranges,"
        in database.price(AVERAGE, max_error=5.0).explain()
    )
    with pytest.raises(AllowanceError, match=f"would let {HISTORIES} be told apart more often"):
        database.ask("SELECT household, sum(kwh) AS s FROM meters GROUP BY household", max_error=1.0)
    assert guarantee(database.catalogue).tables[0].histories == HISTORIES
    assert database.tables()[0]["owner"]["apart"] == {"kwh": 5.0}


@pytest.mark.parametrize(("first", "then"), [("", "kwh = 5"), ("kwh = 5", ""), ("kwh = 5", "kwh = 4")])
def test_which_histories_are_meant_is_fixed_with_the_first_charge(town, first, then):
    ledger = MemoryLedger()
    town(first, ledger).ask(AVERAGE, max_error=20.0)
    with pytest.raises(CatalogueError, match="the accounts of meters were opened with apart = "):
        town(then, ledger).ask(AVERAGE, max_error=21.0)


def test_near_histories_say_nothing_of_values_that_are_farther_apart(town):
    table, near = (town(apart).catalogue.tables["meters"] for apart in ("", "kwh = 1"))
    assert table.private["kwh"].example > 1
    assert promise(table, "kwh").told_apart <= promise(table, "").told_apart
    own = near.model_copy(update={"owner": near.owner.model_copy(update={"floor": 0.45})})
    assert promise(own, "").told_apart <= 0.55 < promise(own, "kwh").told_apart


def test_a_release_is_charged_the_distance_of_histories(town):
    def cost(apart):
        database = town(apart)
        folder = database.catalogue.folder
        report = database.release(
            "meters", folder / "out.parquet", columns={"kwh": ef.Interval(-30_000, 30_000)}, batch="b"
        )
        return next(one.charge.raised_cosine for one in report.standings if not one.account.column)

    assert cost("kwh = 5") == pytest.approx(cost("") * (5.001 / 50) ** 2, rel=1e-6)


@pytest.mark.parametrize("attack", [OwnerTotal(), OwnerRows()])
def test_adversaries_keep_the_promise_of_near_histories(town, attack):
    declared = town("kwh = 5, peak = 1").catalogue
    rows = {name: dummy_rows(one).slice(0, 40) for name, one in declared.tables.items()}
    with World(Catalogue(tables=dict(declared.tables)), "meters", None, rows, seed=3) as world:
        low, high = world.secret.ends("kwh")
        found = judge(attack, world, runs=40, seed=3)
    assert high - low == pytest.approx(5.0)
    assert not found.beaten
    assert found.right > 24  # what is allowed is enough to see something


@pytest.mark.parametrize(("apart", "said"), [("kwhh = 5", "did you mean kwh"), ("kwh = 50", "leave it out")])
def test_distances_that_cannot_be_meant_are_refused(town, apart, said):
    with pytest.raises(CatalogueError, match=said):
        town(apart)
