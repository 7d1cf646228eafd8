"""A column can be released by a policy: its numbers stay in a set of their own, and are charged like noise."""

import json
import math
import pickle
import re
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import errorfloor as ef
from errorfloor.bulk import AnsweredColumn, Perturbation, ReleasedColumn
from errorfloor.bulk.charging import Exposure, charges, evaluation_error
from errorfloor.catalogue import PrivateColumn, load
from errorfloor.cli.app import app
from errorfloor.engines import open_engine
from errorfloor.errors import AllowanceError, InputError
from errorfloor.ledger import Account, open_ledger
from errorfloor.policies import Cells, Policy, design_answer, from_dict
from errorfloor.service.registering import register_all
from errorfloor.vault import snapshot
from releases import publish_table, wished
from town import write_town

KWH = Account("meters", "kwh", "")
RULES = {"out_of_range": "refuse", "nulls": "keep"}


@pytest.fixture(scope="module")
def designed():
    """Readings in 0 … 50 answered by numbers that are not negative, in cells with a width."""
    policy = design_answer(ef.HalfLine(0.0), ef.Interval(0, 50), max_loss=100.0, tolerance=0.1)
    assert not policy.cells.are_points
    return policy


def tent(low=0.0, high=50.0, count=6, spread=1.0):
    """A policy with points, of our own: the nearer an answer, the likelier."""
    nodes = np.linspace(low, high, count)
    laws = np.exp(-np.abs(nodes[:, None] - nodes) / (spread * (high - low) / (count - 1)))
    return Policy(nodes, Cells.of_points(nodes), laws / laws.sum(axis=1, keepdims=True))


def write(folder, table):
    pq.write_table(table, folder / "in.parquet")
    return folder / "in.parquet"


def publish(folder, ring, policy, name="out.parquet", batch="q1", **options):
    columns = {"kwh": policy}
    return ef.release(
        folder / "in.parquet",
        folder / name,
        **wished(columns, key=["household", "day"], batch=batch, keys=ring, **options),
    )


def test_released_numbers_never_leave_the_outputs(tmp_path, ring, meters, designed):
    write(tmp_path, meters)
    report = publish(tmp_path, ring, designed)
    released = pq.read_table(tmp_path / "out.parquet")["kwh"].to_numpy()
    middles = designed.cells.low + (designed.cells.high - designed.cells.low) / 2
    assert len(released) == report.rows == 6000
    assert (released >= 0).all()
    assert set(released) <= set(middles.tolist())
    assert len(set(released)) > 3


def test_released_numbers_follow_the_law_at_the_true_value(tmp_path, ring, designed):
    rows, value = 20_000, 12.5
    write(tmp_path, pa.table({"household": np.arange(rows), "day": np.zeros(rows, int), "kwh": np.full(rows, value)}))
    publish(tmp_path, ring, designed)
    released = pq.read_table(tmp_path / "out.parquet")["kwh"].to_numpy()
    law = designed.law(value)
    counts = np.array([(released == middle).sum() for middle in designed.cells.middle])
    # Hoeffding: each share is off by more than this with a chance below 1e-10
    assert np.abs(counts / rows - law).max() < math.sqrt(math.log(2e10) / (2 * rows))


def test_the_same_release_is_the_same_file_and_another_batch_is_not(tmp_path, ring, meters):
    write(tmp_path, meters)
    publish(tmp_path, ring, tent(), "one.parquet")
    publish(tmp_path, ring, tent(), "two.parquet")
    publish(tmp_path, ring, tent(), "three.parquet", batch="q2", again=True)
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()
    numbers = [pq.read_table(tmp_path / f"{n}.parquet")["kwh"].to_numpy() for n in ("one", "three")]
    assert (numbers[0] != numbers[1]).mean() > 0.3


def test_a_row_keeps_its_answer_whatever_rows_are_beside_it(ring, meters):
    column = AnsweredColumn.plan("kwh", tent(), **RULES)
    batch = meters.select(["household", "day", "kwh"]).combine_chunks().to_batches()[0]
    work = Perturbation.prepare(batch.schema, [column], ["household", "day"], "q1", ring.current)
    whole = work.apply(batch)[0]["kwh"]
    part = pickle.loads(pickle.dumps(work)).apply(batch.slice(1000, 77))[0]["kwh"]  # as workers get it
    assert part.equals(whole.slice(1000, 77))


