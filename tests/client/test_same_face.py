"""A server gives through the client what the database gives beside it."""

import inspect
import json
import math

import numpy as np
import pytest

import errorfloor as ef
from errorfloor.client import RemoteDatabase, RemoteError, connect
from errorfloor.client.following import RemoteFollowing
from errorfloor.errors import AllowanceError, InputError, RefusedError
from errorfloor.service import Database, open_database
from serving import served, write_pay

QUESTIONS = [
    ("SELECT team, avg(wage) AS mean FROM pay GROUP BY team", {"max_error": 2e6}),
    (
        "SELECT hired, avg(wage) AS mean, count(*) AS n FROM pay GROUP BY hired ORDER BY mean LIMIT 3",
        {"max_error": 1e8},
    ),
    ("SELECT sum(wage) AS total, avg(wage) AS mean FROM pay", {"max_error": {"total": 1e9, "mean": 1e7}}),
    ("SELECT avg(wage) AS mean FROM pay", {"spend": 0.01}),
    ("SELECT age, avg(wage) AS mean FROM pay GROUP BY age", {"spend": 0.01}),  # each cell its own bound
    ("SELECT avg(wage) AS mean FROM pay WHERE age > 30", {"support": ef.Interval(0.0, 5e6)}),
    ("SELECT avg(wage) AS mean FROM pay WHERE age > 31", {"support": ef.HalfLine(0.0), "max_loss": 1e14}),
    ("SELECT team, median(wage) AS middle, count(*) AS n FROM pay GROUP BY team", {"max_error": 1e8}),
    ("SELECT age, count(*) AS n FROM pay GROUP BY age", {"max_error": 1.0}),
    ("SELECT team, avg(wage) AS mean FROM pay WHERE age > 1000 GROUP BY team", {"max_error": 2e6}),
]


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pay")
    catalogue = write_pay(folder, floor=10.0, quota="[quota]\nanalyst = 0.5\n")
    with (
        open_database(catalogue) as local,
        served(local, folder) as server,
        connect(server.url, token=server.tokens["analyst"]) as remote,
    ):
        yield local, remote, server


@pytest.mark.parametrize(("sql", "wish"), QUESTIONS)
def test_prices_and_answers_are_the_same_to_the_last_digit(both, sql, wish):
    local, remote, _ = both
    here, there = local.price(sql, **wish, analyst="analyst-1"), remote.price(sql, **wish)
    assert there.to_dict() == here.to_dict()
    assert there.explain() == here.explain()
    assert there.summary() == here.summary() == repr(there)
    assert there.remarks() == here.remarks()
    assert there._repr_html_() == here._repr_html_()
    assert there.affordable == here.affordable
    assert there.max_error == here.max_error
    first = remote.ask(sql, **wish)
    assert first.fresh == tuple(True for one in here.prepared.outputs if one.label is not None)
    again, beside = remote.ask(sql, **wish), local.ask(sql, **wish, analyst="analyst-1")
    assert again.to_arrow().equals(beside.to_arrow(), check_metadata=True)
    assert again.to_arrow().equals(first.to_arrow())
    assert again.to_pandas().equals(beside.to_pandas())
    assert again.cells() == beside.cells()
    assert again.to_dict() == beside.to_dict()
    assert again.fresh == beside.fresh
    assert repr(again) == repr(beside)
    assert again._repr_html_() == beside._repr_html_()
    assert same_charges(again, beside)
    assert same_floor(again.floor, beside.floor)


def same_charges(there, here):
    def plain(charges):
        return {(a.table, a.column, a.cell): (c.information, c.evaluation) for a, c in charges.items()}

    return plain(there.charge) == plain(here.charge)


def same_floor(there, here):
    if here.entries == 0:
        return there.entries == 0
    return (
        np.array_equal(there.any_estimator, here.any_estimator)
        and there.distinguish(1e6) == here.distinguish(1e6)
        and np.array_equal(there.per_entry, here.per_entry)
        and np.array_equal(there.entry_information, here.entry_information)
    )


