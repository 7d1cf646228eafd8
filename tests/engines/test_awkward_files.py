"""Files as they come: each is read rightly, or refused with column, line and remedy, and without a value of it."""

import logging
import re

import pytest
from tests.engines.awkward_files import HEAD, READ, REFUSED, ROWS, put

from errorfloor.catalogue import Catalogue, Reading, Schema
from errorfloor.engines import open_engine
from errorfloor.engines.detection import detect
from errorfloor.engines.sources import find_files
from errorfloor.errors import ErrorFloorError
from errorfloor.vault import register


def registered(one, path, place):
    """Detect how a file is written, declare it so, register it, and give what is stored, in the order of its key."""
    found = detect(find_files([path.name], path.parent), one.options, path.parent)
    schema = Schema(path.name, {**found.columns}, found.how)
    types = {name: found.columns[column] for name, column in schema.names.items()} | one.declared
    declared = dict(zip(types, HEAD, strict=True))
    key, town, day, pay = types
    table = {
        "source": path.name, "version": "1", "row_key": [key],
        "public": {key: "text", town: "text", day: one.declared.get("day", types[day])},
        "private": {pay: {"range": [0, 2000], "resolution": 0.01, "floor": 5, "nulls": "public"}},
        "read": {**found.how.model_dump(exclude_defaults=True), "names": schema.names},
    }  # fmt: skip
    assert one.rows is not None or one.refused or types[pay] in ("number", "whole"), types
    catalogue = Catalogue(place=place.place, tables={"t": table}, folder=place.folder)
    with open_engine(place.place, place.folder, read_only=False) as engine:
        made = register(catalogue, "t", engine=engine)
        names = {meant: made.snapshot.columns[name] for name, meant in declared.items()}
        rows = engine.query(f"SELECT * FROM {made.snapshot.relation} ORDER BY p0").to_pylist()
    return [tuple(row[names[column]] for column in HEAD) for row in rows]


def test_there_are_sixty_of_them():
    assert len(READ) + len(REFUSED) >= 60
    assert len({one.name for one in (*READ, *REFUSED)}) == len(READ) + len(REFUSED)


@pytest.mark.parametrize("one", READ, ids=lambda one: one.name)
def test_it_is_read_rightly(one, duckdb_place):
    wanted = [(*row[:3], None if row[3] is None else round(row[3] * 100)) for row in one.rows or ROWS]
    assert registered(one, put(one, duckdb_place.folder), duckdb_place) == wanted
    left = {path.name for path in duckdb_place.folder.iterdir()}
    assert left == {one.name, "vault.duckdb"}, "a copy was left behind"


@pytest.mark.parametrize("one", REFUSED, ids=lambda one: one.name)
def test_it_is_refused_with_its_place_and_a_remedy(one, duckdb_place, caplog, capsys):
    caplog.set_level(logging.DEBUG)
    with pytest.raises(ErrorFloorError) as told:
        registered(one, put(one, duckdb_place.folder), duckdb_place)
    said = str(told.value)
    assert re.search(one.refused, said), said
    assert re.search(r": (correct|rename|say which|did you mean|name the|is it)|declare|, or is not", said), said
    everywhere = f"{said} {told.value.fields} {caplog.text} {capsys.readouterr()}"
    assert not one.secret or one.secret not in everywhere
    assert told.value.__cause__ is None
    assert {path.name for path in duckdb_place.folder.iterdir()} <= {one.name, "vault.duckdb"}


GERMAN = next(one for one in READ if one.name == "german.csv")
BOOK = next(one for one in READ if one.name == "workbook.xlsx")
WORD = next(one for one in REFUSED if one.name == "a_word.csv")


@pytest.mark.parametrize("one", [GERMAN, BOOK], ids=lambda one: one.name)
def test_every_engine_reads_the_same(one, engine_place):
    wanted = [(*row[:3], round(row[3] * 100)) for row in ROWS]
    assert registered(one, put(one, engine_place.folder), engine_place) == wanted


