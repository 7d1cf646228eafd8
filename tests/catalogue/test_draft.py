"""A drafted catalogue is TOML, asks for what only the custodian knows, and is accepted once that is given."""

import re
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errorfloor.catalogue import Place, Reading, Schema, draft, load
from errorfloor.catalogue.model import NAME
from errorfloor.errors import CatalogueError

METERS = Schema(
    "data/meters.parquet",
    {
        "household": "text",
        "day": "date",
        "seen": "moment",
        "new": "flag",
        "rooms": "whole",
        "kwh": "number",
        "raw": None,
    },
)


def test_numbers_are_private_and_the_rest_is_only_proposed():
    declared = tomllib.loads(draft([METERS]))["tables"]["meters"]
    assert declared["source"] == "data/meters.parquet"
    assert declared["public"] == {}
    assert set(declared["private"]) == {"rooms", "kwh"}
    assert all(set(rule.values()) == {"choose"} for rule in declared["private"].values())


def test_each_thing_left_to_choose_is_asked_for(tmp_path):
    file = tmp_path / "errorfloor.toml"
    file.write_text(draft([METERS]))
    with pytest.raises(CatalogueError) as caught:
        load(file)
    places = [place for place, _ in caught.value.fields["problems"]]
    assert places == [
        "tables.meters.row_key",
        *(f"tables.meters.private.{c}.{word}" for c in ("rooms", "kwh") for word in ("range", "resolution", "floor")),
    ]
    assert "choose the range of tables.meters.private.kwh, such as range = [0, 50]" in str(caught.value)


def test_a_draft_that_is_filled_in_is_accepted(tmp_path):
    """Take the proposals: uncomment every line that is TOML, and choose."""
    text = draft([METERS])
    text = text.replace('row_key = "choose"', 'row_key = ["household", "day"]')
    text = text.replace('range = "choose"', "range = [0, 50]").replace('resolution = "choose"', "resolution = 1")
    text = text.replace('floor = "choose"', "floor = 2.0")
    text = re.sub(r'^# (?=(household|day|seen|new) = ")', "", text, flags=re.M)
    text = re.sub(r"^# (?=account_by = \[|unit = |nulls = \"|distance = 5|prior = \{)", "", text, flags=re.M)
    text = re.sub(r"^# (\[tables.meters.owner\])\n# (column.*)\n# (floor.*)$", r"\1\n\2\n\3", text, flags=re.M)
    file = tmp_path / "errorfloor.toml"
    file.write_text(text)
    meters = load(file).tables["meters"]
    assert set(meters.public) == {"household", "day", "seen", "new"}
    assert meters.account_by == ("new",)
    assert meters.owner.column == "household"
    assert (meters.private["kwh"].unit, meters.private["kwh"].nulls) == ("kWh", "public")
    assert meters.private["kwh"].prior.deviation == 8


def test_every_word_that_can_be_declared_is_explained():
    text = draft([METERS])
    for model in (
        "range",
        "resolution",
        "floor",
        "unit",
        "nulls",
        "distance",
        "prior",
        "owner",
        "account_by",
        "version",
    ):
        assert re.search(rf"^# {model} +[A-Z\"]", text, re.M), model
    for word in Place.model_fields:
        assert re.search(rf"^{word} = .*# \w", text, re.M), word
    assert "never from the data" in text


def test_without_a_source_the_draft_loads_and_declares_nothing(tmp_path):
    file = tmp_path / "errorfloor.toml"
    file.write_text(draft([], Place(engine="spark", snapshots="vault")))
    assert load(file).tables == {}
    assert load(file).place == Place(engine="spark", snapshots="vault")


def test_columns_that_cannot_be_declared_are_named_and_left_out():
    text = draft([Schema("t.csv", {"bin": None, "ok": "text"})])
    assert '# "bin" cannot be declared: it is neither number, text, date nor flag' in text
    assert set(tomllib.loads(text)["tables"]["t"]) == {"source", "version", "row_key", "public"}


def test_a_column_whose_name_is_no_name_gets_one_and_keeps_its_own_beside_it():
    columns = {"Größe in cm": "number", "1st": "text", "ok": "text", "OK": "text", "Größe (in cm)": "number"}
    table = tomllib.loads(draft([Schema("t.csv", columns)]))["tables"]["t"]
    assert set(table["private"]) == {"groesse_in_cm", "groesse_in_cm_2"}
    assert table["read"]["names"] == {
        "groesse_in_cm": "Größe in cm", "column_1st": "1st", "OK_2": "OK", "groesse_in_cm_2": "Größe (in cm)"
    }  # fmt: skip


def test_how_a_file_is_written_is_declared_where_it_is_not_as_usual():
    how = Reading(delimiter="\t", decimal=",", nulls=("NA", "k.A."), dates="%d.%m.%Y", skip=2)
    table = tomllib.loads(draft([Schema("t.csv", {"kwh": "number"}, how)]))["tables"]["t"]
    assert table["read"] == {"delimiter": "\t", "decimal": ",", "nulls": ["NA", "k.A."], "dates": "%d.%m.%Y", "skip": 2}


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("meters.parquet", "meters"),
        ("/data/Daily readings-2013.csv", "daily_readings_2013"),
        ("store.duckdb::Readings", "readings"),
        ("store.duckdb::main.readings", "readings"),
        ("public.wages", "wages"),
        ("wages", "wages"),
        ("data/2013.parquet", "table_2013"),
        ("données.csv", "donnees"),
        ("€.csv", "eur"),
        ("….csv", "table"),
        ("data/meters", "meters"),
    ],
)
def test_a_table_is_named_after_its_source(source, name):
    assert Schema(source, {}).name == name


def test_two_sources_of_one_name_are_refused():
    with pytest.raises(CatalogueError, match="two sources would both be the table meters"):
        draft([METERS, Schema("other/meters.csv", {})])


@given(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
    st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8),
        st.sampled_from(["text", "whole", "number", "date", "moment", "flag", None]),
        max_size=5,
    ),
)
def test_whatever_the_names_the_draft_is_toml(source, columns):
    schema = Schema(source, columns)
    declared = tomllib.loads(draft([schema]))["tables"][schema.name]
    assert NAME.fullmatch(schema.name)
    assert declared["source"] == source
    numbers = {name for name in schema.names if schema.is_private(name)}
    assert set(declared.get("private", {})) == numbers
    assert {declared["read"]["names"].get(name, name) if "read" in declared else name for name in schema.names} == set(
        columns
    )
    assert all(map(NAME.fullmatch, schema.names))
