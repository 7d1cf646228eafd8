"""A declared table is released through the same charge as any other answer."""

import hashlib
import json
import math
import re
import shutil
import subprocess
import sys
import traceback
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import errorfloor as ef
from commands import run
from errorfloor.bulk.charging import Exposure, charges, evaluation_error
from errorfloor.bulk.columns import ReleasedColumn
from errorfloor.bulk.snapshots import SnapshotTable
from errorfloor.catalogue import PrivateColumn, load
from errorfloor.charging import Charging
from errorfloor.engines import open_engine
from errorfloor.errors import AllowanceError, AnswerFailedError, CatalogueError, InputError
from errorfloor.identity import KeyRing
from errorfloor.ledger import Account, open_ledger
from errorfloor.noise import Gaussian
from errorfloor.pricing import Noised, bounds
from errorfloor.pricing import charges as charges_of_question
from errorfloor.service import opening as room
from errorfloor.service.registering import register_all
from errorfloor.sql import parse
from errorfloor.vault import snapshot
from releases import publish_table
from town import DAYS, HOUSEHOLDS, private_columns, write_town

KWH, OWNERS = Account("meters", "kwh", ""), Account("meters", "", "")
WIDE = {"kwh": ef.Interval(-5, 5)}


def registered(folder, *, owner=False, kind="plain", change=lambda text: text):
    write_town(folder, kind=kind, owner=owner)
    file = folder / "errorfloor.toml"
    text = file.read_text().replace("[tables.meters]\n", '[tables.meters]\nnoises = "any"\n')
    file.write_text(change(text))
    register_town(folder)
    return folder


def register_town(folder):
    register_all(load(folder / "errorfloor.toml"))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return registered(tmp_path_factory.mktemp("made") / "town")


@pytest.fixture
def town(made, tmp_path):
    """A town of one's own: what is released here is charged here."""
    shutil.copytree(made, tmp_path / "town")
    return tmp_path / "town"


def publish(town, name="out.parquet", columns=WIDE, batch="q1", **options):
    return publish_table(town, town / name, columns=columns, batch=batch, **options)


def spent(town):
    catalogue = load(town / "errorfloor.toml")
    with open_ledger(catalogue.place, catalogue.folder) as ledger:
        return ledger.accounts(), [record for record in ledger.entries() if record.charges]


def kept(town, column):
    """What the vault keeps of a private column, exactly, by row key; None where there is nothing."""
    catalogue = load(town / "errorfloor.toml")
    step = catalogue.tables["meters"].private[column].resolution
    with open_engine(catalogue.place, catalogue.folder) as engine:
        taken = snapshot(catalogue, "meters", engine)
        names = [taken.columns[name] for name in ("household", "day", column)]
        rows = zip(*(engine.query(f"SELECT {', '.join(names)} FROM {taken.relation}").columns), strict=True)
        return {(h.as_py(), d.as_py()): None if k.as_py() is None else k.as_py() * step for h, d, k in rows}


def published(file):
    return {(row["household"], row["day"]): row for row in pq.read_table(file).to_pylist()}


def test_a_release_is_charged_once_and_again_gives_the_same_bytes(town):
    first = publish(town, "one.parquet")
    after, _ = spent(town)
    again = publish(town, "two.parquet")
    assert (first.fresh, again.fresh) == ((True,), (False,))
    assert (town / "one.parquet").read_bytes() == (town / "two.parquet").read_bytes()
    information = float(first.columns[0].noise.information[0, 0])
    assert list(after) == [KWH]
    assert information <= after[KWH].information < information * (1 + 1e-12)
    assert spent(town)[0] == after
    assert [s.used_by_this for s in again.standings] == [0.0]
    assert again.standings[0].used == first.standings[0].used > 0


