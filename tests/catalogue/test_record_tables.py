"""Declaring a table that protects records: every mistake is reported with its place and what to write."""

import pytest

from errorfloor.catalogue import load
from errorfloor.errors import CatalogueError
from patients import CATALOGUE

VALUES = """
[tables.t]
source = "t.csv"
version = "1"
row_key = ["id"]
public = { id = "whole" }
private = { x = { range = [0, 1], resolution = 0.1, floor = 0.2 } }
"""


def problems(tmp_path, text):
    file = tmp_path / "errorfloor.toml"
    file.write_text(text)
    with pytest.raises(CatalogueError) as found:
        load(file)
    return dict(found.value.fields["problems"])


@pytest.mark.parametrize(
    ("old", "new", "place", "said"),
    [
        (', rest = "other" }', " }", "columns.sex.rest", "the text that stands for every other value"),
        ("range = [0, 110]", "range = [110, 0]", "columns.age.range", "needs low < high"),
        ("range = [0, 110], rest = 0", "range = [0, 110], rest = 200", "columns.age.rest", "must lie in the range"),
        (
            "range = [0, 110], rest = 0",
            "range = [0, 110], rest = 0.5",
            "columns.age.rest",
            "multiples of the resolution",
        ),
        ("{ range = [0, 110], rest = 0,", "{", "columns.age", "needs one of values"),
        (
            "range = [2024-01-01, 2024-12-31]",
            "range = [2024-01-01, 5]",
            "columns.day.range",
            "two numbers, or two days",
        ),
        ("resolution = 0.5", "resolution = 0", "columns.cost.resolution", "must be positive"),
        ("most_rows = 10000", "min_group = 5", "min_group", "is for tables that protect values"),
        ("most_rows = 10000", 'row_key = ["age"]', "row_key", "is for tables that protect values"),
        ("most_rows = 10000", 'public = { id = "whole" }', "public", "every column goes under columns"),
        ("rows = 2, floor = 0.05", "rows = 0, floor = 0.05", "owner.rows", "must be at least 1"),
        ('column = "patient", rows = 2', "rows = 2", "owner.rows", "each row is somebody else's"),
        ('column = "patient"', 'column = "age"', "owner.column", "which is also among the columns"),
        (
            "rows = 2, floor = 0.05",
            "rows = 2, floor = 0.05, apart = { cost = 5 }",
            "owner.apart",
            "may differ in anything",
        ),
        ("rows = 2, floor = 0.05", "rows = 2", "owner.floor", "is missing"),
        ('protects = "records"', 'protects = "rows"', "protects", "must be one of values, records"),
    ],
)
def test_a_mistake_is_reported_with_its_place(tmp_path, old, new, place, said):
    found = problems(tmp_path, CATALOGUE.replace(old, new))
    assert said in found[f"tables.patients.{place}"]


def test_an_owner_and_columns_are_needed(tmp_path):
    found = problems(tmp_path, '[tables.t]\nsource = "t.csv"\nversion = "1"\nprotects = "records"\n')
    assert found["tables.t.owner"].startswith("is missing: owner = {")
    assert found["tables.t.columns"].startswith("is missing: declare each column")


@pytest.mark.parametrize("text", [CATALOGUE, VALUES], ids=["records", "values"])
def test_counts_by_cell_keys_are_refused_with_what_to_do_instead(tmp_path, text):
    found = problems(tmp_path, text.replace('version = "1"', 'version = "1"\ncounts = "cell keys"'))
    (place, said), *others = found.items()
    assert (place.rpartition(".")[2], others) == ("counts", [])
    assert "two counts are equal for certain if the same people are in both" in said
    assert 'protects = "records" and ask for count(*)' in said and "errorfloor counts and ef.design_counts" in said


def test_columns_and_rows_of_owners_are_for_records_alone(tmp_path):
    text = """
[tables.t]
source = "t.csv"
version = "1"
row_key = ["id"]
public = { id = "whole" }
columns = { age = { range = [0, 110] } }
owner = { column = "id", floor = 0.2, rows = 2 }
private = { x = { range = [0, 1], resolution = 0.1, floor = 0.2 } }
"""
    found = problems(tmp_path, text)
    assert found["tables.t.columns"] == 'is for protects = "records"'
    assert found["tables.t.owner.rows"].startswith('is for protects = "records"')