def test_draws_are_these_on_every_machine(ring):
    laws = [[0.75, 0.25, 0.0], [0.25, 0.5, 0.25], [0.0, 0.25, 0.75]]
    column = AnsweredColumn.plan("kwh", Policy([0.0, 25.0, 50.0], Cells.of_points([0, 25, 50]), laws), **RULES)
    batch = pa.record_batch({"id": pa.array(range(12), pa.int64()), "kwh": pa.array([*range(0, 48, 4)], pa.float64())})
    work = Perturbation.prepare(batch.schema, [column], ["id"], "q1", ring.current)
    assert work.apply(batch)[0]["kwh"].to_pylist() == [0, 0, 0, 0, 25, 50, 25, 0, 25, 25, 50, 50]


def test_another_policy_is_another_draw_but_its_certificate_is_not_part_of_it(tmp_path, ring, meters, designed):
    again = from_dict({k: v for k, v in json.loads(json.dumps(designed.to_dict())).items() if k != "certificate"})
    assert designed.certificate is not None
    assert again.certificate is None
    planned = [AnsweredColumn.plan("kwh", policy, **RULES) for policy in (designed, again, tent(), tent(spread=1.01))]
    assert len({column.fingerprint for column in planned}) == 3
    assert planned[0].fingerprint == planned[1].fingerprint
    write(tmp_path, meters)
    publish(tmp_path, ring, tent())
    with pytest.raises(InputError, match="was released with another noise, step or range"):
        publish(tmp_path, ring, tent(spread=1.01), "more.parquet")


def test_values_outside_are_refused_or_clamped_and_nulls_stay(tmp_path, ring):
    rows = {"household": [1, 2, 3, 4], "day": [0, 0, 0, 0], "kwh": [-5.0, 60.0, None, 20.0]}
    write(tmp_path, pa.table(rows))
    with pytest.raises(InputError, match=r"outside its declared range 0 … 50") as refused:
        publish(tmp_path, ring, tent())
    assert "60" not in str(refused.value)
    sure = Policy([0.0, 50.0], Cells.of_points([0, 50]), [[1.0, 0.0], [0.0, 1.0]])
    report = publish(tmp_path, ring, sure, out_of_range="clamp")
    released = pq.read_table(tmp_path / "out.parquet")["kwh"].to_pylist()
    assert released[:3] == [0.0, 50.0, None]
    assert released[3] in (0.0, 50.0)
    assert "given the true one, clamped to 0 … 50; whatever" in report.explain()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ranges": {"kwh": (0, 51)}}, "answers for values in 0 … 50, and the declared range is 0 … 51"),
        ({"ranges": {"kwh": (-1, 50)}}, "design the policy for the whole range"),
        ({"steps": {"kwh": "0.1"}}, "a step is given for kwh, which a policy answers"),
        ({"nulls": "drop"}, "nulls must be 'refuse' or 'keep'"),
    ],
)
def test_what_a_policy_cannot_keep_is_refused(tmp_path, ring, meters, options, message):
    write(tmp_path, meters)
    with pytest.raises(InputError, match=message):
        publish(tmp_path, ring, tent(), **options)
    assert not (tmp_path / "out.parquet").exists()


def test_what_is_stated_are_suprema_found_again_by_brute_force(designed):
    column = AnsweredColumn.plan("kwh", designed, unit="kWh", **RULES)
    facts = column.describe()
    values = np.linspace(0, 50, 20_001)
    law, middle = designed.law(values), designed.cells.middle
    bias = np.abs(law @ middle - values).max()
    error = np.sqrt((law * (middle - values[:, None]) ** 2).sum(axis=1).max())
    assert bias <= facts["largest_bias"] < 1.01 * bias
    assert error <= facts["largest_error"] < 1.01 * error
    assert facts["largest_error"] <= math.sqrt(designed.largest_loss)  # middles are no worse than cells
    steps = np.linspace(0, 50, 200_001)
    roots = np.sqrt(designed.law(steps))
    speed = 2 * np.sqrt((np.diff(roots, axis=0) ** 2).sum(axis=1)) / np.diff(steps)
    assert (speed**2).max() * (1 - 1e-6) < facts["information"] < (speed**2).max() * (1 + 1e-4)
    assert float(facts["unbiased_floor"]) <= 1 / math.sqrt(facts["information"])
    assert float(facts["told_apart_in_100"]) >= 100 * designed.distinguish(facts["distance"])
    assert facts["outputs"] == middle.tolist()
    assert facts["certain_interval"] is None