def test_a_column_is_free_whatever_is_released_beside_it(town):
    alone = publish(town, "one.parquet")
    both = publish(town, "two.parquet", columns={"peak": ef.Interval(0, 4), **WIDE})
    assert (alone.fresh, both.fresh) == ((True,), (True, False))
    one, two = published(town / "one.parquet"), published(town / "two.parquet")
    assert all(two[key]["kwh"] == row["kwh"] for key, row in one.items())
    assert alone.left_out == ("peak",)
    assert set(pq.read_table(town / "one.parquet").column_names) == {
        "household",
        "day",
        "tariff",
        "rooms",
        "area",
        "kwh",
    }


def test_what_the_allowance_does_not_cover_is_refused_and_leaves_nothing(town):
    with pytest.raises(AllowanceError) as refused:
        publish(town, columns={"kwh": ef.Interval(0, 0.5), "peak": ef.Interval(-1, 1)})
    assert "would let an entry of meters.kwh be estimated to" in str(refused.value)
    assert "its declared floor is 0.5 kWh" in str(refused.value)
    assert refused.value.exit_code == 3
    assert not (town / "out.parquet").exists()
    assert spent(town) == ({}, [])


def test_the_advice_of_a_refusal_is_enough_and_not_much_more(town):
    with pytest.raises(AllowanceError) as refused:
        publish(town, columns={"kwh": ef.Interval(0, 0.5)})
    scale, low, high = re.search(r"at least ([\d.]+) times as wide \(kwh (\S+) … (\S+)\)", str(refused.value)).groups()
    assert float(low) == 0
    assert float(high) == pytest.approx(0.5 * float(scale))
    with pytest.raises(AllowanceError):
        publish(town, columns={"kwh": ef.Interval(0, 0.98 * float(high))})
    report = publish(town, columns={"kwh": ef.Interval(0, float(high))})
    assert 0.96 < report.standings[0].used <= 1
    with pytest.raises(AllowanceError, match="release it with noise at least"):
        publish(town, "more.parquet", columns={"kwh": ef.Interval(-40, 40)}, batch="q2")
    assert publish(town, "same.parquet", columns={"kwh": ef.Interval(0, float(high))}).fresh == (False,)


def test_how_much_wider_is_written_without_an_exponent(town):
    with pytest.raises(AllowanceError, match=r"at least \d{4,} times as wide \(kwh 0 … [\d.]+\)"):
        publish(town, columns={"kwh": ef.Interval(0, 1e-3)})


def test_a_floor_that_was_raised_leaves_only_what_was_released_before(town):
    publish(town)
    file = town / "errorfloor.toml"
    file.write_text(file.read_text().replace("floor = 0.5", "floor = 5"))
    with pytest.raises(AllowanceError, match="used up; you can repeat earlier releases"):
        publish(town, "more.parquet", batch="q2")
    assert publish(town, "same.parquet").fresh == (False,)


def test_releases_and_questions_are_charged_to_the_same_accounts(town):
    publish(town, columns={"kwh": ef.Interval(-2.4, 2.4)})
    with ef.open(town / "errorfloor.toml") as db:
        assert 0.9 < next(s for s in db.left() if s.account == KWH).used < 1
        with pytest.raises(AllowanceError):
            db.ask("SELECT household, day, sum(kwh) AS x FROM meters GROUP BY household, day", max_error=5)
    # the vault is open for questions in this process too, and a release does not mind
    with ef.open(town / "errorfloor.toml") as db:
        assert publish(town, "same.parquet", columns={"kwh": ef.Interval(-2.4, 2.4)}).fresh == (False,)
        assert db.ask("SELECT count(*) AS n FROM meters", max_error=1).to_arrow()["n"].to_pylist() == [720]


def divided(text):
    return text.replace('"day"]\n', '"day"]\naccount_by = ["tariff", "area"]\n', 1)


def owned(text):
    """An owner that is not in the row key alone: all with as many rooms; the floor is low enough to release at all."""
    return text.replace('column = "household"\nfloor = 0.05', 'column = "rooms"\nfloor = 1e-9')