def test_accounts_quotas_tables_history_and_simulation_are_the_same(both):
    local, remote, server = both
    for here, there in zip(local.left(), remote.left(), strict=True):
        assert there.to_dict() == here.to_dict()
        assert (there.name, there.used, there.told_apart, there.floor) == (
            here.name,
            here.used,
            here.told_apart,
            here.floor,
        )
        assert there.explain() == here.explain()
        assert there.spent.information == here.spent.information
    for here, there in zip(local.quotas("analyst-1"), remote.quotas(), strict=True):
        assert there.to_dict() == here.to_dict()
        assert (there.name, there.part, there.used) == (here.name, here.part, here.used)
    assert remote.tables() == local.tables()
    with connect(server.url, token=server.tokens["owner"]) as owner:
        assert owner.history(limit=1000) == local.history(limit=1000)
        assert owner.history(after=1, limit=1) == local.history(after=1, limit=1)
        assert owner.known(limit=1000) == local.known(limit=1000)
    sql, wish = QUESTIONS[0]
    here, there = local.simulate(sql, **wish, analyst="analyst-1"), remote.simulate(sql, **wish)
    assert there.to_dict() == here.to_dict()
    assert repr(there) == repr(here)
    assert (there.answers, there.binding, there.least_max_error, there.free) == (
        here.answers,
        here.binding,
        here.least_max_error,
        here.free,
    )


def test_plans_are_the_same(both):
    local, remote, _ = both
    questions = [
        {"sql": sql, "name": f"no. {number}", **QUESTIONS[number][1]} for number, (sql, _) in enumerate(QUESTIONS[:5])
    ]
    candidates = {"pay": {"wage": [5, 20.0], "owner": [{"column": "person", "floor": 0.2, "apart": {"wage": 1000}}]}}
    here, there = local.plan(questions, candidates, analyst="analyst-1"), remote.plan(questions, candidates)
    assert there.to_dict() == here.to_dict()
    assert repr(there) == repr(here)
    assert (there.fits, there.wider) == (here.fits, here.wider)
    assert remote.dry().plan(questions).to_dict() == local.dry().plan(questions).to_dict()
    with pytest.raises(RefusedError, match="question 1: "):
        remote.plan([{"sql": "SELECT max(wage) FROM pay", "max_error": 1e6}])


def test_dry_answers_are_those_of_the_dry_database(both):
    local, remote, _ = both
    sql, wish = QUESTIONS[0]
    before = local.history(limit=1000)
    local.dry().ask(sql, **wish, analyst="analyst-1")  # what is read again does not say what set its price
    here, there = local.dry().ask(sql, **wish, analyst="analyst-1"), remote.dry().ask(sql, **wish)
    assert there.dry
    assert there.to_arrow().equals(here.to_arrow())
    assert there.to_dict() == here.to_dict()
    assert remote.dry().tables() == local.dry().tables()
    assert [one.used for one in remote.dry().left()] == [0.0]
    assert local.history(limit=1000) == before
    assert remote.dry().price(sql, **wish).explain() == local.dry().price(sql, **wish).explain()


def test_faces_are_the_same():
    for_servers = {
        "within",
        "renewed",
        "check_ledger",
        "check_registered",
        "declared_streams",
    }  # what a door does for those behind it
    for_servers |= {"of_dummies", "release"}  # and what is done beside the data alone
    ours = {name for name in dir(Database) if not name.startswith("_")} - for_servers
    of_servers = {"saved_questions", "save_question", "remove_question"}  # who keeps them, by name
    assert {name for name in dir(RemoteDatabase) if not name.startswith("_")} == ours | of_servers
    for name in ours:
        here, there = (inspect.signature(getattr(one, name)).parameters for one in (Database, RemoteDatabase))
        named = [one for one in there if one not in ("over_limit", "charge_per_day")]  # beside the data are no limits
        assert [one for one in here if one != "analyst"] == named, name  # the token says who asks


@pytest.mark.parametrize("method", ["price", "ask", "simulate", "follow", "follow_price"])
def test_a_misspelt_keyword_is_said_of_the_method_with_what_it_takes(both, method):
    for one in both[:2]:
        signature = inspect.signature(getattr(type(one), method)).parameters.values()
        taken = ", ".join(each.name for each in signature if each.kind is each.KEYWORD_ONLY)
        with pytest.raises(TypeError) as wrong:
            getattr(one, method)("SELECT avg(wage) FROM pay", max_eror=1)
        assert str(wrong.value).startswith(f"{method}() ")
        assert str(wrong.value).endswith(f": it takes {taken}")
        if not method.startswith("follow"):
            assert "unexpected keyword argument 'max_eror'" in str(wrong.value)


