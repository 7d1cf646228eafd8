"""Each route gives what the database gives, to whom it may."""

import asyncio
import io
import json
import os
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import errorfloor as ef
from errorfloor.access.replies import ARROW, CSV, METADATA, PARQUET, ROWS, as_table
from errorfloor.service import open_database
from serving import PEOPLE, served
from twins import TWINS, write_twins

MEAN = {"sql": "SELECT team, avg(wage) AS mean FROM pay GROUP BY team", "max_error": 2e6}


def test_health_needs_no_token_and_reads_nothing(server):
    reply = server.client(None).get("/healthz")
    assert reply.status_code == 200
    assert reply.json() == {"status": "ok", "version": ef.__version__, "process": os.getpid()}


def test_tables_are_what_is_declared(reader, database):
    assert reader.get("/v1/tables").json() == {"tables": database.tables()}
    one = reader.get("/v1/tables/pay").json()
    assert one == database.tables()[0]
    assert one["rows"] == PEOPLE
    missing = reader.get("/v1/tables/%00päy")
    assert missing.status_code == 404
    assert missing.json()["error"]["code"] == "not-found"


def test_price_is_the_price_and_charges_nothing(reader, database):
    before = [standing.spent for standing in database.left()]
    reply = reader.post("/v1/price", json=MEAN)
    local = database.price(MEAN["sql"], max_error=2e6)
    assert reply.status_code == 200
    assert reply.json()["explain"] == local.explain()
    assert reply.json()["max_error"] == local.max_error
    assert [standing.spent for standing in database.left()] == before


def test_answer_is_charged_once_and_stays_the_same(analyst, owner, database):
    question = {"sql": "SELECT avg(wage) AS mean FROM pay WHERE age > 40", "max_error": 3e6}
    first = analyst.post("/v1/ask", json=question)
    spent = [standing.spent for standing in database.left()]
    again = owner.post("/v1/ask", json=question | {"sql": "select AVG(wage) as mean from pay where 40 < age"})
    assert first.status_code == again.status_code == 200
    assert first.json()["fresh"] == [True]
    assert again.json()["fresh"] == [False]
    assert first.json()["rows"] == again.json()["rows"]
    assert [standing.spent for standing in database.left()] == spent
    local = database.ask(question["sql"], max_error=3e6)
    assert local.to_arrow().to_pylist()[0]["mean"] == first.json()["rows"][0][0]


def test_arrow_has_the_same_table_and_the_same_facts_as_json(analyst):
    question = {"sql": "SELECT hired, avg(wage) AS mean, count(*) AS n FROM pay GROUP BY hired", "max_error": 5e7}
    as_json = analyst.post("/v1/ask", json=question).json()
    reply = analyst.post("/v1/ask", json=question, headers={"Accept": ARROW})
    assert reply.headers["content-type"] == ARROW
    table = pa.ipc.open_stream(reply.content).read_all()
    facts = json.loads(table.schema.metadata[b"errorfloor"])
    assert table.column_names == as_json["columns"]
    assert table.schema.field("hired").type == pa.date32()
    rows = [[value.isoformat() if hasattr(value, "isoformat") else value for value in row] for row in rows_of(table)]
    assert rows == as_json["rows"]
    assert len(rows) == 40
    for name in ("outputs", "floor", "max_error", "cells", "affordable"):
        assert facts[name] == as_json[name]


@pytest.mark.parametrize("form", [ARROW, PARQUET, CSV])
def test_a_large_table_is_written_while_it_is_sent(form):
    count = 2 * ROWS + 1
    names = pa.array(["a", None, "c"]).dictionary_encode().take(pa.array(np.arange(count) % 3))
    table = pa.table({"number": np.arange(count), "name": names})
    reply = as_table(table, form, b'{"said": 1}')
    parts = asyncio.run(all_of(reply.body_iterator))
    assert len(parts) >= 3 and max(map(len, parts)) < 0.6 * sum(map(len, parts))
    read = {ARROW: lambda file: pa.ipc.open_stream(file).read_all(), PARQUET: pq.read_table, CSV: csv.read_csv}[form]
    found = read(io.BytesIO(b"".join(parts)))
    assert found["number"].equals(table["number"])
    assert found["name"].to_pylist() == ["" if one is None and form == CSV else one for one in names.to_pylist()]
    assert form == CSV or found.schema.metadata[METADATA] == b'{"said": 1}'