def test_charges_are_those_of_a_question_for_every_row(tmp_path):
    """A question grouped by the row key asks for every value: pricing must find the same charges for it."""
    town = registered(tmp_path / "town", owner=True, change=lambda text: divided(owned(text)))
    noise = {"kwh": ef.Interval(-20_000, 20_000), "peak": ef.Interval(-3000, 5000)}
    report = publish(town, columns=noise)
    records = spent(town)[1]
    catalogue = load(town / "errorfloor.toml")
    for record, column in zip(records, report.columns, strict=True):
        text = f"SELECT household, day, sum({column.name}) AS x FROM meters GROUP BY household, day"
        question = parse(text, catalogue)
        with open_engine(catalogue.place, catalogue.folder) as engine:
            found = bounds(question, catalogue, [snapshot(catalogue, "meters", engine)], engine)
        asked = charges_of_question(found, [Noised(0, float(column.noise.information[0, 0]))])
        assert len(asked) > 50
        assert set(record.charges) == set(asked)
        for account, charge in record.charges.items():
            assert charge.face("information") == pytest.approx(asked[account].information, rel=1e-9)
            assert charge.face("evaluation") < 1e-12


def test_owners_are_charged_for_each_of_their_rows(tmp_path):
    town = registered(tmp_path / "town", owner=True, change=owned)
    report = publish(town, columns={"kwh": ef.Interval(-20_000, 20_000), "peak": ef.Interval(-4000, 4000)})
    rooms = 1 + np.repeat(np.arange(HOUSEHOLDS), DAYS) % 6
    values = private_columns()
    expected = 0.0
    for column, width in zip(report.columns, (50.0, 9.5), strict=True):
        present = rooms if column.name == "peak" else rooms[np.asarray(values["kwh"].is_valid())]
        expected += np.bincount(present).max() * (2 * math.pi / column.noise.support.width) ** 2 * width**2
    assert expected <= spent(town)[0][OWNERS].information < expected * (1 + 1e-9)
    standing = next(s for s in report.standings if s.account == OWNERS)
    assert "two histories of one rooms" in standing.explain()


def test_an_owner_stops_what_every_entry_would_allow(tmp_path):
    town = registered(tmp_path / "town", owner=True)
    with pytest.raises(AllowanceError, match="two histories of one household") as refused:
        publish(town)
    high = float(re.search(r"… (\S+)\)", str(refused.value)).group(1))
    assert not (town / "out.parquet").exists()
    assert 0.96 < publish(town, columns={"kwh": ef.Interval(-high, high)}).standings[0].used <= 1


@pytest.mark.parametrize("kind", ["plain", "nasty", "high"])
def test_certain_intervals_hold_against_what_is_kept(tmp_path, kind):
    town = registered(tmp_path / "town", kind=kind)
    publish(town, columns={"kwh": ef.Interval(0, 5), "peak": ef.Column(ef.Interval(-1.5, 1), step="0.05")})
    rows = published(town / "out.parquet")
    for column, low, high, step in (("kwh", 0, 5, "0.01"), ("peak", Fraction(-3, 2), 1, "0.05")):
        true = kept(town, column)
        assert set(true) == set(rows)
        for key, value in true.items():
            shown = rows[key][column]
            assert (shown is None) == (value is None)
            if value is not None:
                exact = round(Fraction(shown) / Fraction(step)) * Fraction(step)  # what the double stands for
                assert float(exact) == shown
                assert low <= exact - value <= high


def test_nulls_are_kept_where_they_are_public_and_cost_nothing(town):
    publish(town, columns={"kwh": ef.Interval(-5, 5), "peak": ef.Interval(-2, 2)})
    table = pq.read_table(town / "out.parquet")
    assert table["kwh"].null_count == private_columns()["kwh"].null_count == 8
    assert table["peak"].null_count == 0
    keys = list(zip(table["household"].to_pylist(), table["day"].to_pylist(), strict=True))
    assert keys == sorted(keys)


