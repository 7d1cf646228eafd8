"""A table that protects records and declares a δ: what is stated as (ε, δ), and on what it rests."""

import json
import math
import random

import pytest
from typer.testing import CliRunner

import errorfloor as ef
from errorfloor.answering.answer import standing_facts
from errorfloor.catalogue import Table, allowed, load
from errorfloor.cli.app import app
from errorfloor.client.standing import RemoteStanding
from errorfloor.errors import AllowanceError, ErrorFloorError, InputError
from errorfloor.floors.tapered import OUTPUTS, lost_outside, normal_delta
from errorfloor.ledger import MemoryLedger
from errorfloor.service.registering import register_all
from patients import STATED, answers, content, open_patients, write_patients
from repeated import rounds

COUNT = "SELECT count(*) AS n FROM patients"
SEVERAL = (
    COUNT,
    "SELECT sex, count(*) AS n FROM patients GROUP BY sex",
    "SELECT region, sum(cost) AS s, sum(age) AS a FROM patients WHERE sex = 'f' GROUP BY region",
    "SELECT floor(age / 10) AS k, avg(cost) AS m FROM patients GROUP BY k",
)


@pytest.fixture
def db(tmp_path):
    with open_patients(tmp_path / "patients", catalogue=STATED) as opened:
        yield opened


def declared(**owner):
    owned = {"owner": {"column": "patient", "floor": 0.2, **owner}, "columns": {"age": {"range": [0, 110]}}}
    return Table.model_validate({"source": "p", "version": "1", "protects": "records", **owned})


def test_epsilon_is_stated_in_prices_answers_accounts_and_words(db):
    price = db.price(COUNT, max_error=150)
    answer = db.ask(COUNT, max_error=150)
    (account,) = answer.to_dict()["accounts"]
    assert account == price.to_dict()["accounts"][0]
    assert account["delta"] == 1e-5 and 0 < account["epsilon"] < account["promised_epsilon"] == 3.0
    assert db.left()[0].epsilon == pytest.approx(answer.standings[0].epsilon)
    said = f"ε is at most 3 whatever is asked, and at most {account['epsilon']:g} for the questions so far, had they"
    assert said in answer.explain() and said in price.explain()
    assert f"ε {account['epsilon']:g} of 3" in repr(db.left())
    assert "and all answers are (ε = 3, δ = 1e-05)-private" in answer.summary()


def test_what_is_stated_follows_from_the_sum_of_charges(db):
    for bound in (150, 160, 170):
        db.ask(COUNT, max_error=bound)
    (standing,) = db.left()
    spent, share = standing.spent.raised_cosine, standing.used
    epsilon = standing.epsilon
    lost = 0.5e-5 * share + normal_delta(spent, epsilon) / (1 - 0.5e-5)
    assert lost <= 1e-5 and lost + (1 + math.exp(epsilon)) * OUTPUTS * share * 4 * 2.0**-39 == pytest.approx(
        1e-5, rel=1e-4
    )


def test_nothing_is_answered_beyond_the_declared_epsilon(db):
    with pytest.raises(
        AllowanceError, match=r"ε would exceed 3 at δ = 1e-05, or the floor would break: ask with bounds"
    ):
        for bound in reversed(range(20, 60)):
            db.ask(COUNT, max_error=bound)
    (standing,) = db.left()
    assert standing.used <= 1 and 2 < standing.epsilon <= 3
    with pytest.raises(AllowanceError) as refused:
        db.ask(COUNT, max_error=15)
    least = float(str(refused.value).split("max_error ")[1].split(" ")[0])
    assert db.price(COUNT, max_error=least).affordable


