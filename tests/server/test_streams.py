"""Trajectories over HTTP: the owner's side pushes measurements, each step is answered once, anybody may pull."""

import json
import logging
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from errorfloor.catalogue import load
from errorfloor.client import connect
from errorfloor.dynamics import LinearSystem, plan_to_dict
from errorfloor.errors import AllowanceError, CatalogueError, InputError, RefusedError
from errorfloor.identity import KeyRing
from errorfloor.ledger import Account, open_ledger
from errorfloor.service import open_database
from errorfloor.streams import Stream, journal
from serving import CANARY, holds_canary, served

POSTGRESQL = any(Path("/usr/lib/postgresql").glob("*/bin/initdb")) or shutil.which("initdb") is not None
DATABASES = [pytest.param("sqlite"), *([pytest.param("postgresql")] if POSTGRESQL else [])]
SYSTEM = """A = [[1, 1], [0, 1]]
C = [[1, 0]]
horizon = 20
states = ["position", "speed"]
public = ["speed"]
max_loss = 210000
step = 1
"""
CATALOGUE = """{place}
[tables]
[streams.cars]
{system}
[streams.cars.private.position]
unit = "m"
range = [-2000000000, 2000000000]
resolution = 1
floor = {floor}
distance = 50
"""
VEHICLE = LinearSystem([[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.0]], 20, states=("position", "speed"))


def declare(folder, *, system=SYSTEM, ledger=None, floor=20):
    """Write a catalogue of cars, and a key file of one key."""
    folder.mkdir(parents=True, exist_ok=True)
    place = "" if ledger is None else f'[place]\nledger = "{ledger}"'
    (folder / "errorfloor.toml").write_text(CATALOGUE.format(place=place, system=system, floor=floor))
    secret = {"format": 1, "keys": [{"id": "feedfacefeedface", "created": "2026-01-01", "secret": "07" * 32}]}
    (folder / "keys.json").write_text(json.dumps(secret))
    (folder / "keys.json").chmod(0o600)
    declared = load(folder / "errorfloor.toml")
    open_ledger(declared.place, folder, create=True).close()
    return folder / "errorfloor.toml"


@pytest.fixture
def cars(tmp_path):
    """A server of cars, and its database."""
    with open_database(declare(tmp_path / "cars")) as database, served(database, tmp_path) as server:
        yield server, database


def push(client, step, position, *, entity="car 7", trip="monday"):
    body = {"entity": entity, "trip": trip, "step": step, "measurement": [position]}
    return client.post("/v1/streams/cars/answers", json=body)


def pull(client, *, entity="car 7", trip="monday", **query):
    return client.get("/v1/streams/cars/answers", params={"entity": entity, "trip": trip, **query})


def test_everybody_sees_what_is_declared_and_promised(cars):
    server, _ = cars
    (stream,) = server.client("reader").get("/v1/streams").json()["streams"]
    assert (stream["name"], stream["horizon"], stream["outputs"], stream["step"]) == ("cars", 20, 1, 1.0)
    assert stream["public"] == ["speed"]
    (state,) = stream["private"]
    assert state["floor"] == 20 and state["unit"] == "m"
    # the information of one draw of variance 10⁴ about the position is 10⁻⁴
    assert state["charge"][0] == pytest.approx(1e-4, rel=1e-9) and state["charge"][0] >= 1e-4
    assert stream["trips"] == int(1 / state["share"])
    assert "any estimate of it is off by at least 20 m (root mean square, worst case" in state["explain"]
    assert server.client("reader").get("/v1/streams/cars").json() == stream
    assert server.client(None).get("/v1/streams").status_code == 401


def test_pushed_measurements_are_what_the_library_would_answer_and_can_be_pulled(cars):
    server, database = cars
    owner, reader = server.client("owner"), server.client("reader")
    pushed = [push(owner, k, 1000.0 + 30 * k).json() for k in range(21)]
    alone = Stream(
        VEHICLE.protect(max_loss=210000.0, protect="position", step="1.0"),
        name="cars",
        states=database.catalogue.streams["cars"].private,
        keys=database.keys,
        ledger=database.ledger,
    ).trip("car 7", "monday")
    assert [one["answer"] for one in pushed] == [list(alone.answer([1000.0 + 30 * k])) for k in range(21)]
    assert all(one["fresh"] for one in pushed)
    noise = {one["answer"][0] - 1000.0 - 30 * one["step"] for one in pushed}
    assert len(noise) == 1 and noise != {0.0}  # one draw for the whole path
    first = pull(reader, limit=10).json()
    assert first["next"] == 9
    rest = pull(reader, after=first["next"], limit=11).json()
    assert rest["next"] is None
    assert first["answers"] + rest["answers"] == [{"step": one["step"], "answer": one["answer"]} for one in pushed]
    assert pull(reader, trip="tuesday").json()["answers"] == []