def test_cells_without_a_value_are_not_charged(tmp_path):
    def change(text):
        return text.replace('"day"]\n', '"day"]\naccount_by = ["household", "day"]\n', 1)

    town = registered(tmp_path / "town", change=change)
    publish(town)
    assert len(spent(town)[0]) == HOUSEHOLDS * DAYS - 8


class Watched:
    """An engine or ledger that writes down what is asked of it."""

    def __init__(self, inner, log):
        self._inner, self._log = inner, log

    def __getattr__(self, name):
        value = getattr(self._inner, name)
        if not callable(value):
            return value

        def call(*arguments, **options):
            self._log.append((name, arguments))
            return value(*arguments, **options)

        return call

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._inner.close()


@pytest.fixture
def log(monkeypatch):
    """What a release asks of engine, ledger and snapshot, in order."""
    found = []

    def watch(opened):
        return lambda *arguments, **options: Watched(opened(*arguments, **options), found)

    monkeypatch.setattr(room, "open_engine", watch(room.open_engine))
    monkeypatch.setattr(room, "open_ledger", watch(room.open_ledger))
    select = SnapshotTable._select

    def selecting(self, *arguments):
        text = select(self, *arguments)
        found.append(("query", (text,)))
        return text

    monkeypatch.setattr(SnapshotTable, "_select", selecting)
    return found


def reads_private(call):
    name, arguments = call
    return name == "query" and re.search(r"\bx\d", re.sub(r"\bx\d+ IS (NOT )?NULL", "", arguments[0])) is not None


def test_private_columns_are_read_only_after_the_charge(town, log):
    publish(town)
    private = [place for place, call in enumerate(log) if reads_private(call)]
    charged = [place for place, (name, _) in enumerate(log) if name == "settling"]
    assert len(charged) == 1
    assert len([place for place in range(charged[0]) if log[place][0] == "query"]) >= 2  # public facts came first
    assert private
    assert charged[0] < min(private)


def test_a_refusal_reads_no_private_column(town, log):
    with pytest.raises(AllowanceError):
        publish(town, columns={"kwh": ef.Interval(0, 0.1)})
    assert "settling" in [name for name, _ in log]
    assert not [call for call in log if reads_private(call)]


def test_a_failure_after_the_charge_stays_charged_and_says_one_fixed_thing(town, monkeypatch):
    def overflow(self, column, tags):
        raise RuntimeError(f"{column[0]} overflows")  # what a library might say of a private value

    with monkeypatch.context() as patched:
        patched.setattr(ReleasedColumn, "perturb", overflow)
        with pytest.raises(AnswerFailedError) as failed:
            publish(town)
    assert "overflows" not in "".join(traceback.format_exception(failed.value))
    assert failed.value.__context__ is None
    assert not (town / "out.parquet").exists()
    before = spent(town)[0]
    assert before[KWH].information > 0
    assert publish(town).fresh == (False,)
    assert spent(town)[0] == before


def test_an_unreadable_vault_after_the_charge_says_nothing_more(town, monkeypatch):
    select = SnapshotTable._select

    def broken(self, columns, order=()):
        return select(self, columns, order).replace("x0", "error(x0::VARCHAR)")

    monkeypatch.setattr(SnapshotTable, "_select", broken)
    with pytest.raises(AnswerFailedError) as failed:
        publish(town)
    assert failed.value.__context__ is None
    assert spent(town)[0][KWH].information > 0


HOLDING = """
import sys, duckdb, errorfloor as ef
from errorfloor.bulk.tables import TableFile
from errorfloor.errors import InputError

def full(*_):
    raise OSError("no room")

duckdb.connect("source.duckdb").execute("CREATE TABLE t AS SELECT * FROM 'meters.parquet'")
common = {"columns": {"kwh": ef.Interval(-5, 5)}, "batch": "q1"}

def declared():
    with ef.open("errorfloor.toml") as db:
        return db.release("meters", "one.parquet", **common)

def plain():
    return ef.release("source.duckdb::t", "two.parquet", key=["household", "day"], keys="keys.json", **common)

kept, write = [], TableFile._write
for released in (declared, plain):
    TableFile._write = full
    try:
        released()
    except InputError as problem:
        kept.append(problem)
    TableFile._write = write
    print(str(kept[-1]), released().rows)
"""