def test_every_engine_names_the_line(engine_place):
    with pytest.raises(ErrorFloorError, match="line 3, column 'pay' does not hold a number"):
        registered(WORD, put(WORD, engine_place.folder), engine_place)


def several(place, source, parts):
    (place.folder / "parts").mkdir()
    for name, text in parts.items():
        (place.folder / "parts" / name).write_text(text)
    table = {
        "source": source, "version": "1", "row_key": ["key"], "public": {"key": "text"},
        "private": {"pay": {"range": [0, 2000], "resolution": 0.01, "floor": 5}},
    }  # fmt: skip
    return Catalogue(place=place.place, tables={"t": table}, folder=place.folder)


@pytest.mark.parametrize("source", ["parts/*.csv", ["parts/a.csv", "parts/b.csv"]])
def test_several_files_are_one_table_whatever_the_order_of_their_columns(engine_place, source):
    catalogue = several(engine_place, source, {"a.csv": "key,pay\nk1,1\nk2,2\n", "b.csv": "pay,key\n3,k3\n"})
    with open_engine(engine_place.place, engine_place.folder, read_only=False) as engine:
        made = register(catalogue, "t", engine=engine)
        rows = engine.query(f"SELECT p0, x0 FROM {made.snapshot.relation} ORDER BY p0").to_pylist()
        assert [row["x0"] for row in rows] == [100, 200, 300]
        other = Catalogue(
            place=engine_place.place,
            tables={"u": catalogue.tables["t"].model_copy(update={"source": ("parts/b.csv",)})},
            folder=engine_place.folder,
        )
        with pytest.raises(ErrorFloorError, match="same source as table t"):
            register(other, "u", engine=engine)


@pytest.mark.parametrize(
    ("source", "parts", "words"),
    [
        ("parts/*.tsv", {"a.csv": "key,pay\nk1,1\n"}, "no file matches it"),
        ("parts/*", {"a.csv": "key,pay\nk1,1\n", "b.parquet": ""}, "of one format"),
        ("parts/*.csv", {"a.csv": "key,pay\nk1,1\n", "b.csv": "key,pai\nk2,2\n"}, "b.csv names no column 'pay'"),
        ("parts/*.csv", {"a.csv": "key,pay\nk1,1\n", "b.csv": "key,pay\nk2,x\n"}, "b.csv: line 2, column 'pay'"),
        ("parts/*.csv", {"a.csv": "key,pay\nk1,1\n", "b.csv": "key,pay\nk1,2\n"}, "is not unique"),
    ],
)
def test_several_files_that_do_not_fit_are_refused_by_name(duckdb_place, source, parts, words):
    catalogue = several(duckdb_place, source, parts)
    with (
        open_engine(duckdb_place.place, duckdb_place.folder, read_only=False) as engine,
        pytest.raises(ErrorFloorError, match=words),
    ):
        register(catalogue, "t", engine=engine)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"decimal": "·"}, "decimal must be"),
        ({"thousands": "."}, "both '.'"),
        ({"thousands": "x"}, "thousands must be one of"),
        ({"dates": "d.m.Y"}, "must be a format such as %d.%m.%Y"),
        ({"encoding": "utf-9"}, "must be one that Python knows"),
    ],
)
def test_options_that_cannot_be_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        Reading.model_validate(options)


def test_a_file_of_hundreds_of_columns_is_described_in_seconds(tmp_path):
    names = ["key", *(f"day {i}" for i in range(200))]
    (tmp_path / "wide.csv").write_text(
        ",".join(names) + "\n" + "".join(f"k{i}" + ",1.5" * 200 + "\n" for i in range(9))
    )
    found = detect(find_files(["wide.csv"], tmp_path), {}, tmp_path)
    assert found.unique == {"key"}
    assert [found.columns[name] for name in names] == ["text"] + ["number"] * 200