def test_only_the_owners_side_pushes_measurements(cars):
    server, database = cars
    for role in ("reader", "analyst"):
        reply = push(server.client(role), 0, 120.0)
        assert reply.status_code == 403 and reply.json()["error"]["code"] == "role"
    assert push(server.client(None), 0, 120.0).status_code == 401
    assert database.ledger.head().sequence == 0


def test_address_that_pushes_and_pulls_says_so(cars):
    server, _ = cars
    reply = server.client("owner").delete("/v1/streams/cars/answers")
    assert (reply.status_code, reply.headers["allow"]) == (405, "GET, POST")


def test_a_correction_is_refused_and_never_released(cars):
    server, database = cars
    owner = server.client("owner")
    first = push(owner, 3, 120.0).json()
    again = push(owner, 3, 120.0).json()
    assert again == {**first, "fresh": False}
    reply = push(owner, 3, 125.0)
    assert reply.status_code == 409
    assert reply.json()["error"]["code"] == "answered"
    assert "was answered from another measurement" in reply.json()["error"]["message"]
    assert pull(owner).json()["answers"] == [{"step": 3, "answer": first["answer"]}]
    assert database.ledger.head().sequence == 2  # the trip, and its one answer


def test_what_is_written_down_does_not_depend_on_measurements(tmp_path):
    seen = []
    for number, second in enumerate((120.0, 121.0, 1e300)):
        folder = tmp_path / str(number)
        with open_database(declare(folder)) as database, served(database, folder) as server:
            owner = server.client("owner")
            push(owner, 0, 120.0)
            push(owner, 0, second)
            while len(server.audited()) < 2:  # a line is written once its reply was sent
                time.sleep(0.01)
            lines = [{k: v for k, v in line.items() if k not in ("time", "request")} for line in server.audited()]
            metrics = [line for line in owner.get("/metrics").text.splitlines() if "_created" not in line]
            timed = [line for line in metrics if "duration_seconds" in line and not line.startswith("#")]
            assert not any("answers" in line for line in timed)
            seen.append((lines, [line for line in metrics if line not in timed]))
    assert seen[0][1] == seen[1][1] == seen[2][1]
    assert [line["status"] for line in seen[1][0]] == [200, 200]
    assert len({json.dumps(lines) for lines, _ in seen}) == 1


def test_no_measurement_is_found_anywhere(tmp_path, caplog, capfd):
    folder = tmp_path / "cars"
    coarse = declare(folder, system=SYSTEM.replace("step = 1", "step = 4"))
    with open_database(coarse) as database, served(database, tmp_path) as server:
        owner, said = server.client("owner"), []
        with caplog.at_level(logging.DEBUG, logger="errorfloor"):
            for step, value in ((0, float(CANARY)), (0, float(CANARY) + 40), (1, float(CANARY)), (99, float(CANARY))):
                said.append(push(owner, step, value).text)
            for body in (
                {"entity": "a", "trip": "b", "step": 0, "measurement": [float(CANARY), float(CANARY)]},
                {"entity": "a", "trip": "b", "step": 0, "measurement": [CANARY]},
                {"entity": "a", "trip": "b", "step": "x", "measurement": [float(CANARY)]},
                {"entity": "", "trip": "b", "step": 0, "measurement": float(CANARY)},
            ):
                reply = owner.post("/v1/streams/cars/answers", json=body)
                assert reply.status_code == 422
                said.append(reply.text)
        said += [owner.get(path).text for path in ("/metrics", "/v1/ledger", "/v1/ledger/entries")]
        said.append(pull(owner).text)
        logged = server.audit.read_text() + caplog.text + "".join(capfd.readouterr())
        kept = b"".join(path.read_bytes() for path in folder.iterdir()).decode("latin-1")
    for text in (*said, logged, kept):
        assert not holds_canary(text)
        assert "Traceback" not in text
    assert sum('"fresh"' in text for text in said) == 2