def test_a_failure_that_somebody_holds_on_to_does_not_block_the_next_release(town):
    """A traceback keeps the frames of a failed release, and they must not keep the database open."""
    shown = subprocess.run([sys.executable, "-c", HOLDING], capture_output=True, text=True, cwd=town, timeout=100)
    assert shown.returncode == 0, shown.stderr
    assert [line.split(":")[0] for line in shown.stdout.splitlines()] == [
        "cannot write one.parquet (OSError)",
        "cannot write two.parquet (OSError)",
    ]
    assert [line.split()[-1] for line in shown.stdout.splitlines()] == ["720", "720"]


def test_versions_and_batches_and_tables_share_no_noise(town):
    """The difference of two releases of the same values is not exact, and each is charged."""
    twin = town / "errorfloor.toml"
    text = twin.read_text()
    tables = text[: text.index("[tables.homes]")]
    shutil.copy(town / "meters.parquet", town / "twins.parquet")
    again = tables.replace("tables.meters", "tables.twins").replace("meters.parquet", "twins.parquet")
    twin.write_text(text + again)
    register_town(town)
    publish(town, "a.parquet", columns={"kwh": ef.Interval(-8, 8)})
    publish(town, "b.parquet", columns={"kwh": ef.Interval(-8, 8)}, batch="q2")
    publish_table(town, town / "c.parquet", "twins", columns={"kwh": ef.Interval(-8, 8)}, batch="q1")
    twin.write_text(twin.read_text().replace('version = "1"', 'version = "2"'))
    register_town(town)
    publish(town, "d.parquet", columns={"kwh": ef.Interval(-8, 8)})
    drawn = [pq.read_table(town / f"{name}.parquet")["kwh"].drop_null().to_numpy() for name in "abcd"]
    for i, one in enumerate(drawn):
        for other in drawn[:i]:
            assert np.mean(one == other) < 0.05
    labels = {record.labels for record in spent(town)[1]}
    assert len(labels) == 4


def test_another_order_of_the_row_key_is_another_draw_and_another_charge(town):
    """Registration does not mind the order of the row key; noise and ledger must agree on whether it matters."""
    publish(town, "one.parquet")
    file = town / "errorfloor.toml"
    file.write_text(file.read_text().replace('row_key = ["household", "day"]', 'row_key = ["day", "household"]'))
    report = publish(town, "two.parquet")
    one, two = published(town / "one.parquet"), published(town / "two.parquet")
    same = [row["kwh"] == two[key]["kwh"] for key, row in one.items() if row["kwh"] is not None]
    assert report.fresh == (True,)
    assert np.mean(same) < 0.05


def test_declared_and_undeclared_releases_share_no_noise(town):
    publish(town, "one.parquet")
    ef.release(
        town / "meters.parquet",
        town / "two.parquet",
        columns={"kwh": ef.Column(WIDE["kwh"], range=(0, 50), out_of_range="clamp")},
        key=["household", "day"],
        batch="q1",
        keys=town / "keys.json",
    )
    one, two = published(town / "one.parquet"), published(town / "two.parquet")
    same = [row["kwh"] == two[key]["kwh"] for key, row in one.items() if row["kwh"] is not None]
    assert np.mean(same) < 0.05
    assert len(spent(town)[1]) == 1  # undeclared releases are in the register, not in the ledger
    assert (town / "keys.json.releases").read_text().count("\n") == 1