def test_no_two_contents_move_answers_farther_than_epsilon_was_stated_for(db):
    chance, catalogue = random.Random(2), db.catalogue
    table = catalogue.tables["patients"]
    most, limit = table.owner.most_rows, allowed(table, "").raised_cosine
    for sql in SEVERAL:
        price = db.price(sql, spend=0.05)
        outputs = [one for one in price.prepared.outputs if one.added is not None]
        charged = sum(one.added.widest.information * one.added.widest.moved.distance**2 for one in outputs)
        assert charged <= price.standings[0].charge.raised_cosine
        for one in outputs:
            added = one.added.widest
            moved = added.moved.by(added.lattice) / added.standard_error
            cut = added.bound * 127 / 128 / added.standard_error
            outside = added.moved.cutting.cells * lost_outside(cut * (1 - 1e-12), moved)
            assert outside <= 0.5e-5 * moved**2 / limit * (1 + 1e-9)
        question = price.prepared.question
        for _ in range(rounds(200)):
            one, two = (answers(question, content(chance, most)) for _ in range(2))
            for place, output in enumerate(outputs):
                by = [one.get(cell, 0) - two.get(cell, 0) for cell in {*one, *two} if cell[0] == place]
                assert sum(map(bool, by)) <= output.added.widest.moved.cutting.cells
                assert math.sqrt(sum(move**2 for move in by)) <= output.added.widest.moved.distance


@pytest.mark.parametrize(
    "sql",
    [
        *SEVERAL,
        "SELECT histogram(age, 20, 40) AS h, cumulative(cost, 100) AS c FROM patients",
        "SELECT sex, region, count(*) AS n FROM patients GROUP BY CUBE (sex, region)",
        "SELECT median(age) AS m, corr(age, cost) AS r, count(DISTINCT day) AS d FROM patients",
    ],
)
def test_every_answer_has_noise_that_is_counted_as_normal(db, sql):
    for wish in ({"max_error": 1e6}, {"spend": 0.09}):
        outputs = db.price(sql, **wish).prepared.outputs
        assert {one.added.widest.described["type"] for one in outputs} == {"TaperedNormal"}


def test_bins_are_charged_one_by_one(db):
    """What is cut off each of them takes a share of δ by its own charge."""
    price = db.price("SELECT histogram(age, 20, 40, 60, 80) AS h FROM patients", max_error=300)
    outputs = [one.added.widest for one in price.prepared.outputs]
    each = [one.information * one.moved.by(one.lattice) ** 2 for one in outputs]
    assert len(each) == 5 and sum(each) <= price.standings[0].charge.raised_cosine * (1 + 1e-9)


def test_every_output_takes_a_thousandth_at_least(db):
    assert db.price(COUNT, max_error=1e9).standings[0].used_by_this == pytest.approx(1 / OUTPUTS)
    with pytest.raises(InputError, match=r"every output takes at least 0\.001 of the allowance"):
        db.price(COUNT, spend=1e-5)


def test_a_share_buys_the_smallest_bound_that_it_affords(db):
    for sql in SEVERAL[:3]:
        found = db.price(sql, spend=0.02)
        assert 0.9 * 0.02 < found.standings[0].used_by_this <= 0.02
        again = db.price(sql, max_error=found.max_error)
        assert again.charge == found.charge


def test_answers_are_kept_and_read_again(tmp_path):
    path = write_patients(tmp_path, [], STATED)
    with ef.open(path) as db:
        first = db.ask(SEVERAL[1], max_error=300)
    with ef.open(path) as db:
        again = db.ask(SEVERAL[1], max_error=300)
    assert again.fresh == (False,) and first.table.equals(again.table)
    assert again.outputs()[0]["noise"] == first.outputs()[0]["noise"]


@pytest.mark.parametrize(
    ("old", "new"),
    [("1e-5", "1e-4"), ("max_epsilon = 3", "max_epsilon = 4"), (", max_delta = 1e-5, max_epsilon = 3", "")],
)
def test_what_is_declared_never_changes(tmp_path, old, new):
    path = write_patients(tmp_path, [], STATED)
    with ef.open(path) as db:
        db.ask(COUNT, max_error=300)
    path.write_text(STATED.replace(old, new).replace('version = "1"', 'version = "2"'))
    with pytest.raises(ErrorFloorError):  # when it is registered, opened or asked
        register_all(load(path))
        with ef.open(path) as db:
            db.ask(COUNT, max_error=301)