def test_a_trip_is_charged_once_to_its_entity(cars):
    server, database = cars
    owner = server.client("owner")
    for step in (0, 7, 3):  # in any order
        assert push(owner, step, 120.0).json()["fresh"]
    push(owner, 0, 120.0, trip="tuesday")
    push(owner, 0, 120.0, entity="car 8")
    (price,) = owner.get("/v1/streams").json()["streams"][0]["private"]
    accounts = database.ledger.accounts()
    seven, eight = (accounts[Account("cars", "position", f'["{car}"]')].information for car in ("car 7", "car 8"))
    assert eight == price["charge"][0]
    assert seven == pytest.approx(2 * eight, rel=1e-12)
    assert [one["step"] for one in pull(owner).json()["answers"]] == [0, 3, 7]


def test_allowance_is_never_exceeded_and_begun_trips_go_on(cars):
    server, _ = cars
    owner = server.client("owner")
    allowed = owner.get("/v1/streams").json()["streams"][0]["trips"]
    for number in range(allowed):
        assert push(owner, 0, 120.0, trip=f"trip {number}").status_code == 200
    refused = push(owner, 0, 120.0, trip="one more")
    assert refused.status_code == 403 and refused.json()["error"]["code"] == "allowance"
    message = refused.json()["error"]["message"]
    assert '% of the allowance of cars.position ["car 7"] would be used, and its declared floor is 20 m' in message
    assert "times the variance could be begun with what is left; trips that were begun stay free" in message
    assert push(owner, 1, 120.0, trip="trip 0").status_code == 200
    assert push(owner, 0, 120.0, entity="car 8", trip="one more").status_code == 200


@pytest.mark.parametrize(
    ("change", "status", "words"),
    [
        ({"step": 21}, 422, "step 21 is beyond the horizon 20 of cars: begin another trip"),
        ({"measurement": [1.0, 2.0]}, 422, "measurement must be a list of 1 number"),
        ({"measurement": [1e12]}, 422, "of magnitude at most 5.36871e+08"),
        ({"measurement": []}, 422, "measurement must be a list of 1 number"),
        ({"entity": "a\nb"}, 422, "entity must be a text of 1 to 200 printable characters"),
        ({"trip": ""}, 422, "trip must be text that is not empty, got"),
        ({"step": -1}, 422, "step must be at least 0, got -1"),
        ({"speed": 1}, 422, "speed is not a known field"),
        ({"measurement": "4711.5"}, 422, "measurement must be a list of at most 100 numbers, got something else"),
    ],
)
def test_what_cannot_be_answered_is_refused_and_charges_nothing(cars, change, status, words):
    server, database = cars
    body = {"entity": "car 7", "trip": "monday", "step": 0, "measurement": [120.0], **change}
    reply = server.client("owner").post("/v1/streams/cars/answers", json=body)
    assert reply.status_code == status
    assert words in reply.json()["error"]["message"]
    assert database.ledger.head().sequence == 0


def test_numbers_that_are_none_and_streams_that_are_none_are_refused(cars):
    server, database = cars
    owner = server.client("owner")
    text = '{"entity": "a", "trip": "b", "step": 0, "measurement": [NaN]}'
    reply = owner.post("/v1/streams/cars/answers", content=text, headers={"Content-Type": "application/json"})
    assert reply.status_code == 422 and database.ledger.head().sequence == 0
    for reply in (owner.get("/v1/streams/boats"), owner.get("/v1/streams/boats/answers?entity=a&trip=b")):
        assert reply.status_code == 404
        assert "there is no stream 'boats'; declared are cars" in reply.json()["error"]["message"]


def test_trip_is_charged_before_and_answer_kept_before_it_leaves(cars, monkeypatch):
    server, database = cars
    owner = server.client("owner")
    with monkeypatch.context() as patched:
        patched.setattr("errorfloor.streams.fleet.Trip.answer", lambda *_: 1 / 0)
        reply = push(owner, 0, 120.0)
    assert reply.status_code == 500 and reply.json()["error"]["code"] == "answer-failed"
    assert database.ledger.head().sequence == 1  # the trip stays charged
    honest = database.ledger.settling
    order = []

    def charge(entries, *rest, **options):
        order.append([entry.note.get("answer") for entry in entries])
        if order[-1] != [None]:
            raise CatalogueError("the ledger would not have it")
        return honest(entries, *rest, **options)

    with monkeypatch.context() as patched:
        patched.setattr(database.ledger, "settling", charge)
        assert push(owner, 0, 120.0).json()["error"]["message"] == "the ledger would not have it"
    assert len(order) == 2 and order[0] == [None] and order[1] != [None]
    assert pull(owner).json()["answers"] == []
    assert push(owner, 0, 120.0).json()["fresh"]
    assert database.ledger.head().sequence == 2


