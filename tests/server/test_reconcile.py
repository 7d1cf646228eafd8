"""Numbers that agree with other answers, over HTTP: free, and of nobody else's questions."""

import io

import pytest
from pyarrow import csv

import errorfloor as ef
from errorfloor.access.replies import ARROW, CSV
from errorfloor.access.token import Terms
from errorfloor.engines.allotment import Allotment
from errorfloor.errors import EngineError, InputError
from errorfloor.server import Role, TokenFile
from errorfloor.service import open_database
from serving import served, write_pay

TOTAL = {"sql": "SELECT sum(wage) AS s FROM pay", "max_error": 5e8}
TEAMS = {"sql": "SELECT team, sum(wage) AS s FROM pay GROUP BY team ORDER BY team", "max_error": 2e9}
AGES = {"sql": "SELECT age, sum(wage) AS s FROM pay GROUP BY age", "max_error": 4e9}


@pytest.fixture
def serving(tmp_path):
    """A server of wages, and a client for anna, for bob, and for one who may not ask that table."""
    tokens = TokenFile(None)
    texts = {name: tokens.create(name, Role.ANALYST)[1] for name in ("anna", "bob")}
    texts["carl"] = tokens.create("carl", Role.ANALYST, terms=Terms(tables=("bonus",)))[1]
    with (
        open_database(write_pay(tmp_path, floor=1.0)) as database,
        served(database, tmp_path, tokens=tokens) as server,
    ):
        server.tokens.update(texts)
        yield database, server, {name: server.client(name) for name in texts}


def test_reconciled_numbers_are_those_of_the_database_and_free(serving):
    database, server, clients = serving
    anna = clients["anna"]
    for question in (TOTAL, TEAMS):
        assert anna.post("/v1/ask", json=question).status_code == 200
    before = [standing.spent for standing in database.left()]
    reply = anna.post("/v1/reconcile", json=TEAMS)
    local = database.ask(TEAMS["sql"], max_error=2e9, analyst="anna").reconciled()
    assert reply.json() == {"columns": local.column_names, "rows": [list(row.values()) for row in local.to_pylist()]}
    total = anna.post("/v1/reconcile", json=TOTAL).json()["rows"][0]
    assert sum(row[1] for row in reply.json()["rows"]) == pytest.approx(total[0], rel=1e-9)
    text = anna.post("/v1/reconcile", json=TEAMS, headers={"Accept": CSV}).content
    assert csv.read_csv(io.BytesIO(text)).column("s").to_pylist() == local.column("s").to_pylist()
    assert anna.post("/v1/reconcile", json=TEAMS, headers={"Accept": ARROW}).headers["content-type"] == ARROW
    with ef.connect(server.url, token=server.tokens["anna"]) as remote:
        there = remote.ask(TEAMS["sql"], max_error=2e9)
        assert there.reconciled().equals(local) and not there.to_arrow().equals(local)
        with pytest.raises(InputError, match="agree already"):
            remote.ask(TEAMS["sql"].replace("BY team ", "BY ROLLUP (team) "), max_error=5e9).reconciled()
    assert [standing.spent for standing in database.left()] != before  # the totals just asked, and nothing else
    assert (
        clients["carl"].post("/v1/reconcile", json=TEAMS).json() == clients["carl"].post("/v1/ask", json=TEAMS).json()
    )


def test_what_was_not_charged_is_refused_and_not_charged(serving):
    database, _, clients = serving
    reply = clients["anna"].post("/v1/reconcile", json=TOTAL)
    assert reply.status_code == 403 and reply.json()["error"]["code"] == "allowance"
    assert not any(standing.used for standing in database.left())


def test_the_questions_of_others_change_nothing_that_is_seen(serving):
    """Status, body and size of every reply are the same whether bob asked, and whatever."""
    _, server, clients = serving
    anna, bob = clients["anna"], clients["bob"]
    anna.post("/v1/ask", json=TEAMS)

    def seen():
        said = [anna.post("/v1/reconcile", json=one) for one in (TEAMS, TOTAL, AGES)]
        return [(one.status_code, one.content) for one in said]

    first = seen()
    bob.post("/v1/ask", json=TOTAL)
    bob.post("/v1/ask", json=AGES | {"max_error": 5e9})  # hers would follow from a narrower one
    mine, total, ages = seen()
    assert (mine, ages) == (first[0], first[2])
    assert total[0] == 200 and first[1][0] == 403, "a number that was released may be asked for again by everybody"
    assert total[1] == anna.post("/v1/reconcile", json=TOTAL).content
    own = bob.post("/v1/ask", json=TEAMS).json()  # free, and bob's total is his own
    assert own["fresh"] == [False]
    assert bob.post("/v1/reconcile", json=TEAMS).json()["rows"] != own["rows"]
    all_of_it = server.client("owner").post("/v1/reconcile", json=TEAMS).json()["rows"]
    assert all_of_it != anna.post("/v1/reconcile", json=TEAMS).json()["rows"]


def test_too_much_to_reconcile_is_refused_with_advice(serving, monkeypatch):
    _, _, clients = serving
    anna = clients["anna"]
    anna.post("/v1/ask", json=TEAMS)
    anna.post("/v1/ask", json=TOTAL)
    monkeypatch.setattr("errorfloor.answering.reconciling.MOST_CELLS", 3)
    reply = anna.post("/v1/reconcile", json=TEAMS)
    assert reply.status_code == 422 and "at most 3 are" in reply.json()["error"]["message"]


def test_it_stops_where_nobody_waits(serving, monkeypatch):
    database, _, clients = serving
    clients["anna"].post("/v1/ask", json=TEAMS)
    clients["anna"].post("/v1/ask", json=TOTAL)
    answer = database.ask(TEAMS["sql"], max_error=2e9, charge=False)
    stopped = Allotment()
    stopped.stop()
    monkeypatch.setattr("errorfloor.answering.reconciling.allotment", lambda: stopped)
    with pytest.raises(EngineError, match="nobody is waiting"):
        answer.reconciled()