async def all_of(pieces):
    return [piece async for piece in pieces]


def test_parquet_and_csv_have_the_same_table(analyst):
    question = {"sql": "SELECT hired, avg(wage) AS mean, count(*) AS n FROM pay GROUP BY hired", "max_error": 5e7}
    arrow = analyst.post("/v1/ask", json=question, headers={"Accept": ARROW})
    table = pa.ipc.open_stream(arrow.content).read_all()
    parquet = analyst.post("/v1/ask", json=question, headers={"Accept": "application/vnd.apache.parquet"})
    assert pq.read_table(io.BytesIO(parquet.content)).equals(table)
    text = analyst.post("/v1/ask", json=question, headers={"Accept": "text/csv"})
    assert text.headers["content-type"].startswith("text/csv")
    assert csv.read_csv(io.BytesIO(text.content)).to_pylist() == table.to_pylist()


def test_names_in_csv_begin_no_formula(analyst):
    question = {"sql": 'SELECT avg(wage) AS "=HYPERLINK(1)", count(*) AS "@n" FROM pay', "max_error": 5e7}
    text = analyst.post("/v1/ask", json=question, headers={"Accept": "text/csv"}).text
    head = ["'=HYPERLINK(1)", "'=HYPERLINK(1)_low", "'=HYPERLINK(1)_high", "'@n"]
    assert text.partition("\n")[0].split(",") == [f'"{name}"' for name in head]


def rows_of(table):
    return [list(row.values()) for row in table.to_pylist()]


def test_reader_gets_what_was_released_and_cannot_spend(reader, analyst, database):
    question = {"sql": "SELECT avg(wage) AS mean FROM pay WHERE age < 33", "max_error": 3e6}
    spent = [standing.spent for standing in database.left()]
    refused = reader.post("/v1/ask", json=question)
    assert refused.status_code == 403
    assert refused.json()["error"]["code"] == "allowance"
    assert [standing.spent for standing in database.left()] == spent
    released = analyst.post("/v1/ask", json=question).json()
    assert reader.post("/v1/ask", json=question).json()["rows"] == released["rows"]
    cautious = analyst.post("/v1/ask", json=question | {"max_error": 2.5e6, "charge": False})
    assert cautious.status_code == 403


def test_too_tight_a_bound_is_refused_with_advice_and_uncharged(analyst, database):
    spent = [standing.spent for standing in database.left()]
    refused = analyst.post(
        "/v1/ask", json={"sql": "SELECT person, sum(wage) AS s FROM pay GROUP BY person", "max_error": 1}
    )
    problem = refused.json()["error"]
    assert (refused.status_code, problem["code"]) == (403, "allowance")
    assert "its declared floor is 10 EUR" in problem["message"]
    assert [standing.spent for standing in database.left()] == spent


def test_refused_question_says_why(analyst):
    refused = analyst.post("/v1/price", json={"sql": "SELECT max(wage) FROM pay", "max_error": 1e6})
    problem = refused.json()["error"]
    assert (refused.status_code, problem["code"], problem["fields"]["reason"]) == (422, "refused", "aggregate")


def test_dry_answers_are_free_and_say_so(reader, database):
    before = database.history(limit=1000)
    dry = reader.post("/v1/ask", json=MEAN | {"dry": True, "max_error": 7e6}).json()
    assert dry["dry"] is True
    assert dry["explain"].startswith("dry run: dummy rows")
    assert reader.post("/v1/price", json=MEAN | {"dry": True}).json()["dry"] is True
    assert reader.get("/v1/ledger?dry=true").json()["accounts"][0]["used"] == 0
    assert database.history(limit=1000) == before