def test_restart_and_newer_key_go_on_with_the_same_noise(tmp_path):
    catalogue = declare(tmp_path)
    with open_database(catalogue) as database:
        before = database.declared_streams.answer("cars", entity="car 7", trip="monday", step=0, measurement=[120.0])
    KeyRing(tmp_path / "keys.json").rotate()
    with open_database(catalogue) as database:
        streams = database.declared_streams
        again = streams.answer("cars", entity="car 7", trip="monday", step=0, measurement=[120.0])
        later = streams.answer("cars", entity="car 7", trip="monday", step=5, measurement=[120.0])
        other = streams.answer("cars", entity="car 7", trip="tuesday", step=0, measurement=[120.0])
        with pytest.raises(RefusedError, match="answered from another measurement"):
            streams.answer("cars", entity="car 7", trip="monday", step=0, measurement=[140.0])
        assert [one.step for one in streams.answers("cars", entity="car 7", trip="monday")] == [0, 5]
    assert again.answer == before.answer == later.answer  # the position's noise does not grow with the steps
    assert other.answer != before.answer


def test_ledger_that_has_lost_an_answer_is_refused(tmp_path):
    catalogue = declare(tmp_path)
    with open_database(catalogue) as database:
        database.declared_streams.answer("cars", entity="a", trip="t", step=0, measurement=[120.0])
    shutil.copy(tmp_path / "ledger.sqlite", tmp_path / "older.sqlite")
    with open_database(catalogue) as database:
        database.declared_streams.answer("cars", entity="a", trip="t", step=1, measurement=[120.0])
    shutil.copy(tmp_path / "older.sqlite", tmp_path / "ledger.sqlite")
    with pytest.raises(Exception, match="older") as refused:
        open_database(catalogue)
    assert refused.value.code == "ledger"


@pytest.mark.parametrize("kind", DATABASES)
def test_servers_that_race_for_a_step_release_one_answer(kind, tmp_path, request):
    ledger = None if kind == "sqlite" else request.getfixturevalue("postgresql_database")
    catalogue = declare(tmp_path / "cars", ledger=ledger)
    (tmp_path / "two").mkdir()
    with (
        open_database(catalogue) as here,
        open_database(catalogue) as there,
        served(here, tmp_path) as one,
        served(there, tmp_path / "two") as two,
    ):
        for server in (one, two):  # two apps of one process must not build their models at the same moment
            assert push(server.client("owner"), 99, 0.0).status_code == 422
        start = threading.Barrier(16)
        clients = [(one if number % 2 else two).client("owner") for number in range(16)]

        def race(number):
            start.wait()
            return push(clients[number], 4, 100.0 * number)

        with ThreadPoolExecutor(16) as pool:
            replies = list(pool.map(race, range(16)))
        assert sorted(reply.status_code for reply in replies) == [200, *[409] * 15]
        (won,) = [reply.json() for reply in replies if reply.status_code == 200]
        kept = [{"step": 4, "answer": won["answer"]}]
        assert pull(one.client("reader")).json()["answers"] == pull(two.client("reader")).json()["answers"] == kept
    declared = load(catalogue)
    with open_ledger(declared.place, declared.folder, create=False) as book:
        assert book.verify().head.sequence == 2


def test_client_has_the_face_of_the_streams_here(cars):
    server, database = cars
    with connect(server.url, token=server.tokens["owner"]) as remote:
        here = database.declared_streams
        assert remote.streams() == here.facts()
        trip = {"entity": "car 7", "trip": "monday"}
        pushed = remote.answer("cars", **trip, step=0, measurement=[120])
        again = here.answer("cars", **trip, step=0, measurement=[120])
        assert (pushed.step, pushed.answer, pushed.fresh) == (0, again.answer, True)
        assert [one.answer for one in remote.answers("cars", **trip)] == [again.answer]
        for answer in (remote.answer, here.answer):
            with pytest.raises(RefusedError, match="answered from another measurement") as refused:
                answer("cars", **trip, step=0, measurement=[130.0])
            assert refused.value.fields["reason"] == "corrected"
            with pytest.raises(InputError, match="measurement must be a list of") as refused:
                answer("cars", **trip, step=0, measurement=[CANARY + "x"])
            assert not holds_canary(str(refused.value))
    with connect(server.url, token=server.tokens["analyst"]) as analyst:
        assert [one.answer for one in analyst.answers("cars", **trip)] == [again.answer]
        with pytest.raises(Exception, match="needs the role owner"):
            analyst.answer("cars", **trip, step=1, measurement=[120.0])


