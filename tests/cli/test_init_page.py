"""``errorfloor init --page``: the proposals, checks and catalogue of the terminal, on a page for one visitor."""

import re
from html import unescape

import pytest
from fastapi.testclient import TestClient
from typer.testing import CliRunner

import errorfloor.cli.init  # noqa: F401  (adds its command)
from errorfloor.catalogue import Schema, draft, load
from errorfloor.cli.app import app
from errorfloor.cli.form import proposed, read
from errorfloor.cli.page import DeclaringPage
from errorfloor.errors import InputError

SCHEMA = Schema(
    "pay.csv", {"nr": "whole", "site": "text", "pay": "number", "blob": None}, unique=frozenset({"nr", "pay"})
)
PAY = {"role": "private", "low": "0", "high": "5000", "resolution": "0.01", "unit": "EUR"}
WHOLE = {
    "t0-c0-role": "public",
    "t0-c0-key": "on",
    "t0-c1-role": "public",
    **{f"t0-c2-{word}": text for word, text in PAY.items()},
}


@pytest.fixture
def page(tmp_path):
    def write(text):
        (tmp_path / "errorfloor.toml").write_text(text)
        return [("Register the table.", "errorfloor register")]

    return DeclaringPage([SCHEMA], "errorfloor.toml", draft, write)


@pytest.fixture
def visitor(page):
    with TestClient(page.app, base_url="http://127.0.0.1") as client:
        yield client


def test_names_and_types_propose_what_each_column_is():
    (table,) = proposed([SCHEMA])
    assert {one.name: one.filled["role"] for one in table.columns} == {
        "nr": "public",
        "site": "public",
        "pay": "private",
    }
    assert [one.name for one in table.columns if one.filled["key"]] == ["nr"]
    pay = table.columns[-1].filled
    assert (pay["resolution"], pay["unit"], pay.get("low"), pay.get("high")) == ("0.01", "EUR", None, None)
    assert table.left_out == ("blob",) and not table.numbered


def test_a_filled_form_gives_what_flags_give():
    filled = read([SCHEMA], WHOLE)
    assert filled.is_whole
    (schema,) = filled.schemas
    assert schema.chosen.row_key == ("nr",) and schema.chosen.public == ("nr", "site")
    assert schema.chosen.private == {"pay": {"range": [0, 5000], "resolution": 0.01, "floor": 250, "unit": "EUR"}}
    assert "any estimate of one pay is off by at least 250 EUR" in filled.promises[0]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"t0-c2-low": ""}, "pay: fill in the least value possible, from what is known about such data"),
        ({"t0-c2-high": "much"}, "a number is needed, such as 0.01; got 'much'"),
        ({"t0-c2-high": "-1"}, "the range must rise, and 0 … -1 does not"),
        ({"t0-c2-floor": "9000"}, "must stay below"),
        ({"t0-c0-key": ""}, "choose the public columns that together identify a row, or number the rows"),
        ({"t0-c0-role": "left out"}, "nr is part of the row key, so it must be public"),
        ({"t0-number": "on"}, "either columns identify a row, or its number does"),
    ],
)
def test_a_mistake_is_said_beside_its_field(change, said):
    filled = read([SCHEMA], WHOLE | change)
    (table,) = filled.tables
    assert not filled.is_whole
    assert said in " ".join([table.problem, *(one.problem for one in table.columns)])


def test_text_cannot_be_made_private_by_a_forged_form():
    (table,) = read([SCHEMA], WHOLE | {"t0-c1-role": "private"}).tables
    assert table.columns[1].filled["role"] == "left out"


def test_an_address_works_once_and_leads_to_another(page, visitor):
    way_in = page.way_in
    assert visitor.get("/?token=guess").status_code == 403
    first = visitor.get(way_in, follow_redirects=False)
    assert first.status_code == 303
    for wrong in ("/", "/?token=None", way_in):
        assert visitor.get(wrong).status_code == 403
    assert visitor.get(first.headers["location"]).status_code == 200
    assert visitor.get("/" + "a" * 32).status_code == 404


def test_what_is_written_is_what_was_checked(page, visitor, tmp_path):
    here = visitor.get(page.way_in).request.url.path
    shown = visitor.get(here)
    assert "unsafe" not in shown.headers["content-security-policy"]
    assert (shown.headers["referrer-policy"], shown.headers["cache-control"]) == ("no-referrer", "no-store")
    assert visitor.post(f"{here}/write", data={"text": "anything"}).status_code == 409
    mistaken = visitor.post(here, data=WHOLE | {"t0-c2-high": ""})
    assert mistaken.status_code == 422 and "fill in the greatest value possible" in mistaken.text
    checked = visitor.post(here, data=WHOLE)
    text = unescape(re.search(r"<textarea[^>]*>\n(.*)</textarea>", checked.text, re.S).group(1))
    assert visitor.post(f"{here}/write", data={"text": text + "#"}).status_code == 409
    assert not (tmp_path / "errorfloor.toml").exists()
    stopped = []
    page.stop = lambda: stopped.append(True)
    done = visitor.post(f"{here}/write", data={"text": text.replace("\n", "\r\n")})  # as browsers send it
    assert done.status_code == 200 and "errorfloor register" in done.text
    assert stopped == [True]
    table = load(tmp_path / "errorfloor.toml").tables["pay"]
    assert (table.row_key, table.private["pay"].floor) == (("nr",), 250.0)
    assert visitor.post(f"{here}/write", data={"text": text}).status_code == 409


def test_a_catalogue_that_cannot_be_written_is_said(visitor, page, monkeypatch):
    def refused(_):
        raise InputError("errorfloor.toml exists already")

    monkeypatch.setattr(page, "_write", refused)
    here = visitor.get(page.way_in).request.url.path
    checked = visitor.post(here, data=WHOLE)
    text = unescape(re.search(r"<textarea[^>]*>\n(.*)</textarea>", checked.text, re.S).group(1))
    said = visitor.post(f"{here}/write", data={"text": text})
    assert said.status_code == 409 and "exists already" in said.text


def test_hostile_names_stay_text(visitor, tmp_path):
    hostile = Schema("<b>.csv", {"<script>alert(1)</script>": "number", "id": "whole"}, unique=frozenset({"id"}))
    page = DeclaringPage([hostile], "errorfloor.toml", draft, lambda _: [])
    with TestClient(page.app) as client:
        shown = client.get(page.way_in).text
    assert "<script>alert" not in shown and "<b>.csv" not in shown
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ([], "so it needs a terminal"),
        (["--ask"], "--page needs a --source"),
        (["--json"], "--page needs a --source"),
        (["--row-key", "nr"], "not with --ask or --page"),
    ],
)
def test_a_page_is_refused_where_it_makes_no_sense(tmp_path, monkeypatch, more, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pay.csv").write_text("nr,pay\n1,48151.623\n2,7\n")
    shown = CliRunner().invoke(app, ["init", "--source", "pay.csv", "--page", *more])
    assert isinstance(shown.exception, InputError) and said in str(shown.exception)
    assert not (tmp_path / "errorfloor.toml").exists()