def test_simulation_says_what_can_still_be_asked(reader, database):
    reply = reader.post("/v1/simulate", json={"sql": MEAN["sql"], "spend": 0.1}).json()
    local = database.simulate(MEAN["sql"], spend=0.1, analyst="reader-1")
    assert reply["explain"] == local.explain()
    assert reply["answers"] == local.answers
    assert 5 <= reply["answers"] <= 10


def test_plan_says_what_questions_take_together_and_charges_nothing(reader, database):
    before = database.history(limit=1000)
    wanted = {"questions": [MEAN | {"name": "by team"}], "candidates": {"pay": {"wage": [5.0]}}}
    reply = reader.post("/v1/plan", json=wanted).json()
    local = database.plan(wanted["questions"], wanted["candidates"], analyst="reader-1")
    assert reply["explain"] == local.explain()
    assert reply["questions"][0]["takes"] == local.course.takes[0]
    assert [one["floor"] for one in reply["accounts"][0]["candidates"]] == [10.0, 5.0]
    assert database.history(limit=1000) == before


def test_a_plan_of_too_many_prices_is_refused(reader):
    wanted = {"questions": [MEAN] * 100, "candidates": {"pay": {"wage": [5.0] * 9}}}
    refused = reader.post("/v1/plan", json=wanted)
    assert refused.status_code == 422
    assert "takes 1,200 prices, and 1,000 are allowed" in refused.json()["error"]["message"]


def test_ledger_shows_accounts_and_pages_of_history(analyst, owner, database):
    for age in (50, 51, 52):
        asked = {"sql": f"SELECT avg(wage) AS mean FROM pay WHERE age <> {age}", "max_error": 4e6}
        assert analyst.post("/v1/ask", json=asked).status_code == 200
    accounts = owner.get("/v1/ledger").json()["accounts"]
    assert [account["name"] for account in accounts] == ["pay.wage"]
    assert accounts[0]["used"] == database.left()[0].used
    after, seen = 0, []
    while after is not None:
        page = owner.get("/v1/ledger/entries", params={"after": after, "limit": 2}).json()
        seen += page["entries"]
        after = page["next"]
    assert seen == database.history(limit=1000)
    assert len(seen) >= 3
    others = analyst.get("/v1/ledger/entries", params={"limit": 1000}).json()["entries"]
    assert [entry["sequence"] for entry in others] == [entry["sequence"] for entry in seen]
    assert not {"label", "analyst", "charges", "hash"} & set(others[0])
    assert others[-1]["question"] == asked["sql"]
    known = owner.get("/v1/ledger/known", params={"limit": 1000}).json()
    assert known == {"answers": database.known(limit=1000), "next": None}
    assert known["answers"][-1]["question"] == asked["sql"]
    again = analyst.post("/v1/ask", json={**asked, "charge": False}).json()
    assert again["fresh"] == [False]


def test_accounts_come_in_pages(reader, database, monkeypatch):
    (one,) = database.left()
    cells = [replace(one, account=replace(one.account, cell=f'["{cell}"]')) for cell in "abc"]
    monkeypatch.setattr(type(database), "left", lambda _: cells)
    whole = reader.get("/v1/ledger").json()
    assert whole["next"] is None
    seen, after = [], 0
    while after is not None:
        page = reader.get("/v1/ledger", params={"after": after, "limit": 2}).json()
        assert 1 <= len(page["accounts"]) <= 2
        seen += page["accounts"]
        after = page["next"]
    assert seen == whole["accounts"]
    assert len(seen) == 3


