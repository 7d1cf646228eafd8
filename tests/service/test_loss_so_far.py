"""(ε, δ) of all that a ledger has charged: what its records prove, and nothing where they prove nothing."""

import json
import math

import numpy as np
import pytest
from typer.testing import CliRunner

from errorfloor.catalogue import Table, load
from errorfloor.catalogue.allowance import allowed
from errorfloor.cli.app import app
from errorfloor.errors import InputError
from errorfloor.floors.privacy_loss import epsilon_of
from errorfloor.floors.two_point import angle
from errorfloor.planning.loss_so_far import ALL_SAMPLED, _epsilon, losses_so_far
from errorfloor.service import open_database
from houses import register_house
from town import write_town


@pytest.fixture
def town(tmp_path):
    """Give a function that writes the town, changes its catalogue, and asks some questions."""

    def make(change=lambda text: text, questions=20):
        write_town(tmp_path, owner=True)
        file = tmp_path / "errorfloor.toml"
        file.write_text(change(file.read_text()))
        register_house(load(file))
        with open_database(file) as database:
            for number in range(questions):
                database.ask(f"SELECT avg(kwh) + {number} AS mean FROM meters", max_error=20.0)
            charged = [record.charges for record in database.ledger.entries() if record.charges]
        return file, charged

    return make


def losses(file, **wanted):
    with open_database(file) as database:
        return losses_so_far(load(file), database.ledger, "meters", **wanted)


def test_all_charges_are_stated_together(town):
    file, charged = town()
    (found,) = losses(file, column="kwh", distance=50.0, delta=0.01)
    sizes = [
        50.0**2 * total.rounded_up().raised_cosine
        for one in charged
        for account, total in one.items()
        if account.column
    ]
    assert found.records == len(sizes) == 20
    fixed = epsilon_of(0.01, np.array(sizes), np.ones(20)).epsilon
    assert fixed < found.epsilon < 1.7 * fixed  # each may be that of several answers, and errors of evaluation count
    assert found.epsilon < losses(file, column="kwh", distance=50.0, delta=0.001)[0].epsilon
    (owners,) = losses(file, delta=0.05)
    assert (owners.distance, owners.records) == (None, 20)
    assert "two histories" in owners.explain()


def test_answers_whose_noise_is_not_known_leave_nothing_to_state(town):
    file, _ = town(lambda text: text.replace("[tables.meters]\n", '[tables.meters]\nnoises = "any"\n'), questions=1)
    (found,) = losses(file, column="kwh", distance=50.0, delta=1e-3)
    assert found.epsilon == math.inf and found.to_dict()["epsilon"] is None
    assert "no ε can be stated for two values 50 kWh apart at δ = 0.001" in found.explain()


def test_the_whole_allowance_is_stated_whatever_was_asked(town):
    file, _ = town(questions=2)
    (found,) = losses(file, column="kwh", distance=0.05, delta=0.05)
    assert found.epsilon < found.allowed < math.inf
    cap = allowed(load(file).tables["meters"], "kwh")
    together = (2 * angle(0.05, cap.raised_cosine, cap.evaluation)) ** 2
    lost = math.sin(angle(0.05, cap.information, cap.evaluation))
    assert found.allowed > epsilon_of(0.05 - lost, np.array([together]), np.ones(1)).epsilon, "one answer may take all"
    with open_database(file) as database:
        database.ask("SELECT avg(kwh) + 7 AS mean FROM meters", max_error=20.0)
    (more,) = losses(file, column="kwh", distance=0.05, delta=0.05)
    assert (more.records, more.allowed) == (found.records + 1, found.allowed)
    assert "Whatever is asked within the whole allowance, two values 0.05 kWh apart are (ε = " in more.explain()
    assert losses(file, column="kwh", distance=50.0, delta=0.05)[0].to_dict()["allowed"] is None


def test_the_figure_of_the_manual():
    kwh = {"range": [0, 50], "resolution": 0.001, "floor": 2.0, "unit": "kWh"}
    table = Table(source="-", version="1", row_key=["id"], private={"kwh": kwh}, public={"id": "whole"})
    assert 1.17 < _epsilon([allowed(table, "kwh")], 1.0, 0.05, ALL_SAMPLED) <= 1.18


def test_the_command_says_on_which_condition_it_holds(town):
    file, _ = town(questions=3)

    def run(*given):
        options = ["--catalogue", str(file), "--table", "meters", *given]
        return CliRunner().invoke(app, ["ledger", "epsilon", *options], catch_exceptions=False).stdout

    said = run("--column", "kwh", "--distance", "5", "--delta", "0.01")
    assert said.startswith(
        "meters.kwh, 3 charges: if the questions so far had been fixed in advance, two values 5 kWh apart"
    )
    (plain,) = json.loads(run("--column", "kwh", "--distance", "5", "--delta", "0.01", "--json"))
    assert 0 < plain["epsilon"] < 0.2 and plain["records"] == 3
    town_without = ["ledger", "epsilon", "--catalogue", str(file), "--table", "pay", "--delta", "0.1"]
    assert CliRunner().invoke(app, town_without).exit_code != 0


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"column": "watts", "distance": 1.0, "delta": 0.01}, r"there is no account meters\.watts: .* meters\.kwh"),
        ({"column": "kwh", "delta": 0.01}, "a distance is how far apart two values of a column are"),
        ({"distance": 1.0, "delta": 0.01}, "owners have none; got 1.0"),
        ({"column": "kwh", "distance": 1.0, "delta": 1e-9}, "delta must be at least 1e-06 and below 1, got 1e-09"),
    ],
)
def test_what_cannot_be_meant_is_refused(town, wanted, said):
    file, _ = town(questions=0)
    with pytest.raises(InputError, match=said):
        losses(file, **wanted)


def test_nothing_charged_is_nothing_stated(town):
    file, _ = town(questions=0)
    assert losses(file, column="kwh", distance=1.0, delta=0.01) == []