@pytest.mark.parametrize("total", [1.0, 1 - 9e-10, 1 + 9e-10])
def test_information_covers_laws_that_do_not_quite_add_up(total):
    policy = Policy([0.0, 1.0], Cells.of_points([0, 1]), np.array([[0.8, 0.2], [0.2, 0.8]]) * total)
    exact = 4 * math.acos(2 * math.sqrt(0.8 * 0.2)) ** 2  # of what is drawn
    assert exact <= AnsweredColumn.plan("x", policy, **RULES).information < exact * (1 + 1e-8)


def test_a_certain_interval_is_stated_where_the_policy_keeps_one(tmp_path, ring, meters):
    nodes = np.linspace(0, 50, 51)
    near = np.abs(nodes[:, None] - nodes) <= 3
    policy = Policy(nodes, Cells.of_points(nodes), near / near.sum(axis=1, keepdims=True))
    write(tmp_path, meters)
    report = publish(tmp_path, ring, policy)
    low, high = report.columns[0].describe()["certain_interval"]
    assert (low, high) == pytest.approx((-4, 4), abs=1e-9)  # a step more than at the nodes
    off = pq.read_table(tmp_path / "out.parquet")["kwh"].to_numpy() - meters["kwh"].to_numpy()
    assert low <= off.min() < -3 < 3 < off.max() <= high
    assert "minus that it lies certainly in -4.00001 … 4.00001;" in report.explain()  # outwards of what is computed


def test_the_report_goes_with_the_file_and_gives_the_policy_back(tmp_path, ring, meters):
    write(tmp_path, meters)
    report = publish(tmp_path, ring, tent(), units={"kwh": "kWh"})
    stored = json.loads(pq.read_schema(tmp_path / "out.parquet").metadata[b"errorfloor"])
    assert stored["columns"] == report.to_dict()["columns"]
    (facts,) = stored["columns"]
    assert from_dict(facts["policy"]) == tent()
    assert facts["outputs"] == [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]
    assert not {"bias", "standard_error", "step", "noise"} & set(facts)
    words = report.explain()
    assert words.startswith("kwh: each released number is certainly one of 6 numbers in 0 … 50 kWh, chosen by chance")
    assert "root-mean-square error at most" in words


def test_noise_and_policy_go_together(tmp_path, ring, meters):
    write(tmp_path, meters.append_column("gas", meters["kwh"]))
    report = ef.release(
        tmp_path / "in.parquet",
        tmp_path / "out.parquet",
        columns={"kwh": tent(), "gas": ef.Column(ef.Interval(-1, 1), range=(0, 50), out_of_range="clamp")},
        key=["household", "day"],
        batch="q1",
        keys=ring,
    )
    assert [type(column) for column in report.columns] == [AnsweredColumn, ReleasedColumn]
    released = pq.read_table(tmp_path / "out.parquet")
    assert set(released["kwh"].to_pylist()) <= set(range(0, 51, 10))
    assert np.abs(released["gas"].to_numpy() - meters["kwh"].to_numpy()).max() <= 1


# -- declared tables


@pytest.fixture
def town(tmp_path, made):
    shutil.copytree(made, tmp_path / "town")
    return tmp_path / "town"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("answers") / "town"
    write_town(folder, owner=False)
    file = folder / "errorfloor.toml"
    file.write_text(file.read_text().replace("[tables.meters]\n", '[tables.meters]\nnoises = "any"\n'))
    catalogue = load(file)
    register_all(catalogue)
    return folder


def declared(town, policy, name="out.parquet", batch="q1"):
    return publish_table(town, town / name, columns={"kwh": policy}, batch=batch)


def accounts(town):
    catalogue = load(town / "errorfloor.toml")
    with open_ledger(catalogue.place, catalogue.folder) as ledger:
        return ledger.accounts()


def test_a_declared_release_charges_the_largest_information_once(town, designed):
    first = declared(town, designed, "one.parquet")
    after = accounts(town)
    again = declared(town, designed, "two.parquet")
    assert list(after) == [KWH]
    assert designed.largest_information <= after[KWH].information < designed.largest_information * (1 + 1e-8)
    assert 0 < after[KWH].evaluation < 1e-10
    assert accounts(town) == after
    assert (first.fresh, again.fresh) == ((True,), (False,))
    assert (town / "one.parquet").read_bytes() == (town / "two.parquet").read_bytes()
    released = pq.read_table(town / "one.parquet")["kwh"]
    assert set(released.drop_null().to_pylist()) <= set(designed.cells.middle.tolist())
    with open_engine(load(town / "errorfloor.toml").place, town, read_only=True) as engine:
        kept = snapshot(load(town / "errorfloor.toml"), "meters", engine)
        (held,) = engine.query(f"SELECT count({kept.columns['kwh']}) FROM {kept.relation}").columns
    assert len(released) - released.null_count == held[0].as_py()
    declared(town, designed, "three.parquet", batch="q2")
    assert accounts(town)[KWH].information == pytest.approx(2 * after[KWH].information, rel=1e-12)