def test_keys_of_every_type_name_rows(tmp_path):
    rows = 40
    moments = pa.array(np.arange(rows) % 7 * 3_600_000_000, pa.timestamp("us"))
    place = np.round(0.75 * (np.arange(rows) % 5), 2)
    table = {"at": moments, "place": place, "on": np.arange(rows) % 2 == 0, "n": np.arange(rows)[::-1].copy()}
    pq.write_table(pa.table({**table, "x": np.linspace(-3, 3, rows)}), tmp_path / "t.parquet")
    (tmp_path / "errorfloor.toml").write_text(
        '[tables.t]\nsource = "t.parquet"\nversion = "1"\nrow_key = ["at", "place", "on", "n"]\n'
        'public = { at = "moment", place = { type = "number", resolution = 0.75 }, on = "flag", n = "whole" }\n'
        "[tables.t.private.x]\nrange = [-3, 3]\nresolution = 0.3\nfloor = 0.05\n"
    )
    KeyRing.create(tmp_path / "keys.json")
    register_town(tmp_path)
    for name in ("out.parquet", "out.csv"):
        noise = {"x": ef.Interval(-0.5, 0.5)}
        report = publish_table(tmp_path, tmp_path / name, "t", columns=noise, batch="q1")
    shown = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert report.fresh == (False,)
    true = dict(zip(table["n"].tolist(), np.linspace(-3, 3, rows), strict=True))
    places = dict(zip(table["n"].tolist(), place, strict=True))
    assert all(float(row["place"]) == places[row["n"]] for row in shown)
    assert all(abs(row["x"] - true[row["n"]]) <= 0.5 + 0.15 + 1e-9 for row in shown)
    order = [(row["at"], row["place"], row["on"], row["n"]) for row in shown]
    assert order == sorted(order)


@pytest.mark.parametrize(
    ("declared", "noise", "step"),
    [
        (PrivateColumn(range=(0, 50), resolution=0.001, floor=0.1), ef.Interval(-1, 1), None),
        (PrivateColumn(range=("-1/3", 7), resolution="1/3", floor=0.1), ef.Interval(0, 2), None),
        (PrivateColumn(range=(0, "7000/9"), resolution="7/9", floor=0.1), ef.Interval(-0.3, 2), "0.01"),
        (PrivateColumn(range=(-(10**8), 10**8), resolution="0.01", floor=5), ef.Interval(-900, 900), None),
    ],
)
def test_the_evaluation_error_covers_what_doubles_do(declared, noise, step):
    """The steps from a stored integer to the sum, in doubles and exactly."""
    ends = float(declared.low), float(declared.high)
    column = ReleasedColumn.plan("x", noise, step=step, range=ends, out_of_range="clamp", nulls="keep")
    error = evaluation_error(column)
    generator = np.random.default_rng(5)
    steps = [*declared.steps, *generator.integers(*declared.steps, 2000).tolist()]
    drawn = generator.uniform(noise.low, noise.high, len(steps)).tolist()
    worst = Fraction(0)
    for k, w in zip(steps, drawn, strict=True):
        value = float(k) * float(declared.resolution.numerator) / float(declared.resolution.denominator)
        value = min(max(value, ends[0]), ends[1])
        total = value + w
        off = abs(Fraction(value) - k * declared.resolution) + abs(Fraction(total) - Fraction(value) - Fraction(w))
        worst = max(worst, off)
    assert 0 < worst <= Fraction(error)
    cost = charges(column, declared, "t", Exposure(((),)))[Account("t", "x", "")]
    assert Fraction(cost.evaluation) >= Fraction(float(column.noise.information[0, 0])) * worst**2
    assert error <= 1e-6 * noise.width


def test_a_lattice_too_fine_for_the_range_is_refused_before_the_charge(town):
    with pytest.raises(InputError, match="is too fine for kwh, whose numbers may reach 50"):
        publish(town, columns={"kwh": ef.Column(WIDE["kwh"], step="1e-9")})
    assert spent(town) == ({}, [])


def test_noise_without_bounds_is_charged_by_its_information(town):
    report = publish(town, columns={"kwh": Gaussian([[9.0]])})
    assert spent(town)[0][KWH].information == pytest.approx(1 / 9, rel=1e-9)
    assert report.columns[0].describe()["certain_interval"] is None