@pytest.mark.parametrize("version", ["1", "2"])
def test_epsilon_is_never_stated_of_answers_that_had_other_noise(tmp_path, version):
    """Raised-cosine noise has been seen: a cut at ±20 rows alone has a δ of more than 10⁻⁴."""
    path = write_patients(tmp_path, [], STATED.replace(", max_delta = 1e-5, max_epsilon = 3", ""))
    with ef.open(path) as db:
        db.ask(COUNT, max_error=20)
    path.write_text(STATED.replace('version = "1"', f'version = "{version}"'))
    with pytest.raises(ErrorFloorError, match="max_delta = null"):
        register_all(load(path))
        with ef.open(path) as db:
            db.ask(COUNT, max_error=301)


def test_the_command_states_epsilon_at_another_delta(tmp_path):
    path = write_patients(tmp_path, [], STATED)
    with ef.open(path) as db:
        db.ask(COUNT, max_error=100)
        epsilon = db.left()[0].epsilon

    def run(delta):
        given = ["ledger", "epsilon", "--catalogue", str(path), "--table", "patients", "--delta", delta, "--json"]
        (found,) = json.loads(CliRunner().invoke(app, given, catch_exceptions=False).stdout)
        return found["epsilon"], found["allowed"]

    assert run("1e-5") == pytest.approx((epsilon, 3.0), rel=1e-6)
    assert run("1e-3")[0] < run("1e-4")[0] < epsilon


def test_without_a_declared_epsilon_the_floor_or_the_draws_limit_it():
    by_floor, by_draws = declared(floor=0.45, max_delta=1e-4), declared(floor=0.01, max_delta=1e-6)
    for table in (by_floor, by_draws):
        limit = allowed(table, "").raised_cosine
        assert 0 < table.owner.stated.epsilon_at(limit, 1.0) <= table.owner.stated.largest_epsilon
    assert allowed(by_floor, "").raised_cosine < by_floor.owner.stated.largest_charge
    assert allowed(by_draws, "").raised_cosine == by_draws.owner.stated.largest_charge


@pytest.mark.parametrize(
    ("owner", "said"),
    [
        ({"max_epsilon": 1}, "needs a max_delta, such as max_delta = 1e-6"),
        (
            {"max_delta": 1e-6, "register": "persons"},
            "whose other tables may have other noise: leave one of the two out",
        ),
        ({"max_delta": 1e-9, "rows": 5}, "with rows = 5 it must be at least 4e-07: declare that, or fewer rows"),
        ({"max_delta": 0.01, "floor": 0.48}, r"must be below 0\.47 with max_delta = 0\.01"),
    ],
)
def test_what_cannot_be_stated_is_refused_with_what_can(owner, said):
    with pytest.raises(ValueError, match=said):
        declared(**owner)


def test_tables_that_protect_values_have_no_delta_to_declare():
    owned = {"owner": {"column": "home", "floor": 0.2, "max_delta": 1e-6}, "public": {"home": "whole"}}
    kwh = {"range": [0, 50], "resolution": 0.001, "floor": 2.0}
    with pytest.raises(ValueError, match=r'max_delta is for protects = "records"'):
        Table(source="-", version="1", row_key=["home"], private={"kwh": kwh}, **owned)


def test_a_dry_run_charges_nothing_and_states_the_same(tmp_path):
    with open_patients(tmp_path, [], ledger=MemoryLedger(), catalogue=STATED) as db:
        dry = db.dry().ask(COUNT, max_error=150)
    assert dry.standings[0].epsilon > 0


def test_a_client_elsewhere_reads_the_same(db):
    db.ask(COUNT, max_error=150)
    (standing,) = db.left()
    remote = RemoteStanding.of(json.loads(json.dumps(standing_facts(standing), allow_nan=False)))
    assert remote.epsilon == standing.to_dict()["epsilon"] and remote.promised == standing.promised
    assert remote.explain() == standing.explain() and remote.to_dict() == standing.to_dict()