def test_designs_are_those_of_the_library(reader):
    wanted = {"support": {"kind": "Interval", "low": -0.5, "high": 0.5}, "sensitivity": 0.2, "distances": [0.1]}
    found = reader.post("/v1/designs", json=wanted).json()
    noise = ef.design(ef.Interval(-0.5, 0.5))
    assert ef.noise.from_dict(found["noise"]) == noise
    assert found["information"] == noise.information.tolist()
    assert found["floors"][0]["told_apart"] == ef.floor(noise, [[1.0]]).distinguish(0.1)
    epsilon = found["delta_curve"]["epsilon"]
    assert found["delta_curve"]["delta"] == ef.dp.delta(noise, 0.2, epsilon).tolist()
    density = found["density"]
    steps = np.diff(density["points"])
    mass = float(np.sum(steps * (np.array(density["values"])[1:] + density["values"][:-1]) / 2))
    assert mass == pytest.approx(1.0, abs=1e-3)
    assert [one["name"] for one in found["compare"]] == ["Gaussian", "Laplace", "TruncatedLaplace"]
    for one in found["compare"]:
        assert one["standard_error"] == pytest.approx(found["standard_error"], rel=1e-9)
    assert found["compare"][2]["information"] == "infinite"
    assert found["compare"][2]["max_error"] == found["max_error"] == [0.5]
    plane = reader.post(
        "/v1/designs", json={"support": {"kind": "Reals", "dimension": 2}, "max_loss": 1.0, "correlation": 0.5}
    )
    best = ef.design(ef.Reals(2), sensitivity=[[1, 0.5], [0.5, 1]], max_loss=1.0)
    assert plane.json()["information"] == best.information.tolist()


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        ({"support": {"kind": "Interval", "low": 1, "high": 0}}, "support"),
        ({"support": {"kind": "Reals", "dimension": 1}}, "ill-posed"),
        ({"support": {"kind": "Ball", "dimension": 3, "radius": 1}}, "input"),
        ({"support": {"kind": "Blob"}}, "input"),
        ({"support": {"kind": "Interval", "low": -1e308, "high": 1e308}}, "support"),
    ],
)
def test_impossible_designs_are_refused_in_words(reader, wanted, code):
    refused = reader.post("/v1/designs", json=wanted)
    assert refused.status_code == 422
    assert refused.json()["error"]["code"] == code


def test_metrics_count_requests_refusals_and_shares(server, analyst, reader, database):
    analyst.post("/v1/ask", json=MEAN)
    reader.get("/v1/tables")
    reader.get("/nowhere")
    text = reader.get("/metrics").text
    assert 'errorfloor_http_requests_total{method="POST",route="/v1/ask",status="200"}' in text
    assert 'errorfloor_refusals_total{code="not-found"}' in text
    assert 'errorfloor_http_request_duration_seconds_count{route="/v1/tables"}' in text
    assert 'errorfloor_http_request_duration_seconds_count{route="/v1/ask"}' in text  # a time on the grid: test_grid.py
    assert f'errorfloor_allowance_used_ratio{{account="pay.wage"}} {database.left()[0].used!r}' in text


def test_audit_log_has_a_line_a_request_and_no_number_of_an_answer(server, analyst):
    question = {"sql": "SELECT avg(wage) AS mean FROM pay WHERE age >= 21", "max_error": 2e6}
    reply = analyst.post("/v1/ask", json=question)
    line = server.line_of(reply)
    assert (line["who"], line["role"], line["route"], line["code"]) == ("analyst-1", "analyst", "/v1/ask", "done")
    assert line["fresh"] == [True]
    assert len(line["labels"][0]) == 64
    assert list(line["charges"]) == ["pay.wage"]
    assert "seconds" not in line
    text = server.audit.read_text()
    assert str(reply.json()["rows"][0][0]) not in text
    assert "SELECT" not in text
    assert not any(token in text for token in server.tokens.values())
    assert server.audit.stat().st_mode & 0o077 == 0


def test_a_table_that_is_declared_otherwise_has_no_shares_and_hides_no_others(tmp_path):
    path = write_twins(tmp_path / "here")
    with open_database(path) as database:
        for name in TWINS:
            database.ask(f"SELECT sum(kwh) FROM {name}", max_error=500)
    path.write_text(path.read_text().replace("floor = 1.0", "floor = 0.5", 1))
    with open_database(path) as database, served(database, tmp_path) as here, here.client("reader") as client:
        reply = client.get("/v1/ledger")
        assert (reply.status_code, reply.json()["error"]["code"]) == (422, "catalogue")
        assert "the floor of twin_a.kwh was 1 when it was charged" in reply.json()["error"]["message"]
        shares = [line for line in client.get("/metrics").text.splitlines() if "used_ratio{" in line]
        assert [line.split('"')[1] for line in shares] == ["twin_b.kwh"]