def test_what_a_server_states_cannot_be_set():
    following = RemoteFollowing(None, {"blocks": [{"max_error": 400.0}], "fresh": True}, None)
    with pytest.raises(AttributeError, match="states it"):
        following.max_error = 0.1
    assert following.max_error == 400.0


def test_questions_are_saved_by_name_replaced_and_removed(both):
    _, remote, _ = both
    sql = "SELECT team, avg(wage) AS mean FROM pay GROUP BY team"
    remote.save_question("by team", sql, max_error=2e6)
    remote.save_question("by team", sql, max_error={"mean": 3e6})
    remote.save_question("all", "SELECT avg(wage) AS mean FROM pay", spend=0.01)
    shown = {one["name"]: one for one in remote.saved_questions()}
    assert set(shown) == {"by team", "all"} and all(one["mine"] for one in shown.values())
    assert (shown["by team"]["sql"], shown["by team"]["max_error"]) == (sql, {"mean": 3e6})
    assert shown["all"]["spend"] == 0.01
    with pytest.raises(RefusedError):
        remote.save_question("largest", "SELECT max(wage) FROM pay", max_error=1e6)
    for name in shown:
        remote.remove_question(name)
    assert remote.saved_questions() == []
    with pytest.raises(InputError, match="no saved question 'all' of yours"):
        remote.remove_question("all")


def test_errors_are_those_of_the_database(both):
    local, remote, _ = both
    for sql, wish, kind in [
        ("SELECT max(wage) FROM pay", {"max_error": 1e6}, RefusedError),
        ("SELECT person, sum(wage) AS s FROM pay GROUP BY person", {"max_error": 1.0}, AllowanceError),
        ("SELECT avg(wage) AS m FROM pay", {"max_error": 1.0, "spend": 0.1}, InputError),
        ("SELECT avg(wage) AS m FROM pay", {}, InputError),
        ("SELECT avg(wage + 1) AS m FROM pay WHERE age = 60", {"max_error": 9e8, "charge": False}, AllowanceError),
    ]:
        with pytest.raises(kind) as here:
            local.ask(sql, **wish, analyst="analyst-1")
        with pytest.raises(kind) as there:
            remote.ask(sql, **wish)
        assert type(there.value) is type(here.value)
        assert str(there.value) == str(here.value)
        assert there.value.fields == json.loads(json.dumps(here.value.fields, default=str))


@pytest.mark.parametrize(
    "bad", [{"max_error": math.nan}, {"max_error": math.inf}, {"max_error": "wide"}, {"support": 5}]
)
def test_what_cannot_be_sent_is_refused_here(both, bad):
    with pytest.raises(InputError):
        both[1].price("SELECT avg(wage) FROM pay", **bad)
    with pytest.raises(InputError, match="a question is a text"):
        both[1].price(5, max_error=1.0)


def test_unknown_token_and_absent_server_are_said_clearly(both):
    _, _, server = both
    with pytest.raises(RemoteError, match="does not know this token") as refused:
        connect(server.url, token="ef_x_y")
    assert (refused.value.code, refused.value.fields["status"]) == ("token", 401)
    with pytest.raises(RemoteError, match="cannot be reached"):
        connect("http://127.0.0.1:9", token="ef_x_y")
    with pytest.raises(InputError, match="would send the token unprotected"):
        connect("http://192.0.2.1:8470", token="ef_x_y")
    with pytest.raises(InputError, match="must be the text that errorfloor tokens create printed"):
        connect(server.url, token="")


def test_busy_server_is_asked_again(both, monkeypatch):
    local, remote, _ = both
    honest, refused = local.tables, []

    def busy():
        from errorfloor.access.failures import DoorError

        if len(refused) < 2:
            refused.append(1)
            raise DoorError(503, "busy", "too many questions are waiting already: try again")
        return honest()

    monkeypatch.setattr(local, "tables", busy)
    monkeypatch.setattr("errorfloor.client.connection.WAIT", 0.001)
    assert remote.tables() == honest()
    assert len(refused) == 2