def test_a_policy_that_would_break_the_floor_is_refused_with_advice_that_is_enough(town):
    with pytest.raises(AllowanceError) as refused:
        declared(town, tent(count=101, spread=0.4))
    words = str(refused.value)
    assert (
        "its declared floor is 0.5 kWh: release it with a policy for kwh whose largest information is at most" in words
    )
    assert accounts(town) == {}
    assert not (town / "out.parquet").exists()
    most = float(re.search(r"at most ([\d.e+-]+\d)", words)[1])
    spreads = np.geomspace(0.4, 40, 60)
    found = [tent(count=101, spread=s) for s in spreads]
    fits = next(policy for policy in found if policy.largest_information <= most)
    near = [policy for policy in found if policy.largest_information > 1.1 * most][-1]
    with pytest.raises(AllowanceError):
        declared(town, near)
    declared(town, fits)


def test_a_policy_for_less_than_the_declared_range_is_refused(town):
    with pytest.raises(InputError, match="answers for values in 0 … 40, and the declared range is 0 … 50"):
        declared(town, tent(high=40.0))
    assert accounts(town) == {}


def test_owners_are_charged_the_whole_range_for_each_row(designed):
    column = AnsweredColumn.plan("kwh", designed, **RULES)
    cost = charges(
        column, PrivateColumn(range=(0, 50), resolution=0.001, floor=0.1), "meters", Exposure(((),), {"": 30})
    )
    assert cost[Account("meters", "", "")].information == pytest.approx(
        30 * designed.largest_information * 2500, rel=1e-5
    )


def test_the_evaluation_error_covers_values_as_computed_and_draws(designed):
    column = AnsweredColumn.plan("kwh", designed, **RULES)
    error = evaluation_error(column)
    assert error > 50 * 2.0**-50  # what a stored value may be off
    # two laws whose total variation is t are at an angle of at most π√(t/2), checked where it is largest
    t = np.array([1e-14, 1e-6, 0.1, 0.5, 1.0])
    assert (np.arccos(1 - t) <= math.pi * np.sqrt(t / 2) * (1 + 1e-9)).all()
    angle = math.pi * math.sqrt((designed.cells.low.size * 2.0**-53 + 2.0**-50) / 2)
    shift = 2.0**-50 * 50 + 2 * angle / math.sqrt(column.information)
    assert shift <= error < 1.01 * shift


# -- the command


def test_the_command_reads_a_saved_policy(tmp_path, ring, meters):
    write(tmp_path, meters)
    saved = tmp_path / "policy.json"
    saved.write_text(json.dumps(tent().to_dict()))
    common = ["release", str(tmp_path / "in.parquet"), str(tmp_path / "out.parquet"), "--batch", "q1"]
    common += ["--key", "household,day", "--keys", str(tmp_path / "keys.json")]
    done = CliRunner().invoke(app, [*common, "--policy", f"kwh={saved}", "--unit", "kWh", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["columns"][0]["outputs"] == [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]
    assert set(pq.read_table(tmp_path / "out.parquet")["kwh"].to_pylist()) <= set(range(0, 51, 10))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "or a --policy such as kwh=policy.json"),
        (["--column", "kwh"], "name each --column with its --noise"),
        (["--policy", "kwh"], "--policy takes a column and a file"),
        (["--policy", "kwh=none.json"], "cannot read a policy from none.json"),
        (["--policy", "kwh={saved}", "--column", "kwh", "--noise", "0..1"], "a column is released once"),
    ],
)
def test_the_command_says_what_is_missing(tmp_path, ring, meters, options, message):
    write(tmp_path, meters)
    saved = tmp_path / "policy.json"
    saved.write_text(json.dumps(tent().to_dict()))
    given = [option.format(saved=saved) for option in options]
    common = ["release", str(tmp_path / "in.parquet"), str(tmp_path / "out.parquet"), "--batch", "q1"]
    common += ["--key", "household,day", "--keys", str(tmp_path / "keys.json")]
    done = CliRunner().invoke(app, [*common, *given])
    assert done.exit_code != 0
    assert isinstance(done.exception, InputError)
    assert message in str(done.exception)
    assert not (tmp_path / "out.parquet").exists()
