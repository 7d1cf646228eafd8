"""A dry run answers on dummy rows made from the catalogue alone: nothing else is touched, or needs to exist."""

import os
from pathlib import Path

import pytest

import errorfloor as ef
from errorfloor.catalogue import load
from errorfloor.errors import CatalogueError, RefusedError
from errorfloor.service.dummy import dummy_rows
from town import CATALOGUE, OWNER

QUESTIONS = [
    "SELECT tariff, avg(kwh) AS mean FROM meters GROUP BY tariff",
    "SELECT h.class, sum(m.kwh) AS total FROM meters m JOIN homes h ON m.household = h.household GROUP BY h.class",
    "SELECT date_trunc('month', day) AS month, avg(peak) AS peak FROM meters GROUP BY 1",
    "SELECT rooms, count(*) AS n FROM meters WHERE area > 0 GROUP BY rooms",
]


@pytest.fixture
def catalogue(tmp_path):
    file = tmp_path / "errorfloor.toml"
    file.write_text(f"[quota]\nanalyst = 0.1\n{CATALOGUE}{OWNER}")
    return file


@pytest.mark.parametrize("question", QUESTIONS)
def test_questions_are_answered_where_nothing_but_a_catalogue_is(catalogue, question):
    with ef.open(catalogue, dry=True) as database:
        answer = database.ask(question, max_error=0.5, analyst="ada")
        assert answer.to_arrow().num_rows > 1
        assert answer.explain().startswith("dry run: dummy rows")
        assert answer.to_dict()["dry"] is True
        assert answer.affordable
        assert database.price(question, max_error=0.5).explain().startswith("dry run: dummy rows")
        assert "dry run: dummy rows" in repr(answer)
    assert [path.name for path in catalogue.parent.iterdir()] == ["errorfloor.toml"]


def test_nothing_is_ever_charged_however_often_and_exactly_is_asked(catalogue):
    with ef.open(catalogue, dry=True) as database:
        for place in range(3):
            database.ask(QUESTIONS[0], max_error=1e-3 * (1 + place))
        assert database.history() == []
        assert [standing.used for standing in database.left()] == [0.0] * 3


def test_vault_ledger_keys_and_sources_are_not_touched(town, monkeypatch):
    folder = town.catalogue.folder
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    opened = []
    real = os.open

    def watched(path, *arguments, **options):
        opened.append(str(path))
        return real(path, *arguments, **options)

    monkeypatch.setattr(os, "open", watched)
    dry = town.dry()
    assert dry.ask(QUESTIONS[0], max_error=0.5).dry
    assert not [path for path in opened if path.startswith(str(folder))]
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before
    assert town.history() == []
    assert town.dry() is dry
    assert dry.dry() is dry


def test_dummy_rows_do_not_depend_on_the_real_ones(towns):
    low, high = towns("low").dry(), towns("high").dry()
    for question in QUESTIONS:
        assert low.ask(question, max_error=0.5).to_arrow() == high.ask(question, max_error=0.5).to_arrow()


def test_real_answers_are_not_called_dry(town):
    answer = town.ask(QUESTIONS[0], max_error=0.5)
    assert answer.to_dict()["dry"] is False
    assert "dummy" not in answer.explain()


def test_what_is_refused_is_refused_in_a_dry_run_too(catalogue):
    with ef.open(catalogue, dry=True) as database:
        with pytest.raises(RefusedError):
            database.ask("SELECT avg(kwh) FROM meters WHERE kwh > 3", max_error=0.5)
        with pytest.raises(RefusedError):
            database.ask("SELECT max(kwh) FROM meters", max_error=0.5)


def test_dummy_rows_obey_every_declaration(catalogue):
    table = load(catalogue).tables["meters"]
    rows = dummy_rows(table).to_pylist()
    assert len(rows) == 1000
    assert len({tuple(row[name] for name in table.row_key) for row in rows}) == 1000
    for name, column in table.private.items():
        values = [row[name] for row in rows if row[name] is not None]
        assert float(column.low) <= min(values) < max(values) <= float(column.high)
        assert 0 < len(rows) - len(values) < 50


def test_tables_with_few_keys_have_as_few_rows(tmp_path):
    file = tmp_path / "errorfloor.toml"
    file.write_text(
        '[tables.t]\nsource = "t.csv"\nversion = "1"\nrow_key = ["a", "b"]\n'
        'public = { a = "flag", b = "flag", c = "moment", d = { type = "number", resolution = 0.5 } }\n'
        "private.x = { range = [-1, 1], resolution = 1, floor = 0.1 }\n"
    )
    with ef.open(file, dry=True) as database:
        assert database.tables()[0]["rows"] == 4
        assert database.ask("SELECT a, sum(x) AS s FROM t GROUP BY a", max_error=9).to_arrow().num_rows == 2


def test_a_wrong_catalogue_is_named_in_a_dry_run_too(tmp_path):
    with pytest.raises(CatalogueError, match="there is no catalogue"):
        ef.open(tmp_path / "nowhere.toml", dry=True)
    assert list(Path(tmp_path).iterdir()) == []
