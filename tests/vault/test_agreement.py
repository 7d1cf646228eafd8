"""One source, three engines, the same integers."""

import datetime
import decimal
import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from errorfloor import vault
from errorfloor.catalogue.model import Catalogue
from errorfloor.engines import open_engine
from errorfloor.vault.fixed_point import StoredGrid

NASTY = [
    0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -1.5, -2.5, 0.0005, 0.0015, 0.0025, -0.0005, 0.49999999999999994, 1.005, 0.285,
    0.145, 5e-324, -5e-324, 1e-310, 2.2250738585072014e-308, 1e308, -1e308, 1.7976931348623157e308, math.inf, -math.inf,
    math.nan, None, 49.9995, 49.99949999999999, 50.0, 50.00000000000001, 1e15, 2.0**52 + 0.5, 2.0**53, 2.0**63,
    -(2.0**63), 2.0**64, 1e22, 3.4028234663852886e38, 1 / 3, 2 / 3, 1e-3, 24.9995, 25.000499999999999, 123456.789,
]  # fmt: skip
SPREAD = np.random.default_rng(7).uniform(-60, 60, 400).tolist()
HALVES = [(k + 0.5) / 1000 for k in range(-50, 50)]
VALUES = NASTY + SPREAD + HALVES
ROWS = len(VALUES)
WHOLE = [None if i % 11 == 0 else (-1) ** i * 2 ** (i % 64) - (i % 3) for i in range(ROWS)]
WHOLE = [None if k is None else max(-(2**63), min(2**63 - 1, k)) for k in WHOLE]
DECIMALS = [None if i % 13 == 0 else decimal.Decimal((-1) ** i * 7 ** (i % 43)).scaleb(-3) for i in range(ROWS)]
SINGLE = [None if x is None else float(np.float32(min(max(x, -3e38), 3e38))) for x in VALUES]
UNSIGNED = [2**64 - 1 - i if i % 2 else i for i in range(ROWS)]
COLUMNS = {
    # name: (values, Arrow type, range in units, resolution)
    "fine": (VALUES, pa.float64(), (-50, 50), Fraction(1, 1000)),
    "cut": (VALUES, pa.float64(), (0, 50), Fraction(1, 1000)),
    "apart": (VALUES, pa.float64(), (10, 20), Fraction(1, 4)),
    "coarse": (VALUES, pa.float64(), (-1000, 1000), Fraction(10)),
    "thirds": (VALUES, pa.float64(), (-7, 7), Fraction(7, 3)),
    "vast": (VALUES, pa.float64(), (-(10**18), 10**18), Fraction(10**7)),
    "tiny": (VALUES, pa.float64(), (Fraction(-1, 10**20), Fraction(1, 10**20)), Fraction(1, 10**30)),
    "single": (SINGLE, pa.float32(), (-50, 50), Fraction(1, 1000)),
    "count": (WHOLE, pa.int64(), (-(10**9), 10**9), Fraction(1)),
    "byte": ([None if k is None else k % 128 for k in WHOLE], pa.int8(), (0, 100), Fraction(3, 5) * 5 / 3),
    "price": (DECIMALS, pa.decimal128(38, 3), (-(10**9), 10**9), Fraction(1, 100)),
    "unsigned": (UNSIGNED, pa.uint64(), (0, 2 * 10**19), Fraction(10**8)),
}  # fmt: skip


def expected(name, nulls, impute):
    values, _, (low, high), step = COLUMNS[name]
    grid = StoredGrid(step, int(low / step), int(high / step))
    missing = None if nulls == "public" else int(impute / step)
    return [missing if x is None or math.isnan(x) else grid.steps(float(x)) for x in values]


def catalogue_of(place, nulls):
    private = {}
    for name, (_, _, (low, high), step) in COLUMNS.items():
        private[name] = {"range": [str(low), str(high)], "resolution": str(step), "floor": float((high - low) * 0.01)}
        private[name] |= {"nulls": nulls} | ({"impute": str(low)} if nulls == "impute" else {})
    table = {"source": "nasty.parquet", "version": nulls, "row_key": ["id"], "public": {"id": "whole"}}
    return Catalogue(place=place.place, tables={"nasty": table | {"private": private}}, folder=place.folder)


@pytest.mark.parametrize("nulls", ["public", "impute"])
def test_stored_integers_are_the_declared_ones_on_every_engine(every_place, nulls):
    arrays = {name: pa.array(values, type) for name, (values, type, _, _) in COLUMNS.items()}
    pq.write_table(
        pa.table({"id": pa.array(range(ROWS), pa.int64()), **arrays}), every_place[0].folder / "nasty.parquet"
    )
    for place in every_place:
        catalogue = catalogue_of(place, nulls)
        with open_engine(place.place, place.folder, read_only=False) as engine:
            snapshot = vault.register(catalogue, "nasty", engine=engine).snapshot
            kept = engine.query(f"SELECT * FROM {snapshot.relation} ORDER BY p0")
        assert kept.column("p0").to_pylist() == list(range(ROWS))
        for name in COLUMNS:
            impute = catalogue.tables["nasty"].private[name].impute
            stored = kept.column(snapshot.columns[name]).to_pylist()
            assert stored == expected(name, nulls, impute), (place.name, name)
            fits = max(map(abs, catalogue.tables["nasty"].private[name].steps)) < 2**31
            assert kept.schema.field(snapshot.columns[name]).type == (pa.int32() if fits else pa.int64())


