"""How a table is declared to grow."""

import datetime

import pytest

from errorfloor.catalogue import load
from errorfloor.catalogue.growth import Growth
from errorfloor.errors import CatalogueError
from monthly import MONTHLY, write_catalogue


@pytest.mark.parametrize("part", ["day", "week", "month", "quarter", "year"])
def test_every_day_lies_in_the_part_that_is_named_after_it(part):
    growth = Growth(column="day", part=part)
    day, end = datetime.date(2019, 12, 25), datetime.date(2025, 1, 10)
    while day < end:
        first, last = growth.days(growth.name(day))
        assert first <= day <= last
        assert growth.name(first) == growth.name(last) == growth.name(day)
        assert growth.name(last + datetime.timedelta(days=1)) != growth.name(day)
        day += datetime.timedelta(days=1)


@pytest.mark.parametrize(
    ("growth", "said"),
    [
        ('{ column = "dya", part = "month" }', "grows_by.column: names 'dya', which is not among the public columns"),
        ('{ column = "kwh" }', "grows_by.column: names 'kwh', which is private"),
        ('{ column = "day" }', 'grows_by: needs a part, since day is a date: part = "month", or another of day, week'),
        ('{ column = "day", part = "hour" }', "grows_by.part"),
        ('{ column = "home", part = "month" }', "grows_by.part: is for dates, and home is declared 'text'"),
        (
            '{ column = "batch" }',
            "grows_by: needs its column in the row key, so that no row is in two parts: add 'batch'",
        ),
        (
            '{ column = "day", part = "month", corrected = { "2024-13" = "2" } }',
            "grows_by.corrected: names '2024-13', which is not a month: write it as '2024-01'",
        ),
        ('{ column = "day", part = "month", colunm = 1 }', "grows_by.colunm: is not a word allowed here"),
    ],
)
def test_mistakes_are_told_with_what_to_write(tmp_path, growth, said):
    with pytest.raises(CatalogueError) as refused:
        write_catalogue(tmp_path, growth)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("floor = 0.2 }", 'floor = 0.2, per = { column = "day", period = "month" } }', "account_by or owner.per yet"),
        ("private.kwh", "# private.kwh", "is for tables with private columns"),
    ],
)
def test_what_does_not_go_together_is_refused(tmp_path, old, new, said):
    write_catalogue(tmp_path, MONTHLY)
    file = tmp_path / "errorfloor.toml"
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(CatalogueError, match=said):
        load(file)