def test_coarse_columns_state_floors_for_a_lattice(town):
    file = town / "errorfloor.toml"
    file.write_text(file.read_text().replace("floor = 0.1", "floor = 0.02"))
    text = publish(town, columns={"peak": ef.Interval(-3, 3)}).explain()
    assert "unbiased estimator of a continuous entry" not in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": {"kwh": ef.Column(ef.Interval(-8, 8), range=(0, 1))}}, "leave out range"),
        ({"columns": {"kwh": ef.Column(ef.Interval(-8, 8), unit="Wh", nulls="refuse")}}, "leave out unit, nulls"),
        ({"columns": {"tariff": ef.Interval(0, 1)}}, "meters.tariff is public"),
        ({"columns": {"kw": ef.Interval(0, 1)}}, "meters.kw is not declared.*which are kwh, peak"),
        ({"columns": {}}, "name at least one column"),
        ({"batch": " "}, "batch must be a name"),
        ({"name": "meters.parquet", "overwrite": True}, "source and target are both"),
        ({"name": "vault.duckdb::t", "overwrite": True}, "source and target are both"),
        ({"name": "nowhere/out.csv"}, "no folder"),
        ({"name": "out.txt"}, "cannot tell the format"),
    ],
)
def test_mistakes_are_named_and_nothing_is_charged(town, options, message):
    with pytest.raises(InputError, match=message):
        publish(town, **options)
    assert spent(town) == ({}, [])


def test_a_catalogue_is_not_released_as_a_file(town):
    with pytest.raises(InputError, match=r"is a catalogue: .*\.release\('meters'"):
        ef.release(town / "errorfloor.toml", town / "out.parquet", columns=WIDE, batch="q1")


def test_a_target_that_exists_is_refused_before_the_charge(town):
    (town / "out.parquet").write_text("mine")
    with pytest.raises(InputError, match="exists already"):
        publish(town)
    assert spent(town) == ({}, [])
    assert publish(town, overwrite=True).fresh == (True,)


def test_the_table_must_be_named_and_registered(town):
    file = town / "errorfloor.toml"
    common = {"columns": WIDE, "batch": "q1"}
    with pytest.raises(CatalogueError, match="there is no table 'metres'; declared are meters, homes"):
        publish_table(town, town / "out.csv", "metres", **common)
    with pytest.raises(InputError, match="which are none here"):
        publish_table(town, town / "out.csv", "homes", **common)
    with pytest.raises(InputError, match="a dry run has no rows to release"), ef.open(file, dry=True) as dry:
        dry.release("meters", town / "out.csv", **common)
    file.write_text(file.read_text().replace('version = "1"', 'version = "2"'))
    with pytest.raises(CatalogueError, match="not registered in version '2'"):
        publish(town)


def test_a_vault_that_is_made_anew_between_the_charge_and_the_rows_is_not_released(town, tmp_path, monkeypatch):
    other = registered(tmp_path / "other", kind="high")
    settle = Charging.settle

    def settle_then_swap(charging):
        done = settle(charging)
        for file in (other / "vault.duckdb").glob("*.duckdb"):
            shutil.copy(file, (town / "vault.duckdb" / file.name).with_suffix(".new"))
            (town / "vault.duckdb" / file.name).with_suffix(".new").replace(town / "vault.duckdb" / file.name)
        return done

    monkeypatch.setattr(Charging, "settle", settle_then_swap)
    with pytest.raises(AnswerFailedError):
        publish(town)
    assert not (town / "out.parquet").exists()


def test_a_table_is_released_from_duckdb_alone(town, spark_place):
    file = town / "errorfloor.toml"
    file.write_text('[place]\nengine = "spark"\nsnapshots = "vault"\n' + file.read_text())
    with pytest.raises(InputError, match="on spark, and tables are released from DuckDB vaults only"):
        publish(town)


def test_changed_terms_are_refused(town):
    publish(town)
    file = town / "errorfloor.toml"
    file.write_text(divided(file.read_text()))
    with pytest.raises(CatalogueError, match="were opened with account_by"):
        publish(town, "more.parquet", batch="q2")
    assert not (town / "more.parquet").exists()


