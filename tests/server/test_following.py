"""Standing questions over HTTP and through the client: the same figures, for whom they are, and nothing more."""

import pytest

from errorfloor.access.course import Course
from errorfloor.access.token import Terms
from errorfloor.client import connect
from errorfloor.errors import InputError, RefusedError
from errorfloor.server import Role, TokenFile
from errorfloor.service.registering import accept_ledger
from followed_house import HORIZON, SUM, House
from serving import served

MEAN = "SELECT region, avg(kwh) AS mean FROM meters GROUP BY region"
ASKED = {"sql": SUM, **HORIZON}


@pytest.fixture
def house(tmp_path):
    made = House(tmp_path)
    made.register("1", 4)
    return made


@pytest.fixture
def people(house, tmp_path):
    """A server of the house: a call gives a client of the person, and what the database itself says."""
    tokens = TokenFile(tmp_path / "tokens.json")
    named = {"ada": Role.ANALYST, "ben": Role.ANALYST, "rita": Role.READER, "olga": Role.OWNER}
    secrets = {name: tokens.create(name, role)[1] for name, role in named.items()}
    secrets["nina"] = tokens.create("nina", Role.ANALYST, Terms(tables=("others",)))[1]
    with house.open() as database, served(database, tmp_path, tokens=tokens) as server:
        server.tokens |= secrets

        def person(name):
            return server.client(name)

        yield person, database, server


def test_a_question_is_followed_released_extended_and_cancelled(people):
    person, database, _ = people
    ada = person("ada")
    price = ada.post("/v1/following/price", json=ASKED).json()
    assert price["affordable"] and price["max_error"] == price["total_error"] == 400
    assert database.following() == []
    begun = ada.post("/v1/following", json=ASKED).json()
    assert begun["fresh"] and begun["mine"] and begun["rows"] == []
    assert begun["accounts"][0]["charge"] == price["accounts"][0]["charge"]
    name = begun["id"]
    released = ada.post(f"/v1/following/{name}/release", json={"through": "2024-02", "moving": 2}).json()
    local = database.followed(name, analyst="ada")
    assert released["columns"] == local.figures(moving=2).column_names
    assert released["rows"] == [list(row.values()) for row in local.figures(moving=2).to_pylist()]
    assert released["released"] == ["2024-01", "2024-02"]
    assert not ada.post("/v1/following", json=ASKED).json()["fresh"]
    more = {"until": "2026-12", "max_error": 500.0}
    spent = database.ledger.accounts()
    offered = ada.post(f"/v1/following/{name}/extend/price", json=more).json()
    assert (offered["max_error"], offered["total_error"]) == (500, 900)
    assert database.ledger.accounts() == spent
    extended = ada.post(f"/v1/following/{name}/extend", json=more).json()
    assert extended["fresh"] and extended["until"] == "2026-12" and len(extended["blocks"]) == 2
    assert ada.post(f"/v1/following/{name}/cancel", json={}).json()["cancelled"]
    refused = ada.post(f"/v1/following/{name}/release", json={"through": "2024-03"})
    assert refused.status_code == 422 and "was cancelled" in refused.json()["error"]["message"]
    assert ada.get(f"/v1/following/{name}").json()["rows"] == ada.post("/v1/following", json=ASKED).json()["rows"]


def test_others_read_figures_and_neither_words_nor_new_months(people):
    person, _, _ = people
    ada, ben, rita, olga, nina = map(person, ("ada", "ben", "rita", "olga", "nina"))
    name = ada.post("/v1/following", json=ASKED).json()["id"]
    ours = ada.post(f"/v1/following/{name}/release", json={"through": "2024-02"}).json()
    for one in (ben, rita):
        (seen,) = one.get("/v1/following").json()["following"]
        assert seen["released"] == ours["released"] and not seen["mine"]
        hidden = ("question", "output", "unit", "keys", "analyst", "charged")
        assert [seen[word] for word in hidden] == [None] * 6
        reply = one.get(f"/v1/following/{name}", params={"moving": 2})
        figures = reply.json()
        assert figures["columns"][:4] == ["month", "key_1", "value", "value_low"]
        assert [row[2] for row in figures["rows"]] == [row[2] for row in ours["rows"]]
        assert "used" not in reply.text and "region" not in reply.text and "kwh" not in reply.text
    for path, body in (("release", {"through": "2024-03"}), ("extend", {"until": "2026-12"}), ("cancel", {})):
        assert ben.post(f"/v1/following/{name}/{path}", json=body).status_code == 422
        assert rita.post(f"/v1/following/{name}/{path}", json=body).status_code == 403
    assert rita.post("/v1/following", json=ASKED).status_code == 403
    again = ben.post(f"/v1/following/{name}/release", json={"through": "2024-02"}).json()
    assert again["rows"] == ben.get(f"/v1/following/{name}").json()["rows"]
    assert nina.get("/v1/following").json() == {"following": []}
    unknown = nina.get("/v1/following/0").json()["error"]["message"]
    assert nina.get(f"/v1/following/{name}").json()["error"]["message"] == unknown.replace("'0'", f"'{name}'")
    (seen,) = olga.get("/v1/following").json()["following"]
    assert (seen["question"], seen["analyst"], seen["mine"]) == (SUM, "ada", True)
    assert olga.post(f"/v1/following/{name}/release", json={"through": "2024-03"}).status_code == 200