def test_plan_that_one_trip_cannot_pay_for_is_refused_at_the_start(tmp_path):
    with (
        open_database(declare(tmp_path, floor=200)) as database,
        pytest.raises(
            CatalogueError, match=r"one trip would reveal .* times what the floor declared for position"
        ) as no,
    ):
        _ = database.declared_streams
    factor = no.value.fields["share"]
    enough = SYSTEM.replace("210000", str(210000 * factor * 1.001))
    with open_database(declare(tmp_path, floor=200, system=enough)) as database:
        assert database.declared_streams.facts()[0]["trips"] == 1


def test_plan_in_a_file_gives_the_same_answers(tmp_path):
    plan = VEHICLE.protect(max_loss=210000.0, protect="position", step="1")
    folder, answers = tmp_path / "cars", []
    for system in (SYSTEM, 'plan = "cars.json"\npublic = ["speed"]\n'):
        if answers:
            (folder / "errorfloor.toml").write_text(CATALOGUE.format(place="", system=system, floor=20))
        else:
            declare(folder, system=system)
        catalogue = folder / "errorfloor.toml"
        (folder / "cars.json").write_text(json.dumps(plan_to_dict(plan)))
        with open_database(catalogue) as database:
            trip = database.declared_streams.journal("cars").stream.trip("a", "t")
            answers.append([float(trip.answer([1.0])[0]) for _ in range(10)])
            charged = database.ledger.head().sequence
    assert answers[0] == answers[1] and charged == 1, "one trip, one draw"
    for text, words in (("{", "is not a plan, or is damaged"), ('{"type": "Blob"}', "a plan is wanted")):
        (folder / "cars.json").write_text(text)
        with open_database(catalogue) as database, pytest.raises(CatalogueError, match=f"streams.cars: .*{words}"):
            _ = database.declared_streams


def test_bound_and_noise_of_the_steps_can_be_declared(tmp_path):
    bounded = SYSTEM.replace("max_loss = 210000", "bound = 400")
    with open_database(declare(tmp_path / "bounded", system=bounded)) as database:
        streams = database.declared_streams
        for number in range(50):
            answer = streams.answer("cars", entity=f"car {number}", trip="t", step=20, measurement=[7.0]).answer
            assert abs(answer[0] - 7.0) <= 400
    with open_database(declare(tmp_path / "robust", system=SYSTEM + "deviation = 50\n")) as database:
        streams = database.declared_streams
        path = [streams.answer("cars", entity="a", trip="t", step=k, measurement=[7.0]).answer for k in range(21)]
    assert len(set(path)) > 15


def test_trip_that_is_no_longer_under_way_is_begun_again_free(tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "UNDER_WAY", 1)
    with open_database(declare(tmp_path)) as database:
        streams = database.declared_streams
        first = [streams.answer("cars", entity=car, trip="t", step=0, measurement=[1.0]).answer for car in "abab"]
        later = [streams.answer("cars", entity=car, trip="t", step=9, measurement=[1.0]).answer for car in "ab"]
        assert first[:2] == first[2:] == later
        assert database.ledger.head().sequence == 6


def test_dry_streams_answer_nothing(cars):
    _, database = cars
    with pytest.raises(InputError, match="there is no stream 'cars'; declared are none"):
        database.dry().declared_streams.answer("cars", entity="a", trip="t", step=0, measurement=[1.0])


def test_allowance_error_reaches_the_client_as_one(cars):
    server, database = cars
    allowed = database.declared_streams.facts()[0]["trips"]
    with connect(server.url, token=server.tokens["owner"]) as remote:
        for number in range(allowed):
            remote.answer("cars", entity="car 9", trip=str(number), step=0, measurement=[0.0])
        with pytest.raises(AllowanceError, match=r"of the allowance of cars.position .*car 9.* would be used"):
            remote.answer("cars", entity="car 9", trip="last", step=0, measurement=[0.0])
