"""Questions are saved by name, and seen by whom kept questions are."""

import stat

import httpx
import pytest
from fastapi.testclient import TestClient

from errorfloor.access.token import Terms
from errorfloor.charging.settling import Grant
from errorfloor.server import Role, Settings, TokenFile, create_app
from town import open_town, write_town

JOINED = "SELECT class, avg(kwh) AS by_class FROM meters JOIN homes USING (household) GROUP BY class"
MEAN = {"name": "by tariff", "sql": "SELECT tariff, avg(kwh) AS mean FROM meters GROUP BY tariff", "max_error": 0.5}


@pytest.fixture
def clients(tmp_path):
    write_town(tmp_path / "town")
    tokens = TokenFile(tmp_path / "tokens.json")
    named = {"owner": Role.OWNER, "ada": Role.ANALYST, "ben": Role.ANALYST, "reader": Role.READER}
    secrets = {name: tokens.create(name, role)[1] for name, role in named.items()}
    secrets["narrow owner"] = tokens.create("otto", Role.OWNER, Terms(tables=("meters",)))[1]
    with open_town(tmp_path / "town") as database:
        app = create_app(database, tokens=tokens, settings=Settings())
        with TestClient(app) as client:

            def call(who: str, path: str = "", **body: object) -> httpx.Response:
                headers = {"Authorization": f"Bearer {secrets[who]}"}
                if not body:
                    return client.get(f"/v1/questions{path}", headers=headers)
                return client.post(f"/v1/questions{path}", json=body, headers=headers)

            yield call, database, tmp_path


def names(reply):
    assert reply.status_code == 200, reply.text
    return [one["name"] for one in reply.json()["questions"]]


def test_a_saved_question_is_seen_by_who_saved_it_and_by_owners(clients):
    call, database, folder = clients
    before = [one.spent for one in database.left()]
    (saved,) = call("ada", **MEAN).json()["questions"]
    assert saved == {**MEAN, "tables": ["meters"], "mine": True}
    assert names(call("ben")) == [] == names(call("reader"))
    (seen,) = call("owner").json()["questions"]
    assert (seen["analyst"], seen["mine"], seen["sql"]) == ("ada", False, MEAN["sql"])
    assert [one.spent for one in database.left()] == before  # nothing was charged
    assert stat.S_IMODE((folder / "questions.sqlite").stat().st_mode) == 0o600


def test_a_table_that_shares_its_questions_shares_saved_ones(clients):
    call, database, _ = clients
    call("ada", **MEAN)
    meters = database.catalogue.tables["meters"].model_copy(update={"questions": "shared"})
    shared = database.catalogue.model_copy(update={"tables": {**database.catalogue.tables, "meters": meters}})
    object.__setattr__(database, "catalogue", shared)
    (seen,) = call("ben").json()["questions"]
    assert seen["name"] == "by tariff" and not seen["mine"] and "analyst" not in seen
    refused = call("ben", "/remove", name="by tariff")
    assert refused.status_code == 422 and "there is no saved question 'by tariff' of yours" in refused.text


def test_names_are_ones_own_and_removed_by_their_owner_or_an_owner(clients):
    call, _, _ = clients
    call("ada", **MEAN)
    assert names(call("ben", **{**MEAN, "max_error": 2.0})) == ["by tariff"]
    assert names(call("ada", **{**MEAN, "max_error": 1.0})) == ["by tariff"]  # replaced
    assert len(names(call("owner"))) == 2
    denied = call("ada", "/remove", name="by tariff", analyst="ben")
    assert denied.status_code == 422 and "analyst is for an owner" in denied.text
    assert names(call("owner", "/remove", name="by tariff", analyst="ben")) == ["by tariff"]
    assert names(call("ada", "/remove", name="by tariff")) == []


def test_an_owner_of_some_tables_removes_questions_about_these_only(clients):
    call, _, _ = clients
    call("ada", **MEAN)
    call("ada", name="by class", sql=JOINED, max_error=9.0)
    assert names(call("narrow owner")) == ["by tariff"]
    refused = call("narrow owner", "/remove", name="by class", analyst="ada")
    assert refused.status_code == 422 and "there is no saved question 'by class'" in refused.text
    assert names(call("narrow owner", "/remove", name="by tariff", analyst="ada")) == []
    assert names(call("ada")) == ["by class"]
    call("owner", name="ours", sql=JOINED, max_error=9.0)  # the owners' own are all of theirs
    refused = call("narrow owner", **{**MEAN, "name": "ours"})
    assert refused.status_code == 422 and "choose another name" in refused.text
    assert names(call("narrow owner", **MEAN)) == ["by tariff"] == names(call("narrow owner", **MEAN))
    assert [one["sql"] for one in call("owner").json()["questions"] if one["name"] == "ours"] == [JOINED]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sql": "SELECT max(kwh) FROM meters"}, "one person's value"),
        ({"max_error": -1}, "max_error"),
        ({"name": "a\nb"}, "must not contain line breaks"),
        ({"name": ""}, "name"),
        ({"name": "x" * 81}, "name"),
    ],
)
def test_what_cannot_be_asked_or_named_is_not_saved(clients, change, words):
    call, _, _ = clients
    refused = call("ada", **{**MEAN, **change})
    assert refused.status_code == 422 and words in refused.text
    assert names(call("ada")) == []


def test_saved_questions_outlive_the_server(clients):
    call, database, folder = clients
    call("ada", **MEAN)
    tokens = TokenFile(folder / "tokens.json")
    secret = tokens.create("late", Role.OWNER)[1]
    with TestClient(create_app(database, tokens=tokens, settings=Settings())) as client:
        reply = client.get("/v1/questions", headers={"Authorization": f"Bearer {secret}"})
        assert names(reply) == ["by tariff"]


def test_history_of_one_analyst_is_for_owners_and_for_the_analyst(clients):
    call, database, _ = clients
    database.ask("SELECT avg(kwh) AS a FROM meters", max_error=9.0, analyst="ada")
    database.ask("SELECT avg(peak) AS b FROM meters", max_error=9.0, analyst="ben")
    found = call("owner", "/../ledger/entries?analyst=ada").json()["entries"]
    assert [one["output"] for one in found] == ["a"]
    assert [one["output"] for one in call("ada", "/../ledger/entries?analyst=ada").json()["entries"]] == ["a"]
    refused = call("ada", "/../ledger/entries?analyst=ben")
    assert refused.status_code == 403 and "only an owner may ask for the history of others" in refused.text


def test_history_names_outputs_and_tables_of_questions_that_are_seen(clients):
    call, database, _ = clients
    database.ask("SELECT avg(peak) AS first FROM meters", max_error=9.0, analyst="ben")
    meters = database.catalogue.tables["meters"].model_copy(update={"questions": "shared"})
    shared = database.catalogue.model_copy(update={"tables": {**database.catalogue.tables, "meters": meters}})
    object.__setattr__(database, "catalogue", shared)
    database.ask(JOINED, max_error=9.0, analyst="ada")

    def seen(who):
        found = call(who, "/../ledger/entries").json()["entries"]
        return [(one["output"], one["question"]) for one in found]

    first = ("first", "SELECT avg(peak) AS first FROM meters")
    assert seen("owner") == [first, ("by_class", JOINED)] == seen("ben")
    assert seen("ada") == [(None, None), ("by_class", JOINED)]  # the first was not shared when it was asked
    assert seen("narrow owner") == [first, (None, None)]  # for whom there are no homes
    narrow = database.within(Grant(tables=("meters",)))
    assert [one["question"] for one in narrow.history(analyst="ben")] == [first[1], None]
