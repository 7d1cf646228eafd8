"""The release of a table that grows: what was released of a part stays, free; new parts are drawn and charged."""

import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import errorfloor as ef
from commands import run
from errorfloor.bulk.snapshots import SnapshotTable
from errorfloor.errors import AllowanceError, AnswerFailedError, CatalogueError
from monthly import corrected, grow, write_catalogue, write_months

WIDE = {"kwh": ef.Column(ef.Interval(-200, 200), step="1e-6")}


@pytest.fixture
def home(tmp_path):
    write_months(tmp_path, [1, 2])
    write_catalogue(tmp_path)
    grow(tmp_path)
    return tmp_path


def release(folder, name="out.parquet", **more):
    with ef.open(folder / "errorfloor.toml") as db:
        wanted = {"columns": WIDE, "batch": "monthly", "overwrite": True, **more}
        return db.release("meters", folder / name, **wanted)


def rows(folder, name="out.parquet"):
    return pq.read_table(folder / name)


def of_month(table, month):
    return table.filter(pa.compute.equal(pa.compute.month(table["day"]), month))


def test_a_release_without_a_month_that_the_vault_lost_is_refused(home):
    release(home)
    whole = rows(home)
    with ef.open(home / "errorfloor.toml") as db:
        january = db._known.snapshot(db.catalogue, "meters", db._engine).parts[0]
        file = db._engine.file_of(january.key)
    file.rename(home / "elsewhere")
    with pytest.raises(CatalogueError, match="would read 2024-01 of meters"):
        release(home)
    assert rows(home).equals(whole)


def test_a_released_month_stays_the_same_and_free_when_others_come(home):
    first = release(home)
    assert first.fresh == (True,) and first.new_parts == ("2024-01", "2024-02") and first.rows == 200
    before = rows(home)
    again = release(home, "again.parquet")
    assert again.fresh == (False,) and again.new_parts == ()
    assert (home / "again.parquet").read_bytes() == (home / "out.parquet").read_bytes()
    assert {one.name: one.charge.raised_cosine for one in again.standings} == {
        "meters.kwh": 0.0, "owners of meters": 0.0,
    }  # fmt: skip
    write_months(home, [3])
    grow(home)
    march = release(home)
    assert march.new_parts == ("2024-03",) and march.rows == 300
    after = rows(home)
    assert after.slice(0, 200) == before
    assert set(of_month(after, 3)["kwh"].to_pylist()).isdisjoint(before["kwh"].to_pylist())


def test_rows_leave_part_by_part_in_the_order_of_their_keys(home):
    release(home)
    found = rows(home)
    keys = list(zip(found["day"].to_pylist(), found["home"].to_pylist(), strict=True))
    by_part = sorted(keys, key=lambda key: (key[0].month, key[1].encode(), key[0]))
    assert keys == by_part and len(set(keys)) == 200


def test_released_numbers_are_within_the_noise_of_the_true_ones(home):
    release(home)
    true = {}
    for line in (home / "meters.csv").read_text().splitlines()[1:]:
        one, day, *_, kwh = line.split(",")
        true[one, day] = float(kwh)
    found = rows(home).to_pylist()
    off = [row["kwh"] - true[row["home"], row["day"].isoformat()] for row in found]
    assert max(map(abs, off)) <= 200 and max(map(abs, off)) > 100  # of 200 draws none is farther with chance 2⁻²⁰⁰


def test_each_month_is_charged_once_and_an_entry_is_in_one(home):
    january, february = (charged(home, months) for months in ([1], [2]))
    both = charged(home, [1, 2])
    assert both["meters.kwh"] == january["meters.kwh"] == february["meters.kwh"]
    assert both["owners of meters"] == pytest.approx(january["owners of meters"] + february["owners of meters"])
    assert charged(home, [1, 2, 3], again=[1, 2])["owners of meters"] == january["owners of meters"]


def charged(folder, months, again=None):
    """Give what the release of some months costs, the first of which was made before that of the others."""
    place = folder / f"{len(months)}-{months[-1]}-{bool(again)}"
    place.mkdir()
    write_catalogue(place)
    for some in ([again] if again else []) + [months]:
        write_months(place, some)
        grow(place)
        report = release(place)
    return {one.name: one.charge.raised_cosine for one in report.standings}


def test_a_corrected_month_is_drawn_and_charged_anew_and_its_price_was_told(home):
    release(home)
    before = rows(home)
    write_months(home, [1, 2], changed={(1, 7)})
    declared = write_catalogue(home, corrected(m01="2"))
    with pytest.raises(CatalogueError, match="1 earlier charge depends on it"):
        grow(home, declared)
    grow(home, declared, corrections=True)
    assert release(home).new_parts == ("2024-01",)
    after = rows(home)
    assert of_month(after, 2) == of_month(before, 2)
    assert set(of_month(after, 1)["kwh"].to_pylist()).isdisjoint(before["kwh"].to_pylist())


def test_what_cannot_be_afforded_is_refused_whole(home):
    with pytest.raises(AllowanceError, match="this release would let"):
        release(home, columns={"kwh": ef.Interval(-1, 1)})
    assert not (home / "out.parquet").exists()
    with ef.open(home / "errorfloor.toml") as db:
        assert not db.history()


def test_a_charge_names_its_parts_and_prices_look_at_new_ones_alone(home, monkeypatch):
    release(home)
    write_months(home, [3])
    grow(home)
    import errorfloor.bulk.by_part as room

    looked, cost = [], room.cost_of
    monkeypatch.setattr(
        room,
        "cost_of",
        lambda column, taken, *more: (looked.append(taken.parts[0].name), cost(column, taken, *more))[1],
    )
    release(home)
    assert looked == ["2024-03"]
    with ef.open(home / "errorfloor.toml") as db:
        assert [one["parts"] for one in db.history()] == [{"2024-01": "1", "2024-02": "1"}, {"2024-03": "1"}]
        assert db.ledger.verify()


def test_a_part_that_was_replaced_since_it_was_priced_is_not_released(home, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    write_months(other, [1, 2], changed={(1, 3)})
    write_catalogue(other)
    grow(other)
    with ef.open(home / "errorfloor.toml") as db:
        read = SnapshotTable.read

        def replaced(self, *given):
            shutil.copy2(other / "vault.duckdb" / self.path.name, self.path)
            return read(self, *given)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(SnapshotTable, "read", replaced)
            with pytest.raises(AnswerFailedError):
                db.release("meters", home / "out.parquet", columns=WIDE, batch="monthly")
    assert not (home / "out.parquet").exists()


def test_the_command_says_which_parts_are_new(home):
    words = ["release", str(home / "errorfloor.toml"), str(home / "out.csv"), "--table", "meters"]
    words += ["--column", "kwh", "--noise=-200..200", "--batch", "b", "--json"]
    assert json.loads(run(*words).stdout)["new_parts"] == ["2024-01", "2024-02"]