def test_the_client_has_the_same_face(people):
    _, database, server = people
    with connect(server.url, token=server.tokens["ada"]) as remote:
        words = {"since": "2024-01", "until": "2024-03", "max_error": 8.0, "least_rows": 40}
        price, here = remote.follow_price(MEAN, **words), database.follow_price(MEAN, **words, analyst="ada")
        assert price.explain() == here.explain() == repr(price)
        assert price.to_dict() == here.to_dict() and price.affordable
        assert price.standings[0].explain() == here.standings[0].explain() and price.quotas == ()
        there = remote.follow(MEAN, **words)
        beside = database.follow(MEAN, **words, analyst="ada")
        assert there.fresh and there.explain().split("Whatever")[0] == beside.explain().split("Whatever")[0]
        assert there.standings[0].used > 0
        assert there.release("2024-02", moving=2).equals(beside.release("2024-02", moving=2))
        assert there.figures().equals(beside.figures()) and there.table.equals(beside.figures())
        assert there.wider() == beside.wider() != []
        assert there.outputs() == beside.outputs() and there.max_error == beside.max_error
        assert there.to_dict() == beside.to_dict() == remote.following()[0] == database.following("ada")[0]
        offered = there.price_extension("2024-12", max_error=9.0)
        assert "bounds add up to ±17" in offered.explain()
        longer = there.extend("2024-12", max_error=9.0)
        assert longer.fresh and longer.name == there.name and longer.release("2024-04").num_rows == 12
        assert remote.followed(there.name).figures().equals(longer.table)
        longer.cancel()
        assert longer.cancelled and longer.mine and not longer.outlived and "2024-12" in repr(longer)
        assert longer.released == ("2024-01", "2024-02", "2024-03", "2024-04")
        with pytest.raises(RefusedError, match="was cancelled"):
            longer.release("2024-05")
        with pytest.raises(InputError, match="there is no standing question 'x'"):
            remote.followed("x")
        with pytest.raises(InputError, match="least_rows is how many rows"):
            remote.follow(MEAN, **{**words, "least_rows": None})
        with pytest.raises(InputError, match="a dry run has no months to come"):
            remote.dry().follow(MEAN, **words)
        assert remote.dry().following() == []


def test_limits_of_tokens_and_of_one_question_hold(house, tmp_path):
    tokens = TokenFile(tmp_path / "tokens.json")
    narrow = tokens.create("tim", Role.ANALYST, Terms(question=1e-5))[1]
    with (house.folder / "errorfloor.toml").open("a") as file:
        file.write("\n[limit]\nquestion = 0.0001\n")
    with house.open() as database, served(database, tmp_path, tokens=tokens) as server:
        server.tokens["tim"] = narrow
        for who, code in (("tim", 403), ("analyst", 403), ("owner", 403)):
            assert server.client(who).post("/v1/following", json=ASKED).status_code == code
        assert server.client("analyst").post("/v1/following", json={**ASKED, "over_limit": True}).status_code == 403
        assert database.ledger.accounts() == {}
        assert server.client("owner").post("/v1/following", json={**ASKED, "over_limit": True}).status_code == 200


def test_more_figures_than_an_answer_may_have_are_not_shown(house, tmp_path):
    with (house.folder / "errorfloor.toml").open("a") as file:
        file.write("\n[limit]\ncells = 16\n")
    with house.open() as database, served(database, tmp_path) as server:
        client = server.client("analyst")
        name = client.post("/v1/following", json=ASKED).json()["id"]
        assert len(client.post(f"/v1/following/{name}/release", json={"through": "2024-02"}).json()["rows"]) == 4
        refused = client.post(f"/v1/following/{name}/release", json={"through": "2024-04"})
        assert refused.status_code == 422 and "8 are shown here" in refused.json()["error"]["message"]
        assert database.followed(name).released == ("2024-01", "2024-02")  # what is refused releases nothing
        database.followed(name).release("2024-04")
        assert client.get(f"/v1/following/{name}").status_code == 422
        assert client.post(f"/v1/following/{name}/release", json={"through": "2024-04"}).status_code == 422
        again = client.post("/v1/following", json=ASKED).json()
        assert again["rows"] == [] and again["released"][-1] == "2024-04"


def test_the_log_and_the_history_say_what_was_charged(people):
    person, database, server = people
    reply = person("ada").post("/v1/following", json=ASKED)
    line = server.line_of(reply)
    assert line["table"] == "meters" and line["fresh"] == [True] and 0 < line["charges"]["meters.kwh"] < 1
    (entry,) = database.history()
    assert entry["question"] == SUM and entry["analyst"] == "ada" and entry["label"] in line["labels"]
    (entry,) = database.history(analyst="ben")
    assert entry["question"] is None and entry["output"] is None
    assert database.known() == []


def test_a_release_leaves_on_the_grid_and_what_was_released_at_once(people, monkeypatch):
    person, _, _ = people
    ada = person("ada")
    started, honest = [], Course.start
    monkeypatch.setattr(Course, "start", lambda self, cost: (started.append(cost), honest(self, cost)))
    name = ada.post("/v1/following", json=ASKED).json()["id"]
    assert started == []
    for path in ("2024-01", "2024-03", "2024-03"):
        assert ada.post(f"/v1/following/{name}/release", json={"through": path}).status_code == 200
    assert len(started) == 2 and started[1] == pytest.approx(2 * started[0], rel=0.5)  # one month, then two, then none


def test_after_an_acceptance_a_server_releases_nothing_new(people, house):
    person, database, _ = people
    ada = person("ada")
    name = ada.post("/v1/following", json=ASKED).json()["id"]
    first = ada.post(f"/v1/following/{name}/release", json={"through": "2024-01"}).json()
    (house.folder / "ledger.anchor").unlink()
    accept_ledger(database.catalogue)
    refused = ada.post(f"/v1/following/{name}/release", json={"through": "2024-02"})
    assert refused.status_code == 422 and "was accepted since" in refused.json()["error"]["message"]
    assert ada.get(f"/v1/following/{name}").json()["rows"] == first["rows"]
    assert ada.get("/v1/following").json()["following"][0]["outlived"]
