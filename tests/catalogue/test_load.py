"""Reading a catalogue: what is right is read exactly, and all that is wrong is named at once, with its place."""

import re
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errorfloor.catalogue import Catalogue, Place, load
from errorfloor.errors import CatalogueError

GOOD = """
[place]
ledger = "spent.sqlite"

[tables.meters]
source = "meters.parquet"
version = "2013"
row_key = ["household", "day"]
account_by = ["day"]
owner = { column = "household", floor = 0.2 }

[tables.meters.public]
household = "text"
day = "date"
rooms = "whole"
share = { type = "number", resolution = 0.01, unit = "%" }

[tables.meters.private.kwh]
range = [0, 50]
resolution = 0.001
floor = 2.0
unit = "kWh"
nulls = "impute"
impute = 0.1
distance = 5
prior = { mean = 10, deviation = 8 }

[tables.areas]
source = "areas.csv"
version = "1"
row_key = ["area"]
public = { area = "text" }
"""


@pytest.fixture
def write(tmp_path):
    def write(text):
        file = tmp_path / "errorfloor.toml"
        file.write_text(text)
        return file

    return write


def problems(file):
    with pytest.raises(CatalogueError) as caught:
        load(file)
    assert "Traceback" not in str(caught.value)
    return dict(caught.value.fields["problems"]), str(caught.value)


def test_what_is_declared_is_read_exactly(write, tmp_path):
    catalogue = load(write(GOOD))
    assert catalogue.folder == tmp_path.resolve()
    assert catalogue.place == Place(ledger="spent.sqlite")
    meters = catalogue.tables["meters"]
    kwh = meters.private["kwh"]
    assert kwh.resolution == Fraction(1, 1000)
    assert kwh.impute == Fraction(1, 10)
    assert kwh.steps == (0, 50_000)
    assert (kwh.prior.mean, kwh.prior.deviation) == (10.0, 8.0)
    assert meters.public["share"].step == Fraction(1, 100)
    assert meters.public["rooms"].step == 1
    assert meters.public["day"].step is None
    assert meters.owner.floor == 0.2
    assert catalogue.tables["areas"].private == {}


def test_a_path_may_be_text_and_relative(write, monkeypatch, tmp_path):
    write(GOOD)
    monkeypatch.chdir(tmp_path)
    assert load("errorfloor.toml").folder == tmp_path.resolve()


def test_a_mark_at_the_beginning_of_the_file_is_no_mistake(write, tmp_path):
    file = write(GOOD)
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    assert isinstance(load(file), Catalogue)