MOMENTS = [
    datetime.datetime(2024, 3, 31, 1, 59, 59, 999999),
    datetime.datetime(1969, 12, 31, 23, 59, 59, 999999),
    datetime.datetime(1900, 1, 1),
    None,
]
DAYS = [datetime.date(2024, 2, 29), datetime.date(1899, 12, 31), None, datetime.date(9999, 12, 31)]
TEXTS = ["a'b", 'B"', "ß\\n%_", None]
PUBLIC = {
    "id": (pa.array([1, 2, 3, 4], pa.int16()), "whole", [1, 2, 3, 4]),
    "label": (pa.array(TEXTS), "text", TEXTS),
    "coded": (pa.array(TEXTS).dictionary_encode(), "text", TEXTS),
    "number_as_text": (pa.array([1, -2, None, 2**62]), "text", ["1", "-2", None, str(2**62)]),
    "day": (pa.array(DAYS), "date", DAYS),
    "day_of_moment": (pa.array(MOMENTS, pa.timestamp("us")), "date", [m and m.date() for m in MOMENTS]),
    "moment": (pa.array(MOMENTS, pa.timestamp("us")), "moment", MOMENTS),
    "zoned": (pa.array(MOMENTS, pa.timestamp("us", "Europe/Berlin")), "moment", MOMENTS),
    "millis": (pa.array([0, -1, 1, None], pa.timestamp("ms")), "moment", [
        datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=k) for k in (0, -1, 1)] + [None]),
    "nanos": (pa.array([1, -1, -1500, None], pa.timestamp("ns")), "moment", [
        datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=k) for k in (0, -1, -2)] + [None]),
    "flag": (pa.array([True, False, None, True]), "flag", [True, False, None, True]),
    "level": (pa.array([0.125, -0.125, math.nan, 10995116277.76]), {"type": "number", "resolution": 0.01},
              [13, -12, None, 2**40]),
    "whole": (pa.array([1.0, -0.0, math.nan, -(2.0**40)]), "whole", [1, 0, None, -(2**40)]),
    "money": (pa.array([decimal.Decimal("1.005"), None, decimal.Decimal("-1.005"), decimal.Decimal("0.1")]),
              {"type": "number", "resolution": 0.01}, [100, None, -100, 10]),
}  # fmt: skip


def test_public_columns_are_kept_alike_on_every_engine(every_place):
    pq.write_table(
        pa.table({name: array for name, (array, _, _) in PUBLIC.items()}), every_place[0].folder / "t.parquet"
    )
    public = {name: declared for name, (_, declared, _) in PUBLIC.items()}
    for place in every_place:
        table = {"source": "t.parquet", "version": "1", "row_key": ["id"], "public": public}
        with open_engine(place.place, place.folder, read_only=False) as engine:
            catalogue = Catalogue(place=place.place, tables={"t": table}, folder=place.folder)
            snapshot = vault.register(catalogue, "t", engine=engine).snapshot
            kept = engine.query(f"SELECT * FROM {snapshot.relation} ORDER BY p0")
        for name, (_, _, values) in PUBLIC.items():
            assert kept.column(snapshot.columns[name]).to_pylist() == values, (place.name, name)
        assert snapshot.extent == {
            "id": (1, 4), "level": (-12, 2**40), "whole": (-(2**40), 1), "money": (-100, 100)
        }, place.name  # fmt: skip


def test_texts_of_a_csv_file_are_read_alike_on_every_engine(every_place):
    (every_place[0].folder / "t.csv").write_text(
        "id,label,kwh,day,moment,flag,unused\n"
        '1,"a, ""b""",1.2345,2024-02-29,2024-02-29T12:00:00+02:00,true,x\n'
        "2,,NaN,2024-03-01,2024-03-01 12:00:00,false,\n"
        '3,"",-Infinity,,,,3\n'
        '4,"two\nlines",1e-3,1899-12-31,1899-12-31 23:59:59.999999,true,4\n',
        encoding="utf-8",
    )
    public = {"id": "whole", "label": "text", "day": "date", "moment": "moment", "flag": "flag"}
    private = {"kwh": {"range": [0, 50], "resolution": 0.001, "floor": 2.0, "nulls": "public"}}
    noon = datetime.datetime(2024, 2, 29, 10)
    for place in every_place:
        table = {"source": "t.csv", "version": "1", "row_key": ["id"], "public": public, "private": private}
        with open_engine(place.place, place.folder, read_only=False) as engine:
            catalogue = Catalogue(place=place.place, tables={"t": table}, folder=place.folder)
            snapshot = vault.register(catalogue, "t", engine=engine).snapshot
            kept = engine.query(f"SELECT * FROM {snapshot.relation} ORDER BY p0").to_pydict()
        assert kept == {
            "p0": [1, 2, 3, 4],
            "p1": ['a, "b"', None, None, "two\nlines"],
            "p2": [datetime.date(2024, 2, 29), datetime.date(2024, 3, 1), None, datetime.date(1899, 12, 31)],
            "p3": [noon, datetime.datetime(2024, 3, 1, 12), None, datetime.datetime(1899, 12, 31, 23, 59, 59, 999999)],
            "p4": [True, False, None, True],
            "x0": [1235, None, 0, 1],
        }, place.name
