"""Streams: one draw and one charge a trip, the same whoever answers and however often they are restarted."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from errorfloor.dynamics import LinearSystem, Robust, plan_from_dict, plan_to_dict
from errorfloor.errors import AllowanceError, CatalogueError, InputError, RefusedError
from errorfloor.identity import Key, KeyRing
from errorfloor.ledger import Account, MemoryLedger
from errorfloor.pricing import cell_text
from errorfloor.streams import Journal, Stream
from repeated import rounds

WORKER = Path(__file__).with_name("stream_worker.py")
spec = importlib.util.spec_from_file_location("stream_worker", WORKER)
worker = importlib.util.module_from_spec(spec)
spec.loader.exec_module(worker)
HORIZON, place, truth, vehicle = worker.HORIZON, worker.place, worker.truth, worker.vehicle


@pytest.fixture
def home(tmp_path):
    KeyRing.create(tmp_path / "keys.json")
    return tmp_path


def in_memory(plan=None, *, horizon=30, **options):
    plan = plan or vehicle(horizon).protect(max_loss=horizon * 1e4, protect=["east", "north"])
    options.setdefault("states", {"east": place(), "north": place()})
    options.setdefault("keys", Key.fresh())
    options.setdefault("ledger", MemoryLedger())
    return Stream(plan, name="cars", **options)


def path_of(trip, steps):
    return np.array([trip.answer(truth(k)) for k in steps])


def test_a_stream_killed_and_restarted_at_random_steps_yields_the_identical_path(home):
    kills = min(rounds(8), HORIZON)
    whole = path_of(worker.open_stream(home).trip("car 7", "monday"), range(HORIZON + 1))
    steps = sorted(np.random.default_rng(1).choice(np.arange(1, HORIZON + 1), kills, replace=False).tolist())
    command = [sys.executable, str(WORKER), str(home), *map(str, steps)]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert shown == ["killed"] * kills + ["0"]
    lines = (home / "answers.txt").read_text().splitlines()
    again = np.array([[float.fromhex(value) for value in line.split()] for line in lines])
    assert np.array_equal(again, whole)
    ledger = worker.open_stream(home).ledger
    assert ledger.head().sequence == 1  # one charge, however often it was restarted


def test_two_servers_agree_and_only_one_of_them_is_charged(home):
    one, two = worker.open_stream(home), worker.open_stream(home)
    first, second = one.trip("car 7", "monday"), two.trip("car 7", "monday")
    second.seek(200)
    whole = path_of(first, range(HORIZON + 1))
    assert np.array_equal(path_of(second, range(200, HORIZON + 1)), whole[200:])
    assert one.ledger.head().sequence == 1


def test_servers_that_read_the_same_plan_from_a_file_agree(home):
    plan = vehicle().protect(max_loss=400 * 1e4, protect=["east", "north"])
    (home / "plan.json").write_text(json.dumps(plan_to_dict(plan)))
    read = plan_from_dict(json.loads((home / "plan.json").read_text()))
    ours = path_of(worker.open_stream(home, plan=plan).trip("car 7", "monday"), range(50))
    theirs = path_of(worker.open_stream(home, plan=read).trip("car 7", "monday"), range(50))
    assert np.array_equal(ours, theirs)


def test_trips_alone_and_together_have_the_same_noise():
    key, ledger = Key.fresh(), MemoryLedger()
    bounded = vehicle(12).protect(bound=200.0, step="0.5", method="product")
    every = {name: place() for name in ("east", "north")}
    for plan in (None, bounded, Robust(vehicle(12).protect(max_loss=1e6), 7.0)):
        stream = in_memory(plan, keys=key, ledger=ledger, states=every, horizon=12)
        cars = [f"car {number}" for number in range(1100)]
        fleet = stream.trips(cars, ["monday"] * len(cars))
        together = np.stack([fleet.answer(np.full((len(cars), 2), 5.0)) for _ in range(8)])
        for place_of in (0, 100, 1099):
            alone = stream.trip(cars[place_of], "monday")
            assert np.array_equal(np.stack([alone.answer([5.0, 5.0]) for _ in range(8)]), together[:, place_of])
        assert len(np.unique(together[0, :, 0])) > 100


def test_next_trip_other_entity_other_plan_and_other_key_have_other_noise():
    ledger, key = MemoryLedger(), Key.fresh()
    stream = in_memory(keys=key, ledger=ledger)
    first = stream.trip("car 7", "monday").answer([0.0, 0.0])
    others = [
        stream.trip("car 7", "tuesday"),
        stream.trip("car 8", "monday"),
        in_memory(horizon=31, keys=key, ledger=ledger).trip("car 7", "monday"),
        in_memory(keys=Key.fresh(), ledger=ledger).trip("car 7", "monday"),
        stream.trip(7, "monday"),
    ]
    for trip in others:
        assert not np.array_equal(trip.answer([0.0, 0.0]), first)
    assert len(list(ledger.entries())) == 6


def test_noise_follows_the_law_of_the_plan():
    plan = vehicle(20).protect(max_loss=21 * 100.0, protect=["east", "north"])
    stream = in_memory(plan, step="0.001", states={"east": place(1)})
    count = 5_000
    fleet = stream.trips([f"car {i}" for i in range(count)], ["one"] * count)
    psi = stream.plan.system
    for k in range(21):
        answers = fleet.answer(np.zeros((count, 2)))
        if k in (0, 20):
            rows = psi.output_matrix(k) @ psi.transition(k)
            assert np.cov(answers.T) == pytest.approx(rows @ stream.plan.covariance @ rows.T, abs=6.0)


def test_one_charge_a_trip_goes_to_the_entity_that_makes_it():
    ledger = MemoryLedger()
    stream = in_memory(ledger=ledger)
    stream.trip("car 7", "monday")
    stream.trip("car 7", "monday").answer([0.0, 0.0])
    stream.trip("car 8", "monday")
    spent = ledger.accounts("cars")
    assert set(spent) == {
        Account("cars", state, cell_text((entity,))) for state in ("east", "north") for entity in ("car 7", "car 8")
    }
    for charge in spent.values():
        information = float(stream.floor.information[0, 0])
        assert information <= charge.information <= information * (1 + 1e-12)


def test_trips_beyond_the_allowance_are_refused_and_those_made_stay_free():
    stream = in_memory(vehicle(30).protect(max_loss=30 * 1e4, protect=["east", "north"]))
    affordable = int(1 / max(stream.share.values()))
    assert 1 <= affordable < 100
    for number in range(affordable):
        stream.trip("car 7", number)
    words = r"of the allowance of cars.east .*car 7.* would be used, .* 15 m: a plan whose .* were begun stay free"
    with pytest.raises(AllowanceError, match=words):
        stream.trip("car 7", "one more")
    stream.trip("car 7", 0).answer([0.0, 0.0])
    stream.trip("car 8", 0)
    assert f"allow {affordable} trip" in stream.explain()


def test_leaving_the_horizon_is_refused():
    trip = in_memory(horizon=5).trip("car 7", "monday")
    path_of(trip, range(6))
    for action in (lambda: trip.answer([0.0, 0.0]), lambda: trip.seek(7)):
        with pytest.raises(RefusedError, match="beyond the horizon 5") as refusal:
            action()
        assert refusal.value.fields == {"reason": "horizon"}


def test_answers_go_forward_only():
    trip = in_memory().trip("car 7", "monday")
    trip.seek(4)
    with pytest.raises(RefusedError, match="step 2 is behind") as refusal:
        trip.seek(2)
    assert refusal.value.fields == {"reason": "step"}


def test_a_trip_begun_under_an_older_key_goes_on_under_it(home):
    stream = worker.open_stream(home)
    whole = path_of(stream.trip("car 7", "monday"), range(20))
    KeyRing(home / "keys.json").rotate()
    later = worker.open_stream(home)
    resumed = later.trip("car 7", "monday")
    resumed.seek(10)
    assert np.array_equal(path_of(resumed, range(10, 20)), whole[10:])
    assert later.ledger.head().sequence == 1
    mixed = later.trips(["car 7", "car 9"], ["monday", "monday"])
    assert np.array_equal(mixed.answer([truth(0), truth(0)])[0], whole[0])


def test_answers_leave_on_a_lattice_and_bounds_hold_there():
    plan = vehicle(20).protect(bound=30.0, step="0.5", method="product")
    stream = in_memory(plan, states={"east": place(1), "north": place(1)})
    fleet = stream.trips(list(range(500)), ["one"] * 500)
    rng = np.random.default_rng(2)
    for _ in range(21):
        y = rng.uniform(-500, 500, size=(500, 2))
        answers = fleet.answer(y)
        assert np.array_equal(answers % 0.5, np.zeros_like(answers))
        assert np.abs(answers - y).max() <= 30.0


def test_robust_streams_add_noise_to_each_step_and_repeat_it():
    plan = vehicle(20).protect(max_loss=1.0)
    stream = in_memory(Robust(plan, 50.0), states={"east": place(1), "north": place(1)})
    fleet = stream.trips(list(range(1500)), ["one"] * 1500)
    first, second = (fleet.answer(np.zeros((1500, 2))) for _ in range(2))
    assert first.std() == pytest.approx(50, rel=0.1)
    assert abs(np.corrcoef(first[:, 0], second[:, 0])[0, 1]) < 0.17
    assert abs(np.corrcoef(first[:, 0], first[:, 1])[0, 1]) < 0.17
    again = stream.trips(list(range(1500)), ["one"] * 1500)
    again.seek(1)
    assert np.array_equal(again.answer(np.zeros((1500, 2))), second)


def test_terms_of_a_stream_stay_as_they_were():
    ledger = MemoryLedger()
    in_memory(ledger=ledger).trip("car 7", "monday")
    feet = {"east": place().model_copy(update={"unit": "ft"}), "north": place()}
    with pytest.raises(CatalogueError, match="unit"):
        in_memory(ledger=ledger, states=feet).trip("car 7", "tuesday")


def test_a_floor_of_a_stream_may_rise_and_not_fall():
    ledger = MemoryLedger()
    in_memory(ledger=ledger).trip("car 7", "monday")
    floor = place().floor
    lower = {"east": place().model_copy(update={"floor": floor / 2}), "north": place()}
    with pytest.raises(CatalogueError, match=rf"floor of cars.east was {floor:g} when it was charged"):
        in_memory(ledger=ledger, states=lower).trip("car 7", "tuesday")
    higher = {"east": place().model_copy(update={"floor": 1.01 * floor}), "north": place()}
    in_memory(ledger=ledger, states=higher).trip("car 8", "monday")
    with pytest.raises(CatalogueError, match="must not fall"):
        in_memory(ledger=ledger).trip("car 8", "tuesday")


def test_mistakes_are_named():
    plan = vehicle(9).protect(max_loss=1e5, protect=["east", "north"])
    cases = [
        ({"plan": "plan"}, "plan must be a plan made by protect"),
        ({"states": {"height": place()}}, "'height' is not a state"),
        ({"states": {"east speed": place()}}, "the plan does not protect it"),
        ({"states": {}}, "states must map names"),
        ({"step": "0"}, "step must be positive"),
        ({"plan": vehicle(9).protect(bound=1.0, method="product")}, "only if the plan knows the lattice"),
        ({"plan": vehicle(9).protect(bound=1.0, step="0.1")}, "method='product'"),
        ({"plan": LinearSystem([[1.0]], [[1.0]], 3).protect(max_loss=1.0)}, "needs names for the states"),
    ]
    for options, words in cases:
        with pytest.raises(InputError, match=words):
            in_memory(**{"plan": plan, **options})
    stream = in_memory(plan)
    with pytest.raises(InputError, match="entity must be a text or a whole number"):
        stream.trip(None, "monday")
    with pytest.raises(InputError, match="named twice"):
        stream.trips(["a", "a"], ["b", "b"])
    with pytest.raises(InputError, match="each entity needs a trip"):
        stream.trips(["a"], [])
    trip = stream.trip("car 7", "monday")
    with pytest.raises(InputError, match="measurements must have shape"):
        trip.answer([1.0])
    with pytest.raises(InputError, match="a measurement is not a finite number") as problem:
        trip.answer([123.25, float("nan")])
    assert "123.25" not in str(problem.value)
    assert trip.step == 0  # nothing was answered


@pytest.mark.parametrize("value", [1e9, -5000.1])
def test_a_measurement_outside_the_declared_range_is_refused_and_moves_nothing(value):
    stream = in_memory()
    trip = stream.trip("car 7", "monday")
    with pytest.raises(RefusedError, match=r"outside the declared range \(east -5000 … 5000 m, north -5000 … 5000 m\)"):
        trip.answer([10.0, value])
    assert trip.step == 0
    assert np.array_equal(trip.answer([10.0, 5000.0]), stream.trip("car 7", "monday").answer([10.0, 5000.0]))


def test_a_journal_refuses_it_before_the_charge_and_says_so_to_the_giver_alone():
    stream = in_memory()
    with pytest.raises(RefusedError, match="nothing was answered or charged") as refused:
        Journal(stream).answer("car 7", "monday", 0, [1e6, 0.0])
    assert refused.value.fields["reason"] == "measurement"
    assert stream.ledger.head().sequence == 0
    assert "1000000" not in str(refused.value)


def test_a_stream_says_what_is_refused_and_in_which_units():
    words = in_memory().explain()
    assert "refused, not clamped: east -5000 … 5000 m, north -5000 … 5000 m." in words
    assert re.search(r"at least east \d+(\.\d+)? m, north \d+(\.\d+)? m;", words)
    assert "One known answer reveals the noise of the whole trip." in words
    rough = in_memory(Robust(vehicle(30).protect(max_loss=3e5, protect=["east", "north"]), 50.0)).explain()
    assert "reveals the noise" not in rough


def test_measurements_that_depend_on_a_state_without_a_range_may_be_anything():
    system = LinearSystem([[1.0, 1.0], [0.0, 1.0]], [[1.0, 1.0], [-2.0, 0.0]], 5, states=("position", "speed"))
    stream = in_memory(system.protect(max_loss=1e6, protect="position"), states={"position": place()})
    assert [end.tolist() for end in stream.ranges.ends(2)] == [[-np.inf, -10_000.0], [np.inf, 10_000.0]]
    stream.trip("car 7", "monday").answer([1e7, 10_000.0])
    assert "Measurements that depend on a state without a declared range may take any value." in stream.explain()


def test_streams_with_one_key_and_other_ledgers_have_other_noise():
    """Equal names do not make equal streams: otherwise the difference of two answers would be exact."""
    key = Key.fresh()
    ledgers = [MemoryLedger(), MemoryLedger()]
    paths = [path_of(in_memory(keys=key, ledger=ledger).trip("car 7", "monday"), range(5)) for ledger in ledgers]
    assert not np.array_equal(*paths)
    again = path_of(in_memory(keys=key, ledger=ledgers[0]).trip("car 7", "monday"), range(5))
    assert np.array_equal(again, paths[0]), "the ledger keeps whose noise it is"


def test_two_processes_that_begin_a_stream_at_once_agree_on_whose_it_is(monkeypatch):
    key, ledger = Key.fresh(), MemoryLedger()
    first, second = (in_memory(keys=key, ledger=ledger) for _ in range(2))
    asked = []

    def late(path, right=ledger.terms):
        """Both look before either has charged."""
        asked.append(path)
        return None if len(asked) == 1 else right(path)

    path = path_of(first.trip("car 7", "monday"), range(5))
    monkeypatch.setattr(ledger, "terms", late)
    assert np.array_equal(path_of(second.trip("car 7", "monday"), range(5)), path)
    assert len(asked) > 1