def change(old, new):
    assert GOOD.count(old) == 1
    return GOOD.replace(old, new)


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        (
            change("range = [0, 50]", "range = [50, 0]"),
            "tables.meters.private.kwh.range",
            "needs low < high, got 50 … 0",
        ),
        (
            change("range = [0, 50]", "range = [0]"),
            "tables.meters.private.kwh.range",
            r"two numbers, low and high, got \[0\]",
        ),
        (
            change("range = [0, 50]", "range = 50"),
            "tables.meters.private.kwh.range",
            "must be a list in brackets, got 50",
        ),
        (change("range = [0, 50]", 'range = [0, "x"]'), "tables.meters.private.kwh.range", "finite number, got 'x'"),
        (change("range = [0, 50]", "range = [0, inf]"), "tables.meters.private.kwh.range", "finite number, got inf"),
        (change("range = [0, 50]", "range = [0, 1e31]"), "tables.meters.private.kwh.range", "1e30 in size"),
        (change("range = [0, 50]", "range = [0, true]"), "tables.meters.private.kwh.range", "a number, got true"),
        (
            change("range = [0, 50]", "range = [0, 0.0005]"),
            "tables.meters.private.kwh.range",
            "multiples of the resolution",
        ),
        (change("range = [0, 50]\n", ""), "tables.meters.private.kwh.range", r"is missing; .* range = \[0, 50\]"),
        (change("resolution = 0.001", "resolution = 0"), "tables.meters.private.kwh.resolution", "positive, got 0"),
        (change("resolution = 0.001", "resolution = 1e-12"), "tables.meters.private.kwh.resolution", "a coarser one"),
        (
            change("floor = 2.0", "floor = 14.4"),
            "tables.meters.private.kwh.floor",
            r"below 14.29, got 14.4: .* off by 14.43 \(the range over √12\)",
        ),
        (
            change("floor = 2.0", "floor = 0.000001"),
            "tables.meters.private.kwh.floor",
            "hundredth of the resolution 0.001",
        ),
        (change("floor = 2.0", "floor = -1"), "tables.meters.private.kwh.floor", "must be more than 0, got -1"),
        (change("floor = 2.0", "floor = true"), "tables.meters.private.kwh.floor", "must be a number, got true"),
        (change("floor = 2.0", "floor = nan"), "tables.meters.private.kwh.floor", "finite number, got nan"),
        (change("floor = 2.0", "flor = 2.0"), "tables.meters.private.kwh.flor", "did you mean floor?"),
        (change("distance = 5", "distance = 60"), "tables.meters.private.kwh.distance", "wider than the range 50"),
        (change("impute = 0.1\n", ""), "tables.meters.private.kwh.nulls", "needs the constant"),
        (change("impute = 0.1", "impute = 51"), "tables.meters.private.kwh.impute", "must lie in the range"),
        (change("impute = 0.1", "impute = 0.00005"), "tables.meters.private.kwh.impute", "multiple of the resolution"),
        (change('"impute"', '"public"'), "tables.meters.private.kwh.impute", "leave it out"),
        (change('"impute"', '"imputed"'), "tables.meters.private.kwh.nulls", "did you mean impute?"),
        (change("deviation = 8", "deviation = 0"), "tables.meters.private.kwh.prior.deviation", "more than 0"),
        (change('unit = "kWh"', 'unit = "k\\nh"'), "tables.meters.private.kwh.unit", "line breaks"),
        (change('unit = "kWh"', "unit = 3"), "tables.meters.private.kwh.unit", "must be text in quotes, got 3"),
        (change('day = "date"', 'day = "dat"'), "tables.meters.public.day.type", "got 'dat': did you mean date?"),
        (change('day = "date"', "day = 2013-01-01"), "tables.meters.public.day", "table in braces.*got 2013-01-01"),
        (
            change('rooms = "whole"', 'rooms = "number"'),
            "tables.meters.public.rooms.resolution",
            "must be given and positive",
        ),
        (change('rooms = "whole"', 'Day = "whole"'), "tables.meters", "differ only in capital letters: day, Day"),
        (change('rooms = "whole"', 'kwh = "whole"'), "tables.meters", "declares kwh both private and public"),
        (change('rooms = "whole"', '"n-r" = "whole"'), "tables.meters.public", "'n-r'; a name is a letter"),
        (
            change("share = { type", 'x = { type = "text", resolution = 1 }\nshare = { type'),
            "tables.meters.public.x.resolution",
            "'text'",
        ),
        (change('["household", "day"]', '["houshold", "day"]'), "tables.meters.row_key", "'houshold'.*mean household?"),
        (change('["household", "day"]', '["day", "day"]'), "tables.meters.row_key", "names 'day' twice"),
        (change('["household", "day"]', '["kwh"]'), "tables.meters.row_key", "'kwh', which is private"),
        (change('["household", "day"]', "[]"), "tables.meters.row_key", "at least 1 of them"),
        (change('["household", "day"]', '"day"'), "tables.meters.row_key", "must be a list in brackets, got 'day'"),
        (change('account_by = ["day"]', 'account_by = ["tariff"]'), "tables.meters.account_by", "names 'tariff'"),
        (change('column = "household"', 'column = "owner"'), "tables.meters.owner.column", "names 'owner'"),
        (change("floor = 0.2", "floor = 0.5"), "tables.meters.owner.floor", "must be less than 0.5, got 0.5"),
        (change('version = "2013"', "version = 2013"), "tables.meters.version", "must be text in quotes, got 2013"),
        (change('version = "2013"', 'version = ""'), "tables.meters.version", "must not be empty"),
        (change('source = "areas.csv"\n', ""), "tables.areas.source", "is missing"),
        (
            change('row_key = ["area"]', 'row_key = ["area"]\naccount_by = ["area"]'),
            "tables.areas.account_by",
            "has none",
        ),
        (change("[tables.areas]", "[tables.Meters]"), "tables", "capital letters: meters, Meters"),
        (change("[tables.areas]", '[tables."a b"]'), "tables", "'a b'; a name is a letter"),
        (change("[place]", '[place]\nengine = "sparc"'), "place.engine", "did you mean spark?"),
        (change("[place]", "[plaec]"), "plaec", "did you mean place?"),
        (change("[place]", '[place]\nengine = "postgresql"'), "place.snapshots", "must be a URL such as postgresql://"),
        (change("[place]", 'folder = "/"\n[place]'), "folder", "allowed are place, quota, limit, tables"),
        ("tables = 3", "tables", "must be a table in braces"),
        ("", "tables", "is missing"),
        ("tables.meters = 3", "tables.meters", "must be a table in braces"),
    ],
)
def test_a_mistake_is_named_with_its_place(write, text, place, words):
    found, message = problems(write(text))
    assert list(found) == [place]
    assert re.search(words, found[place])
    assert f"errorfloor.toml has 1 mistake:\n  {place}: " in message