def test_a_vault_made_anew_gets_no_noise_of_the_old_one(town):
    """The same table, version and batch over other values would share noise: differences would be exact."""
    publish(town)
    shutil.rmtree(town / "vault.duckdb")
    declared = (town / "errorfloor.toml").read_text()
    write_town(town, seed=2)
    (town / "errorfloor.toml").write_text(declared)
    register_town(town)
    with pytest.raises(CatalogueError, match="snapshot"):
        publish(town, "more.parquet")
    assert not (town / "more.parquet").exists()


def test_what_is_sorted_on_disk_is_for_its_owner_only(town, monkeypatch):
    file = town / "errorfloor.toml"
    file.write_text(file.read_text().replace('row_key = ["household", "day"]', 'row_key = ["day", "household"]'))
    modes = []
    batches = SnapshotTable.batches

    def looking(self, reader):
        spilling = list(town.rglob("*.duckdb.tmp"))
        modes.append(spilling[0].stat().st_mode & 0o777 if spilling else None)
        return batches(self, reader)

    monkeypatch.setattr(SnapshotTable, "batches", looking)
    publish(town)
    assert modes == [None, 0o700]  # as they are stored, then sorted
    assert not list(town.rglob("*.duckdb.tmp"))


def test_the_whole_path_by_commands(tmp_path):
    lines = "".join(f"{i},{i % 3},{7 + i % 13}\n" for i in range(200))
    (tmp_path / "meters.csv").write_text(f"household,area,kwh\n{lines}")
    (tmp_path / "errorfloor.toml").write_text(
        '[tables.meters]\nsource = "meters.csv"\nversion = "1"\nrow_key = ["household"]\n'
        'public = { household = "whole", area = "whole" }\n\n'
        '[tables.meters.private.kwh]\nunit = "kWh"\nrange = [0, 50]\nresolution = 0.001\nfloor = 2.0\ndistance = 5\n'
    )
    assert run("keys", "create", "--file", "keys.json", cwd=tmp_path).returncode == 0
    assert run("register", cwd=tmp_path).returncode == 0
    common = ["release", "errorfloor.toml", "out.csv", "--table", "meters", "--column", "kwh", "--batch", "2013-q1"]
    refused = run(*common, "--noise", "0..0.5", cwd=tmp_path)
    assert refused.returncode == 3
    assert "its declared floor is 2 kWh: release it with noise at least" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert not (tmp_path / "out.csv").exists()
    shown = run(*common, "--noise=-20..20", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "out.csv: 200 rows" in shown.stdout
    assert "Used of the allowance of meters.kwh" in shown.stdout
    digest = hashlib.sha256((tmp_path / "out.csv").read_bytes()).hexdigest()
    again = json.loads(run(*common, "--noise=-20..20", "--overwrite", "--json", cwd=tmp_path).stdout)
    assert (again["table"], again["version"], again["fresh"]) == ("meters", "1", [False])
    assert again["accounts"][0]["used"] > 0
    assert hashlib.sha256((tmp_path / "out.csv").read_bytes()).hexdigest() == digest
    ledger = json.loads(run("ledger", "show", "--json", cwd=tmp_path).stdout)
    assert ledger["records"] == 2  # the registration and the release
    assert ledger["accounts"][0]["raised_cosine"] == pytest.approx(again["columns"][0]["information"], rel=1e-9)
    assert run("ledger", "verify", cwd=tmp_path).returncode == 0
    assert not (tmp_path / "keys.json.releases").exists()
    both = run(*common, "--noise=-20..20", "--range", "0..50", cwd=tmp_path)
    assert both.returncode == 2
    assert "leave out --range" in both.stderr
    missing = run(
        "release", "meters.csv", "out.csv", "--column", "kwh", "--noise", "0..1", "--batch", "q", cwd=tmp_path
    )
    assert missing.returncode == 2
    assert "--key and --keys" in missing.stderr