def test_all_mistakes_are_listed_at_once_in_the_order_of_the_file(write):
    text = GOOD
    for old, new in [
        ('ledger = "spent.sqlite"', 'ledgre = "spent.sqlite"'),
        ('["household", "day"]', '["household", "dya"]'),
        ('rooms = "whole"', 'rooms = "hole"'),
        ("range = [0, 50]", 'range = "choose"'),
        ("floor = 0.2", "floor = 2"),
        ('row_key = ["area"]', 'row_key = ["are"]'),
    ]:
        assert text.count(old) == 1
        text = text.replace(old, new)
    found, message = problems(write(text))
    assert list(found) == [
        "place.ledgre",
        "tables.meters.row_key",
        "tables.meters.owner.floor",
        "tables.meters.public.rooms.type",
        "tables.meters.private.kwh.range",
        "tables.areas.row_key",
    ]
    assert "has 6 mistakes:" in message
    assert message.count("\n") == 6


def test_a_number_in_quotes_is_refused_and_written_as_it_should_be(write):
    found, _ = problems(write(change("floor = 2.0", 'floor = "500"')))
    assert found == {"tables.meters.private.kwh.floor": "must be a number without quotes, got '500': write floor = 500"}
    found, _ = problems(write(change("floor = 2.0", 'floor = "2 kWh"')))
    assert found == {"tables.meters.private.kwh.floor": "must be a number without quotes, got '2 kWh'"}
    found, _ = problems(write(change("range = [0, 50]", 'range = [0, "1 000"]')))
    assert found["tables.meters.private.kwh.range"].endswith("got '1 000': write 1000")


@pytest.mark.parametrize(
    ("usual", "ours"),
    [("integer", "whole"), ("BIGINT", "whole"), ("varchar", "text"), ("timestamp", "moment"), ("boolean", "flag")],
)
def test_a_type_by_its_name_elsewhere_is_told_by_ours(write, usual, ours):
    found, _ = problems(write(change('rooms = "whole"', f'rooms = "{usual}"')))
    assert found["tables.meters.public.rooms.type"].endswith(f"got '{usual}': did you mean {ours}?")


def test_what_is_left_to_choose_is_named(write):
    text = change("range = [0, 50]", 'range = "choose"').replace("floor = 2.0", 'floor = "choose"')
    found, _ = problems(write(text.replace('row_key = ["household", "day"]', 'row_key = "choose"')))
    assert found["tables.meters.private.kwh.range"].startswith("choose the range of tables.meters.private.kwh, such as")
    assert found["tables.meters.private.kwh.floor"].startswith("choose the floor of tables.meters.private.kwh, such as")
    assert found["tables.meters.row_key"].startswith("choose the row_key of tables.meters, such as")
    assert len(found) == 3


def test_a_password_in_an_address_is_never_quoted(write):
    text = change("[place]", '[place]\nengine = "duckdb"\nsnapshots = "postgresql://me:s3cret@host/db"')
    _, message = problems(write(text))
    assert "s3cret" not in message
    text = change('ledger = "spent.sqlite"', 'ledger = ["postgresql://me:s3cret@host/db"]')
    _, message = problems(write(text))
    assert "s3cret" not in message


def test_a_missing_file_says_how_to_make_one(tmp_path):
    with pytest.raises(CatalogueError, match=r"there is no catalogue .*none.toml: make one with errorfloor init"):
        load(tmp_path / "none.toml")
    (tmp_path / "errorfloor.toml").touch()
    with pytest.raises(CatalogueError, match=r"there is no catalogue .*tml: did you mean .*/errorfloor\.toml\?"):
        load(tmp_path / "errorfloor.tml")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"[tables\n", "is not TOML: .*line 1"),
        (b"a = 1\na = 2\n", "is not TOML: .*line 2"),
        (b"\xff\xfe\x00", "is not text in UTF-8"),
        (b"#" * (2**20 + 1), "is larger than 1 MB"),
        (b"a = " + b"[" * 100_000, "nested too deeply|is not TOML"),
        (b"a = " + b"9" * 5000, "is not TOML"),
    ],
)
def test_a_file_that_is_no_catalogue_is_refused(tmp_path, content, words):
    file = tmp_path / "errorfloor.toml"
    file.write_bytes(content)
    with pytest.raises(CatalogueError, match=words):
        load(file)


def test_a_folder_is_no_catalogue(tmp_path):
    with pytest.raises(CatalogueError, match="cannot read the catalogue"):
        load(tmp_path)


@pytest.mark.parametrize("number", ['"1e999999999"', '"9e-999999999"', '"1/0"', "1" * 400, '"' + "1" * 400 + '"'])
def test_absurd_numbers_cost_nothing(write, number):
    found, message = problems(write(change("range = [0, 50]", f"range = [0, {number}]")))
    assert list(found) == ["tables.meters.private.kwh.range"]
    assert len(message) < 400


VALUES = st.recursive(
    st.booleans() | st.integers() | st.floats() | st.sampled_from(["text", "day", "choose", "", "duckdb", "\x00"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                ["kwh", "day", "range", "floor", "column", "type", "resolution", "private", "prior", "x-y"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)
PLACES = [
    ("place",),
    ("place", "engine"),
    ("tables",),
    ("tables", "meters"),
    *(
        ("tables", "meters", word)
        for word in ("source", "row_key", "account_by", "owner", "public", "private", "extra")
    ),
    ("tables", "meters", "public", "day"),
    ("tables", "meters", "private", "kwh"),
    *(("tables", "meters", "private", "kwh", w) for w in ("range", "resolution", "floor", "unit", "prior", "distance")),
]


@given(st.sampled_from(PLACES), VALUES)
def test_whatever_stands_in_the_file_is_read_or_named(place, value):
    import tomllib
    from unittest import mock

    document = tomllib.loads(GOOD)
    section = document
    for word in place[:-1]:
        section = section[word]
    section[place[-1]] = value
    with mock.patch("errorfloor.catalogue.load._parsed", return_value=document):
        try:
            assert isinstance(load(Path(__file__)), Catalogue)
        except CatalogueError as problem:
            assert all(where and text for where, text in problem.fields["problems"])
            assert all(where.startswith(place[0]) for where, _ in problem.fields["problems"])
